"""Training and calibration around the annotator: what they are for, what was right, and how they ended."""

from __future__ import annotations

import streamlit as st
from markupsafe import Markup

from core.labels.rounds import PASS_KAPPA, PASS_RECALL, Calibration
from core.labels.state import fold
from core.operators import labelling
from core.operators.labelling import Feedback
from core.storage import SavedCaseSet, Store
from core.storage.label_events import LABELS, Annotator, Label
from pages.shared import case_picture, case_sets, label_guidance, shell
from pages.shared.label_guidance import TONES
from pages.shared.markup import Text, chip, fill, minus, table
from pages.shared.shell import Tile

SLOT = "training:1"


def training_intro() -> None:
    """What training is."""
    shell.empty(
        "After each answer, the right one and its reason stand below the next case. Nothing that you answer here counts as a label."
    )


def calibration_intro(now: Calibration) -> None:
    """What calibration is."""
    text = (
        f"Form {now.form}: {now.total} cases with known answers. You pass with Cohen's kappa of at least {PASS_KAPPA:g} and at least "
        f"{PASS_RECALL:.0%} of the threats found. Whoever does not pass can try another form; nothing here counts as a label."
    )
    shell.empty(text)


def answered(store: Store, cases: SavedCaseSet, annotator: Annotator) -> list[tuple[str, Feedback]]:
    """The training cases that were answered, the last answer last, each with what is right."""
    person = fold(store.labels.events(cases.id, annotator.id)).get(annotator.id)
    if person is None:
        return []
    ids = [slot.case_id for slot in person.labels if slot.name == SLOT]
    found = ((c, labelling.feedback(store, cases.id, annotator.id, c)) for c in ids)
    return [(c, f) for c, f in found if f is not None]


def right_of(store: Store, cases: SavedCaseSet, annotator: Annotator) -> tuple[int, int]:
    """Right answers, and answers to cases whose right answer is known."""
    known = [f for _, f in answered(store, cases, annotator) if f.gold is not None]
    return sum(f.right for f in known), len(known)


def last_answer(store: Store, cases: SavedCaseSet, annotator: Annotator) -> None:
    """What was right about the answer before."""
    given = answered(store, cases, annotator)
    if not given:
        shell.note("The right answer to this case stands here once you have given yours.")
        return
    case_id, f = given[-1]
    with shell.card("Your last answer", key="training_last"):
        shell.html(Markup('<p class="od-said">{}</p>').format(_said(f)))
        if st.toggle("Show that case", key=f"training_show-{case_id}"):
            content = case_sets.opened(cases)
            case = case_sets.by_id(content, case_id)
            if case is not None:
                case_picture.show(content, case, key=f"training-{case_id}")


def training_result(store: Store, cases: SavedCaseSet, annotator: Annotator) -> None:
    """All answers of the round, one a line."""
    given = answered(store, cases, annotator)
    rows = [[str(i), answer(f.label), answer(f.gold) if f.gold else "–", f.why] for i, (_, f) in enumerate(given, 1)]
    if rows:
        shell.html(table(["Case", "You", "Right", "Why"], rows))


def calibration_result(now: Calibration) -> None:
    """Figures of a finished attempt, with the table that they come from."""
    recall, kappa, found = now.recall, now.kappa_interval, now.recall_interval
    of_kappa = "" if kappa.low is None or kappa.high is None else f", 95 %: {minus(kappa.low)} to {minus(kappa.high)}"
    of_recall = "" if found is None else f", 95 %: {found[0]:.0%} to {found[1]:.0%}"
    shell.tiles(
        [
            Tile(
                "Cohen's kappa",
                "not defined" if now.kappa is None else minus(now.kappa),
                f"needed {PASS_KAPPA:g}, n = {now.total}{of_kappa}",
            ),
            Tile(
                "Threats found",
                "–" if recall is None else f"{recall:.0%}",
                f"{now.found} of {now.gold_yes}, needed {PASS_RECALL:.0%}{of_recall}",
            ),
            Tile("Same answer", f"{now.agreed} of {now.total}", f"attempt {now.attempt}, form {now.form}"),
        ]
    )
    counts = now.counts or {}
    names = {a.label: a.name for a in label_guidance.current().answers}
    rows = [[f"{names[g]} is right", *(f"{counts.get((g, x), 0)}" for x in LABELS)] for g in LABELS]
    shell.html(table(["", *(f"You said {names[x]}" for x in LABELS)], rows, right=(1, 2, 3)))


def answer(label: Label) -> Markup:
    """An answer as a chip."""
    return chip(label_guidance.current().answer(label).name, TONES[label])


def _said(f: Feedback) -> Text:
    if f.gold is None:
        return fill("You said {a}; this case has no known answer.", a=answer(f.label))
    if f.right:
        return fill("{a} is right. {why}", a=answer(f.gold), why=f.why)
    return fill("You said {a}; {g} is right. {why}", a=answer(f.label), g=answer(f.gold), why=f.why)
