"""Labels as files that leave the house: JSONL with a codebook, without names, clock times, or anything that tells the planner."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.digest import sha256_bytes
from core.errors import InputError, Problem
from core.storage.label_events import LABELS, Label

FORMAT = "labels/1"
BANDS = ((1, "under 1 year"), (3, "1 to 2 years"), (10, "3 to 9 years"), (float("inf"), "10 years or more"))
"""Driving experience as it is told: below so many years."""


def case_code(digest: str, case_id: str) -> str:
    """How an export names a case: whoever has the set can work it out, whoever has not learns nothing."""
    return sha256_bytes("\x1f".join([digest, case_id]).encode("utf-8", "surrogatepass"))[:16]


def set_code(digest: str) -> str:
    """How a case set is named in files that leave the house: whoever has it can check that it is this one."""
    return sha256_bytes("\x1f".join(["case set", digest]).encode())[:16]


def band(years: float) -> str:
    """Driving experience in words, wide enough not to point to one person."""
    return next(text for below, text in BANDS if years < below)


class LabelRow(BaseModel):
    """One line of labels.jsonl; `codebook` tells what each field means."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    case: str = Field(min_length=1)
    scene: str = ""
    annotator: str = Field(min_length=1)
    label: Label
    slot: Literal["main", "repeat", "gold", "consensus"] = "main"
    threats: tuple[str, ...] = ()
    counts: bool = True
    seconds: float | None = None
    hidden_seconds: float | None = None
    playback_n: int | None = None
    magnifier_seconds: float | None = None
    keyboard: bool | None = None
    taken_back: Annotated[int, Field(ge=0)] = 0
    guidance: str = ""
    interface: str = ""
    comments: tuple[str, ...] | None = None
    note: str | None = None
    case_id: str | None = None
    planner: str | None = None

    def line(self) -> str:
        """The row as a line of JSON; what is None is left out."""
        return json.dumps(self.model_dump(exclude_none=True, mode="json"), ensure_ascii=False, sort_keys=False)


FIELDS: Mapping[str, str] = {
    "case": "First 16 hex digits of SHA-256 of the digest of the case set, a unit separator (U+001F), and the case id. The digest stands "
    "in no file that leaves the house, so only those who have the set can tell the case.",
    "scene": "The scene; cases of several planners share it.",
    "annotator": "A code for the person, made for this set alone. It is the same in every export of the set.",
    "label": "Y: the planner adds a threat that the expert does not have. N: it does not. U: cannot be told (an abstention).",
    "slot": "main: the label of the case. repeat: the same case shown once more without notice. gold: a case with a known answer, shown "
    "without notice. consensus: decided by a third person; a later line of the same case counts.",
    "threats": "Threats that the person named, ids of the taxonomy; [] if none was named.",
    "counts": "false: a check of the person stands out and nobody has cleared it; leave the label out of figures.",
    "seconds": "From all critical images being on the screen to the key, hidden-tab time taken off; left out if not known.",
    "hidden_seconds": "Time in a hidden tab meanwhile.",
    "playback_n": "How often the previous second was played.",
    "magnifier_seconds": "How long the magnifier was used.",
    "keyboard": "true: by key. false: by button.",
    "taken_back": "How many labels of this place the person took back before this one.",
    "guidance": "Version and digest of the guidance that the person had read.",
    "interface": "Version of the page.",
    "comments": "What the person wrote; only where the export was asked for it, since it may tell who wrote.",
    "note": "Why it was decided so; only with a consensus and where comments were asked for.",
    "case_id": "Only where the export was asked for the planner.",
    "planner": "Only where the export was asked for it; those who label never see it.",
}


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        files: Names and contents in bytes.
        labels: Lines with a label of a case.
        checks: Lines of hidden checks.
        decided: Lines of consensus.
        annotators: People with a line.
        not_counting: Lines with counts = false.
        left_out: Labels that were not written, by why.
    """

    files: Mapping[str, bytes]
    labels: int
    checks: int
    decided: int
    annotators: int
    not_counting: int
    left_out: Mapping[str, int]


def codebook(head: Mapping[str, Any], used: Sequence[str], left_out: Mapping[str, int]) -> str:
    """The codebook as Markdown: what the set is, what each field means, and what is not in the file."""
    lines = ["# Codebook", "", *(f"- {k}: {v}" for k, v in head.items()), "", "## labels.jsonl, one label a line", ""]
    lines += [f"- `{f}`: {text}" for f, text in FIELDS.items() if f in used]
    lines += ["", "## annotators.jsonl, one person a line", "", "- `annotator`: The code.", "- `experience`: Of driving, in bands."]
    lines += [
        "- `researcher`: Whether the person belongs to the project.",
        "- `labels`: Lines of slot main.",
        "",
        "## Not in these files",
        "",
    ]
    lines += [f"- {why}: {n:,}" for why, n in left_out.items()] or ["- Nothing was left out."]
    lines += ["- Names, clock times, and the order in which people labelled are never written; lines are sorted by their codes."]
    return "\n".join(lines) + "\n"


def read_labels(text: str) -> tuple[LabelRow, ...]:
    """The rows of a labels.jsonl.

    Raises:
        InputError: A line is no label, or one person has two for the same place; every problem is listed.
    """
    rows: list[LabelRow] = []
    problems: list[Problem] = []
    seen: set[tuple[str, str, str]] = set()
    for i, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = LabelRow.model_validate_json(line)
        except ValidationError as e:
            allowed = {"label": ", ".join(LABELS)}
            places = [(".".join(map(str, x["loc"])) or "line", x) for x in e.errors()]
            problems += [Problem(i, where, str(x.get("input"))[:60], allowed.get(where, x["msg"])) for where, x in places]
            continue
        key = (row.case, row.annotator, row.slot)
        if key in seen and row.slot != "consensus":
            problems.append(Problem(i, "case", row.case, "one label of a person for each case and slot", kind="twice"))
        seen.add(key)
        rows.append(row)
    if problems:
        raise InputError(f"{len(problems)} problem{'s' * (len(problems) != 1)} in the labels.", problems)
    if not rows:
        raise InputError("There is not a single label in this file.")
    return tuple(rows)


def answers_of(rows: Sequence[LabelRow], *, all_of_them: bool = False) -> dict[str, dict[str, Label]]:
    """The label of each person for each case: those that count, or all of them."""
    out: dict[str, dict[str, Label]] = {}
    for r in rows:
        if r.slot == "main" and (r.counts or all_of_them):
            out.setdefault(r.annotator, {})[r.case] = r.label
    return out
