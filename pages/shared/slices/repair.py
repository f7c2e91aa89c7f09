"""A slice as files for whoever repairs the model: from images that no test has used, refused with the reason otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from core.error_slices.repair.export import FORMATS, OF_DETECTORS, Exported
from core.operators import slice_repair
from core.operators.slice_report import SliceReport, SliceRow
from pages.shared import shell, slice_sets, slice_settings, state
from pages.shared.markup import Text, code, count, fill, join, table

NAMES = {
    "weights": "Weights of images",
    "groupdro": "GroupDRO",
    "dfr": "DFR lists",
    "ladder": "LADDER",
    "yolo": "YOLO, hard samples",
    "coco": "COCO, FiftyOne",
    "gesd": "GESD predictions",
}
_MADE = "slices.exported"
_MOST = 300_000_000
"""Bytes above which an archive is not offered for download; the folder is there in any case."""


def show(report: SliceReport, row: SliceRow) -> None:
    """What would be exported, from which images, in which formats; and the files once they are made."""
    half = report.settings.halves == "verification"
    others = [s for s in slice_sets.saved() if s.id != report.saved.id and s.task == report.saved.task]
    names = {report.saved.id: "The discovery half of these detections"} | {s.id: s.name for s in others}
    formats = [f for f in FORMATS if report.saved.task != "classification" or f not in OF_DETECTORS]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        target = st.selectbox(
            "Images", list(names), format_func=names.__getitem__, key="repair_target", width=320,
            help="Training images are scored with this hypothesis; images that verified the slice are never exported.",
        )  # fmt: skip
        chosen = st.multiselect("Formats", formats, default=formats, format_func=NAMES.__getitem__, key="repair_formats", width="stretch")
        go = st.button("Make the files", key="repair_make", disabled=not chosen)
    if target == report.saved.id and not half:
        shell.note(
            "The tests use all images now, so no image is left: what trains on them would be measured on what it has learnt. Test on the "
            "verification half, which leaves the discovery half for repair, or choose detections on training images."
        )
        if st.button("Test on the verification half", key="repair_half"):
            slice_settings.use(replace(slice_settings.now(), halves="verification"))
            st.rerun()
    key = (report.digest, row.hypothesis.id, target, tuple(sorted(chosen)))
    if go:
        with shell.errors_as_card(changed="No file was made."), st.spinner("Scoring images and writing files."):
            st.session_state[_MADE] = (key, _make(report, row, target, chosen))
    kept = st.session_state.get(_MADE)
    if kept is not None and kept[0] == key:
        _told(kept[1], row)


def _make(report: SliceReport, row: SliceRow, target: str, formats: list[str]) -> Exported:
    parent = state.settings().home / "exports"
    parent.mkdir(parents=True, exist_ok=True)
    name = f"{''.join(c if c.isalnum() or c in '-_' else '-' for c in row.hypothesis.id)[:60]}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    return slice_repair.export_repair(
        state.store(), report.saved.id, [row.hypothesis.id], parent / name, report.settings, target_id=target, formats=formats
    )


def _told(done: Exported, row: SliceRow) -> None:
    parts: list[Text] = [
        fill(
            "{n} exported, {hard} with a unit of the slice; {p} copied. They lie in {where}.",
            n=count(done.images, "image"),
            hard=f"{done.hard:,}",
            p=count(done.pictures, "picture"),
            where=code(done.folder),
        )
    ]
    if done.groups:
        parts.append(f"Groups: {', '.join(f'{g} {n:,}' for g, n in done.groups.items())}.")
    parts += [f"Left out: {n:,} {what}." for what, n in done.left_out.items() if n]
    parts += list(done.notes)
    shell.note(join(parts, " "))
    if not done.folder.is_dir():
        shell.note("The folder is not there any more; make the files again.")
        return
    shell.html(table(("File", "Bytes", "SHA-256"), [(f.name, f"{f.size:,}", code(f.sha256[:12])) for f in done.files], right=(1,)))
    total = sum(p.stat().st_size for p in done.folder.rglob("*") if p.is_file())
    if total > _MOST:
        shell.note(f"The folder holds {total / 1e6:,.0f} MB, too much for a download; take it from where it lies.")
        return
    st.download_button(
        "Download all as zip",
        _archive(done.folder),
        f"{row.hypothesis.id}-repair.zip",
        "application/zip",
        on_click="ignore",
        key="repair_zip",
    )


def _archive(folder: Path) -> Callable[[], bytes]:
    """Makes the archive once it is asked for."""

    def make() -> bytes:
        made = Path(shutil.make_archive(str(folder), "zip", folder))
        try:
            return made.read_bytes()
        finally:
            made.unlink()

    return make
