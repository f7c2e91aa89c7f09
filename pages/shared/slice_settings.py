"""How slices are computed: kept in the session and in the address, where everything that is not usual stands, so that a link says all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from core.error_slices.verification.settings import Mode
from core.operators.slice_report import Halves, SliceSettings
from pages.shared import shell
from pages.shared.markup import count

_KEY = "slices.settings"
MODES: Mapping[Mode, str] = {"calibrated": "Calibrated", "spearman": "Binned Spearman", "paper": "As printed"}
"""Rules that decide; the one as printed says which windows it uses."""
HALVES: Mapping[Halves, str] = {"all": "All images", "verification": "The verification half"}
Part = Literal["units", "test", ""]


@dataclass(frozen=True)
class _Number:
    part: Part
    label: str
    low: float
    high: float
    step: float
    help: str


_NUMBERS: Mapping[str, _Number] = {
    "confidence": _Number("units", "Confidence cut", 0.0, 1.0, 0.05, "Predictions below it are left out before they are matched."),
    "iou": _Number("units", "IoU of a match", 0.05, 1.0, 0.05, "Least overlap of a prediction with the ground truth that it finds."),
    "background_iou": _Number("units", "IoU of background", 0.0, 1.0, 0.05, "Below it a prediction touches nothing."),
    "most_detections": _Number("units", "Predictions an image", 1, 10_000, 1, "The best ones; others are left out and counted."),
    "gamma": _Number("test", "γ, score of the slice", 0.01, 0.99, 0.05, "A unit whose matching score lies above it is in the slice."),
    "tau": _Number("test", "τ, least slope", 0.0, 10.0, 0.05, "Least slope of the error over the matching score."),
    "window": _Number(
        "test", "Units in a window as printed", 5, 10_000, 1, "The paper gives no number, but discards windows with fewer than 5."
    ),
    "stride": _Number("test", "Units between windows", 1, 1_000, 1, "Of the rule as printed."),
    "fdr": _Number("test", "False discovery rate", 0.001, 0.5, 0.01, "Level of Benjamini-Hochberg over all hypotheses tested."),
    "flips": _Number("test", "Random sign flips", 99, 99_999, 100, "Behind each p-value; more make small ones finer, and take longer."),
    "least_units": _Number("test", "Least units in the slice", 2, 100_000, 5, "With fewer, nothing is decided."),
    "least_images": _Number("test", "Least images", 2, 100_000, 1, "With fewer, nothing is decided."),
    "least_errors": _Number("test", "Least errors, and correct units", 0, 100_000, 1, "With fewer, nothing is decided."),
    "least_lift": _Number("test", "Least lift of an elevated slice", 0.0, 1.0, 0.01, "Error rate inside less that of all units."),
    "seed": _Number("test", "Seed", 0, 2**31 - 1, 1, "Of the sign flips."),
}
_FLAGS: Mapping[str, tuple[str, str]] = {
    "fp_includes_loc": ("Badly placed predictions are false alarms", "Otherwise they are tested on their own, by their IoU."),
    "missed_only": (
        "Missed means that nothing explains it",
        "Leaves out what a prediction of another class, or a badly placed one, explains.",
    ),
}
USUAL = SliceSettings()


def now() -> SliceSettings:
    """The settings in use: of the address, else of this session, else the usual ones. What an address gets wrong is left as usual."""
    said = {k: v for k in (*_NUMBERS, *_FLAGS, "mode", "halves") if (v := st.query_params.get(k)) is not None}
    if not said:
        kept: SliceSettings = st.session_state.get(_KEY, USUAL)
        return kept
    found = USUAL
    for name, text in said.items():
        if (value := _read(name, text)) is not None:
            found = _with(found, name, value)
    return found


def _read(name: str, text: str) -> Any:
    if name in _NUMBERS:
        n, whole = _NUMBERS[name], isinstance(_of(USUAL, name), int)
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            return None
        return value if n.low <= value <= n.high else None
    if name in _FLAGS:
        return {"1": True, "0": False}.get(text)
    return text if text in (MODES if name == "mode" else HALVES) else None


def _of(s: SliceSettings, name: str) -> Any:
    part = _NUMBERS[name].part if name in _NUMBERS else "test" if name == "mode" else ""
    return getattr(getattr(s, part) if part else s, name)


def _with(s: SliceSettings, name: str, value: Any) -> SliceSettings:
    part = _NUMBERS[name].part if name in _NUMBERS else "test" if name == "mode" else ""
    if part == "units":
        return replace(s, units=replace(s.units, **{name: value}))
    if part == "test":
        return replace(s, test=replace(s.test, **{name: value}))
    return replace(s, **{name: value})


def use(s: SliceSettings) -> None:
    """Compute with these settings from now on, and say in the address what is not usual."""
    st.session_state[_KEY] = s
    wanted = params(s)
    for name in (*_NUMBERS, *_FLAGS, "mode", "halves"):
        if name in wanted:
            st.query_params[name] = wanted[name]
        else:
            st.query_params.pop(name, None)


def params(s: SliceSettings) -> dict[str, str]:
    """What is not usual, as query parameters."""
    said = {k: _of(s, k) for k in (*_NUMBERS, *_FLAGS, "mode", "halves") if _of(s, k) != _of(USUAL, k)}
    return {k: str(int(v)) if isinstance(v, bool) else str(v) for k, v in said.items()}


def pin() -> SliceSettings:
    """The settings in use, kept for other pages of this session and named in the address."""
    found = now()
    use(found)
    return found


def _keep(name: str, key: str) -> Callable[[], None]:
    def changed() -> None:
        value = st.session_state[key]
        if value is not None:
            use(_with(now(), name, value))

    return changed


def rule_box(s: SliceSettings) -> None:
    """Which rule decides."""
    names = {**MODES, "paper": f"As printed, W = {s.test.window}"}
    st.session_state["slice_mode"] = s.test.mode
    st.selectbox(
        "Verdict rule",
        list(names),
        format_func=names.__getitem__,
        key="slice_mode",
        width=180,
        on_change=_keep("mode", "slice_mode"),
    )


def controls(s: SliceSettings) -> None:
    """All settings behind a button that says whether they are the usual ones."""
    changed = len(params(s))
    with st.popover(f"Settings ({changed} changed)" if changed else "Settings", key="slice_settings"):
        for title, part in (("Units", "units"), ("Tests", "test")):
            shell.section(title)
            columns = st.columns(2, gap="small")
            for i, (name, n) in enumerate((k, n) for k, n in _NUMBERS.items() if n.part == part):
                with columns[i % 2]:
                    _number(s, name, n)
            if part == "units":
                for name, (label, what) in _FLAGS.items():
                    key = f"slice_{name}"
                    st.session_state[key] = _of(s, name)
                    st.checkbox(label, key=key, help=what, on_change=_keep(name, key))
        st.session_state["slice_halves"] = s.halves
        st.segmented_control(
            "Tested on",
            list(HALVES),
            format_func=HALVES.__getitem__,
            required=True,
            key="slice_halves",
            on_change=_keep("halves", "slice_halves"),
            help="Images of the discovery half stay free for repair when the tests use the verification half alone.",
        )
        if changed and st.button("Back to the usual settings", key="slice_usual"):
            use(USUAL)
            st.rerun()


def _number(s: SliceSettings, name: str, n: _Number) -> None:
    key, value = f"slice_{name}", _of(s, name)
    whole = isinstance(value, int)
    st.session_state[key] = value
    low, high, step = (int(n.low), int(n.high), int(n.step)) if whole else (n.low, n.high, n.step)
    st.number_input(n.label, low, high, step=step, key=key, help=n.help, on_change=_keep(name, key), format=None if whole else "%.3g")


def in_words(s: SliceSettings, boxes: bool = True) -> str:
    """The settings that decide most, for the line below the headline; without those of boxes where there are none."""
    u, t = s.units, s.test
    rule = {
        "calibrated": f"calibrated rule, {t.fdr:.3g} false discovery rate",
        "spearman": "binned Spearman rule",
        "paper": f"rule as printed, windows of {count(t.window, 'unit')}, τ {t.tau:g}",
    }[t.mode]
    parts = [*([f"confidence ≥ {u.confidence:g}", f"IoU ≥ {u.iou:g}"] if boxes else []), f"γ {t.gamma:g}", rule]
    if s.halves != "all":
        parts.append("verification half only")
    if s.fp_includes_loc and boxes:
        parts.append("badly placed predictions count as false alarms")
    if s.missed_only and boxes:
        parts.append("missed means that nothing explains it")
    text = ", ".join(parts)
    return f"{text[0].upper() if text[0].isascii() else text[0]}{text[1:]}."
