"""Every number that the paper prints about agreement, overlap, rates, bins and scores, and what follows from it."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from core.labels.agreement import fleiss_kappa, krippendorff_alpha, pairwise_agreement
from core.labels.label_time import LabelTime, label_times
from core.labels.raters import clear_cases, cohen_kappa, rater_agreement, yes_sets
from core.threats import (
    ThreatSet,
    Verdict,
    bin_edges,
    binned_rates,
    load_taxonomy,
    natr,
    overlap_matrix,
    overlap_of_counts,
    tail_size,
    threat_rate,
)
from core.trajectories.case import Case, Ego, Trajectory
from core.trajectories.measure import measure
from core.trajectories.rfs import rater_feedback, speed_scale

V: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "vectors.yaml").read_text(encoding="utf-8"))
N: int = V["val_set_n"]
FIG3, TABLE4, FIG6, TABLE1 = (
    V["fig3_label_agreement"],
    V["worst_tail_overlap_table4"],
    V["fig6a_navsim_pdms0"],
    V["table1_no_violation_rates"],
)
EVERY = ThreatSet("all", "all", "All", frozenset())


def sized(sets: dict[str, int], people: str) -> dict[str, dict[str, str]]:
    """Labels of people from how many cases each combination of Y has."""
    rows = [who for who, n in sets.items() for _ in range(n)]
    return {p: {f"case-{k}": "Y" if p in who else "N" for k, who in enumerate(rows)} for p in people}


def fig3() -> dict[str, dict[str, str]]:
    return sized(FIG3["derived"]["filled"], "CEADB")


# Figure 3: who agrees with whom


@pytest.mark.parametrize("pair", FIG3["pairs"])
def test_fig3_shared_union_and_jaccard_of_each_pair(pair: str) -> None:
    shared, union, jaccard = FIG3["pairs"][pair]
    found = overlap_of_counts(FIG3["n"], *(FIG3["set_sizes"][p] for p in pair.split("-")), shared)
    assert (found.union, round(found.jaccard or 0, 2)) == (union, jaccard)


@pytest.mark.parametrize("pair", FIG3["pairs"])
def test_fig3_cohen_kappa_of_each_pair(pair: str) -> None:
    a, b = (FIG3["set_sizes"][p] for p in pair.split("-"))
    shared, union, _ = FIG3["pairs"][pair]
    expected = pytest.approx(FIG3["derived"]["cohen_kappa"][pair], abs=5e-5)
    assert cohen_kappa([[shared, a - shared], [b - shared, FIG3["n"] - union]]) == expected
    assert overlap_of_counts(FIG3["n"], a, b, shared).kappa == expected


def test_fig3_from_labels_gives_every_printed_number() -> None:
    answers = fig3()
    cases = clear_cases(answers)
    sets = yes_sets(answers)
    assert len(cases) == FIG3["n"]
    assert {p: len(s) for p, s in sets.items()} == FIG3["set_sizes"]
    matrix = overlap_matrix(sets, cases)
    found = {(x.first, x.second): x for x in rater_agreement(answers, repeats=20).pairs}
    for pair, (shared, union, jaccard) in FIG3["pairs"].items():
        a, b = pair.split("-")
        i, j = matrix.names.index(a), matrix.names.index(b)
        assert (matrix.pairs[i][j].shared, matrix.pairs[i][j].union) == (shared, union)
        assert round(matrix.jaccard()[i, j], 2) == jaccard == round(matrix.jaccard()[j, i], 2)
        both = found[tuple(sorted((a, b)))]
        assert (both.shared, both.union, both.n) == (shared, union, FIG3["n"])
        assert both.kappa.value == pytest.approx(FIG3["derived"]["cohen_kappa"][pair], abs=5e-5)


def test_fig3_people_without_experience_say_y_only_where_b_does() -> None:
    sets = yes_sets(fig3())
    assert all(sets[p] <= sets["B"] for p in FIG3["derived"]["subsets_of_B"])


@pytest.mark.parametrize("triple", FIG3["derived"]["researchers"]["triple_intersection"])
def test_fig3_researchers(triple: int) -> None:
    # The printed pairs leave two ways to fill the three sets; both give the same figures.
    size, expected = FIG3["set_sizes"], FIG3["derived"]["researchers"]
    ad, ab, db = (FIG3["pairs"][p][0] - triple for p in ("A-D", "A-B", "D-B"))
    alone = {p: size[p] - triple - x for p, x in (("A", ad + ab), ("D", ad + db), ("B", ab + db))}
    sets = {"ADB": triple, "AD": ad, "AB": ab, "DB": db, **alone}
    assert min(sets.values()) >= 0
    union = sum(sets.values())
    found = rater_agreement(sized({**sets, "": FIG3["n"] - union}, "ADB"), repeats=200)
    assert union in expected["triple_union"]
    assert sum(r.yes for r in found.raters) == expected["votes_yes"]
    assert (found.unanimous, found.compared - found.unanimous) == (expected["unanimous"], expected["non_unanimous"])
    assert found.overlap.value == pytest.approx(expected["unanimous_rate"], abs=5e-5)
    assert found.exclude.pairwise.value == pytest.approx(expected["pairwise_agreement"], abs=5e-7)
    assert found.exclude.kappa.value == pytest.approx(expected["fleiss_kappa"], abs=5e-7)
    assert found.overlap.low < found.overlap.value < found.overlap.high


def test_fig3_no_third_way_to_fill_the_sets_of_the_researchers() -> None:
    size, shared = FIG3["set_sizes"], {p: FIG3["pairs"][p][0] for p in ("A-D", "A-B", "D-B")}
    fits = [
        t
        for t in range(FIG3["n"] + 1)
        if min(
            *(s - t for s in shared.values()),
            size["A"] - shared["A-D"] - shared["A-B"] + t,
            size["D"] - shared["A-D"] - shared["D-B"] + t,
            size["B"] - shared["A-B"] - shared["D-B"] + t,
        )
        >= 0
    ]
    assert fits == FIG3["derived"]["researchers"]["triple_intersection"]


def test_fig3_all_five() -> None:
    found, expected = rater_agreement(fig3(), repeats=20), FIG3["derived"]["all_five"]
    assert sum(r.yes for r in found.raters) == expected["votes_yes"]
    assert found.exclude.pairwise.value == pytest.approx(expected["pairwise_agreement"], abs=5e-7)
    assert found.exclude.kappa.value == pytest.approx(expected["fleiss_kappa"], abs=5e-7)


# The two figures of section 4.1


@pytest.mark.parametrize("which", ["yes_votes", "yes_votes_mirror"])
def test_text_agreement(which: str) -> None:
    printed, expected = V["text_agreement"]["printed"], V["text_agreement"]["derived"]
    split, votes = expected["n"] - expected["unanimous"], expected[which]
    two, all_yes = next((t, a) for t in range(split + 1) for a in range(expected["unanimous"] + 1) if 3 * a + 2 * t + (split - t) == votes)
    counts = [[3, 0]] * all_yes + [[0, 3]] * (expected["unanimous"] - all_yes) + [[2, 1]] * two + [[1, 2]] * (split - two)
    assert sum(c[0] for c in counts) == votes
    assert pairwise_agreement(counts) == pytest.approx(expected["pairwise_agreement"], abs=5e-7)
    assert fleiss_kappa(counts) == pytest.approx(expected["kappa_exact"], abs=5e-7)
    assert krippendorff_alpha(counts) == pytest.approx(expected["krippendorff_alpha_nominal"], abs=5e-7)
    assert round(fleiss_kappa(counts) or 0, 4) == printed["fleiss_kappa"]
    rows = {"ABC"[k]: {f"c{i}": "Y" if k < yes else "N" for i, (yes, _) in enumerate(counts)} for k in range(3)}
    assert round(100 * (rater_agreement(rows, repeats=20).overlap.value or 0), 2) == printed["overlap_rate_pct"]


def test_text_agreement_has_one_solution_in_whole_numbers() -> None:
    printed, found = V["text_agreement"]["printed"], set()
    for n in range(1, N + 1):
        for unanimous in range(n + 1):
            if round(100 * unanimous / n, 2) != printed["overlap_rate_pct"]:
                continue
            p = (unanimous + (n - unanimous) / 3) / n
            for votes in range(n - unanimous, 3 * unanimous + 2 * (n - unanimous) + 1):
                share = votes / (3 * n)
                chance = share**2 + (1 - share) ** 2
                if chance < 1 and round((p - chance) / (1 - chance), 4) == printed["fleiss_kappa"]:
                    found.add((n, unanimous, votes))
    d = V["text_agreement"]["derived"]
    one = {(d["n"], d["unanimous"], d["yes_votes"]), (d["n"], d["unanimous"], d["yes_votes_mirror"])}
    # The cases on which none of five people was unsure are among those on which none of three was: at least 108, which rules out
    # the other solution, with half of all counts.
    assert {x for x in found if x[0] >= FIG3["n"]} == one
    assert found - one == {tuple(k // 2 for k in x) for x in one}


# Table 4: how far the worst tails of two planners overlap


@pytest.mark.parametrize(("metric", "percent"), list(itertools.product(("ade5", "rfs"), TABLE4["k"])))
def test_table4_worst_tails(metric: str, percent: int) -> None:
    k = tail_size(N, percent)
    union, shared, share = TABLE4[metric][percent]
    assert k == TABLE4["k"][percent]
    found = overlap_of_counts(N, k, k, shared)
    assert found.union == union
    assert round(100 * (found.of_first or 0), 2) == round(100 * (found.of_second or 0), 2) == share
    at = list(TABLE4["k"]).index(percent)
    assert found.jaccard == pytest.approx(TABLE4["derived_jaccard"][metric][at], abs=5e-5)


def test_table4_fits_no_other_rounding_of_the_size() -> None:
    sizes = list(TABLE4["k"].values())
    assert [math.floor(N * x / 100) for x in TABLE4["k"]] != sizes
    assert [round(N * x / 100) for x in TABLE4["k"]] != sizes


def test_table4_scenes_with_threats() -> None:
    e = TABLE4["natr"]
    found = overlap_of_counts(N, e["rap"], e["poutine"], e["shared"])
    assert found.union == e["union"]
    assert round(100 * (found.of_first or 0), 2) == e["over_rap_pct"]
    assert round(100 * (found.of_second or 0), 2) == e["over_poutine_pct"]
    assert found.jaccard == pytest.approx(e["jaccard"], abs=5e-7)


@pytest.mark.parametrize("name", TABLE4["derived_chance_corrected"])
def test_table4_corrected_for_chance(name: str) -> None:
    if name == "natr":
        found = overlap_of_counts(N, TABLE4["natr"]["rap"], TABLE4["natr"]["poutine"], TABLE4["natr"]["shared"])
    else:
        metric, percent = name.split("_")
        k = TABLE4["k"][int(percent)]
        found = overlap_of_counts(N, k, k, TABLE4[metric][int(percent)][1])
    e = TABLE4["derived_chance_corrected"][name]
    assert found.expected == pytest.approx(e["expected"], abs=5e-4)
    assert found.lift == pytest.approx(e["lift"], abs=5e-4)
    assert found.kappa == pytest.approx(e["kappa"], abs=5e-5)
    # Among the worst 10 % by RFS, chance alone gives as many shared scenes 7 times in 100.
    assert found.p == pytest.approx(0.07, abs=5e-4) if name == "rfs_10" else (found.p or 0) < 0.05


# Figure 6a: shares of failure sets


def test_fig6a_shares_are_those_of_sets() -> None:
    m = np.array(FIG6["M"]) / 100
    assert (np.diag(m) == 1).all()
    errors = [abs(m[i, j] * m[j, k] * m[k, i] / (m[j, i] * m[k, j] * m[i, k]) - 1) for i, j, k in itertools.permutations(range(5), 3)]
    assert max(errors) == pytest.approx(FIG6["derived"]["max_identity_error"], abs=1e-4)
    off = m[~np.eye(5, dtype=bool)] * 100
    assert (off.min(), off.max()) == (FIG6["derived"]["min_off_diagonal"], FIG6["derived"]["max_off_diagonal"])
    # M[i, j] / M[j, i] = |Fi| / |Fj|: sizes against the first planner's.
    assert (m[:, 0] / m[0, :]).tolist() == pytest.approx(FIG6["derived"]["relative_set_size"], abs=2e-3)
    # The largest set of failures belongs to the planner with the second best mean.
    assert FIG6["order"][int(np.argmax(m[:, 0] / m[0, :]))] == "DriveVLA-W0"


def test_fig6a_from_sizes() -> None:
    m, sizes = np.array(FIG6["M"]), [round(10_000 * x) for x in FIG6["derived"]["relative_set_size"]]
    for i, j in itertools.combinations(range(5), 2):
        found = overlap_of_counts(100_000, sizes[i], sizes[j], round(m[i, j] / 100 * sizes[j]))
        assert 100 * (found.of_second or 0) == pytest.approx(m[i, j], abs=0.05)
        assert 100 * (found.of_first or 0) == pytest.approx(m[j, i], abs=0.15)
        assert found.jaccard == pytest.approx(1 / (100 / m[i, j] + 100 / m[j, i] - 1), abs=1e-3)
        if (i, j) == (0, 1):
            assert round(found.jaccard or 0, 3) == FIG6["derived"]["jaccard_DD_WoTE"]


# Table 1 and Figure 14: rates


@pytest.mark.parametrize("planner", TABLE1["derived"]["threat_scenes"])
def test_table1_natr_and_its_categories(planner: str) -> None:
    *categories, _, printed = TABLE1[planner]
    found = threat_rate(N, TABLE1["derived"]["threat_scenes"][planner], 0, EVERY)
    assert round(found.natr or 0, 2) == printed
    rates = [1 - c for c in categories]
    assert sum(rates) == pytest.approx(TABLE1["derived"]["category_rate_sum"][planner])
    assert max(rates) <= (found.rate or 0) + 0.01
    assert (found.rate or 0) <= sum(rates) + TABLE1["derived"]["rounding"]


def test_table1_planners_stand_in_opposite_order_by_ade_and_by_natr() -> None:
    straight = np.c_[np.arange(1, 21) * 2.5, np.zeros(20)]
    off = {p: Trajectory.of(straight + np.array([0, TABLE1[p][-2]])) for p in TABLE1["derived"]["threat_scenes"]}
    table = measure([Case(p, "s", p, 0.25, Trajectory.of(straight), way, Ego(10.0)) for p, way in off.items()], repeats=20)
    found = {s.planner_id: s.shared_mean or 0 for s in table.summaries if s.metric == "ade_5s_expert"}
    assert {p: round(x, 2) for p, x in found.items()} == {p: TABLE1[p][-2] for p in off}
    # The planner nearest to the expert adds threats most often.
    assert sorted(found, key=found.__getitem__) == sorted(off, key=lambda p: TABLE1[p][-1])


def test_the_sets_of_scenes_with_threats_are_three() -> None:
    for name, planner in (("poutine", "Poutine"), ("rap", "RAP")):
        sizes = [TABLE4["natr"][name], TABLE1["derived"]["threat_scenes"][planner], V["fig14_judge"][planner]["H"]]
        assert len(set(sizes)) == 3
        assert sizes[1] > sizes[0] and sizes[1] > sizes[2] + V["fig14_judge"][planner]["A"]


def test_table1_rates_of_categories_hem_in_the_rate_of_all() -> None:
    taxonomy = load_taxonomy()
    ids = [t.id for t in taxonomy.threats]
    rng = np.random.default_rng(4)
    some = [frozenset(rng.choice(ids, rng.integers(0, 4))) for _ in range(60)]
    verdicts = [Verdict(f"c{k}", f"s{k}", "p", "has_threat" if t else "no_threat", t) for k, t in enumerate(some)]
    (rates,) = natr(verdicts, taxonomy, repeats=20).planners
    for level in ("supercategory", "group", "threat"):
        parts = [r.rate or 0 for r in rates.level(level)]
        assert max(parts) <= (rates.overall.rate or 0) <= sum(parts)


@pytest.mark.parametrize("planner", V["fig14_judge"])
def test_fig14_counts_every_scene_and_stays_below_table1(planner: str) -> None:
    c = V["fig14_judge"][planner]
    assert c["H"] + c["N"] + c["A"] == N
    found = threat_rate(N, c["H"], c["A"], EVERY)
    assert found.bounds is not None
    assert (found.bounds.low, found.bounds.high) == (c["H"] / N, (c["H"] + c["A"]) / N)
    assert found.rate == c["H"] / (N - c["A"])
    # The conflict inside the paper: even if every abstention were a threat, the rate stays below that of Table 1.
    assert found.bounds.high < 1 - TABLE1[planner][-1]


# Figure 11: time for a label


def test_label_time_of_the_whole_set() -> None:
    e = V["label_time_s"]
    for which, minutes in e["derived"]["minutes_151"].items():
        found = label_times([LabelTime(e[which])] * 3, repeats=20)
        assert found.minutes(N) == pytest.approx(minutes, abs=6e-3)
        assert (found.minutes(N) or 0) < e["derived"]["less_than_minutes"]


def test_label_time_figures_can_stand_together() -> None:
    # 151 times with the printed P50 and P90 whose mean up to P90 and mean are the printed ones.
    e = V["label_time_s"]
    top = (e["mean"] * N - e["mean_0_90"] * 136) / 15
    assert top > e["p90"]
    times = [3.0] * 75 + [e["p50"]] + [(e["mean_0_90"] * 136 - 3.0 * 75 - e["p50"] - e["p90"]) / 59] * 59 + [e["p90"]] + [top] * 15
    found = label_times([LabelTime(t) for t in times], repeats=20)
    figures = [m.value for m in (found.p50, found.p90, found.mean_to_p90, found.mean)]
    assert figures == pytest.approx([e["p50"], e["p90"], e["mean_0_90"], e["mean"]])


# Figure 5: bins


@pytest.mark.parametrize("metric", ["ade3", "ade5", "fde"])
def test_fig5_bins_of_displacement_have_equal_ratio(metric: str) -> None:
    centres = V["fig5_bins"][metric]
    ratio = (centres[-1] / centres[0]) ** (1 / 9)
    assert ratio == pytest.approx(V["fig5_bins"]["derived"]["ratio"][metric], abs=5e-5)
    edges = bin_edges([], "log", 10, centres[0] / math.sqrt(ratio), centres[-1] * math.sqrt(ratio))
    found = np.sqrt(edges[1:] * edges[:-1])
    assert found == pytest.approx(centres, rel=6e-3)


def test_fig5_bins_of_rfs_have_equal_width() -> None:
    low, high = V["fig5_bins"]["derived"]["rfs_range"]
    edges = bin_edges([], "linear", 10, low, high)
    assert np.diff(edges) == pytest.approx(V["fig5_bins"]["derived"]["rfs_width"])
    assert (edges[1:] + edges[:-1]) / 2 == pytest.approx(V["fig5_bins"]["rfs"])


def test_fig5_top_bin_of_rfs() -> None:
    # 40 % of the scenes in the best bin have a threat: 2 of 5, say; the interval tells how little 5 scenes prove.
    pct = V["fig5_bins"]["printed_top_rfs_bin_threat_pct"]
    values = {f"s{k}": 9.5 + 0.1 * k for k in range(5)} | {"low": 4.0}
    statuses = {s: "has_threat" if s in ("s0", "s1", "low") else "no_threat" for s in values}
    (found,) = binned_rates({"p": values}, {"p": statuses}, "linear", low=4.0, high=10.0)
    top = found.bins[-1]
    assert (100 * (top.rate or 0), top.n) == (pct, 5)
    assert top.interval is not None
    assert (top.interval.low, top.interval.high) == pytest.approx((0.1176, 0.7693), abs=5e-5)


# Rater Feedback Score

T = np.arange(1, 21) * 0.25
STRAIGHT = np.c_[10 * T, 0 * T]


@pytest.mark.parametrize(("case", "speed", "floor"), [("v0_11", 11.0, 4.0), ("v0_0_floor0", 0.0, 0.0)])
def test_rfs_of_shifted_trajectories(case: str, speed: float, floor: float) -> None:
    for shift, expected in V["rfs_synthetic"][case].items():
        moved = STRAIGHT + [float(x) for x in shift.split(",")]
        assert rater_feedback(moved, [(STRAIGHT, 10.0)], speed, 0.25, floor=floor).value == pytest.approx(expected, abs=5e-7), shift


def test_rfs_takes_the_best_rated_trajectory_at_each_time_apart() -> None:
    e = V["rfs_synthetic"]["split"]
    first, second = (np.c_[10 * T, slope * T] for slope, _ in (e["first"], e["second"]))
    both = np.where((T <= 3)[:, None], first, second)
    found = rater_feedback(both, [(first, e["first"][1]), (second, e["second"][1])], e["v0"], 0.25)
    assert found.value == pytest.approx(e["score"])
    assert not found.inside


def test_rfs_scale() -> None:
    assert {v: speed_scale(v) for v in V["rfs_synthetic"]["scale"]} == pytest.approx(V["rfs_synthetic"]["scale"])
