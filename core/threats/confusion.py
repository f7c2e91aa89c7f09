"""How well a classifier finds threats, from its confusion matrix (FluidTest, Tables 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.scoring.intervals import wilson
from core.threats.natr import Span


@dataclass(frozen=True)
class Confusion:
    """Counts of a yes-or-no classifier.

    Attributes:
        tp: Threats that it found.
        fp: Cases without a threat that it took for one.
        fn: Threats that it missed.
        tn: Cases without a threat that it left alone.
    """

    tp: int
    fp: int
    fn: int
    tn: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """From pairs of what is so and what was said."""
        every = list(pairs)
        return cls(*(every.count(x) for x in ((True, True), (False, True), (True, False), (False, False))))

    @property
    def n(self) -> int:
        """Cases."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def accuracy(self) -> float | None:
        """Share that is right."""
        return _share(self.tp + self.tn, self.n)

    @property
    def precision(self) -> float | None:
        """Share of the found that are threats."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """Share of the threats that are found."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def accuracy_interval(self) -> Span | None:
        """95 % Wilson interval of the accuracy."""
        return _interval(self.tp + self.tn, self.n)

    @property
    def precision_interval(self) -> Span | None:
        """95 % Wilson interval of the precision."""
        return _interval(self.tp, self.tp + self.fp)

    @property
    def recall_interval(self) -> Span | None:
        """95 % Wilson interval of the recall."""
        return _interval(self.tp, self.tp + self.fn)

    def f(self, beta: float = 1.0) -> float | None:
        """F-score; recall weighs beta times as much as precision."""
        b = beta * beta
        return _share((1 + b) * self.tp, (1 + b) * self.tp + b * self.fn + self.fp)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _interval(part: int, whole: int) -> Span | None:
    return Span(*wilson(part / whole, whole)) if whole else None
