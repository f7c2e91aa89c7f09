"""The Operational Design Domain: dimensions with finite values (SliceNav, section 3.2 and Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from core.digest import sha256_json
from core.errors import InputError
from core.odd.codec import SliceCodec, SliceSpace

Tier = Literal["base", "extended"]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Value:
    """One value of a dimension.

    Attributes:
        name: Canonical name, as written in tables and results.
        tier: "base" lies inside the ODD, "extended" outside it.
        parent: Base value that an extended one refines, "" if none (advisory, see SliceNav section 3.5).
        definition: What a labeller should see to give this value.
        synonyms: Other spellings that are read as this value.
        concept: Our pointer to the concept in the standards.
    """

    name: str
    tier: Tier = "base"
    parent: str = ""
    definition: str = ""
    synonyms: tuple[str, ...] = ()
    concept: str = ""


@dataclass(frozen=True)
class Dimension:
    """One axis of the ODD, such as the weather, with its finite set of values.

    Attributes:
        name: Identifier, used as column name.
        label: Name for people.
        values: In the order of the document.
        standards: Clause per standard ("iso34503", "iso21448", "sae_j3016"), at the level of SliceNav Table 3.
        extendable: False where a query may not add values (the question category).
    """

    name: str
    label: str
    values: tuple[Value, ...]
    standards: Mapping[str, str] = field(default_factory=dict)
    extendable: bool = True

    @cached_property
    def by_name(self) -> dict[str, Value]:
        """Value of each name."""
        return {v.name: v for v in self.values}

    @cached_property
    def base(self) -> tuple[Value, ...]:
        """Values inside the ODD."""
        return tuple(v for v in self.values if v.tier == "base")

    @property
    def active(self) -> bool:
        """Whether the base ODD distinguishes anything along this dimension (two or more base values)."""
        return len(self.base) > 1


@dataclass(frozen=True)
class Odd:
    """A declared operating domain.

    Attributes:
        name: Short name, "driving" for the built-in one.
        version: Version of the document.
        dimensions: In the order in which a slice is written.
        extras: The rest of the document (notes, unsupported terms, proxies, implausible rules), kept for its readers.
        source: "built-in", "inferred" or "own".
    """

    name: str
    version: int
    dimensions: tuple[Dimension, ...]
    extras: Mapping[str, Any] = field(default_factory=dict)
    source: str = "own"

    @cached_property
    def by_name(self) -> dict[str, Dimension]:
        """Dimension of each name."""
        return {d.name: d for d in self.dimensions}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all dimensions in order."""
        return tuple(d.name for d in self.dimensions)

    @cached_property
    def codec(self) -> SliceCodec:
        """Codec over the whole vocabulary, both tiers, so that a slice has one id whatever is being ranked."""
        return SliceCodec(self.names, tuple(tuple(sorted(d.by_name)) for d in self.dimensions))

    @cached_property
    def base_space(self) -> SliceSpace:
        """The in-ODD slice universe S_ODD (SliceNav, Eq. 1)."""
        return self.codec.space([[v.name for v in d.base] for d in self.dimensions])

    @cached_property
    def active(self) -> tuple[int, ...]:
        """Positions of the dimensions that the base ODD distinguishes."""
        return tuple(k for k, d in enumerate(self.dimensions) if d.active)

    @cached_property
    def is_base(self) -> tuple[npt.NDArray[np.bool_], ...]:
        """For each dimension, whether each code is a base value."""
        return tuple(
            np.array([d.by_name[v].tier == "base" for v in vals]) for d, vals in zip(self.dimensions, self.codec.values, strict=True)
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the whole document; any edit gives another one, also a change of the order of the dimensions."""
        from core.odd.document import to_document

        return sha256_json({"order": self.names, **to_document(self)})  # the JSON sorts its keys, but ids rest on the order

    def restricted(self, names: Sequence[str]) -> Odd:
        """The same ODD with only some dimensions, in the order of the document.

        Raises:
            InputError: A name is not a dimension, or none is given.
        """
        unknown = [n for n in names if n not in self.by_name]
        if unknown or not names:
            raise InputError(f"Unknown dimension {', '.join(unknown) or '(none given)'}; allowed: {', '.join(self.names)}.")
        if set(names) == set(self.names):
            return self
        keep = tuple(d for d in self.dimensions if d.name in set(names))
        extras = dict(self.extras)
        if rules := extras.get("implausible", {}).get("rules"):
            inside = [r for r in rules if set(r["all_of"]) <= {d.name for d in keep}]
            extras["implausible"] = {**extras["implausible"], "rules": inside}
        return replace(self, name=f"{self.name}[{','.join(d.name for d in keep)}]", dimensions=keep, extras=extras)

    def with_values(self, added: Mapping[str, Sequence[str]]) -> Odd:
        """The same ODD with further base values, under a new hash.

        Raises:
            InputError: A dimension does not exist, or a value is already there.
        """
        dims = []
        for name in added:
            if name not in self.by_name:
                raise InputError(f'Unknown dimension "{name}"; allowed: {", ".join(self.names)}.')
        for d in self.dimensions:
            new = [v for v in added.get(d.name, ()) if v not in d.by_name]
            dims.append(replace(d, values=d.values + tuple(Value(v) for v in new)))
        return replace(self, dimensions=tuple(dims), source="own", name=self.name if self.source == "own" else f"{self.name}-edited")
