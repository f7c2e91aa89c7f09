"""CommonRoad scenarios (XML, format 2020a): lanelets, signs, lights, obstacles and planning problems, without images.

A scenario does not say how an expert would drive. Either one of its moving obstacles plays the ego vehicle, and what it drove is the
expert's trajectory; or a solution file of the scenario is the expert, and another one may be the planner.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from core.errors import InputError
from core.trajectories.case import Case, Ego, Trajectory
from core.trajectories.importers.clean import fitted, number_option
from core.trajectories.importers.collect import Collector
from core.trajectories.importers.commonroad_layers import CLASSES, obstacles, road_network
from core.trajectories.importers.commonroad_xml import Body, ContentError, EgoFrame, State, body_of, solution_state, state_of
from core.trajectories.importers.safe_xml import read_xml
from core.trajectories.importers.scene_planners import PlannerSide
from core.trajectories.report import Imported

VERSION = "2020a"
VEHICLES = {"1": (4.298, 1.674), "2": (4.508, 1.610), "3": (4.569, 1.844)}
"""Length and width, m, of the vehicles that a solution may be for: Ford Escort, BMW 320i, VW Vanagon (commonroad-vehicle-models)."""
ALL = "all"


def looks_like(path: Path) -> bool:
    """Whether it is a scenario, by its name and first bytes; a folder, by its first XML file."""
    first = next(iter(sorted(path.glob("*.xml"))), path) if path.is_dir() else path
    if not first.is_file() or first.suffix.lower() != ".xml":
        return False
    try:
        with first.open("rb") as file:
            return b"<commonRoad" in file.read(4096).replace(b"<commonRoadSolution", b"")
    except OSError:
        return False


@dataclass(frozen=True, eq=False)
class _Drive:
    """Who drives, from where, and how.

    Attributes:
        id: Of the obstacle or the planning problem.
        start: State at t = 0 in the frame of the file.
        states: After t = 0, of the expert.
        body: Outline, None if not known.
        obstacle: Id of the obstacle that drives, "" if it is none.
    """

    id: str
    start: State
    states: list[State]
    body: Body | None
    obstacle: str = ""


def read(
    path: Path,
    *,
    expert_obstacle: str | int = "",
    expert: Path | str = "",
    solution: Path | str = "",
    planner: str = "",
    planners: str | Sequence[str] | None = None,
    planner_file: Path | str | None = None,
    planner_axes: str = "forward_left",
    horizon_s: float | str = 5.0,
) -> Imported:
    """Cases of a scenario, or of all scenarios in a folder.

    Args:
        path: Scenario file, or a folder of them.
        expert_obstacle: Id of the moving obstacle that plays the ego vehicle; "all" for every vehicle whose trajectory is long enough.
        expert: Instead of it, a solution of the scenario that counts as the expert's.
        solution: Solution of the planner; only together with `expert`.
        planner: Name of the planner of `solution`, if not the name of its file.
        planners: Baselines; all where None, none where there is a `solution` or a file of planners and nothing is named.
        planner_file: Trajectories of planners by scene ("benchmark:id" of obstacle or planning problem), in the frame of the ego vehicle.
        planner_axes: What x and y are in that file.
        horizon_s: Seconds to keep.

    Raises:
        InputError: A file cannot be used, or it is not said who the expert is.
    """
    files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    if not files:
        raise InputError(f'The folder "{path}" holds no XML file.')
    if bool(expert_obstacle) == bool(expert) or (solution and not expert):
        raise InputError(_who(files))
    out = Collector(path.name, "commonroad")
    side = PlannerSide.of(() if solution and planners is None else planners, planner_file, planner_axes)
    planned = _Planned(_solution(Path(solution)) if solution else None, planner or Path(solution).stem, side)
    horizon = number_option("horizon_s", horizon_s, 0.1, 60)
    driven = _solution(Path(expert)) if expert else None
    for file in files:
        try:
            root = read_xml(file)
            if root.tag != "CommonRoadSolution" or not path.is_dir():
                _scenario(out, file, root, str(expert_obstacle), driven, planned, horizon)
        except (InputError, ContentError) as e:
            text = str(e) if isinstance(e, InputError) else f'"{file.name}" breaks the format of CommonRoad: {e}.'
            if not path.is_dir():
                raise InputError(text) from e
            out.reject(file.name, "", text)
    side.finish(out)
    return out.result()


@dataclass(frozen=True, eq=False)
class _Solution:
    """States by planning problem, with the scenario and the vehicle that they are for."""

    file: str
    benchmark: str
    states: dict[str, list[State]]
    size: tuple[float, float] | None


@dataclass(frozen=True, eq=False)
class _Planned:
    """Who plans: a solution under a name, baselines, a file, or several of them."""

    solution: _Solution | None
    name: str
    side: PlannerSide


def _who(files: list[Path]) -> str:
    text = (
        "A CommonRoad scenario does not say how an expert would drive. Name either expert_obstacle (the id of a moving obstacle that plays "
        'the ego vehicle, or "all"), or expert (a solution file of the scenario), and with it solution (of the planner) if there is one.'
    )
    try:
        ids = [e.get("id", "") for e in read_xml(files[0]).findall("dynamicObstacle") if e.find("trajectory") is not None]
    except InputError:
        return text
    return f'{text} Moving obstacles of "{files[0].name}": {", ".join(ids[:20]) or "none"}{" …" if len(ids) > 20 else ""}.'


def _solution(path: Path) -> _Solution:
    root = read_xml(path)
    if root.tag != "CommonRoadSolution":
        raise InputError(f'"{path.name}" is no solution: its root is <{root.tag}>, <CommonRoadSolution> expected.')
    states: dict[str, list[State]] = {}
    try:
        for e in root:
            if not e.tag.endswith("Trajectory"):
                raise InputError(f'"{path.name}" holds <{e.tag}>; solutions with states (ksTrajectory and the like) are read, not inputs.')
            states[e.get("planningProblem", "")] = [solution_state(s) for s in e]
    except ContentError as e:
        raise InputError(f'"{path.name}" breaks the format of CommonRoad: {e}.') from e
    benchmark = root.get("benchmark_id", "")
    vehicle = re.match(r"\[?[A-Z]+([123])", benchmark)
    return _Solution(path.name, benchmark, states, VEHICLES[vehicle[1]] if vehicle else None)


def _scenario(
    out: Collector, file: Path, root: Element, obstacle: str, driven: _Solution | None, planned: _Planned, horizon_s: float
) -> None:
    """All cases of one scenario."""
    version, step = root.get("commonRoadVersion", ""), root.get("timeStepSize", "")
    if root.tag != "commonRoad" or version != VERSION:
        got = f"the version {version}" if root.tag == "commonRoad" else f"<{root.tag}>"
        raise InputError(f'"{file.name}" is {got}; scenarios of the version {VERSION} are read (commonroad-io converts older ones).')
    try:
        dt = float(step)
    except ValueError:
        dt = 0.0
    if not 0.001 <= dt <= 10:
        raise InputError(f'"{file.name}" has the timeStepSize "{step}"; a number of seconds between 0.001 and 10 is needed.')
    benchmark = root.get("benchmarkID", "") or file.stem
    for s in (driven, planned.solution):
        if s and benchmark not in s.benchmark.split(":"):
            raise InputError(f'"{s.file}" solves "{s.benchmark}", not "{benchmark}".')
    steps = round(horizon_s / dt)
    drives = _problems(out, root, file, driven) if driven else _obstacles(out, root, file, obstacle, steps)
    for drive in drives:
        _take(out, f"{file.name}, {drive.id}", root, benchmark, drive, planned, dt, steps, driven)


def _obstacles(out: Collector, root: Element, file: Path, wanted: str, steps: int) -> list[_Drive]:
    """Moving obstacles that play the ego vehicle."""
    drives, left_out = [], Counter[str]()
    for e in root.findall("dynamicObstacle"):
        i, kind = e.get("id", ""), (e.findtext("type") or "").strip()
        if wanted not in (i, ALL):
            continue
        states = sorted((state_of(s) for s in e.findall("trajectory/state")), key=lambda s: s.step)
        start = e.find("initialState")
        known = state_of(start) if start is not None else None
        if known is None or known.yaw is None or known.step != 0 or not states:
            why = "have no trajectory from t = 0 on"
        elif wanted == ALL and CLASSES.get(kind, ("", ()))[0] not in ("vehicle", "truck", "bus"):
            why = "are no cars, trucks or buses"
        elif wanted == ALL and states[-1].step < steps:
            why = "have a trajectory that ends before the horizon"
        else:
            drives.append(_Drive(i, known, states, body_of(e.find("shape")), i))
            continue
        left_out[why] += 1
        if wanted != ALL:
            out.reject(f"{file.name}, obstacle {i}", "", f"obstacles like it {why}")
            return []
    if wanted != ALL and not drives:
        raise InputError(f'"{file.name}" has no moving obstacle "{wanted}". {_who([file])}')
    out.remarks.extend(f"{file.name}: {n:,} moving obstacles do not play the ego vehicle: they {why}" for why, n in left_out.items())
    return drives


def _problems(out: Collector, root: Element, file: Path, driven: _Solution) -> list[_Drive]:
    """Planning problems that the expert solved."""
    drives = []
    for e in root.findall("planningProblem"):
        i = e.get("id", "")
        start = e.find("initialState")
        if i not in driven.states or start is None:
            out.reject(f"{file.name}, planning problem {i}", "", "the expert's solution does not solve it")
            continue
        drives.append(_Drive(i, state_of(start), driven.states[i], None))
    return drives


def _take(
    out: Collector,
    where: str,
    root: Element,
    benchmark: str,
    drive: _Drive,
    planned: _Planned,
    dt: float,
    steps: int,
    driven: _Solution | None,
) -> None:
    """The cases of one drive."""
    last = max((s.step for s in drive.states), default=0)
    if drive.start.yaw is None or last < 1:
        out.reject(where, "", "the expert has no state after t = 0")
        return
    notes = Counter[str]()
    said = _gap(drive)
    if last < steps:
        said = (f"the expert's trajectory ends after {last * dt:g} s",)
        steps = last
    frame = EgoFrame(drive.start.x, drive.start.y, drive.start.yaw)
    expert, gaps = frame.trajectory(drive.states, steps)
    if gaps:
        said += (f"{gaps} steps of the expert are missing and not valid",)
    if not drive.start.exact or not all(s.exact for s in drive.states):
        said += ("states of the expert are areas or intervals: their middles were taken",)
    way = np.vstack([np.zeros((1, 2)), expert.points])
    agents, things = obstacles(root, frame, way, steps, drive.obstacle, notes)
    road, signals = road_network(root, frame, way, notes)
    speed = drive.start.speed
    if speed is None:
        speed = float(np.hypot(*expert.points[0]) / dt)
        said += ("the speed at t = 0 is not in the file: that of the expert's first step was taken",)
    size = (drive.body.length, drive.body.width) if drive.body else (driven.size if driven else None)
    case = Case(
        case_id="",
        scene_id=f"{benchmark}:{drive.id}",
        planner_id="",
        dt_s=dt,
        expert=expert,
        planner=expert,
        ego=Ego(abs(speed), drive.start.accel, drive.start.yaw_rate, "centre", *(size or ())),
        agents=agents,
        map=road,
        static_objects=things,
        signals=signals,
        source={
            "dataset": "CommonRoad",
            "benchmark": benchmark,
            "author": root.get("author", ""),
            "affiliation": root.get("affiliation", ""),
            "source": root.get("source", ""),
            "expert": f"obstacle {drive.obstacle}" if drive.obstacle else f"solution {driven.file if driven else ''}",
            "start": [frame.x, frame.y, frame.yaw],
        },
        synthetic=benchmark.startswith(("ZAM_", "C-ZAM_")) or root.find("scenarioTags/simulated") is not None,
    )
    said += tuple(f"{n} {text}" for text, n in notes.items() if n)
    if planned.solution:
        _take_solution(out, where, case, frame, planned.solution.states.get(drive.id, []), planned, said)
    if not planned.solution or planned.side.baselines or planned.side.supplied:
        planned.side.add(out, case, where, said)


def _gap(drive: _Drive) -> tuple[str, ...]:
    """A note if a trajectory that says where it is at t = 0 is not where it should be then."""
    gaps = [math.hypot(s.x - drive.start.x, s.y - drive.start.y) for s in drive.states if s.step == 0]
    return (f"the expert's solution starts {gaps[0]:.2f} m from the initial state",) if gaps and gaps[0] > 0.1 else ()


def _take_solution(
    out: Collector, where: str, case: Case, frame: EgoFrame, states: list[State], planned: _Planned, said: tuple[str, ...]
) -> None:
    last = max((s.step for s in states), default=0)
    if last < 1:
        out.reject(where, "", "the planner's solution does not solve the planning problem")
        return
    planner: Trajectory = frame.trajectory(states, min(last, len(case.expert)))[0]
    case, notes = fitted(replace(case, planner=planner))
    out.take_planner(case, planned.name, case.expert, case.planner, where, (*said, *notes))
