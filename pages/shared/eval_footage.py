"""Footage: manifests that were imported, a report on each, and the import of a new one with a look at it before it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from core import operators
from core.acquisition.manifest import FIELDS, ManifestReport
from core.digest import sha256_bytes, sha256_json
from core.errors import InputError, OddysseyError
from core.odd import Odd
from core.operators import ReadManifest
from core.plots import named, plain
from core.storage import SavedDatastore
from pages.shared import footage, jobs, shell, state, who
from pages.shared.markup import Text, chip, code, fill, join, label, strong, table
from pages.shared.records import RecordList

NOTHING = "(none)"
_MAIN = ("path", "caption", "question", "options", "answer", "group", "dataset", "licence")


def show(odd: Odd) -> None:
    """What is there, and a new one."""
    records = RecordList(state.store().datastores, "footage", "-footage")
    records.show_error()
    found, used = footage.saved(), footage.current()
    shell.section("Imported manifests", f"{len(found):,}" if found else "")
    if not found:
        shell.note("None yet. A manifest is a table with a row per image or clip: where it lies, what it shows, its licence.")
    for x in found:
        _line(x, used is not None and used.id == x.id, records)
    records.undo()
    records.bin(lambda x: fill("{name}, {n} rows, deleted {at}", name=strong(x.name), n=f"{x.rows:,}", at=f"{x.changed_at:%Y-%m-%d %H:%M}"))
    new(odd)


def _line(x: SavedDatastore, used: bool, records: RecordList) -> None:
    with st.container(border=True, key=f"od-footage-{x.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            marks = [chip("in use", "info")] if used else []
            marks += [chip("synthetic", "outline")] if x.synthetic else []
            line = fill(
                "{n} rows, digest {d}, imported {at} UTC", n=f"{x.rows:,}", d=code(x.digest[:6]), at=f"{x.created_at:%Y-%m-%d %H:%M}"
            )
            with st.container(width="stretch"):
                shell.note(fill("{name} {marks} {line}", name=strong(x.name), marks=join(marks, " "), line=line))
            if st.button("Use", key=f"use-footage-{x.id}", disabled=used, help="Look for samples in this one"):
                footage.choose(x.id)
                st.rerun()
            records.rename_and_delete(x)
        if st.toggle("Report of the import", key=f"footage-report-{x.id}"):
            told(state.store().datastores.provenance(x.id)["report"])


def new(odd: Odd) -> None:
    """The uploader, the demo, and the look at what was uploaded."""
    shell.section("New manifest", "CSV, TSV, Excel, Parquet, JSON or JSON Lines, also gzipped")
    turn = st.session_state.get("footage.turn", 0)
    file = st.file_uploader("Manifest", key=f"footage.file.{turn}", label_visibility="collapsed")
    if file is None:
        if st.button("Load the demo footage", key="footage_demo", help="Images drawn by the product, labelled synthetic"):
            with shell.errors_as_card(changed="Nothing was imported."):
                footage.choose(operators.load_demo_datastore(state.store()).id)
                st.rerun()
        return
    with shell.errors_as_card(changed="Nothing was imported."):
        data = file.getvalue()
        key = sha256_bytes(data)[:12]
        said: dict[str, Any] = st.session_state.get(f"footage.said.{key}", {})
        read = _read(data, file.name, said, odd)
        told(read.report.as_dict())
        _columns(read, key)
        _texts(read.report, odd, key)
        _keep(read, data, file.name, said, odd, turn)


def _read(data: bytes, name: str, said: dict[str, Any], odd: Odd) -> ReadManifest:
    """The manifest as it would be imported, read off the script thread."""
    key = ("manifest", state.store().db.name, sha256_bytes(data), sha256_json(said), odd.hash)
    found: ReadManifest = jobs.outcome(key, lambda report: operators.read_manifest(data, name, odd=odd, said=said), lambda job: None)
    return found


def told(report: Mapping[str, Any]) -> None:
    """What became of a manifest: every row and every dimension counted."""
    rejected = sum(r["rows"] for r in report["rejected"])
    shell.note(
        f"{report['accepted']:,} of {report['rows']:,} rows can be used, {rejected:,} cannot. {report['questions']:,} have a question of "
        f"their own; {report['copies']:,} are copies of an earlier row; {report['without_media']:,} name no image."
    )
    for r in report["rejected"]:
        first = ", ".join(f"{n:,}" for n in r["numbers"][:5])
        shell.note(f"{r['rows']:,} rows left out: {r['reason']} (rows {first}{', …' if r['rows'] > 5 else ''})")
    rows = [
        [
            plain(d["name"]),
            d["column"] or _without_column(d),
            f"{d['tagged']:,}",
            f"{d['several']:,}",
            f"{d['missing']:,}",
            f"{d['unknown']:,}",
        ]
        for d in report["dimensions"]
    ]
    shell.html(table(["Dimension", "Column", "One value", "Several", "Missing", "Of these, no known value"], rows, right=(2, 3, 4, 5)))
    for note in report["notes"]:
        shell.note(note)


def _without_column(d: Mapping[str, Any]) -> Text:
    """What stands for the column of a dimension that has none."""
    return fill("by rules: {r}", r=", ".join(d["by_rule"])) if d["by_rule"] else "none"


def _columns(read: ReadManifest, key: str) -> None:
    """Which column says what; a change reads the manifest again."""
    columns = [NOTHING, *read.records.raw.columns]
    with st.expander("Columns"):
        left, right = st.columns(2, gap="medium")
        said: dict[str, Any] = dict(st.session_state.get(f"footage.said.{key}", {}))
        dims, fields = dict(said.get("dims", {})), dict(said.get("fields", {}))
        with left:
            for d in read.odd.dimensions:
                now = read.plan.dims.get(d.name, NOTHING)
                wanted = st.selectbox(label(d.label), columns, columns.index(now), key=f"footage.dim.{key}.{d.name}")
                if wanted != now:
                    dims[d.name] = "-" if wanted == NOTHING else wanted
        with right:
            for f in [f for f in _MAIN if f in FIELDS]:
                now = read.plan.fields.get(f, NOTHING)
                wanted = st.selectbox(plain(f).capitalize(), columns, columns.index(now), key=f"footage.field.{key}.{f}")
                if wanted != now:
                    fields[f] = "-" if wanted == NOTHING else wanted
        changed = said | {"dims": dims, "fields": fields}
        if (dims or fields) and changed != said:
            _say(key, changed)


def _texts(report: ManifestReport, odd: Odd, key: str) -> None:
    """Texts that are no value: each can be given one, else it stays missing."""
    unknown = [d for d in report.dimensions if d.unknown_texts]
    if not unknown:
        return
    with st.expander(f"Texts that are no value ({sum(len(d.unknown_texts) for d in unknown):,})"):
        shell.note("They count as missing unless you say what they stand for.")
        said: dict[str, Any] = dict(st.session_state.get(f"footage.said.{key}", {}))
        chosen = {d: dict(m) for d, m in said.get("value_map", {}).items()}
        for d in unknown:
            words = named(v.name for v in odd.by_name[d.name].values)
            for t in d.unknown_texts[:20]:
                hint = f", perhaps {plain(t.suggestion)}" if t.suggestion else ""
                title = label(f'{odd.by_name[d.name].label}: "{t.text[:80]}" ({t.rows:,} rows{hint})')
                value = st.selectbox(
                    title,
                    ["", *words],
                    key=f"footage.text.{key}.{d.name}.{t.text}",
                    format_func=lambda v, w=words: w.get(v, "leave it missing"),
                )
                if value:
                    chosen.setdefault(d.name, {})[t.text] = value
        if st.button("Read it so", key=f"footage.apply.{key}", disabled=chosen == said.get("value_map", {})):
            _say(key, said | {"value_map": chosen})


def _say(key: str, said: dict[str, Any]) -> None:
    st.session_state[f"footage.said.{key}"] = said
    st.rerun()


def _keep(read: ReadManifest, data: bytes, file: str, said: dict[str, Any], odd: Odd, turn: int) -> None:
    """Name it, say where the images lie, and import it."""
    store = state.store()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.text_input("Name", store.datastores.free_name(Path(file).stem), key=f"footage.name.{turn}", max_chars=120, width=260)
        root = st.text_input(
            "Folder of the images", key=f"footage.root.{turn}", width=320, placeholder="where relative paths start", help="On this machine."
        )
        captions = st.checkbox(
            "Compare captions", key=f"footage.captions.{turn}", help="Encodes every caption once, so that the fitting ones come first."
        )
        if not st.button("Import", type="primary", key=f"footage.import.{turn}"):
            return
    folder = Path(root.strip()).expanduser() if root.strip() else None
    if folder is not None and not folder.is_dir():
        raise InputError(f'"{root}" is no folder on the machine of the app. Leave it empty if the paths are whole.')
    settings, by = state.settings() if captions else None, who.name()
    place = st.empty()

    def work(report: jobs.Report) -> SavedDatastore:
        return operators.import_manifest(
            store, data, name=name, file=file, odd=odd, said=said, root=folder, captions=settings, progress=report, who=by
        )

    try:
        key = ("import", store.db.name, read.records.sha256, sha256_json(said), name, str(folder), captions)
        saved = jobs.outcome(key, work, lambda job: _bar(job, place))
    except OddysseyError as e:
        shell.error_card(e, "Nothing was imported.")
        return
    footage.choose(saved.id)
    st.session_state["footage.turn"] = turn + 1
    st.rerun()


def _bar(job: jobs.Job, place: Any) -> None:
    done = min(job.done / job.total, 1.0) if job.total else 0.0
    place.progress(done, text=f"{job.done:,} of {job.total:,} captions are encoded." if job.total else "Writing the manifest.")
