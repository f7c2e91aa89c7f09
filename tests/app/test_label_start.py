"""The way to labelling: registration, guidance, training and calibration, without a browser."""

from __future__ import annotations

import pytest

from core.labels.guidance import read_guidance
from core.operators import labelling
from tests.apptest import html, open_page, text
from tests.cases import case
from tests.labels.desk import gold_cases, keep, press


@pytest.fixture
def set_id(store):
    cases = [*(case(f"scene{i}-p") for i in range(3)), *gold_cases(3, "training"), *gold_cases(4)]
    return keep(store, cases)


def reader(store, name="Ada Lovelace"):
    """Somebody who is registered and has read the guidance."""
    who = store.labels.register(name, 3, False)
    store.preferences.set(f"labels.guidance.{who.id}", read_guidance().tag)
    return who


def button(app, label):
    (found,) = [b for b in app.button if b.label == label]
    return found


def answer(store, set_id, who, round_, right=True):
    """Answer everything of a round, as its gold says or the other way round."""
    gold = {e.case_id: e.gold for e in labelling.entries_for(store, set_id)}
    for _ in range(40):
        items = labelling.window(store, set_id, who.id, round=round_).items
        if not items:
            return
        wanted = gold[items[0].case_id]
        press(store, set_id, who.id, wanted if right else {"Y": "N", "N": "Y", "U": "Y"}[wanted], round=round_)


def register(app, name, years, inside=False):
    app.text_input(key="label_name").set_value(name)
    app.number_input(key="label_years").set_value(years)
    if inside:
        app.checkbox(key="label_researcher").check()
    button(app, "Register").click()
    return app.run()


def test_whoever_registers_is_an_opaque_id_from_then_on(store, set_id):
    app = register(open_page("label", set=set_id), "  Ada   Lovelace ", 0, inside=True)
    assert not app.exception
    (ada,) = store.labels.annotators()
    assert (ada.name, ada.experience_years, ada.researcher) == ("Ada Lovelace", 0, True)
    assert app.query_params["who"] == ada.id
    assert ada.id in text(app)
    assert "Lovelace" not in html(app)


def test_a_name_and_years_are_needed(store, set_id):
    app = open_page("label", set=set_id)
    button(app, "Register").click()
    app.run()
    assert "Please give your name and your years of driving" in text(app)
    assert store.labels.annotators() == ()


def test_the_same_name_in_another_browser_goes_on_as_the_same_person(store, set_id):
    ada = store.labels.register("Ada", 5, False)
    app = register(open_page("label", set=set_id), "ADA", 5)
    assert "has been registered since" in text(app)
    button(app, "That is me, go on").click()
    app.run()
    assert app.query_params["who"] == ada.id
    assert len(store.labels.annotators()) == 1


def test_an_address_with_an_unknown_person_says_so(store, set_id):
    app = open_page("label", set=set_id, who="deadbeef")
    assert "does not know" in text(app)
    assert "deadbeef" in text(app)


def test_the_guidance_can_be_confirmed_once_every_example_was_opened(store, set_id):
    ada = store.labels.register("Ada", 5, False)
    app = open_page("label", set=set_id, who=ada.id)
    assert not app.exception
    n = len(read_guidance().examples)
    assert f"{n} worked examples" in text(app)
    assert button(app, "I have read this").disabled
    for _ in range(n - 1):
        button(app, "Next").click()
        app.run()
        assert not app.exception
    assert button(app, "Next").disabled
    button(app, "I have read this").click()
    app.run()
    assert "Now 3 training cases , with the answer after each." in text(app)
    assert store.preferences.get(f"labels.guidance.{ada.id}") == read_guidance().tag


def test_a_new_text_of_the_guidance_has_to_be_read(store, set_id):
    ada = reader(store)
    store.preferences.set(f"labels.guidance.{ada.id}", "v0:00000000")
    assert "Read what counts as a threat" in text(open_page("label", set=set_id, who=ada.id))


def test_training_tells_the_answer_after_each_case_and_sums_up(store, set_id):
    ada = reader(store)
    app = open_page("label", set=set_id, who=ada.id, plain="1")
    button(app, "Start training").click()
    app.run()
    assert not app.exception
    assert "stands here once you have given yours" in text(app)
    answer(store, set_id, ada, "training")
    events = [e for e in store.labels.events(set_id, ada.id) if e.new.kind == "label"]
    store2 = open_page("label", set=set_id, who=ada.id, plain="1")
    assert "You gave the known answer in 3 of 3 training cases." in text(store2)
    assert "Why 0." in text(store2)
    assert {e.new.slot for e in events} == {"training:1"}
    button(store2, "Go on to calibration").click()
    store2.run()
    assert "Now 4 cases without a word about your answers" in text(store2)


def test_within_training_the_last_answer_is_explained(store, set_id):
    ada = reader(store)
    press(store, set_id, ada.id, "U", round="training")
    said = text(open_page("label", set=set_id, who=ada.id, plain="1"))
    assert "Your last answer You said Unsure ;" in said
    assert "is right. Why" in said


def test_passing_the_calibration_opens_labelling(store, set_id):
    ada = reader(store)
    answer(store, set_id, ada, "training")
    answer(store, set_id, ada, "calibration")
    app = open_page("label", set=set_id, who=ada.id, plain="1")
    assert "Passed: kappa 1.00 with the known answers, and 2 of 2 threats found." in text(app)
    button(app, "Start labelling").click()
    app.run()
    assert not app.exception
    assert "Is that a threat?" in text(app)


def test_failing_it_offers_another_form(store, set_id):
    ada = reader(store)
    answer(store, set_id, ada, "training")
    answer(store, set_id, ada, "calibration", right=False)
    app = open_page("label", set=set_id, who=ada.id, plain="1")
    assert "Not yet: kappa −1.00 (needed 0.6), and 0 of 2 threats found (needed 80%)." in text(app)
    button(app, "Try the other form").click()
    app.run()
    assert not app.exception
    assert "Is that a threat?" in text(app)
    answer(store, set_id, ada, "calibration")
    assert labelling.calibration(store, set_id, ada.id).state == "passed"


def test_a_set_can_do_without_the_rounds(store, set_id):
    ada = reader(store)
    store.preferences.set(f"labels:{set_id}:rounds", False)
    assert "Is that a threat?" in text(open_page("label", set=set_id, who=ada.id, plain="1"))
