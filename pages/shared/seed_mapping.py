"""Steps 2 and 3 of an import: which ODD, and which column holds what. The user confirms what was proposed."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.odd import built_in, to_yaml
from core.operators import Prepared
from core.operators.table import NO_COLUMN, ROLES
from core.seed_table import CheckReport, TableFile, dimension_candidates, propose_plan
from pages.shared import shell
from pages.shared.markup import fill, table

KINDS = {"driving": "Built-in driving", "infer": "Infer from table", "yaml": "My YAML"}
SCALES = {"unit": "0 to 1", "percent": "0 to 100", "boolean": "right or wrong"}
MOST_OPTIONS = 200
"""Columns or values that a select box offers; more would freeze it."""


def odd_step(file: TableFile, old: dict[str, Any], key: str) -> dict[str, Any]:
    """The choice of the ODD, as decisions."""
    shell.section("2 ODD")
    kinds = list(KINDS)
    kind = st.segmented_control(
        "ODD", kinds, default=old.get("odd", "driving"), format_func=KINDS.__getitem__, key=f"{key}_odd", label_visibility="collapsed"
    )
    new: dict[str, Any] = {"odd": kind or "driving"}
    if new["odd"] == "infer":
        head = file.head()
        proposed = dimension_candidates(head, propose_plan(head, None))
        options = list(file.columns[:MOST_OPTIONS])
        start = [d for d in old.get("dims") or proposed if d in options]
        new["dims"] = st.multiselect("Columns that are dimensions", options, start, key=f"{key}_dims")
        shell.note("Every value that occurs in the file becomes a value of the ODD, also those of other models.")
    elif new["odd"] == "yaml":
        text = old.get("yaml") or to_yaml(built_in())
        new["yaml"] = st.text_area("ODD as YAML", text, height=220, key=f"{key}_yaml")
        st.download_button("Download this YAML", new["yaml"], "odd.yaml", "text/yaml", key=f"{key}_yaml_file", on_click="ignore")
    else:
        odd = built_in()
        shell.note(f"Driving v{odd.version}: {len(odd.active)} dimensions, {odd.base_space.size:,} slices, mapped to three standards.")
    return new


def columns_step(file: TableFile, p: Prepared, old: dict[str, Any], key: str) -> dict[str, Any]:
    """Column of each dimension and role, as decisions; starts from what was proposed."""
    shell.section("3 Columns", f"{len(p.plan.columns)} dimensions mapped; proposed by name and content, yours to change")
    options = [NO_COLUMN, *file.columns[:MOST_OPTIONS]]
    if len(file.columns) > MOST_OPTIONS:
        shell.note(f"The first {MOST_OPTIONS} of {len(file.columns):,} columns are offered.")
    show = {NO_COLUMN: "(none)"}
    columns: dict[str, str] = {}

    def choose(label: str, now: str, name: str) -> str:
        start = options.index(now) if now in options else 0
        return st.selectbox(label, options, start, key=f"{key}_{name}", format_func=lambda c: show.get(c, c))

    if old.get("odd") != "infer":
        named = old.get("columns") or {}
        base = [d for d in _all_dimensions(p, old)]
        for row in range(0, len(base), 3):
            for cell, d in zip(st.columns(3), base[row : row + 3], strict=False):
                with cell:
                    columns[d.name] = choose(
                        d.label, named.get(d.name) or p.plan.columns.get(d.name, NO_COLUMN), f"dim_{old.get('odd')}_{d.name}"
                    )
    fields: dict[str, Any] = {}
    said = old.get("fields") or {}
    roles = list(ROLES.items())
    for row in range(0, len(roles), 4):
        for cell, (role, label) in zip(st.columns(4), roles[row : row + 4], strict=False):
            with cell:
                fields[role] = choose(f"Column of the {label}", said.get(role) or getattr(p.plan, role) or NO_COLUMN, f"role_{role}")
    left, mid, right = st.columns(3)
    with left:
        n = st.number_input(
            "Samples per row, if not counted (0: each row is one sample)", 0, None, int(said.get("assume_n") or 0), key=f"{key}_n"
        )
        fields["assume_n"] = int(n) or None
    with mid:
        words = st.text_input("Words that mean no value, such as NA", ", ".join(old.get("missing_words") or ()), key=f"{key}_words")
    with right:
        fields["model"] = _model(file, fields["model_column"], said.get("model", ""), key)
    kinds = ["recognise", *SCALES]
    picked = st.segmented_control(
        "Scores are written as",
        kinds,
        default=said.get("scale") or "recognise",
        format_func=lambda k: SCALES.get(k, "recognise"),
        key=f"{key}_scale",
    )
    fields["scale"] = picked if picked in SCALES else None
    return {"columns": columns, "fields": fields, "missing_words": [w.strip() for w in words.split(",") if w.strip()]}


def _all_dimensions(p: Prepared, old: dict[str, Any]) -> list[Any]:
    from pages.shared.seed_draft import domain

    odd = domain(old) or p.odd
    return [d for d in odd.dimensions if d.active or len(d.values) > 1]


def _model(file: TableFile, column: str, now: str, key: str) -> str:
    """The model whose rows are used; one table holds one model."""
    if column in ("", NO_COLUMN):
        return ""
    models = sorted(file.read([column]).columns[column].texts()[:MOST_OPTIONS])
    if len(models) < 2:
        return models[0] if models else ""
    chosen = st.selectbox(
        "Model", models, models.index(now) if now in models else None, placeholder="Choose one", key=f"{key}_model_{column}"
    )
    return chosen or ""


def scale_note(report: CheckReport) -> None:
    """How scores were read, and what that rests on; the user's own word is said as such."""
    if report.score is None:
        shell.note("A sample is right where the two answers are equal.")
    else:
        shell.note(
            f"Scores were read as {SCALES[report.score.scale]}. {report.score.evidence} Choose another scale above if that is wrong."
        )


def readings(report: CheckReport) -> None:
    """What each mapped column holds and what was read through a synonym or another spelling."""
    rows = []
    for d, found in report.readings.items():
        total = sum(n for _, n in found)
        ok = sum(n for r, n in found if r.ok)
        aliases = [f"{r.text} → {r.value}" for r, _ in found if r.ok and r.how != "exact"]
        seen = ", ".join(r.text for r, _ in sorted(found, key=lambda x: -x[1])[:4])
        rows.append(
            (report.odd.by_name[d].label, report.plan.columns[d], seen, f"{ok / total:.1%}" if total else "none", ", ".join(aliases[:6]))
        )
    shell.html(table(["Dimension", "Column", "Seen in file", "Matched", "Alias used"], rows, right=(3,)))


def inventory(report: CheckReport) -> None:
    """Rows and slices per source dataset and question type."""
    if report.inventory:
        shell.section("Sources", fill("{n} of them", n=len(report.inventory)))
        rows = [(r.source, r.qa_type, f"{r.rows:,}", f"{r.slices:,}") for r in report.inventory[:50]]
        shell.html(table(["Source", "Question type", "Rows", "Unique slices"], rows, right=(2, 3)))
