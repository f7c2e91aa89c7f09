"""What is looked at in every case that comes in, whatever its format: numbers, frame, time step, padding, duplicates, licence.

A finding either refuses the case (nothing that is measured on it could be right) or is noted beside it. Nothing is turned or repaired
here; what an importer repaired stands in its own notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.digest import sha256_bytes
from core.trajectories.case import Bools, Case, Floats, Trajectory
from core.trajectories.displacement import FULL_HORIZON_S
from core.trajectories.filters import flag_case
from core.trajectories.report import Imported, Outcome, several

STANDARD_STEPS, STANDARD_DT_S = 20, 0.25
"""Twenty points at 4 Hz: the form of the WOD-E2E challenge."""
MARGIN_MPS, MARGIN_M = 5.0, 0.5
"""A first step is believed up to (speed + 5 m/s) × step + 0.5 m."""
MOVING_MPS = 2.0
"""From this speed on the direction of the first step says where forward is."""
SOON_S = 1.0
"""Later a vehicle may have turned to anywhere."""
TURNED_M = 2.0
"""A commanded turn that ends less than this far to a side tells nothing of handedness."""
NOW_M = 0.05
"""A history that ends farther than this from the origin does not end with t = 0."""


@dataclass(frozen=True)
class Finding:
    """One thing found in one case.

    Attributes:
        text: One sentence.
        refuses: Whether the case cannot be used.
        flag: Flag that the case gets, "" for none.
    """

    text: str
    refuses: bool = False
    flag: str = ""


def first_step_limit(speed_mps: float, dt_s: float) -> float:
    """Metres that a vehicle of that speed can have gone after the first step."""
    return (speed_mps + MARGIN_MPS) * dt_s + MARGIN_M


def check_case(case: Case) -> tuple[Finding, ...]:
    """Everything that can be said of a case by itself."""
    found: list[Finding] = []
    named = {"expert": case.expert, "planner": case.planner}
    for name, t in named.items():
        found += _numbers(name, t)
    if len(case.expert) != len(case.planner):
        found.append(Finding(f"the planner has {len(case.planner)} points and the expert {len(case.expert)}", True))
    if any(f.refuses for f in found):
        return tuple(found)
    for name, t in named.items():
        found += _start(name, t, case)
        found += _padding(name, t)
        missing = int((~t.valid).sum())
        if missing:
            found.append(Finding(f"not valid: {missing} of {len(t)} states of the {name}"))
    if (len(case.expert), round(case.dt_s, 6)) != (STANDARD_STEPS, STANDARD_DT_S):
        short = case.horizon_s < FULL_HORIZON_S - 1e-6
        tail = "; what is measured at 5 s stays empty" if short else ""
        points = several(len(case.expert), "point", "points")
        found.append(Finding(f"{points} at {case.dt_s:g} s, {case.horizon_s:g} s in all, instead of 20 at 0.25 s{tail}"))
    found += _history(case)
    if not case.licence.strip():
        found.append(Finding("no licence is stated"))
    return tuple(found)


def _numbers(name: str, t: Trajectory) -> list[Finding]:
    if t.points.ndim != 2 or t.points.shape[1] != 2 or len(t.valid) != len(t.points):
        return [Finding(f"the {name} is not a list of points with x and y", True)]
    if not len(t):
        return [Finding(f"the {name} has no points", True)]
    if not np.isfinite(t.points).all():
        return [Finding(f"points of the {name} that are not finite numbers: {int((~np.isfinite(t.points)).any(axis=1).sum())}", True)]
    if not t.valid.any():
        return [Finding(f"the {name} has no valid state", True)]
    return []


def _start(name: str, t: Trajectory, case: Case) -> list[Finding]:
    """Whether the first valid state can be reached in its time."""
    k = int(np.argmax(t.valid))
    seconds = (k + 1) * case.dt_s
    gone, limit = float(np.hypot(*t.points[k])), first_step_limit(case.ego.speed_mps, seconds)
    if gone <= limit:
        return _sideways(name, t, case, k, gone)
    other = other_step(gone, case.ego.speed_mps, seconds)
    fits = f"; a step of {other * case.dt_s:g} s would fit the speed" if other else "; frame, unit or step cannot be right"
    text = f"the {name} is {gone:.1f} m away after {seconds:g} s at {case.ego.speed_mps:.1f} m/s (believed up to {limit:.1f} m){fits}"
    return [Finding(text, refuses=name == "expert", flag="implausible_start")]


def _history(case: Case) -> list[Finding]:
    """Whether the past ends where the vehicle is at t = 0."""
    if case.history is None or not len(case.history) or not case.history.valid[-1]:
        return []
    gone = float(np.hypot(*case.history.points[-1]))
    if gone <= NOW_M:
        return []
    step = case.ego.speed_mps * case.dt_s
    early = "; it may end a step before t = 0" if step > NOW_M and abs(gone / step - 1) < 0.3 else ""
    return [Finding(f"the history ends {gone:.2f} m from the origin, where the vehicle is at t = 0{early}")]


def _sideways(name: str, t: Trajectory, case: Case, k: int, gone: float) -> list[Finding]:
    if case.ego.speed_mps < MOVING_MPS or gone < 0.3 or (k + 1) * case.dt_s > SOON_S:
        return []
    x, y = t.points[k]
    if abs(y) <= abs(x) and x > 0:
        return []
    way = "backwards" if abs(x) >= abs(y) else "sideways"
    text = f"the {name} starts {way} at {case.ego.speed_mps:.1f} m/s: x has to point forward and y to the left"
    return [Finding(text, refuses=name == "expert", flag="implausible_start")]


def other_step(gone_m: float, speed_mps: float, dt_s: float) -> float:
    """The factor (2, 4, 2.5, 5 or 10) by which the step would have to be longer to fit the speed; 0 if none does."""
    if speed_mps < MOVING_MPS:
        return 0.0
    ratio = gone_m / (speed_mps * dt_s)
    return next((f for f in (2.0, 2.5, 4.0, 5.0, 10.0) if abs(ratio / f - 1) < 0.12), 0.0)


def _padding(name: str, t: Trajectory) -> list[Finding]:
    n = int((zero_padding(t.points) & t.valid).sum())
    return (
        [Finding(f"{several(n, 'state', 'states')} of the {name} at exactly (0, 0), far from what is before, but counted as valid", True)]
        if n
        else []
    )


def zero_padding(points: Floats) -> Bools:
    """Which rows are zeros that stand for "no state": exactly (0, 0) after the vehicle has gone more than a metre.

    Args:
        points: Shape (T, 2), m.
    """
    zero: Bools = (points == 0).all(axis=1)
    gone: Bools = np.maximum.accumulate(np.hypot(points[:, 0], points[:, 1])) > 1.0 if len(points) else zero
    return zero & gone


def has_origin(points: Floats, speed_mps: float, dt_s: float, horizon_s: float | None = None) -> bool:
    """Whether the first row is the origin at t = 0 and not the first state after it.

    Args:
        points: Shape (T, 2), m.
        speed_mps: At t = 0. A moving vehicle leaves the origin in one step; of one that stands nothing can be told from the position,
            so the stated horizon decides, or else an odd number of rows (11, 21 and 7 are 10, 20 and 6 with the origin).
        dt_s: Step.
        horizon_s: What the rows cover, if stated.
    """
    if len(points) < 2 or float(np.hypot(*points[0])) > 1e-3:
        return False
    if speed_mps * dt_s > 0.2:
        return True
    if horizon_s is not None:
        return abs((len(points) - 1) * dt_s - horizon_s) < abs(len(points) * dt_s - horizon_s)
    return len(points) % 2 == 1 and float(np.abs(points[0]).max()) < 1e-6


def handedness(cases: Sequence[Case]) -> str:
    """One sentence if commanded turns mostly go to the other side, "" if they do not or nothing can be told."""
    right_side = wrong = 0
    seen: set[str] = set()
    for case in cases:
        if case.command not in ("left", "right") or case.scene_id in seen:
            continue
        seen.add(case.scene_id)
        y = float(case.expert.points[case.expert.valid][-1, 1])
        if abs(y) >= TURNED_M:
            sign = 1 if case.command == "left" else -1
            right_side, wrong = right_side + (y * sign > 0), wrong + (y * sign < 0)
    if wrong <= right_side:
        return ""
    return (
        f"In {wrong} of {wrong + right_side} scenes with a turn commanded the expert ends on the other side: y may point to the right. "
        "If it does, import again with axes=forward_right."
    )


def content_digest(case: Case) -> str:
    """Fingerprint of what was driven and planned, without names."""
    parts = (case.expert.points, case.expert.valid, case.planner.points, case.planner.valid)
    return sha256_bytes(b"".join(np.ascontiguousarray(p).tobytes() for p in parts) + repr(float(case.dt_s)).encode())


def twins(cases: Sequence[Case]) -> dict[str, str]:
    """For each case that repeats an earlier one, one sentence that names the earlier one."""
    by_content: dict[str, Case] = {}
    by_names: dict[tuple[str, str], Case] = {}
    out: dict[str, str] = {}
    for case in cases:
        first = by_names.setdefault((case.scene_id, case.planner_id), case)
        same = by_content.setdefault(content_digest(case), case)
        if first is not case:
            out[case.case_id] = f'scene and planner are those of "{first.case_id}"'
        elif same is not case:
            out[case.case_id] = f'expert and planner are point for point those of "{same.case_id}"'
    return out


def checked(imported: Imported) -> Imported:
    """What was imported, checked: refused cases moved out with their reasons, findings noted, flags set."""
    kept: list[Case] = []
    notes: dict[str, tuple[str, ...]] = {}
    refused: set[str] = set()
    doubles = twins(imported.cases)
    for case in imported.cases:
        found = check_case(case)
        said = tuple(f.text for f in found)
        notes[case.case_id] = said + ((doubles[case.case_id],) if case.case_id in doubles else ())
        if any(f.refuses for f in found):
            refused.add(case.case_id)
            continue
        flags = dict.fromkeys([*case.flags, *(f.flag for f in found if f.flag)])
        kept.append(flag_case(replace(case, flags=tuple(flags))))

    def told(o: Outcome) -> Outcome:
        if o.fate != "accepted":
            return o
        fate = "rejected" if o.case_id in refused else "accepted"
        return replace(o, fate=fate, notes=tuple(dict.fromkeys([*o.notes, *notes.get(o.case_id, ())])))  # type: ignore[arg-type]

    report = imported.report
    remarks = tuple(r for r in (*report.remarks, handedness(kept)) if r)
    used = {f.path for c in kept for k in c.cameras for f in k.frames}
    images = {p: v for p, v in imported.images.items() if p in used}
    return Imported(kept, images, replace(report, outcomes=tuple(told(o) for o in report.outcomes), remarks=remarks))
