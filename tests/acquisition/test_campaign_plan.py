"""The choice of slices: hand-derived plans, invariants over random ones, and what is told of the rest."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.acquisition import Campaign, Quota, Request, plan, read_factors, read_quotas
from core.acquisition.choose import _of_size, choose
from core.acquisition.request import exact
from core.errors import InputError
from core.odd import Odd, infer_odd
from core.scoring import Ranking, ScoringParameters, rank_missing
from core.seed_table import SeedTable
from core.similarity import exact_similarity

ODD = infer_odd({"weather": ["clear", "fog", "rain"], "time": ["day", "night"], "road": ["dry", "wet"]})


def ranking(odd: Odd = ODD, tested: int = 2, top: int | None = None) -> Ranking:
    """Ten missing slices of the twelve: clear day dry (n 50, error .1) and fog night wet (n 20, error .6) are tested."""
    slices = [{"weather": "clear", "time": "day", "road": "dry"}, {"weather": "fog", "time": "night", "road": "wet"}][:tested]
    seed = SeedTable.from_slices(odd, slices, [50, 20][:tested], [0.9, 0.4][:tested])
    return rank_missing(seed, ScoringParameters(), exact_similarity(odd, odd.active), top=top)


def names(c: Campaign) -> list[tuple[str, ...]]:
    return c.odd.codec.names(c.codes)


def count(c: Campaign, dimension: str, value: str) -> int:
    k = c.odd.names.index(dimension)
    return sum(n[k] == value for n in names(c))


def cut(c: Campaign) -> tuple[int, int, int, int]:
    s = c.skipped
    return s.scheduled, s.quota, s.reserved, s.budget


# Budgets


def test_a_budget_in_slices_takes_the_best() -> None:
    r = ranking()
    c = plan(r, Request(4, samples=30))
    assert c.rank.tolist() == [1, 2, 3, 4]
    assert c.ids.tolist() == r.ids[:4].tolist()
    assert c.samples.tolist() == [30] * 4
    assert c.cost.tolist() == [30.0] * 4
    assert cut(c) == (0, 0, 0, 6)
    assert (c.considered, c.candidates, c.left) == (10, 10, 0.0)
    assert c.expected_risk == pytest.approx(r.eps_hat[:4].sum())
    assert c.expected_failures == pytest.approx(30 * r.eps_hat[:4].sum())


def test_a_budget_in_samples_is_not_overdrawn() -> None:
    c = plan(ranking(), Request(100, "samples", width=0.5))  # 12 samples a slice
    assert (len(c), c.samples.sum(), c.left, c.cheapest) == (8, 96, 4.0, 12.0)
    assert len(plan(ranking(), Request(11, "samples", width=0.5))) == 0


def test_a_budget_in_cost_goes_on_to_cheaper_slices() -> None:
    r = ranking()
    night = [n[1] == "night" for n in r.odd.codec.names(r.codes)]
    wet = [n[2] == "wet" for n in r.odd.codec.names(r.codes)]
    unit = [0.1 * (2 if n else 1) * (1.5 if w else 1) for n, w in zip(night, wet, strict=True)]
    c = plan(r, Request(2, "cost", samples=10, base_cost=0.1, factors=read_factors(["time=night:2", "road=wet:1.5"])))
    spent, expected = 0.0, []
    for i, u in enumerate(unit):
        if round(spent + 10 * u, 9) <= 2:
            spent += 10 * u
            expected.append(i + 1)
    assert c.rank.tolist() == expected
    assert c.cost.tolist() == pytest.approx([10 * unit[i - 1] for i in expected])
    assert c.left == pytest.approx(2 - spent)
    assert cut(c) == (0, 0, 0, 10 - len(expected))


def test_costs_add_up_as_people_add_them() -> None:
    c = plan(ranking(), Request(0.3, "cost", samples=1, base_cost=0.1))
    assert (len(c), c.left, c.summary()["cost"]) == (3, 0.0, 0.3)


# Quotas


def test_at_most() -> None:
    r = ranking()
    c = plan(r, Request(6, samples=1, quotas=read_quotas(["time=night:2"])))
    assert count(c, "time", "night") == 2
    day = [i for i, n in enumerate(r.odd.codec.names(r.codes), 1) if n[1] == "day"]
    night = [i for i, n in enumerate(r.odd.codec.names(r.codes), 1) if n[1] == "night"]
    assert c.rank.tolist() == sorted(day[:4] + night[:2])
    (q,) = c.quotas
    assert (q.slices, q.have, q.met, q.available, q.blocked) == (2, 2, True, 5, c.skipped.quota)
    assert len(c) + c.skipped.total == 10


def test_at_least_takes_the_best_of_the_value_and_says_what_it_displaced() -> None:
    r = ranking()
    of_clear = [i for i, n in enumerate(r.odd.codec.names(r.codes), 1) if n[0] == "clear"]
    others = [i for i in range(1, 11) if i not in of_clear]
    c = plan(r, Request(4, samples=1, quotas=read_quotas(["weather=clear:>=3"])))
    assert c.rank.tolist() == sorted(of_clear[:3] + others[:1])
    last = max(c.rank)
    assert c.skipped.reserved == sum(i not in c.rank for i in range(1, last))  # each would have been taken but for a worse one
    assert c.skipped.reserved + c.skipped.budget == 6
    assert last > 4
    assert c.quotas[0].met


def test_at_least_that_cannot_be_met_is_said() -> None:
    c = plan(ranking(), Request(8, samples=1, quotas=read_quotas(["weather=clear:>=5"])))  # clear day dry is tested: three are left
    (q,) = c.quotas
    assert (q.met, q.slices, q.have, q.available) == (False, 5, 3, 3)
    assert len(c) == 8
    c = plan(ranking(), Request(2, samples=1, quotas=read_quotas(["weather=clear:>=3"])))
    assert (c.quotas[0].have, c.quotas[0].met, len(c)) == (2, False, 2)


def test_slices_that_fill_two_quotas_are_found_when_the_budget_is_short() -> None:
    quotas = read_quotas(["weather=clear:>=2", "time=night:>=2"])
    c = plan(ranking(), Request(2, samples=1, quotas=quotas))
    assert names(c) == [n for n in ranking_names() if n[0] == "clear" and n[1] == "night"]
    assert all(q.met for q in c.quotas)


def ranking_names() -> list[tuple[str, ...]]:
    r = ranking()
    return r.odd.codec.names(r.codes)


@pytest.mark.parametrize("kind, budget", [("slices", 9), ("samples", 45), ("cost", 47.5)])
def test_shares_are_those_of_the_finished_campaign(kind: str, budget: float) -> None:
    quotas = read_quotas(["time=night:<=25%", "weather=rain:>=40%"])
    c = plan(ranking(), Request(budget, kind, samples=5, quotas=quotas, factors=read_factors(["time=night:2"])))  # type: ignore[arg-type]
    assert count(c, "time", "night") <= 0.25 * len(c)
    assert count(c, "weather", "rain") >= 0.4 * len(c)
    assert len(c) == 6  # five day slices are missing, two of them in rain; a quarter of six leaves room for one night, in rain
    assert all(q.met for q in c.quotas)
    assert len(c) + c.skipped.total == 10


def test_a_share_that_no_slice_can_keep_leaves_nothing() -> None:
    c = plan(ranking(), Request(5, samples=1, quotas=read_quotas(["time=night:0%", "time=day:0%"])))
    assert (len(c), cut(c)) == (0, (0, 10, 0, 0))


def test_two_halves_of_an_odd_budget_are_one_slice_less() -> None:
    has = np.array([[True, False] * 30, [False, True] * 30])
    halves = [Quota("a", "b", "most", 0.5, True), Quota("a", "c", "most", 0.5, True)]
    got = choose([1] * 60, 41, halves, has)
    assert (got.count, got.size, got.have) == (40, 40, (20, 20))


def test_a_share_of_costly_slices_uses_the_budget() -> None:
    has = np.array([[False] * 50 + [True] * 50])
    weights = [1] * 50 + [3] * 50
    got = choose(weights, 60, [Quota("a", "b", "least", 0.3, True)], has)
    count = got.count
    assert got.have[0] >= 0.3 * count
    spent = sum(w for w, r in zip(weights, got.reasons, strict=True) if r == "taken")
    assert spent <= 60
    assert count == max(s for s in range(101) if 3 * -(-3 * s // 10) + (s - -(-3 * s // 10)) <= 60)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.booleans()), min_size=1, max_size=9),
    st.integers(1, 20),
    st.lists(st.sampled_from([0.2, 1 / 3, 0.5, 0.75]), min_size=2, max_size=2),
    st.sampled_from(["most", "least"]),
)
def test_the_size_is_among_those_that_keep_their_own_shares(rows, limit, shares, kind) -> None:
    weights, has = [r[0] for r in rows], np.array([[r[1] for r in rows], [r[2] for r in rows]])
    quotas = [Quota("a", "b", "most", shares[0], True), Quota("a", "c", kind, shares[1], True)]
    got = choose(weights, limit, quotas, has)
    possible = [s for s in range(len(rows) + 1) if _of_size(weights, limit, quotas, has, s).count == s]
    assert got.count == got.size
    assert got.size in possible


def test_a_share_is_read_in_decimals() -> None:
    assert Quota("a", "b", "most", 0.07, True).slices(100) == 7
    assert Quota("a", "b", "least", 0.07, True).slices(100) == 7
    assert Quota("a", "b", "least", 0.07, True).slices(101) == 8


# What other campaigns have


def test_scheduled_slices_are_left_to_their_campaign_and_counted() -> None:
    r = ranking()
    c = plan(r, Request(3, samples=1), scheduled=[int(r.ids[0]), int(r.ids[2]), 10**12])
    assert c.rank.tolist() == [2, 4, 5]
    assert cut(c) == (2, 0, 0, 5)
    again = plan(r, Request(3, samples=1, skip_scheduled=False), scheduled=[int(r.ids[0])])
    assert again.rank.tolist() == [1, 2, 3]
    assert (again.skipped.scheduled, again.shared, c.shared) == (0, 1, 0)


# Coverage


def test_coverage_against_counting() -> None:
    r = ranking()
    c = plan(r, Request(3, samples=1))
    tested = r.odd.codec.names(r.evidence.observed.codes)
    added = names(c)
    for cov in c.coverage:
        groups = list(combinations(range(3), cov.t))

        def seen(rows: list[tuple[str, ...]], groups: list[tuple[int, ...]] = groups) -> int:
            return len({(g, tuple(row[k] for k in g)) for row in rows for g in groups})

        sizes = [3, 2, 2]
        assert cov.possible == sum(int(np.prod([sizes[k] for k in g])) for g in groups)
        assert (cov.before, cov.after) == (seen(tested), seen(tested + added))
    assert [x.t for x in c.coverage] == [1, 2]


def test_coverage_of_one_dimension_has_no_pairs() -> None:
    odd = infer_odd({"weather": ["clear", "fog", "rain"]})
    seed = SeedTable.from_slices(odd, [{"weather": "clear"}], [5], [0.5])
    c = plan(rank_missing(seed, ScoringParameters(), exact_similarity(odd, odd.active)), Request(1, samples=1))
    assert [(x.t, x.possible, x.before, x.after) for x in c.coverage] == [(1, 3, 1, 2)]


def test_nothing_missing_gives_an_empty_campaign() -> None:
    odd = infer_odd({"weather": ["clear", "fog"]})
    seed = SeedTable.from_slices(odd, [{"weather": "clear"}, {"weather": "fog"}], [5, 5], [0.5, 1.0])
    c = plan(
        rank_missing(seed, ScoringParameters(), exact_similarity(odd, odd.active)), Request(3, quotas=read_quotas(["weather=fog:>=1"]))
    )
    assert (len(c), c.considered, c.expected_risk, c.cheapest, c.summary()["cost"]) == (0, 0, 0.0, None, 0.0)
    assert not c.quotas[0].met


# Any request


texts = st.sampled_from([f"{d.name}={v.name}" for d in ODD.dimensions for v in d.values])
amounts = st.sampled_from(["1", "2", "4", ">=1", ">=3", "25%", "50%", ">=20%", ">=60%", "0%"])


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["slices", "samples", "cost"]),
    budget=st.integers(1, 60),
    samples=st.integers(1, 9),
    factors=st.dictionaries(texts, st.sampled_from([0.3, 2, 1.5]), max_size=3),
    quotas=st.dictionaries(texts, amounts, max_size=4),
    scheduled=st.sets(st.integers(0, 11), max_size=4),
)
def test_any_campaign_keeps_its_limits_and_counts_everything(kind, budget, samples, factors, quotas, scheduled) -> None:
    r = ranking()
    request = Request(
        budget,
        kind,
        samples=samples,
        factors=read_factors([f"{k}:{v}" for k, v in factors.items()]),
        quotas=read_quotas([f"{k}:{v}" for k, v in quotas.items()]),
    )
    c = plan(r, request, scheduled)
    assert len(c) + c.skipped.total == c.considered == 10
    assert c.rank.tolist() == sorted(set(c.rank.tolist()))
    assert not set(c.ids.tolist()) & scheduled
    spent = {"slices": len(c), "samples": c.samples.sum(), "cost": sum(exact(x) for x in c.cost)}[kind]
    assert spent <= budget
    assert float(spent) + c.left == pytest.approx(budget)
    for q in c.quotas:
        assert q.have == count(c, q.quota.dimension, q.quota.value)
        assert q.slices == q.quota.slices(len(c))
        if q.quota.kind == "most":
            assert q.met
        elif q.quota.share and not q.met:
            assert q.have < q.quota.amount * len(c)
    assert [p.tolist() for p in (c.rank, c.samples)] == [p.tolist() for p in (plan(r, request, scheduled).rank, c.samples)]
    assert Request.from_dict(request.as_dict()) == request
    if not request.quotas:
        assert c.skipped.quota == c.skipped.reserved == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1), st.booleans()), max_size=8), st.integers(0, 8), st.integers(0, 5))
def test_one_at_least_quota_is_the_best_possible_list(rows, limit, wanted) -> None:
    """Of all lists of that size that hold as many of the value as can be held, the greedy one has the best ranks."""
    weights, has = [w for w, _ in rows], np.array([[h for _, h in rows]], dtype=bool).reshape(1, -1)
    got = choose(weights, limit, [Quota("a", "b", "least", wanted)], has)
    size = min(limit, len(rows))
    can = min(wanted, int(has.sum()), size)
    lists = [x for x in combinations(range(len(rows)), size) if sum(has[0, i] for i in x) >= can]
    assert tuple(i for i, r in enumerate(got.reasons) if r == "taken") == min(lists)


# Nonsense


@pytest.mark.parametrize(
    "request_, told",
    [
        (Request(0), "budget"),
        (Request(1.5), "a whole one"),
        (Request(float("inf"), "cost"), "budget"),
        (Request(5, "hours"), "slices, samples, cost"),  # type: ignore[arg-type]
        (Request(5, samples=-1), "samples"),
        (Request(5, width=1.5), "interval width"),
        (Request(5, rate=-1), "assumed error rate"),
        (Request(5, base_cost=0), "cost of a sample"),
        (Request(5, factors=read_factors(["time=night:0"])), "a factor above 0"),
        (Request(5, factors=read_factors(["hour=night:2"])), "a dimension: weather, time, road"),
        (Request(5, factors=read_factors(["time=dusk:2"])), "a value of time: day, night"),
        (Request(5, factors=read_factors(["time=night:2", "time=night:3"])), "stands there 2 times"),
        (Request(5, quotas=read_quotas(["time=night:150%"])), "0% to 100%"),
        (Request(5, quotas=read_quotas(["time=night:1.5"])), "whole number of slices"),
        (Request(5, quotas=read_quotas(["time=night:-1"])), "whole number of slices"),
        (Request(5, quotas=read_quotas(["time=dusk:1"])), "a value of time: day, night"),
        (Request(5, quotas=read_quotas(["time=night:1", "time=night:<=2"])), "stands there 2 times"),
        (Request(5, quotas=read_quotas(["time=night:1", "time=night:>=2"])), "at most what time=night:<=1 allows"),
    ],
)
def test_nonsense_is_told(request_: Request, told: str) -> None:
    with pytest.raises(InputError, match="cannot be planned") as e:
        plan(ranking(), request_)
    assert told in str(e.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InputError) as e:
        plan(ranking(), Request(-1, samples=-2, factors=read_factors(["x=y:0"]), quotas=read_quotas(["time=dusk:150%"])))
    assert len(e.value.problems) == 6


@pytest.mark.parametrize("text", ["", "time", "time=night", "time=night:", "time=night:x", "=night:2", "time=:2", "time=night:inf"])
def test_texts_that_cannot_be_read_are_told(text: str) -> None:
    with pytest.raises(InputError, match="cost cannot be read"):
        read_factors([text])
    with pytest.raises(InputError, match="quota cannot be read"):
        read_quotas([text])


def test_texts_are_read_and_written() -> None:
    assert read_factors(["ratio=a:b=c:2"])[0] == read_factors(["ratio=a:b=c : 2"])[0]
    assert read_factors(["ratio=a:b=c:2"])[0].value == "a:b=c"
    for text in ("time=night:<=10", "time=night:>=25%", "time=night:<=7%"):
        assert str(read_quotas([text])[0]) == text
    assert read_quotas(["time=night:10"]) == read_quotas(["time=night:<=10"])
