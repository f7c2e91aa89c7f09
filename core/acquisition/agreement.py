"""How far several people agree who answered the same questions, and how often they say that a tagger was right.

A table of ratings is given as counts, one row per question, one column per category, so that people may be missing anywhere.
Questions about one image hang together; the bootstrap therefore draws images, not questions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.scoring import wilson

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

REPEATS = 2_000
SEED = 0


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval.

    Attributes:
        value: None where it is not defined.
        low, high: None where no resample, or too few of them, define it.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Agreement:
    """Agreement over some questions that at least two people answered.

    Attributes:
        questions: Questions with two or more answers.
        answers: Answers to them.
        skipped: Questions with fewer answers; they say nothing about agreement.
        groups: Images that the questions are about; what the bootstrap draws.
        pairwise: Mean over the questions of the share of pairs of people who gave the same answer.
        kappa: Fleiss' kappa.
        alpha: Krippendorff's alpha for categories without order.
        chance: Pairwise agreement that chance alone gives with this mix of answers, None without a question.
        shares: Share of each category among the answers.
    """

    questions: int
    answers: int
    skipped: int
    groups: int
    pairwise: Interval
    kappa: Interval
    alpha: Interval
    chance: float | None
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Precision:
    """How often a tagger was right, by the majority of those who decided, question by question.

    Attributes:
        right, wrong: Questions with more Yes than No, and the other way round.
        undecided: Questions with answers but no majority: ties, or nothing but Unsure.
        rate: right / (right + wrong), None without a decided question.
        low, high: 95 % Wilson interval.
    """

    right: int
    wrong: int
    undecided: int
    rate: float | None
    low: float
    high: float

    @property
    def decided(self) -> int:
        """Questions that count."""
        return self.right + self.wrong


def fleiss_kappa(counts: npt.ArrayLike) -> float | None:
    """Fleiss' kappa of (questions, categories) counts.

    (P - E) / (1 - E): P is the mean pairwise agreement over the questions, E the sum of the squared shares of the categories.
    With as many answers to each question it is Fleiss (1971); else each question still weighs the same in P, and each answer
    in E. Questions with fewer than two answers are left out. None if nothing is left, or if all answers are the same, since
    then chance explains everything and 0 / 0 remains.
    """
    return _figures(_sums(_table(counts)))[1]


def pairwise_agreement(counts: npt.ArrayLike) -> float | None:
    """Mean over the questions of the share of pairs of people who gave the same answer; None without such a question."""
    return _figures(_sums(_table(counts)))[0]


def krippendorff_alpha(counts: npt.ArrayLike) -> float | None:
    """Krippendorff's alpha for categories without order, of (questions, categories) counts.

    1 - (n - 1) × observed disagreements / expected ones, over the n answers to questions with two or more. It weighs each
    answer the same and corrects for small n. None as for `fleiss_kappa`.
    """
    return _figures(_sums(_table(counts)))[2]


def agreement(counts: npt.ArrayLike, groups: Sequence[Hashable] | None = None, *, repeats: int = REPEATS, seed: int = SEED) -> Agreement:
    """Agreement with percentile bootstrap intervals.

    Args:
        counts: (questions, categories) answers.
        groups: What each question is about, such as its image; each question by itself if None.
        repeats: Resamples.
        seed: Of the resamples.

    Raises:
        ValueError: Groups and questions differ in number.
    """
    every = _table(counts)
    names = list(range(len(every)) if groups is None else groups)
    if len(names) != len(every):
        raise ValueError(f"{len(names)} groups do not fit {len(every)} questions.")
    use = every.sum(axis=1) >= 2
    table = every[use]
    numbers: dict[Hashable, int] = {}
    group = np.array([numbers.setdefault(g, len(numbers)) for g, keep in zip(names, use, strict=True) if keep], dtype=np.int64)
    rows = max(len(numbers), 1)  # a row of zeros where there is nothing
    parts = np.zeros((rows, 3 + every.shape[1]))
    np.add.at(parts, group, _parts(table))
    pairwise, kappa, alpha = _figures(parts.sum(axis=0))
    weights = np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), repeats)
    drawn = [_figures(row) for row in weights @ parts]
    mix = table.sum(axis=0) / max(int(table.sum()), 1)
    return Agreement(
        questions=len(table),
        answers=int(table.sum()),
        skipped=int((~use).sum()),
        groups=len(numbers),
        pairwise=_interval(pairwise, [d[0] for d in drawn]),
        kappa=_interval(kappa, [d[1] for d in drawn]),
        alpha=_interval(alpha, [d[2] for d in drawn]),
        chance=float((mix**2).sum()) if len(table) else None,
        shares=tuple(mix.tolist()),
    )


def precision(yes: npt.ArrayLike, no: npt.ArrayLike, other: npt.ArrayLike) -> Precision:
    """How often the majority said Yes.

    A question counts once, however many people answered it: their answers are not independent trials of the tagger.

    Args:
        yes: Answers Yes to each question, (questions,).
        no: Answers No.
        other: Answers Unsure.
    """
    y, n, o = (np.asarray(x, dtype=np.int64) for x in (yes, no, other))
    right, wrong = int((y > n).sum()), int((n > y).sum())
    undecided = int(((y == n) & (y + n + o > 0)).sum())
    decided = right + wrong
    rate = right / decided if decided else None
    low, high = wilson(rate or 0.0, decided)
    return Precision(right, wrong, undecided, rate, low, high)


def _table(counts: npt.ArrayLike) -> Counts:
    table = np.asarray(counts, dtype=np.int64)
    if table.ndim != 2:
        raise ValueError(f"Counts need two axes, (questions, categories); got {table.ndim}.")
    if (table < 0).any():
        raise ValueError("Counts are not negative.")
    return table


def _parts(table: Counts) -> Floats:
    """What the three figures are sums of, per question: agreement, one, disagreement as Krippendorff counts it, and the counts."""
    n = table.sum(axis=1)
    same = (table * (table - 1)).sum(axis=1)
    pairs = n * (n - 1)
    return np.column_stack([same / pairs, np.ones(len(table)), (pairs - same) / (n - 1), table])


def _sums(table: Counts) -> Floats:
    return np.asarray(_parts(table[table.sum(axis=1) >= 2]).sum(axis=0), dtype=np.float64)


def _figures(sums: Floats) -> tuple[float | None, float | None, float | None]:
    """Pairwise agreement, kappa and alpha from sums over questions."""
    agree, questions, differ = (float(x) for x in sums[:3])
    by_category = sums[3:]
    n = float(by_category.sum())
    if questions == 0:
        return None, None, None
    pairwise = agree / questions
    squares = float((by_category**2).sum())
    if squares == n * n:  # one category only; compared in whole numbers, which floats hold exactly
        return pairwise, None, None
    chance = squares / (n * n)
    kappa = (pairwise - chance) / (1 - chance)
    alpha = 1 - (n - 1) * differ / (n * n - squares)
    return pairwise, kappa, alpha


def _interval(value: float | None, drawn: Sequence[float | None]) -> Interval:
    """Percentile interval; none where more than a tenth of the resamples leave the figure undefined, since the rest is then a choice."""
    known = [x for x in drawn if x is not None]
    if value is None or len(known) < 0.9 * len(drawn) or len(known) < 2:
        return Interval(value)
    low, high = np.quantile(known, [0.025, 0.975])
    return Interval(value, float(low), float(high))
