"""Error slices of one set of detections: what was imported, what is claimed, how it scores, what the tests say, what people say."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

import numpy as np

from core.digest import sha256_json
from core.error_slices.dedupe import slice_groups
from core.error_slices.detection_files import digest_in, digests_of, read_detections, write_detections
from core.error_slices.detections import DetectionSet, FloatArray, IntArray
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.library import classes_of, load_library
from core.error_slices.matchers.registry import check_matcher
from core.error_slices.matching import make_units
from core.error_slices.population import own_boxes, population
from core.error_slices.score_files import StoredScores, scores_for, stored_scores
from core.error_slices.scores import Scores
from core.error_slices.sources import read_source
from core.error_slices.units import Population, Units, UnitSettings
from core.error_slices.verification.settings import Sample, Tested
from core.error_slices.verification.strata import strata
from core.error_slices.verification.verdicts import verify
from core.errors import InputError
from core.operators.slice_offline import offline_scores
from core.operators.slice_report import SliceReport, SliceRow, SliceSettings
from core.settings import ASSETS
from core.storage import DetectionFacts, Judgement, NewJudgement, SavedDetections, Store

Progress = Callable[[str, float], None]
"""Called with what is done now and the share that is done, between 0 and 1."""

NO_UNITS = "These detections have no unit of the classes and the type of error that it is about."
NEEDS_MODEL = "Only a vision model can tell; none has been asked yet."


def keep_detections(
    store: Store, content: DetectionSet, *, name: str = "", who: str = "", copy_images: bool = False, free_name: bool | None = None
) -> SavedDetections:
    """Keep detections that were read.

    Args:
        store: The workspace.
        content: The detections.
        name: For people; that of the set by default, with a number where it is taken.
        who: Who does it.
        copy_images: Copy the pictures into the workspace, for those that lie in a place that will go away.
        free_name: Give the name a number where it is taken; by default only where no name is given.

    Raises:
        InputError: There is no image, or the name cannot be used.
    """
    folder = store.detections.parent / uuid4().hex[:16]
    written = write_detections(folder, content, copy_images=copy_images)
    facts = DetectionFacts(
        folder=folder,
        digest=written.digest,
        truth_digest=written.truth_digest,
        model=content.model,
        task=content.task,
        images=len(content.images),
        truth=len(content.truth) if content.classified is None else len(content.classified.image),
        predictions=len(content.predictions) if content.classified is None else len(content.classified.image),
        synthetic=content.synthetic,
    )
    try:
        return store.detections.save(name or content.name, facts, who=who, free_name=not name if free_name is None else free_name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # nobody would ever find it again
        raise


DEMO = ASSETS / "detections"
DEMO_SETS = {"results_after.json": "Demo detector, after repair", "results_before.json": "Demo detector, before repair"}
"""The demo's two detectors: file of the predictions, and name of the set; the last one saved is the one that pages open."""


def load_demo(store: Store, who: str = "") -> SavedDetections:
    """The detections that ship with the product, of one made-up detector before and after a made-up repair; the set before it.

    Sets that are there already are not made again.

    Raises:
        InputError: The pack is damaged.
    """
    out = []
    for file, name in DEMO_SETS.items():
        content = read_source("coco", DEMO / "ground_truth.json", DEMO / file, images=DEMO / "images", model=name, name=name)
        digests = digests_of(content)
        found = store.detections.find(digests.digest)
        out.append(keep_detections(store, content, who=who) if found is None or found.deleted else found)
    return out[-1]


def open_detections(store: Store, set_id: str) -> DetectionSet:
    """The detections of a set.

    Raises:
        InputError: There is no such set, or its files are gone or changed.
    """
    saved = store.detections.get(set_id)
    if not saved.folder.is_dir():
        raise InputError(f'The files of the detections "{saved.name}" are gone from the workspace; import them again.')
    return _open(str(saved.folder), saved.digest, saved.name)


@lru_cache(maxsize=8)
def _open(folder: str, digest: str, name: str) -> DetectionSet:
    if digest_in(Path(folder)) != digest:
        raise InputError(f'The files of the detections "{name}" are not those that were imported. Import them again.')
    return read_detections(Path(folder))


def hypotheses_of(store: Store, set_id: str) -> tuple[Hypothesis, ...]:
    """Everything that is claimed of a set: the library, then what people and models added."""
    return (*library(), *(Hypothesis.from_json(d) for d in store.slice_hypotheses.of(set_id)))


@lru_cache(maxsize=1)
def library() -> tuple[Hypothesis, ...]:
    """The hypotheses that ship with the product."""
    return load_library().hypotheses


def add_hypotheses(store: Store, set_id: str, hypotheses: Iterable[Hypothesis], who: str = "") -> None:
    """Add hypotheses to those that are tested on a set.

    Raises:
        InputError: There is no such set, an id is taken, or a matcher cannot be used.
    """
    new = list(hypotheses)
    if wrong := [p for h in new if h.offline is not None for p in check_matcher(h.id, h.offline, h.error, None)]:
        raise InputError("Nothing was added: some hypotheses cannot be matched as they are", wrong)
    taken = {h.id for h in library()} & {h.id for h in new}
    if taken:
        raise InputError(f"The library has hypotheses of these names already: {', '.join(sorted(taken))}; give yours others.")
    store.slice_hypotheses.add(set_id, [h.to_json() for h in new], who)


def retract_hypothesis(store: Store, set_id: str, hypothesis_id: str, who: str = "") -> None:
    """Take an added hypothesis out of the list; what was said of it stays.

    Raises:
        InputError: It was not added to this set.
    """
    store.slice_hypotheses.retract(set_id, hypothesis_id, who)


def slice_report(store: Store, set_id: str, settings: SliceSettings | None = None, *, progress: Progress | None = None) -> SliceReport:
    """Everything that is known of the error slices of a set: units, scores, tests, judgements.

    Args:
        store: The workspace.
        set_id: Of the detections.
        settings: How it is computed; the defaults otherwise.
        progress: Told what is done.

    Raises:
        InputError: There is no such set, its files are gone, or a setting makes no sense.
    """
    settings = settings or SliceSettings()
    tell = progress or (lambda _what, _share: None)
    saved, content = store.detections.get(set_id), open_detections(store, set_id)
    tell("Comparing predictions with ground truth", 0.0)
    units = make_units(content, settings.units)
    hypotheses = hypotheses_of(store, set_id)
    populations = {h.id: population_of(units, h, settings) for h in hypotheses}
    stored = _stored(saved, hypotheses)
    scores, problems = _scores(saved, units, hypotheses, populations, stored, tell)
    tell("Testing", 0.9)
    samples = [_sample(units, populations[h.id], scores[h.id]) for h in hypotheses if h.id in scores]
    tested = {t.hypothesis_id: t for t in verify(samples, settings.test)}
    leaders = _groups(units, [h for h in hypotheses if h.id in tested], scores, tested)
    rows = [
        SliceRow(
            hypothesis=h,
            tested=tested.get(h.id),
            untested="" if h.id in tested else (NO_UNITS if not len(populations[h.id].units) else NEEDS_MODEL),
            population=populations[h.id] if len(populations[h.id].units) else None,
            scores=scores.get(h.id),
            group=leaders.get(h.id, h.id),
            judgement=None,
            clicks={},
        )
        for h in hypotheses
    ]
    digest = sha256_json(
        [saved.digest, _plain(settings), [h.to_json() for h in hypotheses], {i: s.sha256 for i, s in sorted(stored.items())}]
    )
    tell("Done", 1.0)
    made = SliceReport(saved, units, settings, tuple(sorted(rows, key=_order)), digest, problems)
    return judged(made, judgements(store, set_id))


def judged(report: SliceReport, said: Iterable[Judgement]) -> SliceReport:
    """A report with the judgements of now: the last decision on each slice, and its judged crops by verdict."""
    decided, clicks = dict[str, Judgement](), dict[str, Counter[str]]()
    for j in said:
        if j.unit_id:
            clicks.setdefault(j.hypothesis_id, Counter())[j.verdict] += 1
        else:
            decided[j.hypothesis_id] = j
    rows = ((r, r.hypothesis.id) for r in report.rows)
    return replace(report, rows=tuple(replace(r, judgement=decided.get(i), clicks=dict(clicks.get(i, {}))) for r, i in rows))


def report_stamp(store: Store, saved: SavedDetections) -> str:
    """Changes with the hypotheses of a set and with the scores that a model gave, not with judgements, which come by the second.

    With the set's digest and name and the settings it is what pages keep a report by.
    """
    files = sorted((p.name, p.stat().st_mtime_ns) for p in (saved.folder / "scores").glob("*.parquet"))
    return sha256_json([store.slice_hypotheses.of(saved.id), files])


def units_of(content: DetectionSet, settings: UnitSettings | None = None) -> Units:
    """The evaluation units of detections that need not be kept."""
    return make_units(content, settings or UnitSettings())


def population_of(units: Units, hypothesis: Hypothesis, settings: SliceSettings) -> Population:
    """The units that a hypothesis is tested on."""
    names = [c.name for c in units.detections.classes]
    return population(
        units,
        hypothesis.error,
        None if "any" in hypothesis.classes else classes_of(hypothesis, names),
        fp_includes_loc=settings.fp_includes_loc,
        missed_only=settings.missed_only,
        half="verification" if hypothesis.half_only or settings.halves == "verification" else None,
    )


def sample_of(report: SliceReport, row: SliceRow) -> Sample:
    """What a hypothesis was tested on, for the curves and windows of its page.

    Raises:
        InputError: It has no scores.
    """
    if row.population is None or row.scores is None:
        raise InputError(f'The hypothesis "{row.hypothesis.id}" has no scores. {row.untested}')
    return _sample(report.units, row.population, row.scores)


def judge(store: Store, set_id: str, judgements: Sequence[NewJudgement]) -> tuple[str, ...]:
    """Store what somebody said of crops and slices; the uids of all that are on the disk now.

    Raises:
        InputError: There is no such set, or one of them cannot be stored; then none is.
    """
    return store.slice_judgements.append(set_id, judgements)


def judgements(store: Store, set_id: str, hypothesis_id: str | None = None) -> tuple[Judgement, ...]:
    """What each person last said of each slice and each unit; a `unit_id` of "" means the slice as a whole.

    What was said of a hypothesis that was retracted says nothing of another one that has its id now.
    """
    since = store.slice_hypotheses.since(set_id)
    return store.slice_judgements.current(set_id, hypothesis_id, since)


def scores_of(saved: SavedDetections, units: Units, hypothesis: Hypothesis, population: Population) -> Scores | None:
    """Scores of one hypothesis over any units of a set, None where only a model could tell and none was asked."""
    found, _ = _scores(saved, units, [hypothesis], {hypothesis.id: population}, _stored(saved, [hypothesis]), lambda _what, _share: None)
    return found.get(hypothesis.id)


def _stored(saved: SavedDetections, hypotheses: Iterable[Hypothesis]) -> dict[str, StoredScores]:
    return {h.id: s for h in hypotheses if (s := stored_scores(saved.folder, h)) is not None}


def _scores(
    saved: SavedDetections,
    units: Units,
    hypotheses: Sequence[Hypothesis],
    populations: Mapping[str, Population],
    stored: Mapping[str, StoredScores],
    tell: Progress,
) -> tuple[dict[str, Scores], tuple[str, ...]]:
    """Scores of every hypothesis that has units and a matcher, or answers of a model, which go first; and what went wrong."""
    live = [h for h in hypotheses if len(populations[h.id].units)]
    out = {h.id: scores_for(stored[h.id], h, populations[h.id], units) for h in live if h.id in stored}
    rest = [h for h in live if h.id not in stored and h.offline is not None]
    offline, problems = offline_scores(saved.folder, units, rest, populations, tell)
    out |= offline
    return {h.id: out[h.id] for h in live if h.id in out}, problems


@lru_cache(maxsize=8)
def _pictures(content: DetectionSet) -> IntArray:
    """For each image the first with the same picture, since copies of a picture fail together, shape (images,)."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(image.sha256, i) if image.sha256 else i for i, image in enumerate(content.images)], np.int64)


def _sample(units: Units, population: Population, scores: Scores) -> Sample:
    at = population.units
    weight = population.weight if scores.weight is None else population.weight * scores.weight
    own = own_boxes(units, at)
    box = np.clip(own[:, 2:] - own[:, :2], 0, None).prod(1)
    strata_of = strata(box, units.cls[at])
    image = _pictures(units.detections)[population.image]
    return Sample(scores.hypothesis_id, scores.c, scores.logit, population.loss, image, weight, strata_of)


def _groups(units: Units, hypotheses: Sequence[Hypothesis], scores: Mapping[str, Scores], tested: Mapping[str, Tested]) -> dict[str, str]:
    """The leader of each hypothesis among those that rank the same units alike: the one with the firmest trend."""
    best = sorted(hypotheses, key=lambda h: (_p(tested[h.id].p_trend), -(tested[h.id].errors_saved or 0.0), h.id))
    logits = dict[str, FloatArray]()
    for h in best:
        logits[h.id] = np.full(len(units), np.nan)
        logits[h.id][scores[h.id].units] = scores[h.id].logit
    return slice_groups(best, logits)


def _p(value: float | None) -> float:
    return 1.0 if value is None else value


def _order(row: SliceRow) -> tuple[int, float, str]:
    t = row.tested
    return (t is None, -(t.errors_saved or 0.0) if t is not None else 0.0, row.hypothesis.id)


def _plain(settings: SliceSettings) -> dict[str, object]:
    return asdict(settings)
