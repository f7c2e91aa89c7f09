"""Exports for repair: what is written, read back by those who will read it, and what is refused."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

from core.digest import sha256_bytes
from core.error_slices.detect import import_ultralytics
from core.error_slices.detections import Boxes, Classified, ClassName, DetectionSet, Image, Rle
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.matching import make_units
from core.error_slices.population import population
from core.error_slices.repair.content import RepairInput, RepairSlice, check, image_table
from core.error_slices.repair.export import CHANGED, FORMATS, Pictures, export_repair
from core.error_slices.repair.tables import dfr_lists, group_dro_csv, ladder_csvs, sample_weights_csv
from core.error_slices.sources import read_source
from core.errors import InputError

SMALL = Hypothesis("small", "The object is small.", "FN", "intrinsic_difficulty")
STRAY = Hypothesis("stray", "The region has no texture.", "FP", "intrinsic_difficulty")
ACCEPT = {"verdict": "accept", "note": "", "who": "ana", "at": "2026-01-01T00:00:00+00:00"}


def pictured(folder: Path, n: int = 6) -> DetectionSet:
    """n pictures of 100 × 80 with a large and a small box each; the small one is missed in every even picture, and one is made up."""
    images = []
    for i in range(n):
        path = folder / f"source/p{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        Picture.new("RGB", (100, 80), (40 * (i % 6), 90, 90)).save(path)
        images.append(Image(str(i + 1), f"p{i}.jpg", 100, 80, path, "train", sha256_bytes(path.read_bytes())))
    large, small = [10.0, 10, 60, 60], [70.0, 50, 78, 58]
    truth = Boxes.of(
        np.repeat(np.arange(n), 3),
        np.tile([0, 1, 1], n),
        [large, small, [80.0, 0, 100, 20]] * n,
        ids=range(100, 100 + 3 * n),
        ignore=[False, False, True] * n,
    )
    found = [(i, 0, large, 0.9) for i in range(n)] + [(i, 1, small, 0.8) for i in range(1, n, 2)] + [(0, 0, [0.0, 70, 9, 79], 0.4)]
    image, cls, xyxy, score = zip(*found, strict=True)
    classes = (ClassName("3", "car"), ClassName("7", "traffic light"))
    said = Boxes.of(image, cls, xyxy, score=score)
    return DetectionSet("six", "m", "detection", classes, tuple(images), truth, said, dataset="toy", synthetic=True)


def slice_of(units: Any, hypothesis: Hypothesis, c: Any = None, **more: Any) -> RepairSlice:
    of = population(units, hypothesis.error, None)
    box = units.xyxy[of.units]
    c = 1 / (1 + np.prod(box[:, 2:] - box[:, :2], axis=1) / 100) if c is None else np.asarray(c, float)
    with np.errstate(divide="ignore"):
        logit = np.log(c / (1 - c))
    return RepairSlice(hypothesis, of.units, c, logit, of.loss, 0.5, "geometric", "small, 32 px", judgement=ACCEPT, **more)


@pytest.fixture
def content(tmp_path: Path) -> RepairInput:
    units = make_units(pictured(tmp_path))
    return RepairInput("toy", units, np.arange(6), (slice_of(units, SMALL),), (Image("x", "somebody else's.jpg", 1, 1, sha256="0" * 64),))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_weight_rises_with_the_highest_score_and_has_mean_one(content: RepairInput) -> None:
    t = image_table(content)
    small = 1 / (1 + 64 / 100)
    assert t.score.tolist() == pytest.approx([small] * 6)
    assert t.raw.tolist() == pytest.approx([1 + 2 * small] * 6)
    one = replace(content, slices=(slice_of(content.units, SMALL, [0.9, 0.2, 0.1, 0.3, *[np.nan] * 8]),))
    t = image_table(one, least_group=1)
    assert t.score.tolist() == [0.9, 0.3, 0, 0, 0, 0]
    assert t.weight.mean() == pytest.approx(1)
    assert (t.weight / t.weight[2]).tolist() == pytest.approx([2.8, 1.6, 1, 1, 1, 1])
    assert t.a.tolist() == [1, 0, 0, 0, 0, 0]
    assert t.members.tolist() == [1, 0, 0, 0, 0, 0]
    assert t.errors.tolist() == [0] * 6
    got = rows(sample_weights_csv(one, t))
    assert [float(r["weight"]) for r in got] == pytest.approx(t.weight.tolist(), abs=1e-6)
    assert [r["group"] for r in got] == ["small", *["rest"] * 5]


def test_groups_are_disjoint_and_small_ones_join_the_rest(content: RepairInput) -> None:
    u = content.units
    first = slice_of(u, SMALL, [0.9, 0, 0.6, 0, 0.6, 0, 0, 0, 0, 0, 0, 0])
    both = replace(content, slices=(first, slice_of(u, STRAY, [0.7, 0.8, 0, 0, 0, 0, 0, 0, 0, 0])))
    t = image_table(both, least_group=1)
    assert [t.groups[g] for g in t.group] == ["small", "stray", "small", "rest", "rest", "rest"]
    assert t.merged == {}
    t = image_table(both, least_group=2)
    assert [t.groups[g] for g in t.group] == ["small", "rest", "small", "rest", "rest", "rest"]
    assert t.merged == {"stray": 1}
    got = rows(group_dro_csv(both, t))
    assert [r["place"] for r in got] == ["1", "1", "1", "0", "0", "0"]
    assert {r["split"] for r in got} == {"0"}
    assert {r["y"] for r in got} == {"0"}
    files = ladder_csvs(both, t)
    assert [r["a"] for r in rows(files["small.csv"])] == ["1", "1", "1", "0", "0", "0"]
    assert [r["a"] for r in rows(files["stray.csv"])] == ["1", "1", "0", "0", "0", "0"]
    a, b = (replace(s, hypothesis=replace(SMALL, id=i)) for s, i in zip(both.slices, ("../x", "..?x"), strict=True))
    odd = replace(both, slices=(a, b))
    assert list(ladder_csvs(odd, t)) == [".._x.csv", ".._x-2.csv"]


def test_images_that_verified_the_slices_are_refused(content: RepairInput, tmp_path: Path) -> None:
    seen = tuple(content.detections.images[i] for i in (1, 4))
    with pytest.raises(InputError, match=r"2 of 6 images were used to verify the slices, such as p1\.jpg"):
        export_repair(replace(content, tested_images=seen), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    export_repair(replace(content, tested_images=seen, images=np.array([0, 2, 3, 5])), tmp_path / "out")
    nothing = replace(content, images=np.zeros(0, np.int64))
    with pytest.raises(InputError, match="No image is left"):
        export_repair(nothing, tmp_path / "empty")


def test_slices_that_do_not_hold_up_are_refused_unless_a_person_accepts(content: RepairInput) -> None:
    s = content.slices[0]
    with pytest.raises(InputError, match='"small" cannot be exported: it is not tested, and nobody accepted it'):
        check(replace(content, slices=(replace(s, judgement=None),)))
    with pytest.raises(InputError, match="a person rejected it"):
        check(replace(content, slices=(replace(s, judgement={**ACCEPT, "verdict": "reject"}),)))
    unknown = np.full(12, np.nan)
    with pytest.raises(InputError, match='"small" has no score on the 6 images that would be exported: a model has to be asked'):
        check(replace(content, slices=(replace(s, c=unknown, source="logprob"),)))
    with pytest.raises(InputError, match="its matcher measures what they do not tell"):
        check(replace(content, slices=(replace(s, c=unknown),)))
    none = replace(s, units=s.units[:0], c=s.c[:0], logit=s.logit[:0], loss=s.loss[:0])
    with pytest.raises(InputError, match="they have no unit that it is about"):
        check(replace(content, slices=(none,)))
    with pytest.raises(InputError, match="No slice is chosen"):
        check(replace(content, slices=()))
    with pytest.raises(InputError, match="chosen twice"):
        check(replace(content, slices=(s, s)))
    with pytest.raises(InputError, match="must be 1 or more"):
        check(replace(content, most_weight=0.5))
    check(content)


def test_everything_is_written_and_named_with_its_hash(content: RepairInput, tmp_path: Path) -> None:
    told = list[float]()
    done = export_repair(content, tmp_path / "out", progress=lambda _what, share: told.append(share))
    names = {f.name for f in done.files}
    assert {"slice.json", "units.csv", "sample_weights.csv", "groupdro/metadata.csv", "ladder/small.csv", "dfr/high.txt"} <= names
    assert {"coco/annotations.json", "coco/predictions.json", "gesd_predictions.json", "data.yaml", "README.md"} <= names
    assert told[-1] == 1.0
    assert (done.images, done.pictures, done.hard) == (6, 6, 6)
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["files"] == [vars(f) for f in done.files]
    document = json.loads((tmp_path / "out/slice.json").read_text())
    assert document["synthetic"] is True
    assert document["slices"][0]["exported"] == {
        "units": 12,
        "units_in_slice": 6,
        "units_without_score": 0,
        "errors_in_slice": 3,
        "images_in_slice": 6,
    }
    units = rows((tmp_path / "out/units.csv").read_text())
    assert len(units) == 12
    assert units[1] | {"score_small": "", "max_score": ""} == {
        **{"unit_id": "1:g101", "image_id": "1", "file_name": "p0.jpg", "annotation_id": "101", "class": "traffic light", "kind": "FN"},
        **{"x1": "70.0", "y1": "50.0", "x2": "78.0", "y2": "58.0", "loss": "1.0", "score_small": "", "max_score": ""},
        "slice_argmax": "small",
    }
    with pytest.raises(InputError, match="not empty"):
        export_repair(content, tmp_path / "out")
    with pytest.raises(InputError, match="no format weird"):
        export_repair(content, tmp_path / "other", {"weird"})
    assert not list(tmp_path.glob(".*.part"))


def test_pycocotools_reads_the_subset(content: RepairInput, tmp_path: Path) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    some = replace(content, images=np.array([0, 1, 3]))
    done = export_repair(some, tmp_path / "out", {"coco"})
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(tmp_path / "out/coco/annotations.json"))
        said = truth.loadRes(str(tmp_path / "out/coco/predictions.json"))
        found = COCOeval(truth, said, "bbox")
        found.evaluate()
        found.accumulate()
        found.summarize()
    assert truth.getImgIds() == [1, 2, 4]
    assert truth.getCatIds() == [3, 7]
    assert sorted(truth.getAnnIds(imgIds=[1])) == [100, 101, 102]
    assert truth.loadAnns([101])[0]["tags"] == ["small"]
    assert truth.loadAnns([101])[0]["slice_score"] == pytest.approx(1 / 1.64, abs=1e-6)
    assert truth.loadAnns([100])[0]["tags"] == []
    assert truth.loadAnns([102])[0]["iscrowd"] == 1
    assert "tags" not in truth.loadAnns([102])[0]
    assert 0 < found.stats[0] < 1
    assert (done.images, done.left_out) == (3, {})
    with Picture.open(tmp_path / "out/images" / truth.loadImgs([4])[0]["file_name"]) as picture:
        assert picture.size == (100, 80)


def test_ultralytics_reads_lists_labels_and_data_file(content: RepairInput, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="ultralytics is not part of the lite install")
    import_ultralytics()  # first, so that Pillow stays as it is for the tests after this one
    from ultralytics.data import dataset as base
    from ultralytics.data.utils import check_det_dataset

    scored = replace(content, slices=(slice_of(content.units, SMALL, [0, 0.9, 0, 0.6, *[0] * 8]),))
    done = export_repair(scored, tmp_path / "out", {"yolo"})
    assert done.left_out == {"ignore regions, which label files have no line for": 6}
    data = check_det_dataset(str(tmp_path / "out/data.yaml"), autodownload=False)
    assert data["names"] == {0: "car", 1: "traffic light"}
    assert not data["val"]
    assert (tmp_path / "out/hard_samples.txt").read_text().split() == ["./images/p0.jpg", "./images/p1.jpg"]
    read = base.YOLODataset(img_path=data["train"], data=data, task="detect", augment=False, cache=False, prefix="")
    assert [Path(f).name for f in read.im_files] == ["p0.jpg"] * 3 + ["p1.jpg"] * 2 + [f"p{i}.jpg" for i in range(2, 6)]
    label = read.labels[0]
    assert label["cls"].ravel().tolist() == [0, 1]
    assert label["bboxes"][1].tolist() == pytest.approx([0.74, 0.675, 0.08, 0.1])


def test_gesd_lists_hold_failing_units_best_first(content: RepairInput, tmp_path: Path) -> None:
    c = [0.1, 0.6, 0, 0.9, 0, 0.8, 0, 0, 0, 0, 0, np.nan]
    both = replace(content, slices=(slice_of(content.units, SMALL, c), slice_of(content.units, STRAY, [0.6] * 10)))
    export_repair(both, tmp_path / "out", {"gesd"})
    lists = json.loads((tmp_path / "out/gesd_predictions.json").read_text())
    assert lists["small"] == ["toy_107", "toy_101"]
    assert lists["stray"] == ["toy_9"]


def test_pairs_of_masks_stand_as_their_annotations(tmp_path: Path) -> None:
    from pycocotools import mask as coco_mask

    def rle(x1: int, x2: int) -> Rle:
        pixels = np.zeros((20, 40), np.uint8, order="F")
        pixels[5:15, x1:x2] = 1
        made = coco_mask.encode(pixels)
        return Rle((20, 40), made["counts"])

    images = (Image("7", "m.png", 40, 20),)
    truth = Boxes.of([0, 0], [0, 0], [[0, 5, 10, 15], [20, 5, 30, 15]], ids=[31, 32], masks=(rle(0, 10), rle(20, 30)))
    said = Boxes.of([0, 0], [0, 0], [[0, 5, 8, 15], [32, 5, 38, 15]], score=[0.9, 0.8], masks=(rle(0, 8), rle(32, 38)))
    units = make_units(DetectionSet("masks", "m", "segmentation", (ClassName("1", "car"),), images, truth, said))
    s = slice_of(units, replace(SMALL, error="SEG"), [0.7, 0.8, 0.9])
    export_repair(RepairInput("masks", units, np.array([0]), (s,), ()), tmp_path / "out")
    document = json.loads((tmp_path / "out/coco/annotations.json").read_text())
    assert [(a["id"], a["slice_score"]) for a in document["annotations"]] == [(31, 0.7), (32, 0.8)]
    assert document["annotations"][0]["segmentation"]["size"] == [20, 40]
    assert [p.get("slice_score") for p in json.loads((tmp_path / "out/coco/predictions.json").read_text())] == [None, 0.9]
    assert json.loads((tmp_path / "out/gesd_predictions.json").read_text()) == {"small": ["masks_1", "masks_32"]}
    assert [r["annotation_id"] for r in rows((tmp_path / "out/units.csv").read_text())] == ["31", "32", "1"]


def test_a_classifier_gets_balanced_lists_and_groups_by_class_and_place(tmp_path: Path) -> None:
    n = 40
    images = tuple(Image(str(i), f"a/{i}.jpg", 10, 10, None, ("train", "val", "test")[i % 3], f"{i:064x}") for i in range(n))
    label = np.arange(n) % 2
    said = Classified(np.arange(n), label, np.where(np.arange(n) < 20, 1 - label, label), ("",) * n)
    none = Boxes.of([], [], [])
    d = DetectionSet("birds", "m", "classification", (ClassName("0", "land"), ClassName("1", "water")), images, none, none, said)
    units = make_units(d)
    s = slice_of(units, replace(SMALL, error="IMAGE"), np.where(np.arange(n) < 20, 0.9 - np.arange(n) / 100, 0.1))
    content = RepairInput("birds", units, np.arange(n), (s,), ())
    done = export_repair(content, tmp_path / "out")
    meta = rows((tmp_path / "out/groupdro/metadata.csv").read_text())
    groups = [2 * int(r["y"]) + int(r["place"]) for r in meta]
    assert np.bincount(groups).tolist() == [10, 10, 10, 10]
    assert [r["split"] for r in meta[:3]] == ["0", "1", "2"]
    high, low = ((tmp_path / f"out/dfr/{side}.txt").read_text().split() for side in ("high", "low"))
    assert len(high) == len(low) == 20
    assert high[:2] == ["a/0.jpg", "a/2.jpg"]
    assert not set(high) & set(low)
    assert not (tmp_path / "out/data.yaml").exists()
    assert any(n.startswith("DFR lists: 20 images each, 10 of each of 2 classes") for n in done.notes)
    with pytest.raises(InputError, match="A classifier has no boxes"):
        export_repair(content, tmp_path / "boxes", {"coco"})


def test_a_class_with_few_images_is_left_out_of_balanced_lists(content: RepairInput) -> None:
    files, notes = dfr_lists(content, image_table(content))
    assert (files["high.txt"], files["low.txt"]) == ("", "")
    assert "1 class has fewer than 5 images" in notes[1]


def test_missing_pictures_are_counted_and_the_rest_goes_on(content: RepairInput, tmp_path: Path) -> None:
    assert content.detections.images[2].path is not None
    content.detections.images[2].path.unlink()
    done = export_repair(content, tmp_path / "out", {"yolo"})
    assert done.pictures == 5
    assert done.left_out["pictures that are not there"] == 1
    assert len((tmp_path / "out/train.txt").read_text().splitlines()) == 6


@pytest.mark.parametrize("how", ["copy", "link"])
def test_a_picture_that_was_changed_since_it_was_read_is_not_exported(content: RepairInput, tmp_path: Path, how: Pictures) -> None:
    path = content.detections.images[2].path
    assert path is not None
    Picture.new("RGB", (100, 80), "white").save(path)  # it might be one that verified the slices
    done = export_repair(content, tmp_path / "out", {"yolo"}, pictures=how)
    assert (done.pictures, done.left_out) == (5, {"ignore regions, which label files have no line for": 6, CHANGED: 1})
    assert not (tmp_path / "out/images/p2.jpg").exists()
    assert done.notes[-1] == "1 of 6 pictures are not there or changed; put them into images/ under the names of the lists."


def test_the_folder_that_one_stands_in_can_be_exported_to(content: RepairInput, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    export_repair(content, Path(), {"weights"})
    assert (tmp_path / "here/sample_weights.csv").is_file()
    assert not list(tmp_path.rglob(".*.part"))


def test_pictures_may_be_linked_or_left_where_they_are(content: RepairInput, tmp_path: Path) -> None:
    done = export_repair(content, tmp_path / "linked", {"yolo"}, pictures="link")
    assert done.pictures == 6
    link = tmp_path / "linked/images/p3.jpg"
    assert link.is_symlink()
    assert link.resolve() == content.detections.images[3].path
    done = export_repair(content, tmp_path / "none", {"yolo"}, pictures="none")
    assert done.pictures == 0
    assert any(n.startswith("No picture was copied") for n in done.notes)
    assert not (tmp_path / "none/images").exists()
    with pytest.raises(InputError, match='Pictures cannot be "melt"'):
        export_repair(content, tmp_path / "odd", pictures="melt")  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_written_says_so_and_leaves_nothing(content: RepairInput, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        export_repair(content, tmp_path / "file" / "out")
    with pytest.raises(InputError, match="is not empty"):
        export_repair(content, tmp_path / "file")


def test_our_own_readers_find_the_same_units_again(content: RepairInput, tmp_path: Path) -> None:
    export_repair(content, tmp_path / "out", {"coco", "yolo"})
    out = tmp_path / "out"
    again = make_units(read_source("coco", out / "coco/annotations.json", out / "coco/predictions.json", images=out / "images"))
    u = content.units
    assert [i.rpartition(":")[2] for i in again.ids] == [i.rpartition(":")[2] for i in u.ids]
    assert again.kind.tolist() == u.kind.tolist()
    assert np.allclose(again.xyxy, u.xyxy)
    boxes = read_source("yolo", out / "labels", None, images=out / "images").truth
    kept = ~u.detections.truth.ignore
    assert np.allclose(boxes.xyxy, u.detections.truth.xyxy[kept], atol=1e-3)
    assert boxes.cls.tolist() == u.detections.truth.cls[kept].tolist()


def test_what_json_cannot_say_becomes_null(content: RepairInput, tmp_path: Path) -> None:
    export_repair(replace(content, origin={"p": float("nan"), "n": np.int64(3), "x": (np.float64(0.5), None)}), tmp_path / "out", set())
    assert json.loads((tmp_path / "out/slice.json").read_text())["origin"] == {"p": None, "n": 3, "x": [0.5, None]}


def test_an_annotation_of_the_number_0_is_found_by_pycocotools(content: RepairInput, tmp_path: Path) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    d = content.detections
    truth = replace(d.truth, ids=tuple(map(str, range(len(d.truth)))), ignore=np.zeros(len(d.truth), bool))
    units = make_units(replace(d, truth=truth))
    export_repair(replace(content, units=units, slices=(slice_of(units, SMALL),)), tmp_path / "out", {"coco"}, pictures="none")
    with contextlib.redirect_stdout(io.StringIO()):
        gt = COCO(str(tmp_path / "out/coco/annotations.json"))
        e = COCOeval(gt, gt.loadRes(str(tmp_path / "out/coco/predictions.json")), "bbox")
        e.evaluate()
    matched = [int((x["dtMatches"][0] > 0).sum()) for x in e.evalImgs[: len(d.images)] if x is not None]
    assert matched == [1] * 6  # the large car of every picture, annotation 0 in the first one


def test_every_format_says_what_it_is() -> None:
    assert all(text for text in FORMATS.values())
