"""Evaluation: ask the model under test, judge its answers, add up what came out per slice."""

from core.evaluation.choices import Choice, letter_of, read_choice
from core.evaluation.evaluate import evaluate_job
from core.evaluation.items import Item, Result, ScoredBy, Status
from core.evaluation.job import Decode, Event, Job, Outcome, flaw_of, model_key
from core.evaluation.parse import Verdict, read_verdict
from core.evaluation.prompts import Prompts, load_prompts
from core.evaluation.rows import read_item, read_result, result_of, row_of
from core.evaluation.summary import Cell, Rate
from core.llm.pace import Limits

__all__ = [
    "Cell",
    "Choice",
    "Decode",
    "Event",
    "Item",
    "Job",
    "Limits",
    "Outcome",
    "Prompts",
    "Rate",
    "Result",
    "ScoredBy",
    "Status",
    "Verdict",
    "evaluate_job",
    "flaw_of",
    "letter_of",
    "load_prompts",
    "model_key",
    "read_choice",
    "read_item",
    "read_result",
    "read_verdict",
    "result_of",
    "row_of",
]
