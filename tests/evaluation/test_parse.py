"""A verdict is read where one stands, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation import read_verdict
from core.evaluation.parse import final_answer, without_reasoning

RIGHT = [
    '{"verdict": 1}',
    '{"verdict": "1"}',
    '{"verdict": true}',
    '{"verdict": "true", "reason": "the same meaning"}',
    "{'verdict': 1}",
    '```json\n{"verdict": 1}\n```',
    'Here it is: {"verdict": 1} as asked.',
    '{"correct": true}',
    "Verdict: CORRECT",
    "**Verdict:** correct",
    "verdict is 1",
    "CORRECT",
    "Correct.",
    "**CORRECT**",
    "__correct__",
    '"CORRECT"',
    "ＣＯＲＲＥＣＴ",
    "The predicted answer is correct.",
    "The answer is correct, since it matches the correct answer.",
    "First I took it for incorrect, but it is correct.",
    "<think>This is incorrect, is it not?</think>CORRECT",
    "it may be incorrect</think>\nCORRECT",
    "CORRECT or INCORRECT? CORRECT",
    "CORRECT: both say that it stops.",
    "That is correct: both say stop.",
    "CORRECT\n\nThe wording is not the same, but the meaning is.",
    "It can be considered correct.",
    "The answer should be judged as correct, as both name the truck.",
    "yes",
    "Yes.",
    "True",
    "1",
    "They say the same. Yes.",
    "10/10",
    "Rating: 5/5",
    "I would rate your answer as 10 out of 10.",
]
WRONG = [
    '{"verdict": 0}',
    '{"verdict": "0"}',
    '{"verdict": false}',
    '{"verdict": 0, "reason": "the correct answer is B"}',
    '{"verdict": "incorrect"}',
    '{"verdict": "not correct"}',
    "INCORRECT",
    "incorrect",
    "The answer is incorrect.",
    "in-correct",
    "not correct",
    "It is not quite correct.",
    "It isn't correct.",
    "It isn’t correct.",
    "It cannot be called correct.",
    "It cannot be considered correct.",
    "INCORRECT\n\nThe answer says red while the correct answer is green.",
    "The predicted answer is not the correct answer.",
    "It seemed correct, but it is incorrect.",
    "INCORRECT. The correct option is B.",
    "<think>correct</think>INCORRECT",
    "CORRECT or INCORRECT? INCORRECT",
    "no",
    "No.",
    "wrong",
    "0",
    "Is it correct? No.",
    "0/10",
    "I would rate it 0 out of 5.",
]
NEITHER = [
    "",
    "   \n",
    "The correct answer is A",
    "The correct answer is A.",
    "Correct answer: B",
    "Correct: B",
    "It would be considered correct if the light were green.",
    "It can be considered correct only if the light is green.",
    "The correct option would be B.",
    "I would rate your answer as 10",
    "I would rate your answer as 10.",
    "Score: 7/10",
    "I would rate it 3 out of 5.",
    "10",
    '{"verdict": 10}',
    '{"verdict": null}',
    '{"verdict": "(1 for correct, 0 for incorrect)"}',
    '{"verdict": 1/10}',
    '{"verdict": 1, "reason": "the answer is incorrect"}',
    '{"verdict": 1} {"verdict": 0}',
    "Respond with CORRECT or INCORRECT.",
    "partially correct",
    "It is mostly correct.",
    "It is not incorrect.",
    "It would be correct if the light were green.",
    "I cannot tell whether it is correct.",
    "Is it correct?",
    "non-correct",
    "correctness",
    "He answered correctly.",
    "<think>CORRECT",
    "<think>I am still thinking about what is correct",
    "The two texts differ in length.",
    "A",
]


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    assert read_verdict(text).correct is True, read_verdict(text)


@pytest.mark.parametrize("text", WRONG)
def test_wrong(text):
    assert read_verdict(text).correct is False, read_verdict(text)


@pytest.mark.parametrize("text", NEITHER)
def test_no_verdict_and_why(text):
    found = read_verdict(text)
    assert found.correct is None
    assert found.why


def test_a_rating_says_why_it_is_no_verdict():
    assert "without its scale" in read_verdict("I would rate your answer as 10").why
    assert "nobody said where right begins" in read_verdict("Score: 7/10").why


@given(st.text(max_size=400))
def test_any_text_is_read_without_a_crash(text):
    found = read_verdict(text)
    assert found.correct in (True, False, None)
    assert found.why


FILLER = st.sampled_from("the answer is a b says that it not but since option and response reference same . , ; ! ? : \n".split(" "))
INCORRECT = st.sampled_from(["incorrect", "INCORRECT", "Incorrect", "not correct", "isn't correct", "in-correct"])


@given(st.lists(FILLER, max_size=12), INCORRECT, st.lists(FILLER, max_size=12))
def test_what_says_incorrect_is_never_read_as_correct(before, word, after):
    assert read_verdict(" ".join([*before, word, *after])).correct is not True


@given(st.lists(FILLER, max_size=12), INCORRECT, st.sampled_from(["1", '"1"', "true"]), st.booleans())
def test_a_verdict_of_1_beside_the_word_incorrect_is_never_read_as_correct(words, word, value, first):
    said, field = " ".join([*words, word]), f'{{"verdict": {value}}}'
    assert read_verdict(f"{said} {field}" if first else f"{field} {said}").correct is not True


@pytest.mark.parametrize(
    "text", ["{" * 20_000, "[" * 50_000, "correct " * 30_000, "not " * 30_000, "<think>" * 20_000, "1/" * 50_000, "9" * 90_000]
)
def test_long_texts_are_read_as_well(text):
    assert read_verdict(text).why


def test_reasoning_is_left_out_wherever_its_tags_stand():
    assert without_reasoning("<think>a</think>b<THINK>c</THINK>d").split() == ["b", "d"]
    assert without_reasoning("a</think>b") == "b"
    assert without_reasoning("a<think>b") == "a"
    assert without_reasoning("a <think>b<think>c</think> d").split() == ["a", "d"]
    assert without_reasoning("a < b > c") == "a < b > c"
    assert without_reasoning("<think>" * 300_000 + "</think>x").strip() == "x"  # in no time
    assert without_reasoning("<" + " " * 300_000 + ">").startswith("<")
    assert final_answer("```\n**B**\n```") == "B"
