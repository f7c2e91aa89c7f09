"""The import that is open on the page: kept in the workspace at every change, so that no closed tab and no restart loses it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

import streamlit as st

from core import operators
from core.errors import ConflictError, InputError
from core.odd import Odd, built_in
from core.operators import ImportChoices
from core.seed_table import CheckReport, TableFile
from pages.shared import shell, state

_OPEN, _PARAM, _CONFLICT, _ODD = "seed.open", "draft", "seed.conflict", "seed.odd"


@dataclass(frozen=True)
class OpenImport:
    """The import on the page.

    Attributes:
        id: Of the draft; it stands in the address.
        version: Version of the draft that this tab has seen.
        sha: Of the uploaded file.
        choices: What was decided.
        edition: Part of the key of every widget, raised when the page itself changes what they show.
    """

    id: str
    version: int
    sha: str
    choices: ImportChoices
    edition: int = 0

    def key(self, name: str) -> str:
        """Key of a widget."""
        return f"seed.{self.id}.{self.edition}.{name}"


def current() -> OpenImport | None:
    """The import that the address names, else the one of this session."""
    wanted, held = st.query_params.get(_PARAM), st.session_state.get(_OPEN)
    if held and wanted in (None, held.id):
        st.query_params[_PARAM] = held.id
        return held
    return resume(wanted) if wanted else None


def resume(draft_id: str) -> OpenImport | None:
    """Open the newest version of a draft; one that is finished, or not there, is said to be so."""
    draft = state.store().drafts.latest(draft_id)
    if draft is None or draft.closed:
        st.query_params.pop(_PARAM, None)
        st.toast("That import is finished or was given up." if draft else "There is no such import in this workspace.")
        return None
    old = st.session_state.get(_OPEN)
    edition = old.edition + 1 if old and old.id == draft_id else 0
    return _hold(OpenImport(draft.id, draft.version, draft.upload_sha, ImportChoices.read(draft.decisions), edition))


def start(name: str, data: bytes) -> None:
    """Keep an uploaded file, propose how to read it, and open the import.

    Raises:
        InputError: The file is no table.
    """
    store = state.store()
    sha = store.uploads.put(name, data)
    file = opened(sha, name)
    choices = operators.begin_import(file)
    wanted = st.session_state.pop(_ODD, None)
    if wanted:
        choices = _with_odd(file, choices, wanted)
    choices = choices.model_copy(update={"name": store.tables.free_name(PurePath(name).name.split(".")[0][:80] or "table")})
    draft_id = store.drafts.new_id()
    version = store.drafts.save(draft_id, sha, choices.dump(), 0)
    _hold(OpenImport(draft_id, version, sha, choices))


def use_odd(odd_hash: str) -> None:
    """Use an ODD of the workspace for the import that is open, else for the next one."""
    held = st.session_state.get(_OPEN)
    if held is None:
        st.session_state[_ODD] = odd_hash
        return
    file = opened(held.sha, held.choices.file_name, held.choices.sheet)
    st.session_state[_OPEN] = replace(keep(held, _with_odd(file, held.choices, odd_hash)), edition=held.edition + 1)


def _with_odd(file: TableFile, choices: ImportChoices, odd_hash: str) -> ImportChoices:
    if odd_hash == built_in().hash:
        return operators.propose(file, choices.model_copy(update={"odd": "driving"}), built_in())
    own = choices.model_copy(update={"odd": "own", "odd_hash": odd_hash})
    return operators.propose(file, own, state.store().odds.get(odd_hash))


def _hold(held: OpenImport) -> OpenImport:
    st.session_state[_OPEN] = held
    st.session_state.pop(_CONFLICT, None)
    st.query_params[_PARAM] = held.id
    return held


def keep(held: OpenImport, choices: ImportChoices, *, redraw: bool = False) -> OpenImport:
    """Save changed choices; nothing happens where they are the same.

    Args:
        held: What is open.
        choices: The new choices.
        redraw: Whether the widgets must take the new choices up; the run starts again then.
    """
    if choices == held.choices:
        return held
    try:
        version = state.store().drafts.save(held.id, held.sha, choices.dump(), held.version)
    except ConflictError as e:
        st.session_state[_CONFLICT] = e
        st.rerun()
    held = replace(held, version=version, choices=choices, edition=held.edition + redraw)
    st.session_state[_OPEN] = held
    if redraw:
        st.rerun()
    return held


def conflict(held: OpenImport) -> bool:
    """Show that another tab was faster, and offer its version; whether that is so."""
    error = st.session_state.get(_CONFLICT)
    if error is None:
        return False
    shell.error_card(error, "What this tab shows since then is not saved.")
    if st.button("Load the newest version", key="seed.reload"):
        st.session_state.pop(_CONFLICT)
        resume(held.id)
        st.rerun()
    return True


def in_conflict() -> bool:
    """Whether another tab was faster and its version is not loaded yet."""
    return st.session_state.get(_CONFLICT) is not None


def leave() -> None:
    """Close the import on the page; it stays among the unfinished ones."""
    st.session_state.pop(_OPEN, None)
    st.session_state.pop(_CONFLICT, None)
    st.query_params.pop(_PARAM, None)


def unchanged(held: OpenImport) -> None:
    """Make sure that no other tab changed or finished the import.

    Raises:
        ConflictError: One did.
    """
    draft = state.store().drafts.latest(held.id)
    if draft is None or draft.closed or draft.version != held.version:
        raise ConflictError("This import was changed or finished in another tab. Nothing was saved; load the newest version.")


def opened(sha: str, name: str, sheet: str = "") -> TableFile:
    """The opened file of an upload, opened once a process.

    Raises:
        InputError: It is no table.
    """
    return _opened(state.store().db.name, sha, name, sheet)


@st.cache_resource(show_spinner="Reading the file", max_entries=4)
def _opened(database: str, sha: str, name: str, sheet: str) -> TableFile:
    del database
    return operators.open_table(state.store().uploads.path(sha), name, sheet=sheet or None)


def checked(file: TableFile, odd: Odd, choices: ImportChoices, model: str = "") -> CheckReport:
    """What becomes of every row, computed once for the same file, ODD and plan.

    Raises:
        InputError: The plan cannot work.
    """
    prepared = operators.prepared_for(file, odd, choices, model)
    return _checked(file.sha256, choices.sheet, odd.hash, prepared.plan.model_dump_json(), prepared)


@st.cache_resource(show_spinner="Checking the rows", max_entries=32)
def _checked(sha: str, sheet: str, odd_hash: str, plan: str, _prepared: operators.Prepared) -> CheckReport:
    return operators.check(_prepared)


@st.cache_resource(show_spinner=False, max_entries=32)
def _models(sha: str, sheet: str, column: str, _file: TableFile) -> tuple[str, ...]:
    return tuple(sorted(_file.read([column]).columns[column].texts()))


def models(file: TableFile, choices: ImportChoices) -> tuple[str, ...]:
    """Names in the model column."""
    column = choices.plan.model_column
    if column and column not in file.columns:
        raise InputError(f'The file has no column "{column}".')
    return _models(file.sha256, choices.sheet, column, file) if column else ()
