"""The sample that people are shown, what their answers come to, and what that does to candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import operators
from core.acquisition.candidates import Candidate
from core.acquisition.fidelity import fidelity, verdict_of
from core.acquisition.synthesis import synthesize
from core.acquisition.tagging import Said
from core.acquisition.verification import confirmed, coverage_of, media_of, opinion, report, stratified
from core.errors import InputError
from core.llm import Client
from core.odd import load_yaml
from core.operators import load_odd
from core.operators.tag import tag
from core.operators.verify import apply_confirmations, confirm, queue_items
from core.settings import Settings
from core.storage import QUESTION_ANSWER, QueueItem, Statement, Store, TagRecord, open_store
from tests.stub_llm import StubServer, image, png

ODD = load_yaml("""
dimensions:
  time: {values: [day, night, {name: dusk, tier: extended, parent: night}]}
  weather: {values: [clear, rain, fog, {name: drizzle, tier: extended, parent: rain}]}
  users: {values: [unspecified, {name: people, tier: extended}]}
  question_category: {values: [what_is_there, what_next], extendable: false}
""")


@pytest.fixture
def store(workspace: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(workspace)}))
    yield opened
    opened.close()


def item(i: int, time: str = "day", weather: str = "clear", question: str = "") -> QueueItem:
    return QueueItem(f"m{i}", (f"{i}.png",), {"time": time, "weather": weather}, question)


# The sample


def test_rare_values_come_as_often_as_they_can():
    # 990 items are day and clear, 8 are night, 2 have fog: of 20, both fogs and half of the nights would hardly come by chance.
    pool = [item(i) for i in range(990)] + [item(i, "night") for i in range(990, 998)] + [item(i, "day", "fog") for i in range(998, 1000)]
    drawn = stratified(pool, 20)
    assert len(drawn) == len(set(drawn_media(drawn))) == 20
    counts = coverage_of(drawn)
    assert counts["weather"]["fog"] == 2
    assert counts["time"]["night"] == 8


def drawn_media(items):
    return [x.media for x in items]


def test_by_hand():
    # Strata: night and rain have one item each, day two, clear two. Two draws: the rarer strata first, so one night, one rain.
    pool = [item(0, "night", "clear"), item(1, "day", "rain"), item(2, "day", "clear")]
    assert set(drawn_media(stratified(pool, 2))) == {"m0", "m1"}


def test_the_sample_depends_on_items_size_and_seed_alone():
    pool = [item(i, "night" if i % 3 else "day", ["clear", "rain", "fog"][i % 3]) for i in range(200)]
    shuffled = pool.copy()
    Random(1).shuffle(shuffled)
    assert stratified(shuffled, 30) == stratified(pool, 30)
    assert set(drawn_media(stratified(pool, 30, seed=1))) != set(drawn_media(stratified(pool, 30)))


def test_all_are_drawn_where_there_are_few_and_what_cannot_be_judged_is_left_out():
    pool = [item(0), QueueItem("m1", (), {}), QueueItem("m2", (), {}, "Only a question?")]
    assert set(drawn_media(stratified(pool, 100))) == {"m0", "m2"}
    assert stratified([], 5) == ()


def test_the_same_media_with_another_question_is_another_item():
    pool = [item(0, question="Who?"), item(0, question="What?"), item(0, question="Who?")]
    assert len(stratified(pool, 10)) == 2


cells = st.lists(st.tuples(st.sampled_from(["day", "night"]), st.sampled_from(["clear", "rain", "fog"])), max_size=60)


@given(cells, st.integers(1, 40), st.integers(0, 3))
@settings(max_examples=60)
def test_every_value_has_its_share(cells, size, seed):
    pool = [item(i, *cell) for i, cell in enumerate(cells)]
    drawn = stratified(pool, size, seed)
    assert len(drawn) == min(size, len(pool))
    strata = {(d, v) for x in pool for d, v in x.tags.items()}
    if size >= len(strata):
        assert {(d, v) for x in drawn for d, v in x.tags.items()} == strata


# What answers come to


def test_a_report_by_hand():
    items = [item(0), item(1), item(2)]
    yes = [Statement(f"m{i}", "time", "day") for i in range(3)]
    answers = {yes[0]: {"A": "yes", "B": "yes", "C": "no"}, yes[1]: {"A": "no", "B": "no"}, yes[2]: {"A": "unsure"}}
    answers |= {Statement("m0", "weather", "clear"): {"A": "yes"}}
    found = report(items, answers, ODD, repeats=20)
    assert (found.items, found.statements, found.people) == (3, 6, {"A": 4, "B": 2, "C": 1})
    assert found.done == 1  # A answered both questions on m0
    time, weather = found.attributes
    assert (time.attribute, time.asked, time.answered, time.counts) == ("time", 3, 3, {"yes": 2, "no": 3, "unsure": 1})
    assert (time.precision.right, time.precision.wrong, time.precision.undecided) == (1, 1, 1)
    assert (time.agreement.questions, time.agreement.skipped) == (2, 1)
    # m0: 1 pair of 3 agrees; m1: its only pair does. Five answers, 2 Yes and 3 No.
    assert time.agreement.pairwise.value == pytest.approx(2 / 3)
    assert time.agreement.kappa.value == pytest.approx((2 / 3 - 13 / 25) / (1 - 13 / 25))
    assert (weather.agreement.kappa.value, weather.answered) == (None, 1)
    assert found.pooled.counts == {"yes": 3, "no": 3, "unsure": 1}
    assert found.pooled.asked == 6


def test_unsure_can_be_left_out():
    items = [item(0), item(1)]
    answers = {Statement("m0", "time", "day"): {"A": "yes", "B": "unsure"}, Statement("m1", "time", "day"): {"A": "yes", "B": "yes"}}
    time = report(items, answers, ODD, repeats=10).attributes[0]
    assert (time.agreement.questions, time.agreement.pairwise.value) == (2, 0.5)
    assert (time.decided.questions, time.decided.pairwise.value) == (1, 1)


def test_a_report_without_answers():
    found = report([item(0)], {}, ODD)
    assert (found.people, found.done, found.pooled.precision.rate, found.pooled.agreement.kappa.value) == ({}, 0, None, None)
    assert report([], {}, ODD).attributes == ()
    json.dumps(operators.verification_object(found), allow_nan=False)


def test_opinions():
    assert [opinion(x) for x in (["yes", "yes", "no"], ["no", "unsure", "unsure"], ["yes", "no"], ["unsure"], [])] == [
        "yes",
        "no",
        "open",
        "open",
        "open",
    ]


# What they do to candidates


def candidate(requested, tags, **more) -> Candidate:
    flags = fidelity(ODD, requested, tags)
    made = {"id": "c", "source": "datastore", "path": "x.png", "media_sha256": "m", **more}
    return Candidate(requested=requested, tags=tags, fidelity=flags, verdict=verdict_of(flags), matches=0, **made)


ASKED = {"time": "night", "weather": "rain"}
NO = {"A": "no"}


def said(**answers):
    return {Statement("m", *k.split("__")): by for k, by in answers.items()}


@pytest.mark.parametrize(
    ("tags", "answers", "flags", "verdict", "known"),
    [
        ({"time": ("night",), "weather": ("rain",)}, {"time__night": {"A": "yes"}}, ("match", "ambiguous"), "partial", "night"),
        ({"time": ("night",), "weather": "rain"}, {"time__night": {"A": "yes"}}, ("match", "match"), "valid", "night"),
        ({"time": ("night",), "weather": "rain"}, {"time__night": {"A": "no"}}, ("mismatch", "match"), "invalid", None),
        ({"time": None, "weather": "rain"}, {"time__night": {"A": "yes", "B": "yes", "C": "no"}}, ("match", "match"), "valid", "night"),
        ({"time": None, "weather": "rain"}, {"time__night": {"A": "yes", "B": "no"}}, ("missing", "match"), "partial", None),
        ({"time": None, "weather": "rain"}, {"time__night": {"A": "unsure"}}, ("missing", "match"), "partial", None),
        ({"time": "night", "weather": "rain"}, {"time__night": {"A": "no"}}, ("mismatch", "match"), "invalid", None),
        ({"time": "day", "weather": "rain"}, {"time__day": {"A": "no"}}, ("missing", "match"), "partial", None),
        ({"time": ("day", "night"), "weather": "rain"}, {"time__day": {"A": "no"}}, ("match", "match"), "valid", "night"),
        ({"time": None, "weather": "rain"}, {"time__day": {"A": "yes"}}, ("mismatch", "match"), "invalid", "day"),
        ({"time": None, "weather": "rain"}, {"time__dusk": {"A": "yes"}}, ("ambiguous", "match"), "partial", "dusk"),
        # The parent of what was asked for is right, and what was asked for is not.
        (
            {"time": None, "weather": "rain"},
            {"time__dusk": {"A": "yes"}, "time__night": {"A": "no"}},
            ("mismatch", "match"),
            "invalid",
            "dusk",
        ),
    ],
)
def test_what_people_say_counts(tags, answers, flags, verdict, known):
    found = confirmed([candidate(ASKED, tags)], ODD, said(**answers))[0]
    assert (tuple(found.fidelity.values()), found.verdict, found.tags["time"]) == (flags, verdict, known)
    assert found.matches == (flags.count("match") if found.confirmed else 0)
    assert found.confirmed == ({} if "open" in {opinion(list(a.values())) for a in answers.values()} else {"time": "people"})


def test_a_tagger_settles_only_what_is_open_and_people_come_first():
    one = candidate(ASKED, {"time": ("night",), "weather": "rain"})
    tagged = {"m": {"time": "night", "weather": "fog", "elsewhere": "x"}}
    found = confirmed([one], ODD, {}, tagged)[0]
    assert (found.verdict, found.confirmed, found.tags["weather"]) == ("valid", {"time": "tagger"}, "rain")
    assert confirmed([one], ODD, {}, {"m": {"time": "day"}})[0].verdict == "invalid"
    assert confirmed([one], ODD, {}, {"m": {"time": ("day", "night")}})[0].fidelity["time"] == "ambiguous"
    assert confirmed([one], ODD, {}, {"m": {"time": None}})[0] is one
    found = confirmed([one], ODD, said(time__night={"A": "no"}), tagged)[0]
    assert (found.fidelity["time"], found.confirmed) == ("mismatch", {"time": "people"})


def test_nothing_said_changes_nothing():
    one = candidate(ASKED, {"time": ("night",), "weather": None})
    assert confirmed([one], ODD, {}) == (one,)
    assert confirmed([one], ODD, {Statement("other", "time", "night"): {"A": "yes"}}) == (one,)
    assert confirmed([], ODD, {}) == ()


@pytest.mark.parametrize("tag", [None, ("night",), "night", ("night", "dusk")])
def test_a_no_to_what_nobody_claimed_settles_nothing(tag):
    one = candidate(ASKED, {"time": tag, "weather": "rain"})
    assert confirmed([one], ODD, said(time__day={"A": "no"})) == (one,)


def test_what_is_said_of_dimensions_that_were_not_asked_for_stays_out():
    one = candidate({"time": "night"}, {"time": "night"})
    assert confirmed([one], ODD, said(weather__fog={"A": "yes"}, weather__rain={"A": "yes"})) == (one,)
    assert one.realised == {"time": "night"}


def test_the_category_of_one_question_says_nothing_of_another_about_the_same_image(store):
    odd = load_odd("driving")
    asked = {"time": "night", "question_category": "hazard_assessment"}

    def of(question, tag):
        tags = {"time": "night", "question_category": tag}
        flags = fidelity(odd, asked, tags)
        more = {"question": question, "qa_origin": "dataset", "media_sha256": "m"}
        return Candidate(question, "datastore", "x.png", asked, tags, flags, verdict_of(flags), 0, **more)

    first, second, right = of("What is dangerous?", None), of("Where to go?", None), of("Where to stop?", "hazard_assessment")
    both = [first, second, right]
    confirm(store, first, {"question_category": "yes"}, "Ada")
    confirm(store, right, {"question_category": "yes"}, "Ada")
    assert [c.verdict for c in apply_confirmations(store, both, odd)] == ["valid", "partial", "valid"]
    confirm(store, second, {"question_category": "no"}, "Ada")
    assert [c.verdict for c in apply_confirmations(store, both, odd)] == ["valid", "invalid", "valid"]
    said_ = Said("ego_action_reasoning", "read").as_dict()
    content = {"kind": "question", "paths": ["x.png"], "tags": {"question_category": said_}, "question": "Why?", "options": []}
    store.media_tags.add([TagRecord("k", "m", odd.hash, "M", "p", content)], odd)
    assert [c.verdict for c in apply_confirmations(store, [of("Why?", None), of("How?", None)], odd)] == ["invalid", "partial"]
    # A queue asks about each question by itself, and the answers come back to the samples of that question.
    items = queue_items([of("Why?", "hazard_assessment"), of("How?", "hazard_assessment")])
    assert len({s for x in items for s in x.statements if s.attribute == "question_category"}) == 2
    assert {s.media for x in items for s in x.statements if s.attribute == "time"} == {"m"}
    found = report(items, {s: {"A": "yes", "B": "yes"} for x in items for s in x.statements}, odd, repeats=10)
    assert (found.pooled.agreement.questions, found.pooled.agreement.groups) == (5, 1)


def test_candidates_without_a_hash_are_told_apart_by_their_path():
    a, b = (candidate(ASKED, {"time": None, "weather": None}, media_sha256="", path=p) for p in ("http://x/1", "http://x/2"))
    assert media_of(a) != media_of(b)
    assert media_of(replace(a, path="", id="1")) != media_of(replace(a, path="", id="2"))
    assert media_of(candidate(ASKED, {"time": None, "weather": None})) == "m"


# From end to end


def test_a_made_image_becomes_valid_when_a_person_confirms_it(store, tmp_path):
    asked = {"time": "night", "weather": "rain", "users": "unspecified"}
    with StubServer([image()]) as stub:
        client = Client(stub.endpoint())
        made = synthesize(ODD, asked, 0, client, tmp_path)
        client.close()
    assert (made.verdict, made.realised) == ("partial", None)
    operators.confirm(store, made, {"time": "yes"}, "Ada")
    half = operators.apply_confirmations(store, [made], ODD)[0]
    assert (half.verdict, half.fidelity) == ("partial", {"time": "match", "weather": "ambiguous", "users": "match"})
    operators.confirm(store, made, {"weather": "yes"}, "Bob")
    whole = operators.apply_confirmations(store, [made], ODD)[0]
    assert (whole.verdict, whole.realised, whole.confirmed) == ("valid", asked, {"time": "people", "weather": "people"})
    operators.confirm(store, made, {"weather": "no"}, "Ada")
    operators.confirm(store, made, {"weather": "no"}, "Cleo")
    assert operators.apply_confirmations(store, [made], ODD)[0].verdict == "invalid"


def test_a_made_image_becomes_valid_when_a_tagger_confirms_it(store, tmp_path):
    asked = {"time": "night", "weather": "rain"}
    with StubServer([image(png()), json.dumps({"time": "night", "weather": "fog"})]) as stub:
        client = Client(stub.endpoint())
        made = synthesize(ODD, asked, 0, client, tmp_path / "media")
        client.close()
        tag(store, operators.read_media(tmp_path / "media", ODD), ODD, stub.endpoint(), dims=["time", "weather"])
    found = operators.apply_confirmations(store, [made], ODD)[0]
    assert (found.fidelity, found.verdict) == ({"time": "match", "weather": "mismatch"}, "invalid")
    assert found.realised == {"time": "night", "weather": "fog"}


def test_what_an_answer_is_about_must_be_clear(store):
    with pytest.raises(InputError, match="users"):
        operators.confirm(store, candidate(ASKED, {"time": None, "weather": None}), {"users": "yes", "time": "yes"}, "Ada")
    with pytest.raises(InputError, match="time"):
        operators.confirm(store, "m", {"time": "yes"}, "Ada")
    assert operators.confirm(store, "m", {"time": "yes"}, "Ada", values={"time": "day"}).new == 1
    assert store.verification.about(["m"]) == {Statement("m", "time", "day"): {"Ada": "yes"}}


def test_a_queue_is_drawn_of_what_was_tagged_and_reported(store, tmp_path):
    for i in range(4):
        (tmp_path / f"{i}.png").write_bytes(png(colour=(i, 0, 0)))
    (tmp_path / "bad.png").write_bytes(b"x")
    with StubServer(lambda r: json.dumps({"time": "night", "weather": "rain or fog"})) as stub:
        tagged = tag(store, operators.read_media(tmp_path, ODD), ODD, stub.endpoint(), dims=["time", "weather"])
    saved = operators.draw_queue(store, "check", tagged, ODD, size=3, who="Ada")
    assert saved.size == 3
    assert saved.manifest["pool"] == 4
    assert saved.manifest["sample_by_value"] == {"time": {"night": 3}}
    assert saved.manifest["source"]["model"]["name"] == "stub-model"
    assert operators.draw_queue(store, "again", tagged, ODD, size=3).manifest == saved.manifest
    items = store.verification.items(saved.id)
    assert [list(x.tags) for x in items] == [["time"]] * 3  # where the tagger gave two values there is nothing to confirm
    for who, word in (("Ada", "yes"), ("Bob", "no")):
        operators.confirm(store, items[0].media, {"time": word}, who, values=dict(items[0].tags), queue_id=saved.id)
    store.verification.undo(saved.id, "Bob")
    found = operators.verification_report(store, saved.id, repeats=10)
    assert (found.people, found.done, found.pooled.precision.rate) == ({"Ada": 1}, 1, 1)
    lines = operators.answers_csv(store, saved.id).decode().splitlines()
    assert [line.split(",")[1::4][:2] for line in lines[1:]] == [["Ada", "yes"], ["Bob", "no"], ["Bob", "withdrawn"]]
    with pytest.raises(InputError, match="at least one item"):
        operators.draw_queue(store, "none", tagged, ODD, size=0)
    with pytest.raises(InputError, match="nothing to judge"):
        operators.draw_queue(store, "empty", [], ODD)


def test_questions_are_judged_and_what_a_made_image_was_meant_to_show(store):
    found = candidate(ASKED, {"time": "night", "weather": ("rain", "fog")}, question="Who?", options=("a", "b"), answer="A")
    made = candidate(ASKED, {"time": ("night",), "weather": ("rain",)}, source="synthetic", question="Template?", answer="A")
    first, second = operators.queue_items([found, made])
    assert [s.attribute for s in first.statements] == ["time", QUESTION_ANSWER]
    assert second.tags == ASKED
    assert [s.attribute for s in second.statements] == ["time", "weather"]


def test_names_that_a_spreadsheet_takes_for_formulas_are_not(store):
    saved = operators.draw_queue(store, "q", [item(0)], ODD)
    operators.confirm(store, "m0", {"time": "yes"}, "=1+1", values={"time": "day"}, queue_id=saved.id)
    assert ",'=1+1," in operators.answers_csv(store, saved.id).decode()
