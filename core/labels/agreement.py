"""How far several people agree who answered the same questions, and how often they say that a tagger was right.

A table of ratings is given as counts, one row per question, one column per category, so that people may be missing anywhere.
Questions about one image hang together; the bootstrap therefore draws images, not questions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.scoring.intervals import percentiles, wilson

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
    return _one(counts, 1)


def pairwise_agreement(counts: npt.ArrayLike) -> float | None:
    """Mean over the questions of the share of pairs of people who gave the same answer; None without such a question."""
    return _one(counts, 0)


def krippendorff_alpha(counts: npt.ArrayLike) -> float | None:
    """Krippendorff's alpha for categories without order, of (questions, categories) counts.

    1 - (n - 1) × observed disagreements / expected ones, over the n answers to questions with two or more. It weighs each
    answer the same and corrects for small n. None as for `fleiss_kappa`.
    """
    return _one(counts, 2)


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
    weights = np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), repeats)
    figures = _figures(np.vstack([parts.sum(axis=0), weights @ parts]))
    pairwise, kappa, alpha = (interval(float(f[0]), f[1:]) for f in figures)
    mix = table.sum(axis=0) / max(int(table.sum()), 1)
    return Agreement(
        questions=len(table),
        answers=int(table.sum()),
        skipped=int((~use).sum()),
        groups=len(numbers),
        pairwise=pairwise,
        kappa=kappa,
        alpha=alpha,
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


def _one(counts: npt.ArrayLike, which: int) -> float | None:
    """One of the three figures of a table."""
    table = _table(counts)
    sums = _parts(table[table.sum(axis=1) >= 2]).sum(axis=0)
    return interval(float(_figures(sums[None, :])[which][0]), np.zeros(0)).value


def _figures(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Pairwise agreement, kappa and alpha of (R, 3 + K) sums over questions, NaN where they are not defined."""
    agree, questions, differ = sums[:, 0], sums[:, 1], sums[:, 2]
    n, squares = sums[:, 3:].sum(axis=1), (sums[:, 3:] ** 2).sum(axis=1)
    mixed = squares != n * n  # more than one category; compared in whole numbers, which floats hold exactly
    nothing = np.full(len(sums), np.nan)
    pairwise = np.divide(agree, questions, out=nothing.copy(), where=questions > 0)
    chance = np.divide(squares, n * n, out=nothing.copy(), where=mixed)
    kappa = (pairwise - chance) / (1 - chance)
    alpha = 1 - np.divide((n - 1) * differ, n * n - squares, out=nothing.copy(), where=mixed)
    return pairwise, kappa, alpha


def interval(value: float, drawn: Floats) -> Interval:
    """A figure with the percentile interval of its resamples; none where too many of them leave it undefined."""
    return Interval(None) if np.isnan(value) else Interval(value, *(percentiles(drawn) or (None, None)))
