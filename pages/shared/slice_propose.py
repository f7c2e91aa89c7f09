"""Hypotheses that a model, or fixed sentences, propose for these detections: what it takes first, then which of them to take."""

from __future__ import annotations

import streamlit as st

from core.error_slices.generate.data_driven import DataOptions
from core.error_slices.generate.statements import Generated
from core.error_slices.vocabulary import ANY
from core.errors import OddysseyError
from core.operators import slice_generate, slices
from core.operators.slice_generate import GenerationPlan, Source
from core.operators.slice_report import SliceReport
from core.storage import SavedDetections
from pages.shared import jobs, shell, slice_text, state, who
from pages.shared.markup import chip, count, fill, strong, table

NAMES: dict[Source, str] = {
    "templates": "Fixed sentences: what stands before what in this data",
    "knowledge": "A language model: what it knows of the task",
    "data": "Captions: what a vision model sees in the discovery half",
}
_PLAN = "propose.plan"
_ERRORS = ("FN", "FP")


def show(current: SavedDetections, report: SliceReport) -> None:
    """How to have hypotheses proposed, and what came of it."""
    running = jobs.known(_key(current))
    with st.expander("Have hypotheses proposed", key="slice_propose", expanded=running is not None):
        if running is not None and not running.finished.is_set():
            _running(current)
            return
        source, task, options = _form(report)
        _cost(current, report, source, task, options)
        if running is not None:
            _told(current, running)


def _form(report: SliceReport) -> tuple[Source, str, DataOptions]:
    sources = list(NAMES)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        source: Source = st.selectbox("From", sources, format_func=NAMES.__getitem__, key="propose_from", width=420)
        count_ = int(st.number_input("At most", 1, 60, 20, key="propose_count", width=110))
        error, classes = "FN", list[str]()
        if source != "knowledge":
            error = st.selectbox("Type of error", _ERRORS, format_func=lambda e: slice_text.ERRORS[e], key="propose_error", width=190)
            names = [c.name for c in report.units.detections.classes]
            classes = st.multiselect("Classes", names, key="propose_classes", placeholder="any class", width=260)
    task = ""
    if source != "templates":
        task = st.text_area(
            "What the detector is used for",
            key="propose_task",
            max_chars=2_000,
            height=68,
            placeholder="Finding road users from a camera behind the windscreen, by day and night.",
        )
    if source != "knowledge":
        shell.note("They are born from errors of the discovery half of the images, so they are tested on the other half alone.")
    return (
        source,
        " ".join(task.split()),
        DataOptions(error="FP" if error == "FP" else "FN", classes=tuple(classes) or (ANY,), count=count_),
    )


def _cost(current: SavedDetections, report: SliceReport, source: Source, task: str, options: DataOptions) -> None:
    """What the chosen way takes; shown first where a model is asked, started second."""
    ready = source == "templates" or bool(task)
    if source == "templates":
        if st.button("Propose", type="primary", key="propose_start"):
            _start(current, report, source, task, options)
        return
    key = (current.id, report.digest, source, task, options)
    if st.button("Show the cost", key="propose_plan", disabled=not ready, help=None if ready else "Say what the detector is used for."):
        st.session_state[_PLAN] = key
    if st.session_state.get(_PLAN) != key:
        return
    with shell.errors_as_card(changed="Nothing was sent."):
        plan = slice_generate.plan_proposal(state.store(), current.id, source, report.settings, options)
        shell.note(in_words(plan))
        if st.button(f"Ask {' and '.join(plan.models)}", type="primary", key="propose_start"):
            _start(current, report, source, task, options)


def in_words(plan: GenerationPlan) -> str:
    """Calls, tokens and price of a plan."""
    calls = plan.text_calls + plan.picture_calls
    seen = f", {plan.picture_calls:,} with pictures" if plan.picture_calls else ""
    price = f"about {plan.cost:,.2f} {plan.currency}".rstrip() if plan.cost is not None else "no price is named under Connections"
    tokens = f"about {plan.usage.prompt:,} tokens in and {plan.usage.completion:,} out"
    again = "Answers that are known cost nothing; one that cannot be read is asked for once more."
    return f"{count(calls, 'call')}{seen}; {tokens}; {price}. {again}"


def _key(current: SavedDetections) -> tuple[str, str, str]:
    return ("propose slices", state.store().db.name, current.id)


def _start(current: SavedDetections, report: SliceReport, source: Source, task: str, options: DataOptions) -> None:
    store, settings = state.store(), report.settings

    def work(job: jobs.Job) -> Generated:
        return slice_generate.propose_hypotheses(
            store,
            current.id,
            source,
            task=task,
            count=options.count,
            settings=settings,
            options=options,
            progress=job.report,
            cancel=job.stopping.is_set,
        )

    st.session_state.pop(_PLAN, None)
    jobs.begin(_key(current), work)
    st.rerun()


@st.fragment(run_every=1.0)
def _running(current: SavedDetections) -> None:
    job = jobs.known(_key(current))
    if job is None or job.finished.is_set():
        st.rerun()
    text = f"{job.done:,} of {count(job.total, 'caption')}" if job.total else "Asking"
    st.progress(job.done / job.total if job.total else 0.0, text=text)
    if st.button(
        "Stop", key="propose_stop", disabled=job.stopping.is_set(), help="Answers that came are kept; asking again takes the rest."
    ):
        job.stopping.set()


def _told(current: SavedDetections, job: jobs.Job) -> None:
    """What was proposed, and which of it to take."""
    if job.error is not None:
        if not isinstance(job.error, OddysseyError):
            raise job.error
        shell.error_card(job.error, "Nothing was added.")
        return
    out: Generated = job.result
    known = {h.id for h in slices.hypotheses_of(state.store(), current.id)}
    new = [h for h in out.hypotheses if h.id not in known]
    for note in (*out.notes, out.stopped):
        if note:
            shell.note(note)
    taken = []
    for h in new:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if st.checkbox("Take it", value=True, key=f"propose-{h.id}", label_visibility="collapsed"):
                taken.append(h)
            how = f"matcher {h.offline.name}" if h.offline is not None else "a vision model tells"
            with st.container(width="stretch"):
                shell.note(fill("{t} {e} {how}. {why}", t=strong(h.text), e=chip(h.error), how=how, why=h.rationale))
    if new:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            name = who.ask("propose_who")
            if st.button(f"Add {count(len(taken), 'hypothesis', 'hypotheses')}", type="primary", key="propose_add", disabled=not taken):
                with shell.errors_as_card(changed="Nothing was added."):
                    slices.add_hypotheses(state.store(), current.id, taken, name)
                    st.rerun()
    else:
        shell.note("Nothing new was proposed." if not out.hypotheses else "All that was proposed is in the list.")
    if out.left_out:
        with st.expander(f"Left out ({len(out.left_out):,})", key="propose_left_out"):
            shell.html(table(["Proposed", "Why it is left out"], [[x.text, x.why] for x in out.left_out]))
