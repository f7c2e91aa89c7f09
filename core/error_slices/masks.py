"""Masks of a segmenter, as pixels and as run lengths, and their overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.error_slices.detections import BoolArray, Boxes, DetectionSet, FloatArray, IntArray, Rle


def decode(mask: Rle) -> BoolArray:
    """Pixels of a mask, shape (height, width)."""
    from pycocotools import mask as coco

    return np.asarray(coco.decode(as_coco(mask)), bool)


def encode(pixels: BoolArray) -> Rle:
    """The mask of pixels of shape (height, width)."""
    from pycocotools import mask as coco

    return _rle(coco.encode(np.asfortranarray(pixels, np.uint8)))


def of_polygons(polygons: Sequence[Sequence[float]], size: tuple[int, int]) -> Rle:
    """The mask that polygons cover together.

    Args:
        polygons: Each x, y, x, y …, px, of three points or more.
        size: Height and width, px.
    """
    from pycocotools import mask as coco

    return _rle(coco.merge(coco.frPyObjects([list(map(float, p)) for p in polygons], *size)))


def of_box(xyxy: FloatArray, size: tuple[int, int]) -> Rle:
    """The mask of a box, of shape (4,), in an image of that height and width."""
    left, top, right, bottom = xyxy.tolist()
    return of_polygons([[left, top, right, top, right, bottom, left, bottom]], size)


def area_of(mask: Rle) -> float:
    """Pixels of a mask."""
    from pycocotools import mask as coco

    return float(coco.area(as_coco(mask)))


def as_coco(mask: Rle) -> dict[str, Any]:
    """The mask as pycocotools takes it."""
    return {"size": list(mask.size), "counts": mask.counts}


def _rle(said: dict[str, Any]) -> Rle:
    height, width = said["size"]
    return Rle((int(height), int(width)), said["counts"])


class Masks:
    """The masks of both sides of a detection set; an instance without a mask of its image's size is compared by its box.

    Attributes:
        truth: A mask for each row of the ground truth.
        pred: A mask for each prediction.
        missing: Instances without a mask.
        misfits: Instances whose mask has another size than their image.
    """

    def __init__(self, detections: DetectionSet) -> None:
        self._detections = detections
        self.missing = self.misfits = 0
        sizes = _sizes(detections)
        self.truth = self._fill(detections.truth, sizes)
        self.pred = self._fill(detections.predictions, sizes)

    def _fill(self, boxes: Boxes, sizes: list[tuple[int, int]]) -> tuple[Rle, ...]:
        out = []
        for row in range(len(boxes)):
            mask, size = boxes.masks[row] if boxes.masks is not None else None, sizes[boxes.image[row]]
            if mask is None or mask.size != size:
                self.missing += mask is None
                self.misfits += mask is not None
                mask = of_box(boxes.xyxy[row], size)
            out.append(mask)
        return tuple(out)

    def pair_iou(self, pred: IntArray, truth: IntArray, ignore: BoolArray) -> FloatArray:
        """Mask IoU of pairs that share an image; the share of the prediction that lies in the region where `ignore` holds."""
        from pycocotools import mask as coco

        value = np.zeros(len(pred))
        image = self._detections.predictions.image[pred]
        sort = np.argsort(image, kind="stable")
        for rows in np.split(sort, np.flatnonzero(np.diff(image[sort])) + 1):
            if len(rows):
                p, at_p = np.unique(pred[rows], return_inverse=True)
                g, at_g = np.unique(truth[rows], return_inverse=True)
                crowd = self._detections.truth.ignore[g]
                table = coco.iou(
                    [as_coco(self.pred[i]) for i in p.tolist()],
                    [as_coco(self.truth[i]) for i in g.tolist()],
                    crowd.astype(np.uint8).tolist(),
                )
                value[rows] = table[at_p, at_g]
        return value


def _sizes(detections: DetectionSet) -> list[tuple[int, int]]:
    """Height and width of each image: as told, else of its first mask, else so that its boxes fit."""
    sizes = [(i.height, i.width) for i in detections.images]
    unknown = {k for k, size in enumerate(sizes) if 0 in size}
    for boxes in (detections.truth, detections.predictions) if unknown else ():
        for row, mask in enumerate(boxes.masks or ()):
            if mask is not None and boxes.image[row] in unknown:
                sizes[boxes.image[row]] = mask.size
                unknown.remove(boxes.image[row])
    for k in unknown:
        ends = np.concatenate([b.xyxy[b.image == k, 2:] for b in (detections.truth, detections.predictions)])
        width, height = np.ceil(ends.max(0, initial=1)).astype(int).tolist()
        sizes[k] = (height, width)
    return sizes
