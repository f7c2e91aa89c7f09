"""The set of detections in use, and its report: the one in the address, else this session's, else the last one chosen, else the newest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from core.error_slices.detections import DetectionSet
from core.operators import slices
from core.operators.slice_report import SliceReport, SliceSettings
from core.storage import SavedDetections
from pages.shared import jobs, shell, slice_settings, state
from pages.shared.jobs import Job
from pages.shared.markup import Text, code, fill
from pages.shared.shell import Action

SET, SLICE = "detections", "slice"
"""Query parameters of the set in use, which is also its session key and preference, and of the hypothesis that is shown."""
LIST, ONE, COMPARE, IMPORT = "pages/slices.py", "pages/slice.py", "pages/slice_compare.py", "pages/detections.py"
_KEPT = 8
"""Reports that the process keeps."""
NEEDED = "Needed: ground truth and a model's predictions on the same images; the images themselves where pixels or crops are looked at."


def saved() -> tuple[SavedDetections, ...]:
    """The sets, newest first, without those in the bin."""
    return tuple(state.store().detections.list())


def current() -> SavedDetections | None:
    """The set in use; None if there is none."""
    known = {s.id: s for s in saved()}
    wanted = (st.query_params.get(SET), st.session_state.get(SET), state.store().preferences.get(SET))
    return next((known[w] for w in wanted if w in known), next(iter(known.values()), None))


def choose(set_id: str) -> None:
    """Use a set from now on."""
    st.session_state[SET] = st.query_params[SET] = set_id
    for key in (SLICE, "other", "shown"):  # belong to the set that is left
        st.query_params.pop(key, None)
    state.store().preferences.set(SET, set_id)


def pin(now: SavedDetections) -> None:
    """Name the set in the address, so that it can be shared, and use it on other pages too; say if another one was asked for."""
    wanted = st.query_params.get(SET, "")
    if wanted not in {"", *(s.id for s in saved())}:
        shell.note(fill("{gone} This is {name}.", gone=gone(wanted), name=now.name))
    st.session_state[SET] = now.id
    if wanted != now.id:
        st.query_params[SET] = now.id


def gone(wanted: str) -> Text:
    """What is said of a set that an address asks for, and that cannot be shown."""
    found = state.store().detections.find(wanted)
    if found is not None and found.deleted:
        return fill('The address asks for the detections "{name}", which lie in the bin of the page Detections.', name=found.name)
    return fill('The address asks for the detections "{name}", which are not in this workspace (any more).', name=wanted[:60])


def box(now: SavedDetections) -> None:
    """Choose among several sets."""
    known = {s.id: s.name for s in saved()}
    if len(known) < 2:
        return
    st.session_state["detections_box"] = now.id
    st.selectbox(
        "Detections",
        list(known),
        format_func=known.get,
        key="detections_box",
        width=240,
        on_change=lambda: choose(st.session_state["detections_box"]),
    )


def opened(now: SavedDetections) -> DetectionSet:
    """Images, ground truth and predictions of a set, read once.

    Raises:
        InputError: Its files are gone or changed.
    """
    return _open(state.store().db.name, now.id, now.digest)


@st.cache_resource(show_spinner=False, max_entries=8)
def _open(database: str, set_id: str, digest: str) -> DetectionSet:
    del database, digest  # only keys of the cache
    return slices.open_detections(state.store(), set_id)


def report(now: SavedDetections, settings: SliceSettings, show: Callable[[Job], None] | None = None) -> SliceReport:
    """Everything that is known of the slices of a set, with what people said of them by now.

    The tests are kept as long as neither the settings nor the hypotheses nor their scores change; judgements are read anew each time.

    Args:
        now: The set.
        settings: How everything is computed.
        show: Shows progress; a bar by default.

    Raises:
        InputError: The files of the set are gone, or a setting cannot be used.
    """
    store, step = state.store(), [""]
    key = ("slices", store.db.name, now.id, now.digest, now.name, settings, slices.report_stamp(store, now))
    if (found := _recent().get(key)) is not None:
        return slices.judged(found, slices.judgements(store, now.id))
    place = st.empty()

    def work(tell: jobs.Report) -> SliceReport:
        def told(what: str, share: float) -> None:
            step[0] = what
            tell(round(1000 * share), 1000)

        return slices.slice_report(store, now.id, settings, progress=told)

    computed: SliceReport = jobs.outcome(key, work, show or (lambda job: bar(job, place, step[0])))
    place.empty()
    _recent().put(key, computed)
    jobs.forget(key)  # reports of large sets are large, and fewer of them are kept than of other results
    return slices.judged(computed, slices.judgements(store, now.id))


class _Recent:
    """The reports used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: OrderedDict[Hashable, SliceReport] = OrderedDict()

    def get(self, key: Hashable) -> SliceReport | None:
        with self._lock:
            if key in self._reports:
                self._reports.move_to_end(key)
            return self._reports.get(key)

    def put(self, key: Hashable, report: SliceReport) -> None:
        with self._lock:
            self._reports[key] = report
            while len(self._reports) > _KEPT:
                self._reports.popitem(last=False)


@st.cache_resource(show_spinner=False)
def _recent() -> _Recent:
    return _Recent()


def bar(job: Job, place: Any, step: str = "") -> None:
    """Progress of a report: its present step and how much of all is done."""
    share = min(job.done / job.total, 1.0) if job.total else 0.0
    place.progress(share, text=f"{step or 'Computing the slices'} ({share:.0%} done).")


def provenance(now: SavedDetections) -> Text:
    """Which set the numbers come from."""
    return fill("Detections {name}, digest {d}.", name=now.name, d=code(now.digest[:6]))


def without(name: str, sentence: Text, promise: Text = "") -> None:
    """Say what is needed and offer the demo; the page that imports goes on from there."""
    own = name == "Detections"
    actions = [Action("demo_detections", "Load the demo", "primary" if own else "secondary")]
    if not own:
        actions.append(Action("import_detections", "Import detections", "primary", page=IMPORT))
    with shell.errors_as_card(name, "The demo could not be loaded."):
        if shell.header(name, sentence, NEEDED, actions) == "demo_detections":
            choose(slices.load_demo(state.store()).id)
            st.rerun()
    if promise:
        shell.empty(promise)


def open_slice(found: SliceReport, hypothesis_id: str) -> None:
    """Go to the page of one slice, computed with the same settings."""
    st.switch_page(ONE, query_params={SET: found.saved.id, SLICE: hypothesis_id, **slice_settings.params(found.settings)})
