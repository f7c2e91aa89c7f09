"""What came of labelling: progress, disagreements and their decisions, agreement, and files to take away."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from core.digest import sha256_json
from core.errors import ConflictError, InputError
from core.labels.checks import Checks, Flag, check_person
from core.labels.consensus import Decision, Disputed, decisions, disputed, main_labels, touched
from core.labels.label_time import LabelTime, LabelTimes, label_time, label_times
from core.labels.pool import Entry
from core.labels.raters import RaterAgreement, rater_agreement
from core.labels.rounds import Calibration, calibration_of
from core.labels.state import PersonState
from core.operators.labelling_loop import asked_about, entries_for, queue
from core.operators.labelling_people import people_of
from core.storage import Store
from core.storage.label_events import Label, NewEvent
from core.threats.verdicts import HumanLabel, Rule, Verdict, label_verdicts


@dataclass(frozen=True)
class PersonProgress:
    """How far one person is, and whether the labels count.

    Attributes:
        annotator_id: The person.
        code: How others see the person on this set.
        done, total: Places of the labelling round, hidden checks with them.
        labels: Labels of cases by answer.
        calibration: How the person stands there.
        checks: What the checks found.
        cleared: Flags that somebody looked at and cleared.
        counts: Whether the labels count: no flag is left.
        last: When the person did something last, UTC; None if never.
    """

    annotator_id: str
    code: str
    done: int
    total: int
    labels: Mapping[Label, int]
    calibration: Calibration
    checks: Checks
    cleared: tuple[Flag, ...]
    counts: bool
    last: datetime | None


@dataclass(frozen=True)
class Progress:
    """How far a set is.

    Attributes:
        cases: Cases that people are asked about.
        left_out: Cases that nobody is asked about because of a flag.
        by_labels: Cases by number of people who labelled them.
        people: Everybody who did anything with the set.
    """

    cases: int
    left_out: int
    by_labels: Mapping[int, int]
    people: tuple[PersonProgress, ...]


@dataclass(frozen=True)
class LabelAgreement:
    """How far people agree on a set, under codes instead of names.

    Attributes:
        answers: Label per code and case, those that count.
        raters: The figures.
        not_counting: Codes of people who are left out because a check stands out.
    """

    answers: Mapping[str, Mapping[str, Label]]
    raters: RaterAgreement
    not_counting: tuple[str, ...]


def progress(store: Store, set_id: str) -> Progress:
    """How far everybody is, and what stands out."""
    entries, people = entries_for(store, set_id), people_of(store, set_id)
    asked = asked_about(store, set_id)
    labels = main_labels(people)
    counts = Counter(sum(e.case_id in of for of in labels.values()) for e in asked)
    names = codes(store, set_id)
    rows = [_progress(store, set_id, entries, p, labels[who], names[who]) for who, p in people.items()]
    every = sum(e.role == "labelling" for e in entries)
    return Progress(len(asked), every - len(asked), dict(sorted(counts.items())), tuple(sorted(rows, key=lambda r: r.code)))


def clear_flags(store: Store, set_id: str, annotator_id: str, reviewer_id: str, note: str) -> PersonProgress:
    """Lets the labels of a flagged person count: somebody else looked at them. Flags that come up later count anew.

    Raises:
        InputError: The reviewer is that person, or is not registered, or gives no reason.
    """
    reviewer = store.labels.annotator(reviewer_id)
    if reviewer.id == annotator_id:
        raise InputError("Nobody clears the flags of their own labels; ask somebody else.")
    if not note.strip():
        raise InputError("Say why these labels can be trusted; it is kept with the decision.")
    person = people_of(store, set_id).get(annotator_id)
    if person is None:
        raise InputError("This person has not labelled anything in this set.")
    flags = check_person(person, entries_for(store, set_id)).flags
    store.preferences.set(_cleared_key(set_id, annotator_id), {"flags": list(flags), "by": reviewer.id, "note": note.strip()})
    return next(r for r in progress(store, set_id).people if r.annotator_id == annotator_id)


def disagreements(store: Store, set_id: str, reviewer_id: str | None = None) -> tuple[Disputed, ...]:
    """Cases on which people differ or were not sure, anonymised; undecided ones and those with an Unsure first.

    Labels of people with a flag are shown too: what they saw may still matter.

    Args:
        store: The workspace.
        set_id: Case set.
        reviewer_id: Who looks; `may_decide` says of each case whether this person may.
    """
    people = people_of(store, set_id)
    return disputed(asked_about(store, set_id), people, store.labels.salts(), reviewer_id)


def consensus(store: Store, set_id: str, reviewer_id: str, case_id: str, label: Label, note: str, *, seen: int | None = 0) -> Decision:
    """Decides a case as a third person; earlier decisions stay in its history.

    Args:
        store: The workspace.
        set_id: Case set.
        reviewer_id: Who decides.
        case_id: The case.
        label: Y, N or U.
        note: Why.
        seen: Number of the last decision that the reviewer saw, 0 for none; None decides whatever there is by now.

    Raises:
        InputError: The reviewer labelled the case, gives no reason, or there is no such case.
        ConflictError: Somebody else decided it meanwhile.
    """
    if case_id not in {e.case_id for e in entries_for(store, set_id)}:
        raise InputError(f'This set has no case "{case_id}".')
    if not note.strip():
        raise InputError("Say why you decide so; it is kept with the decision.")
    person = people_of(store, set_id).get(reviewer_id)
    if case_id in touched(person):
        raise InputError("You labelled this case, so somebody else has to decide it.")
    seq = person.next_seq.get(case_id, 1) if person else 1
    payload = {"note": note.strip(), **({} if seen is None else {"seen": seen})}
    done = store.labels.append(reviewer_id, set_id, [NewEvent(uuid4().hex, case_id, seq, "consensus", label, "review", payload)])
    if done.conflicts:
        raise ConflictError("This case was decided or labelled meanwhile; look at it again. Nothing was overwritten.")
    return Decision(label, note.strip(), done.stored[0].number)


def agreement(store: Store, set_id: str, *, repeats: int = 2_000) -> LabelAgreement:
    """How far people agree, over the labels that count."""
    people = people_of(store, set_id)
    entries, names = entries_for(store, set_id), codes(store, set_id)
    counting = {who: _counts(store, set_id, entries, p) for who, p in people.items()}
    known = {e.case_id for e in asked_about(store, set_id)}
    labels = {who: {c: x for c, x in of.items() if c in known} for who, of in main_labels(people).items()}
    answers = {names[who]: of for who, of in labels.items() if of and counting[who]}
    return LabelAgreement(
        answers, rater_agreement(answers, repeats=repeats), tuple(sorted(names[w] for w, of in labels.items() if of and not counting[w]))
    )


def times(store: Store, set_id: str) -> dict[str, LabelTimes]:
    """Label times of cases, per code, and under "" of all together."""
    people = people_of(store, set_id)
    names = codes(store, set_id)
    each = {names[w]: [label_time(e.new.payload) for s, e in p.labels.items() if s.name == "main"] for w, p in people.items()}
    every: list[LabelTime | None] = [t for found in each.values() for t in found]
    return {"": label_times(every), **{code: label_times(found) for code, found in sorted(each.items()) if found}}


def verdicts(store: Store, set_id: str, rule: Rule = "majority") -> tuple[Verdict, ...]:
    """What people found of each case, over the labels that count; a consensus goes before the rule."""
    people, entries = people_of(store, set_id), entries_for(store, set_id)
    places = {e.case_id: (e.scene_id, e.planner_id) for e in asked_about(store, set_id)}
    labels = [
        HumanLabel(case_id, who, label, frozenset(people[who].tags.get(case_id, ())))
        for who, of in main_labels(people).items()
        if _counts(store, set_id, entries, people[who])
        for case_id, label in of.items()
        if case_id in places
    ]
    decided = {c: d[-1].label for c, d in decisions(people).items() if c in places}
    return label_verdicts(labels, places, rule, decided)


def basis(store: Store, set_id: str) -> str:
    """What every figure of a set rests on, as text that changes with it: its events, cleared flags, and flags that leave cases out."""
    chosen = {k: v for k, v in store.preferences.all().items() if k.startswith(f"labels:{set_id}:")}
    return sha256_json([store.labels.stamp(set_id), chosen])


def codes(store: Store, set_id: str, purpose: str = "page") -> dict[str, str]:
    """Codes for people on one set, by their ids: nothing that tells who it is or when they came.

    Four digits, or as many more as it takes to differ from those who registered before; so a code never changes when others come.
    """
    salts, out = store.labels.salts(), dict[str, str]()
    taken = set[str]()
    for who, salt in salts.items():
        whole = hashlib.sha256(f"{salt}\x1f{set_id}\x1f{purpose}".encode()).hexdigest()
        out[who] = next(code for n in range(4, len(whole) + 1) if (code := f"p{whole[:n]}") not in taken)
        taken.add(out[who])
    return out


def counts_for(store: Store, set_id: str, people: Mapping[str, PersonState]) -> dict[str, bool]:
    """Whether each person's labels count."""
    entries = entries_for(store, set_id)
    return {who: _counts(store, set_id, entries, p) for who, p in people.items()}


def _progress(
    store: Store, set_id: str, entries: tuple[Entry, ...], person: PersonState, labels: Mapping[str, Label], code: str
) -> PersonProgress:
    slots = queue(store, set_id, person, "labelling")
    found = check_person(person, entries)
    cleared = _cleared(store, set_id, person.annotator_id)
    return PersonProgress(
        annotator_id=person.annotator_id,
        code=code,
        done=sum(s in person.labels for s in slots),
        total=len(slots),
        labels=dict(Counter(labels.values())),
        calibration=calibration_of(entries, person, person.annotator_id),
        checks=found,
        cleared=tuple(f for f in found.flags if f in cleared),
        counts=set(found.flags) <= cleared,
        last=person.last.at if person.last else None,
    )


def _counts(store: Store, set_id: str, entries: tuple[Entry, ...], person: PersonState) -> bool:
    flags = set(check_person(person, entries).flags)
    return not flags or flags <= _cleared(store, set_id, person.annotator_id)


def _cleared(store: Store, set_id: str, annotator_id: str) -> set[Any]:
    return set(store.preferences.get(_cleared_key(set_id, annotator_id), {}).get("flags", ()))


def _cleared_key(set_id: str, annotator_id: str) -> str:
    return f"labels:{set_id}:{annotator_id}:cleared"
