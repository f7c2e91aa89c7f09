"""How far a run is: plain data, written to its record after every step, so that any page or process can show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from core.controller.plan import Op, Plan
from core.controller.reading import Planned, Reading, Suggestion

StepStatus = Literal["pending", "running", "done", "waiting", "skipped", "failed"]
RunStatus = Literal["clarify", "running", "waiting", "done"]

TITLES: Mapping[Op, str] = {
    "triage": "See where it fails",
    "in_odd": "Rank inside the ODD",
    "out_of_odd": "Rank outside the ODD",
    "acquire": "Look for samples",
    "evaluate": "Evaluate the model",
}


@dataclass(frozen=True)
class StepState:
    """One step of a plan.

    Attributes:
        op: Operator.
        args: Its arguments.
        status: waiting: paid, or not asked for, and so in want of a confirmation.
        rows: Rows that came out, None before.
        note: What came out, or why nothing did, in a sentence.
        counts: Numbers behind the note (combinations, observed, missing; valid, partial, invalid, ...).
        in_sha, out_sha: SHA-256 of everything that went in, and of the file that came out; "" before.
        seconds: Wall time.
        estimate: What a waiting step would cost: calls, tokens, cost.
        files: Names of the files that it wrote.
    """

    op: Op
    args: Mapping[str, Any]
    status: StepStatus = "pending"
    rows: int | None = None
    note: str = ""
    counts: Mapping[str, Any] = field(default_factory=dict)
    in_sha: str = ""
    out_sha: str = ""
    seconds: float = 0.0
    estimate: Mapping[str, Any] | None = None
    files: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name for people."""
        return TITLES[self.op]


@dataclass(frozen=True)
class RunState:
    """A run.

    Attributes:
        id: Of the run.
        folder: Where its record lies.
        query: The question.
        who: Who asked.
        created_at: ISO time, UTC.
        status: clarify: the question is asked back; waiting: a step waits for a confirmation.
        plan: What is done.
        readings, suggestions, clarify, prose: See `Planned`.
        steps: One per step of the plan.
        files: Names of all files of the record.
        manifest_sha: SHA-256 of the manifest that was written for this state, "" while there is none.
    """

    id: str
    folder: str
    query: str
    who: str
    created_at: str
    status: RunStatus
    plan: Plan
    readings: tuple[Reading, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    clarify: str = ""
    prose: str = ""
    steps: tuple[StepState, ...] = ()
    files: tuple[str, ...] = ()
    manifest_sha: str = ""

    @property
    def waiting(self) -> int | None:
        """Position of the step that waits for a confirmation."""
        return next((i for i, s in enumerate(self.steps) if s.status == "waiting"), None)

    @property
    def again(self) -> int | None:
        """Position of the first paid step that failed or was skipped, and that may be done after all."""
        paid = ("acquire", "evaluate")
        return next((i for i, s in enumerate(self.steps) if s.status in ("failed", "skipped") and s.op in paid), None)

    def with_step(self, i: int, step: StepState) -> RunState:
        """The run with one step in another state."""
        return replace(self, steps=(*self.steps[:i], step, *self.steps[i + 1 :]))

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        data = {k: v for k, v in vars(self).items() if k not in ("plan", "readings", "suggestions", "steps")}
        data |= {"plan": self.plan.model_dump(mode="json"), "files": list(self.files)}
        return data | {k: [asdict(x) for x in getattr(self, k)] for k in ("readings", "suggestions", "steps")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunState:
        """The run that `as_dict` told of."""
        steps = tuple(StepState(**{**s, "files": tuple(s["files"])}) for s in data["steps"])
        return cls(
            **{
                **data,
                "plan": Plan.model_validate(data["plan"]),
                "readings": tuple(Reading(**r) for r in data["readings"]),
                "suggestions": tuple(Suggestion(**s) for s in data["suggestions"]),
                "steps": steps,
                "files": tuple(data["files"]),
            }
        )


def first_state(run_id: str, folder: str, who: str, created_at: str, planned: Planned) -> RunState:
    """A run before its first step."""
    plan = planned.plan
    steps = tuple(StepState(s.op, s.model_dump(mode="json", exclude={"op", "reason"})) for s in plan.steps)
    return RunState(
        id=run_id,
        folder=folder,
        query=plan.query,
        who=who,
        created_at=created_at,
        status="clarify" if not steps else "running",
        plan=plan,
        readings=planned.readings,
        suggestions=planned.suggestions,
        clarify=planned.clarify,
        prose=planned.prose,
        steps=steps,
    )
