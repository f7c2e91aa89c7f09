"""The parameters of SliceScorer, with the paper's defaults."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from core.errors import InputError, Problem

Provisional = Literal["observed", "missing"]
Rarity = Literal["paper", "log"]
Novel = Literal["similar", "unseen"]
Risk = Literal["neighbour", "ridge"]


@dataclass(frozen=True)
class ScoringParameters:
    """Parameters of SliceNav, Eq. 3-8, and the support policy.

    Attributes:
        alpha: Laplace smoothing of the marginals, > 0 (Eq. 4).
        tau: Dynamic range of the exposure, in (0, 1] (Eq. 5).
        gamma: Emphasis on rarity, >= 0 (Eq. 6).
        kappa: Cap of the neighbour error, in (0, 1] (Eq. 7).
        m: Number of neighbours, >= 1.
        theta: Least similarity of a neighbour, in [0, 1].
        min_support: Samples that make a slice more than provisional; a count when 1 or more, a share of all samples below 1.
        provisional: Whether a slice below the minimum support counts as observed (the paper: n > 0) or as missing.
        beta: Discount of the probability of a value that was never seen, in (0, 1] (section 3.5).
        rarity: "paper" is Eq. 6; "log" (ours) scales log E between the smallest and the largest exposure of the space.
        novel: Probability of a value outside the ODD that was never seen: "similar" is the paper's P(v*) sim(v, v*) beta;
            "unseen" (ours) the smoothed probability of a count of zero.
        risk: "neighbour" is Eq. 7; "ridge" (ours) predicts from additive and pairwise effects.
        shrink: Whether the error rates of small slices are drawn towards the mean (empirical Bayes, ours).
    """

    alpha: float = 1.0
    tau: float = 0.6
    gamma: float = 2.0
    kappa: float = 0.8
    m: int = 5
    theta: float = 0.3
    min_support: float = 10
    provisional: Provisional = "observed"
    beta: float = 0.8
    rarity: Rarity = "paper"
    novel: Novel = "similar"
    risk: Risk = "neighbour"
    shrink: bool = False

    def __post_init__(self) -> None:
        rules = [
            ("alpha", 0 < self.alpha < math.inf, "a number above 0"),
            ("tau", 0 < self.tau <= 1, "a number above 0, at most 1"),
            ("gamma", 0 <= self.gamma < math.inf, "a number of at least 0"),
            ("kappa", 0 < self.kappa <= 1, "a number above 0, at most 1"),
            ("m", 1 <= self.m < math.inf and int(self.m) == self.m, "a whole number of at least 1"),
            ("theta", 0 <= self.theta <= 1, "a number from 0 to 1"),
            (
                "min_support",
                0 <= self.min_support < math.inf and (self.min_support < 1 or int(self.min_support) == self.min_support),
                "a whole count (10), or a share below 1 (0.01)",
            ),
            ("provisional", self.provisional in get_args(Provisional), "observed or missing"),
            ("beta", 0 < self.beta <= 1, "a number above 0, at most 1"),
            ("rarity", self.rarity in get_args(Rarity), "paper or log"),
            ("novel", self.novel in get_args(Novel), "similar or unseen"),
            ("risk", self.risk in get_args(Risk), "neighbour or ridge"),
            ("shrink", isinstance(self.shrink, bool), "true or false"),
        ]
        problems = [Problem(None, name, str(getattr(self, name)), allowed) for name, ok, allowed in rules if not ok]
        if problems:
            raise InputError("A scoring parameter is out of range.", problems)

    def support_threshold(self, total: int) -> int:
        """Least number of samples of a slice that is not provisional, given the total support."""
        return math.ceil(self.min_support * total) if self.min_support < 1 else int(self.min_support)

    def as_dict(self) -> dict[str, Any]:
        """The parameters as JSON-ready data, a whole minimum support as a whole number."""
        return asdict(self) | {"min_support": int(self.min_support) if self.min_support >= 1 else float(self.min_support)}
