"""Every sample of an evaluation: the list with its filter, and one of them in full, where a person may overrule the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st
from markupsafe import Markup

from core import operators
from core.acquisition.fidelity import fidelity
from core.controller import record as rec
from core.controller.record import Record
from core.errors import OddysseyError
from core.evaluation import Result
from core.odd import Odd
from core.operators import Evaluated
from pages.shared import eval_sample, shell, state, who
from pages.shared.markup import Text, Tone, chip, fill, join

FILTERS = {
    "All": lambda r: True,
    "Wrong": lambda r: r.status == "scored" and r.score == 0,
    "Right": lambda r: r.status == "scored" and r.score == 1,
    "Without a score": lambda r: r.status != "scored",
    "By a person": lambda r: r.scored_by == "person",
}
BY = {"shortcut": "read from the choice", "judge": "the judge", "person": "a person", "imported": "imported", "": ""}
_VERDICTS = {"Right": 1.0, "Wrong": 0.0, "Cannot be judged": None}


def word(r: Result) -> tuple[str, Tone]:
    """What came of a sample, in a word."""
    if r.status != "scored" or r.score is None:
        return r.status, "wait"
    return ("right", "done") if r.score == 1 else ("wrong", "risk") if r.score == 0 else (f"{r.score:.2f}", "wait")


def show(e: Evaluated, odd: Odd) -> None:
    """The list and the chosen sample."""
    counts = {k: sum(map(f, e.results)) for k, f in FILTERS.items()}
    options = [k for k in FILTERS if counts[k] or k == "All"]
    if st.session_state.get("eval_filter", "All") not in options:
        st.session_state["eval_filter"] = "All"
    shown = st.segmented_control(
        "Show", options, default="All", required=True, key="eval_filter", format_func=lambda k: f"{k} ({counts[k]:,})"
    )
    found = sorted((r for r in e.results if FILTERS[shown](r)), key=_by_number)
    shell.section("Samples", f"{len(found):,} of {len(e.results):,}; select one to see it")
    if not found:
        shell.note("No sample was answered yet.")
        return
    chosen = _list(found, odd, f"{e.run_id}-{shown}")
    one(e.run_id, found[chosen if chosen is not None and chosen < len(found) else 0], odd)


def _by_number(r: Result) -> list[tuple[bool, int, str]]:
    """Samples in the order of their ids, "item-2" before "item-10": answers arrive in any order, which nobody could find again."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", r.item.id)]


def _list(found: list[Result], odd: Odd, key: str) -> int | None:
    frame = pd.DataFrame(
        [
            {
                "verdict": word(r)[0],
                "by": BY.get(r.scored_by, r.scored_by),
                "fit": r.item.verdict,
                "question": r.item.question,
                "answer": _option(r, r.item.answer),
                "said": _option(r, r.choice) if r.choice else " ".join(r.response.split())[:200],
                "slice": eval_sample.slice_in_words(odd, r.item.requested),
            }
            for r in found
        ]
    )
    columns = {
        "verdict": ("Verdict", 78),
        "by": ("Scored by", 136),
        "fit": ("Fit", 58, "valid: matches the slice in every dimension; only these count as evidence."),
        "question": ("Question", 250),
        "answer": ("Right answer", 130),
        "said": ("Model's answer", 170),
        "slice": ("Slice asked for", 330),
    }
    return eval_sample.choose_row(frame, f"samples_{key}", columns)


def _option(r: Result, letter: str) -> str:
    """An answer with its text, where it is the letter of an option."""
    place = eval_sample.LETTERS.find(letter) if len(letter) == 1 else -1
    return f"{letter} {r.item.options[place]}" if 0 <= place < len(r.item.options) else letter


def one(run_id: str, r: Result, odd: Odd) -> None:
    """One sample in full."""
    item, (said, tone) = r.item, word(r)
    tags, flags = known(run_id, r, odd)
    with st.container(border=True, key="sample"):
        left, right = st.columns([0.42, 0.58], gap="medium")
        with left:
            eval_sample.media(item.images, item.source, eval_sample.roots(run_id))
            shell.note(
                "; ".join(
                    [
                        item.dataset or "dataset not named",
                        f"question from {'a template' if item.qa_origin == 'template' else 'the dataset'}",
                    ]
                )
            )
        with right:
            marks = [chip(said, tone), chip(item.verdict, eval_sample.VERDICTS.get(item.verdict, "plain"))]
            by = f"scored: {BY.get(r.scored_by, r.scored_by)}" if r.scored_by else ""
            shell.html(Markup('<p class="od-note">{} {}</p>').format(join(marks, " "), by))
            eval_sample.question(item.question, item.options, item.answer, item.qa_origin, r.choice)
            words("Answer of the model", r.response or "none")
            if r.judgement:
                words("Words of the judge", r.judgement)
            if r.why:
                shell.note(fill("Why: {why}", why=r.why))
            shell.html(eval_sample.beside(odd, item.requested, tags, flags))
            _override(run_id, r)


def known(run_id: str, r: Result, odd: Odd) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Tags and flags of a sample: as they were found, else as far as the result itself tells."""
    found = candidates(run_id).get(r.item.id)
    if found is not None:
        return found["tags"], found["fidelity"]
    tags = dict(r.item.realised or {})
    return tags, fidelity(odd, r.item.requested, tags)


def candidates(run_id: str) -> Mapping[str, Mapping[str, Any]]:
    """The candidates of the run that found the samples, by id; none where it was started elsewhere."""
    try:
        record = Record(state.store().runs.path(state.store().runs.get(run_id)))
    except OddysseyError:
        return {}
    return {c["id"]: c for c in record.lines(rec.RETRIEVAL)}


def words(title: str, text: str) -> None:
    """Words of a model: plain text, marked as its own."""
    shell.html(Markup('<div class="od-prose"><p class="od-note">{}</p><p class="od-said">{}</p></div>').format(title, text))


def _override(run_id: str, r: Result) -> None:
    """Let a person overrule the verdict, and show who did so far."""
    past = state.store().results.history(run_id, r.item.id)
    for row in past[1:]:
        said: Text = (
            "cannot be judged" if row.score is None else "right" if row.score == 1 else "wrong" if row.score == 0 else f"{row.score:g}"
        )
        why = fill(": {why}", why=row.why) if row.why else ""
        shell.note(
            fill(
                "{at} UTC, {who}: {said}{why}", at=f"{row.at:%Y-%m-%d %H:%M}" if row.at else "", who=row.who or "nobody", said=said, why=why
            )
        )
    with st.container(horizontal=True, gap="small"):
        with st.popover("Overrule the verdict", key=f"overrule-{r.item.id}"):
            name = who.ask("overrule_who")
            chosen = st.segmented_control("The answer is", list(_VERDICTS), key=f"overrule-score-{r.item.id}")
            why = st.text_area("Why", key=f"overrule-why-{r.item.id}", max_chars=1_000, height=80)
            ready = bool(name and chosen and why.strip())
            if st.button("Record it", type="primary", key=f"overrule-do-{r.item.id}", disabled=not ready):
                _do(lambda: operators.override(state.store(), run_id, r.item.id, _VERDICTS[str(chosen)], who=name, why=why))
            if not ready:
                shell.note("Name yourself, choose and say why: all three are recorded, and the machine's verdict is kept beside them.")
        if r.scored_by == "person" and st.button("Take it back", key=f"overrule-back-{r.item.id}"):
            _do(lambda: operators.withdraw_override(state.store(), run_id, r.item.id, who=who.name()))


def _do(action: Any) -> None:
    try:
        action()
    except OddysseyError as e:
        shell.error_card(e)
    else:
        st.rerun()
