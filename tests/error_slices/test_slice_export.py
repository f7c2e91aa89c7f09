"""From verified slices to a folder: which images are exported, by which scores, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.error_slices.detections import Boxes, DetectionSet
from core.error_slices.score_files import write_scores
from core.errors import InputError
from core.operators import slice_repair, slices
from core.operators.slice_report import SliceSettings
from core.settings import Settings
from core.storage import SavedDetections, Store, open_store

HALF = SliceSettings(halves="verification")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path_factory.mktemp("export"))}))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def demo(store: Store) -> SavedDetections:
    return slices.load_demo(store)


def part_of(content: DetectionSet, half: str, name: str) -> DetectionSet:
    """The images of one half as a set of their own, under other names."""
    kept = [i for i, x in enumerate(content.images) if x.half == half]
    place = {i: k for k, i in enumerate(kept)}

    def side(b: Boxes) -> Boxes:
        at = np.flatnonzero(np.isin(b.image, kept))
        image = [place[i] for i in b.image[at].tolist()]
        return Boxes.of(image, b.cls[at], b.xyxy[at], ids=[b.ids[i] for i in at], score=b.score[at], ignore=b.ignore[at], area=b.area[at])

    images = tuple(replace(content.images[i], file_name=f"{name}-{k}.jpg") for i, k in place.items())
    return replace(content, name=name, images=images, truth=side(content.truth), predictions=side(content.predictions))


def test_without_a_target_the_discovery_half_is_exported_and_nothing_else(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    done = slice_repair.export_repair(store, demo.id, ["iv_dark"], tmp_path / "out", HALF, formats=["coco"])
    half = {i.file_name: i.half for i in slices.open_detections(store, demo.id).images}
    exported = {i["file_name"] for i in json.loads((tmp_path / "out/coco/annotations.json").read_text())["images"]}
    assert exported == {name for name, h in half.items() if h == "discovery"}
    assert done.images == len(exported) == done.pictures
    origin = json.loads((tmp_path / "out/slice.json").read_text())["origin"]
    assert origin["verified_on"]["digest"] == demo.digest
    assert origin["settings"]["halves"] == "verification"
    with pytest.raises(InputError, match=r"used to verify the slices|No image is left"):
        slice_repair.export_repair(store, demo.id, ["iv_dark"], tmp_path / "all")


def test_the_other_model_of_the_same_images_is_refused(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    other = next(s for s in store.detections.list() if s.id != demo.id and s.truth_digest == demo.truth_digest)
    with pytest.raises(InputError, match="203 of 364 images were used to verify the slices"):
        slice_repair.export_repair(store, demo.id, ["iv_dark"], tmp_path / "out", HALF, target_id=other.id)


def test_training_images_are_scored_with_the_verified_hypothesis(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    content = slices.open_detections(store, demo.id)
    train = slices.keep_detections(store, part_of(content, "discovery", "train"))
    done = slice_repair.export_repair(store, demo.id, ["iv_dark"], tmp_path / "out", HALF, target_id=train.id, formats=["weights"])
    assert done.images == train.images == 161
    assert 0 < done.hard < 161
    same = slices.keep_detections(store, part_of(content, "verification", "copied under other names"))
    with pytest.raises(InputError, match=r"of 203 images were used to verify"):
        slice_repair.export_repair(store, demo.id, ["iv_dark"], tmp_path / "no", HALF, target_id=same.id)


def test_a_slice_that_a_model_verified_is_scored_by_that_model_alone(store: Store, tmp_path: Path) -> None:
    demo = slices.load_demo(store)
    named = slices.keep_detections(store, replace(slices.open_detections(store, demo.id), name="asked", model="asked"))
    report = slices.slice_report(store, named.id, HALF)
    row = report.row("iv_dark")
    assert row is not None
    assert row.scores is not None
    asked = replace(row.scores, source="logprob", matcher="a model, prompt 1")
    write_scores(named.folder, row.hypothesis, asked, report.units)
    again = slices.slice_report(store, named.id, HALF).row("iv_dark")
    assert again is not None
    assert again.scores is not None
    assert again.scores.source == "logprob"
    with pytest.raises(InputError, match=r'"iv_dark" has no score on the 161 images.*a model has to be asked about them first'):
        slice_repair.export_repair(store, named.id, ["iv_dark"], tmp_path / "out", HALF)
    train = slices.keep_detections(store, part_of(slices.open_detections(store, demo.id), "discovery", "not asked"))
    with pytest.raises(InputError, match="a model has to be asked about them first"):
        slice_repair.export_repair(store, named.id, ["iv_dark"], tmp_path / "out", HALF, target_id=train.id)


def without_bytes(content: DetectionSet, name: str) -> DetectionSet:
    return replace(content, name=name, images=tuple(replace(i, path=None, sha256="") for i in content.images))


def test_pictures_are_known_again_where_one_of_the_sets_was_read_without_them(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    content = slices.open_detections(store, demo.id)
    blind = slices.keep_detections(store, without_bytes(content, "blind"))
    with pytest.raises(InputError, match="203 of 364 images were used to verify the slices"):
        slice_repair.export_repair(store, demo.id, ["iv_small"], tmp_path / "out", HALF, target_id=blind.id)
    with pytest.raises(InputError, match="of 364 images were used to verify the slices"):
        slice_repair.export_repair(store, blind.id, ["iv_small"], tmp_path / "out", HALF, target_id=demo.id)
    train = replace(content, name="other folder", images=tuple(replace(i, file_name=f"train/{i.file_name}") for i in content.images))
    kept = slices.keep_detections(store, without_bytes(train, "other folder"))
    with pytest.raises(InputError, match="203 of 364 images were used"):  # "train/x.jpg" may well be "x.jpg"
        slice_repair.export_repair(store, demo.id, ["iv_small"], tmp_path / "out", HALF, target_id=kept.id)
    assert not (tmp_path / "out").exists()


def test_an_image_without_a_unit_of_the_slice_still_belongs_to_the_half_that_verifies(
    store: Store, demo: SavedDetections, tmp_path: Path
) -> None:
    content = slices.open_detections(store, demo.id)
    half = {i for i, x in enumerate(content.images) if x.half == "verification"}
    tested = {r.hypothesis.id: r.population for r in slices.slice_report(store, demo.id, HALF).tested}
    row = next(i for i, p in tested.items() if p is not None and half - set(p.image.tolist()))
    with pytest.raises(InputError, match=r"203 of 364"):
        other = next(s for s in store.detections.list() if s.id != demo.id and s.truth_digest == demo.truth_digest)
        slice_repair.export_repair(store, demo.id, [row], tmp_path / "out", HALF, target_id=other.id)


def test_tests_on_both_halves_leave_nothing_to_export(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No image is left: the slices were verified on images of both halves"):
        slice_repair.export_repair(store, demo.id, ["iv_small", "iv_dark"], tmp_path / "out", replace(HALF, halves="all"))


def test_pictures_that_a_matcher_needs_are_named_where_they_are_missing(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    content = slices.open_detections(store, demo.id)
    train = part_of(content, "discovery", "train without pictures")
    blind = slices.keep_detections(store, without_bytes(train, "train without pictures"))
    with pytest.raises(InputError, match=r'"iv_dark" has no score on the 161 images .* most likely since their pictures are not there'):
        slice_repair.export_repair(store, demo.id, ["iv_dark"], tmp_path / "out", HALF, target_id=blind.id)


def test_pictures_with_other_names_are_told_with_their_old_ones(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    content = slices.open_detections(store, demo.id)
    train = part_of(content, "discovery", "images/train")
    saved = slices.keep_detections(store, replace(train, name="train in images"))
    done = slice_repair.export_repair(
        store, demo.id, ["iv_small"], tmp_path / "out", HALF, target_id=saved.id, formats=["coco", "weights"], pictures="none"
    )
    renamed = json.loads((tmp_path / "out/manifest.json").read_text())["renamed"]
    listed = json.loads((tmp_path / "out/coco/annotations.json").read_text())["images"]
    assert renamed == {x["file_name"]: x["original_file_name"] for x in listed}
    assert renamed["image_000001.jpg"] == "images/train-0.jpg"
    assert len(renamed) == 161
    assert any("161 pictures have another name" in n for n in done.notes)
    assert "images/train-0.jpg," in (tmp_path / "out/sample_weights.csv").read_text()


def test_two_exports_are_equal_byte_for_byte(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    for name in ("one", "two"):
        slice_repair.export_repair(store, demo.id, ["iv_dark", "iv_small"], tmp_path / name, HALF)
    one, two = ({p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in ("one", "two"))
    assert one == two
    assert len(one) > 2 * 161


def test_where_nothing_holds_up_that_is_the_reason(store: Store, demo: SavedDetections, tmp_path: Path) -> None:
    content = slices.open_detections(store, demo.id)
    perfect = replace(content.truth, score=np.ones(len(content.truth)), ignore=np.zeros(len(content.truth), bool))
    saved = slices.keep_detections(store, replace(content, name="perfect", predictions=perfect))
    with pytest.raises(InputError, match=r"Nobody accepted a slice, and none of the \d+ that were tested holds up"):
        slice_repair.export_repair(store, saved.id, [], tmp_path / "out", HALF)
