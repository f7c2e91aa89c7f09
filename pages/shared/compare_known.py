"""Slices that were found against slices that are known: Precision@k with its breakdowns, always beside the number of slices."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.digest import sha256_bytes
from core.error_slices.hypotheses import Category
from core.error_slices.precision import RULES
from core.errors import InputError
from core.operators.slice_precision import SlicePrecision, known_of, slice_precision
from core.operators.slice_report import SliceReport
from pages.shared import shell, slice_text
from pages.shared.markup import Markup, Text, count, fill, mark, percent, table

K, CAP = 10, 15
FORMAT = '{"slices": {"night": {"units": ["image:gannotation"], "category": "contextual_interference", "hypotheses": ["iv_dark"]}}}'


def show(name: str, top: DeltaGenerator, report: SliceReport) -> None:
    """The known slices, the finding and its breakdowns."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        k = int(st.number_input("Units looked at, k", 1, 1_000, K, key="known_k", width=150))
        cap = int(st.number_input("First slices alone", 1, 1_000, CAP, key="known_cap", width=150, help="More slices can never lower it."))
    file = st.file_uploader("Known slices", type=["json"], key="known_file", help=f"A JSON file such as {FORMAT}", width=420)
    try:
        text = None if file is None else _text(file.name, file.getvalue())
        found = _measured(report, text, k, cap)
    except InputError as e:
        with top:
            shell.header(name, "No slice of these detections is known.", slice_text.provenance(report), synthetic=report.saved.synthetic)
        if file is None:
            shell.empty("Known slices stand in GESD files, or are given as a JSON file: which errors belong to which slice, by experts.")
        else:
            shell.error_card(e)
        return
    with top:
        shell.header(name, headline(found), slice_text.provenance(report), synthetic=report.saved.synthetic)
    shell.note(fill("Known slices: {source}.", source=_source(report, None if file is None else file.name)))
    _figures(found)
    _each(found, report)
    _breakdowns(found)


def _source(report: SliceReport, file: str | None) -> str:
    """Who says which errors belong to which slice."""
    d = report.units.detections
    if file is not None:
        return f"those of {file}"
    if any(b.slices is not None and any(b.slices) for b in (d.truth, d.predictions)):
        return "named by experts in the data"
    return "where the rules of the demo struck, which made its detector fail there"


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(f"{name} is no UTF-8 text (byte {e.start:,}).") from e


def _measured(report: SliceReport, text: str | None, k: int, cap: int) -> SlicePrecision:
    said = tuple((r.hypothesis.id, r.judgement.verdict) for r in report.rows if r.judgement is not None)
    return _of(report.digest, said, "" if text is None else sha256_bytes(text.encode()), k, cap, report, text)


@st.cache_resource(show_spinner="Comparing with the known slices.", max_entries=8)
def _of(
    digest: str, said: tuple[tuple[str, str], ...], file: str, k: int, cap: int, _report: SliceReport, _text: str | None
) -> SlicePrecision:
    del digest, said, file  # only keys of the cache
    return slice_precision(_report, known_of(_report, _text), k=k, cap=cap)


def headline(found: SlicePrecision) -> Text:
    """Precision@k with how many slices it took."""
    release, capped = found.found["release"], found.capped["release"]
    return fill(
        "Precision@{k} is {p} over {n} with {s}; {c} with the first {cap} alone.",
        k=found.k,
        p=mark(_value(release.mean)),
        n=count(len(release.found), "known slice"),
        s=count(release.slices, "found slice"),
        c=_value(capped.mean),
        cap=found.cap,
    )


def _value(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _figures(found: SlicePrecision) -> None:
    shell.section(f"Precision@{found.k}", "found slices are those that are verified or elevated, or that a person accepted")
    rows: list[list[object]] = []
    for rule, what in RULES.items():
        p, c = found.found[rule], found.capped[rule]
        rows.append([f"{what[:1].upper()}{what[1:]}", _value(p.mean), f"{p.slices:,}", _value(c.mean), f"{min(found.cap, c.slices):,}"])
    rows.append(["Every hypothesis with scores, whatever the tests say", _value(found.untested.mean), f"{found.untested.slices:,}", "", ""])
    columns = ["Rule", "All found", "Slices", f"First {found.cap}", "Slices"]
    shell.html(Markup('<div class="od-changes">{}</div>').format(table(columns, rows, right=(1, 2, 3, 4))))
    r = found.relevance
    if r is not None:
        text = "By meaning: precision {p} of {a}, recall {q} of {b}, F1 {f}."
        a, b = count(r.predicted, "found slice"), count(r.known, "known slice")
        shell.note(fill(text, p=_value(r.precision), a=a, q=_value(r.recall), b=b, f=_value(r.f1)))
    empty = [n for n, units in found.known.items() if not units]
    out = [f"{n:,} {what}" for what, n in found.left_out.items() if n]
    if empty:
        out.append(f"{count(len(empty), 'known slice')} without an error under these settings")
    shell.note(f"Left out: {', '.join(out)}." if out else "Nothing was left out.")
    shell.note("Accepting every hypothesis can only raise Precision@k: read it beside the number of slices.")


def _each(found: SlicePrecision, report: SliceReport) -> None:
    grounded = {g.truth: g for g in found.grounded}
    equation = {f.truth: f.value for f in found.found["equation"].found}
    rows: list[list[object]] = []
    for f in sorted(found.found["release"].found, key=lambda f: -f.value):
        best = report.row(f.best) if f.best else None
        g = grounded.get(f.truth)
        rows.append(
            [
                f.truth.replace("_", " "),
                f"{f.size:,}",
                best.hypothesis.text if best is not None else "none has a hit",
                _value(f.value),
                _value(equation.get(f.truth)),
                _value(g.instance if g else None),
                _value(g.image if g else None),
                "–" if g is None or g.instance_z is None else f"{g.instance_z:.1f}",
                "–" if g is None or g.image_z is None else f"{g.image_z:.1f}",
            ]
        )
    shell.section("Slice by slice", "the found slice that fits best; scores of instances against the highest of their image")
    columns = ["Known slice", "Errors", "Best found", f"P@{found.k}", "Eq. 1", "By instance", "By image", "Z instance", "Z image"]
    shell.html(table(columns, rows, right=(1, 3, 4, 5, 6, 7, 8)))


def _breakdowns(found: SlicePrecision) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        _by("By type of error", found.by_error, {})
        names: Mapping[Category, str] = slice_text.CATEGORIES
        _by("By category", found.by_category, names)
    with right:
        shell.section("By origin of the hypotheses", "each alone")
        rows = [[name, _value(p.mean), f"{p.slices:,}"] for name, p in found.origins.alone.items()]
        rows.append(["together", _value(found.origins.together.mean), f"{found.origins.together.slices:,}"])
        shell.html(table(["Origin", f"P@{found.k}", "Slices"], rows, right=(1, 2)))
        for (a, b), share in found.origins.overlap.items():
            shell.note(f"Of the known slices that {a} or {b} finds, both find {percent(share)}.")


def _by(title: str, values: Mapping[str, tuple[float, int]], names: Mapping[Category, str] | Mapping[str, str]) -> None:
    shell.section(title)
    labels = {str(k): v for k, v in names.items()}
    rows = [[labels.get(name, name) or "not told", _value(mean), f"{n:,}"] for name, (mean, n) in values.items()]
    shell.html(table(["", "Mean", "Known slices"], rows, right=(1, 2)))
