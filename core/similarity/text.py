"""Similarity of slices by the cosine of their texts, made independent of machine, threads and order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.odd import Codes, Odd, SliceSpace, slice_text
from core.odd.text import TEMPLATE
from core.similarity.base import UNIT, Units
from core.similarity.encoder import Encoder, Progress

MAX_TEXTS = 100_000
"""More distinct texts than this are not embedded: about half an hour of encoding on two cores."""

_SCALE = 2**20
_ROWS = 8_192


def quantise(vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """Components of unit vectors (n, D) as integers in units of 2^-20, held in float32 (exact up to 2^24).

    A product of two such components is an integer, and by Cauchy-Schwarz every partial sum of a dot product stays near
    2^40, far below 2^53: in float64 the sum is exact in whatever order, block or thread it is formed.
    """
    return np.rint(vectors.astype(np.float64) * _SCALE).astype(np.float32)


def cosines(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> Units:
    """Cosines (n, p) of quantised unit vectors (n, D), (p, D), in units of 1e-6, clipped to 0..UNIT."""
    dot = a.astype(np.float64) @ b.astype(np.float64).T
    dot *= UNIT / _SCALE**2
    np.clip(np.rint(dot, out=dot), 0, UNIT, out=dot)
    return dot.astype(np.int32)


@dataclass(frozen=True, eq=False)
class TextSimilarity:
    """Cosine similarity of the texts of slices: the paper's choice (SliceNav, section 4, experimental protocol).

    A slice and itself give UNIT up to the rounding of the vectors (a few units of 1e-6 below it at most, typically 0 or 1).

    Attributes:
        odd: The domain whose codes are looked up.
        dims: Positions of the dimensions that the texts name, ascending.
        keys: (n,) ids of the slices that have a vector, ascending, codes of the other dimensions read as 0.
        vectors: (n, D) quantised vectors, see `quantise`.
        model: Name and fingerprint of the encoder.
    """

    odd: Odd
    dims: tuple[int, ...]
    keys: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float32]
    model: str

    @property
    def mode(self) -> str:
        """Always "text"."""
        return "text"

    def matrix(self, a: Codes, b: Codes) -> Units:
        """Similarities (len(a), len(b)) in units of 1e-6 of slices (n, K) and (p, K).

        Raises:
            InputError: A slice is not among those that were embedded.
        """
        rows, columns = self._places(a), self._places(b)
        right = self.vectors[columns]
        out = np.empty((len(rows), len(columns)), dtype=np.int32)
        for start in range(0, len(rows), _ROWS):
            out[start : start + _ROWS] = cosines(self.vectors[rows[start : start + _ROWS]], right)
        return out

    def _places(self, codes: Codes) -> npt.NDArray[np.intp]:
        wanted = _keys(self.odd, self.dims, np.asarray(codes))
        places = np.searchsorted(self.keys, wanted)
        known = places < len(self.keys)
        known[known] = self.keys[places[known]] == wanted[known]
        if not known.all():
            first = slice_text(self.odd, np.asarray(codes)[~known][:1], self.dims)[0]
            count = int((~known).sum())
            raise InputError(f'{count:,} slices were not embedded, the first is "{first}". Build the text similarity over them too.')
        return places

    def provenance(self) -> dict[str, Any]:
        """Mode, model, text template, dimensions and number of embedded texts."""
        return {
            "mode": "text",
            "model": self.model,
            "dimensions": [self.odd.names[k] for k in self.dims],
            "template": TEMPLATE,
            "texts": len(self.keys),
        }


def count_texts(dims: Sequence[int], needed: Sequence[Codes | SliceSpace]) -> int:
    """Upper bound of the number of distinct texts of some slices; a space is counted without being enumerated."""
    return sum(prod(n.sizes[k] for k in dims) if isinstance(n, SliceSpace) else len(n) for n in needed)


def text_similarity(
    odd: Odd, dims: Sequence[int], needed: Sequence[Codes | SliceSpace], encoder: Encoder, progress: Progress | None = None
) -> TextSimilarity:
    """Text similarity over all slices that will be compared, each distinct text embedded once through the cache.

    Args:
        odd: Declares the names.
        dims: Positions of the dimensions that the texts name.
        needed: Codes (n, K) or whole spaces of slices: candidates and observed.
        encoder: Gives the vectors.
        progress: Called with (texts done, texts in all).

    Raises:
        InputError: More than `MAX_TEXTS` texts, or no dimension.
        MissingPackageError: The encoder needs a package that is not installed.
    """
    picked = tuple(sorted(set(dims)))
    if not picked:
        raise InputError("Similarity needs at least one dimension.")
    count = count_texts(picked, needed)
    if count > MAX_TEXTS:
        raise InputError(
            f"Text similarity would have to embed {count:,} texts; at most {MAX_TEXTS:,} are. Choose calibrated (value tables fitted to "
            "a sample of the texts), exact, fewer dimensions, or a filter that leaves fewer candidates."
        )
    parts = [_keys(odd, picked, codes) for codes in _blocks(picked, needed)]
    keys = np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
    texts = slice_text(odd, odd.codec.decode(keys), picked) if keys.size else []
    return TextSimilarity(odd, picked, keys, quantise(encoder.encode(texts, progress)), encoder.model_id)


def _blocks(dims: tuple[int, ...], needed: Sequence[Codes | SliceSpace]) -> Iterator[Codes]:
    for n in needed:
        if isinstance(n, SliceSpace):
            # Dimensions that the texts do not name need no more than one value each.
            small = tuple(c if k in dims else c[:1] for k, c in enumerate(n.allowed))
            yield from SliceSpace(n.codec, small).chunks()
        else:
            yield np.asarray(n)


def _keys(odd: Odd, dims: tuple[int, ...], codes: Codes) -> npt.NDArray[np.int64]:
    """Ids (n,) of slices (n, K) that agree along `dims` are equal."""
    kept = np.zeros_like(codes)
    kept[:, dims] = codes[:, dims]
    return odd.codec.encode(kept)
