"""Sentences of the verification queue; every number with what it rests on."""

from __future__ import annotations

from core.acquisition.verification import VerificationReport
from core.labels.agreement import Agreement, Interval
from core.odd import Odd
from core.operators import Settled
from core.plots import plain
from core.storage import QUESTION_ANSWER, SavedQueue
from pages.shared.markup import Text, fill, join, mark

WORDS = {"yes": "Yes", "no": "No", "unsure": "Unsure"}
NOTHING = "No tags have been checked by people yet."


def attribute(odd: Odd, name: str) -> str:
    """An attribute for people."""
    if name == QUESTION_ANSWER:
        return "Question and answer"
    return odd.by_name[name].label if name in odd.by_name else plain(name) if name else "All together"


def headline(queue: SavedQueue | None, found: VerificationReport | None) -> Text:
    """The finding."""
    if queue is None or found is None:
        return NOTHING
    p = found.pooled.precision
    if p.rate is None:
        return fill("{name} waits for its first answers: {n} images or clips to check.", name=queue.name, n=mark(f"{found.items:,}"))
    return fill("In {name}, people confirm {rate} of the tags that they decided.", name=queue.name, rate=mark(f"{p.rate:.1%}"))


def answering(queue: SavedQueue) -> Text:
    """What is asked of a person."""
    return fill("Say of each tag whether it is right: {n} in {name}.", n=mark(f"{queue.size:,} images or clips"), name=queue.name)


def provenance(found: VerificationReport | None) -> Text:
    """What the finding rests on."""
    if found is None:
        return "A sample of tagged images is shown to people, who answer Yes, No or Unsure for each tag."
    p = found.pooled.precision
    people = f"{len(found.people):,} {'person' if len(found.people) == 1 else 'people'}"
    if not p.decided:
        return f"{found.statements:,} tags on {found.items:,} images or clips; {people} so far."
    return (
        f"{p.right:,} of {p.decided:,} decided tags, 95 % interval {p.low:.1%} to {p.high:.1%}; {p.undecided:,} undecided, "
        f"{found.statements - found.pooled.answered:,} not answered; {people}. Of a sample balanced by value, not by frequency."
    )


def number(x: float | None, digits: int = 3) -> str:
    """A figure; a dash where it is not defined."""
    if x is None:
        return "–"
    text = f"{abs(x):.{digits}f}"
    return f"−{text}" if x < 0 and float(text) else text


def interval(x: Interval, digits: int = 3) -> str:
    """The interval of a figure, "" where there is none."""
    return "" if x.low is None or x.high is None else f"{number(x.low, digits)} to {number(x.high, digits)}"


def settled(x: Settled) -> Text:
    """What grading results anew came to."""
    if not x.looked:
        return "No evaluation was made in this workspace yet."
    if not x.changed:
        return f"{x.looked:,} results were looked at; nothing changes."
    tables = fill(" The tables {t} changed with them.", t=join(map(mark, x.tables), ", ")) if x.tables else ""
    return fill(
        "{n} of {all} results changed in {r} runs: {new} count from now on, {lost} no longer do.{tables}",
        n=f"{x.changed:,}",
        all=f"{x.looked:,}",
        r=f"{len(x.runs):,}",
        new=f"{x.valid:,}",
        lost=f"{x.lost:,}",
        tables=tables,
    )


def why_low(a: Agreement) -> str:
    """In one line: how a high agreement can come with a low kappa, by the answers at hand."""
    if a.pairwise.value is None or a.chance is None:
        return "Agreement needs two people who answered the same question."
    most = max(a.shares)
    word = ("Yes", "No", "Unsure")[a.shares.index(most)]
    if a.kappa.value is None:
        return f"Every answer is {word}: there is nothing to tell agreement from chance by, so kappa is not defined."
    return (
        f"Two people give the same answer in {a.pairwise.value:.0%} of the pairs; as {most:.0%} of all answers are {word}, "
        f"chance alone would give {a.chance:.0%}. Kappa counts only what lies above that, "
        "so it is low where one answer prevails, however often people agree."
    )
