"""Frames of the Waymo Open Dataset for end-to-end driving (WOD-E2E) from its TFRecord files, without TensorFlow.

Every frame has 4 s of past and 5 s of future at 4 Hz, an intent, eight cameras with calibration, and in parts of the validation set
trajectories that people scored. The planner comes from a submission (paired by the frame's name) or from a simple baseline.
The images of the second before come from other records of the same drive, which may lie in other files of the folder.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.errors import InputError
from core.trajectories.baselines import VELOCITY
from core.trajectories.case import CAMERAS, Camera, Case, Ego, Frame, RatedTrajectory, Trajectory
from core.trajectories.importers import clean
from core.trajectories.importers.clean import number_option
from core.trajectories.importers.collect import Collector, files_of, name_part
from core.trajectories.importers.scene_planners import PlannerSide
from core.trajectories.importers.tfrecord import is_tfrecord, records
from core.trajectories.importers.wire import WireError
from core.trajectories.importers.wod_frames import COMMANDS, PLACES, States, WodFrame, parse_frame
from core.trajectories.importers.wod_submission import STEP_S, STEPS, Submission, read_submission
from core.trajectories.report import FileSlice, Imported

LICENCE = "Waymo Open Dataset License Agreement for Non-Commercial Use"
HISTORY_S = (-1.0, -0.75, -0.5, -0.25)
"""Times of the images before t = 0; the nearest one of the data set's 10 Hz is taken."""
YES, NO = {"true", "1", "yes"}, {"false", "0", "no", ""}
NEAR_S = 0.08
FRAME_STEP_S = 0.1
"""Time between two numbers of a drive, where no time stamps tell it."""


def looks_like(path: Path) -> bool:
    """Whether it is a TFRecord file, or a folder with one, by the name and the checksum of the first length."""
    first = next(iter(sorted(p for p in path.glob("*.tfrecord*") if p.is_file())), path) if path.is_dir() else path
    return ".tfrecord" in first.name.lower() and is_tfrecord(first)


@dataclass(frozen=True, eq=False)
class _Found:
    """A frame and where it lies."""

    frame: WodFrame
    path: Path
    number: int
    offset: int

    @property
    def where(self) -> str:
        return f"{self.path.name}, record {self.number} (byte {self.offset:,})"


def read(
    path: Path,
    *,
    submission: Path | str = "",
    planner: str = "",
    planners: str | Sequence[str] | None = None,
    planner_file: Path | str | None = None,
    planner_axes: str = "forward_left",
    only_rated: bool | str = False,
    limit: int | str = 0,
) -> Imported:
    """Cases of the frames of TFRecord files.

    Args:
        path: A TFRecord file, or a folder of them.
        submission: Predictions of a planner; frames without one are history only.
        planner: Name of the planner, if not the one in the submission.
        planners: Baselines; all where None, none where there is a submission or a file of planners and nothing is named.
        planner_file: Trajectories of planners by name of the frame.
        planner_axes: What x and y are in that file.
        only_rated: Take only frames with trajectories that people scored.
        limit: Take at most that many frames, in the order of the files; 0 for all.

    Raises:
        InputError: A file cannot be read or is cut off (the text names the byte), or the submission cannot be used.
    """
    files = files_of(path, ".tfrecord", "TFRecord file of WOD-E2E")
    predicted = read_submission(Path(submission), planner) if submission else None
    out = Collector(path.name, "wod_e2e")
    out.outcomes.extend(predicted.rejected if predicted else ())
    found = _frames(files, out)
    side = PlannerSide.of(() if predicted and planners is None else planners, planner_file, planner_axes)
    most = int(number_option("limit", limit, 0, 1e9))
    chosen, reasons = _chosen(found, predicted, _yes("only_rated", only_rated), most)
    out.remarks.extend(f"{n:,} frames are no case: {why}" for why, n in reasons.items())
    drives: defaultdict[str, list[_Found]] = defaultdict(list)
    for f in found:
        drives[f.frame.segment].append(f)
    for f in chosen:
        _take(out, f, drives[f.frame.segment], predicted, side)
    side.finish(out)
    if predicted:
        _say_missing(out, found, predicted)
    if any(f.frame.images for f in chosen):
        out.remarks.append("The cameras SIDE_LEFT and SIDE_RIGHT have no place among the six that are shown; their images were left out.")
    return out.result()


def _yes(name: str, value: bool | str) -> bool:
    text = str(value).lower()
    if text not in YES | NO:
        raise InputError(f'The option {name} is "{value}"; allowed: yes or no.')
    return text in YES


def _frames(files: Sequence[Path], out: Collector) -> list[_Found]:
    """Every sound frame of the files; the others are noted."""
    found: list[_Found] = []
    names: set[str] = set()
    broken: list[str] = []
    for path in files:
        try:
            for record in records(path):
                where = f"{path.name}, record {record.number} (byte {record.offset:,})"
                if not record.sound:
                    out.reject(where, "", "the checksum (CRC-32C) of its data does not hold")
                    continue
                try:
                    frame = parse_frame(record.data)
                except WireError as e:
                    out.reject(where, "", f"it is no E2EDFrame: {e}")
                    continue
                if not frame.name or frame.name in names:
                    out.reject(where, frame.name, "a frame of that name is there already" if frame.name else "the frame has no name")
                    continue
                names.add(frame.name)
                found.append(_Found(frame, path, record.number, record.offset))
        except InputError as e:
            broken.append(str(e))
    if broken:
        raise InputError("\n".join(broken))
    return found


def _chosen(found: Sequence[_Found], predicted: Submission | None, only_rated: bool, limit: int) -> tuple[list[_Found], Counter[str]]:
    """Frames that become cases, and why others do not."""
    chosen: list[_Found] = []
    reasons = Counter[str]()
    for f in found:
        if predicted and f.frame.name not in predicted.trajectories:
            reasons["the submission has no prediction for them"] += 1
        elif only_rated and not any(_score(r) is not None for r in f.frame.rated):
            reasons["no trajectory of theirs was scored"] += 1
        elif limit and len(chosen) >= limit:
            reasons[f"the limit of {limit:,} was reached"] += 1
        else:
            chosen.append(f)
    return chosen, reasons


def _take(out: Collector, f: _Found, drive: Sequence[_Found], predicted: Submission | None, side: PlannerSide) -> None:
    """Make the cases of a frame, or note why there are none."""
    frame = f.frame
    points = frame.future.points
    if len(points) != STEPS:
        why = (
            "it has no future: the test set keeps it back" if not len(points) else f"its future has {len(points)} points; {STEPS} expected"
        )
        out.reject(f.where, frame.name, why)
        return
    if not np.isfinite(points).all() or not np.isfinite(frame.past.points).all():
        out.reject(f.where, frame.name, "a point that is not a finite number")
        return
    ego, notes = _ego(frame)
    if ego is None:
        out.reject(f.where, frame.name, *notes)
        return
    rated, more, changed = _rated(frame.rated, ego.speed_mps)
    expert = Trajectory.of(points)
    case = Case(
        case_id="",
        scene_id=frame.name,
        planner_id="",
        dt_s=STEP_S,
        expert=expert,
        planner=expert,
        ego=ego,
        command=COMMANDS.get(frame.intent, "unknown"),
        history=Trajectory.of(frame.past.points) if len(frame.past.points) else None,
        rated=rated,
        cameras=_cameras(out, f, drive),
        licence=LICENCE,
        source={
            "dataset": "WOD-E2E",
            "file": f.path.name,
            "record": f.number,
            "byte": f.offset,
            "timestamp_us": frame.timestamp_us,
            **({VELOCITY: [float(v) for v in frame.past.velocity[-1]]} if frame.past.velocity is not None else {}),
        },
    )
    notes += (*more, *frame.faults)
    if not case.cameras:
        notes += ("it has no image of the six cameras",)
    if predicted:
        said = predicted.notes.get(frame.name, ())
        out.take_planner(case, predicted.planner, expert, predicted.trajectories[frame.name], f.where, notes + said, changed)
    if not predicted or side.baselines or side.supplied:
        side.add(out, case, f.where, (*notes, *([changed] if changed else [])))


def _ego(frame: WodFrame) -> tuple[Ego | None, tuple[str, ...]]:
    """The vehicle at t = 0, with what was made up for it."""
    past = frame.past
    notes: tuple[str, ...] = ()
    if past.velocity is not None and np.isfinite(past.velocity[-1]).all():
        speed = float(np.hypot(*past.velocity[-1]))
    elif len(past.points) > 1:
        speed = float(np.hypot(*(past.points[-1] - past.points[-2])) / STEP_S)
        notes += ("it has no velocities: the speed at t = 0 is that of the last step of its past",)
    else:
        return None, ("it has no past states, so that its speed is not known",)
    known = past.acceleration is not None and np.isfinite(past.acceleration[-1]).all()
    # The states are given in the frame of the vehicle at t = 0, so that x is the direction of travel then.
    accel = float(past.acceleration[-1][0]) if known and past.acceleration is not None else None
    return Ego(speed, accel, origin="rear_axle"), notes


def _score(r: States) -> float | None:
    """The score if people gave one: -1 says that they did not."""
    return r.score if r.score is not None and 0 <= r.score <= 10 else None


def _rated(found: Iterable[States], speed_mps: float) -> tuple[tuple[RatedTrajectory, ...], tuple[str, ...], str]:
    """What people scored, notes, and what was resampled."""
    kept, empty, unrated, odd = [], 0, 0, 0
    notes: list[str] = []
    changes: list[str] = []
    for number, r in enumerate(found, 1):
        if not len(r.points) or not np.isfinite(r.points).all():
            empty += 1
            continue
        unrated += r.score is None or r.score == -1
        odd += r.score is not None and r.score != -1 and _score(r) is None
        t, said, change = clean.rated(r.points, STEPS, STEP_S, speed_mps, number)
        notes += said
        changes += [change] if change else []
        kept.append(RatedTrajectory(t, _score(r)))
    texts = {
        "rated trajectories without usable points were left out": empty,
        "trajectories have no score (-1): they are kept as unrated": unrated,
        "trajectories have a score outside 0 to 10: they are kept as unrated": odd,
    }
    return tuple(kept), (*notes, *(f"{n} {text}" for text, n in texts.items() if n)), "; ".join(changes)


def _cameras(out: Collector, f: _Found, drive: Sequence[_Found]) -> tuple[Camera, ...]:
    """The six cameras with the images of t = 0 and of the second before."""
    seconds = _seconds_before(f, drive)
    cameras = {}
    for number, name in PLACES.items():
        if number not in f.frame.images:
            continue
        frames = []
        for t, other in seconds.items():
            if number not in other.frame.images:
                continue
            offset, length = other.frame.images[number]
            path = f"images/{name_part(other.frame.name)}/{name}.jpg"
            out.images[path] = FileSlice(other.path, other.offset + offset, length)
            frames.append(Frame(t, path))
        k = f.frame.calibrations.get(number)
        cameras[name] = Camera(
            name,
            tuple(frames),
            k.width if k else None,
            k.height if k else None,
            k.intrinsics if k else None,
            k.extrinsics if k else None,
            k.distortion if k else (),
        )
    return tuple(cameras[c] for c in CAMERAS if c in cameras)


def _seconds_before(f: _Found, drive: Sequence[_Found]) -> Mapping[float, _Found]:
    """The frames nearest to the times of `HISTORY_S`, and the frame itself at 0; by time."""
    times = {t: other for other in drive if (t := _seconds(other, f)) is not None and t < 0}
    chosen = {}
    for wanted in HISTORY_S:
        nearest = min(times, key=lambda t: (round(abs(t - wanted), 3), t), default=None)
        if nearest is not None and abs(nearest - wanted) <= NEAR_S:
            chosen[round(nearest, 3)] = times[nearest]
    return {**dict(sorted(chosen.items())), 0.0: f}


def _seconds(other: _Found, f: _Found) -> float | None:
    """Time of another frame of the drive relative to this one; None if nothing tells it."""
    a, b = other.frame, f.frame
    if a.timestamp_us and b.timestamp_us:
        return (a.timestamp_us - b.timestamp_us) / 1e6
    numbers = [x.name.rsplit("-", 1)[-1] for x in (a, b)]
    return (int(numbers[0]) - int(numbers[1])) * FRAME_STEP_S if all(n.isdecimal() and len(n) < 12 for n in numbers) else None


def _say_missing(out: Collector, found: Sequence[_Found], predicted: Submission) -> None:
    names = {f.frame.name for f in found}
    for frame in predicted.trajectories:
        if frame not in names:
            out.reject(f"prediction of {predicted.planner} for {frame}", frame, "no frame of that name is in the files")
