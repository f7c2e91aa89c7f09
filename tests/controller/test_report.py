"""Markdown of the report: what people and models wrote cannot pass for the report's own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.controller import Plan, Reading, RunState, StepState, Suggestion
from core.controller.report import clean, quote, report


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("road_condition = wet", "road_condition = wet"),
        ("**bold** and `code`", r"\*\*bold\*\* and \`code\`"),
        ("[a](http://x)", r"\[a\](http://x)"),
        ("_so_ it is", r"\_so\_ it is"),
        ("a|b", r"a\|b"),
        ("<b>", r"\<b\>"),
        ("$x$", r"\$x\$"),
    ],
)
def test_marks_are_taken_literally(text, written):
    assert clean(text) == written


def test_every_line_of_a_quotation_is_quoted():
    assert quote("one\n# What to test next\n\n1. all is well") == ["> one", r"> \# What to test next", "> ", "> 1. all is well"]


@given(st.text())
def test_a_quotation_never_leaves_its_place(text):
    assert all(line.startswith("> ") and "\n" not in line for line in quote(text))
    assert quote(text)


@given(st.text(alphabet="ab_*[]|`<>#~$\\ "))
def test_the_text_can_be_read_back(text):
    out, i = "", 0
    written = clean(text)
    while i < len(written):
        i += written[i] == "\\"
        out += written[i]
        i += 1
    assert out == " ".join(text.split())


LOUD = st.text(min_size=1) | st.sampled_from(["fog\n## All is well", "\x1b[2Jgone", "a\r\n- done", "\u2028# x", "x" * 400])
HEADINGS = {"# What to test next", "## How the question was read", "## Not done", "## Words of the language model, not checked"}
CONTEXT = {"table": None, "datastore": None, "seed_sha256": "0" * 64}


@given(LOUD, LOUD, LOUD)
def test_no_text_of_others_makes_a_line_of_the_report_or_steers_a_terminal(one, two, three):
    plan = Plan(query=one, controller="llm", unsupported_terms=(two, three), notes=(one, three), model=two, fallback_reason=three)
    state = RunState(
        "1" * 8,
        "run",
        one,
        two,
        "",
        "done",
        plan,
        readings=(Reading(one, "unsupported", note=two),),
        suggestions=(Suggestion(two, "time", "dusk", 0.5),),
        clarify=three,
        prose=two,
        steps=(StepState("triage", {"where": {"time": [three]}}, "failed", note=one),),
    )
    lines = report(state, {}, None, None, CONTEXT, ()).split("\n")
    assert all(c.isprintable() for line in lines for c in line)
    assert {x for x in lines if x.startswith("#")} <= HEADINGS | {"## What this rests on"}
    own = ("#", "> ", "- ", "|", "The ", "Nothing was run: ", "Not applied, ", "")
    assert all(x.startswith(own) for x in lines)
    assert sum(x.startswith("|") for x in lines) == 6


def test_a_reason_ends_in_one_full_stop():
    plan = Plan(query="q", controller="offline", fallback_reason="The model did not answer. No server answers.")
    state = RunState("1" * 8, "run", "q", "", "", "done", plan)
    assert "The offline controller took over: The model did not answer. No server answers.\n" in report(state, {}, None, None, CONTEXT, ())
