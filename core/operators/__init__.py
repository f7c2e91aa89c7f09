"""What the product does, as functions: pages, controller and command line call these and nothing below them."""

from core.operators.agree import compare_modes
from core.operators.benchmark import BUDGETS, BenchmarkResult, SharedSamplesError, benchmark
from core.operators.benchmark_files import benchmark_csv, benchmark_object, suite_csv
from core.operators.campaign import (
    CAMPAIGN_FORMATS,
    POOL,
    CampaignPlan,
    CampaignSheet,
    campaign_csv,
    campaign_json,
    campaign_object,
    campaign_openscenario,
    campaign_sheet,
    plan_campaign,
    save_campaign,
    write_campaign,
)
from core.operators.compare import Comparison, SidePair, compare
from core.operators.export import as_csv, as_json, as_manifest, as_object, as_parquet, columns, format_of, rows, triage_object, write
from core.operators.fixes import ADD, LEAVE_OUT, Decided, Fix, decide, fixes, rejected_rows, undecided
from core.operators.imports import ImportChoices, begin_import, default_models, is_demo, odd_of, prepared_for, propose
from core.operators.rank import DEFAULT_TOP, RankResult, rank, similarity_for, versions
from core.operators.sides import Side, align, prepare_pair, reading_notes, saved_side, side_of, split_sides
from core.operators.suite import SuiteResult, split_suite, suite
from core.operators.table import ROLES, Prepared, check, load_odd, prepare
from core.operators.workspace import DEMO_TABLE, load_demo, load_demo_oracle, save_table, source_of
from core.scoring.triage import Triage, triage
from core.seed_table import open_table

__all__ = [
    "ADD",
    "BUDGETS",
    "CAMPAIGN_FORMATS",
    "DEFAULT_TOP",
    "DEMO_TABLE",
    "LEAVE_OUT",
    "POOL",
    "ROLES",
    "BenchmarkResult",
    "CampaignPlan",
    "CampaignSheet",
    "Comparison",
    "Decided",
    "Fix",
    "ImportChoices",
    "Prepared",
    "RankResult",
    "SharedSamplesError",
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
    "campaign_csv",
    "campaign_json",
    "campaign_object",
    "campaign_openscenario",
    "campaign_sheet",
    "check",
    "columns",
    "compare",
    "compare_modes",
    "decide",
    "default_models",
    "fixes",
    "format_of",
    "is_demo",
    "load_demo",
    "load_demo_oracle",
    "load_odd",
    "odd_of",
    "open_table",
    "plan_campaign",
    "prepare",
    "prepare_pair",
    "prepared_for",
    "propose",
    "rank",
    "reading_notes",
    "rejected_rows",
    "rows",
    "save_campaign",
    "save_table",
    "saved_side",
    "side_of",
    "similarity_for",
    "source_of",
    "split_sides",
    "split_suite",
    "suite",
    "suite_csv",
    "triage",
    "triage_object",
    "undecided",
    "versions",
    "write",
    "write_campaign",
]
