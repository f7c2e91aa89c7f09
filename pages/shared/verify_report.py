"""What came of a queue: how often the tagger was right, and how far people agree."""

from __future__ import annotations

import json

import streamlit as st

from core import operators
from core.acquisition.verification import AttributeReport, VerificationReport
from core.errors import OddysseyError
from core.labels.agreement import Interval
from core.odd import Odd
from core.operators import Settled
from core.storage import ANSWERS, SavedQueue
from pages.shared import shell, state, who
from pages.shared import verify_text as text
from pages.shared.markup import Markup, join, strong, table
from pages.shared.shell import Tile

_SETTLED = "verify.settled"


def show(queue: SavedQueue, odd: Odd, found: VerificationReport) -> None:
    """Tiles, the table by attribute, and the files."""
    if not found.people:
        shell.empty("Nobody has answered yet. Shares, agreement and kappa stand here once people did; agreement needs two of them.")
        return
    a, d = found.pooled.agreement, found.pooled.decided
    shell.tiles(
        [
            Tile("Tags confirmed", "–" if found.pooled.precision.rate is None else f"{found.pooled.precision.rate:.1%}", _basis(found)),
            _tile("Pairwise agreement", a.pairwise, f"n = {a.questions:,} tags with two or more answers"),
            _tile("Fleiss' kappa", a.kappa, "Yes, No and Unsure as three answers"),
            _tile("Kappa without Unsure", d.kappa, f"n = {d.questions:,} tags that two or more decided"),
        ]
    )
    shell.note(text.why_low(a))
    with shell.card("By attribute", "95 % intervals in brackets: Wilson for shares, bootstrap over images for agreement"):
        rows = [_row(odd, x) for x in (*found.attributes, found.pooled)]
        columns = ["", "Yes", "No", "Unsure", "Tagger right", "Pairwise", "Kappa", "Kappa without Unsure", "Alpha", "n"]
        shell.html(table(columns, rows, right=range(1, len(columns)), chosen=len(rows) - 1))
        shell.note(
            "Tagger right: tags that more people affirm than deny, among those with a majority. n: tags with two or more answers; "
            "the other figures rest on them. Alpha is Krippendorff's for categories without order. A dash: not defined."
        )
    people = join((Markup("{} {}").format(strong(name), f"{n:,}") for name, n in found.people.items()), ", ")
    shell.note(Markup("Tags answered by {}. Images or clips answered in full by somebody: {} of {}.").format(
        people, f"{found.done:,}", f"{found.items:,}"))  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "Answers (CSV)",
            lambda: operators.answers_csv(state.store(), queue.id),
            f"answers-{queue.id}.csv",
            "text/csv",
            on_click="ignore",
            key="verify_csv",
        )
        data = {"queue": {"id": queue.id, "name": queue.name, **queue.manifest}, "report": operators.verification_object(found)}
        st.download_button(
            "Result (JSON)",
            json.dumps(data, indent=2, ensure_ascii=False),
            f"verification-{queue.id}.json",
            "application/json",
            on_click="ignore",
            key="verify_json",
        )
    with shell.card("Results", "of evaluations that were made before", key="verify_results"):
        _results(odd)


def _results(odd: Odd) -> None:
    """Let finished evaluations know."""
    shell.note(
        "A sample counts as evidence only if it shows its slice in full. Grade the samples of finished evaluations anew: what people "
        "or a tagger confirmed since counts, what they refuted no longer does. Each change is a further row; taking answers back and "
        "grading again takes it back."
    )
    if st.button("Grade results anew", key="verify_settle", disabled=not who.name(), help=None if who.name() else "Say who you are first."):
        try:
            with st.spinner("Grading samples."):
                st.session_state[_SETTLED] = operators.settle_results(state.store(), odd, who=who.name())
        except OddysseyError as e:
            shell.error_card(e, "The results are as they were.")
            return
        st.rerun()
    done: Settled | None = st.session_state.pop(_SETTLED, None)
    if done is not None:
        shell.note(text.settled(done))


def _basis(found: VerificationReport) -> str:
    p = found.pooled.precision
    return f"{p.low:.1%} to {p.high:.1%}, n = {p.decided:,} decided" if p.decided else "no tag is decided"


def _row(odd: Odd, x: AttributeReport) -> list[object]:
    a, d = x.agreement, x.decided
    p = x.precision
    right = _cell("–", "") if p.rate is None else _cell(f"{p.rate:.1%}", f"{p.low:.0%} to {p.high:.0%}; n = {p.decided:,}")
    figures = [_cell(text.number(f.value, 2), text.interval(f, 2)) for f in (a.pairwise, a.kappa, d.kappa, a.alpha)]
    return [text.attribute(odd, x.attribute), *(f"{x.counts[k]:,}" for k in ANSWERS), right, *figures, f"{a.questions:,} of {x.asked:,}"]


def _cell(figure: str, basis: str) -> Markup:
    """A figure with its interval in small type."""
    return Markup('{} <small class="od-quiet">{}</small>').format(figure, f"({basis})" if basis else "")


def _tile(label: str, x: Interval, basis: str) -> Tile:
    return Tile(label, text.number(x.value), "; ".join(t for t in (text.interval(x), basis) if t))
