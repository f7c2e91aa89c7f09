"""Matching of predictions with ground truth: equal to pycocotools, kinds of error as TIDE has them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image
from core.error_slices.matching import BELOW, BEYOND, ON_REGION, REGIONS, UNSCORED, make_units, match_boxes, match_image
from core.error_slices.units import UnitSettings
from tests.coco_reference import DATA, evaluate, labels, random_documents, set_of

VECTORS = DATA.parent / "drafts" / "error_slice_test_vectors.json"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not beside the project")
UNCUT = UnitSettings(confidence=0)


def real(folder: str, truth: str, results: str):
    return json.loads((DATA / folder / truth).read_text()), json.loads((DATA / folder / results).read_text())


def kinds(units, side):
    return Counter(units.kind[units.on(side)].tolist())


def boxes(rows, *, score=None, ignore=None, cls=None):
    return Boxes.of(np.zeros(len(rows)), np.zeros(len(rows)) if cls is None else cls, rows, score=score, ignore=ignore)


def outcome(units):
    """TP, FP or IGN of each prediction that counted, by its row."""
    matching, _ = match_boxes(units.detections.truth, units.detections.predictions, units.settings)
    return {r: "TP" if k == "TP" else ("IGN" if k == "IGN" else "FP") for r, k in enumerate(matching.kind.tolist()) if k}


@pytest.mark.skipif(not VECTORS.is_file(), reason="the shared vectors are not beside the project")
def test_the_shared_vector():
    v = json.loads(VECTORS.read_text())["match"]
    columns = (np.array(v[k]) for k in ("gt_xyxy", "gt_cls", "gt_ignore", "dt_xyxy", "dt_cls", "dt_score"))
    m = match_image(*columns, UnitSettings(0, v["t_pos"], v["t_bg"]))
    assert m.kind[m.order].tolist() == v["expect_kind_in_score_order"]
    assert m.ref[m.order].tolist() == v["expect_ref_gt"]
    assert m.iou[m.order] == pytest.approx(v["expect_iou"], abs=1e-6)
    assert m.truth_kind.tolist() == v["expect_gt_kind"]
    # The third instance has a prediction of another class on it; the fourth one such and a badly placed one of its own.
    assert m.cause.tolist() == ["", "", "cls", "both", ""]
    assert m.truth_ref.tolist() == [0, 2, 3, 4, -1]


@needs_data
def test_every_label_of_the_fake_boxes_of_coco_equals_pycocotools():
    truth, results = real("coco_eval", "instances_val2014_100.json", "instances_val2014_fakebbox100_results.json")
    units = make_units(set_of(truth, results), UNCUT)
    assert kinds(units, "pred") == {"TP": 649, "FP_CLS": 83, "LOC": 1, "FP_DUP": 1}
    assert units.left_out == {REGIONS: 9}
    theirs = labels(evaluate(truth, results))
    assert len(theirs) == 734
    assert outcome(units) == theirs


@needs_data
@pytest.mark.parametrize(
    ("detector", "expected", "missed"),
    [
        ("yolo_fastest", {"TP": 370, "FP_CLS": 38, "LOC": 152, "FP_BOTH": 35, "FP_DUP": 8, "FP_BKG": 88}, 427),
        ("fastestdet", {"TP": 414, "FP_CLS": 130, "LOC": 658, "FP_BOTH": 358, "FP_DUP": 45, "FP_BKG": 816}, 314),
    ],
)
def test_real_detectors_equal_pycocotools_and_tide(detector, expected, missed):
    truth, results = real("coco128_val", "ground_truth.json", f"detections_{detector}.json")
    cut = [r for r in results if r["score"] >= 0.25]
    units = make_units(set_of(truth, results))
    assert kinds(units, "pred") == expected  # the kinds are those of TIDE 1.0.1
    assert kinds(units, "gt") == {"TP": expected["TP"], "FN": 898 - expected["TP"]}
    assert (units.fn_cause == "miss").sum() == missed
    assert units.left_out == {BELOW: len(results) - len(cut)}
    theirs = labels(evaluate(truth, cut))
    assert outcome(make_units(set_of(truth, cut))) == theirs
    assert [k != "TP" for k in units.kind[units.on("pred")]] == [theirs[i] != "TP" for i in sorted(theirs)]


@pytest.mark.parametrize("seed", range(25))
def test_random_boxes_with_ties_crowds_and_no_area_equal_pycocotools(seed):
    truth, results = random_documents(np.random.default_rng(seed))
    results.append({"image_id": 10, "category_id": 5, "bbox": [0, 0, 9, 9], "score": 0.05})
    evaluated = evaluate(truth, results)
    for place, iou in ((0, 0.5), (5, 0.75)):
        units = make_units(set_of(truth, results), UnitSettings(confidence=0, iou=iou))
        assert outcome(units) == labels(evaluated, place)


def brute_kind(i, truth, cls, ignore, box, its_class, taken_by, t, bg):
    """TIDE's kind of an unmatched prediction, instance by instance."""

    def iou(g, crowd=False):
        w, h = np.minimum(box[2:], truth[g, 2:]) - np.maximum(box[:2], truth[g, :2])
        if w <= 0 or h <= 0:
            return 0.0
        mine, other = np.prod(box[2:] - box[:2]), np.prod(truth[g, 2:] - truth[g, :2])
        return w * h / (mine if crowd else mine + other - w * h)

    if any(ignore[g] and cls[g] == its_class and iou(g, True) >= t for g in range(len(truth))):
        return "IGN"
    own = max([iou(g) for g in range(len(truth)) if not ignore[g] and cls[g] == its_class], default=0)
    other = max([iou(g) for g in range(len(truth)) if not ignore[g] and cls[g] != its_class], default=0)
    if bg <= own < t:
        return "LOC"
    if other >= t:
        return "FP_CLS"
    if own >= t:
        return "FP_DUP"
    return "FP_BKG" if max(own, other) < bg else "FP_BOTH"


@pytest.mark.parametrize("seed", range(10))
def test_kinds_of_error_equal_those_found_one_by_one(seed):
    made = set_of(*random_documents(np.random.default_rng(100 + seed), images=4))
    m, _ = match_boxes(made.truth, made.predictions, UNCUT)
    for i, kind in enumerate(m.kind.tolist()):
        if kind != "TP":
            near = made.truth.image == made.predictions.image[i]
            columns = made.truth.xyxy[near], made.truth.cls[near], made.truth.ignore[near]
            assert kind == brute_kind(i, *columns, made.predictions.xyxy[i], made.predictions.cls[i], None, 0.5, 0.1)


def test_nothing_and_one():
    none = np.zeros((0, 4))
    empty = match_image(none, np.zeros(0, int), np.zeros(0, bool), none, np.zeros(0, int), np.zeros(0))
    assert len(empty.kind) == len(empty.truth_kind) == 0
    alone = match_boxes(boxes([[0, 0, 9, 9]]), boxes(none), UNCUT)[0]
    assert (alone.truth_kind.tolist(), alone.cause.tolist()) == (["FN"], ["miss"])
    said = match_boxes(boxes(none), boxes([[0, 0, 9, 9]], score=[0.5]), UNCUT)[0]
    assert (said.kind.tolist(), said.ref.tolist()) == (["FP_BKG"], [-1])


def test_a_crowd_takes_any_number_of_predictions_and_makes_no_unit():
    truth = boxes([[0, 0, 100, 100], [0, 0, 20, 20]], ignore=[True, False])
    said = boxes([[0, 0, 20, 20], [30, 30, 40, 40], [50, 50, 60, 60], [95, 95, 115, 115]], score=[0.9, 0.8, 0.7, 0.6])
    m, left_out = match_boxes(truth, said, UNCUT)
    assert m.kind.tolist() == ["TP", "IGN", "IGN", "FP_BKG"]  # the instance first, though the crowd holds all of the prediction
    assert left_out == {ON_REGION: 2, REGIONS: 1}


def test_an_ignore_region_of_class_minus_one_takes_every_class_but_another_class_does_not():
    truth = Boxes.of([0, 0], [-1, 2], [[0, 0, 50, 50], [50, 50, 99, 99]], ignore=[True, True])
    said = Boxes.of([0, 0], [1, 1], [[5, 5, 9, 9], [60, 60, 70, 70]], score=[0.9, 0.8])
    assert match_boxes(truth, said, UNCUT)[0].kind.tolist() == ["IGN", "FP_BKG"]


def test_boxes_without_area_or_below_a_pixel_match_by_the_same_rule():
    truth = boxes([[5, 5, 5, 9], [1.25, 1.25, 1.5, 1.5], [-3.5, -2, 4, 4]])
    said = boxes([[5, 5, 5, 9], [1.25, 1.25, 1.5, 1.5], [-3.5, -2, 4, 4]], score=[0.9, 0.9, 0.9])
    assert match_boxes(truth, said, UNCUT)[0].kind.tolist() == ["FP_BKG", "TP", "TP"]


def test_equal_confidence_keeps_the_order_of_the_file_and_the_last_of_equal_instances_wins():
    truth = boxes([[0, 0, 10, 10], [0, 0, 10, 10]])
    m = match_boxes(truth, boxes([[0, 0, 10, 10]] * 3, score=[0.5] * 3), UNCUT)[0]
    assert m.kind.tolist() == ["TP", "TP", "FP_DUP"]
    assert m.ref[:2].tolist() == [1, 0]


def test_cut_most_and_missing_confidence_are_counted_and_come_before_the_matching():
    truth = boxes([[0, 0, 10, 10]])
    said = boxes([[0, 0, 10, 10]] * 5, score=[0.2, 0.9, 0.8, np.nan, 0.7])
    m, left_out = match_boxes(truth, said, UnitSettings(confidence=0.25, most_detections=2))
    assert m.kind.tolist() == ["", "TP", "FP_DUP", "", ""]
    assert left_out == {BELOW: 1, BEYOND: 1, UNSCORED: 1}


def test_the_cut_itself_stays_and_predictions_below_it_take_nothing():
    truth = boxes([[0, 0, 10, 10]])
    m = match_boxes(truth, boxes([[0, 0, 10, 10], [0, 0, 10, 9]], score=[0.2, 0.25]), UnitSettings())[0]
    assert m.kind.tolist() == ["", "TP"]


def test_a_least_background_iou_of_zero_still_calls_what_touches_nothing_background():
    m = match_boxes(boxes([[0, 0, 10, 10]]), boxes([[50, 50, 60, 60]], score=[1]), UnitSettings(0, 0.5, 0.0))[0]
    assert (m.kind.tolist(), m.ref.tolist()) == (["FP_BKG"], [-1])


def test_pairs_made_in_parts_give_the_same_as_at_once(monkeypatch):
    made = set_of(*random_documents(np.random.default_rng(7), images=12))
    whole = match_boxes(made.truth, made.predictions, UNCUT)[0]
    monkeypatch.setattr("core.error_slices.assign.PAIRS_AT_ONCE", 5)
    parts = match_boxes(made.truth, made.predictions, UNCUT)[0]
    for name in ("kind", "ref", "iou", "truth_kind", "truth_ref", "cause"):
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist()


def test_units_keep_the_ids_of_the_file_and_point_at_each_other():
    truth = Boxes.of([1, 0], [0, 0], [[0, 0, 10, 10], [5.5, 5, 9, 9]], ids=["77", "4"])
    said = Boxes.of([1, 1], [0, 0], [[0, 0, 10, 5], [30, 30, 40, 40]], score=[0.9, 0.4], ids=["0", "1"])
    images = (Image("a", "a.jpg", 64, 48), Image("b:1", "b.jpg", 32, 16))
    units = make_units(DetectionSet("x", "m", "detection", (ClassName("3", "car"),), images, truth, said))
    assert units.ids == ("b:1:g77", "a:g4", "b:1:d0", "b:1:d1", "a:m", "b:1:m")
    assert units.side.tolist() == ["gt", "gt", "pred", "pred", "image", "image"]
    assert units.kind.tolist() == ["TP", "FN", "TP", "FP_BKG", "IMAGE", "IMAGE"]
    assert units.ref.tolist() == [2, -1, 0, -1, -1, -1]
    assert units.iou[:3] == pytest.approx([0.5, np.nan, 0.5], nan_ok=True)
    assert units.row.tolist() == [0, 1, 0, 1, 0, 1]
    assert units.xyxy[1].tolist() == [5.5, 5, 9, 9]
    assert units.xyxy[5].tolist() == [0, 0, 32, 16]
    # Image a has one missed instance alone; image b one right and one wrong prediction: F1 = 2/3.
    assert units.loss[4:] == pytest.approx([1, 1 / 3])


def test_no_detections_at_all_and_an_image_without_anything():
    made = set_of(
        {
            "images": [{"id": 1, "width": 9, "height": 9}, {"id": 2, "width": 9, "height": 9}],
            "categories": [{"id": 1, "name": "a"}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 3, 3], "iscrowd": 0}],
        },
        [],
    )
    units = make_units(made)
    assert units.kind.tolist() == ["FN", "IMAGE", "IMAGE"]
    assert units.loss[1:].tolist() == [1, 0]
