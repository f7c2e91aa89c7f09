"""Results by condition: accuracy of multiple-choice and open questions and what the judge gave, with n and interval in each cell."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core import operators
from core.evaluation.summary import Cell
from core.odd import Odd
from core.operators import Evaluated
from core.plots import plain
from pages.shared import shell
from pages.shared.eval_sample import slice_in_words
from pages.shared.eval_text import rate_in_words
from pages.shared.markup import count

BY = {"Slice": "by_slice", "Value": "by_value", "Question category": "by_category"}


def show(e: Evaluated, odd: Odd) -> None:
    """The table, by slice, value or category."""
    left, right = st.columns([0.6, 0.4], vertical_alignment="center")
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        by = st.segmented_control("By", list(BY), default="Slice", required=True, key="eval_by", label_visibility="collapsed")
        st.download_button(
            "CSV",
            lambda: operators.conditions_csv(e.results),
            f"results-{e.run_id}.csv",
            "text/csv",
            key="conditions_csv",
            on_click="ignore",
        )
    cells: Sequence[Cell] = getattr(e, BY[by])
    with left:
        shell.section(f"Results by {by.lower()}", f"{count(len(cells), 'group')}, worst first; 95 % Wilson intervals")
    if not cells:
        shell.note("Nothing was answered yet.")
        return
    frame = pd.DataFrame([_row(c, by, odd) for c in cells])
    wide = st.column_config.TextColumn
    config = {
        "Slice shown": wide(width=300),
        "Slice asked for": wide(width=330 if any(c.values != c.requested for c in cells) else 110),
        "Dimension": wide(width=150),
        "Value": wide(width=150),
        "Category": wide(width=190),
        **{k: wide(width=160) for k in ("All scored", "MCQ", "VQA", "Judge")},
    }
    st.dataframe(frame, hide_index=True, row_height=33, height=37 + 33 * min(len(frame), 14), column_config=config, key=f"conditions_{by}")
    shell.note(
        "Samples without a score (unscored, failed, blocked) are counted, never taken for wrong. Valid, partial and invalid say how many "
        "samples match, may match or contradict the slice that was asked for."
    )


def _row(c: Cell, by: str, odd: Odd) -> dict[str, object]:
    last: dict[str, str] = {}
    if by == "Slice":
        asked = "the same" if c.values == c.requested else slice_in_words(odd, c.requested)
        name, last = {"Slice shown": slice_in_words(odd, c.values) if c.values else "not fully known"}, {"Slice asked for": asked}
    elif by == "Value":
        d, v = next(iter(c.values.items()))
        name = {"Dimension": odd.by_name[d].label if d in odd.by_name else plain(d), "Value": plain(v)}
    else:
        name = {"Category": plain(next(iter(c.values.values()), ""))}
    return {
        **name,
        "Samples": c.items,
        "All scored": rate_in_words(c.all),
        "MCQ": rate_in_words(c.mcq),
        "VQA": rate_in_words(c.vqa),
        "Judge": rate_in_words(c.judge),
        "Unscored": c.unscored,
        "Failed": c.failed,
        "Blocked": c.blocked,
        "Valid": c.valid,
        "Partial": c.partial,
        "Invalid": c.invalid,
        "Made": c.synthetic,
        **last,
    }
