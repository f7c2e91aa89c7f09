"""RiskRidge on graded scores: slices of one sample each must not drown in the noise of right-or-wrong answers."""

from __future__ import annotations

from itertools import product

import numpy as np

from core.odd import infer_odd
from core.scoring import ridge
from core.scoring.ridge import NOISE_SHARES, fit_ridge
from core.seed_table import SeedTable

ODD = infer_odd({"a": list("123456"), "b": list("123"), "c": list("1234")})


def table(error, n):
    slices = [dict(zip(ODD.names, s, strict=True)) for s in product(*(d.by_name for d in ODD.dimensions))]
    return SeedTable.from_slices(ODD, slices, n, 1 - error)


def test_an_effect_is_found_in_graded_scores_of_one_sample_each(monkeypatch):
    rng = np.random.default_rng(1)
    effect = np.repeat([-0.2, 0.2], 36)  # the first three values of a against the last three
    seed = table(np.clip(0.5 + effect + rng.normal(0, 0.15, 72), 0, 1), np.ones(72, dtype=int))
    model = fit_ridge(seed, (0, 1, 2))
    assert model.noise_share == NOISE_SHARES[-1]
    assert model.s1 > 0
    predicted = model.predict(seed.codes)
    assert predicted[36:].mean() - predicted[:36].mean() > 0.2
    monkeypatch.setattr(ridge, "NOISE_SHARES", (1.0,))
    blind = fit_ridge(seed, (0, 1, 2))  # taken for right-or-wrong answers, the same errors show nothing
    assert (blind.s1, blind.s2) == (0, 0)
    assert np.allclose(model.noise, blind.noise / 4)


def test_answers_that_are_right_or_wrong_keep_their_whole_noise():
    rng = np.random.default_rng(2)
    n = rng.integers(1, 30, 72)
    counts = rng.binomial(n, 0.3)
    assert fit_ridge(table(counts / n, n), (0, 1, 2)).noise_share == 1.0
    # Means that were rounded to four digits are still counts.
    assert fit_ridge(table(np.round(counts / n, 4), n), (0, 1, 2)).noise_share == 1.0
