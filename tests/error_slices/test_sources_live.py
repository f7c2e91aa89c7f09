"""What the report of a ground truth says, once predictions of a live detector stand beside it."""

from __future__ import annotations

from source_files import coco, written

from core.error_slices.attach import with_detections
from core.error_slices.detect import Detected
from core.error_slices.detections import Boxes, ClassName
from core.error_slices.sources import read_source


def test_the_report_says_nothing_of_predictions_that_are_gone(tmp_path):
    truth = read_source("coco", written(tmp_path / "gt.json", coco()), None)
    assert any("There is no prediction" in p for p in truth.report.problems)
    boxes = Boxes.of([0, 0], [0, 1], [[10, 20, 40, 35], [1, 1, 5, 5]], score=[0.9, 0.8])
    detected = Detected("m.pt", "detection", (ClassName("0", "Car"), ClassName("1", "kite")), truth.images, boxes, (), 0)
    made = with_detections(truth, detected)
    assert len(made.predictions) == 1
    assert made.report.unmapped == {"kite": 1}
    assert made.report.problems == ("No class of the detector stands for these, so all of them count as missed: person (1).",)
