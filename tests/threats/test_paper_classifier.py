"""Every score that the paper prints for its classifier (Tables 2 and 3), from confusion matrices of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.threats import Confusion

V: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "vectors.yaml").read_text(encoding="utf-8"))
N, TABLE2, TABLE3 = V["val_set_n"], V["table2_prosecutor_pct"], V["table3_prosecutor"]


@pytest.mark.parametrize("model", TABLE3)
def test_table3(model: str) -> None:
    e = TABLE3[model]
    c = Confusion(*e["cm"])
    found = [c.accuracy, c.precision, c.recall, c.f(), c.f(2)]
    assert [round(x or 0, 4) for x in found] == [e[k] for k in ("acc", "p", "r", "f1", "f2")]


@pytest.mark.parametrize(("first", "second", "n"), [("qwen2b", "qwen4b", 25), ("qwen2b_filtered", "qwen4b_filtered", 14)])
def test_table3_models_are_held_against_the_same_cases(first: str, second: str, n: int) -> None:
    a, b = (Confusion(*TABLE3[m]["cm"]) for m in (first, second))
    assert a.n == b.n == n
    assert a.tp + a.fn == b.tp + b.fn
    # What a perfect score on 14 cases is worth.
    if n == 14:
        assert b.accuracy_interval is not None
        assert (b.accuracy_interval.low, b.accuracy_interval.high) == (pytest.approx(14 / (14 + 1.959963984540054**2)), 1.0)


@pytest.mark.parametrize("model", TABLE2)
def test_table2(model: str) -> None:
    e = TABLE2[model]
    c = Confusion(*e["cm"])
    shown = [100 * (x or 0) for x in (c.accuracy, c.precision, c.recall, c.f(), c.f(2))]
    assert [round(x) for x in shown[:3]] == e["printed"][:3]
    assert [math.floor(x) if e["f_cut"] else round(x) for x in shown[3:]] == e["printed"][3:]
    if e["f_cut"]:
        assert [round(x) for x in shown[3:]] != e["printed"][3:]


def rounded(part: int, whole: int) -> int:
    """Per cent, halves up, in whole numbers."""
    return (200 * part + whole) // (2 * whole)


def cut(part: int, whole: int) -> int:
    """Per cent, what is behind the point dropped."""
    return 100 * part // whole


def least(printed: Sequence[int], f_cut: bool, most: int) -> int | None:
    """Cases of the smallest set with these scores, up to a number of cases."""
    accuracy, precision, recall, f1, f2 = printed
    shown = cut if f_cut else rounded
    sizes = [
        tp + fp + fn + tn
        for tp in range(1, most + 1)
        for fp in range(most + 1 - tp)
        if rounded(tp, tp + fp) == precision
        for fn in range(most + 1 - tp - fp)
        if rounded(tp, tp + fn) == recall and shown(2 * tp, 2 * tp + fn + fp) == f1 and shown(5 * tp, 5 * tp + 4 * fn + fp) == f2
        for tn in range(most + 1 - tp - fp - fn)
        if rounded(tp + tn, tp + fp + fn + tn) == accuracy
    ]
    return min(sizes, default=None)


@pytest.mark.parametrize("model", TABLE2)
def test_table2_smallest_sets(model: str) -> None:
    e = TABLE2[model]
    assert sum(e["cm"]) >= e["least"] == least(e["printed"], e["f_cut"], e["least"] + 5)
    assert least(e["printed"], False, N) == e["rounded"]
