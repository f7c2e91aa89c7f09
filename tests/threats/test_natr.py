"""NATR by hand: sets of threats, scenes without a verdict, several planners on unequal scenes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.threats import POLICIES, Span, ThreatSet, Verdict, load_taxonomy, natr, threat_rate

TAX = load_taxonomy()
EVERY = TAX.sets[0]
OFF, PASS, RED = "off_road_driving", "unsafe_passing", "red_light_violation"


def verdict(scene: str, said: str, planner: str = "A", *threats: str) -> Verdict:
    status = {"H": "has_threat", "N": "no_threat", "A": "abstain"}[said]
    return Verdict(f"{planner}-{scene}", scene, planner, status, frozenset(threats))


def five() -> list[Verdict]:
    return [verdict("1", "H", "A", OFF, RED), verdict("2", "H", "A", PASS), verdict("3", "N"), verdict("4", "A"), verdict("5", "H")]


def test_by_hand() -> None:
    (p,) = natr(five(), TAX, repeats=200).planners
    assert (p.n, dict(p.statuses), p.unnamed) == (5, {"has_threat": 3, "no_threat": 1, "abstain": 1}, 1)
    by = {(r.set.level, r.set.id): r for r in p.rates}
    assert len(by) == 51
    # All: H 3, open 1 of 5; left out: 3/4.
    assert (p.overall.threats, p.overall.open, p.overall.rate, p.overall.natr) == (3, 1, 0.75, 0.25)
    assert (p.overall.bounds, p.overall.natr_bounds) == (Span(0.6, 0.8), Span(pytest.approx(0.2), pytest.approx(0.4)))
    # Lateral: scenes 1 and 2; scene 5 has a threat that nobody named, so it is open as scene 4 is.
    lateral, priority, red = by["supercategory", "lateral"], by["group", "signal_control"], by["threat", RED]
    assert (lateral.threats, lateral.open, lateral.rate) == (2, 2, pytest.approx(2 / 3))
    assert (priority.threats, priority.bounds) == (1, Span(0.2, 0.6))
    assert (red.threats, red.rate) == (1, pytest.approx(1 / 3))
    assert by["group", "speeding"].threats == 0


@pytest.mark.parametrize(("policy", "rate"), [("exclude", 0.75), ("count_as_no", 0.6), ("bounds", None)])
def test_policies(policy: str, rate: float | None) -> None:
    overall = natr(five(), TAX, policy, repeats=500).planners[0].overall
    assert (overall.rate, overall.policy, overall.bounds) == (rate, policy, Span(0.6, 0.8))
    assert overall.bootstrap is not None
    assert overall.bootstrap.low <= 0.6 <= 0.8 <= overall.bootstrap.high
    assert POLICIES[policy]


def test_the_bootstrap_is_that_over_scenes() -> None:
    # Drawing scene by scene with another stream gives the same interval up to the noise of the resamples.
    found = threat_rate(60, 24, 6, EVERY, repeats=20_000).bootstrap
    scenes = np.array([1] * 24 + [np.nan] * 6 + [0] * 30)
    drawn = np.random.default_rng(5).choice(scenes, (20_000, 60))
    low, high = np.quantile(np.nanmean(drawn, axis=1), [0.025, 0.975])
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(low, abs=0.012), pytest.approx(high, abs=0.012))


def test_wilson_stays_open_where_the_bootstrap_is_a_point() -> None:
    found = threat_rate(20, 0, 0, EVERY)
    assert found.bootstrap == Span(0, 0)
    assert found.wilson is not None
    assert found.wilson.high == pytest.approx(0.161, abs=1e-3)


def test_nothing_known_and_nothing_at_all() -> None:
    (p,) = natr([verdict("1", "A"), verdict("2", "A")], TAX, repeats=50).planners
    assert (p.overall.rate, p.overall.natr, p.overall.bounds, p.overall.bootstrap) == (None, None, Span(0, 1), None)
    (one,) = natr([verdict("1", "H", "A", OFF)], TAX, repeats=50).planners
    assert (one.overall.rate, one.overall.natr, one.overall.bootstrap) == (1, 0, Span(1, 1))
    report = natr([], TAX)
    assert (report.planners, report.differences, report.common.scenes) == ((), (), ())
    empty = threat_rate(0, 0, 0, EVERY)
    assert (empty.rate, empty.bounds, empty.natr_bounds) == (None, None, None)


def test_planners_on_unequal_scenes_are_compared_on_those_in_common() -> None:
    a = [verdict(s, "N") for s in "123"] + [verdict(s, "H", "A", OFF) for s in "456789"]
    b = [verdict("1", "H", "B", OFF), verdict("2", "N", "B"), verdict("3", "N", "B"), verdict("x", "N", "B")]
    report = natr([*a, *b], TAX, repeats=500)
    assert report.common.scenes == ("1", "2", "3")
    assert report.common.left_out == {"A": 6, "B": 1}
    assert not report.common.equal
    assert [p.overall.natr for p in report.planners] == [pytest.approx(1 / 3), 0.75]
    assert [p.overall.natr for p in report.shared] == [1.0, pytest.approx(2 / 3)]
    (d,) = report.differences
    assert (d.first, d.second, d.n, d.left_out, d.value) == ("A", "B", 3, 7, pytest.approx(1 / 3))
    assert d.bounds == Span(pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_equal_scenes_are_the_comparison() -> None:
    report = natr([verdict("1", "H", p, OFF) for p in "BA"], TAX, repeats=50)
    assert [p.planner_id for p in report.planners] == ["A", "B"]
    assert report.shared is report.planners
    assert report.common.text() == "All 2 planners have the same 1 scene."


def test_the_difference_is_paired() -> None:
    # Both find the same 30 of 60, save for two: the paired interval is far narrower than one from two separate draws.
    a = [verdict(f"{k:02}", "H" if k < 30 else "N") for k in range(60)]
    b = [verdict(f"{k:02}", "H" if k < 32 else "N", "B") for k in range(60)]
    (d,) = natr([*a, *b], TAX, repeats=4000).differences
    assert d.value == pytest.approx(2 / 60)
    assert d.bootstrap is not None
    assert (d.bootstrap.low, d.bootstrap.high) == (0.0, pytest.approx(5 / 60, abs=0.02))
    assert not d.decided
    (far,) = natr([*a, *[verdict(f"{k:02}", "H", "B") for k in range(60)]], TAX, repeats=500).differences
    assert far.decided


def test_open_scenes_widen_the_difference() -> None:
    a = [verdict("1", "A"), verdict("2", "N"), verdict("3", "H"), verdict("4", "N")]
    b = [verdict("1", "N", "B"), verdict("2", "A", "B"), verdict("3", "H", "B"), verdict("4", "N", "B")]
    (d,) = natr([*a, *b], TAX, "bounds", repeats=50).differences
    assert (d.value, d.bootstrap, d.bounds, d.decided) == (None, None, Span(-0.25, 0.25), False)


def test_no_scene_in_common() -> None:
    (d,) = natr([verdict("1", "N"), verdict("2", "N", "B")], TAX, repeats=50).differences
    assert (d.n, d.left_out, d.value, d.bounds) == (0, 2, None, None)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="two verdicts for scene '1'"):
        natr([verdict("1", "N"), verdict("1", "H")], TAX)
    with pytest.raises(ValueError, match="do not fit"):
        threat_rate(3, 2, 2, EVERY)


cases = st.lists(
    st.tuples(st.sampled_from("HNA"), st.sets(st.sampled_from(sorted(t.id for t in TAX.threats)), max_size=3)), min_size=1, max_size=12
)


@given(cases, st.sampled_from(sorted(POLICIES)))
@settings(max_examples=40, deadline=None)
def test_what_holds_for_all(said: list[tuple[str, set[str]]], policy: str) -> None:
    verdicts = [verdict(str(k), s, "A", *(t if s == "H" else ())) for k, (s, t) in enumerate(said)]
    (p,) = natr(verdicts, TAX, policy, repeats=60).planners
    by: dict[tuple[str, str], ThreatSet] = {}
    for r in p.rates:
        assert r.bounds is not None
        assert 0 <= r.bounds.low <= r.bounds.high <= 1
        known = [v.threats & r.set.threats for v in verdicts if v.status == "has_threat"]
        least = sum(map(bool, known)) if r.set.level != "all" else len(known)
        assert r.threats == least
        if r.rate is not None:
            # Left-out scenes count like the others: the point lies within the bounds.
            assert r.bounds.low - 1e-12 <= r.rate <= r.bounds.high + 1e-12
            assert r.natr == pytest.approx(1 - r.rate)
        by[r.set.level, r.set.id] = r.set
    # A set shows in no more scenes than the one above it, and no fewer than any part.
    counts = {(r.set.level, r.set.id): r.threats for r in p.rates}
    above = {"threat": "group", "group": "supercategory", "supercategory": "all"}
    for (level, name), s in by.items():
        if level != "all":
            assert counts[level, name] <= counts[above[level], s.parent]


@given(cases, st.randoms())
@settings(max_examples=25, deadline=None)
def test_the_order_of_verdicts_does_not_matter(said: list[tuple[str, set[str]]], random: object) -> None:
    verdicts = [verdict(str(k), s, "AB"[k % 2], *(t if s == "H" else ())) for k, (s, t) in enumerate(said)]
    before = natr(verdicts, TAX, repeats=30)
    random.shuffle(verdicts)
    assert natr(verdicts, TAX, repeats=30) == before
