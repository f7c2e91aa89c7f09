"""Readers of what detectors, segmenters and classifiers write, each with a report of what it met.

A module of a format has a function `parse(truth, predictions, images, **options) -> Parsed`, which raises `InputError` where a file as a
whole cannot be used. What holds for every format is done here, after reading: classes are mapped by name, images are found and hashed,
and everything that was left out or is odd is counted in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.error_slices.detections import DetectionSet, Task
from core.error_slices.sources.assemble import assemble, table_of
from core.error_slices.sources.class_map import HOWS, ClassRow, ClassTable, TruthRow
from core.error_slices.sources.image_files import Progress
from core.error_slices.sources.parsed import Parsed
from core.errors import InputError, Problem

__all__ = ["HOWS", "READERS", "ClassRow", "ClassTable", "Reader", "TruthRow", "class_table", "detect_format", "read_source"]


@dataclass(frozen=True)
class Reader:
    """A format of detections.

    Attributes:
        name: As it is named on the command line.
        title: For people.
        truth: What the ground truth is, in a few words.
        predictions: What the predictions are, "" if they stand in the same file.
        module: With the function `parse`.
        tasks: What models it can be of.
        needs_images: Whether it cannot be read without the folder of images.
        options: What else can be set, with one sentence each.
    """

    name: str
    title: str
    truth: str
    predictions: str
    module: str
    tasks: tuple[Task, ...] = ("detection",)
    needs_images: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        r.name: r
        for r in (
            Reader(
                "coco",
                "COCO json",
                "a json file with images, categories and annotations",
                "a json list of image_id, category_id, bbox, score and, for masks, segmentation",
                "core.error_slices.sources.coco",
                ("detection", "segmentation"),
                options={
                    "masks": "yes, no or auto: read masks; auto reads them if the predictions have some.",
                    "prediction_names": "Names of the detector's classes in its order from 0, separated by commas, or a file with one a "
                    "line; needed where its ids are not those of the ground truth.",
                },
            ),
        )
    }
)


def reader(name: str) -> Reader:
    """The reader of a format.

    Raises:
        InputError: There is none of that name.
    """
    found = READERS.get(name)
    if found is None:
        raise InputError("There is no such format of detections.", [Problem(None, "format", name, ", ".join(READERS))])
    return found


def _parse(format: str, truth: Path, predictions: Path | None, images: Path | None, options: Mapping[str, Any]) -> Parsed:
    chosen = reader(format)
    unknown = [Problem(None, "options", k, ", ".join(chosen.options) or "none") for k in options if k not in chosen.options]
    if unknown:
        raise InputError(f"{chosen.title} has no such option.", unknown)
    if chosen.needs_images and images is None:
        raise InputError(f"{chosen.title} gives boxes as shares of the image: name the folder of images, whose sizes are read.")
    parsed: Parsed = import_module(chosen.module).parse(truth, predictions, images, **options)
    return parsed


def read_source(
    format: str,
    truth: Path,
    predictions: Path | None,
    *,
    images: Path | None = None,
    class_map: Mapping[str, str] | None = None,
    model: str = "",
    name: str = "",
    progress: Progress | None = None,
    **options: Any,
) -> DetectionSet:
    """Reads a detection set.

    Args:
        format: Name of the reader.
        truth: File or folder of the ground truth.
        predictions: File or folder of the predictions, None for none or where they stand with the ground truth.
        images: Folder of the images: for sizes where the files tell none, for pixels, for halves that hold by content.
        class_map: Name of a class of the predictions to that of a class of the ground truth, "" to leave one out. Classes that it does not
            name are matched by name; what matches nothing is left out and counted in the report.
        model: Name of the model.
        name: Name of the set.
        progress: Called with how many images were read, and of how many.
        options: Of the reader.

    Raises:
        InputError: A file cannot be used, or an option or a class is not there.
    """
    parsed = _parse(format, truth, predictions, images, options)
    return assemble(parsed, images=images, class_map=class_map, model=model, name=name, progress=progress)


def class_table(
    format: str,
    truth: Path,
    predictions: Path | None,
    *,
    images: Path | None = None,
    class_map: Mapping[str, str] | None = None,
    **options: Any,
) -> ClassTable:
    """The mapping of classes that `read_source` would use, with counts, to be shown and changed before reading.

    Raises:
        InputError: As `read_source`.
    """
    return table_of(_parse(format, truth, predictions, images, options), class_map)


def detect_format(truth: Path) -> str | None:
    """The format that a file or folder of ground truth looks like, None if it looks like none."""
    if truth.suffix.lower() == ".json":
        return "coco"
    return None
