"""Two models on the same images: average precision and recall by class, and the error inside and outside every slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.error_slices.average_precision import ClassPrecision, Estimate, ModelComparison
from core.operators.slice_compare import LEAST_IMAGES, Change, ModelSlices, SliceChange, compare_precision, compare_slices
from core.operators.slice_report import SliceReport
from core.plots.slice_changes import ChangeRow, changes_chart, way
from core.storage import SavedDetections
from pages.shared import jobs, links, shell, slice_sets, slice_settings, slice_text, state
from pages.shared.markup import Markup, Text, chip, code, count, fill, join, mark, minus, percent, table

OTHER = "other"
"""Query parameter of the second model."""
_ASKED = "compare.asked"
FIRST = 12
"""Slices and classes that are drawn."""
_WORDS = {"better": ("better", "done"), "worse": ("worse", "risk"), "open": ("not clear", "outline")}


def beside(current: SavedDetections) -> list[SavedDetections]:
    """Other sets on the same images and ground truth."""
    return [s for s in slice_sets.saved() if s.truth_digest == current.truth_digest and s.id != current.id]


def needed(current: SavedDetections) -> Text:
    """What has to be imported to compare."""
    return fill("Import another model's predictions with the ground truth of {name}: the same file, the same images.", name=current.name)


def box(current: SavedDetections) -> SavedDetections | None:
    """Choose the second model; None where there is none."""
    known = {s.id: s for s in beside(current)}
    if not known:
        return None
    wanted = str(st.query_params.get(OTHER, ""))
    now = wanted if wanted in known else _usual(current, known)
    st.session_state["other_box"] = now
    chosen = st.selectbox("Compared with", list(known), format_func=lambda i: known[i].name, key="other_box", width=240, on_change=_chosen)
    if wanted not in ("", chosen):
        st.session_state[_ASKED] = wanted
    st.query_params[OTHER] = chosen
    return known[chosen]


def _usual(current: SavedDetections, known: dict[str, SavedDetections]) -> str:
    """The one imported next, else the newest."""
    later = [s for s in known.values() if s.created_at >= current.created_at]
    return min(later, key=lambda s: s.created_at).id if later else next(iter(known))


def _chosen() -> None:
    st.query_params[OTHER] = st.session_state["other_box"]


def show(name: str, top: DeltaGenerator, report: SliceReport, other: SavedDetections) -> None:
    """The finding, precision, and the slices."""
    with shell.errors_as_card(name, "The two models cannot be compared."):
        second = slice_sets.report(other, report.settings)
        slices = _slices(report, second)
        precision = _precision(report, second) if report.saved.task != "classification" else None
    a, b = names(report, second)
    if asked := st.session_state.pop(_ASKED, ""):
        shell.note(f'The address asks to compare with "{asked[:60]}", which does not have these images, or is gone; this is {other.name}.')
    with top:
        shell.header(name, headline(slices, precision, a, b), provenance(slices, a, b), synthetic=report.saved.synthetic or other.synthetic)
    if precision is not None:
        _overall(precision, slices, a, b)
        _by_slice(slices, a, b)
        _classes(precision, a, b)
    else:
        _changes(slices, a, b)
        _by_slice(slices, a, b)


def names(report: SliceReport, second: SliceReport) -> tuple[str, str]:
    """What the two are called: by their models where those differ."""
    a, b = report.saved, second.saved
    return (a.model, b.model) if a.model and b.model and a.model != b.model else (a.name, b.name)


def _slices(report: SliceReport, second: SliceReport) -> ModelSlices:
    return _compared(state.store().db.name, report.digest, second.digest, report, second)


@st.cache_resource(show_spinner="Comparing the slices.", max_entries=4)
def _compared(database: str, first: str, second: str, _a: SliceReport, _b: SliceReport) -> ModelSlices:
    del database, first, second  # only keys of the cache
    return compare_slices(_a, _b)


def _precision(report: SliceReport, second: SliceReport) -> ModelComparison:
    store, place = state.store(), st.empty()

    def show_progress(job: jobs.Job) -> None:
        share = min(job.done / job.total, 1.0) if job.total else 0.0
        place.progress(share, text=f"Average precision: {job.done:,} of {job.total:,} classes." if job.total else "Reading the detections.")

    key = ("compare precision", store.db.name, report.saved.digest, second.saved.digest)
    found: ModelComparison = jobs.outcome(
        key, lambda tell: compare_precision(store, report.saved.id, second.saved.id, progress=tell), show_progress
    )
    place.empty()
    return found


def reads(change: Change) -> str:
    """Whether an error became better, worse, or neither clearly."""
    return way(ChangeRow("", change.difference or 0.0, change.low, change.high, ""), "lower")


def headline(slices: ModelSlices, precision: ModelComparison | None, a: str, b: str) -> Text:
    """Whether the second model is better, and in how many of the slices that held up for the first."""
    rows = held(slices)
    better, worse = ([r for r in rows if reads(r.inside) == w] for w in ("better", "worse"))
    if precision is not None and precision.mean.ap50.value is not None:
        d = precision.mean.ap50
        what = way(ChangeRow("", d.value, d.low, d.high, ""), "higher")
        said = {"better": "has a higher mAP50 than", "worse": "has a lower mAP50 than", "open": "has no clearly different mAP50 from"}[what]
        first = fill("{b} {said} {a} ({d}, {span})", b=b, said=said, a=a, d=mark(signed(d.value)), span=ends(d.low, d.high))
    else:
        overall = next(iter(slices.overall.values()), None)
        d_value = overall.difference if overall else None
        first = fill("{b} against {a}: {d} in all", b=b, a=a, d=mark(signed(d_value)))
    second = fill(
        "of {n} that stand out in either, {k} became better, {w} worse",
        n=count(len(rows), "slice"),
        k=mark(f"{len(better):,}"),
        w=f"{len(worse):,}",
    )
    return fill("{first}; {second}.", first=first, second=second)


def held(slices: ModelSlices) -> list[SliceChange]:
    """The slices that are verified or elevated for either model and have units of both."""
    known = [r for r in slices.rows if r.inside.difference is not None]
    return [r for r in known if any(t is not None and t.verdict in ("verified", "elevated") for t in (r.a, r.b))]


def signed(value: float | None) -> str:
    """A difference of shares in points."""
    return "–" if value is None else f"{minus(100 * value, '+.1f')} points"


def provenance(slices: ModelSlices, a: str, b: str) -> Text:
    """Which sets, which images, which settings."""
    parts: list[Text] = [
        fill(
            "{a} ({da}) against {b} ({db}) on the same {i}.",
            a=a,
            da=code(slices.a.saved.digest[:6]),
            b=b,
            db=code(slices.b.saved.digest[:6]),
            i=count(len(slices.a.units.detections.images), "image"),
        ),
        slice_settings.in_words(slices.a.settings),
        f"Intervals are 95 % over {slices.resamples:,} paired resamples of the images, one at a time; "
        f"slices need {LEAST_IMAGES} images for one.",
    ]
    if slices.only:
        parts.append(f"{count(slices.only, 'hypothesis', 'hypotheses')} could be tested on one of the two only.")
    return join(parts, " ")


def _overall(c: ModelComparison, slices: ModelSlices, a: str, b: str) -> None:
    shell.section("Overall", "each with its 95 % interval")
    rows = [
        _measure("mAP, IoU .5 to .95", lambda p: p.ap, c),
        _measure("mAP50", lambda p: p.ap50, c),
        _measure("mAR, IoU .5 to .95", lambda p: p.ar, c),
    ]
    for error, change in slices.overall.items():
        d, tone = _WORDS[reads(change)]
        rows.append(
            [
                fill("{e}, {what}", e=slice_text.ERRORS[error], what=slice_text.LOSSES[error]),
                f"{percent(change.a.value, 1)}",
                _rate(change, "a"),
                f"{percent(change.b.value, 1)}",
                _rate(change, "b"),
                signed(change.difference),
                ends(change.low, change.high),
                chip(d, tone),  # type: ignore[arg-type]
            ]
        )
    columns = ["Measure", a, "95 %", b, "95 %", "Difference", "95 %", ""]
    shell.html(Markup('<div class="od-changes">{}</div>').format(table(columns, rows, right=(1, 2, 3, 4, 5, 6))))
    out = [f"{n:,} {what}" for what, n in c.left_out.items()]
    for side, label in ((c.a, a), (c.b, b)):
        out += [f"{n:,} {what} of {label}" for what, n in side.left_out.items()]
    shell.note(
        f"mAP and mAR are COCO's, over every prediction of the file; the others at confidence ≥ {slices.a.settings.units.confidence:g}. "
        + (f"Left out: {', '.join(out)}." if out else "Nothing was left out.")
    )


def _rate(change: Change, which: str) -> str:
    r = change.a if which == "a" else change.b
    return "–" if r.low is None or r.high is None else f"{r.low:.0%} to {r.high:.0%}, n = {r.n:,}"


def ends(low: float | None, high: float | None) -> str:
    """Both ends of a difference, in points."""
    return "–" if low is None or high is None else f"{minus(100 * low, '+.1f')} to {minus(100 * high, '+.1f')}"


def _measure(label: str, of: Callable[[ClassPrecision], Estimate], c: ModelComparison) -> list[object]:
    first, second, d = of(c.a.mean), of(c.b.mean), of(c.mean)
    word, tone = _WORDS[way(ChangeRow("", d.value or 0.0, d.low, d.high, ""), "higher")]
    cells: list[object] = [label]
    for e in (first, second):
        span = "–" if e.low is None or e.high is None else f"{e.low:.3f} to {e.high:.3f}"
        cells += ["–" if e.value is None else f"{e.value:.3f}", f"{span}, n = {e.n:,}"]
    return [*cells, signed(d.value), ends(d.low, d.high), chip(word, tone)]  # type: ignore[arg-type]


def _changes(slices: ModelSlices, a: str, b: str) -> None:
    rows = [
        [
            slice_text.ERRORS[e],
            percent(c.a.value, 1),
            _rate(c, "a"),
            percent(c.b.value, 1),
            _rate(c, "b"),
            signed(c.difference),
            ends(c.low, c.high),
        ]
        for e, c in slices.overall.items()
    ]
    shell.section("Overall", "mean loss")
    shell.html(table(["Type", a, "95 %", b, "95 %", "Difference", "95 %"], rows, right=range(1, 7)))


def _by_slice(slices: ModelSlices, a: str, b: str) -> None:
    known = [r for r in slices.rows if r.inside.difference is not None]
    known.sort(key=lambda r: r.inside.difference or 0.0)
    shell.section("Error inside each slice", f"{b} minus {a}, in points; below zero is better")
    if not known:
        shell.note("No slice has units of both models.")
        return
    out = [r for r in known if r in held(slices)]
    every = len(out) < len(known) and st.toggle(f"Also the {len(known) - len(out):,} that stand out in neither", key="every_change")
    shown = known if every else out
    rows = [ChangeRow(slice_text.short(r.hypothesis), r.inside.difference or 0.0, r.inside.low, r.inside.high, _line(r)) for r in shown]
    if rows:
        st.altair_chart(changes_chart(rows, "lower", shell.dark()), width="content", key=f"changes-{every}")
        shell.html(_table(shown, slices, a, b))
        links.follow()
    else:
        shell.note("No slice is verified or elevated for either model.")


def _line(r: SliceChange) -> str:
    return f"{percent(r.inside.a.value)} → {percent(r.inside.b.value)}, n = {r.inside.a.n:,}" + (
        "" if r.inside.a.n == r.inside.b.n else f" and {r.inside.b.n:,}"
    )


def _table(rows: Sequence[SliceChange], slices: ModelSlices, a: str, b: str) -> Markup:
    lines = []
    for r in rows:
        word, tone = _WORDS[reads(r.inside)]
        verdicts = [slice_text.verdict_chip(t.verdict) if t is not None else chip("not tested", "outline") for t in (r.a, r.b)]
        params = {slice_sets.SET: slices.a.saved.id, slice_sets.SLICE: r.hypothesis.id, **slice_settings.params(slices.a.settings)}
        lines.append(
            [
                links.link(r.hypothesis.text, slice_sets.ONE, params),
                join(verdicts, " → "),
                _cell(r.inside.a.value, r.inside.a.n),
                _cell(r.inside.b.value, r.inside.b.n),
                fill("{d}", d=signed(r.inside.difference)),
                ends(r.inside.low, r.inside.high),
                chip(word, tone),  # type: ignore[arg-type]
                signed(r.outside.difference),
            ]
        )
    columns = ["Hypothesis", "Verdicts", f"Inside, {a}", f"Inside, {b}", "Difference", "95 %", "", "Outside"]
    return Markup('<div class="od-changes">{}</div>').format(table(columns, lines, right=(2, 3, 4, 5, 7)))


def _cell(value: float | None, n: int) -> Markup:
    return Markup('{}<small class="od-quiet od-under">n = {}</small>').format(percent(value), f"{n:,}")


def _classes(c: ModelComparison, a: str, b: str) -> None:
    shell.section(
        "By class",
        f"{count(len(c.classes), 'class', 'classes')} with ground truth; differences are {b} minus {a}, each with its 95 % interval; "
        f"those in fewer than {LEAST_IMAGES} images are never called better or worse",
    )
    first = {p.name: p for p in c.a.classes}
    second = {p.name: p for p in c.b.classes}
    order = sorted(c.classes, key=lambda p: -p.ap50.n)
    rows = []
    for d in order:
        pa, pb = first[d.name], second[d.name]
        few = d.ap50.images < LEAST_IMAGES  # resamples of a handful of images vary too little to speak of more or less
        word, tone = _WORDS["open" if few else way(ChangeRow("", d.ap50.value or 0.0, d.ap50.low, d.ap50.high, ""), "higher")]
        rows.append(
            [
                d.name,
                f"{d.ap50.n:,} in {d.ap50.images:,}",
                _number(pa.ap50),
                _number(pb.ap50),
                _difference(d.ap50),
                chip(word, tone),  # type: ignore[arg-type]
                _number(pa.ap),
                _number(pb.ap),
                _difference(d.ap),
                _number(pa.ar),
                _number(pb.ar),
                _difference(d.ar),
            ]
        )
    shown = rows if len(rows) <= FIRST or st.toggle(f"All {count(len(rows), 'class', 'classes')}", key="every_class") else rows[:FIRST]
    of = lambda m: [f"{m} {a}", f"{m} {b}", "Difference"]  # noqa: E731
    columns = ["Class", "Instances in images", *of("AP50"), "", *of("mAP"), *of("mAR")]
    shell.html(Markup('<div class="od-changes">{}</div>').format(table(columns, shown, right=(1, 2, 3, 4, 6, 7, 8, 9, 10, 11))))


def _number(e: Estimate) -> Markup:
    if e.value is None:
        return Markup("–")
    span = "" if e.low is None or e.high is None else f"{e.low:.2f} to {e.high:.2f}"
    return Markup('{}<small class="od-quiet od-under">{}</small>').format(f"{e.value:.3f}", span)


def _difference(e: Estimate) -> Markup:
    return Markup('{}<small class="od-quiet od-under">{}</small>').format(signed(e.value), ends(e.low, e.high))
