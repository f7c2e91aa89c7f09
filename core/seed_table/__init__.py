"""Seed tables: read a file, check every row, aggregate to tested slices."""

from core.seed_table.accepted import AcceptedRows, accepted_rows, halves
from core.seed_table.check import check_table
from core.seed_table.plan import EXCLUDE, ImportPlan
from core.seed_table.propose import dimension_candidates, propose_plan
from core.seed_table.reading import Dialect, RawColumn, RawTable, TableFile, open_table
from core.seed_table.report import CheckReport, InventoryRow, Rejection
from core.seed_table.table import SeedTable
from core.seed_table.values import Reading, ValueReader

__all__ = [
    "EXCLUDE",
    "AcceptedRows",
    "CheckReport",
    "Dialect",
    "ImportPlan",
    "InventoryRow",
    "RawColumn",
    "RawTable",
    "Reading",
    "Rejection",
    "SeedTable",
    "TableFile",
    "ValueReader",
    "accepted_rows",
    "check_table",
    "dimension_candidates",
    "halves",
    "open_table",
    "propose_plan",
]
