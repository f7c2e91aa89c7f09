"""Reader of KITTI: DontCare anywhere, difficulties and neighbours as in the benchmark, broken lines told."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from source_files import left_out, picture, written

from core.error_slices.detections import DetectionSet
from core.error_slices.matching import make_units
from core.error_slices.sources import class_table, read_source
from core.error_slices.sources.kitti import Row, parse_row
from core.errors import InputError

CAR = "Car 0.10 1 -1.58 100.0 120.5 200.25 180.0 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59"
DONT_CARE = "DontCare -1 -1 -10 300.00 150.00 340.00 180.00 -1 -1 -1 -1000 -1000 -1000 -10"


def kitti(folder: Path, lines: list[str], said: list[str] | None = None, **options: str) -> DetectionSet:
    written(folder / "label_2" / "000001.txt", "\n".join(lines))
    predictions = None if said is None else written(folder / "said" / "000001.txt", "\n".join(said)).parent
    return read_source("kitti", folder / "label_2", predictions, **options)


def test_kitti_labels_keep_truncation_and_occlusion(tmp_path):
    lines = [CAR, CAR.replace("Car 0.10 1", "Pedestrian 0.00 3"), CAR.replace("Car 0.10 1", "Tram -1 -1")]
    made = kitti(tmp_path, lines, [f"{CAR} 0.87"])
    assert made.truth.xyxy[0].tolist() == [100, 120.5, 200.25, 180]
    assert made.truth.truncated[:2].tolist() == [0.1, 0]
    assert np.isnan(made.truth.truncated[2])
    assert made.truth.occluded[0] == 1
    assert np.isnan(made.truth.occluded[1:]).all()
    assert [c.name for c in made.classes] == ["Car", "Pedestrian", "Tram"]
    assert made.predictions.score.tolist() == [0.87]
    assert make_units(made).kind.tolist()[:4] == ["TP", "FN", "FN", "TP"]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_dontcare_may_stand_anywhere(tmp_path, at):
    lines = [CAR, CAR.replace("100.0", "102.0")]
    lines.insert(at, DONT_CARE)
    made = kitti(tmp_path, lines, ["Cyclist -1 -1 -10 301 151 339 179 -1 -1 -1 -1000 -1000 -1000 -10 0.9"])
    assert (made.truth.cls[at], made.truth.ignore[at]) == (-1, True)
    assert made.truth.ignore.sum() == 1
    assert made.report.counts["DontCare regions"] == 1


def test_dontcare_is_an_ignore_region_of_every_class(tmp_path):
    said = [f"Car -1 -1 -10 {x} 151 {x + 20} 179 -1 -1 -1 -1000 -1000 -1000 -10 0.9" for x in (301, 310, 318)]
    units = make_units(kitti(tmp_path, [DONT_CARE, CAR], said))
    assert units.left_out["predictions on ignore regions"] == 3


@pytest.mark.parametrize(
    ("difficulty", "ignored"),
    [("", [0, 0, 0, 0, 0]), ("easy", [0, 1, 1, 1, 1]), ("moderate", [0, 0, 1, 1, 1]), ("hard", [0, 0, 0, 1, 1])],
)
def test_difficulties_as_in_the_benchmark(tmp_path, difficulty, ignored):
    def car(truncated: float, occluded: int, height: float) -> str:
        return f"Car {truncated} {occluded} 0 10 10 60 {10 + height} 1 1 1 1 1 1 0"

    lines = [car(0.15, 0, 40), car(0.3, 1, 25), car(0.5, 2, 25), car(0, 0, 24.9), car(0, 3, 100)]
    made = kitti(tmp_path, lines, difficulty=difficulty)
    assert made.truth.ignore.astype(int).tolist() == ignored


def test_neighbour_classes_on_demand(tmp_path):
    lines = [CAR.replace("Car", "Van"), CAR.replace("Car", "Person_sitting")]
    assert [c.name for c in kitti(tmp_path, lines).classes] == ["Van", "Person_sitting"]
    made = kitti(tmp_path, lines, neighbours="yes")
    assert [(made.classes[c].name, i) for c, i in zip(made.truth.cls, made.truth.ignore.tolist(), strict=True)] == [
        ("Car", True),
        ("Pedestrian", True),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Car 0 0 0 1 2 3", "7 columns"),
        ("1 Car 0 0 0 1 2 3 4 1 1 1 1 1 1 1 1", "tracking"),
        (CAR.replace("Car", "3"), "the type of the object"),
        (CAR.replace("200.25", "nan"), "finite"),
        (CAR.replace("200.25", "50"), "right is left of left"),
    ],
)
def test_broken_kitti_lines_say_why(line, why):
    assert why in str(parse_row(line.split()))


def test_kitti_results_of_unknown_images_and_broken_lines_are_told(tmp_path):
    written(tmp_path / "said" / "000009.txt", f"{CAR} 0.5\n{CAR} 0.6")
    made = kitti(tmp_path, [CAR, "rubbish"], [f"{DONT_CARE} 0.5", f"{CAR} 1.5"])
    counts = made.report.counts
    assert counts["predictions left out: unknown image"] == 2
    assert counts["predictions left out: DontCare is no object"] == 1
    assert counts["predictions with a score outside 0 to 1"] == 1
    assert counts["lines of ground truth left out"] == 1
    assert len(made.predictions) == 1


def test_kitti_without_images_knows_no_sizes_and_with_them_it_does(tmp_path):
    made = kitti(tmp_path, [CAR])
    assert (made.images[0].width, made.report.counts["images of unknown size"]) == (0, 1)
    picture(tmp_path / "image_2" / "000001.png", (1242, 375))
    picture(tmp_path / "image_2" / "000002.png", (1242, 375))
    made = kitti(tmp_path, [CAR], images=tmp_path / "image_2")
    assert (made.images[0].id, made.images[0].width, made.images[0].height) == ("000001", 1242, 375)
    assert made.report.counts["images left out: no label file"] == 1


def test_kitti_types_of_a_detector_are_mapped_by_name(tmp_path):
    said = [CAR.replace("Car", "car") + " 0.9", CAR.replace("Car", "person") + " 0.9"]
    made = kitti(tmp_path, [CAR, CAR.replace("Car", "Pedestrian")], said)
    assert made.report.unmapped == {"person": 1}
    table = class_table("kitti", tmp_path / "label_2", tmp_path / "said")
    assert [(r.name, r.target, r.proposal) for r in table.rows] == [("car", "Car", ""), ("person", "", "Pedestrian")]


def test_unknown_option_values_are_listed_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        kitti(tmp_path, [CAR], difficulty="tough", neighbours="maybe")
    assert [p.column for p in caught.value.problems] == ["difficulty", "neighbours"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.just(CAR), st.just(DONT_CARE), st.text(alphabet="C 1.-na\t", max_size=40)), max_size=6))
def test_whatever_kitti_lines_hold_every_one_is_kept_or_counted(tmp_path, lines):
    made = kitti(tmp_path, [CAR, *lines])
    assert len(made.truth) + left_out(made.report.counts, "lines of ground truth") == 1 + sum(bool(x.split()) for x in lines)


def test_a_row_of_a_line_knows_what_is_unknown():
    row = parse_row(CAR.split())
    assert isinstance(row, Row)
    assert (row.type, row.occluded, row.unknown, math.isnan(row.score)) == ("Car", 1, False, True)
