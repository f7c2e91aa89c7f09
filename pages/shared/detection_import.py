"""Import of detections: ground truth, predictions and images by upload or from a folder of the server, looked at before they are kept."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.digest import sha256_json
from core.error_slices.sources import READERS, Reader
from core.errors import InputError, OddysseyError
from core.operators import slices
from core.operators.detection_sources import ReadDetections, look_at_detections
from core.trajectories.case_set import safe_path
from pages.shared import detection_classes, detection_list, jobs, shell, slice_sets, state, who
from pages.shared.markup import count, fill, label

UPLOAD, PATH = SOURCES = ("Upload", "A path on the server")
RECOGNISE = "Recognise it"
_LOOK, _READ = "detections.look", "detections.read"
"""Session keys of what is looked at, and of the job that read it."""
_STALE = 24 * 3600
"""Seconds after which an upload that was never imported is given up."""


@dataclass(frozen=True)
class Spec:
    """What was given.

    Attributes:
        truth: File or folder.
        predictions: File or folder, "" for none.
        images: Folder, "" for none.
        format: Name of a reader, "" to recognise it.
        name: Of the set, "" for that of the source.
        model: Of the model.
        options: Of the reader.
        staged: Folder that holds an upload, "" for paths.
    """

    truth: str
    predictions: str
    images: str
    format: str
    name: str
    model: str
    options: tuple[tuple[str, str], ...] = ()
    staged: str = ""

    @property
    def key(self) -> str:
        """Of everything."""
        return sha256_json(vars(self) | {"options": list(self.options)})[:16]


def form() -> None:
    """What is given, the look at it, and the import."""
    with shell.card("Import detections", "ground truth with a model's predictions on the same images", key="detection_import"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            source = st.segmented_control("Source", SOURCES, default=UPLOAD, required=True, key="detection_source")
            titles = {"": RECOGNISE} | {k: r.title for k, r in READERS.items()}
            chosen = st.selectbox("Format", list(titles), format_func=titles.__getitem__, key="detection_format", width=240)
            name = st.text_input("Name of the set", key="detection_name", placeholder="that of the source", max_chars=120, width=210)
            model = st.text_input("Model", key="detection_model", placeholder="which one predicted", max_chars=120, width=190)
        reader = READERS.get(chosen or "")
        _about(reader)
        given = _uploads(reader) if source == UPLOAD else _paths(reader)
        options = _options(reader)
        if st.button("Look at it", type="primary", key="detection_look", disabled=not given.get("truth")):
            with shell.errors_as_card(changed="Nothing was imported."):
                spec = Spec("", "", "", chosen or "", " ".join(name.split()), " ".join(model.split()), tuple(sorted(options.items())))
                st.session_state[_LOOK] = _staged(given, spec) if source == UPLOAD else _named(given, spec)
    spec = st.session_state.get(_LOOK)
    if spec is not None:
        _look(spec)


def _about(reader: Reader | None) -> None:
    if reader is None:
        names = [r.title for r in READERS.values()]
        shell.note(f"{', '.join(names[:-1])} and {names[-1]} are told apart by what they look like.")
        return
    second = f" Predictions: {reader.predictions}." if reader.predictions else " Predictions stand in the same file."
    shell.note(f"Ground truth: {reader.truth}.{second}{' The folder of images is needed.' if reader.needs_images else ''}")


def _uploads(reader: Reader | None) -> dict[str, Any]:
    out: dict[str, Any] = {}
    columns = st.columns(3, gap="small")
    folders = st.session_state.get("detection_folders", False)
    for column, (key, title) in zip(
        columns, (("truth", "Ground truth"), ("predictions", "Predictions"), ("images", "Images")), strict=True
    ):
        many = "directory" if folders or key == "images" else False
        with column:
            file = st.file_uploader(
                title,
                accept_multiple_files=many,
                key=f"detection_{key}-{bool(many)}",
                disabled=key == "predictions" and reader is not None and not reader.predictions,
                help="A folder; needed for crops and for what is computed from pixels." if key == "images" else None,
            )
        out[key] = file if isinstance(file, list) else [file] if file is not None else []
    st.checkbox("Ground truth and predictions are folders (YOLO, KITTI, Pascal VOC)", key="detection_folders")
    shell.note("Large folders of images are quicker by a path: uploads are held in memory and copied into the workspace.")
    return out


def _paths(reader: Reader | None) -> dict[str, Any]:
    out: dict[str, Any] = {}
    columns = st.columns(3, gap="small")
    for column, (key, title) in zip(
        columns, (("truth", "Ground truth"), ("predictions", "Predictions"), ("images", "Images")), strict=True
    ):
        needed = key == "truth" or (key == "images" and reader is not None and reader.needs_images)
        with column:
            out[key] = st.text_input(
                title,
                key=f"detection_path_{key}",
                placeholder="file or folder" if key != "images" else "folder",
                disabled=key == "predictions" and reader is not None and not reader.predictions,
                help=None if needed else "May be empty.",
            ).strip()
    shell.note("Paths are those of the machine on which this app runs; images stay where they are.")
    return out


def _options(reader: Reader | None) -> dict[str, str]:
    if reader is None or not reader.options:
        return {}
    with st.expander("Options"):
        columns = st.columns(2, gap="medium")
        given = {
            k: columns[i % 2].text_input(label(k.replace("_", " ")), key=f"detection_option-{reader.name}-{k}", help=what)
            for i, (k, what) in enumerate(reader.options.items())
        }
    return {k: v.strip() for k, v in given.items() if v.strip()}


def _named(given: Mapping[str, str], spec: Spec) -> Spec:
    """What the paths name.

    Raises:
        InputError: There is nothing at one of them.
    """
    missing = [f'"{p}"' for p in given.values() if p and not Path(p).expanduser().exists()]
    if missing:
        raise InputError(f"There is no such file or folder on the server: {', '.join(missing)}.")
    full = {k: str(Path(v).expanduser()) if v else "" for k, v in given.items()}
    return replace(spec, truth=full["truth"], predictions=full["predictions"], images=full["images"])


def _staged(given: Mapping[str, list[UploadedFile]], spec: Spec) -> Spec:
    """An upload on the disk, as it was.

    Raises:
        InputError: A path leads out of its folder.
    """
    parent = state.settings().caches / "detections"
    parent.mkdir(parents=True, exist_ok=True)
    for old in parent.iterdir():
        if time.time() - old.stat().st_mtime > _STALE:
            shutil.rmtree(old, ignore_errors=True)
    place = parent / sha256_json([[k, f.name, f.file_id] for k, files in given.items() for f in files])[:16]
    found = {}
    for key, files in given.items():
        found[key] = str(_put(place / key, files)) if files else ""
    return replace(spec, truth=found["truth"], predictions=found["predictions"], images=found["images"], staged=str(place))


def _put(place: Path, files: list[UploadedFile]) -> Path:
    folder = len(files) > 1 or "/" in files[0].name
    for f in files:
        path = place / (safe_path(f.name.removeprefix("./")) if folder else Path(f.name).name)
        if not path.is_file() or path.stat().st_size != f.size:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f.getvalue())
    inside = list(place.iterdir())
    return inside[0] if len(inside) == 1 else place


def _look(spec: Spec) -> None:
    """What the source holds, the mapping of its classes, and the button that keeps it."""
    try:
        read = _read(spec, detection_classes.given(spec.key))
    except OddysseyError as e:
        shell.error_card(e, "Nothing was imported.")
        return
    content = read.content
    title = fill("{n}, read as {f}", n=content.name, f=READERS[read.format].title)
    with shell.card(title, f"{content.task}, {count(len(content.images), 'image')}", key="detection_looked_at"):
        detection_classes.editor(read.classes, spec.key)
        detection_list.told(content.report)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            name = who.ask("detection_who")
            lost = read.classes.unmapped
            text = f"Import without {count(len(lost), 'class', 'classes')}" if lost else "Import"
            if st.button(text, type="primary", key="detection_import_do"):
                _keep(read, spec, name)
            if st.button("Not this one", key="detection_drop"):
                _forget(spec)
                st.rerun()


def _read(spec: Spec, given: Mapping[str, str]) -> ReadDetections:
    place = st.empty()

    def work(report: jobs.Report) -> ReadDetections:
        return look_at_detections(
            Path(spec.truth),
            Path(spec.predictions) if spec.predictions else None,
            format=spec.format or None,
            images=Path(spec.images) if spec.images else None,
            class_map=dict(given) or None,
            model=spec.model,
            name=spec.name,
            progress=report,
            **dict(spec.options),
        )

    def show(job: jobs.Job) -> None:
        share = job.done / job.total if job.total else 0.0
        text = f"{job.done:,} of {count(job.total, 'image')} read." if job.total else "Reading the files."
        place.progress(min(share, 1.0), text=text)

    changed = [_stamp(p) for p in (spec.truth, spec.predictions, spec.images)]
    key = ("look at detections", state.store().db.name, spec.key, sha256_json(dict(given)), tuple(changed))
    if (last := st.session_state.get(_READ)) not in (None, key):
        jobs.forget(last)  # what was read under another mapping
    st.session_state[_READ] = key
    found: ReadDetections = jobs.outcome(key, work, show)
    place.empty()
    return found


def _stamp(path: str) -> float:
    return Path(path).stat().st_mtime if path and Path(path).exists() else 0.0


def _keep(read: ReadDetections, spec: Spec, who_name: str) -> None:
    store, place = state.store(), st.empty()
    job = jobs.begin(
        ("keep detections", store.db.name, spec.key),
        lambda job: slices.keep_detections(store, read.content, name=spec.name, who=who_name, copy_images=bool(spec.staged)),
    )
    with place, st.spinner("Keeping the detections.", show_time=True):
        job.finished.wait()
    if isinstance(job.error, OddysseyError):
        shell.error_card(job.error, "Nothing was imported.")
        return
    if job.error is not None:
        raise job.error
    _forget(spec)
    slice_sets.choose(job.result.id)
    st.session_state[f"detections-report-{job.result.id}"] = True
    st.session_state[detection_list.NEXT] = "Sets"
    st.rerun()


def _forget(spec: Spec) -> None:
    st.session_state.pop(_LOOK, None)
    jobs.forget(st.session_state.pop(_READ, None))
    detection_classes.forget(spec.key)
    if spec.staged:
        shutil.rmtree(spec.staged, ignore_errors=True)
