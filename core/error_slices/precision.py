"""How well predicted slices find known ones: Precision@k, relevance of hypotheses, and where the hits come from (GH-ESD, section 5)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from core.error_slices.detections import FloatArray, IntArray
from core.error_slices.ties import best_first

Rule = Literal["equation", "release"]
RULES: Mapping[Rule, str] = {
    "equation": "hits among the first k over k (GH-ESD, Eq. 1)",
    "release": "hits among the first k over k, or over the size of the known slice where it is smaller (GESD release)",
}
U = TypeVar("U", bound=Hashable)


@dataclass(frozen=True)
class Found:
    """How well one known slice was found.

    Attributes:
        truth: Name of the known slice.
        size: Its units.
        value: Precision@k of the predicted slice that fits best, 0 if none does.
        best: Name of that slice, "" if none has a hit.
    """

    truth: str
    size: int
    value: float
    best: str


@dataclass(frozen=True)
class PrecisionAtK:
    """Precision@k of a list of predicted slices. More predicted slices can never lower it, so it always stands beside their number.

    Attributes:
        k: As asked.
        rule: How hits are counted.
        found: One a known slice.
        mean: Over the known slices, those without a hit too; None without any.
        slices: Predicted slices that were given.
        cap: At most so many of them were used, the first ones; None for all.
    """

    k: int
    rule: Rule
    found: tuple[Found, ...]
    mean: float | None
    slices: int
    cap: int | None

    def by(self, label: Mapping[str, str]) -> dict[str, tuple[float, int]]:
        """Mean and number of known slices by a label of theirs, such as category or type of error; those without one under ""."""
        groups: dict[str, list[float]] = {}
        for f in self.found:
            groups.setdefault(label.get(f.truth, ""), []).append(f.value)
        return {name: (float(np.mean(v)), len(v)) for name, v in sorted(groups.items())}


def hits_at_k(truth: Collection[U], predicted: Sequence[U], k: int, rule: Rule = "release") -> float:
    """Precision@k of one predicted slice against one known one; 0 for an empty known one.

    Args:
        truth: Units of the known slice.
        predicted: Units of the predicted one, best first; a unit that stands twice counts at its first place.
        k: Units that are looked at.
        rule: How hits are counted.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be 1 or more")
    known = frozenset(truth)
    if not known:
        return 0.0
    first = list(dict.fromkeys(predicted))[:k]
    return len(known.intersection(first)) / (k if rule == "equation" else min(k, len(known)))


def precision_at_k(
    truth: Mapping[str, Collection[U]],
    predicted: Mapping[str, Sequence[U]],
    k: int = 10,
    *,
    rule: Rule = "release",
    cap: int | None = None,
) -> PrecisionAtK:
    """For each known slice the best Precision@k of any predicted slice, and the mean of these.

    Args:
        truth: Units of each known slice.
        predicted: Units of each predicted slice, best first; slices in the order in which they would be shown.
        k: Units of a predicted slice that are looked at.
        rule: How hits are counted.
        cap: Use only the first so many predicted slices.
    """
    used = list(predicted.items())[:cap]
    found = []
    for name, units in truth.items():
        known, value, best = frozenset(units), 0.0, ""
        for other, order in used:
            if (v := hits_at_k(known, order, k, rule)) > value:
                value, best = v, other
        found.append(Found(name, len(known), value, best))
    mean = float(np.mean([f.value for f in found])) if found else None
    return PrecisionAtK(k, rule, tuple(found), mean, len(predicted), cap)


@dataclass(frozen=True)
class Relevance:
    """Precision, recall and F1 of hypotheses by their meaning; None where the denominator is 0.

    Attributes:
        precision: Share of predicted hypotheses that are relevant.
        recall: Share of known slices that a predicted hypothesis means.
        f1: Their harmonic mean.
        predicted: Number of predicted hypotheses.
        known: Number of known slices.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    predicted: int
    known: int


def hypothesis_relevance(relevant: Sequence[bool], met: Sequence[bool]) -> Relevance:
    """Precision, recall and F1 of hypotheses.

    Args:
        relevant: For each predicted hypothesis, whether a person or a judge says that it means a known slice; never the tool itself.
        met: For each known slice, whether some predicted hypothesis means it.
    """
    precision = float(np.mean(relevant)) if len(relevant) else None
    recall = float(np.mean(met)) if len(met) else None
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return Relevance(precision, recall, f1, len(relevant), len(met))


@dataclass(frozen=True)
class OriginsAlone:
    """What each origin of hypotheses finds alone, and all of them together (GH-ESD, section 5.2.1).

    Attributes:
        together: All predicted slices.
        alone: By origin.
        overlap: Of the known slices that at least one of two origins finds, the share that both do; by pair of origins; None if neither
            finds any. A slice is found at a Precision@k of one half or more.
    """

    together: PrecisionAtK
    alone: dict[str, PrecisionAtK]
    overlap: dict[tuple[str, str], float | None]


def by_origin(
    truth: Mapping[str, Collection[U]],
    predicted: Mapping[str, Sequence[U]],
    origin: Mapping[str, str],
    k: int = 10,
    *,
    rule: Rule = "release",
    cap: int | None = None,
) -> OriginsAlone:
    """Precision@k of the predicted slices of each origin alone.

    Args:
        truth: Units of each known slice.
        predicted: Units of each predicted slice, best first.
        origin: By predicted slice, such as "knowledge" or "data".
        k: As in `precision_at_k`.
        rule: Likewise.
        cap: Likewise; holds for each origin.
    """
    names = sorted({origin[p] for p in predicted})
    alone = {o: precision_at_k(truth, {p: u for p, u in predicted.items() if origin[p] == o}, k, rule=rule, cap=cap) for o in names}
    hit = {o: {f.truth for f in r.found if f.value >= 0.5} for o, r in alone.items()}
    overlap = {
        (a, b): len(hit[a] & hit[b]) / len(hit[a] | hit[b]) if hit[a] | hit[b] else None
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    }
    return OriginsAlone(precision_at_k(truth, predicted, k, rule=rule, cap=cap), alone, overlap)


def over_images(score: FloatArray, image: IntArray) -> FloatArray:
    """Each unit's score replaced by the largest of its image, as a method that sees whole images has it (GH-ESD, section 5.2.2).

    Args:
        score: Shape (n,): of the units; NaN is left out.
        image: Shape (n,): image of each unit, any integers.

    Returns:
        Shape (n,); NaN where no unit of the image has a score.
    """
    _, place = np.unique(image, return_inverse=True)
    known = ~np.isnan(score)
    whole = np.full(int(place.max()) + 1 if len(place) else 0, -np.inf)
    np.maximum.at(whole, place[known], score[known])
    whole[np.isinf(whole)] = np.nan
    return np.asarray(whole[place], np.float64)


def ranked(ids: Sequence[U], score: FloatArray, gamma: float = 0.5) -> tuple[U, ...]:
    """Units above gamma, highest score first.

    Args:
        ids: Shape (n,).
        score: Shape (n,): NaN never is above.
        gamma: Score above which a unit is in the slice.
    """
    inside = np.flatnonzero(np.nan_to_num(score, nan=-np.inf) > gamma)
    return tuple(ids[i] for i in best_first(inside, score).tolist())
