"""Which class of a detector means which class of the ground truth: by name, through a table that people see and change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from core.error_slices.detections import ClassName
from core.errors import InputError, Problem

How = Literal["same id", "same name", "same letters", "given", "left out", "unmapped"]
HOWS: Mapping[How, str] = {
    "same id": "the predictions use the ids of the ground truth",
    "same name": "the name is the same",
    "same letters": "the name is the same but for capitals, spaces and marks",
    "given": "you chose it",
    "left out": "you left it out",
    "unmapped": "no class of the ground truth has this name",
}
SYNONYMS = (
    {"person", "pedestrian", "people", "human", "walker"},
    {"motorcycle", "motorbike", "motor"},
    {"bicycle", "bike", "cyclist"},
    {"car", "auto", "vehicle"},
    {"truck", "lorry"},
    {"train", "tram"},
    {"tv", "tvmonitor"},
    {"airplane", "aeroplane"},
    {"couch", "sofa"},
    {"trafficlight", "trafficsignal"},
)
"""Names that people use for one thing; only ever proposed, since a cyclist is not a bicycle in every data set."""


def folded(name: str) -> str:
    """Letters and digits alone, in small letters."""
    return "".join(c for c in name.casefold() if c.isalnum())


@dataclass(frozen=True)
class ClassRow:
    """One class of the predictions.

    Attributes:
        id: As in the file.
        name: As in the file.
        boxes: How many predictions it has.
        target: Name of the class of the ground truth that it stands for, "" if its predictions are left out.
        how: How the target was found.
        target_id: Id of the target, "" likewise; tells classes of one name apart.
        proposal: A class of the ground truth that may be meant, "" for none; never taken by itself.
    """

    id: str
    name: str
    boxes: int
    target: str
    how: How
    target_id: str = ""
    proposal: str = ""


@dataclass(frozen=True)
class TruthRow:
    """One class of the ground truth.

    Attributes:
        id: As in the file.
        name: As in the file.
        boxes: How many boxes it has, ignore regions too.
        sources: Names of the classes of the predictions that stand for it.
    """

    id: str
    name: str
    boxes: int
    sources: tuple[str, ...]


@dataclass(frozen=True)
class ClassTable:
    """The whole mapping.

    Attributes:
        rows: Classes of the predictions, in the order of the file.
        truth: Classes of the ground truth, in the order of the file.
        unused: Classes that a given mapping names and these predictions do not use.
    """

    rows: tuple[ClassRow, ...]
    truth: tuple[TruthRow, ...]
    unused: tuple[str, ...] = ()

    @property
    def mapping(self) -> dict[str, str]:
        """Name of a class of the predictions to that of the ground truth, "" for none: what `read_source` takes."""
        return {r.name: r.target for r in self.rows}

    @property
    def unmapped(self) -> tuple[ClassRow, ...]:
        """Classes of the predictions that nothing was found for; their predictions are left out and counted."""
        return tuple(r for r in self.rows if r.how == "unmapped")

    @property
    def unmatched_truth(self) -> tuple[TruthRow, ...]:
        """Classes of the ground truth with boxes that no class of the predictions stands for: all their objects count as missed."""
        return tuple(t for t in self.truth if t.boxes and not t.sources)


def proposal_for(name: str, targets: Sequence[str]) -> str:
    """The class that may be meant: another word for it, else one spelled nearly alike, "" for none."""
    plain = {folded(t): t for t in targets}
    mine = folded(name)
    for words in SYNONYMS:
        if mine in words:
            for word in plain:
                if word in words and word != mine:
                    return plain[word]
    close = get_close_matches(mine, list(plain), 1, 0.7)
    return plain[close[0]] if close else ""


def _checked(given: Mapping[str, str], predicted: Sequence[ClassName], classes: Sequence[ClassName], complete: bool) -> tuple[str, ...]:
    """The classes of a mapping that no prediction has.

    Raises:
        InputError: A target is not there; or a source, where all classes of the predictions are known.
    """
    names = {c.name for c in classes} | {c.id for c in classes}
    mine = {c.name for c in predicted} | {c.id for c in predicted}
    problems, unused = [], []
    for source, target in given.items():
        if target and target not in names:
            near = proposal_for(target, [c.name for c in classes])
            problems.append(Problem(None, source, target, "a class of the ground truth, or nothing to leave it out", near, "class"))
        if source not in mine:
            unused.append(source)
            if complete:
                near = proposal_for(source, [c.name for c in predicted])
                problems.append(Problem(None, source, source, "a class of the predictions", near, "class"))
    if problems:
        raise InputError("The mapping of classes names classes that are not there.", problems)
    return tuple(unused)


def map_classes(
    predicted: Sequence[ClassName],
    classes: Sequence[ClassName],
    prediction_boxes: Mapping[int, int],
    truth_boxes: Mapping[int, int],
    given: Mapping[str, str] | None = None,
    by_id: bool = False,
    complete: bool = True,
) -> ClassTable:
    """The mapping of the classes of the predictions to those of the ground truth.

    Args:
        predicted: Classes of the predictions.
        classes: Classes of the ground truth.
        prediction_boxes: Boxes by index into `predicted`.
        truth_boxes: Boxes by index into `classes`.
        given: What a person decided, by name or id; "" leaves a class out. Decides before names do.
        by_id: The predictions use the ids of the ground truth, without names of their own.
        complete: `predicted` holds every class that the detector knows, not only what it found, so that `given` can be checked in full.

    Raises:
        InputError: `given` names classes that are not there.
    """
    by_name = {c.name: c for c in reversed(classes)}
    by_fold = {folded(c.name): c for c in reversed(classes)}
    by_ids = {c.id: c for c in classes}
    given = given or {}
    unused = _checked(given, predicted, classes, complete)
    rows: list[ClassRow] = []
    sources: dict[str, list[str]] = {}
    for i, c in enumerate(predicted):
        wanted = given.get(c.name, given.get(c.id))
        target: ClassName | None
        how: How
        if wanted is not None:
            target, how = (by_name.get(wanted) or by_ids[wanted], "given") if wanted else (None, "left out")
        elif by_id and c.id in by_ids:
            target, how = by_ids[c.id], "same id"
        elif c.name in by_name:
            target, how = by_name[c.name], "same name"
        elif folded(c.name) in by_fold:
            target, how = by_fold[folded(c.name)], "same letters"
        else:
            target, how = None, "unmapped"
        near = proposal_for(c.name, [t.name for t in classes]) if how == "unmapped" else ""
        name, target_id = ("", "") if target is None else (target.name, target.id)
        rows.append(ClassRow(c.id, c.name, prediction_boxes.get(i, 0), name, how, target_id, near))
        if target is not None:
            sources.setdefault(target.id, []).append(c.name)
    truth = tuple(TruthRow(c.id, c.name, truth_boxes.get(i, 0), tuple(sources.get(c.id, ()))) for i, c in enumerate(classes))
    return ClassTable(tuple(rows), truth, unused)


def counted(values: Sequence[int]) -> dict[int, int]:
    """How often each index occurs."""
    return dict(Counter(values))
