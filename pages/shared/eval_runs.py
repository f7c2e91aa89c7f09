"""Evaluations: what each came to, whether it goes on, and what can be done with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from core import operators
from core.controller.state import StepState
from core.errors import InputError
from core.operators import Evaluated
from core.storage import EvaluationRun, SavedRun
from pages.shared import ask_runs, connections, eval_text, shell, state
from pages.shared.ask_runs import RUN, Live
from pages.shared.markup import Markup, Text, Tone, bar, chip, code, count, fill, join, strong

Stage = Literal["running", "paused", "interrupted", "waiting", "unfinished", "done"]
CHIPS: dict[Stage, tuple[str, Tone]] = {
    "running": ("running", "info"),
    "paused": ("paused", "wait"),
    "interrupted": ("interrupted", "wait"),
    "waiting": ("waits for a confirmation", "wait"),
    "unfinished": ("not finished", "wait"),
    "done": ("done", "done"),
}
FIRST = 12
"""Runs that are listed before the others are asked for."""


@dataclass(frozen=True)
class Line:
    """One evaluation.

    Attributes:
        id: Of the run.
        run: What is kept of the evaluation, None before its first call.
        live: The question to the controller that it belongs to, None if it was started elsewhere.
        stage: How far it is.
        counts: Samples by status, with items and pending.
        spent: Tokens and cost so far, "" before the first answer.
        errors: Why samples have no score, with how many.
    """

    id: str
    run: EvaluationRun | None
    live: Live | None
    stage: Stage
    counts: dict[str, int]
    spent: str = ""
    errors: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        """Samples in all."""
        return self.counts.get("items", 0)

    @property
    def finished(self) -> int:
        """Samples with a result, whatever it is."""
        return sum(self.counts.get(k, 0) for k in ("scored", "unscored", "failed", "blocked"))


def known() -> dict[str, EvaluationRun | None]:
    """Every evaluation of the workspace and every one that waits, newest first; None before the first call of one."""
    store = state.store()
    kept = {r.run_id: r for r in store.results.runs()}
    waiting = {r.id: r.changed_at for r in store.runs.list() if r.id not in kept and _step(r) is not None}
    at = {k: r.at for k, r in kept.items()} | waiting
    return {i: kept.get(i) for i in sorted(at, key=lambda i: (at[i], i), reverse=True)}


def _asked(run_id: str) -> SavedRun | None:
    """The question that an evaluation belongs to, None if it was started elsewhere."""
    try:
        return state.store().runs.get(run_id)
    except InputError:
        return None


def _step(r: SavedRun) -> StepState | None:
    """The evaluation of a run that has begun or waits."""
    now = ask_runs.live(r).state
    return next((s for s in now.steps if s.op == "evaluate" and s.status in ("waiting", "running")), None) if now else None


def line(run_id: str, run: EvaluationRun | None) -> Line:
    """One evaluation as it stands."""
    asked = _asked(run_id)
    live = ask_runs.live(asked) if asked is not None else None
    step = next((s for s in live.state.steps if s.op == "evaluate"), None) if live and live.state else None
    e = results(run_id) if run is not None else None
    counts = dict(e.counts) if e is not None else {}
    if step is not None:
        counts["items"] = max(counts.get("items", 0), step.rows or 0)
    stage: Stage = "done" if not counts.get("pending") else "unfinished"
    if live is not None and step is not None and step.status in ("waiting", "running"):
        stage = "running" if live.busy else "interrupted" if step.status == "running" else "paused" if run is not None else "waiting"
    if e is None:
        return Line(run_id, run, live, stage, counts)
    vlm, judge = (connections.endpoint(role) for role in ("vlm", "judge"))
    own = vlm.price if vlm is not None and vlm.name == e.model else None
    spent = eval_text.spent(e, own, judge.price if judge is not None else None)
    errors = Counter(r.why or r.status for r in e.results if r.status != "scored").most_common()
    return Line(run_id, run, live, stage, counts, spent, tuple(errors))


def results(run_id: str) -> Evaluated:
    """What a run came to, with the corrections of people; read again only when a result was added.

    Raises:
        InputError: There is no such run.
    """
    store = state.store()
    return _results(store.db.name, run_id, store.results.run(run_id).at.isoformat(), store.results.stamp(run_id))


@st.cache_resource(show_spinner=False, max_entries=32)
def _results(database: str, run_id: str, begun: str, stamp: int) -> Evaluated:
    del database, begun, stamp  # only keys of the cache
    return operators.results_of(state.store(), run_id)


def show(found: dict[str, EvaluationRun | None], chosen: str) -> None:
    """All evaluations with what can be done to each; those that run are looked at again and again."""
    shell.section("Evaluations", f"{len(found):,}" if found else "")
    if not found:
        shell.empty("Evaluations stand here with their progress, errors and cost, once a model was asked about samples.")
        return
    every = len(found) > FIRST and st.toggle(f"Show all {len(found):,}", key="eval_all")
    for x in [line(i, found[i]) for i in list(found)[: None if every else FIRST]]:
        with st.container(border=True, key=f"od-eval-{x.id}"):
            if x.stage == "running":
                running(x.id, chosen)
            else:
                one(x, chosen)


@st.fragment(run_every=1.0)
def running(run_id: str, chosen: str) -> None:
    """A run that goes on; the page is drawn anew when it stops."""
    now = line(run_id, next(iter(state.store().results.runs([run_id])), None))
    if now.stage != "running":
        st.rerun()
    one(now, chosen)


def one(x: Line, chosen: str) -> None:
    """One evaluation: who, what, how far, at what cost; and its buttons."""
    word, tone = CHIPS[x.stage]
    marks = [chip(word, tone)] + ([chip("shown", "outline")] if x.id == chosen else [])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            shell.html(Markup('<p class="od-note">{} {}<br>{}</p>').format(title(x), join(marks, " "), told(x)))
            if x.total:
                shell.html(bar(x.finished / x.total, "done" if x.stage == "done" else "info"))
            for why, n in x.errors[:3]:
                shell.note(fill("{n} without a score: {why}", n=f"{n:,}", why=why[:300]))
        _buttons(x, chosen)


def _buttons(x: Line, chosen: str) -> None:
    if x.live is not None and x.stage == "running" and st.button("Pause", key=f"pause-{x.id}", help="After the calls on their way"):
        ask_runs.stop(x.live.saved)
    if x.live is not None and x.stage in ("paused", "interrupted"):
        at = ask_runs.to_answer(x.live.state)
        if st.button("Resume", key=f"resume-{x.id}", type="primary", help="What was answered is not asked again"):
            ask_runs.go_on(x.live.saved, {} if at is None else {at: "do"})
    if x.live is not None and st.button("Plan", key=f"plan-{x.id}", help="The question, the plan and its files"):
        st.switch_page("pages/controller.py", query_params={RUN: x.id})
    if x.run is not None and st.button("Show", key=f"show-{x.id}", disabled=x.id == chosen):
        st.query_params[RUN] = x.id
        st.rerun()


def title(x: Line) -> Text:
    """What a run is called."""
    model = x.run.model if x.run is not None else ""
    query = x.live.saved.query if x.live is not None else ""
    return fill("{name} {query}", name=strong(model or "Not asked yet"), query=query)


def told(x: Line) -> Text:
    """Counts of a run, none left out, and who started it."""
    c = x.counts
    parts = [f"{x.finished:,} of {count(x.total, 'sample')}" if x.total else "no samples yet"]
    parts += [f"{c[k]:,} {k}" for k in ("scored", "unscored", "failed", "blocked") if c.get(k)]
    parts += [f"{c['pending']:,} still to ask"] if c.get("pending") else []
    judge = f", judged by {x.run.judge}" if x.run is not None and x.run.judge else ""
    at = x.run.at if x.run is not None else x.live.saved.created_at if x.live is not None else None
    who = x.live.saved.who if x.live is not None else x.run.who if x.run is not None else ""
    when = f"{at:%Y-%m-%d %H:%M} UTC" if at else ""
    parts += [x.spent] if x.spent else []
    return fill("{c}{j}. {when}{who}, run {id}", c=", ".join(parts), j=judge, when=when, who=f", {who}" if who else "", id=code(x.id))


def instead(found: dict[str, EvaluationRun | None], shown: str) -> Text:
    """Why another evaluation is shown than the one in the address, "" if none is."""
    wanted = str(st.query_params.get(RUN, ""))
    if wanted in ("", shown):
        return ""
    why = "has no answers yet" if wanted in found else "is not in this workspace (any more)"
    end = "; the newest one with answers is shown." if shown else "."
    return fill("The address asks for the evaluation {id}, which {why}{end}", id=code(wanted), why=why, end=end)


def chosen(found: dict[str, EvaluationRun | None]) -> str:
    """The run that the address names, else the newest with results, "" if there is none."""
    wanted = st.query_params.get(RUN, "")
    begun = [i for i, run in found.items() if run is not None]
    return wanted if wanted in begun else next(iter(begun), "")
