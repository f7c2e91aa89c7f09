"""Charts of threats: order and counts of patterns, numbers and ink of cells, intervals, n under the bins, and nothing at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.labels.label_time import LabelTime, label_times
from core.plots.threat_frames import binned_frame, difference_frame, natr_frame, overlap_frame, sweep_frame
from core.plots.threat_maps import (
    LABEL_CATEGORIES,
    STATUS_CATEGORIES,
    TAIL_CATEGORIES,
    overlap_map,
    pattern_map,
    pattern_order,
    sweep_map,
    tail_row,
)
from core.plots.threat_rates import binned_chart, natr_intervals, rate_intervals, sweep_lines, time_histogram
from core.threats import Verdict, binned_rates, load_taxonomy, natr, overlap, overlap_matrix, threshold_sweep
from tests.plots.conftest import axes

TAX = load_taxonomy()


def rows(spec: dict[str, Any], column: str) -> list[dict[str, Any]]:
    return next(data for data in spec["datasets"].values() if data and column in data[0])


def report(policy: Any = "exclude") -> Any:
    said, status = {"A": "HHNNA", "B": "HNNN"}, {"H": "has_threat", "N": "no_threat", "A": "abstain"}
    verdicts = [
        Verdict(f"{p}{k}", f"s{k}", p, status[x], frozenset(["off_road_driving"] if x == "H" else ()))
        for p, row in said.items()
        for k, x in enumerate(row)
    ]
    return natr(verdicts, TAX, policy, repeats=50)


def test_scenes_stand_by_pattern_from_the_top_row_down() -> None:
    by = {"a": {"1": "N", "2": "Y", "3": "Y", "4": "U"}, "b": {"1": "Y", "2": "N", "3": "Y"}}
    assert pattern_order(by, LABEL_CATEGORIES) == ["3", "2", "1", "4"]


@pytest.mark.parametrize("dark", [True, False])
def test_a_pattern_map_draws_runs_and_counts_what_is_not_known(dark: bool) -> None:
    by = {"a": {"1": "N", "2": "Y", "3": "Y", "4": "U"}, "b": {"1": "Y", "2": "N", "3": "Y"}}
    spec = pattern_map(by, LABEL_CATEGORIES, dark, "cases").to_dict()
    runs = [(r["row"], r["what"], r["start"], r["end"], r["scenes"]) for r in rows(spec, "scenes")]
    assert runs == [
        *(("a", "Y", 0, 2, "3, 2"), ("a", "N", 2, 3, "1"), ("a", "Unsure", 3, 4, "4")),
        *(("b", "Y", 0, 1, "3"), ("b", "N", 1, 2, "2"), ("b", "Y", 2, 3, "1"), ("b", "Nothing known", 3, 4, "4")),
    ]
    texts = {r["row"]: r["text"] for r in rows(spec, "text")}
    assert texts == {"a": "Y 2 · N 1 · Unsure 1", "b": "Y 2 · N 1 · Nothing known 1"}
    assert all(a.get("labelOverlap") is False for a in axes(spec) if a)


def test_a_run_of_many_scenes_names_some_and_counts_the_rest() -> None:
    spec = pattern_map({"a": {f"s{k:02}": "has_threat" for k in range(20)}}, STATUS_CATEGORIES).to_dict()
    (run,) = rows(spec, "scenes")
    assert (run["n"], run["scenes"].endswith("s11 and 8 more")) == (20, True)


def test_metrics_and_verdicts_stand_in_one_map() -> None:
    hard = tail_row({"s0": 1.0, "s1": 3.0, "s2": None, "s3": 2.0, "s4": 3.0}, 50, "high")
    assert hard == {"s0": "other", "s1": "worst", "s3": "other", "s4": "worst"}
    found = {"s0": "has_threat", "s1": "no_threat", "s2": "abstain", "s3": "no_threat", "s4": "has_threat"}
    spec = pattern_map({"Worst 50 % by ADE": hard, "People": found}, (*TAIL_CATEGORIES, *STATUS_CATEGORIES)).to_dict()
    assert {r["row"]: r["text"] for r in rows(spec, "text")} == {
        "Worst 50 % by ADE": "In the worst tail 2 · Not in it 2 · Nothing known 1",
        "People": "Threat 2 · No threat 2 · No verdict 1",
    }


def test_a_map_without_scenes_is_a_chart() -> None:
    assert pattern_map({}, TAIL_CATEGORIES).to_dict()["layer"]
    assert pattern_map({"a": {}}, TAIL_CATEGORIES).to_dict()["layer"]


SCENES = [f"s{k}" for k in range(10)]
SETS = {"A": set(SCENES[:4]), "B": set(SCENES[2:5]), "none": set()}
MANY = {f"first {k}": set(SCENES[:k]) for k in range(11)} | {"last": set(SCENES[5:])}


def contrast(ink: str, ground: str) -> float:
    def light(c: str) -> float:
        parts = [int(c[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    a, b = sorted((light(ink), light(ground)))
    return (b + 0.05) / (a + 0.05)


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize(
    ("measure", "text", "counts"),
    [("jaccard", "0.40", "2/5"), ("directional", "67%", "2/3"), ("lift", "1.67", "2 v 1.2"), ("kappa", "0.35", "2 v 1.2")],
)
def test_a_cell_says_its_measure_and_what_it_is_made_of(measure: Any, text: str, counts: str, dark: bool) -> None:
    spec = overlap_map(overlap_matrix(SETS, SCENES), measure, dark).to_dict()
    cells = {(r["first"], r["second"]): r for r in rows(spec, "text")}
    assert len(cells) == 9
    assert (cells["A", "B"]["text"], cells["A", "B"]["counts"]) == (text, counts)
    assert cells["none", "none"]["text"] == "–"
    many = overlap_map(overlap_matrix(MANY, SCENES), measure, dark).to_dict()
    cells |= {(r["first"], r["second"]): r for r in rows(many, "text")}
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    for cell in cells.values():
        if cell["value"] is not None:
            rgb = [np.interp(cell["value"], scale["domain"], [int(c[k : k + 2], 16) for c in scale["range"]]) for k in (1, 3, 5)]
            assert contrast(cell["ink"], "#" + "".join(f"{round(x):02x}" for x in rgb)) >= 4.5
    assert spec["layer"][0]["encoding"]["color"]["scale"]["interpolate"] == "rgb"
    assert spec["resolve"]["scale"]["color"] == "independent", "Vega draws nothing where cells and text share a scale of colours"


def sweeps() -> list[Any]:
    values = {p: {s: float((7 * k + shift) % 10) for k, s in enumerate(SCENES)} for p, shift in (("A", 0), ("B", 3))}
    return [threshold_sweep("ADE", values, "high", (10, 50)), threshold_sweep("RFS", values, "low", (10, 50))]


def test_a_sweep_is_a_row_for_each_metric_and_a_column_for_each_threshold() -> None:
    spec = sweep_map(sweeps()).to_dict()
    cells = rows(spec, "text")
    assert {(r["first"], r["second"]) for r in cells} == {(f"{m}: A and B", f"{x} %") for m in ("ADE", "RFS") for x in (10, 50)}
    assert all(r["n"] == 10 and r["counts"].endswith(("/1", "/5")) for r in cells)
    assert sweep_map([]).to_dict()["layer"]


def test_sweep_lines_show_chance_and_what_was_found() -> None:
    found = overlap(SETS["A"], SETS["B"], SCENES)
    spec = sweep_lines(sweeps(), {"Threats": (35.0, found)}).to_dict()
    points = [r for data in spec["datasets"].values() for r in data if r.get("what") == "Threats"]
    assert [(p["percent"], p["share"], p["shared"]) for p in points] == [(35.0, pytest.approx(2 / 3.5), 2)]
    assert any(data == [{"percent": 0, "share": 0.0}, {"percent": 100, "share": 1.0}] for data in spec["datasets"].values())
    assert sweep_lines([]).to_dict()["layer"]
    assert sweep_lines([], {"None": (0.0, overlap((), (), SCENES))}).to_dict()["layer"]


def test_sweep_lines_of_several_pairs_show_their_mean() -> None:
    values = {p: {s: float((7 * k + shift) % 10) for k, s in enumerate(SCENES)} for p, shift in (("A", 0), ("B", 3), ("C", 0))}
    spec = sweep_lines([threshold_sweep("ADE", values, "high", (20, 50))]).to_dict()
    (bold,) = (d for d in spec["datasets"].values() if d and d[0].get("pair") == "mean of 3 pairs")
    thin = rows(spec, "size")
    for point in bold:
        assert point["share"] == pytest.approx(np.mean([t["share"] for t in thin if t["percent"] == point["percent"]]))
    assert (len(bold), len(thin)) == (2, 6)


@pytest.mark.parametrize("dark", [True, False])
def test_intervals_say_point_counts_and_open_scenes(dark: bool) -> None:
    found = report()
    spec = natr_intervals(found, dark, shared=False).to_dict()
    texts = {r["name"]: r["text"] for r in rows(spec, "text")}
    assert texts == {"A": "50.0% · 2 of 5, 1 open", "B": "75.0% · 1 of 4"}
    shared = {r["name"]: r["n"] for r in rows(natr_intervals(found, dark).to_dict(), "text")}
    assert shared == {"A": 4, "B": 4}
    (a, _) = rows(spec, "text")
    assert (a["low"], a["high"]) == (pytest.approx(0.4), pytest.approx(0.6))


def test_bounds_are_told_where_there_is_no_point() -> None:
    spec = natr_intervals(report("bounds"), shared=False).to_dict()
    assert rows(spec, "text")[0]["text"] == "40% to 60% · 2 of 5, 1 open"
    by = {r.set.label: r for r in report().planners[0].level("supercategory")}
    assert [r["name"] for r in rows(rate_intervals(by).to_dict(), "text")] == list(by)
    assert rate_intervals({}).to_dict()["layer"]


def test_bins_say_n_and_planners_differ_in_shape_and_colour() -> None:
    values = {p: {f"s{k}": float(k) for k in range(4)} for p in "AB"}
    statuses = {p: {f"s{k}": "has_threat" if k > 1 else "no_threat" for k in range(4)} for p in "AB"}
    found = binned_rates(values, statuses, "linear", 2)
    spec = binned_chart(found, "ADE, m", True).to_dict()
    cells = rows(spec, "rate")
    assert [(c["planner"], c["n"], c["rate"], c["bin"]) for c in cells] == [
        *(("A", 2, 0.0, "0 to 1.5"), ("A", 2, 1.0, "1.5 to 3"), ("B", 2, 0.0, "0 to 1.5"), ("B", 2, 1.0, "1.5 to 3")),
    ]
    assert cells[0]["high"] > 0.6
    assert cells[0]["at"] < 0 < cells[2]["at"]
    point = spec["layer"][2]["encoding"]
    assert len(set(point["shape"]["scale"]["range"])) == len(set(point["color"]["scale"]["range"])) == 2
    assert binned_chart([], "ADE").to_dict()["layer"]


def test_a_histogram_counts_every_label_and_marks_its_figures() -> None:
    spec = time_histogram(label_times([LabelTime(s) for s in (0.5, 1.0, 1.5, 60.0)], repeats=20)).to_dict()
    bars = rows(spec, "count")
    assert (sum(b["count"] for b in bars), bars[0]["count"], bars[1]["count"], bars[-1]["count"]) == (4, 1, 2, 1)
    assert [r["text"] for r in rows(spec, "text")] == ["P50 1.0 s", "P90 60.0 s", "mean 15.8 s"]
    assert time_histogram(label_times([])).to_dict()["layer"]


# Tables for a download


def test_tables_hold_every_row_with_n_and_interval() -> None:
    found = report()
    frame = natr_frame(found)
    assert len(frame) == 2 * 2 * 51
    assert set(frame["scenes_of"]) == {"planner", "all planners"}
    first = frame.iloc[0]
    assert (first["planner"], first["n"], first["threats"], first["open"], first["rate"]) == ("A", 5, 2, 1, 0.5)
    assert first["rate_bounds_low"] == 0.4 and first["rate_bounds_high"] == pytest.approx(0.6)
    assert difference_frame(found)[["first", "second", "n", "left_out"]].iloc[0].tolist() == ["A", "B", 4, 1]
    pairs = overlap_frame(overlap_matrix(SETS, SCENES))
    assert pairs[["first", "second", "shared", "union"]].values.tolist() == [["A", "B", 2, 5], ["A", "none", 0, 4], ["B", "none", 0, 3]]
    swept = sweep_frame(sweeps())
    assert (len(swept), swept["size"].tolist()) == (4, [1, 5, 1, 5])
    binned = binned_frame(binned_rates({"A": {"s": 1.0}}, {"A": {"s": "has_threat", "t": "no_threat"}}, "log"), "ADE")
    assert binned[["planner", "n", "planner_unknown"]].iloc[0].tolist() == ["A", 1, 1]


def test_tables_of_nothing() -> None:
    assert all(
        len(f) == 0 for f in (natr_frame(natr([], TAX)), overlap_frame(overlap_matrix({}, [])), sweep_frame([]), binned_frame([], "ADE"))
    )
