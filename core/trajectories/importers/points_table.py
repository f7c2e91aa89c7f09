"""Reads a CSV file with one point of a trajectory a row into trajectories with times; every row that cannot be used is named."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from core.errors import InputError, Problem
from core.trajectories.case import Bools, Floats
from core.trajectories.report import several

LARGEST_FILE = 512 * 2**20
MOST = 1e6
"""No time (s), no position (m) and no heading is larger."""
LONGEST = 10_000
"""Points of one trajectory."""
NAMES = {
    "scene_id": ("scene_id", "scene", "case_id", "scenario_id", "token"),
    "planner": ("planner", "planner_id", "who", "trajectory"),
    "t": ("t", "t_s", "time", "time_s"),
    "k": ("k", "step", "index"),
    "x": ("x", "x_m"),
    "y": ("y", "y_m"),
    "yaw": ("yaw", "heading"),
    "valid": ("valid",),
    "speed_mps": ("speed_mps", "speed", "v0"),
    "accel_mps2": ("accel_mps2", "acceleration"),
    "command": ("command",),
    "score": ("score", "rater_score"),
    "licence": ("licence", "license"),
    "dataset": ("dataset",),
    "dt_s": ("dt_s", "dt"),
}
"""Columns by the names that they may have; upper and lower case are the same."""
OF_SCENE = ("speed_mps", "accel_mps2", "command", "licence", "dataset")
"""Columns that say something of the whole scene."""


@dataclass
class Rows:
    """The rows of one trajectory as they came.

    Attributes:
        first: Number of its first row.
        t: Seconds or steps.
        x: m.
        y: m.
        yaw: rad; NaN where there is none.
        valid: As the file says.
        score: Of people, None if there is none.
        dt_s: Step that the file states.
        problems: What is wrong in its rows.
    """

    first: int
    t: list[float] = field(default_factory=list)
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    yaw: list[float] = field(default_factory=list)
    valid: list[bool] = field(default_factory=list)
    score: float | None = None
    dt_s: float | None = None
    problems: list[str] = field(default_factory=list)


@dataclass
class Table:
    """What a file holds.

    Attributes:
        name: Of the file.
        counts_steps: Whether its time is a number of steps.
        tracks: Rows by scene and by who drives, in the order of the file.
        scenes: What is said of each scene.
        loose: Rows that belong to no trajectory: number and reason.
        unknown: Columns that mean nothing to us.
    """

    name: str
    counts_steps: bool
    tracks: dict[str, dict[str, Rows]] = field(default_factory=dict)
    scenes: dict[str, dict[str, str]] = field(default_factory=dict)
    loose: list[tuple[int, str]] = field(default_factory=list)
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Timed:
    """A trajectory at equal steps.

    Attributes:
        first_s: Time of its first row.
        dt_s: Step.
        points: Shape (T, 2), NaN where there is no state.
        valid: Shape (T,).
        yaw: Shape (T,) or None.
        notes: What was found.
    """

    first_s: float
    dt_s: float
    points: Floats
    valid: Bools
    yaw: Floats | None
    notes: tuple[str, ...]


def text_of(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: It cannot be read, is too large, or is no text in UTF-8.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f'"{path.name}" is larger than {LARGEST_FILE >> 20} MB; split it.')
        return path.read_bytes().decode("utf-8-sig")
    except OSError as e:
        raise InputError(f'"{path.name}" cannot be read: {e.strerror or e}.') from e
    except UnicodeDecodeError as e:
        raise InputError(f'"{path.name}" is no text in UTF-8 (byte {e.start}); save it as CSV in UTF-8.') from e


def records(text: str, name: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Header and numbered records of a CSV text whose separator is a comma, a semicolon or a tab; blank lines are no records.

    Raises:
        InputError: There is no header.
    """
    head = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text.replace("\0", "\ufffd"), newline=""), delimiter=separator, strict=True)
    try:
        header = next((row for row in reader if any(c.strip() for c in row)), None)
    except csv.Error as e:
        raise InputError(f'"{name}" cannot be read as CSV: {e}.') from e
    if header is None:
        raise InputError(f'"{name}" is empty: expected a header and one point a row.')

    def rows() -> Iterator[tuple[int, list[str]]]:
        number = 0
        try:
            for row in reader:
                if any(c.strip() for c in row):
                    number += 1
                    yield number, row
        except csv.Error as e:
            raise InputError(f'"{name}" cannot be read as CSV after record {number}: {e}.') from e

    return [h.strip() for h in header], rows()


def columns_of(header: list[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Where each known column stands, and the headings that mean nothing to us."""
    place = {}
    lower = [h.lower() for h in header]
    for wanted, names in NAMES.items():
        found = [lower.index(n) for n in names if n in lower]
        if found:
            place[wanted] = found[0]
    return place, tuple(h for i, h in enumerate(header) if i not in place.values() and h)


def read_table(path: Path) -> Table:
    """The trajectories of a file.

    Raises:
        InputError: It is no CSV with the columns that are needed; all that are missing are named.
    """
    header, rows = records(text_of(path), path.name)
    place, unknown = columns_of(header)
    missing = [c for c in ("scene_id", "planner", "x", "y") if c not in place]
    if "t" not in place and "k" not in place:
        missing.append("t")
    if missing:
        problems = [
            Problem(None, c, "no such column", " or ".join(NAMES[c]), next(iter(get_close_matches(c, header, 1)), ""), "missing_column")
            for c in missing
        ]
        raise InputError(f'"{path.name}" lacks columns; it has {", ".join(header[:20])}.', problems)
    table = Table(path.name, "t" not in place, unknown=unknown)
    for number, row in rows:
        _take(table, place, number, row, len(header))
    if not table.tracks and not table.loose:
        raise InputError(f'"{path.name}" has a header and not a single row.')
    return table


def _take(table: Table, place: dict[str, int], number: int, row: list[str], width: int) -> None:
    cell = {name: row[i].strip() if i < len(row) else "" for name, i in place.items()}
    scene, who = cell["scene_id"], cell["planner"]
    if not scene or not who:
        table.loose.append((number, f"no {'scene' if not scene else 'planner'} is named"))
        return
    track = table.tracks.setdefault(scene, {}).setdefault(who, Rows(number))
    if len(row) != width:
        track.problems.append(f"row {number} has {len(row)} cells instead of {width}")
        return
    said = table.scenes.setdefault(scene, {})
    for name in OF_SCENE:
        if cell.get(name) and said.setdefault(name, cell[name]) != cell[name]:
            track.problems.append(
                f'row {number}: "{name}" is {_short(cell[name])}, but an earlier row of the scene says {_short(said[name])}'
            )
    numbers = {}
    for name in ("t" if "t" in place else "k", "x", "y", "yaw", "score", "dt_s"):
        value = _number(cell.get(name, ""))
        if value is None:
            track.problems.append(f'row {number}: "{name}" is {_short(cell[name])}, which is no number within ±{MOST:,.0f}')
            return
        numbers[name] = value
    if len(track.t) >= LONGEST:
        track.problems.append(f"row {number}: more than {LONGEST} points")
        return
    flag = cell.get("valid", "").lower()
    if flag not in ("", "1", "0", "true", "false", "1.0", "0.0"):
        track.problems.append(f'row {number}: "valid" is {_short(flag)}; allowed: 1, 0, true, false')
        return
    track.t.append(numbers.get("t", numbers.get("k", math.nan)))
    track.x.append(numbers["x"])
    track.y.append(numbers["y"])
    track.yaw.append(numbers["yaw"])
    track.valid.append(flag not in ("0", "false", "0.0"))
    for name in ("score", "dt_s"):
        before = getattr(track, name)
        if not math.isnan(numbers[name]):
            setattr(track, name, numbers[name])
            if before is not None and before != numbers[name]:
                track.problems.append(f'row {number}: "{name}" is {numbers[name]:g}, but was {before:g} before')


def _number(text: str) -> float | None:
    """The number of a cell, NaN for a blank one, None if it is no number."""
    if not text or text.lower() in ("nan", "na", "null", "none"):
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= MOST else None


def _short(text: str) -> str:
    return f'"{text[:30]}"'


def timed(rows: Rows, counts_steps: bool, dt_s: float | None) -> Timed | str:
    """A trajectory at equal steps, or why its rows are none.

    Args:
        rows: As they came.
        counts_steps: Whether its time counts steps: k = 0 is t = 0 and k = 1 one step later.
        dt_s: Step; needed where steps are counted and the file states none.
    """
    if rows.problems:
        more = len(rows.problems) - 3
        return "; ".join(rows.problems[:3]) + (f"; and {more} more rows" if more > 0 else "")
    t = np.asarray(rows.t)
    if not np.isfinite(t).all():
        return f"{int((~np.isfinite(t)).sum())} rows have no time"
    step = rows.dt_s or dt_s
    if counts_steps:
        if not step:
            return "the file counts steps, and nothing says how long one is: give dt_s, or a column t"
        t = t * step
    notes = []
    order = np.argsort(t, kind="stable")
    if (order != np.arange(len(t))).any():
        notes.append("its rows were not in the order of time and were sorted")
    t = t[order]
    gaps = np.diff(t)
    if (gaps <= 1e-9).any():
        return f"the time {t[int(np.argmax(gaps <= 1e-9))]:g} s is there twice"
    if not step:
        near = float(np.sort(gaps)[(len(gaps) - 1) // 2]) if len(gaps) else abs(float(t[0])) or 0.0
        near = float(gaps[np.abs(gaps - near) < 0.25 * near].mean()) if len(gaps) else near  # rounded times: their mean is better
        step = float((t[-1] - t[0]) / max(1, round(float(t[-1] - t[0]) / near))) if len(gaps) and near else near
        step = _whole_rate(t, step)
    if not 0.01 <= step <= 60:
        return f"a step of {step:g} s cannot be used"
    place = (t - t[0]) / step
    row = np.round(place).astype(int)
    if (np.abs(place - row) > 0.1).any():
        return f"its times are not at equal steps of {step:g} s"
    if row[-1] >= LONGEST:
        return f"it spans {row[-1] + 1} steps; at most {LONGEST} can be used"
    n = int(row[-1]) + 1
    if n > len(t):
        notes.append(
            several(n - len(t), "step between its rows is missing and is", "steps between its rows are missing and are") + " not valid"
        )
    points, valid, yaw = np.full((n, 2), np.nan), np.zeros(n, dtype=np.bool_), np.full(n, np.nan)
    points[row] = np.stack([rows.x, rows.y], axis=1)[order]
    valid[row] = np.asarray(rows.valid)[order]
    yaw[row] = np.asarray(rows.yaw)[order]
    return Timed(float(t[0]), step, points, valid, None if np.isnan(yaw).all() else yaw, tuple(notes))


def _whole_rate(t: Floats, step_s: float) -> float:
    """The step of a whole number of states a second if the times, s, are its multiples but for rounding; else the step as it is."""
    if not 0 < step_s <= 1:
        return step_s
    nice = 1 / round(1 / step_s)
    near = abs(nice - step_s) < 1e-2 * step_s and float(np.abs(t / nice - np.round(t / nice)).max()) < 0.1
    return nice if near else step_s


def placed(found: Timed, dt_s: float) -> Timed | str:
    """Rows from one step after t = 0 on, or why that cannot be.

    A row at t = 0 has to be the origin and falls away; states that are missing before the first row are not valid.

    Args:
        found: A trajectory.
        dt_s: Its step.
    """
    steps = found.first_s / dt_s
    lead = round(steps) - 1
    if abs(steps - round(steps)) > 0.1 or lead < -1:
        return f"its first time is {found.first_s:g} s; expected 0 or {dt_s:g} s"
    if lead > LONGEST:
        return f"its first time is {found.first_s:g} s"
    if lead == -1:
        start = float(np.hypot(*found.points[0]))
        if start > 1e-3:
            return f"at t = 0 it is {start:.2f} m from the origin: positions have to be in the ego frame at t = 0"
        yaw = None if found.yaw is None else found.yaw[1:]
        return replace(found, first_s=dt_s, points=found.points[1:], valid=found.valid[1:], yaw=yaw)
    points = np.vstack([np.full((lead, 2), np.nan), found.points])
    valid = np.r_[np.zeros(lead, dtype=np.bool_), found.valid]
    return replace(
        found, first_s=dt_s, points=points, valid=valid, yaw=None if found.yaw is None else np.r_[np.full(lead, np.nan), found.yaw]
    )
