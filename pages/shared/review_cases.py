"""Cases on which people differ or were not sure: what each said, without telling who, and the decision of a third person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st
from markupsafe import Markup

from core.errors import OddysseyError
from core.operators import labelling
from core.operators.labelling import Disputed
from core.storage import SavedCaseSet, Store
from core.storage.label_events import LABELS, Annotator, Label
from core.threats.taxonomy import load_taxonomy
from core.trajectories.case_set import CaseSet
from pages.shared import case_picture, case_sets, label_guidance, label_who, shell
from pages.shared.markup import Text, chip, code, count, fill, join, strong

CASE = "case"
"""Query parameter: place in the set of the case that is shown, from 1."""
OPEN, ALL = SHOWN = ("Open", "All")
_PEEK = "review.peek.{}"
WHY = {"split": "Y and N", "unsure": "Unsure", "both": "Y, N and Unsure"}


def votes(labels: Sequence[Label]) -> Markup:
    """Labels side by side."""
    name = {"Y": "Y", "N": "N", "U": "?"}
    return Markup('<span class="od-votes">{}</span>').format(
        join(Markup('<span class="od-vote {}" title="{}">{}</span>').format(x, _name(x), name[x]) for x in labels)
    )


def _name(label: Label) -> str:
    return label_guidance.current().answer(label).name


def show(store: Store, saved: SavedCaseSet, content: CaseSet, found: Sequence[Disputed], who: Annotator | None) -> None:
    """The list at the left, one case with its labels at the right."""
    if not found:
        shell.empty("Cases with both Y and N, or with an Unsure, stand here once two people labelled the same cases.")
        return
    if who is not None and _would_sway(store, saved, who):
        return
    left, right = st.columns([0.34, 0.66], gap="large")
    with left:
        part = st.segmented_control("Shown", SHOWN, default=OPEN, required=True, key="review_part", label_visibility="collapsed")
        rows = [d for d in found if part == ALL or d.decided is None]
        settled = sum(d.decided is not None for d in found)
        shell.section("Cases to settle", f"{len(found) - settled:,} open, {settled:,} settled; Unsure first")
        chosen = _list(content, rows, part or OPEN) if rows else None
        if not rows:
            shell.note("All of them are settled.")
    with right:
        if chosen is not None:
            _one(store, saved, content, chosen, who)


def _would_sway(store: Store, saved: SavedCaseSet, who: Annotator) -> bool:
    """Whether a person who still has cases to label has not yet said to look all the same."""
    w = labelling.window(store, saved.id, who.id, n=0)
    open_, key = w.total - w.done, _PEEK.format(saved.id)
    if not w.done or not open_ or st.session_state.get(key):
        return False
    shell.empty(
        f"You still have {count(open_, 'case')} to label in this set, and what others said would sway you. Whoever decides a case can no "
        "longer label it."
    )
    st.button("Show them all the same", key="review_peek", on_click=lambda: st.session_state.update({key: True}))
    return True


def ends(content: CaseSet, rows: Sequence[Disputed]) -> list[str]:
    """Where each planner is in the end, which tells cases of one scene apart without a name; a number where even that is the same."""
    out: list[str] = []
    seen: Counter[tuple[str, str]] = Counter()
    for d in rows:
        case = case_sets.by_id(content, d.case_id)
        said = "" if case is None else case_picture.end(content, case)
        seen[d.scene_id, said] += 1
        n = seen[d.scene_id, said]
        out.append(said if n == 1 else f"{said} ({n})")
    return out


def _list(content: CaseSet, rows: Sequence[Disputed], part: str) -> Disputed:
    place = {c.case_id: i for i, c in enumerate(content.cases, 1)}
    data = pd.DataFrame(
        {
            "Scene": [d.scene_id for d in rows],
            "Labels": [" ".join("?" if g.label == "U" else g.label for g in d.given) for d in rows],
            **({"Settled": [d.decided.label.replace("U", "?") if d.decided else "" for d in rows]} if part == ALL else {}),
            "From the expert": ends(content, rows),
        }
    )
    key = f"review_table-{part}-{len(rows)}"
    event = st.dataframe(
        data, hide_index=True, height=min(560, 38 + 35 * len(rows)), on_select="rerun", selection_mode="single-row", key=key
    )
    if picked := event["selection"]["rows"]:
        st.query_params[CASE] = str(place[rows[picked[0]].case_id])
    wanted = st.query_params.get(CASE, "")
    return next((d for d in rows if str(place[d.case_id]) == wanted), rows[0])


def _one(store: Store, saved: SavedCaseSet, content: CaseSet, d: Disputed, who: Annotator | None) -> None:
    case = case_sets.by_id(content, d.case_id)
    if case is None:
        return
    question = case_picture.view(content, case)["question"]
    shell.section(fill("Scene {s}", s=d.scene_id), question)
    several = len(case.cameras) > 1 and st.toggle(f"All {len(case.cameras)} cameras", key="review_cameras")
    case_picture.show(content, case, key=f"review-{d.case_id}", all_cameras=several)
    given, decide = st.columns([0.52, 0.48], gap="medium")
    with given:
        shell.section("What people said", "letters mean nothing outside this case")
        shell.html(join(_given(g.who, g.label, g.threats, g.comments) for g in d.given))
        for x in reversed(d.history):
            shell.note(fill("Settled as {l}: {n}", l=chip(_name(x.label), label_guidance.TONES[x.label]), n=x.note))
    with decide, shell.card("Your decision", "as a third person", key="review_decide"):
        _decide(store, saved, d, who)


def _given(who: str, label: Label, threats: Sequence[str], comments: Sequence[str]) -> Markup:
    known = load_taxonomy().by_id
    named = ", ".join(known[t].label if t in known else t for t in threats)
    text = Markup('<p class="od-note">{} {} {}</p>').format(strong(who), votes([label]), f"named: {named}" if named else "")
    return text + join(Markup('<p class="od-note">“{}”</p>').format(c) for c in comments)


def _decide(store: Store, saved: SavedCaseSet, d: Disputed, who: Annotator | None) -> None:
    if who is None:
        shell.note("Say who you are: a case is settled by somebody who did not label it.")
        label_who.register(store)
        return
    if not d.may_decide:
        shell.note(fill("You ({id}) labelled this case, so somebody else has to settle it.", id=code(who.id)))
        return
    names = {x: _name(x) for x in LABELS}
    label = st.segmented_control(
        "Label", LABELS, format_func=lambda x: names.get(x, x), key=f"review_label-{d.case_id}", label_visibility="collapsed"
    )
    note = st.text_area("Why", key=f"review_note-{d.case_id}", max_chars=2_000, height=90, placeholder="What decides it")
    seen = d.decided.number if d.decided else 0
    ready = label is not None and bool(note.strip())
    if st.button("Record consensus", type="primary", key=f"review_save-{d.case_id}", disabled=label is None):
        if not ready or label is None:
            shell.note("Say why: the reason is kept with the decision.")
            return
        try:
            labelling.consensus(store, saved.id, who.id, d.case_id, label, note, seen=seen)
        except OddysseyError as e:
            shell.error_card(e)
            return
        st.query_params.pop(CASE, None)
        st.rerun()
    shell.note("It goes before every rule; the labels stay, and you can no longer label this case yourself.")


def headline(found: Sequence[Disputed], compared: int, people: int) -> Text:
    """How many cases people differ on."""
    if not people:
        return "Nobody has labelled a case of this set yet."
    split, unsure = sum(d.why != "unsure" for d in found), sum(d.why != "split" for d in found)
    open_ = sum(d.decided is None for d in found)
    if not found:
        return fill("No disagreement yet; {n} labelled by two or more.", n=count(compared, "case"))
    text = "People split on {s}, and somebody was unsure on {u}; {o} still open."
    return fill(text, s=strong(count(split, "case")), u=f"{unsure:,}", o=f"{open_:,} of {len(found):,}")
