"""Detections from files: looked at with the mapping of their classes before they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.error_slices.detections import DetectionSet
from core.error_slices.sources import ClassTable, class_table, read_source

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class ReadDetections:
    """Detections that were read and not kept.

    Attributes:
        format: Which reader.
        content: The detections with the report of the reader.
        classes: How the classes of the predictions were mapped.
    """

    format: str
    content: DetectionSet
    classes: ClassTable


def look_at_detections(
    truth: Path,
    predictions: Path | None = None,
    *,
    format: str | None = None,
    images: Path | None = None,
    class_map: Mapping[str, str] | None = None,
    model: str = "",
    name: str = "",
    progress: Progress | None = None,
    **options: Any,
) -> ReadDetections:
    """Read detections as they would be kept.

    Args:
        truth: File or folder of the ground truth.
        predictions: File or folder of the predictions, None where there are none yet or they stand in the same file.
        format: Name of a reader; recognised by default.
        images: Folder of the images.
        class_map: Class of the predictions to class of the ground truth, "" to leave it out; the rest by name.
        model: Name of the model.
        name: Name of the set.
        progress: Told how many images were read, of how many.
        options: Of the reader.

    Raises:
        InputError: A file cannot be used, its format is not recognised, or a class or an option is not there.
    """
    given = {"images": images, "class_map": class_map, **options}
    classes = class_table(format, truth, predictions, **given)
    content = read_source(format, truth, predictions, model=model, name=name, progress=progress, **given)
    return ReadDetections(content.report.format, content, classes)
