"""Combinatorial coverage as bars: of the value combinations of some dimensions, those tested, those a list adds, and those left."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.odd import Odd
from core.plots.style import AUTOSIZE, BLUE, GREY, PADDING, RISK, axis, muted, plain
from core.scoring import Combination, TWay

MOST_BARS = 28
"""Bars drawn at most; the rest is counted."""
ROOM = 112
"""Room for the numbers at the right, px."""


def drawn_bars(coverage: TWay) -> list[Combination]:
    """The combinations of dimensions that are drawn: those not tested in full, the least covered first, of equal ones the most open."""
    part = [c for c in coverage.combinations if c.covered < c.possible]
    return sorted(part, key=lambda c: ((c.covered + c.added) / c.possible, -c.open, c.dimensions))[:MOST_BARS]


def coverage_frame(coverage: TWay) -> pd.DataFrame:
    """Rows for a download: dimensions, possible, covered, added, open, first_open."""
    names = ["dimensions", "possible", "covered", "added", "open", "first_open"]
    data = [
        (" × ".join(c.dimensions), c.possible, c.covered, c.added, c.open, "; ".join(" × ".join(v) for v in c.still_open))
        for c in coverage.combinations
    ]
    return pd.DataFrame(data, columns=names)


def tway_bars(rows: Sequence[Combination], odd: Odd, listed: int, dark: bool = False, track: int = 120) -> alt.LayerChart:
    """One bar per combination of dimensions, as long as all its value combinations, in the order given.

    Args:
        rows: The combinations.
        odd: The ODD, for names.
        listed: Slices of the list, for the tooltip.
        dark: Whether the theme is dark.
        track: Length of a whole bar, px.
    """
    labels = {d.name: d.label for d in odd.dimensions}
    if len(set(labels.values())) < len(labels):
        labels = {d.name: plain(d.name) for d in odd.dimensions}
    data = pd.DataFrame(
        {
            "what": [" × ".join(labels[d] for d in c.dimensions) for c in rows],
            "possible": [c.possible for c in rows],
            "covered": [c.covered for c in rows],
            "added": [c.added for c in rows],
            "open": [c.open for c in rows],
            "start": [c.covered / max(c.possible, 1) for c in rows],
            "end": [(c.covered + c.added) / max(c.possible, 1) for c in rows],
            "text": [f"{c.covered:,} + {c.added:,} of {c.possible:,}" for c in rows],
        }
    )
    data["zero"] = 0.0
    scale = alt.Scale(domain=[0, 1], range=[0, track])
    base = alt.Chart(data).encode(
        y=alt.Y(
            "what:N",
            sort=list(data["what"]),
            axis=axis(labelLimit=130 * len(rows[0].dimensions) if rows else 0, labelFontSize=11.5, labelPadding=8),
        ),
        tooltip=[
            alt.Tooltip("what:N", title="values of"),
            alt.Tooltip("possible:Q", title="combinations", format=","),
            alt.Tooltip("covered:Q", title="tested", format=","),
            alt.Tooltip("added:Q", title=f"added by the {listed:,} slices listed", format=","),
            alt.Tooltip("open:Q", title="left open", format=","),
        ],
    )
    x = lambda field: alt.X(f"{field}:Q", axis=None, scale=scale)  # noqa: E731
    return (
        alt.layer(
            base.mark_bar(height=10, color=GREY, opacity=0.18).encode(x=alt.value(0), x2=alt.value(track)),
            base.mark_bar(height=10, color="#56B4E9" if dark else BLUE).encode(x=x("zero"), x2="start:Q"),
            base.mark_bar(height=10, color=RISK).encode(x=x("start"), x2="end:Q"),
            base.mark_text(align="left", fontSize=11, color=muted(dark)).encode(x=alt.value(track + 8), text="text:N"),
        )
        .properties(width=track + ROOM, height=alt.Step(18), padding=PADDING, autosize=AUTOSIZE)
        .configure_view(stroke=None)
    )
