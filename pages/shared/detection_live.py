"""A detector run on the images of a set: weights, classes, progress with a way out, and the result beside the ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from core.digest import sha256_json
from core.error_slices.detect import Detected
from core.errors import OddysseyError
from core.operators import slices
from core.operators.detection_sources import LoadedDetector, beside_truth, prepare_detector, run_detector
from core.storage import SavedDetections
from pages.shared import detection_classes, detection_list, jobs, shell, slice_sets, state, who
from pages.shared.markup import count, fill, strong

_LIVE = "detections.live"
"""Session key of what is loaded."""


@dataclass(frozen=True)
class Spec:
    """What runs on what.

    Attributes:
        set_id: Whose images and ground truth.
        weights: File or name.
    """

    set_id: str
    weights: str

    @property
    def key(self) -> str:
        """Of both."""
        return sha256_json([self.set_id, self.weights])[:16]


def form(current: SavedDetections | None) -> None:
    """Weights, the set that they run on, and the steps to a new set."""
    known = {s.id: s for s in slice_sets.saved() if s.task != "classification"}
    if not known:
        shell.empty(
            "Import ground truth with its images first, without predictions if there are none yet; then a detector can run on them."
        )
        return
    with shell.card("Run a detector", "weights that ultralytics reads, on the images of a set, beside its ground truth", key="live"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            first = list(known).index(current.id) if current is not None and current.id in known else 0
            set_id = st.selectbox(
                "Images and ground truth of", list(known), first, format_func=lambda i: known[i].name, key="live_set", width=280
            )
            weights = st.text_input("Weights", key="live_weights", placeholder="path/to/best.pt or yolo11n.pt", width=300).strip()
            if st.button("Load the weights", type="primary", key="live_load", disabled=not weights):
                st.session_state[_LIVE] = Spec(set_id, weights)
        shell.note("Weights are Python pickles: whoever made them can run code on this machine. Load only those that you trust.")
    spec: Spec | None = st.session_state.get(_LIVE) or _begun()
    if spec is None:
        return
    if spec.set_id not in known:
        st.session_state.pop(_LIVE, None)
        return
    job = jobs.known(_run_key(spec))
    if job is not None and not job.finished.is_set():
        _running(spec, known[spec.set_id].name)
    elif job is not None and job.error is None:
        _found(spec, known[spec.set_id], job.result)
    else:
        if job is not None and not isinstance(job.error, OddysseyError):
            raise job.error  # type: ignore[misc]
        if job is not None:
            shell.error_card(job.error)  # type: ignore[arg-type]
        _loaded(spec, known[spec.set_id])


def _run_key(spec: Spec) -> tuple[str, ...]:
    return ("run detector", state.store().db.name, spec.key)


@st.cache_resource(show_spinner=False)
def _runs() -> dict[str, Spec]:
    """By workspace the run that was begun last: a page that is loaded anew, or in another tab, finds it again."""
    return {}


def _begun() -> Spec | None:
    """A run that goes on, or whose result nobody has kept or dropped."""
    spec = _runs().get(state.store().db.name)
    return spec if spec is not None and jobs.known(_run_key(spec)) is not None else None


def _load_key(spec: Spec) -> tuple[str, ...]:
    return ("load detector", state.store().db.name, spec.key)


def _prepared(spec: Spec, saved: SavedDetections) -> LoadedDetector:
    """The detector, loaded once, with the mapping as it is now."""
    truth, settings = slice_sets.opened(saved), state.settings()
    place = st.empty()

    def show(job: jobs.Job) -> None:
        place.progress(0.0, text="Loading the weights.")

    loaded: LoadedDetector = jobs.outcome(_load_key(spec), lambda _: prepare_detector(settings, truth, spec.weights), show)
    place.empty()
    given = detection_classes.given(spec.key)
    return prepare_detector(settings, truth, spec.weights, given, loaded.detector) if given else loaded


def _loaded(spec: Spec, saved: SavedDetections) -> None:
    with shell.errors_as_card(changed="Nothing was run."):
        loaded = _prepared(spec, saved)
    d = loaded.detector
    sub = f"{d.task}, {count(len(d.classes), 'class', 'classes')}"
    with shell.card(fill("{w} is loaded", w=d.name), sub, key="live_loaded"):
        detection_classes.editor(loaded.classes, spec.key, counted=False)
        if loaded.without_file:
            shell.note(f"{count(loaded.without_file, 'image')} of the set without a file here, left out.")
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            confidence = st.number_input(
                "Least confidence kept",
                0.0,
                1.0,
                0.01,
                0.01,
                key="live_confidence",
                width=170,
                help="Low, so that the cut can be moved later.",
            )
            size = st.number_input("Image size", 32, 4096, 640, 32, key="live_size", width=130, help="Longer side for the model, px.")
            if st.button(f"Run on {count(len(loaded.images), 'image')}", type="primary", key="live_run"):
                _runs()[state.store().db.name] = spec
                jobs.begin(_run_key(spec), lambda job: _run(job, loaded, confidence, size))
                st.rerun()
            if st.button("Not this one", key="live_drop"):
                _forget(spec)


def _run(job: jobs.Job, loaded: LoadedDetector, confidence: float, size: int) -> Detected:
    return run_detector(loaded, confidence=confidence, image_size=size, progress=job.report, cancel=job.stopping.is_set)


@st.fragment(run_every=0.7)
def _running(spec: Spec, name: str) -> None:
    job = jobs.known(_run_key(spec))
    if job is None or job.finished.is_set():
        st.rerun()
    with shell.card("The detector runs", fill("{w} on the images of {n}", w=Path(spec.weights).name, n=name), key="live_running"):
        share = min(job.done / job.total, 1.0) if job.total else 0.0
        st.progress(share, text=f"{job.done:,} of {count(job.total, 'image')}." if job.total else "Getting ready.")
        if st.button("Stop", key="live_stop", disabled=job.stopping.is_set(), help="What was found so far can be kept."):
            job.stopping.set()


def _found(spec: Spec, saved: SavedDetections, detected: Detected) -> None:
    with shell.errors_as_card(changed="Nothing was kept."):
        content = beside_truth(slice_sets.opened(saved), detected, detection_classes.given(spec.key) or None)
    title = fill("{m} found {n}", m=detected.model, n=count(len(detected.predictions), "prediction"))
    with shell.card(title, f"on {count(len(detected.images), 'image')}", key="live_found"):
        if detected.not_reached:
            were = "image was not reached; it is" if detected.not_reached == 1 else "images were not reached; they are"
            shell.note(fill("Stopped: {n} {were} left out with the ground truth.", n=strong(f"{detected.not_reached:,}"), were=were))
        for f in detected.failed[:10]:
            shell.note(fill("{name}: {why}", name=strong(f.name), why=f.why))
        detection_list.told(content.report)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            name = st.text_input("Name of the set", key="live_name", placeholder=content.name, max_chars=120, width=280)
            person = who.ask("live_who")
            if st.button("Keep", type="primary", key="live_keep"):
                with shell.errors_as_card(changed="Nothing was kept."):
                    kept = slices.keep_detections(state.store(), content, name=" ".join(name.split()), who=person)
                _kept(spec, kept)
            if st.button("Drop it", key="live_again", help="Run again, or load other weights"):
                _over(spec)
                st.rerun()


def _kept(spec: Spec, kept: Any) -> None:
    _over(spec)
    st.session_state.pop(_LIVE, None)
    jobs.forget(_load_key(spec))
    detection_classes.forget(spec.key)
    slice_sets.choose(kept.id)
    st.session_state[f"detections-report-{kept.id}"] = True
    st.session_state[detection_list.NEXT] = "Sets"
    st.rerun()


def _over(spec: Spec) -> None:
    jobs.forget(_run_key(spec))
    _runs().pop(state.store().db.name, None)


def _forget(spec: Spec) -> None:
    st.session_state.pop(_LIVE, None)
    jobs.forget(_load_key(spec))
    detection_classes.forget(spec.key)
    st.rerun()
