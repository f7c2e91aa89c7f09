"""What an export for repair is made of, who may build one, and what it says of each image: score, weight, group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from core.error_slices.detections import DetectionSet, FloatArray, Image, IntArray
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.repair.seen import same_pictures
from core.error_slices.scores import ScoreSource
from core.error_slices.standing import why_not
from core.error_slices.units import Units
from core.error_slices.verification.settings import Tested
from core.errors import InputError
from core.trajectories.report import several

REST = "rest"
"""Group of the images of no slice."""
LEAST_GROUP = 20
"""Images of a group below which its mean loss says little: it joins the rest (Sagawa et al. 2020 train on groups of 56 and more)."""


@dataclass(frozen=True, eq=False)
class RepairSlice:
    """One accepted slice with the scores of the units that are exported, m of them.

    Attributes:
        hypothesis: What is claimed.
        units: Shape (m,): indices into the units.
        c: Shape (m,): matching score, NaN where it cannot be told.
        logit: Shape (m,): what is sorted by.
        loss: Shape (m,): of the type of error, between 0 and 1.
        gamma: Matching score above which a unit is in the slice.
        source: How the scores were found.
        matcher: Name and version of the matcher, or model and version of the prompt.
        tested: What the tests found on the images that verified it, None if it was not tested.
        judgement: What people decided: verdict, note, who, at; None if nobody did.
    """

    hypothesis: Hypothesis
    units: IntArray
    c: FloatArray
    logit: FloatArray
    loss: FloatArray
    gamma: float
    source: ScoreSource
    matcher: str
    tested: Tested | None = None
    judgement: Mapping[str, Any] | None = None

    @property
    def inside(self) -> np.ndarray:
        """Shape (m,): whether a unit is in the slice; a unit without a score is not."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.c > self.gamma)

    @property
    def best_first(self) -> IntArray:
        """Positions of the scored units, highest score first; ties in the order of the units."""
        scored = np.flatnonzero(~np.isnan(self.c))
        return scored[np.argsort(-self.logit[scored], kind="stable")]


@dataclass(frozen=True, eq=False)
class RepairInput:
    """An export for repair.

    Attributes:
        name: For people.
        units: Evaluation units of the detections that are exported.
        images: Indices of the images that are exported.
        slices: Accepted slices, scored on those images; the first one of an image's equal scores names its group.
        tested_images: Every image that a verification used; none of them, nor a copy of one, may be exported.
        origin: Where it comes from: names and digests of the sets, digest of the report, settings; anything that JSON can say.
        most_weight: Weight of an image with a matching score of 1 before weights are scaled to a mean of 1.
    """

    name: str
    units: Units
    images: IntArray
    slices: tuple[RepairSlice, ...]
    tested_images: tuple[Image, ...]
    origin: Mapping[str, Any] = field(default_factory=dict)
    most_weight: float = 3.0

    @property
    def detections(self) -> DetectionSet:
        """Whose units they are."""
        return self.units.detections

    @cached_property
    def image_scores(self) -> FloatArray:
        """Highest matching score of each image in each slice, shape (images of the set, slices); 0 where nothing was scored."""
        out = np.zeros((len(self.detections.images), len(self.slices)))
        for k, s in enumerate(self.slices):
            known = ~np.isnan(s.c)
            np.maximum.at(out[:, k], self.units.image[s.units[known]], np.clip(s.c[known], 0, 1))
        return out

    @cached_property
    def in_slice(self) -> np.ndarray:
        """Whether an image has a unit of a slice, shape (images of the set, slices)."""
        out = np.zeros((len(self.detections.images), len(self.slices)), bool)
        for k, s in enumerate(self.slices):
            out[self.units.image[s.units[s.inside]], k] = True
        return out


def place_of(units: Units, i: int) -> tuple[Literal["gt", "pred", "image"], int]:
    """Where a unit stands in the file: as an annotation, as a prediction or as an image, and in which row.

    A pair of masks stands as its annotation, a mask without a partner as itself.
    """
    side = units.side[i]
    if side == "seg" and units.regions is not None:
        at = int(units.row[i])
        truth = int(units.regions.truth[at])
        return ("gt", truth) if truth >= 0 else ("pred", int(units.regions.pred[at]))
    if side == "image":
        return "image", int(units.image[i])
    return ("gt" if side == "gt" else "pred"), int(units.row[i])


def id_of(units: Units, i: int) -> str:
    """Id of the annotation, prediction or image that a unit stands for."""
    side, row = place_of(units, i)
    d = units.detections
    return d.images[row].id if side == "image" else (d.truth if side == "gt" else d.predictions).ids[row]


def check(content: RepairInput) -> None:
    """Whether this may be exported.

    Raises:
        InputError: A slice was not accepted or has nothing to export, or images that verified the slices are among those exported.
    """
    reasons = []
    exported = [content.detections.images[i] for i in content.images.tolist()]
    used = [exported[i] for i in same_pictures(exported, content.tested_images)]
    if not len(content.images):
        reasons.append(
            "No image is left: the slices were verified on images of both halves, or all images lie in one of them. Set the tests to the "
            "verification half, which leaves the discovery half for repair, or name a set of training images to score with these "
            "hypotheses."
        )
    elif used:
        reasons.append(
            f"{len(used):,} of {several(len(exported), 'image was', 'images were')} used to verify the slices, such as "
            f"{used[0].file_name or used[0].id}. A model that trains on them would be measured on what it "
            "has learnt, and the slice would seem repaired. Set the tests to the verification half and export the discovery half, or "
            "export a set of training images."
        )
    if not content.slices:
        reasons.append("No slice is chosen; choose at least one that was accepted.")
    for s in content.slices:
        if len(content.images) and np.isnan(s.c).all():
            reasons.append(
                f'The slice "{s.hypothesis.id}" has no score on the {several(len(exported), "image", "images")} that would be exported: '
                + _without_scores(s)
            )
        if why := why_not(s.tested, None if s.judgement is None else s.judgement.get("verdict")):
            reasons.append(f'The slice "{s.hypothesis.id}" cannot be exported: {why}.')
    ids = [s.hypothesis.id for s in content.slices]
    if len(set(ids)) < len(ids):
        reasons.append("A slice is chosen twice.")
    if not content.most_weight >= 1:
        reasons.append(f"The highest weight is {content.most_weight}; it must be 1 or more.")
    if reasons:
        raise InputError("Nothing was exported. " + "\n".join(reasons))


def _without_scores(s: RepairSlice) -> str:
    if not len(s.c):
        return "they have no unit that it is about."
    if s.source == "geometric" and s.matcher:
        return "its matcher measures what they do not tell, most likely since their pictures are not there; import them with their folder."
    return "a model has to be asked about them first."


@dataclass(frozen=True, eq=False)
class ImageTable:
    """What is said of each exported image, n of them, in the order of `RepairInput.images`.

    Attributes:
        image: Shape (n,): index into the images of the set.
        score: Shape (n,): highest matching score over the slices, 0 where nothing was scored.
        weight: Shape (n,): 1 + (most - 1) × score, scaled to a mean of 1.
        raw: Shape (n,): the same before it was scaled.
        group: Shape (n,): index into `groups`; groups are disjoint, an image of several slices belongs to the one of its highest score.
        groups: Names: the rest, then slices that are large enough.
        merged: Slices whose groups were too small and joined the rest, with their images.
        y: Shape (n,): class of a classifier's image; 0 for a detector, whose images have no single class.
        a: Shape (n,): 1 if the image has a unit of any slice.
        members: Shape (n,): units of the image that are in any slice.
        errors: Shape (n,): those of them that fail (loss above 0.5).
    """

    image: IntArray
    score: FloatArray
    weight: FloatArray
    raw: FloatArray
    group: IntArray
    groups: tuple[str, ...]
    merged: Mapping[str, int]
    y: IntArray
    a: IntArray
    members: IntArray
    errors: IntArray

    @property
    def hard(self) -> IntArray:
        """Positions of the images with a unit of a slice: highest score first, then most failing units, then in order."""
        order = np.lexsort((-self.errors, -self.score))
        return np.asarray(order[self.a[order] == 1])


def image_table(content: RepairInput, least_group: int = LEAST_GROUP) -> ImageTable:
    """Score, weight and group of each exported image."""
    at = content.images
    scores, member = content.image_scores[at], content.in_slice[at]
    score = scores.max(1, initial=0.0)
    raw = 1 + (content.most_weight - 1) * score
    best = np.where(member, scores, -1.0)
    first = np.where(member.any(1), best.argmax(1), -1) if len(content.slices) else np.full(len(at), -1)
    names, merged = [REST], dict[str, int]()
    group = np.zeros(len(at), np.int64)
    for k, s in enumerate(content.slices):
        of = first == k
        if 0 < of.sum() < least_group:
            merged[s.hypothesis.id] = int(of.sum())
        elif of.any():
            group[of] = len(names)
            names.append(s.hypothesis.id)
    said = content.detections.classified
    label = np.zeros(len(content.detections.images), np.int64)
    if said is not None:
        label[said.image] = said.label
    y = label[at]
    held: dict[int, float] = {int(i): v for s in content.slices for i, v in zip(s.units[s.inside], s.loss[s.inside], strict=True)}
    where = content.units.image[np.fromiter(held, np.int64, len(held))]
    failing = np.fromiter(held.values(), np.float64, len(held)) > 0.5
    members, errors = (np.bincount(w, minlength=len(content.detections.images))[at] for w in (where, where[failing]))
    a = np.asarray(member.any(1), np.int64)
    return ImageTable(at, score, raw / raw.mean(), raw, group, tuple(names), merged, y, a, members, errors)
