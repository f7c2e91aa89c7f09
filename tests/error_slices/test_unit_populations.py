"""Who is tested on what with which loss, what a matcher may see, units of classifiers and of masks."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from core.error_slices.detections import Boxes, Classified, ClassName, DetectionSet, Image
from core.error_slices.groups import group_table
from core.error_slices.masks import Masks, decode, encode, of_box, of_polygons
from core.error_slices.matching import MISFIT, NO_MASK, make_units
from core.error_slices.population import (
    BADLY_PLACED,
    EXPLAINED,
    NOT_CONFUSED,
    NOT_PLACED,
    OTHER_CLASSES,
    OTHER_HALF,
    own_boxes,
    population,
    visible,
)
from core.error_slices.regions import error_region
from core.error_slices.units import SIDE_OF, Units, UnitSettings, Visible
from core.errors import InputError
from tests.coco_reference import DATA, evaluate, labels, random_documents, set_of

VECTORS = DATA.parent / "drafts" / "error_slice_test_vectors.json"


def scene(**more):
    """Cars and persons in two images: one unit of every kind.

    Image 0: car found, car badly placed (IoU .4), person called a car, double of the first car. Image 1: car missed; a prediction on
    nothing; a person found by nobody but half covered by a car's box.
    """
    truth = Boxes.of(
        [0, 0, 0, 1, 1],
        [0, 0, 1, 0, 1],
        [[0, 0, 10, 10], [30, 0, 40, 10], [60, 0, 70, 10], [0, 0, 10, 10], [40, 40, 60, 60]],
        truncated=[0.1, 0.2, np.nan, 0.4, 0.5],
        occluded=[0, 1, 2, 0, np.nan],
    )
    said = Boxes.of(
        [0, 0, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 0],
        [[0, 0, 10, 10], [30, 0, 40, 4], [60, 0, 70, 10], [0, 0, 10, 9], [80, 80, 90, 90], [40, 40, 60, 46]],
        score=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
    )
    images = (Image("0", "0.jpg", 100, 100), Image("1", "1.jpg", 100, 50))
    return DetectionSet("x", "m", "detection", (ClassName("3", "car"), ClassName("1", "person")), images, truth, said, **more)


@pytest.fixture(scope="module")
def units():
    return make_units(scene())


def test_the_scene_has_every_kind(units):
    assert units.kind[units.on("pred")].tolist() == ["TP", "LOC", "FP_CLS", "FP_DUP", "FP_BKG", "FP_BOTH"]
    assert units.kind[units.on("gt")].tolist() == ["TP", "FN", "FN", "FN", "FN"]
    assert units.fn_cause[units.on("gt")].tolist() == ["", "loc", "cls", "miss", "miss"]


@pytest.mark.parametrize(
    ("error", "loss", "left_out"),
    [
        ("FN", [0, 1, 1, 1, 1], {}),
        ("FP", [0, 1, 1, 1, 1], {BADLY_PLACED: 1}),
        ("LOC", [0, 0.6], {NOT_PLACED: 4}),
        ("CLS", [0, 1], {NOT_CONFUSED: 4}),
        ("IMAGE", [1 - 2 / 7, 1], {}),
        ("SEG", [], {}),
    ],
)
def test_units_and_loss_of_each_type(units, error, loss, left_out):
    p = population(units, error, None)
    assert p.loss == pytest.approx(loss)
    assert p.left_out == left_out
    assert set(units.side[p.units].tolist()) <= {SIDE_OF[error]}  # sides are never mixed
    assert p.image.tolist() == units.image[p.units].tolist()
    assert p.weight.tolist() == [1] * len(loss)


def test_badly_placed_predictions_are_false_positives_on_demand(units):
    p = population(units, "FP", None, fp_includes_loc=True)
    assert (p.loss.tolist(), p.left_out) == ([0, 1, 1, 1, 1, 1], {})


def test_only_what_nothing_explains_is_missed_on_demand(units):
    p = population(units, "FN", None, missed_only=True)
    assert (p.loss.tolist(), p.left_out) == ([0, 1, 1], {EXPLAINED: 2})


def test_classes_and_halves_are_chosen_and_the_rest_is_counted(units):
    p = population(units, "FN", {1})
    assert (p.loss.tolist(), p.left_out) == ([1, 1], {OTHER_CLASSES: 3})
    assert len(population(units, "IMAGE", {1}).units) == 2  # an image of a detector has no class
    halves = {h: population(units, "FN", None, half=h) for h in ("discovery", "verification")}
    assert sum(len(p.units) for p in halves.values()) == 5
    for half, p in halves.items():
        assert {units.detections.images[i].half for i in p.image.tolist()} <= {half}
        assert p.left_out.get(OTHER_HALF, 0) == 5 - len(p.units)


def test_a_matcher_sees_boxes_classes_and_pictures_but_no_outcome(units):
    assert {f.name for f in dataclasses.fields(Visible)} & {"score", "iou", "kind", "ref", "loss", "fn_cause"} == set()
    seen = visible(units, "gt")
    assert seen.ids == tuple(units.ids[i] for i in units.on("gt"))
    assert seen.truncated.tolist() == pytest.approx([0.1, 0.2, np.nan, 0.4, 0.5], nan_ok=True)
    assert seen.occluded.tolist() == pytest.approx([0, 1, 2, 0, np.nan], nan_ok=True)
    assert seen.size.tolist() == [[100, 100]] * 3 + [[100, 50]] * 2
    assert seen.classes == ("car", "person")
    for side in ("pred", "image", "seg"):
        seen = visible(units, side)
        assert np.isnan(seen.truncated).all()
        assert len(seen) == len(units.on(side))


def test_what_is_seen_of_the_ground_truth_does_not_depend_on_the_predictions(units):
    nothing = dataclasses.replace(scene(), predictions=Boxes.of([], [], []))
    seen, other = visible(units, "gt"), visible(make_units(nothing), "gt")
    for name in ("ids", "classes", "images"):
        assert getattr(seen, name) == getattr(other, name)
    for name in ("image", "cls", "xyxy", "size"):
        assert getattr(seen, name).tolist() == getattr(other, name).tolist()


def test_what_is_seen_of_masks_does_not_depend_on_what_was_found_of_them():
    def made(*columns: int) -> Units:
        """One instance of 20 columns, of which so many were found, beside one that was missed."""
        pixels, said = np.zeros((2, 40, 40), bool)
        pixels[10:30, 10:30] = True
        truth = Boxes.of([0, 1], [0, 0], [[10, 10, 30, 30]] * 2, masks=(encode(pixels), encode(pixels)))
        said[10:30, 10 : 10 + columns[0]] = True
        found = Boxes.of([0], [0], [[10, 10, 10 + columns[0], 30]], score=[0.9], masks=(encode(said),))
        images = (Image("1", "1.jpg", 40, 40), Image("2", "2.jpg", 40, 40))
        return make_units(DetectionSet("", "", "segmentation", (ClassName("1", "car"),), images, truth, found))

    for columns in (20, 15, 11):
        units = made(columns)
        assert units.loss[units.on("seg")].tolist() == pytest.approx([1 - columns / 20, 1])
        assert visible(units, "seg").xyxy.tolist() == [[10, 10, 30, 30]] * 2
        assert own_boxes(units, units.on("gt")).tolist() == units.xyxy[units.on("gt")].tolist()
    alone = made(5)  # too little of it to be matched: a predicted mask without a partner
    assert visible(alone, "seg").xyxy.tolist() == [[10, 10, 30, 30], [10, 10, 30, 30], [10, 10, 15, 30]]


def test_pairs_that_the_file_names_are_matched_and_no_others():
    truth = Boxes.of([0, 0], [0, 0], [[0, 0, 10, 10], [30, 30, 40, 40]], ids=["a", "b"])
    said = Boxes.of([0, 0], [0, 0], [[0, 0, 10, 10], [30, 30, 40, 40]], ids=["a", "z"], score=[1, 1])
    made = dataclasses.replace(scene(), truth=truth, predictions=said)
    assert make_units(made).kind[:4].tolist() == ["TP"] * 4
    paired = make_units(dataclasses.replace(made, paired=True))
    assert paired.kind[:4].tolist() == ["TP", "FN", "TP", "FP_BKG"]


def classifier(group=("n", "n", "d", "d", "d", "")):
    images = tuple(Image(f"{i}", f"{i}.jpg", 8, 8, split="val" if i < 5 else "test") for i in range(6))
    said = Classified(np.arange(6), np.array([0, 1, 0, 0, 1, 1]), np.array([0, 1, 1, 0, 1, 0]), group)
    none = Boxes.of([], [], [])
    return DetectionSet("birds", "m", "classification", (ClassName("0", "land"), ClassName("1", "water")), images, none, none, said)


def test_a_classifier_has_units_of_whole_images_by_class():
    units = make_units(classifier())
    assert (units.ids[2], units.cls[2], units.loss[2]) == ("2:m", 0, 1)
    assert set(units.side.tolist()) == {"image"}
    assert population(units, "IMAGE", {1}).loss.tolist() == [0, 0, 1]
    assert len(population(units, "FN", None).units) == 0


def test_accuracy_by_group_and_class_and_of_the_worst_group():
    table = group_table(classifier())
    assert [(g.name, g.n, g.wrong) for g in table.groups] == [("d", 3, 1), ("n", 2, 0)]
    assert [(c.name, c.n, c.wrong) for c in table.classes] == [("land", 3, 1), ("water", 3, 1)]
    assert (table.worst.name, table.worst.value) == ("d", pytest.approx(2 / 3))
    assert table.mean_of_groups == pytest.approx(5 / 6)
    assert (table.overall.n, table.overall.wrong, table.ungrouped, table.splits) == (6, 2, 1, ("test", "val"))
    assert table.worst.low < 2 / 3 < table.worst.high
    assert group_table(classifier(), split="val").overall.n == 5
    assert group_table(classifier(("",) * 6)).worst.name == "land"
    for made, split in ((classifier(), "train"), (scene(), None)):
        with pytest.raises(InputError):
            group_table(made, split=split)


def blank(*spots, size=(8, 8)):
    pixels = np.zeros(size, bool)
    for top, left, bottom, right in spots:
        pixels[top:bottom, left:right] = True
    return pixels


@pytest.mark.skipif(not VECTORS.is_file(), reason="the shared vectors are not beside the project")
def test_the_shared_vector_of_masks():
    v = json.loads(VECTORS.read_text())["seg"]
    r = error_region(blank((2, 2, 6, 6)), blank((2, 4, 6, 8)))
    assert (r.iou, 1 - r.iou) == (pytest.approx(v["expect_iou"]), pytest.approx(v["expect_loss"]))
    assert list(r.xyxy) == v["expect_error_bbox_xyxy"]
    assert list(r.under_xyxy) == v["fn_region_bbox"]
    assert list(r.over_xyxy) == v["fp_region_bbox"]
    assert (r.under, r.over) == (0.5, 0.5)
    assert r.fraction == pytest.approx(16 / 24)


def test_equal_missed_and_empty_masks():
    mask = blank((2, 2, 6, 6))
    same = error_region(mask, mask)
    assert (same.iou, same.xyxy, same.under_xyxy, same.over_xyxy, same.fraction) == (1, (2, 2, 6, 6), None, None, 0)
    missed = error_region(mask, blank())
    assert (missed.iou, missed.xyxy, missed.under, missed.over, missed.fraction) == (0, (2, 2, 6, 6), 1, 0, 1)
    assert error_region(blank(), blank()).iou == 0


def test_jitter_of_outlines_does_not_widen_the_region():
    truth = blank((10, 10, 50, 50), size=(64, 64))
    said = truth.copy()
    said[12, 60] = True  # one pixel far away
    said[20:30, 10:20] = False  # a hole of 100 px
    assert error_region(truth, said).xyxy == (10, 20, 20, 30)
    assert error_region(truth, said).over_xyxy == (60, 12, 61, 13)  # nothing larger is too much


def masked(rows, images=None, score=None, cls=None):
    """Instances from pixels."""
    boxes = [
        [np.flatnonzero(p.any(0))[0], np.flatnonzero(p.any(1))[0], np.flatnonzero(p.any(0))[-1] + 1, np.flatnonzero(p.any(1))[-1] + 1]
        for p in rows
    ]
    return Boxes.of(images or [0] * len(rows), cls or [0] * len(rows), boxes, masks=tuple(encode(p) for p in rows), score=score)


def test_units_of_masks_are_pairs_and_those_without_a_partner():
    big = (16, 16)
    truth = masked([blank((0, 0, 8, 8), size=big), blank((10, 10, 14, 14), size=big)])
    said = masked([blank((0, 0, 8, 6), size=big), blank((0, 12, 4, 16), size=big)], score=[0.9, 0.8])
    made = DetectionSet("x", "m", "segmentation", (ClassName("1", "car"),), (Image("7", "7.jpg", 16, 16),), truth, said)
    units = make_units(made)
    on = units.on("seg")
    assert [units.ids[i] for i in on] == ["7:sg0", "7:sg1", "7:sd1"]
    assert units.loss[on].tolist() == [0.25, 1, 1]
    assert units.xyxy[on].tolist() == [[6, 0, 8, 8], [10, 10, 14, 14], [12, 0, 16, 4]]
    assert units.ref[on].tolist() == [0, 1, 3]
    assert units.iou[on] == pytest.approx([0.75, np.nan, np.nan], nan_ok=True)
    assert units.regions is not None
    assert units.regions.under.tolist() == [0.25, 1, 0]
    assert units.regions.over.tolist() == [0, 0, 1]
    assert np.isnan(units.regions.over_xyxy[0]).all()
    assert population(units, "SEG", None).loss.tolist() == [0.25, 1, 1]
    assert len(visible(units, "seg")) == 3


@pytest.mark.parametrize("seed", range(5))
def test_masks_match_as_pycocotools_matches_them(seed):
    truth, results = random_documents(np.random.default_rng(seed), masks=True)
    units = make_units(set_of(truth, results, "segmentation"), UnitSettings(confidence=0))
    theirs = labels(evaluate(truth, results, "segm"))
    rows = units.row[units.on("pred")]
    kinds = dict(zip(rows.tolist(), units.kind[units.on("pred")].tolist(), strict=True))
    assert {r: "TP" if k == "TP" else "FP" for r, k in kinds.items()} == {r: k for r, k in theirs.items() if k != "IGN"}


def test_an_instance_without_a_fitting_mask_is_compared_by_its_box_and_counted():
    truth = dataclasses.replace(masked([blank((0, 0, 8, 8), size=(16, 16))]), masks=(None,))
    said = dataclasses.replace(masked([blank((0, 0, 8, 8), size=(16, 16))], score=[0.9]), masks=(encode(blank((0, 0, 4, 4))),))
    made = DetectionSet("x", "m", "segmentation", (ClassName("1", "car"),), (Image("7", "7.jpg", 16, 16),), truth, said)
    units = make_units(made)
    assert units.left_out == {NO_MASK: 1, MISFIT: 1}
    assert units.loss[units.on("seg")].tolist() == [0]
    unsized = dataclasses.replace(made, images=(Image("7", "7.jpg", 0, 0),), predictions=dataclasses.replace(said, masks=None))
    assert Masks(unsized).truth[0].size == (8, 8)


def test_masks_survive_their_run_lengths():
    pixels = np.random.default_rng(0).random((7, 11)) < 0.5
    assert (decode(encode(pixels)) == pixels).all()
    assert decode(of_polygons([[1, 1, 5, 1, 5, 4, 1, 4]], (7, 11))).sum() == 12
    assert decode(of_box(np.array([1.0, 1, 5, 4]), (7, 11)))[1:4, 1:5].all()


def test_regions_lie_where_the_masks_are_and_stay_when_the_cut_moves():
    size = (40, 60)
    truth = masked([blank((20, 30, 36, 50), size=size)])
    said = masked([blank((20, 34, 36, 54), size=size), blank((0, 0, 4, 4), size=size)], score=[0.9, 0.3])
    made = DetectionSet("x", "m", "segmentation", (ClassName("1", "car"),), (Image("7", "7.jpg", 60, 40),), truth, said)
    units = make_units(made)
    assert units.xyxy[units.on("seg")].tolist() == [[30, 20, 54, 36], [0, 0, 4, 4]]
    assert units.regions is not None
    assert units.regions.under_xyxy[0].tolist() == [30, 20, 34, 36]
    assert units.regions.over_xyxy[0].tolist() == [50, 20, 54, 36]
    assert units.regions.fraction.tolist() == [8 / 24, 1]
    for cut, loss in ((0.5, [1 / 3]), (0.95, [1])):
        later = make_units(made, UnitSettings(confidence=cut))
        assert later.loss[later.on("seg")] == pytest.approx(loss)


def test_a_mask_without_pixels_keeps_the_box_of_its_file():
    size = (40, 60)
    truth = dataclasses.replace(masked([blank((20, 30, 36, 50), size=size)]), masks=(encode(blank(size=size)),))
    none = Boxes.of([], [], [], masks=())
    units = make_units(DetectionSet("x", "m", "segmentation", (ClassName("1", "car"),), (Image("7", "7.jpg", 60, 40),), truth, none))
    assert units.xyxy[units.on("seg")].tolist() == [[30, 20, 50, 36]]
    assert units.loss[units.on("seg")].tolist() == [1]
