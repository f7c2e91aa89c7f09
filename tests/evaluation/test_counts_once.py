"""Nothing is counted under a wrong name, twice, or not at all: files with odd columns, names that lead elsewhere, two currencies."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from core import operators
from core.errors import InputError
from core.evaluation import Decode, Item, Limits, Result, read_result, result_of, row_of
from core.evaluation.rescore import rescored
from core.llm.endpoint import Price
from core.llm.pace import size_of
from core.odd import infer_odd
from core.operators.judge import import_results
from tests.evaluation.conftest import NIGHT, judged
from tests.stub_llm import StubServer, text

ODD = infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})
SLICES = "index,weather,time,hit\n"


@pytest.fixture
def take(store, tmp_path):
    """Imports a file of a name and a text."""

    def run(name, content, **more):
        (tmp_path / name).write_text(content)
        return import_results(store, tmp_path / name, ODD, model="m", **more)

    return run


def line(mcq, name="1", **more) -> str:
    result = Result(mcq(name), "a" * 64, "scored", 1.0, "judge", "B")
    return json.dumps(result.as_dict() | more) + "\n"


def test_rows_of_two_files_with_the_same_ids_are_all_evidence(store, take):
    runs = [take("a.csv", SLICES + "1,rain,night,1\n2,rain,night,1\n"), take("b.csv", SLICES + "1,rain,night,0\n2,clear,day,0\n")]
    table = operators.table_from_results(store, "T", ODD, [r.evaluated for r in runs])
    assert table.total == 4
    assert store.tables.load(table.id).to_records()[-1]["mean"] == pytest.approx(2 / 3)
    take("a.csv", SLICES + "1,rain,night,1\n2,rain,night,1\n", run_id="again")
    assert operators.count_results(store, table.id, "again").total == 4


def test_a_persons_word_stays_with_its_row(store, take):
    runs = [take(f"{n}.csv", f"{SLICES}1,rain,night,1\n{n},,,1\n").evaluated for n in "ab"]
    head = "index,weather,time,question,answer,prediction\n"
    runs += [take(f"{n}.csv", f"{head}1,rain,night,,x,y\n{n},,,,x,y\n").evaluated for n in "cd"]
    operators.override(store, runs[0].run_id, "1", 0.0, who="ann")
    operators.override(store, runs[2].run_id, "1", 1.0, who="ann")
    table = operators.table_from_results(store, "T", ODD, runs)
    assert [v.report["counted"] for v in store.tables.versions(table.id)] == [1, 1, 1, 0]
    assert store.tables.load(table.id).to_records()[0]["mean"] == pytest.approx(2 / 3)


def test_an_option_keeps_its_letter_where_one_before_it_is_empty(take):
    head = "index,question,A,B,C,D,answer,prediction\n"
    found = take("o.csv", head + "1,q?,,left,right,,B,left\n2,q?,yes,,no,nan,C,C\n3,q?,yes,no,nan,,A,no\n").evaluated.results
    assert [r.item.options for r in found] == [("", "left", "right"), ("yes", "", "no"), ("yes", "no")]
    assert [(r.item.answer, r.score) for r in found] == [("B", 1.0), ("C", 1.0), ("A", 0.0)]


@pytest.mark.parametrize(("given", "there"), [("7.0", "7"), ("7", "7"), ("7.0", "7.0"), ("7.5", "7.5")])
def test_a_whole_number_is_an_id_however_it_is_written(take, mcq, given, there):
    assert take("i.csv", f"index,prediction\n{given},B\n", items=[mcq(there)]).evaluated.results[0].score == 1.0


def test_what_was_not_answered_is_not_wrong(take):
    rows = "1,rain,night,Failed to obtain answer via API.,0\n2,rain,night,,0\n3,rain,night,x,0\n"
    run = take("f.csv", f"index,weather,time,prediction,hit\n{rows}").evaluated
    assert [(r.status, r.score) for r in run.results] == [("failed", None), ("unscored", None), ("scored", 0.0)]
    assert take("g.csv", "index,weather,time,prediction,hit\n1,rain,night,,0\n").evaluated.results[0].score == 0.0  # no answers at all


@pytest.mark.parametrize(
    "wrong",
    [
        {"score": 50.0},
        {"score": -0.1},
        {"score": None},
        {"score": float("nan")},
        {"status": "unscored"},
        {"scored_by": ""},
        {"key": "x"},
        {"usage": {"prompt": float("inf")}},
    ],
)
def test_a_line_that_no_run_of_ours_writes_is_refused(take, mcq, wrong):
    with pytest.raises(InputError):
        take("r.jsonl", line(mcq, "0") + line(mcq, **wrong))


def test_a_line_of_another_fidelity_is_refused(take, mcq):
    with pytest.raises(InputError, match="valid, partial or invalid"):
        take("r.jsonl", line(mcq, item=mcq("1", verdict="sure").as_dict()))


def test_a_line_that_stands_there_twice_is_counted_and_left_out(take, mcq):
    found = take("r.jsonl", line(mcq) + line(mcq) + line(mcq, "2"))
    assert (found.rows, dict(found.left_out), len(found.evaluated.results)) == (3, {"its id stands there twice": 1}, 2)


def test_results_without_a_right_answer_are_not_judged_anew(mcq):
    open_ = Result(replace(mcq("a"), answer=""), "k" * 64, "unscored", None, "", "B", why="it has no right answer")
    assert rescored(open_) == open_


def test_one_run_holds_one_model_also_under_one_label(store, mcq):
    with StubServer(lambda r: "B") as stub:
        end = replace(stub.endpoint("model-1"), label="ours")
        operators.evaluate(store, [mcq("a")], end, None, run_id="r")
        with pytest.raises(InputError, match="models never mix"):
            operators.evaluate(store, [mcq("a"), mcq("b")], replace(end, model="model-2"), None, run_id="r")
        assert len(stub.asked) == 1
        assert operators.evaluate(store, [mcq("a"), mcq("b")], end, None, run_id="r").counts["scored"] == 2


@pytest.mark.parametrize("labels", [("m", "M"), ("m", "m "), ("m", " m")])
def test_names_that_differ_in_case_or_blanks_are_two_models(store, mcq, labels):
    with StubServer(lambda r: "B") as stub:
        for k, label in enumerate(labels):
            operators.evaluate(store, [mcq(f"i{k}")], replace(stub.endpoint(), label=label), None, run_id=f"r{k}")
    with pytest.raises(InputError, match="one model"):
        operators.table_from_results(store, "T", ODD, ["r0", "r1"])
    table = operators.table_from_results(store, "T", ODD, ["r0"])
    with pytest.raises(InputError, match="models never mix"):
        operators.count_results(store, table.id, "r1")


def test_costs_in_two_currencies_are_never_capped_as_one(store, vqa):
    with StubServer(lambda r: "CORRECT" if judged(r) else "It stops.") as stub:
        model = stub.endpoint("m", price=Price(1, 1, currency="EUR"))
        judge = stub.endpoint("j", price=Price(1, 1, currency="JPY"))
        with pytest.raises(InputError, match="one currency"):
            operators.evaluate(store, [vqa("a")], model, judge, run_id="r", limits=Limits(max_cost=1))
        assert stub.asked == []
        assert operators.evaluate(store, [vqa("a")], model, judge, run_id="r").cost is None


def test_a_verdict_that_was_cut_off_is_none(store, vqa):
    with StubServer(lambda r: text("CORRECT", finish="length") if judged(r) else "It stops.") as stub:
        run = operators.evaluate(store, [vqa("a")], stub.endpoint("m"), stub.endpoint("j"), run_id="r")
    (result,) = run.results
    assert (result.status, result.score) == ("unscored", None)
    assert "cut off" in result.why
    assert rescored(result) == result
    assert len(stub.asked) == 3


def test_two_imports_of_one_file_at_once_keep_each_row_once(store, tmp_path):
    content = SLICES + "".join(f"{k},rain,night,{k % 2}\n" for k in range(200))
    failed = []

    def work():
        try:
            assert len(import_results(store, tmp_path / "t.csv", ODD, model="m", run_id="r").evaluated.results) == 200
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    (tmp_path / "t.csv").write_text(content)
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failed == []
    assert [(r.version, r.score) for r in store.results.rows("r")] == [(0, float(k % 2)) for k in range(200)]


def test_a_row_that_came_meanwhile_stays(store, mcq):
    store.results.begin("r", "m", "", {})
    first = Result(mcq("a"), "a" * 64, "scored", 1.0, "judge", "B")
    store.results.append([row_of("r", first)])
    store.results.append([row_of("r", replace(first, score=0.0))])
    assert [result_of(r).score for r in store.results.history("r", "a")] == [1.0]
    assert read_result(first.as_dict()) == first


@pytest.mark.parametrize("question", ["Q?", "What is ahead? " * 200, "\u524d\u65b9\u662f\u4ec0\u4e48\uff1f" * 100])
@pytest.mark.parametrize("options", [(), ("Go " * 50, "Stop")])
@pytest.mark.parametrize("judgement", ["hm", "so " * 40])
def test_an_estimate_is_never_below_what_the_calls_set_aside(store, question, options, judgement):
    item = Item("a", (), question, options, "A" if options else "It stops. " * 60, "MCQ" if options else "VQA", NIGHT, NIGHT, "valid")
    spent = []

    def answer(request):
        spent.append(
            sum(size_of(m["content"] if isinstance(m["content"], str) else m["content"][-1]["text"]) for m in request.body["messages"])
        )
        return judgement if judged(request) else "well " * 50

    with StubServer(answer) as stub:
        model, judge, decode = stub.endpoint("m"), stub.endpoint("j"), Decode(64, 64)
        told = operators.estimate([item], model, judge, store, decode=decode)
        operators.evaluate(store, [item], model, judge, run_id="r", decode=decode)
    assert len(spent) == 3 == told.model_calls + told.judge_calls_most
    assert told.prompt_tokens >= sum(spent) / 4
    assert told.completion_tokens >= 3 * 64
