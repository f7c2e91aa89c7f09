"""How a vision model is asked, and which units it is asked about: all of them, or all kinds of outcomes in a fixed sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

import numpy as np

from core.digest import sha256_json
from core.error_slices.detections import FloatArray, IntArray
from core.error_slices.scores import ScoreSource
from core.error_slices.units import Population, Units
from core.error_slices.vision.crops import CropSettings, image_digest, rounded
from core.errors import InputError, Problem
from core.llm import Endpoint
from core.llm.calls import addresses
from core.llm.pace import Limits


@dataclass(frozen=True)
class MatchOptions:
    """How a vision model is asked.

    Attributes:
        kind: Way of asking; None takes the best that the model can do.
        most_errors: Units with an error that are asked about at most, None for all.
        most_correct: Units without, likewise.
        both_orders: Ask "yes or no" and "no or yes"; twice the calls.
        samples: Answers of one question where the model tells no log-probabilities.
        seed: Of the sample of units.
        crops: How units are shown.
        limits: Pace and budget; None for 8 calls at once on this machine or network, 4 elsewhere.
    """

    kind: ScoreSource | None = None
    most_errors: int | None = 200
    most_correct: int | None = 400
    both_orders: bool = False
    samples: int = 8
    seed: int = 0
    crops: CropSettings = field(default_factory=CropSettings)
    limits: Limits | None = None

    def __post_init__(self) -> None:
        rules = [
            ("kind", self.kind in (None, "logprob", "sampled", "verbalised"), "logprob, sampled, verbalised or none"),
            ("most_errors", self.most_errors is None or self.most_errors >= 1, "a whole number of at least 1, or none"),
            ("most_correct", self.most_correct is None or self.most_correct >= 1, "a whole number of at least 1, or none"),
            ("samples", 1 <= self.samples <= 64, "a whole number from 1 to 64"),
        ]
        problems = [Problem(None, n, str(getattr(self, n)), allowed) for n, ok, allowed in rules if not ok]
        if problems:
            raise InputError("An option of the matching is out of range.", problems)


def limits_of(endpoint: Endpoint, options: MatchOptions) -> Limits:
    """Pace and budget of a run: as given, else by where the model runs."""
    if options.limits is not None:
        return options.limits
    near = all(_near(urlsplit(a).hostname or "") for a in addresses(endpoint))
    return Limits(start=4 if near else 2, most=8 if near else 4)


def _near(host: str) -> bool:
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith(".local") or "." not in host


@dataclass(frozen=True, eq=False)
class Chosen:
    """Units that a model is asked about for one hypothesis, k of them.

    Attributes:
        units: Shape (k,): indices into the units.
        weight: Shape (k,): how many units of the population each stands for, beside the weight that it has there.
        errors: Units with an error among them.
        population: Units of the population.
        left_out: How many were left out, by a name that a screen can show.
    """

    units: IntArray
    weight: FloatArray
    errors: int
    population: int
    left_out: dict[str, int]


class Digests:
    """Content hashes of the images of units; a missing one is known as missing."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._known: dict[int, str] = {}
        self._places: dict[tuple[int, int], str] = {}
        self.problems: dict[int, str] = {}

    def of(self, image: int) -> str:
        """SHA-256 of an image's file, "" if it has none."""
        if image not in self._known:
            try:
                x = self._units.detections.images[image]
                self._known[image] = image_digest(x) if x.path is not None else ""
            except InputError as e:
                self._known[image] = ""
                self.problems[image] = str(e)
        return self._known[image]

    def place(self, unit: int, seed: int) -> str:
        """What decides the place of a unit in the order of a sample; the same for all hypotheses."""
        if (unit, seed) not in self._places:
            box = rounded(self._units.xyxy[unit])
            self._places[unit, seed] = sha256_json([seed, self.of(int(self._units.image[unit])), box])
        return self._places[unit, seed]


def choose_units(units: Units, population: Population, options: MatchOptions, digests: Digests) -> Chosen:
    """The units of a population to ask about: those with an image, a fixed sample of errors and of correct ones.

    A unit's place in the order of the sample depends on its image and box alone, so that other settings, and other hypotheses, ask about
    the same units as far as they can, and their pictures are made once. Weights lead back to the rates of the population.
    """
    here = np.array([bool(digests.of(int(i))) for i in population.image], bool)
    error = population.loss > 0.5
    picked: list[int] = []
    weight, whole = np.ones(len(here)), population.weight
    for stratum, most in ((error & here, options.most_errors), (~error & here, options.most_correct)):
        at = np.flatnonzero(stratum)
        if most is not None and len(at) > most:
            kept = sorted(at.tolist(), key=lambda k: digests.place(int(population.units[k]), options.seed))[:most]
            weight[kept] = whole[at].sum() / whole[kept].sum()
            picked += kept
        else:
            picked += at.tolist()
    rows = np.array(sorted(picked), np.int64)
    missing = int((~here).sum())
    left_out = {"without an image file": missing, "not in the sample": len(here) - missing - len(rows)}
    return Chosen(population.units[rows], weight[rows], int(error[rows].sum()), len(here), {k: v for k, v in left_out.items() if v})
