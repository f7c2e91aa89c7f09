"""Under the null, p < 0.05 comes in 3 to 7 of 100 cases; planted slices are found; each verdict where it belongs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from core.error_slices.verification.adjust import lift_adjusted, trend_adjusted
from core.error_slices.verification.looks import lift_look, trend_look
from core.error_slices.verification.power import power, thinned
from core.error_slices.verification.rates import dense
from core.error_slices.verification.region import region_of, windows
from core.error_slices.verification.settings import Sample, TestSettings
from core.error_slices.verification.sign_flip import nulls, p_value
from core.error_slices.verification.verdicts import verify

RUNS = 2000
FLIPS = 299


def draw(random, n, per_image, base, *, together=0.0, saturated=False, rise=0.0, name="h") -> Sample:
    """Units whose error rate rises by `rise` from c = 0.5 to 1; scores and losses of an image correlate where `together` > 0."""
    image = np.arange(n) // per_image
    shared, shared_loss = random.standard_normal((2, n))[:, image]
    x = np.sqrt(together) * shared + np.sqrt(1 - together) * random.standard_normal(n)
    y = np.sqrt(together / 2) * shared_loss + np.sqrt(1 - together / 2) * random.standard_normal(n)
    logit = 4 * x if saturated else norm.ppf(norm.cdf(x)) * 1.7
    c = 1 / (1 + np.exp(-logit)) if saturated else np.clip(norm.cdf(x), 1e-9, 1 - 1e-9)
    loss = norm.cdf(y) < base + rise * np.maximum(c - 0.5, 0) * 2
    return Sample(name, c, logit, loss.astype(float), image, np.ones(n))


@pytest.mark.parametrize(
    ("n", "per_image", "base", "together", "saturated"),
    [(150, 1, 0.2, 0.0, False), (300, 5, 0.5, 0.9, False), (300, 3, 0.8, 0.3, True), (600, 4, 0.9, 0.5, False)],
)
def test_false_positives_are_as_rare_as_they_should_be(n, per_image, base, together, saturated):
    random = np.random.default_rng(20)
    looks: dict[str, list] = {"trend": [], "lift": [], "trend within strata": [], "lift within strata": []}
    for _ in range(RUNS):
        s = draw(random, n, per_image, base, together=together, saturated=saturated)
        region = region_of(s, 0.5)
        number, images = dense(s.image)
        here, there = dense(region.image)
        stratum = random.integers(0, 6, n)
        looks["trend"].append(trend_look(region, windows(region), here, there).look)
        looks["lift"].append(lift_look(s.c > 0.5, s.loss, number, images))
        looks["trend within strata"].append(trend_adjusted(region, windows(region), stratum[region.rows], here, there))
        looks["lift within strata"].append(lift_adjusted(s.c > 0.5, s.loss, stratum, number, images))
    for name, group in looks.items():
        null = nulls(group, FLIPS, 1)
        share = np.mean([p_value(x, y) < 0.05 for x, y in zip(group, null, strict=True)])
        assert 0.03 <= share <= 0.07, (name, share)
        if name == "trend":
            falling = np.mean([p_value(x, y, falling=True) < 0.05 for x, y in zip(group, null, strict=True)])
            assert 0.03 <= falling <= 0.07, ("reversed", falling)


def test_units_of_an_image_are_not_independent():
    """Where whole images score and fail together, flipping single units passes far too often; flipping images does not."""
    random = np.random.default_rng(3)
    by_image, by_unit = [], []
    for _ in range(400):
        s = draw(random, 300, 6, 0.3, together=0.95)
        for image, kept in ((s.image, by_image), (np.arange(300), by_unit)):
            number, images = dense(image)
            kept.append(lift_look(s.c > 0.5, s.loss, number, images))
    shares = []
    for group in (by_image, by_unit):
        null = nulls(group, FLIPS, 2)
        shares.append(np.mean([p_value(x, y) < 0.05 for x, y in zip(group, null, strict=True)]))
    assert shares[0] < 0.08
    assert shares[1] > 0.12


@pytest.mark.parametrize(("n", "rate", "base"), [(150, 0.3, 0.1), (300, 0.3, 0.1), (300, 0.05, 0.0)])
def test_power_is_as_said(n, rate, base):
    """Predicted from data without a trend; measured on data with one, about the same rate or as near as a rise of 0.4 allows."""
    random = np.random.default_rng(4)
    said, seen = [], 0
    for _ in range(300):
        still, rising = draw(random, n, 2, rate), draw(random, n, 2, base, rise=0.4)
        for s in (still, rising):
            region = region_of(s, 0.5)
            here, there = dense(region.image)
            trend = trend_look(region, windows(region), here, there)
            null = nulls([trend.look], FLIPS, 0)[0]
            if s is still:
                said.append(power(null, trend.per_slope * thinned(region.c, region.loss, 0.5), 0.5, 0.05))
            else:
                seen += p_value(trend.look, null) <= 0.05
    assert 0.4 < seen / 300 < 0.98
    assert np.mean(said) == pytest.approx(seen / 300, abs=0.1)


def test_planted_slices_are_found_among_many():
    random = np.random.default_rng(5)
    planted = [draw(random, 1200, 3, 0.2, rise=0.5, name=f"planted {k}") for k in range(5)]
    empty = [draw(random, 1200, 3, 0.2, name=f"empty {k}") for k in range(35)]
    found = verify([*planted, *empty], TestSettings())
    verdicts = {t.hypothesis_id: t.verdict for t in found}
    assert all(verdicts[s.hypothesis_id] == "verified" for s in planted)
    assert sum(verdicts[s.hypothesis_id] in ("verified", "elevated", "reversed") for s in empty) <= 2
    assert sum(verdicts[s.hypothesis_id] == "rejected" for s in empty) > 25
    assert all(t.paper_pass and t.paper_null_pass == 1.0 for t in found)


def test_one_planted_slice_passes_among_a_hundred():
    """999 flips allow no p below 0.001, which times 100 would be above 0.05: so small ones are counted among more."""
    random = np.random.default_rng(6)
    empty = [draw(random, 400, 2, 0.2, name=f"empty {k}") for k in range(99)]
    planted, *others = ((s, random.integers(0, 6, len(s.c))) for s in (draw(random, 1500, 2, 0.2, rise=0.6), *empty))
    found = verify([replace(s, stratum=stratum) for s, stratum in (planted, *others)], TestSettings())
    assert found[0].verdict == "verified"
    assert found[0].p_trend == pytest.approx(1 / 2002)
    assert found[0].q_adjusted < 0.05


def test_a_reversed_slice_is_told():
    random = np.random.default_rng(7)
    found = verify([draw(random, 800, 2, 0.6, rise=-0.5)], TestSettings())[0]
    assert found.verdict == "reversed"
    assert found.paper_pass
    assert found.slope < 0
    assert found.p_trend > 0.5


def test_a_flat_but_high_slice_is_elevated():
    """All units of the slice have c near 1, so no trend can show; but they fail far more often."""
    random = np.random.default_rng(8)
    n = 800
    inside = random.random(n) < 0.3
    logit = np.where(inside, random.normal(6, 0.5, n), random.normal(-4, 0.5, n))
    loss = (random.random(n) < np.where(inside, 0.55, 0.2)).astype(float)
    c = 1 / (1 + np.exp(-logit))
    found = verify([Sample("h", c, logit, loss, np.arange(n) // 2, np.ones(n))], TestSettings())[0]
    assert found.verdict == "elevated"
    assert found.p_trend is None
    assert found.inside.value > found.outside.value + 0.2
    one = verify([Sample("h", inside * 1.0, logit, loss, np.arange(n) // 2, np.ones(n))], TestSettings())[0]
    assert one.verdict == "elevated"


def test_what_size_explains_is_gone_within_strata():
    """Errors depend on the stratum alone, and so does the score: a trend that vanishes once strata are held equal."""
    random = np.random.default_rng(9)
    n = 3000
    stratum = random.integers(0, 8, n)
    c = np.clip(0.5 + stratum / 16 + random.uniform(-0.03, 0.05, n), 0.01, 0.99)
    loss = (random.random(n) < 0.1 + 0.08 * stratum).astype(float)
    s = Sample("h", c, np.log(c / (1 - c)), loss, np.arange(n) // 3, np.ones(n), stratum)
    found = verify([s], TestSettings())[0]
    assert found.verdict == "verified"
    assert found.p_adjusted > 0.05
    assert found.q_adjusted == found.p_adjusted
