"""How far labelling is, what stands out about people's labels, and how long labels take."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from markupsafe import Markup

from core.errors import OddysseyError
from core.labels.agreement import Interval
from core.labels.label_time import LabelTimes
from core.operators import labelling
from core.operators.labelling import FLAGS, PersonProgress, Progress, Share
from core.plots.threat_rates import time_histogram
from core.storage import SavedCaseSet, Store
from core.storage.label_events import LABELS, Annotator
from pages.shared import charts, label_start, shell
from pages.shared.markup import Text, bar, chip, code, count, fill, table
from pages.shared.shell import Tile


def progress(store: Store, saved: SavedCaseSet, found: Progress, who: Annotator | None) -> None:
    """Cases by number of labels, and each person under a code."""
    enough = sum(n for k, n in found.by_labels.items() if k >= 3)
    none = found.by_labels.get(0, 0)
    shell.tiles(
        [
            Tile("Cases to label", f"{found.cases:,}", f"{found.left_out:,} more left out by a flag"),
            Tile("With three labels or more", f"{enough:,}", f"of {found.cases:,}"),
            Tile("Without a label", f"{none:,}", f"of {found.cases:,}"),
            Tile("People", f"{sum(bool(p.labels) for p in found.people):,}", "with a label in this set"),
        ]
    )
    shell.note(", ".join(f"{count(n, 'case')} with {count(k, 'label')}" for k, n in sorted(found.by_labels.items())) + ".")
    _rounds(store, saved)
    if not found.people:
        shell.empty("Nobody has begun yet.")
        return
    shell.section("People", "under codes of this set; hidden repeats and known answers are among the places")
    columns: list[Text] = ["Person", "Done", "", *LABELS, "Median", "Same again", "Known answers", "Longest run", "Calibration", "Labels"]
    shell.html(table(columns, [_line(p) for p in found.people], right=(1, 3, 4, 5, 6, 7, 8, 9)))
    shell.note("Same again: hidden repeats with the same label. Known answers: hidden cases with a known answer that got it. 95 % Wilson.")
    for p in found.people:
        if set(p.checks.flags) - set(p.cleared):
            _flagged(store, saved, p, who)


def _rounds(store: Store, saved: SavedCaseSet) -> None:
    """Whether practice comes before labelling."""
    now = label_start.wanted(store, saved.id)
    wanted = st.toggle(
        "Training and calibration before labelling", now, key=f"rounds-{saved.id}", help="For everybody who labels this set."
    )
    if wanted != now:
        store.preferences.set(label_start.ROUNDS.format(saved.id), wanted)
        st.rerun()


def _line(p: PersonProgress) -> list[object]:
    c, cal = p.checks, p.calibration
    median = "–" if c.median_s is None else _small(f"{c.median_s:.1f} s", f"n = {c.timed:,}")
    tone = {"passed": "done", "failed": "risk"}.get(cal.state, "plain")
    passed = chip(cal.state if cal.state != "none" else "–", tone)  # type: ignore[arg-type]
    counts = chip("count", "done") if p.counts else chip("wait", "wait")
    done = Markup('<div style="min-width:3.5rem">{}</div>').format(bar(p.done / p.total if p.total else 0.0))
    numbers = [f"{p.labels.get(x, 0):,}" for x in LABELS]
    run = f"{c.longest_run:,} {c.run_label or ''}"
    return [code(p.code), f"{p.done:,} of {p.total:,}", done, *numbers, median, _share(c.repeats), _share(c.gold), run, passed, counts]


def _share(x: Share) -> Text:
    if x.value is None or x.interval is None:
        return "–"
    return _small(f"{x.value:.0%}", f"{x.interval[0]:.0%} to {x.interval[1]:.0%}, n = {x.n:,}")


def _small(value: Text, basis: Text) -> Markup:
    return Markup('{} <small class="od-quiet">{}</small>').format(value, basis)


def _flagged(store: Store, saved: SavedCaseSet, p: PersonProgress, who: Annotator | None) -> None:
    """What stands out about somebody's labels; somebody else can let them count."""
    with shell.card(
        fill("What stands out about {p}", p=p.code),
        "these labels are kept and count for nothing until somebody looked",
        key=f"flag-{p.code}",
    ):
        for f in p.checks.flags:
            if f not in p.cleared:
                shell.note(FLAGS[f])
        if who is None or who.id == p.annotator_id:
            shell.note("Somebody else who is registered can let them count.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            note = st.text_input("Why they can be trusted", key=f"clear_note-{p.code}", width=420)
            if st.button("Let them count", key=f"clear-{p.code}", disabled=not note.strip()):
                try:
                    labelling.clear_flags(store, saved.id, p.annotator_id, who.id, note)
                except OddysseyError as e:
                    shell.error_card(e)
                    return
                st.rerun()


def times(found: Mapping[str, LabelTimes]) -> None:
    """Label times of all together and of each person."""
    every = found.get("")
    if every is None or not every.n:
        shell.empty("No label with a time yet. Time runs from when all images are on the screen to the key.")
        return
    shell.tiles(
        [
            _tile("Median", every.p50, every),
            _tile("90th percentile", every.p90, every),
            _tile("Mean", every.mean, every),
            _tile("Mean up to the 90th percentile", every.mean_to_p90, every),
        ]
    )
    shell.section("Label times", "from all critical images on the screen to the key")
    charts.wide(time_histogram(every, shell.dark()), "label_times")
    minutes = every.minutes(100)
    shell.note(
        f"n = {count(every.n, 'label')}; left out: {every.untimed:,} without a time, {every.hidden:,} with the tab hidden meanwhile; "
        f"{every.capped:,} over {every.cap_s:g} s count as {every.cap_s:g} s."
        + ("" if minutes is None else f" At the mean, 100 cases take {minutes:.1f} minutes.")
    )
    rows = [
        [code(who), f"{t.n:,}", _value(t.p50), _value(t.p90), _value(t.mean), f"{t.untimed:,}", f"{t.hidden:,}", f"{t.capped:,}"]
        for who, t in found.items()
        if who
    ]
    shell.html(table(["Person", "n", "Median", "90th percentile", "Mean", "No time", "Tab hidden", "Capped"], rows, right=range(1, 8)))


def _tile(label: str, x: Interval, t: LabelTimes) -> Tile:
    span = "" if x.low is None or x.high is None else f"{x.low:.1f} to {x.high:.1f} s; "
    return Tile(label, "–" if x.value is None else f"{x.value:.1f} s", f"{span}n = {t.n:,}")


def _value(x: Interval) -> Text:
    if x.value is None:
        return "–"
    return _small(f"{x.value:.1f} s", "" if x.low is None or x.high is None else f"{x.low:.1f} to {x.high:.1f}")
