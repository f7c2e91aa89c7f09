"""Which pages there are. A page stands here once it works, in the order in which it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st


@dataclass(frozen=True)
class Entry:
    """A page in the navigation; its address is the name of its file, that of the first page is "/"."""

    section: str
    path: str
    title: str
    icon: str

    @property
    def address(self) -> str:
        """Last part of its URL."""
        return Path(self.path).stem


ENTRIES: Sequence[Entry] = (
    Entry("", "pages/home.py", "Home", ":material/cached:"),
    Entry("Coverage", "pages/seed_tables.py", "Seed tables", ":material/table:"),
    Entry("Coverage", "pages/ranked_gaps.py", "Ranked gaps", ":material/grid_on:"),
    Entry("Coverage", "pages/controller.py", "Controller", ":material/route:"),
    Entry("Coverage", "pages/evaluation.py", "Acquire and evaluate", ":material/fact_check:"),
    Entry("Coverage", "pages/odd.py", "ODD", ":material/category:"),
    Entry("Coverage", "pages/triage.py", "Where it fails", ":material/trending_down:"),
    Entry("Coverage", "pages/benchmark.py", "Compare methods", ":material/compare_arrows:"),
    Entry("Error slices", "pages/slices.py", "Error slices", ":material/filter_alt:"),
    Entry("Error slices", "pages/slice.py", "Slice detail", ":material/trending_up:"),
    Entry("Error slices", "pages/slice_compare.py", "Compare slices", ":material/balance:"),
    Entry("Error slices", "pages/detections.py", "Detections", ":material/frame_inspect:"),
    Entry("Trajectory threats", "pages/cases.py", "Cases", ":material/alt_route:"),
    Entry("Trajectory threats", "pages/label.py", "Label", ":material/keyboard:"),
    Entry("Trajectory threats", "pages/review.py", "Review", ":material/groups:"),
    Entry("Trajectory threats", "pages/threats.py", "Threat rates", ":material/warning:"),
)


WIDE = frozenset({"Label"})
"""Titles of pages that need the whole width of the window."""


def sidebar(page: st.Page) -> Literal["collapsed", "expanded"]:
    """How the sidebar stands when a page is opened; whoever opens or closes it there has the say."""
    return "collapsed" if page.title in WIDE else "expanded"


def sections() -> dict[str, list[st.Page]]:
    """The pages by section, as st.navigation takes them."""
    out: dict[str, list[st.Page]] = {}
    for i, e in enumerate(ENTRIES):
        out.setdefault(e.section, []).append(st.Page(e.path, title=e.title, icon=e.icon, default=i == 0))
    return out
