"""Reader of classifications: columns by their usual names or by choice, groups, splits, a second file of predictions."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from source_files import DATA, left_out, picture, written

from core.error_slices.detection_files import digests_of
from core.error_slices.detections import DetectionSet
from core.error_slices.matching import make_units
from core.error_slices.sources import class_table, read_source
from core.errors import InputError

PLAIN = "image,label,prediction,group\na.jpg,cat,cat,day\nb.jpg,dog,cat,night\nc.jpg,dog,dog,day\n"


def read(folder: Path, text: str, said: str | None = None, **options: Any) -> DetectionSet:
    second = None if said is None else written(folder / "said.csv", said)
    return read_source("classification", written(folder / "labels.csv", text), second, **options)


def names(made: DetectionSet, indices: object) -> list[str]:
    return [made.classes[i].name for i in indices]  # type: ignore[attr-defined]


def test_image_label_prediction_and_group(tmp_path):
    made = read(tmp_path, PLAIN, model="resnet")
    said = made.classified
    assert (made.task, len(made.truth), len(made.predictions)) == ("classification", 0, 0)
    assert [i.id for i in made.images] == ["a.jpg", "b.jpg", "c.jpg"]
    assert names(made, said.label) == ["cat", "dog", "dog"]
    assert names(made, said.prediction) == ["cat", "cat", "dog"]
    assert said.group == ("day", "night", "day")
    assert make_units(made).loss.tolist() == [0, 1, 0]
    assert made.name == "resnet · labels"
    assert made.report.counts == {"images": 3, "images with label and prediction": 3}
    assert made.report.problems == ("labels.csv: read as image: image, label: label, prediction: prediction, group: group.",)


def test_a_predicted_class_without_a_label_is_wrong_and_kept(tmp_path):
    made = read(tmp_path, "image,label,prediction\na,cat,dog\n")
    assert [c.name for c in made.classes] == ["cat", "dog"]
    assert make_units(made).loss.tolist() == [1]


def test_predictions_that_no_image_has_as_label_are_told(tmp_path):
    kind = "predictions of classes that no image has, wrong unless they are mapped"
    made = read(tmp_path, "image,label,prediction\na,cat,Cat\nb,dog,dog\nc,dog,Cat\n")
    assert made.report.counts[kind] == 2
    assert any(p.endswith('"Cat" (did you mean "cat"?).') for p in made.report.problems)
    assert make_units(read(tmp_path, "image,label,prediction\na,cat,Cat\n", class_map={"Cat": "cat"})).loss.tolist() == [0]
    scores = read(tmp_path, "image,label,prediction\n" + "".join(f"{i},{i % 2},0.{i + 11}\n" for i in range(9)))
    assert scores.report.counts[kind] == 9
    assert any("9 classes in all. They seem to be probabilities" in p for p in scores.report.problems)
    assert kind not in read(tmp_path, "image,label,prediction\na,0,1\n", names="cat,dog").report.counts


def test_a_table_with_columns_of_other_names_is_taken_by_them_or_explained(tmp_path):
    path = tmp_path / "faces.csv"
    path.write_text("image_id,Male,Blond_Hair,said\na.jpg,-1,1,1\n", encoding="utf-8")
    made = read_source(None, path, None, label="Blond_Hair", prediction="said", group="Blond_Hair,Male")
    assert made.classified.group == ("Blond_Hair 1, Male -1",)
    with pytest.raises(InputError, match="columns are missing"):
        read_source(None, path, None)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_marks_and_capitals(tmp_path, separator):
    text = '\ufeffFilename,Y,Pred\n"a 1.jpg",0,1\n'.replace(",", separator)
    made = read(tmp_path, text, names="landbird,waterbird")
    assert made.images[0].file_name == "a 1.jpg"
    assert (names(made, made.classified.label), names(made, made.classified.prediction)) == (["landbird"], ["waterbird"])


def test_columns_by_choice(tmp_path):
    made = read(
        tmp_path,
        "n,f,t,p,w,s\n5,a.jpg,x,y,fog,2\n6,b.jpg,x,x,sun,0\n",
        id="n",
        image="f",
        label="t",
        prediction="p",
        group="w,t",
        split="s",
    )
    assert [(i.id, i.file_name, i.split) for i in made.images] == [("5", "a.jpg", "test"), ("6", "b.jpg", "train")]
    assert made.classified.group == ("w fog, t x", "w sun, t x")


def test_missing_columns_are_listed_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, "a,b\n1,2\n")
    assert [p.column for p in caught.value.problems] == ["image", "label", "prediction"]
    with pytest.raises(InputError, match="no such column"):
        read(tmp_path, PLAIN, label="truth")
    with pytest.raises(InputError) as caught:
        read(tmp_path, PLAIN, group="weather,time")
    assert [p.got for p in caught.value.problems] == ["weather", "time"]


def test_predictions_in_a_second_file(tmp_path):
    text = "id,filename,y,a\n1,a.jpg,0,0\n2,b.jpg,1,0\n3,c.jpg,1,1\n"
    made = read(tmp_path, text, "id,pred\n3,1\n1,1\n3,0\n9,0\n")
    assert [i.id for i in made.images] == ["1", "3"]
    assert make_units(made).loss.tolist() == [1, 0]
    assert made.classified.group == ("y 0, a 0", "y 1, a 1")
    counts = made.report.counts
    assert counts["predictions left out: unknown image"] == 1
    assert counts["predictions left out: image seen before"] == 1
    assert counts["rows left out: no label or no prediction"] == 1
    by_file = read(tmp_path, text, "filename,pred\nb.jpg,1\n")
    assert [i.id for i in by_file.images] == ["2"]
    with pytest.raises(InputError, match="no column of predictions"):
        read(tmp_path, text, "id,said\n1,1\n")
    with pytest.raises(InputError, match="no column that names the image"):
        read(tmp_path, text, "number,pred\n1,1\n")


def test_rows_that_cannot_be_used_are_told(tmp_path):
    made = read(tmp_path, "image,label,prediction\na,x,x\na,x,y\n,x,y\nb,,y\nc,x,\nd,x\n")
    assert len(made.images) == 1
    assert left_out(made.report.counts, "rows") == 5
    assert "labels.csv, row 5: no prediction; left out." in made.report.problems
    with pytest.raises(InputError, match="not one row"):
        read(tmp_path, "image,label,prediction\na,x,\n")


@pytest.mark.parametrize(
    ("text", "said"), [("", "empty"), ("image,label,prediction\n", "no row"), ("image,label,label\na,b,c\n", "columns of one name: label")]
)
def test_broken_files_say_why(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


def test_two_models_of_one_table_share_their_ground_truth(tmp_path):
    text = "image,label\na,cat\nb,dog\n"
    sets = [read(tmp_path, text, f"image,prediction\na,{said}\nb,cat\n") for said in ("dog", "cat")]
    assert digests_of(sets[0]).truth_digest == digests_of(sets[1]).truth_digest


def test_only_one_split(tmp_path):
    text = "image,label,prediction,split\na,x,x,0\nb,x,y,2\nc,x,x,2\n"
    made = read(tmp_path, text, only_split="test")
    assert [i.id for i in made.images] == ["b", "c"]
    assert made.report.counts["rows left out: other splits"] == 1
    with pytest.raises(InputError, match="in split dev"):
        read(tmp_path, text, only_split="dev")


def test_images_are_found_and_measured(tmp_path):
    picture(tmp_path / "images" / "a.jpg", (30, 20))
    made = read(tmp_path, PLAIN, images=tmp_path / "images")
    assert (made.images[0].width, made.images[0].height) == (30, 20)
    assert make_units(made).xyxy[0].tolist() == [0, 0, 30, 20]
    assert made.report.counts["images without a file"] == 2


def test_classes_can_be_left_out(tmp_path):
    made = read(tmp_path, PLAIN, class_map={"dog": ""})
    assert [i for i in made.classified.image] == [0, 1]
    assert made.report.counts["predictions of classes left out"] == 1
    assert class_table("classification", tmp_path / "labels.csv", None).mapping == {"cat": "cat", "dog": "dog"}


cells = st.text(alphabet='abc ,"\n\t;01', max_size=4)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(cells, min_size=1, max_size=4), max_size=8))
def test_whatever_rows_hold_every_one_is_kept_or_counted(tmp_path, rows):
    rows = [r for r in rows if any(c.strip() for c in r)]
    path = tmp_path / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows([["image", "label", "prediction"], ["first", "x", "x"], *rows])
    made = read_source("classification", path, None)
    assert len(made.images) + left_out(made.report.counts, "rows") == 1 + len(rows)


@pytest.mark.skipif(not (DATA / "waterbirds_celeba").is_dir(), reason="the shared data are not there")
def test_real_metadata_of_waterbirds_with_made_up_predictions(tmp_path):
    truth = DATA / "waterbirds_celeba" / "metadata_waterbirds.csv"
    with truth.open(newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    lines = [f"{r['id']},{r['y'] if (r['y'] == r['a'] or int(r['id']) % 5) else 1 - int(r['y'])}" for r in rows]
    said = written(tmp_path / "said.csv", "id,prediction\n" + "\n".join(lines))
    made = read_source(None, truth, said, only_split="test", names="landbird,waterbird")
    assert Counter(made.classified.group) == {"y 0, a 0": 2255, "y 0, a 1": 2255, "y 1, a 0": 642, "y 1, a 1": 642}
    assert [c.name for c in made.classes] == ["landbird", "waterbird"]
    assert made.report.counts["rows left out: other splits"] == 11788 - 5794
    loss = make_units(made).loss
    assert loss.sum() == sum(1 for r in rows if r["split"] == "2" and r["y"] != r["a"] and int(r["id"]) % 5 == 0)
