"""Markdown of the report: what people and models wrote cannot pass for the report's own words."""

from __future__ import annotations

import csv
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.controller import Plan, Reading, RunState, StepState, Suggestion, start
from core.controller.ranked import ranking_note
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
CONTEXT = {"table": None, "source": {"file": "mine.csv"}, "datastore": None, "seed_sha256": "0" * 64}


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


def test_every_number_of_the_report_follows_from_the_table(context, store):
    state = start("What nighttime edge cases should we test?", context)
    folder = store.runs.path(store.runs.get(state.id))
    seed = context.seed
    tested = [dict(zip(seed.odd.names, names, strict=True)) for names in seed.odd.codec.names(seed.codes)]
    with (folder / "suggest_top_missing_slices_within_ODD.csv").open(encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    text = (folder / "agent_response.md").read_text(encoding="utf-8")
    told = re.findall(r"^(\d+)\. \*\*(.*)\*\* \(phi ([\d.]+)\)\n   (.*)$", text, re.MULTILINE)
    assert len(told) == len(rows) == 10
    assert len({slice_ for _, slice_, _, _ in told} & {", ".join(t.values()) for t in tested}) == 0
    dims = [d for d in seed.odd.names if d in rows[0]]
    for (rank, slice_, phi, why), row in zip(told, rows, strict=True):
        assert (rank, slice_, phi) == (row["rank"], ", ".join(row[d] for d in dims), f"{float(row['phi']):.6f}")
        decisive = row["decisive_slice"].split(" | ")
        at = next(i for i, t in enumerate(tested) if [t[d] for d in dims] == decisive)
        assert int(row["decisive_n"]) == seed.n[at]
        assert f"fails {seed.error[at]:.0%} (n = {seed.n[at]:,}," in why
        differ = [d for d, v in zip(dims, decisive, strict=True) if row[d] != v]
        assert f"differs in {', '.join(differ)}, is {float(row['decisive_similarity']):.2f} similar" in why
        shares = {d: sum(n for n, t in zip(seed.n, tested, strict=True) if t[d] == row[d]) / seed.total for d in dims}
        for d, p in re.findall(r"(\w+)=\w+ \(P ([\d.]+)%\)", why):
            k = len(seed.odd.by_name[d].base)
            smooth = (shares[d] * seed.total + context.params.alpha) / (seed.total + context.params.alpha * k)
            assert float(p) == pytest.approx(100 * smooth, abs=0.051)
    night = [(n, e) for n, e, t in zip(seed.n, seed.error, tested, strict=True) if t["time"] == "night"]
    n, wrong = sum(n for n, _ in night), sum(n * e for n, e in night)
    assert f"n = {n:,} in {len(night):,} slices, error {wrong / n:.0%}" in text
    assert f"1,920 combinations, {len(night)} tested, {1_920 - len(night):,} missing; the first 10 are listed." in text


@pytest.mark.parametrize(
    ("missing", "listed", "ends"),
    [(0, 0, " missing."), (1, 1, "; it is listed."), (3, 3, "; all are listed."), (9, 1, "; the first is listed."), (9, 0, " missing.")],
)
def test_what_is_listed_is_told_truly(monkeypatch, missing, listed, ends):
    counts = {"combinations": 12, "observed": 12 - missing, "missing": missing, "listed": listed}
    monkeypatch.setattr("core.controller.ranked.audit", lambda _: counts)
    result = SimpleNamespace(ranking=SimpleNamespace(search=SimpleNamespace(complete=True)))
    assert ranking_note(result) == f"12 combinations, {12 - missing} tested, {missing} missing" + ends.removeprefix(" missing")
