"""The questions of an import: file, ODD, columns, scores. Each returns the choices with what the user said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import operators
from core.errors import InputError, OddysseyError
from core.odd import Odd, built_in, load_yaml
from core.operators import ImportChoices
from core.seed_table import CheckReport, TableFile
from core.seed_table.scores import SCALE_TEXT
from pages.shared import seed_draft, shell, state
from pages.shared.markup import code, fill, join, label, strong
from pages.shared.seed_draft import OpenImport

MOST = 200
"""Options that a select box offers at most; thousands freeze the browser."""
NONE = "(none)"
ODDS = {"driving": "Built-in driving", "infer": "Infer from table", "own": "My YAML"}
UNITS = {"samples": "One answer", "counted": "A slice with n", "assumed": "A slice, n unknown"}


def preset(key: str, value: Any) -> str:
    """Give a widget its value on its first run only, so that it never fights with the user."""
    if key not in st.session_state:
        st.session_state[key] = value
    return key


def some(columns: Sequence[str], chosen: Sequence[str] = ()) -> list[str]:
    """The columns that select boxes offer."""
    return list(dict.fromkeys([*(c for c in chosen if c in columns), *columns[:MOST]])) if len(columns) > MOST else list(columns)


def how_read(file: TableFile) -> None:
    """How the file was understood."""
    d = file.dialect
    separator = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}.get(d.separator, d.separator)
    parts = [
        d.format.upper(),
        d.compression,
        d.encoding,
        f"separated by {separator}" if separator else "",
        f"sheet {d.sheet}" if d.sheet else "",
    ]
    said = [fill("{name}: {how}, {n} columns.", name=strong(file.name), how=", ".join(p for p in parts if p), n=len(file.columns))]
    if len(file.columns) > MOST:
        said.append(fill("Select boxes offer the first {most} of {n} columns.", most=MOST, n=f"{len(file.columns):,}"))
    shell.note(join([*said, *file.notes], " "))


def ask_name(held: OpenImport, file: TableFile, c: ImportChoices) -> ImportChoices:
    """Name of the table, and the sheet of a workbook."""
    name = st.text_input("Name of the table", key=preset(held.key("name"), c.name), max_chars=100)
    c = c.model_copy(update={"name": name.strip()})
    if file.dialect.format == "excel":
        sheet = st.text_input("Sheet", key=preset(held.key("sheet"), c.sheet), placeholder=file.dialect.sheet).strip()
        if sheet != c.sheet:
            fresh = operators.begin_import(seed_draft.opened(held.sha, c.file_name, sheet), sheet)
            seed_draft.keep(held, fresh.model_copy(update={"name": c.name}), redraw=True)
    return c


def ask_odd(held: OpenImport, file: TableFile, c: ImportChoices, wide: DeltaGenerator) -> ImportChoices:
    """Which ODD; another one brings a new proposal for the columns. What needs room is asked in the container `wide`."""
    key = preset(held.key("odd"), c.odd)
    source = st.segmented_control("ODD", list(ODDS), format_func=ODDS.get, key=key, label_visibility="collapsed", required=True) or c.odd
    if source == "own":
        with wide:
            return _ask_own(held, file, c.model_copy(update={"odd": "own"}))
    if source != c.odd:
        changed = c.model_copy(update={"odd": source})
        seed_draft.keep(held, operators.propose(file, changed, built_in() if source == "driving" else None), redraw=True)
    if source == "infer":
        dims = wide.multiselect("Columns that are dimensions", some(file.columns, c.dims), key=preset(held.key("dims"), list(c.dims)))
        if tuple(dims) != c.dims:
            plan = c.plan.model_copy(update={"columns": {d: d for d in dims}})
            roles = {r: "" for r in operators.ROLES if getattr(plan, r) in dims}
            c = c.model_copy(update={"dims": tuple(dims), "plan": plan.model_copy(update=roles)})
            if roles:
                seed_draft.keep(held, c, redraw=True)
    return c


def _ask_own(held: OpenImport, file: TableFile, c: ImportChoices) -> ImportChoices:
    kept = {o.hash: o for o in state.store().odds.all()[::-1][:MOST]}
    options = ["", *kept]
    chosen = st.selectbox(
        "ODD in the workspace",
        options,
        format_func=lambda h: f"{kept[h].name} v{kept[h].version}, {h[:6]}" if h else "Choose one, or paste your own below",
        key=preset(held.key("stored"), c.odd_hash if c.odd_hash in kept else ""),
    )
    if not chosen:
        text = st.text_area("YAML of an ODD", key=held.key("yaml"), height=140)
        if st.button("Use this YAML", key=held.key("use_yaml"), disabled=not text.strip()):
            with shell.errors_as_card():
                chosen = state.store().odds.put(load_yaml(text))
    if chosen and chosen != c.odd_hash:
        changed = c.model_copy(update={"odd_hash": chosen})
        seed_draft.keep(held, operators.propose(file, changed, state.store().odds.get(chosen)), redraw=True)
    return c


def column_choices(held: OpenImport, odd: Odd, c: ImportChoices) -> ImportChoices:
    """The columns as edited; the editor itself is drawn later by `show_columns`, once the check is known."""
    if c.odd == "infer":
        return c
    base = _base(held, odd, c)
    edits = st.session_state.get(_editor(held, odd), {}).get("edited_rows", {})
    columns = {d: str(edits.get(i, {}).get("Column", base[i]) or "") for i, d in enumerate(odd.names)}
    return c.model_copy(update={"plan": c.plan.model_copy(update={"columns": {d: x for d, x in columns.items() if x}})})


def _editor(held: OpenImport, odd: Odd) -> str:
    return held.key(f"columns.{len(odd.names)}")


def _base(held: OpenImport, odd: Odd, c: ImportChoices) -> list[str | None]:
    """The columns that the editor started from. They never change under it, so no edit is applied twice or undone."""
    return st.session_state.setdefault(_editor(held, odd) + ".base", [c.plan.columns.get(d) for d in odd.names])


def show_columns(held: OpenImport, file: TableFile, odd: Odd, c: ImportChoices, report: CheckReport | None) -> None:
    """One row a dimension: its column, what was seen there and how much of it was understood."""
    base = [c.plan.columns.get(d) for d in odd.names] if c.odd == "infer" else _base(held, odd, c)
    active = [d for d in odd.dimensions if d.active]
    mapped = sum(bool(c.plan.columns.get(d.name)) for d in active)
    shell.section(
        "3 Columns",
        f"{mapped} of {len(active)} dimensions mapped; " + ("each chosen column is one" if c.odd == "infer" else "yours to change"),
    )
    rows = []
    for d, column in zip(odd.dimensions, base, strict=True):
        readings = sorted(report.readings.get(d.name, ()) if report else (), key=lambda x: -x[1])
        total, ok = sum(n for _, n in readings), sum(n for r, n in readings if r.ok)
        alias = [f"{r.text} → {r.value}" for r, _ in readings if r.ok and r.text != r.value]
        seen = ", ".join(r.text for r, _ in readings[:6]) + (f" and {len(readings) - 6} more" if len(readings) > 6 else "")
        rows.append((d.label, column, seen, 100 * ok / total if total else None, ", ".join(alias[:6])))
    frame = pd.DataFrame(rows, columns=["Dimension", "Column", "Seen in file", "Matched", "Alias used"])
    frame = frame.astype({"Column": "string", "Matched": "Float64"})
    st.data_editor(
        frame,
        key=_editor(held, odd),
        hide_index=True,
        row_height=34,
        height=min(35 + 34 * len(rows), 520),
        disabled=["Dimension", "Seen in file", "Matched", "Alias used", *(["Column"] if c.odd == "infer" else [])],
        column_config={
            "Column": st.column_config.SelectboxColumn(options=some(file.columns, list(c.plan.columns.values())), width=132),
            "Dimension": st.column_config.TextColumn(width=152),
            "Seen in file": st.column_config.TextColumn(width=130),
            "Matched": st.column_config.ProgressColumn(format="%.1f%%", min_value=0, max_value=100, width=106),
            "Alias used": st.column_config.TextColumn(width=150),
        },
    )


def ask_scores(held: OpenImport, file: TableFile, c: ImportChoices) -> ImportChoices:
    """Where the score and the counts come from."""
    plan, update = c.plan, dict[str, Any]()

    def pick(role: str, label: str) -> str:
        now = getattr(plan, role)
        options = ["", *some(file.columns, [now])]
        return st.selectbox(label, options, format_func=lambda x: x or NONE, key=preset(held.key(role), now if now in options else ""))

    a, b = st.columns([0.46, 0.54], gap="medium")
    with a:
        made = "made" if plan.truth or plan.predicted else "column"
        key = preset(held.key("score_from"), made)
        names = {"column": "A column", "made": "Right and predicted answer"}
        how = st.segmented_control("The score comes from", list(names), format_func=names.get, key=key, required=True)
        if how == "made":
            update |= {"score": "", "truth": pick("truth", "Right answer"), "predicted": pick("predicted", "Predicted answer")}
        else:
            update |= {"score": pick("score", "Score"), "truth": "", "predicted": ""}
    with b:
        unit = "counted" if plan.count else "assumed" if plan.assume_n else "samples"
        unit = st.segmented_control("A row is", list(UNITS), format_func=UNITS.get, key=preset(held.key("unit"), unit), required=True)
        update |= {"count": pick("count", "n of a row") if unit == "counted" else "", "assume_n": None}
        if unit == "assumed":
            n = st.number_input("Samples behind each row", 1, None, key=preset(held.key("assume_n"), plan.assume_n), step=1)
            update["assume_n"] = n
            shell.note(
                "The file does not give n, so every interval rests on the number that you name here."
                if n
                else "n is unknown. Name one; until then each row would count as a single answer."
            )
    one, two, three = st.columns(3, gap="medium")
    with one:
        update["model_column"] = pick("model_column", "Model")
        update["sample_column"] = pick("sample_column", "Sample id")
    with two:
        update["source_column"] = pick("source_column", "Source dataset")
        words = st.text_input(
            "Words that mean no value", key=preset(held.key("missing"), ", ".join(plan.missing_words)), placeholder="NA, none"
        )
    with three:
        update["qa_column"] = pick("qa_column", "Question type")
        update["missing_words"] = tuple(w.strip() for w in words.split(",") if w.strip())
    c = c.model_copy(update={"plan": plan.model_copy(update=update)})
    return _ask_models(held, file, c)


def _ask_models(held: OpenImport, file: TableFile, c: ImportChoices) -> ImportChoices:
    names = seed_draft.models(file, c)
    if c.plan.model_column != held.choices.plan.model_column:
        c = c.model_copy(update={"models": names if len(names) <= 6 else ()})
    if len(names) < 2:
        return c.model_copy(update={"models": names})
    key = preset(held.key(f"models.{c.plan.model_column}"), [m for m in c.models if m in names])
    label = f"Models to import, one table each (of {len(names):,})"
    return c.model_copy(update={"models": tuple(st.multiselect(label, some(names, c.models), key=key))})


def ask_scale(held: OpenImport, c: ImportChoices, recognised: CheckReport | None) -> ImportChoices:
    """How scores are written: what was recognised, with the evidence, for the user to confirm or change."""
    if not c.plan.score:
        return c
    reading = recognised.score if recognised else None
    key = held.key(f"scale.{c.plan.score}")
    if reading is not None or c.plan.scale:
        preset(key, c.plan.scale or (reading.scale if reading else None))
    scale = st.segmented_control("Scores are written as", list(SCALE_TEXT), format_func=SCALE_TEXT.get, key=key)
    if reading is not None and scale in (None, reading.scale):
        shell.note(fill("Recognised: {scale}. {why} Saving confirms it.", scale=strong(SCALE_TEXT[reading.scale]), why=reading.evidence))
        scale = None if reading.scale == scale else c.plan.scale if scale else None
    elif scale is None:
        shell.note("The scale is not clear, so none was chosen. Say how the scores are written.")
    return c.model_copy(update={"plan": c.plan.model_copy(update={"scale": scale})})


def ask_shown(held: OpenImport, models: list[str]) -> str:
    """Which of several models the page shows."""
    key = preset(held.key("shown"), models[0])
    if st.session_state[key] not in models:
        st.session_state[key] = models[0]
    return st.segmented_control("Shown on this page", models, key=key, required=True, format_func=label) or models[0]


def in_words_of_the_page(error: OddysseyError) -> OddysseyError:
    """The error without the options of the command line, which its text names in brackets."""
    if not isinstance(error, InputError):
        return error
    return InputError(without_options(str(error.args[0])), error.problems)


def without_options(text: str) -> str:
    """A sentence of core without the options of the command line that it names in brackets."""
    return re.sub(r" \(--[^)]*\)", "", text)


def about_odd(odd: Odd, report: CheckReport | None) -> None:
    """One line on the ODD."""
    said = fill("{name} v{v} {h}: {k} dimensions, {n} slices.", name=strong(odd.name), v=odd.version, h=code(odd.hash[:6]),
                k=len(odd.names), n=f"{odd.base_space.size:,}")  # fmt: skip
    if report is not None:
        used = sum(len({r.value for r, _ in rs if r.ok}) for rs in report.readings.values())
        said += fill(" {used} of its values occur in this file.", used=used)
    shell.note(said)
