"""Step 4 of an import: rows that cannot be used as they are, grouped by problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.operators import Prepared
from core.seed_table import EXCLUDE, CheckReport, Rejection
from pages.shared import shell
from pages.shared.markup import table

SHOWN = 25
LEAVE, ADD, OUT = "decide later", "add to the ODD", "leave out"


def numbers(rows: Sequence[int]) -> str:
    """A few record numbers in words."""
    first = ", ".join(f"{i:,}" for i in rows[:3])
    return first + (f" and {len(rows) - 3:,} more" if len(rows) > 3 else "")


def step(p: Prepared, report: CheckReport, old: dict[str, Any], key: str) -> dict[str, Any]:
    """Show the problems and return value map and added values with what was just decided."""
    value_map = {d: dict(m) for d, m in (old.get("value_map") or {}).items()}
    added = {d: list(v) for d, v in (old.get("added") or {}).items()}
    dims = {c: d for d, c in report.plan.columns.items()}
    open_ones = [r for r in report.rejections if r.problem.kind in ("unknown_value", "ambiguous_value") and r.problem.column in dims]
    others = [r for r in report.rejections if r not in open_ones]
    shell.section(
        "4 Rows that need a decision",
        f"{report.rejected.size:,} rows, {len(report.rejections)} problems; guesses are never applied unasked",
    )
    if not report.rejections:
        shell.note("None: every row can be used.")
    safe = [r for r in open_ones if r.safe]
    if safe and st.button(f"Apply {len(safe)} safe corrections", key=f"{key}_safe", help="Slips of a letter or two."):
        for r in safe:
            value_map.setdefault(dims[r.problem.column], {})[r.problem.got] = r.problem.suggestion
    for i, r in enumerate(open_ones[:SHOWN]):
        _decide(r, dims[r.problem.column], p, value_map, added, f"{key}_{i}_{r.problem.got}", str(old.get("odd")))
    if len(open_ones) > SHOWN:
        shell.note(
            f"{len(open_ones) - SHOWN:,} more values are not in the ODD; they are left out unless you decide. The download names them all."
        )
    if others:
        rows = [
            (numbers(r.numbers.tolist()), f"{r.numbers.size:,}", r.problem.column, r.problem.got[:40], r.problem.allowed)
            for r in others[:SHOWN]
        ]
        shell.html(table(["Rows", "n", "Column", "Got", "Allowed"], rows, right=(1,)))
        if len(others) > SHOWN:
            shell.note(f"{len(others) - SHOWN:,} more problems; the download names them all.")
    if any(value_map.values()) and st.button("Undo all decisions on values", key=f"{key}_undo"):
        value_map, added = {}, {}
    return {"value_map": value_map, "added": added}


def _decide(
    r: Rejection, dim: str, p: Prepared, value_map: dict[str, dict[str, str]], added: dict[str, list[str]], key: str, kind: str
) -> None:
    names = [v.name for v in p.odd.by_name[dim].values]
    options = [LEAVE, *sorted(names, key=lambda n: n != r.problem.suggestion), OUT, *([ADD] if kind != "infer" else [])]
    hint = f"; nearest: {r.problem.suggestion} ({r.why})" if r.problem.suggestion else ""
    label = f'{r.problem.column}: "{r.problem.got}" in {r.numbers.size:,} rows ({numbers(r.numbers.tolist())}){hint}'
    choice = st.selectbox(label, options[:200], key=key)
    if choice == ADD:
        added.setdefault(dim, []).append(r.problem.got)
    elif choice == OUT:
        value_map.setdefault(dim, {})[r.problem.got] = EXCLUDE
    elif choice != LEAVE:
        value_map.setdefault(dim, {})[r.problem.got] = choice
