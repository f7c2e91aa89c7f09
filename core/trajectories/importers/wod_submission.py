"""Predictions of a planner in the file of the WOD-E2E challenge, paired with what was driven.

`E2EDChallengeSubmission {predictions = 1, account_name = 3, unique_method_name = 4}`, `FrameTrajectoryPredictions {frame_name = 1,
trajectory = 2}`, `TrajectoryPrediction {pos_x = 1, pos_y = 2}` of the public `end_to_end_driving_submission.proto`: 20 points at 4 Hz, the
first at 0.25 s. A submission is one file, a folder of shards, or a .tar.gz of shards as it is uploaded.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from core.errors import InputError
from core.trajectories.case import Trajectory
from core.trajectories.importers.collect import Collector
from core.trajectories.importers.wire import Message, WireError
from core.trajectories.report import Imported, Outcome

STEP_S = 0.25
STEPS = 20
LARGEST_FILE = 512 * 2**20


@dataclass(frozen=True, eq=False)
class Submission:
    """What a planner predicted.

    Attributes:
        planner: Name of the method; the account is not kept.
        trajectories: 20 points at 4 Hz by name of the frame.
        rejected: Predictions that cannot be used, with the reason.
        notes: What was changed, by name of the frame.
    """

    planner: str
    trajectories: dict[str, Trajectory]
    rejected: tuple[Outcome, ...] = ()
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_submission(path: Path, planner: str = "") -> Submission:
    """A submission from its file, its folder of shards, or its archive.

    Args:
        path: Where it lies.
        planner: Name of the planner; the method's name in the file, or the name of the file, if empty.

    Raises:
        InputError: A file is missing, too large, or no submission.
    """
    trajectories: dict[str, Trajectory] = {}
    rejected: list[Outcome] = []
    notes: dict[str, tuple[str, ...]] = {}
    method = ""
    for name, data in _shards(path):
        try:
            message = Message(data)
            method = method or message.string(4)
            predictions = message.messages(1)
        except WireError as e:
            raise InputError(f'"{name}" is no submission of the WOD-E2E challenge: {e}.') from e
        if not predictions:
            raise InputError(f'"{name}" holds no predictions (field 1 of E2EDChallengeSubmission).')
        for k, prediction in enumerate(predictions):
            where = f"{name}, prediction {k}"
            try:
                frame, (found, note) = prediction.string(1), _trajectory(prediction.message(2))
            except WireError as e:
                rejected.append(Outcome(where, "", "rejected", "", (str(e),)))
                continue
            if found is None or not frame:
                rejected.append(Outcome(where, frame, "rejected", "", (note if found is None else "it names no frame",)))
            elif frame in trajectories:
                rejected.append(Outcome(where, frame, "rejected", "", ("the frame has a prediction already; the first was taken",)))
            else:
                trajectories[frame] = found
                if note:
                    notes[frame] = (note,)
    name = planner or method.strip() or path.name.split(".")[0]
    return Submission(name, trajectories, tuple(rejected), notes)


def _trajectory(m: Message) -> tuple[Trajectory | None, str]:
    """The trajectory with what was changed, or None with the reason why it cannot be used."""
    x, y = m.floats(1), m.floats(2)
    if len(x) != len(y):
        return None, f"{len(x)} values of x and {len(y)} of y"
    points, note = np.column_stack([x, y]), ""
    if len(points) == STEPS + 1 and np.abs(points[0]).max() < 1e-3:
        points, note = points[1:], f"{STEPS + 1} points with the origin at t = 0: the origin was left out"
    if len(points) != STEPS:
        return None, f"{len(points)} points; {STEPS} expected (5 s at 4 Hz)"
    if not np.isfinite(points).all():
        return None, "a point that is not a finite number"
    return Trajectory.of(points), note


def _shards(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file of a submission."""
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        if not files:
            raise InputError(f'The folder "{path}" holds no files.')
        for p in files:
            yield from _shards(p)
        return
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f'"{path.name}" has {path.stat().st_size:,} bytes; at most {LARGEST_FILE:,} are read.')
        if path.name.endswith((".tar.gz", ".tgz", ".tar")):
            yield from _members(path)
        elif path.suffix == ".gz":
            with gzip.open(path) as unpacked:
                yield path.name, _at_most(unpacked.read(LARGEST_FILE + 1), path.name)
        else:
            yield path.name, path.read_bytes()
    except (OSError, EOFError, tarfile.TarError, zlib.error) as e:
        raise InputError(f'"{path}" cannot be read: {e}.') from e


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Files of an archive, read in memory: nothing is unpacked to the disk."""
    left = LARGEST_FILE
    with _unpacked(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            hidden = member.name.rsplit("/", 1)[-1].startswith(".")  # macOS adds such files to archives
            content = archive.extractfile(member) if member.isfile() and not hidden else None
            if content is None:
                continue
            data = _at_most(content.read(left + 1), f"{path.name}: {member.name}", left)
            left -= len(data)
            yield f"{path.name}: {member.name}", data


class _Limited(io.RawIOBase):
    """A stream that ends with an error after so many bytes: heads of an archive are read whole, however long they say they are."""

    def __init__(self, file: gzip.GzipFile | io.BufferedReader, name: str) -> None:
        self._file, self._name, self._left = file, name, LARGEST_FILE + LARGEST_FILE // 8  # heads and padding beside the files

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise InputError(f'"{self._name}" unpacks to more than {LARGEST_FILE:,} bytes.')
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


def _unpacked(path: Path) -> _Limited:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return _Limited(gzip.open(path) if packed else path.open("rb"), path.name)


def _at_most(data: bytes, name: str, limit: int = LARGEST_FILE) -> bytes:
    if len(data) > limit:
        raise InputError(f'"{name}" unpacks to more than {LARGEST_FILE:,} bytes.')
    return data


def looks_like(path: Path) -> bool:
    """Whether its name is that of a submission and its first field that of predictions; archives by their name alone."""
    name = path.name.lower()
    if not path.is_file():
        return False
    if name.endswith((".tar.gz", ".tgz")):
        return "submission" in name
    if not name.endswith((".bin", ".binproto", ".pb", ".proto")) and "binproto" not in name:
        return False
    try:
        with path.open("rb") as file:
            return file.read(1) == b"\x0a"
    except OSError:
        return False


def read(path: Path, *, frames: Path | str = "", cases: Path | str = "", planner: str = "", **options: object) -> Imported:
    """Cases of a submission and of what was driven in its frames.

    Args:
        path: The submission.
        frames: TFRecord file of WOD-E2E, or a folder of them; gives everything.
        cases: Instead of `frames`, a file `cases.jsonl` (or a folder of cases) whose scenes are named as the frames; everything but the
            planner comes from there.
        planner: Name of the planner, if not the method's name in the file.
        **options: Passed on to `wod_e2e.read`.

    Raises:
        InputError: Neither or both of `frames` and `cases` are given, or a file cannot be used.
    """
    from core.trajectories.importers import pairing, wod_e2e

    if bool(frames) == bool(cases):
        raise InputError(
            "A submission holds only what the planner would have driven. Name either frames (the TFRecord files of WOD-E2E) or cases "
            "(a cases.jsonl whose scene_id is the frame's name), so that the expert is known too."
        )
    if frames:
        return wod_e2e.read(Path(frames), submission=path, planner=planner, **options)  # type: ignore[arg-type]
    submission = read_submission(path, planner)
    found = [
        pairing.Prediction(frame, submission.planner, t, STEP_S, submission.notes.get(frame, ()))
        for frame, t in submission.trajectories.items()
    ]
    return pairing.with_cases(Collector(path.name, "wod_submission", outcomes=list(submission.rejected)), Path(cases), found)
