"""Matching by a vision model on real pictures against a stub with the quirks of real servers; also a real server where one is named."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from core.digest import sha256_bytes
from core.error_slices.vision.ask import question_of
from core.error_slices.vision.cost import plan_match
from core.error_slices.vision.match_vision import match_with_model
from core.error_slices.vision.options import Digests, MatchOptions, choose_units, limits_of
from core.error_slices.vision.probe import known_ability, probe_ability
from core.errors import InputError
from core.llm import Endpoint, ModelError, Price
from core.llm.pace import Limits
from core.settings import Settings
from core.storage import open_store
from tests.error_slices.vision_scene import (
    ABLE,
    BLUE,
    DARK,
    GREY,
    NIGHT,
    darkness,
    logprob,
    pictures_of,
    populations,
    real_endpoint,
    red,
    scene,
    seeing,
    top_of,
    words,
)
from tests.stub_llm import StubServer, completion, error, text, weighed

ROOT = Path(__file__).resolve().parents[2]
REAL = real_endpoint()
FAST = MatchOptions(limits=Limits(first_wait=0.01, longest_wait=0.02))


@pytest.fixture
def store(workspace):
    opened = open_store(Settings.from_environment())
    yield opened
    opened.close()


@pytest.fixture
def units(tmp_path):
    return scene(tmp_path / "pictures")


def match(store, stub, units, *hypotheses, script=ABLE["logprob"], options=FAST, **more):
    stub.script = script
    return match_with_model(store, stub.endpoint(), units, hypotheses, populations(units, *hypotheses), options=options, **more)


def darks(units):
    """Whether each unit of the ground truth is the dark one of its picture."""
    return np.isclose(units.xyxy[units.on("gt"), 0], 10)


def test_dark_objects_score_high_and_the_scores_are_those_of_the_answers(store, stub_llm, units):
    out = match(store, stub_llm, units, DARK)
    s = out.scores["dark"]
    assert (out.source, s.source, s.matcher, out.stopped, out.partial) == ("logprob", "logprob", "stub-model, prompt 1", "", False)
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
    assert 'of the class "car"' in sent[0].last


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
    assert set(vars(a)) == {"statement", "side", "class_name", "box", "image"}


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
    assert s.matcher.endswith("both orders")


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


# Failures, budgets, cancel.


def test_failures_that_pass_are_tried_again_and_those_that_stay_are_counted(store, stub_llm, units):
    seen = Counter()

    def shaky(c, request):
        if red(request) is not None:
            return logprob(c, request)
        seen[c] += 1
        if seen[c] == 1:
            return error(429, "slow down", headers={"Retry-After": "0"})
        return error(503, "down") if c > 0.5 else logprob(c, request)

    out = match(store, stub_llm, units, DARK, script=seeing(shaky), options=MatchOptions(limits=Limits(attempts=3, first_wait=0.0)))
    h = out.hypotheses[0]
    assert h.scored == 8
    assert sum(h.failed.values()) == 4 and all(why.startswith("no answer") for why in h.failed)
    assert h.partial and out.partial
    assert out.calls["retries"] > 0


def test_a_statement_that_the_server_refuses_is_asked_no_more_and_the_others_go_on(store, stub_llm, units):
    def picky(c, request):
        return error(400, "I do not judge blue.") if BLUE.text in request.last else logprob(c, request)

    out = match(store, stub_llm, units, DARK, BLUE, script=seeing(picky), options=MatchOptions(limits=Limits(start=1, most=1)))
    assert sum(BLUE.text in r.last for r in stub_llm.asked) <= 5
    by_id = {h.hypothesis_id: h for h in out.hypotheses}
    assert (by_id["dark"].scored, by_id["blue"].scored) == (12, 0)
    assert any("I do not judge blue." in p for p in out.problems)


def test_pictures_that_cannot_be_read_are_named_and_the_rest_goes_on(store, stub_llm, units):
    images = units.detections.images
    images[0].path.unlink()
    images[1].path.write_bytes(b"no picture")
    out = match(store, stub_llm, units, DARK)
    assert out.hypotheses[0].scored == 6
    assert out.hypotheses[0].left_out == {"without an image file": 3}
    assert out.hypotheses[0].failed == {"its image cannot be read": 3}
    assert any("0.png" in p for p in out.problems) and any("1.png" in p for p in out.problems)


def test_a_picture_that_changed_since_it_was_imported_is_not_asked_about(store, stub_llm, units):
    from dataclasses import replace

    images = tuple(replace(i, sha256=sha256_bytes(i.path.read_bytes())) for i in units.detections.images)
    images[2].path.write_bytes(images[3].path.read_bytes())
    out = match(store, stub_llm, replace(units, detections=replace(units.detections, images=images)), DARK)
    assert out.hypotheses[0].failed == {"its image cannot be read": 3}
    assert any("its content has changed" in p for p in out.problems)


def test_cancel_keeps_what_is_there_and_a_second_run_goes_on(store, stub_llm, tmp_path):
    units = scene(tmp_path / "many", 10)
    seen = []
    options = MatchOptions(limits=Limits(start=2, most=2))
    out = match(store, stub_llm, units, DARK, options=options, progress=seen.append, cancel=lambda: len(seen) >= 8)
    assert out.stopped == "Cancelled."
    assert 8 <= len(out.scores["dark"].units) < 30
    assert out.hypotheses[0].not_reached == 30 - len(out.scores["dark"].units)
    assert [p.done for p in seen] == list(range(1, len(seen) + 1))
    before = len(stub_llm.asked)
    again = match_with_model(store, stub_llm.endpoint(), units, [DARK], populations(units, DARK), options=options)
    assert again.calls["cached"] >= 8
    assert len(again.scores["dark"].units) == 30
    assert len(stub_llm.asked) - before <= 30 - 8 + 2


def test_a_budget_pauses(store, stub_llm, units):
    out = match(store, stub_llm, units, DARK, options=MatchOptions(limits=Limits(max_calls=5)))
    assert "budget of 5 calls" in out.stopped
    assert len(out.scores["dark"].units) == 5


def test_no_units_no_calls(store, stub_llm, units):
    stub_llm.script = ABLE["logprob"]
    out = match_with_model(store, stub_llm.endpoint(), units, [DARK], {}, options=FAST)
    assert (out.scores, out.hypotheses, out.partial) == ({}, (), False)


# The plan.


def test_the_plan_tells_calls_tokens_and_price_before_anything_is_sent(store, stub_llm, units):
    stub_llm.script = ABLE["logprob"]
    endpoint = Endpoint(stub_llm.url, "stub-model", price=Price(2.0, 8.0, currency="EUR"))
    people = populations(units, DARK, BLUE, NIGHT)
    plan = plan_match(store, endpoint, units, [DARK, BLUE, NIGHT], people)
    assert not stub_llm.asked
    assert (plan.calls, plan.cached, plan.new, plan.source, plan.probed, plan.measured) == (28, 0, 28, "logprob", False, False)
    assert [(h.calls, h.errors) for h in plan.hypotheses] == [(12, 4), (12, 4), (4, 0)]  # no picture has a loss above a half
    assert plan.cost == pytest.approx((plan.prompt_tokens * 2 + plan.completion_tokens * 8) / 1e6)
    assert plan.currency == "EUR"
    match_with_model(store, endpoint, units, [DARK], people, options=FAST)
    plan = plan_match(store, endpoint, units, [DARK, BLUE, NIGHT], people)
    assert (plan.cached, plan.new, plan.probed) == (12, 16, True)
    match_with_model(store, endpoint, units, [DARK, BLUE], people, options=FAST)
    plan = plan_match(store, endpoint, units, [DARK, BLUE, NIGHT], people)
    assert (plan.measured, plan.prompt_tokens, plan.completion_tokens) == (True, 40, 20)  # the stub tells 10 and 5 tokens a call
    assert plan.seconds is not None


def test_the_plan_counts_samples_and_says_why_nothing_is_asked(store, stub_llm, units):
    plan = plan_match(store, stub_llm.endpoint(), units, [DARK, BLUE], populations(units, DARK), MatchOptions(kind="sampled", samples=5))
    assert (plan.calls, plan.source, plan.cost) == (60, "sampled", None)
    assert plan.hypotheses[1].why == "the data has no units of its type and classes"


def test_the_plan_is_what_is_sent(store, stub_llm, units):
    people = populations(units, DARK, NIGHT)
    plan = plan_match(store, stub_llm.endpoint(), units, [DARK, NIGHT], people)
    assert match(store, stub_llm, units, DARK, NIGHT).calls["new"] == plan.new


def test_options_out_of_range_are_all_named():
    with pytest.raises(InputError) as caught:
        MatchOptions(most_errors=0, samples=0)
    assert {p.column for p in caught.value.problems} == {"most_errors", "samples"}


@pytest.mark.parametrize(
    ("url", "most"), [("http://localhost:8000/v1", 8), ("http://192.168.1.5/v1", 8), ("https://api.example.com/v1", 4)]
)
def test_hosted_servers_are_asked_less_at_once(url, most):
    assert limits_of(Endpoint(url, "m"), MatchOptions()).most == most


def test_the_probe_is_remembered(store, stub_llm, units):
    match(store, stub_llm, units, DARK)
    found = known_ability(store, stub_llm.endpoint())
    assert (found.kind, found.tokens, found.top) == ("logprob", 1, 4)
    assert known_ability(store, stub_llm.endpoint(model="other")) is None


# A process that is killed.

CHILD = """
import sys
from pathlib import Path
from core.error_slices.vision.match_vision import match_with_model
from core.error_slices.vision.options import MatchOptions
from core.llm import endpoint_for
from core.llm.pace import Limits
from core.settings import Settings
from core.storage import open_store
from tests.error_slices.vision_scene import DARK, populations, scene
import json
units = scene(Path(sys.argv[1]), 60)
store = open_store(Settings.from_environment())
options = MatchOptions(limits=Limits(start=8, most=8))
out = match_with_model(store, endpoint_for("vlm"), units, [DARK], populations(units, DARK), options=options)
print(json.dumps({"calls": dict(out.calls), "scores": out.scores["dark"].c.tolist()}))
"""


def test_killed_in_the_middle_nothing_that_was_answered_is_asked_again(tmp_path, workspace):
    def start(stub):
        env = {**os.environ, "ODDYSSEY_HOME": str(workspace), "DATABASE_URL": "", **stub.environment("vlm")}
        command = [sys.executable, "-c", CHILD, str(tmp_path / "pictures")]
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with StubServer(seeing(lambda c, r: logprob_slow(c, r))) as stub:
        process = start(stub)
        deadline = time.monotonic() + 120
        while len(stub.asked) < 80:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.kill()  # SIGKILL: no handler, no finally
        process.communicate()
        time.sleep(0.1)
        opened = open_store(Settings.from_environment())
        done, in_flight = opened.calls.counts()["done"], opened.calls.counts().get("in_flight", 0)
        opened.close()
        assert done >= 40
        before = len([r for r in stub.asked if red(r) is None])
        out, err = start(stub).communicate(timeout=300)
        found = json.loads(out or err)
        sent = len([r for r in stub.asked if red(r) is None]) - before
    assert found["calls"]["cached"] == done
    assert found["calls"]["repeated"] == in_flight
    assert sent == found["calls"]["new"] == 180 - done
    assert len(found["scores"]) == 180
    assert all((c > 0.7) == (k % len(GREY) == 0) for k, c in enumerate(found["scores"]))


def logprob_slow(c, request):
    return weighed(top_of(c), delay=0.02)


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
