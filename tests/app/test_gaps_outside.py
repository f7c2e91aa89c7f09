"""The Ranked gaps page outside the ODD: its address, its sentences and its arithmetic, without a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core import operators
from core.odd import built_in
from core.scoring import ScoringParameters, make_scope
from core.settings import Settings
from core.storage import open_store
from pages.shared import gaps_scope
from tests.apptest import open_page, text

ROOT = Path(__file__).parents[2]


@pytest.fixture
def demo(app) -> str:
    """The demo table in a workspace of this test's own."""
    store = open_store(Settings.from_environment())
    table = operators.load_demo(store)[0]
    store.close()
    return table.id


def test_the_whole_extension_is_ranked_and_told(demo):
    app = open_page("ranked_gaps", table=demo, scope="out")
    assert not app.exception
    said = text(app)
    assert "Outside the ODD, test" in said
    assert "91,441,920 missing of 91,441,920 slices outside the ODD" in said
    assert "all 51 extended values" in said
    assert "Never seen" in said
    assert "Though never seen, these count as more common than values that were" in said


def test_chosen_values_stand_in_the_address_and_are_the_only_ones_added(demo):
    app = open_page("ranked_gaps", table=demo, scope="out", x_time=["dusk"], x_road_condition=["icy", "puddles"])
    said = text(app)
    # 3,840 slices inside hold 2 times and 3 road conditions; with dusk, icy and puddles there are 3 and 5.
    assert "5,760 missing of 5,760 slices outside the ODD" in said
    assert "road condition: puddles, icy" in said
    assert "time: dusk" in said


@pytest.mark.parametrize(
    "params",
    [
        {"risk": "ridge"},
        {"rarity": "log"},
        {"novel": "unseen"},
        {"shrink": "shrunk"},
        {"risk": "ridge", "rarity": "log", "novel": "unseen", "shrink": "shrunk"},
    ],
)
def test_every_form_of_the_score_is_shown_with_its_own_arithmetic(demo, params):
    app = open_page("ranked_gaps", table=demo, scope="out", x_time="dusk", **params)
    assert not app.exception
    said = text(app)
    assert f"Scoring ({len(params)})" in [p.proto.popover.label for p in app.get("popover")]
    if params.get("risk") == "ridge":
        assert "effects fitted to all tested slices predict an error of" in said
        assert "For comparison only" in said
        assert "neighbour error" not in said
    if params.get("rarity") == "log":
        assert "log Π P" in said
    if params.get("shrink"):
        assert "Errors are shrunk towards" in said
        assert "measured 0." in said
    if params.get("novel"):
        assert "P is that of a count of zero" in said


def test_a_diversity_floor_and_the_rules_are_told(demo):
    said = text(open_page("ranked_gaps", table=demo, scope="out", ild="0.6", plausible="yes"))
    assert "floor 0.6 kept" in said
    assert "are called implausible by the ODD and left out" in said


def test_what_an_address_asks_for_in_vain_is_said(demo):
    said = text(open_page("ranked_gaps", table=demo, scope="beyond", x_time="duck", ild="7", rarity="none", x_thyme="a", tway="quads"))
    for word in ("scope = beyond", "x_time = duck", "ild = 7", "rarity = none", "x_thyme = a", "tway = quads"):
        assert word in said


def test_a_fixed_value_that_the_chosen_extension_does_not_have_is_said(demo):
    app = open_page("ranked_gaps", table=demo, scope="out", x_time="dawn", w_time=["dusk", "dawn"])
    assert "asks for w_time = dusk, which cannot be had" in text(app)
    assert "fixed: time" not in text(open_page("ranked_gaps", table=demo, scope="out", x_time="dawn", w_time="dusk"))
    assert "cannot be had" not in text(open_page("ranked_gaps", table=demo, scope="out", w_time="dusk"))


def test_fixed_values_that_leave_nothing_outside_the_odd_are_not_called_tested(demo):
    said = text(open_page("ranked_gaps", table=demo, scope="out", x_time="dawn", w_time="day"))
    assert "No slice of this view lies outside the ODD" in said
    assert "Exact over 0 missing of 0 slices outside the ODD" in said
    assert "were tested" not in said


def test_numbers_of_a_diverse_list_are_not_called_ranks(demo):
    said = text(open_page("ranked_gaps", table=demo, ild="0.6"))
    assert re.search(r"Why this one\s+number 1 of the 20 listed", said)
    assert "Diverse list of 20" in said
    assert re.search(r"\d+ of them stand in for slices with a higher score", said)
    assert re.search(r"Why this one\s+rank 1 of 3,540", text(open_page("ranked_gaps", table=demo, ild="0.1")))  # kept without a swap


def test_fixed_values_outside_the_odd_are_dropped_when_the_scope_is_inside_again(demo):
    app = open_page("ranked_gaps", table=demo, scope="out", w_time="dusk")
    assert "fixed: time: dusk" in text(app)
    app.session_state["scope"] = "in"
    app.run()
    assert not app.exception
    assert "Outside the ODD" not in text(app)
    assert "dusk" not in text(app)


def test_only_parameters_with_an_effect_are_counted_as_changed(demo):
    assert any(
        b.proto.popover.label == "Scoring (2)"
        for b in open_page("ranked_gaps", table=demo, scope="out", novel="unseen", beta="0.5").get("popover")
    )
    assert any(b.proto.popover.label == "Scoring" for b in open_page("ranked_gaps", table=demo, novel="unseen", beta="0.5").get("popover"))


def test_the_page_ranks_as_the_operator_does(demo):
    store = open_store(Settings.from_environment())
    seed = store.tables.load(demo)
    store.close()
    scope = make_scope(seed.odd, "out", ["time=dusk"])
    result = operators.rank(seed, ScoringParameters(risk="ridge"), Settings.from_environment(), scope=scope, top=20)
    shown = open_page("ranked_gaps", table=demo, scope="out", x_time="dusk", risk="ridge").dataframe[0].value
    assert shown["φ"].tolist() == pytest.approx(result.ranking.phi.tolist(), abs=1e-12)


def test_an_extension_is_named_in_words():
    odd = built_in()
    assert gaps_scope.in_words(odd, make_scope(odd, "out")) == "all 51 extended values"
    assert gaps_scope.in_words(odd, make_scope(odd, "out", ["time=dusk"])) == "time: dusk"
    assert gaps_scope.in_words(odd, make_scope(odd, "out", ["time"])) == "time: all 2"


def test_a_dimension_in_which_nothing_was_tested_but_one_value_is_said_to_have_no_effect(demo):
    listed = text(open_page("ranked_gaps", table=demo, scope="out", x_time="dusk", risk="ridge"))
    assert "road users present: no effect, since all tested slices have one value there" in listed
    shown = text(open_page("ranked_gaps", table=demo, scope="out", view="Effects"))
    assert "Left out: Road users present." in shown
    assert "Left out:" not in text(open_page("ranked_gaps", table=demo, view="Effects"))
