"""Detections from files, and from a detector that is run here: looked at with the mapping of their classes before they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.error_slices.attach import detector_classes, with_detections
from core.error_slices.detect import Detected, Detector, detect_folder, load_detector
from core.error_slices.detections import DetectionSet
from core.error_slices.sources import ClassTable, read_with_classes
from core.errors import InputError
from core.settings import Settings

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
    content, classes = read_with_classes(
        format, truth, predictions, images=images, class_map=class_map, model=model, name=name, progress=progress, **options
    )
    return ReadDetections(content.report.format, content, classes)


@dataclass(frozen=True, eq=False)
class LoadedDetector:
    """A detector that is ready to run on the images of a set.

    Attributes:
        detector: The model.
        classes: How its classes would be mapped.
        images: Files that it would run on.
        without_file: Images of the set without a file.
    """

    detector: Detector
    classes: ClassTable
    images: tuple[Path, ...]
    without_file: int


def prepare_detector(
    settings: Settings, truth: DetectionSet, weights: str, class_map: Mapping[str, str] | None = None, loaded: Detector | None = None
) -> LoadedDetector:
    """Load weights and say how their classes would be mapped.

    Args:
        settings: Where named weights are kept.
        truth: The set whose images it is to run on.
        weights: A file of weights, or a name that ultralytics publishes.
        class_map: Class of the detector to class of the ground truth.
        loaded: The detector, if it is loaded already.

    Raises:
        MissingPackageError: ultralytics is not installed.
        InputError: The weights cannot be used; the set is of a classifier, or none of its images has a file.
    """
    if truth.classified is not None:
        raise InputError(f'"{truth.name}" holds what a classifier said; a detector needs ground truth with boxes.')
    paths = tuple(i.path for i in truth.images if i.path is not None)
    if not paths:
        raise InputError(f'No image of "{truth.name}" has a file here; import it again with its folder of images.')
    detector = loaded or load_detector(weights, folder=settings.caches / "weights")
    return LoadedDetector(detector, detector_classes(truth, detector.classes, class_map), paths, len(truth.images) - len(paths))


def run_detector(
    loaded: LoadedDetector,
    *,
    confidence: float,
    image_size: int = 640,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Detected:
    """Run a detector; images that cannot be read are named in the result, and the rest goes on.

    Raises:
        InputError: Not one image could be used.
    """
    return detect_folder(
        loaded.detector, loaded.images, confidence=confidence, image_size=image_size, progress=progress, cancel=cancel
    )  # fmt: skip


def beside_truth(truth: DetectionSet, detected: Detected, class_map: Mapping[str, str] | None = None, name: str = "") -> DetectionSet:
    """What a detector found beside the ground truth of its images, to be kept.

    Raises:
        InputError: See `core.error_slices.attach.with_detections`.
    """
    return with_detections(truth, detected, class_map, name=name)
