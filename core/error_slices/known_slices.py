"""Slices that are known: named by experts in the data (GESD), or written down in a file; what found slices are measured against."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.error_slices.detections import IntArray
from core.error_slices.units import Units
from core.errors import InputError, Problem


@dataclass(frozen=True)
class KnownSlices:
    """Known slices of some units.

    Attributes:
        units: By name: indices of its units that are errors, since a slice of errors holds errors.
        category: Category of a slice, where known.
        means: Ids of the hypotheses that mean a slice, where known.
        left_out: How many of what was left out, by a name that a screen can show.
    """

    units: Mapping[str, frozenset[int]]
    category: Mapping[str, str]
    means: Mapping[str, frozenset[str]]
    left_out: Mapping[str, int]


NO_ERROR = "units of known slices that are no errors under these settings"
NO_UNIT = "names of units that these detections do not have"


def expert_slices(units: Units) -> KnownSlices:
    """The slices that the data names itself (GESD: `reason`); empty where it names none."""
    found: dict[str, set[int]] = {}
    for side, boxes in (("gt", units.detections.truth), ("pred", units.detections.predictions)):
        if boxes.slices is not None:
            for i in np.flatnonzero(units.side == side).tolist():
                if name := boxes.slices[units.row[i]]:
                    found.setdefault(name, set()).add(i)
    return _known(units, found, {}, {}, {})


def read_known(text: str, units: Units) -> KnownSlices:
    """Known slices of a JSON text.

    Args:
        text: `{"slices": {name: {"units": [unit id, …], "category": …, "hypotheses": [hypothesis id, …]}}}`, or `{name: [unit id, …]}`.
            Unit ids are those of the units table: `image:gannotation`, `image:dprediction`, `image:m`.
        units: All units.

    Raises:
        InputError: It is no such JSON, or no name of a unit fits; all problems are listed.
    """
    try:
        data: Any = json.loads(text)
    except json.JSONDecodeError as e:
        raise InputError(f"The known slices are not valid JSON: {e}.") from e
    entries = data.get("slices", data) if isinstance(data, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise InputError("The known slices are no object of names and units.")
    index = {name: i for i, name in enumerate(units.ids)}
    problems, found, category, means, missing = [], dict[str, set[int]](), dict[str, str](), dict[str, frozenset[str]](), 0
    for name, entry in entries.items():
        whole = entry if isinstance(entry, dict) else {"units": entry}
        ids: Any = whole.get("units")
        hypotheses: Any = whole.get("hypotheses", [])
        if not _texts(ids) or not _texts(hypotheses) or not isinstance(whole.get("category", ""), str):
            problems.append(Problem(None, name, str(entry)[:60], "a list of ids of units, or an object with units, category, hypotheses"))
            continue
        found[name] = {index[i] for i in ids if i in index}
        missing += sum(i not in index for i in ids)
        category |= {name: whole["category"]} if whole.get("category") else {}
        means |= {name: frozenset(hypotheses)} if hypotheses else {}
    if problems:
        raise InputError("The known slices cannot be used as they are.", problems)
    if missing and not any(found.values()):
        raise InputError(f'Not one of the {missing:,} names of units fits these detections, whose units are called as "{units.ids[0]}".')
    return _known(units, found, category, means, {NO_UNIT: missing} if missing else {})


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _known(
    units: Units,
    found: Mapping[str, set[int]],
    category: Mapping[str, str],
    means: Mapping[str, frozenset[str]],
    left_out: Mapping[str, int],
) -> KnownSlices:
    errors = set(error_units(units).tolist())
    kept = {name: frozenset(members & errors) for name, members in found.items()}
    gone = sum(len(members) for members in found.values()) - sum(len(members) for members in kept.values())
    return KnownSlices(kept, category, means, {**left_out, **({NO_ERROR: gone} if gone else {})})


def error_units(units: Units) -> IntArray:
    """Indices of the units that are errors: missed, false, badly placed, or with a loss above one half."""
    return np.flatnonzero((~np.isin(units.kind, ("TP", "IMAGE", "SEG"))) | (np.nan_to_num(units.loss) > 0.5))
