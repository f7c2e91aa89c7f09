"""Readers of COCO: what stands in the file, and every fault that people have met in such files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from source_files import coco, found, left_out, picture, written

from core.error_slices.detections import DetectionSet
from core.error_slices.matching import make_units
from core.error_slices.sources import class_table, read_source
from core.error_slices.units import UnitSettings
from core.errors import InputError


def read(folder: Path, truth: Any, results: Any = None, **options: Any) -> DetectionSet:
    predictions = None if results is None else written(folder / "dt.json", results)
    return read_source("coco", written(folder / "gt.json", truth), predictions, **options)


def test_boxes_ids_and_classes_stay_as_in_the_file(tmp_path):
    made = read(tmp_path, coco(info={"description": "Toy"}), [found(), found(image_id=9, category_id=0)], model="M")
    assert [(i.id, i.file_name, i.width, i.height) for i in made.images] == [("7", "a.jpg", 100, 80), ("9", "sub/b.jpg", 60, 40)]
    assert [(c.id, c.name) for c in made.classes] == [("3", "car"), ("0", "person")]
    assert made.truth.ids == ("11", "12")
    assert made.truth.xyxy.tolist() == [[10, 20, 40, 35.5], [50, 10, 58, 30]]
    assert made.truth.area.tolist() == [400, 160]
    assert np.isnan(made.truth.score).all()
    assert (made.predictions.image.tolist(), made.predictions.cls.tolist()) == ([0, 1], [0, 1])
    assert made.predictions.xyxy.tolist() == [[11, 20, 41, 35]] * 2
    assert (made.name, made.model, made.dataset, made.task) == ("M · Toy", "M", "Toy", "detection")
    assert made.report.counts == {"images": 2, "boxes of ground truth": 2, "predictions": 2, "images without ground truth": 1}
    assert made.report.files == ("gt.json", "dt.json")


@pytest.mark.parametrize("results", [None, [], {"annotations": []}])
def test_no_detections_at_all_means_that_everything_is_missed(tmp_path, results):
    made = read(tmp_path, coco(), results)
    assert len(made.predictions) == 0
    assert made.report.counts["images without predictions"] == 2
    assert "There is no prediction: every object counts as missed." in made.report.problems
    assert make_units(made).kind.tolist() == ["FN", "FN", "IMAGE", "IMAGE"]


def test_a_missing_iscrowd_is_no_crowd(tmp_path):
    truth = coco()
    del truth["annotations"][0]["iscrowd"]
    made = read(tmp_path, truth)
    assert made.truth.ignore.tolist() == [False, False]
    assert made.report.counts["annotations without iscrowd, which are no crowds"] == 1


def test_a_crowd_takes_many_predictions_and_makes_no_unit(tmp_path):
    truth = coco(
        annotations=[{"id": 1, "image_id": 7, "category_id": 3, "bbox": [0, 0, 90, 70], "iscrowd": 1, "area": 10}],
    )
    made = read(tmp_path, truth, [found(bbox=[i, i, 20, 20]) for i in range(0, 40, 10)])
    assert made.truth.ignore.tolist() == [True]
    assert made.report.counts["crowd regions"] == made.report.counts["ignore regions of the ground truth"] == 1
    units = make_units(made)
    assert set(units.side.tolist()) == {"image"}
    assert units.left_out["predictions on ignore regions"] == 4


def test_annotations_marked_ignore_are_ignore_regions_too(tmp_path):
    truth = coco()
    truth["annotations"][1]["ignore"] = 1
    made = read(tmp_path, truth)
    assert made.truth.ignore.tolist() == [False, True]
    assert made.report.counts["annotations marked ignore"] == 1


def test_boxes_that_leave_their_image_are_kept_and_counted(tmp_path):
    made = read(tmp_path, coco(), [found(bbox=[-5.25, 70, 20, 30]), found(bbox=[99.9, 1, 0.5, 2]), found(bbox=[200, 200, 5, 5])])
    assert made.predictions.xyxy[0].tolist() == [-5.25, 70, 14.75, 100]
    assert made.report.counts["predictions that reach over the border of their image, kept as they are"] == 1
    assert made.report.counts["predictions that lie outside their image, kept as they are"] == 1


def test_boxes_without_area_and_below_a_pixel_are_kept_and_counted(tmp_path):
    truth = coco()
    truth["annotations"] += [
        {"id": 13, "image_id": 9, "category_id": 0, "bbox": [5, 5, 0, 10], "area": 0, "iscrowd": 0},
        {"id": 14, "image_id": 9, "category_id": 0, "bbox": [5, 5, 0.25, 0.5], "area": 0.125, "iscrowd": 0},
    ]
    made = read(
        tmp_path, truth, [found(image_id=9, category_id=0, bbox=[5, 5, 0, 10]), found(image_id=9, category_id=0, bbox=[5, 5, 0.25, 0.5])]
    )
    assert made.report.counts["boxes of ground truth without area, which nothing can match, kept as they are"] == 1
    assert made.report.counts["boxes of ground truth narrower than a pixel, kept as they are"] == 1
    kinds = dict(zip(make_units(made).ids, make_units(made).kind.tolist(), strict=True))
    assert (kinds["9:g13"], kinds["9:g14"]) == ("FN", "TP")


def test_results_for_unknown_images_are_told_and_not_fatal(tmp_path):
    made = read(tmp_path, coco(), [found(image_id=404), found(), found(image_id=404), found(image_id=None), found(image_id=[1])])
    assert len(made.predictions) == 1
    assert made.report.counts["predictions left out: unknown image"] == 4
    assert "dt.json: image 404 is not in the ground truth; its 2 predictions are left out." in made.report.problems


def test_category_ids_may_start_at_nought(tmp_path):
    made = read(tmp_path, coco(), [found(category_id=0, bbox=[50, 10, 8, 20])])
    assert make_units(made).kind.tolist()[:3] == ["FN", "TP", "TP"]
    assert made.classes[made.predictions.cls[0]].name == "person"


def test_a_detector_that_counts_classes_from_nought_is_noticed_and_helped_by_names(tmp_path):
    truth = coco(categories=[{"id": 1, "name": "person"}, {"id": 3, "name": "car"}])
    truth["annotations"][1]["category_id"] = 1
    results = [found(category_id=0), found(category_id=1)]
    made = read(tmp_path, truth, results)
    assert made.report.unmapped == {"0": 1}
    assert any("counts its classes from 0" in p for p in made.report.problems)
    named = read(tmp_path, truth, results, prediction_names="person, car")
    assert named.report.unmapped == {}
    assert [named.classes[c].name for c in named.predictions.cls] == ["person", "car"]


def test_one_id_in_two_types_is_one_image(tmp_path):
    truth = coco()
    truth["images"][0]["id"] = truth["annotations"][0]["image_id"] = truth["annotations"][1]["image_id"] = "7"
    made = read(tmp_path, truth, [found(image_id=7), found(image_id=7.0), found(image_id="7")])
    assert made.predictions.image.tolist() == [0, 0, 0]


def test_double_ids_are_kept_apart_and_told(tmp_path):
    truth = coco()
    truth["images"].append({"id": 7, "file_name": "c.jpg", "width": 5, "height": 5})
    truth["categories"].append({"id": 3, "name": "bus"})
    truth["annotations"] += [dict(truth["annotations"][0], bbox=[1, 1, 5, 5]), {"image_id": 9, "category_id": 3, "bbox": [1, 1, 2, 2]}]
    made = read(tmp_path, truth)
    assert made.truth.ids == ("11", "12", "11#2", "3")
    assert len(made.images) == 2
    assert len(made.classes) == 2
    counts = made.report.counts
    assert counts["images left out: id seen before"] == counts["categories left out: id seen before"] == 1
    assert counts["annotations with an id seen before"] == counts["annotations without an id, which are numbered by their place"] == 1
    assert len(set(make_units(made).ids)) == len(make_units(made).ids)


@pytest.mark.parametrize("score", ["NaN", "Infinity", '"high"', "null", "true"])
def test_scores_that_are_no_numbers_are_left_out(tmp_path, score):
    results = json.dumps([found(), found(score="@")]).replace('"@"', score)
    made = read(tmp_path, coco(), results)
    assert made.predictions.score.tolist() == [0.75]
    assert made.report.counts["predictions left out: no usable score"] == 1
    assert any(p.startswith("dt.json, [1]: score ") for p in made.report.problems)


def test_scores_in_percent_are_kept_and_told(tmp_path):
    made = read(tmp_path, coco(), [found(score=87)])
    assert made.predictions.score.tolist() == [87]
    assert made.report.counts["predictions with a score outside 0 to 1"] == 1


def test_predictions_without_any_score_are_certain(tmp_path):
    made = read(tmp_path, coco(), [{k: v for k, v in found().items() if k != "score"}])
    assert made.predictions.score.tolist() == [1.0]
    assert any("no prediction has a score" in p for p in made.report.problems)


@pytest.mark.parametrize(
    "bbox",
    [
        None,
        [],
        [1, 2, 3],
        [1, 2, -3, 4],
        [1, 2, 3, "x"],
        "1 2 3 4",
        [1, 2, float("nan"), 4],
        {"x": 1},
        [1e308, 1, 1e308, 1],
        [1e7, 1, 2, 2],
    ],
)
def test_boxes_that_are_none_are_left_out_with_their_place(tmp_path, bbox):
    truth = coco()
    truth["annotations"][0]["bbox"] = bbox
    made = read(tmp_path, truth, [found(bbox=bbox)])
    assert (len(made.truth), len(made.predictions)) == (1, 0)
    assert made.report.counts["annotations left out: no usable box"] == made.report.counts["predictions left out: no usable box"] == 1
    assert any(p.startswith("gt.json, annotations[0]: bbox ") for p in made.report.problems)


def test_detectors_that_write_files_instead_of_ids(tmp_path):
    made = read(tmp_path, coco(), [found(image_id="a"), found(image_id="sub/b.jpg"), found(image_id="b")])
    assert made.predictions.image.tolist() == [0, 1, 1]
    assert made.report.counts["predictions whose image was found by its file"] == 3


@pytest.mark.parametrize(
    ("files", "said", "images", "unknown"),
    [
        (("000003.jpg", "000001.jpg"), (1, 2, 3), [0, 1], 1),  # ids 1 and 2: 3 is no image, though a file is called so
        (("000003.jpg", "000002.jpg"), (3, 2, 2), [0, 1, 1], 0),  # numbers of files, of which 2 is an id of another image too
        (("000009.jpg", "000008.jpg"), (7, 1), [0], 1),
    ],
)
def test_numbers_of_images_are_ids_or_files_and_never_both(tmp_path, files, said, images, unknown):
    ids = (7, 8) if 7 in said else (1, 2) if 1 in said else (2, 5)
    pictures = [{"id": i, "file_name": f, "width": 100, "height": 80} for i, f in zip(ids, files, strict=True)]
    made = read(tmp_path, coco(images=pictures, annotations=[]), [found(image_id=i) for i in said])
    assert made.predictions.image.tolist() == images
    assert made.report.counts.get("predictions left out: unknown image", 0) == unknown


def test_a_file_of_predictions_may_number_images_and_classes_in_its_own_way(tmp_path):
    other = {
        "images": [{"id": 9, "file_name": "a.jpg"}, {"id": 7, "file_name": "x/sub/b.jpg"}],
        "categories": [{"id": 1, "name": "Person"}, {"id": 2, "name": "car"}, {"id": 3, "name": "tram"}],
        "annotations": [found(image_id=9, category_id=2), found(image_id=7, category_id=1), found(image_id=7, category_id=3)],
    }
    made = read(tmp_path, coco(), other)
    assert made.predictions.image.tolist() == [0, 1]
    assert [made.classes[c].name for c in made.predictions.cls] == ["car", "person"]
    assert made.report.unmapped == {"tram": 1}
    assert made.report.counts["predictions of classes left out"] == 1
    assert made.report.counts["images numbered otherwise in the file of predictions, found by their file"] == 2


def test_names_in_the_results_map_classes(tmp_path):
    made = read(tmp_path, coco(), [found(category_id=77, category_name="car"), found(category_id=1, category_name="pedestrian")])
    assert made.report.unmapped == {"pedestrian": 1}
    assert any('did you mean "person"?' in p for p in made.report.problems)
    table = class_table("coco", tmp_path / "gt.json", tmp_path / "dt.json")
    assert [(r.name, r.boxes, r.target, r.how, r.proposal) for r in table.rows] == [
        ("car", 1, "car", "same name", ""),
        ("pedestrian", 1, "", "unmapped", "person"),
    ]
    mapped = read_source("coco", tmp_path / "gt.json", tmp_path / "dt.json", class_map={"pedestrian": "person"})
    assert mapped.report.unmapped == {}
    assert len(mapped.predictions) == 2


@pytest.mark.parametrize(
    ("boxes", "said"),
    [
        ([[10 + i, 20, 60 + i, 70] for i in range(12)], "left, top, right and bottom"),
        ([[0.1, 0.2, 0.05 * i, 0.3] for i in range(12)], "shares of the image"),
        ([[10 + i, 20, 30, 15] for i in range(12)], ""),
        ([[60, 50, 30, 20]] * 12, ""),
    ],
)
def test_boxes_of_another_kind_are_noticed(tmp_path, boxes, said):
    made = read(tmp_path, coco(), [found(bbox=b) for b in boxes])
    assert len(made.predictions) == 12
    assert [said for p in made.report.problems if "They are read as they stand" in p and said in p] == ([said] if said else [])


def test_results_of_another_data_set_are_noticed(tmp_path):
    made = read(tmp_path, coco(), [found(image_id=1), found(image_id=2)])
    assert "dt.json: not one result is about an image of the ground truth; are both files of one data set?" in made.report.problems


def test_a_large_file_is_recognised_by_its_ends(tmp_path):
    from core.error_slices.sources import detect_format

    many = [{"id": i, "file_name": "x" * 200, "width": 1, "height": 1} for i in range(25_000)]
    far = {"images": many, "annotations": [{"id": i, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]} for i in range(60_000)]}
    assert detect_format(written(tmp_path / "gt.json", {**far, "categories": [{"id": 1, "name": "car"}]})) == "coco"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ('{"images": [{"id": 1', "cut off"),
        ("[1, 2", "cut off"),
        ('{"images": }', "line 1, column 12"),
        ("[" * 100_000, "broken JSON"),
        ('{"images": [{"id": ' + "9" * 5000 + "}]}", "broken JSON"),
        ("[]", "are the two files swapped?"),
        ('{"images": 1}', 'no list "images"'),
        ("3", "is an object"),
        ("{}", 'no list "images"'),
        ('{"images": {}}', 'no list "images"'),
        ('{"images": []}', "no usable image"),
        ('{"images": [{"id": 1}]}', 'no list "categories"'),
        ('{"images": [{"id": 1}], "categories": []}', "no usable category"),
        ('{"images": [{"id": 1}], "categories": [{"id": 1}]}', 'no list "annotations"'),
    ],
)
def test_files_that_cannot_be_used_say_why(tmp_path, text, said):
    with pytest.raises(InputError, match=r"gt\.json") as caught:
        read(tmp_path, text, [])
    assert said in str(caught.value)


def test_text_in_another_encoding_and_missing_files_say_so(tmp_path):
    (tmp_path / "gt.json").write_bytes(b'{"images": "\xff\xfe"}')
    with pytest.raises(InputError, match="no UTF-8 text"):
        read_source("coco", tmp_path / "gt.json", None)
    with pytest.raises(InputError, match="no such file"):
        read_source("coco", tmp_path / "none.json", None)
    with pytest.raises(InputError, match="image_id, category_id, bbox and score"):
        read(tmp_path, coco(), {"boxes": []})


def test_a_huge_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    from core.error_slices.sources import json_files

    monkeypatch.setattr(json_files, "MOST_BYTES", 10)
    with pytest.raises(InputError, match=r"at most 0\.0 GB are read"):
        read(tmp_path, coco())


def test_half_a_character_is_named_and_a_whole_one_is_text(tmp_path):
    text = json.dumps(coco()).replace("sub/b.jpg", "\\ud83d\\ude97.jpg")
    assert read_source("coco", written(tmp_path / "gt.json", text), None).images[1].file_name == "\U0001f697.jpg"
    with pytest.raises(InputError, match=r"gt\.json: \\ud83d is half of a character"):
        read_source("coco", written(tmp_path / "gt.json", text.replace("\\ude97", "")), None)


def test_a_byte_order_mark_is_no_fault(tmp_path):
    (tmp_path / "gt.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(coco()).encode())
    assert len(read_source(None, tmp_path / "gt.json", None).truth) == 2


def test_of_ten_thousand_faults_the_first_are_told_and_all_are_counted(tmp_path):
    made = read(tmp_path, coco(), [found(score=None)] * 10_000)
    assert made.report.counts["predictions left out: no usable score"] == 10_000
    assert len(made.report.problems) < 30
    assert "… and 9,980 more of this kind: predictions left out: no usable score." in made.report.problems


def test_sizes_come_from_the_header_only_where_the_file_does_not_tell(tmp_path):
    picture(tmp_path / "images" / "a.jpg", (50, 40))
    picture(tmp_path / "images" / "deep" / "sub" / "b.jpg", (33, 44))
    truth = coco()
    del truth["images"][1]["width"]
    made = read(tmp_path, truth, images=tmp_path / "images")
    assert [(i.width, i.height) for i in made.images] == [(100, 80), (33, 44)]
    assert made.images[1].path == tmp_path / "images" / "deep" / "sub" / "b.jpg"
    assert made.report.counts["images of another size than the file says"] == 1


@pytest.mark.parametrize("size", [0, -5, None, "wide", 1e300, float("nan")])
def test_sizes_that_no_image_has_are_unknown(tmp_path, size):
    truth = coco()
    truth["images"][0]["width"] = size
    made = read(tmp_path, truth)
    assert (made.images[0].width, made.images[0].height) == (0, 0)
    assert made.report.counts["images of unknown size"] == 1


def test_a_stated_area_larger_than_the_box_is_told(tmp_path):
    truth = coco()
    truth["annotations"][0]["area"] = 8000
    made = read(tmp_path, truth)
    assert made.truth.area[0] == 8000
    assert made.report.counts["boxes of ground truth with a stated area larger than the box, kept as stated"] == 1


junk = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.floats(), st.text(max_size=3), st.lists(st.one_of(st.floats(), st.none()), max_size=5)
)
ids = st.one_of(st.sampled_from([7, 9, 3, 0, "7", 9.0]), junk)
boxes = st.one_of(st.lists(st.floats(-10, 200), min_size=4, max_size=4), junk)
entry = st.one_of(
    junk,
    st.fixed_dictionaries(
        {},
        optional={
            "id": ids,
            "image_id": ids,
            "category_id": ids,
            "bbox": boxes,
            "area": junk,
            "iscrowd": junk,
            "score": junk,
            "segmentation": st.one_of(junk, st.just([[2, 2, 8, 2, 8, 6]])),
        },
    ),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(entry, max_size=6), st.lists(entry, max_size=6))
def test_whatever_a_file_holds_every_entry_is_kept_or_counted(tmp_path, annotations, results):
    made = read(tmp_path, coco(annotations=annotations), results)
    counts = made.report.counts
    assert len(made.truth) + left_out(counts, "annotations") == len(annotations)
    assert len(made.predictions) + left_out(counts, "predictions") == len(results)
    assert len(set(made.truth.ids)) == len(made.truth)
    assert np.isfinite(made.truth.xyxy).all()
    assert np.isfinite(made.predictions.score).all()
    make_units(made, UnitSettings(confidence=0))
