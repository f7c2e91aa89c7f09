"""Slices that are known against slices that were found."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from core.cli.app import app
from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image
from core.error_slices.known_slices import NO_ERROR, NO_UNIT, expert_slices, read_known
from core.error_slices.matching import make_units
from core.errors import InputError
from core.operators import slices
from core.operators.slice_precision import known_of, slice_precision
from core.settings import Settings
from core.storage import NewJudgement, open_store
from tests.stub_llm import text as answered


def tiny_ones_missed(images=60):
    """Six boxes an image; two of 12 to 24 px, missed the more often the smaller, whom an expert calls "tiny"; one false detection each."""
    rng = np.random.default_rng(4)
    image = np.repeat(np.arange(images), 6)
    tiny = np.tile(np.arange(6) < 2, images)
    side = np.where(tiny, rng.uniform(8, 30, len(image)), rng.uniform(50, 90, len(image)))
    x = np.tile(np.arange(6) * 150.0 + 20, images)
    boxes = np.stack([x, np.full_like(x, 480), x + side, 480 + side], axis=1)
    found = rng.random(len(image)) > np.where(tiny, 1 - side / 40, 0.1)
    false = np.stack([np.full(images, 40.0), np.full(images, 20.0), np.full(images, 140.0), np.full(images, 60.0)], axis=1)
    return DetectionSet(
        name="Tiny ones",
        model="planted",
        task="detection",
        classes=(ClassName("1", "car"),),
        images=tuple(Image(f"i{i}", f"{i}.jpg", 1000, 600) for i in range(images)),
        truth=Boxes.of(image, np.zeros_like(image), boxes, slices=tuple("tiny" if t else "" for t in tiny)),
        predictions=Boxes.of(
            np.r_[image[found], np.arange(images)],
            np.zeros(found.sum() + images),
            np.r_[boxes[found], false],
            score=np.full(found.sum() + images, 0.9),
            slices=("",) * int(found.sum()) + ("sky",) * images,
        ),
    )


@pytest.fixture
def store(workspace):
    opened = open_store(Settings.from_environment())
    yield opened
    opened.close()


@pytest.fixture
def report(store):
    return slices.slice_report(store, slices.keep_detections(store, tiny_ones_missed()).id)


def test_slices_of_experts_hold_the_errors_among_their_units():
    units = make_units(tiny_ones_missed())
    known = expert_slices(units)
    missed = {i for i in np.flatnonzero(units.kind == "FN").tolist() if units.detections.truth.slices[units.row[i]]}
    assert known.units["tiny"] == missed and len(known.units["sky"]) == 60
    assert known.left_out == {NO_ERROR: 120 - len(missed)}


def test_known_slices_are_read_with_what_they_mean():
    units = make_units(tiny_ones_missed(3))
    missed = [i for i, kind in zip(units.ids, units.kind, strict=True) if kind == "FN"]
    text = {
        "slices": {"a": {"units": [*missed, "gone"], "hypotheses": ["iv_small"], "category": "intrinsic_difficulty"}, "b": {"units": []}}
    }
    known = read_known(json.dumps(text), units)
    assert {units.ids[i] for i in known.units["a"]} == set(missed) and known.units["b"] == frozenset()
    assert (known.means, known.category, known.left_out) == ({"a": {"iv_small"}}, {"a": "intrinsic_difficulty"}, {NO_UNIT: 1})
    assert read_known(json.dumps({"a": missed}), units).units["a"] == known.units["a"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "no object"),
        ("{}", "no object"),
        ('{"a": 3, "b": {"units": ["x"], "hypotheses": 1}}', '"b"'),
        ('{"a": ["x", "y"]}', "Not one of the 2"),
    ],
)
def test_what_cannot_be_used_is_said(text, said):
    with pytest.raises(InputError) as e:
        read_known(text, make_units(tiny_ones_missed(2)))
    assert said in str(e.value)


def test_what_was_found_is_measured_against_what_is_known(report):
    got = slice_precision(report, known_of(report))
    accepted = [r for r in report.rows if r.tested and r.tested.verdict in ("verified", "elevated")]
    release = got.found["release"]
    assert release.slices == len(accepted) >= 1 and got.untested.slices > release.slices
    value = {f.truth: (f.value, f.best) for f in release.found}
    assert value["tiny"][0] == 1.0  # the smallest of what was missed is what the expert means
    # 60 false detections of 60 px and alike; whatever is accepted of predictions holds them and nothing else.
    assert value["sky"][0] in (0.0, 1.0)
    assert set(got.by_error) == {"false detections", "missed"} and got.by_error["missed"] == (1.0, 1)
    assert got.origins.alone["library"].mean == release.mean and got.relevance is None
    assert got.untested.mean >= release.mean >= got.capped["release"].mean
    json.dumps(got.to_json(), allow_nan=False)


def test_a_whole_image_says_less_than_the_instance(report):
    tiny = next(g for g in slice_precision(report, known_of(report)).grounded if g.truth == "tiny")
    # Every image has two tiny boxes of six: its highest score says nothing of which of its missed boxes is meant, but most missed are tiny.
    assert tiny.instance == 1.0 >= tiny.image
    assert tiny.instance_z > 3 and (tiny.image_z is None or tiny.image_z < tiny.instance_z)


def test_meaning_is_judged_where_the_known_slices_name_hypotheses(report):
    missed = sorted(known_of(report).units["tiny"])
    text = json.dumps({"slices": {"tiny": {"units": [report.units.ids[i] for i in missed], "hypotheses": ["iv_small"]}}})
    got = slice_precision(report, known_of(report, text))
    assert got.relevance.recall == 1.0 and got.relevance.precision == pytest.approx(1 / got.found["release"].slices)


def test_a_person_s_word_wins_over_the_tests(store, report):
    row = report.row("iv_small")
    assert row.tested.verdict == "verified"
    before = slice_precision(report, known_of(report)).found["release"].slices
    slices.judge(store, report.saved.id, [NewJudgement("judgement-1", "iv_small", "", "reject", "", "Ann", {})])
    after = slices.slice_report(store, report.saved.id)
    assert slice_precision(after, known_of(after)).found["release"].slices == before - 1


def test_without_known_slices_it_is_said(store):
    plain = tiny_ones_missed()
    plain = replace(plain, truth=replace(plain.truth, slices=None), predictions=replace(plain.predictions, slices=None))
    report = slices.slice_report(store, slices.keep_detections(store, plain).id)
    with pytest.raises(InputError, match="give a file"):
        known_of(report)


def test_the_command_says_the_figures_and_gives_them_as_json(store, report, tmp_path):
    run = CliRunner().invoke(app, ["slices", "precision", "Tiny ones"])
    assert run.exit_code == 0, run.output
    assert "2 known slices with errors" in run.output and "GH-ESD, Eq. 1" in run.output and "whole images" in run.output
    run = CliRunner().invoke(app, ["slices", "precision", "Tiny ones", "--json", "-k", "5"])
    assert json.loads(run.stdout)["k"] == 5
    run = CliRunner().invoke(app, ["slices", "precision", "Tiny ones", "--known", str(tmp_path / "none.json")])
    assert run.exit_code != 0


def test_a_judge_is_asked_what_found_slices_mean_only_with_a_yes(store, report, stub_llm, monkeypatch):
    command = ["slices", "precision", "Tiny ones", "--judge"]
    run = CliRunner().invoke(app, command)
    assert run.exit_code != 0 and "No judge is connected." in str(run.exception)
    for name, value in stub_llm.environment("judge").items():
        monkeypatch.setenv(name, value)
    small = report.row("iv_small").hypothesis.text
    stub_llm.script = lambda r: answered('{"means": [1]}' if small in r.last else '{"means": []}')
    found = slice_precision(report, known_of(report)).found["release"].slices
    said = CliRunner().invoke(app, command).output
    assert f"would get {found} calls at most" in said and not stub_llm.asked
    told = json.loads(CliRunner().invoke(app, [*command, "--yes", "--json"]).stdout)["judged"]
    assert len(stub_llm.asked) == found == told["calls"]["new"]
    assert (told["precision"], told["recall"], told["n"], told["unread"]) == (pytest.approx(1 / found), 0.5, [found, 2], 0)
    assert "as a language model judges: precision" in CliRunner().invoke(app, [*command, "--yes"]).output
    assert len(stub_llm.asked) == found  # answers are kept


def test_the_demo_knows_where_its_rules_struck(store):
    report = slices.slice_report(store, slices.load_demo(store).id)
    known = known_of(report)
    assert set(known.units) == {"small", "covered", "night", "fog"} and all(len(u) > 100 for u in known.units.values())
    got = slice_precision(report, known)
    assert got.relevance.recall >= 0.75 and got.found["release"].mean > 0.4
