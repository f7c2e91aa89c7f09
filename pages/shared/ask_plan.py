"""The plan of a run as a line of steps: what each does, on what, how far it is, and the hashes of what went in and came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from markupsafe import Markup

from core.controller.state import RunState, StepState
from core.plots import plain
from pages.shared import shell
from pages.shared.markup import Text, code, fill, join

SOURCES = {
    "datastore": "from the datastore only",
    "datastore_then_synthesis": "from the datastore, else made",
    "synthesis": "made by the images endpoint",
}


def values_in_words(values: Mapping[str, Sequence[str]]) -> str:
    """Values by dimension, such as "environment = construction, time = night or dusk"."""
    return ", ".join(f"{plain(d)} = {' or '.join(map(plain, v))}" for d, v in values.items() if v)


def arguments(op: str, args: Mapping[str, Any]) -> str:
    """The arguments of a step for people."""
    parts = []
    if args.get("extend"):
        parts.append(f"adds {values_in_words(args['extend'])}")
    if op in ("triage", "in_odd", "out_of_odd"):
        parts.append(f"only {values_in_words(args['where'])}" if args.get("where") else "all values")
    if args.get("top"):
        parts.append(f"top {args['top']:,}")
    if op == "acquire":
        n = args.get("per_slice", 1)
        parts.append(f"{n:,} {'sample' if n == 1 else 'samples'} a slice")
        parts.append(SOURCES.get(str(args.get("source")), str(args.get("source", ""))))
    return "; ".join(p for p in parts if p)


def show(run: RunState | None, progress: tuple[int, int] = (0, 0), busy: bool = False, reading: str = "") -> None:
    """The plan in its card.

    Args:
        run: The run, None while the question is read.
        progress: Work done and in all of the step that runs, (0, 0) if it does not tell.
        busy: Whether it really goes on; else a step that was running has stopped.
        reading: What is told while the question is read.
    """
    shell.section("Plan", "each step can be opened; inputs and outputs are hashed")
    with st.container(border=True, key="plan"):
        if run is None:
            shell.note(reading or ("The question is being read." if busy else "There is no plan: the question was not read to its end."))
        elif not run.steps:
            shell.note("There are no steps: the question is asked back.")
        else:
            shell.html(timeline(run, busy))
        done, total = progress
        if total:
            st.progress(min(done / total, 1.0), text=f"{done:,} of {total:,} in this step")


def stage(run: RunState | None) -> str:
    """How far a run is, as a key: it changes when a step begins or ends."""
    return "planning" if run is None else f"{run.status} {' '.join(s.status for s in run.steps)}"


def timeline(run: RunState, busy: bool = True) -> Markup:
    """All steps, one below the other."""
    steps = (_step(s, p.reason, busy) for s, p in zip(run.steps, run.plan.steps, strict=True))
    return Markup('<div class="od-plan">{}</div>').format(join(steps))


def _step(s: StepState, reason: str, busy: bool) -> Markup:
    line = Markup(
        '<details class="od-plan-step {}"><summary><i class="dot"></i>'
        '<div class="what"><b>{}</b> <code>{}</code><p>{}</p><p class="said">{}</p></div>'
        '<div class="rows">{}<p>{}</p></div><div class="sha"><span>in</span> {}<br><span>out</span> {}</div></summary>{}</details>'
    )
    about, said = arguments(s.op, s.args), s.note or ("needs a confirmation" if s.status == "waiting" else "")
    stopped = s.status == "running" and not busy
    kind, when = ("waiting", "stopped") if stopped else (s.status, _when(s))
    return line.format(kind, s.title, s.op, about, said, _rows(s), when, short(s.in_sha), short(s.out_sha), _more(s, reason))


def _rows(s: StepState) -> Text:
    if s.rows is None:
        return ""
    return fill("{n} {rows}", n=Markup("<b>{}</b>").format(f"{s.rows:,}"), rows="row" if s.rows == 1 else "rows")


def _when(s: StepState) -> str:
    if s.status == "done" and s.seconds is not None:
        return f"{s.seconds:.2f} s"
    return s.status


def short(sha: str) -> str:
    """A digest as far as people compare it."""
    return f"{sha[:4]}…{sha[-2:]}" if sha else "…"


def _more(s: StepState, reason: str) -> Markup:
    """What an opened step tells beyond its line."""
    parts: list[Text] = [fill("Why: {reason}", reason=reason)] if reason else []
    parts += [fill("{k} {v}", k=k, v=code(json.dumps(v, ensure_ascii=False))) for k, v in s.args.items()]
    numbers = ", ".join(f"{plain(k)} {_number(v)}" for k, v in s.counts.items())
    parts += [f"Counted: {numbers}"] if numbers else []
    parts += [fill("{which} {sha}", which=w, sha=code(x)) for w, x in (("in", s.in_sha), ("out", s.out_sha)) if x]
    parts += [fill("Wrote {files}", files=join((code(f) for f in s.files), ", "))] if s.files else []
    return Markup('<div class="more">{}</div>').format(join(parts, Markup("<br>")))


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
