"""Numbers of a scene or case that others computed (PDMS, a rater score of another tool), with a rule that says which of them is a failure.

The file is a CSV with `scene_id` or `case_id`, optionally `planner`, and one column a metric. A row without planner counts for every
planner of its scene. Every row that meets no case, and every case without a number, is counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from core.errors import InputError, Problem
from core.trajectories.case import Case
from core.trajectories.importers.points_table import records, text_of

KEYS = {
    "case_id": ("case_id",),
    "scene_id": ("scene_id", "scene", "token", "scenario_id", "frame_name"),
    "planner": ("planner", "planner_id", "method"),
}
BLANK = ("", "nan", "na", "none", "null", "-")


@dataclass(frozen=True, eq=False)
class OutsideMetrics:
    """Numbers of cases from a file.

    Attributes:
        names: Metrics, in the order of the file.
        values: By case, then by metric; what has no number is not there.
        rows: Rows of the file.
        used: Rows that met at least one case.
        unmatched: Rows that met none: number and what they name.
        blank: Cells without a number by metric.
        without: Cases without a number by metric.
        problems: Cells and rows that cannot be used.
    """

    names: tuple[str, ...]
    values: Mapping[str, Mapping[str, float]]
    rows: int
    used: int
    unmatched: tuple[tuple[int, str], ...]
    blank: Mapping[str, int]
    without: Mapping[str, int]
    problems: tuple[Problem, ...]


def read_outside(source: Path | str, cases: Sequence[Case], *, name: str = "metrics.csv", text: bool = False) -> OutsideMetrics:
    """Reads the metrics of cases.

    Args:
        source: The file; or its text if `text`.
        cases: Those that the numbers are for.
        name: Of the file, where it comes as text.
        text: Whether `source` is the text itself.

    Raises:
        InputError: The file cannot be read, names neither scenes nor cases, or has no column with numbers.
    """
    content = str(source).removeprefix("\ufeff") if text else text_of(Path(source))
    title = name if text else Path(source).name
    header, rows = records(content, title)
    place, metrics = _columns(header, title)
    by_case = {c.case_id: [c] for c in cases}
    by_scene: dict[str, list[Case]] = {}
    for c in cases:
        by_scene.setdefault(c.scene_id, []).append(c)
    values: dict[str, dict[str, float]] = {}
    said: dict[tuple[str, str], int] = {}
    unmatched: list[tuple[int, str]] = []
    problems: list[Problem] = []
    blank = dict.fromkeys(metrics.values(), 0)
    n = used = 0
    for n, row in rows:
        if len(row) != len(header):
            problems.append(Problem(n, "row", f"{len(row)} cells", f"{len(header)} cells", kind="cells"))
            continue
        key = {k: row[i].strip() for k, i in place.items()}
        met = by_case.get(key["case_id"], []) if key.get("case_id") else by_scene.get(key.get("scene_id", ""), [])
        if key.get("planner"):
            met = [c for c in met if c.planner_id == key["planner"]]
        if not met:
            unmatched.append((n, ", ".join(v for v in key.values() if v) or "nothing"))
        used += bool(met)
        for i, metric in metrics.items():
            value = _value(row[i])
            if value is None:
                problems.append(Problem(n, metric, row[i].strip()[:40], "a number, or nothing", kind="number"))
            elif math.isnan(value):
                blank[metric] += 1
            else:
                for c in met:
                    before = said.setdefault((c.case_id, metric), n)
                    if before != n and values[c.case_id][metric] != value:
                        allowed = f"one number a case; row {before} says {values[c.case_id][metric]:g}"
                        problems.append(Problem(n, metric, f"{value:g}", allowed, kind="conflict"))
                    else:
                        values.setdefault(c.case_id, {})[metric] = value
    if not n:
        raise InputError(f'"{title}" has a header and not a single row.')
    without = {m: sum(m not in values.get(c.case_id, {}) for c in cases) for m in metrics.values()}
    return OutsideMetrics(tuple(metrics.values()), values, n, used, tuple(unmatched), blank, without, tuple(problems))


def _columns(header: list[str], title: str) -> tuple[dict[str, int], dict[int, str]]:
    lower = [h.lower() for h in header]
    place = {k: lower.index(found) for k, names in KEYS.items() if (found := next((n for n in names if n in lower), None))}
    if "case_id" not in place and "scene_id" not in place:
        near = next(iter(get_close_matches("scene_id", lower, 1)), "")
        raise InputError(
            f'"{title}" names neither scenes nor cases.',
            [Problem(None, "scene_id", ", ".join(header[:20]), "a column scene_id or case_id", near, "missing_column")],
        )
    metrics = {i: h for i, h in enumerate(header) if i not in place.values() and h}
    twice = sorted({h for h in metrics.values() if list(metrics.values()).count(h) > 1})
    if twice:
        raise InputError(f'"{title}" has the same column twice: {", ".join(twice)}.')
    long = [h for h in metrics.values() if len(h) > 200 or h != h.strip() or not h.isprintable()]
    if not metrics or long:
        raise InputError(f'"{title}" has no column with a metric.' if not metrics else f'"{title}" has a column whose name cannot be used.')
    return place, metrics


def _value(cell: str) -> float | None:
    """The number of a cell, NaN for a blank one, None if it is no number."""
    cell = cell.strip()
    if cell.lower() in BLANK:
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if abs(value) <= 1e9 else None


def with_metrics(cases: Sequence[Case], outside: OutsideMetrics) -> tuple[Case, ...]:
    """The cases with the numbers beside those that they have already; a number of the same name is replaced."""
    return tuple(replace(c, metrics={**c.metrics, **outside.values.get(c.case_id, {})}) for c in cases)


Comparison = Literal["<", "<=", ">", ">=", "=="]


@dataclass(frozen=True)
class FailureRule:
    """Which values of a metric are failures.

    Attributes:
        metric: Its name.
        comparison: How it is compared,
        threshold: with what.
    """

    metric: str
    comparison: Comparison
    threshold: float

    def fails(self, value: float) -> bool:
        """Whether a value is a failure."""
        t = self.threshold
        return {"<": value < t, "<=": value <= t, ">": value > t, ">=": value >= t, "==": value == t}[self.comparison]

    def __str__(self) -> str:
        return f"{self.metric} {self.comparison} {self.threshold:g}"


def failure_rule(text: str, names: Sequence[str] = ()) -> FailureRule:
    """A rule from its text, e.g. "PDMS <= 0" or "RFS < 6".

    Args:
        text: Metric, one of < <= > >= ==, number.
        names: Metrics that there are; any where empty.

    Raises:
        InputError: It is no rule, or there is no such metric.
    """
    match = re.fullmatch(r"\s*([^<>=\s](?:.*?[^<>=\s])?)\s*(<=|>=|==|<|>|=)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*", text)
    try:
        threshold = float(match[3]) if match else math.nan
    except ValueError:
        threshold = math.nan
    if match is None or not math.isfinite(threshold):
        raise InputError(
            "The rule cannot be read.", [Problem(None, "rule", text[:60], "a metric, one of < <= > >= ==, and a number: PDMS <= 0")]
        )
    if names and match[1] not in names:
        near = next(iter(get_close_matches(match[1], names, 1)), "")
        raise InputError("The rule names no metric of these cases.", [Problem(None, "rule", match[1][:60], ", ".join(names), near)])
    sign: Comparison = "==" if match[2] == "=" else match[2]  # type: ignore[assignment]
    return FailureRule(match[1], sign, threshold)


@dataclass(frozen=True)
class Failures:
    """What a rule says of cases: failed + passed + unknown is their number.

    Attributes:
        failed: Ids of cases that fail.
        passed: Ids of cases that do not.
        unknown: Ids of cases without the metric.
    """

    failed: tuple[str, ...]
    passed: tuple[str, ...]
    unknown: tuple[str, ...]


def failures(cases: Sequence[Case], rule: FailureRule) -> Failures:
    """The cases that fail by a rule."""
    known = [c for c in cases if rule.metric in c.metrics]
    failed = tuple(c.case_id for c in known if rule.fails(c.metrics[rule.metric]))
    passed = tuple(c.case_id for c in known if not rule.fails(c.metrics[rule.metric]))
    return Failures(failed, passed, tuple(c.case_id for c in cases if rule.metric not in c.metrics))
