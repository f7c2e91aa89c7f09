"""The slice that was verified last: remembered when a page of slices shows it, told on Home without computing anything."""

from __future__ import annotations

from core.operators.slice_report import SliceReport
from core.storage import Store
from pages.shared import links, shell, slice_sets, slice_settings, slice_text, state
from pages.shared.markup import count, fill

VERIFIED = "slices.verified"
"""Preference that holds the slice; None once the same tests verify none any more."""


def keep(store: Store, report: SliceReport) -> None:
    """Remember the first verified slice of a report; under the calibrated rule alone, since chance passes the one as printed."""
    if report.settings.test.mode != "calibrated":
        return
    of = {"set": report.saved.id, "params": slice_settings.params(report.settings)}
    found = slice_text.with_verdict(report, "verified")
    if found and (t := found[0].tested) is not None:
        said = str(slice_text.finding(found[0]).striptags())
        of_n = count(len(report.tested), "hypothesis", "hypotheses")
        basis = f"in {slice_text.interval(t.inside)}; elsewhere {slice_text.interval(t.outside)}; one of {of_n} tested"
        store.preferences.set(VERIFIED, {**of, "slice": found[0].hypothesis.id, "said": said, "basis": basis})
        return
    kept = store.preferences.get(VERIFIED)
    if isinstance(kept, dict) and {k: kept.get(k) for k in of} == of:
        store.preferences.set(VERIFIED, None)


def show() -> None:
    """A line with a link to the slice; nothing where there is none, or where its detections are gone."""
    kept = state.store().preferences.get(VERIFIED)
    saved = next((s for s in slice_sets.saved() if isinstance(kept, dict) and s.id == kept.get("set")), None)
    if saved is None:
        return
    said = str(kept["said"])
    params = {slice_sets.SET: saved.id, slice_sets.SLICE: kept["slice"], **kept["params"]}
    to = links.link(f"{said[:1].upper()}{said[1:]}", slice_sets.ONE, params)
    shell.section("Last verified slice", "of synthetic demo data" if saved.synthetic else "")
    shell.note(fill("{to} ({basis}; detections {name}).", to=to, basis=kept["basis"], name=saved.name))
    links.follow("od-last-slice")
