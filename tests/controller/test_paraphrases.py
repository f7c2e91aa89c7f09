"""That docs/benchmarks.md keeps what the offline controller made of the blind paraphrases and tells what it makes of them today.

No figure is a target.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from core.controller.plan import Acquire, Evaluate, InOdd, OutOfOdd, Plan, Triage
from core.controller.reading import Planned, Suggestion
from core.odd import built_in
from core.settings import Settings
from tests.controller import measure_paraphrases as m

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
SET = "614b062a62ddc44bfe284fab6e34f8696b37e7844e43f1b1ca52d01526964668"
"""SHA-256 of paraphrases.yaml as it was written, before the controller was first run on it."""
FIRST_RUN = "| all 100 | 0.98 (219/223) / 0.85 (136/160) | 0.95 (120/126) / 0.88 (120/136) | 2 | 70 (60 to 78 %) |"
BLIND_COMMIT, BLIND = "3c51bf2", "05f92cba37cb474bc67a325f20037134f503c90f11b2bdf5de44cbe8b36248cf"
"""The commit that the blind figures were measured at, and the SHA-256 of their lines in the document."""
TODAY = "### After general fixes made with sight of this set, so no longer blind"
SECOND = "### A second blind set, after those fixes"


@pytest.fixture(scope="module")
def scored():
    return m.measure()


def asked(**expect) -> m.Paraphrase:
    """A question with an expectation."""
    expect = {"require": ["in_odd"], "allow": ["triage"], "focus": {}} | expect
    return m.Paraphrase.model_validate({"id": "X", "capability": "in_odd", "traits": [], "query": "What is missing?", "expect": expect})


def faults(steps, **expect) -> tuple[str, ...]:
    """What is wrong with a plan of these steps."""
    return m.score(asked(**expect), Planned(Plan(query="What is missing?", controller="offline", steps=tuple(steps)))).faults


def test_the_set_is_the_one_that_was_written_blind():
    """Whoever changes it has another set, and no blind figure."""
    assert sha256(m.PARAPHRASES.read_bytes()).hexdigest() == SET


def test_the_set_has_twenty_questions_for_each_capability_and_names_values_that_exist():
    known = {(d.name, v.name) for d in built_in().dimensions for v in d.values}
    all_ = m.paraphrases()
    assert Counter(p.capability for p in all_) == dict.fromkeys(m.CAPABILITIES, 20)
    assert len({p.id for p in all_}) == len({p.query for p in all_}) == 100
    for p in all_:
        e = p.expect
        values = [e.focus, *e.focus_alternatives, e.extend_allow, *([e.extend] if isinstance(e.extend, dict) else [])]
        named = {(d, v) for f in values for d, vs in f.items() for v in vs if v != "*"}
        assert named <= known, p.id
        assert p.capability in e.require and not set(e.require) & set(e.allow), p.id


def section(start: str, end: str) -> str:
    """Part of the document between two headings."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return text[text.index(start) : text.index(end)]


def figures(text: str) -> list[str]:
    """Rows of tables and sentences of figures; the reasons for failures, which begin in bold, are none."""
    return [line for line in text.splitlines() if line.startswith(("|", "- ")) and not line.startswith("- **")]


def test_the_document_keeps_the_blind_figures():
    """They stay, whatever the controller can do later; with the commit that they were measured at."""
    text = section("## Questions in plain words", TODAY)
    assert FIRST_RUN in text and f"commit `{BLIND_COMMIT}`" in text
    assert sha256("\n".join(figures(text)).encode()).hexdigest() == BLIND


def test_the_document_tells_what_is_measured_today(scored):
    """If this fails, the controller reads some question in another way than before: put today's figures below the heading."""
    text = section(TODAY, SECOND)
    measured = [*m.table(scored), *m.traits(scored), *(f"- {sentence}" for sentence in m.facts(scored))]
    assert [line for line in figures(text) if not line.startswith("- Of ")] == measured
    assert "so no longer blind" in text


@pytest.mark.encoder
def test_the_document_tells_what_the_encoder_adds_today(scored, tmp_path):
    meaning = m.measure(Settings(tmp_path, "sqlite://"))
    assert f"- {m.by_meaning(scored, meaning).sentence()}\n" in section(TODAY, SECOND)


def test_a_plan_as_expected_has_no_fault():
    assert not faults([Triage(), InOdd(where={"time": ["night"]}, top=5)], focus={"time": ["night"]}, top=5)
    assert not faults([InOdd()])


def test_operators_are_compared_as_sets():
    assert faults([Triage()]) == ("no in_odd",)
    assert faults([InOdd(), Acquire(), Evaluate()]) == ("acquire unasked", "evaluate unasked")


def test_the_filter_is_that_of_the_step_that_matters():
    extend = {"environment": ["tunnel"]}
    steps = [InOdd(where={"environment": ["highway"]}), OutOfOdd(extend=extend, where=extend)]
    outside = {"require": ["out_of_odd"], "allow": ["in_odd"], "extend": extend}
    assert not faults(steps, focus=extend, **outside)
    assert faults(steps, focus={}, **outside) == ("filtered to environment=tunnel",)
    assert faults([Triage(where={"time": ["day"]})], focus={"time": ["night"]}) == (
        "no in_odd",
        "not filtered to time=night",
        "filtered to time=day",
    )


def test_the_nearest_of_equally_good_filters_counts():
    either = {"focus": {"time": ["day"]}, "focus_alternatives": [{"time": ["day", "dawn"]}]}
    for values in (["day"], ["day", "dawn"]):
        assert not faults([InOdd(where={"time": values})], **either)
    assert faults([InOdd(where={"time": ["dawn"]})], **either) == ("not filtered to time=day",)


def test_extensions_are_exact_unless_more_is_allowed():
    outside = {"require": ["out_of_odd"], "allow": []}
    steps = [OutOfOdd(extend={"time": ["dawn"], "environment": ["tunnel"]})]
    assert faults(steps, **outside, extend={"time": ["dawn"]}) == ("added environment=tunnel",)
    assert faults(steps, **outside, extend={"time": ["dusk"]}, extend_allow={"environment": ["*"]}) == (
        "not added time=dusk",
        "added time=dawn",
    )
    assert not faults(steps, **outside, extend="any")
    assert faults(steps, **outside, extend="any", extend_only=["time"]) == ("added environment=tunnel",)
    assert not faults(steps, **outside)


def test_numbers_and_sources_count_where_they_are_named():
    paid = {"require": ["in_odd", "acquire"], "allow": []}
    steps = [InOdd(top=20), Acquire(source="synthesis", per_slice=2)]
    assert not faults(steps, **paid, top=20, per_slice=2, source=["synthesis"])
    assert faults(steps, **paid, top=5, per_slice=1, source=["datastore"]) == (
        "top 20, not 5",
        "2 per slice, not 1",
        "source synthesis, not datastore",
    )


def test_a_question_back_counts_as_one_and_as_not_exact():
    back = m.score(asked(focus={"time": ["day"]}), Planned(Plan(query="?", controller="offline"), clarify="What is meant?"))
    assert back.faults == ("asks back: What is meant?", "no in_odd", "not filtered to time=day")
    assert m.table([back] * 5)[-1] == "| all 100 | none / 0.00 (0/5) | none / 0.00 (0/5) | 5 | 0 (0 to 43 %) |"


def test_what_the_encoder_adds_is_counted_by_value():
    night = {"time": ["night"], "environment": ["highway"]}
    plan = Plan(query="?", controller="offline", steps=(InOdd(),))
    spelled = Suggestion("hihgway", "environment", "highway", 0.9)
    offers = (spelled, Suggestion("gloom", "time", "night", 0.7), Suggestion("gloom", "time", "dusk", 0.6))
    words = m.score(asked(focus=night), Planned(plan, suggestions=(spelled,)))
    meaning = m.score(asked(focus=night), Planned(plan, suggestions=offers))
    assert m.by_meaning([words], [meaning]) == m.ByMeaning(missed=2, by_words=1, applied=0, suggested=1, shown=2, right=1, exact=0)
