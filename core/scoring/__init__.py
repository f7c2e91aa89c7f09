"""SliceScorer: deterministic ranking of untested slices, its explanation, and triage of the tested ones."""

from core.scoring.evidence import Evidence, gather_evidence
from core.scoring.explain import Explanation, Neighbour, ValueExposure, explain
from core.scoring.exposure import Marginals, exposure, marginals, rarity
from core.scoring.intervals import wilson
from core.scoring.neighbours import nearest, neighbour_error
from core.scoring.parameters import ScoringParameters
from core.scoring.rank import MAX_CANDIDATES, Ranking, Search, candidate_space, rank_missing
from core.scoring.triage import Failure, Triage, ValueCoverage, triage

__all__ = [
    "MAX_CANDIDATES",
    "Evidence",
    "Explanation",
    "Failure",
    "Marginals",
    "Neighbour",
    "Ranking",
    "ScoringParameters",
    "Search",
    "Triage",
    "ValueCoverage",
    "ValueExposure",
    "candidate_space",
    "explain",
    "exposure",
    "gather_evidence",
    "marginals",
    "nearest",
    "neighbour_error",
    "rank_missing",
    "rarity",
    "triage",
    "wilson",
]
