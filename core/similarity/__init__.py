"""How alike two slices are: by their texts, by value tables fitted to the texts, or by equal values."""

from core.similarity.base import MODES, UNIT, Similarity, Units
from core.similarity.choose import Agreement, Choice, agreement, choose_similarity, default_choice, value_cosines
from core.similarity.tables import UNCOVERED, SimilarityTables, exact_similarity

__all__ = [
    "MODES",
    "UNCOVERED",
    "UNIT",
    "Agreement",
    "Choice",
    "Similarity",
    "SimilarityTables",
    "Units",
    "agreement",
    "choose_similarity",
    "default_choice",
    "exact_similarity",
    "value_cosines",
]
