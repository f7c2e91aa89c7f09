"""Matching by a vision model from the page "Error slices": the cost first, then the run, then the rows that it made testable."""

from __future__ import annotations

import pytest

from core.operators import slices
from core.operators.slice_report import SliceSettings
from tests.apptest import open_page, run_until, text
from tests.error_slices.vision_scene import ABLE, scene

CHILD = "iv_unusual_vehicle"


@pytest.fixture
def saved(store, tmp_path):
    return slices.keep_detections(store, scene(tmp_path / "pictures", images=6).detections)


@pytest.fixture
def model(stub_llm, monkeypatch):
    stub_llm.script = ABLE["logprob"]
    monkeypatch.setenv("ODDYSSEY_TAGGER_BASE_URL", stub_llm.url)
    monkeypatch.setenv("ODDYSSEY_TAGGER_MODEL", "stub-model")
    return stub_llm


def buttons(app):
    return {b.key for b in app.button}


def planned(saved):
    app = open_page("slices", detections=saved.id)
    app.multiselect(key=f"match_ids-{saved.id}").set_value([CHILD]).run()
    app.button(key="match_plan").click().run()
    assert not app.exception
    return app


def test_without_a_model_the_way_to_connect_one_is_shown(saved):
    app = open_page("slices", detections=saved.id)
    assert "No vision model is connected" in text(app)
    assert "slice_connections" in buttons(app) and "match_plan" not in buttons(app)


def test_the_cost_is_told_before_anything_is_sent(saved, model):
    app = planned(saved)
    said = text(app)
    assert "18 calls to send, 0 known already; about " in said
    assert "no price is named under Connections" in said
    assert "18 of 18" in said
    assert model.requests == []


def test_a_run_makes_its_hypotheses_testable(store, saved, model):
    app = planned(saved)
    app.button(key="match_start").click().run()
    run_until(app, lambda: "1 of 1 hypothesis scored" in text(app))
    assert "1 of 1 hypothesis scored, 0 partly; 18 calls sent, 0 known." in text(app)
    row = slices.slice_report(store, saved.id, SliceSettings()).row(CHILD)
    assert row is not None and row.scores is not None and row.scores.source == "logprob"
    assert "The vehicle has an unusual shape" in text(open_page("slices", detections=saved.id, source="logprob"))
    again = text(planned(saved))
    assert "0 calls to send, 18 known already" in again


def test_a_server_that_fails_is_told_and_nothing_is_lost(saved, model):
    from tests.stub_llm import error

    model.script = lambda request: error(401, "no such key")
    app = planned(saved)
    app.button(key="match_start").click().run()
    run_until(app, lambda: "no such key" in text(app))
    assert "What was answered before is kept." in text(app)


def test_a_model_that_needs_more_calls_than_shown_is_not_asked_and_the_cost_is_right_from_then_on(saved, model):
    from tests.error_slices.vision_scene import red

    model.script = ABLE["words"]
    app = planned(saved)
    assert "18 calls to send" in text(app)
    app.button(key="match_start").click().run()
    for _ in range(60):
        if "Only the test was sent" in text(app):
            break
        app.run()
    assert not app.exception
    assert "8 calls a question" in text(app)
    assert all(red(r) is not None for r in model.asked)
    again = text(planned(saved))
    assert "144 calls to send, 0 known already" in again
