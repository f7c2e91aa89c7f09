"""What labelling needs to know of each case, without its trajectories and images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from core.errors import InputError, Problem
from core.storage.label_events import LABELS, Label
from core.trajectories.case import Case

Role = Literal["example", "training", "calibration", "labelling"]
"""What a case is for: worked examples, rounds before labelling, or labelling itself, which is what a case without a role is for."""
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Entry:
    """A case as labelling sees it.

    Attributes:
        case_id, scene_id, planner_id: Of the case; never shown to those who label.
        role: What it is for.
        gold: The right answer where it is known; None otherwise.
        threats: Threats that are behind a gold Y.
        why: Why the gold answer is right, in words for people; "" if nothing is said.
        flags: Reasons to leave it out.
    """

    case_id: str
    scene_id: str
    planner_id: str
    role: Role = "labelling"
    gold: Label | None = None
    threats: tuple[str, ...] = ()
    why: str = ""
    flags: tuple[str, ...] = ()


def entries_of(cases: Iterable[Case]) -> tuple[Entry, ...]:
    """The entries of cases, in their order.

    Raises:
        InputError: A role or a gold label is none; every such case is named.
    """
    out: list[Entry] = []
    problems: list[Problem] = []
    for case in cases:
        gold: Any = case.source.get("gold") or {}
        role, label = case.source.get("role") or "labelling", gold.get("label") if isinstance(gold, Mapping) else gold
        if role not in ROLES:
            problems.append(Problem(None, f"{case.case_id}.source.role", str(role)[:60], ", ".join(ROLES)))
        elif label not in (None, *LABELS):
            problems.append(Problem(None, f"{case.case_id}.source.gold.label", str(label)[:60], ", ".join(LABELS)))
        else:
            more = gold if isinstance(gold, Mapping) else {}
            threats = tuple(str(t) for t in more.get("threats") or ())
            why = str(more.get("why") or "")
            out.append(Entry(case.case_id, case.scene_id, case.planner_id, role, label, threats, why, tuple(case.flags)))
    if problems:
        raise InputError("Some cases cannot be labelled as they are.", problems)
    return tuple(out)
