"""Matching by a vision model: which hypotheses, what it will take before anything is sent, then the run with progress and a way out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.error_slices.scores import SOURCES, ScoreSource
from core.error_slices.vision.cost import MatchPlan
from core.error_slices.vision.options import MatchOptions, limits_of
from core.error_slices.vision.outcome import MatchOutcome, MatchProgress
from core.error_slices.vision.probe import Ability
from core.errors import OddysseyError
from core.llm import Role
from core.operators import slice_match
from core.operators.slice_report import SliceReport
from core.storage import SavedDetections
from pages.shared import connections, connections_form, jobs, limits, shell, state
from pages.shared.markup import count, fill, strong, table

WAYS: dict[str, str] = {
    "": "the best that it can",
    "logprob": "token probabilities",
    "sampled": "several answers",
    "verbalised": "in words",
}
ROLE: Role = "tagger"
"""The model that looks at pictures."""
_PLAN = "slices.plan"


def show(current: SavedDetections, report: SliceReport) -> None:
    """What needs a model, and how to ask one."""
    needs = [r for r in report.rows if r.population is not None and r.hypothesis.offline is None]
    waiting = [r for r in needs if r.tested is None]
    shell.section(
        "Match with a vision model", f"{len(waiting):,} of {len(needs):,} that only a vision model can tell wait" if needs else ""
    )
    running = jobs.known(_key(current))
    if running is not None and not running.finished.is_set():
        _running(current)
        return
    if running is not None:
        _told(running, report)
    endpoint = connections.endpoint(ROLE)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if endpoint is None:
            text = (
                "No vision model is connected: what shows only in the looks of an object, such as a look-alike, cannot be tested offline."
            )
        else:
            text = fill("{m} is asked, yes or no, about one marked box at a time; never whether it is an error.", m=strong(endpoint.name))
        with st.container(width="stretch"):
            shell.note(text)
        if st.button("Connections", key="slice_connections"):
            connections_form.show(ROLE)
    if endpoint is None:
        return
    usual = limits_of(endpoint, MatchOptions())
    names = {r.hypothesis.id: r.hypothesis.text for r in [*needs, *(r for r in report.rows if r not in needs and r.population is not None)]}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = st.multiselect(
            "Hypotheses",
            list(names),
            default=[r.hypothesis.id for r in waiting],
            format_func=names.__getitem__,
            key=f"match_ids-{current.id}",
            width=420,
        )
        way = st.selectbox("Asked for", list(WAYS), format_func=WAYS.__getitem__, key="match_way", width=190)
        wrong = st.number_input("Errors, at most", 1, None, 200, key="match_errors", width=130, help="Of each hypothesis; empty for all.")
        right = st.number_input("Correct, at most", 1, None, 400, key="match_correct", width=130, help="Of each hypothesis; empty for all.")
        both = st.checkbox("Both orders", key="match_both", help="Asks yes or no, and no or yes: twice the calls, less liking for a word.")
        limits.form(endpoint.price is not None, usual)
    kind: ScoreSource | None = way or None  # type: ignore[assignment]
    options = MatchOptions(kind, wrong, right, both, limits=limits.kept(usual))
    _cost(current, report, chosen, options)


def _cost(current: SavedDetections, report: SliceReport, chosen: list[str], options: MatchOptions) -> None:
    """What the chosen ones would take; shown first, started second."""
    key = (current.id, report.digest, tuple(chosen), options)
    if st.button("Show the cost", key="match_plan", disabled=not chosen):
        st.session_state[_PLAN] = key
        jobs.forget(_plan_key(current, report, chosen, options))  # answers may have come since
    if st.session_state.get(_PLAN) != key:
        return
    with shell.errors_as_card(changed="Nothing was sent."):
        plan = _plan(current, report, chosen, options)
    with shell.card("Before anything is sent", in_words(plan), key="match_cost"):
        names = {r.hypothesis.id: r.hypothesis.text for r in report.rows}
        rows = [
            [
                names[p.hypothesis_id],
                f"{p.units:,} of {p.population:,}",
                f"{p.errors:,}",
                f"{p.calls:,}",
                f"{p.cached:,}",
                p.why or ", ".join(f"{n:,} {k}" for k, n in p.left_out.items()) or "–",
            ]
            for p in plan.hypotheses
        ]
        shell.html(table(["Hypothesis", "Units", "Errors", "Calls", "Known", "Left out"], rows, right=(1, 2, 3, 4)))
        way = SOURCES[plan.source]
        shell.note(f"{way[:1].upper()}{way[1:]}{'.' if plan.probed else ': assumed, the model is tested first.'}")
        with st.container(horizontal=True, gap="small"):
            if st.button(f"Ask {count(plan.new, 'question')}", type="primary", key="match_start", disabled=not plan.calls):
                _start(current, report, chosen, options, plan.ability)
                st.rerun()


def in_words(plan: MatchPlan) -> str:
    """Calls, tokens, price and time of a plan."""
    about = "" if plan.measured else "about "
    parts = [f"{count(plan.new, 'call')} to send, {plan.cached:,} known already"]
    parts.append(f"{about}{plan.prompt_tokens:,} tokens in and {plan.completion_tokens:,} out")
    parts.append(f"about {plan.cost:,.2f} {plan.currency}" if plan.cost is not None else "no price is named under Connections")
    if plan.seconds is not None:
        parts.append(f"about {_time(plan.seconds)}")
    return "; ".join(parts)


def _time(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _plan_key(current: SavedDetections, report: SliceReport, chosen: list[str], options: MatchOptions) -> tuple[Any, ...]:
    return ("plan match", state.store().db.name, current.id, report.digest, tuple(chosen), options)


def _plan(current: SavedDetections, report: SliceReport, chosen: list[str], options: MatchOptions) -> MatchPlan:
    store, settings = state.store(), report.settings
    key = _plan_key(current, report, chosen, options)
    found: MatchPlan = jobs.outcome(
        key,
        lambda _: slice_match.plan_match(store, current.id, settings, chosen, options),
        lambda job: None,
    )
    return found


def _key(current: SavedDetections) -> tuple[str, str, str]:
    return ("match vision", state.store().db.name, current.id)


def _start(current: SavedDetections, report: SliceReport, chosen: list[str], options: MatchOptions, agreed: Ability) -> None:
    store, settings = state.store(), report.settings

    def work(job: jobs.Job) -> MatchOutcome:
        return slice_match.match_vision(
            store,
            current.id,
            settings,
            chosen,
            options,
            agreed=agreed,
            progress=job.tell,
            cancel=job.stopping.is_set,
        )

    st.session_state.pop(_PLAN, None)
    jobs.begin(_key(current), work)


@st.fragment(run_every=1.0)
def _running(current: SavedDetections) -> None:
    job = jobs.known(_key(current))
    if job is None or job.finished.is_set():
        st.rerun()
    now: MatchProgress | None = job.news
    with shell.card("The model is asked", "", key="match_running"):
        if now is None:
            st.progress(0.0, text="Finding out what the model can tell.")
        else:
            spent = f", {now.cost:,.2f} so far" if now.cost is not None else ""
            left = f", about {_time(now.left)} left" if now.left is not None else ""
            failed = f", {now.failed:,} without an answer" if now.failed else ""
            text = f"{now.done:,} of {count(now.total, 'question')}: {now.calls:,} sent, {now.cached:,} known{failed}{spent}{left}."
            st.progress(min(now.done / now.total, 1.0) if now.total else 0.0, text=text)
        stopping = job.stopping.is_set()
        if st.button("Stop", key="match_stop", disabled=stopping, help="What was answered is kept; a later run asks only the rest."):
            job.stopping.set()
        if stopping:
            shell.note("It stops after the calls on their way.")


def _told(job: jobs.Job, report: SliceReport) -> None:
    """What came of the last run."""
    if job.error is not None:
        if not isinstance(job.error, OddysseyError):
            raise job.error
        shell.error_card(job.error, "What was answered before is kept.")
        return
    out: MatchOutcome = job.result
    done = [h for h in out.hypotheses if not h.partial]
    with st.container(border=True, key="match_outcome"):
        word = "Stopped. " if out.stopped else ""
        line = "{word}{m}: {d} of {n} scored, {p} partly; {c} sent, {k} known. {stopped}"
        shell.note(
            fill(
                line,
                word=word,
                m=strong(out.matcher),
                d=f"{len(done):,}",
                n=count(len(out.hypotheses), "hypothesis", "hypotheses"),
                p=f"{len(out.hypotheses) - len(done):,}",
                c=count(out.calls.get("new", 0), "call"),
                k=f"{out.calls.get('cached', 0):,}",
                stopped=out.stopped,
            )
        )
        for finding in (*out.ability.findings, *out.problems[:10]):
            shell.note(finding)
        names = {r.hypothesis.id: r.hypothesis.text for r in report.rows}
        short: list[list[Any]] = [
            [
                names.get(h.hypothesis_id, h.hypothesis_id),
                f"{h.scored:,} of {h.asked:,}",
                f"{h.not_reached:,}",
                ", ".join(f"{n:,} {why}" for why, n in h.failed.items()) or "–",
            ]
            for h in out.hypotheses
            if h.failed or h.partial
        ]
        if short:
            shell.note(
                "Partly scored: less than 95 % of the units asked about. Its tests rest on those alone; a later run asks only the rest."
            )
            shell.html(table(["Hypothesis", "Scored", "Not reached", "Without a score"], short, right=(1, 2)))
