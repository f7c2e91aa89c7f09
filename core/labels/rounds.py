"""Rounds before labelling: training with an answer after each case, and calibration against known answers with a pass mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.labels.agreement import Interval
from core.labels.order import ranked
from core.labels.pool import Entry
from core.labels.raters import cohen_kappa, kappa_interval
from core.labels.state import PersonState, Slot
from core.scoring import wilson
from core.storage.label_events import LABELS, Label

FORM = 30
"""Cases of a form of calibration."""
PASS_KAPPA = 0.6
PASS_RECALL = 0.8
"""Share of the gold Y that a person has to find."""

Form = Literal["A", "B"]
State = Literal["none", "open", "passed", "failed"]


@dataclass(frozen=True)
class Calibration:
    """How a person stands in calibration.

    Attributes:
        state: "none" where the set has no gold cases for it; "open" while cases are left; else the outcome.
        attempt: 1 for the first one.
        form: Which cases it shows.
        done: Cases answered in this attempt.
        total: Cases of this attempt.
        kappa: Cohen's kappa with gold over the finished attempt; None if it is not finished, or not defined.
        agreed: Cases with the gold answer, 0 before it is finished.
        found: Gold Y that the person labelled Y, 0 before it is finished.
        gold_yes: Gold Y in this attempt.
        counts: Answers by (gold, given), {} before it is finished.
    """

    state: State
    attempt: int = 1
    form: Form = "A"
    done: int = 0
    total: int = 0
    kappa: float | None = None
    agreed: int = 0
    found: int = 0
    gold_yes: int = 0
    counts: Mapping[tuple[Label, Label], int] | None = None

    @property
    def recall(self) -> float | None:
        """Share of the gold Y that was found; None if not finished or without any."""
        return self.found / self.gold_yes if self.counts and self.gold_yes else None

    @property
    def recall_interval(self) -> tuple[float, float] | None:
        """95 % Wilson interval of the recall."""
        return None if self.recall is None else wilson(self.recall, self.gold_yes)

    @property
    def kappa_interval(self) -> Interval:
        """Cohen's kappa with its 95 % bootstrap interval over the cases."""
        return kappa_interval(_square(self.counts or {}))


def training_slots(entries: Sequence[Entry], seed: str) -> tuple[Slot, ...]:
    """The queue of the training round."""
    return tuple(Slot(c, "training:1") for c in ranked(seed, "training", [e.case_id for e in entries if e.role == "training"]))


def form_of(attempt: int) -> Form:
    """The form of an attempt: A and B take turns."""
    return "A" if attempt % 2 else "B"


def form_cases(entries: Sequence[Entry], form: Form, size: int = FORM) -> tuple[str, ...]:
    """Cases of a form: the same for everybody, gold answers mixed as in the whole, A and B as different as the cases allow."""
    gold = {e.case_id: e.gold for e in entries if e.role == "calibration" and e.gold is not None}
    size = min(size, len(gold))
    strata = [ranked("forms", form_label, [c for c, g in gold.items() if g == form_label]) for form_label in LABELS]
    out: list[str] = []
    for stratum, quota in zip(strata, _quotas([len(s) for s in strata], size), strict=True):
        out += stratum[:quota] if form == "A" else stratum[len(stratum) - quota :]
    return tuple(out)


def calibration_slots(entries: Sequence[Entry], person: PersonState, seed: str, attempt: int) -> tuple[Slot, ...]:
    """The queue of an attempt. Cases that were answered stay in it, whatever was added to the set since."""
    slot = f"calibration:{attempt}"
    form = form_cases(entries, form_of(attempt))
    gold = {e.case_id for e in entries if e.gold is not None}
    answered = [s.case_id for s in person.labels if s.name == slot and s.case_id in gold]
    chosen = [*answered, *(c for c in form if c not in set(answered))][: max(len(form), len(answered))]
    return tuple(Slot(c, slot) for c in ranked(seed, slot, chosen))


def calibration_of(entries: Sequence[Entry], person: PersonState, seed: str) -> Calibration:
    """How a person stands: the first attempt that is passed or not finished, else the last one, which failed."""
    gold = {e.case_id: e.gold for e in entries if e.gold is not None}
    attempt, last = 1, Calibration("none")
    while True:
        slots = calibration_slots(entries, person, seed, attempt)
        if not slots:
            return last
        given = {s.case_id: label for s in slots if (label := person.label(s.case_id, s.name)) is not None}
        if len(given) < len(slots):
            if last.state == "failed" and not given:
                return last
            return Calibration("open", attempt, form_of(attempt), len(given), len(slots))
        last = _judged([(gold[c], label) for c, label in given.items()], attempt)
        if last.state == "passed":
            return last
        attempt += 1


def _judged(pairs: Sequence[tuple[Label | None, Label]], attempt: int) -> Calibration:
    known: list[tuple[Label, Label]] = [(g, label) for g, label in pairs if g is not None]
    counts = {(g, label): n for g in LABELS for label in LABELS if (n := known.count((g, label)))}
    kappa = cohen_kappa(_square(counts))
    yes = [label for g, label in known if g == "Y"]
    found = sum(label == "Y" for label in yes)
    passed = kappa is not None and kappa >= PASS_KAPPA and bool(yes) and found >= PASS_RECALL * len(yes)
    return Calibration(
        "passed" if passed else "failed",
        attempt,
        form_of(attempt),
        len(known),
        len(known),
        kappa,
        sum(g == label for g, label in known),
        found,
        len(yes),
        counts,
    )


def _square(counts: Mapping[tuple[Label, Label], int]) -> list[list[int]]:
    """Answers as a table, gold down and given across."""
    return [[counts.get((g, label), 0) for label in LABELS] for g in LABELS]


def _quotas(sizes: Sequence[int], total: int) -> list[int]:
    """Whole shares of a total in proportion to sizes, by largest remainder."""
    whole = sum(sizes)
    if not whole:
        return [0] * len(sizes)
    exact = [s * total / whole for s in sizes]
    out = [int(x) for x in exact]
    for i in sorted(range(len(sizes)), key=lambda i: (out[i] - exact[i], i))[: total - sum(out)]:
        out[i] += 1
    return out
