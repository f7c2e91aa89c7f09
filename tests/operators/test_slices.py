"""Error slices from detections to verdicts, judgements and files."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from core.error_slices.detection_files import write_detections
from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image
from core.error_slices.hypotheses import Hypothesis, OfflineMatcher
from core.error_slices.score_files import write_scores
from core.error_slices.scores import Scores
from core.error_slices.units import UnitSettings
from core.error_slices.verification.settings import TestSettings
from core.errors import InputError
from core.operators import slice_files, slices
from core.operators.slice_report import SliceSettings
from core.settings import Settings
from core.storage import NewJudgement, Store, open_store

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "coco128_val"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)}))
    yield opened
    opened.close()


def small_ones_missed(images: int = 60, seed: int = 0) -> DetectionSet:
    """Eight boxes an image that do not touch; those below 32 px are missed the more often the smaller they are."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), 8)
    side = np.tile([8, 14, 20, 28, 45, 60, 80, 90], images) + rng.uniform(-3, 3, len(image))
    x = np.tile(np.arange(8) * 120.0 + 20, images)
    boxes = np.stack([x, np.full_like(x, 480), x + side, 480 + side], axis=1)  # low in the image, so that small is not far
    found = rng.random(len(image)) > np.where(side < 32, 0.95 - side / 60, 0.1)
    return DetectionSet(
        name="Small ones",
        model="planted",
        task="detection",
        classes=(ClassName("1", "car"),),
        images=tuple(Image(f"i{i}", f"{i}.jpg", 1000, 600) for i in range(images)),
        truth=Boxes.of(image, np.zeros_like(image), boxes),
        predictions=Boxes.of(image[found], np.zeros(found.sum()), boxes[found], score=np.full(found.sum(), 0.9)),
    )


def test_copies_of_a_picture_count_as_one_image(store: Store) -> None:
    content = small_ones_missed()
    twice = replace(content, images=tuple(replace(im, sha256=f"{i // 2:064x}" if i < 20 else "") for i, im in enumerate(content.images)))
    report = slices.slice_report(store, slices.keep_detections(store, twice).id)
    row = report.row("iv_small")
    assert row is not None and row.tested is not None
    assert row.tested.overall.n == 480
    assert row.tested.overall.images == 50
    assert set(slices.sample_of(report, row).image.tolist()) == {*range(0, 20, 2), *range(20, 60)}


def test_what_is_planted_is_found_and_every_hypothesis_says_where_it_stands(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())
    report = slices.slice_report(store, saved.id)
    first = report.rows[0]
    assert first.hypothesis.id == "iv_small"
    assert first.tested is not None
    assert (first.tested.verdict, first.untested, first.group) == ("verified", "", "iv_small")
    assert len(report.rows) == len(slices.library()) == 52
    assert all((r.tested is None) == bool(r.untested) for r in report.rows)
    assert {r.untested for r in report.rows if r.hypothesis.offline is None} <= {slices.NEEDS_MODEL, slices.NO_UNITS}
    pixels = report.row("iv_dark")
    assert pixels is not None and pixels.tested is not None
    assert (pixels.tested.verdict, pixels.tested.not_scorable) == ("inconclusive", 480)
    assert report.problems == ("60 images have no picture; the boxes in them cannot be measured.",)


def test_settings_change_the_units_and_the_rule(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())
    strict = slices.slice_report(store, saved.id, SliceSettings(UnitSettings(confidence=0.95)))
    row = strict.row("iv_small")
    assert row is not None and row.tested is not None
    assert (row.tested.overall.value, row.tested.verdict) == (1.0, "inconclusive")
    assert strict.units.left_out["predictions below the confidence cut"] == saved.predictions
    paper = slices.slice_report(store, saved.id, SliceSettings(test=TestSettings(mode="paper")))
    assert {r.tested.verdict for r in paper.tested if r.tested and r.tested.paper_pass} == {"verified"}
    assert paper.digest != strict.digest
    half = slices.slice_report(store, saved.id, SliceSettings(halves="verification"))
    tested = half.row("iv_small")
    assert tested is not None and tested.population is not None
    halves = {half.units.detections.images[i].half for i in tested.population.image}
    assert halves == {"verification"}
    assert len(tested.population.units) + tested.population.left_out["units of the other half of the images"] == 480


def test_own_hypotheses_join_are_tested_and_leave(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())
    own = Hypothesis(
        "own_tiny", "The object is tiny.", "FN", "intrinsic_difficulty", offline=OfflineMatcher("small", {"ref_px": 16}), origin="own"
    )
    slices.add_hypotheses(store, saved.id, [own], "Ann")
    row = slices.slice_report(store, saved.id).row("own_tiny")
    assert row is not None and row.hypothesis == own and row.tested is not None
    assert row.group == "iv_small"  # it ranks the same units alike
    with pytest.raises(InputError, match="iv_small"):
        slices.add_hypotheses(store, saved.id, [replace(own, id="iv_small")])
    slices.retract_hypothesis(store, saved.id, "own_tiny")
    assert slices.slice_report(store, saved.id).row("own_tiny") is None


def test_a_hypothesis_of_the_discovery_half_is_tested_on_the_other_half_alone(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())
    matcher = OfflineMatcher("small")
    born = Hypothesis("d1", "The object is tiny.", "FN", "intrinsic_difficulty", offline=matcher, origin="data", half_only=True)
    slices.add_hypotheses(store, saved.id, [born])
    report = slices.slice_report(store, saved.id)
    row = report.row("d1")
    assert row is not None and row.population is not None
    assert {report.units.detections.images[i].half for i in row.population.image} == {"verification"}


def test_scores_of_a_model_go_before_those_of_a_matcher(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())
    before = slices.slice_report(store, saved.id)
    stamp = slices.report_stamp(store, saved)
    small = next(h for h in slices.library() if h.id == "iv_small")
    at = before.units.on("gt")[:400]
    c = np.linspace(0.01, 0.99, 400)
    write_scores(saved.folder, small, Scores("iv_small", at, c, np.log(c / (1 - c)), "logprob", "m", np.full(400, "")), before.units)
    report = slices.slice_report(store, saved.id)
    row = report.row("iv_small")
    assert row is not None and row.scores is not None and row.tested is not None
    assert (row.scores.source, row.tested.not_scorable, row.scores.counts) == (
        "logprob",
        80,
        {"units that the model was not asked about": 80},
    )
    assert report.digest != before.digest
    assert slices.report_stamp(store, saved) != stamp


def test_what_people_say_is_told_with_the_row(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())

    def said(unit: str, verdict: str, who: str = "Ann") -> NewJudgement:
        return NewJudgement(uuid4().hex, "iv_small", unit, verdict, who=who)  # type: ignore[arg-type]

    stamp = slices.report_stamp(store, saved)
    slices.judge(store, saved.id, [said("i0:g0", "accept"), said("i0:g1", "reject"), said("i0:g1", "accept", "Bob"), said("", "accept")])
    row = slices.slice_report(store, saved.id).row("iv_small")
    assert row is not None and row.judgement is not None
    assert (row.judgement.verdict, row.judgement.who, row.clicks) == ("accept", "Ann", {"accept": 2, "reject": 1})
    assert slices.report_stamp(store, saved) == stamp  # judgements are read each time


def test_nothing_stays_of_detections_whose_name_is_taken(store: Store) -> None:
    slices.keep_detections(store, small_ones_missed(), name="One")
    before = sorted(store.detections.parent.iterdir())
    with pytest.raises(InputError, match="already"):
        slices.keep_detections(store, small_ones_missed(seed=1), name="one")
    assert sorted(store.detections.parent.iterdir()) == before


def test_an_accepted_claim_does_not_lend_its_acceptance_to_another_of_its_name(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())
    mine = Hypothesis("mine", "It is left.", "FN", "intrinsic_difficulty", offline=OfflineMatcher("near_edge", {}))
    slices.add_hypotheses(store, saved.id, [mine])
    wrong = replace(mine, id="wrong", offline=OfflineMatcher("edge", {}))
    with pytest.raises(InputError, match="Nothing was added"):  # else no report of the set could be made any more
        slices.add_hypotheses(store, saved.id, [wrong])
    slices.judge(store, saved.id, [NewJudgement(uuid4().hex, "mine", "", "accept", who="Ann")])
    slices.retract_hypothesis(store, saved.id, "mine")
    slices.add_hypotheses(store, saved.id, [replace(mine, text="It is right.")])
    row = slices.slice_report(store, saved.id).row("mine")
    assert row is not None
    assert row.judgement is None
    assert slices.judgements(store, saved.id) == ()


@pytest.mark.parametrize("what", ["classes", "model", "everything"])
def test_files_that_were_changed_are_refused(store: Store, what: str) -> None:
    saved = slices.keep_detections(store, small_ones_missed(10))
    path = saved.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    if what == "everything":  # another set in its place
        shutil.rmtree(saved.folder)
        write_detections(saved.folder, small_ones_missed(10, seed=1))
    else:
        path.write_text(json.dumps(manifest | {what: [["1", "lorry"]] if what == "classes" else "better"}))
    with pytest.raises(
        InputError, match=r'files of the detections "Small ones" are not those|manifest\.json" was changed since it was written'
    ):
        slices.open_detections(store, saved.id)


def test_files_that_went_away_are_named(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed(seed=2))
    saved.folder.rename(saved.folder.with_name("gone"))
    with pytest.raises(InputError, match=r"Small ones.* are gone"):
        slices.slice_report(store, saved.id)
    with pytest.raises(InputError, match="no saved set of detections"):
        slices.slice_report(store, "nothing")


def test_everything_can_be_said_in_json_and_csv(store: Store) -> None:
    saved = slices.keep_detections(store, small_ones_missed())
    report = slices.slice_report(store, saved.id)
    told = json.loads(json.dumps(slice_files.report_object(report), allow_nan=False))
    assert told["tested"] + told["untested"] == 52
    assert sum(told["verdicts"].values()) == told["tested"]
    assert told["hypotheses"][0]["tested"]["paper_null_pass"] > 0.9
    units = list(csv.DictReader(io.StringIO(slice_files.units_csv(report.units))))
    assert len(units) == len(report.units)
    assert (units[0]["unit_id"], units[0]["class"], units[0]["half"] in ("discovery", "verification")) == ("i0:g0", "car", True)
    scores = list(csv.DictReader(io.StringIO(slice_files.scores_csv(report, ["iv_small"]))))
    assert len(scores) == 480
    assert all(0 <= float(s["score"]) <= 1 for s in scores)
    listed = list(csv.DictReader(io.StringIO(slice_files.report_csv(report))))
    assert (listed[0]["id"], listed[0]["verdict"], listed[0]["n_in"]) == ("iv_small", "verified", str(report.rows[0].tested.inside.n))  # type: ignore[union-attr]


def test_the_demo_is_loaded_once_and_shows_what_was_planted(store: Store) -> None:
    first = slices.load_demo(store)
    assert slices.load_demo(store) == first
    assert [s.truth_digest for s in store.detections.list()] == [first.truth_digest] * 2
    assert first.synthetic
    verdicts = {r.hypothesis.id: r.tested.verdict for r in slices.slice_report(store, first.id).rows if r.tested is not None}
    assert {verdicts[i] for i in ("iv_small", "ci_occluded", "iv_dark")} == {"verified"}


@pytest.mark.skipif(not REAL.is_dir(), reason="the real detections of ../shared/data/coco128_val are not here")
@pytest.mark.parametrize("model", ["yolo_fastest", "fastestdet"])
def test_real_detectors_miss_small_and_hidden_objects(store: Store, model: str) -> None:
    from core.error_slices.sources import read_source

    content = read_source("coco", REAL / "ground_truth.json", REAL / f"detections_{model}.json", images=REAL / "images", model=model)
    saved = slices.keep_detections(store, content, name=model)
    report = slices.slice_report(store, saved.id)
    for name in ("iv_small", "ci_occluded"):
        row = report.row(name)
        assert row is not None and row.tested is not None
        assert row.tested.verdict in ("verified", "elevated")
        assert row.tested.inside.value is not None and row.tested.outside.value is not None
        assert row.tested.inside.value > row.tested.outside.value
