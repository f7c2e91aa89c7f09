"""A slice as a sentence for the text encoder. The paper prints no template; this one is ours (docs/fidelity.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from core.odd.model import Odd

TEMPLATE = "<dimension>: <value>, <dimension>: <value>, ... with _ read as a space"
"""Written into every manifest that rests on text embeddings."""


def _plain(name: str) -> str:
    return name.replace("_", " ")


def value_text(dimension: str, value: str) -> str:
    """Text of one value, such as "time: night"."""
    return f"{_plain(dimension)}: {_plain(value)}"


def slice_text(odd: Odd, codes: npt.NDArray[np.integer], dims: Sequence[int]) -> list[str]:
    """Texts of slices.

    Args:
        odd: Declares the names.
        codes: (n, K) slices.
        dims: Positions of the dimensions that are written, in order: the active ones in-ODD, all out of it.

    Returns:
        n texts, such as "weather visibility: foggy, time: night".
    """
    parts = {k: [value_text(odd.names[k], v) for v in odd.codec.values[k]] for k in dims}
    return [", ".join(parts[k][row[k]] for k in dims) for row in np.asarray(codes).tolist()]
