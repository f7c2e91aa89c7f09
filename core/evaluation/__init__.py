"""Evaluation: ask the model under test, judge its answers, add up what came out per slice."""

from core.evaluation.items import Item, Result, ScoredBy, Status

__all__ = ["Item", "Result", "ScoredBy", "Status"]
