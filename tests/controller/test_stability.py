"""Analysis 4: figures derived by hand, runs that fail or fall back, and the three controllers against stubs."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from core.cli.app import app
from core.controller.offline import plan_offline
from core.controller.questions import Question, study_questions
from core.controller.stability import Answers, Run, Stability, jaccard, study
from core.errors import InputError
from core.llm import Profile
from core.odd import built_in
from tests.stub_llm import StubServer, error, text
from tests.stub_planner import drawing, shuffling

PAPER = 0.957
A, B, C = ("a",), ("b",), ("c",)
Q = Question(id=1, text="What?")


def run(*slices, status="planned", **more):
    return Run(status, frozenset(slices), **more)


def test_jaccard_of_sets():
    assert jaccard(frozenset({A, B}), frozenset({B, C})) == 1 / 3
    assert jaccard(frozenset(), frozenset({A})) == 0
    assert jaccard(frozenset(), frozenset()) == 1


def test_figures_of_one_question():
    got = Answers(Q, (run(A, B), run(B, C), run(A, B, C)))
    assert got.jaccard == pytest.approx((1 / 3 + 2 / 3 + 2 / 3) / 3)
    assert got.sizes == [2, 2, 3]
    assert got.size_variation == pytest.approx((2 / 9) ** 0.5 / (7 / 3))


def test_failed_runs_are_in_no_pair_and_runs_that_fell_back_are_told_apart():
    got = Answers(Q, (run(A), run(A), run(B, status="fallback", note="why"), run(status="failed", note="broken")))
    assert got.jaccard == pytest.approx(1 / 3)
    assert got.jaccard_planned == 1
    data = got.as_dict()
    assert data["status"] == {"planned": 2, "fallback": 1, "failed": 1} and data["notes"] == ["broken", "why"]


def test_pairs_of_empty_lists_are_equal_and_counted():
    got = Answers(Q, (run(status="asked back"), run(status="asked back"), run(A)))
    assert (got.jaccard, got.empty_pairs) == (pytest.approx(1 / 3), 1)
    empty = Answers(Q, (run(), run()))
    assert (empty.jaccard, empty.size_variation, empty.empty_pairs) == (1, None, 1)


def test_figures_that_are_not_defined_are_none():
    single, none = Answers(Q, (run(A),)), Answers(Q, (run(status="failed"),))
    assert (single.jaccard, single.size_variation) == (None, 0)
    assert (none.jaccard, none.size_variation, none.sizes) == (None, None, [])
    assert Stability("llm", (none,)).jaccard is None


def test_the_questions_are_those_of_the_study():
    questions = study_questions()
    assert [q.id for q in questions] == list(range(1, 16))
    assert all(plan_offline(q.text, built_in()).plan.steps for q in questions)


def test_offline_is_one_by_construction(context):
    found = study(context, "offline", study_questions(), 2)
    assert (found.jaccard, found.size_variation, found.status) == (1, 0, {"planned": 30})
    data = found.as_dict()
    assert data["by_construction"] and data["requested"] == data["returned"] == 2 * 200
    assert all(q["plans"] == 1 for q in data["questions"])


def endpoint(context, stub, mode):
    return replace(context, endpoints={"llm": stub.endpoint(profile=Profile(mode=mode, timeout=10.0))})


@pytest.mark.parametrize(("mode", "runs"), [("plan", 4), ("tools", 2)])
def test_order_aliases_and_wording_come_down_to_one_plan(context, mode, runs):
    answers, script = [], shuffling(context.seed.odd)

    def play(request):
        answer = script(request)
        answers.append(json.dumps(answer.body["choices"]))
        return answer

    with StubServer(play) as stub:
        found = study(endpoint(context, stub, mode), "llm", study_questions(), runs)
    assert len(set(answers)) > 15 * runs * 0.9  # hardly two answers were alike
    assert found.status == {"planned": 15 * runs}
    assert found.jaccard >= PAPER
    assert all(a.plans == 1 for a in found.answers)
    for a in found.answers:  # and it is the right one
        want = [s.op for s in plan_offline(a.question.text, context.seed.odd).plan.steps]
        assert all(list(r.steps) == want for r in a.runs)


def test_a_model_that_chooses_differently_lowers_the_figure(context):
    with StubServer(shuffling(context.seed.odd, waver=0.5)) as stub:
        found = study(endpoint(context, stub, "plan"), "llm", study_questions()[1:4], 6)
    assert found.jaccard < 0.9
    assert any(a.plans > 1 for a in found.answers)


def test_the_baseline_that_draws_is_near_zero(context):
    with StubServer(drawing(context.seed.odd, 10)) as stub:
        found = study(endpoint(context, stub, "none"), "choose-slices", study_questions()[:5], 4)
    assert found.jaccard < 0.01 and found.size_variation > 0.05
    data = found.as_dict()
    assert data["requested"] == 200
    assert data["returned"] + data["rows"]["unusable"] + data["rows"]["repeated"] + data["rows"]["tested"] == data["rows"]["rows"]


def test_a_model_that_gives_no_plan_is_counted_as_fallback(context):
    with StubServer(lambda _: text("I would rather not.")) as stub:
        found = study(endpoint(context, stub, "plan"), "llm", study_questions()[:2], 2)
    assert found.status == {"fallback": 4}
    assert (found.jaccard, found.jaccard_planned) == (1, None)


def test_a_baseline_without_an_answer_has_failed(context):
    with StubServer(lambda _: error(400, "no")) as stub:
        found = study(endpoint(context, stub, "none"), "choose-slices", study_questions()[:1], 2)
    assert found.status == {"failed": 2}
    assert found.jaccard is None and found.as_dict()["questions"][0]["notes"]


def test_what_cannot_be_studied_is_said(context):
    with pytest.raises(InputError, match="no endpoint is set"):
        study(context, "llm", study_questions(), 2)
    with pytest.raises(InputError, match="--runs"):
        study(context, "offline", study_questions(), 0)


TABLE = ["stability", "--table", "assets/demo/seed_table.csv", "--model", "model-a"]


def test_the_command_says_what_it_left_out(workspace):
    result = CliRunner().invoke(app, [*TABLE, "--runs", "2", "--question", "14", "--question", "5", "--json"])
    data = json.loads(result.stdout)
    assert [q["id"] for q in data["controllers"][0]["questions"]] == [14, 5]
    assert data["controllers"][0]["jaccard"] == 1
    assert set(data["left_out"]) == {"llm", "choose-slices"} and data["endpoint"] is None


def test_the_command_asks_the_endpoint_of_the_environment(workspace, monkeypatch):
    with StubServer(drawing(built_in(), 10)) as stub:
        for name, value in stub.environment("llm").items():
            monkeypatch.setenv(name, value)
        result = CliRunner().invoke(app, [*TABLE, "--runs", "2", "--question", "1", "--controller", "choose-slices", "--json"])
    data = json.loads(result.stdout)
    assert data["controllers"][0]["model"] == "stub-model"
    assert "key" not in data["endpoint"]


def test_the_command_in_words(workspace):
    result = CliRunner().invoke(app, [*TABLE, "--runs", "2", "--question", "6"])
    assert "1.000 by construction" in result.stdout
    assert "Jaccard 1.000  size 10 to 10  What snow and ice scenarios are we missing?" in result.stdout


def test_a_wrong_controller_is_refused(workspace):
    result = CliRunner().invoke(app, [*TABLE, "--controller", "oracle", "--question", "16"])
    assert isinstance(result.exception, InputError) and "oracle, 16" in str(result.exception)
