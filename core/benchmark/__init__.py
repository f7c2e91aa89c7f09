"""Methods of ranking untested slices against an oracle, and synthetic oracles to try them on (SliceNav, section 4, appendix B)."""

from core.benchmark.bootstrap import OracleRisk
from core.benchmark.compare import Candidates, Comparison, Point, Row, compare, covered
from core.benchmark.methods import BY_NAME, METHODS, REFERENCE, Method, choose_methods
from core.benchmark.oracles import ALL_KINDS, IID, KINDS, SyntheticOracle, opened, skewed_seed, synthetic_oracle
from core.benchmark.suite import MATCHED, Line, Run, matched_wins, means, run_of, wins_at_all
from core.benchmark.task import Listing, Task

__all__ = [
    "ALL_KINDS",
    "BY_NAME",
    "IID",
    "KINDS",
    "MATCHED",
    "METHODS",
    "REFERENCE",
    "Candidates",
    "Comparison",
    "Line",
    "Listing",
    "Method",
    "OracleRisk",
    "Point",
    "Row",
    "Run",
    "SyntheticOracle",
    "Task",
    "choose_methods",
    "compare",
    "covered",
    "matched_wins",
    "means",
    "opened",
    "run_of",
    "skewed_seed",
    "synthetic_oracle",
    "wins_at_all",
]
