"""SliceScorer: deterministic ranking of untested slices, its explanation, and triage of the tested ones."""

from core.scoring.diversity import Swapped, ild, keep_ild
from core.scoring.evidence import Evidence, gather_evidence
from core.scoring.explain import Explanation, Neighbour, ValueExposure, explain
from core.scoring.exposure import Marginals, exposure, marginals, rarity
from core.scoring.intervals import wilson
from core.scoring.neighbours import nearest, neighbour_error
from core.scoring.parameters import ScoringParameters
from core.scoring.rank import MAX_CANDIDATES, Ranking, Search, candidate_space, rank_missing
from core.scoring.ridge import RISK_UNIT, RidgeModel, fit_ridge
from core.scoring.shrinkage import Shrinkage, shrink
from core.scoring.triage import Failure, Triage, ValueCoverage, triage

__all__ = [
    "MAX_CANDIDATES",
    "RISK_UNIT",
    "Evidence",
    "Explanation",
    "Failure",
    "Marginals",
    "Neighbour",
    "Ranking",
    "RidgeModel",
    "ScoringParameters",
    "Search",
    "Shrinkage",
    "Swapped",
    "Triage",
    "ValueCoverage",
    "ValueExposure",
    "candidate_space",
    "explain",
    "exposure",
    "fit_ridge",
    "gather_evidence",
    "ild",
    "keep_ild",
    "marginals",
    "nearest",
    "neighbour_error",
    "rank_missing",
    "rarity",
    "shrink",
    "triage",
    "wilson",
]
