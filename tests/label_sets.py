"""Case sets for tests of labelling: flat pictures whose colour tells the case, and people who may label at once."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core import operators
from core.labels.guidance import read_guidance
from core.settings import Settings
from core.storage import SavedCaseSet, Store, open_store
from core.storage.label_events import Annotator
from core.trajectories.case import CAMERAS, Agent, Agents, Camera, CameraName, Case, Coverage, Ego, Frame, Trajectory
from core.trajectories.report import Imported

LEVELS = (20, 60, 100, 140, 180, 220)
WIDTH, HEIGHT = 480, 300
YAWS: dict[CameraName, float] = {
    "front_left": 55.0,
    "front": 0.0,
    "front_right": -55.0,
    "rear_left": 125.0,
    "rear": 180.0,
    "rear_right": -125.0,
}


def colour(i: int) -> tuple[int, int, int]:
    """The colour of case i; up to 216 are different."""
    return LEVELS[i % 6], LEVELS[i // 6 % 6], LEVELS[i // 36 % 6]


def case_of(rgb: tuple[int, ...]) -> int:
    """The case whose colour this is, as a browser shows it."""
    near = [min(range(6), key=lambda k: abs(LEVELS[k] - v)) for v in rgb]
    assert max(abs(LEVELS[k] - v) for k, v in zip(near, rgb, strict=True)) < 8, rgb
    return near[0] + 6 * near[1] + 36 * near[2]


def picture(rgb: tuple[int, int, int], name: CameraName) -> bytes:
    """A flat JPEG with a mark of its camera at the lower edge."""
    from PIL import Image

    image, at = Image.new("RGB", (WIDTH, HEIGHT), rgb), 20 + 60 * CAMERAS.index(name)
    image.paste((255, 255, 255), (at, HEIGHT - 20, at + 40, HEIGHT))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=92)
    return out.getvalue()


def camera(name: CameraName, frames: tuple[Frame, ...]) -> Camera:
    """A camera 1.6 m above the road, of 90 degrees."""
    yaw = np.deg2rad(YAWS[name])
    forward, right, down = np.array([np.cos(yaw), np.sin(yaw), 0]), np.array([np.sin(yaw), -np.cos(yaw), 0]), np.array([0, 0, -1.0])
    pose = np.eye(4)
    pose[:3, :3] = np.stack([right, down, forward], axis=1)
    pose[:3, 3] = [1.5 * np.cos(yaw), 0.6 * np.sin(yaw), 1.6]
    k = np.array([[WIDTH / 2, 0, WIDTH / 2], [0, WIDTH / 2, HEIGHT / 2], [0, 0, 1.0]])
    return Camera(name, frames, WIDTH, HEIGHT, k, pose)


def make_case(i: int, images: dict[str, bytes], cameras: tuple[CameraName, ...] = CAMERAS, frames: int = 1) -> Case:
    """Case i; its images are added to `images`, whose frames before the last are darker."""
    r, g, b = colour(i)
    made = []
    for name in cameras:
        shots = []
        for k in range(frames):
            shade = tuple(int(v * (1 - 0.12 * (frames - 1 - k))) for v in (r, g, b))
            path = f"images/{i:03}/{name}_{k}.jpg"
            images[path] = picture(shade, name)
            shots.append(Frame(-0.25 * (frames - 1 - k), path))
        made.append(camera(name, tuple(shots)))
    t = 0.25 * np.arange(1, 21)
    expert = np.stack([8 * t - 0.7 * t**2, 0 * t], axis=1)
    planner = np.stack([8 * t, -0.12 * t**2 * (1 + i % 3)], axis=1)
    other = Agent("a1", "vehicle", 20.0, 3.5, 4.6, 1.9, np.pi, (-8.0, 0.0))
    return Case(
        case_id=f"case-{i:03}-of-the-secret-planner",
        scene_id=f"T-{i:03}",
        planner_id="secret-planner",
        dt_s=0.25,
        expert=Trajectory.of(expert),
        planner=Trajectory.of(planner),
        ego=Ego(8.0),
        command="straight",
        history=Trajectory.of(np.stack([np.arange(-4, 1) * 2.0, np.zeros(5)], axis=1)),
        cameras=tuple(made),
        agents=Agents((other,), Coverage("made up")),
        licence="CC0-1.0",
        synthetic=True,
    )


@dataclass
class Labelled:
    """A workspace with one case set that can be labelled at once.

    Attributes:
        store: The workspace.
        cases: The set.
    """

    store: Store
    cases: SavedCaseSet

    def person(self, name: str = "Ada") -> Annotator:
        """Somebody who has read the guidance."""
        who = self.store.labels.register(name, 10, False)
        self.store.preferences.set(f"labels.guidance.{who.id}", read_guidance().tag)
        return who

    def address(self, url: str, who: Annotator) -> str:
        """Where this person labels."""
        return f"{url}/label?set={self.cases.id}&who={who.id}"

    def labels(self, who: Annotator) -> list[tuple[int, str | None]]:
        """Number of the case and label, in the order of storing; repeats with the rest."""
        events = self.store.labels.events(self.cases.id, who.id)
        return [(int(e.new.case_id.split("-")[1]), e.new.label) for e in events if e.new.kind == "label"]


def with_rounds(home: Path, name: str) -> Labelled:
    """Two cases for training, four for calibration and six to label; gold is Y for even numbers."""
    images: dict[str, bytes] = {}
    cases = [make_case(i, images, ("front",)) for i in range(12)]
    roles = ["training"] * 2 + ["calibration"] * 4 + ["labelling"] * 6
    gold = [{"label": "N" if i % 2 else "Y", "threats": [], "why": f"Reason {i}."} for i in range(12)]
    made = [replace(c, source={"role": r, "gold": g}) for c, r, g in zip(cases, roles, gold, strict=True)]
    return labelled(home, made, images, name, rounds=True)


def labelled(home: Path, cases: list[Case], images: dict[str, bytes], name: str = "Flat cases", rounds: bool = False) -> Labelled:
    """Put cases into the workspace of a server; training and calibration come before them only where asked for."""
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(home)}))
    saved = operators.keep_cases(store, Imported(cases, dict(images)), name=name).saved
    store.preferences.set(f"labels:{saved.id}:rounds", rounds)
    return Labelled(store, saved)


def flat_cases(home: Path, n: int, frames: int = 1, cameras: tuple[CameraName, ...] = CAMERAS, name: str = "Flat cases") -> Labelled:
    """A set of n cases that differ in colour."""
    images: dict[str, bytes] = {}
    cases = [make_case(i, images, cameras, frames) for i in range(n)]
    return labelled(home, cases, images, name)
