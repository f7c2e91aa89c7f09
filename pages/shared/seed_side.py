"""What the accepted rows look like: rows per value with zeros kept, sources, and what must be known about them."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.plots import value_rows
from core.scoring import MAX_CANDIDATES
from core.seed_table import CheckReport, SeedTable
from pages.shared import shell
from pages.shared.markup import Markup, chip, fill, mark, table
from pages.shared.seed_form import without_options

DIMENSIONS, VALUES = 20, 40


def values_without_rows(seed: SeedTable) -> list[tuple[str, str]]:
    """(dimension, value) of every value of the ODD that no row holds; dimensions with one value are left out."""
    out = []
    for k, d in enumerate(seed.odd.dimensions):
        seen = {seed.odd.codec.values[k][i] for i in np.unique(seed.codes[:, k]).tolist()}
        out += [(d.name, v.name) for v in d.base if d.active and v.name not in seen]
    return out


def show_side(report: CheckReport) -> None:
    """The right column of the import."""
    seed, odd = report.seed, report.odd
    unit = "samples" if report.plan.shape == "slices" else "rows"
    shell.section(f"{unit.capitalize()} per value", f"{seed.total:,} {unit}, same scale throughout")
    shell.note(
        fill(
            "A value without {unit} keeps its place with a {zero}, so that an absence is visible. {n} of {all} combinations occur.",
            unit=unit,
            zero=mark(0),
            n=f"{report.observed:,}",
            all=f"{odd.base_space.size:,}",
        )
    )
    if odd.base_space.size > MAX_CANDIDATES:
        text = f"At most {MAX_CANDIDATES:,} slices can be ranked at a time: leave out a dimension, or fix values with a filter later."
        shell.html(Markup('<p class="od-note">{} {}</p>').format(chip("too many to rank", "risk"), text))
    for warning in report.warnings:
        shell.html(Markup('<p class="od-note">{} {}</p>').format(chip("note", "wait"), without_options(warning)))
    active = [d for d in odd.dimensions if d.active]
    for d in active[:DIMENSIONS]:
        shell.note(fill("{label}", label=mark(d.label)))
        if len(d.base) > VALUES:
            shell.note(f"{len(d.base):,} values, too many to draw; {len({r.value for r, _ in report.readings[d.name] if r.ok}):,} occur.")
        else:
            st.altair_chart(value_rows(seed, d.name, shell.dark()), width="stretch")
    if len(active) > DIMENSIONS:
        shell.note(f"{len(active) - DIMENSIONS} more dimensions are not drawn.")
    if report.inventory:
        shell.section("Sources", "accepted rows and their distinct slices")
        lines = [(r.source, r.qa_type, f"{r.rows:,}", f"{r.slices:,}") for r in report.inventory[:50]]
        shell.html(table(["Source", "Question type", "Rows", "Slices"], lines, right=(2, 3)))
        if len(report.inventory) > 50:
            shell.note(f"The first 50 of {len(report.inventory):,} are shown.")
