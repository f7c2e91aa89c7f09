"""Every method lists every candidate; baselines by hand on tiny tables."""

from __future__ import annotations

import importlib.util
from itertools import product

import numpy as np
import pytest

from core.benchmark import BY_NAME, METHODS, REFERENCE, baselines, choose_methods
from core.benchmark.methods import floored
from core.errors import InputError, MissingPackageError
from core.odd import infer_odd
from core.scoring import ScoringParameters, rank_missing
from core.scoring.diversity import ild
from core.similarity import exact_similarity

HAS_SLICELINE = importlib.util.find_spec("sliceline") is not None
needs_sliceline = pytest.mark.skipif(not HAS_SLICELINE, reason="the package sliceline is not installed")
USABLE = [m for m in METHODS if m.name != "sliceline" or HAS_SLICELINE]


@pytest.fixture
def large(make_table):
    """A random seed over 3 × 4 × 3 × 2 slices."""
    odd = infer_odd({"a": ["1", "2", "3"], "b": ["1", "2", "3", "4"], "c": ["1", "2", "3"], "d": ["1", "2"]})
    rng = np.random.default_rng(3)
    slices = list(product(*(v.by_name for v in odd.dimensions)))
    some = [slices[i] for i in rng.choice(len(slices), 25, replace=False)]
    return make_table(odd, {s: (int(rng.integers(1, 30)), float(rng.random())) for s in some})


@pytest.mark.parametrize("method", USABLE, ids=lambda m: m.name)
def test_every_method_lists_every_candidate_once_and_the_same_way_each_time(method, large, make_task):
    task = make_task(large, (5, 10))
    first, second = method.run(task), method.run(make_task(large, (5, 10)))
    assert first.orders.shape[1] == task.size == 3 * 4 * 3 * 2 - 25
    for order in first.orders:
        assert np.array_equal(np.sort(order), np.arange(task.size))
    assert np.array_equal(first.orders, second.orders)
    assert 0 <= first.native <= task.size


@pytest.mark.parametrize("method", USABLE, ids=lambda m: m.name)
def test_every_method_works_with_one_candidate_and_one_observed_slice(method, odd, make_table, make_task):
    seed = make_table(odd, {("day", "clear"): (10, 0.5)})
    task = make_task(seed, (1,), codes=np.array([[1, 2]], dtype=np.int32))
    assert set(method.run(task).orders.ravel().tolist()) == {0}


def test_the_reference_is_the_ranking_of_the_product(large, make_task):
    task = make_task(large)
    ranking = rank_missing(large, ScoringParameters(), exact_similarity(large.odd, large.odd.active))
    order = BY_NAME[REFERENCE].run(task).orders[0]
    assert large.odd.codec.encode(task.codes[order]).tolist() == ranking.ids.tolist()


def test_variants_are_the_ranking_under_other_parameters(large, make_task):
    similarity = exact_similarity(large.odd, large.odd.active)
    for name, params in (
        ("log", ScoringParameters(rarity="log")),
        ("shrink", ScoringParameters(shrink=True)),
        ("rare-ridge", ScoringParameters(risk="ridge")),
    ):
        task = make_task(large)
        order = BY_NAME[name].run(task).orders[0]
        assert large.odd.codec.encode(task.codes[order]).tolist() == rank_missing(large, params, similarity).ids.tolist(), name


def test_marginal_lift_by_hand(odd, make_table, make_task, listed):
    seed = make_table(odd, {("day", "clear"): (30, 0.1), ("day", "fog"): (10, 0.5), ("night", "clear"): (10, 0.4)})
    # Failures 3 + 5 + 4 = 12 of 50: mean 0.24. Lifts: day 8/40 - .24 = -.04, night .16, clear 7/40 - .24 = -.065, fog .26, rain unseen 0.
    task = make_task(seed)
    predicted = dict(zip(listed(task, np.arange(task.size)), baselines.lift_errors(seed, task.dims, task.codes), strict=True))
    assert predicted == {
        ("day", "rain"): pytest.approx(0.20),
        ("night", "fog"): pytest.approx(0.66),
        ("night", "rain"): pytest.approx(0.40),
    }
    assert listed(task, BY_NAME["lift"].run(task).orders[0]) == [("night", "fog"), ("night", "rain"), ("day", "rain")]


def test_marginal_lift_is_that_of_sums_over_the_slices_of_each_value(large, make_task):
    task = make_task(large)
    n, failed = large.n, large.error * large.n
    mean = failed.sum() / n.sum()
    for codes, predicted in zip(task.codes, baselines.lift_errors(large, task.dims, task.codes), strict=True):
        seen = [large.codes[:, k] == codes[k] for k in task.dims]
        lifts = [failed[s].sum() / n[s].sum() - mean for s in seen if s.any()]
        assert predicted == pytest.approx(min(max(mean + sum(lifts), 0), 1), abs=1e-12)


def test_marginal_lift_stays_within_0_and_1(odd, make_table, make_task):
    seed = make_table(odd, {("day", "clear"): (10, 0.0), ("night", "clear"): (10, 1.0), ("day", "fog"): (10, 1.0)})
    task = make_task(seed)
    p = baselines.lift_errors(seed, task.dims, task.codes)
    assert p.min() >= 0 and p.max() == 1.0


def test_knn_takes_the_error_of_the_most_similar_slice_however_dissimilar(make_table, make_task, listed):
    odd = infer_odd({"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2"]})
    seed = make_table(odd, {("1", "1", "1"): (10, 0.2), ("2", "2", "2"): (10, 0.9)})
    task = make_task(seed, theta=0.9)  # no neighbour reaches 0.9, and still the nearest counts
    order = listed(task, BY_NAME["knn"].run(task).orders[0])
    # Two 2s are nearer to 222 with error 0.9; one 2 to 111 with 0.2; ties by id.
    assert order == [("1", "2", "2"), ("2", "1", "2"), ("2", "2", "1"), ("1", "1", "2"), ("1", "2", "1"), ("2", "1", "1")]


def test_ties_of_similarity_go_to_the_first_slice_by_id(odd, make_table, make_task, listed):
    seed = make_table(odd, {("day", "clear"): (10, 0.9), ("night", "fog"): (10, 0.1)})
    task = make_task(seed)
    # day fog: 1/2 to both, so the error of day clear. day rain and night clear likewise; night rain is nearer to night fog.
    assert listed(task, BY_NAME["knn"].run(task).orders[0])[-1] == ("night", "rain")


def test_coverage_only_ranks_rare_values_first(odd, make_table, make_task, listed):
    seed = make_table(odd, {("day", "clear"): (100, 0.0), ("night", "clear"): (1, 0.0), ("day", "fog"): (20, 0.0)})
    assert listed(task := make_task(seed), BY_NAME["coverage"].run(task).orders[0])[0] == ("night", "rain")


def test_chance_is_seeded_and_differs_between_its_orders(large, make_task):
    listing = BY_NAME["random"].run(make_task(large))
    assert listing.orders.shape[0] == baselines.CHANCE_ORDERS
    assert len({tuple(o) for o in listing.orders.tolist()}) == baselines.CHANCE_ORDERS


@needs_sliceline
def test_sliceline_finds_a_planted_slice_and_ranks_what_lies_in_it_first(make_table, make_task):
    odd = infer_odd({"a": ["1", "2", "3"], "b": ["1", "2", "3"], "c": ["1", "2", "3"], "d": ["1", "2", "3"]})
    rng = np.random.default_rng(0)
    slices = list(product("123", repeat=4))
    seen = [slices[i] for i in sorted(rng.choice(81, 50, replace=False))]
    bad = lambda s: s[0] == "2" and s[1] == "3"  # noqa: E731
    seed = make_table(odd, {s: (20, 0.9 if bad(s) else 0.05) for s in seen})
    task = make_task(seed)
    listing = BY_NAME["sliceline"].run(task)
    first = odd.codec.names(task.codes[listing.orders[0]])
    inside = [bad(s) for s in first]
    assert sum(inside) >= 3
    assert all(inside[: sum(inside)])
    assert listing.native < task.size
    rest = listing.orders[0][listing.native :]
    assert np.array_equal(rest, np.sort(rest))  # appended by id
    assert f"{listing.native:,} of {task.size:,} candidates match one" in listing.note


@needs_sliceline
def test_sliceline_orders_by_specificity_then_discovery_then_id(odd, make_table, make_task, monkeypatch):
    seed = make_table(odd, {("day", "clear"): (10, 0.5)})
    task = make_task(seed)  # ids: day fog, day rain, night clear, night fog, night rain
    found = [({0: 1}, 0.9), ({0: 1, 1: 1}, 0.4), ({1: 2}, 0.95), ({0: 0, 1: 1}, 0.3)]
    monkeypatch.setattr(baselines, "_discover", lambda task: ([p for p, _ in found], [s for _, s in found]))
    listing = BY_NAME["sliceline"].run(task)
    names = odd.codec.names(task.codes[listing.orders[0]])
    # Best score wins a slice: night fog goes to {night} (0.9), not to {night, fog} (0.4); rain to {rain} (0.95).
    # day fog has the specific one (2 values) and leads; then discovery: {night} 0, {rain} 2.
    assert names == [("day", "fog"), ("night", "clear"), ("night", "fog"), ("day", "rain"), ("night", "rain")]
    assert listing.native == 5


@needs_sliceline
def test_sliceline_that_finds_nothing_lists_by_id(odd, make_table, make_task):
    seed = make_table(odd, {("day", "clear"): (10, 0.0), ("night", "fog"): (10, 0.0)})
    listing = BY_NAME["sliceline"].run(make_task(seed))
    assert listing.native == 0
    assert listing.orders[0].tolist() == [0, 1, 2, 3]


def test_without_its_package_sliceline_says_how_to_get_it(odd, make_table, make_task, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "sliceline" else real(name, *a))
    task = make_task(make_table(odd, {("day", "clear"): (10, 0.5)}))
    with pytest.raises(MissingPackageError, match="pip install sliceline"):
        BY_NAME["sliceline"].run(task)
    methods, notes = choose_methods()
    assert "sliceline" not in [m.name for m in methods]
    assert "SliceLine was left out" in notes[0]
    assert "sliceline" in [m.name for m in choose_methods(["sliceline"])[0]]  # asked for, it is not left out silently


def test_choosing_methods():
    methods, _ = choose_methods(["lift", "random"])
    assert [m.name for m in methods] == [REFERENCE, "lift", "random"]
    with pytest.raises(InputError, match="no method magic"):
        choose_methods(["magic"])
    assert "unseen" in [m.name for m in choose_methods(outside=True)[0]]
    inside, notes = choose_methods(["unseen"])
    assert [m.name for m in inside] == [REFERENCE]
    assert "inside the ODD every value has a count" in notes[0]


def test_the_floor_holds_at_each_budget_and_lists_are_nested(large, make_task):
    task = make_task(large, (5, 10, 20))
    model = BY_NAME[REFERENCE].run(task)
    score = task.ridge.predict(task.codes)
    order = floored(task, score, model).orders[0]
    assert np.array_equal(order, BY_NAME["ridge-floor"].run(task).orders[0])
    for k in task.budgets:
        assert ild(task.codes[order[:k]], task.dims) >= ild(task.codes[model.orders[0][:k]], task.dims)


def test_equal_scores_are_said(odd, make_table, make_task):
    task = make_task(make_table(odd, {("day", "clear"): (10, 0.5)}))
    listing = task.by_score(np.zeros(task.size))
    assert "same score" in listing.note
    assert listing.orders[0].tolist() == list(range(task.size))
    assert task.by_score(np.arange(task.size, dtype=float)).note == ""
