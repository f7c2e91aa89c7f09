"""Tests of 100 hypotheses on 100,000 units each, in CPU seconds; and how often chance passes the paper's rule.

Targets: at most 1.5 CPU-s with numba, 4 without. There is one path, in NumPy, which needs no numba. Seconds depend on what else the machine
does, so they stand beside those of sorting the same scores, measured in the same run.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.error_slices.verification.paper import paper_windows  # noqa: E402
from core.error_slices.verification.region import region_of  # noqa: E402
from core.error_slices.verification.settings import Sample, TestSettings  # noqa: E402
from core.error_slices.verification.verdicts import verify  # noqa: E402
from core.error_slices.verification.views import windows_of  # noqa: E402

HYPOTHESES, UNITS, IMAGES, PLANTED = 100, 100_000, 10_000, 20
RUNS = 200
T = TypeVar("T")


def made(k: int, units: int, images: int, *, planted: bool, strata: bool) -> Sample:
    """Made-up scores, a third of them above γ, and losses that rise from 0.2 to 0.5 over the slice where planted."""
    rng = np.random.default_rng(k)
    c = rng.uniform(1e-6, 1 - 1e-6, units)
    c = np.where(rng.random(units) < 0.37, c / 2, c)
    loss = rng.random(units) < 0.2 + (0.6 * np.maximum(c - 0.5, 0) if planted else 0)
    stratum = rng.integers(0, 64, units) if strata else None
    return Sample(str(k), c, np.log(c / (1 - c)), loss.astype(float), rng.integers(0, images, units), np.ones(units), stratum)


def cpu(run: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of a run, the better of two, and what it returns."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        out = run()
        seconds.append(time.process_time() - start)
    return min(seconds), out


def speed() -> None:
    """Prints CPU seconds of testing many hypotheses together."""
    for units, images in ((UNITS, IMAGES), (5_000, 1_000)):
        for strata in (False, True):
            samples = [made(k, units, images, planted=k < PLANTED, strata=strata) for k in range(HYPOTHESES)]
            sorting, _ = cpu(lambda s=samples: [np.argsort(x.logit, kind="stable") for x in s])  # type: ignore[misc]
            seconds, found = cpu(lambda s=samples: verify(s, TestSettings()))  # type: ignore[misc]
            right = sum(t.verdict == "verified" for t in found[:PLANTED])
            wrong = sum(t.verdict in ("verified", "elevated", "reversed") for t in found[PLANTED:])
            target = " (at most 4; 1.5 with numba)" if units == UNITS else ""
            print(
                f"{HYPOTHESES} hypotheses × {units:,} units, {images:,} images, {'with' if strata else 'without'} strata:"
                f" {seconds:.2f} CPU-s{target}, {seconds / sorting:.1f} × sorting the scores;"
                f" {right} of {PLANTED} planted verified, {wrong} of {HYPOTHESES - PLANTED} others accepted"
            )
            print("  verdicts:", dict(Counter(t.verdict for t in found)))
    seconds, _ = cpu(lambda: windows_of(made(0, 5_000, 1_000, planted=True, strata=False), TestSettings()))
    print(f"Windows and null of one slice of 5,000 units: {seconds:.3f} CPU-s")


def chance() -> None:
    """Prints how many of 200 random losses pass the paper's rule, by scores, error rate, units in the slice and units in a window."""
    print(f"\nShare of {RUNS} random losses that pass the paper's rule (largest window slope > 0.2, stride 1)")
    print("| scores | error rate | units | 5 | 10 | 20 | 50 | half | whole |\n|---|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for scores in ("uniform", "saturating"):
        for rate in (0.1, 0.3):
            for n in (50, 200, 2_000):
                passed = {size: 0 for size in (5, 10, 20, 50, n // 2, n)}
                for _ in range(RUNS):
                    logit = np.abs(rng.normal(0, 4, n)) if scores == "saturating" else -np.log(1 / rng.uniform(0.5, 1, n) - 1)
                    loss = (rng.random(n) < rate).astype(float)
                    region = region_of(Sample("", 1 / (1 + np.exp(-logit)), logit, loss, np.arange(n), np.ones(n)), 0.5)
                    for size in passed:
                        trend = paper_windows(region, size, 1).trend
                        passed[size] += trend is not None and trend > 0.2
                cells = [f"{passed[size] / RUNS:.2f}" for size in (5, 10, 20)]
                cells += [f"{passed[50] / RUNS:.2f}" if n > 50 else "-", f"{passed[n // 2] / RUNS:.2f}", f"{passed[n] / RUNS:.2f}"]
                print(f"| {scores} | {rate} | {n:,} | {' | '.join(cells)} |")


if __name__ == "__main__":
    speed()
    chance()
