"""That docs/benchmarks.md tells what the offline controller makes of the second blind set today. No figure is a target."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from core.odd import built_in
from core.settings import Settings
from tests.controller import measure_paraphrases as m

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
SET = "a9580f73f0440cbae03b7e08a7ce3d8255d3e91287b1af9ed64b51ff27ae7992"
"""SHA-256 of paraphrases2.yaml as it was written, before the controller was first run on it."""
FIRST_RUN = "| all 100 | 1.00 (227/227) / 0.89 (143/160) | 0.98 (132/135) / 0.87 (132/152) | 3 | 76 (67 to 83 %) |"
BLIND_COMMIT = "99eddf9"
"""The blind figures, and the commit that they were measured at."""


@pytest.fixture(scope="module")
def second():
    return m.measure(path=m.SECOND)


def test_the_second_set_is_the_one_that_was_written_blind():
    assert sha256(m.SECOND.read_bytes()).hexdigest() == SET


def test_the_second_set_repeats_no_question_of_the_first():
    plain = {" ".join(p.query.casefold().split()) for p in m.paraphrases()}
    again = [p for p in m.paraphrases(m.SECOND) if " ".join(p.query.casefold().split()) in plain]
    assert not again


def test_the_second_set_has_twenty_questions_for_each_capability():
    all_ = m.paraphrases(m.SECOND)
    assert Counter(p.capability for p in all_) == dict.fromkeys(m.CAPABILITIES, 20)
    assert len({p.id for p in all_}) == len({p.query for p in all_}) == 100


def test_its_expectations_name_values_that_exist_and_add_those_from_outside():
    outside = {(d.name, v.name): v.tier == "extended" for d in built_in().dimensions for v in d.values}
    for p in m.paraphrases(m.SECOND):
        e = p.expect
        added = [e.extend] if isinstance(e.extend, dict) else []
        filtered = {(d, v) for f in (e.focus, *e.focus_alternatives) for d, vs in f.items() for v in vs}
        named = {(d, v) for f in (*added, e.extend_allow) for d, vs in f.items() for v in vs}
        assert filtered | named <= set(outside), p.id
        assert {pair for pair in filtered if outside[pair]} == named, p.id
        assert p.capability in e.require and not set(e.require) & set(e.allow), p.id
        assert ("out_of_odd" in e.require) == (e.extend is not None), p.id


def section() -> str:
    """The part of the document about the second set."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return text[text.index("### A second blind set") : text.index("## Words that are in no phrase")]


def test_the_document_tells_what_the_second_set_gives_today(second):
    """If this fails, the controller reads some question in another way: keep the blind figures, put today's below them under a heading."""
    text = section()
    for part in (m.table(second), m.traits(second), [f"- {sentence}" for sentence in m.facts(second)]):
        assert "\n".join(part) in text


def test_the_document_keeps_the_blind_figures_of_the_second_set():
    """They stay, whatever the controller can do later; with the commit that they were measured at."""
    assert FIRST_RUN in section() and f"commit `{BLIND_COMMIT}`" in section()


@pytest.mark.encoder
def test_the_document_tells_what_the_encoder_adds_to_the_second_set_today(second, tmp_path):
    meaning = m.measure(Settings(tmp_path, "sqlite://"), m.SECOND)
    assert f"- {m.by_meaning(second, meaning).sentence()}\n" in section()
