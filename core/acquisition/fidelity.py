"""Whether what is known of a sample fits the slice that was asked for, dimension by dimension (SliceNav, appendix J)."""

from __future__ import annotations

from collections.abc import Mapping

from core.acquisition.candidates import Flag, Verdict
from core.odd import Odd

Tag = str | tuple[str, ...] | None
"""What is known along one dimension: a value, several that it may be, or nothing."""

UNSPECIFIED = "unspecified"
"""Says that no statement is made. Asked for, it is met by silence; as a tag of any other dimension it settles nothing."""


def flag_of(odd: Odd, dimension: str, requested: str, tag: Tag) -> Flag:
    """How a tag stands to a requested value.

    A parent or a child of the requested value is ambiguous: rain may have been the heavy rain that was asked for. So are
    several values, unless none of them can be the requested one. A slice that leaves a dimension unspecified asks for
    nothing there, so no tag is a match; a tag says more than was asked for, and belongs to another slice.
    """
    if tag is None:
        return "match" if requested == UNSPECIFIED else "missing"
    if tag == requested:
        return "match"
    several = (tag,) if isinstance(tag, str) else tag
    return "ambiguous" if any(_may_be(odd, dimension, requested, t) for t in several) else "mismatch"


def _may_be(odd: Odd, dimension: str, requested: str, tag: str) -> bool:
    if tag in (requested, UNSPECIFIED):
        return True
    known = odd.by_name[dimension].by_name if dimension in odd.by_name else {}
    up, down = known.get(requested), known.get(tag)
    return (up is not None and up.parent == tag) or (down is not None and down.parent == requested)


def fidelity(odd: Odd, requested: Mapping[str, str], tags: Mapping[str, Tag]) -> dict[str, Flag]:
    """The flag of each requested dimension."""
    return {d: flag_of(odd, d, v, tags.get(d)) for d, v in requested.items()}


def verdict_of(flags: Mapping[str, Flag]) -> Verdict:
    """Valid if every dimension matches, invalid if one contradicts, else partial."""
    found = set(flags.values())
    if "mismatch" in found:
        return "invalid"
    return "valid" if found <= {"match"} else "partial"
