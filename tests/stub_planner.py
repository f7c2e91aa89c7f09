"""Scripts for the stub server that play a planning model in the study of reliability. No model is run.

`shuffling` knows the right plan (that of the offline controller) and writes it differently every time: other order, aliases, case,
repeats, words around it. What a study against it tests is that all of these come down to one plan; a real model also *chooses*
differently from time to time, and of that it says nothing. `drawing` writes random slices, as if it knew nothing at all.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from core.controller.offline import plan_offline
from core.controller.plan import Step
from core.odd import Odd
from tests.stub_llm import Request, Scripted, call, text

Script = Callable[[Request], Scripted]
_WORDS = "because this seems most urgent given what was tested so far and the question names it".split()


def shuffling(odd: Odd, seed: int = 0, waver: float = 0.0) -> Script:
    """A model that plans rightly and writes as it likes, by tools or as one JSON answer, whichever it is asked for.

    Args:
        odd: Declares the values.
        seed: Of everything that is drawn.
        waver: Share of the JSON answers in which it also chooses differently: no filter where there should be one, or one value more.
    """
    draw = random.Random(seed)

    def script(request: Request) -> Scripted:
        steps = plan_offline(_question(request), odd).plan.steps
        if draw.random() < waver:
            steps = tuple(_other(s, odd, draw) for s in steps)
        if request.body.get("tools"):
            done = sum(len(m.get("tool_calls") or ()) for m in request.messages)
            if done < len(steps):
                step = steps[done]
                return call(step.op, _arguments(step, odd, draw), id=f"call_{draw.randrange(10**6)}")
            return call("done", {"unsupported_terms": [], "clarify": None})
        entries = [{"op": s.op, **_arguments(s, odd, draw)} for s in steps]
        free = [e for e in entries if e["op"] in ("triage", "in_odd")]
        if free and draw.random() < 0.3:  # the same step once more
            entries.insert(entries.index(free[-1]) + 1, dict(free[-1]))
        if draw.random() < 0.2 and [e["op"] for e in entries[1:3]] == ["acquire", "evaluate"]:
            entries[1], entries[2] = entries[2], entries[1]
        plan = {"steps": [_mixed(e, draw) for e in entries], "unsupported_terms": [], "clarify": None}
        body = json.dumps(_mixed(plan, draw), indent=draw.choice([None, 1, 2]))
        return text(draw.choice(["{}", "```json\n{}\n```", "Here is the plan:\n{}", "<think>Let me see.</think>{}"]).replace("{}", body))

    return script


def drawing(odd: Odd, top: int, seed: int = 0) -> Script:
    """A model that lists slices at random, not always as many as it is asked for, with a wrong value now and then."""
    draw = random.Random(seed)

    def script(_: Request) -> Scripted:
        rows = []
        for _ in range(max(0, top + draw.randint(-3, 2))):
            row = [draw.choice(d.values).name for d in odd.dimensions]
            if draw.random() < 0.1:
                row[draw.randrange(len(row))] = "something else"
            rows.append(",".join(row))
        return text("```csv\n" + "\n".join([",".join(odd.names), *rows]) + "\n```")

    return script


def _question(request: Request) -> str:
    """The question, which stands as a JSON string in the first message of the user."""
    content = str(request.messages[1]["content"])
    found: str = json.loads(content[content.index('"') : content.rindex('"') + 1])
    return found


def _other(step: Step, odd: Odd, draw: random.Random) -> Step:
    """Another choice of the values inside the ODD that a step is limited to."""
    if not hasattr(step, "where") or step.op == "out_of_odd":
        return step
    if step.where:
        return step.model_copy(update={"where": {}})
    d = draw.choice([d for d in odd.dimensions if d.active])
    return step.model_copy(update={"where": {d.name: [draw.choice(d.base).name]}})


def _arguments(step: Step, odd: Odd, draw: random.Random) -> dict[str, Any]:
    given = step.model_dump(exclude={"op", "reason"})
    for name in ("where", "extend"):
        if name in given:
            texts = [f"{d}={_alias(odd, d, v, draw)}" for d, vs in given[name].items() for v in vs]
            texts += draw.sample(texts, k=draw.randint(0, len(texts)))
            given[name] = draw.sample(texts, k=len(texts))
    return given | {"reason": " ".join(draw.sample(_WORDS, k=5))}


def _alias(odd: Odd, dimension: str, value: str, draw: random.Random) -> str:
    """The value by its name in some spelling, or by a synonym that no other value has."""
    d = odd.by_name[dimension]
    others = {s for o in odd.dimensions for v in o.values if (o.name, v.name) != (dimension, value) for s in (v.name, *v.synonyms)}
    own = [s for s in d.by_name[value].synonyms if s not in others]
    name = draw.choice([value, *own]) if draw.random() < 0.5 else value
    return draw.choice([str, str.upper, str.title, lambda s: s.replace("_", " "), lambda s: s.replace("_", "-"), lambda s: f" {s} "])(name)


def _mixed(data: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    keys = list(data)
    draw.shuffle(keys)
    return {k: data[k] for k in keys}
