"""Results made elsewhere: every row counts, or it is told why not."""

from __future__ import annotations

import json

import openpyxl
import pytest

from core import operators
from core.errors import InputError
from core.odd import infer_odd
from core.seed_table import SeedTable
from tests.evaluation.conftest import DAY, NIGHT
from tests.stub_llm import StubServer

ODD = infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})

HEAD = "index,question,A,B,C,D,answer,prediction,hit,category\n"
KIT = (
    HEAD
    + "1,What now?,Go,Stop,,,B,The answer is B,1,ego\n"
    + "2,What now?,Go,Stop,,,B,A,0,ego\n"
    + "3,What now?,Go,Stop,Turn,,C,(C) Turn,1,ego\n"
)


def write(tmp_path, text, name="kit.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def load(store, path, odd=ODD, **more):
    return operators.import_results(store, path, odd, **({"model": "m"} | more))


def test_a_kits_table_with_hits(store, tmp_path):
    found = load(store, write(tmp_path, KIT), odd=None)
    run = found.evaluated
    assert [(r.status, r.score, r.scored_by) for r in run.results] == [("scored", s, "imported") for s in (1.0, 0.0, 1.0)]
    assert [r.item.id for r in run.results] == ["1", "2", "3"]
    assert [r.item.options for r in run.results][2] == ("Go", "Stop", "Turn")
    assert [r.item.answer for r in run.results] == ["B", "B", "C"]
    assert (found.rows, dict(found.left_out)) == (3, {})
    assert any("score = hit" in n for n in found.notes)
    assert run.counts["by_imported"] == 3


def test_without_hits_the_letters_are_read(store, tmp_path):
    text = KIT.replace(",hit", "").replace(",1,ego", ",ego").replace(",0,ego", ",ego") + "4,What now?,Go,Stop,,,B,hm,ego\n"
    run = load(store, write(tmp_path, text), odd=None).evaluated
    assert [(r.status, r.score, r.scored_by) for r in run.results] == [
        ("scored", 1.0, "shortcut"),
        ("scored", 0.0, "shortcut"),
        ("scored", 1.0, "shortcut"),
        ("unscored", None, ""),
    ]


@pytest.mark.parametrize("form", ["csv", "tsv", "xlsx", "jsonl"])
def test_every_form_of_table_reads_the_same(store, tmp_path, form):
    rows = [line.split(",") for line in KIT.splitlines()]
    path = tmp_path / f"kit.{form}"
    if form == "xlsx":
        book = openpyxl.Workbook()
        for r in rows:
            book.active.append([int(x) if x.isdigit() else x or None for x in r])
        book.save(path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(rows[0], r, strict=True))) + "\n" for r in rows[1:]))
    else:
        path.write_text("\n".join(("\t" if form == "tsv" else ",").join(r) for r in rows))
    run = load(store, path, odd=None).evaluated
    assert [(r.item.id, r.score, r.item.options) for r in run.results] == [
        ("1", 1.0, ("Go", "Stop")),
        ("2", 0.0, ("Go", "Stop")),
        ("3", 1.0, ("Go", "Stop", "Turn")),
    ]


@pytest.mark.parametrize("options", ['"[""Go"", ""Stop""]"', "Go|Stop", "Go | Stop"])
def test_options_may_stand_in_one_cell(store, tmp_path, options):
    text = f"index,question,options,answer,prediction\n1,q,{options},Stop,The answer is B\n"
    (r,) = load(store, write(tmp_path, text), odd=None).evaluated.results
    assert (r.item.options, r.item.answer, r.score) == (("Go", "Stop"), "B", 1.0)


def test_lines_may_be_nested(store, tmp_path):
    line = {"id": "1", "question": "q", "options": ["Go", "Stop"], "answer": "Stop", "prediction": "B", "requested": DAY, "realised": NIGHT}
    (r,) = load(store, write(tmp_path, json.dumps(line) + "\n", "answers.jsonl")).evaluated.results
    assert (r.item.options, r.item.answer, r.score) == (("Go", "Stop"), "B", 1.0)
    assert (r.item.verdict, r.item.realised) == ("valid", NIGHT)
    (r,) = load(store, write(tmp_path, json.dumps(line | {"realised": None}) + "\n", "b.jsonl")).evaluated.results
    assert (r.item.verdict, r.item.realised) == ("partial", None)  # what was asked for is no evidence of what is shown


def test_rows_belong_to_the_slices_that_their_columns_name(store, tmp_path):
    rows = ["1,q,a,p,0.5,RAIN,night", "2,q,a,p,1,rain,", "3,q,a,p,1,hail,night", "4,q,a,p,0,clear,day"]
    text = "\n".join(["index,question,answer,prediction,score,Weather,daytime", *rows])
    found = load(store, write(tmp_path, text), columns={"time": "daytime"})
    items = [r.item for r in found.evaluated.results]
    assert [(i.verdict, i.realised) for i in items] == [("valid", NIGHT), ("partial", None), ("partial", None), ("valid", DAY)]
    assert items[1].requested == {"weather": "rain"}
    assert any('weather = "hail" is no value' in n for n in found.notes)
    made = operators.table_from_results(store, "T", ODD, [found.evaluated])
    assert store.tables.load(made.id).to_records() == [
        {**DAY, "n": 1, "mean": 0.0, "variance": None},
        {**NIGHT, "n": 1, "mean": 0.5, "variance": None},
    ]


def test_rows_belong_to_the_samples_with_their_ids(store, tmp_path, mcq):
    items = [mcq("1"), mcq("2", realised=DAY, verdict="invalid")]
    found = load(store, write(tmp_path, KIT), items=items)
    assert [(r.item.id, r.item.verdict, r.score) for r in found.evaluated.results] == [("1", "valid", 1.0), ("2", "invalid", 0.0)]
    assert found.left_out == {"no sample of the bundle has its id": 1}
    with pytest.raises(InputError, match="ids of the samples"):
        load(store, write(tmp_path, "question,score\nq,1\n"), items=items)


def test_what_has_no_score_is_judged(store, tmp_path):
    text = "index,question,answer,prediction\n1,What now?,It stops.,He stops\n2,What now?,It stops.,\n3,,It stops.,He stops\n"
    with StubServer(lambda r: "CORRECT") as stub:
        found = load(store, write(tmp_path, text), odd=None, judge=stub.endpoint())
        assert len(stub.requests) == 1
        again = load(store, write(tmp_path, text), odd=None, judge=stub.endpoint())
        assert len(stub.requests) == 1
    results = found.evaluated.results
    assert [(r.item.id, r.status, r.score, r.scored_by) for r in results] == [("1", "scored", 1.0, "judge"), ("3", "unscored", None, "")]
    assert "no question" in results[1].why
    assert found.left_out == {"it has neither a score nor an answer": 1}
    assert again.evaluated.results == results
    assert [len(store.results.history(found.evaluated.run_id, i)) for i in "13"] == [1, 1]


def test_scores_may_be_left_aside_and_answers_judged(store, tmp_path):
    with StubServer(lambda r: "INCORRECT") as stub:
        text = "index,question,answer,prediction,hit\n1,What now?,It stops.,He stops,1\n"
        found = load(store, write(tmp_path, text), odd=None, judge=stub.endpoint(), use_scores=False)
    assert [(r.score, r.scored_by) for r in found.evaluated.results] == [(0.0, "judge")]


def test_our_own_results_come_back_as_they_were(store, tmp_path, mcq):
    with StubServer(["B", "hm"]) as stub:
        run = operators.evaluate(store, [mcq("a"), mcq("b")], stub.endpoint(), None, run_id="r")
    path = write(tmp_path, operators.results_jsonl(run.results), "eval_results.jsonl")
    assert load(store, path).evaluated.results == run.results
    with StubServer(["CORRECT"]) as stub:
        judged = load(store, path, use_scores=False, judge=stub.endpoint(), run_id="again").evaluated
    assert sorted((r.item.id, r.score, r.scored_by) for r in judged.results) == [("a", 1.0, "shortcut"), ("b", 1.0, "judge")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("index,question\n1,q\n", "neither a column of scores nor one of answers"),
        ("index,prediction\n1,\n", "No row of"),
        ("index,score\n1,7\n2,3\n3,9\n4,10\n5,1\n", "scale of the scores is not clear"),
    ],
)
def test_files_that_cannot_be_mapped_are_refused(store, tmp_path, text, told):
    with pytest.raises(InputError, match=told):
        load(store, write(tmp_path, text), odd=None)


def test_a_scale_may_be_named_and_what_lies_outside_is_unscored(store, tmp_path):
    text = "index,prediction,score\n1,x,70\n2,x,100\n3,x,n/a\n4,x,170\n"
    found = load(store, write(tmp_path, text), odd=None, scale="percent")
    assert [(r.status, r.score) for r in found.evaluated.results] == [
        ("scored", 0.7),
        ("scored", 1.0),
        ("unscored", None),
        ("unscored", None),
    ]
    assert any("2 scores are no number" in n for n in found.notes)


def test_a_missing_column_file_or_line_is_told(store, tmp_path):
    with pytest.raises(InputError, match="does not stand in"):
        load(store, write(tmp_path, KIT), columns={"score": "points"})
    with pytest.raises(InputError, match="There is no file"):
        load(store, tmp_path / "none.csv")
    with pytest.raises(InputError, match="Line 2 of"):
        load(store, write(tmp_path, '{"item": {"id": "a"}, "status": "scored"}\n{', "x.jsonl"))
    with pytest.raises(InputError, match="problems") as e:
        load(store, write(tmp_path, '{"item": {"id": "a"}, "status": "great"}\n', "x.jsonl"))
    assert {"status", "item.question"} <= {p.column for p in e.value.problems}


def test_ids_that_stand_there_twice_count_once(store, tmp_path):
    found = load(store, write(tmp_path, HEAD + "1,q,Go,Stop,,,B,B,1,x\n1,q,Go,Stop,,,B,A,0,x\n"), odd=None)
    assert [r.score for r in found.evaluated.results] == [1.0]
    assert found.left_out == {"its id stands there twice": 1}


def test_the_same_file_twice_is_the_same_evidence(store, tmp_path):
    text = "index,question,answer,prediction,score,weather,time\n1,q,a,p,1,rain,night\n2,q,a,p,0,rain,night\n"
    seed = SeedTable.from_slices(ODD, [DAY], [10], [0.9])
    table = store.tables.save("T", seed, upload_sha=None, decisions={}, report={}, model="m", synthetic=False)
    for name in ("one", "two"):
        load(store, write(tmp_path, text), run_id=name)
        after = operators.count_results(store, table.id, name)
        assert after.total == 12
    first = load(store, write(tmp_path, text)).evaluated
    assert first.run_id.startswith("import-")
    assert load(store, write(tmp_path, text)).evaluated.run_id == first.run_id
