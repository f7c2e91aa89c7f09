"""Score scales are recognised from the texts, or asked about; numbers are never bent to fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.seed_table.scores import parse_numbers, read_scores


def read(texts, scale=None, weights=None):
    return read_scores(pa.array(texts, pa.string()), np.array(weights or [1] * len(texts), dtype=np.int64), scale)


@pytest.mark.parametrize(
    ("texts", "scale", "values"),
    [
        (["0", "1"], "unit", [0, 1]),
        (["0.25", "1", "0"], "unit", [0.25, 1, 0]),
        (["0,25", "1,0"], "unit", [0.25, 1]),
        (["100", "12.5", "0"], "percent", [1, 0.125, 0]),
        (["85%", "7.5 %", "100%"], "percent", [0.85, 0.075, 1]),
        (["0.5%"], "percent", [0.005]),
        (["true", "False"], "boolean", [1, 0]),
        (["CORRECT", "INCORRECT"], "boolean", [1, 0]),
        (["Pass", "fail", "PASS"], "boolean", [1, 0, 1]),
        (["yes", "no"], "boolean", [1, 0]),
        (["CORRECT", "INCORRECT", "unparsed"], "boolean", [1, 0, np.nan]),
        (["right", "wrong", "1", "0"], "boolean", [1, 0, 1, 0]),
        (["-1", "0.5", "1"], "unit", [-1, 0.5, 1]),
    ],
)
def test_a_scale_is_recognised(texts, scale, values):
    reading = read(texts)
    assert (reading.scale, reading.confident) == (scale, True)
    assert reading.evidence
    np.testing.assert_array_equal(reading.values, np.array(values, dtype=float))


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["0.2", "0.4", "7", "90"], "neither 0 to 1 nor 0 to 100"),
        (["50", "90", "140"], "neither 0 to 1 nor 0 to 100"),
        (["1", "3", "5"], "a rating of a few grades"),
        (["0.5", "85%"], "carry a percent sign, the others do not"),
        (["good", "bad"], "No cell of the column is a number"),
    ],
)
def test_an_ambiguous_scale_is_asked_about(texts, why):
    reading = read(texts)
    assert not reading.confident
    assert why in reading.evidence


@pytest.mark.parametrize("cells", [["0.2", "90", "0.4", "80"], ["1", "5", "3", "4"], ["0.5", "85%", "0.7", "90%"]])
def test_a_check_refuses_an_ambiguous_scale_until_it_is_confirmed(checked, cells):
    text = "weather,time,score\n" + "".join(f"clear,day,{c}\n" for c in cells)
    with pytest.raises(InputError, match=r'The scale of column "score" is not clear.*unit, percent or boolean \(--score-scale\)'):
        checked(text, score="score")
    report = checked(text, score="score", scale="percent")
    assert (report.accepted, report.plan.scale, report.score.evidence) == (4, "percent", "You said so.")
    assert report.seed.mean[0] == pytest.approx(sum(float(c.strip("%")) for c in cells) / 400)


def test_the_scale_that_was_recognised_is_said_and_kept_in_the_plan(checked):
    report = checked("weather,time,score\nclear,day,100\nrain,day,50\n")
    assert report.plan.scale == "percent"
    assert report.seed.mean.tolist() == [1.0, 0.5]
    assert any("read as 0 to 100" in w and "2 of 2 scores lie above 1" in w for w in report.warnings)
    assert report.summary()["score_scale"] == "percent"


def test_words_that_are_no_verdict_are_rejected_not_counted_as_wrong(checked):
    report = checked("weather,time,score\nclear,day,CORRECT\nclear,day,INCORRECT\nclear,day,REFUSED\n")
    assert (report.accepted, report.rejected.tolist(), report.seed.mean.tolist()) == (2, [3], [0.5])


def test_rows_decide_the_scale_not_distinct_texts(checked):
    reading = read(["0.5", "90"], weights=[1000, 1])
    assert (reading.scale, reading.confident) == ("unit", True)
    assert reading.values.tolist() == [0.5, 90]
    unused = read(["0.5", "90"], weights=[5, 0])
    assert unused.evidence == "All 5 scores are at most 0.5."


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("+1", 1),
        ("-.5", -0.5),
        ("1e-3", 0.001),
        ("1.", 1),
        ("0,5", 0.5),
        ("5 %", 5),
        ("", np.nan),
        ("1_0", np.nan),
        ("0x1", np.nan),
    ],
)
def test_numbers_by_hand(text, number):
    np.testing.assert_array_equal(parse_numbers(pa.array([text])), [number])


@given(st.lists(st.one_of(st.floats(allow_nan=False).map(repr), st.text(max_size=6)), max_size=20))
def test_numbers_equal_those_of_python_wherever_python_reads_one(texts):
    texts = [t for t in texts if t.isprintable()]
    found = parse_numbers(pa.array(texts, pa.string()))
    assert found.shape == (len(texts),)
    for text, number in zip(texts, found.tolist(), strict=True):
        if not set("_,%") & set(text):
            try:
                expected = float(text)
            except ValueError:
                expected = np.nan
            np.testing.assert_array_equal(number, expected)


def test_no_texts_at_all():
    assert parse_numbers(pa.array([], pa.string())).shape == (0,)
    assert not read([]).confident


@pytest.mark.parametrize(
    ("truth", "predicted", "right"),
    [
        ("1", "1.0", 1),
        ("1", "1,0", 1),
        ("A", "A", 1),
        ("A", "B", 0),
        ("A", "a", 0),
        ("0", "-0", 1),
        ("nan", "nan", 1),
        ("01", "1", 1),
        ("1", "true", 0),
    ],
)
def test_correctness_from_truth_and_prediction(checked, truth, predicted, right):
    text = f'weather,time,truth,answer\nclear,day,"{truth}","{predicted}"\nclear,day,,A\nclear,day,A,\n'
    report = checked(text, truth="truth", predicted="answer")
    assert (report.seed.mean.tolist(), report.accepted) == ([float(right)], 1)
    assert [(p.row, p.column, p.kind) for p in report.problems()] == [(2, "truth", "empty"), (3, "answer", "empty")]
    assert report.score is None


def test_truth_alone_is_no_score(checked):
    with pytest.raises(InputError, match="both a column with the right answer"):
        checked("weather,time,truth\nclear,day,A\n", truth="truth")
