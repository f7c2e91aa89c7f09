"""YOLO: a text file an image with class and box as shares of the image, as ultralytics and Darknet write them."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.error_slices.detections import ClassName
from core.error_slices.sources.coco_results import first_number, read_results, results_of
from core.error_slices.sources.image_files import SUFFIXES, ImageFolder
from core.error_slices.sources.json_files import read_json, readable
from core.error_slices.sources.name_lists import Names, names_beside, names_in, read_names, yaml_document
from core.error_slices.sources.parsed import Parsed, ParsedImage
from core.error_slices.sources.text_boxes import (
    YOLO_PREDICTIONS,
    YOLO_TRUTH,
    Classes,
    Layout,
    SideFiles,
    fill_sizes,
    has_polygons,
    read_side,
    read_text_predictions,
)
from core.errors import InputError


def images_in(folder: ImageFolder, parsed: Parsed) -> None:
    """Takes every image below a folder, called by its path in it without the suffix."""
    seen: set[str] = set()
    for path in folder.badly_named:
        parsed.remarks.tell("images left out: name is no UTF-8 text", f"{readable(path.name)}: its name is no UTF-8 text; left out.")
    for path in folder.paths:
        inside = path.relative_to(folder.root)
        key = inside.with_suffix("").as_posix()
        if key in seen:
            parsed.remarks.tell(
                "images of one name", f"{inside.as_posix()}: another image has this name with another suffix; labels go to the first."
            )
            key = inside.as_posix()
        seen.add(key)
        parsed.images.append(ParsedImage(key, inside.as_posix()))


def _data_set(path: Path, split: str) -> tuple[Path, Path, list[str], str]:
    """Labels, images, names and split that the YAML file of a data set names."""
    document = yaml_document(path)
    root = path.parent / str(document.get("path") or "")
    if not root.is_dir():
        root = path.parent
    value = document.get(split)
    if not isinstance(value, str) or not (root / value).is_dir():
        has = ", ".join(k for k in ("train", "val", "test") if document.get(k)) or "none"
        raise InputError(f'{path.name}: "{split}" must name a folder of images beside this file; it names {value!r}. Splits there: {has}.')
    images = root / value
    parts = list(images.parts)
    if "images" not in parts:
        raise InputError(
            f'{path.name}: labels are found by putting "labels" for "images" in the path of the images, and {value!r} has no "images".'
        )
    at = len(parts) - 1 - parts[::-1].index("images")
    parts[at] = "labels"
    return Path(*parts), images, names_in(document, path), split


def _look_at_labels(parsed: Parsed, labelled: set[int]) -> None:
    missing = len(parsed.images) - len(labelled)
    parsed.remarks.count("images without a label file, taken as without objects", missing)
    if missing > len(parsed.images) / 2:
        parsed.remarks.say(
            "most images have no label file",
            f"{missing:,} of {len(parsed.images):,} images have no label file; every prediction on them counts as a false positive. "
            "Does the folder of images hold more than what was labelled?",
        )


def _with_masks(predictions: Path, found: Any, layout: Layout) -> bool:
    """Whether the predictions have masks."""
    if found is not None:
        return any(isinstance(r, dict) and r.get("segmentation") for r in results_of(found, predictions))
    return layout.is_yolo and has_polygons(predictions, "predictions")


def parse(
    truth: Path,
    predictions: Path | None,
    images: Path | None = None,
    *,
    names: Names = None,
    prediction_names: Names = None,
    first_class: int | str = 0,
    columns: str = YOLO_PREDICTIONS,
    units: str = "relative",
    split: str = "val",
    masks: str = "auto",
    **_: Any,
) -> Parsed:
    """Takes labels and predictions in text files.

    Args:
        truth: Folder of labels, or the YAML file of a data set.
        predictions: Folder of predictions, or a results list of COCO as ultralytics writes it (save_json); None for none.
        images: Folder of the images; not needed with a YAML file.
        names: Names of the classes by number; those of a file beside the labels by default.
        prediction_names: Names of the detector's classes by number, if they are not those of the labels.
        first_class: Number of the first class in a results list, 0 or 1.
        columns: Of a line of the predictions.
        units: "relative" or "px", of the predictions.
        split: Which split of a YAML file.
        masks: "yes" makes masks of polygons, "no" takes their boxes alone, "auto" makes masks if the predictions have polygons. Without
            predictions, those of the labels are kept for a detector that runs later.

    Raises:
        InputError: A folder is missing or holds nothing of the kind, or names cannot be read.
    """
    layout, first = Layout.of(columns, units), first_number(first_class)
    found = read_json(predictions) if predictions is not None and predictions.is_file() else None
    told, part = read_names(names), ""
    files: list[str] = []
    labels = truth
    if truth.suffix.lower() in {".yaml", ".yml"}:
        labels, found, own, part = _data_set(truth, split)
        files.append(truth.name)
        images, told = images or found, told or own
    elif not told and (beside := names_beside(truth)) is not None:
        told = read_names(beside)
        files.append(beside.name)
    if images is None:
        raise InputError("YOLO labels give boxes as shares of the image: name the folder of images, whose sizes are read.")
    folder = ImageFolder(images)
    parsed = Parsed("yolo", [labels.name, *files], "detection", [], [], [], image_folder=images)
    images_in(folder, parsed)
    if not parsed.images:
        raise InputError(f"{images.name}: no image lies there ({', '.join(sorted(SUFFIXES))}).")
    for image in parsed.images:
        image.split = part
    fill_sizes(parsed.images, folder)
    compared = masks == "yes" or (masks == "auto" and predictions is not None and _with_masks(predictions, found, layout))
    with_masks = compared or (masks == "auto" and predictions is None)
    parsed.task = "segmentation" if compared else "detection"
    classes = Classes(told)
    side = SideFiles(labels, Layout.of(YOLO_TRUTH), "ground truth", False, with_masks)
    _look_at_labels(parsed, read_side(side, parsed.truth, classes, parsed))
    _look_at_names(parsed, told, len(classes.list))
    if predictions is not None and found is not None:
        parsed.classes = classes.list
        parsed.files.append(predictions.name)
        index = {image.id: i for i, image in enumerate(parsed.images)}
        read_results(found, predictions, parsed, index, masks=with_masks, names=read_names(prediction_names), first=first)
    elif predictions is not None:
        read_text_predictions(predictions, parsed, layout, read_names(prediction_names), folder, masks=with_masks)
    if not told and parsed.by_id:  # without names, what either side uses is a class
        for c in parsed.predicted:
            if c.id.isdigit():
                classes.index(c.id)
    new = classes.by_number(len(told))
    parsed.truth.cls = [new[c] for c in parsed.truth.cls]
    parsed.classes = classes.list
    names_of = {c.id: c.name for c in parsed.classes}
    if parsed.by_id:
        parsed.predicted = [ClassName(c.id, names_of.get(c.id, c.name)) for c in parsed.predicted]
    return parsed


def _look_at_names(parsed: Parsed, names: Sequence[str], used: int) -> None:
    if not names:
        parsed.remarks.say(
            "no names", "No names of classes were found, so classes are called by their numbers; hypotheses that name classes need names."
        )
    elif used > len(names):
        parsed.remarks.say(
            "classes without a name",
            f"Labels use {used - len(names):,} classes beyond the {len(names):,} names, called by number.",
        )


def looks_like(folder: Path) -> bool:
    """Whether a folder holds labels of YOLO: the first line that is not blank has a number and shares of an image."""
    for name in sorted(glob.glob(str(folder / "**" / "*.txt"), recursive=True))[:200]:
        try:
            with open(name, encoding="utf-8") as f:
                words = next((w for w in (line.split() for line in f) if w), None)
        except (OSError, ValueError):
            continue
        if words and len(words) >= 5 and words[0].isdigit():
            try:
                return all(-1 <= float(w) <= 2 for w in words[1:])
            except ValueError:
                return False
    return False
