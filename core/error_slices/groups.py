"""Accuracy of a classifier by group and by class, and of its worst group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import BoolArray, DetectionSet
from core.errors import InputError
from core.scoring.intervals import wilson


@dataclass(frozen=True)
class GroupAccuracy:
    """How often a classifier is right in one group of images.

    Attributes:
        name: Of the group or the class, "" for all images.
        value: Share of right images.
        low: Lower end of its 95 % interval (Wilson).
        high: Upper end.
        n: Images.
        wrong: Wrong ones among them.
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    wrong: int


@dataclass(frozen=True)
class GroupTable:
    """Accuracy of a classifier.

    Attributes:
        overall: Of all images.
        groups: By group, in order of name; empty where the file names none.
        classes: By true class, in the order of the file; those without an image are left out.
        worst: The group with the lowest accuracy, of classes where there are no groups; the larger one of equals.
        mean_of_groups: Mean accuracy over the groups (or classes), each counted once.
        ungrouped: Images without a group, where others have one.
        splits: Splits that the images belong to.
    """

    overall: GroupAccuracy
    groups: tuple[GroupAccuracy, ...]
    classes: tuple[GroupAccuracy, ...]
    worst: GroupAccuracy
    mean_of_groups: float
    ungrouped: int
    splits: tuple[str, ...]


def group_table(detections: DetectionSet, *, split: str | None = None) -> GroupTable:
    """Accuracy by group and class.

    Args:
        detections: What a classifier said.
        split: Images of one split only, None for all.

    Raises:
        InputError: The set is not of a classifier, or no image is of that split.
    """
    said = detections.classified
    if said is None:
        raise InputError(f'"{detections.name}" holds boxes; a table of groups needs what a classifier said of each image.')
    splits = np.array([i.split for i in detections.images])[said.image]
    rows = np.ones(len(splits), bool) if split is None else splits == split
    if not rows.any():
        raise InputError(f'"{detections.name}" has no image{"" if split is None else f" of split {split!r}"}.')
    wrong = said.label != said.prediction
    names = np.array(said.group)

    def accuracy(name: str, which: BoolArray) -> GroupAccuracy:
        n, bad = int((rows & which).sum()), int((rows & which & wrong).sum())
        value = 1 - bad / n
        return GroupAccuracy(name, value, *wilson(value, n), n, bad)

    groups = tuple(accuracy(name, names == name) for name in sorted(set(names[rows].tolist()) - {""}))
    classes = tuple(accuracy(c.name, said.label == k) for k, c in enumerate(detections.classes) if (rows & (said.label == k)).any())
    parts = groups or classes
    return GroupTable(
        overall=accuracy("", rows),
        groups=groups,
        classes=classes,
        worst=min(parts, key=lambda g: (g.value, -g.n)),
        mean_of_groups=sum(g.value for g in parts) / len(parts),
        ungrouped=int((rows & (names == "")).sum()) if groups else 0,
        splits=tuple(sorted(set(splits[rows].tolist()))),
    )
