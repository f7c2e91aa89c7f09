"""The guidance: what ships, and what a broken text is told."""

from __future__ import annotations

import pytest
import yaml

from core.errors import InputError
from core.labels.guidance import CURRENT, FOLDER, LEAST_EXAMPLES, read_guidance, read_guidance_text, versions
from core.operators.cases import DEMO_PACK
from core.storage.label_events import LABELS
from core.trajectories.case_set import open_case_set

RELEASED = {"v1": "v1:4cb11cad"}
"""Texts by which people have labelled: a change needs a version, and thus a file, of its own."""


def shipped() -> dict:
    return yaml.safe_load((FOLDER / f"{CURRENT}.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", versions())
def test_every_version_that_ships_can_be_read(version):
    text = read_guidance(version)
    assert text.version == version
    assert len(text.examples) >= LEAST_EXAMPLES
    assert {e.label for e in text.examples} == set(LABELS)
    assert text.tag == f"{version}:{text.digest[:8]}"


def test_a_text_by_which_people_labelled_is_never_changed():
    assert {v: read_guidance(v).tag for v in RELEASED} == RELEASED


def test_the_examples_are_cases_of_the_demo_pack_with_the_answer_that_the_pack_gives():
    pack = {c.case_id: c for c in open_case_set(DEMO_PACK).cases}
    text = read_guidance()
    assert {e.case: e.label for e in text.examples} == {e.case: pack[e.case].source["gold"]["label"] for e in text.examples}
    # Whoever practises or labels must not have seen the answer.
    assert {pack[e.case].source["role"] for e in text.examples} == {"example"}


def test_changing_a_word_changes_the_tag():
    data = shipped()
    data["examples"][0]["why"] += " Indeed."
    assert read_guidance_text(yaml.safe_dump(data)).tag != read_guidance().tag


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["answers"].pop(), "each label once"),
        (lambda d: d["answers"][0].update(key="n"), "a key of its own"),
        (lambda d: d["examples"][1].update(case=d["examples"][0]["case"]), "twice"),
        (lambda d: [e.update(label="Y") for e in d["examples"]], "no example is answered N, U"),
        (lambda d: d.update(examples=d["examples"][:11]), "12"),
        (lambda d: d.update(version="1"), "pattern"),
        (lambda d: d["examples"][0].update(label="maybe"), "Y"),
        (lambda d: d["parts"][0].update(points=[" "]), "at least 1 character"),
    ],
)
def test_a_broken_text_is_told_what_is_wrong(change, said):
    data = shipped()
    change(data)
    with pytest.raises(InputError) as e:
        read_guidance_text(yaml.safe_dump(data))
    assert said in str(e.value)


def test_an_unknown_version_names_those_that_there_are():
    with pytest.raises(InputError, match="known: v1"):
        read_guidance("v99")
    with pytest.raises(InputError, match="no valid YAML"):
        read_guidance_text("a: [")
