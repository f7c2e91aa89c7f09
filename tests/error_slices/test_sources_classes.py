"""The mapping of classes, the search for image files, and the report of a reader."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from source_files import coco, found, picture, written

from core.error_slices.detection_files import write_detections
from core.error_slices.detections import ClassName, SourceReport
from core.error_slices.sources import READERS, class_table, read_source
from core.error_slices.sources.class_map import HOWS, map_classes, proposal_for
from core.error_slices.sources.image_files import ImageFolder, describe
from core.error_slices.sources.name_lists import read_names
from core.errors import InputError

TRUTH = [ClassName("1", "person"), ClassName("2", "traffic light"), ClassName("3", "bicycle"), ClassName("4", "tv")]


def classes(*names: str) -> list[ClassName]:
    return [ClassName(str(i), n) for i, n in enumerate(names)]


def test_names_decide_then_letters_and_the_rest_is_proposed():
    table = map_classes(
        classes("person", "Traffic_Light", "pedestrian", "cyclist", "TVMonitor", "bycicle", "toaster"), TRUTH, {2: 5}, {1: 9}
    )
    assert [(r.target, r.how, r.proposal) for r in table.rows] == [
        ("person", "same name", ""),
        ("traffic light", "same letters", ""),
        ("", "unmapped", "person"),
        ("", "unmapped", "bicycle"),
        ("", "unmapped", "tv"),
        ("", "unmapped", "bicycle"),
        ("", "unmapped", ""),
    ]
    assert [r.name for r in table.unmapped] == ["pedestrian", "cyclist", "TVMonitor", "bycicle", "toaster"]
    assert table.rows[2].boxes == 5
    assert [(t.name, t.boxes, t.sources) for t in table.truth[:2]] == [("person", 0, ("person",)), ("traffic light", 9, ("Traffic_Light",))]
    assert {r.how for r in table.rows} <= set(HOWS)


def test_what_a_person_decided_comes_first_and_can_be_given_back():
    given = {"pedestrian": "person", "person": "", "0": "tv"}
    table = map_classes(classes("screen", "person", "pedestrian"), TRUTH, {}, {}, given)
    assert [(r.target, r.how) for r in table.rows] == [("tv", "given"), ("", "left out"), ("person", "given")]
    again = map_classes(classes("screen", "person", "pedestrian"), TRUTH, {}, {}, table.mapping)
    assert [r.target for r in again.rows] == [r.target for r in table.rows]
    assert table.truth[0].sources == ("pedestrian",)


def test_all_classes_that_are_not_there_are_named_with_proposals():
    with pytest.raises(InputError) as caught:
        map_classes(classes("person", "car"), TRUTH, {}, {}, {"person": "pedestrian", "auto": "tv"})
    assert [(p.column, p.got, p.suggestion) for p in caught.value.problems] == [("person", "pedestrian", "person"), ("auto", "auto", "car")]


def test_a_mapping_made_for_another_model_may_name_what_this_one_never_found(tmp_path):
    truth, said = written(tmp_path / "gt.json", coco()), written(tmp_path / "dt.json", [found()])
    made = read_source("coco", truth, said, class_map={"person": "person", "rider": "person"})
    assert 'The mapping names the class "rider", which no prediction has.' in made.report.problems
    assert class_table("coco", truth, said, class_map={"rider": "person"}).unused == ("rider",)


def test_two_classes_of_one_name_are_told_apart_by_id(tmp_path):
    truth = coco(categories=[{"id": 3, "name": "car"}, {"id": 0, "name": "car"}])
    made = read_source("coco", written(tmp_path / "gt.json", truth), written(tmp_path / "dt.json", [found(), found(category_id=0)]))
    assert made.predictions.cls.tolist() == [0, 1]
    assert made.report.counts["categories of one name"] == 1


def test_classes_never_predicted_are_named(tmp_path):
    made = read_source("coco", written(tmp_path / "gt.json", coco()), written(tmp_path / "dt.json", [found()]))
    assert "Never predicted, so all of it counts as missed: person." in made.report.problems
    assert made.report.unmapped == {}


def test_proposals_are_other_words_or_nearly_the_same_letters():
    assert proposal_for("Motorbike", ["car", "motorcycle"]) == "motorcycle"
    assert proposal_for("persn", ["car", "person"]) == "person"
    assert proposal_for("zebra", ["car", "person"]) == ""


def test_names_come_from_text_lists_and_files(tmp_path):
    assert read_names("a, b") == read_names(["a", "b"]) == read_names(written(tmp_path / "n.txt", "a\n\nb\n")) == ["a", "b"]
    assert read_names(str(written(tmp_path / "d.yaml", "names: {0: a, 2: c}"))) == ["a", "1", "c"]
    assert read_names(None) == read_names("") == []
    with pytest.raises(InputError, match="no such file"):
        read_names("nothing.names")


@pytest.mark.parametrize("name", ["../secret.jpg", "/{root}/secret.jpg", "..\\secret.jpg", "sub/../../secret.jpg", "", "a\0b.jpg", "."])
def test_no_file_outside_the_folder_of_images_is_ever_found(tmp_path, name):
    picture(tmp_path / "secret.jpg", (4, 4))
    picture(tmp_path / "images" / "a.jpg", (4, 4))
    assert ImageFolder(tmp_path / "images").find(name.replace("{root}", str(tmp_path).strip("/"))) is None


def test_a_name_that_no_disk_could_hold_is_the_name_of_no_file(tmp_path):
    assert ImageFolder(tmp_path).find("a" * 4000 + ".jpg") is None
    assert ImageFolder(tmp_path).find("a\0b.jpg") is None


def test_images_whose_names_are_no_text_are_told_and_the_rest_goes_on(tmp_path):
    bad = Path(os.fsdecode(os.fsencode(tmp_path / "images") + b"/K\xf6ln.png"))
    for path in (tmp_path / "images" / "a.png", bad):
        picture(path, (20, 10))
    written(tmp_path / "labels" / "a.txt", "0 0.5 0.5 0.2 0.2")
    made = read_source("yolo", tmp_path / "labels", None, images=tmp_path / "images")
    assert [i.id for i in made.images] == ["a"]
    assert made.report.counts["images left out: name is no UTF-8 text"] == 1
    assert write_detections(tmp_path / "kept", made).folder.is_dir()
    written(Path(os.fsdecode(os.fsencode(tmp_path / "labels") + b"/K\xf6ln.txt")), "0 0.5 0.5 0.2 0.2")
    with pytest.raises(InputError, match="no UTF-8 text"):
        read_source("yolo", tmp_path / "labels", None, images=tmp_path / "images")


def test_files_are_found_by_place_then_by_the_only_name(tmp_path):
    a = picture(tmp_path / "val" / "a.jpg", (4, 4))
    picture(tmp_path / "train" / "b.jpg", (4, 4))
    b = picture(tmp_path / "val" / "b.jpg", (4, 4))
    folder = ImageFolder(tmp_path)
    assert folder.find("data/val/a.jpg") == folder.find("/far/away/a.jpg") == folder.find("C:\\data\\a.jpg") == a
    assert folder.find("val\\b.jpg") == b
    assert folder.find("elsewhere/b.jpg") is None
    with pytest.raises(InputError, match="no such folder of images"):
        ImageFolder(tmp_path / "none")


def test_copies_of_a_picture_fall_into_one_half(tmp_path):
    data = picture(tmp_path / "a.jpg", (9, 9)).read_bytes()
    (tmp_path / "b.jpg").write_bytes(data)
    assert describe(tmp_path / "a.jpg") == describe(tmp_path / "b.jpg")
    truth = coco(images=[{"id": 7, "file_name": "a.jpg"}, {"id": 9, "file_name": "b.jpg"}])
    made = read_source("coco", written(tmp_path / "gt.json", truth), None, images=tmp_path)
    assert made.images[0].half == made.images[1].half
    assert (made.images[0].width, made.images[0].sha256) == (9, made.images[1].sha256)


def test_progress_counts_images(tmp_path):
    picture(tmp_path / "a.jpg", (9, 9))
    seen: list[tuple[int, int]] = []
    read_source("coco", written(tmp_path / "gt.json", coco()), None, images=tmp_path, progress=lambda n, of: seen.append((n, of)))
    assert seen == [(1, 2), (2, 2)]


def test_a_report_outlives_json(tmp_path):
    made = read_source("coco", written(tmp_path / "gt.json", coco()), written(tmp_path / "dt.json", [found(image_id=1)]))
    assert SourceReport.from_json(json.loads(json.dumps(made.report.to_json()))) == made.report


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_reader_says_what_it_reads(name):
    reader = READERS[name]
    assert reader.name == name
    assert all(text and text[0].islower() for text in (reader.truth, reader.predictions) if text)
    assert all(text.endswith(".") for text in reader.options.values())


def test_a_json_file_that_is_not_recognised_is_explained_by_the_reader_of_coco(tmp_path):
    with pytest.raises(InputError, match="are the two files swapped"):
        read_source(None, written(tmp_path / "dt.json", [found()]), None)
    with pytest.raises(InputError, match="cut off"):
        read_source(None, written(tmp_path / "broken.json", '{"images": ['), None)
