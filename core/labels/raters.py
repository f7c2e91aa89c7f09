"""How far people agree on Y, N and Unsure: unanimity, Fleiss, Krippendorff, and each pair with Cohen's kappa.

Unsure is an abstention. What becomes of it decides the numbers, so each comes under its policy by name:
"exclude" leaves out cases where somebody was unsure (the paper's choice), "as_class" takes Unsure as a third answer, "missing" takes it
as no answer.
Source: FluidTest, section 4.1 and Fig. 3. Its 79.31 % and kappa .7145 fit the unanimous share of 116 cases on which none of three
people was unsure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from core.labels.agreement import REPEATS, SEED, Agreement, Floats, Interval, agreement, interval
from core.scoring.intervals import wilson
from core.storage.label_events import LABELS, Label

Answers = Mapping[str, Mapping[str, Label]]
"""The label that counts: {person: {case: label}}."""
Tables = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rater:
    """What one person said.

    Attributes:
        id: The person.
        yes: Cases with Y.
        no: Cases with N.
        unsure: Cases with U.
    """

    id: str
    yes: int
    no: int
    unsure: int

    @property
    def n(self) -> int:
        """Cases with a label."""
        return self.yes + self.no + self.unsure


@dataclass(frozen=True)
class RaterPair:
    """Two people.

    Attributes:
        first: One of them.
        second: The other.
        both: Cases that both labelled.
        n: Of these, cases where neither was unsure; what the figures rest on.
        same: Share of these with the same label, with its Wilson interval.
        kappa: Cohen's kappa.
        kappa_as_class: Cohen's kappa over all that both labelled, Unsure as a third answer.
        shared: Cases where both said Y.
        union: Cases where either did.
    """

    first: str
    second: str
    both: int
    n: int
    same: Interval
    kappa: Interval
    kappa_as_class: Interval
    shared: int
    union: int

    @property
    def jaccard(self) -> float | None:
        """Shared over union of the Y cases."""
        return self.shared / self.union if self.union else None


@dataclass(frozen=True)
class RaterAgreement:
    """Agreement of several people.

    Attributes:
        raters: Each person.
        cases: Cases that anybody labelled.
        single: Cases that only one person labelled; they say nothing about agreement.
        with_unsure: Cases of two or more people of whom one or more were unsure.
        compared: Cases of two or more people, none of them unsure.
        unanimous: Those of them with one label.
        overlap: unanimous / compared, with its Wilson interval.
        exclude: Over the compared cases, Y and N.
        as_class: Over all cases of two or more people, Y, N and U.
        missing: Over all cases with two or more Y or N, Unsure taken as no answer.
        pairs: Each pair of people.
    """

    raters: tuple[Rater, ...]
    cases: int
    single: int
    with_unsure: int
    compared: int
    unanimous: int
    overlap: Interval
    exclude: Agreement
    as_class: Agreement
    missing: Agreement
    pairs: tuple[RaterPair, ...]


def cohen_kappa(table: npt.ArrayLike) -> float | None:
    """Cohen's kappa of a (K, K) table of counts; None without counts, or if both always gave the same one answer.

    Raises:
        ValueError: The table is not square.
    """
    t = np.asarray(table, dtype=np.int64)
    if t.ndim != 2 or t.shape[0] != t.shape[1]:
        raise ValueError(f"Two people's answers make a square table; got {t.shape}.")
    value = float(_kappas(t[None])[0])
    return None if np.isnan(value) else value


def kappa_interval(table: npt.ArrayLike, *, repeats: int = REPEATS, seed: int = SEED) -> Interval:
    """Cohen's kappa of a (K, K) table of counts with its 95 % percentile bootstrap interval over cases."""
    return _kappa_interval(np.asarray(table, dtype=np.int64), repeats, seed)


def rater_agreement(answers: Answers, *, repeats: int = REPEATS, seed: int = SEED) -> RaterAgreement:
    """How far people agree, with 95 % intervals: Wilson for shares of cases, percentile bootstrap over cases for the rest.

    Args:
        answers: Label of each person for each case; people may have labelled different cases.
        repeats: Resamples.
        seed: Of the resamples.
    """
    people = sorted(answers)
    cases = sorted({c for of in answers.values() for c in of})
    counts = np.array([[sum(answers[p].get(c) == k for p in people) for k in LABELS] for c in cases], dtype=np.int64).reshape(-1, 3)
    enough = counts.sum(axis=1) >= 2
    clear = enough & (counts[:, 2] == 0)
    compared, unanimous = int(clear.sum()), int((counts[clear][:, :2].max(axis=1, initial=0) == counts[clear].sum(axis=1)).sum())
    return RaterAgreement(
        raters=tuple(Rater(p, *(sum(x == k for x in answers[p].values()) for k in LABELS)) for p in people),
        cases=len(cases),
        single=int((~enough).sum()),
        with_unsure=int((enough & ~clear).sum()),
        compared=compared,
        unanimous=unanimous,
        overlap=_share(unanimous, compared),
        exclude=agreement(counts[clear][:, :2], repeats=repeats, seed=seed),
        as_class=agreement(counts, repeats=repeats, seed=seed),
        missing=agreement(counts[:, :2], repeats=repeats, seed=seed),
        pairs=tuple(_pair(p, answers[p], q, answers[q], repeats, seed) for p, q in combinations(people, 2)),
    )


def clear_cases(answers: Answers) -> tuple[str, ...]:
    """Cases that everybody labelled and nobody was unsure about, sorted (those of Fig. 3)."""
    of_all = set.intersection(*(set(of) for of in answers.values())) if answers else set()
    return tuple(sorted(c for c in of_all if all(of[c] != "U" for of in answers.values())))


def yes_sets(answers: Answers, cases: tuple[str, ...] | None = None) -> dict[str, frozenset[str]]:
    """Cases with Y of each person, within the clear cases or those given; for an overlap matrix as in Fig. 3B."""
    within = clear_cases(answers) if cases is None else cases
    return {p: frozenset(c for c in within if of.get(c) == "Y") for p, of in answers.items()}


def _pair(p: str, first: Mapping[str, Label], q: str, second: Mapping[str, Label], repeats: int, seed: int) -> RaterPair:
    table = np.zeros((3, 3), dtype=np.int64)
    for c in first.keys() & second.keys():
        table[LABELS.index(first[c]), LABELS.index(second[c])] += 1
    clear = table[:2, :2]
    n, both = int(clear.sum()), int(table.sum())
    return RaterPair(
        p,
        q,
        both,
        n,
        _share(int(clear.trace()), n),
        _kappa_interval(clear, repeats, seed),
        _kappa_interval(table, repeats, seed),
        int(clear[0, 0]),
        int(clear[0, 0] + clear[0, 1] + clear[1, 0]),
    )


def _share(part: int, whole: int) -> Interval:
    """A share of cases with Wilson's interval: a bootstrap would be sure of itself where all agree."""
    return Interval(part / whole, *wilson(part / whole, whole)) if whole else Interval(None)


def _kappa_interval(table: Tables, repeats: int, seed: int) -> Interval:
    n = int(table.sum())
    if not n:
        return Interval(None)
    drawn = np.random.default_rng(seed).multinomial(n, (table / n).ravel(), repeats).reshape(repeats, *table.shape)
    return interval(float(_kappas(table[None])[0]), _kappas(drawn))


def _kappas(tables: Tables) -> Floats:
    """Cohen's kappa of (R, K, K) tables, NaN where it is not defined."""
    n = tables.sum(axis=(1, 2))
    same = np.trace(tables, axis1=1, axis2=2)
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1)
    # (same/n - chance/n²) / (1 - chance/n²), in whole numbers until the end.
    kappas: Floats = np.divide(same * n - chance, n * n - chance, out=np.full(len(tables), np.nan), where=n * n != chance)
    return kappas
