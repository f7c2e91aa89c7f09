"""What the product does, as functions: pages, controller and command line call these and nothing below them."""

from core.operators.agree import compare_modes
from core.operators.benchmark import BUDGETS, BenchmarkResult, benchmark
from core.operators.benchmark_files import benchmark_csv, benchmark_object, suite_csv
from core.operators.compare import Comparison, SidePair, compare
from core.operators.export import as_csv, as_json, as_manifest, as_object, as_parquet, columns, rows, write
from core.operators.fixes import ADD, LEAVE_OUT, Decided, Fix, decide, fixes, rejected_rows, undecided
from core.operators.imports import ImportChoices, begin_import, default_models, is_demo, odd_of, prepared_for, propose
from core.operators.rank import DEFAULT_TOP, RankResult, rank, similarity_for, versions
from core.operators.sides import Side, align, prepare_pair, saved_side, side_of, split_sides
from core.operators.suite import SuiteResult, suite
from core.operators.table import ROLES, Prepared, check, load_odd, prepare
from core.operators.workspace import DEMO_TABLE, load_demo, save_table, source_of
from core.scoring.triage import Triage, triage
from core.seed_table import open_table

__all__ = [
    "ADD",
    "BUDGETS",
    "DEFAULT_TOP",
    "DEMO_TABLE",
    "LEAVE_OUT",
    "ROLES",
    "BenchmarkResult",
    "Comparison",
    "Decided",
    "Fix",
    "ImportChoices",
    "Prepared",
    "RankResult",
    "Side",
    "SidePair",
    "SuiteResult",
    "Triage",
    "align",
    "as_csv",
    "as_json",
    "as_manifest",
    "as_object",
    "as_parquet",
    "begin_import",
    "benchmark",
    "benchmark_csv",
    "benchmark_object",
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
    "prepare_pair",
    "prepared_for",
    "propose",
    "rank",
    "rejected_rows",
    "rows",
    "save_table",
    "saved_side",
    "side_of",
    "similarity_for",
    "source_of",
    "split_sides",
    "suite",
    "suite_csv",
    "triage",
    "undecided",
    "versions",
    "write",
]
