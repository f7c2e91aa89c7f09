"""The saved tables: use, compare, delete with undo."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.operators.compare import compare
from core.storage import SavedTable
from pages.shared import shell, state
from pages.shared.markup import chip, code, table


def listing(tables: tuple[SavedTable, ...], current: SavedTable | None) -> None:
    """One row per table with what can be done to it."""
    shell.section("Saved tables", f"{len(tables)}; results always say which one they rest on")
    rows = []
    for t in tables:
        name = shell_join(t, current)
        rows.append(
            (
                name,
                t.model,
                f"{t.total:,}",
                f"{t.rows:,}",
                code(t.digest[:6]),
                code(t.odd_hash[:6]),
                t.created_at.strftime("%Y-%m-%d %H:%M"),
            )
        )
    shell.html(table(["Name", "Model", "Samples", "Slices", "Table", "ODD", "Saved, UTC"], rows, right=(2, 3)))
    by_name = {t.name: t for t in tables}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picked = by_name[st.selectbox("Table", list(by_name), key="picked", width=260)]
        if st.button("Use this table", key="use"):
            state.choose_table(picked.id)
            st.rerun()
        if st.button("Delete", key="delete"):
            state.store().tables.delete(picked.id)
            st.rerun()
        other = [n for n in by_name if n != picked.name]
        if other:
            b = by_name[st.selectbox("Compare it with", other, key="other", width=260)]
            if st.toggle("Compare", key="compare"):
                st.session_state["pair"] = (picked.id, b.id)
            else:
                st.session_state.pop("pair", None)
    pair = st.session_state.get("pair")
    known = {t.id: t for t in tables}
    if pair and pair[0] in known and pair[1] in known:
        with_errors(known[pair[0]], known[pair[1]])


def shell_join(t: SavedTable, current: SavedTable | None) -> object:
    """Name of a table with its marks."""
    from pages.shared.markup import join

    marks = [chip("in use", "info")] * (current is not None and t.id == current.id) + [chip("synthetic", "outline")] * t.synthetic
    return join([t.name, *marks], " ")


def with_errors(a: SavedTable, b: SavedTable) -> None:
    """The comparison of two tables."""
    with shell.errors_as_card():
        c = compare(state.seed_table(a), state.seed_table(b))
        shell.section(
            f"{b.name} against {a.name}",
            f"{len(c.both):,} slices in both, {c.only_a:,} only in the first, {c.only_b:,} only in the second; "
            f"error over shared slices {c.error_a:.1%} and {c.error_b:.1%}; {sum(d.apart for d in c.both)} with separate intervals",
        )
        rows = [
            {
                "slice": ", ".join(d.values),
                "change": 100 * d.change,
                a.name: f"{d.error_a:.0%} ({d.low_a:.0%} to {d.high_a:.0%}), n = {d.n_a}",
                b.name: f"{d.error_b:.0%} ({d.low_b:.0%} to {d.high_b:.0%}), n = {d.n_b}",
                "separate": d.apart,
            }
            for d in c.both
        ]
        st.dataframe(
            pd.DataFrame(rows),
            hide_index=True,
            height=260,
            column_config={"change": st.column_config.NumberColumn("change, points", format="%+.1f")},
        )


def bin_of_deleted(living: tuple[SavedTable, ...]) -> None:
    """Deleted tables can be brought back."""
    gone = [t for t in state.store().tables.list(include_deleted=True) if t.deleted]
    if gone:
        names = {t.id: f"{t.name} ({t.total:,} samples)" for t in gone}
        with st.container(horizontal=True, vertical_alignment="bottom"):
            picked = st.selectbox(f"Deleted tables ({len(gone)})", list(names), format_func=names.__getitem__, key="gone", width=260)
            if st.button("Undo the deletion", key="restore"):
                table_ = next(t for t in gone if t.id == picked)
                state.store().tables.restore(picked, state.store().tables.free_name(table_.name))
                st.rerun()
    del living
