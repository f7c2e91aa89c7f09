"""What annotators do, as events that are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Label = Literal["Y", "N", "U"]
"""Additional threat, no additional threat, not sure (an abstention)."""

LABELS: tuple[Label, ...] = ("Y", "N", "U")

Kind = Literal["label", "revoke", "comment", "tags", "consensus"]
Round = Literal["training", "calibration", "labelling", "review"]


@dataclass(frozen=True)
class Annotator:
    """A person who labels.

    Attributes:
        id: Opaque; all that other people ever see of the person.
        name: As registered.
        experience_years: Of driving; 0 is allowed.
        researcher: Whether the person belongs to the project.
        registered_at: UTC.
    """

    id: str
    name: str
    experience_years: float
    researcher: bool
    registered_at: datetime


@dataclass(frozen=True)
class NewEvent:
    """An event before it is stored.

    Attributes:
        uid: Made where the key was pressed; the same event sent twice is stored once.
        case_id: The case that was on the screen.
        seq: Position among the events of this annotator about this case, from 1. Unique: who comes second with the same number and
            another uid gets a conflict.
        kind: What was done.
        label: For labels and consensus; None otherwise.
        slot: Which place of the queue it belongs to: "main", "repeat", "gold", "training:1", "calibration:1", "review".
        payload: Of a label: timing and use of the page (t_ready_ms, t_key_ms, hidden_ms, playback_n, magnifier_ms, keyboard). Of a
            comment {"text"}, of tags {"threats": [...]}, of a consensus {"note"}, of a revoke {"seq", "uid"} of the label that is
            taken back. Of any of them, where it was made on a screen, "turn": see the property.
        guidance_version: Guidance that the person had read.
        interface_version: Version of the page.
    """

    uid: str
    case_id: str
    seq: int
    kind: Kind
    label: Label | None = None
    slot: str = "main"
    payload: Mapping[str, Any] = field(default_factory=dict)
    guidance_version: str = ""
    interface_version: str = ""

    @property
    def turn(self) -> int:
        """Position among the events of this annotator about this place of the queue, as far as the screen knew; `seq` where none is told.

        A screen counts places and not cases, so that its numbers do not tell that a case was there before.
        """
        told = self.payload.get("turn")
        return told if type(told) is int else self.seq


@dataclass(frozen=True)
class Event:
    """An event as it is stored.

    Attributes:
        annotator_id: Who did it.
        set_id: Case set that it is about.
        new: What was done.
        at: When it was stored, UTC.
        number: Grows with every event of the workspace; the order in which one annotator's events were stored.
    """

    annotator_id: str
    set_id: str
    new: NewEvent
    at: datetime
    number: int = 0
