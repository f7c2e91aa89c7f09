"""A plan of operators: what a controller emits and the executor runs (SliceNav, section 3.5)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Op = Literal["triage", "in_odd", "out_of_odd", "acquire", "evaluate"]
AcquireSource = Literal["datastore", "datastore_then_synthesis", "synthesis"]
Values = dict[str, list[str]]
"""Values by dimension; a slice has one of them in each dimension that is named."""

MAX_STEPS = 8
TOP = 10
"""Slices that a ranking step hands on, unless told otherwise."""


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    reason: str = Field(default="", max_length=300)


class Triage(_Step):
    """Where the model fails among what was tested."""

    op: Literal["triage"] = "triage"
    where: Values = {}


class InOdd(_Step):
    """Rank missing slices of the ODD."""

    op: Literal["in_odd"] = "in_odd"
    where: Values = {}
    top: int = Field(default=TOP, ge=1, le=10_000)


class OutOfOdd(_Step):
    """Rank slices with at least one of the added values."""

    op: Literal["out_of_odd"] = "out_of_odd"
    extend: Values = Field(min_length=1)
    where: Values = {}
    top: int = Field(default=TOP, ge=1, le=10_000)


class Acquire(_Step):
    """Find or make samples for the slices of the last ranking."""

    op: Literal["acquire"] = "acquire"
    source: AcquireSource = "datastore_then_synthesis"
    per_slice: int = Field(default=1, ge=1, le=1_000)


class Evaluate(_Step):
    """Ask the model under test about the samples."""

    op: Literal["evaluate"] = "evaluate"


Step = Annotated[Triage | InOdd | OutOfOdd | Acquire | Evaluate, Field(discriminator="op")]


class Plan(BaseModel):
    """At most eight steps, and what the question was read as.

    Attributes:
        query: The question as it was asked.
        controller: Who made the plan.
        steps: In order; none if the question must be asked again.
        unsupported_terms: Words of the question that the vocabulary does not have.
        notes: What was decided for the user, in sentences.
        model, prompt_sha: Of the LLM, "" for the offline controller.
        fallback_reason: Why the offline controller took over, "" if it did not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    query: str = Field(max_length=4_000)
    controller: Literal["offline", "llm"]
    steps: tuple[Step, ...] = Field(default=(), max_length=MAX_STEPS)
    unsupported_terms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""
    prompt_sha: str = ""
    fallback_reason: str = ""

    def last(self, op: Op) -> Step | None:
        """The last step of a kind."""
        return next((s for s in reversed(self.steps) if s.op == op), None)
