"""What a page draws of a test: windows with their null, curves of errors over scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.error_slices.verification.settings import Sample, TestSettings
from core.error_slices.verification.verdicts import verify
from core.error_slices.verification.views import curve, windows_of


def sample(n=600, rise=0.4, seed=0) -> Sample:
    random = np.random.default_rng(seed)
    c = random.uniform(0.01, 0.99, n)
    loss = (random.random(n) < 0.2 + rise * np.maximum(c - 0.5, 0) * 2).astype(float)
    return Sample("h", c, np.log(c / (1 - c)), loss, np.arange(n) // 3, np.ones(n))


def test_windows_tell_the_same_as_the_test():
    s = sample(rise=0.1)
    view, tested = windows_of(s, TestSettings()), verify([s], TestSettings())[0]
    assert view.z == tested.z == max(w.z for w in view.windows)
    assert view.p_trend == tested.p_trend
    assert view.paper.trend == tested.paper_trend
    assert view.paper_null_pass == tested.paper_null_pass
    assert view.windows[0].slope == pytest.approx(tested.slope)
    assert (view.n, view.images) == (tested.inside.n, tested.inside.images)
    assert view.null.shape == (1000,)
    assert view.p_trend == pytest.approx(np.mean(view.null >= view.z - 1e-9))


def test_bands_hold_what_chance_makes():
    still = windows_of(sample(3000, rise=0.0, seed=1), TestSettings())
    for w in still.windows:
        assert w.z_low < w.z < w.z_high
        assert w.slope_low < w.slope < w.slope_high
        assert w.slope_low == pytest.approx(-w.slope_high, rel=0.25)
        assert w.c_low < w.c_high
    inside = (still.paper.slope >= still.paper_low) & (still.paper.slope <= still.paper_high)
    assert 0.93 < inside.mean() <= 1
    rising = windows_of(sample(3000, rise=0.7, seed=1), TestSettings())
    assert rising.windows[0].slope > rising.windows[0].slope_high


def test_slices_without_units_or_spread_have_no_windows():
    s = sample()
    low = windows_of(replace(s, c=s.c / 3), TestSettings())
    assert (low.n, low.windows, low.z, low.p_trend, low.paper.trend, low.paper_null_pass) == (0, (), None, None, None, None)
    flat = windows_of(replace(s, c=np.full(600, 0.9), logit=np.full(600, 2.2)), TestSettings())
    assert flat.n == 600
    assert flat.windows == ()
    assert flat.paper.trend is None
    assert np.isnan(flat.paper_low).all()


@pytest.mark.parametrize("axis", ["score", "logit", "rank"])
def test_every_scored_unit_is_in_one_bin(axis):
    s = sample()
    holes = replace(s, c=np.where(np.arange(600) % 5 == 0, np.nan, s.c))
    bins = curve(holes, 10, axis)
    assert sum(b.rate.n for b in bins) == 480
    assert sum(b.rate.n * b.rate.value for b in bins) == pytest.approx(s.loss[~np.isnan(holes.c)].sum())
    for b in bins:
        assert b.low <= b.x <= b.high
        assert b.rate.low <= b.rate.value <= b.rate.high
    assert [b.x for b in bins] == sorted(b.x for b in bins)


def test_bins_of_scores_end_at_gamma():
    s = replace(sample(4), c=np.array([0.0, 0.5, 0.5000001, 1.0]), logit=np.array([-30.0, 0.0, 4e-7, np.inf]))
    assert [(b.low, b.high, b.rate.n) for b in curve(s, 2)] == [(0.0, 0.5, 2), (0.5, 1.0, 2)]
    assert sum(b.rate.n for b in curve(s, 3, "logit")) == 4


def test_bins_of_ranks_hold_equal_numbers_and_keep_ties_together():
    assert {b.rate.n for b in curve(sample(600), 10, "rank")} == {60}
    s = sample(100)
    tied = replace(s, c=np.repeat([0.2, 0.9], 50), logit=np.repeat([-1.4, 2.2], 50))
    assert [b.rate.n for b in curve(tied, 10, "rank")] == [50, 50]


def test_nothing_scored_has_no_curve():
    s = sample(5)
    assert curve(replace(s, c=np.full(5, np.nan))) == ()
    assert len(curve(replace(s, c=np.full(5, 0.7), logit=np.full(5, 0.8)), 10, "logit")) == 1
