"""The controller that asks a language model for a plan, and never depends on it: whatever goes wrong, the offline plan is used.

The model picks operators and filters from the vocabulary of the ODD. Everything that it answers is validated here; it is told counts
and names of slices, never a score, and nothing that it writes reaches one.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.controller.cues import asks_for
from core.controller.guards import PAID, canonical, only_asked, ordered, problems, values_of
from core.controller.plan import Plan, Step
from core.controller.prompts import Prompts, load_prompts
from core.controller.reading import Planned, readings_of
from core.controller.talk import Budget, GiveUpError, Talk
from core.controller.tools import DONE, FIELDS, has_enums, plan_schema, read_closing, read_plan, read_step, tool_definitions
from core.errors import OddysseyError, Problem
from core.llm import Client, ModelError, Reply, ToolCall
from core.llm.adapt import tools_are_off
from core.llm.parsing import arguments, json_object
from core.odd import Odd
from core.seed_table.values import normal
from core.settings import Settings

_LOG = logging.getLogger(__name__)
Observe = Callable[[Step], str]
MAX_OBSERVED = 1_500
"""Characters of what an operator found that a model is told."""
MAX_PROSE = 2_000
MAX_ECHO = 4_000
"""Characters of an answer that are sent back with what is wrong with it."""
_PLAN_MAY_HELP = ("bad_request", "server", "unreadable", "cut")
"""Failures of a call with tools after which the plan is asked for without them."""
_WANTED = {"acquire": "samples (acquire)", "evaluate": "an evaluation (evaluate)"}


class _NoToolsError(Exception):
    """Tools lead nowhere with this server; the whole plan may be asked for instead."""


@dataclass
class _Draft:
    """A plan in the making."""

    steps: tuple[Step, ...] = ()
    terms: list[str] = field(default_factory=list)
    clarify: str = ""
    prose: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class _Job:
    """What both ways to a plan work with."""

    query: str
    odd: Odd
    talk: Talk
    observe: Observe
    prompts: Prompts
    asked: Collection[str]

    def plan(self, steps: Sequence[Step], **more: Any) -> Plan:
        return Plan.model_construct(query=self.query, controller="llm", steps=tuple(steps), **more)  # the guards count the steps

    def checked(self, steps: Sequence[Step], mend: bool) -> tuple[Plan, list[Problem]]:
        """The steps in canonical form, and what is wrong with them; unknown words are wrong too, though the form leaves them out.

        Args:
            steps: As the model wants them.
            mend: Whether a wrong order is put right instead of being wrong.
        """
        plan = canonical(self.plan(steps), self.odd)
        offered = "a value as offered, written dimension=value; if there is none, leave it out and name it in unsupported_terms"
        unknown = [Problem(None, "where or extend", t, offered, kind="unknown_value") for t in plan.unsupported_terms]
        plan = ordered(plan) if mend else plan
        return plan, unknown + problems(plan, self.odd)

    def seen(self, step: Step) -> str:
        """What a free step found, in short; its time is not that of the model."""
        start = time.monotonic()
        try:
            return self.observe(step)[:MAX_OBSERVED]
        finally:
            self.talk.spare(time.monotonic() - start)

    def missing(self, steps: Sequence[Step]) -> str:
        """Paid steps that the question asks for and that are not there, in words."""
        return " and ".join(words for op, words in _WANTED.items() if op in self.asked and not any(s.op == op for s in steps))


def plan_llm(
    query: str,
    odd: Odd,
    client: Client,
    *,
    observe: Observe,
    budget: Budget | None = None,
    settings: Settings | None = None,
    prose: Callable[[str], None] | None = None,
) -> Planned:
    """The plan that a language model makes of a question; the offline controller's where it makes none.

    Args:
        query: The question.
        odd: Vocabulary.
        client: Endpoint; its profile says whether it is asked by tools or for a whole plan.
        observe: Runs a free step and tells in a few lines what came out, without scores. Steps that cost something are only planned.
        budget: What it may cost.
        settings: Passed on to the offline controller.
        prose: Given, the model is asked for a few sentences in the end, and its pieces go there as they come.

    Returns:
        The plan with every call in the record. `fallback_reason` says why the offline controller took over, if it did.
    """
    from core.controller.offline import plan_offline

    prompts = load_prompts()
    job = _Job(query, odd, Talk(client, budget or Budget()), observe, prompts, asks_for(query))
    offline = plan_offline(query, odd, settings)

    def fall_back(reason: str) -> Planned:
        plan = offline.plan.model_copy(update={"fallback_reason": reason})
        return replace(offline, plan=plan, calls=tuple(job.talk.calls))

    if client.profile.mode == "none":
        return fall_back("The endpoint gives no plan that can be read, as its test found.")
    try:
        draft = _draft(job)
        plan = _finished(job, draft, offline.plan.unsupported_terms)
    except GiveUpError as e:
        return fall_back(str(e))
    except ModelError as e:
        return fall_back(f"The model did not answer. {e}")
    except Exception as e:  # a fault of ours: the question is answered all the same, and the log tells of it
        _LOG.exception("The plan of a language model could not be read.")
        return fall_back(f"The model's answer met an error in the product ({type(e).__name__}).")
    clarify = draft.clarify if not plan.steps else ""
    if prose is not None and plan.steps and not draft.prose:
        draft.prose = _prose(job, plan, prose)
    words = f'The model asks: "{clarify}"' if clarify else ""
    return Planned(plan, readings_of(plan, offline.readings), clarify=words, calls=tuple(job.talk.calls), prose=draft.prose[:MAX_PROSE])


def _draft(job: _Job) -> _Draft:
    """A draft by tools where the server has them, else of one JSON answer."""
    if job.talk.client.profile.mode == "tools":
        try:
            return _by_tools(job)
        except _NoToolsError:
            pass
        except ModelError as e:
            if e.kind not in _PLAN_MAY_HELP:
                raise
            if tools_are_off(str(e)):
                job.talk.client.adopt(replace(job.talk.client.profile, mode="plan"))
    return _by_plan(job)


def _by_tools(job: _Job) -> _Draft:
    """The tool loop: one call a turn; several in one turn are run in order; words without a call are sent back."""
    talk, prompts = job.talk, job.prompts
    tools = tool_definitions(job.odd)
    names = [t["function"]["name"] for t in tools]
    system = prompts.system(job.odd, mode="tools", vocabulary=not has_enums(job.odd))
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}, {"role": "user", "content": prompts.question(job.query)}]
    draft, bad, idle, reminded = _Draft(), 0, 0, False
    talk.begin()
    while True:
        reply = talk.ask(messages, "tools", tools=tools)
        calls = reply.tool_calls or _call_in_text(reply.text, names)
        missing = "" if reminded else job.missing(draft.steps)
        if not calls and draft.steps and reply.text and not reply.cut:  # how a loop usually ends, where done is not forced
            talk.verdict([f"words instead of done; still missing: {missing}" if missing else "words instead of done"])
            if not missing:
                draft.prose = reply.text
                return draft
            reminded = True
            again = prompts.text("missing", missing=missing)
            messages += [{"role": "assistant", "content": reply.text[:MAX_ECHO]}, {"role": "user", "content": again}]
            continue
        if not calls:
            bad += 1
            talk.verdict(["cut off" if reply.cut else "no tool call"])
            if bad > talk.budget.repairs:
                raise _NoToolsError
            again = prompts.text("cut") if reply.cut else prompts.text("no_call", names=", ".join(names))
            messages += [{"role": "assistant", "content": reply.text[:MAX_ECHO] or "(nothing)"}, {"role": "user", "content": again}]
            continue
        wrong, ended, idle, results = [], False, idle + 1, []
        for call in calls:
            before = len(draft.steps)
            result, found, end = _run(job, draft, call, salvage=bad >= talk.budget.repairs)
            if end and draft.steps and not reminded and (missing := job.missing(draft.steps)):
                reminded, end, result = True, False, prompts.text("missing", missing=missing)
            idle = 0 if found or len(draft.steps) > before else idle
            ended = ended or end
            wrong += found
            results.append(result)
        talk.verdict(wrong)
        bad = bad + 1 if wrong else 0
        if ended or (idle > talk.budget.repairs and draft.steps):  # a model that only repeats itself has nothing to add
            return draft
        if bad > talk.budget.repairs:
            raise GiveUpError(f"The model's calls could not be used: {_first(wrong)}")
        messages += _exchange(reply, calls, results, len(talk.calls))


def _run(job: _Job, draft: _Draft, call: ToolCall, salvage: bool) -> tuple[str, list[Problem], bool]:
    """Validate one call and run it if it is free; the result for the model, what was wrong, and whether the plan is complete.

    Args:
        job: What to work with.
        draft: Takes up the step.
        call: Of the model.
        salvage: Whether unknown words are left out instead of being sent back once more.
    """

    def refused(found: Sequence[Problem]) -> tuple[str, list[Problem], bool]:
        told = json.dumps([str(p) for p in found], ensure_ascii=False)
        return job.prompts.text("refused", problems=told), list(found), False

    if call.arguments is None:
        return refused([Problem(None, call.name[:60], call.raw[:60], "arguments as one complete JSON object", kind="arguments")])
    if call.name == DONE:
        terms, clarify = read_closing(call.arguments)
        if not draft.steps and not clarify:
            return refused([Problem(None, "steps", "none", "at least one operator, or a question back in clarify", kind="no_step")])
        draft.terms += terms
        draft.clarify = clarify
        return job.prompts.text("finished"), [], True
    step, wrong = read_step(call.name, call.arguments, job.odd)
    if step is None:
        return refused(wrong)
    plan, wrong = job.checked([*draft.steps, step], mend=False)
    if wrong and not (salvage and all(p.kind == "unknown_value" for p in wrong)):
        return refused(wrong)
    draft.notes += [n for n in plan.notes if n not in draft.notes]
    draft.terms += plan.unsupported_terms
    if len(plan.steps) <= len(draft.steps):
        draft.steps = plan.steps  # a ranking that is named again moves to its later place
        return job.prompts.text("repeated"), [], False
    if step.op in PAID:
        draft.steps = plan.steps
        return job.prompts.text("planned"), [], False
    try:
        seen = job.seen(plan.steps[-1])
    except OddysseyError as e:
        return refused([Problem(None, call.name, "a step that fails", str(e)[:300], kind="failed")])
    draft.steps = plan.steps
    return job.prompts.observed(seen), [], False


def _exchange(reply: Reply, calls: Sequence[ToolCall], results: Sequence[str], turn: int) -> list[dict[str, Any]]:
    """The model's turn and the results as messages: by tool ids as they came; as text where the call stood in the text."""
    if not reply.tool_calls:
        return [{"role": "assistant", "content": reply.text[:MAX_ECHO]}, {"role": "user", "content": "\n".join(results)}]
    # An id that is missing gets one of nine letters and digits, the only form that some templates take.
    ids = [c.id or f"call{turn:03d}{i:02d}" for i, c in enumerate(calls)]
    echoed = [
        {"id": i, "type": "function", "function": {"name": c.name[:60], "arguments": _echo(c)}} for i, c in zip(ids, calls, strict=True)
    ]
    said: list[dict[str, Any]] = [{"role": "assistant", "content": reply.text[:MAX_ECHO], "tool_calls": echoed}]
    return said + [{"role": "tool", "tool_call_id": i, "content": r} for i, r in zip(ids, results, strict=True)]


def _echo(call: ToolCall) -> str:
    """Arguments to send back; nothing for those that are no JSON, as servers that parse them in their template would fail."""
    text = json.dumps(call.arguments or {}, ensure_ascii=False)
    return text if len(text) <= MAX_ECHO else "{}"


def _call_in_text(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """A call that a server left in the text as JSON, as those without a parser for the model's format do; () if there is none."""
    value = json_object(text) or {}
    inner = value.get("function")
    value = inner if isinstance(inner, dict) else value
    name = value.get("name") or value.get("op")
    if not isinstance(name, str) or name not in names:
        return ()
    given = next(
        (value[k] for k in ("arguments", "parameters") if k in value), {k: v for k, v in value.items() if k in FIELDS.get(name, ())}
    )
    raw, read = arguments(given)
    return (ToolCall("", name, raw, read),)


def _by_plan(job: _Job) -> _Draft:
    """One answer with the whole plan as JSON, sent back with what is wrong up to twice."""
    talk, prompts = job.talk, job.prompts
    system = prompts.system(job.odd, mode="plan", vocabulary=True)
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}, {"role": "user", "content": prompts.question(job.query)}]
    bounded = talk.client.profile.bounds
    talk.begin()
    wrong: list[Problem] = []
    for attempt in range(talk.budget.repairs + 1):
        reply = talk.ask(messages, "plan", schema=("plan", plan_schema(job.odd, bounded)))
        bounded = bounded or reply.cut
        value = arguments(reply.text)[1] if reply.text.strip() else None  # also encoded twice, as some servers send JSON
        if value is not None and "steps" not in value:  # wrapped once more, such as {"plan": {...}}
            value = next((v for v in value.values() if isinstance(v, dict) and "steps" in v), value)
        if value is None:
            wrong = [Problem(None, "answer", reply.text[:60], "one complete JSON object", kind="arguments")]
        else:
            draft, wrong = _read(job, value, last=attempt == talk.budget.repairs)
            if draft is not None:
                talk.verdict(wrong)
                if bounded != talk.client.profile.bounds:  # it helped
                    talk.client.adopt(replace(talk.client.profile, bounds=bounded))
                return draft
        talk.verdict(["cut off", *map(str, wrong)] if reply.cut else wrong)
        mend = prompts.text("cut") if reply.cut else prompts.text("mend", problems=json.dumps([str(p) for p in wrong], ensure_ascii=False))
        messages += [
            {"role": "assistant", "content": reply.text[: 400 if reply.cut else MAX_ECHO] or "(nothing)"},
            {"role": "user", "content": mend},
        ]
    raise GiveUpError(f"The model's plan could not be used: {_first(wrong)}")


def _read(job: _Job, value: dict[str, Any], last: bool) -> tuple[_Draft | None, list[Problem]]:
    """A draft of a JSON plan, None if it must be sent back; at last what is merely unknown is left out."""
    terms, clarify = read_closing(value)
    steps, wrong = read_plan(value, job.odd)
    if not wrong and not steps and not clarify:
        wrong = [Problem(None, "steps", "none", "at least one step, or a question back in clarify", kind="no_step")]
    if wrong:
        return None, wrong
    plan, wrong = job.checked(steps, mend=True)
    if not last and (missing := job.missing(plan.steps)) and steps:
        wrong = [*wrong, Problem(None, "steps", "a plan without them", f"also {missing}, as the question asks for", kind="missing")]
    if wrong and not (last and plan.steps and all(p.kind == "unknown_value" for p in wrong)):
        return None, wrong
    return _Draft(plan.steps, [*terms, *plan.unsupported_terms], clarify, notes=list(plan.notes)), wrong


def _finished(job: _Job, draft: _Draft, offline_terms: Sequence[str]) -> Plan:
    """The plan of a draft under all guards, with only such unsupported terms as the question really holds.

    Raises:
        GiveUpError: Nothing that can be run is left.
    """
    named = [t for t in dict.fromkeys(draft.terms) if not any(values_of(d, t) for d in job.odd.dimensions)]
    said = [t for t in named if re.search(rf"(?<!\w){re.escape(normal(t))}(?!\w)", normal(job.query))]
    terms = [*offline_terms, *said]
    foreign = [t for t in named if t not in said]
    notes = list(draft.notes)
    if foreign:
        notes.append(f"Left out, as neither the question nor the vocabulary has it: {', '.join(foreign)}.")
    if missing := job.missing(draft.steps):
        notes.append(f"The question seems to ask for {missing}; the model did not plan it.")
    client = job.talk.client
    plan = Plan(
        query=job.query,
        controller="llm",
        steps=draft.steps,
        unsupported_terms=tuple(terms),
        notes=tuple(notes),
        model=client.endpoint.model,
        prompt_sha=job.prompts.sha,
    )
    plan = canonical(only_asked(ordered(canonical(plan, job.odd)), job.asked), job.odd)  # again, as steps may have gone in between
    if found := problems(plan, job.odd):
        raise GiveUpError(f"The model's plan could not be used: {_first(found)}")
    if not plan.steps and not draft.clarify:
        raise GiveUpError("The model planned nothing that the question asks for.")
    return plan


def _prose(job: _Job, plan: Plan, on_text: Callable[[str], None]) -> str:
    """A few sentences of the model on a plan that stands already, "" if it gives none: the plan does not depend on it."""
    try:
        seen = [job.seen(s) for s in plan.steps if s.op not in PAID]
        told = json.dumps({"question": job.query, "steps": [s.op for s in plan.steps], "found": seen}, ensure_ascii=False)
        system = job.prompts.text("system", steps=len(plan.steps))
        messages = [{"role": "system", "content": system}, {"role": "user", "content": job.prompts.text("prose", data=json.dumps(told))}]
        job.talk.begin()
        reply = job.talk.ask(messages, "prose", on_text)
        job.talk.verdict()
    except (OddysseyError, GiveUpError):
        return ""
    return reply.text


def _first(found: Sequence[Problem]) -> str:
    return str(found[0])[:300] if found else "no reason was found."
