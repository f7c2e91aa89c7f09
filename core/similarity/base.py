"""What the scorer needs of a similarity between slices."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from core.odd import Codes

UNIT = 1_000_000
"""Similarities are integers in units of 1e-6, so that sums do not depend on their order and ties are exact."""

Units = npt.NDArray[np.int32]

MODES = ("text", "calibrated", "factored", "exact")
"""text: cosine of the two texts, the paper's; calibrated: value tables fitted to it; factored: mean cosine of the value texts;
exact: share of equal values."""


class Similarity(Protocol):
    """Similarity of slices in [0, 1], rounded to 1e-6 (SliceNav, section 3.4, sim(s, s'))."""

    @property
    def mode(self) -> str:
        """One of `MODES`."""
        ...

    def matrix(self, a: Codes, b: Codes) -> Units:
        """Similarities (len(a), len(b)) in units of 1e-6, from 0 to 1,000,000, of slices (n, K) and (p, K)."""
        ...

    def provenance(self) -> dict[str, Any]:
        """What the manifest must say: mode, model, table hash, fit quality, dimensions used."""
        ...
