"""Who makes the plan; whatever happens, there is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from core.controller.context import Context
from core.controller.guards import canonical, problems
from core.controller.offline import plan_offline
from core.controller.plan import Step
from core.controller.reading import Planned
from core.errors import InputError

NO_ENDPOINT = "no endpoint for the controller is set"


def make_plan(query: str, ctx: Context, controller: Literal["offline", "llm"], observe: Callable[[Step], str]) -> Planned:
    """The plan for a question.

    Args:
        query: The question.
        ctx: What the run works with.
        controller: "llm" asks the endpoint of that role, and falls back to the offline controller.
        observe: Runs a free step and tells what came out.
    """
    if controller == "offline":
        return plan_offline(query, ctx.seed.odd, ctx.settings)
    endpoint = ctx.endpoints.get("llm")
    if endpoint is None:
        offline = plan_offline(query, ctx.seed.odd, ctx.settings)
        return replace(offline, plan=offline.plan.model_copy(update={"fallback_reason": NO_ENDPOINT}))
    from core.controller.llm import plan_llm
    from core.llm import Client
    from core.llm.connections import learn

    with Client(endpoint, on_adapt=lambda profile: learn(ctx.store, endpoint, profile)) as client:
        return plan_llm(query, ctx.seed.odd, client, observe=observe, settings=ctx.settings, prose=lambda _: None)


def edited(planned: Planned, ctx: Context) -> Planned:
    """A plan that a person changed, in its canonical form.

    Raises:
        InputError: It breaks a rule; all of them are named.
    """
    plan = canonical(planned.plan, ctx.seed.odd)
    if found := problems(plan, ctx.seed.odd):
        raise InputError("The plan cannot be run.", found)
    return replace(planned, plan=plan)
