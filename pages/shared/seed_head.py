"""The head of an open import: the finding, where it comes from, and saving what was accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st
from markupsafe import Markup

from core import operators
from core.errors import OddysseyError
from core.odd import Odd
from core.operators import Fix
from core.seed_table import CheckReport, TableFile
from pages.shared import seed_draft, seed_side, shell, state
from pages.shared.markup import Text, code, fill, mark
from pages.shared.seed_draft import OpenImport
from pages.shared.shell import Action

NAME = "Seed tables"


@dataclass(frozen=True)
class Outcome:
    """What the check made of the file.

    Attributes:
        file: The file.
        odd: Its ODD, None where none is known yet.
        reports: The report of each model to import ("" where the file names none); empty where the plan cannot work.
        shown: The report on the page.
        found: Its problems that are not decided.
        error: Why there is no report.
    """

    file: TableFile
    odd: Odd | None = None
    reports: Mapping[str, CheckReport] = ()  # type: ignore[assignment]
    shown: CheckReport | None = None
    found: Sequence[Fix] = ()
    error: OddysseyError | None = None

    @property
    def accepted(self) -> int:
        """Rows that would be saved."""
        return sum(r.accepted for r in dict(self.reports).values())

    @property
    def tables(self) -> str:
        """What would be made of them."""
        return f" as {len(self.reports)} tables" if len(self.reports) > 1 else ""


def sentence(out: Outcome) -> Text:
    """The finding."""
    report = out.shown
    if report is None:
        return fill("{name} is read, but not yet understood.", name=mark(out.file.name))
    bad, zero = operators.undecided(out.found).size, seed_side.values_without_rows(report.seed)
    rows = "1 row" if report.rows == 1 else f"{report.rows:,} rows"
    said = fill("{rows} read, {bad} {need} a decision", rows=rows, bad=f"{bad:,}" if bad else "none", need="needs" if bad < 2 else "need")
    if not zero:
        return said + ", and every declared value has rows."
    if len(zero) == 1:
        return said + fill(", and one declared value, {v}, has no rows at all.", v=mark(zero[0][1]))
    return said + fill(", and {k} declared values have no rows at all.", k=mark(f"{len(zero):,}"))


def provenance(out: Outcome) -> Text:
    """The file, and what becomes of its rows as things stand."""
    size = f"{out.file.size / 1024:,.1f} kB" if out.file.size < 2**20 else f"{out.file.size / 2**20:,.1f} MB"
    said = fill("{name}, {size}, sha256 {sha}. ", name=out.file.name, size=size, sha=code(out.file.sha256[:8]))
    report = out.shown
    if report is None:
        return said + "The file and every decision are kept."
    said += fill("{n} accepted, {r} left out as they stand.", n=f"{report.accepted:,}", r=f"{report.rejected.size:,}")
    if report.other_models:
        said += fill(" {n} rows belong to other models.", n=f"{report.other_models:,}")
    safe = [f for f in out.found if f.safe]
    if safe:
        one = len(safe) == 1
        said += fill(" {k} safe {c} {n} of the {bad} rows.", k=len(safe), c="correction settles" if one else "corrections settle",
                     n=f"{operators.undecided(safe).size:,}", bad=f"{operators.undecided(out.found).size:,}")  # fmt: skip
    return said + Markup(" Nothing is dropped until you save.")


def show_head(held: OpenImport, out: Outcome) -> None:
    """Sentence, provenance and buttons; does what was clicked."""
    blocked = not out.accepted or seed_draft.in_conflict()
    actions = [
        Action("later", "Close", "tertiary", help="Keeps the import among the unfinished ones"),
        Action("discard", "Discard", "tertiary", help="Gives the import up; the file stays in the workspace"),
        Action("save", f"Save {out.accepted:,} rows{out.tables}", "primary", disabled=blocked),
    ]
    clicked = shell.header(NAME, sentence(out), provenance(out), actions, synthetic=operators.is_demo(held.sha))
    if clicked in ("later", "discard"):
        if clicked == "discard":
            state.store().drafts.close(held.id)
            st.session_state["seed.discarded"] = held.id
        seed_draft.leave()
        st.rerun()
    if clicked == "save":
        with shell.errors_as_card(changed="The import is kept with every decision."):
            _save(held, out)
            st.rerun()


def _save(held: OpenImport, out: Outcome) -> None:
    """One table for each model, the draft closed, and the first table in use.

    Raises:
        ConflictError: Another tab changed or finished the import.
    """
    seed_draft.unchanged(held)
    store, name = state.store(), held.choices.name or out.file.name
    first = None
    for model, report in out.reports.items():
        prepared = operators.prepared_for(out.file, report.odd, held.choices, model)
        title = store.tables.free_name(f"{name}, {model}"[:110] if len(out.reports) > 1 else name)
        made = operators.save_table(store, title, prepared, report, upload_sha=held.sha, synthetic=operators.is_demo(held.sha))
        first = first or made
    store.drafts.close(held.id)
    if first is not None:
        state.choose_table(first.id)
    seed_draft.leave()
    st.toast(f"Saved {out.accepted:,} rows{out.tables}.")
