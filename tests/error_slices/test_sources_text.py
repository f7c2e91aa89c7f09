"""Readers of text files, YOLO and its relatives: their conventions and their faults."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from source_files import coco, left_out, picture, written

from core.error_slices.detections import DetectionSet
from core.error_slices.matching import make_units
from core.error_slices.sources import detect_format, read_source
from core.error_slices.sources.text_boxes import Layout, parse_line
from core.error_slices.units import UnitSettings
from core.errors import InputError


@pytest.fixture
def yolo(tmp_path: Path) -> Path:
    """Two images of 200 × 100 and 50 × 40 px; the second has no object."""
    picture(tmp_path / "images" / "a.jpg", (200, 100))
    picture(tmp_path / "images" / "b.png", (50, 40))
    written(tmp_path / "labels" / "a.txt", "0 0.5 0.5 0.1 0.2\n2 0.25 0.5 0.5 1\n")
    written(tmp_path / "labels" / "b.txt", "")
    written(tmp_path / "labels" / "classes.txt", "car\nperson\ntram\n")
    return tmp_path


def read(folder: Path, **options: str) -> DetectionSet:
    predictions = folder / "said"
    return read_source("yolo", folder / "labels", predictions if predictions.exists() else None, images=folder / "images", **options)


def test_shares_become_pixels_and_names_are_found_beside_the_labels(yolo):
    made = read(yolo)
    assert [(i.id, i.file_name, i.width, i.height) for i in made.images] == [("a", "a.jpg", 200, 100), ("b", "b.png", 50, 40)]
    assert made.truth.xyxy == pytest.approx(np.array([[90, 40, 110, 60], [0, 0, 100, 100]]))
    assert [made.classes[c].name for c in made.truth.cls] == ["car", "tram"]
    assert [c.id for c in made.classes] == ["0", "1", "2"]
    assert made.report.files == ("labels", "classes.txt")
    assert made.report.counts["images without ground truth"] == 1
    assert all(i.sha256 for i in made.images)


def test_the_confidence_stands_last(yolo):
    written(yolo / "said" / "a.txt", "0 0.5 0.5 0.1 0.2 0.91\n1 0.1 0.1 0.1 0.1 0.3 7\n")
    made = read(yolo)
    assert made.predictions.score.tolist() == [0.91, 0.3]
    assert made.predictions.xyxy[0] == pytest.approx([90, 40, 110, 60])
    assert make_units(made).kind.tolist()[:2] == ["TP", "FN"]
    assert made.report.counts["images without a file of predictions"] == 1


def test_an_empty_label_file_is_background_and_a_missing_one_is_told(yolo):
    (yolo / "labels" / "b.txt").unlink()
    picture(yolo / "images" / "c.jpg", (10, 10))
    made = read(yolo)
    assert len(made.images) == 3
    assert made.report.counts["images without a label file, taken as without objects"] == 2
    assert any("2 of 3 images have no label file" in p for p in made.report.problems)


@pytest.mark.parametrize("line", ["0 0.95 0.5 0.1004 0.2", "0 -0.01 0.5 0.1 0.2", "0 1.0004 0.5 0.1 0.2"])
def test_coordinates_a_little_outside_the_image_are_kept_and_counted(yolo, line):
    written(yolo / "labels" / "b.txt", line)
    made = read(yolo)
    assert len(made.truth) == 3
    assert made.report.counts["boxes of ground truth with coordinates outside 0 to 1, kept as they are"] == 1
    x, y, w, h = map(float, line.split()[1:])
    assert made.truth.xyxy[2] == pytest.approx([(x - w / 2) * 50, (y - h / 2) * 40, (x + w / 2) * 50, (y + h / 2) * 40])


def test_pixels_in_place_of_shares_are_noticed(yolo):
    written(yolo / "labels" / "b.txt", "0 20 10 5 5")
    made = read(yolo)
    assert made.report.counts["lines of ground truth left out: no shares of the image"] == 1
    assert "b.txt, line 1: 0 20 10 5 5 is far outside 0 to 1; left out." in made.report.problems
    written(yolo / "labels" / "a.txt", "0 20 10 5 5\n0 40 10 5 5")
    with pytest.raises(InputError, match="3 of 3 lines have coordinates far outside 0 to 1"):
        read(yolo)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("0 0.5 0.5 0.1", "4 columns"),
        ("0 0.5 0.5 0.1 x", "finite"),
        ("0 0.5 0.5 0.1 nan", "finite"),
        ("0 0.5 0.5 0.1 0.2 0.9", "6 columns"),
        ("0 0.5 0.5 0.1 0.2 0.9 0.1 0.2", "8 columns"),
        ("0 0.5 0.5 -0.1 0.2", "negative"),
        ("-1 0.5 0.5 0.1 0.2", "class -1 is negative"),
    ],
)
def test_broken_lines_are_left_out_with_file_and_line(yolo, line, why):
    written(yolo / "labels" / "b.txt", f"\n{line}\n1 0.5 0.5 0.1 0.1\n")
    made = read(yolo)
    assert len(made.truth) == 3
    assert left_out(made.report.counts, "lines of ground truth") == 1
    assert any(p.startswith("b.txt, line 2: ") and why in p for p in made.report.problems)


def test_labels_of_unknown_images_are_told(yolo):
    written(yolo / "labels" / "ghost.txt", "0 0.5 0.5 0.1 0.2\n0 0.5 0.5 0.1 0.2")
    made = read(yolo)
    assert made.report.counts["boxes left out: unknown image"] == 2
    assert "ghost.txt: there is no image of that name; its 2 lines are left out." in made.report.problems


def test_a_label_file_that_is_no_text_is_told_and_the_rest_goes_on(yolo):
    (yolo / "labels" / "b.txt").write_bytes(b"\xff\xfe\x00")
    made = read(yolo)
    assert len(made.truth) == 2
    assert made.report.counts["files of ground truth that cannot be read"] == 1


@pytest.mark.parametrize(("first", "categories"), [("0", (0, 2)), ("1", (1, 3))])
def test_results_lists_go_with_labels_of_yolo(yolo, first, categories):
    results = [
        {"image_id": "a", "category_id": categories[0], "bbox": [90, 40, 20, 20], "score": 0.9},
        {"image_id": "a", "category_id": categories[1], "bbox": [0, 0, 100, 100], "score": 0.8},
    ]
    said = written(yolo / "predictions.json", results)
    made = read_source("yolo", yolo / "labels", said, images=yolo / "images", first_class=first)
    assert make_units(made).kind.tolist()[:4] == ["TP"] * 4
    assert made.report.files == ("labels", "classes.txt", "predictions.json")
    wrong = read_source("yolo", yolo / "labels", said, images=yolo / "images")
    assert any("say first_class=1" in p for p in wrong.report.problems) == (first == "1")
    with pytest.raises(InputError, match="first class"):
        read_source("yolo", yolo / "labels", said, images=yolo / "images", first_class="2")


def test_numbers_in_results_lists_find_files_with_leading_noughts(yolo):
    picture(yolo / "images" / "000000000139.jpg", (50, 40))
    said = written(yolo / "predictions.json", [{"image_id": 139, "category_id": 0, "bbox": [1, 1, 2, 2], "score": 0.9}])
    made = read_source("yolo", yolo / "labels", said, images=yolo / "images")
    assert made.images[made.predictions.image[0]].id == "000000000139"


def test_a_folder_that_ultralytics_puts_around_its_files_changes_no_image(yolo):
    picture(yolo / "images" / "night" / "a.jpg", (50, 40))
    written(yolo / "said" / "labels" / "a.txt", "0 0.5 0.5 0.1 0.2 0.9\n")
    written(yolo / "said" / "labels" / "night" / "a.txt", "0 0.5 0.5 0.1 0.2 0.8\n")
    written(yolo / "said" / "other" / "a.txt", "0 0.5 0.5 0.1 0.2 0.7\n")
    made = read(yolo)
    found = {made.images[i].id: s for i, s in zip(made.predictions.image, made.predictions.score.tolist(), strict=True)}
    assert found == {"a": 0.9, "night/a": 0.8}
    assert "a.txt: several images have that name; its 1 lines are left out." in made.report.problems


def test_polygons_become_boxes_and_where_the_predictions_have_them_masks(yolo):
    ring = "0.1 0.1 0.3 0.1 0.3 0.5 0.1 0.5"
    written(yolo / "labels" / "b.txt", f"1 {ring}")
    made = read(yolo)
    assert made.task == "detection"  # the mask is kept for a segmenter that runs later
    assert made.truth.masks[2].size == (40, 50)
    assert read(yolo, masks="no").truth.masks is None
    assert made.truth.xyxy[2] == pytest.approx([5, 4, 15, 20])
    written(yolo / "said" / "b.txt", f"1 {ring} 0.8")
    made = read(yolo)
    assert made.task == "segmentation"
    assert made.predictions.score.tolist() == [0.8]
    assert made.truth.masks[2] == made.predictions.masks[0]
    assert made.truth.masks[2].size == (40, 50)
    assert made.truth.area[2] == pytest.approx(160)


def test_without_names_classes_are_their_numbers_and_nothing_predicted_is_lost(yolo):
    (yolo / "labels" / "classes.txt").unlink()
    written(yolo / "said" / "a.txt", "10 0.5 0.5 0.1 0.2 0.9")
    made = read(yolo)
    assert [(c.id, c.name) for c in made.classes] == [("0", "0"), ("2", "2"), ("10", "10")]
    assert [made.classes[c].id for c in made.truth.cls] == ["0", "2"]
    assert made.classes[made.predictions.cls[0]].id == "10"
    assert made.report.unmapped == {}
    assert any(p.startswith("No names of classes were found") for p in made.report.problems)


def test_a_detector_with_other_numbers_is_mapped_by_its_names(yolo):
    written(yolo / "said" / "a.txt", "4 0.5 0.5 0.1 0.2 0.9\n1 0.5 0.5 0.1 0.2 0.9\n")
    made = read(yolo, prediction_names="dog,Person,x,y,car")
    assert [made.classes[c].name for c in made.predictions.cls] == ["car", "person"]
    assert made.report.unmapped == {}
    assert "No class of the detector stands for these, so all of them count as missed: tram (1)." in made.report.problems


@pytest.mark.parametrize(
    "names", ["[car, person, tram]", "{0: car, 1: person, 2: tram}", "\n  - car\n  - person\n  - tram"], ids=["list", "numbers", "block"]
)
def test_the_yaml_file_of_a_data_set_names_everything(tmp_path, names):
    picture(tmp_path / "images" / "val" / "a.jpg", (200, 100))
    picture(tmp_path / "images" / "train" / "z.jpg", (200, 100))
    written(tmp_path / "labels" / "val" / "a.txt", "2 0.25 0.5 0.5 1")
    path = written(tmp_path / "data.yaml", f"path: .\ntrain: images/train\nval: images/val\nnames: {names}\n")
    made = read_source(None, path, None)
    assert [(i.file_name, i.split, i.width) for i in made.images] == [("a.jpg", "val", 200)]
    assert made.images[0].path == tmp_path / "images" / "val" / "a.jpg"
    assert [c.name for c in made.classes] == ["car", "person", "tram"]
    assert made.report.files == ("val", "data.yaml")
    with pytest.raises(InputError, match="Splits there: train, val"):
        read_source("yolo", path, None, split="test")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("val: [", "no YAML"),
        ("- 1", "mapping"),
        ("val: images/val\nnames: 3", '"names" must be'),
        ("names: [a]", '"val" must name a folder'),
    ],
)
def test_a_broken_yaml_file_says_what_is_wrong(tmp_path, text, said):
    picture(tmp_path / "images" / "val" / "a.jpg", (20, 10))
    with pytest.raises(InputError) as caught:
        read_source("yolo", written(tmp_path / "data.yaml", text), None)
    assert said in str(caught.value)


def test_an_image_turned_by_its_mark_is_measured_as_it_is_shown(yolo):
    picture(yolo / "images" / "a.jpg", (200, 100), orientation=6)
    made = read(yolo)
    assert (made.images[0].width, made.images[0].height) == (100, 200)
    assert made.report.counts["images turned by their orientation mark"] == 1


def test_an_unreadable_image_has_no_size_and_its_labels_are_told(yolo):
    (yolo / "images" / "a.jpg").write_bytes(b"no image")
    made = read(yolo)
    assert (made.images[0].width, made.images[0].path) == (0, None)
    assert made.report.counts["lines of ground truth left out: image of unknown size"] == 2
    assert made.report.counts["images that cannot be read"] == 1


def test_folders_that_are_missing_or_empty_say_so(yolo):
    with pytest.raises(InputError, match="name the folder of images"):
        read_source("yolo", yolo / "labels", None)
    with pytest.raises(InputError, match="no such folder of ground truth"):
        read_source("yolo", yolo / "nothing", None, images=yolo / "images")
    (yolo / "empty").mkdir()
    with pytest.raises(InputError, match="no image lies there"):
        read_source("yolo", yolo / "labels", None, images=yolo / "empty")
    with pytest.raises(InputError, match="no text file of ground truth"):
        read_source("yolo", yolo / "empty", None, images=yolo / "images")


@pytest.mark.parametrize(
    ("columns", "units", "line"),
    [
        ("class score x y w h", "px", "car 0.5 10 20 30 15"),
        ("class score x1 y1 x2 y2", "px", "car 0.5 10 20 40 35"),
        ("score,class,cx,cy,w,h", "relative", "0.5 car 0.25 0.34375 0.3 0.1875"),
        ("- class x1 y1 x2 y2 - score", "px", "9 car 10 20 40 35 8 0.5"),
    ],
)
def test_other_orders_of_columns_with_ground_truth_of_coco(tmp_path, columns, units, line):
    said = written(tmp_path / "said" / "a.txt", line).parent
    made = read_source("coco", written(tmp_path / "gt.json", coco()), said, columns=columns, units=units)
    assert made.predictions.xyxy[0] == pytest.approx([10, 20, 40, 35])
    assert (made.predictions.score.tolist(), made.classes[made.predictions.cls[0]].name) == ([0.5], "car")
    assert made.report.files == ("gt.json", "said")


@pytest.mark.parametrize("columns", ["class x y", "x y w h score", "class class x y w h", "class x1 y1 w h", "class x y w h colour"])
def test_columns_that_are_no_box_are_refused(columns):
    with pytest.raises(InputError, match="columns of a line"):
        Layout.of(columns)


def test_scores_that_are_missing_here_and_there(tmp_path):
    truth = written(tmp_path / "gt.json", coco())
    said = written(tmp_path / "said" / "a.txt", "0 0.5 0.5 0.1 0.1 0.9\n0 0.5 0.5 0.1 0.1\n").parent
    made = read_source("coco", truth, said)
    assert (made.predictions.score.tolist(), made.predictions.ids) == ([0.9], ("0",))
    assert made.report.counts["predictions left out: no usable score"] == 1
    written(said / "a.txt", "0 0.5 0.5 0.1 0.1")
    assert read_source("coco", truth, said).predictions.score.tolist() == [1.0]


words = st.lists(
    st.one_of(st.floats(-2, 2).map(lambda v: f"{v:.4f}"), st.sampled_from(["0", "1", "car", "nan", "1e999", "-", "7"])), max_size=9
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(words, max_size=5), st.lists(words, max_size=5))
def test_whatever_lines_hold_every_one_is_kept_or_counted(yolo, labels, said):
    written(yolo / "labels" / "b.txt", "\n".join(map(" ".join, labels)))
    written(yolo / "said" / "b.txt", "\n".join(map(" ".join, said)))
    try:
        made = read(yolo)
    except InputError as e:
        assert "far outside 0 to 1" in str(e)
        return
    counts = made.report.counts
    assert len(made.truth) + left_out(counts, "lines of ground truth") == 2 + sum(map(bool, labels))
    assert len(made.predictions) + left_out(counts, "lines of predictions") + left_out(counts, "predictions") == sum(map(bool, said))
    make_units(made, UnitSettings(confidence=0))


def test_a_track_is_told_from_a_triangle():
    layout = Layout.of("class cx cy w h score")
    track = parse_line("0 0.5 0.5 0.2 0.2 0.9 12".split(), layout, predicted=True)
    triangle = parse_line("0 0.1 0.1 0.5 0.1 0.1 0.5".split(), layout, predicted=True)
    assert track.score == 0.9
    assert math.isnan(triangle.score)
    assert triangle.box == (0.1, 0.1, 0.5, 0.5)


def test_the_format_is_recognised_by_what_a_source_looks_like(yolo, tmp_path):
    assert detect_format(yolo / "labels") == "yolo"
    written(tmp_path / "label_2" / "1.txt", "\nDontCare -1 -1 -10 300.00 150.00 340.00 180.00 -1 -1 -1 -1000 -1000 -1000 -10")
    assert detect_format(tmp_path / "label_2") == "kitti"
    assert detect_format(written(tmp_path / "gt.json", coco())) == "coco"
    assert detect_format(tmp_path / "images") is None
    assert detect_format(written(tmp_path / "list.json", [])) is None
    assert detect_format(written(tmp_path / "x.csv", "a,b\n1,2")) is None
    assert detect_format(written(tmp_path / "y.csv", "Filename;Y\n1;2")) == "classification"
    assert detect_format(tmp_path / "nothing.json") is None
    with pytest.raises(InputError, match="the format is not recognised"):
        read_source(None, tmp_path / "images", None)
    with pytest.raises(InputError, match="no such file or folder"):
        read_source(None, tmp_path / "nothing.json", None)


def test_unknown_formats_and_options_are_refused(tmp_path):
    truth = written(tmp_path / "gt.json", coco())
    with pytest.raises(InputError, match="no such format"):
        read_source("pascal", truth, None)
    with pytest.raises(InputError, match="no such option"):
        read_source("coco", truth, None, difficulty="easy")
    with pytest.raises(InputError, match="no such value"):
        read_source("coco", truth, None, masks="maybe")
