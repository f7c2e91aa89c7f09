"""Slices as integers: mixed-radix ids whose order is the lexicographic order of the tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from core.errors import InputError

MAX_SIZE = 2**63
"""An id is a signed 64-bit integer, so a vocabulary may span at most this many slices."""


@dataclass(frozen=True)
class SliceCodec:
    """Two-way map between slices and ids over a whole vocabulary.

    A slice is an array of K codes; code c of dimension k is the c-th of its values in the order of their names. The last
    dimension varies fastest, so ids sort as the tuples of names do.

    Attributes:
        dimensions: (K,) names.
        values: (K,) tuples of value names, each sorted.

    Raises:
        InputError: The vocabulary spans more than 2^63 slices, or a dimension has no value.
    """

    dimensions: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        sizes = [len(v) for v in self.values]
        if not sizes or min(sizes) == 0:
            raise InputError("An ODD needs at least one dimension, and each dimension at least one value.")
        if prod(sizes) > MAX_SIZE:
            spans = " × ".join(map(str, sizes))
            raise InputError(
                f"{spans} values make {prod(sizes):.2e} slices; at most 2^63 can be numbered. Use fewer dimensions or merge values."
            )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """(K,) number of values."""
        return tuple(len(v) for v in self.values)

    @property
    def size(self) -> int:
        """Number of slices of the whole vocabulary."""
        return prod(self.sizes)

    @cached_property
    def radix(self) -> npt.NDArray[np.int64]:
        """(K,) weight of one step in each dimension."""
        out = [1]
        for s in self.sizes[:0:-1]:
            out.append(out[-1] * s)
        return np.array(out[::-1], dtype=np.int64)

    @cached_property
    def code_of(self) -> tuple[dict[str, int], ...]:
        """For each dimension, the code of each value name."""
        return tuple({v: i for i, v in enumerate(vals)} for vals in self.values)

    def encode(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Ids (n,) of slices given as codes (n, K)."""
        codes = np.asarray(codes)
        out = np.zeros(codes.shape[0], dtype=np.int64)
        for k, r in enumerate(self.radix):
            out += codes[:, k].astype(np.int64) * r
        return out

    def decode(self, ids: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Codes (n, K) of slices given as ids (n,).

        Raises:
            InputError: An id lies outside the vocabulary.
        """
        rest = np.atleast_1d(np.asarray(ids, dtype=np.int64))
        if rest.size and (rest.min() < 0 or int(rest.max()) >= self.size):
            raise InputError(f"Slice ids run from 0 to {self.size - 1}; got {rest.min()} to {rest.max()}.")
        out = np.empty((rest.size, len(self.sizes)), dtype=np.int32)
        for k, r in enumerate(self.radix):
            out[:, k], rest = np.divmod(rest, r)
        return out

    def encode_names(self, names: Sequence[str]) -> int:
        """Id of one slice given as value names.

        Raises:
            InputError: A name is not a value of its dimension.
        """
        if len(names) != len(self.dimensions):
            raise InputError(f"A slice has {len(self.dimensions)} values ({', '.join(self.dimensions)}); got {len(names)}.")
        row = []
        for dim, table, name in zip(self.dimensions, self.code_of, names, strict=True):
            if name not in table:
                raise InputError(f'Dimension "{dim}": got "{name}"; allowed: {", ".join(table)}.')
            row.append(table[name])
        return int(self.encode(np.array([row]))[0])

    def names(self, codes: npt.NDArray[np.integer]) -> list[tuple[str, ...]]:
        """Value names of slices given as codes (n, K)."""
        return [tuple(self.values[k][c] for k, c in enumerate(row)) for row in np.asarray(codes).tolist()]

    def space(self, allowed: Sequence[Sequence[str]]) -> SliceSpace:
        """The product of some values of each dimension, given by name."""
        picked = []
        for dim, table, names in zip(self.dimensions, self.code_of, allowed, strict=True):
            unknown = [n for n in names if n not in table]
            if unknown:
                raise InputError(f'Dimension "{dim}": got "{unknown[0]}"; allowed: {", ".join(table)}.')
            picked.append(np.array(sorted({table[n] for n in names}), dtype=np.int32))
        return SliceSpace(self, tuple(picked))


@dataclass(frozen=True, eq=False)
class SliceSpace:
    """A Cartesian product of allowed values, enumerated in the order of the ids.

    Attributes:
        codec: Numbers the slices.
        allowed: (K,) arrays of codes, each ascending.
    """

    codec: SliceCodec
    allowed: tuple[npt.NDArray[np.int32], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """(K,) number of allowed values."""
        return tuple(len(a) for a in self.allowed)

    @property
    def size(self) -> int:
        """Number of slices in the space."""
        return prod(self.sizes)

    def contains(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Whether each of the slices (n, K) lies in the space."""
        ok = np.ones(codes.shape[0], dtype=bool)
        for k, allowed in enumerate(self.allowed):
            member = np.zeros(self.codec.sizes[k], dtype=bool)
            member[allowed] = True
            ok &= member[codes[:, k]]
        return ok

    def chunks(self, rows: int = 65_536) -> Iterator[npt.NDArray[np.int32]]:
        """All slices as blocks of codes (at most `rows`, K), ids ascending."""
        for start in range(0, self.size, rows):
            flat = np.arange(start, min(start + rows, self.size), dtype=np.int64)
            block = np.empty((flat.size, len(self.sizes)), dtype=np.int32)
            for k in range(len(self.sizes) - 1, -1, -1):
                flat, digit = np.divmod(flat, self.sizes[k])
                block[:, k] = self.allowed[k][digit]
            yield block
