"""Small tables whose answers were worked out on paper, edge cases, and the built-in ODD."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.odd import built_in, from_document, infer_odd
from core.scoring import ScoringParameters, explain, rank_missing, triage, wilson
from core.scoring.neighbours import nearest, theta_units
from core.seed_table import SeedTable
from core.similarity import UNIT, exact_similarity

ODD = infer_odd({"time": ["day", "night"], "fog": ["no", "yes"]})


def table(rows: list[tuple[str, str, int, float]]) -> SeedTable:
    return SeedTable.from_slices(ODD, [{"time": t, "fog": f} for t, f, _, _ in rows], [r[2] for r in rows], [r[3] for r in rows])


def test_two_by_two_by_hand() -> None:
    """N = 10: day 8, night 2, no fog 8, fog 2; the missing slices are (day, yes) and (night, no)."""
    seed = table([("day", "no", 8, 0.75), ("night", "yes", 2, 0.5)])
    ranking = rank_missing(seed, ScoringParameters(tau=1.0), exact_similarity(ODD, (0, 1)))
    # P(day) = 9/12, P(night) = 3/12, P(no) = 9/12, P(yes) = 3/12; both missing slices: E = 27/144.
    assert ranking.exposure.tolist() == pytest.approx([27 / 144] * 2)
    # Each shares one of two dimensions with both observed slices: similarity 1/2, errors 1/4 and 1/2, so eps_hat = 1/4.
    assert ranking.eps_hat.tolist() == pytest.approx([0.25, 0.25])
    assert ranking.phi.tolist() == pytest.approx([(1 - 27 / 144) ** 2 * 1.25] * 2)
    # A tie: the lower id, (day, yes), comes first, and the explanation says so.
    assert [ODD.codec.names(ranking.codes)[i] for i in range(2)] == [("day", "yes"), ("night", "no")]
    assert "ties" in explain(ranking, 1).why_not_higher


def test_factors_that_differ_late_are_told_apart() -> None:
    """P(light) and P(thick) are about 2e-8 and 3e-8, so w_rare of a slice by day differs in the eighth decimal."""
    odd = infer_odd({"time": ["day", "night"], "fog": ["light", "no", "thick"]})
    rows = [("day", "no", 100_000_000), ("night", "light", 1), ("night", "thick", 2)]
    seed = SeedTable.from_slices(odd, [{"time": t, "fog": f} for t, f, _ in rows], [n for *_, n in rows], [0.75] * 3)
    ranking = rank_missing(seed, ScoringParameters(tau=1.0), exact_similarity(odd, (0, 1)), where={"time": ["day"]})
    assert odd.codec.names(ranking.codes) == [("day", "light"), ("day", "thick")]
    why = explain(ranking, 1).why_not_higher
    assert why == "Against rank 1, its rarity is 0.999999940 against 0.999999960 (-0.000000020)."


def test_a_number_of_neighbours_beyond_the_tested_slices_means_all_of_them() -> None:
    seed = table([("day", "no", 8, 0.75), ("night", "yes", 2, 0.5)])
    two, many = (rank_missing(seed, ScoringParameters(m=m), exact_similarity(ODD, (0, 1))) for m in (2, 10**20))
    assert many.phi.tolist() == two.phi.tolist()
    assert explain(many, 0).neighbours == explain(two, 0).neighbours


def test_the_cap_is_said() -> None:
    seed = table([("day", "no", 8, 0.0)])
    ranking = rank_missing(seed, ScoringParameters(kappa=0.3), exact_similarity(ODD, (0, 1)), where={"time": ["day"]})
    first = explain(ranking, 0)
    assert first.eps_hat == 0.3
    assert first.capped
    assert first.raw_error == pytest.approx(0.5)


def test_without_a_neighbour_the_baseline_score_remains() -> None:
    seed = table([("day", "no", 8, 0.0)])
    ranking = rank_missing(seed, ScoringParameters(theta=0.9), exact_similarity(ODD, (0, 1)))
    assert ranking.eps_hat.tolist() == [0, 0, 0]
    assert explain(ranking, 0).neighbours == ()
    assert np.array_equal(ranking.phi, ranking.w_rare)


def test_zero_error_everywhere_ranks_by_rarity() -> None:
    seed = table([("day", "no", 9, 1.0), ("day", "yes", 1, 1.0)])
    ranking = rank_missing(seed, ScoringParameters(), exact_similarity(ODD, (0, 1)))
    assert ODD.codec.names(ranking.codes) == [("night", "yes"), ("night", "no")]
    assert explain(ranking, 0).decisive is None


def test_a_full_table_has_no_gap() -> None:
    seed = table([(t, f, 1, 0.5) for t in ("day", "night") for f in ("no", "yes")])
    ranking = rank_missing(seed, ScoringParameters(), exact_similarity(ODD, (0, 1)))
    assert len(ranking) == 0
    assert ranking.search.candidates == 0


def test_the_max_runs_over_the_m_most_similar_only() -> None:
    """A far slice that always fails must not count when m nearer ones exist."""
    odd = infer_odd({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]})
    rows = [{"a": "0", "b": "0", "c": "1"}, {"a": "1", "b": "1", "c": "1"}]
    seed = SeedTable.from_slices(odd, rows, [5, 5], [0.9, 0.0])
    sim = exact_similarity(odd, (0, 1, 2))
    ranking = rank_missing(seed, ScoringParameters(m=1), sim, where={"a": ["0"], "b": ["0"]})
    assert odd.codec.names(ranking.codes) == [("0", "0", "0")]
    assert ranking.eps_hat[0] == pytest.approx(2 / 3 * 0.1, abs=1e-6)


def test_provisional_slices_count_as_asked_and_the_table_stays_as_it_was() -> None:
    seed = table([("day", "no", 40, 0.5), ("night", "yes", 3, 0.0)])
    before = seed.digest
    as_observed = rank_missing(seed, ScoringParameters(), exact_similarity(ODD, (0, 1)))
    as_missing = rank_missing(seed, ScoringParameters(provisional="missing"), exact_similarity(ODD, (0, 1)))
    assert as_observed.search.candidates == 2
    assert as_observed.evidence.provisional.tolist() == [False, True]
    assert as_missing.search.candidates == 3
    assert as_missing.marginals.total == 40
    thin = next(explain(as_missing, i) for i in range(3) if explain(as_missing, i).values == {"time": "night", "fog": "yes"})
    assert thin.samples == 3
    assert seed.digest == before
    with pytest.raises(InputError, match="fewer than 50"):
        rank_missing(seed, ScoringParameters(min_support=50, provisional="missing"), exact_similarity(ODD, (0, 1)))


@pytest.mark.parametrize(("given", "total", "expected"), [(10, 1000, 10), (0.05, 1000, 50), (0.001, 100, 1), (0, 100, 0)])
def test_minimum_support_is_a_count_or_a_share(given: float, total: int, expected: int) -> None:
    params = ScoringParameters(min_support=given)
    assert params.support_threshold(total) == expected
    assert params.min_support == given


@pytest.mark.parametrize(
    "bad",
    [{"alpha": 0}, {"tau": 0}, {"tau": 1.1}, {"gamma": -1}, {"kappa": 0}, {"m": 0}, {"theta": 2}, {"min_support": 1.5},
     {"provisional": "maybe"},
     {"alpha": math.nan}],
)  # fmt: skip
def test_parameters_out_of_range_are_named(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        ScoringParameters(**bad)  # type: ignore[arg-type]


def test_slices_outside_the_odd_are_no_evidence_and_are_counted() -> None:
    odd = from_document({"dimensions": {"time": {"values": ["day", "night", {"name": "dusk", "tier": "extended"}]}}})
    seed = SeedTable.from_slices(odd, [{"time": "day"}, {"time": "dusk"}], [5, 7], [0.5, 0.0])
    ranking = rank_missing(seed, ScoringParameters(), exact_similarity(odd, (0,)))
    assert ranking.marginals.total == 5
    assert ranking.evidence.outside.total == 7
    assert odd.codec.names(ranking.codes) == [("night",)]
    with pytest.raises(InputError, match="inside the ODD"):
        rank_missing(seed.select(~seed.in_base), ScoringParameters(), exact_similarity(odd, (0,)))


@pytest.mark.parametrize(
    ("where", "says"),
    [({"weather": ["x"]}, "dimensions are"), ({"time": ["dusk"]}, "base values are"), ({"time": []}, "base values are")],
)
def test_a_wrong_filter_is_refused(where: dict[str, list[str]], says: str) -> None:
    with pytest.raises(InputError, match=says):
        rank_missing(table([("day", "no", 1, 1)]), ScoringParameters(), exact_similarity(ODD, (0, 1)), where=where)


def test_a_space_too_large_to_enumerate_is_refused_with_a_way_out() -> None:
    odd = infer_odd({f"d{k}": [str(i) for i in range(30)] for k in range(6)})
    seed = SeedTable.from_slices(odd, [{f"d{k}": "0" for k in range(6)}], [1], [1.0])
    with pytest.raises(InputError, match="Use fewer dimensions"):
        rank_missing(seed, ScoringParameters(), exact_similarity(odd, range(6)))


def test_a_single_slice_seed_ranks_the_whole_built_in_odd() -> None:
    odd = built_in()
    names = {d.name: d.base[0].name for d in odd.dimensions}
    seed = SeedTable.from_slices(odd, [names], [1], [0.0])
    ranking = rank_missing(seed, ScoringParameters(), exact_similarity(odd, odd.active))
    assert ranking.search.space == 3_840
    assert len(ranking) == 3_839
    assert np.all(np.diff(np.rint(ranking.phi * 1e12)) <= 0)


@pytest.mark.parametrize(("theta", "units"), [(0.3, 300_000), (0, 0), (1, UNIT), (0.1 + 0.2, 300_000), (0.3000001, 300_001)])
def test_theta_is_compared_in_the_units_of_the_similarities(theta: float, units: int) -> None:
    assert theta_units(theta) == units


@given(st.integers(1, 6), st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=5))
def test_nearest_sorts_by_similarity_then_id(m: int, rows: list[list[int]]) -> None:
    sims = np.array(rows, dtype=np.int32) * 200_000
    index, units = nearest(sims, m, 0.4)
    for i, row in enumerate(sims.tolist()):
        expected = [j for j in sorted(range(4), key=lambda j: (-row[j], j))[:m] if row[j] >= 400_000]
        assert [j for j in index[i].tolist() if j >= 0] == expected
        assert [u for u in units[i].tolist() if u] == [row[j] for j in expected]


def test_wilson_by_hand() -> None:
    """9 of 11: the interval of the screens."""
    low, high = wilson(9 / 11, 11)
    assert (round(low, 2), round(high, 2)) == (0.52, 0.95)
    assert wilson(0.0, 10)[0] == 0.0
    assert wilson(1.0, 10)[1] == 1.0
    assert wilson(0.3, 0) == (0.0, 1.0)


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_wilson_holds_its_rate(rate: float, n: int) -> None:
    low, high = wilson(rate, n)
    assert 0 <= low <= rate + 1e-12
    assert rate - 1e-12 <= high <= 1


def test_triage_by_hand() -> None:
    seed = table([("day", "no", 10, 0.9), ("night", "no", 10, 0.5), ("night", "yes", 20, 0.25)])
    t = triage(seed)
    assert (t.n, t.slices, t.left_out) == (40, 3, 0)
    assert t.error == pytest.approx((1 + 5 + 15) / 40)
    night = next(f for f in t.by_value if f.values == ("night",))
    assert (night.n, night.slices) == (30, 2)
    assert night.error == pytest.approx(20 / 30)
    assert night.lift == pytest.approx(20 / 30 - 21 / 40)
    assert (t.pairs_tested, t.pairs_possible) == (3, 4)
    assert {(c.value, c.n, c.slices, c.possible) for c in t.coverage} == {
        ("day", 10, 1, 2),
        ("night", 30, 2, 2),
        ("no", 20, 2, 2),
        ("yes", 20, 1, 2),
    }
    assert [f.low for f in t.by_value] == sorted((f.low for f in t.by_value), reverse=True)


def test_triage_of_nothing_is_empty_not_an_error() -> None:
    t = triage(table([("day", "no", 4, 1.0)]), {"time": ["night"]})
    assert (t.n, t.slices, t.left_out) == (0, 0, 4)
    assert t.by_value == ()
    assert (t.low, t.high) == (0.0, 1.0)


@given(st.permutations(range(6)))
def test_the_order_of_slices_does_not_change_the_digest(order: list[int]) -> None:
    rows = [("day", "no", 3, 0.1), ("day", "yes", 4, 0.2), ("night", "no", 5, 0.3), ("night", "yes", 6, 0.7)]
    picked = [rows[i] for i in order if i < 4]
    assert table(picked).digest == table(rows).digest
