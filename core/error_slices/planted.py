"""Bench with planted slices: errors are drawn by known rules, and every way of finding slices is asked for them.

The boxes are real or made up, the errors always made up. A check of the tests: the rules resemble what the matchers measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from core.error_slices.baselines.found import FoundSlice
from core.error_slices.baselines.mixture import mixture_slices
from core.error_slices.baselines.tags import tag_slices, tags_of
from core.error_slices.baselines.threshold import MARGIN, threshold_slices
from core.error_slices.detections import BoolArray, FloatArray
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.library import Library, classes_of, load_library
from core.error_slices.matchers.features import PixelFeatures
from core.error_slices.matchers.registry import score_offline
from core.error_slices.matchers.scales import Matched
from core.error_slices.planted_rules import Planted, planted_truth
from core.error_slices.precision import hits_at_k, hypothesis_relevance, precision_at_k
from core.error_slices.ties import best_first
from core.error_slices.units import Visible
from core.error_slices.verification.settings import Sample, Tested, TestSettings
from core.error_slices.verification.verdicts import verify
from core.errors import InputError

METHODS: Mapping[str, str] = {
    "paper": "the paper's rule: largest slope of 5-unit windows",
    "threshold": f"error rate inside above that of all by {MARGIN:g}",
    "trend": "trend with q < FDR",
    "lift": "lift with q < FDR",
    "either": "trend or lift",
    "verdict": "verified or elevated",
    "tags": "combinations of up to 3 tags",
    "mixture": "mixture on scores and error",
}
_WITH_MEANING = ("paper", "threshold", "trend", "lift", "either", "verdict")


@dataclass(frozen=True)
class PlantedSettings:
    """Settings of the bench.

    Attributes:
        base: Error rate of units in no planted slice.
        inside: Error rate of units in one or more.
        planted: Slices planted in one run, drawn from those that the data can tell; 0 plants nothing.
        repeats: Runs, each with other slices and errors.
        k: Of Precision@k.
        cap: Slices that are used for the capped Precision@k.
        seed: Of everything drawn.
        test: Of the tests.
    """

    base: float = 0.1
    inside: float = 0.75
    planted: int = 3
    repeats: int = 8
    k: int = 10
    cap: int = 15
    seed: int = 0
    test: TestSettings = field(default_factory=TestSettings)


@dataclass(frozen=True)
class PlantedRow:
    """What one way of finding slices did, as means over the runs; None where nothing was planted or found in any run.

    Attributes:
        method: Key of `METHODS`.
        slices: Slices found.
        precision: Precision@k of the planted slices, release rule.
        capped: Likewise with the first `cap` slices.
        pure: Share of found slices of whose first k units at least half are errors of one planted slice.
        meaning: Share of found hypotheses that mean a planted slice; None for ways without hypotheses.
        recall: Share of planted slices that a found hypothesis means; likewise.
        f1: Harmonic mean of these two; likewise.
    """

    method: str
    slices: float
    precision: float | None
    capped: float | None
    pure: float | None
    meaning: float | None = None
    recall: float | None = None
    f1: float | None = None


@dataclass(frozen=True)
class PlantedReport:
    """The bench.

    Attributes:
        settings: As asked.
        units: Boxes.
        images: Images with boxes.
        hypotheses: Hypotheses that were tested.
        rules: Boxes of each rule that could be planted.
        rows: One a method.
    """

    settings: PlantedSettings
    units: int
    images: int
    hypotheses: int
    rules: Mapping[str, int]
    rows: tuple[PlantedRow, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)


def planted_bench(
    visible: Visible,
    settings: PlantedSettings | None = None,
    *,
    features: PixelFeatures | None = None,
    library: Library | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PlantedReport:
    """Plants slices on boxes of the ground truth and looks for them in every way.

    Args:
        visible: Boxes of the ground truth, real or from `made_up_boxes`.
        settings: See `PlantedSettings`.
        features: Measurements of pixels of these boxes, for the rules and hypotheses that need them.
        library: Hypotheses; those that ship by default. Their FN ones with a matcher are tested.
        progress: Called with runs done and in all.

    Raises:
        InputError: The boxes are not of the ground truth, or no rule holds for enough of them.
    """
    s = settings or PlantedSettings()
    lib = library or load_library()
    if visible.side != "gt":
        raise InputError(f'Slices are planted on boxes of the ground truth, not on the side "{visible.side}".')
    truth = planted_truth(visible, features)
    if s.planted and not truth:
        raise InputError(f"No rule for planting holds for 30 boxes, and for a quarter of the {len(visible)} boxes at most.")
    scores = score_offline(visible, lib.hypotheses, features=features, vocabulary=lib.vocabulary)
    tested = [h for h in lib.hypotheses if h.id in scores]
    bench = _Bench(visible, s, lib, scores, tested)
    runs = []
    for r in range(s.repeats):
        runs.append(bench.run(truth, np.random.default_rng([s.seed, r])))
        if progress is not None:
            progress(r + 1, s.repeats)
    rows = tuple(_mean([run[m] for run in runs]) for m in METHODS)
    sizes = {name: int(holds.sum()) for name, (_, holds) in truth.items()}
    return PlantedReport(s, len(visible), len(np.unique(visible.image)), len(tested), sizes, rows)


@dataclass(frozen=True, eq=False)
class _Bench:
    visible: Visible
    settings: PlantedSettings
    library: Library
    scores: Mapping[str, Matched]
    hypotheses: Sequence[Hypothesis]

    def run(self, truth: Mapping[str, tuple[Planted, BoolArray]], rng: np.random.Generator) -> dict[str, PlantedRow]:
        """One run of all methods."""
        s, n = self.settings, len(self.visible)
        names = sorted(rng.choice(sorted(truth), min(s.planted, len(truth)), replace=False).tolist()) if s.planted else []
        planted = [truth[name] for name in names]
        anywhere = np.any([holds for _, holds in planted], axis=0) if planted else np.zeros(n, bool)
        loss = (rng.random(n) < np.where(anywhere, s.inside, s.base)).astype(np.float64)
        # A slice of errors holds errors, as the known slices of GESD do; so does what is found.
        known = {rule.name: np.flatnonzero(holds & (loss > 0.5)).tolist() for rule, holds in planted}
        found = self._by_tests(loss) | self._by_baselines(loss)
        return {m: self._judge(m, found[m], loss, known, [rule for rule, _ in planted]) for m in METHODS}

    def _about(self, h: Hypothesis) -> BoolArray:
        """Boxes of the classes of a hypothesis, shape (n,)."""
        v = self.visible
        return np.isin(v.cls, sorted(classes_of(h, v.classes, self.library.vocabulary)))

    def _by_tests(self, loss: FloatArray) -> dict[str, list[FoundSlice]]:
        v, s = self.visible, self.settings
        rows = {h.id: np.flatnonzero(self._about(h)) for h in self.hypotheses}
        samples = []
        for h in self.hypotheses:
            at, m = rows[h.id], self.scores[h.id]
            samples.append(Sample(h.id, m.c[at], m.logit[at], loss[at], v.image[at], np.ones(len(at))))
        tested = verify(samples, s.test)

        def chosen(holds: Callable[[Tested], bool], order: Callable[[Tested], float]) -> list[FoundSlice]:
            kept = sorted((t for t in tested if holds(t)), key=lambda t: (order(t), t.hypothesis_id))
            out = []
            for t in kept:
                c, at = self.scores[t.hypothesis_id], rows[t.hypothesis_id]
                inside = at[np.nan_to_num(c.c[at], nan=-np.inf) > s.test.gamma]
                out.append(FoundSlice(t.hypothesis_id, best_first(inside, c.logit), t.inside.value, t.lift))
            return out

        def below(q: float | None) -> bool:
            return q is not None and q < s.test.fdr

        def first(*q: float | None) -> float:
            return min((x for x in q if x is not None), default=1.0)

        return {
            "paper": chosen(lambda t: t.paper_pass, lambda t: -(t.paper_trend or 0)),
            "trend": chosen(lambda t: below(t.q_trend), lambda t: first(t.q_trend)),
            "lift": chosen(lambda t: below(t.q_lift), lambda t: first(t.q_lift)),
            "either": chosen(lambda t: below(t.q_trend) or below(t.q_lift), lambda t: first(t.q_trend, t.q_lift)),
            "verdict": chosen(lambda t: t.verdict in ("verified", "elevated"), lambda t: -(t.errors_saved or 0)),
        }

    def _by_baselines(self, loss: FloatArray) -> dict[str, list[FoundSlice]]:
        v = self.visible
        c = {h.id: np.where(self._about(h), self.scores[h.id].c, np.nan) for h in self.hypotheses}
        gamma = self.settings.test.gamma
        logits = np.column_stack([np.clip(self.scores[h.id].logit, -6, 6) for h in self.hypotheses])
        return {
            "threshold": list(threshold_slices(c, loss, gamma=gamma)),
            "tags": list(tag_slices(tags_of(c, v.cls, v.classes, gamma), loss)),
            "mixture": list(mixture_slices(logits, loss)),
        }

    def _judge(
        self, method: str, found: list[FoundSlice], loss: FloatArray, known: Mapping[str, list[int]], rules: Sequence[Planted]
    ) -> PlantedRow:
        s = self.settings
        predicted = {f.name: f.units[loss[f.units] > 0.5].tolist() for f in found}
        if not rules:
            return PlantedRow(method, float(len(found)), None, None, None)
        pure = [max(hits_at_k(units, p, s.k) for units in known.values()) >= 0.5 for p in predicted.values()]
        row = PlantedRow(
            method,
            float(len(found)),
            precision_at_k(known, predicted, s.k).mean,
            precision_at_k(known, predicted, s.k, cap=s.cap).mean,
            float(np.mean(pure)) if pure else None,
        )
        if method not in _WITH_MEANING:
            return row
        meant = [any(f.name in rule.means for rule in rules) for f in found]
        met = [any(f.name in rule.means for f in found) for rule in rules]
        relevance = hypothesis_relevance(meant, met)
        return replace(row, meaning=relevance.precision, recall=relevance.recall, f1=relevance.f1)


def _mean(rows: Sequence[PlantedRow]) -> PlantedRow:
    """Means over runs, of those that have a value."""

    def of(name: str) -> float | None:
        known = [x for x in (getattr(r, name) for r in rows) if x is not None]
        return float(np.mean(known)) if known else None

    return PlantedRow(rows[0].method, of("slices") or 0.0, *(of(n) for n in ("precision", "capped", "pure", "meaning", "recall", "f1")))
