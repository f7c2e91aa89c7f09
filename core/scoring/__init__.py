"""SliceScorer: deterministic ranking of untested slices, its explanation, and triage of the tested ones."""

from core.scoring.diversity import Swapped, ild, keep_ild
from core.scoring.effects import Effect, Effects, PairEffects, SingleEffects, ridge_effects, strongest
from core.scoring.evidence import Evidence, gather_evidence
from core.scoring.explain import Contribution, Explanation, Neighbour, ValueExposure, explain
from core.scoring.exposure import Marginals, Rarity, exposure, marginals, rarity_of
from core.scoring.intervals import wilson
from core.scoring.neighbours import nearest, neighbour_error
from core.scoring.parameters import ScoringParameters
from core.scoring.rank import MAX_CANDIDATES, Ranking, Search, candidate_space, make_scorer, rank_missing
from core.scoring.ridge import RISK_UNIT, RidgeModel, fit_ridge
from core.scoring.scope import IN_ODD, Scope, make_scope
from core.scoring.scorer import Scorer, quantised
from core.scoring.shrinkage import Shrinkage, shrink
from core.scoring.triage import Failure, Triage, ValueCoverage, triage
from core.scoring.tway import Combination, TWay, tway

__all__ = [
    "IN_ODD",
    "MAX_CANDIDATES",
    "RISK_UNIT",
    "Combination",
    "Contribution",
    "Effect",
    "Effects",
    "Evidence",
    "Explanation",
    "Failure",
    "Marginals",
    "Neighbour",
    "PairEffects",
    "Ranking",
    "Rarity",
    "RidgeModel",
    "Scope",
    "Scorer",
    "ScoringParameters",
    "Search",
    "Shrinkage",
    "SingleEffects",
    "Swapped",
    "TWay",
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
    "make_scope",
    "make_scorer",
    "marginals",
    "nearest",
    "neighbour_error",
    "quantised",
    "rank_missing",
    "rarity_of",
    "ridge_effects",
    "shrink",
    "strongest",
    "triage",
    "tway",
    "wilson",
]
