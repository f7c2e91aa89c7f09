"""Cases: what an expert drove and what planners would have done, with pictures, metrics, and the import of more."""

from __future__ import annotations

import streamlit as st

from core.errors import InputError
from pages.shared import case_import, case_list, case_numbers, case_outside, case_sets, shell
from pages.shared.case_sets import NEEDED
from pages.shared.shell import Action

NAME = "Cases"
LIST, METRICS, SETS = VIEWS = ("Cases", "Metrics", "Sets and import")

shell.begin("pages/cases.py")
with shell.errors_as_card(NAME, "The cases cannot be shown."):
    current = case_sets.current()
    if current is None:
        case_sets.without(NAME, "No case yet. Load the demo cases, or import your own.")
        case_import.show(None)
        st.stop()
top = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    view = st.segmented_control("View", VIEWS, default=LIST, required=True, key="view", bind="query-params", label_visibility="collapsed")
    case_sets.box(current)
broken: InputError | None = None
try:
    content = case_sets.opened(current)
    numbers = case_list.measured(current, content)
except InputError as e:
    broken = e
with top:
    if broken is not None:
        shell.header(NAME, f'The case set "{current.name}" cannot be shown.', NEEDED)
        shell.error_card(broken)
    else:
        actions = [Action("summary", "Download JSON", download=lambda: case_numbers.as_json(numbers), file_name="metrics.json")]
        head, prov = case_list.headline(current, numbers), case_list.provenance(current, content, numbers)
        shell.header(NAME, head, prov, actions, synthetic=current.synthetic)
case_sets.pin(current)
if view == SETS or broken is not None:
    case_import.show(current)
elif view == METRICS:
    case_numbers.show(numbers)
    case_outside.show(current, case_list.numbered(current, content))
else:
    found = case_list.filters(content)
    case_list.show(current, content, numbers, found)
    case_list.leave_out(current, content)
