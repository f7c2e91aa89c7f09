"""Results that were made elsewhere: a table or JSON Lines file of answers, read as a run of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st

from core import operators
from core.errors import OddysseyError
from core.odd import Odd
from core.operators import ImportedRun
from pages.shared import connections, jobs, shell, state, who
from pages.shared.ask_runs import RUN
from pages.shared.markup import count, label

_TOLD = "eval.imported"


def form(odd: Odd) -> None:
    """The uploader and what is asked about the file."""
    with st.expander("Import results that were made elsewhere", key="eval_import"):
        shell.note("A table as VLMEvalKit writes it, or eval_results.jsonl of a run: one row an answer, with a column for each dimension.")
        file = st.file_uploader("Results", key="import_file", label_visibility="collapsed")
        current = state.current_table()
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            model = st.text_input("Of the model", current.model if current else "", key="import_model", width=220)
            judge = connections.endpoint("judge")
            scores = st.checkbox("Take its scores", value=True, key="import_scores", help="Else its answers are judged anew.")
            judged = judge is not None and st.checkbox(
                f"Let {label(judge.name)} judge what has no score", key="import_judge", help="Costs calls."
            )
            if st.button("Import", type="primary", key="import_do", disabled=file is None) and file is not None:
                _import(file.name, file.getvalue(), odd, model.strip(), scores, judged)
        _tell()


def _import(name: str, data: bytes, odd: Odd, model: str, scores: bool, judged: bool) -> None:
    store, by, judge = state.store(), who.name(), connections.endpoint("judge") if judged else None

    def work(job: jobs.Job) -> ImportedRun:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"results{Path(name).suffix}"
            path.write_bytes(data)
            return operators.import_results(
                store,
                path,
                odd,
                model=model,
                use_scores=scores,
                judge=judge,
                name=name,
                who=by,
                on_event=lambda e: job.report(e.done, e.total),
                cancel=job.stopping.is_set,
            )

    job = jobs.begin(("import results", store.db.name, name, model, len(data)), work)
    with st.spinner("Reading the results.", show_time=True):
        job.finished.wait()
    if isinstance(job.error, OddysseyError):
        shell.error_card(job.error, "Nothing was imported.")
        return
    if job.error is not None:
        raise job.error
    st.session_state[_TOLD] = job.result
    st.query_params[RUN] = job.result.evaluated.run_id
    st.rerun()


def _tell() -> None:
    """What became of the rows of the last import."""
    done: ImportedRun | None = st.session_state.get(_TOLD)
    if done is None:
        return
    left = sum(done.left_out.values())
    shell.note(f"{done.rows - left:,} of {count(done.rows, 'row')} were read. Left out: {left:,}.")
    for why, n in done.left_out.items():
        shell.note(f"{n:,}: {why}")
    for note in done.notes:
        shell.note(note)
