"""COCO json: ground truth of `images`, `categories` and `annotations`, and predictions as a results list or as a file of the same kind."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.error_slices.detections import ClassName, Rle
from core.error_slices.sources.coco_masks import box_of, mask_of, polygon_box
from core.error_slices.sources.image_files import ImageFolder
from core.error_slices.sources.json_files import key_of, number, read_json, short, xywh_to_xyxy
from core.error_slices.sources.name_lists import Names, read_names
from core.error_slices.sources.parsed import Parsed, ParsedImage, Remarks, Xyxy
from core.error_slices.sources.text_boxes import YOLO_PREDICTIONS, Layout, fill_sizes, read_text_predictions
from core.errors import InputError

NO_BOX = "left out: no usable box"


def entries(document: Any, key: str, path: Path, *, needed: bool = True) -> list[Any]:
    """A list of a COCO document.

    Raises:
        InputError: It is missing though needed, or no list.
    """
    value = document.get(key)
    if value is None and not needed:
        return []
    if not isinstance(value, list):
        has = ", ".join(map(str, list(document)[:8])) or "nothing"
        raise InputError(f'{path.name}: no list "{key}"; a COCO file has images, categories and annotations. This one has {has}.')
    return value


def truth_document(path: Path) -> dict[str, Any]:
    """The object of a ground-truth file.

    Raises:
        InputError: It is a results list or something else.
    """
    document = read_json(path)
    if isinstance(document, list):
        raise InputError(
            f"{path.name}: this is a list, as results of a detector are. The ground truth is a file with images, categories and "
            "annotations; are the two files swapped?"
        )
    if not isinstance(document, dict):
        raise InputError(f"{path.name}: a COCO file is an object with images, categories and annotations.")
    return document


def images_of(document: Any, path: Path, remarks: Remarks) -> tuple[list[ParsedImage], dict[str, int]]:
    """The images of a COCO file, and their index by id.

    Raises:
        InputError: There is no image.
    """
    images: list[ParsedImage] = []
    index: dict[str, int] = {}
    for i, entry in enumerate(entries(document, "images", path)):
        where = f"{path.name}, images[{i}]"
        key = key_of(entry.get("id")) if isinstance(entry, dict) else None
        if key is None:
            remarks.tell("images left out: no id", f"{where}: no usable id; left out.")
            continue
        if key in index:
            remarks.tell("images left out: id seen before", f"{where}: id {key} stands for an earlier image already; left out.")
            continue
        width, height = number(entry.get("width")), number(entry.get("height"))
        told = all(math.isfinite(v) and v > 0 for v in (width, height))
        index[key] = len(images)
        images.append(ParsedImage(key, str(entry.get("file_name") or ""), int(width) if told else 0, int(height) if told else 0))
    if not images:
        raise InputError(f'{path.name}: the list "images" has no usable image.')
    return images, index


def categories_of(document: Any, path: Path, remarks: Remarks, *, needed: bool = True) -> list[ClassName]:
    """The categories of a COCO file, with the ids that they have there.

    Raises:
        InputError: There is none though needed.
    """
    classes: list[ClassName] = []
    seen: set[str] = set()
    names: set[str] = set()
    for i, entry in enumerate(entries(document, "categories", path, needed=needed)):
        where = f"{path.name}, categories[{i}]"
        key = key_of(entry.get("id")) if isinstance(entry, dict) else None
        if key is None:
            remarks.tell("categories left out: no id", f"{where}: no usable id; left out.")
            continue
        if key in seen:
            remarks.tell("categories left out: id seen before", f"{where}: id {key} stands for an earlier category already; left out.")
            continue
        name = str(entry.get("name") or key)
        if name in names:
            remarks.tell(
                "categories of one name", f'{where}: the name "{name}" stands for an earlier category too; both are kept apart by id.'
            )
        seen.add(key)
        names.add(name)
        classes.append(ClassName(key, name))
    if needed and not classes:
        raise InputError(f'{path.name}: the list "categories" has no usable category.')
    return classes


class Ids:
    """Ids of annotations: the file's own where they are told, made unique where they are not."""

    def __init__(self, remarks: Remarks) -> None:
        self._seen: set[str] = set()
        self._remarks = remarks

    def take(self, value: Any, where: str, position: int) -> str:
        """The id of one annotation."""
        key = key_of(value)
        if key is None:
            self._remarks.count("annotations without an id, which are numbered by their place")
            key = f"{position}"
        if key in self._seen:
            copy = 2
            while f"{key}#{copy}" in self._seen:
                copy += 1
            self._remarks.tell("annotations with an id seen before", f"{where}: id {key} was seen before; it is called {key}#{copy} here.")
            key = f"{key}#{copy}"
        self._seen.add(key)
        return key


def box_from(entry: dict[str, Any], where: str, what: str, size: tuple[int, int], remarks: Remarks) -> Xyxy | None:
    """The box of an annotation, from its mask where it names none."""
    xyxy = xywh_to_xyxy(entry.get("bbox"))
    if xyxy is None and entry.get("bbox") in (None, []) and entry.get("segmentation"):
        xyxy = polygon_box(entry["segmentation"]) or box_of(mask_of(entry["segmentation"], *size))
        if xyxy is not None:
            remarks.count(f"{what} whose box is taken from the mask")
    if xyxy is None:
        remarks.tell(f"{what} {NO_BOX}", f"{where}: bbox {short(entry.get('bbox'))} is no x, y, width, height; left out.")
    return xyxy


def _flag(value: Any) -> bool:
    return number(value) == 1 or value is True


def read_truth(document: Any, path: Path, parsed: Parsed, index: dict[str, int], *, masks: bool) -> None:
    """Adds the annotations of a ground-truth file."""
    remarks, ids = parsed.remarks, Ids(parsed.remarks)
    class_index = {c.id: i for i, c in enumerate(parsed.classes)}
    without_crowd = 0
    annotations = entries(document, "annotations", path)
    for i, entry in enumerate(annotations):
        where = f"{path.name}, annotations[{i}]"
        if not isinstance(entry, dict):
            remarks.tell("annotations left out: no object", f"{where}: {short(entry)} is no annotation; left out.")
            continue
        image = index.get(key_of(entry.get("image_id")) or "")
        cls = class_index.get(key_of(entry.get("category_id")) or "")
        if image is None:
            remarks.tell(
                "annotations left out: unknown image", f"{where}: image {short(entry.get('image_id'))} is not among the images; left out."
            )
            continue
        if cls is None:
            remarks.tell(
                "annotations left out: unknown category",
                f"{where}: category {short(entry.get('category_id'))} is not among the categories; left out.",
            )
            continue
        size = (parsed.images[image].height, parsed.images[image].width)
        xyxy = box_from(entry, where, "annotations", size, remarks)
        if xyxy is None:
            continue
        without_crowd += "iscrowd" not in entry
        crowd, ignored = _flag(entry.get("iscrowd")), _flag(entry.get("ignore"))
        remarks.count("crowd regions", crowd)
        if ignored and not crowd:
            remarks.count("annotations marked ignore")
        segmentation = entry.get("segmentation")
        area = number(entry.get("area"))
        told = math.isfinite(area) and area >= 0
        mask = _mask(segmentation, where, size, remarks) if segmentation and (masks or not told) else None
        parsed.truth.add(
            image,
            cls,
            xyxy,
            id=ids.take(entry.get("id"), where, i),
            ignore=crowd or ignored,
            area=area if told else _area(mask),
            mask=mask if masks else None,
        )
    if without_crowd:
        remarks.count("annotations without iscrowd, which are no crowds", without_crowd)


def _mask(segmentation: Any, where: str, size: tuple[int, int], remarks: Remarks) -> Rle | None:
    mask = mask_of(segmentation, *size)
    if mask is None:
        remarks.tell(
            "masks that cannot be drawn", f"{where}: the segmentation cannot be drawn on {size[1]} × {size[0]} px; its box is used."
        )
    return mask


def _area(mask: Rle | None) -> float:
    if mask is None:
        return math.nan
    from pycocotools import mask as coco_mask

    return float(coco_mask.area({"size": list(mask.size), "counts": mask.counts}))


def results_of(document: Any, path: Path) -> list[Any]:
    """The entries of a results file: a list, or the annotations of a file like the ground truth.

    Raises:
        InputError: It is neither.
    """
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        for key in ("annotations", "predictions", "results"):
            if isinstance(document.get(key), list):
                return list(document[key])
    raise InputError(f"{path.name}: results of a detector are a list of image_id, category_id, bbox and score.")


def _predicted_classes(results: Iterable[Any], document: Any, path: Path, parsed: Parsed, names: list[str]) -> dict[str, int]:
    """Finds what the predictions call their classes and returns the index of each id."""
    own: dict[str, str] = {str(i): n for i, n in enumerate(names)}
    if isinstance(document, dict) and not own:
        own = {c.id: c.name for c in categories_of(document, path, parsed.remarks, needed=False)}
    truth = {c.id: c.name for c in parsed.classes}
    used: dict[str, str] = {}
    for entry in results:
        if isinstance(entry, dict):
            key = key_of(entry.get("category_id"))
            if key is not None and key not in used:
                used[key] = str(entry.get("category_name") or "")
    named = bool(own) or any(used.values())
    parsed.by_id = not named
    index: dict[str, int] = {}
    for key in [*own, *(k for k in used if k not in own)]:
        index[key] = len(index)
        parsed.predicted.append(ClassName(key, own.get(key) or used.get(key) or (truth.get(key, key) if not named else key)))
    return index


def read_results(document: Any, path: Path, parsed: Parsed, index: dict[str, int], *, masks: bool, names: list[str]) -> None:
    """Adds the predictions of a results file."""
    remarks, results = parsed.remarks, results_of(document, path)
    classes = _predicted_classes(results, document, path, parsed, names)
    unscored = bool(results) and not any(isinstance(r, dict) and "score" in r for r in results)
    if unscored:
        remarks.say(
            "no scores", f"{path.name}: no prediction has a score, so all are taken as certain (1.0); a confidence cut changes nothing."
        )
    unknown: dict[str, int] = {}
    for i, entry in enumerate(results):
        where = f"{path.name}, [{i}]"
        if not isinstance(entry, dict):
            remarks.tell("predictions left out: no object", f"{where}: {short(entry)} is no prediction; left out.")
            continue
        image = index.get(key_of(entry.get("image_id")) or "")
        if image is None:
            remarks.count("predictions left out: unknown image")
            key = short(entry.get("image_id"))
            unknown[key] = unknown.get(key, 0) + 1
            continue
        cls = classes.get(key_of(entry.get("category_id")) or "")
        if cls is None:
            remarks.tell("predictions left out: no category", f"{where}: category {short(entry.get('category_id'))} is no id; left out.")
            continue
        score = 1.0 if unscored else number(entry.get("score"))
        if not math.isfinite(score):
            remarks.tell("predictions left out: no usable score", f"{where}: score {short(entry.get('score'))} is no number; left out.")
            continue
        if not 0 <= score <= 1:
            remarks.tell(
                "predictions with a score outside 0 to 1", f"{where}: score {score:g}; kept, but the confidence cut expects 0 to 1."
            )
        size = (parsed.images[image].height, parsed.images[image].width)
        xyxy = box_from(entry, where, "predictions", size, remarks)
        if xyxy is None:
            continue
        segmentation = entry.get("segmentation")
        mask = _mask(segmentation, where, size, remarks) if masks and segmentation else None
        parsed.predictions.add(image, cls, xyxy, id=str(i), score=score, mask=mask)
    for key, n in unknown.items():
        remarks.say(
            "predictions left out: unknown image",
            f"{path.name}: image {key} is not in the ground truth; its {n:,} predictions are left out.",
        )
    _look_at_ids(parsed, path)


def _look_at_ids(parsed: Parsed, path: Path) -> None:
    """Says when the predictions seem to count their classes from 0 and the ground truth from 1."""
    mine, theirs = {c.id for c in parsed.predicted}, {c.id for c in parsed.classes}
    if parsed.by_id and "0" in mine and "0" not in theirs and "1" in theirs:
        parsed.remarks.say(
            "categories count from another number",
            f"{path.name}: category 0 occurs here, but the ground truth counts from 1. If the detector counts its classes from 0, all of "
            "them are off by one or more: give the names of its classes.",
        )


def parse(
    truth: Path,
    predictions: Path | None,
    images: Path | None = None,
    *,
    masks: str = "auto",
    prediction_names: Names = None,
    columns: str = YOLO_PREDICTIONS,
    units: str = "relative",
    **_: Any,
) -> Parsed:
    """Takes a COCO ground truth and, if given, the results of a detector.

    Args:
        truth: Ground-truth file.
        predictions: Results file, or a folder of text files as YOLO writes them; None for none.
        images: Folder of the images, for sizes that the ground truth does not tell.
        masks: "yes" reads masks, "no" reads boxes alone, "auto" reads masks if the predictions have some.
        prediction_names: Names of the detector's classes in its own order from 0, if its ids are not those of the ground truth.
        columns: Of a line of text files.
        units: "relative" or "px", of text files.

    Raises:
        InputError: A file cannot be read or is no COCO file.
    """
    document = truth_document(truth)
    in_text = predictions is not None and predictions.is_dir()
    found = None if predictions is None or in_text else read_json(predictions)
    has_masks = found is not None and any(isinstance(r, dict) and r.get("segmentation") for r in results_of(found, predictions or truth))
    with_masks = masks == "yes" or (masks == "auto" and has_masks)
    remarks = Remarks()
    pictures, index = images_of(document, truth, remarks)
    parsed = Parsed("coco", [truth.name], "segmentation" if with_masks else "detection", [], [], pictures, remarks=remarks)
    parsed.classes = categories_of(document, truth, remarks)
    info = document.get("info")
    if isinstance(info, dict):
        parsed.dataset = str(info.get("description") or "")
    folder = None if images is None else ImageFolder(images)
    fill_sizes(parsed.images, folder)
    read_truth(document, truth, parsed, index, masks=with_masks)
    if predictions is not None and in_text:
        read_text_predictions(predictions, parsed, Layout.of(columns, units), read_names(prediction_names), folder, masks=with_masks)
    elif predictions is not None:
        parsed.files.append(predictions.name)
        read_results(found, predictions, parsed, index, masks=with_masks, names=read_names(prediction_names))
    return parsed
