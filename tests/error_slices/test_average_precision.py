"""Average precision and recall: equal to COCOeval to the last digits, intervals over images, two models on the same images."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from core.error_slices.average_precision import OTHER_CLASSES, average_precision, compare_models
from core.error_slices.detections import Boxes, Classified, ClassName, DetectionSet, Image
from core.error_slices.recall_curves import class_curves, coco_order, draw_images, measure
from core.error_slices.sources import read_source
from core.errors import InputError
from tests.coco_reference import DATA, evaluate, random_documents, set_of

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not beside the project")


def equal_to_coco(truth, results, kind="bbox"):
    """Asserts that every class and every mean is COCOeval's; returns the report."""
    theirs = evaluate(truth, results, kind)
    report = average_precision(set_of(truth, results, "segmentation" if kind == "segm" else "detection"), resamples=20)
    means = report.mean.ap.value, report.mean.ap50.value, report.mean.ar.value
    assert means == pytest.approx(tuple(theirs.stats[[0, 1, 8]]), abs=1e-12)
    names = [theirs.cocoGt.cats[i]["name"] for i in theirs.params.catIds]
    precision, recall = theirs.eval["precision"][:, :, :, 0, 2], theirs.eval["recall"][:, :, 0, 2]
    assert {c.name for c in report.classes} == {n for k, n in enumerate(names) if precision[0, 0, k] > -1}
    for c in report.classes:
        k = names.index(c.name)
        found = c.ap.value, c.ap50.value, c.ar.value
        assert found == pytest.approx((precision[:, :, k].mean(), precision[0, :, k].mean(), recall[:, k].mean()), abs=1e-12)
    return report


@needs_data
@pytest.mark.parametrize(
    ("folder", "truth", "results", "known"),
    [
        ("coco_eval", "instances_val2014_100.json", "instances_val2014_fakebbox100_results.json", (0.505, 0.697)),
        ("coco128_val", "ground_truth.json", "detections_yolo_fastest.json", (None, 0.382)),
        ("coco128_val", "ground_truth.json", "detections_fastestdet.json", (None, 0.337)),
    ],
)
def test_real_files_give_the_numbers_of_cocoeval(folder, truth, results, known):
    report = equal_to_coco(*(json.loads((DATA / folder / name).read_text()) for name in (truth, results)))
    assert report.mean.ap50.value == pytest.approx(known[1], abs=5e-4)
    if known[0] is not None:
        assert report.mean.ap.value == pytest.approx(known[0], abs=5e-4)


@pytest.mark.parametrize("seed", range(12))
def test_random_boxes_give_the_numbers_of_cocoeval(seed):
    truth, results = random_documents(np.random.default_rng(seed), images=9)
    truth["annotations"].append({"id": 999, "image_id": 10, "category_id": 5, "bbox": [0, 0, 9, 9], "iscrowd": 0, "area": 81})
    results.append({"image_id": 10, "category_id": 5, "bbox": [0, 0, 9, 9], "score": 0.05})
    equal_to_coco(truth, results)


def test_random_masks_give_the_numbers_of_cocoeval():
    truth, results = random_documents(np.random.default_rng(3), images=9, masks=True)
    equal_to_coco(truth, results, "segm")


def test_only_the_best_hundred_of_a_class_and_image_count():
    truth = {
        "images": [{"id": 1, "width": 64, "height": 48}],
        "categories": [{"id": 1, "name": "car"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "iscrowd": 0, "area": 81}],
    }
    results = [{"image_id": 1, "category_id": 1, "bbox": [30, 30, 5, 5], "score": 0.9}] * 100
    assert equal_to_coco(truth, [*results, {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}]).mean.ar.value == 0
    assert equal_to_coco(truth, [*results[1:], {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}]).mean.ar.value == 1


def one_by_one(made, weights):
    """Measures of a resample whose images are really copied, by class."""
    rows = np.repeat(np.arange(len(made.images)), weights)

    def copied(boxes):
        pick = [(r, new) for new, image in enumerate(rows) for r in np.flatnonzero(boxes.image == image)]
        take = np.array([r for r, _ in pick], np.int64)
        return Boxes.of([n for _, n in pick], boxes.cls[take], boxes.xyxy[take], score=boxes.score[take], ignore=boxes.ignore[take])

    images = tuple(Image(str(k), f"{k}.jpg", 64, 48) for k in range(len(rows)))
    copy = replace(made, images=images, truth=copied(made.truth), predictions=copied(made.predictions))
    return {c.name: (c.ap.value, c.ap50.value, c.ar.value) for c in average_precision(copy, resamples=0).classes}


@pytest.mark.parametrize("seed", range(4))
def test_a_weighted_resample_equals_one_of_copied_images(seed):
    truth, results = random_documents(np.random.default_rng(seed), images=7)
    for k, r in enumerate(results):  # without ties, whose order copies change
        r["score"] = (k * 37 % 101) / 101
    made = set_of(truth, results)
    weights = draw_images(7, 5, seed)
    for name, curve in class_curves(made, np.arange(7), 7).items():
        found = np.stack(measure(curve, weights), axis=1)
        for row, w in zip(found, weights, strict=True):
            expected = one_by_one(made, w).get(name)
            assert row == pytest.approx([np.nan] * 3 if expected is None else expected, nan_ok=True, abs=1e-12)


def test_resamples_in_parts_are_the_same(monkeypatch):
    made = set_of(*random_documents(np.random.default_rng(5), images=9))
    whole = average_precision(made, resamples=30)
    monkeypatch.setattr("core.error_slices.recall_curves.CELLS", 50)
    parts = average_precision(made, resamples=30)
    for a, b in zip((whole.mean, *whole.classes), (parts.mean, *parts.classes), strict=True):
        assert (a.ap.value, a.ap.low, a.ap.high) == pytest.approx((b.ap.value, b.ap.low, b.ap.high), abs=1e-12)


def test_intervals_hold_the_value_say_their_n_and_are_left_out_where_images_are_too_few():
    truth, results = random_documents(np.random.default_rng(8), images=30)
    truth["categories"].append({"id": 99, "name": "rare"})
    truth["annotations"].append({"id": 999, "image_id": 10, "category_id": 99, "bbox": [0, 0, 9, 9], "iscrowd": 0, "area": 81})
    results.append({"image_id": 10, "category_id": 99, "bbox": [0, 0, 9, 9], "score": 0.5})
    steps = []
    report = average_precision(set_of(truth, results), resamples=100, progress=lambda *s: steps.append(s))
    for c in (report.mean, *report.classes[:3]):
        assert 0 <= c.ap.low < c.ap.value < c.ap.high <= 1
        assert c.ap.n >= c.ap.images > 0
    rare = report.classes[-1]
    assert (rare.name, rare.ap.value, rare.ap.low, rare.ap.n, rare.ap.images) == ("rare", pytest.approx(1), None, 1, 1)
    assert steps == [(k, 4) for k in (1, 2, 3, 4)]
    assert (report.images, report.resamples) == (30, 100)


def test_images_go_by_number_where_all_ids_are_numbers_and_by_text_otherwise():
    made = set_of(*random_documents(np.random.default_rng(1)))

    def order(*ids):
        return coco_order(replace(made, images=tuple(Image(i, i, 9, 9) for i in ids))).tolist()

    assert order("10", "9", "-1") == [2, 1, 0]
    assert order("10", "9", "a") == [0, 1, 2]


def test_without_ground_truth_predictions_or_images_there_is_no_number_and_no_error():
    none = Boxes.of([], [], [])
    said = Boxes.of([0], [0], [[0, 0, 9, 9]], score=[0.5])
    made = DetectionSet("x", "m", "detection", (ClassName("1", "car"),), (Image("1", "1.jpg", 9, 9),), none, said)
    report = average_precision(made)
    assert (report.mean.ap.value, report.classes, report.left_out) == (None, (), {OTHER_CLASSES: 1})
    assert average_precision(replace(made, truth=Boxes.of([0], [0], [[0, 0, 9, 9]]), predictions=none)).mean.ap.value == 0
    assert average_precision(replace(made, images=(), predictions=none)).mean.ap.value is None


def test_the_better_of_two_models_on_the_same_images_is_told_with_its_interval():
    truth, results = random_documents(np.random.default_rng(2), images=40)
    a = replace(set_of(truth, results), model="before")
    kept = [r for k, r in enumerate(results) if k % 3]  # without a third of its boxes
    b = replace(set_of(truth, kept), model="after")
    c = compare_models(a, b, resamples=100)
    assert c.mean.ap.value == pytest.approx(c.b.mean.ap.value - c.a.mean.ap.value)
    assert c.mean.ar.value < 0
    assert c.mean.ar.high < 0  # surely worse
    assert (c.a.model, c.b.model, c.left_out) == ("before", "after", {})
    assert [k.name for k in c.classes] == [k.name for k in c.a.classes]
    single = [average_precision(m, resamples=100).mean.ar for m in (a, b)]
    # Paired resamples: the difference is surer than the models are.
    assert c.mean.ar.high - c.mean.ar.low < max(s.high - s.low for s in single)
    same = compare_models(a, a, resamples=20).mean.ap
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_models_are_compared_on_common_images_whatever_the_order_of_images_and_classes():
    truth, results = random_documents(np.random.default_rng(4), images=12)
    a = set_of(truth, results)
    turned = {**truth, "images": truth["images"][::-1], "categories": truth["categories"][::-1]}
    assert compare_models(a, set_of(turned, results), resamples=10).mean.ap.value == pytest.approx(0, abs=1e-12)
    gone = truth["images"][0]["id"]
    less = {
        **truth,
        "images": truth["images"][1:],
        "annotations": [x for x in truth["annotations"] if x["image_id"] != gone],
    }
    b = replace(set_of(less, [r for r in results if r["image_id"] != gone]), model="other")
    c = compare_models(a, b, resamples=10)
    assert (c.mean.ap.value, c.left_out) == (pytest.approx(0, abs=1e-12), {"images of model alone": 1})


def test_models_on_other_images_or_other_ground_truth_and_classifiers_are_refused():
    made = set_of(*random_documents(np.random.default_rng(6)))
    others = tuple(replace(i, id=f"x{i.id}") for i in made.images)
    with pytest.raises(InputError, match="no image in common"):
        compare_models(made, replace(made, images=others))
    with pytest.raises(InputError, match="differs in"):
        compare_models(made, replace(made, truth=replace(made.truth, xyxy=made.truth.xyxy + 1)))
    said = Classified(np.zeros(1, int), np.zeros(1, int), np.zeros(1, int), ("",))
    with pytest.raises(InputError, match="classifier"):
        average_precision(replace(made, classified=said))


@needs_data
@pytest.mark.parametrize(
    ("truth", "results", "masks", "expected"),
    [
        ("gt_ignore_test.json", "dt_ignore_test.json", "no", (0.70990099, 1, 0.71538462)),  # a crowd region, image ids as text and number
        ("gt_dataset.json", "dt_dataset.json", "yes", (0.69471947, 0.69471947, 0.75)),  # polygons on both sides
    ],
)
def test_files_read_by_the_reader_give_the_numbers_of_cocoeval(truth, results, masks, expected):
    made = read_source("coco", DATA / "coco_eval" / truth, DATA / "coco_eval" / results, masks=masks)
    mean = average_precision(made, resamples=0).mean
    assert (mean.ap.value, mean.ap50.value, mean.ar.value) == pytest.approx(expected, abs=1e-8)
