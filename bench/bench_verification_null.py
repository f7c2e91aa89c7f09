"""What the calibrated test does where there is nothing, and how likely it sees what there is; prints the tables of docs/benchmarks.md.

    python bench/bench_verification_null.py [FOLDER]

FOLDER: images, `ground_truth.json` and `detections_*.json`, for the table with real scores.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "error_slices")]

from test_calibration_of_tests import draw  # noqa: E402
from test_false_positives_in_hard_cases import HARD  # noqa: E402

from core.error_slices.detections import FloatArray  # noqa: E402
from core.error_slices.sources import read_source  # noqa: E402
from core.error_slices.verification.adjust import lift_adjusted, trend_adjusted  # noqa: E402
from core.error_slices.verification.looks import by_image, lift_look, trend_look  # noqa: E402
from core.error_slices.verification.rates import dense  # noqa: E402
from core.error_slices.verification.region import region_of, windows  # noqa: E402
from core.error_slices.verification.settings import Sample, TestSettings  # noqa: E402
from core.error_slices.verification.sign_flip import Look, nulls, p_value  # noqa: E402
from core.error_slices.verification.verdicts import verify  # noqa: E402
from core.operators.slice_report import SliceRow  # noqa: E402
from core.operators.slices import keep_detections, sample_of, slice_report  # noqa: E402
from core.settings import Settings  # noqa: E402
from core.storage import open_store  # noqa: E402

RUNS, FLIPS = 2_000, 299
PLAIN = ((150, 1, 0.2, 0.0, False), (300, 5, 0.5, 0.9, False), (300, 3, 0.8, 0.3, True), (600, 4, 0.9, 0.5, False))


def shares(make: Callable[[np.random.Generator], Sample], seed: int) -> list[float]:
    """Share of p < 0.05: trend, reversed, lift, trend and lift within strata."""
    random = np.random.default_rng(seed)
    looks: tuple[list, ...] = ([], [], [], [])  # type: ignore[type-arg]
    for _ in range(RUNS):
        s = make(random)
        region = region_of(s, 0.5)
        number, images = dense(s.image)
        here, there = dense(region.image)
        stratum = random.integers(0, 6, len(s.c))
        spans = windows(region)
        looks[0].append(trend_look(region, spans, here, there).look)
        looks[1].append(lift_look(s.c > 0.5, s.loss, number, images))
        looks[2].append(trend_adjusted(region, spans, stratum[region.rows], here, there))
        looks[3].append(lift_adjusted(s.c > 0.5, s.loss, stratum, number, images))
    out = []
    for k, group in enumerate(looks):
        null = nulls(group, FLIPS, 1)
        for falling in (False, True) if k == 0 else (False,):
            out.append(float(np.mean([p_value(x, y, falling=falling) < 0.05 for x, y in zip(group, null, strict=True)])))
    return out


def plain(make: Callable[[np.random.Generator], Sample], seed: int) -> list[float]:
    """The same of trend, reversed and lift, were residuals just loss minus mean, and flips as varied as they come."""
    random = np.random.default_rng(seed)
    trends, lifts = [], []
    for _ in range(RUNS):
        s = make(random)
        region = region_of(s, 0.5)
        number, images = dense(s.image)
        here, there = dense(region.image)
        parts = []
        for w in windows(region):
            at = slice(w.start, w.stop)
            x = region.c[at] - region.c[at].mean()
            parts.append(by_image(here[at], x * (region.loss[at] - region.loss.mean()), len(there)) / np.sqrt((x * x).sum()))
        trends.append(Look(there, np.column_stack(parts), np.sum(parts, axis=1)))
        random.integers(0, 6, len(s.c))  # the same draws as above
        inside = s.c > 0.5
        both = by_image(number, (inside - inside.mean()) * (s.loss - s.loss.mean()), len(images))[:, None]
        lifts.append(Look(images, both, both.sum(0)))
    out = []
    for group, falling in ((trends, False), (trends, True), (lifts, False)):
        null = nulls(group, FLIPS, 1)
        out.append(float(np.mean([p_value(x, y, falling=falling) < 0.05 for x, y in zip(group, null, strict=True)])))
    return out


def false_positives() -> None:
    """Prints the share of small p-values where there is no effect."""
    print(f"Share of p < .05 among {RUNS:,} simulations without any effect\n| | trend | reversed | lift | trend adj. | lift adj. |")
    for n, per, base, together, saturated in PLAIN:
        found = shares(lambda r, a=(n, per, base), t=together, s=saturated: draw(r, *a, together=t, saturated=s), 20)  # type: ignore[misc]
        print(f"| {n}, {per} an image, error rate {base}, correlation {together} | " + " | ".join(f"{x:.3f}" for x in found) + " |")
    for name, make in HARD.items():
        print(f"| {name} | " + " | ".join(f"{x:.3f}" for x in shares(make, 21)) + " |")
        print("|   plainly: trend, reversed, lift | " + " | ".join(f"{x:.3f}" for x in plain(make, 21)) + " |")


def power() -> None:
    """Prints how often a rise of the error rate from 0.2 has p < 0.05."""
    print("\nPower at p < .05, uniform scores, two units an image, 300 runs\n| rise | 30 | 60 | 100 | 150 | 250 | 400 | 800 |")
    for rise in (0.2, 0.3, 0.4, 0.6):
        cells = []
        for n in (30, 60, 100, 150, 250, 400, 800):
            random = np.random.default_rng([n, int(rise * 10)])
            looks = []
            for _ in range(300):
                c = random.uniform(0.5, 1, n)
                loss = (random.random(n) < 0.2 + rise * (c - 0.5) * 2).astype(float)
                region = region_of(Sample("h", c, np.log(c / (1 - c)), loss, np.arange(n) // 2, np.ones(n)), 0.5)
                here, there = dense(region.image)
                looks.append(trend_look(region, windows(region), here, there).look)
            cells.append(np.mean([p_value(x, y) < 0.05 for x, y in zip(looks, nulls(looks, FLIPS, 0), strict=True)]))
        print(f"| {rise} | " + " | ".join(f"{x:.2f}" for x in cells) + " |")


def turned(rows: Sequence[SliceRow], random: np.random.Generator) -> list[FloatArray]:
    """Losses of each hypothesis, moved on along the images in random order; the same move for all of one type of error."""
    out = {}
    for error in dict.fromkeys(r.hypothesis.error for r in rows):
        found = [r.population for r in rows if r.hypothesis.error == error and r.population is not None]
        units, first = np.unique(np.concatenate([p.units for p in found]), return_index=True)
        image, loss = (np.concatenate([getattr(p, name) for p in found])[first] for name in ("image", "loss"))
        which, images = dense(image)
        order = np.argsort(random.permutation(len(images))[which] + random.random(len(which)))
        moved = np.full(int(units.max()) + 1, np.nan)
        moved[units[order]] = np.roll(loss[order], random.integers(1, len(order)))
        out[error] = moved
    return [out[r.hypothesis.error][r.population.units] for r in rows if r.population is not None]


def real(folder: Path, runs: int = 100) -> None:
    """Prints what passes on real scores with turned losses, and what holds up with the real ones."""
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": tempfile.mkdtemp()}))
    print(f"\nReal scores, losses turned along the images, {runs} times")
    print("| detector | trend | lift | reversed | paper's rule | Spearman | error rate +.05 | runs with anything verified or elevated |")
    for file in sorted(folder.glob("detections_*.json")):
        content = read_source(None, folder / "ground_truth.json", file, images=folder / "images", model=file.stem, name=file.stem)
        saved = keep_detections(store, content, name=file.stem)
        report = slice_report(store, saved.id)
        samples = [sample_of(report, r) for r in report.tested]
        told: list[list[bool]] = [[] for _ in range(6)]
        false = 0
        for run in range(runs):
            random = np.random.default_rng(run)
            found = verify(
                [replace(s, loss=x) for s, x in zip(samples, turned(report.tested, random), strict=True)], TestSettings(seed=run)
            )
            false += any(t.verdict in ("verified", "elevated") for t in found)
            for t in found:
                for k, p in enumerate((t.p_trend, t.p_lift, t.p_reversed)):
                    told[k] += [p < 0.05] if p is not None else []
                if t.paper_trend is not None:
                    told[3].append(t.paper_pass)
                if t.spearman:
                    told[4].append(t.spearman_pass)
                if t.inside.value is not None and t.overall.value is not None:
                    told[5].append(t.inside.value > t.overall.value + 0.05)
        print(f"| {file.stem} | " + " | ".join(f"{np.mean(x):.3f}" for x in told) + f" | {false} of {runs} |")
    store.close()


if __name__ == "__main__":
    false_positives()
    power()
    if len(sys.argv) > 1:
        real(Path(sys.argv[1]))
