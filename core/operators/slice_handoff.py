"""What a slice that holds up leads to: a value in the ODD, a campaign over slices with that value, and driving cases of its images."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from core.acquisition import Request
from core.error_slices.hypotheses import Hypothesis
from core.errors import InputError
from core.odd import Odd
from core.odd.model import Dimension, Tier, Value
from core.operators.campaign import POOL, CampaignPlan, plan_campaign
from core.operators.rank import rank
from core.operators.slice_report import SliceReport, SliceRow
from core.scoring import IN_ODD, ScoringParameters, make_scope
from core.seed_table import SeedTable
from core.settings import Settings
from core.storage import Store
from core.trajectories.case_set import open_case_set
from core.trajectories.report import several

ROAD_USERS = "road_users_present"
"""Dimension of conditions of single objects, where the ODD has it."""
_PASSED_OVER = set(
    "a an the is are was were be been of in on at to so or and that this it its only as by with from very many one object objects region "
    "picture detected image box than other another some any which there has have had not no about less more most right across px".split()
)
_LONGEST = 4
"""Words in the name of a proposed value."""
_MOST = 60
"""Characters in the name of a value."""


@dataclass(frozen=True)
class ValueProposal:
    """A value of the ODD that stands for a slice.

    Attributes:
        dimension: Name of its dimension.
        value: Its name.
        known: Whether the ODD has it already, so that nothing is added.
        tier: "extended" for a new one: outside the ODD until somebody moves it inside.
        parent: Base value that it refines, "" for none.
        definition: What a labeller should see to give it.
        why: How it was found, in a sentence.
    """

    dimension: str
    value: str
    known: bool
    tier: Tier
    parent: str
    definition: str
    why: str


@dataclass(frozen=True)
class AddedValue:
    """An ODD that was saved with a new value.

    Attributes:
        odd: The new one; the same as before if it had the value.
        before: Combinations of all values before.
        after: The same now.
        inside: Slices inside the ODD, which an extended value leaves as they are.
        note: What the document says of where the value comes from.
    """

    odd: Odd
    before: int
    after: int
    inside: int
    note: str


@dataclass(frozen=True)
class CaseLink:
    """A driving case whose scene is that of an image of the slice.

    Attributes:
        set_id: Of the set of cases.
        set_name: Its name.
        case_id: The first case of the scene.
        place: Its place in the set, from 1, as addresses of pages name it.
        scene_id: Of the scene.
        cases: Cases of the scene, one a planner.
        file_name: Of the image.
        unit_id: Its unit with the highest score.
        score: Matching score of that unit.
        loss: Its loss.
        same: What agrees: "picture" for the same bytes, else "name".
    """

    set_id: str
    set_name: str
    case_id: str
    place: int
    scene_id: str
    cases: int
    file_name: str
    unit_id: str
    score: float
    loss: float
    same: str


def propose_value(odd: Odd, hypothesis: Hypothesis, *, dimension: str = "", value: str = "") -> ValueProposal:
    """A value for a slice: one that the statement names, else a new one made of its words.

    Args:
        odd: Where it would stand.
        hypothesis: Of the slice.
        dimension: Chosen by a person; otherwise that of a value that is named, else the road users, else the first that may grow.
        value: Name chosen by a person.

    Raises:
        InputError: There is no such dimension, it may not grow, or the name cannot be used.
    """
    if dimension and dimension not in odd.by_name:
        raise InputError(f'The ODD "{odd.name}" has no dimension "{dimension}"; it has {", ".join(odd.names)}.')
    if not value and hypothesis.category != "semantic_confusion":  # that speaks of what a thing is taken for, not of where it is
        named = _named(odd, hypothesis.text, dimension)
        if named is not None:
            d, v, phrase = named
            why = f'The statement says "{phrase}", which is {v.name} of {d.label or d.name}: the ODD has the value.'
            return ValueProposal(d.name, v.name, True, v.tier, v.parent, v.definition, why)
    grows = [d for d in odd.dimensions if d.extendable]
    d = odd.by_name[dimension] if dimension else odd.by_name.get(ROAD_USERS) or (grows[0] if grows else odd.dimensions[0])
    name = _clean(value) if value else _short(hypothesis.text)
    same = next((x for x in d.values if x.name.casefold().replace(" ", "_") == name), None)
    if same is not None:
        return ValueProposal(d.name, same.name, True, same.tier, same.parent, same.definition, "The ODD has the value.")
    if not d.extendable:
        raise InputError(f'The dimension "{d.name}" takes no further values; choose one of {", ".join(x.name for x in grows)}.')
    parent = d.base[0].name if len(d.base) == 1 else ""
    why = "No value of the ODD is named in the statement, so a new one is made of its words; rename it or choose another dimension."
    return ValueProposal(d.name, name, False, "extended", parent, hypothesis.text, "" if value else why)


def add_value(store: Store, odd: Odd, proposal: ValueProposal, report: SliceReport, row: SliceRow) -> AddedValue:
    """Save the ODD with the value and a note of where it comes from; the old one stays as it is.

    Raises:
        InputError: The slice does not hold up and nobody accepted it, or the document would not read back the same.
    """
    refuse(row)
    size = odd.codec.size
    if proposal.known:
        return AddedValue(odd, size, size, odd.base_space.size, "")
    note = f"{proposal.value} of {proposal.dimension} was added from an error slice. {provenance(report, row)}"
    new = Value(proposal.value, proposal.tier, proposal.parent, proposal.definition)
    dims = tuple(replace(d, values=(*d.values, new)) if d.name == proposal.dimension else d for d in odd.dimensions)
    extras = {**odd.extras, "notes": [*odd.extras.get("notes", []), note]}
    made = replace(odd, dimensions=dims, extras=extras, source="own", name=odd.name if odd.source == "own" else f"{odd.name}-edited")
    store.odds.put(made)
    return AddedValue(made, size, made.codec.size, made.base_space.size, note)


def refuse(row: SliceRow) -> None:
    """Whether anything may follow from a slice.

    Raises:
        InputError: A person rejected it, or it does not hold up and nobody accepted it.
    """
    if row.why_not:
        raise InputError(f'Nothing follows from the slice "{row.hypothesis.id}": {row.why_not}. Accept it first if you are sure.')


def provenance(report: SliceReport, row: SliceRow) -> str:
    """Where a slice comes from, in two sentences with its numbers."""
    s, t = report.saved, row.tested
    head = f'Slice {row.hypothesis.id} ("{row.hypothesis.text}") of {s.name} ({s.digest[:12]}{", synthetic" if s.synthetic else ""})'
    if t is None or t.inside.value is None or t.outside.value is None:
        return f"{head}: accepted by a person."
    q = " and ".join(f"q {name} {v:.3g}" for name, v in (("trend", t.q_trend), ("lift", t.q_lift)) if v is not None)
    images = several(t.inside.images, "image", "images")
    return (
        f"{head}: {t.verdict}{', ' + q if q else ''}. Error {t.inside.value:.3f} inside (n = {t.inside.n:,}, {images}) "
        f"against {t.outside.value:.3f} outside (n = {t.outside.n:,})."
    )


def under(odd: Odd, table: SeedTable) -> SeedTable:
    """The same tested slices, numbered by an ODD that has all their values.

    Raises:
        InputError: A dimension or a value is missing there.
    """
    if set(odd.names) != set(table.odd.names):
        raise InputError(f'The ODD "{odd.name}" has other dimensions than the table, so it cannot number its slices.')
    missing = [f"{d.name}: {v}" for d in table.odd.dimensions for v in d.by_name if v not in odd.by_name[d.name].by_name]
    if missing:
        raise InputError(f'The ODD "{odd.name}" lacks values of the table: {", ".join(missing[:8])}.')
    rows = [dict(zip(table.odd.names, r, strict=True)) for r in table.odd.codec.names(table.codes)]
    ids = np.array([odd.codec.encode_names([r[n] for n in odd.names]) for r in rows], np.int64)
    order = np.argsort(ids, kind="stable")
    return SeedTable(odd, odd.codec.decode(ids[order]), table.n[order], table.mean[order], table.variance[order], table.n_assumed)


def plan_slice_campaign(
    store: Store,
    table_id: str,
    odd: Odd,
    proposal: ValueProposal,
    request: Request,
    settings: Settings,
    *,
    params: ScoringParameters | None = None,
    mode: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    origin: Mapping[str, Any] | None = None,
) -> CampaignPlan:
    """A campaign over the untested slices with the value, best first; save it with `save_campaign`.

    Under an ODD that is not built in, slices are alike by the share of equal values, and a value that was never seen counts as rare as
    any unseen one, unless a similarity is asked for; the manifest says so.

    Args:
        store: The workspace.
        table_id: Seed table whose gaps are ranked.
        odd: That of `add_value`.
        proposal: The value.
        request: Budget and samples.
        settings: Where models and caches lie.
        params: Of the ranking.
        mode: Similarity, one of `core.similarity.MODES`.
        progress: Called with texts done and in all while texts are embedded.
        origin: What is known of the slice, for the manifest.

    Raises:
        InputError: There is no such table, its slices are not those of the ODD, or nothing is left to test.
    """
    seed = under(odd, store.tables.load(table_id))
    v = odd.by_name[proposal.dimension].by_name.get(proposal.value)
    if v is None:
        raise InputError(f'The ODD "{odd.name}" has no value {proposal.value} of {proposal.dimension}; add it first.')
    scope = IN_ODD if v.tier == "base" else make_scope(odd, "out", [f"{proposal.dimension}={v.name}"])
    params = params or ScoringParameters()

    if mode is None and odd.source != "built-in":
        # thousands of texts of a vocabulary that ships no tables would be embedded, which takes minutes
        mode, params = "exact", replace(params, novel="unseen", risk="neighbour")
    where = {proposal.dimension: [v.name]}
    result = rank(seed, params, settings, mode=mode, top=POOL, where=where, scope=scope, source={"table": table_id}, progress=progress)
    made = plan_campaign(result, request, store)
    return replace(made, manifest={**made.manifest, "error_slice": {"dimension": proposal.dimension, "value": v.name, **(origin or {})}})


def cases_of_slice(store: Store, report: SliceReport, row: SliceRow, most: int = 24) -> tuple[CaseLink, ...]:
    """Driving cases of the slice's images, highest score first.

    An image belongs to a scene whose frames have its bytes, or whose id is its name without ending. Cases are never made of images:
    a case needs what an expert and a planner drove, which images do not tell.

    Args:
        store: The workspace.
        report: Of the slice.
        row: The slice.
        most: Links at most.
    """
    if row.scores is None or row.population is None:
        return ()
    best: dict[int, int] = {}
    order = np.argsort(-np.nan_to_num(row.scores.logit, nan=-np.inf), kind="stable")
    for k in order.tolist():
        if row.scores.c[k] > report.settings.test.gamma:
            best.setdefault(int(row.population.image[k]), k)
    images = report.units.detections.images
    out: list[CaseLink] = []
    sets = [(s, _scenes(str(s.folder), s.digest)) for s in store.cases.list()] if best else []
    for i, k in best.items():
        stem = PurePosixPath(images[i].file_name).stem or images[i].id
        for saved, (by_bytes, by_scene) in sets:
            scene = by_bytes.get(images[i].sha256, stem)
            if scene not in by_scene or len(out) >= most:
                continue
            place, case_id, cases = by_scene[scene]
            same = "picture" if images[i].sha256 in by_bytes else "name"
            unit = report.units.ids[int(row.population.units[k])]
            c, loss = float(row.scores.c[k]), float(row.population.loss[k])
            out.append(CaseLink(saved.id, saved.name, case_id, place, scene, cases, images[i].file_name, unit, c, loss, same))
    return tuple(out)


@lru_cache(maxsize=8)
def _scenes(folder: str, digest: str) -> tuple[dict[str, str], dict[str, tuple[int, str, int]]]:
    """Scene of each picture by its bytes, and place, id and number of the cases of each scene."""
    del digest  # only a key of the cache: what lies in the folder never changes
    by_bytes: dict[str, str] = {}
    by_scene: dict[str, tuple[int, str, int]] = {}
    for place, case in enumerate(open_case_set(Path(folder)).cases, 1):
        first, name, n = by_scene.get(case.scene_id, (place, case.case_id, 0))
        by_scene[case.scene_id] = (first, name, n + 1)
        by_bytes |= {f.sha256: case.scene_id for camera in case.cameras for f in camera.frames if f.sha256}
    return by_bytes, by_scene


def _named(odd: Odd, text: str, dimension: str) -> tuple[Dimension, Value, str] | None:
    """The value whose name or synonym comes first in a text, the longest there; base values before extended ones."""
    said = f" {' '.join(re.findall(r'[a-z0-9]+', text.casefold()))} "
    found = []
    for d in odd.dimensions:
        if dimension and d.name != dimension:
            continue
        for v in d.values:
            for phrase in {v.name.replace("_", " "), *v.synonyms}:
                words = " ".join(re.findall(r"[a-z0-9]+", phrase.casefold()))
                at = said.find(f" {words} ") if words else -1
                if at >= 0:
                    found.append((at, -len(words), v.tier != "base", d.name, v.name, words))
    if not found:
        return None
    *_, d_name, v_name, words = min(found)
    return odd.by_name[d_name], odd.by_name[d_name].by_name[v_name], words


def _short(text: str) -> str:
    words = [w for w in re.findall(r"[^\W\d_]{2,}", text.casefold()) if w not in _PASSED_OVER]
    return "_".join(words[:_LONGEST])[:_MOST].rstrip("_") or "error_slice"


def _clean(name: str) -> str:
    out = "_".join(re.findall(r"[^\W_]+", name.casefold()))
    if not out or len(out) > _MOST:
        raise InputError(f'"{name[:80]}" cannot be the name of a value; take letters, digits and "_", {_MOST} at most.')
    return out
