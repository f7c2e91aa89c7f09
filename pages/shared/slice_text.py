"""What is said of error slices: their names in words, the finding, what it rests on, and what was left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from core.error_slices.detections import Task
from core.error_slices.groups import group_table
from core.error_slices.hypotheses import Category, Hypothesis
from core.error_slices.scores import ScoreSource
from core.error_slices.units import ErrorType, Units
from core.error_slices.verification.settings import VERDICTS, ErrorRate, Mode, Tested, Verdict
from core.operators.slice_report import SliceReport, SliceRow
from pages.shared import slice_settings
from pages.shared.markup import Markup, Text, Tone, chip, code, count, fill, join, mark, minus, percent

ERRORS: Mapping[ErrorType, str] = {
    "FN": "Missed (FN)",
    "FP": "False alarm (FP)",
    "LOC": "Badly placed (LOC)",
    "CLS": "Wrong class (CLS)",
    "IMAGE": "Whole image",
    "SEG": "Mask",
}
"""Types of error for people."""
LOSSES: Mapping[ErrorType, str] = {
    "FN": "share missed",
    "FP": "share of false alarms",
    "LOC": "mean 1 − IoU",
    "CLS": "share of the wrong class",
    "IMAGE": "mean loss of the image",
    "SEG": "mean 1 − mask IoU",
}
"""What the loss of each type is."""
_FOUND: Mapping[ErrorType, str] = {
    "FN": "{a} are missed, against {b} elsewhere",
    "FP": "{a} of the predictions are false, against {b} elsewhere",
    "LOC": "boxes lose {a} of their overlap, against {b} elsewhere",
    "CLS": "{a} get the wrong class, against {b} elsewhere",
    "IMAGE": "the loss of an image is {a}, against {b} elsewhere",
    "SEG": "masks lose {a} of their overlap, against {b} elsewhere",
}
CATEGORIES: Mapping[Category, str] = {
    "semantic_confusion": "semantic confusion",
    "contextual_interference": "context",
    "intrinsic_difficulty": "difficulty",
}
TONES: Mapping[Verdict, Tone] = {"verified": "risk", "elevated": "wait", "inconclusive": "outline", "reversed": "info", "rejected": "plain"}
_MEANINGS: Mapping[Mode, Mapping[Verdict, str]] = {
    "calibrated": {
        "verified": "the error rises with the matching score, and the slice fails more often",
        "elevated": "the slice fails more often, but a rise of the error with the score, steeper than τ, was not shown",
        "inconclusive": "too few units, images or errors, or too little power; not a pass",
        "reversed": "the error falls with the matching score",
        "rejected": "neither, although a rise would probably have been seen; or a trend that makes no error slice",
    },
    "spearman": {
        "verified": "binned error and score correlate, at least 0.5 at every number of bins",
        "inconclusive": "too few units for the bins; not a pass",
        "rejected": "they do not",
    },
    "paper": {
        "verified": "the slope of some window exceeds τ, which chance alone nearly always reaches",
        "inconclusive": "no window has units with different scores",
        "rejected": "no window's slope exceeds τ",
    },
}
SOURCES: Mapping[ScoreSource, str] = {
    "geometric": "geometric",
    "logprob": "vision model",
    "sampled": "vision model, sampled",
    "verbalised": "vision model, in words",
}
"""How scores were found; the last two are not calibrated."""
_LONGEST = 150
"""Letters of two findings that the headline holds."""


def meanings(mode: Mode) -> Mapping[Verdict, str]:
    """What the verdicts of a rule mean."""
    return _MEANINGS[mode]


def verdict_chip(verdict: Verdict) -> Markup:
    """A verdict in a pill."""
    return chip(verdict, TONES[verdict])


def clause(h: Hypothesis) -> str:
    """A hypothesis inside a sentence: without what stands in brackets, the full stop and the capital."""
    text = re.sub(r"\s*\([^()]*\)", "", h.text).strip().rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def p_value(value: float | None) -> str:
    """A p- or q-value; a small one is not told as none."""
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval(rate: ErrorRate) -> str:
    """An interval with its n."""
    if rate.low is None or rate.high is None:
        return f"n = {rate.n:,}"
    return f"{rate.low:.0%} to {rate.high:.0%}, n = {rate.n:,} in {count(rate.images, 'image')}"


def points(value: float | None) -> str:
    """A difference of shares in points."""
    return "–" if value is None else f"{minus(100 * value, '+.0f')} pt"


def finding(row: SliceRow) -> Markup:
    """One slice in a sentence."""
    t = row.tested
    if t is None:
        return fill("where {text}", text=clause(row.hypothesis))
    if t.inside.value is None:
        none = "no unit has a score" if t.outside.value is None else "no unit has a score above γ"
        return fill("where {text}: {none}", text=clause(row.hypothesis), none=none)
    template = _FOUND[row.hypothesis.error]
    if t.outside.value is None:
        template = template.replace(", against {b} elsewhere", ", and no scored unit lies elsewhere")
    said = fill(template, a=mark(percent(t.inside.value)), b=percent(t.outside.value))
    return fill("where {text}, {said}", text=clause(row.hypothesis), said=said)


def with_verdict(report: SliceReport, verdict: Verdict) -> list[SliceRow]:
    """The rows that came out so, one a group of near-equal slices."""
    found = [r for r in report.tested if r.tested is not None and r.tested.verdict == verdict]
    return [r for r in found if r.group == r.hypothesis.id or all(x.hypothesis.id != r.group for x in found)]


def counts(report: SliceReport) -> Counter[str]:
    """Rows by verdict; "untested" for the others."""
    return Counter(r.tested.verdict if r.tested is not None else "untested" for r in report.rows)


def headline(report: SliceReport) -> Text:
    """How many hypotheses hold up, and the ones that cost most."""
    n, by = len(report.tested), counts(report)
    if report.saved.task == "classification" and not by["verified"] and not by["elevated"]:
        return _of_classifier(report)
    if not n:
        return "No hypothesis could be tested on these detections."
    if report.settings.test.mode == "paper":
        return _as_printed(report, n, by["verified"])
    first, elevated = with_verdict(report, "verified"), with_verdict(report, "elevated")
    more = (
        f"{count(by['elevated'], 'slice')} fail more often all the same"
        if by["elevated"] > 1
        else "one slice fails more often all the same"
    )
    if first:
        what = finding(first[0])
        more = finding(first[1]) if len(first) > 1 else Markup("")
        if more and len(what.striptags()) + len(more.striptags()) <= _LONGEST:
            what = join([what, more], "; ")
        hold = "holds" if by["verified"] == 1 else "hold"
        return fill("{k} of {n} hypotheses {hold} up: {what}.", k=f"{by['verified']:,}", n=f"{n:,}", hold=hold, what=what)
    if elevated:
        return fill("No trend of {n} hypotheses holds up; {more}: {what}.", n=f"{n:,}", more=more, what=finding(elevated[0]))
    if by["inconclusive"]:
        return fill(
            "No hypothesis holds up; {i} of {n} are inconclusive (too few units or errors, or too little power).",
            i=mark(f"{by['inconclusive']:,}"),
            n=f"{n:,}",
        )
    return fill("No hypothesis holds up: none of {n} slices fails more often than the rest.", n=f"{n:,}")


def _of_classifier(report: SliceReport) -> Text:
    found = group_table(report.units.detections)
    kind = "group" if found.groups else "class"
    said = "The worst {kind}, {name}, is right {a} of the time, against {b} over all images."
    return fill(said, kind=kind, name=found.worst.name, a=mark(percent(found.worst.value)), b=percent(found.overall.value))


def _as_printed(report: SliceReport, n: int, passed: int) -> Text:
    chance = by_chance(report)
    said = fill("{k} of {n} hypotheses pass the rule as printed", k=f"{passed:,}", n=f"{n:,}")
    return (
        fill("{said}, as {c} of random losses would on the same scores.", said=said, c=mark(percent(chance)))
        if chance is not None
        else fill("{s}.", s=said)
    )


def by_chance(report: SliceReport) -> float | None:
    """Mean share of random losses that pass the rule as printed, over the hypotheses where it was measured."""
    found = [t.paper_null_pass for r in report.tested if (t := r.tested) is not None and t.paper_null_pass is not None]
    return float(np.mean(found)) if found else None


def provenance(report: SliceReport) -> Text:
    """Which units, how many errors, which settings, and what could not be tested."""
    s, u, by = report.saved, report.units, counts(report)
    parts: list[Text] = [
        fill(
            "{m} on {i}: {e}.",
            m=s.model or s.name,
            i=count(len(u.detections.images), "image"),
            e=errors(u, s.task),  # type: ignore[arg-type]
        ),
        slice_settings.in_words(report.settings, s.task != "classification"),
    ]
    if report.settings.halves == "verification":
        part = count(sum(i.half == "verification" for i in u.detections.images), "image")
        parts.append(f"Tests, and the errors in and out of slices, are of the {part} of the verification half alone.")
    if by["untested"]:
        parts.append(f"{count(by['untested'], 'hypothesis', 'hypotheses')} not tested.")
    parts.append(fill("Detections {d}.", d=code(s.digest[:6])))
    return join(parts, " ")


def errors(u: Units, task: Task) -> str:
    """The units of a set with their errors."""
    if task == "classification":
        on = u.on("image")
        return f"{count(int(np.sum(u.loss[on] > 0.5)), 'wrong label')} of {len(on):,}"
    kinds = Counter(u.kind[u.on("gt")].tolist())
    false = Counter(u.kind[u.on("pred")].tolist())
    alarms = sum(n for k, n in false.items() if str(k).startswith("FP"))
    return (
        f"{kinds['FN']:,} of {sum(kinds.values()):,} instances missed, {alarms:,} false and {false['LOC']:,} badly placed "
        f"of {count(sum(false.values()), 'prediction')}"
    )


def left_out(u: Units) -> str:
    """What made no unit."""
    parts = [f"{n:,} {what}" for what, n in u.left_out.items() if n]
    return f"No units were made of: {', '.join(parts)}." if parts else "Everything that was read made a unit."


def scorable(report: SliceReport) -> str:
    """Units without a score, over the hypotheses."""
    none = [(t.not_scorable, r) for r in report.tested if (t := r.tested) is not None and t.not_scorable]
    if not none:
        return "Every unit of a tested hypothesis has a score."
    most, row = max(none, key=lambda x: x[0])
    return (
        f"Units without a score are left out of {count(len(none), 'hypothesis', 'hypotheses')}, "
        f"at most {most:,} (where {clause(row.hypothesis)})."
    )


def smallest(report: SliceReport) -> str:
    """What inconclusive means under these settings."""
    t = report.settings.test
    if t.mode != "calibrated":
        return f"Inconclusive: {meanings(t.mode)['inconclusive']}."
    return (
        f"Inconclusive means fewer than {t.least_units:,} units, {t.least_images:,} images or {t.least_errors:,} errors in the slice, "
        "scores that hardly differ, or too little power: it is not a pass."
    )


def power(t: Tested) -> str:
    """The chance that a rise would have been seen, where it was computed."""
    return "" if t.power is None else f"a rise of {100 * t.power_rise:.0f} points over the slice would be seen {t.power:.0%} of the time"


def order(verdicts: Sequence[str]) -> list[str]:
    """Verdicts in the order in which they are told."""
    return [v for v in (*VERDICTS, "untested") if v in verdicts]


def short(h: Hypothesis, most: int = 62) -> str:
    """A hypothesis in a chart or a headline: no bracket, no full stop, cut where it is long."""
    text = re.sub(r"\s*\([^()]*\)", "", h.text).strip().rstrip(".")
    return text if len(text) <= most else text[: most - 1].rstrip(" ,") + "…"
