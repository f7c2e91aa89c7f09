"""Which slices may be recommended: inside the ODD, outside it, or both (SliceNav, section 3.5, Eq. 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from core.errors import InputError
from core.odd import Odd, SliceSpace

Kind = Literal["in", "out", "both"]

ALL = "all"
"""Stands for every extended value, of the ODD or of one dimension."""


@dataclass(frozen=True)
class Scope:
    """The slices that a ranking chooses from, before any filter.

    Attributes:
        kind: "in": slices of base values. "out": slices with at least one extended value. "both": S+(q) of Eq. 9.
        extend: Extended values that are added to the base values, by dimension; nothing for "in".
    """

    kind: Kind = "in"
    extend: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def outside(self) -> bool:
        """Whether slices beyond the ODD are among them."""
        return self.kind != "in"

    def dims(self, odd: Odd) -> tuple[int, ...]:
        """Positions of the dimensions that are compared and written out: the active ones inside the ODD, all outside it."""
        return tuple(range(len(odd.names))) if self.outside else odd.active or tuple(range(len(odd.names)))

    def values(self, odd: Odd) -> list[list[str]]:
        """Values of each dimension, base values first: V_k+(q)."""
        return [[v.name for v in d.base] + list(self.extend.get(d.name, ())) for d in odd.dimensions]

    def space(self, odd: Odd) -> SliceSpace:
        """The product of the values. For the kind "out" it holds slices inside the ODD too, which the search leaves out."""
        return odd.codec.space(self.values(odd))

    def as_dict(self) -> dict[str, Any]:
        """The scope as JSON-ready data."""
        return {"kind": self.kind, "extend": {k: list(v) for k, v in self.extend.items()}}

    def __hash__(self) -> int:
        return hash((self.kind, tuple(sorted(self.extend.items()))))


IN_ODD = Scope()
"""The missing slices of the ODD."""


def make_scope(odd: Odd, kind: str, extend: Sequence[str] = ()) -> Scope:
    """A scope from texts, as given on the command line or in an address.

    Args:
        odd: Declares the extended values.
        kind: "in", "out" or "both".
        extend: "all", a dimension for all its extended values, or "dimension=value,value"; several add up. Nothing means all.

    Raises:
        InputError: A word is unknown, or nothing lies outside the ODD.
    """
    if kind not in get_args(Kind):
        raise InputError(f'The scope is "{kind}"; allowed: in, out, both.')
    if kind == "in":
        if extend:
            raise InputError("Values are added to the ODD only out of it: take the scope out or both with an extension.")
        return IN_ODD
    known = {d.name: [v.name for v in d.values if v.tier == "extended"] for d in odd.dimensions}
    if not any(known.values()):
        raise InputError(f'The ODD "{odd.name}" declares no values outside itself, so there is nothing to extend it with.')
    chosen: dict[str, list[str]] = {}
    for item in extend or (ALL,):
        name, sign, rest = item.partition("=")
        name = name.strip()
        if name == ALL and not sign:
            wanted = known
        elif name not in known:
            raise InputError(f'The extension names "{name}"; dimensions are {", ".join(odd.names)}, or {ALL}.')
        elif not sign or rest.strip() == ALL:
            wanted = {name: known[name]}
        else:
            wanted = {name: [v.strip() for v in rest.split(",") if v.strip()]}
            base = {v.name for v in odd.by_name[name].base}
            unknown = [v for v in wanted[name] if v not in known[name]]
            if unknown or not wanted[name]:
                inside = [v for v in unknown if v in base]
                hint = f" {', '.join(inside)} lies inside the ODD already." if inside else ""
                raise InputError(
                    f'The extension of {name} has "{", ".join(unknown)}"; extended values are {", ".join(known[name]) or "none"}.{hint}'
                )
        for dim, values in wanted.items():
            chosen.setdefault(dim, []).extend(values)
    picked = {d: tuple(v for v in known[d] if v in set(chosen[d])) for d in odd.names if chosen.get(d)}
    if not any(picked.values()):
        raise InputError(f"{', '.join(extend)}: there are no extended values in these dimensions.")
    return Scope(kind, picked)  # type: ignore[arg-type]  # checked above
