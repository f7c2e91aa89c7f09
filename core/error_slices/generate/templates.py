"""Hypotheses from the data without a model: which classes stand before which on the discovery half, in fixed sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import FloatArray
from core.error_slices.generate.statements import Generated, LeftOut, hypothesis_id, tell_apart
from core.error_slices.generate.values import ValueRules, in_words
from core.error_slices.hypotheses import Hypothesis, OfflineMatcher
from core.error_slices.population import population
from core.error_slices.units import SIDE_OF, ErrorType, Units
from core.error_slices.verification.rates import dense, error_rate
from core.error_slices.verification.settings import ErrorRate

COVERED = 0.1
"""Share of a box that another must cover to count as standing before it."""
LOWER = 0.01
"""By how much of the height of the image the nearer box must reach lower."""


@dataclass(frozen=True)
class _Pair:
    of: int
    by: int
    share: float
    inside: ErrorRate
    outside: ErrorRate

    @property
    def lift(self) -> float:
        return (self.inside.value or 0.0) - (self.outside.value or 0.0)


def propose_by_templates(
    units: Units,
    *,
    known: Sequence[Hypothesis] = (),
    error: ErrorType = "FN",
    classes: Collection[int] | None = None,
    most: int = 10,
    rules: ValueRules | None = None,
) -> Generated:
    """Pairs of classes of which one often stands before the other, and whose covered boxes fail more often on the discovery half.

    Args:
        units: All units; only the errors of the discovery half are looked at.
        known: Hypotheses that are there already.
        error: FN (boxes of the ground truth) or FP (predictions).
        classes: Indices of the classes that are covered, None for all.
        most: Hypotheses at most.
        rules: How often a pair must be seen, and how much more often it must fail.

    Returns:
        Hypotheses of origin "data" with a matcher that needs no model, to be tested on the verification half alone.
    """
    if error not in ("FN", "FP"):
        raise ValueError(f"templates know FN and FP, not {error}")
    rules = rules or ValueRules()
    class_names = [c.name for c in units.detections.classes]
    people = population(units, error, classes, half="discovery")
    pairs = _pairs(units, error, people.units, people.loss)
    left_out: list[LeftOut] = []
    made: list[Hypothesis] = []
    for p in sorted(pairs, key=lambda p: (-p.lift * p.inside.n, p.of, p.by)):
        text = _text(error, class_names[p.of], class_names[p.by])
        if why := _why_not(p, rules):
            left_out.append(LeftOut(text, why))
            continue
        offline = OfflineMatcher("occluded_by", {"by": class_names[p.by], **({"any_depth": True} if error == "FP" else {})})
        if len(made) == most:
            left_out.append(LeftOut(text, f"{most} pairs have more errors to explain."))
            continue
        about = (class_names[p.of],)
        why = f"Error rate on the discovery half {in_words(p.inside)}, of other boxes of the class {in_words(p.outside)}."
        made.append(
            Hypothesis(
                hypothesis_id("data", text, error, about),
                text,
                error,
                "contextual_interference",
                about,
                offline,
                "data",
                rationale=why,
                half_only=True,
            )
        )
    notes = (f"{len(pairs)} pairs of classes overlap among {len(people.units):,} boxes of the discovery half; no model was asked.",)
    new, twins = tell_apart(made, known)
    return Generated(new, (*twins, *left_out), notes)


def _text(error: ErrorType, of: str, by: str) -> str:
    one = f"an {by}" if by[:1].casefold() in "aeiou" else f"a {by}"
    return f"The {of} is partly hidden by {one}." if error == "FN" else f"The detected {of} lies over or under {one}."


def _why_not(p: _Pair, rules: ValueRules) -> str:
    if p.inside.images < rules.least_images:
        return f"It is seen in {p.inside.images} images; {rules.least_images} are needed."
    if p.share > rules.most_share:
        return f"{p.share:.0%} of the class have it; at most {rules.most_share:.0%} may."
    return "" if p.lift > rules.least_lift else f"Such boxes do not fail more often: {in_words(p.inside)} against {in_words(p.outside)}."


def _pairs(units: Units, error: ErrorType, rows: np.ndarray, loss: FloatArray) -> list[_Pair]:
    """Pairs of classes in which a box of one is covered by a box of the other, with their error rates."""
    side = units.on(SIDE_OF[error])
    by_image: dict[int, list[int]] = defaultdict(list)
    for u in side.tolist():
        by_image[int(units.image[u])].append(u)
    members: dict[tuple[int, int], set[int]] = defaultdict(set)
    lost = dict(zip(rows.tolist(), loss.tolist(), strict=True))
    for image, here in by_image.items():
        if not any(u in lost for u in here):
            continue
        at = np.array(here)
        covers = _covers(units.xyxy[at], units.detections.images[image].height, nearer=error == "FN")
        for i, j in zip(*np.nonzero(covers & (units.cls[at][:, None] != units.cls[at][None, :])), strict=True):
            if here[i] in lost:
                members[int(units.cls[at[i]]), int(units.cls[at[j]])].add(here[i])
    out = []
    for (of, by), mine in members.items():
        peers = [u for u in lost if units.cls[u] == of]
        if len(peers) == len(mine):
            continue
        inside, outside = (_rate(units, us, lost) for us in (sorted(mine), [u for u in peers if u not in mine]))
        out.append(_Pair(of, by, len(mine) / len(peers), inside, outside))
    return out


def _rate(units: Units, rows: list[int], lost: dict[int, float]) -> ErrorRate:
    at = np.array(rows, np.int64)
    image, known = dense(units.image[at])
    return error_rate(np.array([lost[u] for u in rows], np.float64), np.ones(len(at)), image, len(known))


def _covers(xyxy: FloatArray, height: int, *, nearer: bool) -> np.ndarray:
    """Shape (k, k): whether box j covers a part of box i, and reaches lower where it must be nearer."""
    a, b = xyxy[:, None, :], xyxy[None, :, :]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    inside = np.clip(sides, 0, None).prod(-1)
    area = np.maximum((xyxy[:, 2] - xyxy[:, 0]) * (xyxy[:, 3] - xyxy[:, 1]), 1e-9)
    found = inside / area[:, None] >= COVERED
    if nearer:
        found &= b[..., 3] > a[..., 3] + LOWER * height
    np.fill_diagonal(found, False)
    return np.asarray(found)
