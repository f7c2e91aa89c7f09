"""Seed tables: import a file of results, decide on every doubtful row, save; and keep, compare and delete what was saved."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core import operators
from core.errors import InputError, OddysseyError
from core.odd import Odd
from core.operators import DEMO_TABLE, ImportChoices
from core.seed_table import CheckReport, TableFile
from pages.shared import seed_decisions, seed_draft, seed_form, seed_head, seed_saved, seed_side, shell, state
from pages.shared.markup import fill, mark
from pages.shared.seed_draft import OpenImport
from pages.shared.seed_head import NAME, Outcome
from pages.shared.shell import Action

NEEDED = "Needed: one column for each dimension of the ODD, such as weather or time, and a score. One row an answer, or a slice with its n."


def upload() -> None:
    """The uploader and the sample; whatever is chosen is kept in the workspace at once."""
    shell.section("New table", "CSV, TSV, Excel, Parquet, JSON Lines, also gzipped")
    place = st.session_state.get("seed.upload", 0)
    file = st.file_uploader("Table of results", key=f"seed.file.{place}", label_visibility="collapsed")
    sample = DEMO_TABLE.is_file() and st.button("Use the sample", key="seed.sample", help="Made-up results of two models")
    if file is not None or sample:
        with shell.errors_as_card(changed="Nothing was imported."):
            seed_draft.start(*((file.name, file.getvalue()) if file is not None else (DEMO_TABLE.name, DEMO_TABLE.read_bytes())))
            st.session_state["seed.upload"] = place + 1
            st.rerun()


def overview() -> None:
    """The page without an import."""
    tables, used = state.tables(), state.current_table()
    if used is None:
        shell.header(NAME, "No table yet. Upload results, or start with the sample.", NEEDED)
    else:
        kept = "1 table is" if len(tables) == 1 else f"{len(tables)} tables are"
        said = fill("{kept} kept; the one in use is {name}.", kept=kept, name=mark(used.name))
        about = f"{sum(t.total for t in tables):,} samples in all. A saved table never changes; a new import makes a new one."
        action = Action("rank", "Rank its gaps", "primary", page="pages/ranked_gaps.py")
        shell.header(NAME, said, about, [action], synthetic=any(t.synthetic for t in tables))
    seed_saved.show_undo()
    seed_saved.show_saved(tables)
    upload()
    seed_saved.show_unfinished()
    seed_saved.show_bin()


def importing(held: OpenImport) -> None:
    """The page with an open import: questions at the left, what came of them at the right, the head filled last."""
    top = st.container()
    if seed_draft.conflict(held):
        with top:
            shell.header(NAME, "Another tab changed this import.", "What that tab saved is kept; nothing was overwritten.")
        return
    left, right = st.columns([0.64, 0.36], gap="large")
    with left:
        c, out = questions(held, seed_draft.opened(held.sha, held.choices.file_name, held.choices.sheet))
    with right:
        if out.shown is not None:
            seed_side.show_side(out.shown)
        else:
            shell.empty("Rows per value stand here once every dimension has a column and the score is known.")
    held = seed_draft.keep(held, c)
    with top:
        seed_head.show_head(held, out)


def questions(held: OpenImport, file: TableFile) -> tuple[ImportChoices, Outcome]:
    """The left side. Blocks are laid out first and filled as soon as what they show is known."""
    one, two = st.columns([0.46, 0.54], gap="medium")
    wide, columns, form, problems = st.container(), st.container(), st.container(), st.container()
    with one:
        shell.section("1 File")
        seed_form.how_read(file)
        c = seed_form.ask_name(held, file, held.choices)
    with two:
        shell.section("2 ODD")
        c = seed_form.ask_odd(held, file, c, wide)
    with form:
        c = seed_form.ask_scores(held, file, c)
    out = Outcome(file)
    try:
        odd = operators.odd_of(file, c, state.store())
        c = seed_form.column_choices(held, odd, c)
        with form:
            c, out = check(held, file, odd, c)
    except OddysseyError as e:
        out = replace(out, error=e)
    if out.odd is not None:
        with two:
            seed_form.about_odd(out.odd, out.shown)
        with columns:
            seed_form.show_columns(held, file, out.odd, c, out.shown)
    with problems:
        if out.error is not None:
            shell.error_card(seed_form.in_words_of_the_page(out.error), "The file and all decisions are kept.")
        if out.shown is not None:
            out = replace(out, found=seed_decisions.open_fixes(out.shown, c))
            c = seed_decisions.show_decisions(held, file, out.shown, out.found, c)
    return c, out


def check(held: OpenImport, file: TableFile, odd: Odd, c: ImportChoices) -> tuple[ImportChoices, Outcome]:
    """Checks each chosen model. The scale is recognised first, then asked about, and what was said counts."""

    def run(choices: ImportChoices) -> Outcome:
        try:
            if choices.plan.assume_n is None and st.session_state.get(held.key("unit")) == "assumed":
                raise InputError('n is unknown. Name the number of samples behind each row under "A row is".')
            reports = {m: seed_draft.checked(file, odd, choices, m) for m in c.models or ("",)}
        except OddysseyError as e:
            return Outcome(file, odd, {}, error=e)
        return Outcome(file, odd, reports, next(iter(reports.values())))

    out = run(c.model_copy(update={"plan": c.plan.model_copy(update={"scale": None})}))
    c = seed_form.ask_scale(held, c, out.shown)
    out = out if c.plan.scale is None else run(c)
    if len(out.reports) > 1:
        model = seed_form.ask_shown(held, list(out.reports))
        shown: CheckReport | None = out.reports.get(model, out.shown)
        out = replace(out, shown=shown)
    return c, out


shell.begin("pages/seed_tables.py")
with shell.errors_as_card(NAME, "This import cannot be shown.", "Nothing was changed."):
    now = seed_draft.current()
    if now is None:
        overview()
    else:
        importing(now)
