"""Where it fails: errors among what was tested, each with n and interval, and what was hardly tested."""

from __future__ import annotations

import streamlit as st

from core.odd import Odd
from core.operators import Triage
from core.plots import failure_frame, scale_end
from core.storage import SavedTable
from pages.shared import gaps_controls, results, shell, start, state, triage_parts
from pages.shared.markup import Text, code, fill, mark
from pages.shared.results import Filter
from pages.shared.shell import Action

NAME = "Where it fails"


def headline(summary: Triage, odd: Odd, where: Filter) -> Text:
    """The value with the highest lower bound, against all."""
    if not summary.by_value:
        return "No tested sample lies under this filter."
    worst = summary.by_value[0]
    label = odd.by_name[worst.dimensions[0]].label
    scope = "all samples under this filter" if where else "all samples"
    if worst.low <= summary.error:
        return fill("No value stands out: no interval lies above the error over {s}, {a}.", a=mark(f"{summary.error:.1%}"), s=scope)
    return fill(
        "With {v} ({d}), the error is {e}, against {a} over {s}.",
        v=mark(worst.values[0]), d=label.lower(), e=mark(f"{worst.error:.1%}"), a=f"{summary.error:.1%}", s=scope,
    )  # fmt: skip


def provenance(table: SavedTable, summary: Triage, where: Filter) -> Text:
    """n, intervals, digest, and every sample and row that the numbers leave out."""
    source, outside = results.provenance(table), results.triage(table).left_out
    parts = []
    if summary.by_value:
        w = summary.by_value[0]
        parts.append(f"{w.values[0]}: n = {w.n:,}, 95 % interval {w.low:.1%} to {w.high:.1%}.")
        parts.append(f"All: n = {summary.n:,} in {summary.slices:,} slices, {summary.low:.1%} to {summary.high:.1%}.")
    parts.append(f"Left out: {outside:,} samples outside the ODD,")
    if where:
        parts.append(f"{summary.left_out - outside:,} by the filter,")
    parts.append(f"and {source.get('rejected', 0):,} of {source.get('rows', 0):,} rows at import.")
    if table.n_assumed:
        parts.append("n was assumed, not counted.")
    return fill("{p} Table {t}, ODD {o}.", p=" ".join(parts), t=code(table.digest[:6]), o=code(table.odd_hash[:6]))


shell.begin("pages/triage.py")
with shell.errors_as_card(NAME, "The failures could not be computed."):
    current = state.current_table()
    if current is None:
        start.without_table(
            NAME,
            "No table yet, so no failure can be shown.",
            "Here you will see under which values, and pairs of values, the model fails, each with its n and interval.",
        )
    odd, unknown = state.seed_table(current).odd, state.unknown_table()
    head = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        where = gaps_controls.filters(odd, [odd.names[k] for k in odd.active] or list(odd.names))
        shown = st.selectbox("Rows shown", triage_parts.SHOWN, key="shown", bind="query-params", width=110)
    summary = results.triage(current, where)
    state.pin(current)
    with head:
        file = lambda: failure_frame([*summary.by_value, *summary.by_pair], summary.error).to_csv(index=False)  # noqa: E731
        download = Action("csv", "Download CSV", download=file, file_name="failures.csv", disabled=not summary.n)
        shell.header(NAME, headline(summary, odd, where), provenance(current, summary, where), [download], synthetic=current.synthetic)
    if unknown:
        shell.note(f'The address asks for the table "{unknown}", which is not in this workspace (any more); this is "{current.name}".')
    if where:
        shell.note(f"Only {gaps_controls.fixed(where)}.")
    if summary.n:
        shell.html(triage_parts.legend())
        shell.note(
            "Sorted by the lower end of the interval, so that few samples do not lead. Intervals are 95 % Wilson intervals, one at a time: "
            f"of {len(summary.by_value) + len(summary.by_pair):,}, some miss their true value by chance."
        )
        end = scale_end([*summary.by_value[:shown], *summary.by_pair[:shown]], summary.error)
        left, right = st.columns(2, gap="large")
        with left:
            shell.section("Per value", f"{len(summary.by_value):,} values with samples")
            triage_parts.intervals(summary.by_value, odd, summary, end, shown, "values")
        with right:
            shell.section("Per pair of values", f"{summary.pairs_tested:,} of {summary.pairs_possible:,} pairs were tested")
            triage_parts.intervals(summary.by_pair, odd, summary, end, shown, "pairs")
    else:
        shell.empty("Clear a fixed value to see the failures elsewhere.")
    triage_parts.coverage(summary, odd)
