"""Controller: ask in plain words what to test next; see what was understood, what is done, what it costs and what came out."""

from __future__ import annotations

import streamlit as st

from core.errors import InputError, OddysseyError
from core.storage import SavedTable
from pages.shared import ask_chat, ask_plan, ask_result, ask_runs, ask_text, ask_turn, ask_warm, connections_form, shell, start, state, who
from pages.shared.ask_runs import Live
from pages.shared.markup import Text, code, fill
from pages.shared.shell import Action

NAME = "Controller"
CONNECT, NEW = Action("connections", "Connections", "tertiary"), Action("new_question", "New question", "tertiary")
TICK = 0.7
"""Seconds between two looks at a run that goes on."""


def head(table: SavedTable, now: Live | None) -> None:
    """The finding, and what can be done with the whole run."""
    said: Text = ask_text.NOTHING
    about, actions = _about(table), [CONNECT]
    if now is not None:
        actions.append(NEW)
        said = ask_text.PLANNING if now.busy else ask_text.UNANSWERED
        about = fill("{rule} Run {id}.", rule=ask_text.RULE, id=code(now.saved.id))
    if now is not None and now.state is not None:
        ended = now.state.steps and (now.interrupted or now.error is not None)
        said = ask_text.stopped(now.state) if ended else ask_text.headline(now.state)
        about = ask_text.provenance(now.state, ask_runs.table_then(now.saved))
        idle = not now.busy and now.state.steps and ask_runs.lost(now) is None
        actions.append(Action("replay", "Replay run", disabled=not idle, help="Runs the stored plan again, without a model"))
    asked = ask_runs.table_of(now.saved) if now is not None else None
    clicked = shell.header(NAME, said, about, actions, (asked or table).synthetic)
    if clicked == "connections":
        connections_form.show()
    elif clicked == "new_question":
        ask_runs.leave()
        st.rerun()
    elif clicked == "replay" and now is not None:
        ask_result.replay(now.saved)


def _about(table: SavedTable) -> Text:
    return fill("{by}. {rule} Table {t}.", by=ask_chat.planner_in_words(), rule=ask_text.RULE, t=code(table.digest[:6]))


def chat(table: SavedTable, now: Live | None) -> None:
    """What was asked and answered, the card that waits for an answer, and the place for the next question."""

    def ask(query: str) -> None:
        with shell.errors_as_card(changed="Nothing was run."):
            ask_runs.ask(query, table)

    with st.container(height=ask_chat.HEIGHT, border=True, key="chat", autoscroll=False):
        if now is None:
            ask_chat.empty(ask)
        else:
            ask_chat.question(now.saved.query)
            ask_chat.other_table(ask_runs.table_of(now.saved), table)
            if now.state is not None:
                ask_chat.answer(now.state, ask)
    if now is not None:
        try:
            ask_turn.show(now, ask_runs.table_of(now.saved) or table)
        except OddysseyError as e:  # plan, result and the next question stay
            shell.error_card(e, "Nothing was run.")
    typed = st.chat_input("Ask what to test next", key="ask", max_chars=4_000)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="od-asker"):
        name = who.ask()
        ask_chat.planner()
        ask_chat.history(ask_runs.mine(), now.saved.id if now else "", ask_runs.open_run, name)
    if typed:
        ask(typed)


@st.fragment(run_every=TICK)
def going_on(run_id: str, seen: str) -> None:
    """The plan while it runs; the whole page is drawn anew when a step begins or ends."""
    now = ask_runs.live(state.store().runs.get(run_id))
    if not now.busy or ask_plan.stage(now.state) != seen:
        st.rerun()
    ask_plan.show(now.state, ask_runs.progress(now.saved), busy=True, reading=ask_warm.reading(now))
    word = ask_runs.can_stop(now.state)
    if word and st.button(word, key="pause", help="After what is on its way; what is done is kept"):
        ask_runs.stop(now.saved)


shell.begin("pages/controller.py")
with shell.errors_as_card(NAME, "The controller cannot be shown."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "No table yet, so there is nothing to ask about. A table with one row per answer is enough.",
            "Here you ask in plain words what to test next. A plan of operators runs, and every step of it can be checked and replayed.",
        )
    try:
        run, unknown = ask_runs.opened(), None
    except InputError as e:
        run, unknown = None, e
    head(current, run)
    if unknown is not None:
        shell.error_card(unknown, "You can ask anew, or open a run from the history.")
    left, right = st.columns([0.4, 0.6], gap="large")
    with left:
        chat(current, run)
    with right:
        if run is None:
            ask_warm.soon(state.seed_table(current).odd)
            shell.empty(
                "The plan stands here: which operators run, on what, how long each takes, and the hashes of what goes in and comes out."
            )
        elif run.busy:
            going_on(run.saved.id, ask_plan.stage(run.state))
        else:
            ask_plan.show(run.state)
        if run is not None and run.state is not None and ask_runs.lost(run) is None:
            ask_result.show(run.state, run.busy)
