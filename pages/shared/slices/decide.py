"""Accept or reject a slice as a whole, with a name, a note and the time; and what people decided on it before."""

from __future__ import annotations

import time
from typing import Literal
from uuid import uuid4

import streamlit as st

from core.operators import slices
from core.operators.slice_report import SliceReport, SliceRow
from core.storage import Judgement, NewJudgement
from pages.shared import shell, state, who
from pages.shared.markup import Markup, Text, chip, count, fill, join

WORDS = {"accept": "accepted", "reject": "rejected", "unsure": "left open"}
_SINCE = "slice.since"


def seen(name: str) -> None:
    """Note when this session first saw a slice, for how long a decision took."""
    st.session_state.setdefault(_SINCE, {}).setdefault(name, time.monotonic())


@st.dialog("Decide on this slice")
def dialog(report: SliceReport, row: SliceRow, verdict: Literal["accept", "reject"]) -> None:
    """Ask for name and note, and store the decision."""
    shell.note(row.hypothesis.text)
    what = (
        "Accepting says: this statement describes what is in the slice, and the slice is worth acting on."
        if verdict == "accept"
        else "Rejecting says: the statement does not describe what is in the slice, or the slice is not worth acting on."
    )
    shell.note(what)
    name = who.ask("decide_who")
    note = st.text_area("Note", key="decide_note", max_chars=4_000, placeholder="Why; optional")
    label = "Accept slice" if verdict == "accept" else "Reject slice"
    if st.button(label, type="primary", key="decide_save", disabled=not name, help=None if name else "Say who you are first."):
        with shell.errors_as_card():
            slices.judge(state.store(), report.saved.id, [_new(report, row, verdict, name, note)])
        st.rerun()


def _new(report: SliceReport, row: SliceRow, verdict: Literal["accept", "reject", "withdraw"], name: str, note: str) -> NewJudgement:
    t, since = row.tested, st.session_state.get(_SINCE, {}).get(row.hypothesis.id)
    payload = {
        "gamma": report.settings.test.gamma,
        "verdict": None if t is None else t.verdict,
        "q_trend": None if t is None else t.q_trend,
        "q_lift": None if t is None else t.q_lift,
        "n": None if t is None else t.inside.n,
        "report": report.digest,
        "seconds": None if since is None else round(time.monotonic() - since, 1),
    }
    return NewJudgement(uuid4().hex, row.hypothesis.id, "", verdict, note.strip(), name, payload)


def decisions(report: SliceReport, row: SliceRow) -> tuple[Judgement, ...]:
    """What each person last decided on the slice as a whole, the newest last."""
    return tuple(j for j in slices.judgements(state.store(), report.saved.id, row.hypothesis.id) if not j.unit_id)


def chips(said: tuple[Judgement, ...]) -> list[Markup]:
    """Each decision in a pill."""
    tones = {"accept": "done", "reject": "plain", "unsure": "outline"}
    return [chip(f"{WORDS[j.verdict]} by {j.who or who.NOBODY}", tones[j.verdict]) for j in said]  # type: ignore[arg-type]


def show(report: SliceReport, row: SliceRow, said: tuple[Judgement, ...]) -> None:
    """Who decided what, when and why, with a way to take one's own decision back."""
    if not said:
        return
    shell.section("Decisions", f"{count(len(said), 'person', 'people')}, the last word of each")
    lines: list[Text] = [
        fill(
            "{who} {what} it on {at:%d %B %Y, %H:%M} UTC{note}",
            who=Markup("<b>{}</b>").format(j.who or who.NOBODY), what=WORDS[j.verdict], at=j.at, note=f": {j.note}" if j.note else ".",
        )
        for j in said
    ]  # fmt: skip
    shell.note(join(lines, Markup("<br>")))
    name = who.name()
    if any(j.who == name for j in said) and st.button("Take my decision back", key="decide_back"):
        with shell.errors_as_card():
            slices.judge(state.store(), report.saved.id, [_new(report, row, "withdraw", name, "")])
        st.rerun()
