"""A workspace in which three people have labelled cases of two planners, for tests of the pages that show what came of it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from core.storage import Store
from core.trajectories.case import Camera, Frame
from tests.cases import case, straight
from tests.labels.desk import gold_cases, keep, say

SCENES = 6
ANSWERS = {
    "Ann": {"a": "YYNNYN", "b": "NNNNYU"},
    "Bob": {"a": "YYNNYN", "b": "NNNYYN"},
    "Cyd": {"a": "YNNNYN", "b": "NNNNYN"},
}
"""Labels of scene 0, 1, … by planner: people split on s1-a and s3-b, and one was unsure on s5-b."""
TIMED = {"t_ready_ms": 0, "t_key_ms": 4_000, "hidden_ms": 0}


def picture() -> bytes:
    """A small grey image."""
    out = io.BytesIO()
    Image.new("RGB", (96, 60), (90, 96, 102)).save(out, "JPEG")
    return out.getvalue()


def camera(path: str) -> Camera:
    """A front camera 1.5 m above the road that looks ahead."""
    pose = np.eye(4)
    pose[:3, :3] = np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]], dtype=float)
    pose[:3, 3] = [1.5, 0.0, 1.5]
    return Camera("front", (Frame(0.0, path),), 96, 60, np.array([[48.0, 0, 48], [0, 48.0, 30], [0, 0, 1]]), pose)


def threat_set(store: Store, people: tuple[str, ...] = ("Ann", "Bob", "Cyd")) -> str:
    """Six scenes by two planners with labels of some people; the first scene has a front camera."""
    images: dict[str, Any] = {}
    cases = []
    for i in range(SCENES):
        for k, planner in enumerate("ab"):
            more: dict[str, Any] = {"planner": straight(8.0 + i + k, 0.5 * i), "flags": ("open_future",) if i == 4 else ()}
            if i == 0:
                images["images/front.jpg"] = picture()
                more["cameras"] = (camera("images/front.jpg"),)
            cases.append(case(f"s{i}-{planner}", **more))
    set_id = keep(store, [*cases, *gold_cases(4)], name="Six scenes", images=images)
    for name in people:
        who = store.labels.register(name, 4, name != "Cyd")
        labels = {f"s{i}-{p}": x for p, row in ANSWERS[name].items() for i, x in enumerate(row)}
        say(store, set_id, who.id, labels, **TIMED)  # type: ignore[arg-type]
    return set_id
