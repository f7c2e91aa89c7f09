"""The order of one person: every case once, checks hidden and apart, and the same whatever is added."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.labels.order import GAP, LEAST_CASES, checks_for, labelling_order, ranked
from core.labels.pool import Entry
from core.labels.state import Slot


def cases(n: int, prefix: str = "c") -> list[Entry]:
    return [Entry(f"{prefix}{i}", f"s{i // 3}", f"p{i % 3}") for i in range(n)]


def gold(n: int) -> list[Entry]:
    return [Entry(f"g{i}", f"gs{i}", "p", "calibration", "Y" if i % 2 else "N") for i in range(n)]


def test_numbers_of_checks():
    assert [checks_for(n) for n in (0, 7, 8, 16, 29, 30, 100, 151)] == [0, 0, 1, 1, 1, 2, 5, 8]


def test_small_sets_have_no_checks_and_the_empty_one_nothing():
    assert labelling_order([], gold(9), "x") == ()
    assert labelling_order(cases(1), gold(9), "x") == (Slot("c0"),)
    assert {s.name for s in labelling_order(cases(LEAST_CASES - 1), gold(9), "x")} == {"main"}


@settings(max_examples=30, deadline=None)
@example(n=9, golds=2, seed="\U00070b6e1\x82\x02")  # the only place of a repeat was once taken by a probe
@given(n=st.integers(0, 260), golds=st.integers(0, 40), seed=st.text(max_size=5))
def test_every_case_once_and_checks_apart(n: int, golds: int, seed: str) -> None:
    order = labelling_order(cases(n), gold(golds), seed)
    assert len(set(order)) == len(order)
    main = [s.case_id for s in order if s.name == "main"]
    assert sorted(main) == sorted(f"c{i}" for i in range(n))
    repeats, probes = ([s for s in order if s.name == name] for name in ("repeat", "gold"))
    assert len(probes) == min(golds, checks_for(n))
    assert len(repeats) == checks_for(n)
    assert all(order[i].name == "main" or order[i + 1].name == "main" for i in range(len(order) - 1))
    assert not order or order[0].name == "main"
    for s in repeats:
        between = order[order.index(Slot(s.case_id)) + 1 : order.index(s)]
        assert sum(x.name == "main" for x in between) >= min(GAP, n // 2)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(0, 80), more=st.integers(0, 80))
def test_cases_keep_their_order_when_others_are_added(n: int, more: int) -> None:
    before = [s for s in labelling_order(cases(n), gold(10), "x") if s.name == "main"]
    after = labelling_order([*cases(more, "new"), *reversed(cases(n))], gold(10), "x")
    assert [s for s in after if s in set(before)] == before


def test_the_order_depends_on_the_person_and_on_nothing_else():
    assert labelling_order(cases(60), gold(9), "ann") == labelling_order(cases(60)[::-1], gold(9)[::-1], "ann")
    assert labelling_order(cases(60), gold(9), "ann") != labelling_order(cases(60), gold(9), "bob")
    assert ranked("ann", "main", ["a\ud800", "b"]) in (["a\ud800", "b"], ["b", "a\ud800"])  # a case id may hold anything


def test_probes_that_were_seen_in_calibration_come_last():
    seen = {f"g{i}" for i in range(9)}
    probes = [s.case_id for s in labelling_order(cases(100), gold(12), "ann", avoid=seen) if s.name == "gold"]
    assert {"g9", "g10", "g11"} < set(probes)
    assert len(probes) == 5


def test_checks_are_spread_over_the_queue():
    order = labelling_order(cases(200), gold(30), "ann")
    before = [sum(x.name == "main" for x in order[:i]) for i, s in enumerate(order) if s.name == "gold"]
    assert len(before) == 10
    assert all(20 * k < n <= 20 * (k + 1) for k, n in enumerate(before))  # one in each twenty cases
