"""One verdict each, with its reasons, whatever the units look like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.error_slices.verification.rates import Sums, error_rate
from core.error_slices.verification.settings import ErrorRate, Sample, TestSettings
from core.error_slices.verification.strata import strata
from core.error_slices.verification.verdicts import Prepared, decide, verify
from core.errors import InputError
from core.scoring.intervals import wilson


def sample(n=400, seed=0, rise=0.6, base=0.1, name="h", per_image=2) -> Sample:
    random = np.random.default_rng(seed)
    c = random.uniform(0.01, 0.99, n)
    loss = (random.random(n) < base + rise * np.maximum(c - 0.5, 0) * 2).astype(float)
    return Sample(name, c, np.log(c / (1 - c)), loss, np.arange(n) // per_image, np.ones(n), random.integers(0, 3, n))


def only(s: Sample, rows) -> Sample:
    columns = {k: getattr(s, k)[rows] for k in ("c", "logit", "loss", "image", "weight", "stratum") if getattr(s, k) is not None}
    return replace(s, **columns)


def test_nothing_and_next_to_nothing():
    assert verify([], TestSettings()) == ()
    for n in (0, 1, 3):
        found = verify([only(sample(), slice(n))], TestSettings())[0]
        assert found.verdict == "inconclusive"
        assert found.p_trend is None
        assert found.q_lift is None
        assert found.overall.n == n
        assert any("needs 30" in w for w in found.why)
    blank = verify([replace(sample(20), c=np.full(20, np.nan), logit=np.full(20, np.nan))], TestSettings())[0]
    assert (blank.not_scorable, blank.overall.n, blank.inside.value, blank.lift) == (20, 0, None, None)


def test_reasons_name_the_numbers():
    few_images = replace(sample(200), image=np.arange(200) // 50)
    found = verify([few_images], TestSettings())[0]
    assert found.verdict == "inconclusive"
    assert found.why == ("4 images in the slice, needs 8.",)
    spared = verify([replace(sample(200), loss=np.zeros(200))], TestSettings())[0]
    assert spared.why == ("0 errors in the slice, needs 5.",)
    assert (spared.verdict, spared.p_trend, spared.p_lift) == ("inconclusive", 1.0, 1.0)
    small = verify([sample(90, seed=1, rise=0.0, base=0.3)], TestSettings())[0]
    assert small.verdict == "inconclusive"
    assert small.why[0].startswith("Power ")
    assert small.power < 0.8


def test_a_slice_that_always_fails_is_elevated_and_never_verified():
    s = sample(600, seed=3, rise=0.0, base=0.4)
    certain = replace(s, loss=np.where(s.c > 0.7, 1.0, s.loss))
    top = only(certain, (s.c < 0.5) | (s.c > 0.7))
    found = verify([top], TestSettings())[0]
    assert (found.verdict, found.inside.value) == ("elevated", 1.0)
    alone = verify([only(certain, s.c > 0.7)], TestSettings())[0]
    assert alone.verdict == "inconclusive"
    assert alone.why == ("0 correct units in the slice, needs 5.",)


def test_a_trend_that_makes_no_error_slice_is_rejected_with_the_reason():
    random = np.random.default_rng(111)
    c = random.uniform(0.01, 0.99, 3000)
    base = sample(3000, seed=11)
    from_below = np.where(c > 0.5, 0.6 * (c - 0.5) / 0.5, 0.7)
    hump = np.where(c > 0.5, np.where(c > 0.75, (c - 0.75) * 3, (0.75 - c) * 3), 0.4)
    for rate, reason in ((from_below, "from below"), (hump, "in a part of the slice")):
        loss = (random.random(3000) < rate).astype(float)
        found = verify([replace(base, c=c, logit=np.log(c / (1 - c)), loss=loss)], TestSettings())[0]
        assert found.q_trend < 0.05
        assert found.verdict == "rejected"
        assert reason in found.why[0]
        assert found.power is not None


def test_a_slope_that_rises_everywhere_but_too_little_is_called_so():
    """0.15 over the whole slice is a rise, not one "in a part of the slice"."""
    random = np.random.default_rng(115)
    s = sample(20_000, seed=13)
    loss = (random.random(20_000) < 0.3 + 0.15 * np.maximum(s.c - 0.5, 0)).astype(float)
    found = verify([replace(s, loss=loss)], TestSettings())[0]
    assert found.q_trend < 0.05
    assert 0 < found.slope <= 0.2
    assert found.verdict == "rejected"
    assert found.why[0].startswith("Errors rise with the score, but too little: slope over the whole slice 0.1")


@pytest.mark.parametrize(
    ("found", "verdict", "why"),
    [
        ({"q_trend": 0.049, "slope": 0.21, "inside": 0.31}, "verified", ""),
        ({"q_trend": 0.05, "slope": 0.21, "inside": 0.31}, "rejected", ""),
        ({"q_trend": 0.01, "slope": 0.2, "inside": 0.31}, "rejected", "too little: slope over the whole slice 0.2, needs more than 0.2"),
        ({"q_trend": 0.01, "slope": 0.1999, "inside": 0.4, "q_lift": 0.01}, "elevated", ""),
        ({"q_trend": 0.01, "slope": -0.1, "inside": 0.31}, "rejected", "rise in a part of the slice"),
        ({"q_trend": 0.01, "slope": 0.5, "inside": 0.3}, "rejected", "from below: 30.0% inside, 30.0% of all"),
        ({"q_lift": 0.049, "inside": 0.3501}, "elevated", ""),
        ({"q_lift": 0.05, "inside": 0.5}, "rejected", ""),
        ({"q_lift": 0.01, "inside": 0.34}, "rejected", "by 5% at most"),
        ({"q_lift": 0.01, "inside": 0.5, "q_reversed": 0.01, "slope": -1.0}, "elevated", ""),
        ({"q_reversed": 0.01, "slope": -0.1}, "reversed", ""),
        ({"q_reversed": 0.01, "slope": 0.1}, "rejected", "Errors fall in a part of the slice"),
        ({"q_reversed": 0.01, "q_trend": 0.01, "slope": -0.1}, "rejected", "Errors rise in a part"),
        ({"seen": 0.79}, "inconclusive", "Power 79% for a rise"),
        ({"seen": None}, "inconclusive", "Unknown power"),
    ],
)
def test_each_verdict_at_its_border(found, verdict, why):
    """Errors of 30 % in all; nothing significant but what is named."""
    rate = ErrorRate(found.get("inside", 0.3), 0.2, 0.5, 100, 50, 100.0)
    all_ = ErrorRate(0.3, 0.2, 0.4, 400, 90, 400.0)
    q = {"q_trend": 0.5, "q_lift": 0.5, "q_reversed": 0.5, "slope": 0.0} | {k: v for k, v in found.items() if k not in ("inside", "seen")}
    tested = replace(verify([sample(0)], TestSettings())[0], inside=rate, outside=all_, overall=all_, why=(), **q)
    out = decide(Prepared(tested, None, None, (None, None), (), ""), tested, found.get("seen", 0.9), 0.05, TestSettings())
    assert out.verdict == verdict
    assert why in " ".join(out.why)
    assert bool(why) == bool(out.why)


def test_a_lift_too_small_to_matter_is_said():
    random = np.random.default_rng(113)
    s = sample(20_000, seed=12, rise=0.0)
    found = verify([replace(s, loss=(random.random(20_000) < np.where(s.c > 0.5, 0.33, 0.29)).astype(float))], TestSettings())[0]
    assert found.q_lift < 0.05
    assert found.verdict == "rejected"
    assert found.why[0].startswith("Errors are more frequent inside, 3")
    assert found.why[0].endswith("by 5% at most.")


def test_hypotheses_that_cannot_be_tested_do_not_cost_the_others():
    alone = verify([sample()], TestSettings())[0]
    among = verify([sample(), *(only(sample(name=f"small {k}"), slice(10)) for k in range(50))], TestSettings())[0]
    assert among == alone


def test_p_values_do_not_depend_on_company_or_order_of_the_file():
    s = sample(seed=2, rise=0.2)
    alone = verify([s], TestSettings())[0]
    others = [sample(300, seed=k, name=str(k)) for k in range(3, 8)]
    assert verify([*others, s], TestSettings())[-1].p_trend == pytest.approx(alone.p_trend)
    shuffled = verify([only(s, np.random.default_rng(1).permutation(400))], TestSettings())[0]
    for name in ("p_trend", "p_lift", "p_reversed", "p_adjusted", "p_lift_adjusted", "z", "slope", "paper_trend"):
        assert getattr(shuffled, name) == pytest.approx(getattr(alone, name), abs=1e-9), name
    assert shuffled.verdict == alone.verdict


def test_ties_leave_the_calibrated_test_alone():
    """Nine levels of sampled answers: which of the tied units stands first changes nothing."""
    s = sample(500, seed=4)
    c = np.round(s.c * 8) / 9 + 0.05
    tied = replace(s, c=c, logit=np.log(c / (1 - c)))
    order = np.random.default_rng(2).permutation(500)
    a, b = verify([tied], TestSettings())[0], verify([only(tied, order)], TestSettings())[0]
    assert (a.p_trend, a.p_lift, a.verdict) == (pytest.approx(b.p_trend), pytest.approx(b.p_lift), b.verdict)


def test_scores_of_exactly_one_have_endless_logits():
    s = sample(300, seed=9)
    full = s.c > 0.8
    endless = replace(s, c=np.where(full, 1.0, s.c), logit=np.where(full, np.inf, s.logit))
    finite = replace(endless, logit=np.where(full, 50.0, s.logit))
    assert verify([endless], TestSettings()) == verify([finite], TestSettings())


def test_units_without_a_score_are_left_out_and_counted():
    s = sample()
    blank = np.arange(400) % 4 == 0
    holes = replace(s, c=np.where(blank, np.nan, s.c), logit=np.where(blank, np.nan, s.logit))
    a, b = verify([holes], TestSettings())[0], verify([only(s, ~blank)], TestSettings())[0]
    assert a.not_scorable == 100
    assert replace(a, not_scorable=0, paper_null_pass=None) == replace(b, paper_null_pass=None)


def test_weights_are_heeded_in_rates_and_slopes_not_in_the_test():
    """All errors were kept and a third of the correct units, which stand for three each."""
    s = sample(3000, seed=5)
    kept = (s.loss == 1) | (np.random.default_rng(0).random(3000) < 1 / 3)
    drawn = replace(only(s, kept), weight=np.where(s.loss == 1, 1.0, 3.0)[kept])
    whole, part = (verify([x], TestSettings())[0] for x in (s, drawn))
    assert part.overall.value == pytest.approx(whole.overall.value, abs=0.02)
    assert part.slope == pytest.approx(whole.slope, abs=0.1)
    assert part.verdict == whole.verdict == "verified"
    assert part.inside.stands_for == pytest.approx(whole.inside.n, rel=0.05)
    assert part.errors_saved == pytest.approx(whole.errors_saved, rel=0.15)
    plain = verify([replace(drawn, weight=np.ones(kept.sum()))], TestSettings())[0]
    assert plain.p_trend == part.p_trend
    assert plain.overall.value > part.overall.value + 0.1


def test_intervals_are_wilsons_and_wider_where_images_fail_together():
    loss = np.repeat([1.0, 0.0, 0.0, 1.0, 0.0], 20)
    apart = error_rate(loss, np.ones(100), np.arange(100), 100)
    assert (apart.low, apart.high) == pytest.approx(wilson(0.4, 99), abs=1e-3)
    together = error_rate(loss, np.ones(100), np.repeat(np.arange(5), 20), 5)
    assert together.high - together.low > 2 * (apart.high - apart.low)
    assert (together.n, together.images) == (100, 5)
    assert error_rate(loss[:0], loss[:0], np.zeros(0, np.int64), 3).value is None
    half = np.arange(100) < 50
    image = np.arange(100) // 3
    weight = np.linspace(1, 2, 100)
    part = Sums.of(loss[half], weight[half], image[half], 34)
    rest = Sums.of(loss, weight, image, 34).without(part).rate()
    direct = error_rate(loss[~half], weight[~half], image[~half], 34)
    assert (rest.value, rest.low, rest.high) == pytest.approx((direct.value, direct.low, direct.high))
    assert (rest.n, rest.images) == (direct.n, direct.images)


def test_graded_losses_need_no_counts_of_errors():
    """Losses of badly placed boxes, 1 - IoU, seldom exceed a half."""
    random = np.random.default_rng(6)
    s = sample(400, seed=6)
    graded = replace(s, loss=np.clip(0.1 + 0.3 * np.maximum(s.c - 0.5, 0) * 2 + random.normal(0, 0.03, 400), 0, 0.49))
    found = verify([graded], TestSettings())[0]
    assert found.errors == 0
    assert found.verdict == "verified"


def test_modes_decide_by_their_own_rule():
    nothing = sample(600, seed=7, rise=0.0, base=0.3)
    something = sample(600, seed=7)
    small = only(something, np.flatnonzero(something.c > 0.5)[:4])
    by_mode = {
        mode: [t.verdict for t in verify([nothing, something, small], replace(TestSettings(), mode=mode))]
        for mode in ("calibrated", "paper", "spearman")
    }
    assert by_mode == {
        "calibrated": ["rejected", "verified", "inconclusive"],
        "paper": ["verified", "verified", "inconclusive"],
        "spearman": ["rejected", "verified", "inconclusive"],
    }
    for mode in ("paper", "spearman"):
        found = verify([nothing], replace(TestSettings(), mode=mode))[0]
        assert found.paper_pass
        assert found.paper_null_pass == 1.0
        assert found.p_trend is not None


def test_a_steep_enough_slope_is_asked_for():
    s = sample(4000, seed=8, rise=0.15, base=0.3)
    found = verify([s], TestSettings())[0]
    assert found.q_trend < 0.05
    assert found.slope > 0.05
    strict = verify([s], replace(TestSettings(), tau=5.0))[0]
    assert strict.verdict in ("elevated", "rejected")


def test_too_few_images_for_the_level_are_said():
    """Eight images allow no p-value below 1/256, too much for the first of many hypotheses."""
    s = replace(sample(160, rise=0.0, base=0.3), image=np.arange(160) % 8)
    others = [sample(seed=k, rise=0.0, base=0.3, name=str(k)) for k in range(30)]
    found = verify([s, *others], TestSettings())[0]
    assert found.p_trend >= 1 / 256
    assert (found.verdict, found.power) == ("inconclusive", 0.0)


def test_everything_wrong_is_said_at_once():
    s = sample(50)
    bad = replace(s, loss=s.loss + 3, weight=np.zeros(50), hypothesis_id="bad")
    with pytest.raises(InputError) as e:
        verify([bad, replace(s, image=s.image[:7])], replace(TestSettings(), window=3, flips=1, gamma=1.0))
    named = [p.column for p in e.value.problems]
    assert named == ["gamma", "window", "flips", "bad.loss", "bad.weight", "h.image"]


def test_progress_reaches_its_end():
    seen = []
    verify([sample(), sample(seed=1, name="i")], TestSettings(), lambda done, all_: seen.append((done, all_)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_strata_hold_class_and_octile_of_size():
    area = np.arange(80, dtype=float)
    found = strata(np.r_[area, area, np.nan], np.r_[np.zeros(80, int), np.full(80, 3), 0])
    assert len(set(found.tolist())) == 17
    assert set(found[:80].tolist()).isdisjoint(found[80:160].tolist())
    counts = np.bincount(found)
    assert counts[counts > 0].tolist().count(10) == 16
    equal = strata(np.full(20, 7.0), np.zeros(20, int))
    assert len(set(equal.tolist())) == 1
    assert strata(np.zeros(0), np.zeros(0, int)).size == 0
