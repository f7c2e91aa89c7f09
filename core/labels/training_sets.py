"""Labels as training data for a Prosecutor: one chat about images a case, split so that neither a scene nor a drive is on both sides.

Source: FluidTest, section 4.3 and appendix F: a "union" set, in which one Y of anybody makes a case positive, and a "filtered" one, from
which cases on which people differ are left out; a tenth of the data tests.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, get_args

from core.errors import InputError
from core.labels.pool import Entry
from core.storage.label_events import Label
from core.trajectories.case import Case, Trajectory

Which = Literal["union", "filtered"]
SETS: tuple[Which, ...] = get_args(Which)
Target = Literal["Y", "N"]

INSTRUCTION = (
    "Two plans for the same scene. The expert's path is drawn in cyan, the planner's in red. "
    "Does the planner's path add a threat that the expert's path does not have? Answer Y or N."
)


@dataclass(frozen=True)
class Example:
    """A case with its answer.

    Attributes:
        entry: The case.
        target: The answer.
        part: "train" or "test".
    """

    entry: Entry
    target: Target
    part: Literal["train", "test"]


@dataclass(frozen=True)
class Chosen:
    """What goes into a training set.

    Attributes:
        examples: In the order of the cases.
        left_out: Cases that are not in it, by why.
    """

    examples: tuple[Example, ...]
    left_out: Mapping[str, int]

    def count(self, part: str, target: Target) -> int:
        """Examples of a part with an answer."""
        return sum(x.part == part and x.target == target for x in self.examples)


def choose(
    entries: Sequence[Entry],
    answers: Mapping[str, Sequence[Label]],
    decided: Mapping[str, Label],
    which: Which,
    *,
    split: float = 0.1,
    seed: int = 0,
) -> Chosen:
    """Choose cases and answers.

    A consensus goes before any label; one of U leaves the case out. Else, with "union" one Y makes it positive, and N without any Y
    negative if nobody was unsure; with "filtered" all who labelled it have to say the same.

    Args:
        entries: Cases that may be used.
        answers: All labels that count, per case.
        decided: Consensus per case.
        which: "union" or "filtered".
        split: Share of the scenes that test; scenes of one drive stay together. Which ones does not depend on the answers, so what tests
            in one set never trains in the other, nor later when there are more labels.
        seed: Of the split.

    Raises:
        InputError: There is no such set, or the share makes no sense.
    """
    if which not in SETS:
        raise InputError(f'There is no training set "{which}"; allowed: {", ".join(SETS)}.')
    if not 0 <= split < 1:
        raise InputError(f"The share of scenes that test is at least 0 and below 1; got {split:g}.")
    targets: dict[str, Target] = {}
    out: Counter[str] = Counter()
    for e in entries:
        found = _target(answers.get(e.case_id, ()), decided.get(e.case_id), which)
        if found in ("Y", "N"):
            targets[e.case_id] = "Y" if found == "Y" else "N"
        else:
            out[found] += 1
    testing = _testing({_drive(e) for e in entries}, {_drive(e) for e in entries if e.case_id in targets}, split, seed)
    examples = tuple(Example(e, targets[e.case_id], "test" if _drive(e) in testing else "train") for e in entries if e.case_id in targets)
    return Chosen(examples, dict(out))


def chat(case: Case, code: str, images: Sequence[str], target: Target) -> str:
    """A case as one line of image-chat JSONL: numbers and pictures, never the planner."""
    text = "".join("<image>\n" for _ in images) + f"{INSTRUCTION}\n{facts(case)}"
    turns = [{"from": "human", "value": text}, {"from": "gpt", "value": target}]
    return json.dumps({"id": code, "image": list(images), "conversations": turns}, ensure_ascii=False)


def facts(case: Case) -> str:
    """What the page tells of a case, in text: command, speed, both paths at each whole second."""
    lines = [f"Command: {case.command}. Speed now: {case.ego.speed_mps:.1f} m/s."]
    for name, path in (("Expert", case.expert), ("Planner", case.planner)):
        lines.append(f"{name}, metres ahead and to the left at each second: {_seconds(path, case.dt_s)}.")
    return "\n".join(lines)


def _seconds(path: Trajectory, dt: float) -> str:
    rows = [(k, round(k / dt) - 1) for k in range(1, int(len(path) * dt + 1e-6) + 1)]
    return ", ".join(
        f"{k} s ({path.points[i][0]:.1f}, {path.points[i][1]:.1f})" if path.valid[i] else f"{k} s (not known)" for k, i in rows
    )


def _target(labels: Sequence[Label], decided: Label | None, which: Which) -> str:
    """The answer, or why there is none."""
    if decided is not None:
        return "decided: cannot be told" if decided == "U" else decided
    kinds = set(labels)
    if not kinds:
        return "no label that counts"
    if which == "union" and "Y" in kinds:
        return "Y"
    if len(kinds) > 1 and which == "filtered":
        return "people differ" if {"Y", "N"} <= kinds else "somebody was not sure"
    if "U" in kinds:
        return "somebody was not sure"
    return "Y" if "Y" in kinds else "N"


def _drive(entry: Entry) -> str:
    return entry.drive or entry.scene_id


def _testing(drives: Set[str], used: Set[str], split: float, seed: int) -> set[str]:
    """Drives that test: a share of all of them, and with two or more in use at least one of those, and not all."""
    if split == 0 or len(used) < 2:
        return set()

    def first(some: Set[str]) -> set[str]:
        n = min(max(1, int(split * len(some) + 0.5)), len(some) - 1)
        return set(sorted(some, key=lambda s: hashlib.sha256(f"{seed}\x1f{s}".encode("utf-8", "surrogatepass")).digest())[:n])

    found = first(drives)
    return found if 0 < len(found & used) < len(used) else first(used)
