"""How well the slices that were found are those that are known: Precision@k with its breakdowns (GH-ESD, section 5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.error_slices.generate.relevance import JudgedRelevance, judge_relevance
from core.error_slices.hypotheses import ORIGINS
from core.error_slices.known_slices import KnownSlices, error_units, expert_slices, read_known
from core.error_slices.library import load_library
from core.error_slices.precision import (
    OriginsAlone,
    PrecisionAtK,
    Relevance,
    Rule,
    by_origin,
    hypothesis_relevance,
    over_images,
    precision_at_k,
)
from core.error_slices.ties import best_first
from core.error_slices.verification.settings import Sample
from core.error_slices.verification.verdicts import verify
from core.errors import InputError
from core.llm import Endpoint
from core.operators.slice_report import SliceReport, SliceRow
from core.operators.slices import DEMO, DEMO_SETS
from core.storage.store import Store


@dataclass(frozen=True)
class Grounded:
    """A known slice with scores of instances against scores of whole images, by the hypothesis that fits it best.

    Attributes:
        truth: Name of the known slice.
        hypothesis: Id of the hypothesis.
        instance: Precision@k by the units' own scores.
        image: Precision@k by the highest score of their image.
        instance_z: Studentised slope of the calibrated test by the units' own scores, None where it cannot be tested.
        image_z: Likewise by the highest score of their image.
    """

    truth: str
    hypothesis: str
    instance: float
    image: float
    instance_z: float | None = None
    image_z: float | None = None


@dataclass(frozen=True)
class SlicePrecision:
    """How well the slices of a report are the known ones.

    Attributes:
        k: Units of a slice that are looked at.
        cap: Slices that are used for the capped figure.
        known: Units of each known slice.
        left_out: How many of what was left out.
        found: Slices that tests or people accept: rule to Precision@k with all of them.
        capped: Likewise with the first `cap` of them.
        untested: Precision@k (release) with every hypothesis that has scores, whatever the tests say; more slices can never lower it.
        by_error: Mean and number of known slices by what their units are, e.g. "missed".
        by_category: Likewise by category, where the known slices name one, else that of the hypothesis that fits best.
        origins: Hypotheses of each origin alone.
        relevance: Precision, recall and F1 by meaning, None unless the known slices name hypotheses.
        grounded: Instances against images, one a known slice with a hit.
    """

    k: int
    cap: int
    known: Mapping[str, int]
    left_out: Mapping[str, int]
    found: Mapping[Rule, PrecisionAtK]
    capped: Mapping[Rule, PrecisionAtK]
    untested: PrecisionAtK
    by_error: Mapping[str, tuple[float, int]]
    by_category: Mapping[str, tuple[float, int]]
    origins: OriginsAlone
    relevance: Relevance | None
    grounded: tuple[Grounded, ...]

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""

        def short(p: PrecisionAtK) -> dict[str, Any]:
            return {"mean": p.mean, "slices": p.slices, "known": len(p.found), "each": {f.truth: [f.value, f.best] for f in p.found}}

        r = self.relevance
        return {
            "k": self.k,
            "cap": self.cap,
            "known": dict(self.known),
            "left_out": dict(self.left_out),
            "found": {rule: short(p) for rule, p in self.found.items()},
            "capped": {rule: short(p) for rule, p in self.capped.items()},
            "untested": short(self.untested),
            "by_error": {name: list(v) for name, v in self.by_error.items()},
            "by_category": {name: list(v) for name, v in self.by_category.items()},
            "origins": {name: short(p) for name, p in self.origins.alone.items()},
            "overlap": {" and ".join(pair): v for pair, v in self.origins.overlap.items()},
            "relevance": None if r is None else {"precision": r.precision, "recall": r.recall, "f1": r.f1, "n": [r.predicted, r.known]},
            "grounded": [asdict(g) for g in self.grounded],
        }


KINDS = {"FN": "missed", "LOC": "badly placed", "IMAGE": "whole images", "SEG": "masks"}
"""What the units of a known slice are, by kind; all others are false detections."""


def known_of(report: SliceReport, text: str | None = None) -> KnownSlices:
    """The known slices of a report: of a file, else those that the data names, else, for the demo, where its rules struck.

    Args:
        report: The slices.
        text: A JSON text as `known_slices.read_known` takes it.

    Raises:
        InputError: The text cannot be used, or nothing is known.
    """
    if text is not None:
        return read_known(text, report.units)
    named = expert_slices(report.units)
    if named.units:
        return named
    which = {name: file for file, name in DEMO_SETS.items()}.get(report.saved.model)
    if which is None:
        raise InputError("These detections name no slices of experts; give a file of known slices.")
    return read_known(_struck(report, which.removeprefix("results_").removesuffix(".json")), report.units)


def _struck(report: SliceReport, detector: str) -> str:
    """Boxes of the ground truth that the demo's rules made its detector miss, as known slices."""
    planted = json.loads((DEMO / "planted.json").read_text(encoding="utf-8"))
    categories = {h.id: h.category for h in load_library().hypotheses}
    by_annotation = {name.rpartition(":g")[2]: name for i, name in enumerate(report.units.ids) if report.units.side[i] == "gt"}
    slices = {}
    for rule in planted["rules"]:
        if rule["error"] == "FN":
            hit = [by_annotation[str(i)] for i in planted["struck"][detector][rule["id"]] if str(i) in by_annotation]
            slices[rule["id"]] = {"units": hit, "hypotheses": rule["library"], "category": categories[rule["library"][0]]}
    return json.dumps({"slices": slices})


def slice_precision(report: SliceReport, known: KnownSlices, *, k: int = 10, cap: int = 15) -> SlicePrecision:
    """Compare the slices of a report with known ones.

    A found slice holds the errors among the units above gamma, highest score first. Slices come in the order of the report: most errors
    saved first.

    Args:
        report: The slices.
        known: Of the units of this very report.
        k: Units of a slice that are looked at.
        cap: Slices that are used for the capped figure.
    """
    errors = np.zeros(len(report.units), bool)
    errors[error_units(report.units)] = True
    scored = [r for r in report.rows if r.scores is not None]
    ranking = {r.hypothesis.id: _errors_of(r, report, errors) for r in scored}
    accepted = {r.hypothesis.id: ranking[r.hypothesis.id] for r in found_of(report)}
    truth = {name: units for name, units in known.units.items() if units}
    rules: tuple[Rule, ...] = ("equation", "release")
    found = {rule: precision_at_k(truth, accepted, k, rule=rule) for rule in rules}
    release = found["release"]
    rows = {r.hypothesis.id: r for r in scored}
    best = {f.truth: rows[f.best] for f in release.found if f.best}
    category = {name: known.category.get(name) or (best[name].hypothesis.category if name in best else "") for name in truth}
    return SlicePrecision(
        k=k,
        cap=cap,
        known={name: len(units) for name, units in known.units.items()},
        left_out=known.left_out,
        found=found,
        capped={rule: precision_at_k(truth, accepted, k, rule=rule, cap=cap) for rule in rules},
        untested=precision_at_k(truth, ranking, k),
        by_error=release.by({name: _kind(report, units) for name, units in truth.items()}),
        by_category=release.by(category),
        origins=by_origin(truth, accepted, {i: ORIGINS[rows[i].hypothesis.origin] for i in accepted}, k),
        relevance=_relevance(known, truth, accepted),
        grounded=tuple(_grounded(report, truth[name], name, row, errors, k) for name, row in best.items()),
    )


def found_of(report: SliceReport) -> tuple[SliceRow, ...]:
    """The slices that tests or people accept, in the order of the report."""
    return tuple(r for r in report.rows if r.scores is not None and not r.why_not)


def judge_meaning(
    store: Store, endpoint: Endpoint, report: SliceReport, known: KnownSlices, *, cancel: Callable[[], bool] | None = None
) -> JudgedRelevance:
    """Ask a language model which known slices each found one means, by their words alone; one call a found slice.

    Args:
        store: Keeps the answers.
        endpoint: The judge; best not the model that wrote the statements.
        report: The slices.
        known: Those with errors count; their names are what they mean.
        cancel: Asked now and then; True stops.
    """
    names = [name for name, units in known.units.items() if units]
    return judge_relevance(store, endpoint, [r.hypothesis.text for r in found_of(report)], names, cancel=cancel)


def _errors_of(row: SliceRow, report: SliceReport, errors: np.ndarray) -> list[int]:
    """Errors among the units of a slice, highest score first."""
    s = row.scores
    if s is None:
        return []
    inside = np.flatnonzero((np.nan_to_num(s.c, nan=-np.inf) > report.settings.test.gamma) & errors[s.units])
    return [int(u) for u in s.units[best_first(inside, s.logit)]]


def _kind(report: SliceReport, units: frozenset[int]) -> str:
    """What most units of a slice are."""
    kinds = [KINDS.get(str(kind), "false detections") for kind in report.units.kind[sorted(units)]]
    return max(sorted(set(kinds)), key=kinds.count)


def _relevance(known: KnownSlices, truth: Mapping[str, frozenset[int]], accepted: Mapping[str, list[int]]) -> Relevance | None:
    if not known.means:
        return None
    meant = {h for name in truth for h in known.means.get(name, frozenset())}
    met = [bool(known.means.get(name, frozenset()) & accepted.keys()) for name in truth]
    return hypothesis_relevance([h in meant for h in accepted], met)


def _grounded(report: SliceReport, units: frozenset[int], name: str, row: SliceRow, errors: np.ndarray, k: int) -> Grounded:
    s, p = row.scores, row.population
    assert s is not None and p is not None  # noqa: S101 - only rows with scores are ranked
    c, logit = (over_images(x, report.units.image[s.units]) for x in (s.c, s.logit))
    rows = np.flatnonzero(errors[s.units] & ~np.isnan(s.logit))
    instance, image = (precision_at_k({name: units}, {"": s.units[best_first(rows, x)].tolist()}, k).mean or 0.0 for x in (s.logit, logit))
    whole = np.where(np.isnan(s.c), np.nan, c), np.where(np.isnan(s.c), np.nan, logit)
    samples = [Sample(row.hypothesis.id, a, b, p.loss, p.image, p.weight) for a, b in ((s.c, s.logit), whole)]
    own, shared = verify(samples, report.settings.test)
    return Grounded(name, row.hypothesis.id, instance, image, own.z, shared.z)
