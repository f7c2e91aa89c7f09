"""Which prediction takes which ground truth, and why the others take none: COCO's greedy matching, then TIDE's kinds of error.

Rows of all images are matched in one pass over the pairs that share an image, so that thousands of images cost no loop over images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray

IGNORED = "IGN"
"""Kind of a prediction on an ignore region, and of the region: neither makes a unit."""
EXACT = 1 - 1e-10
"""An IoU of 1 is asked for as this, as pycocotools does, since rounding may miss it."""
PAIRS_AT_ONCE = 2_000_000

PairIou = Callable[[IntArray, IntArray, BoolArray], FloatArray]
"""IoU of pairs (predictions, ground truth); where the third argument holds, the share of the prediction that lies in the region instead."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Overlapping pairs of a prediction and a ground truth of one image, p of them, by prediction in the order it may choose.

    Attributes:
        pred: Shape (p,): rows of the predictions.
        truth: Shape (p,): rows of the ground truth.
        iou: Shape (p,): above 0; share of the prediction inside where the ground truth is an ignore region.
        same: Shape (p,): whether the classes agree; an ignore region of class -1 agrees with all.
    """

    pred: IntArray
    truth: IntArray
    iou: FloatArray
    same: BoolArray


@dataclass(frozen=True, eq=False)
class Matching:
    """Outcome of a matching, n predictions and m ground truths.

    Attributes:
        order: Predictions that counted, in the order in which they chose: by image, best score first.
        kind: Shape (n,): kind of each prediction, `IGNORED` on an ignore region, "" where it did not count.
        ref: Shape (n,): ground truth that it took or that explains it, -1 for none.
        iou: Shape (n,): with that one; 0 for none.
        truth_kind: Shape (m,): TP, FN or `IGNORED`.
        truth_ref: Shape (m,): prediction that took it, or the best scored one of those that explain why it was missed; -1 for none.
        truth_iou: Shape (m,): with that one; 0 for none.
        cause: Shape (m,): why it was missed, "" where it was not.
    """

    order: IntArray
    kind: np.ndarray
    ref: IntArray
    iou: FloatArray
    truth_kind: np.ndarray
    truth_ref: IntArray
    truth_iou: FloatArray
    cause: np.ndarray


def box_iou(pred: FloatArray, truth: FloatArray, ignore: BoolArray) -> FloatArray:
    """IoU of pairs of boxes, both of shape (p, 4); intersection over the prediction's own area where `ignore` holds; 0 without area."""
    size = np.minimum(pred[:, 2:], truth[:, 2:]) - np.maximum(pred[:, :2], truth[:, :2])
    both = np.where((size > 0).all(1), size.prod(1), 0.0)
    mine = (pred[:, 2:] - pred[:, :2]).prod(1)
    union = np.where(ignore, mine, mine + (truth[:, 2:] - truth[:, :2]).prod(1) - both)
    out = np.zeros_like(both)
    np.divide(both, union, out=out, where=both > 0)
    return out


def best_first(image: IntArray, score: FloatArray, most: int, within: IntArray | None = None) -> IntArray:
    """Rows by image, best score first, at most so many of each image (and class, if given); ties keep the order of the file.

    Returns:
        Indices of the rows that are left.
    """
    group = image if within is None else image * (int(within.max(initial=0)) + 2) + within
    order = np.lexsort((-score, group))
    group = group[order]
    start = np.flatnonzero(np.r_[True, group[1:] != group[:-1]]) if len(group) else np.zeros(0, np.int64)
    rank = np.arange(len(group)) - np.repeat(start, np.diff(np.r_[start, len(group)]))
    kept = order[rank < most]
    return kept if within is None else kept[np.lexsort((-score[kept], image[kept]))]


def find_pairs(
    order: IntArray, image: IntArray, cls: IntArray, truth_image: IntArray, truth_cls: IntArray, ignore: BoolArray, iou: PairIou
) -> Pairs:
    """All overlapping pairs of the predictions in `order` with ground truth of their image."""
    rows = np.argsort(truth_image, kind="stable")
    images = truth_image[rows]
    first, last = np.searchsorted(images, image[order], "left"), np.searchsorted(images, image[order], "right")
    many = last - first
    until = np.cumsum(many)
    parts = []
    at = 0
    while at < len(order):  # so many predictions that their pairs fit into memory
        stop = max(at + 1, int(np.searchsorted(until, (until[at - 1] if at else 0) + PAIRS_AT_ONCE, "right")))
        n = many[at:stop]
        p = np.repeat(order[at:stop], n)
        g = rows[np.repeat(first[at:stop] - (np.cumsum(n) - n), n) + np.arange(len(p))]
        value = iou(p, g, ignore[g])
        place = np.repeat(np.arange(at, stop), n)
        keep = np.flatnonzero(value > 0)
        p, g, value, place = p[keep], g[keep], value[keep], place[keep]
        # The best IoU first, and of equal ones the last of the file, as pycocotools chooses.
        sort = np.lexsort((-g, -value, place))
        parts.append((p[sort], g[sort], value[sort]))
        at = stop
    if not parts:
        return Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool))
    pred, truth, found = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    same = (cls[pred] == truth_cls[truth]) | (ignore[truth] & (truth_cls[truth] == -1))
    return Pairs(pred, truth, found, same)


def greedy(pairs: Pairs, ignore: BoolArray, iou: float) -> tuple[IntArray, IntArray]:
    """COCO's matching: each prediction, best first, takes the free ground truth of its class with the highest IoU.

    Args:
        pairs: In the order of choice.
        ignore: Of each ground truth; those are taken by nobody.
        iou: Least IoU.

    Returns:
        Matched predictions and their ground truths.
    """
    use = np.flatnonzero(pairs.same & ~ignore[pairs.truth] & (pairs.iou >= min(iou, EXACT)))
    taken: set[int] = set()
    given: dict[int, int] = {}
    for p, g in zip(pairs.pred[use].tolist(), pairs.truth[use].tolist(), strict=True):
        if p not in given and g not in taken:
            given[p] = g
            taken.add(g)
    return np.fromiter(given.keys(), np.int64, len(given)), np.fromiter(given.values(), np.int64, len(given))


def on_ignored(pairs: Pairs, ignore: BoolArray, iou: float, n: int) -> tuple[IntArray, FloatArray]:
    """The ignore region of its class that each of n predictions lies in most, by at least `iou` of its own area; -1 for none.

    Any number of predictions may lie in one region.
    """
    return _first(pairs, pairs.same & ignore[pairs.truth] & (pairs.iou >= min(iou, EXACT)), n)


def _first(pairs: Pairs, which: BoolArray, n: int) -> tuple[IntArray, FloatArray]:
    """Of n predictions, the ground truth of the first pair among `which` and its IoU; -1 and 0 where there is none."""
    rows = np.flatnonzero(which)
    pred, at = np.unique(pairs.pred[rows], return_index=True)
    truth, iou = np.full(n, -1), np.zeros(n)
    truth[pred], iou[pred] = pairs.truth[rows[at]], pairs.iou[rows[at]]
    return truth, iou


def match_all(pairs: Pairs, order: IntArray, n: int, ignore: BoolArray, iou: float, background: float) -> Matching:
    """Matching and kinds of all predictions in `order`.

    The kinds follow TIDE's order: badly placed, wrong class, duplicate, background, both. A missed ground truth has a cause where a
    prediction of another class or a badly placed one would have found it, so that "miss" is TIDE's missed.

    Args:
        pairs: From `find_pairs`, with all overlaps.
        order: Predictions that count, in the order of choice.
        n: Predictions in all.
        ignore: Shape (m,): ignore regions of the ground truth.
        iou: Least IoU of a match.
        background: IoU below which a prediction touches nothing.
    """
    least = min(iou, EXACT)
    kind, ref, value = np.full(n, "", "<U7"), np.full(n, -1), np.zeros(n)
    counted = np.zeros(n, bool)
    counted[order] = True
    pred, truth = greedy(pairs, ignore, iou)
    matched = np.zeros(n, bool)
    matched[pred] = True
    region, inside = on_ignored(pairs, ignore, iou, n)
    ignored = counted & ~matched & (region >= 0)

    real_pair = ~ignore[pairs.truth]
    own, own_iou = _first(pairs, real_pair & pairs.same, n)
    other, other_iou = _first(pairs, real_pair & ~pairs.same, n)
    any_, any_iou = _first(pairs, real_pair, n)
    rest = counted & ~matched & ~ignored
    for name, holds, to, by in (
        ("LOC", (own >= 0) & (own_iou >= background) & (own_iou < least), own, own_iou),
        ("FP_CLS", other_iou >= least, other, other_iou),
        ("FP_DUP", own_iou >= least, own, own_iou),
        ("FP_BKG", (any_ < 0) | (any_iou < background), any_, any_iou),
        ("FP_BOTH", np.ones(n, bool), any_, any_iou),
    ):
        here = rest & holds
        kind[here], ref[here], value[here] = name, to[here], by[here]
        rest &= ~holds
    kind[ignored], ref[ignored], value[ignored] = IGNORED, region[ignored], inside[ignored]
    kind[pred], ref[pred] = "TP", truth
    value[pred] = _iou_of(pairs, pred, truth)
    return Matching(order, kind, ref, value, *_explain_truth(order, kind, ref, value, ignore))


def _iou_of(pairs: Pairs, pred: IntArray, truth: IntArray) -> FloatArray:
    """IoU of given pairs, all of which are there."""
    wide = int(pairs.truth.max(initial=0)) + 1
    key = pairs.pred * wide + pairs.truth
    sort = np.argsort(key)
    found: FloatArray = pairs.iou[sort[np.searchsorted(key, pred * wide + truth, sorter=sort)]] if len(pred) else np.zeros(0)
    return found


def _explain_truth(
    order: IntArray, kind: np.ndarray, ref: IntArray, iou: FloatArray, ignore: BoolArray
) -> tuple[np.ndarray, IntArray, FloatArray, np.ndarray]:
    """Kind, reference, IoU and cause of each ground truth."""
    m = len(ignore)
    out, back, value, cause = np.full(m, "FN", "<U7"), np.full(m, -1), np.zeros(m), np.full(m, "", "<U4")
    out[ignore] = IGNORED
    hits = np.flatnonzero(kind == "TP")
    out[ref[hits]] = "TP"
    by = {name: np.zeros(m, bool) for name in ("LOC", "FP_CLS")}
    for name, hit in by.items():
        hit[ref[kind == name]] = True
    missed = out == "FN"
    cause[missed] = "miss"
    cause[missed & by["LOC"]] = "loc"
    cause[missed & by["FP_CLS"]] = "cls"
    cause[missed & by["LOC"] & by["FP_CLS"]] = "both"
    backwards = order[::-1]  # so that the best scored one is written last and stays
    explains = backwards[np.isin(kind[backwards], ("LOC", "FP_CLS"))]
    explains = explains[missed[ref[explains]]]
    for rows in (explains, hits):
        back[ref[rows]], value[ref[rows]] = rows, iou[rows]
    return out, back, value, cause
