"""What matchers look at: the boxes of one side with what follows from them, computed once for all matchers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.matchers.features import PixelFeatures
from core.error_slices.units import Visible
from core.error_slices.vocabulary import Vocabulary

PAIRS_AT_ONCE = 2_000_000
REACH = 4.0
"""Neighbours farther away than this many sizes of a box are left out; their weight exp(-16) is nothing."""
TWIN_IOU = 0.5
"""Two predictions that overlap more are two readings of one thing, not neighbours."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Boxes of one image that overlap or are near, m ordered pairs.

    Attributes:
        i: Shape (m,): the box that is looked at.
        j: Shape (m,): its neighbour.
        share: Shape (m,): area of the overlap over the area of i.
        iou: Shape (m,).
        gap: Shape (m,): px between the two, 0 where they touch or overlap.
        twin: Shape (m,): two predictions of one thing.
    """

    i: IntArray
    j: IntArray
    share: FloatArray
    iou: FloatArray
    gap: FloatArray
    twin: BoolArray


@dataclass(frozen=True, eq=False)
class Scene:
    """The boxes of one side.

    Attributes:
        visible: The boxes.
        vocabulary: Names of classes.
        features: What the pixels say, None if they were not looked at.
    """

    visible: Visible
    vocabulary: Vocabulary
    features: PixelFeatures | None = None

    @property
    def n(self) -> int:
        """Number of boxes."""
        return len(self.visible)

    @cached_property
    def sides(self) -> FloatArray:
        """Shape (n, 2): width and height, px, not below 0."""
        box = self.visible.xyxy
        return np.maximum(box[:, 2:] - box[:, :2], 0)

    @cached_property
    def area(self) -> FloatArray:
        """Shape (n,): of the box, px²."""
        return np.asarray(self.sides.prod(1), np.float64)

    @cached_property
    def size(self) -> FloatArray:
        """Shape (n,): side of a square of the same area, px; at least a tenth of a pixel, so that its logarithm exists."""
        return np.maximum(np.sqrt(self.area), 0.1)

    @cached_property
    def frame(self) -> FloatArray:
        """Shape (n, 2): width and height of the image, px; NaN where not known."""
        out = self.visible.size.copy()
        out[(out <= 0).any(1)] = np.nan
        return out

    @cached_property
    def margins(self) -> FloatArray:
        """Shape (n, 4): distance of the box from the left, upper, right and lower border, px; below 0 outside; NaN without a frame."""
        box = self.visible.xyxy
        out = np.column_stack([box[:, :2], self.frame - box[:, 2:]])
        return np.where(np.isfinite(self.frame[:, :1]), out, np.nan)

    @cached_property
    def border(self) -> FloatArray:
        """Shape (n,): distance from the border within which a box touches it, px."""
        return np.asarray(np.maximum(2.0, 0.006 * self.frame.max(1)), np.float64)

    @cached_property
    def touches(self) -> BoolArray:
        """Shape (n, 4): whether the box touches the left, upper, right and lower border."""
        return np.asarray(self.margins < self.border[:, None], bool)

    @cached_property
    def shape(self) -> FloatArray:
        """Shape (n,): log2 of width over height; NaN for a box without either."""
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.log2(self.sides[:, 0]) - np.log2(self.sides[:, 1])
        return np.where(np.isfinite(out), out, np.nan)

    @cached_property
    def usual_shape(self) -> FloatArray:
        """Shape (n, 2): median and robust deviation (at least a quarter octave) of the shape in the class.

        Over boxes that do not touch the border; NaN with fewer than 8 of them.
        """
        out = np.full((self.n, 2), np.nan)
        whole = ~self.touches.any(1) & np.isfinite(self.shape)
        for c in np.unique(self.visible.cls):
            of_class = self.visible.cls == c
            known = self.shape[of_class & whole]
            if len(known) >= 8:
                middle = np.median(known)
                out[of_class] = middle, max(0.25, 1.4826 * float(np.median(np.abs(known - middle))))
        return out

    @cached_property
    def shape_z(self) -> FloatArray:
        """Shape (n,): how far the shape is from the usual one of the class, in robust deviations; above 0 is wide; NaN if not known."""
        return (self.shape - self.usual_shape[:, 0]) / self.usual_shape[:, 1]

    @cached_property
    def objects(self) -> IntArray:
        """Shape (n,): boxes of this side in the image, itself among them."""
        counts = np.bincount(self.visible.image, minlength=len(self.visible.images))
        return np.asarray(counts[self.visible.image], np.int64)

    @cached_property
    def pairs(self) -> Pairs:
        """Neighbours in the same image."""
        parts = list(self._near())
        i, j, share, iou, gap = (np.concatenate(c) for c in zip(*parts, strict=True)) if parts else _NO_PAIRS
        twin = (iou > TWIN_IOU) if self.visible.side == "pred" else np.zeros(len(i), bool)
        return Pairs(i, j, share, iou, gap, twin)

    def _near(self) -> Iterator[tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]]:
        """Pairs that overlap or are near, some millions of candidates at a time."""
        box, area, v = self.visible.xyxy, self.area, self.visible
        by_image = np.argsort(v.image, kind="stable")
        in_order = v.image[by_image]
        first = np.searchsorted(in_order, in_order, "left")
        count = np.searchsorted(in_order, in_order, "right") - first
        start = 0
        while start < self.n:
            total = np.cumsum(count[start:])
            stop = start + max(1, int(np.searchsorted(total, PAIRS_AT_ONCE, "right")))
            many = count[start:stop]
            offset = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
            i = by_image[np.repeat(np.arange(start, stop), many)]
            j = by_image[np.repeat(first[start:stop], many) + offset]
            overlap = np.minimum(box[i, 2:], box[j, 2:]) - np.maximum(box[i, :2], box[j, :2])
            gap = np.hypot(*np.maximum(-overlap, 0).T)
            near = (i != j) & (gap < REACH * self.size[i])
            i, j, gap, overlap = i[near], j[near], gap[near], overlap[near]
            inter = np.maximum(overlap, 0).prod(1)
            share = np.minimum(inter / np.maximum(area[i], 1e-9), 1)
            yield i, j, share, inter / np.maximum(area[i] + area[j] - inter, 1e-9), gap
            start = stop


_NO_PAIRS = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0))
