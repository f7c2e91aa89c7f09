"""Benchmarks as files: CSV of the figures, JSON of everything."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from core.benchmark import Line, Row
from core.operators.benchmark import BenchmarkResult
from core.operators.suite import SuiteResult


def benchmark_csv(result: BenchmarkResult) -> bytes:
    """One line per method and budget, UTF-8."""
    return _csv([f.name for f in fields(Row)], [asdict(r) for r in result.comparison.rows])


def suite_csv(result: SuiteResult) -> bytes:
    """One line per kind of oracle ("all" for all together), method and budget, UTF-8."""
    groups = {"all": result.lines, **result.by_kind}
    return _csv(["oracle", *(f.name for f in fields(Line))], [{"oracle": k, **asdict(x)} for k, lines in groups.items() for x in lines])


def _csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def benchmark_object(result: BenchmarkResult) -> dict[str, Any]:
    """Figures, curves, frontier, what was dropped, and the manifest, JSON-ready."""
    c, found = result.comparison, result.candidates
    return {
        "items": [asdict(r) for r in c.rows],
        "candidates": {
            "covered": c.size,
            "missing": found.missing,
            "oracle_slices": found.oracle_slices,
            "tested_in_seed": found.tested,
            "out_of_scope": found.beyond,
            "oracle_samples": c.samples,
            "thinnest": c.thinnest,
            "mean_risk": c.mean_risk,
        },
        "shared_samples": result.shared,
        "curves": [_point(p) for p in c.curves],
        "frontier": [asdict(p) for p in c.frontier],
        "intervals": c.how,
        "notes": list(result.notes),
        "manifest": result.manifest,
    }


def _point(point: Any) -> dict[str, Any]:
    return {k: v for k, v in asdict(point).items() if k != "floor"}
