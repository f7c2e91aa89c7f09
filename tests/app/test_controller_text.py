"""What the Controller page says of a run, on runs made by hand: every number in a sentence is one of the run's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markupsafe import escape

from core.controller.plan import Acquire, Evaluate, InOdd, OutOfOdd, Plan, Triage
from core.controller.reading import Reading, Suggestion
from core.controller.state import RunState, StepState
from pages.shared import ask_card, ask_chat, ask_plan, ask_text
from pages.shared.ask_starters import FIRST, STARTERS

QUERY = "Find gaps in construction zones at night and underpasses, get samples & evaluate <b>them</b>"
HOSTILE = '<img src=x onerror="alert(1)">'
PLAN = Plan(
    query=QUERY,
    controller="offline",
    steps=(
        Triage(),
        InOdd(where={"environment": ["construction"], "time": ["night"]}, reason="named"),
        OutOfOdd(extend={"weather_visibility": ["rain_heavy"]}),
        Acquire(per_slice=3),
        Evaluate(),
    ),
    unsupported_terms=("underpasses",),
)
ESTIMATE = {
    "items": 9, "model_calls": 7, "cached": 2, "judge_calls_most": 9, "prompt_tokens": 15300, "completion_tokens": 900,
    "cost": 0.08, "currency": "EUR",
}  # fmt: skip
SHA = "5ad1" + "0" * 58 + "c2"


def step(op, i, **more):
    return StepState(op, PLAN.steps[i].model_dump(mode="json", exclude={"op", "reason"}), **more)


RUN = RunState(
    id="a1b2c3d4",
    folder="a1b2c3d4",
    query=QUERY,
    who="Ana",
    created_at="2026-11-30T11:00:00+00:00",
    status="waiting",
    plan=PLAN,
    readings=(
        Reading("construction zones", "synonym", "environment", "construction"),
        Reading("heavy rain", "extension", "weather_visibility", "rain_heavy"),
        Reading(HOSTILE, "unsupported", note="not in the vocabulary"),
    ),
    suggestions=(Suggestion("underpasses", "environment", "tunnel", 0.7),),
    steps=(
        step("triage", 0, status="done", rows=12, seconds=0.1),
        step("in_odd", 1, status="done", rows=10, counts={"combinations": 480, "observed": 8, "missing": 472}, in_sha=SHA, seconds=0.2),
        step("out_of_odd", 2, status="done", rows=10, counts={"missing": 120}, seconds=0.3),
        step("acquire", 3, status="done", rows=24, counts={"valid": 9, "partial": 11, "invalid": 4, "usable": 9}, seconds=0.56),
        step("evaluate", 4, status="waiting", rows=9, estimate=ESTIMATE, note="9 samples for m1."),
    ),
)


def plain(markup) -> str:
    return markup.striptags() if hasattr(markup, "striptags") else markup


def test_the_headline_counts_what_was_ranked_found_and_waits():
    said = "Plan ready: 592 untested slices ranked, 24 samples found, 9 usable. One paid step waits for you."
    assert plain(ask_text.headline(RUN)) == said
    assert "<b>592 untested slices ranked</b>" in ask_text.headline(RUN)


def test_samples_without_an_answer_are_counted_and_never_read_as_wrong():
    down = replace(RUN.steps[4], status="done", counts={"scored": 0, "right": 0, "failed": 9})
    assert "9 usable, no answer to score among 9 samples." in plain(ask_text.headline(replace(RUN.with_step(4, down), status="done")))
    some = replace(RUN.steps[4], status="done", counts={"scored": 4, "right": 3, "failed": 2, "unscored": 3})
    told = "3 of 4 answers right (75%), 5 without a score."
    assert told in plain(ask_text.headline(replace(RUN.with_step(4, some), status="done")))


def test_a_paused_evaluation_is_no_plan_that_is_ready():
    paused = replace(RUN.steps[4], counts={"pending": 7, "scored": 2})
    assert plain(ask_text.headline(RUN.with_step(4, paused))).startswith("Paused: 592 untested slices ranked")
    assert plain(ask_text.headline(RUN.with_step(4, paused))).endswith("9 usable. 7 samples are still to be asked.")


def test_between_the_last_step_and_the_report_no_step_is_invented():
    over = replace(RUN, status="running", steps=tuple(replace(s, status="done") for s in RUN.steps))
    assert ask_text.headline(over) == "All steps are done; the report is being written."
    first = replace(RUN, status="running", steps=tuple(replace(s, status="pending") for s in RUN.steps))
    assert plain(ask_text.headline(first)) == "Step 1 of 5 is next: see where it fails."


def test_usable_are_those_that_the_button_evaluates_and_evidence_is_told_apart():
    partly = replace(RUN.steps[3], counts={"valid": 0, "partial": 1, "invalid": 9, "usable": 1})
    assert "24 samples found, 1 usable (0 as evidence)." in plain(ask_text.headline(RUN.with_step(3, partly)))
    older = replace(RUN.steps[3], counts={"valid": 2, "partial": 3, "invalid": 9})  # of a record of before it was counted
    assert "24 samples found, 5 usable (2 as evidence)." in plain(ask_text.headline(RUN.with_step(3, older)))


def test_after_the_evaluation_the_headline_tells_what_came_out():
    done = replace(RUN.steps[4], status="done", counts={"scored": 9, "right": 6})
    run = replace(RUN.with_step(4, done), status="done")
    assert plain(ask_text.headline(run)) == "592 untested slices ranked, 24 samples found, 9 usable, 6 of 9 answers right (67%)."


@pytest.mark.parametrize(
    ("status", "steps", "said"),
    [
        ("clarify", (), "Nothing was run: the question needs a word more."),
        ("running", ("running",), "Step 1 of 1 is running: rank inside the odd."),
        ("running", ("pending",), "Step 1 of 1 is next: rank inside the odd."),
        ("done", ("failed",), "Nothing came out. One step failed."),
    ],
)
def test_every_state_has_a_headline(status, steps, said):
    plan = Plan(query="?", controller="offline", steps=(InOdd(),) * len(steps))
    run = replace(RUN, plan=plan, status=status, steps=tuple(StepState("in_odd", {}, status=s) for s in steps))
    assert plain(ask_text.headline(run)).lower() == said.lower()


def test_a_fallback_is_said_with_its_reason():
    plan = PLAN.model_copy(update={"fallback_reason": "the server timed out"})
    said = plain(ask_text.provenance(replace(RUN, plan=plan)))
    assert said.startswith("The model endpoint gave no plan (the server timed out); the offline plan was used, 5 operators, 1.16 s.")
    assert "Offline controller, 5 operators, 1.16 s" in plain(ask_text.provenance(RUN))


def test_the_summary_counts_candidates_and_terms_that_were_left_out():
    said = plain(ask_text.summary(RUN))
    assert "Of 24 candidates found, 9 match every dimension, 11 miss a tag or are ambiguous, and 4 contradict the slice." in said
    assert '"underpasses" is not in the vocabulary and was left out.' in said


def test_the_timeline_shows_every_step_with_arguments_rows_and_hashes():
    text = ask_plan.timeline(RUN)
    assert text.count("<summary>") == 5
    for part in ("only environment = construction, time = night", "adds weather visibility = rain heavy", "3 samples a slice", "5ad1…c2"):
        assert part in text
    assert "<b>24</b> rows" in text
    assert text.count('class="od-plan-step done"') == 4
    assert text.count('class="od-plan-step waiting"') == 1


def test_a_step_that_was_cut_off_does_not_look_as_if_it_ran():
    run = RUN.with_step(4, replace(RUN.steps[4], status="running"))
    assert 'class="od-plan-step running"' in ask_plan.timeline(run)
    assert 'class="od-plan-step running"' not in ask_plan.timeline(run, busy=False)
    assert "stopped" in ask_plan.timeline(run, busy=False)


def test_the_card_tells_calls_tokens_and_cost():
    s = RUN.steps[4]
    assert (ask_card.title(s), ask_card.verb(s)) == ("Evaluate 9 samples?", "Evaluate 9 samples")
    lines = {k: plain(v) for k, v in ask_card.lines(s)}
    assert lines == {
        "Calls": "7 model + up to 9 judge",
        "Answered before, not asked again": "2",
        "Tokens, estimated": "15,300 in, 900 out",
        "Cost at your prices": "0.08 EUR",
    }
    unpriced = replace(s, estimate=ESTIMATE | {"cost": None})
    assert dict(ask_card.lines(unpriced))["Cost at your prices"] == "no price named"


def test_a_paused_evaluation_asks_for_what_is_left():
    s = replace(RUN.steps[4], counts={"scored": 3, "pending": 6}, note="Paused.")
    assert (ask_card.title(s), ask_card.verb(s)) == ("Go on with the remaining 6 samples?", "Go on")


def test_a_search_that_costs_nothing_shows_no_price():
    s = step("acquire", 3, status="waiting", estimate={"calls": 0})
    assert (ask_card.title(s), ask_card.lines(s)) == ("Look for samples?", [])


def test_images_are_asked_about_with_their_number_and_cost():
    s = step("acquire", 3, status="waiting", estimate={"images": 5, "cost": 0.2, "currency": "EUR"})
    assert ask_card.title(s) == "Make up to 5 images?"
    assert {k: plain(v) for k, v in ask_card.lines(s)} == {"Images to make": "up to 5", "Cost at your prices": "0.20 EUR"}


def test_every_way_of_reading_has_its_chip_and_nothing_is_taken_for_markup():
    text = ask_chat.readings(RUN.readings)
    assert "synonym" in text
    assert "rain heavy, outside the ODD" in text
    assert "no such value" in text
    for whole in (text, ask_plan.timeline(RUN), ask_text.summary(replace(RUN, clarify=HOSTILE, status="clarify"))):
        assert "<img" not in escape(whole)


def test_a_suggestion_takes_the_place_of_the_phrase():
    s = RUN.suggestions[0]
    assert ask_chat.reworded("Which underpasses, Underpasses?", s) == "Which tunnel, Underpasses?"
    assert ask_chat.reworded("Which ones?", s) == "Which ones? (environment: tunnel)"


def test_there_are_fifteen_questions_to_begin_with_and_the_first_are_among_them():
    known = [q for group in STARTERS.values() for q in group]
    assert len(set(known)) == 15
    assert set(FIRST) <= set(known)
