"""What holds for every plan, whoever made it: names of the ODD only, the order of steps, nothing paid that nobody asked for.

These rules stand in code and not in a prompt, so that no wording of a question, of a table or of an answer can move them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from core.controller.plan import MAX_STEPS, Acquire, InOdd, Op, OutOfOdd, Plan, Step, Triage, Values
from core.errors import Problem
from core.odd import Dimension, Odd
from core.seed_table.values import normal

RANKING: tuple[Op, ...] = ("in_odd", "out_of_odd")
PAID: tuple[Op, ...] = ("acquire", "evaluate")
UNKNOWN = ("unknown_dimension", "unknown_value")
"""Kinds of problems that `canonical` takes out of a plan, moving the words to `unsupported_terms`."""


def canonical(plan: Plan, odd: Odd) -> Plan:
    """The same plan in one form: names instead of aliases, in the order of the ODD, each once; free steps that repeat one are left out.

    A word that several values share selects all of them. A value under the wrong dimension moves to the one that has it, if only
    one does. What the vocabulary does not have moves to `unsupported_terms`; a step that extends by nothing else goes with it.
    Applied twice it changes nothing more.
    """
    steps: list[Step] = []
    unknown: list[str] = []
    notes: list[str] = []
    for step in plan.steps:
        made: Step | None = step
        if isinstance(step, Triage | InOdd | OutOfOdd):
            update = {"where": _resolved(step.where, odd, unknown, notes)}
            if isinstance(step, OutOfOdd):
                update["extend"] = _resolved(step.extend, odd, unknown, notes)
                if not update["extend"]:
                    made = None
                    notes.append("A step outside the ODD was left out: none of its values is in the vocabulary.")
            made = step.model_copy(update=update) if made else None
        if made is not None:
            _add(made, steps)
    terms = _once([*plan.unsupported_terms, *unknown])
    return plan.model_copy(update={"steps": tuple(steps), "unsupported_terms": terms, "notes": _once([*plan.notes, *notes])})


def ordered(plan: Plan) -> Plan:
    """The same plan with acquire after a ranking and evaluate after acquire, where only their order is wrong; said in its notes."""
    steps = list(plan.steps)
    for op, before in (("acquire", RANKING), ("evaluate", ("acquire",))):
        at = next((i for i, s in enumerate(steps) if s.op == op), None)
        if at is None or any(s.op in before for s in steps[:at]):
            continue
        last = max((i for i, s in enumerate(steps) if s.op in before), default=None)
        if last is not None:
            steps.insert(last, steps.pop(at))
    if tuple(steps) == plan.steps:
        return plan
    note = "Steps were put in order: samples come after a ranking, answers after samples."
    return plan.model_copy(update={"steps": tuple(steps), "notes": _once([*plan.notes, note])})


def only_asked(plan: Plan, asked: Collection[str]) -> Plan:
    """The same plan without paid steps that the question does not ask for; each is offered in a note instead.

    Images are made only if they are asked for.

    Args:
        plan: Any plan.
        asked: Of "acquire", "synthesis", "evaluate"; synthesis asks for samples too, and evaluating needs some.
    """
    allowed = {"evaluate"} & set(asked) | ({"acquire"} if set(asked) & {"acquire", "synthesis", "evaluate"} else set())
    out = [s for s in plan.steps if s.op in PAID and s.op not in allowed]
    if out:
        words = {"acquire": "finding or making samples", "evaluate": "running the model under test"}
        note = f"Offered, not asked for: {' and '.join(dict.fromkeys(words[s.op] for s in out))}."
        steps = tuple(s for s in plan.steps if s not in out)
        plan = plan.model_copy(update={"steps": steps, "notes": _once([*plan.notes, note])})
    return plan if "synthesis" in asked else _found_only(plan)


def _found_only(plan: Plan) -> Plan:
    """The same plan with samples from the datastore only, where it would have had images made."""
    made = [s for s in plan.steps if isinstance(s, Acquire) and s.source != "datastore"]
    if not made:
        return plan
    steps = tuple(s.model_copy(update={"source": "datastore"}) if s in made else s for s in plan.steps)
    note = "Samples come from the datastore only: images to be made were not asked for."
    return plan.model_copy(update={"steps": steps, "notes": _once([*plan.notes, note])})


def problems(plan: Plan, odd: Odd) -> list[Problem]:
    """Everything that keeps a plan from being run, each with its place; nothing for a plan that can be run."""
    out: list[Problem] = []
    if len(plan.steps) > MAX_STEPS:
        out.append(Problem(None, "steps", f"{len(plan.steps)} steps", f"at most {MAX_STEPS}", kind="too_many"))
    for i, step in enumerate(plan.steps):
        place = f"steps[{i}]"
        if isinstance(step, Triage | InOdd):
            out += _value_problems(f"{place}.where", step.where, odd, "base")
        elif isinstance(step, OutOfOdd):
            out += _outside_problems(place, step, odd)
    return out + _order_problems(plan.steps)


def _order_problems(steps: Sequence[Step]) -> list[Problem]:
    out = []
    for op in PAID:
        at = [i for i, s in enumerate(steps) if s.op == op]
        out += [Problem(None, f"steps[{i}]", f"another {op}", f"one {op} in a plan", kind="repeated") for i in at[1:]]
        need = RANKING if op == "acquire" else ("acquire",)
        if at and not any(s.op in need for s in steps[: at[0]]):
            out.append(Problem(None, f"steps[{at[0]}]", op, f"{op} only after {' or '.join(need)}", kind="order"))
    return out


def _outside_problems(place: str, step: OutOfOdd, odd: Odd) -> list[Problem]:
    out = _value_problems(f"{place}.extend", step.extend, odd, "extended")
    for name in step.extend:
        if name in odd.by_name and not odd.by_name[name].extendable:
            dims = ", ".join(d.name for d in odd.dimensions if d.extendable and len(d.base) < len(d.values))
            out.append(Problem(None, f"{place}.extend", name, f"a dimension that can be extended: {dims or 'none'}", kind="tier"))
    out += _value_problems(f"{place}.where", step.where, odd, "any")
    for name, values in step.where.items():
        if name in odd.by_name:
            outside = [v for v in values if v in _names(odd.by_name[name], "extended") and v not in step.extend.get(name, ())]
            allowed = f"base values of {name}, and values that the step adds in extend"
            out += [Problem(None, f"{place}.where.{name}", v, allowed, kind="tier") for v in outside]
    if not out and all(k in step.where and not set(v) & set(step.where[k]) for k, v in step.extend.items()):
        got = ", ".join(f"{k}={'|'.join(step.where[k])}" for k in step.extend)
        out.append(Problem(None, f"{place}.where", got, "a filter that lets some value of extend through", kind="empty"))
    return out


def _value_problems(place: str, values: Values, odd: Odd, tier: str) -> list[Problem]:
    """Unknown dimensions and values, and known ones of the wrong tier ("base", "extended", or "any" is right)."""
    out = []
    for name, chosen in values.items():
        dimension = odd.by_name.get(name)
        if dimension is None:
            near = _nearest(name, odd.names)
            out.append(Problem(None, place, name, f"a dimension: {', '.join(odd.names)}", near, "unknown_dimension"))
            continue
        right, every = _names(dimension, tier), list(dimension.by_name)
        words = f"{'' if tier == 'any' else tier + ' '}values: {', '.join(right)}" if right else f"nothing: {name} has no {tier} values"
        if not chosen:
            out.append(Problem(None, f"{place}.{name}", "no value", words, kind="empty"))
        for value in chosen:
            if value not in every:
                out.append(Problem(None, f"{place}.{name}", value, words, _nearest(value, right), "unknown_value"))
            elif value not in right:
                parent = dimension.by_name[value].parent
                out.append(Problem(None, f"{place}.{name}", value, words, parent if tier == "base" else "", "tier"))
    return out


def _names(dimension: Dimension, tier: str) -> list[str]:
    return [v.name for v in dimension.values if tier in ("any", v.tier)]


def _nearest(text: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(text, list(names), 1)), "")


def _resolved(values: Mapping[str, Sequence[str]], odd: Odd, unknown: list[str], notes: list[str]) -> Values:
    """Canonical values by dimension; what is not found is added to `unknown`, what moved is said in `notes`."""
    found: dict[str, set[str]] = {}
    for name, texts in values.items():
        dimension = _dimension(name, odd)
        for text in texts:
            here = values_of(dimension, text) if dimension else []
            if here and dimension:
                found.setdefault(dimension.name, set()).update(here)
                continue
            elsewhere = [(d, hit) for d in odd.dimensions if (hit := values_of(d, text))]
            if len(elsewhere) == 1:
                other, hit = elsewhere[0]
                found.setdefault(other.name, set()).update(hit)
                notes.append(f'"{text}" was taken as a value of {other.name}.')
            else:
                unknown.append(text)
    return {d.name: [v.name for v in d.values if v.name in found[d.name]] for d in odd.dimensions if d.name in found}


def values_of(dimension: Dimension, text: str) -> list[str]:
    """Values of a dimension that a text names: exactly, else in another spelling, else all that have it as a synonym."""
    if text in dimension.by_name:
        return [text]
    key = normal(text)
    spelled = [v.name for v in dimension.values if normal(v.name) == key]
    return spelled or [v.name for v in dimension.values if key in {normal(s) for s in v.synonyms}]


def _dimension(text: str, odd: Odd) -> Dimension | None:
    if text in odd.by_name:
        return odd.by_name[text]
    hits = [d for d in odd.dimensions if normal(text) in (normal(d.name), normal(d.label))]
    return hits[0] if len(hits) == 1 else None


def _add(step: Step, steps: list[Step]) -> None:
    """Add a step, unless it is free and would give the same again; what it was asked for does not matter, an evaluation does.

    A ranking that is repeated after another one stands at its later place, since samples are for the slices of the last ranking.
    """
    since = max((i for i, s in enumerate(steps) if s.op == "evaluate"), default=-1) + 1
    same = step.model_dump(exclude={"reason"})
    found = (
        None if step.op in PAID else next((i for i in range(since, len(steps)) if steps[i].model_dump(exclude={"reason"}) == same), None)
    )
    if found is not None:
        after = {s.op for s in steps[found + 1 :]}
        if step.op not in RANKING or "acquire" in after or not after & set(RANKING):
            return
        steps.pop(found)
    steps.append(step)


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts without repeats and without empty ones, in order; case makes no difference."""
    kept: dict[str, str] = {}
    for t in texts:
        if t.strip():
            kept.setdefault(t.strip().casefold(), t.strip())
    return tuple(kept.values())
