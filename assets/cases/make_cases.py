"""Makes the demo pack of cases: scenes that a program draws for six cameras, and what four made-up planners would have driven.

Everything is synthetic and CC0. What is drawn, the map, the road users and the signals of a case come from one description, and
every gold label is checked by geometry before anything is written (checks.py). The folder is a case set as
core.trajectories.case_set writes it; the same code and seed give the same bytes.

    python assets/cases/make_cases.py [FOLDER]           # everything
    python assets/cases/make_cases.py --keep-pictures    # when only trajectories, answers or roles have changed
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import numpy as np  # noqa: E402 (the script runs from anywhere)
import render  # noqa: E402
import scenes_city  # noqa: E402
import scenes_junction  # noqa: E402
import scenes_road  # noqa: E402
from checks import check  # noqa: E402
from kit import DT, PAST, SIZES, Actor, Prop, Scene, back  # noqa: E402
from PIL import Image  # noqa: E402
from roles import role  # noqa: E402

from core.trajectories.case import (  # noqa: E402
    CAMERAS,
    Agent,
    Agents,
    Camera,
    Case,
    Coverage,
    Ego,
    Frame,
    Layer,
    RatedTrajectory,
    Shape,
    Trajectory,
)
from core.trajectories.case_set import write_case_set  # noqa: E402
from core.trajectories.filters import flag_case  # noqa: E402
from core.trajectories.report import Imported, ImportReport, Outcome  # noqa: E402

NAME = "Demo pack (synthetic)"
LICENCE = "CC0-1.0"
QUALITY, QUALITY_PAST = 80, 62
"""JPEG quality of the critical frames and of those before, which are seen for a quarter of a second."""
MODULES = (scenes_city, scenes_road, scenes_junction)
TIMES = [(k - PAST + 1) * DT for k in range(PAST)]


def scenes() -> list[tuple[Scene, str]]:
    """All scenes with the ground that lies under everything."""
    return [(s, module.BASES[s.id]) for module in MODULES for s in (make() for make in module.SCENES)]


def cases_of(scene: Scene) -> list[Case]:
    """The cases of a scene, one a planner."""
    shared: dict[str, Any] = {
        "scene_id": scene.id,
        "dt_s": DT,
        "expert": trajectory(scene.expert),
        "ego": Ego(speed_mps=round(float(np.interp(0.0, *np.array(scene.speed, float).T)), 3)),
        "command": scene.command,
        "history": trajectory(back(scene.speed)),
        "rated": tuple(RatedTrajectory(trajectory(p), score) for p, score in scene.rated),
        "cameras": cameras(scene),
        "agents": Agents(tuple(agent(a, i) for i, a in enumerate(scene.actors)), Coverage("ground truth", (), 120.0)),
        "map": Layer(tuple(shapes(scene)), Coverage("ground truth", (), 66.0)),
        "static_objects": Layer(tuple(thing(p) for p in scene.props if p.layer == "static"), Coverage("ground truth", (), 66.0)),
        "signals": Layer(tuple(signal(p) for p in scene.props if p.layer == "signal"), Coverage("ground truth", (), 66.0)),
        "licence": LICENCE,
        "synthetic": True,
    }
    out = []
    for planner, plan in scene.plans.items():
        source = {
            "dataset": "Oddyssey demo pack",
            "generator": "assets/cases/make_cases.py",
            "seed": scene.seed,
            "description": scene.title,
            "role": role(scene.id, planner),
            "gold": {"label": plan.label, "threats": list(plan.threats), "why": plan.why},
        }
        case = Case(case_id=f"{scene.id}-{planner}", planner_id=planner, planner=trajectory(plan.points), source=source, **shared)
        out.append(flag_case(case))
    return out


def trajectory(points: np.ndarray) -> Trajectory:
    """Points to the millimetre."""
    return Trajectory.of(np.round(points, 3) + 0.0)


def cameras(scene: Scene) -> tuple[Camera, ...]:
    """Those of the six that the scene has."""
    names = CAMERAS if scene.cameras == 6 else ("front",)[: scene.cameras]
    return tuple(
        Camera(
            name,
            tuple(Frame(t, image_path(scene, name, i)) for i, t in enumerate(TIMES)),
            render.WIDTH,
            render.HEIGHT,
            render.intrinsics(),
            render.extrinsics(name),
        )
        for name in names
    )


def image_path(scene: Scene, camera: str, i: int) -> str:
    """Where a picture lies in the pack."""
    return f"images/{scene.id}/{camera}_{i}.jpg"


def agent(a: Actor, i: int) -> Agent:
    """A road user at t = 0 with what it does next."""
    cls, length, width, _ = SIZES[a.kind]
    x, y, yaw = a.at(0.0)
    vx, vy = a.velocity()
    future = np.array([a.at((k + 1) * DT)[:2] for k in range(20)])
    r = [round(float(v), 3) + 0.0 for v in (x, y, (yaw + np.pi) % (2 * np.pi) - np.pi, vx, vy)]
    moves = float(np.abs(future - (x, y)).max()) > 0.01 or np.hypot(vx, vy) > 0.05
    return Agent(f"{i + 1}", cls, r[0], r[1], length, width, r[2], (r[3], r[4]), trajectory(future) if moves else None,
                 tuple(sorted(m for m in a.attributes if m != "brake")))  # fmt: skip


def shapes(scene: Scene) -> list[Shape]:
    """The map: areas and lines that have a name there."""
    out = [Shape(a.kind, np.round(a.points, 2) + 0.0, True, a.attributes) for a in scene.areas if a.kind]
    for p in scene.paint:
        if p.kind and p.kind != "stop_line_oncoming":
            attributes = {"marking": p.marking} if p.kind == "marking" else {}
            out.append(Shape(p.kind, np.round(p.points, 2) + 0.0, False, attributes))
    return out


def thing(p: Prop) -> Shape:
    """A static object: an outline where it is long, a point where it is small."""
    length, width, _ = p.size
    if max(length, width) < 0.7:
        return Shape(p.kind, np.round([[p.x, p.y]], 2) + 0.0)
    c, s = np.cos(p.yaw), np.sin(p.yaw)
    box = np.array([(length, width), (-length, width), (-length, -width), (length, -width)]) / 2
    return Shape(p.kind, np.round(box @ np.array([[c, s], [-s, c]]) + (p.x, p.y), 2) + 0.0, True)


def signal(p: Prop) -> Shape:
    """A traffic light with its state, or a stop sign."""
    kind = "traffic_light" if p.kind == "signal" else p.kind
    return Shape(kind, np.round([[p.x, p.y]], 2) + 0.0, False, {"state": p.attributes["state"]} if "state" in p.attributes else {})


def pictures(scene: Scene, base: str, views: dict[str, render.View]) -> dict[str, bytes]:
    """All pictures of a scene as JPEG, by path."""
    out: dict[str, bytes] = {}
    if not scene.cameras:
        return out
    painter = render.Painter(scene, base)
    for camera in cameras(scene):
        if camera.name not in views:
            views[camera.name] = render.View(camera.name)
        view = views[camera.name]
        for frame in camera.frames:
            out[frame.path] = jpeg(painter.draw(view, frame.t_s), frame.t_s)
    return out


def jpeg(picture: Image.Image, t: float) -> bytes:
    """A picture as it lies in the pack."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=QUALITY if t == 0 else QUALITY_PAST, optimize=True)
    return buffer.getvalue()


def main(folder: Path, keep_pictures: bool = False) -> None:
    """Draw and write the pack into a folder, in place of the pack that was there."""
    made = scenes()
    cases = [c for s, _ in made for c in cases_of(s)]
    check(made, cases)
    views: dict[str, render.View] = {}
    images: dict[str, Any] = {}
    for scene, base in made:
        if keep_pictures:
            images |= {f.path: (folder / f.path).read_bytes() for c in cameras(scene) for f in c.frames}
        else:
            images |= pictures(scene, base, views)
    outcomes = tuple(Outcome(c.scene_id, c.case_id, "accepted") for c in cases)
    remarks = (
        "Drawn by a program: no camera, no planner and no person was involved. Ratings and gold labels are made up with the scenes.",
    )
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as made_in:
        fresh = Path(made_in) / "pack"
        write_case_set(fresh, NAME, Imported(cases, images, ImportReport("make_cases.py", "generated", outcomes, remarks)))
        for name in ("cases.jsonl", "cases.parquet", "manifest.json", "images"):
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            (fresh / name).replace(folder / name)


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--keep-pictures"]
    main(Path(arguments[0]) if arguments else HERE, "--keep-pictures" in sys.argv)
