"""Problems of an input as lines for people and as a file for mending them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from markupsafe import Markup

from core.errors import Problem
from pages.shared.markup import fill, strong

_ROWS = 3


def as_lines(problems: Sequence[Problem]) -> list[Markup]:
    """One line for each kind of problem: equal ones are told once, with their rows and how many they are."""
    groups: dict[tuple[str, ...], list[Problem]] = {}
    for p in problems:
        groups.setdefault((p.column, p.kind, p.got, p.allowed, p.suggestion), []).append(p)
    return [_line(group) for group in groups.values()]


def _line(group: Sequence[Problem]) -> Markup:
    p = group[0]
    text = fill(
        "{where}: got {got}; allowed: {allowed}.", where=_where(group), got=strong(p.got or "(empty)"), allowed=p.allowed.rstrip(".")
    )
    if p.suggestion:
        text += fill(" Did you mean {suggestion}?", suggestion=strong(p.suggestion))
    return text


def _where(group: Sequence[Problem]) -> str:
    rows = [p.row for p in group if p.row is not None]
    if not rows:
        return f'"{group[0].column}"'
    first = ", ".join(f"{r:,}" for r in rows[:_ROWS])
    more = f" and {len(rows) - _ROWS:,} more" if len(rows) > _ROWS else ""
    return f'{"Row" if len(rows) == 1 else "Rows"} {first}{more}, column "{group[0].column}"'


def as_csv(problems: Sequence[Problem]) -> str:
    """All problems, one a line, none grouped or left out."""
    out = io.StringIO()
    writer = csv.DictWriter(out, ["row", "column", "got", "allowed", "suggestion", "kind"])
    writer.writeheader()
    writer.writerows(p.as_dict() for p in problems)
    return out.getvalue()
