"""Kept results once more: read from their file, judged anew, and added up by condition (SliceNav, examples C and E)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.errors import InputError
from core.evaluation import Cell, Item, Rate, Result, read_result
from core.evaluation.rescore import rescored
from core.evaluation.summary import by_category, by_slice, by_value

KINDS = ("slice", "value", "category")
COUNTS = ("items", "valid", "partial", "invalid", "unscored", "failed", "blocked", "synthetic")
RATES = ("all", "mcq", "vqa", "judge")


@dataclass(frozen=True)
class Conditions:
    """Results by realised slice, by value and by question category.

    Attributes:
        results: What is added up.
        slices, values, categories: A cell per group.
    """

    results: tuple[Result, ...]
    slices: tuple[Cell, ...]
    values: tuple[Cell, ...]
    categories: tuple[Cell, ...]

    def tables(self) -> list[tuple[str, tuple[Cell, ...]]]:
        """The three tables with their kind."""
        return list(zip(KINDS, (self.slices, self.values, self.categories), strict=True))


def conditions(results: Sequence[Result], dims: Sequence[str] = ()) -> Conditions:
    """Results added up by condition.

    Args:
        results: What is added up.
        dims: Dimensions in the order in which they are told; others come after them by name.
    """
    kept = tuple(replace(r, item=_ordered(r.item, dims)) for r in results)
    return Conditions(kept, by_slice(kept), by_value(kept), by_category(kept))


def _ordered(item: Item, dims: Sequence[str]) -> Item:
    """The same item, whatever order its slices were written in."""
    place = {d: i for i, d in enumerate(dims)}

    def sort(values: Mapping[str, str]) -> dict[str, str]:
        return dict(sorted(values.items(), key=lambda x: (place.get(x[0], len(place)), x[0])))

    return replace(item, requested=sort(item.requested), realised=None if item.realised is None else sort(item.realised))


def conditions_csv(results: Sequence[Result], dims: Sequence[str] = ()) -> bytes:
    """The three tables in one file: kind, condition, requested slice, n and interval of every rate; see `conditions`."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    rates = [f"{r}_{part}" if part != "n" or r != "all" else "n" for r in RATES for part in ("n", "mean", "low", "high")]
    writer.writerow(["kind", "condition", "requested", *COUNTS, *rates])
    for kind, cells in conditions(results, dims).tables():
        for c in cells:
            found: list[Rate] = [getattr(c, r) for r in RATES]
            numbers = [x for r in found for x in (r.n, "" if r.mean is None else r.mean, r.low, r.high)]
            writer.writerow([kind, _in_words(c.values), _in_words(c.requested), *(getattr(c, n) for n in COUNTS), *numbers])
    return out.getvalue().encode()


def read_results_file(data: bytes) -> tuple[Result, ...]:
    """The results of an eval_results.jsonl.

    Raises:
        InputError: A line is no result.
    """
    try:
        return tuple(read_result(json.loads(line)) for line in data.decode().split("\n") if line.strip())
    except ValueError as e:
        raise InputError(f"A line of the results is no JSON: {e}.") from e


def judged_anew(results: Sequence[Result]) -> tuple[Result, ...]:
    """Results by today's reading of the answers in them; no model is asked."""
    return tuple(map(rescored, results))


def _in_words(values: object) -> str:
    return "; ".join(f"{d}={v}" for d, v in dict(values).items())  # type: ignore[call-overload]
