"""Head of the Ranked gaps page: the finding with its downloads, how far two similarities agree, and the wait for a ranking."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import operators
from core.errors import OddysseyError
from core.operators import RankResult
from core.scoring import ScoringParameters
from core.similarity import MODES
from core.storage import SavedTable
from pages.shared import results, shell
from pages.shared.gaps_controls import View
from pages.shared.jobs import Job
from pages.shared.markup import Markup, Text, code, fill

NAME = "Ranked gaps"


def head(sentence: Text, prov: Text, table: SavedTable, result: RankResult | None = None) -> None:
    """The head of the page; with a result, it can be downloaded."""
    left, right = st.columns([0.83, 0.17], gap="medium")
    with left:
        shell.header(NAME, sentence, prov, synthetic=table.synthetic)
    if result is not None and len(result.ranking):
        with right, st.container(horizontal=True, horizontal_alignment="right", key="od-actions"):
            downloads(result)


def downloads(result: RankResult) -> None:
    """The ranking as files; each is made when it is asked for."""
    n = len(result.ranking)
    with st.popover("Download", type="primary"):
        shell.note(
            f"{n:,} slices with their scores. The manifest names the hashes of input and ODD, the parameters, the similarity, "
            "the filter and the versions; JSON and Parquet hold it, a CSV needs it beside it."
        )
        for label, data, name, mime in (
            ("CSV", lambda: operators.as_csv(result.ranking), "gaps.csv", "text/csv"),
            ("Manifest of the CSV", lambda: operators.as_manifest(result), "gaps.manifest.json", "application/json"),
            ("JSON, with explanations", lambda: operators.as_json(result), "gaps.json", "application/json"),
            ("Parquet", lambda: operators.as_parquet(result), "gaps.parquet", "application/vnd.apache.parquet"),
        ):
            st.download_button(label, data, name, mime, key=f"download_{name}", on_click="ignore", width="stretch")


def agreement(table: SavedTable, params: ScoringParameters, view: View) -> None:
    """How far another similarity agrees with the one in use, computed on request."""
    with st.popover("Agreement", key="agreement", help="How far the similarity modes agree on this table."):
        others = [m for m in MODES if m != view.shown_mode]
        other = st.selectbox(f"{view.shown_mode} against", others, key="other_mode")
        if not st.button("Compare", key="compare_modes"):
            inside = " inside the ODD, whatever the scope," if view.scope.outside else ""
            shell.note(
                f"Compares the similarity of every missing with every tested slice{inside} in both modes, in a seeded sample if they are "
                "very many."
            )
            return
        try:
            r = results.agreement(table, params, view.shown_mode, other)
        except OddysseyError as e:
            shell.error_card(e)
            return
        rho = f"{r.spearman:.3f}" if r.spearman is not None else "not defined, since one of them does not vary"
        if r.mean_abs_difference is None or r.max_abs_difference is None or r.same_nearest is None:
            shell.note("There is no missing slice to compare.")
            return
        shell.note(
            f"{view.shown_mode} against {other}: Spearman {rho}; mean absolute difference {r.mean_abs_difference:.4f}, largest "
            f"{r.max_abs_difference:.4f}; for {r.same_nearest:.0%} of {r.candidates:,} missing slices both name the same tested slice "
            f"as most similar. {r.pairs:,} pairs."
        )


class Waiting:
    """Head and bar while a ranking is computed. Nothing is drawn before it is needed, so that quick rankings do not flicker."""

    def __init__(self, top: DeltaGenerator, below: DeltaGenerator, table: SavedTable, size: int) -> None:
        self.top, self.below, self.table, self.size = top, below, table, size
        self.drawn: list[DeltaGenerator] = []

    def show(self, job: Job) -> None:
        """Tell how far the work is."""
        if not self.drawn:
            self.drawn = [self.top.empty(), self.below.empty(), self.below.empty()]
            with self.drawn[0].container():
                prov = fill("You can leave this page; the work goes on and its result is kept. Table {t}.", t=code(self.table.digest[:6]))
                head(f"Ranking {self.size:,} slices.", prov, self.table)
            with self.drawn[2].container():
                shell.html(Markup('<div class="od-wait"><div></div><div></div></div>'))
        results.bar(job, self.drawn[1])

    def clear(self) -> None:
        """Make room for the result."""
        for place in self.drawn:
            place.empty()
