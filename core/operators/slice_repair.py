"""Exports for repair: accepted slices of one set of detections, over images that none of them was tested on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.error_slices.detections import Image, IntArray
from core.error_slices.matching import make_units
from core.error_slices.repair.content import RepairInput, RepairSlice
from core.error_slices.repair.export import Exported, Pictures, Progress
from core.error_slices.repair.export import export_repair as write_repair
from core.error_slices.repair.seen import same_pictures
from core.error_slices.units import Units
from core.errors import InputError
from core.operators.slice_files import settings_object
from core.operators.slice_report import SliceReport, SliceRow, SliceSettings
from core.operators.slices import open_detections, population_of, scores_of, slice_report
from core.storage import SavedDetections, Store


def export_repair(
    store: Store,
    set_id: str,
    hypothesis_ids: Sequence[str],
    folder: Path,
    settings: SliceSettings | None = None,
    *,
    target_id: str = "",
    formats: Collection[str] | None = None,
    most_weight: float = 3.0,
    pictures: Pictures = "copy",
    progress: Progress | None = None,
) -> Exported:
    """Write what people who repair the model need of accepted slices.

    Args:
        store: The workspace.
        set_id: Detections in which the slices were verified.
        hypothesis_ids: The slices; all accepted ones, and all that held up and nobody rejected, where none is named.
        folder: Where; must not exist, or be empty.
        settings: Those under which they were verified.
        target_id: Detections whose images are exported, such as those of the training data; by default the discovery half of
            `set_id`, which no test may have seen: the tests must be on the verification half.
        formats: Names of `core.error_slices.repair.export.FORMATS`; all that fit by default.
        most_weight: Weight of an image with a score of 1 against one with a score of 0.
        pictures: Whether pictures are copied, linked, or neither.
        progress: Told what is done.

    Raises:
        InputError: A slice is not known or was not accepted, images that verified one would be exported, or the folder cannot be used.
    """
    settings = settings or SliceSettings()
    report = slice_report(store, set_id, settings)
    rows = _chosen(report, hypothesis_ids)
    target = store.detections.get(target_id or set_id)
    units = report.units if target.id == set_id else make_units(open_detections(store, target.id), settings.units)
    seen = _verified_on(report, rows)
    images = np.arange(len(units.detections.images)) if target.id != set_id else _left_over(report, seen)
    content = RepairInput(
        name=f"Repair of {target.name}",
        units=units,
        images=images,
        slices=tuple(_slice(target, units, r, settings, set(images.tolist())) for r in rows),
        tested_images=seen,
        origin={
            "verified_on": {"id": report.saved.id, "name": report.saved.name, "digest": report.saved.digest},
            "exported_from": {"id": target.id, "name": target.name, "digest": target.digest},
            "report": report.digest,
            "settings": settings_object(settings),
        },
        most_weight=most_weight,
    )
    return write_repair(content, folder, formats, pictures=pictures, progress=progress)


def _chosen(report: SliceReport, ids: Sequence[str]) -> list[SliceRow]:
    """The rows of the named hypotheses, or of all that may be exported."""
    unknown = [i for i in ids if report.row(i) is None]
    if unknown:
        raise InputError(f"There is no hypothesis {', '.join(unknown)} for these detections.")
    rows = [r for r in report.rows if not ids or r.hypothesis.id in ids]
    scored = [r for r in rows if r.scores is not None]
    if ids and len(scored) < len(rows):
        without = "; ".join(f"{r.hypothesis.id}: {r.untested}" for r in rows if r.scores is None)
        raise InputError(f"Slices without scores cannot be exported. {without}")
    chosen = scored if ids else [r for r in scored if not r.why_not]
    if not chosen:
        n = len(report.tested)
        raise InputError(f"Nothing was exported. Nobody accepted a slice, and none of the {n:,} that were tested holds up.")
    return chosen


def _verified_on(report: SliceReport, rows: Sequence[SliceRow]) -> tuple[Image, ...]:
    """The images that verified any of the slices: those with a unit of one, and all others of the half that is kept for verifying."""
    images = report.units.detections.images
    at = {i for r in rows if r.tested is not None and r.population is not None for i in r.population.image.tolist()}
    return tuple(x for i, x in enumerate(images) if i in at or x.half == "verification")


def _left_over(report: SliceReport, seen: Sequence[Image]) -> IntArray:
    """The images of the set that no test has seen; none where the tests were on both halves."""
    images = report.units.detections.images
    discovery = [i for i, x in enumerate(images) if x.half == "discovery"]
    used = same_pictures([images[i] for i in discovery], seen)
    tested_on_both = any(x.half == "discovery" for x in seen)
    return np.array([] if tested_on_both else np.delete(discovery, used), np.int64)


def _slice(target: SavedDetections, units: Units, row: SliceRow, settings: SliceSettings, images: set[int]) -> RepairSlice:
    """A slice with its scores on the images that are exported."""
    h = row.hypothesis
    everywhere = population_of(units, replace(h, half_only=False), replace(settings, halves="all"))
    keep = np.array([i in images for i in everywhere.image.tolist()], bool)
    here = replace(
        everywhere, units=everywhere.units[keep], loss=everywhere.loss[keep], image=everywhere.image[keep], weight=everywhere.weight[keep]
    )
    scores = scores_of(target, units, h, here)
    if scores is not None and row.scores is not None and scores.source != row.scores.source:
        scores = None  # a slice that a model verified is scored by its answers alone, never by a matcher in their place
    said = row.judgement
    return RepairSlice(
        hypothesis=h,
        units=here.units,
        c=np.full(len(here.units), np.nan) if scores is None else scores.c,
        logit=np.full(len(here.units), np.nan) if scores is None else scores.logit,
        loss=here.loss,
        gamma=settings.test.gamma,
        source="geometric" if scores is None else scores.source,
        matcher="" if scores is None else scores.matcher,
        tested=row.tested,
        judgement=None if said is None else {"verdict": said.verdict, "note": said.note, "who": said.who, "at": said.at.isoformat()},
    )
