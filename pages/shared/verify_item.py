"""One image or clip of a queue: what is said of it, and a person's Yes, No or Unsure to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup
from streamlit.delta_generator import DeltaGenerator

from core.odd import Odd
from core.plots import plain
from core.storage import ANSWERS, QUESTION_ANSWER, Answer, QueueItem, SavedQueue, Statement
from pages.shared import eval_sample, shell, state, verify_text
from pages.shared.markup import bar, fill, strong

_AT, _SEEN, _TOLD = "verify.at", "verify.seen", "verify.told"


def show(queue: SavedQueue, odd: Odd, items: Sequence[QueueItem], name: str, steps: DeltaGenerator) -> None:
    """The item at hand; it starts with the first that this person has not answered in full.

    Args:
        queue: The queue.
        odd: Defines the values.
        items: Its items.
        name: Who answers.
        steps: Where the buttons to go on and back belong.
    """
    verification = state.store().verification
    every = [s for x in items for s in x.statements]
    own = {s: by[name] for s, by in verification.present(every).items() if name in by}
    left = [i for i, x in enumerate(items) if any(s not in own for s in x.statements)]
    key = f"{_AT}.{queue.id}.{name}"
    at = min(int(st.session_state.setdefault(key, left[0] if left else 0)), len(items) - 1)
    with steps:
        _bar(queue, name, key, at, len(items), len(items) - len(left))
    if told := st.session_state.pop(_TOLD, ""):
        shell.note(told)
    item = items[at]
    with st.container(border=True, key="verify_item"):
        picture, answers = st.columns([0.52, 0.48], gap="medium")
        with picture:
            _pictures(item)
            shell.note(f"{at + 1:,} of {len(items):,}")  # no caption: it would say what to see
        with answers:
            seen = verification.numbers(item.statements, name)
            given = _questions(queue, odd, item, own, seen, name)
            open_ = [s for s in item.statements if s not in given]
            key_of_save = f"verify_save-{queue.id}-{at}"
            # No shortcut with Enter or Space: the answer that was clicked last has the focus, and takes them for a click.
            save = st.button("Save and next", type="primary", key=key_of_save, shortcut="S", disabled=not given, width="stretch")
            if open_:
                shell.note(f"{len(open_):,} of {len(item.statements):,} without an answer; they can wait.")
    if save:
        written = verification.answer(given, name, queue_id=queue.id, seen=seen)
        if written.late:
            st.session_state[_TOLD] = f"{written.late:,} of your answers came from another tab meanwhile; those count, look again."
        else:
            st.session_state[key] = _next(at, left, len(items))
        st.rerun()


def _pictures(item: QueueItem) -> None:
    """One image, or the frames of a clip two by two."""
    if len(item.paths) < 2:
        eval_sample.media(item.paths, "datastore", [])
        return
    columns = st.columns(2, gap="small")
    for i, path in enumerate(item.paths):
        with columns[i % 2]:
            eval_sample.media([path], "datastore", [])


def _bar(queue: SavedQueue, name: str, key: str, at: int, size: int, done: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="verify_steps"):
        if st.button("Back", key="verify_back", disabled=at == 0, icon=":material/chevron_left:"):
            st.session_state[key] = at - 1
            st.rerun()
        if st.button("Skip", key="verify_skip", disabled=at + 1 >= size, icon=":material/chevron_right:"):
            st.session_state[key] = at + 1
            st.rerun()
        if st.button("Undo", key="verify_undo", help="Takes back your last saved answers; what you had said before counts again."):
            gone = state.store().verification.undo(queue.id, name)
            media = {s.media for s in gone}
            items = state.store().verification.items(queue.id)
            st.session_state[key] = next((i for i, x in enumerate(items) if x.media in media), at)
            st.session_state[_TOLD] = f"{len(gone):,} answers taken back." if gone else "There is nothing of yours to take back."
            st.rerun()
        with st.container(width="stretch"):
            text = fill("{done} of {size} answered in full by {name}", done=strong(f"{done:,}"), size=f"{size:,}", name=name)
            shell.html(Markup('<p class="od-note">{}</p>{}').format(text, bar(done / size, "done")))


def _questions(
    queue: SavedQueue, odd: Odd, item: QueueItem, own: Mapping[Statement, Answer], seen: Mapping[Statement, int], name: str
) -> dict[Statement, Answer]:
    """The answers that stand on the page; none is chosen in advance."""
    given: dict[Statement, Answer] = {}
    for i, s in enumerate(item.statements):
        if s.attribute == QUESTION_ANSWER:
            eval_sample.question(item.question, item.options, item.answer, "")
            label, line = "Do question and answer fit the image?", Markup("<b>Do question and answer fit the image?</b>")
        else:
            label = f"{verify_text.attribute(odd, s.attribute)}: {plain(s.value)}"
            line = fill("{name}: {value}", name=verify_text.attribute(odd, s.attribute), value=strong(plain(s.value)))
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"od-judge-{i}"):
            with st.container(width="stretch"):
                shell.html(Markup('<p class="od-option">{}</p><p class="od-note">{}</p>').format(line, _meaning(odd, s)))
            chosen = st.segmented_control(
                label,
                ANSWERS,
                default=own.get(s),
                required=True,  # once answered, an answer can be changed; a second click or a key must not lose it
                format_func=verify_text.WORDS.__getitem__,
                key=f"verify-{queue.id}-{s.key[:16]}-{name}-{seen[s]}",
                label_visibility="collapsed",
                width="content",
            )
        if chosen is not None:
            given[s] = chosen
    return given


def _meaning(odd: Odd, s: Statement) -> str:
    """What a labeller should see to give the value."""
    dimension = odd.by_name.get(s.attribute)
    value = dimension.by_name.get(s.value) if dimension is not None else None
    return value.definition if value is not None else ""


def _next(at: int, left: Sequence[int], size: int) -> int:
    """The next item that is not answered in full, else the one after this."""
    later = [i for i in left if i > at] or [i for i in left if i < at]
    return later[0] if later else min(at + 1, size - 1)
