"""The paper's rule and its Spearman variant: vectors, brute force, and how often chance meets them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from core.error_slices.verification.looks import weighted_slope
from core.error_slices.verification.paper import _turns, null_pass, paper_band, paper_windows
from core.error_slices.verification.region import region_of
from core.error_slices.verification.settings import Sample
from core.error_slices.verification.spearman import binned_spearman, rank_correlation, spearman_p, spearman_passes

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "drafts" / "error_slice_test_vectors.json"


def sample(c, loss, image=None) -> Sample:
    c = np.asarray(c, float)
    with np.errstate(divide="ignore"):
        logit = np.log(c) - np.log1p(-c)
    image = np.arange(len(c)) if image is None else np.asarray(image)
    return Sample("h", c, logit, np.asarray(loss, float), image, np.ones(len(c)))


def noise(n: int, rate: float, seed: int, per_image: int = 1) -> Sample:
    random = np.random.default_rng(seed)
    return sample(random.uniform(0.01, 0.99, n), random.random(n) < rate, np.arange(n) // per_image)


@pytest.fixture(scope="module")
def vectors():
    if not VECTORS.is_file():
        pytest.skip("the shared test vectors are not beside this checkout")
    return json.loads(VECTORS.read_text())


def test_vector_of_window_slopes(vectors):
    v = vectors["slope"]
    region = region_of(sample(v["c"], v["loss"]), v["gamma"])
    found = paper_windows(region, v["W"], 1)
    assert len(region) == v["n_region"]
    assert found.slope == pytest.approx(v["expect_slopes"], abs=1e-6)
    assert found.trend == pytest.approx(v["expect_trend"], abs=1e-6)
    assert weighted_slope(region.c, region.loss, region.weight) == pytest.approx(v["full_slope"], abs=1e-6)
    assert rank_correlation(region.c, region.loss) == pytest.approx(v["expect_spearman"], abs=1e-6)


def test_vectors_without_a_window(vectors):
    for v in vectors["slope_edge"]:
        region = region_of(sample(v["c"], v["loss"]), 0.5)
        windows = paper_windows(region, 5, 1)
        assert windows.trend is None
        assert null_pass(region, windows, 0.2, 0) is None


@pytest.mark.parametrize("size", [5, 17, 64, 65, 150])
@pytest.mark.parametrize("stride", [1, 7])
def test_slopes_are_least_squares(size, stride):
    region = region_of(noise(400, 0.3, 1), 0.5)
    windows = paper_windows(region, size, stride)
    assert len(windows.start) == len(range(0, len(region) - size + 1, stride))
    for k, start in enumerate(windows.start):
        here = slice(start, start + size)
        slope = np.polyfit(region.c[here] - 0.5, region.loss[here], 1)[0]
        assert windows.slope[k] == pytest.approx(slope, rel=1e-6, abs=1e-9)
        assert windows.spread[k] == pytest.approx(region.c[here].std(), rel=1e-6)


@given(st.lists(st.tuples(st.sampled_from([0.6, 0.7, 0.7000001, 0.9, 1.0]), st.booleans()), min_size=5, max_size=30))
def test_windows_of_equal_scores_have_no_slope(units):
    region = region_of(sample(*zip(*units, strict=True)), 0.5)
    windows = paper_windows(region, 5, 1)
    for k, start in enumerate(windows.start):
        assert np.isnan(windows.slope[k]) == (region.c[start : start + 5].std() < 3e-5)


def test_order_of_ties_does_not_follow_the_file():
    """All errors stand first in the file; among equal scores they must not stand first in the slice."""
    n = 400
    region = region_of(sample(np.full(n, 0.8), np.arange(n) < n // 2), 0.5)
    assert 0.35 < region.loss[: n // 2].mean() < 0.65


def test_chance_nearly_always_passes_narrow_windows():
    region = region_of(noise(400, 0.3, 2), 0.5)
    windows = paper_windows(region, 5, 1)
    assert null_pass(region, windows, 0.2, 0) == 1.0
    few = region_of(noise(60, 0.1, 3), 0.5)
    assert 0.3 < null_pass(few, paper_windows(few, 5, 1), 0.2, 0) <= 1.0
    whole = paper_windows(region, len(region), 1)
    assert null_pass(region, whole, 0.2, 0) < 0.5


@pytest.mark.parametrize(("n", "size"), [(40, 5), (150, 20), (300, 100)])
def test_a_random_loss_passes_any_bar_below_its_slopes_and_none_above(n, size):
    region = region_of(noise(n, 0.2, 4, per_image=3), 0.5)
    windows = paper_windows(region, size, 1)
    low, high = paper_band(region, windows, 5, runs=60)
    assert np.all(low <= high)
    assert null_pass(region, windows, 1e9, 5, runs=60) == 0
    assert null_pass(region, windows, -1e9, 5, runs=60) == 1


def test_random_losses_keep_their_rate_and_their_images():
    region = region_of(noise(200, 0.3, 6, per_image=4), 0.5)
    ring, place, turn = _turns(region, 0, 50)
    assert len(set(turn.tolist())) > 20
    assert 0 not in turn
    for t in turn:
        loss = ring[(place + t) % len(ring)]
        assert loss.sum() == region.loss.sum()
    assert np.array_equal(ring[place], region.loss)
    images = region.image[np.argsort(place)]
    assert len(list(itertools.groupby(images))) == len(set(images.tolist()))


def test_a_reversed_slice_passes_the_papers_rule():
    random = np.random.default_rng(8)
    c = random.uniform(0.5, 1, 400)
    region = region_of(sample(c, random.random(400) < 0.7 - 0.6 * (c - 0.5) / 0.5), 0.5)
    assert paper_windows(region, 5, 1).trend > 0.2
    assert np.polyfit(region.c, region.loss, 1)[0] < -0.5


def test_binned_spearman_by_hand():
    """Twenty-five units in five bins: rates 1, 0.6, 0.8, 0.4, 0 from the best score down."""
    errors = [5, 3, 4, 2, 0]
    loss = np.concatenate([[1.0] * k + [0.0] * (5 - k) for k in errors])
    region = region_of(sample(np.linspace(0.99, 0.51, 25), loss), 0.5)
    assert binned_spearman(region) == {5: pytest.approx(0.9)}
    assert spearman_p(0.9, 5) == pytest.approx(5 / 120)
    assert spearman_passes({5: 0.9})
    assert not spearman_passes({5: 0.9, 8: 0.49})
    assert not spearman_passes({})


def test_rank_correlation_equals_scipy():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 4, 50).astype(float), random.random(50)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(np.ones(5), np.arange(5.0)) == 0


def test_p_of_spearman_falls_with_rho():
    for bins in (5, 8, 12, 20):
        p = [spearman_p(rho, bins) for rho in (-1, -0.5, 0, 0.5, 0.9, 1)]
        assert p == sorted(p, reverse=True)
        assert p[0] == 1.0
        assert 0.4 < p[2] < 0.6
