"""Readers on real files: the same boxes as pycocotools reads, the same counts as it finds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from source_files import DATA

from core.error_slices.matching import make_units
from core.error_slices.sources import detect_format, read_source
from core.error_slices.units import UnitSettings

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not there")
EVAL, VAL, TOY = DATA / "coco_eval", DATA / "coco128_val", DATA / "det_formats_toy" / "toyexample"


def test_coco_val2014_as_pycocotools_counts_it():
    made = read_source(None, EVAL / "instances_val2014_100.json", EVAL / "instances_val2014_fakebbox100_results.json")
    raw = json.loads((EVAL / "instances_val2014_100.json").read_text(encoding="utf-8"))
    boxes = np.array([a["bbox"] for a in raw["annotations"]])
    boxes[:, 2:] += boxes[:, :2]
    assert np.array_equal(made.truth.xyxy, boxes)
    assert made.truth.ids == tuple(str(a["id"]) for a in raw["annotations"])
    assert made.truth.ignore.sum() == made.report.counts["crowd regions"] == 9
    units = make_units(made, UnitSettings(confidence=0))
    kinds = Counter(units.kind[units.on("pred")].tolist())
    false = sum(n for kind, n in kinds.items() if kind != "TP")
    assert (kinds["TP"], false + units.left_out.get("predictions on ignore regions", 0)) == (649, 85)


@pytest.mark.parametrize(("model", "boxes"), [("yolo_fastest", 811), ("fastestdet", 9691)])
def test_both_detectors_on_real_images(model, boxes):
    made = read_source(None, VAL / "ground_truth.json", VAL / f"detections_{model}.json", images=VAL / "images", model=model)
    assert (len(made.images), len(made.truth), len(made.predictions)) == (128, 898, boxes)
    assert all(i.path is not None and len(i.sha256) == 64 for i in made.images)
    assert "images of another size than the file says" not in made.report.counts
    assert 40 < sum(i.half == "discovery" for i in made.images) < 88


def test_yolo_labels_are_the_boxes_of_the_coco_file():
    made = read_source(None, VAL / "labels", None, images=VAL / "images")
    coco = read_source("coco", VAL / "ground_truth.json", None)

    def rows(s):
        return sorted(
            (Path(s.images[i].file_name).stem, s.classes[c].id, *b)
            for i, c, b in zip(s.truth.image, s.truth.cls, s.truth.xyxy.tolist(), strict=True)
        )

    mine, theirs = rows(made), rows(coco)
    assert len(mine) == 898
    assert [r[:2] for r in mine] == [r[:2] for r in theirs]
    assert np.array([r[2:] for r in mine]) == pytest.approx(np.array([r[2:] for r in theirs]), abs=1e-9)


@pytest.mark.parametrize(("model", "kinds"), [("yolo_fastest", (38, 152, 35, 8, 88)), ("fastestdet", (130, 658, 358, 45, 816))])
def test_labels_of_yolo_and_the_coco_file_give_the_same_units(model, kinds):
    said = VAL / f"detections_{model}.json"
    sets = [read_source("yolo", VAL / "labels", said, images=VAL / "images"), read_source("coco", VAL / "ground_truth.json", said)]
    counts = [Counter(make_units(s).kind.tolist()) for s in sets]
    assert counts[0] == counts[1]
    assert tuple(counts[0][k] for k in ("FP_CLS", "LOC", "FP_BOTH", "FP_DUP", "FP_BKG")) == kinds


@pytest.mark.parametrize(
    ("folder", "columns", "units"),
    [
        ("classid_abs_xywh", "class score x y w h", "px"),
        ("classid_abs_xyx2y2", "class score x1 y1 x2 y2", "px"),
        ("classid_rel_xcycwh", "class score cx cy w h", "relative"),
        ("classname_abs_xywh", "class score x y w h", "px"),
        ("classname_abs_xyx2y2", "class score x1 y1 x2 y2", "px"),
        ("classname_rel_xcycwh", "class score cx cy w h", "relative"),
    ],
)
def test_one_detector_in_seven_formats(folder, columns, units):
    truth = TOY / "gts_coco_format" / "toy_example_coco.JSON"
    names = {"prediction_names": str(TOY / "voc.names")} if "classid" in folder else {}
    text = read_source("coco", truth, TOY / f"dets_{folder}", images=TOY / "images", columns=columns, units=units, **names)
    coco = read_source(None, truth, TOY / "dets_coco_format" / "coco_dets.json")
    assert (len(text.predictions), text.report.unmapped) == (12, {})

    def rows(s):
        return sorted(
            (s.images[i].id, x, *b) for i, x, b in zip(s.predictions.image, s.predictions.score, s.predictions.xyxy.tolist(), strict=True)
        )

    mine, theirs = rows(text), rows(coco)
    assert [r[:2] for r in mine] == [r[:2] for r in theirs]
    assert np.array([r[2:] for r in mine]) == pytest.approx(np.array([r[2:] for r in theirs]), abs=0.6)


def test_category_ids_from_nought_with_names_in_the_results():
    made = read_source(None, DATA / "sahi_coco" / "dataset.json", DATA / "sahi_coco" / "result.json", images=DATA / "sahi_coco")
    assert (len(made.images), len(made.truth), len(made.predictions)) == (2, 249, 89)
    assert {made.classes[c].name for c in made.predictions.cls} == {"car", "person", "truck", "bus"}
    assert made.report.counts["boxes of ground truth with a stated area larger than the box, kept as stated"] == 249
    assert made.report.counts["images without a file"] == 2


def test_image_ids_as_text_in_one_file_and_numbers_in_the_other():
    made = read_source(None, EVAL / "gt_ignore_test.json", EVAL / "dt_ignore_test.json")
    assert (len(made.images), len(made.truth), len(made.predictions)) == (1, 14, 63)


def test_masks_of_a_real_data_set():
    made = read_source(None, EVAL / "gt_dataset.json", EVAL / "dt_dataset.json", images=EVAL)
    assert (made.task, len(made.truth), len(made.predictions)) == ("segmentation", 9, 9)
    assert all(m is not None and m.size == (256, 256) for m in (*made.truth.masks, *made.predictions.masks))
    assert set(make_units(made).side.tolist()) == {"gt", "pred", "image", "seg"}


def test_formats_of_real_files_are_recognised():
    assert detect_format(VAL / "ground_truth.json") == "coco"
    assert detect_format(VAL / "detections_fastestdet.json") is None
    assert detect_format(VAL / "labels") == "yolo"
    assert detect_format(DATA / "waterbirds_celeba" / "metadata_waterbirds.csv") == "classification"
