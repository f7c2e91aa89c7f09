"""Labels as files: the anonymous export with its codebook, and training sets for a model that nominates threats."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from core.errors import OddysseyError
from core.labels.training_sets import SETS, Which
from core.operators import labelling
from core.storage import SavedCaseSet, Store
from pages.shared import shell
from pages.shared.markup import code, count, fill, table

SET_NAMES = {"union": "Union: any Y is a threat", "filtered": "Filtered: only cases on which all agree"}


def show(store: Store, saved: SavedCaseSet) -> None:
    """Both kinds side by side, with what is in them before they are downloaded."""
    left, right = st.columns(2, gap="large")
    with left, shell.card("Labels", "JSON Lines with a codebook, without names or clock times", key="export_labels"):
        _labels(store, saved)
    with right, shell.card("Training set", "image-chat JSON Lines, split by scene", key="export_training"):
        _training(store, saved)


def _labels(store: Store, saved: SavedCaseSet) -> None:
    comments = st.checkbox("With comments", key="export_comments", help="What people wrote may tell who wrote it.")
    planner = st.checkbox("With planners", key="export_planner", help="Case ids and planners, which those who label never see.")
    try:
        made = labelling.export(store, saved.id, planner=planner, comments=comments)
    except OddysseyError as e:
        shell.note(str(e.args[0]))
        return
    shell.note(
        f"{count(made.labels, 'label')} by {count(made.annotators, 'person', 'people')}, {count(made.checks, 'hidden check')}, "
        f"{made.decided:,} decided. Marked as not counting: {made.not_counting:,}."
    )
    for why, n in made.left_out.items():
        shell.note(f"Not in it: {n:,} {why}.")
    name = f"labels-{saved.id}.zip"
    st.download_button("Download labels", zipped(made.files), name, "application/zip", type="primary", on_click="ignore", key="export_go")


def _training(store: Store, saved: SavedCaseSet) -> None:
    which: Which = st.selectbox("Cases", list(SETS), format_func=SET_NAMES.__getitem__, key="training_which")
    split = st.number_input("Share of scenes that test", 0.0, 0.9, 0.1, 0.05, key="training_split")
    try:
        found = labelling.training_set(store, saved.id, None, which, split=split).chosen
    except OddysseyError as e:
        shell.note(str(e.args[0]))
        return
    rows = [[part, f"{found.count(part, 'Y'):,}", f"{found.count(part, 'N'):,}"] for part in ("train", "test")]
    shell.html(table(["Part", "Threat", "No threat"], rows, right=(1, 2)))
    for why, n in found.left_out.items():
        shell.note(f"Left out: {n:,} {why}.")
    shell.note(
        fill(
            "The command line does the same: {c}.",
            c=code(f"python -m core labels training {saved.id} --set {which} --split {split:g} --out FOLDER"),
        )
    )
    if not found.examples:
        return
    if st.button("Make the files", key="training_make"):
        try:
            with st.spinner("Drawing images and writing."), tempfile.TemporaryDirectory() as folder:
                labelling.training_set(store, saved.id, Path(folder), which, split=split)
                st.session_state["training_zip"] = (saved.id, which, split, zipped(_read(Path(folder))))
        except OddysseyError as e:
            shell.error_card(e, "No file was made.")
            return
    made = st.session_state.get("training_zip")
    if made is not None and made[:3] == (saved.id, which, split):
        name = f"training-{which}-{saved.id}.zip"
        st.download_button("Download training set", made[3], name, "application/zip", on_click="ignore", key="training_go")


def _read(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Files as one archive, the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()
