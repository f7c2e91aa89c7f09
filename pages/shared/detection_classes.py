"""Which class of a model stands for which class of the ground truth: shown with counts and changed by hand."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.error_slices.sources import HOWS, ClassTable
from pages.shared import shell
from pages.shared.markup import count, fill, strong

LEFT_OUT = "(left out)"
_NAMED = 12
"""Classes that a sentence names."""


def given(key: str) -> dict[str, str]:
    """What a person decided for a source: class of the predictions to class of the ground truth, "" to leave it out."""
    return dict(st.session_state.get(f"detections.map-{key}", {}))


def forget(key: str) -> None:
    """Drop what was decided for a source."""
    st.session_state.pop(f"detections.map-{key}", None)


def editor(classes: ClassTable, key: str, counted: bool = True) -> None:
    """The mapping as a table; what a person changes decides before names do.

    Args:
        classes: The mapping as it is now.
        key: Of the source.
        counted: Whether predictions are known already.
    """
    shell.section("Classes", "a class of the predictions counts as the class of the ground truth beside it")
    if not classes.rows:
        shell.note("There are no predictions, so no class has to be mapped.")
        return
    _told(classes, counted)
    frame = pd.DataFrame(
        {
            "Class of the predictions": [r.name for r in classes.rows],
            "Predictions": [r.boxes for r in classes.rows],
            "Class of the ground truth": [r.target or LEFT_OUT for r in classes.rows],
            "Why": [HOWS[r.how] for r in classes.rows],
        }
    )
    decided = given(key)
    edited = st.data_editor(
        frame if counted else frame.drop(columns="Predictions"),
        hide_index=True,
        key=f"detection_classes-{key}-{len(decided)}-{hash(tuple(decided.items()))}",
        disabled=["Class of the predictions", "Predictions", "Why"],
        column_config={
            "Class of the ground truth": st.column_config.SelectboxColumn(
                options=[LEFT_OUT, *dict.fromkeys(t.name for t in classes.truth)], required=True
            )
        },
        height=min(36 * (len(frame) + 1) + 2, 330),
    )
    wanted = dict(zip(frame["Class of the predictions"], edited["Class of the ground truth"], strict=True))
    changed = {r.name: wanted[r.name] for r in classes.rows if wanted[r.name] != (r.target or LEFT_OUT)}
    if changed:
        st.session_state[f"detections.map-{key}"] = decided | {k: "" if v == LEFT_OUT else v for k, v in changed.items()}
        st.rerun()


def _told(classes: ClassTable, counted: bool) -> None:
    if classes.unmapped:
        boxes = (lambda n: f" ({count(n, 'prediction')})") if counted else (lambda n: "")
        names = [f"{r.name}{boxes(r.boxes)}{f', perhaps {r.proposal}' if r.proposal else ''}" for r in classes.unmapped]
        shell.note(
            fill(
                "{n} without a class of the ground truth, left out unless you choose one: {names}.",
                n=strong(count(len(names), "class", "classes")),
                names="; ".join(names[:_NAMED]) + (" …" if names[_NAMED:] else ""),
            )
        )
    if classes.unmatched_truth:
        names = [f"{t.name} ({t.boxes:,})" for t in classes.unmatched_truth]
        text = "No class of the predictions stands for {names}: all of it counts as missed."
        shell.note(fill(text, names=", ".join(names[:_NAMED]) + (" …" if names[_NAMED:] else "")))
