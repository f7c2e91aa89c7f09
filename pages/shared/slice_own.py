"""Hypotheses of one's own: in plain words with a matcher that is proposed and can be changed, or as a file of the library's kind."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

import streamlit as st

from core.error_slices.hypotheses import Hypothesis
from core.error_slices.library import read_library
from core.error_slices.matchers.registry import MATCHERS, Matcher
from core.error_slices.propose import propose
from core.error_slices.units import SIDE_OF
from core.error_slices.vocabulary import ANY, load_vocabulary
from core.errors import InputError
from core.operators import slices
from core.operators.slice_report import SliceReport
from core.storage import SavedDetections
from pages.shared import shell, slice_text, state, who
from pages.shared.markup import Text, chip, count, fill, join, strong

MODEL = "model"
"""Stands for a vision model among the matchers."""
_LONGEST = 400


def show(current: SavedDetections, report: SliceReport) -> None:
    """What was added to these detections, and how to add more."""
    own = [r for r in report.rows if r.hypothesis.origin != "library"]
    title = f"Hypotheses of your own ({len(own):,})" if own else "Hypotheses of your own"
    with st.expander(title, key="slice_own"):
        for r in own:
            _line(current, r.hypothesis)
        _form(current, report)
        _file(current, report)


def _line(current: SavedDetections, h: Hypothesis) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            how: Text = f"matcher {h.offline.name}" if h.offline is not None else "a vision model tells"
            marks = [chip(h.error), chip("discovery half only", "outline")] if h.half_only else [chip(h.error)]
            shell.note(fill("{t} {m} {how}, {c}", t=strong(h.text), m=join(marks, " "), how=how, c=", ".join(h.classes)))
        if st.button("Retract", key=f"retract-{h.id}", help="Takes it out of the list; what was said of it stays"):
            with shell.errors_as_card():
                slices.retract_hypothesis(state.store(), current.id, h.id, who.name())
                st.rerun()


def _form(current: SavedDetections, report: SliceReport) -> None:
    names = [c.name for c in report.units.detections.classes]
    text = st.text_area(
        "In your words: a condition that can be answered yes or no for one marked box",
        key="own_text",
        max_chars=_LONGEST,
        height=68,
        placeholder="The pedestrian is partly hidden behind a parked car.",
        on_change=lambda: _understood(names),
    )
    understood = propose(text, names) if text.strip() else None
    if understood is not None:
        shell.note(" ".join(understood.why))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        error = st.selectbox(
            "Type of error", list(slice_text.ERRORS), format_func=slice_text.ERRORS.__getitem__, key="own_error", width=190
        )
        kinds = slice_text.CATEGORIES
        category = st.selectbox("Category", list(kinds), format_func=kinds.__getitem__, key="own_category", width=180)
        known = _classes(report, st.session_state.get("own_classes", ()))
        classes = st.multiselect("Classes", known, key="own_classes", placeholder="any class", width=300)
    fits = [m for m in MATCHERS.values() if SIDE_OF[error] in m.sides]
    options = [MODEL, *(m.name for m in fits)]
    if st.session_state.get("own_matcher", MODEL) not in options:
        st.session_state["own_matcher"] = MODEL
    said = lambda k: "A vision model tells" if k == MODEL else f"{k}: {MATCHERS[k].says}"  # noqa: E731
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = st.selectbox("Matcher", options, format_func=said, key="own_matcher", width=420)
        matcher = MATCHERS.get(chosen)
        params = _params(matcher, report) if matcher is not None else {}
    proposed = understood.offline.name if understood is not None and understood.offline is not None else ""
    if matcher is not None and matcher.cannot and matcher.name != proposed:
        shell.note(f"It cannot tell: {matcher.cannot}.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = who.ask("own_who")
        if st.button("Add it", type="primary", key="own_add", disabled=len(" ".join(text.split())) < 8):
            offline = None if matcher is None else {"matcher": matcher.name, "params": params}
            document = {
                "id": free_id(text, {r.hypothesis.id for r in report.rows}),
                "text": " ".join(text.split()),
                "error": error,
                "category": category,
                "classes": classes or [ANY],
                "offline": offline,
            }
            _add(current, json.dumps({"hypotheses": [document]}), report, name)


def _understood(names: Sequence[str]) -> None:
    """Fill the choices below with what key words make of the text; a person changes what is wrong."""
    text = str(st.session_state["own_text"])
    if not text.strip():
        return
    found = propose(text, names)
    st.session_state["own_error"], st.session_state["own_category"] = found.error, found.category
    st.session_state["own_classes"] = [c for c in found.classes if c != ANY]
    st.session_state["own_matcher"] = MODEL if found.offline is None else found.offline.name
    if found.offline is not None:
        for k, v in found.offline.params.items():
            st.session_state[f"own_param-{found.offline.name}-{k}"] = v


def _params(matcher: Matcher, report: SliceReport) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, p in matcher.params.items():
        label, key = name.replace("_", " ").capitalize(), f"own_param-{matcher.name}-{name}"
        if p.kind == "flag":
            st.session_state.setdefault(key, bool(p.default))
            out[name] = st.checkbox(label, key=key)
        elif p.kind == "number":
            st.session_state[key] = float(st.session_state.get(key) or p.default)
            out[name] = st.number_input(label, min_value=0.001, key=key, width=130, format="%.4g")
        else:
            options = [*_classes(report, [st.session_state[key]] if st.session_state.get(key) else ()), ANY]
            st.session_state.setdefault(key, p.default if p.default in options else options[0])
            out[name] = st.selectbox(label, options, key=key, width=160)
    return out


def _classes(report: SliceReport, said: Sequence[str] = ()) -> list[str]:
    """Groups of classes, then the classes of these detections, then what was said besides."""
    return list(dict.fromkeys([*load_vocabulary().groups, *(c.name for c in report.units.detections.classes), *said]))


def _file(current: SavedDetections, report: SliceReport) -> None:
    shell.note("Or a file of the library's kind (YAML or JSON): id, text, error, category, and classes and matcher where they matter.")
    turn = st.session_state.get("own.turn", 0)
    file = st.file_uploader("File of hypotheses", type=["yaml", "yml", "json"], key=f"own_file-{turn}", label_visibility="collapsed")
    with st.container(horizontal=True, gap="small"):
        if st.button("Add all of the file", key="own_file_add", disabled=file is None) and file is not None:
            with shell.errors_as_card(changed="Nothing was added."):
                try:
                    text = file.getvalue().decode("utf-8-sig")
                except UnicodeDecodeError as e:
                    raise InputError(f"{file.name} is no UTF-8 text (byte {e.start:,}).") from e
            st.session_state["own.turn"] = turn + 1
            _add(current, text, report, who.name())
        st.download_button("Example", EXAMPLE, "hypotheses.yaml", "application/yaml", key="own_example", on_click="ignore")


def _add(current: SavedDetections, text: str, report: SliceReport, name: str) -> None:
    with shell.errors_as_card(changed="Nothing was added."):
        names = [c.name for c in report.units.detections.classes]
        found = read_library(text, taken=[r.hypothesis.id for r in report.rows], class_names=names)
        slices.add_hypotheses(state.store(), current.id, found.hypotheses, name)
        st.session_state["own.added"] = count(len(found.hypotheses), "hypothesis", "hypotheses")
        st.rerun()


def free_id(text: str, taken: Collection[str]) -> str:
    """A short name from the words of a hypothesis that no other one has."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in _SMALL]
    name = "own_" + "_".join(words[:5] or ["hypothesis"])[:48].rstrip("_")
    return next(n for n in (name, *(f"{name}_{k}" for k in range(2, len(taken) + 3))) if n not in taken)


_SMALL: Collection[str] = frozenset("the a an is are of in on at by to or and that it its with behind than object".split())
EXAMPLE = """schema_version: "1"
hypotheses:
  - id: own_parked_car
    text: The pedestrian is partly hidden behind a parked car.
    error: FN  # FN, FP, LOC, CLS, IMAGE or SEG
    category: contextual_interference  # or semantic_confusion, intrinsic_difficulty
    classes: [person]
    offline: {matcher: occluded_by, params: {by: vehicle}}  # leave it out where only a vision model can tell
"""
