"""What the product does, as functions: pages, controller and command line call these and nothing below them."""

from core.operators.export import as_csv, as_json, as_manifest, as_object, as_parquet, columns, rows, write
from core.operators.rank import DEFAULT_TOP, RankResult, rank, similarity_for, versions
from core.operators.table import Prepared, check, load_odd, prepare
from core.operators.workspace import load_demo, save_table, source_of
from core.scoring.triage import Triage, triage
from core.seed_table import open_table

__all__ = [
    "DEFAULT_TOP",
    "Prepared",
    "RankResult",
    "Triage",
    "as_csv",
    "as_json",
    "as_manifest",
    "as_object",
    "as_parquet",
    "check",
    "columns",
    "load_demo",
    "load_odd",
    "open_table",
    "prepare",
    "rank",
    "rows",
    "save_table",
    "similarity_for",
    "source_of",
    "triage",
    "versions",
    "write",
]
