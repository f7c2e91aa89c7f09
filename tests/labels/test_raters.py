"""Agreement of several people on Y, N and Unsure: policies by hand, pairs, what is left out."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.labels.agreement import fleiss_kappa, krippendorff_alpha
from core.labels.raters import clear_cases, cohen_kappa, rater_agreement, yes_sets

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared/data/kappa_golden/kappa_golden.json"


def people(**rows: str) -> dict[str, dict[str, Any]]:
    """Labels by person, one letter a case; a dot is no label."""
    return {p: {str(k): x for k, x in enumerate(row) if x != "."} for p, row in rows.items()}


@pytest.mark.skipif(not GOLDEN.is_file(), reason="the golden file with published values is not on this machine")
def test_cohen_kappa_of_the_published_value() -> None:
    golden = json.loads(GOLDEN.read_text())
    assert cohen_kappa(golden["cohen_table"]) == pytest.approx(golden["expected_cohen"], abs=5e-5)


def test_cohen_kappa_by_hand() -> None:
    # 20 both yes, 15 both no, 15 apart of 50: .7 against .3 + .2 = .5 by chance.
    assert cohen_kappa([[20, 5], [10, 15]]) == pytest.approx(0.4)
    assert cohen_kappa([[5, 0], [0, 5]]) == 1
    assert cohen_kappa([[0, 5], [5, 0]]) == -1


@pytest.mark.parametrize("table", [[[5, 0], [0, 0]], [[0, 0], [0, 0]]])
def test_cohen_kappa_that_is_not_defined(table: Any) -> None:
    assert cohen_kappa(table) is None


def test_no_square_table() -> None:
    with pytest.raises(ValueError, match="square"):
        cohen_kappa([[1, 2]])


def test_policies_by_hand() -> None:
    found = rater_agreement(people(a="YYNNUY", b="YNNN.U", c="YYNUU."), repeats=100)
    # Cases 0 to 2 have three clear answers, 3 and 4 and 5 somebody unsure.
    assert (found.cases, found.single, found.with_unsure, found.compared, found.unanimous) == (6, 0, 3, 3, 2)
    assert found.overlap.value == pytest.approx(2 / 3)
    clear = [[3, 0], [2, 1], [0, 3]]
    assert (found.exclude.kappa.value, found.exclude.questions) == (pytest.approx(fleiss_kappa(clear)), 3)
    third = [[3, 0, 0], [2, 1, 0], [0, 3, 0], [0, 2, 1], [0, 0, 2], [1, 0, 1]]
    assert (found.as_class.kappa.value, found.as_class.questions) == (pytest.approx(fleiss_kappa(third)), 6)
    # As a missing answer, case 3 still has two N; 4 and 5 have less than two answers.
    missing = [[3, 0], [2, 1], [0, 3], [0, 2]]
    assert (found.missing.alpha.value, found.missing.questions) == (pytest.approx(krippendorff_alpha(missing)), 4)
    assert [(r.id, r.yes, r.no, r.unsure, r.n) for r in found.raters] == [("a", 3, 2, 1, 6), ("b", 1, 3, 1, 5), ("c", 2, 1, 2, 5)]


def test_pairs_by_hand() -> None:
    (p,) = rater_agreement(people(a="YYYNNU", b="YYNNUU"), repeats=100).pairs
    assert (p.both, p.n, p.shared, p.union, p.jaccard) == (6, 4, 2, 3, pytest.approx(2 / 3))
    assert p.same.value == 0.75
    assert p.kappa.value == pytest.approx(cohen_kappa([[2, 1], [0, 1]]))
    assert p.kappa_as_class.value == pytest.approx(cohen_kappa([[2, 1, 0], [0, 1, 1], [0, 0, 1]]))


def test_full_agreement_on_few_cases_is_no_certainty() -> None:
    found = rater_agreement(people(a="YNYN", b="YNYN"), repeats=20)
    assert (found.overlap.value, found.pairs[0].same.value, found.overlap.high) == (1, 1, 1)
    assert found.overlap.low == found.pairs[0].same.low == pytest.approx(4 / (4 + 1.959963984540054**2))


def test_people_who_labelled_different_cases() -> None:
    found = rater_agreement(people(a="YY..", b="..NN"), repeats=20)
    assert (found.cases, found.single, found.compared, found.overlap.value) == (4, 4, 0, None)
    (p,) = found.pairs
    assert (p.both, p.n, p.kappa.value, p.jaccard) == (0, 0, None, None)
    assert clear_cases(people(a="YY.", b=".YN")) == ("1",)


def test_one_person_and_nobody() -> None:
    one = rater_agreement(people(a="YNU"), repeats=20)
    assert (one.single, one.pairs, one.exclude.kappa.value) == (3, (), None)
    none = rater_agreement({}, repeats=20)
    assert (none.raters, none.cases, none.overlap.value) == ((), 0, None)
    assert (clear_cases({}), yes_sets({})) == ((), {})


def test_clear_cases_and_yes_sets() -> None:
    answers = people(a="YYNUY", b="YNYYY", c="YYYYU")
    assert clear_cases(answers) == ("0", "1", "2")
    assert yes_sets(answers) == {"a": {"0", "1"}, "b": {"0", "2"}, "c": {"0", "1", "2"}}
    assert yes_sets(answers, ("4",)) == {"a": {"4"}, "b": {"4"}, "c": frozenset()}


def test_the_interval_of_kappa_is_that_over_cases() -> None:
    rng = np.random.default_rng(2)
    rows = ["".join(rng.choice(list("YN"), 60)) for _ in range(1)]
    other = "".join(x if rng.random() < 0.8 else "YN"[x == "Y"] for x in rows[0])
    (p,) = rater_agreement(people(a=rows[0], b=other), repeats=5000).pairs
    pairs = np.array([("YN".index(x), "YN".index(y)) for x, y in zip(rows[0], other, strict=True)])
    drawn = []
    for _ in range(3000):
        table = np.zeros((2, 2), dtype=int)
        np.add.at(table, tuple(pairs[rng.integers(0, 60, 60)].T), 1)
        drawn.append(cohen_kappa(table))
    assert (p.kappa.low, p.kappa.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.03)


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn, a second opinion, is not installed")
@given(st.lists(st.tuples(st.sampled_from("YNU"), st.sampled_from("YNU")), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_cohen_kappa_is_that_of_scikit_learn(said: list[tuple[str, str]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    (p,) = rater_agreement(people(a="".join(x for x, _ in said), b="".join(y for _, y in said)), repeats=5).pairs
    for found, pairs in ((p.kappa_as_class, said), (p.kappa, [s for s in said if "U" not in s])):
        if found.value is None:
            assert len({x for s in pairs for x in s}) < 2
        else:
            assert found.value == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)), abs=1e-12)


@given(st.lists(st.text("YNU.", min_size=6, max_size=6), min_size=2, max_size=4))
@settings(max_examples=40, deadline=None)
def test_what_holds_for_all(rows: list[str]) -> None:
    answers = people(**{f"p{k}": row for k, row in enumerate(rows)})
    found = rater_agreement(answers, repeats=30)
    assert found.cases == found.single + found.with_unsure + found.compared
    assert found.unanimous <= found.compared == found.exclude.questions
    for p in found.pairs:
        turned = rater_agreement({p.first: answers[p.second], p.second: answers[p.first]}, repeats=30).pairs[0]
        assert (p.kappa.value, p.shared, p.union) == (turned.kappa.value, turned.shared, turned.union)
        assert p.shared <= p.union <= p.n <= p.both
