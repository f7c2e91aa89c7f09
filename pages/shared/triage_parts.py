"""The parts of the page "Where it fails": charts of intervals, and how much of each value was tested."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from markupsafe import Markup

from core.odd import Odd
from core.operators import Triage
from core.plots import failure_intervals
from core.plots.style import GREY
from core.scoring import Failure, ValueCoverage
from pages.shared import shell
from pages.shared.markup import bar, chip, fill, join, table

SHOWN = (20, 50, 200)
"""Rows of a chart."""
MANY = 60
"""Values beyond which the coverage is a scrolling table."""


def legend() -> Markup:
    """What the colours of the dots say."""
    line = Markup('<span class="od-bar" style="width:22px"><i style="width:100%;background:{}"></i></span><span>{}</span>')
    kinds = [
        ("var(--risk-mark)", "interval above the error over all samples"),
        ("var(--info)", "interval below it"),
        (GREY, "interval holds it"),
    ]
    items = [line.format(colour, text) for colour, text in kinds]
    items.append(Markup("<span>dashed: error over all samples</span>"))
    return Markup('<div class="od-legend">{}</div>').format(join(Markup("<div>{}</div>").format(i) for i in items))


def intervals(rows: Sequence[Failure], odd: Odd, summary: Triage, end: float, shown: int, key: str) -> None:
    """The first rows as dots with intervals; says how many more there are."""
    if not rows:
        shell.note("None has a sample.")
        return
    chart = failure_intervals(rows[:shown], odd, summary.error, end, shell.dark())
    st.altair_chart(chart, width="stretch", key=f"chart_{key}")
    if len(rows) > shown:
        shell.note(f"{len(rows) - shown:,} more with a smaller lower bound; show more rows above, or download all.")


def coverage(summary: Triage, odd: Odd) -> None:
    """Samples, share and tested slices of every value of the ODD under the filter; values without a sample are marked."""
    rows = [c for c in summary.coverage if c.possible]
    never = sum(c.n == 0 for c in rows)
    hidden = len(summary.coverage) - len(rows)
    sub = f"{never} of {len(rows)} values have no sample" + (f"; not listed: {hidden} excluded by the filter" if hidden else "")
    shell.section("Coverage per value", sub)
    if len(rows) > MANY:
        _as_frame(rows, odd)
        return
    dims = list(dict.fromkeys(c.dimension for c in rows))
    halves = _halves([(d, [c for c in rows if c.dimension == d]) for d in dims])
    for column, half in zip(st.columns(2, gap="large"), halves, strict=True):
        with column:
            lines = [_line(c, odd.by_name[d].label if i == 0 else "") for d, part in half for i, c in enumerate(part)]
            if lines:
                shell.html(table(["Dimension", "Value", "Samples", "Share", "", "Slices tested"], lines, right=(2, 3, 5)))


def _halves(groups: list[tuple[str, list[ValueCoverage]]]) -> tuple[list[tuple[str, list[ValueCoverage]]], ...]:
    """Two lists of about the same length, no dimension cut in two."""
    total, left = sum(len(part) for _, part in groups), 0
    for i, (_, part) in enumerate(groups):
        left += len(part)
        if 2 * left >= total:
            return groups[: i + 1], groups[i + 1 :]
    return groups, []


def _line(c: ValueCoverage, label: str) -> tuple[object, ...]:
    name = fill("{v} {c}", v=c.value, c=chip("no sample", "risk")) if c.n == 0 else c.value
    share = Markup('<div style="min-width:3rem">{}</div>').format(bar(c.share))
    slices = Markup('<span style="white-space:nowrap">{} of {}</span>').format(f"{c.slices:,}", f"{c.possible:,}")
    return label, name, f"{c.n:,}", f"{c.share:.1%}", share, slices


def _as_frame(rows: Sequence[ValueCoverage], odd: Odd) -> None:
    frame = pd.DataFrame(
        {
            "Dimension": [odd.by_name[c.dimension].label for c in rows],
            "Value": [c.value for c in rows],
            "Samples": [c.n for c in rows],
            "Share": [c.share for c in rows],
            "Slices tested": [c.slices for c in rows],
            "Slices possible": [c.possible for c in rows],
            "": ["no sample" if c.n == 0 else "" for c in rows],
        }
    )
    share = st.column_config.ProgressColumn("Share", format="percent", min_value=0, max_value=1, width=150)
    st.dataframe(frame, hide_index=True, column_config={"Share": share}, key="coverage", height=440)
