"""From presses to events: what the browser's outbox holds is stored in order, once, and told back.

An event that can never be stored, because it is malformed or about a case that is gone, is refused and said; anything else that goes
wrong leaves the outbox as it is, and it is sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from core.errors import InputError, OddysseyError
from core.operators import labelling
from core.storage import Store
from core.storage.label_events import LABELS, Event, NewEvent, Round

_KINDS = ("label", "undo", "comment", "tags")
_MOST = 400
"""Events of an outbox that are stored at once; the rest comes with the next one."""


@dataclass(frozen=True)
class Told:
    """What became of an outbox.

    Attributes:
        seen: Number of the outbox, "" before the first one.
        acked: Uids that are on the disk.
        conflicts: Uid and text of each event that was not stored and never will be.
        error: Why the rest could not be stored now; "" if all could.
    """

    seen: str = ""
    acked: tuple[str, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Desk:
    """Who labels what.

    Attributes:
        store: The workspace.
        set_id: Case set.
        annotator_id: The person.
        round: "training", "calibration" or "labelling".
        guidance: Tag of the guidance that the person has read.
        interface: Version of the page.
    """

    store: Store
    set_id: str
    annotator_id: str
    round: Round
    guidance: str
    interface: str


def receive(desk: Desk, outbox: Mapping[str, Any]) -> Told:
    """Store what an outbox holds; the same outbox may come any number of times."""
    raw = outbox.get("events")
    events = [e for e in raw if isinstance(e, Mapping)][:_MOST] if isinstance(raw, Sequence) else []
    acked: list[str] = []
    refused: list[tuple[str, str]] = []
    try:
        slots = labelling.resolve(desk.store, desk.set_id, desk.annotator_id, {str(e.get("id", "")) for e in events})
        for batch in _batches(events):
            if batch[0].get("kind") == "undo":
                _undo(desk, batch[0], acked, refused)
                continue
            ready: list[NewEvent] = []
            for e in batch:
                try:
                    ready.append(_new(desk, e, slots))
                except InputError as problem:
                    refused.append((str(e.get("uid", "")), str(problem.args[0])))
            record(desk, ready, acked, refused)
    except (OddysseyError, SQLAlchemyError, OSError) as e:
        text = e.args[0] if isinstance(e, OddysseyError) else "The workspace did not answer"
        return Told(
            str(outbox.get("n", "")), tuple(acked), tuple(refused), f"Not saved yet, trying again: {str(text).splitlines()[0][:200]}"
        )
    return Told(str(outbox.get("n", "")), tuple(acked), tuple(refused))


def record(desk: Desk, events: Sequence[NewEvent], acked: list[str], refused: list[tuple[str, str]]) -> None:
    """Store events and say what became of each.

    Args:
        desk: Who labels what.
        events: In the order in which they were made.
        acked: Uids that are stored are added here.
        refused: Uid and reason of those that cannot be.

    Raises:
        InputError: The store cannot be reached or used.
    """
    if not events:
        return
    try:
        done = labelling.record(desk.store, desk.set_id, desk.annotator_id, events)
    except InputError as e:
        if not e.problems:
            raise
        if len(events) == 1:
            refused.append((events[0].uid, f"Not stored: {e.problems[0].column} is {e.problems[0].got}, allowed: {e.problems[0].allowed}."))
            return
        for one in events:  # one that is malformed must not keep the others out
            record(desk, [one], acked, refused)
        return
    acked += done.acked
    refused += [(c.new.uid, conflict_text(c.new, c.present)) for c in done.conflicts]


def conflict_text(new: NewEvent, present: Event | None) -> str:
    """What is said of an event that came second."""
    names = {"Y": "threat", "N": "no threat", "U": "unsure"}
    if new.kind == "revoke":
        return "That label cannot be taken back any more."
    if present is None:
        return "This answer came under the id of another one; it was not stored, and the case comes again."
    if present.new.kind == "consensus":
        return "You decided this case in Review, so you are not asked to label it; your answer was not stored."
    if new.kind == "tags":
        return "You had chosen threats for this case in another tab; that choice counts, and the second one was not stored."
    if present.new.label is None:
        return "This case was changed in another tab meanwhile; your answer was not stored, and the case comes again."
    mine, theirs = names.get(new.label or "", "this"), names[present.new.label]
    return f"You had labelled this case in another tab: {theirs}. That label counts; the second one ({mine}) was not stored."


def _batches(events: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Runs of events that are stored at once; each undo stands alone, since it depends on what came before it."""
    out: list[list[Mapping[str, Any]]] = []
    for e in events:
        alone = e.get("kind") == "undo"
        if out and not alone and out[-1][0].get("kind") != "undo":
            out[-1].append(e)
        else:
            out.append([e])
    return out


def _undo(desk: Desk, e: Mapping[str, Any], acked: list[str], refused: list[tuple[str, str]]) -> None:
    uid = str(e.get("uid", ""))
    try:
        done = labelling.undo(desk.store, desk.set_id, desk.annotator_id, uid, round=desk.round, of=str(e.get("target") or ""))
    except InputError as problem:
        if not problem.problems:
            raise
        refused.append((uid, "This came in a form that is not known; nothing was taken back."))
        return
    acked += done.acked
    if uid not in done.acked:
        refused.append((uid, "There was no label to take back; another tab may have done so."))


def _new(desk: Desk, e: Mapping[str, Any], slots: Mapping[str, Any]) -> NewEvent:
    """An event of the browser as one of the store.

    Raises:
        InputError: It is malformed, or about a case that this person does not have.
    """
    slot = slots.get(str(e.get("id", "")))
    if slot is None:
        raise InputError("A key press was about a case that is not in this set any more; it was not stored.")
    kind, label, payload, seq = e.get("kind"), e.get("label"), e.get("payload"), e.get("seq")
    if kind not in _KINDS or not isinstance(payload, Mapping) or type(seq) is not int or (kind == "label" and label not in LABELS):
        raise InputError("A key press came in a form that is not known; it was not stored.")
    return NewEvent(
        uid=str(e.get("uid", "")),
        case_id=slot.case_id,
        seq=seq,
        kind=kind,
        label=label if kind == "label" else None,
        slot=slot.name,
        payload={**payload, "turn": seq},
        guidance_version=desk.guidance,
        interface_version=desk.interface,
    )
