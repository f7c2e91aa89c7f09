"""Cases on which people differ or were not sure, shown without telling who said what, and what a third person decided.

A decision is an event like any other: a later one counts, and all of them stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from core.labels.pool import Entry
from core.labels.state import PersonState
from core.storage.label_events import Event, Label

Why = Literal["split", "unsure", "both"]


@dataclass(frozen=True)
class Given:
    """One person's view of a case.

    Attributes:
        who: A letter that means nothing outside this case.
        label: What was said.
        comments: What was written, in the order of writing.
        threats: Which threats were named.
    """

    who: str
    label: Label
    comments: tuple[str, ...]
    threats: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """A consensus label.

    Attributes:
        label: What was decided.
        note: Why.
        number: Of the event; a later decision has a larger one.
    """

    label: Label
    note: str
    number: int


@dataclass(frozen=True)
class Disputed:
    """A case to be looked at by a third person.

    Attributes:
        case_id, scene_id: The case; for the server only.
        why: "split" where there are Y and N, "unsure" where somebody was not sure, "both".
        given: What each person said, in an order that means nothing.
        history: What was decided, the oldest first; the last one counts.
        may_decide: Whether the person who asks may decide: not one of those who labelled the case.
    """

    case_id: str
    scene_id: str
    why: Why
    given: tuple[Given, ...]
    history: tuple[Decision, ...]
    may_decide: bool = True

    @property
    def decided(self) -> Decision | None:
        """The decision that counts."""
        return self.history[-1] if self.history else None


def main_labels(people: Mapping[str, PersonState]) -> dict[str, dict[str, Label]]:
    """The label that counts per person and case, hidden checks and rounds before labelling left out."""
    return {
        who: {s.case_id: e.new.label for s, e in p.labels.items() if s.name == "main" and e.new.label is not None}
        for who, p in people.items()
    }


def decisions(people: Mapping[str, PersonState]) -> dict[str, tuple[Decision, ...]]:
    """What was decided per case, by anybody, the oldest first."""
    events: dict[str, list[Event]] = {}
    for p in people.values():
        for case_id, decided in p.decided.items():
            events.setdefault(case_id, []).extend(decided)
    return {
        case_id: tuple(
            Decision(e.new.label, str(e.new.payload.get("note") or ""), e.number)
            for e in sorted(found, key=lambda e: e.number)
            if e.new.label is not None
        )
        for case_id, found in events.items()
    }


def touched(person: PersonState | None) -> set[str]:
    """Cases that a person ever labelled, also where the label was taken back: such a person is no third one."""
    if person is None:
        return set()
    return {s.case_id for s in (*person.labels, *person.taken_back)}


def disputed(
    entries: Iterable[Entry], people: Mapping[str, PersonState], salts: Mapping[str, str], asks: str | None = None
) -> tuple[Disputed, ...]:
    """Cases with both Y and N, or with an Unsure: those with an Unsure and without a decision first.

    Args:
        entries: Cases of the set.
        people: What each person's events come to.
        salts: Of each person; they make the order of people within a case, so that nobody is followed from case to case.
        asks: Who asks; may not decide what that person labelled.
    """
    labels, decided, mine = main_labels(people), decisions(people), touched(people.get(asks or ""))
    out = []
    for e in entries:
        given = {who: of[e.case_id] for who, of in labels.items() if e.case_id in of}
        kinds = set(given.values())
        split, unsure = {"Y", "N"} <= kinds, "U" in kinds
        if not (split or unsure):
            continue
        shuffled = sorted(given, key=lambda who: _shuffle(salts[who], e.case_id))
        shown = tuple(
            Given(
                _letter(i),
                given[who],
                tuple(str(c.new.payload.get("text") or "") for c in people[who].comments.get(e.case_id, ())),
                people[who].tags.get(e.case_id, ()),
            )
            for i, who in enumerate(shuffled)
        )
        why: Why = "both" if split and unsure else "split" if split else "unsure"
        out.append(Disputed(e.case_id, e.scene_id, why, shown, decided.get(e.case_id, ()), e.case_id not in mine))
    return tuple(sorted(out, key=lambda d: (bool(d.history), d.why == "split", _shuffle(d.case_id))))


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"{chr(ord('A') + i % 26)}{i // 26}"


def _shuffle(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
