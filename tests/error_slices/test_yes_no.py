"""How far a model says yes: the paper's equation on lists of tokens of every make, samples, and words."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.error_slices.vision.yes_no import FLOOR, mean_of, of_samples, of_tokens, of_words, read_yes_no, word_of, word_said
from core.llm import Ask, Client
from core.llm.logprobs import answer_tokens, tokens_json, tokens_of_json
from tests.stub_llm import completion, text, weighed

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "drafts" / "error_slice_test_vectors.json"
CASES = [
    ([("Yes", -0.2), ("No", -1.8), (" yes", -4.0)], 0.8350878769134992, 1.0023452801883026, ""),
    ([("No", -0.01), ("The", -5.0), ("It", -7.0)], 0.0009201989855852597, 0.9909617157147226, "censored"),
    ([("The", -0.1), ("It", -2.5)], None, None, "no_yes_no_token"),
    ([("I", -0.3), ("Yes", -2.2), ("no", -2.6)], 0.598687660112452, 0.18507673657666773, "low_mass"),
]
ASK = Ask([{"role": "user", "content": "yes or no?"}], 16, top_logprobs=20)


@pytest.mark.parametrize(("top", "c", "mass", "flag"), CASES)
def test_lists_of_tokens_give_the_papers_score(top, c, mass, flag):
    found = read_yes_no(top)
    assert found.flag == flag
    assert found.c == (None if c is None else pytest.approx(c, rel=1e-12))
    assert found.mass == (None if mass is None else pytest.approx(mass, rel=1e-12))
    assert found.logit == (None if c is None else pytest.approx(math.log(c / (1 - c)), rel=1e-9))


@pytest.mark.skipif(not VECTORS.exists(), reason="the test vectors of the design are not here")
def test_the_vectors_of_the_design():
    for case in json.loads(VECTORS.read_text())["yes_no"]:
        found = read_yes_no([(t["token"], t["logprob"]) for t in case["top_logprobs"]])
        assert (found.flag or "ok") == case["expect"]["flag"]
        assert found.c == (None if case["expect"]["c"] is None else pytest.approx(case["expect"]["c"], rel=1e-12))
        if "mass" in case["expect"]:
            assert found.mass == pytest.approx(case["expect"]["mass"], rel=1e-12)


@pytest.mark.parametrize("token", ["yes", "Yes", " YES", "\u0120yes", "\u2581Yes", "yes.", '"yes"', "**Yes**", "\u010ayes", "<0x0A>yes"])
def test_spellings_of_yes(token):
    assert word_of(token) == "yes"
    assert read_yes_no([(token, -0.1), ("no", -3.0)]).flag == ""


@pytest.mark.parametrize("token", ["yesterday", "not", "none", "y", "now", ""])
def test_what_only_begins_like_yes_or_no_is_neither(token):
    assert read_yes_no([(token, -0.1), ("the", -3.0)]).flag == "no_yes_no_token"


def test_minus_infinity_counts_as_not_listed():
    found = read_yes_no([("Yes", -0.05), ("No", -math.inf), ("Maybe", -4.0)])
    assert found.flag == "censored"
    assert found.c == pytest.approx(1 / (1 + math.exp(-4.0 + 0.05)), rel=1e-12)
    assert read_yes_no([("Yes", -math.inf), ("No", -math.inf)]).flag == "no_yes_no_token"
    assert read_yes_no([("Yes", -9_999.0), ("No", -0.1), ("The", -3.0)]).flag == "censored"


def test_a_list_of_one_token_is_bounded_by_what_it_leaves_over():
    found = read_yes_no([("No", -0.01)])
    assert found.flag == "censored"
    assert found.c == pytest.approx(1 - math.exp(-0.01), rel=1e-9)


def test_a_token_that_is_listed_twice_counts_once():
    assert read_yes_no([("Yes", -0.5), ("No", -1.5), ("Yes", -0.5)]) == read_yes_no([("Yes", -0.5), ("No", -1.5)])


@given(st.lists(st.tuples(st.sampled_from(["Yes", " yes", "No", "no", "The", "It"]), st.floats(-80, 0) | st.just(-math.inf)), max_size=8))
def test_scores_stay_in_range_and_agree_with_their_logit(top):
    found = read_yes_no(top)
    if found.c is None:
        assert (found.logit, found.mass, found.flag) == (None, None, "no_yes_no_token")
    else:
        assert 0 <= found.c <= 1 and math.isfinite(found.logit) and abs(found.logit) <= -FLOOR + 3
        assert found.c == pytest.approx(1 / (1 + math.exp(-found.logit)), abs=1e-12)


@given(st.floats(-30, -0.01), st.floats(-30, -0.01), st.floats(-5, 5))
def test_the_constant_of_the_softmax_cancels(yes, no, shift):
    a, b = read_yes_no([("yes", yes), ("no", no)]), read_yes_no([("yes", yes + shift - 6), ("no", no + shift - 6)])
    assert a.logit == pytest.approx(yes - no, abs=1e-9)
    if a.c is not None and b.c is not None:
        assert a.logit == pytest.approx(b.logit, abs=1e-9)


def reply(stub, answer, ask=ASK):
    stub.script = [answer]
    with Client(stub.endpoint()) as client:
        return client.chat(ask)


@pytest.mark.parametrize("shape", ["chat", "old"])
@pytest.mark.parametrize(
    "before",
    [(), (" ",), ("<think>", "yes", " it is", "</think>", "\n\n"), ("<|channel|>", "final", "<|message|>"), ("\u010a",)],
)
def test_the_first_token_of_the_answer_is_found_behind_all_that_servers_put_before_it(stub_llm, shape, before):
    found = reply(stub_llm, weighed([("\u0120No", -0.2), ("Yes", -1.9), ("The", -5)], before=before, shape=shape, content="No"))
    assert found.tokens[0].text == " No"
    assert of_tokens(found.tokens).c == pytest.approx(1 / (1 + math.exp(1.7)), rel=1e-9)
    assert tokens_of_json(json.loads(json.dumps(tokens_json(found.tokens)))) == found.tokens


def test_reasoning_that_the_server_tells_apart_is_skipped(stub_llm):
    answer = weighed([("yes", -0.1), ("no", -2.6)], before=("It", " is", " no", " car", "."))
    answer.body["choices"][0]["message"]["reasoning_content"] = "It is no car."
    assert reply(stub_llm, answer).tokens[0].text == "yes"


def test_reasoning_without_an_end_has_no_answer(stub_llm):
    assert reply(stub_llm, weighed([("yes", -0.1), ("no", -2.6)], before=("<think>", "hm"), content="<think>hm yes")).tokens == ()


def test_minus_infinity_comes_through_the_wire(stub_llm):
    found = reply(stub_llm, weighed([("No", -0.1), ("Yes", -math.inf), ("The", -3.0)]))
    assert found.tokens[0].top[1] == ("Yes", -math.inf)
    assert of_tokens(found.tokens).flag == "censored"
    assert tokens_of_json(json.loads(json.dumps(tokens_json(found.tokens)))) == found.tokens


@pytest.mark.parametrize("told", [None, {}, {"content": None}, {"content": []}, [], "no", {"content": [3, None]}, {"tokens": "x"}])
def test_log_probabilities_that_cannot_be_read_are_none(told):
    assert answer_tokens({"logprobs": told}, "yes") == ()


def test_they_are_read_only_where_they_were_asked_for(stub_llm):
    assert reply(stub_llm, weighed([("yes", -0.1)]), Ask(ASK.messages, 16)).tokens == ()
    assert "logprobs" not in stub_llm.asked[-1].body
    reply(stub_llm, text("yes"))
    assert (stub_llm.asked[-1].body["logprobs"], stub_llm.asked[-1].body["top_logprobs"]) == (True, 20)


def test_samples_give_their_share_of_yes():
    assert of_samples(["Yes", "yes.", "No", "no"]).c == pytest.approx(0.5)
    assert of_samples(["Yes"] * 8).c == pytest.approx(8.5 / 9)
    assert of_samples(["No", "perhaps", "<think>yes</think>No"]).c == pytest.approx(0.5 / 3)
    assert of_samples(["perhaps"]).flag == of_samples([]).flag == "no_yes_no_token"


@pytest.mark.parametrize(
    ("answer", "c"),
    [
        ('{"answer": "yes", "confidence": 80}', 0.8),
        ('```json\n{"Answer": "No", "Confidence": "90 %"}\n```', 0.1),
        ('{"answer": true, "confidence": 0.75}', 0.75),
        ('{"answer": "yes", "confidence": 100}', 0.995),
        ('{"answer": "no", "confidence": 10}', 0.5),
        ('{"answer": "maybe", "confidence": 80}', None),
        ('{"answer": "yes"}', None),
        ('{"answer": "yes", "confidence": 800}', None),
        ("yes", None),
    ],
)
def test_confidence_in_words(answer, c):
    assert of_words(answer).c == (None if c is None else pytest.approx(c))


def test_answers_that_begin_with_a_word_say_it():
    assert word_said("Yes, it is.") == "yes"
    assert word_said('{"answer": "no"}') == "no"
    assert word_said("It is not.") is None
    assert word_said("nothing") is None
    assert word_said("") is None


def test_both_orders_are_averaged_and_keep_the_worse_flag():
    a, b = read_yes_no([("yes", -0.1), ("no", -2.5)]), read_yes_no([("No", -0.2), ("The", -4.0)])
    both = mean_of([a, b])
    assert both.logit == pytest.approx((a.logit + b.logit) / 2)
    assert (both.flag, both.mass) == ("censored", min(a.mass, b.mass))
    assert mean_of([a, read_yes_no([("The", -0.1)])]).c is None


def test_a_completion_without_a_choice_list_has_none(stub_llm):
    assert reply(stub_llm, completion({"content": "yes"}, logprobs={"content": [{"token": "yes"}]})).tokens[0].top == ()
