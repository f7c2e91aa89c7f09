"""Reader of Pascal VOC: boxes as written, difficult objects ignored, broken files told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from source_files import DATA, written

from core.error_slices.detections import DetectionSet
from core.error_slices.sources import detect_format, read_source, read_with_classes
from core.errors import InputError

TOY = DATA / "det_formats_toy" / "toyexample"


def thing(name: str, box: Sequence[object], *more: str) -> str:
    sides = "".join(f"<{k}>{v}</{k}>" for k, v in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True))
    return f"<object><name>{name}</name>{''.join(more)}<bndbox>{sides}</bndbox></object>"


def annotation(*things: str, size: str = "<size><width>100</width><height>80</height></size>") -> str:
    return f"<annotation><filename>a.jpg</filename>{size}{''.join(things)}</annotation>"


def read(folder: Path, text: str, **options: str) -> DetectionSet:
    written(folder / "xml" / "a.xml", text)
    said = folder / "said"
    return read_source(None, folder / "xml", said if said.exists() else None, **options)


def test_boxes_names_and_marks(tmp_path):
    text = annotation(
        thing("dog", (1, 2.5, 50, 60), "<truncated>1</truncated><difficult>0</difficult><occluded>1</occluded>"),
        thing("person", (10, 10, 20, 20), "<difficult>1</difficult><truncated>Unspecified</truncated>"),
    )
    written(tmp_path / "said" / "a.txt", "dog 0.9 2 3 49 60\ncat 0.8 0 0 5 5")
    made = read(tmp_path, text, columns="class score x1 y1 x2 y2", units="px")
    assert made.truth.xyxy.tolist() == [[1, 2.5, 50, 60], [10, 10, 20, 20]]
    assert made.truth.ignore.tolist() == [False, True]
    assert (made.truth.truncated[0], made.truth.occluded[0]) == (1, 1)
    assert np.isnan([made.truth.truncated[1], made.truth.occluded[1]]).all()
    assert [(c.id, c.name) for c in made.classes] == [("dog", "dog"), ("person", "person")]
    assert (len(made.predictions), made.report.unmapped) == (1, {"cat": 1})
    assert (made.images[0].id, made.images[0].width, made.images[0].height) == ("a", 100, 80)


@pytest.mark.parametrize(
    "broken", [thing("", (1, 2, 3, 4)), thing("dog", (5, 2, 3, 4)), thing("dog", (1, 2, 3, "x")), "<object><name>dog</name></object>"]
)
def test_objects_without_name_or_box_are_left_out_with_their_place(tmp_path, broken):
    made = read(tmp_path, annotation(thing("dog", (1, 2, 3, 4)), broken))
    assert len(made.truth) == 1
    assert made.report.counts["objects left out: no usable name or box"] == 1
    assert made.report.problems[0].startswith("a.xml, object 2: name ")


@pytest.mark.parametrize("text", ["<annotation>", "", "<svg/>", '<!DOCTYPE a [<!ENTITY x "y">]><annotation>&x;</annotation>'])
def test_broken_and_hostile_files_are_told_and_the_rest_goes_on(tmp_path, text):
    written(tmp_path / "xml" / "b.xml", text)
    made = read(tmp_path, annotation(thing("dog", (1, 2, 3, 4))))
    assert [i.id for i in made.images] == ["a"]
    assert made.report.counts["files of ground truth that cannot be read"] == 1
    (tmp_path / "xml" / "a.xml").unlink()
    with pytest.raises(InputError, match="not one XML file"):
        read_source("voc", tmp_path / "xml", None)


def test_missing_and_empty_folders_say_so(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        read_source("voc", tmp_path / "none", None)
    with pytest.raises(InputError, match="no XML file"):
        read_source("voc", tmp_path, None)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not there")
def test_the_real_files_hold_the_boxes_of_their_coco_version():
    xml = TOY / "gts_vocpascal_format"
    assert detect_format(xml) == "voc"
    options = {"columns": "class score cx cy w h", "prediction_names": str(TOY / "voc.names"), "images": TOY / "images"}
    made, table = read_with_classes(None, xml, TOY / "dets_classid_rel_xcycwh", **options)  # type: ignore[arg-type]
    coco = read_source("coco", TOY / "gts_coco_format" / "toy_example_coco.JSON", None)
    assert len(made.predictions) == 12
    assert [r.target for r in table.rows if r.boxes] == ["cat"]
    name = {i: image.file_name for i, image in enumerate(coco.images)}
    mine = sorted((made.images[i].file_name, *b) for i, b in zip(made.truth.image, made.truth.xyxy.tolist(), strict=True))
    assert mine == sorted((name[i], *b) for i, b in zip(coco.truth.image, coco.truth.xyxy.tolist(), strict=True))
