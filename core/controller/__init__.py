"""From a question in plain words to a plan of operators, its execution, and a record that can be replayed."""

from core.controller.context import Context
from core.controller.executor import Decision, last_state, resume, start
from core.controller.plan import MAX_STEPS, TOP, Acquire, AcquireSource, Evaluate, InOdd, Op, OutOfOdd, Plan, Step, Triage
from core.controller.planning import edited
from core.controller.reading import Planned, Reading, Suggestion
from core.controller.record import Record, open_record
from core.controller.replay import Check, Replay, replay
from core.controller.state import RunState, StepState

__all__ = [
    "MAX_STEPS",
    "TOP",
    "Acquire",
    "AcquireSource",
    "Check",
    "Context",
    "Decision",
    "Evaluate",
    "InOdd",
    "Op",
    "OutOfOdd",
    "Plan",
    "Planned",
    "Reading",
    "Record",
    "Replay",
    "RunState",
    "Step",
    "StepState",
    "Suggestion",
    "Triage",
    "edited",
    "last_state",
    "open_record",
    "replay",
    "resume",
    "start",
]
