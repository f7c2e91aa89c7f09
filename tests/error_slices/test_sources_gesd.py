"""Reader of GESD files: what the file says was found, missed and invented is what the units say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from source_files import left_out, written

from core.error_slices.detection_files import read_detections, write_detections
from core.error_slices.detections import DetectionSet
from core.error_slices.matching import make_units
from core.error_slices.sources import detect_format, read_source
from core.errors import InputError


def annotation(number: int, result: str, bbox: list[float], reason: Any = "NA", category: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": number, "image_id": 1, "category_id": category, "bbox": bbox, "result": result, "reason": reason, **more}


def read(folder: Path, annotations: list[Any], **more: Any) -> DetectionSet:
    document = {
        "images": [{"id": 1, "file_name": "1.png", "width": 100, "height": 80}],
        "categories": [{"id": 1, "name": "bicycle"}, {"id": 7, "name": "truck"}],
        "annotations": annotations,
        **more,
    }
    return read_source(None, written(folder / "toy_detection.json", document), None)


ALL = [
    annotation(1, "TP", [10, 10, 20, 20]),
    annotation(2, "FP", [11, 10, 20, 20], "Stroller taken for a bicycle"),
    annotation(3, "FN", [50, 50, 20, 20], "Hidden bicycle"),
    annotation(4, "FP", [51, 50, 20, 20], "Stroller taken for a bicycle"),
    annotation(5, "FP", [10, 10, 20, 20], None, 7),
    annotation(6, "TP", [10, 10, 20, 20], "NA", 7),
]


def test_the_units_are_those_of_the_file_though_boxes_overlap(tmp_path):
    made = read(tmp_path, ALL)
    units = make_units(made)
    kinds = {i: k if k in {"TP", "FN"} else k[:2] for i, k in zip(units.ids, units.kind.tolist(), strict=True)}
    assert kinds == {
        **{"1:g1": "TP", "1:g3": "FN", "1:g6": "TP"},
        **{"1:d1": "TP", "1:d2": "FP", "1:d4": "FP", "1:d5": "FP", "1:d6": "TP"},
        "1:m": "IM",
    }
    assert made.report.counts["true positives of the file"] == 2
    assert made.report.counts["false positives of the file"] == 3
    assert made.report.counts["false negatives of the file"] == 1


def test_what_the_file_says_outlives_saving(tmp_path):
    made = read(tmp_path, ALL)
    written_set = write_detections(tmp_path / "kept", made)
    again = read_detections(written_set.folder)
    assert again.paired
    assert make_units(again).kind.tolist() == make_units(made).kind.tolist()


def test_slices_of_experts_and_the_name_of_the_file_are_kept(tmp_path):
    made = read(tmp_path, ALL)
    assert made.truth.slices == ("", "Hidden bicycle", "")
    assert made.predictions.slices == ("", "Stroller taken for a bicycle", "Stroller taken for a bicycle", "", "")
    assert made.report.counts["error slices named by experts"] == 2
    assert made.dataset == "toy_detection"
    assert (made.report.format, made.paired) == ("gesd", True)


def test_licences_of_the_images(tmp_path):
    assert read(tmp_path, ALL, licenses=[{"id": 1, "name": "CC BY 2.0"}]).licence == "CC BY 2.0"
    assert read(tmp_path, ALL, licenses=[{"name": "A"}, {"name": "B"}]).licence == "one of 2 by image, named in the file"


def test_annotations_that_say_nothing_are_counted(tmp_path):
    odd = [
        annotation(10, "TN", [1, 1, 2, 2]),
        annotation(11, "TP", [1, 1, -2, 2]),
        annotation(12, "TP", [1, 1, 2, 2], category=99),
        {**annotation(13, "TP", [1, 1, 2, 2]), "image_id": 5},
        "text",
    ]
    made = read(tmp_path, ALL + odd)
    assert left_out(made.report.counts, "annotations") == len(odd)
    assert len(made.truth) == 3


def test_a_plain_coco_file_is_no_gesd_and_two_files_are_too_many(tmp_path):
    with pytest.raises(InputError, match="is it a plain COCO file"):
        read_source(
            "gesd", written(tmp_path / "x.json", {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [{"image_id": 1}]}), None
        )
    path = written(tmp_path / "y.json", {})
    with pytest.raises(InputError, match="give no file of predictions"):
        read_source("gesd", path, path)


def square(x: int, side: int) -> list[list[int]]:
    return [[x, 10, x + side, 10, x + side, 10 + side, x, 10 + side]]


def test_masks_of_both_sides(tmp_path):
    masks = [
        {
            "id": 1,
            "image_id": 1,
            "gt_category_id": 1,
            "category_id": 1,
            "gt_segmentation": square(10, 20),
            "inference_segmentation": square(10, 20),
        },
        {
            "id": 2,
            "image_id": 1,
            "gt_category_id": 1,
            "gt_segmentation": square(40, 20),
            "inference_segmentation": None,
            "reason": "Sliced fruit",
        },
        {"id": 3, "image_id": 1, "category_id": 7, "gt_segmentation": [], "inference_segmentation": square(70, 10), "reason": "Paper"},
        {"id": 4, "image_id": 1, "gt_category_id": 7, "gt_segmentation": square(70, 8), "reason": "NA"},
        {"id": 5, "image_id": 1, "gt_category_id": 7, "gt_segmentation": None, "reason": "NA"},
    ]
    made = read(tmp_path, masks)
    assert made.task == "segmentation"
    assert made.truth.ids == ("1", "2", "4")
    assert made.predictions.ids == ("1", "3", "4")
    assert made.truth.xyxy.tolist() == [[10, 10, 30, 30], [40, 10, 60, 30], [70, 10, 78, 18]]
    assert made.truth.slices == ("", "Sliced fruit", "")
    counts = made.report.counts
    assert counts["correct instances without a mask of the model, taken as the ground truth"] == 1
    assert counts["annotations left out: no mask or category"] == 1
    units = make_units(made)
    losses = {i: x for i, x, side in zip(units.ids, units.loss.tolist(), units.side.tolist(), strict=True) if side == "seg"}
    assert sorted(losses.values())[:2] == [0, 0]
    kinds = dict(zip(units.ids, units.kind.tolist(), strict=True))
    assert (kinds["1:g1"], kinds["1:g2"], kinds["1:g4"]) == ("TP", "FN", "TP")
    assert kinds["1:d3"].startswith("FP")


def test_a_box_without_area_is_what_the_file_calls_it(tmp_path):
    units = make_units(read(tmp_path, [annotation(1, "TP", [10, 10, 5, 0]), annotation(2, "FP", [10, 10, 5, 0])]))
    kinds = dict(zip(units.ids, units.kind.tolist(), strict=True))
    assert (kinds["1:g1"], kinds["1:d1"], kinds["1:d2"][:2]) == ("TP", "TP", "FP")


@pytest.mark.parametrize(("said", "loss"), [(square(10, 5), 1 - 25 / 400), (square(60, 10), 1.0)])
def test_masks_that_the_file_pairs_are_one_unit_however_little_they_overlap(tmp_path, said, loss):
    both = {"id": 1, "image_id": 1, "gt_category_id": 1, "category_id": 1, "gt_segmentation": square(10, 20), "reason": "Partial"}
    units = make_units(read(tmp_path, [{**both, "inference_segmentation": said}]))
    rows = units.on("seg")
    assert [units.ids[r] for r in rows] == ["1:sg1"]
    assert units.loss[rows].tolist() == pytest.approx([loss])
    alone = make_units(read(tmp_path, [{**both, "gt_segmentation": None, "inference_segmentation": said}]))
    assert [alone.ids[r] for r in alone.on("seg")] == ["1:sd1"]


def test_the_format_is_told_from_coco(tmp_path):
    read(tmp_path, ALL)
    assert detect_format(tmp_path / "toy_detection.json") == "gesd"
