"""The saved tables: use, rename, delete and restore, compare; and the imports that were not finished."""

from __future__ import annotations

import streamlit as st

from core import operators
from core.storage import SavedTable
from pages.shared import seed_draft, shell, state
from pages.shared.markup import Markup, chip, code, fill, join, strong, tags
from pages.shared.markup import table as plain_table
from pages.shared.records import RecordList

_LINES = 12


def show_saved(tables: tuple[SavedTable, ...]) -> None:
    """Everything that is kept, with what can be done to it."""
    _records().show_error()
    if tables:
        shell.section("Saved tables", f"{len(tables):,}")
        current = state.current_table()
        for t in tables:
            _line(t, current is not None and t.id == current.id)
        if len(tables) > 1:
            _compare(tables)


def _line(t: SavedTable, used: bool) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"od-table-{t.id}"):
        marks = [chip("in use", "info")] if used else []
        marks += [chip("n assumed", "wait")] if t.n_assumed else []
        marks += [chip("synthetic", "outline")] if t.synthetic else []
        line = fill("{n} samples in {k} slices, table {d}, saved {at}", n=f"{t.total:,}", k=f"{t.rows:,}", d=code(t.digest[:6]),
                    at=f"{t.created_at:%Y-%m-%d %H:%M}")  # fmt: skip
        line = fill("Model {m}: ", m=t.model) + line if t.model else line
        with st.container(width="stretch"):
            shell.html(Markup('<p class="od-note">{} {}<br>{}</p>').format(strong(t.name), join(marks, " "), line))
        if st.button("Use", key=f"use-{t.id}", disabled=used, help="Rank the gaps of this table"):
            state.choose_table(t.id)
            st.rerun()
        _records().rename_and_delete(t)


def _records() -> RecordList:
    return RecordList(state.store().tables, "seed")


def show_undo() -> None:
    """Take back the last deletion of this session."""
    _records().undo()


def show_bin() -> None:
    """The deleted tables, which can all be restored."""
    _records().bin(
        lambda t: fill("{name}, {n} samples, deleted {at}", name=strong(t.name), n=f"{t.total:,}", at=f"{t.changed_at:%Y-%m-%d %H:%M}")
    )


def show_unfinished() -> None:
    """Imports that were neither saved nor discarded, and the one that was just discarded."""
    _undo_discard()
    drafts = state.store().drafts.open()
    if not drafts:
        return
    shell.section("Unfinished imports", "kept with every decision until you save or discard them")
    for d in drafts[:20]:
        with st.container(horizontal=True, vertical_alignment="center"):
            name = d.decisions.get("file_name") or d.upload_sha[:6]
            shell.note(fill("{name}, last changed {at} UTC", name=strong(name), at=f"{d.saved_at:%Y-%m-%d %H:%M}"))
            if st.button("Resume", key=f"resume-{d.id}"):
                seed_draft.resume(d.id)
                st.rerun()
            if st.button("Discard", key=f"discard-{d.id}", type="tertiary"):
                state.store().drafts.close(d.id)
                st.session_state["seed.discarded"] = d.id
                st.rerun()


def _undo_discard() -> None:
    gone = st.session_state.get("seed.discarded")
    draft = state.store().drafts.latest(gone) if gone else None
    if draft is None or not draft.closed:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        shell.note(fill("The import of {name} was discarded.", name=strong(draft.decisions.get("file_name") or draft.upload_sha[:6])))
        if st.button("Undo", key="undo-discard"):
            del st.session_state["seed.discarded"]
            state.store().drafts.reopen(draft.id)
            seed_draft.resume(draft.id)
            st.rerun()


def _compare(tables: tuple[SavedTable, ...]) -> None:
    if not st.toggle("Compare two tables", key="seed.compare"):
        return
    names = {t.id: t.name for t in tables}
    a, b = st.columns(2)
    first = a.selectbox("First", list(names), index=1, format_func=names.get, key="compare-first")
    second = b.selectbox("Second", list(names), index=0, format_func=names.get, key="compare-second")
    if first == second:
        shell.note("Choose two different tables.")
        return
    by_id = {t.id: t for t in tables}
    with shell.errors_as_card():
        c = operators.compare(state.seed_table(by_id[first]), state.seed_table(by_id[second]))
        worse = [p for p in c.both if p.change_low > 0]
        better = [p for p in c.both if p.change_high < 0]
        shell.note(
            fill(
                "{both} slices are in both, {one} only in the first, {two} only in the second. The second fails clearly more often in {w} "
                "of the slices in both and clearly less often in {l} (the 95 % interval of the difference leaves 0 out; one interval a "
                "slice, so some of many would do so by chance).{odd}{n}",
                both=strong(f"{len(c.both):,}"),
                one=f"{c.only_first:,}",
                two=f"{c.only_second:,}",
                w=strong(len(worse)),
                l=strong(len(better)),
                odd="" if c.same_odd else " The ODDs differ; slices were matched by the names of their values.",
                n=" n was assumed for one of them or both, and every interval rests on it." if c.n_assumed else "",
            )
        )
        if c.both:
            lines = [
                (
                    tags(p.slice.values()),
                    _rate(p, 0),
                    _rate(p, 1),
                    _change(p),
                )
                for p in c.both[:_LINES]
            ]
            shell.section("Largest changes for the worse", f"error rates with 95 % Wilson intervals; {len(lines)} of {len(c.both):,}")
            shell.html(plain_table(["Slice", names[first], names[second], "Change, points"], lines, right=(1, 2, 3)))


def _change(p: operators.SidePair) -> str:
    return f"{100 * p.change:+.1f} [{100 * p.change_low:+.1f}, {100 * p.change_high:+.1f}]"


def _rate(p: operators.SidePair, i: int) -> str:
    return f"{p.error[i]:.1%} [{p.low[i]:.1%}, {p.high[i]:.1%}], n = {p.n[i]:,}"
