"""All hypotheses tested together: rates, p- and q-values, power, the paper's rules beside them, and one verdict each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.error_slices.detections import FloatArray, IntArray
from core.error_slices.verification.adjust import lift_adjusted, trend_adjusted
from core.error_slices.verification.benjamini_hochberg import benjamini_hochberg
from core.error_slices.verification.looks import TrendLook, lift_look, trend_look, weighted_slope
from core.error_slices.verification.paper import NULL_RUNS, null_pass, paper_windows
from core.error_slices.verification.power import ENOUGH, RISE, power, thinned
from core.error_slices.verification.rates import Sums, dense
from core.error_slices.verification.region import region_of, windows
from core.error_slices.verification.settings import ErrorRate, Sample, Tested, TestSettings, Verdict
from core.error_slices.verification.sign_flip import Look, nulls, p_values
from core.error_slices.verification.spearman import SCALES, binned_spearman, spearman_passes
from core.errors import InputError, Problem

LEAST_SPREAD = 0.01
"""Standard deviation of the scores of a slice below which there is no trend to test."""
MOST_FLIPS = 20_000
"""Flips behind the p-values of hypotheses that few flips reach; as many up to this as let one pass among all hypotheses."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A sample with everything but what needs random signs.

    Attributes:
        tested: What is known so far.
        trend: The trend, None where it cannot be tested.
        lift: The lift likewise.
        within: Trend and lift within strata, likewise.
        why: Reasons why nothing can be decided.
        trendless: Why there is no trend to test although there are enough units, "" otherwise.
        thinned: By how much the statistics shrink where a rise that matters asks for more varied losses.
    """

    tested: Tested
    trend: TrendLook | None
    lift: Look | None
    within: tuple[Look | None, Look | None]
    why: tuple[str, ...]
    trendless: str
    thinned: float = 1.0

    @property
    def decisive(self) -> tuple[Look | None, Look | None]:
        """Trend and lift, on which the verdict rests."""
        return (None if self.trend is None else self.trend.look), self.lift


def verify(samples: Sequence[Sample], settings: TestSettings, progress: Progress | None = None) -> tuple[Tested, ...]:
    """Tests hypotheses together; the false discovery rate holds over all of them.

    Args:
        samples: One a hypothesis. The same image must have the same number in all of them.
        settings: How.
        progress: Called with how many of how many steps are done.

    Returns:
        One a sample, in order.

    Raises:
        InputError: A setting that cannot be, or a sample whose columns do not fit together.
    """
    check(samples, settings)
    prepared = []
    for done, sample in enumerate(samples):
        prepared.append(prepare(sample, settings))
        if progress is not None:
            progress(done + 1, len(samples) + 1)
    looks = [look for item in prepared for look in (*item.decisive, *item.within) if look is not None]
    null = dict(zip(map(id, looks), nulls(looks, settings.flips, settings.seed), strict=True))
    tests = max(sum(item.trend is not None for item in prepared), sum(item.lift is not None for item in prepared))
    most = min(MOST_FLIPS, math.floor(tests / settings.fdr) + 1)
    counted = p_values(looks, [null[id(look)] for look in looks], settings.flips, most, settings.seed)
    both = dict(zip(map(id, looks), counted, strict=True))

    def p(look: Look | None, falling: bool = False) -> float | None:
        return None if look is None else both[id(look)][int(falling)]

    found = []
    for item in prepared:
        (trend, lift), (trend_within, lift_within) = item.decisive, item.within
        found.append(
            replace(
                item.tested,
                z=None if trend is None else float(trend.observed.max()),
                p_trend=p(trend),
                p_lift=p(lift),
                p_reversed=p(trend, falling=True),
                p_adjusted=p(trend_within),
                p_lift_adjusted=p(lift_within),
            )
        )
    q_trend, q_lift, q_reversed, q_adjusted = (
        benjamini_hochberg([getattr(t, name) for t in found]) for name in ("p_trend", "p_lift", "p_reversed", "p_adjusted")
    )
    level = seen_from([t.p_trend for t in found], q_trend, settings.fdr)
    out = []
    for i, (item, tested) in enumerate(zip(prepared, found, strict=True)):
        tested = replace(tested, q_trend=q_trend[i], q_lift=q_lift[i], q_reversed=q_reversed[i], q_adjusted=q_adjusted[i])
        out.append(decide(item, tested, _seen(item, null, level, settings), level, settings))
    if progress is not None:
        progress(len(samples) + 1, len(samples) + 1)
    return tuple(out)


def _seen(item: Prepared, null: Mapping[int, FloatArray], level: float, settings: TestSettings) -> float | None:
    """Chance that a rise that matters would have been seen; none where so few images have too few patterns of signs."""
    if item.trend is None:
        return None
    flipped = null[id(item.trend.look)]
    if item.trend.look.exact(settings.flips) and level < 1 / len(flipped):
        return 0.0
    return power(flipped, item.trend.per_slope * item.thinned, settings.gamma, level)


def seen_from(p: Sequence[float | None], q: Sequence[float | None], fdr: float) -> float:
    """Largest p-value with which one more hypothesis would have passed Benjamini-Hochberg, given the others."""
    tests = sum(value is not None for value in p)
    passed = sum(value is not None and value < fdr for value in q)
    return fdr * min(passed + 1, tests) / tests if tests else fdr


def check(samples: Sequence[Sample], settings: TestSettings) -> None:
    """Raises InputError with everything that is wrong with the settings and the samples."""
    problems = []
    for name, low, high in (("gamma", 0.0, 1.0), ("fdr", 0.0, 1.0)):
        value = getattr(settings, name)
        if not low < value < high and not (name == "gamma" and value == 0):
            problems.append(Problem(None, name, str(value), f"a number between {low:g} and {high:g}"))
    for name, least in (("window", 5), ("stride", 1), ("flips", 99), ("least_units", 2), ("least_images", 2), ("least_errors", 0)):
        if getattr(settings, name) < least:
            problems.append(Problem(None, name, str(getattr(settings, name)), f"at least {least}"))
    if settings.mode not in ("calibrated", "paper", "spearman"):
        problems.append(Problem(None, "mode", str(settings.mode), "calibrated, paper or spearman"))
    for sample in samples:
        problems += _faults(sample)
    if problems:
        raise InputError("The hypotheses cannot be tested:", problems)


def _faults(sample: Sample) -> list[Problem]:
    n = len(sample.c)
    columns: dict[str, FloatArray | IntArray] = {"logit": sample.logit, "loss": sample.loss, "image": sample.image, "weight": sample.weight}
    if sample.stratum is not None:
        columns["stratum"] = sample.stratum
    wrong = [
        Problem(None, f"{sample.hypothesis_id}.{name}", f"{len(c)} rows", f"{n} rows, as c") for name, c in columns.items() if len(c) != n
    ]
    if wrong:
        return wrong
    scored = ~np.isnan(sample.c)
    for name, bad, allowed in (
        ("c", scored & ~((sample.c >= 0) & (sample.c <= 1)), "numbers between 0 and 1, or none"),
        ("logit", scored & np.isnan(sample.logit), "a number wherever c is one"),
        ("loss", ~((sample.loss >= 0) & (sample.loss <= 1)), "numbers between 0 and 1"),
        ("weight", ~((sample.weight > 0) & np.isfinite(sample.weight)), "positive numbers"),
    ):
        if bad.any():
            got = f"{np.count_nonzero(bad)} others, the first in row {int(np.argmax(bad)) + 1}"
            wrong.append(Problem(None, f"{sample.hypothesis_id}.{name}", got, allowed))
    return wrong


def prepare(sample: Sample, settings: TestSettings) -> Prepared:
    """Rates, slopes, the paper's rules and what the sign flips need, of one sample."""
    scored = ~np.isnan(sample.c)
    c, loss, weight = sample.c[scored], sample.loss[scored], sample.weight[scored]
    number, images = dense(sample.image[scored])
    inside = c > settings.gamma
    overall = Sums.of(loss, weight, number, len(images))
    within = Sums.of(loss[inside], weight[inside], number[inside], len(images))
    rates = within.rate(), overall.without(within).rate(), overall.rate()
    region = region_of(sample, settings.gamma)
    n = len(region)
    paper = paper_windows(region, settings.window, settings.stride)
    rho = binned_spearman(region)
    errors = int(np.count_nonzero(region.loss > 0.5))
    tested = Tested(
        sample.hypothesis_id,
        "inconclusive",
        rates[0],
        rates[1],
        rates[2],
        not_scorable=int(np.count_nonzero(~scored)),
        errors=errors,
        slope=weighted_slope(region.c, region.loss, region.weight) if n and np.ptp(region.c) > 0 else None,
        paper_trend=paper.trend,
        paper_pass=paper.trend is not None and paper.trend > settings.tau,
        paper_null_pass=null_pass(region, paper, settings.tau, settings.seed),
        paper_null_runs=NULL_RUNS if paper.trend is not None else 0,
        spearman=rho,
        spearman_pass=spearman_passes(rho),
        power_rise=RISE,
    )
    few = _too_few(rates[0], settings)
    if few:
        return Prepared(tested, None, None, (None, None), few, "")
    here, there = dense(region.image)
    trend = trend_within = None
    spread = float(region.c.std())
    trendless = "" if spread >= LEAST_SPREAD else f"The scores hardly differ (standard deviation {spread:.3g}, needs {LEAST_SPREAD:g})."
    spans = windows(region)
    if not trendless:
        trend = trend_look(region, spans, here, there)
    lift = lift_look(inside, loss, number, images)
    lift_within = None
    if sample.stratum is not None:
        stratum = dense(sample.stratum[scored])[0]
        ranked = np.empty(len(sample.c), np.int64)
        ranked[scored] = stratum
        if not trendless:
            trend_within = trend_adjusted(region, spans, ranked[region.rows], here, there)
        lift_within = lift_adjusted(inside, loss, stratum, number, images)
    why, alike = _too_alike(region.loss, errors, settings)
    thin = thinned(region.c, region.loss, settings.gamma)
    return Prepared(tested, trend, lift, (trend_within, lift_within), why, trendless or alike, thin)


def _too_few(inside: ErrorRate, settings: TestSettings) -> tuple[str, ...]:
    """Why there is too little to test, whatever the losses are: so the hypotheses left out do not bias the others."""
    why = []
    if inside.n < settings.least_units:
        why.append(f"{inside.n} units in the slice, needs {settings.least_units}.")
    if inside.images < settings.least_images:
        why.append(f"{inside.images} images in the slice, needs {settings.least_images}.")
    return tuple(why)


def _too_alike(loss: FloatArray, errors: int, settings: TestSettings) -> tuple[tuple[str, ...], str]:
    """Why losses of 0 and 1 allow no verdict, and why they allow none on a trend; graded losses need no counts.

    A slice with hardly a correct unit has no trend to show, yet it may well fail more often than the rest.
    """
    if np.any((loss > 0) & (loss < 1)):
        return (), ""
    correct = len(loss) - errors
    why = () if errors >= settings.least_errors else (f"{errors} errors in the slice, needs {settings.least_errors}.",)
    return why, "" if correct >= settings.least_errors else f"{correct} correct units in the slice, needs {settings.least_errors}."


def decide(item: Prepared, tested: Tested, seen: float | None, level: float, settings: TestSettings) -> Tested:
    """The verdict under the mode of the settings, with the reasons of an inconclusive one."""
    if settings.mode == "calibrated":
        verdict, why = _calibrated(item, tested, seen, level, settings)
    elif settings.mode == "paper":
        none = f"No window of {settings.window} units with different scores among the {tested.inside.n} units of the slice."
        verdict, why = _by_rule(tested.paper_trend is not None, tested.paper_pass, none)
    else:
        none = f"{tested.inside.n} units in the slice, needs {SCALES[0] * 5} for {SCALES[0]} bins."
        verdict, why = _by_rule(bool(tested.spearman), tested.spearman_pass, none)
    told = seen if verdict in ("inconclusive", "rejected") else None
    return replace(tested, verdict=verdict, why=why, power=told)


def _by_rule(possible: bool, passes: bool, none: str) -> tuple[Verdict, tuple[str, ...]]:
    if not possible:
        return "inconclusive", (none,)
    return ("verified" if passes else "rejected"), ()


def _calibrated(
    item: Prepared, tested: Tested, seen: float | None, level: float, settings: TestSettings
) -> tuple[Verdict, tuple[str, ...]]:
    if item.why:
        return "inconclusive", item.why
    inside, overall = tested.inside.value, tested.overall.value
    higher = inside is not None and overall is not None and inside > overall
    rises = not item.trendless and _below(tested.q_trend, settings.fdr)
    steep = tested.slope is not None and tested.slope > settings.tau
    if rises and higher and steep:
        return "verified", ()
    if _below(tested.q_lift, settings.fdr) and inside is not None and overall is not None and inside - overall > settings.least_lift:
        return "elevated", ()
    if item.trendless:
        return "inconclusive", (item.trendless,)
    falls = not rises and _below(tested.q_reversed, settings.fdr)
    if falls and tested.slope is not None and tested.slope < 0:
        return "reversed", ()
    against = _against(tested, settings) if rises or falls else ""
    if against:
        return "rejected", (against,)
    small: tuple[str, ...] = ()
    if _below(tested.q_lift, settings.fdr) and higher:
        small = (
            f"Errors are more frequent inside, {inside:.1%} against {overall:.1%} of all units, by {settings.least_lift:.0%} at most.",
        )
    if seen is None or seen < ENOUGH:
        chance = "Unknown power" if seen is None else f"Power {seen:.0%}"
        rise = f"a rise of the error rate by {RISE:g} from c = {settings.gamma:g} to 1"
        return "inconclusive", (f"{chance} for {rise} at p < {level:.2g}, needs {ENOUGH:.0%}.", *small)
    return "rejected", small


def _against(tested: Tested, settings: TestSettings) -> str:
    """What stands against a trend that holds, in some window, and yet makes no error slice."""
    slope, inside, overall = tested.slope, tested.inside.value, tested.overall.value
    if slope is None or inside is None or overall is None:
        return ""
    needs = f"slope over the whole slice {slope:.3g}, needs more than {settings.tau:g}"
    if _below(tested.q_trend, settings.fdr):
        if slope <= 0:
            return f"Errors rise in a part of the slice, not over all of it: {needs}."
        if slope <= settings.tau:
            return f"Errors rise with the score, but too little: {needs}."
        return f"Errors rise with the score, but from below: {inside:.1%} inside, {overall:.1%} of all units."
    return f"Errors fall in a part of the slice, not over all of it: slope over the whole slice {slope:.3g}."


def _below(q: float | None, level: float) -> bool:
    return q is not None and q < level
