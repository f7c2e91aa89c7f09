"""Rows that need a decision: one line a problem, safe corrections checked, guesses not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core import operators
from core.operators import ADD, LEAVE_OUT, Fix, ImportChoices
from core.seed_table import CheckReport, TableFile
from pages.shared import seed_draft, shell
from pages.shared.seed_draft import OpenImport
from pages.shared.seed_form import MOST

LINES = 200


def open_fixes(report: CheckReport, c: ImportChoices) -> tuple[Fix, ...]:
    """Problems of a report that are still to be decided."""
    return tuple(f for f in operators.fixes(report) if f.key not in c.left_out)


def show_decisions(held: OpenImport, file: TableFile, report: CheckReport, found: Sequence[Fix], c: ImportChoices) -> ImportChoices:
    """The table of problems; returns the choices with what is marked, and applies it on a click."""
    odd = report.odd
    rows = operators.undecided(found).size
    shown = found[:LINES]
    head, act = st.columns([0.62, 0.38], vertical_alignment="center")
    with head:
        many = f"{rows:,} rows, {len(found):,} problems; guesses start unchecked" if found else "none"
        shell.section("4 Rows that need a decision", many)
    if not found:
        shell.note("Every row is either read or left out knowingly.")
        _download(held, file, report, c)
        return _take_back(held, c)
    key = held.key("fixes." + hashlib.sha256("\0".join(f.key for f in shown).encode()).hexdigest()[:12])
    start = st.session_state.setdefault(key + ".base", [c.pending.get(f.key, (f.safe, f.use if f.dimension else LEAVE_OUT)) for f in shown])
    base = pd.DataFrame(
        [(tick, f.rows, f.numbers.size, f.column, f.got, use or None, f.why) for f, (tick, use) in zip(shown, start, strict=True)],
        columns=["Fix", "Rows", "n", "Column", "Got", "Use", "Why"],
    ).astype({"Use": "string"})
    values = [v for d in dict.fromkeys(f.dimension for f in found if f.dimension) for v in odd.by_name[d].by_name]
    options = list(dict.fromkeys([*(f.use for f in shown if f.use), *values]))[:MOST]
    options += [*([ADD] if values and c.odd != "infer" else []), LEAVE_OUT]
    edited = st.data_editor(
        base,
        key=key,
        hide_index=True,
        row_height=34,
        height=min(35 + 34 * len(shown), 480),
        disabled=["Rows", "n", "Column", "Got", "Why"],
        column_config={
            "Fix": st.column_config.CheckboxColumn(width=48),
            "Rows": st.column_config.TextColumn(width=134),
            "n": st.column_config.NumberColumn(width=48),
            "Column": st.column_config.TextColumn(width=92),
            "Got": st.column_config.TextColumn(width=90),
            "Use": st.column_config.SelectboxColumn(options=options, width=120),
            "Why": st.column_config.TextColumn(width=150),
        },
    )
    marks = [(bool(t), "" if pd.isna(u) else str(u)) for t, u in zip(edited["Fix"], edited["Use"], strict=True)]
    pending = {f.key: m for f, m in zip(shown, marks, strict=True) if m != (f.safe, f.use if f.dimension else LEAVE_OUT)}
    c = c.model_copy(update={"pending": pending})
    chosen = [(f, use) for f, (tick, use) in zip(shown, marks, strict=True) if tick]
    if len(found) > LINES:
        shell.note(f"The first {LINES} of {len(found):,} problems are shown; the download has every row.")
    with act, st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(f"Apply {len(chosen):,} checked", key=held.key("apply"), disabled=not chosen):
            with shell.errors_as_card(changed="No decision was applied; all marks are still there."):
                seed_draft.keep(held, c.with_decided(operators.decide(odd, chosen, c.decided)), redraw=True)
    _download(held, file, report, c)
    return _take_back(held, c)


def _download(held: OpenImport, file: TableFile, report: CheckReport, c: ImportChoices) -> None:
    """The rejected rows as a file, unchanged, each with its reasons."""
    if report.rejected.size:
        prepared = operators.prepared_for(file, report.odd, c, report.plan.model)
        st.download_button(
            f"Download {report.rejected.size:,} rejected rows",
            lambda: operators.rejected_rows(prepared, report),
            "rejected_rows.csv",
            "text/csv",
            on_click="ignore",
            key=held.key("rejected"),
            help="As they stand in the file, with the reasons",
        )


def _take_back(held: OpenImport, c: ImportChoices) -> ImportChoices:
    d = c.decided
    said = [f"{text} → {use or 'left out'}" for m in d.value_map.values() for text, use in m.items()]
    said += [f"{v} added to the ODD" for vs in d.added.values() for v in vs]
    said += [f"{k.replace('|', ': ').replace('_', ' ')}, left out" for k in d.left_out]
    if said:
        with st.container(horizontal=True, vertical_alignment="center"):
            shell.note("Decided: " + "; ".join(said[:12]) + (f" and {len(said) - 12} more" if len(said) > 12 else "") + ".")
            if st.button(f"Take back {len(said)}", key=held.key("take_back"), type="tertiary"):
                seed_draft.keep(held, c.with_decided(operators.Decided({}, {}, ())), redraw=True)
    return c
