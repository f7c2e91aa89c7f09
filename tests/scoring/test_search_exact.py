"""The exact search against a plain-Python reference and against enumeration: ids, order, ties, constraints, certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from core.errors import InputError
from core.odd import Dimension, Odd, SliceSpace, Value, built_in
from core.odd.rules import Rule, count_space, implausible_rules
from core.scoring import Scope, ScoringParameters, candidate_space, gather_evidence, make_scope, make_scorer, quantised, rank_missing
from core.scoring.search import neighbour_bounds, top_k
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import UNIT, SimilarityTables, choose_similarity, value_cosines


def odd_of(base: list[int], extended: list[int]) -> Odd:
    """Dimensions a, b, ... with so many base and extended values; the names mix the tiers in the order of the codes."""
    dims = []
    for k, (b, e) in enumerate(zip(base, extended, strict=True)):
        names = [f"v{(7 * i + 3 * k) % 97:02d}" for i in range(b + e)]
        values = [Value(n) for n in names[:b]] + [Value(n, tier="extended") for n in names[b:]]
        dims.append(Dimension("abcdefghijkl"[k], "abcdefghijkl"[k], tuple(values)))
    return Odd("random", 1, tuple(dims))


def tables_of(odd: Odd, rng: np.random.Generator, kind: str) -> SimilarityTables:
    """Random symmetric contributions; "steps" has few distinct values, so that similarities tie; "wide" leaves 0 to 1."""
    d = len(odd.names)
    out = []
    for size in odd.codec.sizes:
        if kind == "steps":
            t = rng.integers(0, 3, (size, size)) * (UNIT // (2 * d))
        elif kind == "wide":
            t = rng.integers(-UNIT // d, 2 * UNIT // d, (size, size))
        else:
            t = rng.integers(0, UNIT // d, (size, size))
        t = np.triu(t) + np.triu(t, 1).T
        np.fill_diagonal(t, UNIT // d)
        out.append(t.astype(np.int32))
    return SimilarityTables("calibrated", odd, tuple(range(d)), tuple(out))


def cosines_of(odd: Odd, rng: np.random.Generator) -> list[np.ndarray]:
    out = []
    for size in odd.codec.sizes:
        t = np.triu(rng.integers(-UNIT // 10, UNIT, (size, size)), 1)
        out.append((t + t.T + np.eye(size, dtype=int) * UNIT).astype(np.int32))
    return out


def seed_of(odd: Odd, rng: np.random.Generator, n: int, errors: str) -> SeedTable:
    space = odd.codec.space(odd.codec.values) if errors == "everywhere" else odd.base_space
    codes = np.concatenate(list(space.chunks()))
    codes = codes[rng.choice(len(codes), min(n, len(codes)), replace=False)]
    counts = rng.integers(1, 60, len(codes))
    if errors == "ones":
        score = np.zeros(len(codes))
    elif errors == "steps":
        score = rng.integers(0, 3, len(codes)) / 2
    else:
        score = rng.random(len(codes)).round(3)
    names = [dict(zip(odd.names, row, strict=True)) for row in odd.codec.names(codes)]
    return SeedTable.from_slices(odd, names, counts.tolist(), score.tolist())


def plain_reference(
    seed: SeedTable, params: ScoringParameters, tables: SimilarityTables, cosines: list[np.ndarray], space: SliceSpace, rules: list[Rule]
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(-q, id, codes) of every candidate outside the ODD, by loops over Python numbers alone; nothing of the scorer is used."""
    odd = seed.odd
    observed = [tuple(row) for row in seed.codes.tolist()]
    total = int(seed.n.sum())
    p: list[list[float]] = []
    for k, size in enumerate(odd.codec.sizes):
        count = [0] * size
        for row, n in zip(observed, seed.n.tolist(), strict=True):
            count[row[k]] += n
        known = [bool(odd.is_base[k][v]) or count[v] > 0 for v in range(size)]
        v_k = sum(known)
        row_p = [(c + params.alpha) / (total + params.alpha * v_k) for c in count]
        for v in range(size):
            if known[v]:
                continue
            if params.novel == "unseen":
                row_p[v] = params.alpha / (total + params.alpha * v_k)
                continue
            star = max((u for u in range(size) if count[u] > 0), key=lambda u: (cosines[k][v][u], -u))
            row_p[v] = row_p[star] * (max(int(cosines[k][v][star]), 0) / UNIT) * params.beta
        p.append(row_p)
    error = seed.error.tolist()
    least = math.ceil(round(params.theta * UNIT, 3))
    for codes in product(*[a.tolist() for a in space.allowed]):
        if codes in observed or all(odd.is_base[k][c] for k, c in enumerate(codes)):
            continue
        if any(all(m[codes[k]] for k, m in rule.matches.items()) for rule in rules):
            continue
        sims = [
            min(max(sum(int(t[codes[k], row[k]]) for k, t in zip(tables.dims, tables.tables, strict=True)), 0), UNIT) for row in observed
        ]
        near = sorted(range(len(observed)), key=lambda i: (-sims[i], i))[: params.m]
        eps = min(max([sims[i] / UNIT * error[i] for i in near if sims[i] >= least], default=0.0), params.kappa)
        e = math.prod(p[k][c] for k, c in enumerate(codes)) ** params.tau
        phi = (1.0 - e) ** params.gamma * (1.0 + eps)
        yield -round(phi * 1e12), sum(int(r) * c for r, c in zip(odd.codec.radix, codes, strict=True)), codes


def random_case(number: int) -> dict[str, Any]:
    rng = np.random.default_rng(number)
    d = int(rng.integers(1, 5))
    base = rng.integers(1, 4, d).tolist()
    extended = rng.integers(0, 3, d).tolist()
    extended[int(rng.integers(d))] += 1
    odd = odd_of(base, extended)
    tables = tables_of(odd, rng, str(rng.choice(["steps", "wide", "smooth"])))
    cosines = cosines_of(odd, rng)
    seed = seed_of(odd, rng, int(rng.integers(1, 12)), str(rng.choice(["ones", "steps", "any", "everywhere"])))
    params = ScoringParameters(
        alpha=float(rng.choice([0.5, 1.0])),
        tau=float(rng.choice([0.3, 0.6, 1.0])),
        gamma=float(rng.choice([0.0, 0.5, 1.0, 2.0, 3.0])),
        kappa=float(rng.choice([0.2, 0.8, 1.0])),
        m=int(rng.integers(1, 6)),
        theta=float(rng.choice([0.0, 0.3, 0.7])),
        beta=float(rng.choice([0.5, 0.8, 1.0])),
        novel=str(rng.choice(["similar", "unseen"])),  # type: ignore[arg-type]
    )
    scope = Scope("out", {x.name: tuple(v.name for v in x.values if v.tier == "extended") for x in odd.dimensions})
    values = scope.values(odd)
    where = {}
    for name, names in zip(odd.names, values, strict=True):
        if rng.random() < 0.3:
            where[name] = sorted(rng.choice(names, int(rng.integers(1, len(names) + 1)), replace=False).tolist())
    rules = []
    if rng.random() < 0.4:
        picked = sorted(rng.choice(d, int(rng.integers(1, d + 1)), replace=False).tolist())
        rules = [Rule("made up", {k: rng.random(odd.codec.sizes[k]) < 0.5 for k in picked})]
    return {
        "odd": odd,
        "tables": tables,
        "cosines": cosines,
        "seed": seed,
        "params": params,
        "scope": scope,
        "where": where,
        "rules": rules,
        "k": int(rng.choice([1, 2, 5, 20, 1000])),
    }


@pytest.mark.parametrize("number", range(320))
def test_random_spaces_give_what_plain_python_gives(number: int) -> None:
    case = random_case(number)
    space = candidate_space(case["odd"], case["where"], case["scope"])
    expected = sorted(plain_reference(case["seed"], case["params"], case["tables"], case["cosines"], space, case["rules"]))
    evidence = gather_evidence(case["seed"], case["params"], case["scope"])
    scorer = make_scorer(evidence, case["params"], case["tables"], case["scope"], case["cosines"])
    found = top_k(scorer, space, case["k"], need_outside=True, rules=case["rules"])
    wanted = expected[: case["k"]]
    assert found.complete
    assert found.ids.tolist() == [i for _, i, _ in wanted]
    assert found.q.tolist() == [-q for q, _, _ in wanted]
    assert found.codes.tolist() == [list(c) for _, _, c in wanted]
    count = count_space(case["odd"], space, case["rules"])
    taken = case["seed"].codes[space.contains(case["seed"].codes)]
    free = sum(1 for row in taken.tolist() if not all(case["odd"].is_base[k][c] for k, c in enumerate(row)))
    hit = sum(
        1
        for row in taken.tolist()
        if not all(case["odd"].is_base[k][c] for k, c in enumerate(row)) and any(r.hits(np.array([row]))[0] for r in case["rules"])
    )
    assert count.outside - (free - hit) == len(expected)


@pytest.mark.parametrize("number", range(120))
@pytest.mark.parametrize("risk", ["neighbour", "ridge"])
@pytest.mark.parametrize("rarity", ["paper", "log"])
def test_every_form_of_the_score_gives_what_enumeration_gives(number: int, risk: Any, rarity: Any) -> None:
    case = random_case(1000 + number)
    cosines = [np.abs(c) + 1 for c in case["cosines"]]  # every probability is above 0, as the logarithm needs
    for c in cosines:
        np.fill_diagonal(c, UNIT)
    params = replace(case["params"], risk=risk, rarity=rarity, shrink=number % 2 == 0)
    scope = replace(case["scope"], kind="both" if number % 3 == 0 else "out")
    space = candidate_space(case["odd"], case["where"], scope)
    scorer = make_scorer(gather_evidence(case["seed"], params, scope), params, case["tables"], scope, cosines)
    codes = np.concatenate(list(space.chunks()))
    ids = case["odd"].codec.encode(codes)
    free = ~np.isin(ids, case["seed"].ids)
    if scope.kind == "out":
        free &= ~case["odd"].base_space.contains(codes)
    for rule in case["rules"]:
        free &= ~rule.hits(codes)
    q = quantised(scorer.details(codes[free]).phi)
    best = np.lexsort((ids[free], -q))[: case["k"]]
    found = top_k(scorer, space, case["k"], need_outside=scope.kind == "out", rules=case["rules"])
    assert found.ids.tolist() == ids[free][best].tolist()
    assert found.q.tolist() == q[best].tolist()


@pytest.mark.parametrize("number", range(40))
@pytest.mark.parametrize("tau", [1e-6, 0.01, 0.03])
def test_probabilities_of_zero_and_extreme_exponents_give_what_enumeration_gives(number: int, tau: float) -> None:
    """The exposure of a value that is like nothing seen is 0 whatever tau is, where that of the next rarest may be almost 1."""
    rng = np.random.default_rng(5000 + number)
    odd = odd_of([2, 1, 3, 2], [4, 5, 3, 4])
    cosines = [np.where(rng.random(c.shape) < 0.5, 0, c) for c in cosines_of(odd, rng)]
    cosines = [np.minimum(c, c.T).astype(np.int32) for c in cosines]
    params = ScoringParameters(tau=tau, gamma=float(rng.choice([0.01, 2.0, 7.0, 1e4])), m=3)
    scope = make_scope(odd, "out")
    scorer = make_scorer(
        gather_evidence(seed_of(odd, rng, 30, "steps"), params, scope), params, tables_of(odd, rng, "wide"), scope, cosines
    )
    assert any((p <= 0).any() for p in scorer.rarity.marginals.p)
    space = scope.space(odd)
    codes = np.concatenate(list(space.chunks()))
    ids = odd.codec.encode(codes)
    free = ~np.isin(ids, scorer.evidence.observed.ids) & ~odd.base_space.contains(codes)
    q = quantised(scorer.phi(codes[free]))
    best = np.lexsort((ids[free], -q))[:300]
    found = top_k(scorer, space, 300, need_outside=True)
    assert found.ids.tolist() == ids[free][best].tolist()
    assert found.q.tolist() == q[best].tolist()


@pytest.mark.parametrize("number", range(80))
def test_observed_slices_that_are_bounded_in_groups_give_what_enumeration_gives(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbour_bounds, "MOST_SINGLE", number % 2 * 20)
    monkeypatch.setattr(neighbour_bounds, "MOST_ALIVE", 0)
    case, rng = random_case(3000 + number), np.random.default_rng(number)
    odd = odd_of([3, 2, 3, 2], [2, 3, 1, 2])
    scope, tables, cosines = make_scope(odd, "out"), tables_of(odd, rng, "wide"), cosines_of(odd, rng)
    seed = seed_of(odd, rng, 90, str(rng.choice(["any", "steps", "everywhere"])))
    scorer = make_scorer(gather_evidence(seed, case["params"], scope), case["params"], tables, scope, cosines)
    space = scope.space(odd)
    codes = np.concatenate(list(space.chunks()))
    ids = odd.codec.encode(codes)
    free = ~np.isin(ids, seed.ids) & ~odd.base_space.contains(codes)
    q = quantised(scorer.phi(codes[free]))
    best = np.lexsort((ids[free], -q))[: case["k"]]
    found = top_k(scorer, space, case["k"], need_outside=True)
    assert found.ids.tolist() == ids[free][best].tolist()
    assert found.q.tolist() == q[best].tolist()


def test_ten_million_slices_give_what_scoring_them_all_gives() -> None:
    rng = np.random.default_rng(7)
    odd = odd_of([3, 3, 3, 3, 3, 2, 2], [8, 8, 8, 8, 8, 6, 6])
    tables, cosines = tables_of(odd, rng, "smooth"), cosines_of(odd, rng)
    params = ScoringParameters()
    scope = Scope("out", {x.name: tuple(v.name for v in x.values if v.tier == "extended") for x in odd.dimensions})
    scorer = make_scorer(gather_evidence(seed_of(odd, rng, 12, "any"), params, scope), params, tables, scope, cosines)
    space = scope.space(odd)
    assert space.size == 10_307_264
    found = top_k(scorer, space, 300, need_outside=True)
    assert found.complete
    least = found.q[-1]
    ids, q = [], []
    for codes in space.chunks(200_000):
        now = quantised(scorer.phi(codes))
        keep = (now >= least) & ~odd.base_space.contains(codes)
        ids.append(odd.codec.encode(codes[keep]))
        q.append(now[keep])
    all_ids, all_q = np.concatenate(ids), np.concatenate(q)
    free = ~np.isin(all_ids, scorer.evidence.observed.ids)
    best = np.lexsort((all_ids[free], -all_q[free]))[:300]
    assert found.ids.tolist() == all_ids[free][best].tolist()
    assert found.q.tolist() == all_q[free][best].tolist()


def built_in_case(**kw: Any) -> tuple[Any, SliceSpace]:
    """The whole extended vocabulary of the built-in ODD with made-up evidence."""
    odd, rng, params = built_in(), np.random.default_rng(3), ScoringParameters(**kw)
    scope = make_scope(odd, "out")
    seed = seed_of(odd, rng, 60, "any")
    tables = choose_similarity(odd, range(9), "calibrated", Settings.from_environment())
    cosines = value_cosines(odd, Settings.from_environment())
    return make_scorer(gather_evidence(seed, params, scope), params, tables, scope, cosines), scope.space(odd)


@pytest.mark.parametrize("risk", ["neighbour", "ridge"])
def test_a_search_that_runs_out_of_time_says_how_far_from_exact_it_may_be(risk: Any) -> None:
    scorer, space = built_in_case(risk=risk)
    exact = top_k(scorer, space, 2_000, need_outside=True)
    assert exact.complete
    assert exact.gap == 0.0
    stopped = top_k(scorer, space, 2_000, need_outside=True, time_limit=0.0)
    assert not stopped.complete
    assert stopped.gap > 0
    assert len(set(stopped.ids.tolist())) == stopped.ids.size
    # The certificate: nothing left out scores more than the last one found plus the gap.
    left_out = ~np.isin(exact.ids, stopped.ids)
    assert (exact.q[left_out] <= stopped.q[-1] + round(stopped.gap * 1e12)).all()


def test_the_certificate_of_a_list_that_keeps_a_floor_counts_what_the_list_gave_up() -> None:
    odd, rng = built_in(), np.random.default_rng(3)
    scope, settings = make_scope(odd, "out"), Settings.from_environment()
    tables, cosines = choose_similarity(odd, range(9), "calibrated", settings), value_cosines(odd, settings)
    seed = seed_of(odd, rng, 60, "any")
    kw: dict[str, Any] = {"scope": scope, "values": cosines}
    exact = rank_missing(seed, ScoringParameters(), tables, top=500, **kw)
    kept = rank_missing(seed, ScoringParameters(), tables, top=20, floor=0.8, time_limit=0.0, **kw)
    assert not kept.search.complete
    assert kept.diversity is not None
    assert kept.diversity.swaps > 0
    left = exact.phi[~np.isin(exact.ids, kept.ids)].max()
    assert kept.phi[-1] < left <= kept.phi[-1] + kept.search.gap + 1e-12


@pytest.mark.parametrize("limit", [-1.0, math.nan])
def test_a_time_limit_is_no_less_than_0(limit: float) -> None:
    odd, rng = odd_of([2, 2], [1, 0]), np.random.default_rng(0)
    with pytest.raises(InputError, match="time limit"):
        rank_missing(seed_of(odd, rng, 2, "any"), ScoringParameters(), tables_of(odd, rng, "steps"), top=1, time_limit=limit)


def test_a_search_can_be_cancelled_and_tells_of_its_progress() -> None:
    scorer, space = built_in_case()
    seen: list[tuple[int, int]] = []
    asked = iter([False, False, True])
    stopped = top_k(scorer, space, 2_000, need_outside=True, progress=lambda a, b: seen.append((a, b)), cancel=lambda: next(asked, True))
    assert not stopped.complete
    done = [a for a, _ in seen]
    assert done == sorted(done)
    assert all(b == space.size for _, b in seen)
    seen.clear()
    top_k(scorer, space, 10, need_outside=True, progress=lambda a, b: seen.append((a, b)))
    assert seen[-1] == (space.size, space.size)


def test_the_whole_vocabulary_of_the_built_in_odd_has_the_sizes_that_the_design_says() -> None:
    odd = built_in()
    count = count_space(odd, make_scope(odd, "out").space(odd))
    assert count.inside == 3_840
    assert count.outside == 91_441_920
    assert count.inside + count.outside == 91_445_760


def test_the_rules_of_the_built_in_odd_are_counted_as_enumeration_counts_them() -> None:
    odd = built_in()
    rules = implausible_rules(odd)
    assert rules
    scope = make_scope(
        odd, "both", ["weather_visibility=rain_heavy,fog_dense,snow_heavy", "sky_conditions=sun_glare", "road_condition=icy"]
    )
    space = scope.space(odd)
    codes = np.concatenate(list(space.chunks()))
    hit = np.zeros(len(codes), dtype=bool)
    for rule in rules:
        names = {odd.names[k]: {odd.codec.values[k][c] for c in np.flatnonzero(m)} for k, m in rule.matches.items()}
        hit |= np.array([all(v[odd.names.index(d)] in ok for d, ok in names.items()) for v in odd.codec.names(codes)])
    inside = odd.base_space.contains(codes)
    count = count_space(odd, space, rules)
    assert (count.inside, count.outside) == (int((~hit & inside).sum()), int((~hit & ~inside).sum()))
    assert (count.implausible_inside, count.implausible_outside) == (int((hit & inside).sum()), int((hit & ~inside).sum()))
    assert hit.any()


def test_a_similarity_of_whole_texts_has_no_bounds_and_says_so() -> None:
    scorer, space = built_in_case()

    class Text:
        mode = "text"

    with pytest.raises(InputError, match="embedded"):
        top_k(replace(scorer, similarity=Text()), space, 5)


def test_a_filter_changes_no_score_and_a_longer_list_begins_as_a_shorter_one() -> None:
    odd, rng = built_in(), np.random.default_rng(3)
    scope = make_scope(odd, "out")
    tables = choose_similarity(odd, range(9), "calibrated", Settings.from_environment())
    cosines = value_cosines(odd, Settings.from_environment())
    seed = seed_of(odd, rng, 60, "any")

    def ranked(top: int, where: dict[str, list[str]], **kw: Any) -> Any:
        return rank_missing(seed, ScoringParameters(**kw), tables, top=top, where=where, scope=scope, values=cosines)

    for kw in ({}, {"rarity": "log"}, {"novel": "unseen"}, {"risk": "ridge"}):
        many, few = ranked(3_000, {}, **kw), ranked(40, {}, **kw)
        assert many.ids[:40].tolist() == few.ids.tolist()
        night = ranked(20, {"time": ["night"], "road_condition": ["icy", "wet"]}, **kw)
        names = odd.codec.names(many.codes)
        wanted = [i for i, v in zip(many.ids.tolist(), names, strict=True) if v[2] == "night" and v[4] in ("icy", "wet")][:20]
        assert night.ids.tolist()[: len(wanted)] == wanted
        assert night.search.candidates < many.search.candidates == 91_441_920
