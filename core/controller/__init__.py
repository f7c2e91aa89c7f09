"""From a question in plain words to a plan of operators, its execution, and a record that can be replayed."""

from core.controller.plan import MAX_STEPS, TOP, Acquire, AcquireSource, Evaluate, InOdd, Op, OutOfOdd, Plan, Step, Triage
from core.controller.reading import Planned, Reading, Suggestion

__all__ = [
    "MAX_STEPS",
    "TOP",
    "Acquire",
    "AcquireSource",
    "Evaluate",
    "InOdd",
    "Op",
    "OutOfOdd",
    "Plan",
    "Planned",
    "Reading",
    "Step",
    "Suggestion",
    "Triage",
]
