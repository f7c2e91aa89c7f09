"""Numbers that others computed, kept beside a case set: the set itself never changes, and neither do its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.errors import InputError
from core.storage import Store
from core.threats.overlap import OverlapMatrix, overlap_matrix
from core.trajectories.case import Case
from core.trajectories.outside import FailureRule, OutsideMetrics, failure_rule, failures, read_outside, with_metrics
from core.trajectories.scenes import Common, in_common

_KEY = "cases:{}:outside"


@dataclass(frozen=True)
class OutsideFile:
    """A file of numbers that belongs to a set.

    Attributes:
        name: As it was uploaded.
        sha256: Of its content.
        added: Day and time, UTC, in ISO 8601.
    """

    name: str
    sha256: str
    added: str


@dataclass(frozen=True, eq=False)
class FailureOverlap:
    """How far planners fail in the same scenes by a rule (Fig. 6).

    Attributes:
        rule: What a failure is.
        matrix: Overlap of the failed scenes of each planner, over the scenes in common.
        common: Scenes on which all planners have the metric.
        failed: Failed cases of each planner, on all its scenes.
        unknown: Cases of each planner without the metric.
    """

    rule: FailureRule
    matrix: OverlapMatrix
    common: Common
    failed: Mapping[str, int]
    unknown: Mapping[str, int]


def add_outside(store: Store, set_id: str, name: str, data: bytes, cases: Sequence[Case]) -> OutsideMetrics:
    """Keeps a file of numbers with a set; where two files have a metric of one name, the later one counts.

    Raises:
        InputError: The file cannot be used, or not a single row meets a case; nothing was kept.
    """
    found = read_outside(_text(name, data), cases, name=name, text=True)
    if not found.used:
        raise InputError(f'Not a single one of {found.rows:,} rows of "{name}" meets a case of this set; its ids are other ones.')
    sha = store.uploads.put(name, data)
    kept = [f for f in outside_files(store, set_id) if f.sha256 != sha]
    added = datetime.now(UTC).isoformat(timespec="seconds")
    _set(store, set_id, [*kept, OutsideFile(name, sha, added)])
    return found


def drop_outside(store: Store, set_id: str, sha256: str) -> None:
    """Takes a file from a set; its bytes stay among the uploads, so that it can be added again."""
    _set(store, set_id, [f for f in outside_files(store, set_id) if f.sha256 != sha256])


def outside_files(store: Store, set_id: str) -> tuple[OutsideFile, ...]:
    """The files of numbers of a set, the one added last last."""
    return tuple(OutsideFile(**f) for f in store.preferences.get(_KEY.format(set_id), ()))


def with_outside(store: Store, set_id: str, cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases with all numbers from outside beside those that they came with.

    Raises:
        InputError: A file is gone from the uploads.
    """
    for f in outside_files(store, set_id):
        cases = with_metrics(cases, read_outside(_text(f.name, store.uploads.path(f.sha256).read_bytes()), cases, name=f.name, text=True))
    return tuple(cases)


def failure_overlap(cases: Sequence[Case], rule: str) -> FailureOverlap:
    """How far planners fail in the same scenes, by a metric from outside.

    Args:
        cases: With their numbers.
        rule: Such as "PDMS <= 0".

    Raises:
        InputError: The rule cannot be read, or names no metric of these cases.
    """
    read = failure_rule(rule, sorted({k for c in cases for k in c.metrics}))
    found = failures(cases, read)
    failed, unknown = set(found.failed), set(found.unknown)
    planners = sorted({c.planner_id for c in cases})
    known = {p: [c.scene_id for c in cases if c.planner_id == p and c.case_id not in unknown] for p in planners}
    common = in_common(known)
    shared = set(common.scenes)
    sets = {p: frozenset(c.scene_id for c in cases if c.planner_id == p and c.case_id in failed and c.scene_id in shared) for p in planners}
    return FailureOverlap(
        read,
        overlap_matrix(sets, common.scenes),
        common,
        {p: sum(c.planner_id == p and c.case_id in failed for c in cases) for p in planners},
        {p: sum(c.planner_id == p and c.case_id in unknown for c in cases) for p in planners},
    )


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(f'"{name}" is no UTF-8 text: byte {e.start:,} cannot be read. Save it as CSV in UTF-8.') from e


def _set(store: Store, set_id: str, files: Sequence[OutsideFile]) -> None:
    store.preferences.set(_KEY.format(set_id), [vars(f) for f in files])
