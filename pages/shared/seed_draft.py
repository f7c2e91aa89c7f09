"""An unfinished import: kept in the workspace from the first byte on, so that a lost connection loses nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.errors import InputError
from core.odd import Odd, built_in, load_yaml
from core.operators import Prepared, open_table, prepare
from core.operators.table import NO_COLUMN
from core.seed_table import CheckReport, TableFile, check_table
from pages.shared import state

PARAM = "draft"


@dataclass
class Import:
    """The import in hand.

    Attributes:
        id: Of the draft, as in the URL.
        version: Last version that this session saw.
        sha: SHA-256 of the upload.
        decisions: odd, yaml, dims, columns, fields, value_map, added, sheet.
    """

    id: str
    version: int
    sha: str
    decisions: dict[str, Any]

    def save(self, decisions: dict[str, Any]) -> None:
        """Append the decisions as a new version if they changed.

        Raises:
            ConflictError: Another tab saved first; nothing was overwritten.
        """
        if decisions != self.decisions:
            self.version = state.store().drafts.save(self.id, self.sha, decisions, self.version)
            self.decisions = decisions
            st.session_state[f"draft_{self.id}"] = self.version


def begin(name: str, data: bytes) -> None:
    """Keep an upload and open a draft for it, named in the URL."""
    store = state.store()
    sha = store.uploads.put(name, data)
    draft = store.drafts.new_id()
    store.drafts.save(draft, sha, {"name": name, "odd": "driving"}, 0)
    st.query_params[PARAM] = draft


def current() -> Import | None:
    """The draft that the URL names, None if it names none that is open."""
    draft_id = st.query_params.get(PARAM, "")
    latest = state.store().drafts.latest(draft_id) if draft_id else None
    if latest is None or latest.closed:
        return None
    seen = st.session_state.setdefault(f"draft_{draft_id}", latest.version)
    return Import(draft_id, seen, latest.upload_sha, dict(latest.decisions))


def leave() -> None:
    """Take the draft out of the URL; it stays open in the workspace."""
    st.query_params.pop(PARAM, None)


def close(draft: Import) -> None:
    """Close the draft for good; its history and the upload stay."""
    state.store().drafts.close(draft.id)
    leave()


def opened(draft: Import) -> TableFile:
    """The uploaded file, opened once per process and sheet."""
    return _open(draft.sha, str(draft.decisions.get("name", "table")), draft.decisions.get("sheet") or None)


@st.cache_resource(show_spinner="Reading the file", max_entries=8)
def _open(sha: str, name: str, sheet: str | None) -> TableFile:
    return open_table(state.store().uploads.path(sha), name, sheet=sheet)


def domain(decisions: dict[str, Any]) -> Odd | None:
    """The ODD that was decided on, None for one inferred from the table.

    Raises:
        InputError: The YAML is no valid ODD.
    """
    kind = decisions.get("odd", "driving")
    if kind == "infer":
        return None
    odd = load_yaml(decisions.get("yaml", "")) if kind == "yaml" else built_in()
    added = decisions.get("added") or {}
    return odd.with_values(added) if added else odd


def prepared(file: TableFile, decisions: dict[str, Any]) -> Prepared:
    """The file with the ODD and the plan that the decisions make."""
    fields = {k: v for k, v in (decisions.get("fields") or {}).items() if v not in (None, "")}
    odd = domain(decisions)
    columns = {d: c for d, c in (decisions.get("columns") or {}).items() if c and (odd is None or d in odd.by_name)}
    dims = list(decisions.get("dims") or ())
    value_map = {d: m for d, m in (decisions.get("value_map") or {}).items() if m and (d in dims if odd is None else d in odd.by_name)}
    words = tuple(decisions.get("missing_words") or ())
    overrides = {**fields, "value_map": value_map, "missing_words": words}
    if odd is None:
        return prepare(file, None, dims=dims, overrides=overrides)
    result = prepare(file, odd, columns={d: c for d, c in columns.items() if c != NO_COLUMN}, overrides=overrides)
    dropped = {d for d, c in columns.items() if c == NO_COLUMN}
    kept = {d: c for d, c in result.plan.columns.items() if d not in dropped}
    left_out = [d.name for d in odd.dimensions if d.active and d.name in dropped]
    if left_out:
        names = [n for n in odd.names if n not in left_out]
        if not any(n in kept for n in names):
            raise InputError("Every dimension is left out; map at least one to a column.")
        odd = odd.restricted(names)
    return Prepared(result.file, odd, result.plan.model_copy(update={"columns": kept}), result.notes)


def checked(p: Prepared) -> CheckReport:
    """The check, made once per file, ODD and plan."""
    return _check(p.file.sha256, p.file.dialect.sheet, p.odd.hash, p.plan.model_dump_json(), _Given(p))


class _Given:
    def __init__(self, p: Prepared) -> None:
        self.p = p


@st.cache_resource(show_spinner="Checking every row", max_entries=16, hash_funcs={_Given: lambda _: None})
def _check(sha: str, sheet: str, odd: str, plan: str, given: _Given) -> CheckReport:
    del sha, sheet, odd, plan  # only keys
    return check_table(given.p.file, given.p.odd, given.p.plan)
