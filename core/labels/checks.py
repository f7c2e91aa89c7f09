"""Whether a person's labels can be trusted: how fast, how varied, and how far they agree with themselves and with known answers.

Nothing is taken away: labels of a flagged person stay, and count for nothing until somebody looked at them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.labels.label_time import label_time, nearest_rank
from core.labels.pool import Entry
from core.labels.state import LABELLING_SLOTS, PersonState
from core.scoring import wilson
from core.storage.label_events import Label

Flag = Literal["fast", "one_key", "self_agreement", "gold"]
FLAGS: Mapping[Flag, str] = {
    "fast": "Half of the labels took less than 1.5 s.",
    "one_key": "More than 15 labels in a row are the same.",
    "self_agreement": "Fewer than 85 % of the hidden repeats got the same label again.",
    "gold": "Fewer than 80 % of the hidden cases with a known answer got it.",
}

FAST_S = 1.5
LONGEST_RUN = 15
LEAST_SELF_AGREEMENT = 0.85
LEAST_GOLD = 0.8
LEAST_TIMED = 10
"""Timed labels below which speed is not judged."""
LEAST_CHECKS = 5
"""Repeats, or gold probes, below which their share is not judged."""


@dataclass(frozen=True)
class Share:
    """A share with what it rests on.

    Attributes:
        hits: Of n.
        n: Cases.
    """

    hits: int
    n: int

    @property
    def value(self) -> float | None:
        """Hits of n, None without a case."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % Wilson interval, None without a case."""
        return wilson(self.hits / self.n, self.n) if self.n else None


@dataclass(frozen=True)
class Checks:
    """What the checks of one person found.

    Attributes:
        annotator_id: The person.
        labels: Labels of the labelling round, hidden checks with them.
        timed: Those whose time is known and was not spent in a hidden tab.
        median_s: Nearest-rank median of their times, None without any.
        longest_run: Most equal labels in a row.
        run_label: Of that run.
        repeats: Hidden repeats with the same label as the case itself.
        gold: Gold probes with the known answer.
        flags: What stands out.
    """

    annotator_id: str
    labels: int
    timed: int
    median_s: float | None
    longest_run: int
    run_label: Label | None
    repeats: Share
    gold: Share
    flags: tuple[Flag, ...]


def check_person(person: PersonState, entries: Sequence[Entry]) -> Checks:
    """Look at one person's labels that count now, in the order in which they were stored."""
    known = {e.case_id: e.gold for e in entries}
    events = [(s, e) for s, e in person.labels.items() if s.name in LABELLING_SLOTS]
    given = [label for _, e in events if (label := e.new.label) is not None]
    times = sorted(t.seconds for _, e in events if (t := label_time(e.new.payload)) is not None and not t.hidden_s)
    median = times[nearest_rank(len(times), 50)] if times else None
    run, run_label = _longest_run(given)
    twice = [(person.label(s.case_id), e.new.label) for s, e in events if s.name == "repeat"]
    pairs = [(first, again) for first, again in twice if first is not None]
    probes = [(known.get(s.case_id), e.new.label) for s, e in events if s.name == "gold"]
    right = [(gold, label) for gold, label in probes if gold is not None]
    repeats, gold = (Share(sum(a == b for a, b in x), len(x)) for x in (pairs, right))
    found: dict[Flag, bool] = {
        "fast": len(times) >= LEAST_TIMED and median is not None and median < FAST_S,
        "one_key": run > LONGEST_RUN,
        "self_agreement": repeats.n >= LEAST_CHECKS and repeats.hits < LEAST_SELF_AGREEMENT * repeats.n,
        "gold": gold.n >= LEAST_CHECKS and gold.hits < LEAST_GOLD * gold.n,
    }
    flags = tuple(f for f, there in found.items() if there)
    return Checks(person.annotator_id, len(given), len(times), median, run, run_label, repeats, gold, flags)


def _longest_run(labels: Sequence[Label]) -> tuple[int, Label | None]:
    best, best_label, run = 0, None, 0
    for i, label in enumerate(labels):
        run = run + 1 if i and labels[i - 1] == label else 1
        if run > best:
            best, best_label = run, label
    return best, best_label
