"""What the product does, as functions: pages, controller and command line call these and nothing below them."""

from core.operators.agree import compare_modes
from core.operators.compare import Comparison, SidePair, compare
from core.operators.export import as_csv, as_json, as_manifest, as_object, as_parquet, columns, rows, write
from core.operators.fixes import ADD, LEAVE_OUT, Decided, Fix, decide, fixes, rejected_rows, undecided
from core.operators.imports import ImportChoices, begin_import, default_models, is_demo, odd_of, prepared_for, propose
from core.operators.rank import DEFAULT_TOP, RankResult, rank, similarity_for, versions
from core.operators.table import ROLES, Prepared, check, load_odd, prepare
from core.operators.workspace import DEMO_TABLE, load_demo, save_table, source_of
from core.scoring.triage import Triage, triage
from core.seed_table import open_table

__all__ = [
    "ADD",
    "DEFAULT_TOP",
    "DEMO_TABLE",
    "LEAVE_OUT",
    "ROLES",
    "Comparison",
    "Decided",
    "Fix",
    "ImportChoices",
    "Prepared",
    "RankResult",
    "SidePair",
    "Triage",
    "as_csv",
    "as_json",
    "as_manifest",
    "as_object",
    "as_parquet",
    "begin_import",
    "check",
    "columns",
    "compare",
    "compare_modes",
    "decide",
    "default_models",
    "fixes",
    "is_demo",
    "load_demo",
    "load_odd",
    "odd_of",
    "open_table",
    "prepare",
    "prepared_for",
    "propose",
    "rank",
    "rejected_rows",
    "rows",
    "save_table",
    "similarity_for",
    "source_of",
    "triage",
    "undecided",
    "versions",
    "write",
]
