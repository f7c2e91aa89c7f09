"""The guidance: what is asked, what the three answers mean, how to look, and worked examples one by one."""

from __future__ import annotations

import streamlit as st
from markupsafe import Markup

from core.errors import InputError
from core.labels.guidance import Answer, Example, Guidance, read_guidance
from core.storage import Store
from core.storage.label_events import Annotator, Label
from pages.shared import case_picture, shell
from pages.shared.markup import Tone, chip, fill, join, strong

TONES: dict[Label, Tone] = {"Y": "risk", "N": "info", "U": "wait"}
_READ, _AT, _SEEN = "labels.guidance.{}", "guidance.at", "guidance.seen"


def current() -> Guidance:
    """The guidance by which people label now."""
    return read_guidance()


def was_read(store: Store, annotator: Annotator) -> bool:
    """Whether a person has confirmed the present text."""
    return bool(store.preferences.get(_READ.format(annotator.id)) == current().tag)


def confirm(store: Store, annotator: Annotator) -> None:
    """Remember that a person has read the present text."""
    store.preferences.set(_READ.format(annotator.id), current().tag)


def show(store: Store, annotator: Annotator) -> None:
    """The text and the examples; it can be confirmed once each example was opened."""
    text = current()
    answers(text)
    parts(text)
    shell.section("Worked examples", f"{len(text.examples)} cases of the demo pack, all made up, with the answer and its reason")
    seen = examples(text)
    left = len(text.examples) - len(seen)
    note = f"Still to be opened: {left} of {len(text.examples)} examples." if left else f"Version {text.version}; every label says so."
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.button("I have read this", type="primary", key="guidance_read", disabled=left > 0):
            confirm(store, annotator)
            st.rerun()
        shell.note(note)


@st.dialog("Guidance", width="large")
def dialog() -> None:
    """The same to look something up while labelling."""
    text = current()
    answers(text)
    parts(text)
    shell.section("Worked examples", "of the demo pack")
    examples(text, key="dialog")


def answers(text: Guidance) -> None:
    """The question and the three answers side by side."""
    shell.html(Markup('<p class="od-said">{} {}</p>').format(strong(text.question), text.reminder))
    for column, a in zip(st.columns(3, gap="medium"), text.answers, strict=True):
        with column, st.container(border=True, height="stretch", key=f"guidance-{a.label}"):
            _answer(a)


def _answer(a: Answer) -> None:
    head = Markup('<h2 class="od-h"><kbd class="od-key">{}</kbd>{} </h2><p class="od-said">{}</p>').format(a.key, a.name, a.short)
    warned = Markup('<p class="od-note od-beware">{}</p>')
    shell.html(head + _list(a.give) + join(warned.format(b) for b in a.beware))


def parts(text: Guidance) -> None:
    """How to look."""
    for column, p in zip(st.columns(len(text.parts), gap="medium"), text.parts, strict=True):
        with column:
            shell.section(p.title)
            shell.html(_list(p.points))


def _list(points: tuple[str, ...]) -> Markup:
    return Markup('<ul class="od-points">{}</ul>').format(join(Markup("<li>{}</li>").format(p) for p in points))


def examples(text: Guidance, key: str = "page") -> set[int]:
    """One example with its picture, and the way to the others; returns those that were opened."""
    at_key, n = f"{_AT}.{key}", len(text.examples)
    at = min(int(st.session_state.setdefault(at_key, 0)), n - 1)
    seen: set[int] = st.session_state.setdefault(f"{_SEEN}.{text.tag}", set())
    seen.add(at)

    def go(step: int) -> None:
        st.session_state[at_key] = min(max(at + step, 0), n - 1)

    with shell.card(key=f"guidance_example_{key}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            with st.container(width="stretch"):
                shell.section(text.examples[at].lesson, f"example {at + 1} of {n}, {len(seen)} opened")
            st.button("Back", key=f"guidance_back_{key}", disabled=at == 0, on_click=go, args=(-1,))
            st.button("Next", key=f"guidance_next_{key}", disabled=at == n - 1, on_click=go, args=(1,))
        _example(text, text.examples[at], key)
    return seen


def _example(text: Guidance, e: Example, key: str) -> None:
    a = text.answer(e.label)
    said = fill("{chip} {why}", chip=chip(f"{a.key}: {a.name}", TONES[e.label]), why=e.why)
    shell.html(Markup('<p class="od-said">{}</p><p class="od-note">{} {}</p>').format(said, strong("Where to look:"), e.look))
    try:
        case_picture.of_demo(e.case, key=f"guidance-{key}-{e.case}")
    except InputError as error:
        shell.error_card(error, "The example cannot be drawn; its text stands above.")
