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

__all__ = [
    "HOWS",
    "READERS",
    "ClassRow",
    "ClassTable",
    "Reader",
    "TruthRow",
    "class_table",
    "detect_format",
    "read_source",
    "read_with_classes",
]


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
        needs_images: Whether boxes are shares of the image, so that the folder of images must be named or stand in the source.
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


_COLUMNS = {
    "columns": 'Columns of a line of text predictions: "class cx cy w h score" by default; also x y w h or x1 y1 x2 y2; - to skip.',
    "units": "relative or px: whether coordinates of text predictions are shares of the image; relative by default.",
}
_NAMES = "separated by commas, or a file (YAML with names, or one a line)"
_PREDICTION_NAMES = {
    "prediction_names": f"Names of the detector's classes by number, {_NAMES}; needed where its numbers are not those of the labels."
}
_FIRST_CLASS = {"first_class": "0 or 1: number of the first class in a results list; 0 by default, 1 in some versions of ultralytics."}
_MASKS = {"masks": "yes, no or auto: read masks; auto reads them if the predictions have some."}
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        r.name: r
        for r in (
            Reader(
                "coco",
                "COCO json",
                "a json file with images, categories and annotations",
                "a json list of image_id, category_id, bbox, score and, for masks, segmentation; or a folder of YOLO text files",
                "core.error_slices.sources.coco",
                ("detection", "segmentation"),
                options={**_MASKS, **_PREDICTION_NAMES, **_FIRST_CLASS, **_COLUMNS},
            ),
            Reader(
                "yolo",
                "YOLO text files",
                "a folder of labels, one text file an image, or the YAML file of the data set",
                "a folder of text files with the confidence last (ultralytics: save_txt with save_conf), or a results list (save_json)",
                "core.error_slices.sources.yolo",
                ("detection", "segmentation"),
                needs_images=True,
                options={
                    "names": f"Names of the classes by number, {_NAMES}; found beside the labels by default.",
                    **_PREDICTION_NAMES,
                    **_FIRST_CLASS,
                    **_COLUMNS,
                    "split": "Which split of the YAML file of a data set; val by default.",
                    **_MASKS,
                },
            ),
            Reader(
                "kitti",
                "KITTI object labels",
                "a folder of label files of 15 columns (label_2)",
                "a folder of result files with the score as column 16",
                "core.error_slices.sources.kitti",
                options={
                    "difficulty": "easy, moderate or hard: objects outside it become ignore regions; all count by default.",
                    "neighbours": "yes or no: Van becomes an ignore region of Car and Person_sitting one of Pedestrian; no by default.",
                },
            ),
            Reader(
                "voc",
                "Pascal VOC XML",
                "a folder of XML files, one an image",
                "a folder of text files; say with columns and units what a line holds",
                "core.error_slices.sources.voc",
                options={**_PREDICTION_NAMES, **_COLUMNS},
            ),
            Reader(
                "gesd",
                "GESD json",
                "a json file whose annotations say TP, FP or FN, or hold masks of both sides, and name their slice",
                "",
                "core.error_slices.sources.gesd",
                ("detection", "segmentation"),
            ),
            Reader(
                "classification",
                "Image classification (CSV)",
                "a CSV with image, label and, where there is no second file, prediction; optionally group and split",
                "a CSV with image and prediction",
                "core.error_slices.sources.classification",
                ("classification",),
                options={
                    "image": "Column of the image's file.",
                    "label": "Column of the right class.",
                    "prediction": "Column of the class that was said.",
                    "group": "Column of the group, or several separated by commas whose values make it.",
                    "id": "Column of the image's id; its file by default.",
                    "split": "Column of the split.",
                    "only_split": "Take only this split, for example test.",
                    "names": f"Names of the classes by number, {_NAMES}.",
                },
            ),
        )
    }
)
"""Formats of detections, by name."""


_PEEK = 4 * 2**20
_EXPLAINS = {".json": "coco", ".csv": "classification", ".tsv": "classification"}
"""Whose reader says what is wrong with a file that looks like no format, or takes it with the names of its columns."""


def reader(name: str) -> Reader:
    """The reader of a format.

    Raises:
        InputError: There is none of that name.
    """
    found = READERS.get(name)
    if found is None:
        raise InputError("There is no such format of detections.", [Problem(None, "format", name, ", ".join(READERS))])
    return found


def _parse(format: str | None, truth: Path, predictions: Path | None, images: Path | None, options: Mapping[str, Any]) -> Parsed:
    likely = _EXPLAINS.get(truth.suffix.lower()) if truth.is_file() else None
    name = format or detect_format(truth) or likely
    if name is None:
        if not truth.exists():
            raise InputError(f"{truth.name}: there is no such file or folder.")
        allowed = [f"{r.name}: {r.truth}" for r in READERS.values()]
        raise InputError(f"{truth.name}: the format is not recognised; name it.", [Problem(None, "format", truth.name, "; ".join(allowed))])
    chosen = reader(name)
    unknown = [Problem(None, "options", k, ", ".join(chosen.options) or "none", kind="option") for k in options if k not in chosen.options]
    if unknown:
        raise InputError(f"{chosen.title} has no such option.", unknown)
    for given, where in (("yes, no, auto", "masks"), ("relative, px", "units")):
        if where in options and options[where] not in given.split(", "):
            raise InputError(f"{chosen.title}: an option has no such value.", [Problem(None, where, str(options[where]), given)])
    parsed: Parsed = import_module(chosen.module).parse(truth, predictions, images, **options)
    return parsed


def read_source(
    format: str | None,
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
        format: Name of the reader; None to recognise it.
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
    return read_with_classes(
        format, truth, predictions, images=images, class_map=class_map, model=model, name=name, progress=progress, **options
    )[0]


def read_with_classes(
    format: str | None,
    truth: Path,
    predictions: Path | None,
    *,
    images: Path | None = None,
    class_map: Mapping[str, str] | None = None,
    model: str = "",
    name: str = "",
    progress: Progress | None = None,
    **options: Any,
) -> tuple[DetectionSet, ClassTable]:
    """The detection set of `read_source` and the mapping of classes of `class_table`, from one reading.

    Raises:
        InputError: As `read_source`.
    """
    parsed = _parse(format, truth, predictions, images, options)
    table = table_of(parsed, class_map)
    return assemble(parsed, images=images, class_map=class_map, model=model, name=name, progress=progress), table


def class_table(
    format: str | None,
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
    """The format that a file or folder of ground truth looks like, None if it looks like none; never raises."""
    from core.error_slices.sources import classification, kitti, voc, yolo

    suffix = truth.suffix.lower()
    try:
        if truth.is_dir():
            return next((name for name, module in (("kitti", kitti), ("yolo", yolo), ("voc", voc)) if module.looks_like(truth)), None)
        if suffix in {".yaml", ".yml"}:
            return "yolo"
        if suffix in {".csv", ".tsv"}:
            return "classification" if classification.looks_like(truth) else None
        if suffix == ".json" and truth.is_file():
            return _json_format(truth)
    except OSError:
        return None
    return None


def _json_format(path: Path) -> str | None:
    """COCO or GESD, by the keys at both ends of a file, which may be too large to read twice."""
    with path.open("rb") as f:
        head = f.read(_PEEK)
        f.seek(max(path.stat().st_size - _PEEK, 0))
        ends = head + f.read()
    keys = sum(f'"{k}"'.encode() in ends for k in ("images", "annotations", "categories"))
    if head.lstrip(b"\xef\xbb\xbf \n\r\t")[:1] != b"{" or keys < 2:
        return None
    has = {k for k in ("result", "reason", "gt_segmentation", "inference_segmentation") if f'"{k}"'.encode() in ends}
    return "gesd" if {"result", "reason"} <= has or has & {"gt_segmentation", "inference_segmentation"} else "coco"
