"""Where it fails: errors among what was tested, and what was hardly tested."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.scoring import Failure
from pages.shared import results, shell, start, state
from pages.shared.markup import code, fill, mark
from pages.shared.shell import Action

NAME = "Where it fails"


def frame(rows: Sequence[Failure]) -> pd.DataFrame:
    """Failures as a table, numbers in percent."""
    return pd.DataFrame(
        [
            {
                "what": ", ".join(f"{d} = {v}" for d, v in zip(f.dimensions, f.values, strict=True)),
                "error": 100 * f.error,
                "low": 100 * f.low,
                "high": 100 * f.high,
                "n": f.n,
                "slices": f.slices,
                "lift": 100 * f.lift,
            }
            for f in rows
        ],
        columns=["what", "error", "low", "high", "n", "slices", "lift"],
    )


def show(rows: Sequence[Failure], key: str) -> None:
    """One sorted table of failures."""
    percent = st.column_config.NumberColumn
    config = {
        "what": st.column_config.TextColumn("Value" if key == "values" else "Pair of values", width=380),
        "error": st.column_config.ProgressColumn("Error", format="%.1f%%", min_value=0, max_value=100, width=130, color="#D55E00"),
        "low": percent("95 % from", format="%.1f%%", width=90),
        "high": percent("to", format="%.1f%%", width=80),
        "lift": percent("Against all", format="%+.1f", width=100, help="Percentage points above the error over all samples."),
    }
    st.dataframe(frame(rows), hide_index=True, column_config=config, height=min(38 + 35 * len(rows), 420), key=f"table_{key}")


shell.begin("pages/triage.py")
with shell.errors_as_card(NAME, "The failures could not be computed."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "No table yet, so no failure can be shown.",
            "Here you will see under which values the model fails, each with n and interval.",
        )
    summary = results.triage(current)
    every = frame([*summary.by_value, *summary.by_pair]).to_csv(index=False).encode()
    worst = summary.by_value[0] if summary.by_value else None
    sentence = (
        fill(
            "With {v}, the model fails {e}, against {a} over all samples.",
            v=mark(", ".join(worst.values)),
            e=mark(f"{worst.error:.0%}"),
            a=f"{summary.error:.0%}",
        )
        if worst
        else "No sample lies inside the ODD."
    )
    basis = f"n = {worst.n:,}, 95 % interval {worst.low:.0%} to {worst.high:.0%}. " if worst else ""
    prov = fill(
        "{b}{n} samples in {s} slices; {o} samples outside the ODD are left out. Table {t}. "
        "Sorted by the lower end of the interval; intervals are one at a time.",
        b=basis, n=f"{summary.n:,}", s=f"{summary.slices:,}", o=f"{summary.left_out:,}", t=code(current.digest[:6]),
    )  # fmt: skip
    shell.header(
        NAME, sentence, prov, [Action("csv", "Download CSV", download=every, file_name="failures.csv")], synthetic=current.synthetic
    )
    shell.section("Per value", f"{len(summary.by_value)} values with samples")
    show(summary.by_value, "values")
    shell.section("Per pair of values", f"{summary.pairs_tested} of {summary.pairs_possible} pairs were tested")
    show(summary.by_pair, "pairs")
    never = [c for c in summary.coverage if c.n == 0]
    shell.section("Coverage per value", f"{len(never)} of {len(summary.coverage)} values have no sample")
    coverage = pd.DataFrame([vars(c) for c in summary.coverage])
    share = st.column_config.ProgressColumn("Share of samples", format="percent", min_value=0, max_value=1, width=150)
    st.dataframe(
        coverage,
        hide_index=True,
        column_config={"share": share, "possible": "slices of the ODD", "slices": "slices tested"},
        key="coverage",
    )
