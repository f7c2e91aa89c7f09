"""Figures of the page "Review", counted once until there are more labels."""

from __future__ import annotations

import streamlit as st

from core.labels.label_time import LabelTimes
from core.labels.raters import RaterAgreement
from core.operators import labelling, threats
from core.operators.labelling import LabelAgreement
from core.storage import SavedCaseSet
from core.storage.label_events import Annotator
from pages.shared import case_sets, state
from pages.shared.markup import Text, code, count, fill
from pages.shared.review_agreement import between, number


def _stamp(saved: SavedCaseSet) -> tuple[str, str, int, str]:
    """What figures of a set rest on: its events, and whose flags were cleared."""
    store = state.store()
    cleared = {k: v for k, v in store.preferences.all().items() if k.startswith(f"labels:{saved.id}:")}
    return store.db.name, saved.id, store.labels.stamp(saved.id), repr(sorted(cleared.items()))


def agreement(saved: SavedCaseSet) -> LabelAgreement:
    """How far people agree."""
    return _agreement(*_stamp(saved))


@st.cache_resource(show_spinner=False, max_entries=8)
def _agreement(database: str, set_id: str, stamp: int, cleared: str) -> LabelAgreement:
    del database, stamp, cleared  # only keys of the cache
    return labelling.agreement(state.store(), set_id)


def groups(saved: SavedCaseSet) -> dict[str, RaterAgreement]:
    """The same for members of the project and for others."""
    return _groups(*_stamp(saved))


@st.cache_resource(show_spinner=False, max_entries=8)
def _groups(database: str, set_id: str, stamp: int, cleared: str) -> dict[str, RaterAgreement]:
    del database, stamp, cleared  # only keys of the cache
    return threats.agreement_of_groups(state.store(), set_id)


def times(saved: SavedCaseSet) -> dict[str, LabelTimes]:
    """How long labels take."""
    return _times(*_stamp(saved))


@st.cache_resource(show_spinner=False, max_entries=8)
def _times(database: str, set_id: str, stamp: int, cleared: str) -> dict[str, LabelTimes]:
    del database, stamp, cleared  # only keys of the cache
    return labelling.times(state.store(), set_id)


def people(saved: SavedCaseSet) -> int:
    """People with a label in a set, whether it counts or not."""
    found = agreement(saved)
    return len(found.answers) + len(found.not_counting)


def provenance(saved: SavedCaseSet, found: LabelAgreement, who: Annotator | None) -> Text:
    """How many people, how far they agree, and under which policy."""
    r = found.raters
    k = f"κ = {number(r.exclude.kappa)}" + (f" ({between(r.exclude.kappa)})" if between(r.exclude.kappa) else "")
    you = "" if who is None else fill(" You are {id}.", id=code(who.id))
    left = f", {len(found.not_counting):,} more not counting" if found.not_counting else ""
    if not r.raters:
        return fill(
            "No label that counts yet{left}. People are anonymous here.{you} {set}", left=left, you=you, set=case_sets.provenance(saved)
        )
    agreed = fill("{k} on {n} without an Unsure", k=k, n=count(r.compared, "case")) if r.compared else "no case to compare yet"
    return fill(
        "{p}{left}; {agreed}; {u} with an Unsure, {s} labelled by one person only. People are anonymous here.{you} {set}",
        p=count(len(r.raters), "person", "people"), left=left, agreed=agreed, u=f"{r.with_unsure:,}", s=f"{r.single:,}",
        you=you, set=case_sets.provenance(saved),
    )  # fmt: skip
