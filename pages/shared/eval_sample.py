"""One sample in full: its image, the question with its answers, and how well it fits the slice that it was wanted for."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from markupsafe import Markup

from core.controller.record import Record
from core.errors import InputError, OddysseyError
from core.evaluation.images import data_url, read_image
from core.odd import Odd
from core.plots import plain
from pages.shared import shell, state
from pages.shared.markup import Text, Tone, chip, fill, join, table

FLAGS: dict[str, Tone] = {"match": "done", "missing": "wait", "ambiguous": "wait", "mismatch": "risk"}
VERDICTS: dict[str, Tone] = {"valid": "done", "partial": "wait", "invalid": "risk"}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def candidate(c: Mapping[str, Any], odd: Odd, run_id: str) -> None:
    """A candidate of acquisition, as a line of dataset_retrieval.jsonl."""
    with st.container(border=True, key="sample"):
        left, right = st.columns([0.44, 0.56], gap="medium")
        with left:
            media([c["path"]] if c["path"] else [], c["source"], roots(run_id))
            shell.note(origin(c))
        with right:
            question(c["question"], c["options"], c["answer"], c.get("qa_origin", ""))
        shell.html(beside(odd, c["requested"], c["tags"], c["fidelity"]))


def media(paths: Sequence[str], source: str, folders: Sequence[Path]) -> None:
    """The images of a sample, as far as they lie on this machine; nothing is fetched from elsewhere."""
    for i, path in enumerate(paths):
        picture = _picture(path, tuple(folders))
        if picture is None:
            where = (
                "lies at another address and is not fetched"
                if "://" in path
                else "cannot be shown: it is not on this machine, or is no image"
            )
            shell.empty(fill("The image {path} {where}.", where=where, path=Path(path).name or path))
        else:
            st.image(picture, width="stretch")
        if len(paths) > 1:
            shell.note(f"Image {i + 1} of {len(paths)}")
    if not paths:
        shell.empty("The manifest names no image for this sample.")
    if source == "synthetic":
        shell.html(chip("made, not found", "outline"))


def roots(run_id: str) -> tuple[Path, ...]:
    """Folders in which the images of a run may lie: those of its footage first, then of images that were made."""
    store = state.store()
    first: list[Path] = []
    try:
        wanted = Record(store.runs.path(store.runs.get(run_id))).context()["datastore"]
        found = store.datastores.find(wanted["digest"]) if wanted else None
        first = [found.root] if found is not None and found.root else []
    except OddysseyError:
        pass  # a run of the command line has no record here
    return (*first, *(x.root for x in store.datastores.list() if x.root and x.root not in first), state.settings().media)


def odd_of(run_id: str, usual: Odd) -> Odd:
    """The ODD that a run was made with, the usual one where it has no record here."""
    try:
        return Record(state.store().runs.path(state.store().runs.get(run_id))).odd()
    except OddysseyError:
        return usual


@st.cache_data(show_spinner=False, max_entries=200)
def _picture(path: str, folders: tuple[Path, ...]) -> bytes | None:
    """An image as it is given to models: read, checked to be one, and made smaller; None if there is none."""
    for folder in folders or (Path(),):
        try:
            return base64.b64decode(data_url(read_image(path, folder), path).partition(",")[2])
        except InputError:
            continue
    return None


def origin(c: Mapping[str, Any]) -> Text:
    """Where a sample comes from, and under which licence."""
    parts = [c.get("dataset") or "dataset not named"]
    parts += [f"split {c['split']}"] if c.get("split") else []
    parts += [f"licence {c['licence']}"] if c.get("licence") else ["licence not named"]
    parts += [f"caption: {c['caption']}"] if c.get("caption") else []
    return "; ".join(parts)


def question(text: str, options: Sequence[str], right: str, origin: str, choice: str = "") -> None:
    """A question with its options; the right one and the model's choice are marked."""
    if not text:
        shell.note("This sample has no question, so it cannot be evaluated.")
        return
    made = chip("template", "outline") if origin == "template" else ""
    lines: list[Markup] = [Markup('<p class="od-said"><b>{}</b> {}</p>').format(text, made)]
    for letter, option in zip(LETTERS, options, strict=False):
        marks = [chip("right answer", "done")] if letter == right else []
        marks += [chip("model's choice", "info" if letter == right else "risk")] if letter == choice else []
        lines.append(Markup('<p class="od-option">{} {} {}</p>').format(Markup("<b>{}</b>").format(letter), option, join(marks, " ")))
    if not options:
        lines.append(Markup('<p class="od-option">{} {}</p>').format(chip("right answer", "done"), right))
    shell.html(join(lines))


def beside(odd: Odd, requested: Mapping[str, str], tags: Mapping[str, Any] | None, flags: Mapping[str, str]) -> Markup:
    """The slice that was asked for beside the one that the sample shows, dimension by dimension."""
    rows = []
    for d in [d for d in odd.names if d in requested]:
        flag = flags.get(d, "")
        shown = "" if tags is None else tags.get(d)
        rows.append([odd.by_name[d].label, plain(requested[d]), tag_in_words(shown), chip(flag, FLAGS.get(flag, "plain")) if flag else ""])
    return table(["Dimension", "Asked for", "Shows", ""], rows)


def slice_in_words(odd: Odd, values: Mapping[str, str]) -> str:
    """The values of a slice in the order of the ODD, without the dimensions that it does not distinguish."""
    active = {odd.names[k] for k in odd.active}
    return " · ".join(plain(values[d]) for d in odd.names if d in values and (d in active or values[d] != odd.by_name[d].base[0].name))


def tag_in_words(tag: Any) -> str:
    """What is known of a dimension: a value, several, or nothing."""
    if tag is None or tag == "":
        return "not known"
    return plain(tag) if isinstance(tag, str) else " or ".join(plain(t) for t in tag)


def choose_row(frame: pd.DataFrame, key: str, columns: dict[str, tuple[str, int] | tuple[str, int, str]]) -> int | None:
    """A table of samples of which one can be chosen.

    Args:
        frame: One row a sample.
        key: Of the widget.
        columns: Title and width in px of each column, and its help where it needs one.

    Returns:
        Position of the chosen row, None if none is.
    """
    config = {c: st.column_config.TextColumn(x[0], width=x[1], help=x[2] if len(x) == 3 else None) for c, x in columns.items()}
    event = st.dataframe(
        frame,
        hide_index=True,
        row_height=33,
        height=37 + 33 * min(len(frame), 8),
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config=config,
    )
    rows = event["selection"]["rows"]
    return rows[0] if rows else None
