"""The way to labelling: who labels, what they have read, practice with answers, calibration against known answers.

The page that labels asks `ready` first. It draws the step that is missing and gives None; once cases can be shown it gives the
person, and `task` says which round of which set is up: practice comes before labelling, on the demo pack where the set has no cases
for it. While a training round runs, `feedback` tells below the case what was right about the answer before.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import operators
from core.labels.rounds import PASS_KAPPA, PASS_RECALL, Calibration
from core.operators import labelling
from core.storage import SavedCaseSet, Store
from core.storage.label_events import Annotator, Round
from pages.shared import label_guidance, label_practice, label_who, shell
from pages.shared.markup import Text, code, count, fill, mark, minus
from pages.shared.shell import Step

NAME = "Label"
ROUNDS = "labels:{}:rounds"
"""Preference of a set, by its id: whether training and calibration come before labelling; they do unless somebody said no."""
_GO = "label.go.{}.{}.{}"
"""Key of the session that says that a person has pressed on at a step of a set."""
STEPS = ("Register", "Guidance", "Training", "Calibration", "Label")


@dataclass(frozen=True)
class Task:
    """What a person does now.

    Attributes:
        cases: The set whose cases are shown; in practice this may be the demo pack.
        round: "training", "calibration" or "labelling".
    """

    cases: SavedCaseSet
    round: Round


def wanted(store: Store, set_id: str) -> bool:
    """Whether training and calibration come before labelling of a set."""
    return bool(store.preferences.get(ROUNDS.format(set_id), True))


def practice_set(store: Store, chosen: SavedCaseSet) -> SavedCaseSet:
    """The set on which people practise: the one to be labelled if it has cases for it, else the demo pack."""
    own = {e.role for e in labelling.entries_for(store, chosen.id)}
    return chosen if {"training", "calibration"} <= own else operators.load_demo_cases(store)


def task(store: Store, chosen: SavedCaseSet, annotator: Annotator) -> Task:
    """What comes next for a person who has read the guidance."""
    if wanted(store, chosen.id):
        cases = practice_set(store, chosen)
        training = labelling.window(store, cases.id, annotator.id, round="training", n=0)
        now = labelling.calibration(store, cases.id, annotator.id)
        fresh = now.state == "open" and now.attempt == 1 and not now.done  # the result of the round before waits to be looked at
        if training.done < training.total or (training.total and fresh and not _went(cases, annotator, "trained")):
            return Task(cases, "training")
        if now.state in ("open", "failed"):
            return Task(cases, "calibration")
        if not _went(cases, annotator, "calibrated") and not labelling.window(store, chosen.id, annotator.id, n=0).done:
            return Task(cases, "calibration")
    return Task(chosen, "labelling")


def ready(store: Store, chosen: SavedCaseSet) -> Annotator | None:
    """The person, once cases can be shown; else draws what comes before, and gives None.

    Args:
        store: The workspace.
        chosen: The set to be labelled.
    """
    annotator = label_who.current(store)
    if annotator is None:
        _head(0, "Before you label: who are you?", "Your name stays with the workspace; others see an opaque id.")
        label_who.register(store)
        return None
    if not label_guidance.was_read(store, annotator):
        n = len(label_guidance.current().examples)
        sentence = fill("Read what counts as a threat, and open {n}.", n=mark(f"{n} worked examples"))
        _head(1, sentence, _you(annotator))
        label_guidance.show(store, annotator)
        return None
    now = task(store, chosen, annotator)
    if now.round == "training":
        return _training(store, now.cases, annotator)
    if now.round == "calibration":
        return _calibration(store, now.cases, annotator)
    return annotator


def feedback(store: Store, now: Task, annotator: Annotator) -> None:
    """What was right about the answer before; only in the training round."""
    if now.round == "training":
        label_practice.last_answer(store, now.cases, annotator)


def _training(store: Store, cases: SavedCaseSet, annotator: Annotator) -> Annotator | None:
    w = labelling.window(store, cases.id, annotator.id, round="training", n=0)
    if w.total and w.done == w.total:
        right, known = label_practice.right_of(store, cases, annotator)
        sentence = fill("You gave the known answer in {r} of {n}.", r=mark(f"{right}"), n=count(known, "training case"))
        _head(2, sentence, _you(annotator), synthetic=cases.synthetic)
        label_practice.training_result(store, cases, annotator)
        _go_on("Go on to calibration", cases, annotator, "trained", "od-trained")
        return None
    if w.done or _went(cases, annotator, "training"):
        return annotator
    sentence = fill("Now {n}, with the answer after each.", n=mark(count(w.total, "training case")))
    _head(2, sentence, _you(annotator), synthetic=cases.synthetic)
    label_practice.training_intro()
    _go_on("Start training", cases, annotator, "training", "od-train")
    return None


def _calibration(store: Store, cases: SavedCaseSet, annotator: Annotator) -> Annotator | None:
    now = labelling.calibration(store, cases.id, annotator.id)
    if now.state == "open" and (now.done or _went(cases, annotator, f"attempt{now.attempt}")):
        return annotator
    if now.state == "failed" and _went(cases, annotator, f"attempt{now.attempt + 1}"):
        return annotator
    _head(3, _verdict(now), _you(annotator), synthetic=cases.synthetic)
    if now.state == "passed":
        label_practice.calibration_result(now)
        _go_on("Start labelling", cases, annotator, "calibrated", "od-calibrated")
        return None
    if now.state == "failed":
        label_practice.calibration_result(now)
        if st.button("Look at the guidance again", key="practice_guidance"):
            label_guidance.dialog()
        _go_on("Try the other form", cases, annotator, f"attempt{now.attempt + 1}", "od-again")
        return None
    label_practice.calibration_intro(now)
    _go_on("Start calibration", cases, annotator, f"attempt{now.attempt}", "od-calibrate")
    return None


def _verdict(now: Calibration) -> Text:
    if now.state == "open":
        return fill("Now {n} without a word about your answers; labelling opens if they fit.", n=mark(count(now.total, "case")))
    kappa = "not defined" if now.kappa is None else minus(now.kappa)
    if now.state == "passed":
        return fill("Passed: kappa {k} with the known answers, and {f} of {y} threats found.", k=mark(kappa), f=now.found, y=now.gold_yes)
    return fill(
        "Not yet: kappa {k} (needed {pk:g}), and {f} of {y} threats found (needed {pr}).",
        k=mark(kappa), pk=PASS_KAPPA, f=now.found, y=now.gold_yes, pr=f"{PASS_RECALL:.0%}",
    )  # fmt: skip


def _you(annotator: Annotator) -> Text:
    return fill("You label as {id}; others see only that. Guidance {v}.", id=code(annotator.id), v=label_guidance.current().version)


def _head(at: int, sentence: Text, provenance: Text, synthetic: bool = True) -> None:
    """Headline, and how far the way to labelling has been gone; examples and practice cases are made up."""
    shell.header(NAME, sentence, provenance, synthetic=synthetic and at > 0)
    done = ["done" if i < at else "to do" if i == at else "later" for i in range(len(STEPS))]
    shell.steps([Step(name, text, "", now=i == at) for i, (name, text) in enumerate(zip(STEPS, done, strict=True))])


def _key(cases: SavedCaseSet, annotator: Annotator, step: str) -> str:
    return _GO.format(cases.id, annotator.id, step)


def _went(cases: SavedCaseSet, annotator: Annotator, step: str) -> bool:
    return bool(st.session_state.get(_key(cases, annotator, step)))


def _go_on(label: str, cases: SavedCaseSet, annotator: Annotator, step: str, key: str) -> None:
    """The button that leads to the next step."""

    def go() -> None:
        st.session_state[_key(cases, annotator, step)] = True

    st.button(label, type="primary", key=key, on_click=go)
