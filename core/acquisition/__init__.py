"""Acquisition: from a ranking of untested slices to a test plan, and to files that a simulator reads."""

from core.acquisition.campaign import Campaign, Outcome, Skipped, plan
from core.acquisition.coverage import Coverage
from core.acquisition.request import BUDGETS, BudgetKind, Factor, Quota, QuotaKind, Request, read_factors, read_quotas, read_terms
from core.acquisition.samples import interval_width, samples_for_width

__all__ = [
    "BUDGETS",
    "BudgetKind",
    "Campaign",
    "Coverage",
    "Factor",
    "Outcome",
    "Quota",
    "QuotaKind",
    "Request",
    "Skipped",
    "interval_width",
    "plan",
    "read_factors",
    "read_quotas",
    "read_terms",
    "samples_for_width",
]
