"""Matching by a vision model from a set of detections: what it would cost, and the run, whose scores are kept beside the detections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.error_slices.hypotheses import Hypothesis
from core.error_slices.matching import make_units
from core.error_slices.score_files import write_scores
from core.error_slices.units import Population, Units
from core.error_slices.vision import cost
from core.error_slices.vision.cost import MatchPlan
from core.error_slices.vision.match_vision import match_with_model
from core.error_slices.vision.options import MatchOptions
from core.error_slices.vision.outcome import MatchOutcome, MatchProgress
from core.error_slices.vision.probe import Ability
from core.errors import InputError
from core.llm import Endpoint, endpoint_for
from core.operators.slice_report import SliceSettings
from core.operators.slices import hypotheses_of, open_detections, population_of
from core.storage import Store


def vision_endpoint(store: Store) -> Endpoint:
    """The model that looks at pictures, the one that also tags footage.

    Raises:
        InputError: None is connected.
    """
    found = endpoint_for("tagger", store)
    if found is None:
        raise InputError(
            "No vision model is connected. Name one under Connections (the one that tags footage), or with ODDYSSEY_TAGGER_BASE_URL and "
            "ODDYSSEY_TAGGER_MODEL."
        )
    return found


def plan_match(
    store: Store, set_id: str, settings: SliceSettings, hypothesis_ids: Sequence[str] = (), options: MatchOptions | None = None
) -> MatchPlan:
    """What asking a vision model would take; sends nothing.

    Args:
        store: The workspace.
        set_id: Of the detections.
        settings: They decide which units there are.
        hypothesis_ids: To be matched; all that need a model by default.
        options: How it is asked.

    Raises:
        InputError: There is no such set or hypothesis, or no model is connected.
    """
    units, hypotheses, populations = _asked(store, set_id, settings, hypothesis_ids)
    return cost.plan_match(store, vision_endpoint(store), units, hypotheses, populations, options)


def match_vision(
    store: Store,
    set_id: str,
    settings: SliceSettings,
    hypothesis_ids: Sequence[str] = (),
    options: MatchOptions | None = None,
    *,
    agreed: Ability | None = None,
    progress: Callable[[MatchProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> MatchOutcome:
    """Ask a vision model and keep its scores beside the detections; a run that was ended goes on where it was.

    Scores of a partial run do not take the place of scores without a model.

    Args:
        store: The workspace.
        set_id: Of the detections.
        settings: They decide which units there are.
        hypothesis_ids: To be matched; all that need a model by default.
        options: How it is asked.
        agreed: How the model was taken to answer in the plan that was agreed to (`MatchPlan.ability`).
        progress: Told after each question, from another thread.
        cancel: Asked now and then; True stops, and what is there is kept.

    Raises:
        InputError: There is no such set or hypothesis, or no model is connected, or it cannot be asked this way, or only in one that is
            much dearer than what was agreed to.
        ModelError: It does not answer at all.
    """
    units, hypotheses, populations = _asked(store, set_id, settings, hypothesis_ids)
    outcome = match_with_model(
        store, vision_endpoint(store), units, hypotheses, populations, options=options, agreed=agreed, progress=progress, cancel=cancel
    )
    folder = store.detections.get(set_id).folder
    told = {m.hypothesis_id: m for m in outcome.hypotheses}
    notes = []
    for h in hypotheses:
        if (scores := outcome.scores.get(h.id)) is None or not len(scores.units):
            continue
        run = told[h.id]
        if h.offline is not None and run.partial:  # a run that was stopped early must not take the place of scores of all units
            many = f"more than {run.scored:,} of {run.asked:,} units"
            notes.append(f'"{h.text}" keeps its scores of boxes and pixels until the model has scored {many}.')
        else:
            write_scores(folder, h, scores, units, not_reached=run.not_reached)
    return replace(outcome, problems=(*outcome.problems, *notes))


def _asked(
    store: Store, set_id: str, settings: SliceSettings, hypothesis_ids: Sequence[str]
) -> tuple[Units, tuple[Hypothesis, ...], dict[str, Population]]:
    known = {h.id: h for h in hypotheses_of(store, set_id)}
    unknown = [i for i in hypothesis_ids if i not in known]
    if unknown:
        raise InputError(f"There is no hypothesis {', '.join(unknown)} for these detections.")
    chosen = tuple(known[i] for i in hypothesis_ids) or tuple(h for h in known.values() if h.offline is None)
    units = make_units(open_detections(store, set_id), settings.units)
    return units, chosen, {h.id: population_of(units, h, settings) for h in chosen}
