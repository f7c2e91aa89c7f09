"""Random signs of images, and p-values from them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from core.error_slices.verification.looks import LEAST_VARIED, lift_look, no_less_varied, residuals, trend_look
from core.error_slices.verification.rates import dense
from core.error_slices.verification.region import Region, region_of, windows
from core.error_slices.verification.settings import Sample
from core.error_slices.verification.sign_flip import Look, all_signs, nulls, p_value, p_values, random_signs


def look(m: int, k: int = 3, seed: int = 0, first: int = 0) -> Look:
    parts = np.random.default_rng(seed).standard_normal((m, k))
    return Look(np.arange(first, first + m), parts, parts.sum(0))


def test_signs_depend_on_seed_and_image_alone():
    images = np.array([3, 900, 12_345_678_901, -4])
    signs = random_signs(images, 200, 7)
    assert np.array_equal(random_signs(images[[2, 0]], 200, 7), signs[[2, 0]])
    assert np.array_equal(random_signs(images, 5000, 7)[:, :200], signs)
    assert not np.array_equal(random_signs(images, 200, 8), signs)


def test_signs_are_fair_and_independent():
    signs = random_signs(np.arange(400), 2000, 0).astype(float) * 2 - 1
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    between = signs @ signs.T / signs.shape[1]
    assert np.abs(between[~np.eye(400, dtype=bool)]).max() < 5.5 / np.sqrt(2000)
    along = signs.T @ signs / signs.shape[0]
    assert np.abs(along[~np.eye(2000, dtype=bool)]).max() < 6.5 / np.sqrt(400)


def test_few_images_take_every_pattern_once():
    assert sorted(map(tuple, all_signs(3))) == sorted(itertools.product((-1.0, 1.0), repeat=3))
    small = look(6)
    null = nulls([small], 999, 0)[0]
    assert null.shape == (64, 3)
    brute = [max(np.array(s) @ small.parts) for s in itertools.product((-1, 1), repeat=6)]
    expected = np.mean(np.array(brute) >= small.observed.max() - 1e-9)
    assert p_value(small, null) == pytest.approx(expected)
    assert p_value(small, null) >= 1 / 64


def test_null_is_signs_times_parts_whatever_the_batches(monkeypatch):
    looks = [look(40, 3, 1), look(300, 2, 2, first=20), look(25, 1, 3)]
    whole = nulls(looks, 99, 5)
    for one, null in zip(looks, whole, strict=True):
        signs = np.c_[np.ones(len(one.images)), random_signs(one.images, 49, 5).astype(float) * 2 - 1]
        assert null == pytest.approx(np.c_[signs, -signs].T @ one.parts)
        assert len(null) == 100
    monkeypatch.setattr("core.error_slices.verification.sign_flip._COLUMNS", 2)
    monkeypatch.setattr("core.error_slices.verification.sign_flip._SIGNS", 99)
    monkeypatch.setattr("core.error_slices.verification.sign_flip._LEAST_IMAGES", 7)
    for a, b in zip(whole, nulls(looks, 99, 5), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)


def test_small_p_values_are_counted_among_more_flips():
    strong = Look(np.arange(60), np.abs(np.random.default_rng(1).standard_normal((60, 1))), np.array([60.0]))
    dull = look(60, 1, 4)
    null = nulls([strong, dull], 999, 0)
    (rising, falling), (p_dull, _) = p_values([strong, dull], null, 999, 4000, 0)
    assert rising == 1 / 4002
    assert falling == 1.0
    assert p_dull == p_value(dull, null[1])
    assert p_values([strong], null[:1], 999, 500, 0)[0][0] == 1 / 1000


def sample(n: int, seed: int) -> Sample:
    random = np.random.default_rng(seed)
    c = random.uniform(0.01, 0.99, n)
    loss = (random.random(n) < 0.3).astype(float)
    return Sample("h", c, np.log(c / (1 - c)), loss, random.integers(0, n // 4, n), np.ones(n))


def expected(x: np.ndarray, region: Region, here: slice) -> float:
    """Variance of the studentised slope: sum over pairs of units of one image, divided by that of independent units."""
    e = region.loss - region.loss.mean()
    same = (region.image[:, None] == region.image) & ~np.eye(len(e), dtype=bool)
    together = max(0.0, (np.outer(e, e) * same).sum() / same.sum() / e.var())
    pairs = same[here, here] * np.outer(x, x)
    return 1 + together * pairs.sum() / (x**2).sum()


def test_trend_look_by_brute_force():
    """Slope × √(sum of squares) / standard deviation of the loss, in every window, summed unit by unit."""
    region = region_of(sample(200, 3), 0.5)
    number, images = dense(region.image)
    spans = windows(region)
    assert [w.name for w in spans] == ["whole slice", "top half", "middle half", "bottom half"]
    found = trend_look(region, spans, number, images)
    sd = region.loss.std()
    for k, w in enumerate(spans):
        here = slice(w.start, w.stop)
        x = region.c[here] - region.c[here].mean()
        slope = np.polyfit(region.c[here] - 0.5, region.loss[here], 1)[0]
        assert found.slope[k] == pytest.approx(slope)
        assert found.look.observed[k] == pytest.approx(slope * np.sqrt((x**2).sum()) / sd)
        assert found.per_slope[k] * slope == pytest.approx(found.look.observed[k])
        mine = np.zeros(len(images))
        for g, image in enumerate(images):
            rest = region.loss[region.image != image].mean()
            mine[g] = ((region.image[here] == image) * x * (region.loss[here] - rest)).sum() / np.sqrt((x**2).sum()) / sd
        assert found.look.parts[:, k] == pytest.approx(mine * max(1, LEAST_VARIED * np.sqrt(expected(x, region, here) / (mine**2).sum())))


def test_lift_look_is_the_difference_of_rates():
    s = sample(300, 5)
    number, images = dense(s.image)
    inside = s.c > 0.5
    found = lift_look(inside, s.loss, number, images)
    share = inside.mean()
    lift = s.loss[inside].mean() - s.loss[~inside].mean()
    assert found.observed[0] == pytest.approx(lift * np.sqrt(len(s.c) * share * (1 - share)) / s.loss.std())
    e = residuals(s.loss, number, len(images))
    x = (inside - share) / np.sqrt(300 * share * (1 - share)) / s.loss.std()
    parts = np.array([(x * (s.loss - s.loss[s.image != g].mean()))[s.image == g].sum() for g in images])
    assert found.parts[:, 0] == pytest.approx(no_less_varied(parts, x, number, s.loss.var(), e.together))
    assert lift_look(np.ones(300, bool), s.loss, number, images) is None


def test_one_image_does_not_pull_the_mean_towards_itself():
    image = np.r_[np.zeros(20, int), 1, 2, 3, 4]
    found = residuals(np.r_[np.ones(20), 0, 0, 0, 1.0], image, 5)
    assert found.apart[[0, 20, 23]] == pytest.approx([0.75, -21 / 23, 1 - 20 / 23])
    assert found.centred.sum() == pytest.approx(0)
    alone = residuals(np.array([0.0, 1.0]), np.zeros(2, int), 1)
    assert alone.apart == pytest.approx([-0.5, 0.5])


def test_what_was_observed_stays_itself_where_parts_are_larger():
    """Both among few images, of which every pattern is taken, and among many."""
    for m in (6, 40):
        one = look(m)
        larger = Look(one.images, one.parts * 2, one.observed)
        null = nulls([larger], 99, 0)[0]
        assert np.abs(null - one.observed).sum(1).min() == pytest.approx(0)
        assert np.abs(null + one.observed).sum(1).min() == pytest.approx(0)
        assert p_value(larger, null) >= 1 / len(null)


def test_windows_do_not_tear_ties_apart():
    c = np.repeat([0.95, 0.9, 0.8, 0.7, 0.6], [30, 10, 50, 5, 25])
    order = np.random.default_rng(0).permutation(len(c))
    s = Sample("h", c[order], np.log(c / (1 - c))[order], np.zeros(120), order, np.ones(120))
    spans = windows(region_of(s, 0.5))
    edges = {0, 30, 40, 90, 95, 120}
    assert all(w.start in edges and w.stop in edges for w in spans)
    assert (spans[0].start, spans[0].stop) == (0, 120)


def test_equal_losses_give_p_of_one():
    s = sample(200, 9)
    flat = Sample("h", s.c, s.logit, np.full(200, 0.3), s.image, s.weight)
    region = region_of(flat, 0.5)
    number, images = dense(region.image)
    found = trend_look(region, windows(region), number, images).look
    assert p_value(found, nulls([found], 99, 0)[0]) == 1.0


def test_numbers_of_images_may_be_anything():
    number, images = dense(np.array([10**15, -3, 10**15, 7]))
    assert images[number].tolist() == [10**15, -3, 10**15, 7]
    number, images = dense(np.array([5, 2, 5]))
    assert (number.tolist(), images.tolist()) == ([1, 0, 1], [2, 5])
    assert dense(np.zeros(0, np.int64))[0].size == 0
