"""What a run came to: the ranked slices, the samples found for them, the report, every file, and whether it can be repeated."""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.controller import record as rec
from core.controller.record import Record
from core.controller.replay import replay as run_again
from core.controller.state import RunState
from core.errors import OddysseyError
from core.odd import Odd
from core.storage import SavedRun
from core.storage.schema import now
from pages.shared import eval_sample, jobs, shell, state
from pages.shared.gaps_list import gap_columns, gap_frame
from pages.shared.markup import Tone, chip, code, fill, table

RANKED, SAMPLES, REPORT = VIEWS = ("Ranked", "Samples", "Report")
_INSIDE, _OUTSIDE = "Inside the ODD", "Outside the ODD"
_NUMBERS = {"rank": int, "phi": float, "eps_hat": float, "exposure": float}
_DECISIVE = {"decisive_similarity": float, "decisive_error": float, "decisive_n": int}


def show(run: RunState, busy: bool = False) -> None:
    """The result of a run, as far as it is, with the ODD that it was made with.

    Args:
        run: The run.
        busy: Whether it goes on; then what was ranked is shown, and files and replay wait.
    """
    if busy and not any(s.op in ("in_odd", "out_of_odd") and s.status == "done" for s in run.steps):
        return
    record = Record(folder(run))
    odd = record.odd()
    if run.status == "clarify":
        shell.empty("Nothing was run. What the question lacks stands in the answer; results stand here once a plan has run.")
        return
    left, right = st.columns([0.46, 0.54], vertical_alignment="center")
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        view = st.segmented_control("View", VIEWS, default=RANKED, required=True, key="run_view", label_visibility="collapsed")
        if not busy:
            files(run, record)
    with left:
        title = st.container()
    if view == RANKED:
        ranked(run, record, odd, title)
    elif view == SAMPLES:
        samples(record, odd, title)
    else:
        report(record, title)
    if not busy:
        replayed(run)


def folder(run: RunState) -> Path:
    """Where the record of a run lies."""
    return state.store().runs.home / run.folder


def ranked(run: RunState, record: Record, odd: Odd, title: Any) -> None:
    """The ranked slices as they were recorded, in the columns of Ranked gaps, with the usable samples of each."""
    done = {
        _OUTSIDE if s.op == "out_of_odd" else _INSIDE: s
        for s in run.steps
        if s.op in ("in_odd", "out_of_odd") and s.status == "done" and s.files and record.has(s.files[0])
    }
    if not done:
        with title:
            shell.section("Result", "no ranking in this plan" if run.status != "running" else "")
        return
    which = next(reversed(done))
    if len(done) > 1:
        which = st.segmented_control(
            "Ranking", list(done), default=which, required=True, key=f"ranking-{run.id}", label_visibility="collapsed"
        )
    step = done[which]
    rows = ranking_rows(record.read(step.files[0]))
    missing = int(step.counts.get("missing", len(rows)))
    with title:
        shell.section("Result", f"first {len(rows):,} of {missing:,} ranked slices {which[0].lower()}{which[1:]}")
    if not rows:
        shell.note("Nothing is missing under these conditions.")
        return
    dims = [d for d in odd.names if d in rows[0]]
    usable = Counter(_key(c["requested"], dims) for c in record.lines(rec.RETRIEVAL) if c["verdict"] == "valid")
    decisive = [tuple(r[k] for k in _DECISIVE) for r in rows]
    frame = gap_frame(odd, dims, rows, decisive)
    kappa = float(record.context()["parameters"]["kappa"])
    config = gap_columns(odd, dims, frame, kappa, record.context()["parameters"].get("risk") == "ridge")
    if record.has(rec.RETRIEVAL):
        frame.insert(3, "samples", [usable[_key(r, dims)] for r in rows])
        config["samples"] = st.column_config.NumberColumn("Samples", width=64, help="Samples found that match in every dimension.")
    st.dataframe(
        frame, hide_index=True, row_height=33, height=37 + 33 * min(len(frame), 10), column_config=config, key=f"ranked-{run.id}-{which}"
    )
    shell.note("φ is computed from the table alone; no model takes part in it.")


def _key(values: Mapping[str, Any], dims: Sequence[str]) -> tuple[Any, ...]:
    return tuple(values.get(d) for d in dims)


def ranking_rows(data: bytes) -> list[dict[str, Any]]:
    """The rows of a recorded ranking with their numbers as numbers."""
    kinds: dict[str, Any] = {**_NUMBERS, **_DECISIVE}
    rows = csv.DictReader(io.StringIO(data.decode()))
    return [{k: (kinds[k](v) if v else None) if k in kinds else v for k, v in r.items()} for r in rows]


def samples(record: Record, odd: Odd, title: Any) -> None:
    """Everything that was found, with how well it fits, and the slices for which nothing was."""
    found, unfilled = record.lines(rec.RETRIEVAL), record.lines(rec.UNFILLED)
    verdicts = Counter(c["verdict"] for c in found)
    with title:
        shell.section(
            "Samples",
            f"{len(found):,} found: {verdicts['valid']:,} valid, {verdicts['partial']:,} partial, {verdicts['invalid']:,} invalid",
        )
    if not found and not unfilled:
        shell.note("No samples were looked for in this run.")
        return
    if found:
        chosen = sample_table(found, odd)
        if chosen is not None:
            eval_sample.candidate(found[chosen], odd, record.folder.name)
    if unfilled:
        with st.expander(f"{len(unfilled):,} {'slice stays' if len(unfilled) == 1 else 'slices stay'} unfilled"):
            lines = [[eval_sample.slice_in_words(odd, u["slice"]), u["reason"]] for u in unfilled]
            shell.html(table(["Slice asked for", "Why"], lines))


def sample_table(found: Sequence[Mapping[str, Any]], odd: Odd) -> int | None:
    """The samples as a table; returns the one that is selected."""
    frame = pd.DataFrame(
        [
            {
                "verdict": c["verdict"],
                "matches": f"{c['matches']} of {len(c['fidelity'])}",
                "asked": eval_sample.slice_in_words(odd, c["requested"]),
                "source": c["source"],
                "dataset": c["dataset"],
                "question": c["question"],
            }
            for c in found
        ]
    )
    columns = {
        "verdict": ("Verdict", 68),
        "matches": ("Matches", 68),
        "asked": ("Slice asked for", 330),
        "source": ("Source", 84),
        "dataset": ("Dataset", 110),
        "question": ("Question", 260),
    }
    return eval_sample.choose_row(frame, "run_samples", columns)


def report(record: Record, title: Any) -> None:
    """The report as it was written."""
    with title:
        shell.section("Report", "computed from the steps; words of a language model are marked")
    if not record.has(rec.REPORT):
        shell.note("The report is written when the run has ended or waits.")
        return
    with st.container(border=True, height=420, key="run_report"):
        st.markdown(record.read(rec.REPORT).decode().replace("$", "\\$"))


def files(run: RunState, record: Record) -> None:
    """Every file of the record, and all as one."""
    names = [n for n in (*record.names(), rec.MANIFEST, rec.EVENTS) if record.has(n)]
    with st.popover("Files", key="run_files"):
        shell.note(fill("{n} files; {m} names the SHA-256 of each.", n=len(names), m=code(rec.MANIFEST)))
        st.download_button(
            "All as ZIP",
            lambda: zipped(record, names),
            f"run-{run.id}.zip",
            "application/zip",
            on_click="ignore",
            width="stretch",
            type="primary",
        )
        for name in names:
            st.download_button(
                name, lambda name=name: record.read(name), Path(name).name, key=f"file-{name}", on_click="ignore", width="stretch"
            )


def zipped(record: Record, names: Sequence[str]) -> bytes:
    """Files of a record as one archive, the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name in names:
            z.writestr(zipfile.ZipInfo(f"{record.folder.name}/{name}", (1980, 1, 1, 0, 0, 0)), record.read(name), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def replay(saved: SavedRun) -> None:
    """Run the recorded plan again, and keep what came of it."""
    store, settings = state.store(), state.settings()
    try:
        with st.spinner("Running the stored plan again, without a model."):
            key = ("replay", store.db.name, saved.id, now())
            found = jobs.outcome(key, lambda report: run_again(store.runs.path(saved), store, settings), lambda job: None)
    except OddysseyError as e:
        shell.error_card(e)
        return
    store.preferences.set(f"replay.{saved.id}", found.as_dict() | {"at": f"{now():%Y-%m-%d %H:%M}"})
    st.rerun()


def replayed(run: RunState) -> None:
    """What the last replay of a run found."""
    last = state.store().preferences.get(f"replay.{run.id}")
    if last is None:
        shell.note("Replay runs the stored plan without a model and compares every file byte by byte.")
        return
    n = Counter(c["status"] for c in last["checks"])
    text = f"Last replay {last['at']} UTC: {n['equal']:,} of {len(last['checks']):,} files came out equal"
    text += f", {n['differs']:,} differ" if n["differs"] else ""
    text += f", {n['not replayed']:,} could not be made again" if n["not replayed"] else ""
    tone: Tone = "risk" if n["differs"] else "wait" if n["not replayed"] else "done"
    word = "differs" if n["differs"] else "in part" if n["not replayed"] else "equal"
    shell.note(fill("{c} {t}.", c=chip(word, tone), t=text))
    told = [[code(c["name"]), c["status"], c["why"]] for c in last["checks"] if c["status"] != "equal"]
    if told or last["changed"]:
        with st.expander("What is not as it was"):
            if told:
                shell.html(table(["File", "", "Why"], told))
            for line in last["changed"]:
                shell.note(line)
