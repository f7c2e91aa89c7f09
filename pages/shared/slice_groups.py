"""Accuracy of a classifier by group, the worst one named; the slices of a detector need no such table."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.error_slices.groups import GroupAccuracy, GroupTable, group_table
from core.operators.slice_report import SliceReport
from pages.shared import shell
from pages.shared.markup import Markup, count, fill, mark, percent, table

ALL = "all"


def show(report: SliceReport) -> None:
    """The tables of a classifier; nothing for a detector."""
    content = report.units.detections
    if content.classified is None:
        return
    splits = sorted({i.split for i in content.images} - {""})
    title = st.container()
    split = st.selectbox("Split", [ALL, *splits], key="group_split", bind="query-params", width=160) if len(splits) > 1 else ALL
    found = group_table(content, split=None if split in (ALL, None) else split)
    worst = found.worst
    kind = "group" if found.groups else "class"
    with title:
        shell.section(fill("Accuracy by {kind}", kind=kind), f"{percent(found.overall.value, 1)} over {count(found.overall.n, 'image')}")
    shell.note(
        fill(
            "The worst {kind} is {name}: {a} right ({low} to {high}, n = {n}); mean over {k}: {mean}.",
            kind=kind,
            name=mark(worst.name),
            a=mark(percent(worst.value, 1)),
            low=percent(worst.low, 1),
            high=percent(worst.high, 1),
            n=f"{worst.n:,}",
            k=count(len(found.groups or found.classes), kind, "classes" if kind == "class" else ""),
            mean=percent(found.mean_of_groups, 1),
        )
    )
    for title, rows in (("Group", found.groups), ("Class", found.classes)):
        if rows:
            shell.html(_table(title, rows, found))
    if found.ungrouped:
        shell.note(f"{count(found.ungrouped, 'image')} without a group.")


def _table(title: str, rows: Sequence[GroupAccuracy], found: GroupTable) -> Markup:
    lines = [
        [r.name, percent(r.value, 1), f"{percent(r.low, 1)} to {percent(r.high, 1)}", f"{r.n:,}", f"{r.wrong:,}"]
        for r in sorted(rows, key=lambda r: r.value)
    ]
    chosen = next((i for i, line in enumerate(lines) if rows is (found.groups or found.classes) and line[0] == found.worst.name), None)
    return table([title, "Right", "95 %", "Images", "Wrong"], lines, right=(1, 2, 3, 4), chosen=chosen)
