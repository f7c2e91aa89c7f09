"""The chat of the Controller page: what was asked, what each phrase was read as, and what may have been meant instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import streamlit as st
from markupsafe import Markup

from core.controller.reading import How, Reading, Suggestion
from core.controller.state import RunState
from core.plots import plain
from core.storage import SavedRun, SavedTable
from pages.shared import ask_runs, ask_text, connections, shell, state, who
from pages.shared.ask_starters import FIRST, STARTERS
from pages.shared.markup import Text, Tone, chip, fill, label, strong, table

Ask = Callable[[str], None]
HEIGHT = 424
FEW = 20
"""Questions of the history that are shown before the older ones are asked for."""
_USER, _CONTROLLER = ":material/person:", ":material/route:"
_CHIPS: dict[How, tuple[str, Tone]] = {
    "exact": ("exact", "done"),
    "synonym": ("synonym", "done"),
    "proxy": ("proxy", "wait"),
    "parent": ("nearest", "wait"),
    "extension": ("extension", "info"),
    "meaning": ("by meaning", "wait"),
    "model": ("by the model", "wait"),
    "unsupported": ("ignored", "wait"),
}


def readings(items: Sequence[Reading]) -> Markup:
    """What each phrase was read as."""
    return table(["You wrote", "Read as", ""], [_reading(r) for r in items])


def _reading(r: Reading) -> list[Markup]:
    word, tone = _CHIPS[r.how]
    value = f"{plain(r.value)}, outside the ODD" if r.how == "extension" else plain(r.value) if r.value else "no such value"
    quiet = Markup('<br><small class="od-quiet">{}</small>')
    about = ". ".join(x for x in (plain(r.dimension), r.note) if x)
    return [
        Markup("{}").format(r.phrase or "(no words of its own)"),
        Markup("{}{}").format(value, quiet.format(about) if about else ""),
        chip(word, tone),
    ]


def empty(ask: Ask) -> None:
    """Before the first question: three examples, and the others behind a button."""
    shell.note("Ask in plain words what to test next, or begin with one of these.")
    for i, q in enumerate(FIRST):
        if st.button(q, key=f"starter-{i}", width="stretch"):
            ask(q)
    more(ask)


def more(ask: Ask) -> None:
    """All questions to begin with."""
    with st.popover("Examples", key="starters"):
        for k, (title, questions) in enumerate(STARTERS.items()):
            shell.note(title)
            for i, q in enumerate(questions):
                if st.button(q, key=f"starter-{k}-{i}", type="tertiary"):
                    ask(q)


def history(runs: Sequence[SavedRun], opened: str, open_run: Callable[[str], None], name: str) -> None:
    """The questions of one person, newest first, each with what came of it."""
    with st.popover(f"History ({len(runs):,})", key="history", disabled=not runs):
        shell.note(fill("Asked by {name}", name=name or who.NOBODY))
        every = len(runs) > FEW and st.toggle("Show the older ones too", key="history_all")
        for r in runs[: None if every else FEW]:
            if st.button(label(r.query), key=f"open-{r.id}", type="tertiary", disabled=r.id == opened):
                open_run(r.id)
            shell.note(outcome(r))


def planner() -> None:
    """Who plans; asked only where a model is connected for it."""
    model = connections.endpoint("llm")
    if model is not None:
        words = {"llm": model.name, "offline": "Offline controller"}
        st.session_state["planner"] = ask_runs.planner()
        change = lambda: ask_runs.plan_with(st.session_state["planner"])  # noqa: E731
        st.selectbox("Planned by", list(words), key="planner", format_func=words.get, on_change=change, width=140)


def planner_in_words() -> str:
    """Who would plan the next question."""
    model = connections.endpoint("llm")
    if model is None:
        return "Offline controller: no model is connected for planning"
    return f"Planned by {model.name}" if ask_runs.planner() == "llm" else "Offline controller, though a model is connected"


def outcome(r: SavedRun) -> Markup:
    """What came of a run, in a line."""
    now = ask_runs.live(r)
    if now.state is None:
        said: Text = ask_text.PLANNING if now.busy else ask_text.UNANSWERED
    else:
        said = ask_text.stopped(now.state) if now.state.steps and now.interrupted else ask_text.headline(now.state)
    return fill("{said} {at} UTC", said=said, at=f"{r.created_at:%Y-%m-%d %H:%M}")


def question(text: str) -> None:
    """What was asked."""
    with st.chat_message("user", avatar=_USER):
        shell.html(Markup('<p class="od-said">{}</p>').format(text))


def other_table(asked: SavedTable | None, used: SavedTable) -> None:
    """Say so where a run is about another table than the one in use."""
    if asked is None:
        shell.note("The table that this was asked about is not in this workspace any more.")
    elif asked.id != used.id:
        shell.note(fill("This was asked about the table {a}; the one in use is {b}.", a=strong(asked.name), b=strong(used.name)))
        if st.button(label(f"Use {asked.name}"), key="use_asked", help="Shows this table on all pages"):
            state.choose_table(asked.id)
            st.rerun()


def answer(run: RunState, ask: Ask) -> None:
    """What the controller makes of the question."""
    with st.chat_message("assistant", avatar=_CONTROLLER):
        if run.plan.fallback_reason:
            told = "{c} The model that plans gave no plan: {why}."
            shell.note(fill(told, c=chip("offline plan used", "wait"), why=run.plan.fallback_reason.rstrip(".")))
        shell.html(Markup('<p class="od-said">{}</p>').format(ask_text.summary(run)))
        prose(run)
        if run.readings:
            shell.html(readings(run.readings))
        did_you_mean(run, ask)
        if run.status == "clarify":
            for i, q in enumerate(FIRST):
                if st.button(q, key=f"instead-{i}", type="tertiary"):
                    ask(q)


def prose(run: RunState) -> None:
    """The words of a language model, marked as such; plain text, since a model must not place links or images here."""
    if run.prose:
        told = "{c} Words of {by}. Numbers in them were not checked; those of plan and table were computed."
        head = fill(told, c=chip("prose", "outline"), by=run.plan.model or "a language model")
        shell.html(Markup('<div class="od-prose"><p class="od-note">{}</p><p class="od-said">{}</p></div>').format(head, run.prose))


def did_you_mean(run: RunState, ask: Ask) -> None:
    """Values that may have been meant, by phrase; a click asks again with the value in its place."""
    for phrase in dict.fromkeys(s.phrase for s in run.suggestions):
        options = {label(plain(s.value)): s for s in run.suggestions if s.phrase == phrase}
        key = f"mean-{run.id}-{phrase}"
        chosen = st.pills(f'Closest to "{label(phrase)}"' if phrase else "Did you mean", list(options), key=key)
        if chosen:
            ask(reworded(run.query, options[chosen]))


def reworded(query: str, s: Suggestion) -> str:
    """The question with the suggested value in place of the phrase, or behind it where the phrase is not found."""
    value = plain(s.value)
    pattern = re.compile(rf"(?<!\w){re.escape(s.phrase)}(?!\w)", re.IGNORECASE)
    if s.phrase and pattern.search(query):
        return pattern.sub(lambda _: value, query, count=1)
    return f"{query.rstrip()} ({plain(s.dimension)}: {value})"
