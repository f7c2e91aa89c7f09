"""From captions to attribute values that recur, and to those that go with errors on the discovery half (GH-ESD, section 3.2, step b)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.error_slices.generate.captions import Captions, CaptionSample, tidy
from core.error_slices.verification.rates import dense, error_rate
from core.error_slices.verification.settings import ErrorRate


@dataclass(frozen=True)
class ValueRules:
    """Which values are kept.

    Attributes:
        least_images: Images in which a value must be seen.
        most_share: Share of the captioned units that may have it: what nearly all have tells nothing.
        least_lift: By how much units with it must fail more often than those without.
    """

    least_images: int = 5
    most_share: float = 0.6
    least_lift: float = 0.0


@dataclass(frozen=True)
class ValueFound:
    """One value of one attribute on the sample.

    Attributes:
        attribute: Its name.
        value: Its name.
        share: Of the units that were captioned.
        inside: Error rate of units that have it, weighted back to the population.
        outside: Of the other captioned ones.
        why: Why it is left out, "" if it is kept.
    """

    attribute: str
    value: str
    share: float
    inside: ErrorRate
    outside: ErrorRate
    why: str

    @property
    def lift(self) -> float:
        """Difference of the error rates; -1 where there is nothing to compare with."""
        a, b = self.inside.value, self.outside.value
        return -1.0 if a is None or b is None else a - b


def recurring_values(
    captions: Captions, sample: CaptionSample, rules: ValueRules, names: Mapping[tuple[str, str], str] | None = None
) -> tuple[ValueFound, ...]:
    """All values of the captions with what becomes of each; kept ones first, largest lift first.

    Args:
        captions: Of the units of the sample, in its order.
        sample: The units.
        rules: Which values are kept.
        names: Name that stands for a value of an attribute, where several mean the same.
    """
    names = names or {}
    rows = [k for k, v in enumerate(captions.values) if v is not None]
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for k in rows:
        for attribute, value in (captions.values[k] or {}).items():
            members[attribute, names.get((attribute, value), value)].append(k)
    everyone = np.array(rows, np.int64)
    out = [_value(a, v, np.array(ks, np.int64), everyone, sample, rules) for (a, v), ks in members.items()]
    return tuple(sorted(out, key=lambda f: (bool(f.why), -f.lift, f.attribute, f.value)))


def merged_names(answer: Mapping[str, object] | None, seen: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], str]:
    """Names that stand for values, as a model merged them; only for values that were seen, and only one step.

    Args:
        answer: {attribute: {value: name}}.
        seen: Values of each attribute.
    """
    out: dict[tuple[str, str], str] = {}
    keys = {tidy(str(k)): v for k, v in (answer or {}).items()}
    for attribute, values in seen.items():
        given = keys.get(attribute)
        if not isinstance(given, Mapping):
            continue
        said = {tidy(str(k)): tidy(str(v)) for k, v in given.items() if isinstance(v, str)}
        for value in values:
            name = said.get(value, value)
            if name and len(name) <= 40 and name != value:
                out[attribute, value] = name
    return out


def _value(attribute: str, value: str, rows: np.ndarray, everyone: np.ndarray, sample: CaptionSample, rules: ValueRules) -> ValueFound:
    others = np.setdiff1d(everyone, rows)
    share = len(rows) / len(everyone)
    found = ValueFound(attribute, value, share, _rate(sample, rows), _rate(sample, others), "")
    if found.inside.images < rules.least_images:
        why = f"It is seen in {found.inside.images} images; {rules.least_images} are needed."
    elif share > rules.most_share:
        why = f"{share:.0%} of the units have it; at most {rules.most_share:.0%} may."
    elif found.lift <= rules.least_lift:
        why = f"Units with it do not fail more often: {in_words(found.inside)} against {in_words(found.outside)}."
    else:
        why = ""
    return replace(found, why=why)


def in_words(rate: ErrorRate) -> str:
    """A rate with its interval and what it rests on."""
    if rate.value is None or rate.low is None or rate.high is None:
        return "unknown (no unit)"
    return f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}] (n = {rate.n:,}, {rate.images:,} images)"


def _rate(sample: CaptionSample, rows: np.ndarray) -> ErrorRate:
    image, known = dense(sample.image[rows])
    return error_rate(sample.error[rows], sample.weight[rows], image, len(known))
