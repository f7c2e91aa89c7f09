"""Masks of COCO files: polygons and run lengths, whole and broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from source_files import coco, found, written

from core.error_slices.attach import with_detections
from core.error_slices.detect import Detected
from core.error_slices.detection_files import digests_of
from core.error_slices.detections import DetectionSet
from core.error_slices.matching import make_units
from core.error_slices.sources import read_source


def read(folder: Path, truth: Any, results: Any, **options: Any) -> DetectionSet:
    return read_source("coco", written(folder / "gt.json", truth), written(folder / "dt.json", results), **options)


SQUARE = [[2.0, 2.0, 8.0, 2.0, 8.0, 6.0, 2.0, 6.0]]


def test_masks_of_polygons_and_run_lengths(tmp_path):
    from pycocotools import mask as coco_mask

    pixels = np.zeros((80, 100), np.uint8)
    pixels[2:6, 2:8] = 1
    packed = coco_mask.encode(np.asfortranarray(pixels))
    plain = [2 * 80 + 2, *[4, 76] * 5, 4, 80 * 100 - (2 * 80 + 2 + 5 * 80 + 4)]
    shapes = [SQUARE, {"size": [80, 100], "counts": packed["counts"].decode()}, {"size": [80, 100], "counts": plain}]
    truth = coco(annotations=[{"id": i, "image_id": 7, "category_id": 3, "iscrowd": 0, "segmentation": s} for i, s in enumerate(shapes)])
    made = read(tmp_path, truth, [found(segmentation=s) for s in shapes])
    assert made.task == "segmentation"
    for masks in (made.truth.masks, made.predictions.masks):
        for mask in masks:
            assert np.array_equal(coco_mask.decode({"size": list(mask.size), "counts": mask.counts}), pixels)
    assert made.truth.xyxy.tolist() == [[2, 2, 8, 6]] * 3
    assert made.truth.area.tolist() == [24] * 3
    assert made.report.counts["annotations whose box is taken from the mask"] == 3
    assert read(tmp_path, truth, [found(segmentation=SQUARE)], masks="no").truth.masks is None


def test_without_masks_in_the_predictions_boxes_are_compared_though_the_truth_has_masks(tmp_path):
    truth = coco()
    truth["annotations"][0]["segmentation"] = SQUARE
    made = read(tmp_path, truth, [found(segmentation=[])])
    assert (made.task, made.truth.masks) == ("detection", None)


@pytest.mark.parametrize(
    "segmentation",
    [
        [[1, 2, 3]],
        [[1, 2, 3, 4]],
        [["a", 1, 2, 3, 4, 5]],
        [[0, 0, 1e9, 0, 1e9, 1e9]],
        [[0, 0, 9e5, 0, 9e5, 9e5]],
        {"size": [80, 100], "counts": "zz~~"},
        {"size": [80, 100], "counts": [1, 2]},
        {"size": [80, 100], "counts": "0"},
        {"size": [-1, 100], "counts": [1]},
        {"size": [80, 100]},
        {"size": "big", "counts": ""},
        {"size": [80, 100], "counts": [-5, 8005]},
        5,
        "0101",
    ],
)
def test_broken_masks_are_told_and_their_boxes_used(tmp_path, segmentation):
    made = read(tmp_path, coco(), [found(segmentation=segmentation), found(segmentation=SQUARE)])
    assert made.predictions.masks[0] is None
    assert made.predictions.masks[1] is not None
    assert made.report.counts["masks that cannot be drawn"] == 1


def test_polygons_in_text_files_are_masks_beside_a_coco_truth(tmp_path):
    truth = coco()
    truth["annotations"][0]["segmentation"] = SQUARE
    written(tmp_path / "gt.json", truth)
    written(tmp_path / "said" / "a.txt", "3 0.02 0.025 0.08 0.025 0.08 0.075 0.02 0.075 0.9")
    made = read_source("coco", tmp_path / "gt.json", tmp_path / "said")
    assert made.task == "segmentation"
    assert made.truth.masks[0] == made.predictions.masks[0]
    assert read_source("coco", tmp_path / "gt.json", tmp_path / "said", masks="no").task == "detection"


def test_masks_of_a_truth_without_predictions_wait_for_a_segmenter(tmp_path):
    truth = coco()
    truth["annotations"][0]["segmentation"] = SQUARE
    made = read_source("coco", written(tmp_path / "gt.json", truth), None)
    assert made.task == "detection"
    assert set(make_units(made).side.tolist()) == {"gt", "image"}
    seen = Detected("m.pt", "segmentation", made.classes, made.images, replace(made.truth, score=np.ones(2)), (), 0)
    both = with_detections(made, seen)
    assert both.task == "segmentation"
    assert make_units(both).loss[make_units(both).on("seg")].tolist() == [0, 0]
    plain = read_source("coco", tmp_path / "gt.json", None, masks="no")
    assert digests_of(made).truth_digest == digests_of(plain).truth_digest != digests_of(both).truth_digest
    assert digests_of(made).digest != digests_of(plain).digest
    boxes = with_detections(made, replace(seen, task="detection", predictions=replace(seen.predictions, masks=None)))
    assert (boxes.task, boxes.truth.masks) == ("detection", None)
