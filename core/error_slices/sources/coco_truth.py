"""Ground truth as COCO json: an object of images, categories and annotations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from core.error_slices.detections import ClassName, Rle
from core.error_slices.sources.coco_masks import box_of, mask_of, polygon_box
from core.error_slices.sources.json_files import key_of, number, read_json, short, size_of, xywh_to_xyxy
from core.error_slices.sources.parsed import Parsed, ParsedImage, Remarks, Xyxy
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
        width, height = size_of(entry.get("width"), entry.get("height"))
        index[key] = len(images)
        images.append(ParsedImage(key, str(entry.get("file_name") or ""), width, height))
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
        mask = drawn(segmentation, where, size, remarks) if segmentation and (masks or not told) else None
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


def drawn(segmentation: Any, where: str, size: tuple[int, int], remarks: Remarks) -> Rle | None:
    """The mask of a segmentation, None if it cannot be drawn, which is told."""
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
