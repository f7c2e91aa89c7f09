"""The exported images as COCO json with slices on their annotations, and lists of units as the GESD release evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.error_slices.detections import Boxes
from core.error_slices.repair.content import RepairInput, id_of, place_of

NO_CLASS = "ignore regions of any class, which COCO has no category for"


def numbers_of(ids: Sequence[str], least: int = 0) -> tuple[list[int], bool]:
    """Whole numbers for ids: their own where all of them are different whole numbers of at least `least`, else 1, 2 and so on.

    Returns:
        The numbers, and whether they are the ids' own.
    """
    own = [int(i) for i in ids if i.isascii() and i.isdecimal() and str(int(i)) == i]
    if len(own) == len(ids) == len(set(own)) and min(own, default=least) >= least:
        return own, True
    return list(range(1, len(ids) + 1)), False


def coco_files(content: RepairInput, names: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, int]]:
    """Ground truth and predictions of the exported images, with the slices of each.

    `slice` is the slice of the highest score, `slice_score` that score, and `tags` are all slices that hold; FiftyOne takes `tags` as
    tags of the label and the others as its attributes. Images carry the slices that are about whole images.

    Args:
        content: What is exported.
        names: Name of the picture of each image of the set.

    Returns:
        A COCO document, a list of COCO results, and how many of what is not in them.
    """
    d = content.detections
    image_id, own_image = numbers_of([i.id for i in d.images])
    class_id, own_class = numbers_of([c.id for c in d.classes])
    exported = np.zeros(len(d.images), bool)
    exported[content.images] = True
    by_side = _slices_by_row(content)
    left_out: dict[str, int] = {}
    images = []
    for i in content.images.tolist():
        x = d.images[i]
        entry: dict[str, Any] = {"id": image_id[i], "file_name": names[i], "width": x.width, "height": x.height}
        entry |= {} if own_image else {"original_id": x.id}
        entry |= {} if names[i] == x.file_name else {"original_file_name": x.file_name}
        images.append(entry | by_side["image"].get(i, {}))
    annotations = _rows(content, d.truth, exported, image_id, class_id, by_side["gt"], left_out)
    predictions = _rows(content, d.predictions, exported, image_id, class_id, by_side["pred"], left_out)
    for p in predictions:
        del p["id"], p["iscrowd"]
    document = {
        "info": {
            "description": f"{content.name}: images for repair, not for evaluation.",
            "synthetic": d.synthetic,
            "dataset": d.dataset,
            "licence": d.licence,
        },
        "images": images,
        "annotations": annotations,
        "categories": [
            {"id": n, "name": c.name} | ({} if own_class else {"original_id": c.id}) for n, c in zip(class_id, d.classes, strict=True)
        ],
    }
    return document, predictions, left_out


def _rows(
    content: RepairInput,
    boxes: Boxes,
    exported: np.ndarray,
    image_id: list[int],
    class_id: list[int],
    slices: dict[int, dict[str, Any]],
    left_out: dict[str, int],
) -> list[dict[str, Any]]:
    ids, own = numbers_of(boxes.ids, 1)  # pycocotools takes a match with annotation 0 for no match
    out = []
    for r in np.flatnonzero(exported[boxes.image]).tolist():
        if boxes.cls[r] < 0:
            left_out[NO_CLASS] = left_out.get(NO_CLASS, 0) + 1
            continue
        x1, y1, x2, y2 = boxes.xyxy[r].tolist()
        row: dict[str, Any] = {
            "id": ids[r],
            "image_id": image_id[boxes.image[r]],
            "category_id": class_id[boxes.cls[r]],
            "bbox": [x1, y1, round(x2 - x1, 6), round(y2 - y1, 6)],
            "area": float(boxes.area[r]),
            "iscrowd": int(boxes.ignore[r]),
        }
        if not np.isnan(boxes.score[r]):
            row["score"] = float(boxes.score[r])
        mask = None if boxes.masks is None else boxes.masks[r]
        if mask is not None:
            row["segmentation"] = {"size": list(mask.size), "counts": mask.counts.decode("ascii")}
        row |= {} if own else {"original_id": boxes.ids[r]}
        out.append(row | slices.get(r, {}))
    return out


def _slices_by_row(content: RepairInput) -> dict[str, dict[int, dict[str, Any]]]:
    """Slices of each annotation, prediction and image, by its row in the detections."""
    best: dict[str, dict[int, tuple[float, str]]] = {"gt": {}, "pred": {}, "image": {}}
    tags: dict[str, dict[int, list[str]]] = {"gt": {}, "pred": {}, "image": {}}
    for s in content.slices:
        for i, c, inside in zip(s.units.tolist(), s.c.tolist(), s.inside.tolist(), strict=True):
            if c != c:  # no score
                continue
            side, row = place_of(content.units, i)
            if row not in best[side] or c > best[side][row][0]:
                best[side][row] = (c, s.hypothesis.id)
            if inside:
                tags[side].setdefault(row, []).append(s.hypothesis.id)
    return {
        side: {
            row: {"slice": name if row in tags[side] else "", "slice_score": round(c, 6), "tags": tags[side].get(row, [])}
            for row, (c, name) in found.items()
        }
        for side, found in best.items()
    }


def gesd_predictions(content: RepairInput) -> dict[str, list[str]]:
    """The units of each slice that fail, best first, as the GESD release evaluates them: "{dataset}_{annotation id}" by name of the slice.

    Members of an error slice are errors, so units that are right are not listed.
    """
    u, d = content.units, content.detections
    exported = set(content.images.tolist())
    out = {}
    for s in content.slices:
        wrong = [int(s.units[k]) for k in s.best_first.tolist() if s.inside[k] and s.loss[k] > 0.5]
        name = d.dataset or d.name
        out[s.hypothesis.id] = [f"{name}_{id_of(u, i)}" for i in wrong if int(u.image[i]) in exported]
    return out
