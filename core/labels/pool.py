"""What labelling needs to know of each case, without its trajectories and images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from core.errors import InputError, Problem
from core.storage.label_events import LABELS, Label
from core.trajectories.case import Case

Role = Literal["example", "training", "calibration", "labelling"]
"""What a case is for: worked examples, rounds before labelling, or labelling itself, which is what a case without a role is for."""
ROLES: tuple[Role, ...] = get_args(Role)


RECORDINGS = ("recording", "benchmark", "log", "log_id", "log_name", "segment", "scene_token", "scene_name")
"""Fields of a case's source that name what it was cut out of."""


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
        drive: The same for all cases of what was recorded together, see `drives`; "" where no other scene belongs to it.
    """

    case_id: str
    scene_id: str
    planner_id: str
    role: Role = "labelling"
    gold: Label | None = None
    threats: tuple[str, ...] = ()
    why: str = ""
    flags: tuple[str, ...] = ()
    drive: str = ""


def entries_of(cases: Iterable[Case]) -> tuple[Entry, ...]:
    """The entries of cases, in their order.

    Raises:
        InputError: A role or a gold label is none; every such case is named.
    """
    cases = tuple(cases)
    together = drives(cases)
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
            flags, drive = tuple(case.flags), together.get(case.scene_id, "")
            out.append(Entry(case.case_id, case.scene_id, case.planner_id, role, label, threats, why, flags, drive))
    if problems:
        raise InputError("Some cases cannot be labelled as they are.", problems)
    return tuple(out)


def drives(cases: Iterable[Case]) -> dict[str, str]:
    """Scenes that were recorded together: moments of one drive, which many data sets call scenes of their own.

    Two scenes belong together if they share an image (the previous second of one is the present of another), or if their sources
    name the same recording.

    Returns:
        The first scene of the drive, by scene; those that belong to no other are left out.
    """
    parent: dict[str, str] = {}

    def root(scene: str) -> str:
        while (above := parent.setdefault(scene, scene)) != scene:
            parent[scene] = parent[above]
            scene = parent[scene]
        return scene

    first: dict[tuple[str, ...], str] = {}
    for case in cases:
        for mark in _marks(case):
            a, b = sorted((root(case.scene_id), root(first.setdefault(mark, case.scene_id))))
            parent[b] = a
    sizes = Counter(root(scene) for scene in list(parent))
    return {scene: root(scene) for scene in list(parent) if sizes[root(scene)] > 1}


def _marks(case: Case) -> Iterator[tuple[str, ...]]:
    for camera in case.cameras:
        for frame in camera.frames:
            yield ("image", frame.sha256) if frame.sha256 else ("path", frame.path)
    dataset = str(case.source.get("dataset", ""))
    for name in RECORDINGS:
        if isinstance(value := case.source.get(name), str | int) and value != "":
            yield (name, dataset, str(value))
    if dataset == "WOD-E2E":  # a frame is named by its drive, a minus, and a number
        yield ("segment", dataset, case.scene_id.rpartition("-")[0] or case.scene_id)
