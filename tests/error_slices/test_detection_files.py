"""A set of detections in a folder, and the scores of models beside it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.error_slices.detection_files import MANIFEST, TRUTH, read_detections, write_detections
from core.error_slices.detections import Boxes, Classified, ClassName, DetectionSet, Image, Rle, SourceReport
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.score_files import scores_for, stored_scores, write_scores
from core.error_slices.scores import Scores
from core.error_slices.units import Population, Units, UnitSettings
from core.errors import InputError


def small(**changes: object) -> DetectionSet:
    truth = Boxes.of(
        [0, 1],
        [0, -1],
        [[1.5, 2, 10, 20.25], [-3, 0, 5, 1.0004]],
        ids=["17", "x"],
        ignore=[False, True],
        occluded=[1, np.nan],
        masks=(Rle((30, 40), b"a1b2"), None),
        slices=("night", ""),
    )
    said = Boxes.of([0], [1], [[1, 2, 11, 21]], score=[0.75])
    images = (Image("a/1", "a/1.jpg", 40, 30, split="val", sha256="c" * 64), Image("2", "2.jpg", 0, 0))
    made = DetectionSet(
        "Small",
        "m",
        "segmentation",
        (ClassName("7", "car"), ClassName("0", "person")),
        images,
        truth,
        said,
        licence="CC0-1.0",
        synthetic=True,
    )
    return replace(made, report=SourceReport("coco", ("a.json",), {"crowd": 1}, ("Two.",), {"bus": 3}), **changes)  # type: ignore[arg-type]


def same(a: Boxes | None, b: Boxes | None) -> bool:
    assert a is not None and b is not None
    return all(
        np.array_equal(x, y, equal_nan=isinstance(x, np.ndarray) and x.dtype.kind == "f")
        for x, y in zip(vars(a).values(), vars(b).values(), strict=True)
    )


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    content = small()
    written = write_detections(tmp_path / "s", content)
    back = read_detections(tmp_path / "s")
    assert (back.name, back.model, back.task, back.classes, back.images, back.licence, back.synthetic, back.report) == (
        content.name,
        content.model,
        content.task,
        content.classes,
        content.images,
        content.licence,
        True,
        content.report,
    )
    assert same(back.truth, content.truth) and same(back.predictions, content.predictions)
    assert back.truth.masks == content.truth.masks and back.truth.slices == content.truth.slices
    assert write_detections(tmp_path / "again", content).digest == written.digest


def test_a_classifier_is_written_and_read(tmp_path: Path) -> None:
    none = Boxes.of([], [], [])
    said = Classified(np.array([0, 1]), np.array([0, 1]), np.array([1, 1]), ("land", ""))
    write_detections(tmp_path / "s", small(task="classification", truth=none, predictions=none, classified=said))
    back = read_detections(tmp_path / "s").classified
    assert back is not None
    assert (back.label.tolist(), back.prediction.tolist(), back.group) == ([0, 1], [1, 1], ("land", ""))


def test_two_models_on_the_same_units_share_the_digest_of_the_truth(tmp_path: Path) -> None:
    content = small()
    first = write_detections(tmp_path / "1", content)
    second = write_detections(tmp_path / "2", replace(content, model="m2", predictions=Boxes.of([1], [0], [[0, 0, 5, 5]], score=[0.5])))
    moved = write_detections(tmp_path / "3", replace(content, truth=replace(content.truth, xyxy=content.truth.xyxy + 1e-9)))
    assert first.truth_digest == second.truth_digest and first.digest != second.digest
    assert moved.truth_digest != first.truth_digest


def test_pictures_are_copied_where_asked_and_found_again_when_the_folder_moves(tmp_path: Path) -> None:
    picture = tmp_path / "1.jpg"
    picture.write_bytes(b"jpeg")
    content = small()
    content = replace(content, images=(replace(content.images[0], path=picture), content.images[1]))
    write_detections(tmp_path / "linked", content)
    write_detections(tmp_path / "copied", content, copy_images=True)
    (tmp_path / "copied").rename(tmp_path / "moved")
    assert read_detections(tmp_path / "linked").images[0].path == picture
    picture.unlink()
    assert read_detections(tmp_path / "linked").images[0].path is None
    there = read_detections(tmp_path / "moved").images[0].path
    assert there is not None and there.read_bytes() == b"jpeg"


@pytest.mark.parametrize("name", [MANIFEST, TRUTH])
def test_a_folder_that_was_changed_is_refused_with_the_name_of_the_file(tmp_path: Path, name: str) -> None:
    write_detections(tmp_path / "s", small())
    (tmp_path / "s" / name).write_bytes(b"{}")
    with pytest.raises(InputError, match=name):
        read_detections(tmp_path / "s")
    (tmp_path / "s" / name).unlink()
    with pytest.raises(InputError, match=name):
        read_detections(tmp_path / "s")


def test_nothing_stays_of_a_set_that_could_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a single image"):
        write_detections(tmp_path / "s", small(images=()))
    gone = replace(small(), images=(Image("1", "1.jpg", 1, 1, tmp_path / "gone.jpg"),))
    with pytest.raises(InputError, match=r"1\.jpg"):
        write_detections(tmp_path / "s", gone, copy_images=True)
    assert list(tmp_path.iterdir()) == []


# Scores

NIGHT = Hypothesis("night", "It is night.", "FN", "contextual_interference")


def units_of(*ids: str) -> Units:
    n = len(ids)
    text, number, whole = np.full(n, "gt"), np.full(n, np.nan), np.zeros(n, np.int64)
    return Units(
        small(), UnitSettings(), ids, text, whole, whole, np.zeros((n, 4)), text, text, number, number, number, whole, whole, np.ones(n)
    )


def scored(*c: float, source: str = "logprob", matcher: str = "m v1", weight: float = 1.0) -> Scores:
    a = np.array(c)
    flags = np.where(np.isnan(a), "failed", "")
    return Scores("night", np.arange(len(c)), a, np.log(a / (1 - a)), source, matcher, flags, weight=np.full(len(c), weight))  # type: ignore[arg-type]


def population_of(*units: int) -> Population:
    at = np.array(units, np.int64)
    return Population("FN", at, np.zeros(len(at)), at, np.ones(len(at)))


def test_scores_find_their_units_whatever_the_cut_and_the_order(tmp_path: Path) -> None:
    units = units_of("1:g1", "1:g2", "2:g1")
    write_scores(tmp_path, NIGHT, scored(0.2, np.nan, 0.9, weight=2.0), units)
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None
    other = units_of("2:g1", "9:g9", "1:g2", "1:g1")
    found = scores_for(stored, NIGHT, population_of(3, 0, 1, 2), other)
    assert found.c.tolist()[:2] == [0.2, 0.9]
    assert np.isnan(found.c[2:]).all()
    assert found.counts == {"units that the model was not asked about": 1, "answers: failed": 1}
    assert found.weight is not None and found.weight.tolist() == [2, 2, 1, 2]
    assert stored_scores(tmp_path, replace(NIGHT, text="It is day.")) is None


def test_a_score_of_two_masks_holds_for_the_region_that_was_looked_at(tmp_path: Path) -> None:
    here = replace(units_of("1:sg1"), side=np.array(["seg"]), xyxy=np.array([[1.0, 2, 3, 4]]))
    write_scores(tmp_path, NIGHT, scored(0.2), here)
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None
    assert scores_for(stored, NIGHT, population_of(0), here).c.tolist() == [0.2]
    moved = replace(here, xyxy=np.array([[1.0, 2, 3, 9]]))
    assert scores_for(stored, NIGHT, population_of(0), moved).counts == {"units that the model was not asked about": 1}


def test_a_second_run_adds_to_the_first_and_a_failure_takes_nothing_away(tmp_path: Path) -> None:
    write_scores(tmp_path, NIGHT, scored(0.2, np.nan), units_of("a", "b"))
    write_scores(tmp_path, NIGHT, scored(0.4, 0.6), units_of("b", "c"))
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None
    assert dict(zip(stored.ids, stored.c, strict=True)) == {"a": 0.2, "b": 0.4, "c": 0.6}
    write_scores(tmp_path, NIGHT, scored(np.nan), units_of("a"))
    again = stored_scores(tmp_path, NIGHT)
    assert again is not None and dict(zip(again.ids, again.c, strict=True))["a"] == 0.2


def test_samples_of_units_are_never_joined_since_their_weights_hold_for_one_sample(tmp_path: Path) -> None:
    write_scores(tmp_path, NIGHT, scored(0.2, 0.3, weight=5.0), units_of("a", "b"))
    write_scores(tmp_path, NIGHT, scored(0.9, np.nan, weight=3.0), units_of("a", "c", "b"))
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None and dict(zip(stored.ids, stored.weight, strict=True)) == {"a": 5, "b": 5}
    write_scores(tmp_path, NIGHT, scored(0.4, 0.5, 0.6, weight=2.0), units_of("a", "c", "d", "b"))
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None and dict(zip(stored.ids, stored.weight, strict=True)) == {"a": 2, "c": 2, "d": 2}


def test_a_sample_under_other_settings_gives_way_to_one_that_knows_more_of_the_present_units(tmp_path: Path) -> None:
    write_scores(tmp_path, NIGHT, scored(0.2, 0.3, 0.4, weight=5.0), units_of("a", "b", "c"))
    write_scores(tmp_path, NIGHT, scored(0.9, 0.8, weight=3.0), units_of("c", "d"))
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None and dict(zip(stored.ids, stored.weight, strict=True)) == {"c": 3, "d": 3}


def test_a_run_that_ended_early_says_so_until_one_reaches_the_end(tmp_path: Path) -> None:
    write_scores(tmp_path, NIGHT, scored(0.2, weight=5.0), units_of("a"), not_reached=3)
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None
    said = scores_for(stored, NIGHT, population_of(0, 1), units_of("a", "b")).counts
    assert said == {"units that the model was not asked about": 1, "units that were chosen and that the run did not reach": 3}
    write_scores(tmp_path, NIGHT, scored(0.2, 0.3, 0.4, 0.5, weight=5.0), units_of("a", "b", "c", "d"))
    again = stored_scores(tmp_path, NIGHT)
    assert again is not None and again.not_reached == 0


def test_sources_are_never_mixed_and_probabilities_go_first(tmp_path: Path) -> None:
    write_scores(tmp_path, NIGHT, scored(0.9, source="logprob"), units_of("a"))
    write_scores(tmp_path, NIGHT, scored(0.5, 0.5, source="verbalised"), units_of("a", "b"))
    stored = stored_scores(tmp_path, NIGHT)
    assert stored is not None
    assert (stored.source, stored.ids) == ("logprob", ("a",))


def test_of_two_models_the_one_that_scored_last_counts(tmp_path: Path) -> None:
    files = {m: write_scores(tmp_path, NIGHT, scored(0.5, matcher=m), units_of("a")) for m in ("m v1", "m v2")}
    for newest in files:
        for matcher, path in files.items():
            os.utime(path, ns=(0, int(matcher == newest)))
        stored = stored_scores(tmp_path, NIGHT)
        assert stored is not None and stored.matcher == newest
