"""Hypotheses proposed from the page of error slices: from the data without a model, from a model with its cost first."""

from __future__ import annotations

import json

import pytest

from core.operators import slices
from core.operators.slices import keep_detections
from tests.apptest import open_page, run_until, text
from tests.error_slices.test_generate import covered
from tests.stub_llm import text as answered


@pytest.fixture
def saved(store):
    return keep_detections(store, covered(80).detections, name="Covered cars")


def done(app):
    """The page once the work behind it is over."""
    return run_until(app, lambda: all(b.key != "propose_stop" for b in app.button))


def test_fixed_sentences_are_proposed_and_taken(store, saved):
    app = open_page("slices", detections=saved.id)
    app.button(key="propose_start").click().run()
    done(app)
    said = text(app)
    assert "The car is partly hidden by a person." in said
    assert "no model was asked" in said
    app.button(key="propose_add").click().run()
    assert not app.exception
    added = [h for h in slices.hypotheses_of(store, saved.id) if h.origin == "data"]
    assert [(h.text, h.half_only) for h in added] == [("The car is partly hidden by a person.", True)]
    assert "All that was proposed is in the list." in text(app)


def test_a_model_is_asked_after_its_cost_is_shown(store, saved, stub_llm, monkeypatch):
    for name, value in stub_llm.environment("llm").items():
        monkeypatch.setenv(name, value)
    entry = {
        "text": "The car carries skis on its roof.",
        "error": "FN",
        "category": "intrinsic visual difficulty",
        "classes": ["car"],
        "rationale": "Rare.",
    }
    stub_llm.script = lambda r: answered(json.dumps({"hypotheses": [entry, {**entry, "text": "The detector fails."}]}))
    app = open_page("slices", detections=saved.id)
    app.selectbox(key="propose_from").set_value("knowledge").run()
    assert app.button(key="propose_plan").disabled
    app.text_area(key="propose_task").set_value("Finding cars.").run()
    app.button(key="propose_plan").click().run()
    assert "1 call; about" in text(app) and "no price is named" in text(app)
    assert not stub_llm.asked
    app.button(key="propose_start").click().run()
    done(app)
    said = text(app)
    assert "The car carries skis on its roof." in said and "speaks of the outcome" in said
    app.checkbox(key=next(c.key for c in app.checkbox if c.key and c.key.startswith("propose-kd_"))).uncheck().run()
    assert app.button(key="propose_add").disabled


def test_without_a_model_it_says_what_is_missing(saved):
    app = open_page("slices", detections=saved.id)
    app.selectbox(key="propose_from").set_value("data").run()
    app.text_area(key="propose_task").set_value("Finding cars.").run()
    app.button(key="propose_plan").click().run()
    assert not app.exception
    assert "No language model is connected." in text(app)
