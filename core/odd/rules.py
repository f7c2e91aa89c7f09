"""Combinations of values that an ODD calls implausible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.odd.codec import SliceSpace
from core.odd.model import Odd


@dataclass(frozen=True, eq=False)
class Rule:
    """A slice is implausible if it has one of the values of every dimension that a rule names.

    Attributes:
        reason: One sentence.
        matches: By position of the dimension, whether each code is among the values (V_k,).
    """

    reason: str
    matches: Mapping[int, npt.NDArray[np.bool_]]

    def hits(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Whether each of the slices (n, K) is implausible."""
        out = np.ones(codes.shape[0], dtype=bool)
        for k, match in self.matches.items():
            out &= match[codes[:, k]]
        return out


def implausible_rules(odd: Odd) -> tuple[Rule, ...]:
    """The rules of an ODD document (key `implausible`).

    A rule that names a dimension or only values which the ODD does not have cannot hit and is left out.
    """
    section: Mapping[str, Any] = odd.extras.get("implausible") or {}
    out = []
    for rule in section.get("rules", ()):
        matches = {}
        for dim, values in rule["all_of"].items():
            if dim in odd.by_name:
                k = odd.names.index(dim)
                matches[k] = np.isin(odd.codec.values[k], list(values))
        if len(matches) == len(rule["all_of"]) and matches and all(m.any() for m in matches.values()):
            out.append(Rule(str(rule["reason"]), dict(sorted(matches.items()))))
    return tuple(out)


def hit_by_any(rules: Sequence[Rule], codes: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Whether each of the slices (n, K) is implausible under some rule."""
    out = np.zeros(codes.shape[0], dtype=bool)
    for rule in rules:
        out |= rule.hits(codes)
    return out


@dataclass(frozen=True)
class SpaceCount:
    """Sizes of a space of slices.

    Attributes:
        inside: Slices of base values only, implausible ones left out.
        outside: Slices with an extended value, implausible ones left out.
        implausible_inside, implausible_outside: What was left out.
    """

    inside: int
    outside: int
    implausible_inside: int
    implausible_outside: int


def count_space(odd: Odd, space: SliceSpace, rules: Sequence[Rule] = ()) -> SpaceCount:
    """Counts the slices of a space exactly without enumerating it.

    Dimension by dimension, slices are counted by the set of rules they can still fall under and by whether they have an
    extended value: values that do the same to every rule are one group.
    """
    state: dict[tuple[frozenset[int], bool], int] = {(frozenset(range(len(rules))), False): 1}
    for k, allowed in enumerate(space.allowed):
        groups: dict[tuple[frozenset[int], bool], int] = {}
        for code in allowed.tolist():
            alive = frozenset(i for i, r in enumerate(rules) if k not in r.matches or r.matches[k][code])
            key = (alive, not bool(odd.is_base[k][code]))
            groups[key] = groups.get(key, 0) + 1
        step: dict[tuple[frozenset[int], bool], int] = {}
        for (alive, out), count in state.items():
            for (keeps, outside), size in groups.items():
                after = (alive & keeps, out or outside)
                step[after] = step.get(after, 0) + count * size
        state = step
    total = {(bool(alive), out): 0 for alive in ((), (0,)) for out in (False, True)}
    for (left, out), count in state.items():
        total[bool(left), out] += count
    return SpaceCount(total[False, False], total[False, True], total[True, False], total[True, True])
