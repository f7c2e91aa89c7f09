"""Whose turn it is: what a run waits for, lacks, or came to grief over, and what a click on its card does."""

from __future__ import annotations

from core.storage import SavedTable
from pages.shared import ask_card, ask_edit, ask_runs, connections_form, eval_moved
from pages.shared.ask_runs import Live

NO_TABLE = "The table of this run is not in this workspace any more; restore it under Seed tables to go on."


def show(now: Live, table: SavedTable) -> None:
    """What waits for an answer, lacks a model, went wrong or was left in the middle."""
    if now.busy:
        return
    if (error := ask_runs.lost(now)) is not None:
        if ask_card.gone(error) == "again":
            ask_runs.ask(now.saved.query, table)
        return
    lacks = ask_runs.lacking(now.state) if now.state is not None else None
    if now.error is not None or now.interrupted:
        answer = ask_card.trouble(now.error, now.state is not None)
    elif now.state is not None and lacks:
        answer = ask_card.connect(now.state, lacks)
    elif now.state is not None:
        asked = ask_runs.table_of(now.saved)
        answer = ask_card.show(now.state, ask_runs.evidence(now.state), ask_card.other_model(asked) if asked is not None else NO_TABLE)
    else:
        return
    if answer == "" and now.state is not None:
        answer = ask_card.follow(now.state, bool(eval_moved.holding(now.saved.id)))
    if answer in ("do", "skip"):
        at = ask_runs.to_answer(now.state)
        ask_runs.go_on(now.saved, {} if at is None else {at: answer})
    elif answer == "again":
        ask_runs.ask(now.saved.query, table)
    elif answer == "edit" and now.state is not None:
        ask_edit.show(now.state, table)
    elif answer == "connect" and lacks:
        connections_form.show(lacks)
