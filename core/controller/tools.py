"""What a language model may call: one tool per operator, and the schema of a whole plan, with the vocabulary of the ODD as enums.

A filter is a list of texts "dimension=value" from one flat enum: few required arguments, no defaults, no unions, which is what weak
servers and strict schemas both take. What comes back is read leniently in form and strictly in content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from core.controller.plan import MAX_STEPS, AcquireSource, Op, Step, Values
from core.errors import Problem
from core.odd import Odd

OPS: tuple[Op, ...] = get_args(Op)
DONE = "done"
ENUM_LIMIT = 250
"""A larger vocabulary is no enum any more, as servers refuse it; it stands in the prompt then."""
FIELDS: dict[str, tuple[str, ...]] = {
    "triage": ("where", "reason"),
    "in_odd": ("where", "top", "reason"),
    "out_of_odd": ("extend", "where", "top", "reason"),
    "acquire": ("source", "per_slice", "reason"),
    "evaluate": ("reason",),
}
"""Arguments of each operator, in the order in which they are asked for."""
_WORDS = {
    "triage": "Where the model fails among the tested slices.",
    "in_odd": "Rank untested slices inside the ODD.",
    "out_of_odd": "Rank slices with at least one value from outside the ODD.",
    "acquire": "Find or make samples for the slices of the last ranking. Only if the question asks for samples.",
    "evaluate": "Run the model on the samples. Only if the question asks for an evaluation.",
}
_STEP: TypeAdapter[Step] = TypeAdapter(Step)
MAX_REASON = 300
MAX_TEXT = 200
"""Characters of a value that are read; what is longer names none, and would be repeated in every problem and note."""


def has_enums(odd: Odd) -> bool:
    """Whether the vocabulary is small enough to stand in the schemas."""
    return sum(len(d.values) for d in odd.dimensions) <= ENUM_LIMIT


def tool_definitions(odd: Odd) -> list[dict[str, Any]]:
    """The tools as on the wire; `out_of_odd` only where the ODD declares values outside itself."""
    ops = [op for op in OPS if op != "out_of_odd" or _texts(odd, "extended")]
    made = [_tool(op, _WORDS[op], {f: _field(f, op, odd) for f in FIELDS[op]}) for op in ops]
    return [*made, _tool(DONE, "The plan is complete, or nothing can be planned.", _closing())]


def plan_schema(odd: Odd, bounded: bool = False) -> dict[str, Any]:
    """JSON schema of a whole plan; a step has the arguments of all operators, null or empty where they do not apply.

    Args:
        odd: Declares the values.
        bounded: Whether lengths of lists and texts are limited, for models that never come to an end. Not all strict servers take it.
    """
    ops = [op for op in OPS if op != "out_of_odd" or _texts(odd, "extended")]
    names = ("extend", "where", "top", "source", "per_slice", "reason")
    step = {"op": {"type": "string", "enum": ops}} | {f: _field(f, "out_of_odd", odd) for f in names}
    step["source"] = {"type": ["string", "null"], "enum": [*get_args(AcquireSource), None]}
    whole = _object({"steps": {"type": "array", "items": _object(step)}, **_closing()})
    return _bounded(whole, MAX_STEPS) if bounded else whole


def _bounded(schema: dict[str, Any], items: int = 6) -> dict[str, Any]:
    """The schema with short lists and texts."""
    made = dict(schema)
    kind = made["type"]
    if "properties" in made:
        made["properties"] = {k: _bounded(v, MAX_STEPS if k == "steps" else 6) for k, v in made["properties"].items()}
    elif kind == "array":
        made |= {"items": _bounded(made["items"]), "maxItems": items}
    elif "string" in kind and "enum" not in made:
        made["maxLength"] = 120
    return made


def read_step(op: str, arguments: Mapping[str, Any], odd: Odd) -> tuple[Step | None, list[Problem]]:
    """A step of the arguments of a call, in words of the ODD or not: that is for the guards.

    Args:
        op: Name of the operator.
        arguments: As the model gave them; fields of other operators may stand there if they are null or empty.
        odd: Tells where in "dimension=value" the dimension ends, should its name hold the sign too.

    Returns:
        The step, or None with everything that is wrong with it.
    """
    if op not in FIELDS:
        return None, [Problem(None, "op", op[:60], f"one of {', '.join(OPS)}", kind="unknown_tool")]
    given = {k: v for k, v in arguments.items() if k != "op" and v not in (None, "", [], {})}
    found = [
        Problem(None, k[:60], _short(v), f"no such argument; {op} takes {', '.join(FIELDS[op])}")
        for k, v in given.items()
        if k not in FIELDS[op]
    ]
    data: dict[str, Any] = {"op": op}
    for name in FIELDS[op]:
        value = given.get(name)
        if name in ("where", "extend"):
            values = _pairs(value, odd)
            if values is None:
                found.append(Problem(None, name, _short(value), 'a list of texts "dimension=value"'))
            elif values:
                data[name] = values
        elif name == "reason":
            data[name] = value.strip()[:MAX_REASON] if isinstance(value, str) else ""
        elif isinstance(value, bool):
            found.append(Problem(None, name, str(value), "a number" if name != "source" else "a text"))
        elif value is not None:
            data[name] = value
    if op == "out_of_odd" and "extend" not in data and not found:
        found.append(Problem(None, "extend", "nothing", "at least one value from outside the ODD; without any, use in_odd"))
    if found:
        return None, found
    try:
        return _STEP.validate_python(data), []
    except ValidationError as e:
        return None, [Problem(None, ".".join(map(str, err["loc"][1:])), _short(err.get("input")), err["msg"]) for err in e.errors()]


def read_closing(arguments: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Unsupported terms and the question back, of the arguments of `done` or of a whole plan; what has another form is left out."""
    terms, clarify = arguments.get("unsupported_terms"), arguments.get("clarify")
    words = [terms] if isinstance(terms, str) else terms if isinstance(terms, list) else []
    return tuple(t.strip()[:80] for t in words[:20] if isinstance(t, str) and t.strip()), clarify.strip()[:300] if isinstance(
        clarify, str
    ) else ""


def read_plan(value: Mapping[str, Any], odd: Odd) -> tuple[list[Step], list[Problem]]:
    """The steps of a whole plan, with everything that is wrong with any of them."""
    entries = value.get("steps")
    if not isinstance(entries, list):
        return [], [Problem(None, "steps", _short(entries), "a list of steps")]
    steps: list[Step] = []
    found: list[Problem] = []
    for i, entry in enumerate(entries):
        place = f"steps[{i}]"
        if not isinstance(entry, Mapping):
            found.append(Problem(None, place, _short(entry), "an object with op and its arguments"))
            continue
        op = str(entry.get("op", ""))
        # The schema of a plan demands every field of every step: what says nothing about this one is filled in at will by weak models.
        idle = {"top", "source", "per_slice"} - set(FIELDS.get(op, ()))
        step, wrong = read_step(op, {k: v for k, v in entry.items() if k not in idle}, odd)
        found += [Problem(None, f"{place}.{p.column}", p.got, p.allowed, p.suggestion, p.kind) for p in wrong]
        if step:
            steps.append(step)
    return steps, found


def _pairs(value: Any, odd: Odd) -> Values | None:
    """Values by dimension, of texts "dimension=value" or of a mapping; None if neither. A text without a dimension stands under ""."""
    if value is None:
        return {}
    out: Values = {}
    if isinstance(value, Mapping):
        for name, entry in value.items():
            chosen = [entry] if isinstance(entry, str) else entry
            if not isinstance(chosen, Sequence | None) or any(not isinstance(v, str) for v in chosen or ()):
                return None
            out.setdefault(str(name).strip()[:MAX_TEXT], []).extend(str(v).strip()[:MAX_TEXT] for v in chosen or ())
    else:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or any(not isinstance(t, str) for t in texts):
            return None
        for text in texts:
            known = max((n for n in odd.names if text.startswith(f"{n}=")), key=len, default=None)
            name, sign, rest = (known, "=", text[len(known) + 1 :]) if known is not None else text.partition("=")
            out.setdefault(name.strip()[:MAX_TEXT] if sign else "", []).append((rest if sign else text).strip()[:MAX_TEXT])
    return {k: v for k, v in ((k, [x for x in v if x]) for k, v in out.items()) if v}


def _tool(name: str, words: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": words, "parameters": _object(fields)}}


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def _closing() -> dict[str, Any]:
    return {"unsupported_terms": {"type": "array", "items": {"type": "string"}}, "clarify": {"type": ["string", "null"]}}


def _field(name: str, op: str, odd: Odd) -> dict[str, Any]:
    if name == "source":
        return {"type": "string", "enum": list(get_args(AcquireSource))}
    if name in ("top", "per_slice"):
        return {"type": ["integer", "null"]}
    if name == "reason":
        return {"type": "string", "description": "At most 15 words."}
    tier = "extended" if name == "extend" else "any" if op == "out_of_odd" else "base"
    texts = _texts(odd, tier)
    items = {"type": "string", "enum": texts} if has_enums(odd) and texts else {"type": "string"}
    return {"type": "array", "items": items}


def _texts(odd: Odd, tier: str) -> list[str]:
    """Values of a tier as they are written in filters; only dimensions that can be extended have values outside."""
    return [
        f"{d.name}={v.name}" for d in odd.dimensions for v in d.values if tier in ("any", v.tier) and (v.tier == "base" or d.extendable)
    ]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
