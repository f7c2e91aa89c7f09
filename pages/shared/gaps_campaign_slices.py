"""What a plan and a saved campaign both show: slices as a table, coverage as a tile."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.odd import Odd
from core.plots import named
from core.storage import PlannedSlice
from pages.shared.gaps_list import fitted
from pages.shared.shell import Tile


def slice_frame(odd: Odd, slices: tuple[PlannedSlice, ...]) -> pd.DataFrame:
    """Slices of a campaign as a table."""
    words = {d: named(v.name for v in odd.by_name[d].values) for d in odd.names}
    return pd.DataFrame(
        [
            {"#": s.rank, "samples": s.samples, "cost": s.cost, "ε̂": s.eps_hat, "fail": s.samples * s.eps_hat}
            | {f"d {d}": words[d][v] for d, v in s.values.items()}
            for s in slices
        ]
    )


def slice_columns(odd: Odd, frame: pd.DataFrame) -> dict[str, object]:
    """How the columns of `slice_frame` are shown."""
    column = st.column_config.NumberColumn
    dims = [c.removeprefix("d ") for c in frame.columns if c.startswith("d ")]
    return {
        "#": column(width=44, pinned=True, help="Rank among the missing slices."),
        "samples": column("Samples", format="localized", width=66),
        "cost": column("Cost", format="localized", width=60),
        "ε̂": column(format="%.3f", width=50, help="Estimated error rate."),
        "fail": column("Est. failing", format="%.1f", width=82, help="Samples × ε̂: failing samples expected, an estimate."),
        **{f"d {d}": st.column_config.TextColumn(odd.by_name[d].label, width=fitted(odd.by_name[d].label, frame[f"d {d}"])) for d in dims},
    }


def coverage_tile(t: int, possible: int, before: int, after: int) -> Tile:
    """Coverage before and after a campaign; the arguments are the fields of `core.acquisition.Coverage`."""
    label = {1: "Values covered", 2: "Pairs of values covered"}[t]
    return Tile(label, f"{after:,}", f"{before:,} before, {after - before:,} more", f"of {possible:,}")
