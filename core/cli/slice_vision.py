"""What `slices match --vision` does: says what asking a vision model takes, and asks it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.cli.evaluate import interruptible
from core.cli.show import say
from core.error_slices.vision.options import MatchOptions, limits_of
from core.error_slices.vision.outcome import MatchProgress
from core.operators import slice_match
from core.operators.slice_report import SliceSettings
from core.storage import Store

SHOWN = 20
"""Problems that are printed."""


def ask_vision(
    store: Store,
    set_id: str,
    settings: SliceSettings,
    ids: Sequence[str],
    options: MatchOptions,
    caps: dict[str, Any],
    *,
    yes: bool,
    quiet: bool,
) -> dict[str, Any]:
    """What asking takes; with `yes` also what came of it.

    Args:
        store: The workspace.
        set_id: Of the detections.
        settings: They decide which units there are.
        ids: Hypotheses; all that need a model if empty.
        options: How it is asked.
        caps: max_calls, max_tokens and max_cost of the run, None for none.
        yes: Send the calls.
        quiet: Say nothing; the caller writes what is returned.
    """
    if any(v is not None for v in caps.values()):
        options = replace(options, limits=replace(limits_of(slice_match.vision_endpoint(store), options), **caps))
    plan = slice_match.plan_match(store, set_id, settings, ids, options)
    planned = {"calls": plan.calls, "cached": plan.cached, "new": plan.new, "cost": plan.cost, "currency": plan.currency}
    planned |= {"prompt_tokens": plan.prompt_tokens, "completion_tokens": plan.completion_tokens, "measured": plan.measured}
    planned |= {"source": plan.source, "probed": plan.probed, "seconds": plan.seconds}
    if not quiet:
        price = "no price is named" if plan.cost is None else f"about {plan.cost:.2f} {plan.currency}".rstrip()
        tokens = f"about {plan.prompt_tokens:,} + {plan.completion_tokens:,} tokens"
        way = plan.source if plan.probed else f"{plan.source}, which is assumed: the model is tested first"
        say(f"{plan.new:,} calls to send ({plan.cached:,} answers are known), {tokens}, {price}; asked by {way}.")
    if not yes:
        if not quiet:
            say("Nothing was sent; add --yes to send them.")
        return {"plan": planned, "sent": False}
    with interruptible() as stop:
        done = slice_match.match_vision(
            store, set_id, settings, ids, options, agreed=plan.ability, progress=_tell if sys.stderr.isatty() else None, cancel=stop.is_set
        )
    partly = [h for h in done.hypotheses if h.partial]
    if not quiet:
        say(f"{done.calls['new']:,} calls sent, {done.calls['cached']:,} answers known, by {done.matcher}. {done.stopped}".rstrip())
        for h in partly:
            why = "".join(f"; {n:,} {reason}" for reason, n in h.failed.items()) + (
                f"; {h.not_reached:,} not reached" if h.not_reached else ""
            )
            say(f"partial: {h.hypothesis_id}, {h.scored:,} of {h.asked:,} units scored{why}")
        for p in done.problems[:SHOWN]:
            say(f"note: {p}")
        if len(done.problems) > SHOWN:
            say(f"  and {len(done.problems) - SHOWN:,} more (--json lists all).")
    matched = [
        {
            "id": h.hypothesis_id,
            "asked": h.asked,
            "scored": h.scored,
            "failed": dict(h.failed),
            "not_reached": h.not_reached,
            "left_out": dict(h.left_out),
            "partial": h.partial,
        }
        for h in done.hypotheses
    ]
    run: dict[str, Any] = {
        "calls": dict(done.calls),
        "cost": done.cost,
        "source": done.source,
        "matcher": done.matcher,
        "stopped": done.stopped,
    }
    run |= {"partial": done.partial, "matched": matched, "findings": list(done.ability.findings), "problems": list(done.problems)}
    return {"plan": planned, "sent": True, "run": run}


def _tell(now: MatchProgress) -> None:
    left = "" if now.left is None else f", about {now.left:,.0f} s left"
    end = "\n" if now.done == now.total else ""
    sys.stderr.write(f"\r{now.done:,} of {now.total:,}: {now.calls:,} sent, {now.cached:,} known, {now.failed:,} failed{left} {end}")
