"""What was found for each case: an additional threat, none, or no verdict. Read from files, or made from what people said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import InputError, Problem
from core.storage.label_events import Label
from core.threats.taxonomy import Taxonomy

Status = Literal["has_threat", "no_threat", "abstain"]
STATUSES: tuple[Status, ...] = ("has_threat", "no_threat", "abstain")

Rule = Literal["any", "majority", "unanimous"]
RULES: dict[Rule, str] = {
    "majority": "More Y than N is a threat, more N than Y is none; a tie, or nothing but Unsure, stays open.",
    "any": "One Y is a threat; else one N is none; nothing but Unsure stays open.",
    "unanimous": "All Y is a threat, all N is none; everything else stays open.",
}
"""How labels of several people become one verdict. A consensus, where there is one, goes before any rule."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one case.

    Attributes:
        case_id: The case.
        scene_id: Its scene; what planners have in common.
        planner_id: Its planner.
        status: What was found.
        threats: Which threats, ids of the taxonomy; empty with "has_threat" where nobody named one.
        source: Who says so, e.g. "pipeline", "human review", "labels (majority)".
    """

    case_id: str
    scene_id: str
    planner_id: str
    status: Status
    threats: frozenset[str] = frozenset()
    source: str = ""


@dataclass(frozen=True)
class HumanLabel:
    """What one person finally said of one case.

    Attributes:
        case_id: The case.
        annotator_id: The person.
        label: Y, N or U.
        threats: Threats that the person named, ids of the taxonomy.
    """

    case_id: str
    annotator_id: str
    label: Label
    threats: frozenset[str] = frozenset()


Places = Mapping[str, tuple[str, str]]
"""Scene and planner of each case."""


class _Review(BaseModel):
    model_config = ConfigDict(extra="allow")
    status: Status | None = None
    threats: list[str] | None = None


class _Row(BaseModel):
    model_config = ConfigDict(extra="allow")
    case_id: str = Field(min_length=1)
    status: Status
    threats: list[str]
    scene_id: str = ""
    planner_id: str = ""
    human_review: _Review | None = None
    source: str = ""


def read_verdicts(text: str, taxonomy: Taxonomy, places: Places | None = None) -> tuple[Verdict, ...]:
    """Verdicts from JSONL, one case a line: case_id, status, threats, and scene_id and planner_id where no case set tells them.

    A `human_review` with a status goes before the verdict of the pipeline. Without any scene, the case is its own scene.

    Args:
        text: The JSONL text.
        taxonomy: Threats that may be named; aliases are brought to ids.
        places: Scene and planner of each case of a case set.

    Raises:
        InputError: A line is no verdict, names an unknown threat, case or status, contradicts itself, or a case comes twice;
            every problem is listed.
    """
    problems: list[Problem] = []
    out: list[Verdict] = []
    for k, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except json.JSONDecodeError as e:
            problems.append(Problem(k, "line", line[:60], f"a JSON object ({e.msg})", kind="no_json"))
            continue
        found = _verdict(data, k, taxonomy, places, problems)
        if found:
            out.append(found)
    problems += _twice(out)
    if problems:
        raise InputError(f"{len(problems)} problem{'s' * (len(problems) != 1)} in the verdicts.", problems)
    if not out:
        raise InputError("No verdicts: the file has no line with one.")
    return tuple(out)


def verdict_lines(verdicts: Iterable[Verdict]) -> str:
    """A verdict file, as `read_verdicts` takes it."""
    return "".join(json.dumps(_to_json(v), ensure_ascii=False) + "\n" for v in verdicts)


def _to_json(verdict: Verdict) -> dict[str, Any]:
    """One line of a verdict file."""
    return {
        "case_id": verdict.case_id,
        "scene_id": verdict.scene_id,
        "planner_id": verdict.planner_id,
        "status": verdict.status,
        "threats": sorted(verdict.threats),
        "runs": [],
        "source": verdict.source,
    }


def label_verdicts(
    labels: Iterable[HumanLabel],
    places: Places,
    rule: Rule = "majority",
    consensus: Mapping[str, Label] | None = None,
) -> tuple[Verdict, ...]:
    """Verdicts from labels of people, one for each case that somebody labelled or that has a consensus.

    The threats are those that were named by anybody who said Y.

    Args:
        labels: The label of each person that counts, once per person and case.
        places: Scene and planner of each case.
        rule: How several labels become one verdict (`RULES`).
        consensus: The label that a reviewer set, by case; it goes before the rule.

    Raises:
        InputError: A label is about a case that is not known, or a person has two labels for a case.
    """
    agreed = dict(consensus or {})
    by_case: dict[str, list[HumanLabel]] = {c: [] for c in agreed}
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    for x in labels:
        if (x.case_id, x.annotator_id) in seen:
            problems.append(Problem(None, "case_id", x.case_id, f"one label of {x.annotator_id}", kind="twice"))
        seen.add((x.case_id, x.annotator_id))
        by_case.setdefault(x.case_id, []).append(x)
    problems += [Problem(None, "case_id", c, "a case of the set", kind="unknown_case") for c in by_case if c not in places]
    if problems:
        raise InputError("These labels cannot become verdicts.", problems)
    out = []
    for case_id, given in by_case.items():
        status = _SAYS[agreed[case_id]] if case_id in agreed else _by_rule([x.label for x in given], rule)
        named = frozenset[str]().union(*(x.threats for x in given if x.label == "Y")) if status == "has_threat" else frozenset[str]()
        source = "consensus" if case_id in agreed else f"labels ({rule})"
        out.append(Verdict(case_id, *places[case_id], status, named, source))
    return tuple(out)


_SAYS: dict[Label, Status] = {"Y": "has_threat", "N": "no_threat", "U": "abstain"}


def _by_rule(labels: Sequence[Label], rule: Rule) -> Status:
    yes, no = labels.count("Y"), labels.count("N")
    if rule == "any":
        return "has_threat" if yes else "no_threat" if no else "abstain"
    if rule == "unanimous":
        return "has_threat" if yes == len(labels) > 0 else "no_threat" if no == len(labels) > 0 else "abstain"
    return "has_threat" if yes > no else "no_threat" if no > yes else "abstain"


def _verdict(data: Any, row: int, taxonomy: Taxonomy, places: Places | None, problems: list[Problem]) -> Verdict | None:
    try:
        doc = _Row.model_validate(data)
    except ValidationError as e:
        problems += [Problem(row, ".".join(map(str, x["loc"])) or "line", str(x.get("input"))[:60], x["msg"]) for x in e.errors()]
        return None
    review = doc.human_review
    status: Status = (review.status if review else None) or doc.status
    named = doc.threats
    if review and review.status:
        named = review.threats if review.threats is not None else (doc.threats if status == "has_threat" else [])
    before = len(problems)
    for t in named:
        if t not in taxonomy.by_id:
            problems.append(Problem(row, "threats", t, f"a threat of {taxonomy.id}", kind="unknown_threat"))
    if named and status != "has_threat":
        problems.append(Problem(row, "status", status, "has_threat where threats are named", kind="contradiction"))
    scene, planner = doc.scene_id, doc.planner_id
    if places is not None:
        if doc.case_id not in places:
            problems.append(Problem(row, "case_id", doc.case_id, "a case of the set", kind="unknown_case"))
        else:
            scene, planner = places[doc.case_id]
    if len(problems) > before:
        return None
    threats = frozenset(taxonomy.by_id[t].id for t in named)
    source = "human review" if review and review.status else doc.source or "pipeline"
    return Verdict(doc.case_id, scene or doc.case_id, planner, status, threats, source)


def _twice(verdicts: Sequence[Verdict]) -> list[Problem]:
    """Cases, and scenes of one planner, that come more than once."""
    cases: set[str] = set()
    places: set[tuple[str, str]] = set()
    out = []
    for v in verdicts:
        if v.case_id in cases:
            out.append(Problem(None, "case_id", v.case_id, "each case once", kind="twice"))
        elif (v.planner_id, v.scene_id) in places:
            out.append(Problem(None, "scene_id", v.scene_id, f"one case of a scene for planner {v.planner_id!r}", kind="twice"))
        cases.add(v.case_id)
        places.add((v.planner_id, v.scene_id))
    return out
