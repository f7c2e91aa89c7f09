"""Import of cases: a file or a whole folder, read by one of the importers, with what became of every case; and the sets that there are."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core import operators
from core.errors import InputError, OddysseyError
from core.storage import SavedCaseSet
from core.trajectories.case_set import safe_path
from core.trajectories.importers import COMMON, IMPORTERS
from pages.shared import case_sets, jobs, shell, state
from pages.shared.markup import Text, chip, code, count, fill, join, label, strong, table
from pages.shared.records import RecordList

FILE, FOLDER = SOURCES = ("A file", "A folder")
RECOGNISE = "Recognise it"
_REJECTED = 50
"""Rejected cases that are listed one by one."""


def show(used: SavedCaseSet | None) -> None:
    """The sets that there are, and the import of another."""
    records = RecordList(state.store().cases, "cases", "-cases", "lies in the bin; its labels stay.")
    records.show_error()
    found = case_sets.saved()
    if found:
        shell.section("Case sets", f"{len(found):,}")
    for x in found:
        _line(x, used is not None and used.id == x.id, records)
    records.undo()
    records.bin(lambda x: fill("{name}, {n}, deleted {at}", name=strong(x.name), n=count(x.cases, "case"), at=f"{x.changed_at:%Y-%m-%d}"))
    if not any(x.name.startswith("Demo") for x in found) and found and st.button("Load the demo cases", key="demo_cases_again"):
        with shell.errors_as_card(changed="Nothing was imported."):
            case_sets.choose(operators.load_demo_cases(state.store()).id)
            st.rerun()
    new()


def _line(x: SavedCaseSet, used: bool, records: RecordList) -> None:
    with st.container(border=True, key=f"od-cases-{x.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            marks = [chip("in use", "info")] if used else []
            marks += [chip("synthetic", "outline")] if x.synthetic else []
            line = fill("{n}, digest {d}, {at} UTC", n=count(x.cases, "case"), d=code(x.digest[:6]), at=f"{x.created_at:%Y-%m-%d %H:%M}")
            with st.container(width="stretch"):
                shell.note(fill("{name} {marks} {line}", name=strong(x.name), marks=join(marks, " "), line=line))
            if st.button("Use", key=f"use-cases-{x.id}", disabled=used, help="Show and label the cases of this set"):
                case_sets.choose(x.id)
                st.rerun()
            records.rename_and_delete(x)
        if st.toggle("Report of the import", key=f"cases-report-{x.id}"):
            told(state.store().cases.report(x.id))


def new() -> None:
    """The uploader and what is asked about the source."""
    with shell.card("Import cases", "each becomes a case, or is rejected with a reason", key="case_import"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            kind = st.segmented_control("Source", SOURCES, default=FILE, required=True, key="case_source")
            titles = {RECOGNISE: RECOGNISE} | {k: x.title for k, x in IMPORTERS.items()}
            chosen = st.selectbox("Format", list(titles), format_func=titles.__getitem__, key="case_format", width=260)
            name = st.text_input("Name of the set", key="case_name", placeholder="that of the source", max_chars=120, width=240)
        many = "directory" if kind == FOLDER else False
        given = st.file_uploader("Source", accept_multiple_files=many, key=f"case_file-{kind}", label_visibility="collapsed")
        files = given if isinstance(given, list) else [given] if given is not None else []
        importer = IMPORTERS.get(chosen)
        if importer is not None:
            shell.note(f"{importer.what} Tested on {importer.tested_on}.")
        options = _options({**(importer.options if importer is not None else {}), **COMMON})
        shell.note(
            fill(
                "Sources of many GB are read from the disk by {c}; such a set stands here, too.", c=code("python -m core cases import SRC")
            )
        )
        if st.button("Import", type="primary", key="case_import_do", disabled=not files):
            _import(files, None if importer is None else chosen, " ".join(name.split()), options, folder=kind == FOLDER)


def _options(known: Mapping[str, str]) -> dict[str, str]:
    """What an importer can be told; what is left empty is not."""
    with st.expander("Options"):
        columns = st.columns(2, gap="medium")
        given = {k: columns[i % 2].text_input(label(k), key=f"case_option-{k}", help=what) for i, (k, what) in enumerate(known.items())}
    return {k: v.strip() for k, v in given.items() if v.strip()}


def _import(files: Sequence[UploadedFile], format_: str | None, name: str, options: Mapping[str, str], folder: bool) -> None:
    store, content = state.store(), [(f.name, f.getvalue()) for f in files]

    def work(job: jobs.Job) -> operators.ImportedSet:
        with tempfile.TemporaryDirectory() as place:
            source = _write(Path(place), content, folder)
            return operators.import_cases(store, source, format_, name=name, **options)

    job = jobs.begin(("import cases", store.db.name, name, format_, tuple(options.items()), tuple((n, len(d)) for n, d in content)), work)
    with st.spinner("Reading the cases.", show_time=True):
        job.finished.wait()
    if isinstance(job.error, OddysseyError):
        shell.error_card(job.error, "Nothing was imported.")
        return
    if job.error is not None:
        raise job.error
    done: operators.ImportedSet = job.result
    case_sets.choose(done.saved.id)
    st.session_state[f"cases-report-{done.saved.id}"] = True
    st.rerun()


def _write(place: Path, content: Sequence[tuple[str, bytes]], folder: bool) -> Path:
    """Put an upload on the disk as it was; the file, or the folder that holds all of it.

    Raises:
        InputError: A path leads out of the folder.
    """
    if not content:
        raise InputError("The folder is empty.")
    for name, data in content:
        path = place / safe_path(name.removeprefix("./")) if folder else place / Path(name).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    inside = list(place.iterdir())
    return inside[0] if len(inside) == 1 else place


def told(report: Mapping[str, Any]) -> None:
    """What an importer did: every case counted, every note with how often it was made."""
    line = "Format {f}: {a} accepted, {r} rejected, {s} resampled."
    shell.note(fill(line, f=report["format"], a=f"{report['accepted']:,}", r=f"{report['rejected']:,}", s=f"{report['resampled']:,}"))
    for remark in report["remarks"]:
        shell.note(remark)
    notes: dict[tuple[str, str], int] = {}
    for o in report["outcomes"]:
        for note in [*o["notes"], *([o["resampled"]] if o["resampled"] else [])]:
            notes[o["fate"], note] = notes.get((o["fate"], note), 0) + 1
    if notes:
        rows = [[_fate(fate), note, f"{n:,}"] for (fate, note), n in sorted(notes.items(), key=lambda x: (x[0][0] == "accepted", -x[1]))]
        shell.html(table(["Cases", "What was found and done", "How many"], rows[:_REJECTED], right=(2,)))
        if len(rows) > _REJECTED:
            shell.note(f"and {count(len(rows) - _REJECTED, 'more kind', 'more kinds')} of note.")
    gone = [o for o in report["outcomes"] if o["fate"] == "rejected"]
    if gone:
        with st.expander(f"Rejected one by one ({len(gone):,})"):
            rows = [[o["where"], o["case_id"] or "–", " ".join(o["notes"])] for o in gone[:_REJECTED]]
            shell.html(table(["Where", "Case", "Why"], rows))
            if len(gone) > _REJECTED:
                shell.note(f"and {len(gone) - _REJECTED:,} more; the command line writes all of them with --json.")


def _fate(fate: str) -> Text:
    return chip(fate, "done" if fate == "accepted" else "risk")
