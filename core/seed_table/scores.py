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
    try:
        return np.asarray(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowInvalid:
        return np.array([_number(t) for t in texts.to_pylist()], dtype=np.float64)


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
    if scale == "boolean" or (scale is None and len(texts) <= len(RIGHT | WRONG) * 4 and _all_words(texts)):
        words = [t.strip().casefold() for t in texts.to_pylist()]
        values = np.array([1.0 if w in RIGHT | {"1"} else 0.0 if w in WRONG | {"0"} else math.nan for w in words])
        return ScoreReading("boolean", values, True, f"Every score is a word such as {texts[0].as_py()!r}." if len(texts) else "")
    numbers = parse_numbers(texts)
    if scale is None:
        scale, confident, evidence = _recognise(texts, numbers, weights)
    else:
        confident, evidence = True, "You said so."
    return ScoreReading(scale, numbers / 100 if scale == "percent" else numbers, confident, evidence)


def _all_words(texts: pa.StringArray) -> bool:
    words = {t.strip().casefold() for t in texts.to_pylist()}
    return bool(words) and words <= RIGHT | WRONG


def _recognise(texts: pa.StringArray, numbers: npt.NDArray[np.float64], weights: npt.NDArray[np.int64]) -> tuple[Scale, bool, str]:
    finite = np.isfinite(numbers)
    rows = int(weights[finite].sum())
    if rows == 0:
        return "unit", False, "No cell of the column is a number."
    above = int(weights[finite & (numbers > 1)].sum())
    top = float(numbers[finite].max())
    if len(texts) <= 1000 and any(t.strip().endswith("%") for t in texts.to_pylist()):
        return "percent", True, "Scores carry a percent sign."
    if above == 0:
        return "unit", True, f"All {rows:,} scores are at most {top:g}."
    if above >= MOSTLY * rows and top <= 100:
        return "percent", True, f"{above:,} of {rows:,} scores lie above 1 and none above 100 (largest {top:g})."
    if above <= FEW * rows:
        return "unit", True, f"Only {above:,} of {rows:,} scores lie above 1; they are rejected, not clamped."
    return "unit", False, f"{above:,} of {rows:,} scores lie above 1 (largest {top:g}): neither 0 to 1 nor 0 to 100 fits all of them."
