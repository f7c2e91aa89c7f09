"""Makes the demo tables. Everything in them is synthetic: no model was run, no picture exists.

Two made-up models answer the same seeded samples of the built-in ODD. Each has a hidden error rate per slice, additive in
single values plus a few pairs in which it is weak. `seed_table.csv` holds one row per sample and model over about 300 slices
with skewed marginals; `oracle_table.csv` one row per slice and model over the whole base ODD, from other samples.

    python assets/demo/make_demo.py [FOLDER]
"""

from __future__ import annotations

import csv
import math
import random
import sys
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from core.odd import built_in  # noqa: E402 (the script runs from anywhere)

SLICES = 300
SHARES = {
    "weather_visibility": {"clear": 0.58, "rainy": 0.27, "foggy": 0.08, "snowy": 0.07},
    "sky_conditions": {"clear": 0.5, "cloudy": 0.5},
    "time": {"day": 0.72, "night": 0.28},
    "environment": {"city_downtown": 0.44, "city_suburbs": 0.3, "highway": 0.19, "construction": 0.07},
    "road_condition": {"dry": 0.66, "wet": 0.26, "snow": 0.08},
    "road_type": {"intersection": 0.45, "non_intersection": 0.55},
    "traffic_type": {"sparse": 0.55, "dense": 0.45},
    "question_category": {
        "scene_observation": 0.34, "hazard_assessment": 0.24, "ego_action_reasoning": 0.18,
        "future_event_prediction": 0.14, "counterfactual_reasoning": 0.10,
    },
}  # fmt: skip
"""Share of samples per value: what a test fleet meets often and seldom."""

EFFECTS = {
    "foggy": 0.5, "snowy": 0.4, "rainy": 0.2, "night": 0.5, "construction": 0.5, "highway": -0.2, "wet": 0.2, "snow": 0.4,
    "intersection": 0.2, "dense": 0.2, "hazard_assessment": 0.3, "future_event_prediction": 0.5, "counterfactual_reasoning": 0.6,
}  # fmt: skip
"""Log-odds of an error that a value adds, for both models."""

MODELS = {
    "model-a": {"base": -2.1, "pairs": {("foggy", "night"): 1.5, ("construction", "dense"): 1.0, ("rainy", "highway"): 0.7}},
    "model-b": {"base": -2.3, "pairs": {("snowy", "highway"): 1.6, ("night", "intersection"): 0.9, ("wet", "construction"): 1.1}},
}
"""Made-up models: log-odds of an error on the easiest slice, and the pairs of values in which each is weak."""

SOURCES = (("synthetic-city", "MCQ"), ("synthetic-highway", "MCQ"), ("synthetic-dialogue", "VQA"))
LEVELS = 4
"""A judge scores in quarters: 0, 0.25, 0.5, 0.75 or 1."""


def error_rate(model: str, values: tuple[str, ...], noise: float) -> float:
    """Hidden error rate of a model on a slice."""
    z = float(MODELS[model]["base"]) + noise + sum(EFFECTS.get(v, 0.0) for v in values)  # type: ignore[arg-type]
    pairs: dict[tuple[str, str], float] = MODELS[model]["pairs"]  # type: ignore[assignment]
    z += sum(x for pair, x in pairs.items() if set(pair) <= set(values))
    return 1 / (1 + math.exp(-z))


def judge(rng: random.Random, rate: float) -> float:
    """One score with mean 1 - rate: mostly right or wrong, sometimes in between."""
    if rng.random() < 0.75:
        return float(rng.random() >= rate)
    return sum(rng.random() >= rate for _ in range(LEVELS)) / LEVELS


def main(folder: Path) -> None:
    """Writes both tables."""
    odd = built_in()
    dims = [odd.dimensions[k] for k in odd.active]
    names = [d.name for d in dims]
    space = [tuple(s) for s in product(*(sorted(v.name for v in d.base) for d in dims))]
    weights = [math.prod(SHARES[d][v] for d, v in zip(names, s, strict=True)) for s in space]
    rng = random.Random(20261130)  # noqa: S311 (data for a demo, not for a lock)
    keys = [rng.random() ** (1 / w) for w in weights]  # weighted draw without replacement
    observed = sorted(sorted(range(len(space)), key=lambda i: -keys[i])[:SLICES])
    noise = {m: [rng.gauss(0, 0.35) for _ in space] for m in MODELS}
    mean_weight = sum(weights[i] for i in observed) / SLICES

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "seed_table.csv").open("w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["sample_id", "dataset", "qa_type", "model", *names, "score"])
        sample = 0
        for i in observed:
            thin = rng.random() < 0.08
            n = rng.randint(3, 9) if thin else 10 + min(40, int(rng.expovariate(1 / (0.5 + 4 * weights[i] / mean_weight))))
            for _ in range(n):
                sample += 1
                source = SOURCES[1 if "highway" in space[i] else rng.choice((0, 0, 2))]
                for m in MODELS:
                    score = judge(rng, error_rate(m, space[i], noise[m][i]))
                    out.writerow([f"syn-{sample:05d}", *source, m, *space[i], f"{score:g}"])
    with (folder / "oracle_table.csv").open("w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["model", *names, "n", "score"])
        for i, s in enumerate(space):
            for m in MODELS:
                n = rng.randint(60, 120)
                rate = error_rate(m, s, noise[m][i])
                out.writerow([m, *s, n, f"{sum(judge(rng, rate) for _ in range(n)) / n:.4f}"])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
