"""What is in a slice, crop by crop: tabs, a page of crops at a time, clicks, and what the clicks say of the matcher and of gamma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from core.error_slices import gallery as crops
from core.error_slices.calibrate import GammaAdvice, Settled, calibrate, precision_of, settle
from core.error_slices.detections import IntArray
from core.error_slices.gallery import Tab
from core.operators import slices
from core.operators.slice_report import SliceReport, SliceRow
from core.storage import Judgement
from pages.shared import shell, slice_settings, state, who
from pages.shared import slices as component
from pages.shared.annotator import publish
from pages.shared.markup import Text, count, fill, join, strong
from pages.shared.slices import files, outbox
from pages.shared.slices.outbox import Told

SIZE = 24
"""Crops of a page."""
TAB = "crops"
"""Query parameter of the tab."""
_NONE: Mapping[Tab, str] = {
    "top": "No unit lies in this slice: none has a score above γ.",
    "around": "No unit has a score.",
    "counter": "Every unit of this slice has the error.",
    "misses": "No error lies outside this slice.",
    "mixed": "No unit lies in this slice: none has a score above γ.",
}


def show(report: SliceReport, row: SliceRow) -> None:
    """The gallery of a slice that has scores, below the name of whoever looks at it."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="od-crops-head"):
        with st.container(width="stretch"):
            shell.section("What is in the slice", _LEGEND[row.hypothesis.error])
            shell.note(fill("Does each crop fit the statement? {text}", text=strong(row.hypothesis.text)))
        me = who.ask("slice_who")
    _gallery(report, row, me)


@st.fragment
def _gallery(report: SliceReport, row: SliceRow, me: str) -> None:
    """Tabs, crops and what the clicks say; every press comes back to this part of the page alone."""
    set_id, name = report.saved.id, row.hypothesis.id
    key = f"gallery-{set_id}"
    told_key = f"{key}.told"

    def receive() -> None:
        st.session_state[told_key] = outbox.receive(state.store(), set_id, component.state_of(key, "outbox"))

    gamma = report.settings.test.gamma
    n = {t: len(_order(report.digest, name, t, gamma, report, row)) for t in crops.TABS}
    if "crops_tab" not in st.session_state:  # labels hold counts, so the address holds the key of the tab instead
        st.session_state["crops_tab"] = asked if (asked := st.query_params.get(TAB)) in crops.TABS else "top"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        tab: Tab = st.segmented_control(
            "Which crops",
            list(crops.TABS),
            format_func=lambda t: crops.TABS[t][0] if t in ("around", "mixed") else f"{crops.TABS[t][0]} {n[t]:,}",
            required=True,
            key="crops_tab",
            label_visibility="collapsed",
        )
        order = crops.TABS[tab][1]
        shell.note(f"{order[:1].upper()}{order[1:]}.")
    if tab != "top":
        st.query_params[TAB] = tab
    elif TAB in st.query_params:  # an address that only repeats what is usual would cost a press of the back button
        del st.query_params[TAB]
    told: Told = st.session_state.get(told_key, Told())
    said = slices.judgements(state.store(), set_id)
    at = _order(report.digest, name, tab, gamma, report, row)
    own = {j.unit_id: j.verdict for j in said if j.who == me and j.hypothesis_id == name and j.unit_id}
    data = data_down(report, row, tab, at, own, told, component.state_of(key, "page"), component.state_of(key, "frame"))
    component.gallery({"serial": state.serial(key), "who": me, **data}, key, receive)
    _clicks(report, row, said)


@st.cache_data(show_spinner=False, max_entries=256)
def _order(digest: str, name: str, tab: Tab, gamma: float, _report: SliceReport, _row: SliceRow) -> IntArray:
    del digest, name  # only keys of the cache
    if _row.population is None or _row.scores is None:
        raise ValueError("Only what has scores has an order of crops.")
    return crops.order(tab, _row.population, _report.units.ids, _row.scores.c, _row.scores.logit, gamma)


def data_down(
    report: SliceReport, row: SliceRow, tab: Tab, at: IntArray, own: Mapping[str, str], told: Told, asked: Any, frame: Any
) -> dict[str, Any]:
    """What the component is told: one page of crops with the boxes of their images.

    Args:
        report: What the row is of.
        row: The hypothesis.
        tab: Which tab.
        at: Positions in the population of the row, in the order of the tab.
        own: What the person said before, by unit.
        told: What became of the last outbox.
        asked: Page that the component asks for.
        frame: Image that it asks for.
    """
    if row.population is None or row.scores is None:
        raise ValueError("Only what has scores has crops.")
    units, digest = report.units, report.saved.digest
    pages = max(1, -(-len(at) // SIZE))
    page = _page(asked, tab, row.hypothesis.id, pages)
    here = at[page * SIZE : (page + 1) * SIZE].tolist()
    members = [int(row.population.units[k]) for k in here]
    images = {int(units.image[u]) for u in members}
    sizes = {i: files.size_of(units.detections.images[i]) for i in images}
    rects = [crops.crop_rect(units.xyxy[u].tolist(), *sizes[int(units.image[u])], units.side[u] == "image") for u in members]
    folder = files.root(state.settings())
    laid = files.put_crops(folder, digest, [(units.detections.images[int(units.image[u])], r) for u, r in zip(members, rects, strict=True)])
    shown = []
    for k, u, rect, (url, why) in zip(here, members, rects, laid, strict=True):
        shown.append(
            {
                "id": units.ids[u],
                "image": int(units.image[u]),
                "side": str(units.side[u]),
                "box": [round(float(v), 2) for v in units.xyxy[u]],
                "rect": list(rect),
                "url": url,
                "why": why,
                "score": round(float(row.scores.c[k]), 6),
                "verdict": own.get(units.ids[u], ""),
                **crops.caption(units, u, float(row.population.loss[k]), float(row.scores.c[k])),
            }
        )
    return {
        "set": report.saved.id,
        "hypothesis": row.hypothesis.id,
        "base": publish(component.FILES, folder),
        "tab": tab,
        "page": page,
        "pages": pages,
        "size": SIZE,
        "total": len(at),
        "gamma": report.settings.test.gamma,
        "crops": shown,
        "images": {
            str(i): {
                "name": units.detections.images[i].file_name,
                "w": sizes[i][0],
                "h": sizes[i][1],
                "boxes": crops.boxes_of(units, i),
            }
            for i in images
        },
        "frame": _frame(frame, images, report),
        "none": _NONE[tab],
        "acked": list(told.acked),
        "conflicts": [{"uid": uid, "text": text} for uid, text in told.conflicts],
        "error": told.error,
    }


def _page(asked: Any, tab: Tab, name: str, pages: int) -> int:
    """The page that is asked for, if it is one of this tab of this slice; else the first."""
    if not isinstance(asked, Mapping) or asked.get("tab") != tab or asked.get("hypothesis") != name:
        return 0
    n = asked.get("n")
    return min(max(int(n), 0), pages - 1) if isinstance(n, int | float) else 0


def _frame(asked: Any, images: set[int], report: SliceReport) -> dict[str, Any] | None:
    """The whole image that is asked for, laid out, if a crop of this page is of it."""
    if not isinstance(asked, int | float) or int(asked) not in images:
        return None
    url, why = files.put_frame(files.root(state.settings()), report.saved.digest, report.units.detections.images[int(asked)])
    return {"image": int(asked), "url": url, "why": why}


_LEGEND = {
    "FN": "M missed, T found; thin blue: predictions",
    "FP": "B, C, D, X false alarms, T right; dashed white: ground truth",
    "LOC": "L badly placed, T right; dashed white: ground truth",
    "CLS": "C wrong class, T right; dashed white: ground truth",
    "IMAGE": "I loss above a half, T below; dashed white: ground truth, thin blue: predictions",
    "SEG": "S loss above a half, T below; dashed white: ground truth, thin blue: predictions",
}
"""What letters and lines of crops say."""


def _clicks(report: SliceReport, row: SliceRow, said: Sequence[Judgement]) -> None:
    """How often the matcher is right by the clicks, and gamma from them."""
    settled = settle(j for j in said if j.hypothesis_id == row.hypothesis.id)
    inside, outside = split(report, row, settled)
    p, q = precision_of(inside), precision_of(outside)
    parts: list[Text] = []
    if p.value is None:
        parts.append("No crop of this slice has been judged yet.")
    else:
        text = "Matcher precision {v} ({low} to {high}, {fits} of {n} judged crops in the slice fit)."
        parts.append(fill(text, v=f"{p.value:.0%}", low=f"{p.low:.0%}", high=f"{p.high:.0%}", fits=p.fits, n=p.n))
        parts.append("It speaks of the crops that were judged; for the slice as a whole, judge those of the tab Mixed.")
    if p.unsure + q.unsure:
        parts.append(f"{count(p.unsure + q.unsure, 'crop')} unsure or split between people, left out.")
    if q.n:
        parts.append(f"Outside the slice {q.fits:,} of {count(q.n, 'judged crop')} {'fits' if q.fits == 1 else 'fit'} as well.")
    advice, shared = advised(report, row, said)
    gamma = report.settings.test.gamma
    if advice.source == "default":
        parts.append(f"γ = {gamma:g} {'is the default' if gamma == slice_settings.USUAL.test.gamma else 'as set'}: {advice.why}.")
    shell.note(join(parts, " "))
    if advice.source == "clicks" and advice.above.value is not None and round(advice.value, 3) != round(gamma, 3):
        of = f"{advice.clicks:,} clicks" + (f" on {count(shared, 'hypothesis', 'hypotheses')} with the same matcher" if shared > 1 else "")
        above = advice.above
        shell.note(
            fill(
                "By {of}, the matcher is right 7 times in 10 from {g} on; {v} of those judged above it fit ({low} to {high}, n = {n}).",
                of=of, g=f"{advice.value:.3g}", v=f"{above.value:.0%}", low=f"{above.low:.0%}", high=f"{above.high:.0%}", n=above.n,
            )
        )  # fmt: skip
        if st.button(f"Use γ = {advice.value:.3g} for all slices", key="use_gamma"):
            now = slice_settings.now()
            slice_settings.use(replace(now, test=replace(now.test, gamma=round(advice.value, 4))))
            st.rerun()


def split(report: SliceReport, row: SliceRow, settled: Mapping[str, Settled]) -> tuple[list[Settled], list[Settled]]:
    """What people settled on of units in the slice, and of scored units outside of it."""
    c = scores_of(report, row, list(settled))
    gamma = report.settings.test.gamma
    inside = [v for v, x in zip(settled.values(), c, strict=True) if x > gamma]
    return inside, [v for v, x in zip(settled.values(), c, strict=True) if x <= gamma]


def scores_of(report: SliceReport, row: SliceRow, units: Sequence[str]) -> np.ndarray:
    """Scores of units by their ids; NaN for units that the hypothesis is not about (any more)."""
    out = np.full(len(units), np.nan)
    if row.population is None or row.scores is None or not units:
        return out
    wanted = {u: k for k, u in enumerate(units)}
    ids = report.units.ids
    for position, unit in enumerate(row.population.units.tolist()):
        k = wanted.get(ids[unit])
        if k is not None:
            out[k] = row.scores.c[position]
    return out


def advised(report: SliceReport, row: SliceRow, said: Sequence[Judgement]) -> tuple[GammaAdvice, int]:
    """Gamma from all clicks on scores of the same matcher or model, and on how many hypotheses they were."""
    clicked = {j.hypothesis_id for j in said if j.unit_id}
    same = [
        r
        for r in report.rows
        if r.hypothesis.id in clicked and r.scores is not None and row.scores is not None and r.scores.matcher == row.scores.matcher
    ]
    c: list[float] = []
    fits: list[bool] = []
    used = 0
    for r in same:
        settled = {u: v for u, v in settle(j for j in said if j.hypothesis_id == r.hypothesis.id).items() if v != "unsure"}
        c += scores_of(report, r, list(settled)).tolist()
        fits += [v == "accept" for v in settled.values()]
        used += bool(settled)
    return calibrate(np.array(c, np.float64), np.array(fits, bool), default=report.settings.test.gamma), used
