"""What is known of the error slices of one set of detections: the hypotheses, their scores, tests and judgements, in one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.error_slices.hypotheses import Hypothesis
from core.error_slices.scores import Scores
from core.error_slices.standing import why_not
from core.error_slices.units import Population, Units, UnitSettings
from core.error_slices.verification.settings import Tested, TestSettings
from core.storage.detections import SavedDetections
from core.storage.slice_judgements import Judgement

Halves = Literal["all", "verification"]


@dataclass(frozen=True)
class SliceSettings:
    """Everything that decides what the list of slices says; all of it visible and changeable on the page.

    Attributes:
        units: How predictions are compared with ground truth.
        test: How hypotheses are tested.
        fp_includes_loc: Count badly placed predictions as false positives.
        missed_only: Leave out missed instances that a prediction of another class, or a badly placed one, explains.
        halves: Test on all images, or on the verification half, which leaves the discovery half for repair. Hypotheses born from the
            discovery half are tested on the verification half in either case.
    """

    units: UnitSettings = field(default_factory=UnitSettings)
    test: TestSettings = field(default_factory=TestSettings)
    fp_includes_loc: bool = False
    missed_only: bool = False
    halves: Halves = "all"


@dataclass(frozen=True, eq=False)
class SliceRow:
    """One hypothesis with all that is known of it.

    Attributes:
        hypothesis: What is claimed.
        tested: What the tests found, None where it could not be tested.
        untested: Why it could not, "" otherwise.
        population: The units that it is about, None where the data has none.
        scores: Of those very units, in the order of `population.units`; None without a matcher or answers of a model.
        group: Id of the hypothesis that leads its group of near-equal slices; its own id where it stands alone.
        judgement: What people last decided on the slice as a whole, None if nobody did.
        clicks: Judged crops by verdict.
    """

    hypothesis: Hypothesis
    tested: Tested | None
    untested: str
    population: Population | None
    scores: Scores | None
    group: str
    judgement: Judgement | None
    clicks: Mapping[str, int]

    @property
    def why_not(self) -> str:
        """Why the slice does not stand, so that nothing follows from it; "" where it does."""
        return why_not(self.tested, None if self.judgement is None else self.judgement.verdict)


@dataclass(frozen=True, eq=False)
class SliceReport:
    """The error slices of one set of detections under some settings.

    Attributes:
        saved: The set.
        units: Its evaluation units.
        settings: How everything was computed.
        rows: One a hypothesis: those tested first, most errors saved first, then those that could not be tested.
        digest: Of the set, the settings, the hypotheses and their scores; changes with everything on the screen but judgements.
        problems: What went wrong on the way, such as images that cannot be read, one sentence each.
    """

    saved: SavedDetections
    units: Units
    settings: SliceSettings
    rows: tuple[SliceRow, ...]
    digest: str
    problems: tuple[str, ...] = ()

    def row(self, hypothesis_id: str) -> SliceRow | None:
        """The row of a hypothesis, None if there is none."""
        return next((r for r in self.rows if r.hypothesis.id == hypothesis_id), None)

    @property
    def tested(self) -> tuple[SliceRow, ...]:
        """Rows with a test."""
        return tuple(r for r in self.rows if r.tested is not None)
