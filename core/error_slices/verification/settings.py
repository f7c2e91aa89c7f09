"""What is tested, how, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.error_slices.detections import FloatArray, IntArray

Mode = Literal["calibrated", "paper", "spearman"]
Verdict = Literal["verified", "elevated", "inconclusive", "reversed", "rejected"]
VERDICTS: tuple[Verdict, ...] = ("verified", "elevated", "inconclusive", "reversed", "rejected")


@dataclass(frozen=True)
class TestSettings:
    """How hypotheses are tested.

    Attributes:
        mode: Which rule decides.
        gamma: Matching score above which a unit is in the slice (paper: 0.5).
        tau: Least slope (paper: 0.2).
        window: Units in a window of the paper's rule; the paper gives no number but "fewer than 5 are discarded".
        stride: Units between two windows.
        flips: Random sign flips behind each p-value; small p-values are counted among more.
        fdr: Level of the false discovery rate (Benjamini-Hochberg).
        least_units: Units in the slice below which nothing is decided.
        least_images: Images likewise.
        least_errors: Errors, and correct units, likewise.
        least_lift: Least difference of error rates of an elevated slice.
        seed: Of the sign flips.
    """

    __test__ = False  # not a test case, whatever its name

    mode: Mode = "calibrated"
    gamma: float = 0.5
    tau: float = 0.2
    window: int = 5
    stride: int = 1
    flips: int = 999
    fdr: float = 0.05
    least_units: int = 30
    least_images: int = 8
    least_errors: int = 5
    least_lift: float = 0.05
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Sample:
    """What one hypothesis is tested on: m scored units.

    Attributes:
        hypothesis_id: Of what.
        c: Shape (m,): matching score; NaN where there is none.
        logit: Shape (m,): what is sorted by; NaN likewise.
        loss: Shape (m,): in [0, 1].
        image: Shape (m,): the cluster of each unit, any integers.
        weight: Shape (m,): 1 unless units were sampled.
        stratum: Shape (m,) or None: stratum of each unit (size octile × class) for the adjusted p-value.
    """

    hypothesis_id: str
    c: FloatArray
    logit: FloatArray
    loss: FloatArray
    image: IntArray
    weight: FloatArray
    stratum: IntArray | None = None


@dataclass(frozen=True)
class ErrorRate:
    """A mean loss with its interval.

    Attributes:
        value: Mean loss, None without a unit.
        low: Lower end of the 95 % interval, None likewise: Wilson's, at the effective number of units.
        high: Upper end.
        n: Units.
        images: Images among them.
        stands_for: Units of the population that they stand for, the sum of their weights.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    images: int
    stands_for: float = 0.0


@dataclass(frozen=True)
class Tested:
    """What the tests found of one hypothesis. P- and q-values are None where nothing could be tested.

    Attributes:
        hypothesis_id: Of what.
        verdict: Under the mode of the settings.
        inside: Error rate of units with c > gamma.
        outside: Of the other scored units.
        overall: Of all scored units.
        not_scorable: Units without a score, left out.
        errors: Errors inside (loss > 0.5).
        z: Largest studentised slope over the windows of the calibrated test.
        slope: Slope of loss on score over the whole slice, None without spread.
        p_trend: One-sided, by sign flips of images.
        p_lift: Of inside against outside, likewise.
        p_reversed: Of a falling trend.
        p_adjusted: Of the trend after stratum means are taken out, None without strata.
        p_lift_adjusted: Of the lift, likewise.
        q_trend: Benjamini-Hochberg over all hypotheses tested together.
        q_lift: Likewise.
        q_reversed: Likewise.
        q_adjusted: Likewise.
        paper_trend: Largest window slope of the paper's rule, None without a valid window.
        paper_pass: Whether it exceeds tau.
        paper_null_pass: Share of random losses, images kept together, that would pass the paper's rule on these very scores.
        paper_null_runs: Number of random losses behind that share.
        spearman: Binned rank correlation at each number of bins that fits.
        spearman_pass: Whether it is at least 0.5 at all of them, with a corrected p below 0.05.
        power: For an inconclusive or rejected one: chance that a rise of `power_rise` over the slice would have been seen; None otherwise.
        power_rise: Rise of the error rate that `power` speaks of.
        why: Reasons of an inconclusive verdict, or of a rejected one in spite of a small p-value, one sentence each, with the numbers.
    """

    hypothesis_id: str
    verdict: Verdict
    inside: ErrorRate
    outside: ErrorRate
    overall: ErrorRate
    not_scorable: int
    errors: int
    z: float | None = None
    slope: float | None = None
    p_trend: float | None = None
    p_lift: float | None = None
    p_reversed: float | None = None
    p_adjusted: float | None = None
    p_lift_adjusted: float | None = None
    q_trend: float | None = None
    q_lift: float | None = None
    q_reversed: float | None = None
    q_adjusted: float | None = None
    paper_trend: float | None = None
    paper_pass: bool = False
    paper_null_pass: float | None = None
    paper_null_runs: int = 0
    spearman: Mapping[int, float] = field(default_factory=dict)
    spearman_pass: bool = False
    power: float | None = None
    power_rise: float = 0.4
    why: tuple[str, ...] = ()

    @property
    def lift(self) -> float | None:
        """Error rate inside minus that outside, None where either is empty."""
        a, b = self.inside.value, self.outside.value
        return None if a is None or b is None else a - b

    @property
    def errors_saved(self) -> float | None:
        """Errors that would go away if the slice failed no more often than the rest; what lists are sorted by.

        Of the population, also where only a sample was scored.
        """
        return None if self.lift is None else self.inside.stands_for * self.lift
