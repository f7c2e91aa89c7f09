"""Scores and counts as a person wrote them: 0-1, 0-100, percent signs, decimal commas, right or wrong in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.seed_table.plan import Scale

RIGHT = frozenset("true t yes y correct right pass passed success succeeded ok".split())
WRONG = frozenset("false f no n incorrect wrong fail failed failure".split())
SCALE_TEXT: dict[Scale, str] = {"unit": "0 to 1", "percent": "0 to 100", "boolean": "right or wrong in words"}

MOSTLY = 0.5
FEW = 0.05
RATING = 10.0
"""Numbers up to 10 may be grades as well as percent, so they are asked about."""


@dataclass(frozen=True, eq=False)
class ScoreReading:
    """The distinct score texts of a column, read as numbers.

    Attributes:
        scale: The scale they were read on.
        values: (V,) scores on 0 to 1, NaN where the text is no number; never clamped.
        confident: False where the texts allow two readings, so that a person must choose.
        evidence: One sentence that says what the choice rests on.
    """

    scale: Scale
    values: npt.NDArray[np.float64]
    confident: bool
    evidence: str


def parse_numbers(texts: pa.StringArray) -> npt.NDArray[np.float64]:
    """Numbers (V,) of texts (V,); NaN where a text is none. Takes a decimal comma and a trailing percent sign."""
    plain = pc.match_substring_regex(texts, r"^[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$")
    bare = pc.if_else(plain, pc.utf8_ltrim(texts, "+"), pa.scalar(None, pa.string()))
    numbers = np.array(pc.cast(bare, pa.float64()).fill_null(math.nan).to_numpy(zero_copy_only=False), dtype=np.float64)
    others = np.flatnonzero(~np.asarray(plain.to_numpy(zero_copy_only=False), dtype=bool))
    if others.size:
        numbers[others] = [_number(t) for t in texts.take(pa.array(others)).to_pylist()]
    return numbers


def _number(text: str) -> float:
    t = text.strip().removesuffix("%").strip()
    if t.count(",") == 1 and "." not in t:
        t = t.replace(",", ".")
    try:
        return float(t) if "_" not in t else math.nan
    except ValueError:
        return math.nan


def read_scores(texts: pa.StringArray, weights: npt.NDArray[np.int64], scale: Scale | None = None) -> ScoreReading:
    """Scores of the distinct texts of a column.

    Args:
        texts: (V,) distinct texts.
        weights: (V,) rows that hold each text; decide which scale most rows are on.
        scale: The scale that the user confirmed; None recognises it.

    Returns:
        The reading; texts that do not fit it are NaN or lie outside 0 to 1, and are for the caller to reject.
    """
    if scale in (None, "boolean"):
        words = _verdicts(texts)
        rows = int(weights[np.isfinite(words)].sum())
        in_words = np.isfinite(words) & ~np.isfinite(parse_numbers(texts))
        if scale == "boolean":
            return ScoreReading("boolean", words, True, "You said so.")
        if weights[in_words].any() and rows > MOSTLY * weights.sum():
            named = ", ".join(texts.filter(pa.array(in_words & (weights > 0))).to_pylist()[:4])
            return ScoreReading("boolean", words, True, f"{rows:,} of {int(weights.sum()):,} scores are words: {named}.")
    numbers = parse_numbers(texts)
    if scale is None:
        scale, confident, evidence = _recognise(texts, numbers, weights)
    else:
        confident, evidence = True, "You said so."
    return ScoreReading(scale, numbers / 100 if scale == "percent" else numbers, confident, evidence)


def _verdicts(texts: pa.StringArray) -> npt.NDArray[np.float64]:
    """1 for a word that means right, 0 for one that means wrong, NaN for any other text."""
    lower = pc.utf8_lower(texts)
    right, wrong = (
        np.asarray(pc.is_in(lower, pa.array(sorted(words))).to_numpy(zero_copy_only=False), dtype=bool)
        for words in (RIGHT | {"1"}, WRONG | {"0"})
    )
    return np.where(right, 1.0, np.where(wrong, 0.0, math.nan))


def _recognise(texts: pa.StringArray, numbers: npt.NDArray[np.float64], weights: npt.NDArray[np.int64]) -> tuple[Scale, bool, str]:
    finite = np.isfinite(numbers) & (weights > 0)
    rows = int(weights[finite].sum())
    if rows == 0:
        return "unit", False, "No cell of the column is a number."
    above = int(weights[finite & (numbers > 1)].sum())
    top = float(numbers[finite].max())
    signed = int(weights[finite & np.asarray(pc.ends_with(texts, "%").to_numpy(zero_copy_only=False), dtype=bool)].sum())
    if signed == rows:
        return "percent", True, "Scores carry a percent sign."
    if signed:
        return "unit", False, f"{signed:,} of {rows:,} scores carry a percent sign, the others do not."
    if above == 0:
        return "unit", True, f"All {rows:,} scores are at most {top:g}."
    if above <= FEW * rows:
        return "unit", True, f"Only {above:,} of {rows:,} scores lie above 1; they are rejected, not clamped."
    parts = int(weights[finite & (numbers > 0) & (numbers < 1)].sum())
    if above >= MOSTLY * rows and parts <= FEW * rows and RATING < top <= 100:
        return "percent", True, f"{above:,} of {rows:,} scores lie above 1 and none above 100 (largest {top:g})."
    if top <= RATING:
        return "unit", False, f"{above:,} of {rows:,} scores lie above 1 but none above {top:g}: a rating of a few grades, maybe."
    return "unit", False, f"{above:,} of {rows:,} scores lie above 1 (largest {top:g}): neither 0 to 1 nor 0 to 100 fits all of them."
