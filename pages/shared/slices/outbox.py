"""From presses to judgements: what the gallery's outbox holds is stored in order, once, and told back.

A judgement that can never be stored, because it is malformed, is refused and said; anything else that goes wrong leaves the outbox as it
is, and it is sent again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from core.errors import InputError, OddysseyError
from core.operators import slices
from core.storage import JUDGEMENTS, NewJudgement, Store

_MOST = 400
"""Judgements of an outbox that are stored at once; the rest comes with the next one."""


@dataclass(frozen=True)
class Told:
    """What became of an outbox.

    Attributes:
        acked: Uids that are on the disk.
        conflicts: Uid and text of each judgement that was not stored and never will be.
        error: Why the rest could not be stored now; "" if all could.
    """

    acked: tuple[str, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    error: str = ""


def receive(store: Store, set_id: str, outbox: Mapping[str, Any] | None) -> Told:
    """Store what an outbox holds; the same outbox may come any number of times."""
    raw = (outbox or {}).get("events")
    events = [e for e in raw if isinstance(e, Mapping)][:_MOST] if isinstance(raw, Sequence) else []
    acked: list[str] = []
    refused: list[tuple[str, str]] = []
    ready: list[NewJudgement] = []
    for e in events:
        new = _new(e)
        if new is None:
            refused.append((str(e.get("uid", "")), "A judgement came in a form that is not known; it was not stored."))
        else:
            ready.append(new)
    try:
        _record(store, set_id, ready, acked, refused)
    except (OddysseyError, SQLAlchemyError, OSError) as e:
        text = e.args[0] if isinstance(e, OddysseyError) else "The workspace did not answer"
        return Told(tuple(acked), tuple(refused), f"Not saved yet, trying again: {str(text).splitlines()[0][:200]}")
    return Told(tuple(acked), tuple(refused))


def _record(store: Store, set_id: str, new: Sequence[NewJudgement], acked: list[str], refused: list[tuple[str, str]]) -> None:
    if not new:
        return
    try:
        acked += slices.judge(store, set_id, new)
    except InputError as e:
        if not e.problems:
            raise
        if len(new) == 1:
            refused.append((new[0].uid, f"Not stored: {e.problems[0]}"))
            return
        for one in new:  # one that is malformed must not keep the others out
            _record(store, set_id, [one], acked, refused)


def _new(e: Mapping[str, Any]) -> NewJudgement | None:
    verdict, payload, texts = e.get("verdict"), e.get("payload"), [e.get(k) for k in ("uid", "hypothesis", "unit", "who")]
    if verdict not in JUDGEMENTS or not isinstance(payload, Mapping) or not all(isinstance(t, str) and t for t in texts):
        return None
    uid, hypothesis, unit, who = (str(t) for t in texts)
    return NewJudgement(uid, hypothesis, unit, verdict, who=who, payload=dict(payload))
