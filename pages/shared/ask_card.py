"""The card that asks before anything is spent: what a step would do, what it costs, and the way to change or skip it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st
from markupsafe import Markup

from core.controller.state import RunState, StepState
from core.errors import OddysseyError
from core.llm import Role
from core.storage import SavedTable
from pages.shared import connections, limits, shell
from pages.shared.connections import NAMES
from pages.shared.markup import Text, chip, count, fill, strong, table

Answer = Literal["do", "edit", "skip", "connect", "again", ""]


def title(s: StepState) -> str:
    """What is asked, with the number of things that it is about."""
    n, left = samples(s), remaining(s)
    if left is not None:
        return f"Go on with the remaining {count(left, 'sample')}?"
    if s.op == "evaluate":
        return f"Evaluate {count(n, 'sample')}?" if n is not None else "Evaluate the samples?"
    if s.op == "acquire":
        images = number(s.estimate, "images")
        return f"Make up to {count(images, 'image')}?" if images else "Look for samples?"
    return f"{s.title}?"


def verb(s: StepState) -> str:
    """Label of the button that says yes."""
    n = samples(s)
    if remaining(s) is not None:
        return "Go on"
    if s.op == "evaluate":
        return f"Evaluate {count(n, 'sample')}" if n is not None else "Evaluate"
    if s.op == "acquire":
        return "Make images" if number(s.estimate, "images") else "Look for samples"
    return "Do it"


def samples(s: StepState) -> int | None:
    """How many samples a step is about."""
    return number(s.estimate, "items")


def remaining(s: StepState) -> int | None:
    """How many samples of a paused evaluation have no answer yet, None if it was not paused."""
    left = s.counts.get("pending") if s.op == "evaluate" and s.status == "waiting" else None
    return int(left) if left else None


def number(estimate: Mapping[str, Any] | None, key: str) -> int | None:
    """A count of an estimate, None where it does not have it."""
    value = (estimate or {}).get(key)
    return int(value) if isinstance(value, int | float) else None


def lines(s: StepState) -> list[tuple[str, Text]]:
    """What a step would cost, line by line."""
    e = s.estimate or {}
    out: list[tuple[str, Text]] = []
    model, judge, cached, images = (number(e, k) for k in ("model_calls", "judge_calls_most", "cached", "images"))
    if model is not None:
        calls = f"{model:,} model"
        calls += f" + up to {judge:,} judge" if judge else ""
        out.append(("Calls", calls))
        if cached:
            out.append(("Answered before, not asked again", f"{cached:,}"))
    if images:
        out.append(("Images to make", f"up to {images:,}"))
    prompt, completion = number(e, "prompt_tokens"), number(e, "completion_tokens")
    if prompt is not None and completion is not None:
        out.append(("Tokens, estimated", f"{prompt:,} in, {completion:,} out"))
    if out:
        cost = e.get("cost")
        told = strong(f"{cost:,.2f} {e.get('currency') or ''}".rstrip()) if isinstance(cost, int | float) else "no price named"
        out.append(("Cost at your prices", told))
    return out


def other_model(table: SavedTable) -> Text:
    """What to know before an evaluation whose results could not be counted into a table: it is of another model; "" if they can."""
    vlm = connections.endpoint("vlm")
    if vlm is None or not table.model or table.model == vlm.name:
        return ""
    told = "{chip} The table {t} is of {a}, the connected model is {b}: its answers are kept, but not counted into this table."
    return fill(told, chip=chip("other model", "wait"), t=strong(table.name), a=strong(table.model), b=strong(vlm.name))


def show(run: RunState, evidence: tuple[int, int] | None = None, warning: Text = "") -> Answer:
    """The card of the step that waits, "" where none does or nothing was clicked.

    Args:
        run: The run.
        evidence: Samples that would count as evidence, and samples in all; None before any were found.
        warning: What to know before an evaluation is paid for.
    """
    i = run.waiting
    if i is None:
        return ""
    s = run.steps[i]
    with st.container(border=True, key="confirm"):
        shell.section(title(s), "waits for your answer")
        rows = lines(s)
        if s.op == "evaluate" and evidence is not None:
            valid, total = evidence
            rows.append(("Count as evidence", f"{valid:,} of {total:,}"))
        if rows:
            shell.html(Markup('<div class="od-plain-head">{}</div>').format(table(["", ""], rows, right={1})))
        estimate = s.estimate or {}
        budget = limits.in_words(limits.kept(), str(estimate.get("currency") or "")) if s.op == "evaluate" else ""
        for note in (warning if s.op == "evaluate" else "", s.note, *estimate.get("warnings", ()), budget):
            if note:
                shell.note(note)
        with st.container(horizontal=True, gap="small"):
            if st.button(verb(s), type="primary", key=f"confirm-{run.id}-{i}"):
                return "do"
            if st.button("Edit plan", key=f"edit-{run.id}-{i}"):
                return "edit"
            if s.op == "evaluate":
                limits.form(isinstance(estimate.get("cost"), int | float))
            if st.button("Skip", type="tertiary", key=f"skip-{run.id}-{i}"):
                return "skip"
    return ""


def follow(run: RunState, counted: bool) -> Answer:
    """Where to look after an evaluation, and another try for samples that got no answer.

    Args:
        run: The run.
        counted: Whether its results are counted into a table.
    """
    if any(s.op == "evaluate" and s.status == "done" for s in run.steps):
        with st.container(horizontal=True, gap="small", key="follow"):
            moved = "See what moved among the gaps" if counted else "Count the results into a table"
            for label, view in (("See every answer", "Samples"), (moved, "What moved")):
                st.page_link("pages/evaluation.py", label=label, query_params={"run": run.id, "view": view})
    failed = sum(int(s.counts.get("failed", 0)) for s in run.steps if s.op == "evaluate")
    if failed:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="failed"):
            with st.container(width="stretch"):
                shell.note(f"{count(failed, 'sample')} got no answer. Asked again, only what has no answer yet is sent to the model.")
            if st.button("Ask again", key=f"again-{run.id}"):
                return "again"
    return ""


def connect(run: RunState, role: Role) -> Answer:
    """The card of a run that could not evaluate what it found, for want of a model."""
    with st.container(border=True, key="confirm"):
        shell.section("No model to evaluate", f"{NAMES[role].lower()} is not connected")
        shell.note("The samples are ready. Connect the model and ask again; what was found stays as it is.")
        with st.container(horizontal=True, gap="small"):
            if st.button("Connect a model", type="primary", key=f"connect-{run.id}"):
                return "connect"
            if st.button("Ask again", key=f"again-{run.id}"):
                return "again"
    return ""


def gone(error: OddysseyError) -> Answer:
    """The card of a run whose record cannot be read."""
    with st.container(border=True, key="confirm"):
        shell.section("The files of this run are gone")
        shell.error_card(error, "The plan is told from the workspace. Without its files, the run can neither be gone on with nor replayed.")
        return "again" if st.button("Ask again", key="ask_again") else ""


def trouble(error: BaseException | None, begun: bool) -> Answer:
    """The card of a run that ended before its end: by an error, or because the app was stopped."""
    with st.container(border=True, key="confirm"):
        shell.section("This run did not come to its end")
        if isinstance(error, OddysseyError):
            shell.error_card(error, "What was done before is kept.")
        elif error is not None:
            shell.note(f"An error in the product ended it ({type(error).__name__}); the log of the server has more. What was done is kept.")
        else:
            shell.note("The app was stopped while it ran. What was done is kept and will not be done again.")
        with st.container(horizontal=True, gap="small"):
            if begun and st.button("Go on", type="primary", key="go_on"):
                return "do"
            if st.button("Ask again", key="ask_again"):
                return "again"
    return ""
