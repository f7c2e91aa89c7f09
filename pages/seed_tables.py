"""Seed tables: upload a table of results, map its columns, check every row, save; keep several, compare, delete with undo."""

from __future__ import annotations

import streamlit as st

from core import operators
from core.errors import OddysseyError
from core.operators import Prepared
from core.plots import value_rows
from core.seed_table import CheckReport
from pages.shared import seed_decisions, seed_draft, seed_mapping, seed_saved, shell, state
from pages.shared.markup import Text, code, fill, mark
from pages.shared.seed_draft import Import
from pages.shared.shell import Action

NAME = "Seed tables"
TYPES = ["csv", "tsv", "txt", "xlsx", "parquet", "jsonl", "json", "gz"]


def without_draft() -> None:
    """Saved tables and the way to a new one."""
    tables, current = state.tables(), state.current_table()
    sentence: Text = (
        f"{len(tables)} tables are saved; add one, or compare two." if tables else "No table yet. Upload one, or try the sample."
    )
    if (
        shell.header(
            NAME,
            sentence,
            "One row per answer, or one row per slice with its number of samples.",
            [Action("sample", "Try the sample table")],
        )
        == "sample"
    ):
        state.choose_table(operators.load_demo(state.store())[0].id)
        st.rerun()
    if tables:
        seed_saved.listing(tables, current)
    seed_saved.bin_of_deleted(tables)
    shell.section("New table", "CSV, TSV, Excel, Parquet or JSON Lines, also gzipped; kept in the workspace from the first moment")
    upload = st.file_uploader("File", type=TYPES, key="upload", label_visibility="collapsed")
    if upload is not None:
        seed_draft.begin(upload.name, upload.getvalue())
        st.rerun()
    drafts = state.store().drafts.open()
    for d in drafts[:5]:
        if st.button(f"Resume the import of {d.decisions.get('name', 'a table')} ({d.saved_at:%Y-%m-%d %H:%M} UTC)", key=f"resume_{d.id}"):
            st.query_params[seed_draft.PARAM] = d.id
            st.rerun()


def headline(report: CheckReport) -> Text:
    """What was read and what is open."""
    untested = [v.name for d in report.odd.dimensions if d.active for v in d.base if not _rows(report, d.name, v.name)]
    end = fill(", and {n} declared values, such as {v}, have no rows at all.", n=len(untested), v=mark(untested[0])) if untested else "."
    return fill("{r} rows read, {b} need a decision{e}", r=f"{report.rows:,}", b=mark(f"{report.rejected.size:,}"), e=end)


def _rows(report: CheckReport, dim: str, value: str) -> int:
    k = report.odd.names.index(dim)
    return int(report.seed.n[report.seed.codes[:, k] == report.odd.codec.code_of[k][value]].sum())


def rejected(p: Prepared, report: CheckReport) -> bytes:
    """The rejected rows as they stand in the file, with the reasons."""
    return operators.rejected_rows(p, report)


def right_column(report: CheckReport) -> None:
    """Rows per value, sources and warnings."""
    shell.section("Samples per value", f"{report.seed.total:,} samples, same scale throughout")
    shell.note(f"{report.observed:,} of {report.odd.base_space.size:,} combinations occur. A value without samples keeps its place.")
    for k in report.odd.active:
        d = report.odd.dimensions[k]
        shell.note(d.label)
        st.altair_chart(value_rows(report.seed, d.name, shell.dark()), width="stretch", key=f"rows_{d.name}")
    seed_mapping.inventory(report)


def importing(draft: Import) -> None:
    """The steps of one import."""
    key, head = draft.id, st.container()
    with shell.errors_as_card(NAME, "The file cannot be read."):
        file = seed_draft.opened(draft)
    left, right = st.columns([0.64, 0.36], gap="large")
    decisions = dict(draft.decisions)
    report, p = None, None
    with left:
        dialect = ", ".join(x for x in (file.dialect.format, file.dialect.encoding, file.dialect.compression, file.dialect.sheet) if x)
        shell.section("1 File", f"{file.name}, {file.size:,} bytes, {dialect}")
        for text in file.notes:
            shell.note(text)
        try:
            decisions |= seed_mapping.odd_step(file, decisions, key)
            p = seed_draft.prepared(file, decisions)
            decisions |= seed_mapping.columns_step(file, p, decisions, key)
            draft.save(decisions)
            p = seed_draft.prepared(file, decisions)
            report = seed_draft.checked(p)
            seed_mapping.scale_note(report)
            seed_mapping.readings(report)
            before = (decisions.get("value_map") or {}, decisions.get("added") or {})
            decisions |= seed_decisions.step(p, report, decisions, key)
            changed = before != (decisions["value_map"], decisions["added"])
            draft.save(decisions)
            if changed:
                st.rerun()
        except OddysseyError as e:
            shell.error_card(e, "Nothing was changed. Mend it above; the file and your decisions are kept.")
    with head:
        _head(draft, p, report)
    if report is not None:
        with right:
            for text in (*p.notes, *report.warnings):  # type: ignore[union-attr]
                shell.note(text)
            right_column(report)


def _head(draft: Import, p: Prepared | None, report: CheckReport | None) -> None:
    back = Action("back", "Back")
    if report is None or p is None:
        if shell.header(NAME, "This file needs a decision before it can be checked.", "Nothing is lost.", [back]) == "back":
            seed_draft.leave()
            st.rerun()
        return
    actions = [back]
    if report.rejected.size:
        actions.append(Action("rejected", "Rejected rows", download=lambda: rejected(p, report), file_name="rejected_rows.csv"))
    actions.append(Action("save", f"Save {report.accepted:,} rows", "primary", disabled=not report.accepted))
    prov = fill("{f}, sha256 {s}. {a} rows will be used, {o} belong to other models. Nothing is dropped until you save.", f=p.file.name,
                s=code(p.file.sha256[:12]), a=f"{report.accepted:,}", o=f"{report.other_models:,}")  # fmt: skip
    clicked = shell.header(NAME, headline(report), prov, actions)
    if clicked == "back":
        seed_draft.leave()
        st.rerun()
    if clicked == "save":
        with shell.errors_as_card():
            name = p.file.name.rsplit(".", 1)[0] + (f", {report.plan.model}" if report.plan.model else "")
            saved = operators.save_table(state.store(), state.store().tables.free_name(name), p, report, upload_sha=draft.sha)
            seed_draft.close(draft)
            state.choose_table(saved.id)
            st.rerun()


shell.begin("pages/seed_tables.py")
with shell.errors_as_card(NAME, "The saved tables could not be read."):
    current_draft = seed_draft.current()
    if current_draft is None:
        without_draft()
    else:
        importing(current_draft)
