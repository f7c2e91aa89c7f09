"""The verification queue: samples of tagged media, drawn, opened, answered and reported."""

from __future__ import annotations

import streamlit as st

from core import operators
from core.acquisition.verification import SAMPLE, VerificationReport
from core.errors import OddysseyError
from core.odd import Odd
from core.storage import QueueItem, SavedQueue
from pages.shared import footage, shell, state, verify_item, verify_report, who
from pages.shared import verify_text as text
from pages.shared.markup import Markup, Text, code, fill, strong
from pages.shared.records import RecordList

QUEUE = "queue"
"""Query parameter of the queue that is shown."""
ANSWER, RESULT = PARTS = ("Answer", "Result")
FOOTAGE, TAGGED, MADE = SOURCES = ("The footage in use", "What models tagged here", "Images that were made")
_PART = "verify_part"
_EMPTY = {
    FOOTAGE: "The footage in use has no image on this machine that carries a tag.",
    TAGGED: fill("No model tagged anything here yet; {command} does.", command=code("python -m core tag FOLDER")),
    MADE: "No image was made here yet.",
}


def current() -> SavedQueue | None:
    """The queue in the address, None if there is none, or it is deleted."""
    wanted = st.query_params.get(QUEUE, "")
    return next((q for q in state.store().verification.list() if q.id == wanted), None)


def found(queue: SavedQueue | None) -> VerificationReport | None:
    """What came of a queue so far."""
    if queue is None:
        return None
    store = state.store()
    return _report(store.db.name, queue.id, store.verification.stamp())


def finding() -> tuple[Text, Text]:
    """Headline and provenance of the view. Whoever is answering is not told what others said."""
    if (queue := current()) is not None and st.session_state.get(_PART, ANSWER) == ANSWER:
        return text.answering(queue), text.provenance(None)
    queue = queue or next(iter(state.store().verification.list()), None)
    report = found(queue)
    return text.headline(queue, report), text.provenance(report)


@st.cache_data(show_spinner=False, max_entries=8)
def _report(database: str, queue_id: str, stamp: int) -> VerificationReport:
    del database, stamp  # only keys of the cache: an answer more gives another stamp
    return operators.verification_report(state.store(), queue_id)


def show(odd: Odd) -> None:
    """The queues, or the one that is open.

    Args:
        odd: Whose values are judged in a new queue.
    """
    queue = current()
    if queue is None:
        _overview(odd)
        return
    own = state.store().odds.get(queue.odd_hash)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="verify_bar"):
        if st.button("All queues", icon=":material/arrow_back:", type="tertiary", key="verify_close"):
            st.query_params.pop(QUEUE, None)
            st.rerun()
        part = st.segmented_control("Part", PARTS, default=ANSWER, required=True, key=_PART, label_visibility="collapsed")
    if part == RESULT:
        report = found(queue)
        if report is not None:
            verify_report.show(queue, own, report)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width=190):
            name = who.ask("verify_who")
        steps = st.container(width="stretch")
    if not name:
        shell.empty("Say who you are first: answers of several people stand side by side and are compared.")
        return
    verify_item.show(queue, own, _items(state.store().db.name, queue.id), name, steps)


@st.cache_data(show_spinner=False, max_entries=8)
def _items(database: str, queue_id: str) -> tuple[QueueItem, ...]:
    del database  # only a key of the cache; a saved queue never changes
    return state.store().verification.items(queue_id)


def _overview(odd: Odd) -> None:
    records = RecordList(state.store().verification, "verify", "-queue", "lies in the bin; what people said stays.")
    records.show_error()
    records.undo()
    queues = state.store().verification.list()
    if not queues:
        shell.note("Draw a sample of tagged images below; then several people say for each tag whether it is right.")
    for q in queues:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"od-queue-{q.id}"):
            with st.container(width="stretch"):
                shell.html(Markup('<p class="od-note">{}</p>').format(_line(q)))
            if st.button("Open", key=f"open-queue-{q.id}"):
                st.query_params[QUEUE] = q.id
                st.rerun()
            records.rename_and_delete(q)
    with shell.card("Draw a sample", "balanced over the values of each dimension", key="verify_draw"):
        _form(odd)
    records.bin(lambda q: fill("{name}, {n}", name=strong(q.name), n=f"{q.size:,} images or clips"))


def _line(q: SavedQueue) -> Text:
    source = q.manifest.get("source", {}).get("kind", "tags")
    return fill(
        "{name}: {n} images or clips from {source}, drawn {at} UTC",
        name=strong(q.name),
        n=f"{q.size:,}",
        source=str(source)[:1].lower() + str(source)[1:],
        at=f"{q.created_at:%Y-%m-%d %H:%M}",
    )


def _form(odd: Odd) -> None:
    store = state.store()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        source = st.selectbox("From", SOURCES, key="verify_source", width=240)
        size = st.number_input("Images or clips", 1, 5_000, SAMPLE, key="verify_size", width=140)
        seed = st.number_input("Seed", 0, 2**31, 0, key="verify_seed", width=100, help="The same seed draws the same sample.")
        free = store.verification.free_name(f"Check {len(store.verification.list(include_deleted=True)) + 1}")
        name = st.text_input("Name", free, key=f"verify_name-{free}", max_chars=120, width=220)
        go = st.button("Draw", type="primary", key="verify_go")
    shell.note(
        "Every value comes as often as it can, so that rare ones are checked too; "
        "shares are therefore those of the sample, not of all images."
    )
    if not go:
        return
    try:
        items = _pool(source, odd, int(size), int(seed))
        if not items:
            shell.note(_EMPTY[source])
            return
        told = {"kind": source, **({"name": f.name, "digest": f.digest} if source == FOOTAGE and (f := footage.current()) else {})}
        saved = operators.draw_queue(store, name, items, odd, size=int(size), seed=int(seed), what=told, who=who.name())
    except OddysseyError as e:
        shell.error_card(e, "No sample was drawn.")
        return
    st.query_params[QUEUE] = saved.id
    st.rerun()


def _pool(source: str, odd: Odd, size: int, seed: int) -> tuple[QueueItem, ...]:
    if source == FOOTAGE:
        opened = footage.opened()
        return operators.footage_items(opened, odd, size, seed) if opened is not None else ()
    return operators.tagged_items(state.store(), odd) if source == TAGGED else operators.made_items(state.settings().media, odd)
