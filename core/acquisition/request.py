"""What a campaign is asked for: budget, samples, costs, quotas; read from text, checked against an ODD, kept as JSON."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from core.acquisition.samples import MOST, samples_for_width
from core.errors import InputError, Problem
from core.odd import Odd

BudgetKind = Literal["slices", "samples", "cost"]
QuotaKind = Literal["least", "most"]
BUDGETS: tuple[BudgetKind, ...] = ("slices", "samples", "cost")


@dataclass(frozen=True)
class Factor:
    """A value whose samples cost more, or less: `time=night:2` costs twice as much."""

    dimension: str
    value: str
    times: float

    def __str__(self) -> str:
        return f"{self.dimension}={self.value}:{self.times:g}"


@dataclass(frozen=True)
class Quota:
    """How many slices of a campaign may or must have a value.

    Attributes:
        dimension, value: The value.
        kind: "most" or "least".
        amount: Slices, or their share of the finished campaign in [0, 1].
        share: Whether it is a share.
    """

    dimension: str
    value: str
    kind: QuotaKind
    amount: float
    share: bool = False

    def __str__(self) -> str:
        amount = f"{100 * self.amount:g}%" if self.share else f"{self.amount:g}"
        return f"{self.dimension}={self.value}:{'<=' if self.kind == 'most' else '>='}{amount}"

    def slices(self, size: int) -> int:
        """The quota as a count, in a campaign of `size` slices; a share is rounded to the strict side."""
        if not self.share:
            return int(self.amount)
        part = exact(self.amount) * size
        return math.floor(part) if self.kind == "most" else math.ceil(part)


@dataclass(frozen=True)
class Request:
    """What a campaign is asked for.

    Attributes:
        budget: How much may be spent, in slices, samples or units of cost.
        kind: What the budget counts.
        samples: Samples per slice; 0 takes them from `width`.
        width: Widest 95 % Wilson interval wanted, 0 where `samples` is given.
        rate: Error rate assumed for it.
        base_cost: Cost of one sample before factors.
        factors: Values that change it; the factors of a slice are multiplied.
        quotas: Quotas per value.
        skip_scheduled: Whether slices of other campaigns are left to them.
    """

    budget: float
    kind: BudgetKind = "slices"
    samples: int = 0
    width: float = 0.2
    rate: float = 0.5
    base_cost: float = 1.0
    factors: tuple[Factor, ...] = ()
    quotas: tuple[Quota, ...] = ()
    skip_scheduled: bool = True

    @property
    def per_slice(self) -> int:
        """Samples of each slice.

        Raises:
            InputError: The width or the rate is out of range.
        """
        return self.samples or samples_for_width(self.width, self.rate)

    def check(self, odd: Odd) -> None:
        """Refuse what makes no sense.

        Raises:
            InputError: With every problem.
        """
        problems = [*self._numbers(), *self._values(odd)]
        if problems:
            raise InputError("The campaign cannot be planned.", problems)
        if not self.samples:
            samples_for_width(self.width, self.rate)

    def _numbers(self) -> list[Problem]:
        finite = math.isfinite(self.budget) and self.budget > 0
        whole = finite and (self.kind == "cost" or self.budget % 1 == 0)
        count = 0 <= self.samples <= MOST and self.samples % 1 == 0
        rules: list[tuple[str, object, bool, str]] = [
            ("budget", self.budget, whole, "a number above 0, a whole one if it counts slices or samples"),
            ("budget kind", self.kind, self.kind in BUDGETS, ", ".join(BUDGETS)),
            ("samples", self.samples, count, f"a whole number from 1 to {MOST:,}"),
            ("cost of a sample", self.base_cost, math.isfinite(self.base_cost) and self.base_cost > 0, "a number above 0"),
        ]
        if not self.samples:
            rules += [
                ("interval width", self.width, 0 < self.width < 1, "a number above 0 and below 1 (0.2 is ± 10 points)"),
                ("assumed error rate", self.rate, 0 <= self.rate <= 1, "a number from 0 to 1 (0.5 is the safe one)"),
            ]
        rules += [(f"cost {f}", f.times, math.isfinite(f.times) and f.times > 0, "a factor above 0") for f in self.factors]
        for q in self.quotas:
            if q.share:
                rules.append((f"quota {q}", f"{100 * q.amount:g}%", 0 <= q.amount <= 1, "a share from 0% to 100%"))
            else:
                rules.append((f"quota {q}", f"{q.amount:g}", q.amount >= 0 and q.amount % 1 == 0, "a whole number of slices"))
        return [Problem(None, name, str(got), allowed) for name, got, ok, allowed in rules if not ok]

    def _values(self, odd: Odd) -> list[Problem]:
        out = []
        for word, items in (("cost", self.factors), ("quota", self.quotas)):
            for item in items:
                if item.dimension not in odd.by_name:
                    out.append(Problem(None, f"{word} {item}", item.dimension, f"a dimension: {', '.join(odd.names)}"))
                elif item.value not in odd.by_name[item.dimension].by_name:
                    allowed = ", ".join(odd.by_name[item.dimension].by_name)
                    out.append(Problem(None, f"{word} {item}", item.value, f"a value of {item.dimension}: {allowed}"))
        keys = [("cost", f"{f.dimension}={f.value}") for f in self.factors]
        keys += [(f"quota at {q.kind}", f"{q.dimension}={q.value}") for q in self.quotas]
        twice = [(key, n) for key, n in Counter(keys).items() if n > 1]
        out += [Problem(None, word, value, f"each value once; it stands there {n} times") for (word, value), n in twice]
        most = {(q.dimension, q.value): q for q in self.quotas if q.kind == "most"}
        for q in self.quotas:
            other = most.get((q.dimension, q.value))
            if q.kind == "least" and other is not None and other.share == q.share and other.amount < q.amount:
                out.append(Problem(None, f"quota {q}", str(q.amount), f"at most what {other} allows"))
        return out

    def as_dict(self) -> dict[str, Any]:
        """The request as JSON-ready data."""
        budget = int(self.budget) if self.budget % 1 == 0 else float(self.budget)  # the same, whoever asked for it
        return asdict(self) | {"budget": budget, "factors": [asdict(f) for f in self.factors], "quotas": [asdict(q) for q in self.quotas]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Request:
        """The request that `as_dict` wrote."""
        lists = {"factors": tuple(Factor(**f) for f in data["factors"]), "quotas": tuple(Quota(**q) for q in data["quotas"])}
        return cls(**{**data, **lists})


def exact(x: float) -> Fraction:
    """A number as it is written in decimals, so that three times 0.1 is 0.3."""
    return Fraction(repr(float(x)))


_QUOTA = re.compile(r"(<=|>=)?\s*([0-9.eE+-]+)\s*(%)?")


def read_factors(texts: Sequence[str]) -> tuple[Factor, ...]:
    """`dimension=value:factor` texts as factors.

    Raises:
        InputError: With every text that is none.
    """
    out, problems = [], []
    for text in texts:
        dimension, value, amount = _split(text)
        times = _number(amount)
        if dimension and value and times is not None:
            out.append(Factor(dimension, value, times))
        else:
            problems.append(Problem(None, "cost", text, "dimension=value:factor, such as time=night:2"))
    if problems:
        raise InputError("A cost cannot be read.", problems)
    return tuple(out)


def read_quotas(texts: Sequence[str]) -> tuple[Quota, ...]:
    """`dimension=value:amount` texts as quotas: 10 or <=10 is at most, >=10 at least, 25% a share.

    Raises:
        InputError: With every text that is none.
    """
    out, problems = [], []
    for text in texts:
        dimension, value, amount = _split(text)
        found = _QUOTA.fullmatch(amount)
        number = _number(found[2]) if found else None
        if dimension and value and found and number is not None:
            share = bool(found[3])
            out.append(Quota(dimension, value, "least" if found[1] == ">=" else "most", number / 100 if share else number, share))
        else:
            allowed = "dimension=value:amount, such as environment=highway:10 (at most), time=night:>=25% (at least)"
            problems.append(Problem(None, "quota", text, allowed))
    if problems:
        raise InputError("A quota cannot be read.", problems)
    return tuple(out)


def read_terms(costs: Sequence[str], quotas: Sequence[str]) -> tuple[tuple[Factor, ...], tuple[Quota, ...]]:
    """Factors and quotas of some texts.

    Raises:
        InputError: With every text that is neither.
    """
    problems: list[Problem] = []
    factors: tuple[Factor, ...] = ()
    limits: tuple[Quota, ...] = ()
    try:
        factors = read_factors(costs)
    except InputError as e:
        problems += e.problems
    try:
        limits = read_quotas(quotas)
    except InputError as e:
        problems += e.problems
    if problems:
        raise InputError("A cost or a quota cannot be read.", problems)
    return factors, limits


def _split(text: str) -> tuple[str, str, str]:
    """Dimension, value and amount; a value may hold signs of its own, so the last colon counts."""
    dimension, _, rest = text.partition("=")
    value, _, amount = rest.rpartition(":")
    return dimension.strip(), value.strip(), amount.strip()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
