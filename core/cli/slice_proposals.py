"""The command `slices propose`: hypotheses from a model's knowledge, from captions of the data, or from fixed sentences."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from core.cli import options as o
from core.cli.evaluate import interruptible
from core.cli.show import say, say_json
from core.cli.slices import Set, set_named
from core.cli.workspace import workspace
from core.error_slices.generate.data_driven import DataOptions
from core.errors import InputError
from core.operators import slice_generate
from core.operators import slices as operators


def propose(
    which: Set,
    source: Annotated[str, typer.Option("--from", help="knowledge, data or templates; the last needs no model.")] = "templates",
    task: Annotated[str, typer.Option("--task", help="What the detector is used for, in a sentence or two.")] = "",
    count: Annotated[int, typer.Option("--count", min=1, max=60, help="Hypotheses at most.")] = 20,
    error: Annotated[str, typer.Option("--error", help="Type of error that the data is looked at for: FN or FP.")] = "FN",
    class_: Annotated[list[str] | None, typer.Option("--class", help="Class or group; may be given several times; all by default.")] = None,
    add: Annotated[bool, typer.Option("--add", help="Add them to the hypotheses that are tested on the set.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Send the calls.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Proposes hypotheses; says first what asking a model takes, and asks with --yes; exit code 1 where the model gave nothing."""
    if error.upper() not in ("FN", "FP"):
        raise InputError(f'--error: got "{error}"; allowed: FN, FP.')
    options = DataOptions(error="FP" if error.upper() == "FP" else "FN", classes=tuple(class_ or ["any"]), count=count)
    kind: Any = source
    with workspace() as store:
        set_id = set_named(store, which)
        plan = slice_generate.plan_proposal(store, set_id, kind, options=options)
        calls = plan.text_calls + plan.picture_calls
        if calls and not as_json:
            price = "no price is named" if plan.cost is None else f"about {plan.cost:.2f} {plan.currency}".rstrip()
            tokens = f"about {plan.usage.prompt:,} + {plan.usage.completion:,} tokens"
            say(f"About {calls:,} calls ({plan.picture_calls:,} with pictures) of {', '.join(plan.models)}, {tokens}, {price}.")
        if calls and not yes:
            if as_json:
                say_json({"plan": {"calls": calls, "cost": plan.cost, "currency": plan.currency, "models": plan.models}, "sent": False})
            else:
                say("Nothing was sent; add --yes to send them.")
            return
        with interruptible() as stop:
            found = slice_generate.propose_hypotheses(store, set_id, kind, task=task, count=count, options=options, cancel=stop.is_set)
        if add and found.hypotheses:
            operators.add_hypotheses(store, set_id, found.hypotheses)
    if as_json:
        say_json(
            {
                "hypotheses": [h.to_json() for h in found.hypotheses],
                "left_out": [vars(x) for x in found.left_out],
                "notes": found.notes,
                "calls": dict(found.calls),
                "cost": found.cost,
                "stopped": found.stopped,
                "added": bool(add and found.hypotheses),
            }
        )
    else:
        for note in (*found.notes, *filter(None, (found.stopped,))):
            say(note)
        for h in found.hypotheses:
            say(f"{h.id}: {h.text}")
        if found.left_out:
            say(f"{len(found.left_out):,} more were left out (--json tells why).")
    if found.stopped or (calls and not found.hypotheses and not found.left_out):
        sys.exit(1)
