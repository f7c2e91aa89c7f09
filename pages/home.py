"""Home: the state of the workspace in one look, and what to do next."""

from __future__ import annotations

import streamlit as st

from core.errors import OddysseyError
from core.operators import RankResult
from core.scoring import ScoringParameters
from pages.shared import home_parts, results, shell, slice_last, start, state
from pages.shared.shell import Action

NAME = "Home"
TOP = 20

shell.begin("pages/home.py")
with shell.errors_as_card(NAME, "The state of the workspace could not be computed."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "Nothing tested yet. Start with a table.",
            "Here you will see how much of the ODD was tested, which gap to test first, and why.",
            slice_last.show,
        )
    summary = results.triage(current)
    space = state.seed_table(current).odd.base_space.size
    missing = space - summary.slices
    head, strip, figures = st.empty(), st.container(), st.empty()
    with head.container():  # stands while the ranking is computed, which takes seconds where texts are embedded first
        shell.header(NAME, home_parts.headline(missing, space, None), synthetic=current.synthetic)
    with strip:
        home_parts.steps(current, summary, space)
    with figures.container():
        home_parts.tiles(summary, space, None, failed=False)
    progress, failure = st.empty(), st.container()
    result: RankResult | None = None
    try:
        result = results.ranking(current, ScoringParameters(), None, TOP, show=lambda job: results.bar(job, progress))
    except OddysseyError as e:
        with failure:
            shell.error_card(e, "The gaps could not be ranked; the rest of the page stands.")
    progress.empty()
    with head.container():
        shell.header(
            NAME,
            home_parts.headline(missing, space, result),
            home_parts.provenance(current, summary, result),
            [Action("gaps", "See all ranked gaps", "primary", page=home_parts.GAPS)],
            synthetic=current.synthetic,
        )
    with figures.container():
        home_parts.tiles(summary, space, result, failed=result is None)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        home_parts.top_gaps(result)
    with right:
        home_parts.worst_values(current, summary)
    slice_last.show()
