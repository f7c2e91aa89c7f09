"""Matching by a vision model on real pictures against a stub with the quirks of real servers; also a real server where one is named."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from core.error_slices.vision.ask import question_of
from core.error_slices.vision.match_vision import match_with_model
from core.error_slices.vision.options import Digests, MatchOptions, choose_units
from core.error_slices.vision.probe import probe_ability
from core.errors import InputError
from core.llm import ModelError
from core.llm.pace import Limits
from tests.error_slices.vision_scene import (
    ABLE,
    BLUE,
    DARK,
    FAST,
    NIGHT,
    darkness,
    logprob,
    match,
    pictures_of,
    populations,
    red,
    scene,
    seeing,
    top_of,
    words,
)
from tests.real_llm import real_endpoint
from tests.stub_llm import StubServer, completion, error, text, weighed

ROOT = Path(__file__).resolve().parents[2]
REAL = real_endpoint()


@pytest.fixture
def units(tmp_path):
    return scene(tmp_path / "pictures")


def darks(units):
    """Whether each unit of the ground truth is the dark one of its picture."""
    return np.isclose(units.xyxy[units.on("gt"), 0], 10)


def test_dark_objects_score_high_and_the_scores_are_those_of_the_answers(store, stub_llm, units):
    out = match(store, stub_llm, units, DARK)
    s = out.scores["dark"]
    assert (out.source, s.source, s.matcher, out.stopped, out.partial) == ("logprob", "logprob", out.matcher, "", False)
    assert s.matcher.startswith("stub-model, prompt 2 (")
    assert s.units.tolist() == units.on("gt").tolist()
    assert (s.c[darks(units)] > 0.7).all()
    assert (s.c[~darks(units)] < 0.2).all()
    assert s.weight.tolist() == [1.0] * len(s.units)
    sent = [r for r in stub_llm.asked if red(r) is None]
    assert sorted(round(darkness(r), 3) for r in sent) == pytest.approx(sorted(s.c), abs=0.002)
    assert np.allclose(s.logit, np.log(s.c / (1 - s.c)))
    assert out.calls == {"new": 12, "cached": 0, "repeated": 0, "retries": 0}


def test_what_is_sent_shows_frame_and_crop_and_tells_nothing_of_the_outcome(store, stub_llm, units):
    match(store, stub_llm, units, DARK, BLUE, NIGHT)
    sent = [r for r in stub_llm.asked if red(r) is None]
    by_statement = Counter(h.id for r in sent for h in (DARK, BLUE, NIGHT) if h.text in r.last)
    assert by_statement == {"dark": 12, "blue": 12, "night": 4}
    for r in sent:
        kinds = [p["type"] for p in r.messages[-1]["content"]]
        assert kinds == (["image_url", "text"] if NIGHT.text in r.last else ["image_url", "image_url", "text"])
        body = {k: v for k, v in r.body.items() if k != "messages"}
        assert body == {
            "model": "stub-model",
            "max_tokens": 1,
            "temperature": 0.0,
            "seed": 0,
            "logprobs": True,
            "top_logprobs": 20,
        }
        told = " ".join([r.messages[0]["content"], r.last]).casefold()
        for leak in ("missed", "error", "false", "wrong", "correct", "confidence", "fail", "iou", "score"):
            assert leak not in told
    frame, crop = pictures_of(next(r for r in sent if DARK.text in r.last))
    assert frame.size == (160, 100)
    assert max(crop.size) >= 224
    assert all('the class "car"' in r.last for r in sent if NIGHT.text not in r.last)


def test_a_second_run_asks_nothing_even_of_a_server_that_is_gone(store, units):
    with StubServer(ABLE["logprob"]) as stub:
        endpoint = stub.endpoint()
        first = match_with_model(store, endpoint, units, [DARK], populations(units, DARK), options=FAST)
    again = match_with_model(store, endpoint, units, [DARK], populations(units, DARK), options=FAST)
    assert again.calls == {"new": 0, "cached": 12, "repeated": 0, "retries": 0}
    assert np.array_equal(again.scores["dark"].c, first.scores["dark"].c)


def test_keys_hold_the_content_and_neither_the_unit_nor_its_error(units, tmp_path):
    from dataclasses import replace

    gt = units.on("gt")
    a = question_of(units, int(gt[0]), DARK.text)
    renamed = replace(units, ids=tuple(f"x{i}" for i in units.ids), kind=np.full(len(units), "TP"))
    assert question_of(renamed, int(gt[0]), DARK.text) == a
    assert question_of(units, int(gt[1]), DARK.text) != a
    assert question_of(units, int(gt[0]), "The object is in  deep\nshadow.") == a
    assert question_of(units, int(gt[0]), "The object is red.") != a
    assert set(vars(a)) == {"statement", "side", "class_name", "box", "size", "image"}


def test_a_sample_keeps_the_rates_of_the_population_by_its_weights(store, stub_llm, tmp_path):
    units = scene(tmp_path / "many", 12)
    people = populations(units, DARK)["dark"]
    options = MatchOptions(most_errors=4, most_correct=6, limits=FAST.limits)
    s = match(store, stub_llm, units, DARK, options=options).scores["dark"]
    loss = dict(zip(people.units.tolist(), people.loss, strict=True))
    err = np.array([loss[u] for u in s.units.tolist()])
    assert (err.sum(), (1 - err).sum()) == (4, 6)
    assert s.weight.sum() == pytest.approx(len(people.units))
    assert (s.weight * err).sum() / s.weight.sum() == pytest.approx(people.loss.mean())
    assert s.counts["units that the model was not asked about"] == len(people.units) - 10
    fewer = choose_units(units, people, MatchOptions(most_errors=2, most_correct=6), Digests(units))
    assert set(fewer.units.tolist()) < set(s.units.tolist())


def test_both_orders_are_asked_and_averaged(store, stub_llm, units):
    def leaning(c, request):
        first = request.last.rstrip(".").endswith("yes or no")
        return weighed([("Yes", -0.2), ("No", -1.7)] if first else [("No", -0.3), ("Yes", -1.4)])

    options = MatchOptions(both_orders=True, limits=FAST.limits)
    s = match(store, stub_llm, units, DARK, script=seeing(leaning), options=options).scores["dark"]
    assert s.logit == pytest.approx([(1.5 - 1.1) / 2] * 12)
    assert ", both orders (" in s.matcher


# Quirks of servers.


def test_log_probabilities_that_are_dropped_without_a_word_lead_to_samples(store, stub_llm, units):
    out = match(store, stub_llm, units, DARK, script=ABLE["words"])
    assert (out.source, out.scores["dark"].source) == ("sampled", "sampled")
    assert out.calls["new"] == 12 * 8
    assert "did not refuse" in " ".join(out.ability.findings)
    s = out.scores["dark"]
    assert len(set(np.round(s.c * 9 - 0.5, 6))) <= 9
    assert s.c[darks(units)].min() > s.c[~darks(units)].max()
    assert all(r.body["temperature"] == 1.0 and r.body["top_p"] == 1.0 for r in stub_llm.asked[-96:])
    assert {r.body["seed"] for r in stub_llm.asked[-96:]} == set(range(8))


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "logprobs are not supported with reasoning models.", param="logprobs"),
        error(400, "Logprobs is not enabled for models/some-pro"),
        error(422, "extra fields not permitted: top_logprobs, logprobs"),
    ],
)
def test_log_probabilities_that_are_refused_lead_to_samples(store, stub_llm, units, refusal):
    out = match(store, stub_llm, units, DARK, script=lambda r: refusal if "logprobs" in r.body else ABLE["words"](r))
    assert out.source == "sampled"
    assert sum("logprobs" in r.body for r in stub_llm.asked) == 1
    assert any("refused to tell log-probabilities" in f for f in out.ability.findings)


@pytest.mark.parametrize(
    "words_of_limit",
    ["Requested sample logprobs of 20, which is greater than max allowed: 5", "top_logprobs must be less than or equal to 5"],
)
def test_a_server_that_lists_fewer_is_asked_for_fewer(store, stub_llm, units, words_of_limit):
    def script(r):
        return error(400, words_of_limit) if r.body.get("top_logprobs", 0) > 5 else ABLE["logprob"](r)

    out = match(store, stub_llm, units, DARK, script=script)
    assert out.source == "logprob"
    assert {r.body["top_logprobs"] for r in stub_llm.asked[1:]} == {5}


@pytest.mark.parametrize("mark", ["\u0120", "\u2581", " ", ""])
def test_tokens_with_marks_of_their_vocabulary(store, stub_llm, units, mark):
    def marked(c, request):
        return weighed([(f"{mark}{t.strip().lower()}", x) for t, x in top_of(c)])

    out = match(store, stub_llm, units, DARK, script=seeing(marked))
    assert out.source == "logprob"
    assert (out.scores["dark"].c[darks(units)] > 0.7).all()


def test_minus_infinity_and_short_lists_are_censored_and_counted(store, stub_llm, units):
    def harsh(c, request):
        top = top_of(c)
        if red(request) is None:
            top = [top[0], (top[1][0], -math.inf), *top[2:]]
        return weighed(top)

    out = match(store, stub_llm, units, DARK, script=seeing(harsh))
    s = out.scores["dark"]
    assert set(s.flags) == {"censored"}
    assert s.counts["answers that are censored"] == 12
    assert np.isfinite(s.logit).all()


def test_a_list_with_one_finite_token_is_not_used(store, stub_llm, units):
    def greedy(c, request):
        if not request.body.get("logprobs"):
            return words(c, request)
        top = top_of(c)
        return weighed([(top[0][0], 0.0), *((t, -math.inf) for t, _ in top[1:])])

    out = match(store, stub_llm, units, DARK, script=seeing(greedy))
    assert out.source == "sampled"
    assert any("cannot be weighed" in f for f in out.ability.findings)


def test_a_model_that_reasons_first_is_given_room(store, stub_llm, units):
    def thinking(c, request):
        if request.body["max_tokens"] < 100:
            return completion({"content": "<think>"}, finish="length", logprobs={"content": [{"token": "<think>", "top_logprobs": []}]})
        top = top_of(c)
        before = ("<think>", "yes", " or", " no", "</think>", "\n\n")
        return weighed(top, before=before, content=f"<think>yes or no</think>\n\n{top[0][0]}")

    out = match(store, stub_llm, units, DARK, script=seeing(thinking))
    assert (out.source, out.ability.tokens) == ("logprob", 1_024)
    assert (out.scores["dark"].c[darks(units)] > 0.7).all()


def test_a_server_without_temperature_is_asked_in_words(store, stub_llm, units):
    def script(r):
        if r.body.get("temperature") not in (None, 0.0):
            return error(400, "temperature is not supported with this model", param="temperature")
        return ABLE["words"](r)

    out = match(store, stub_llm, units, DARK, script=script)
    assert (out.source, out.calls["new"]) == ("verbalised", 12)
    assert (out.scores["dark"].c[darks(units)] > 0.7).all()


def test_neither_yes_nor_no_is_no_score_and_counted(store, stub_llm, units):
    def vague(c, request):
        return logprob(c, request) if red(request) is not None or c > 0.5 else weighed([("It", -0.2), ("The", -2.0)])

    out = match(store, stub_llm, units, DARK, script=seeing(vague))
    s = out.scores["dark"]
    assert np.isnan(s.c[~darks(units)]).all()
    assert s.counts["answers that are neither yes nor no"] == 8
    assert (out.partial, out.hypotheses[0].scored) == (True, 4)


def test_a_model_that_says_nothing_of_use_is_refused_with_what_was_found(store, stub_llm, units):
    with pytest.raises(InputError, match="cannot be asked about pictures") as caught:
        match(store, stub_llm, units, DARK, script=lambda r: text("I am a teapot."))
    assert "instead of yes or no" in str(caught.value)
    with pytest.raises(ModelError, match="no images here"):
        match(store, stub_llm, units, DARK, script=lambda r: error(400, "no images here"))


def test_a_way_that_was_asked_for_is_not_replaced_by_another(store, stub_llm, units):
    with pytest.raises(InputError, match="logprob"):
        match(store, stub_llm, units, DARK, script=ABLE["words"], options=MatchOptions(kind="logprob"))
    out = match(store, stub_llm, units, DARK, options=MatchOptions(kind="verbalised", limits=FAST.limits), script=ABLE["words"])
    assert out.source == "verbalised"


def test_a_blind_model_is_told_so(store, stub_llm, units):
    out = match(store, stub_llm, units, DARK, script=lambda r: logprob(0.8, r))
    assert any("may not see pictures" in f for f in out.ability.findings)


def test_log_probabilities_that_are_dropped_now_and_then_are_asked_for_again(store, stub_llm, units):
    seen = Counter()

    def forgetful(c, request):
        seen[request.last + str(c)] += 1
        return logprob(c, request) if red(request) is not None or seen[request.last + str(c)] > 1 else completion({"content": "Yes"})

    out = match(store, stub_llm, units, DARK, script=seeing(forgetful))
    assert not out.partial and len(out.scores["dark"].units) == 12


def test_log_probabilities_that_stay_away_end_the_run(store, stub_llm, tmp_path):
    def broken(c, request):
        return logprob(c, request) if red(request) is not None else completion({"content": "Yes"})

    units = scene(tmp_path / "many", 10)
    out = match(store, stub_llm, units, DARK, script=seeing(broken), options=MatchOptions(limits=Limits(start=1, most=1)))
    assert "10 answers in a row came without the log-probabilities" in out.stopped
    assert out.partial and out.hypotheses[0].not_reached > 0
    assert set(out.scores["dark"].flags) == {"failed"} and np.isnan(out.scores["dark"].c).all()
    again = match(store, stub_llm, units, DARK, script=seeing(logprob))  # the server was mended
    assert (again.stopped, again.partial, again.hypotheses[0].scored) == ("", False, 30)


# A real server.


@pytest.mark.skipif(REAL is None, reason="ODDYSSEY_LLM_BASE_URL names no real server")
def test_a_real_server_tells_red_from_blue():
    ability, _ = probe_ability(REAL)
    assert ability.kind in ("logprob", "sampled", "verbalised")
    assert not any("may not see pictures" in f for f in ability.findings)


@pytest.mark.skipif(REAL is None, reason="ODDYSSEY_LLM_BASE_URL names no real server")
def test_a_real_server_scores_dark_objects_higher(store, units):
    s = match_with_model(store, REAL, units, [DARK], populations(units, DARK)).scores["dark"]
    assert np.nanmean(s.c[darks(units)]) > np.nanmean(s.c[~darks(units)])
