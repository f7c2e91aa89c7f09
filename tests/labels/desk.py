"""A workspace with a set of cases to be labelled, and people who label it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from core.operators import labelling
from core.storage import Store
from core.storage.label_events import Label, NewEvent
from core.trajectories.case import Case
from core.trajectories.case_set import write_case_set
from core.trajectories.report import Imported
from tests.cases import case, imported


def labelling_cases(n: int = 12, planners: int = 2, **changes: Any) -> list[Case]:
    """Cases to be labelled: n scenes × planners."""
    return [case(f"s{i:02d}-p{k}", **changes) for i in range(n) for k in range(planners)]


def gold_cases(n: int, role: str = "calibration") -> list[Case]:
    """Cases with a known answer, every other one Y."""
    golds: list[dict[str, Any]] = [
        {"label": "YN"[i % 2], "threats": ["red_light_violation"] if i % 2 == 0 else [], "why": f"Why {i}."} for i in range(n)
    ]
    return [case(f"{role}{i:02d}-p", source={"role": role, "gold": g}) for i, g in enumerate(golds)]


def keep(store: Store, cases: list[Case], name: str = "Cases", images: dict[str, Any] | None = None) -> str:
    """A saved set of cases; its id."""
    content: Imported = imported(*cases, images=images)
    folder = store.cases.parent / uuid4().hex[:12]
    return store.cases.save(name, write_case_set(folder, name, content), free_name=True).id


def person(store: Store, name: str = "Ann", researcher: bool = True) -> str:
    """A registered person's id."""
    return store.labels.register(name, 5, researcher).id


def press(store: Store, set_id: str, who: str, label: Label, round: Any = "labelling", **payload: Any) -> NewEvent:
    """Label what comes next."""
    item = labelling.window(store, set_id, who, round=round).items[0]
    new = NewEvent(uuid4().hex, item.case_id, item.seq, "label", label, item.slot, payload)
    assert labelling.record(store, set_id, who, [new]).acked == (new.uid,)
    return new


def say(store: Store, set_id: str, who: str, labels: dict[str, Label], slot: str = "main", **payload: Any) -> None:
    """Label given cases, whatever comes next."""
    events = [NewEvent(uuid4().hex, c, 1, "label", label, slot, payload) for c, label in labels.items()]
    assert len(labelling.record(store, set_id, who, events).stored) == len(events)
