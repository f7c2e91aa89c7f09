"""What an evaluation changed: results counted into a seed table, and how the gaps moved; both can be taken back."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import operators
from core.errors import OddysseyError
from core.odd import Odd
from core.operators import Evaluated, Moved, Shift
from core.scoring import ScoringParameters
from core.storage import SavedTable
from pages.shared import jobs, shell, state, who
from pages.shared.eval_sample import slice_in_words
from pages.shared.markup import Text, count, fill, strong, table

LINES = 12
TOP = 100
"""Length of the lists that are compared."""


def holding(run_id: str) -> tuple[SavedTable, ...]:
    """Tables that a run is counted into."""
    return tuple(t for t in state.tables() if run_id in t.runs)


def computed(run_id: str, t: SavedTable) -> Moved:
    """What a run changed among the gaps of a table, computed once."""
    store, settings = state.store(), state.settings()
    found: Moved = jobs.outcome(
        ("moved", store.db.name, run_id, t.id, t.version),
        lambda report: operators.moved(store, t, run_id, ScoringParameters(), settings, top=TOP),
        lambda job: None,
    )
    return found


def show(e: Evaluated, m: Moved | None, t: SavedTable | None, odd: Odd) -> None:
    """Counting and undoing, and the gaps that moved."""
    if t is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="od-counted"):
            with st.container(width="stretch"):
                shell.note(fill("This run is counted into {t}, which now holds {n}.", t=strong(t.name), n=count(t.total, "sample")))
                _left_out(t, e.run_id)
            if st.button("Undo this run", key="undo_run", help="Takes the results out of the table; they are kept"):
                operators.undo_results(state.store(), e.run_id, table_id=t.id, who=who.name())
                st.session_state["eval.undone"] = (e.run_id, t.id)
                st.rerun()
    _undone(e.run_id)
    if t is None:
        _count(e)
    if m is not None:
        _shifts(odd, "Gaps that were filled", "tested now", m.filled)
        _shifts(odd, f"New in the top {m.top}", "not listed before", m.entered)
        _shifts(odd, "Changed their rank", "listed before and after", m.changed)
        _shifts(odd, "Fell out of the list", "still untested", m.left)


def note(t: SavedTable) -> None:
    """On a page of gaps: that results were counted into the table, and the way to what that moved."""
    if t.runs:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="counted_note"):
            with st.container(width="content"):
                shell.note(f"Results of {count(len(t.runs), 'evaluation')} were counted into this table since it was imported.")
            st.page_link("pages/evaluation.py", label="See what moved", query_params={"run": t.runs[-1], "view": "What moved"})


def _left_out(t: SavedTable, run_id: str) -> None:
    report = next((v.report for v in reversed(state.store().tables.versions(t.id)) if v.run_id == run_id and v.kind != "undone"), None)
    if report and report.get("left_out"):
        shell.note(f"{count(report['counted'], 'result counts', 'results count')}. Left out: {reasons(report['left_out'])}.")


def reasons(left: object) -> str:
    """Why results do not count, with their numbers."""
    return "; ".join(f"{n:,}: {k}" for k, n in left.items()) if isinstance(left, dict) else ""


def _undone(run_id: str) -> None:
    undone = st.session_state.get("eval.undone")
    if not undone or undone[0] != run_id or holding(run_id):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        shell.note("The run was taken out of the table. Its results are kept.")
        if st.button("Count it again", key="redo_run"):
            del st.session_state["eval.undone"]
            operators.count_results(state.store(), undone[1], run_id, who=who.name())
            st.rerun()


def _count(e: Evaluated) -> None:
    """Count a run into a table of the same model, after a look at what that would do."""
    fitting = [t for t in state.tables() if t.model in ("", e.model)]
    shell.section("Count the results into a table", f"of the model {e.model}; models never mix")
    if fitting:
        names = {t.id: t.name for t in fitting}
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            chosen = st.selectbox("Table", list(names), format_func=names.get, key="count_table", width=280)
            partial = st.checkbox("Count partly known slices too", key="count_partial", help="Under the slice that was asked for.")
        c = operators.counting(state.store(), chosen, e.run_id, partial=partial)
        left = f" Left out: {reasons(dict(c.left_out))}." if c.left_out else ""
        shell.note(f"{count(c.counted, 'result')} would count.{left}")
        if st.button("Count them", type="primary", key="count_run", disabled=not c.counted):
            operators.count_results(state.store(), chosen, e.run_id, partial=partial, who=who.name())
            st.rerun()
    else:
        shell.note(fill("No table of {m} is in this workspace.", m=strong(e.model)))
    with st.popover("Make a table of its own", key="own_table"):
        name = st.text_input("Name", state.store().tables.free_name(e.model), key="own_name", max_chars=120)
        used = state.current_table()
        if st.button("Make it", key="own_make", disabled=used is None) and used is not None:
            try:
                odd = state.seed_table(used).odd
                made = any(r.item.source == "synthetic" for r in e.results)
                operators.table_from_results(state.store(), name, odd, [e.run_id], synthetic=made, who=who.name())
            except OddysseyError as error:
                shell.error_card(error)
            else:
                st.rerun()


def _shifts(odd: Odd, title: str, sub: str, items: Sequence[Shift]) -> None:
    if not items:
        return
    shown = f"; the first {LINES}" if len(items) > LINES else ""
    shell.section(title, f"{len(items):,}, {sub}{shown}")
    rows = [[slice_in_words(odd, s.values), _place(s.rank_before, s.phi_before), _place(s.rank_after, s.phi_after)] for s in items]
    shell.html(table(["Slice", "Before", "After"], rows[:LINES], right=(1, 2)))


def _place(rank: int | None, phi: float | None) -> Text:
    return f"# {rank:,}, φ {phi:.4f}" if rank is not None and phi is not None else "not listed"
