"""What is read from the text of models stands in it; nothing crashes the reading, nothing is made up."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.llm.parsing import arguments, clean, json_object, loads, without_reasoning

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)
PROSE = st.text(alphabet="abc .,:;!?-`\n'", max_size=30)
PIECES = st.lists(
    st.sampled_from(['{"a": 1}', "{", "}", "[", '"', "\\", "```json\n", "```", "<think>", "</think>", "null", ":", ",", "1", "x ", "é"]),
    max_size=14,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}```', {"a": 1}),
        ('Sure! Here it is:\n\n{"a": {"b": [1, 2]}}\n\nHope it helps.', {"a": {"b": [1, 2]}}),
        ('<think>{"a": 2}</think>\n{"a": 1}', {"a": 1}),
        ('{"a": "<think>no</think>"}', {"a": "<think>no</think>"}),
        ('I use {braces}. {"a": 1}', {"a": 1}),
        ('[{"a": 1}, {"a": 2}]', {"a": 1}),
        ('<tool_call>{"name": "x", "arguments": {}}</tool_call>', {"name": "x", "arguments": {}}),
        ('{"a": 1', None),
        ('{"a": NaN}', None),
        ('{"a": "\\ud800"}', None),
        ("[1, 2]", None),
        ("no JSON at all", None),
        ("", None),
    ],
)
def test_json_is_found_in_what_models_write_around_it(text, value):
    assert json_object(text) == value


@pytest.mark.parametrize(
    ("given_value", "raw", "read"),
    [
        ('{"a": 1}', '{"a": 1}', {"a": 1}),
        ({"a": 1}, '{"a": 1}', {"a": 1}),
        (None, "", {}),
        ("", "", {}),
        ("  \n", "  \n", {}),
        ('"{\\"a\\": 1}"', '"{\\"a\\": 1}"', {"a": 1}),
        (json.dumps(json.dumps(json.dumps({"a": 1}))), json.dumps(json.dumps(json.dumps({"a": 1}))), {"a": 1}),
        ('{"a": 1} and that is it', '{"a": 1} and that is it', {"a": 1}),
        ('{"where": ["time=ni', '{"where": ["time=ni', None),
        ("null", "null", None),
        ("[]", "[]", None),
        ([1], "[1]", None),
        (7, "7", None),
    ],
)
def test_arguments_come_as_text_as_an_object_as_nothing_or_encoded_twice(given_value, raw, read):
    assert arguments(given_value) == (raw, read)


@pytest.mark.parametrize(
    ("text", "answer", "thoughts"),
    [
        ("plain", "plain", ""),
        ("<think>why</think>\nyes", "yes", "why"),
        ("why\n</think>\n\nyes", "yes", "why"),
        ("<think>why, and never an end", "", "why, and never an end"),
        ("<THINKING>a</THINKING>b<think>c</think>d", "bd", "a\nc"),
        ("<think></think>yes", "yes", ""),
        ("<b>bold</b>", "<b>bold</b>", ""),
    ],
)
def test_reasoning_is_taken_out_of_the_answer(text, answer, thoughts):
    assert without_reasoning(text) == (answer, thoughts)


@given(OBJECTS, PROSE, PROSE)
def test_an_object_is_read_whatever_prose_stands_around_it(value, before, after):
    assert json_object(f"{before}{json.dumps(value)}{after}") == value


@given(OBJECTS, st.integers(0, 2), st.booleans())
def test_arguments_survive_every_way_of_sending_them(value, encodings, as_object):
    text = json.dumps(value)
    for _ in range(encodings):
        text = json.dumps(text)
    assert arguments(value if as_object else text)[1] == value


def substrings_that_are_objects(text):
    found = []
    for i, c in enumerate(text):
        for j in range(i + 1, len(text) + 1) if c == "{" else ():
            if isinstance(value := loads(text[i:j]), dict):
                found.append(value)
    return found


@given(PIECES.map("".join) | st.text(max_size=40))
@example('{"a": {"b": 1}')
def test_what_is_read_stands_literally_in_the_text(text):
    value = json_object(text)
    assert value is None or value in substrings_that_are_objects(text)


@given(st.one_of(st.text(), JSON, PIECES.map("".join), st.binary()))
def test_reading_arguments_never_crashes_and_gives_a_mapping_or_nothing(value):
    raw, read = arguments(value)
    assert isinstance(raw, str)
    assert read is None or isinstance(read, dict)
    if read:
        json.dumps(read, allow_nan=False, ensure_ascii=False).encode()


@given(OBJECTS, st.data())
def test_a_cut_off_object_is_never_completed(value, data):
    text = json.dumps({"first": 1, **value})
    end = data.draw(st.integers(1, len(text) - 1))
    read = arguments(text[:end])[1]
    assert read is None or read in substrings_that_are_objects(text[:end])
    assert read != {"first": 1, **value} or read in substrings_that_are_objects(text[:end])


@pytest.mark.parametrize(
    "text", ["{" * 100_000, '{"a":' * 50_000, "[" * 100_000, "<think>" * 20_000, "```" * 50_000, '{"a": ' + "9" * 10_000 + "}"]
)
def test_hostile_texts_are_read_at_once(text):
    assert json_object(text) is None


@given(
    st.recursive(
        JSON | st.just(float("nan")) | st.just("\ud800"), lambda x: st.dictionaries(st.text(max_size=3), x, max_size=2), max_leaves=4
    )
)
def test_cleaned_data_can_be_hashed_and_written(value):
    json.dumps(clean(value), allow_nan=False, ensure_ascii=False).encode()
    assert clean(clean(value)) == clean(value)
