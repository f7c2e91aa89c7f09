"""The seed validation table: what was tested, per slice (SliceNav, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from core.digest import sha256_json
from core.errors import InputError
from core.odd import Codes, Odd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SeedTable:
    """Tested slices with their support and mean score, in the order of their ids.

    Attributes:
        odd: The domain whose codec numbers the slices.
        codes: (S, K) slices; may hold extended values.
        n: (S,) samples per slice, all positive.
        mean: (S,) mean score in [0, 1], 1 is right.
        variance: (S,) sample variance of the scores (ddof 1), NaN where it is not known.
        n_assumed: True where the file gave no counts and the user named one.
    """

    odd: Odd
    codes: Codes
    n: Ints
    mean: Floats
    variance: Floats
    n_assumed: bool = False

    def __post_init__(self) -> None:
        ids = self.odd.codec.encode(self.codes)
        if np.any(np.diff(ids) <= 0):
            raise ValueError("SeedTable needs each slice once, in the order of the ids.")
        if np.any(self.n <= 0) or not np.all((self.mean >= 0) & (self.mean <= 1)):
            raise ValueError("SeedTable needs n > 0 and mean scores in [0, 1].")

    @cached_property
    def ids(self) -> Ints:
        """(S,) slice ids, ascending."""
        return self.odd.codec.encode(self.codes)

    @property
    def error(self) -> Floats:
        """(S,) error rate epsilon = 1 - mean score (SliceNav, Eq. 7)."""
        return 1.0 - self.mean

    @property
    def total(self) -> int:
        """Total support over all slices."""
        return int(self.n.sum())

    @property
    def in_base(self) -> npt.NDArray[np.bool_]:
        """(S,) whether each slice lies inside the ODD."""
        return self.odd.base_space.contains(self.codes)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of slices, counts and means; does not depend on the order of the rows of the file."""
        return sha256_json(
            {
                "odd": self.odd.hash,
                "ids": self.ids.tolist(),
                "n": self.n.tolist(),
                "mean": [float(x).hex() for x in self.mean],
                "variance": ["nan" if math.isnan(x) else float(x).hex() for x in self.variance],
                "n_assumed": self.n_assumed,
            }
        )

    def select(self, mask: npt.NDArray[np.bool_]) -> SeedTable:
        """The rows of the mask (S,) as a table of their own."""
        return SeedTable(self.odd, self.codes[mask], self.n[mask], self.mean[mask], self.variance[mask], self.n_assumed)

    @classmethod
    def from_slices(
        cls, odd: Odd, slices: Sequence[Mapping[str, str]], n: Sequence[int], mean: Sequence[float], n_assumed: bool = False
    ) -> SeedTable:
        """A table from named slices in any order; dimensions left out take their only base value.

        Raises:
            InputError: A value is unknown, a slice stands there twice, or an open dimension is left out.
        """
        default = [d.base[0].name if not d.active else None for d in odd.dimensions]
        rows = []
        for s in slices:
            names = [s.get(d.name, default[k]) for k, d in enumerate(odd.dimensions)]
            if None in names:
                raise InputError(f"A slice needs a value for {odd.names[names.index(None)]}.")
            rows.append(odd.codec.encode_names([str(x) for x in names]))
        if len(set(rows)) != len(rows):
            raise InputError("A slice stands there twice.")
        order = np.argsort(np.array(rows, dtype=np.int64))
        codes = odd.codec.decode(np.array(rows, dtype=np.int64)[order]) if rows else np.empty((0, len(odd.names)), np.int32)
        return cls(
            odd,
            codes,
            np.asarray(n, dtype=np.int64)[order],
            np.asarray(mean, dtype=np.float64)[order],
            np.full(len(rows), np.nan),
            n_assumed,
        )

    def to_records(self) -> list[dict[str, Any]]:
        """One mapping per slice: its values by dimension, n, mean and variance (None where unknown)."""
        names = self.odd.codec.names(self.codes)
        return [
            {**dict(zip(self.odd.names, vals, strict=True)), "n": int(n), "mean": float(m), "variance": None if math.isnan(v) else float(v)}
            for vals, n, m, v in zip(names, self.n, self.mean, self.variance, strict=True)
        ]
