"""Similarity as a sum of value-by-value contributions, one small integer table a dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from core.digest import sha256_json
from core.errors import InputError, Problem
from core.odd import Codes, Odd
from core.similarity.base import UNIT, Units

UNCOVERED = int(np.iinfo(np.int32).min)
"""Marks the entries of a value that the tables say nothing about; never summed, asking for it raises."""

_ROWS = 2_048
"""Rows summed at once: the partial block stays in the processor's cache."""


@dataclass(frozen=True, eq=False)
class SimilarityTables:
    """Additive similarity: sim(s, t) = clip(sum_k T_k[s_k, t_k], 0, UNIT), an integer sum that no order can change.

    Two equal slices give exactly UNIT in the modes "factored" and "exact". In the mode "calibrated" they give what the
    fit gives, usually a little less than UNIT: the tables approximate a cosine that is not additive. No score rests on
    it, since a missing slice is never among the observed ones.

    Attributes:
        mode: "calibrated", "factored" or "exact".
        odd: The domain whose codes are looked up.
        dims: Positions of the dimensions that count, ascending.
        tables: For each of `dims`, symmetric contributions (V_k, V_k) in units of 1e-6 over the codec's codes (values by name).
        model: Text encoder that the tables were made with, "" if none.
        quality: What is known of the fit.
        cosines: Mode "factored": the cosines (V_k, V_k) in units of 1e-6 whose mean the similarity is, so that another
            choice of dimensions gives its mean exactly.
    """

    mode: str
    odd: Odd
    dims: tuple[int, ...]
    tables: tuple[Units, ...]
    model: str = ""
    quality: Mapping[str, Any] = field(default_factory=dict)
    cosines: tuple[Units, ...] = ()

    def __post_init__(self) -> None:
        if not self.dims or len(self.dims) != len(self.tables) or list(self.dims) != sorted(set(self.dims)):
            raise ValueError("SimilarityTables needs one table for each of its dimensions, in ascending order.")
        for k, t in zip(self.dims, self.tables, strict=True):
            size = self.odd.codec.sizes[k]
            if t.shape != (size, size) or t.dtype != np.int32 or not np.array_equal(t, t.T):
                raise ValueError(f"The table of {self.odd.names[k]} must be symmetric int32 ({size}, {size}); got {t.dtype} {t.shape}.")

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the dimensions that count."""
        return tuple(self.odd.names[k] for k in self.dims)

    @cached_property
    def covered(self) -> tuple[npt.NDArray[np.bool_], ...]:
        """For each of `dims`, whether each code has entries."""
        return tuple(t.diagonal() != UNCOVERED for t in self.tables)

    @cached_property
    def covered_values(self) -> tuple[tuple[str, ...], ...]:
        """For each of `dims`, the names of the values that have entries."""
        names = self.odd.codec.values
        return tuple(tuple(names[k][c] for c in np.flatnonzero(ok)) for k, ok in zip(self.dims, self.covered, strict=True))

    @cached_property
    def held(self) -> tuple[list[list[int]], ...]:
        """For each of `dims`, the entries of the covered values: cosines in the mode "factored", else contributions."""
        source = self.cosines or self.tables
        return tuple(t[np.ix_(ok, ok)].tolist() for t, ok in zip(source, self.covered, strict=True))

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of mode, model, dimensions, values and entries; the same before and after a file."""
        return tables_digest(self.mode, self.model, self.used, self.covered_values, self.held)

    def matrix(self, a: Codes, b: Codes) -> Units:
        """Similarities (len(a), len(b)) in units of 1e-6 of slices (n, K) and (p, K).

        Raises:
            InputError: A slice has a value that the tables do not cover; every such value is named.
        """
        a, b = np.asarray(a), np.asarray(b)
        self.check(a, b)
        n, p = len(a), len(b)
        out = np.zeros((n, p), dtype=np.int32)
        if not out.size:
            return out
        columns = [np.ascontiguousarray(t[:, b[:, k]]) for k, t in zip(self.dims, self.tables, strict=True)]
        buffer = np.empty((min(n, _ROWS), p), dtype=np.int32)
        for start in range(0, n, _ROWS):
            block = out[start : start + _ROWS]
            part = buffer[: len(block)]
            for k, column in zip(self.dims, columns, strict=True):
                # mode="clip" writes straight into the buffer; the codes were checked above.
                np.take(column, a[start : start + _ROWS, k], axis=0, out=part, mode="clip")
                block += part
            np.clip(block, 0, UNIT, out=block)
        return out

    def check(self, *slices: Codes) -> None:
        """Raise unless every value of the slices (n, K) is covered.

        Raises:
            InputError: Names each value that is not.
        """
        problems = []
        for k, ok, known in zip(self.dims, self.covered, self.covered_values, strict=True):
            seen = np.zeros(ok.size, dtype=bool)
            for codes in slices:
                column = codes[:, k]
                if column.size and column.min() < 0:
                    raise ValueError("Codes are never negative.")
                seen[column] = True
            name = self.odd.names[k]
            problems += [Problem(None, name, self.odd.codec.values[k][c], ", ".join(known)) for c in np.flatnonzero(seen & ~ok)]
        if problems:
            raise InputError(
                f"The {self.mode} similarity tables do not cover {len(problems)} value{'s' * (len(problems) > 1)} of these slices. "
                "Leave such slices out, use tables of the whole vocabulary, or choose the similarity text or exact.",
                problems,
            )

    def bind(self, odd: Odd, dims: Sequence[int] | None = None) -> SimilarityTables:
        """The same tables over the codes of another ODD, matched by the names of dimensions and values.

        Args:
            odd: May have other values (not covered then), further dimensions, or fewer.
            dims: Positions in `odd` that shall count; by default those in use here that `odd` has.

        Raises:
            InputError: The mode cannot give the similarity over those dimensions exactly.
        """
        wanted = [n for n in odd.names if n in self.used] if dims is None else [odd.names[k] for k in sorted(set(dims))]
        places = [k for k, n in enumerate(odd.names) if n in set(wanted)]
        if self.mode == "exact":
            return exact_similarity(odd, places)
        fits = bool(wanted) and (set(wanted) == set(self.used) if self.mode == "calibrated" else set(wanted) <= set(self.used))
        if not fits:
            asked = ", ".join(wanted) or "(none)"
            raise InputError(
                f"These {self.mode} tables were made for the dimensions {', '.join(self.used)}; asked for: {asked}. "
                "Fit tables for these dimensions, or choose the similarity text or exact."
            )
        source = dict(zip(self.used, self.cosines or self.tables, strict=True))
        code_of = dict(zip(self.odd.names, self.odd.codec.code_of, strict=True))
        moved = tuple(_moved(source[n], code_of[n], odd.codec.values[k]) for k in places for n in (odd.names[k],))
        if self.mode == "factored":
            return mean_of_cosines(odd, places, moved, self.model, self.quality)
        return SimilarityTables(self.mode, odd, tuple(places), moved, self.model, self.quality)

    def provenance(self) -> dict[str, Any]:
        """Mode, model, dimensions, fingerprint and quality of the tables."""
        return {
            "mode": self.mode,
            "model": self.model or None,
            "dimensions": list(self.used),
            "tables_sha256": self.sha256,
            "quality": dict(self.quality),
        }


def tables_digest(mode: str, model: str, dims: Sequence[str], values: Sequence[Sequence[str]], tables: Sequence[list[list[int]]]) -> str:
    """SHA-256 of tables by the names of their dimensions and values."""
    return sha256_json([mode, model, list(dims), [list(v) for v in values], list(tables)])


def _moved(table: Units, code_of: Mapping[str, int], values: Sequence[str]) -> Units:
    """A table over `values`, entries of unknown ones marked as uncovered."""
    out = np.full((len(values), len(values)), UNCOVERED, dtype=np.int32)
    here = [c for c, v in enumerate(values) if v in code_of]
    there = [code_of[values[c]] for c in here]
    out[np.ix_(here, here)] = table[np.ix_(there, there)]
    return out


def _share(k: int) -> int:
    """Contribution of one of K equal values, rounded up so that K of them reach UNIT; the sum is clipped there."""
    return -(-UNIT // k)


def exact_similarity(odd: Odd, dims: Sequence[int]) -> SimilarityTables:
    """Share of equal values; needs no text and no model.

    j equal values of K give j ceil(UNIT / K): every choice of j dimensions ties exactly, K of them are clipped to UNIT, and
    the sum is less than K units above j / K, never below it (so a threshold of j / K lets them pass).

    Args:
        odd: Declares the values.
        dims: Positions of the dimensions that count.

    Raises:
        InputError: No dimension is given.
    """
    picked = tuple(sorted(set(dims)))
    if not picked:
        raise InputError("Similarity needs at least one dimension.")
    tables = tuple(np.eye(odd.codec.sizes[k], dtype=np.int32) * np.int32(_share(len(picked))) for k in picked)
    return SimilarityTables("exact", odd, picked, tables)


def mean_of_cosines(odd: Odd, dims: Sequence[int], cosines: Sequence[Units], model: str, quality: Mapping[str, Any]) -> SimilarityTables:
    """Mode "factored": the mean over the dimensions of the cosine of their value texts.

    Args:
        odd: Declares the values.
        dims: Positions of the dimensions that count, ascending.
        cosines: For each of `dims`, cosines (V_k, V_k) in units of 1e-6, UNIT on the diagonal or `UNCOVERED`.
        model: Text encoder of the cosines.
        quality: What is known of them.
    """
    tables = []
    for c in cosines:
        t = np.rint(c / len(dims)).astype(np.int32)
        t[c == UNIT] = _share(len(dims))
        t[c == UNCOVERED] = UNCOVERED
        tables.append(t)
    return SimilarityTables("factored", odd, tuple(dims), tuple(tables), model, quality, tuple(cosines))
