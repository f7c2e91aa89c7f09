"""The library of hypotheses that ships, files of users, and names of classes."""

from __future__ import annotations

from collections import Counter

import pytest

from core.error_slices.hypotheses import Hypothesis, OfflineMatcher
from core.error_slices.library import classes_of, load_library, read_library
from core.error_slices.matchers.registry import MATCHERS, check_matcher, matcher_label, score_offline
from core.error_slices.vocabulary import ClassesDoc, load_vocabulary, make_vocabulary
from core.errors import InputError
from tests.error_slices.boxes_by_hand import boxes

COCO = "person bicycle car motorbike aeroplane bus train truck".split()
KITTI = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc", "DontCare")
BDD = ("pedestrian", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle", "traffic light", "traffic sign")
BDD_OLD = ("person", "rider", "car", "bus", "truck", "bike", "motor", "traffic light", "traffic sign", "train")
NUSCENES = ("vehicle.car", "human.pedestrian.adult", "vehicle.bus.rigid", "vehicle.motorcycle", "movable_object.barrier")
WAYMO = ("TYPE_VEHICLE", "TYPE_PEDESTRIAN", "TYPE_CYCLIST", "TYPE_SIGN")


def about(*classes):
    return Hypothesis("h", "A statement.", "FN", "intrinsic_difficulty", classes)


def test_the_library_holds_52_hypotheses_in_three_categories():
    lib = load_library()
    assert len(lib.hypotheses) == len(lib.by_id) == 52
    assert Counter(h.error for h in lib.hypotheses) == {"FN": 27, "FP": 16, "LOC": 7, "IMAGE": 2}
    assert Counter(h.category for h in lib.hypotheses) == {
        "intrinsic_difficulty": 20,
        "contextual_interference": 21,
        "semantic_confusion": 11,
    }
    offline = [h.offline for h in lib.hypotheses if h.offline is not None]
    assert len(offline) == 37 and {o.name for o in offline} == set(MATCHERS)
    assert all(h.origin == "library" and h.text.endswith(".") for h in lib.hypotheses)
    assert len({h.digest for h in lib.hypotheses}) == 52 and len(lib.digest) == 64


def test_every_name_that_the_library_uses_is_known():
    lib = load_library()
    assert [(h.id, c) for h in lib.hypotheses for c in h.classes if not lib.vocabulary.knows(c)] == []


def test_hypotheses_survive_json():
    assert [Hypothesis.from_json(h.to_json()) for h in load_library().hypotheses] == list(load_library().hypotheses)


@pytest.mark.parametrize(
    ("names", "group", "expected"),
    [
        (COCO, "vehicle", {"car", "bus", "train", "truck"}),
        (COCO, "two_wheeler", {"bicycle", "motorbike"}),
        (KITTI, "vehicle", {"Car", "Van", "Truck", "Tram"}),
        (KITTI, "person", {"Pedestrian", "Person_sitting"}),
        (KITTI, "two_wheeler", {"Cyclist"}),
        (KITTI, "vru", {"Pedestrian", "Person_sitting", "Cyclist"}),
        (BDD, "person", {"pedestrian", "rider"}),
        (BDD, "sign", {"traffic light", "traffic sign"}),
        (BDD_OLD, "two_wheeler", {"bike", "motor"}),
        (NUSCENES, "vehicle", {"vehicle.car", "vehicle.bus.rigid"}),
        (NUSCENES, "person", {"human.pedestrian.adult"}),
        (WAYMO, "vehicle", {"TYPE_VEHICLE"}),
        (WAYMO, "sign", {"TYPE_SIGN"}),
        (("VEHICLE", "Traffic_Light", "traffic-sign"), "sign", {"Traffic_Light", "traffic-sign"}),
        (KITTI, "truck", {"Truck"}),
        (COCO, "motorcycle", {"motorbike"}),
        (COCO, "stop sign", set()),
        (("Gadget", "car"), "gadget", {"Gadget"}),
        (COCO, "any", set(COCO)),
    ],
)
def test_groups_and_names_stand_for_the_classes_of_every_data_set(names, group, expected):
    assert {names[i] for i in classes_of(about(group), names)} == expected


def test_several_names_stand_for_all_of_their_classes():
    assert {BDD[i] for i in classes_of(about("sign", "rider"), BDD)} == {"rider", "traffic light", "traffic sign"}


def test_similar_classes_are_found_under_other_names_and_never_similar_to_themselves():
    names = ("motorbike", "bike", "tvmonitor", "laptop", "person", "people")
    got = load_vocabulary().confused(names)
    assert got[0, 1] and got[1, 0] and got[2, 3] and not got[0, 2]
    assert not got.diagonal().any() and not got[-1].any() and not got[4, 5]


def test_names_may_stand_for_one_class_only_and_groups_may_not_be_empty():
    with pytest.raises(InputError) as e:
        make_vocabulary(ClassesDoc(aliases={"car": ("lorry",)}, class_groups={"any": ("car",), "none": ()}), load_vocabulary())
    assert [p.column for p in e.value.problems] == ["aliases.car", "class_groups.any", "class_groups.none"]


OWN = """
aliases: {car: [voiture]}
class_groups: {plant: [tree, hedge]}
hypotheses:
  - id: tree_cover
    text: The object is partly hidden by a plant.
    error: FN
    category: contextual_interference
    offline: {matcher: occluded_by, params: {by: plant}}
  - {id: two_tone, text: The car is painted in two colours., error: FN, category: semantic_confusion, classes: [car, vru]}
  - {id: within, text: Inside a vehicle., error: FN, category: semantic_confusion, offline: {matcher: inside_of, params: {of: vehicle}}}
"""


def test_a_user_s_own_names_are_spelled_out_so_that_hypotheses_stand_for_themselves():
    cover, two_tone, within = read_library(OWN).hypotheses
    assert (cover.origin, cover.offline.params) == ("own", {"by": ["hedge", "tree"]})
    assert matcher_label(cover.offline) == "occluded_by(any_depth=false, by=hedge|tree) v2"
    assert two_tone.classes == ("car", "voiture", "vru") and two_tone.offline is None
    assert {"voiture", "car", "van"} < set(within.offline.params["of"])
    # Without the names of the file, as where they were kept.
    assert classes_of(two_tone, ("Voiture", "bus", "person")) == {0, 2}
    v = boxes([[100, 100, 200, 200], [150, 150, 250, 250]], [0, 1], classes=("car", "Tree"))
    assert score_offline(v, [Hypothesis.from_json(cover.to_json())])["tree_cover"].c[0] == pytest.approx(0.5)


def test_classes_of_the_data_may_be_named():
    text = """
hypotheses:
  - {id: a, text: Hidden by it., error: FN, category: intrinsic_difficulty, offline: {matcher: occluded_by, params: {by: [crane, bus]}}}
"""
    assert read_library(text, class_names=("Crane",)).hypotheses[0].offline.params == {"by": ["crane", "bus"]}
    with pytest.raises(InputError, match="crane"):
        read_library(text)


def test_a_class_that_the_data_does_not_have_covers_nothing():
    h = Hypothesis("h", "Hidden by a crane.", "FN", "intrinsic_difficulty", offline=OfflineMatcher("occluded_by", {"by": "crane"}))
    assert score_offline(boxes([[0, 0, 9, 9], [0, 0, 9, 20]]), [h])["h"].c.tolist() == [0, 0]


def test_all_problems_of_a_file_are_told_at_once():
    text = """
hypotheses:
  - {id: a, text: The object is small., error: FN, category: intrinsic_difficulty, offline: {matcher: smal}}
  - {id: a, text: The object is small., error: FN, category: intrinsic_difficulty, offline: {matcher: small, params: {ref: 3}}}
  - {id: b, text: The object is hidden., error: FN, category: intrinsic_difficulty, offline: {matcher: occluded_by}}
  - {id: c, text: The object is hidden., error: FN, category: intrinsic_difficulty, offline: {matcher: occluded_by, params: {by: vehicel}}}
  - {id: d, text: The picture is crowded., error: IMAGE, category: contextual_interference, offline: {matcher: crowded}}
  - {id: e, text: The object is thin., error: FN, category: intrinsic_difficulty, offline: {matcher: thin, params: {ratio: -1}}}
  - {id: f, text: Many of a class., error: FN, category: intrinsic_difficulty, offline: {matcher: crowded, params: {same_class: 1}}}
  - {id: g, text: The object is hidden., error: FN, category: intrinsic_difficulty, offline: {matcher: inside_of, params: {of: []}}}
  - {id: iv_small, text: The object is small., error: FN, category: intrinsic_difficulty}
"""
    with pytest.raises(InputError) as e:
        read_library(text, taken=load_library().by_id)
    told = [(p.column, p.got, p.suggestion) for p in e.value.problems]
    assert told == [
        ("hypotheses.0 (a).offline.matcher", "smal", "small"),
        ("hypotheses.1 (a)", "a", ""),
        ("hypotheses.1 (a).offline.params.ref", "ref", "ref_px"),
        ("hypotheses.2 (b).offline.params.by", "nothing", ""),
        ("hypotheses.3 (c).offline.params.by", "vehicel", "vehicle"),
        ("hypotheses.4 (d).offline.matcher", "crowded for IMAGE", ""),
        ("hypotheses.5 (e).offline.params.ratio", "-1", ""),
        ("hypotheses.6 (f).offline.params.same_class", "1", ""),
        ("hypotheses.7 (g).offline.params.of", "[]", ""),
        ("hypotheses.8 (iv_small)", "iv_small", ""),
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("hypotheses: [", "not valid YAML"),
        ("hypotheses: []", "hypotheses"),
        ("[]", "document"),
        ("hypotheses: [{id: A, text: no, error: XX, category: odd, more: 1}]", "hypotheses.0.error"),
    ],
)
def test_a_file_that_is_no_library_is_refused(text, part):
    with pytest.raises(InputError) as e:
        read_library(text)
    assert part in str(e.value)


def test_image_matchers_fit_image_hypotheses_alone_or_with_boxes():
    names = load_vocabulary()
    for h in load_library().hypotheses:
        if h.offline is not None:
            assert check_matcher(h.id, h.offline, h.error, names) == ()
