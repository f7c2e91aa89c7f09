"""The option is read where it is named clearly; every doubt goes to the judge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation import letter_of, read_choice

OPTIONS = ["Stop", "Go", "Turn left", "A truck"]


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("[B]", "B"),
        ("B.", "B"),
        ("B)", "B"),
        ("**B**", "B"),
        ("`B`", "B"),
        ("Ｂ", "B"),
        ("```\nB\n```", "B"),
        ("<think>A, surely. No.</think>B", "B"),
        ("Answer: B", "B"),
        ("Answer: (B)", "B"),
        ("answer is B", "B"),
        ("The correct answer is B", "B"),
        ("The correct answer is: B.", "B"),
        ("The answer is option B.", "B"),
        ("I choose B.", "B"),
        ("The answer is B because the light is green", "B"),
        ("B. Go", "B"),
        ("(B) go", "B"),
        ("B: Go!", "B"),
        ("Answer: (C) Turn left", "C"),
        ("Go", "B"),
        ("go.", "B"),
        ("  TURN   LEFT ", "C"),
        ("A truck", "D"),
        ('{"answer": "B"}', "B"),
        ('{"choice": "Turn left"}', "C"),
    ],
)
def test_a_clear_choice(text, letter):
    assert read_choice(text, OPTIONS).letter == letter, read_choice(text, OPTIONS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "E",
        "A or B",
        "A, B",
        "AB",
        "The answer is A. No, B.",
        "The answer is B, not A.",
        "The answer is not B",
        "The answer isn't B",
        "(B) is not right",
        "B. Stop",
        "The answer is B: Stop",
        "The answer is A truck",
        "A truck is ahead",
        "I see a road.",
        "Either",
        "None",
        "The car should go on",
        "<think>B",
        '{"answer": 2}',
        "{" * 5_000,
    ],
)
def test_a_doubt_is_left_to_the_judge(text):
    assert read_choice(text, OPTIONS).letter == ""


def test_options_with_the_same_text_are_not_told_apart_by_it():
    assert read_choice("go", ["Go", "go!", "Stop"]).letter == ""
    assert read_choice("C", ["Go", "go!", "Stop"]).letter == "C"


def test_numbers_are_compared_with_their_signs():
    assert read_choice("-1", ["1", "-1"]).letter == "B"
    assert read_choice("1.5", ["15", "1.5"]).letter == "B"
    assert read_choice("50%", ["50 m", "50%"]).letter == "B"


@given(st.text(max_size=200), st.lists(st.text(max_size=20), min_size=2, max_size=6))
def test_any_text_is_read_without_a_crash(text, options):
    found = read_choice(text, options)
    assert found.letter in ("", *"ABCDEF"[: len(options)])
    assert found.why


@given(st.permutations("ABCD"), st.sampled_from([" ", " or ", ", ", "/", " and ", ". Not "]))
def test_two_letters_are_never_a_choice(letters, between):
    assert read_choice(f"The answer is {letters[0]}{between}{letters[1]}", OPTIONS).letter == ""


@pytest.mark.parametrize(
    ("answer", "letter"), [("B", "B"), ("b", "B"), ("(B)", "B"), ("Go", "B"), ("B. Go", "B"), ("E", ""), ("fly", ""), ("", "")]
)
def test_a_right_answer_becomes_a_letter(answer, letter):
    assert letter_of(answer, OPTIONS) == letter
