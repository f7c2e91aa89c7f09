"""Numbers that others computed for the cases, such as PDMS: files, what of them meets a case, and what counts as a failure."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import OddysseyError
from core.operators import outside
from core.plots.threat_maps import MEASURES, overlap_map
from core.storage import SavedCaseSet
from core.trajectories.case import Case
from core.trajectories.outside import OutsideMetrics
from pages.shared import shell, state
from pages.shared.markup import code, count, fill, label, strong, table

_TOLD = "outside.told.{}"


def show(saved: SavedCaseSet, cases: Sequence[Case]) -> None:
    """The files, another one, and failures by a rule.

    Args:
        saved: The set.
        cases: Its cases with the numbers that there are.
    """
    store = state.store()
    files = outside.outside_files(store, saved.id)
    with shell.card("Numbers from outside", "a CSV with scene_id or case_id, planner where it differs, a column a metric", key="outside"):
        for f in files:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                shell.note(fill("{n}, {d}, added {at}", n=strong(f.name), d=code(f.sha256[:6]), at=f.added[:16].replace("T", " ")))
                if st.button("Take away", key=f"outside_drop-{f.sha256}", help="Its numbers no longer stand with the cases"):
                    outside.drop_outside(store, saved.id, f.sha256)
                    st.rerun()
        given = st.file_uploader("CSV", key=f"outside_file-{saved.id}-{len(files)}", label_visibility="collapsed")
        if given is not None and st.button("Add these numbers", key="outside_add", type="primary"):
            try:
                st.session_state[_TOLD.format(saved.id)] = outside.add_outside(store, saved.id, given.name, given.getvalue(), cases)
            except OddysseyError as e:
                shell.error_card(e, "Nothing was added.")
                return
            st.rerun()
        _tell(st.session_state.get(_TOLD.format(saved.id)))
        _failures(cases)


def _tell(found: OutsideMetrics | None) -> None:
    """What became of the rows of the file added last."""
    if found is None:
        return
    shell.note(
        f"{found.used:,} of {count(found.rows, 'row')} met a case; {len(found.unmatched):,} met none; "
        f"{count(len(found.problems), 'cell or row', 'cells or rows')} cannot be used."
    )
    rows = [[m, f"{found.blank.get(m, 0):,}", f"{found.without.get(m, 0):,}"] for m in found.names]
    shell.html(table(["Metric", "Cells without a number", "Cases without a number"], rows, right=(1, 2)))
    for p in found.problems[:5]:
        shell.note(str(p))


def _failures(cases: Sequence[Case]) -> None:
    """Which cases fail by a rule, and whether planners fail in the same scenes."""
    names = sorted({k for c in cases for k in c.metrics})
    if not names:
        return
    rule = st.text_input(
        "A failure is", key="outside_rule", placeholder=f"{names[0]} <= 0", width=260, help=label(f"Metrics: {', '.join(names)}")
    )
    if not rule.strip():
        return
    try:
        found = outside.failure_overlap(cases, rule)
    except OddysseyError as e:
        shell.error_card(e)
        return
    rows = [[p.replace("_", " "), f"{n:,}", f"{found.unknown[p]:,}"] for p, n in found.failed.items()]
    shell.html(table(["Planner", f"Cases with {found.rule}", "Without the metric"], rows, right=(1, 2)))
    if len(found.failed) > 1 and found.common.scenes:
        shell.section("Same scenes?", f"{MEASURES['directional'][1]}; {count(len(found.common.scenes), 'scene')} in common")
        st.altair_chart(overlap_map(found.matrix, "directional", shell.dark()), width="content", key="outside_overlap")
        shell.note(found.common.text())
