"""How far matching by a model is, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.error_slices.scores import Scores, ScoreSource
from core.error_slices.vision.probe import Ability
from core.llm import Usage

LEAST_SCORED = 0.95
"""Share of the units of a hypothesis that must be scored; below it the hypothesis is marked as partial."""


@dataclass(frozen=True)
class MatchProgress:
    """How far a run is.

    Attributes:
        done: Questions that were answered, or failed.
        total: Questions.
        failed: Questions that failed.
        calls: Calls sent.
        cached: Answers that were known.
        usage: Tokens of the calls sent.
        cost: Of them, None where no price is named.
        seconds: Since the start.
        left: Seconds that are left, about; None until enough calls were measured.
    """

    done: int
    total: int
    failed: int
    calls: int
    cached: int
    usage: Usage
    cost: float | None
    seconds: float
    left: float | None


@dataclass(frozen=True)
class HypothesisMatch:
    """What came of one hypothesis.

    Attributes:
        hypothesis_id: Which.
        population: Units that it is about.
        asked: Units chosen to be asked about.
        scored: Units with a score.
        failed: Units without, by reason.
        not_reached: Units that the run ended before.
        left_out: Units that were not chosen, by reason.
    """

    hypothesis_id: str
    population: int
    asked: int
    scored: int
    failed: Mapping[str, int]
    not_reached: int
    left_out: Mapping[str, int]

    @property
    def partial(self) -> bool:
        """Whether less than 95 % of the units asked about have a score."""
        return self.scored < LEAST_SCORED * self.asked


@dataclass(frozen=True)
class MatchOutcome:
    """What came of a run.

    Attributes:
        scores: By hypothesis, of the units that were asked about and answered, with weights.
        hypotheses: What came of each, in their order; those that had no units are not among them.
        source: How they were asked; one run never mixes ways.
        matcher: Model and prompt.
        ability: What the probe found.
        calls: new, cached, repeated (sent again since a process ended in the middle of them), retries; without the few of the probe.
        usage: Tokens of the new calls.
        cost: Of them, None where no price is named.
        seconds: Of the run.
        stopped: Why it ended early, "" if it did not.
        problems: Images that cannot be read and other things to say, one sentence each.
    """

    scores: Mapping[str, Scores]
    hypotheses: tuple[HypothesisMatch, ...]
    source: ScoreSource
    matcher: str
    ability: Ability
    calls: Mapping[str, int]
    usage: Usage
    cost: float | None
    seconds: float
    stopped: str
    problems: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether any hypothesis is partial."""
        return any(h.partial for h in self.hypotheses)
