"""Matching scores: how far each unit satisfies a hypothesis, between 0 and 1 (GH-ESD, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from core.error_slices.detections import FloatArray, IntArray

ScoreSource = Literal["geometric", "logprob", "sampled", "verbalised"]
SOURCES: Mapping[ScoreSource, str] = {
    "geometric": "computed from boxes and pixels; anchored at a threshold, not a probability that a person would say yes",
    "logprob": "yes and no of a vision model, from its token probabilities",
    "sampled": "share of yes among sampled answers of a vision model; uncalibrated",
    "verbalised": "confidence that a vision model named in words; uncalibrated",
}
Flag = Literal["", "low_mass", "censored", "no_yes_no_token", "failed"]


@dataclass(frozen=True, eq=False)
class Scores:
    """Matching scores of one hypothesis from one source, m units; sources are never mixed in one hypothesis.

    Attributes:
        hypothesis_id: Of what.
        units: Shape (m,): indices into the units.
        c: Shape (m,): between 0 and 1; NaN where it cannot be told, which is left out and counted.
        logit: Shape (m,): log(c / (1 - c)) without the rounding of c; what is sorted by, since c saturates.
        source: How it was found.
        matcher: Name and version of the matcher, or model and version of the prompt.
        flags: Shape (m,): values of `Flag`.
        counts: What a screen should say, e.g. how many are censored.
        weight: Shape (m,): how many units each scored one stands for, where units were sampled before a model was asked; None for 1 each.
    """

    hypothesis_id: str
    units: IntArray
    c: FloatArray
    logit: FloatArray
    source: ScoreSource
    matcher: str
    flags: np.ndarray
    counts: Mapping[str, int] = field(default_factory=dict)
    weight: FloatArray | None = None
