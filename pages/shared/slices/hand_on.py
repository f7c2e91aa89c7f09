"""What a slice leads to: files for repair, a value in the ODD, a campaign over slices with that value, and driving cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import streamlit as st

from core import operators
from core.acquisition import Request
from core.odd import Odd
from core.operators import slice_handoff
from core.operators.slice_handoff import AddedValue, ValueProposal
from core.operators.slice_report import SliceReport, SliceRow
from pages.shared import links, odd_view, shell, state
from pages.shared.markup import code, count, fill, mark, table
from pages.shared.slices import repair

Way = Literal["repair", "odd", "cases"]
WAYS: Mapping[Way, str] = {"repair": "Repair the model", "odd": "A value in the ODD, a campaign", "cases": "Driving cases"}
_ADDED = "slices.added"
_BUDGET = 20


@st.fragment
def show(report: SliceReport, row: SliceRow) -> None:
    """One of the ways at a time."""
    shell.section("Hand on")
    way: Way = st.segmented_control(
        "Hand on", list(WAYS), format_func=WAYS.__getitem__, default="repair", required=True, key="onward", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    draw: dict[Way, Callable[[SliceReport, SliceRow], None]] = {"repair": repair.show, "odd": odd_value, "cases": cases}
    with shell.errors_as_card(changed="Nothing was handed on."):
        draw[way](report, row)
    links.follow("od-onward")


def odd_value(report: SliceReport, row: SliceRow) -> None:
    """Propose a value, save the ODD with it, and plan a campaign over the untested slices that have it."""
    slice_handoff.refuse(row)
    saved = state.current_table()
    known = odd_view.known()
    first = saved.odd_hash if saved is not None and saved.odd_hash in known else next(iter(known))
    names = {h: f"{o.name} v{o.version}, {h[:6]}" for h, o in known.items()}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        odds = list(known)
        chosen = st.selectbox("ODD", odds, index=odds.index(first), format_func=names.__getitem__, key="onward_odd", width=260)
        odd = known[chosen]
        proposed = slice_handoff.propose_value(odd, row.hypothesis)
        at = f"{chosen[:12]}.{row.hypothesis.id}"
        dimension = st.selectbox(
            "Dimension", list(odd.names), index=odd.names.index(proposed.dimension), key=f"onward_dimension.{at}", width=220,
            format_func=lambda d: odd.by_name[d].label or d,
        )  # fmt: skip
        value = st.text_input("Value", proposed.value, key=f"onward_value.{at}", max_chars=60, width=240)
        if (dimension, value) != (proposed.dimension, proposed.value):
            proposed = slice_handoff.propose_value(odd, row.hypothesis, dimension=dimension, value=value)
        go = st.button("Save ODD with this value", key="onward_save", disabled=proposed.known)
    if proposed.why:
        shell.note(proposed.why)
    key = (chosen, row.hypothesis.id, proposed.dimension, proposed.value)
    if go:
        st.session_state[_ADDED] = (key, slice_handoff.add_value(state.store(), odd, proposed, report, row))
    kept = st.session_state.get(_ADDED)
    if proposed.known:
        _campaign(report, row, odd, proposed)
    elif kept is not None and kept[0] == key:
        added: AddedValue = kept[1]
        text = "Saved as {name}, hash {h}. It spans {a} combinations instead of {b}; the {i} slices inside the ODD stay as they are."
        of = added.odd
        shell.note(fill(text, name=of.name, h=code(of.hash[:12]), a=mark(f"{added.after:,}"), b=f"{added.before:,}", i=f"{added.inside:,}"))
        shell.html(links.link("Look at it on the page ODD", "pages/odd.py", {"odd": of.hash[:12]}))
        _campaign(report, row, of, proposed)


def _campaign(report: SliceReport, row: SliceRow, odd: Odd, proposal: ValueProposal) -> None:
    saved = state.current_table()
    if saved is None:
        shell.note("A campaign needs a seed table, whose gaps are ranked; there is none yet.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        n = st.number_input("Slices", 1, 10_000, _BUDGET, key="onward_budget", width=140)
        name = st.text_input(
            "Campaign", f"{proposal.value.replace('_', ' ')}", key=f"onward_campaign.{row.hypothesis.id}", max_chars=120, width=300
        )
        go = st.button("Save campaign", key="onward_plan")
    shell.note(fill('Over untested slices of the table "{t}" that have this value, best first.', t=saved.name))
    if not go:
        return
    origin = {"hypothesis": row.hypothesis.id, "text": row.hypothesis.text, "from": slice_handoff.provenance(report, row)}
    with st.spinner("Ranking slices with the value."):
        plan = slice_handoff.plan_slice_campaign(
            state.store(), saved.id, odd, proposal, Request(budget=float(n)), state.settings(), origin=origin
        )
        made = operators.save_campaign(state.store(), state.store().campaigns.free_name(name.strip() or "Error slice"), plan, saved)
    shell.note(fill("Saved {name}: {n}, {m}.", name=mark(made.name), n=count(made.slices, "slice"), m=count(made.samples, "sample")))
    shell.html(
        links.link("Open it on the page Ranked gaps", "pages/ranked_gaps.py", {"table": saved.id, "view": "Campaign", "campaign": made.id})
    )


def cases(report: SliceReport, row: SliceRow) -> None:
    """Driving cases whose scene is that of an image of the slice."""
    found = slice_handoff.cases_of_slice(state.store(), report, row)
    if not found:
        shell.empty(
            "No case of this workspace has a scene that is also an image of this slice. An image belongs to a scene if a camera frame "
            "of it has the same bytes, or if its name is the id of the scene."
        )
        return
    rows = [
        (
            links.link(c.scene_id, "pages/cases.py", {"cases": c.set_id, "case": str(c.place)}),
            c.set_name,
            count(c.cases, "case"),
            c.file_name,
            f"{c.score:.2f}",
            f"{c.loss:.2f}",
            "same picture" if c.same == "picture" else "same name",
        )
        for c in found
    ]
    shell.html(table(("Scene", "Cases of", "", "Image", "c", "Loss", "Known by"), rows, right=(4, 5)))
    shell.note(f"{count(len(found), 'scene')}, highest score first; each opens at its first case.")
