"""The command `slices propose`: without a model at once, with one only after its cost."""

from __future__ import annotations

import json

import pytest

from core.cli.app import main
from core.errors import InputError
from core.llm import Connection, Price, connections
from core.operators import slices
from core.operators.slice_generate import plan_proposal, propose_hypotheses
from core.operators.slices import keep_detections
from tests.error_slices.test_generate import able, covered
from tests.error_slices.vision_scene import scene
from tests.stub_llm import text

ENTRY = {"text": "The car carries skis on its roof.", "error": "FN", "category": "intrinsic visual difficulty", "classes": ["any"]}


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended:
        main(["slices", "propose", *args, "--json"])
    out = capsys.readouterr()
    assert ended.value.code == 0, out.err
    return json.loads(out.out)


def connect(store, stub, *roles):
    for role in roles:
        connections.save(store, Connection(role, stub.url, "stub-model", price=Price(1.0, 2.0, currency="EUR")))


def test_templates_need_no_model_and_can_be_added(store, capsys):
    keep_detections(store, covered(80).detections, name="cars")
    found = run(capsys, "cars", "--add")
    assert [h["text"] for h in found["hypotheses"]] == ["The car is partly hidden by a person."]
    assert any(h.text == "The car is partly hidden by a person." for h in slices.hypotheses_of(store, store.detections.list()[0].id))
    again = run(capsys, "cars")
    assert again["hypotheses"] == []
    assert any("nearly the same" in x["why"] for x in again["left_out"])


def test_a_model_is_asked_only_with_yes(store, capsys, stub_llm):
    keep_detections(store, covered().detections, name="cars")
    connect(store, stub_llm, "llm")
    stub_llm.script = lambda r: text(json.dumps({"hypotheses": [ENTRY]}))
    told = run(capsys, "cars", "--from", "knowledge", "--task", "Finding cars.")
    assert told["sent"] is False and told["plan"]["calls"] == 1 and told["plan"]["currency"] == "EUR"
    assert not stub_llm.asked
    found = run(capsys, "cars", "--from", "knowledge", "--task", "Finding cars.", "--yes")
    assert [h["text"] for h in found["hypotheses"]] == [ENTRY["text"]]


def test_the_plan_of_captions_is_what_is_sent_at_most(store, stub_llm, tmp_path):
    units = scene(tmp_path / "pictures", 30)
    saved = keep_detections(store, units.detections, name="scenes")
    connect(store, stub_llm, "llm", "tagger")
    stub_llm.script = able
    plan = plan_proposal(store, saved.id, "data")
    assert plan.cost is not None and plan.picture_calls > 10
    out = propose_hypotheses(store, saved.id, "data", task="Finding cars.")
    assert out.calls["new"] <= plan.text_calls + plan.picture_calls
    assert out.cost is not None


def test_what_is_missing_is_said(store):
    saved = keep_detections(store, covered().detections, name="cars")
    with pytest.raises(InputError, match="No language model is connected"):
        plan_proposal(store, saved.id, "knowledge")
    with pytest.raises(InputError, match="got"):
        plan_proposal(store, saved.id, "stars")
