"""What stands beside the list of slices: chance under the rule as printed, what is missing for a decision, and how it was computed."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from core.error_slices.verification.settings import VERDICTS
from core.operators.slice_report import SliceReport
from pages.shared import shell, slice_settings, slice_text
from pages.shared.markup import Text, count, fill, strong, table

RISES = ((40, 350, 160), (25, 850, 380))
"""Rise of the error over a slice in points, and units that see it four times in five as the only one of 37 hypotheses, and tested alone.

Simulated, error 0.2 where the slice begins, even scores, two units an image.
"""
_SIDES = {"gt": "ground truth", "pred": "predictions", "image": "whole images", "seg": "masks"}
_KINDS = {
    ("gt", "TP"): "found",
    ("gt", "FN"): "missed",
    ("pred", "TP"): "right",
    ("pred", "LOC"): "badly placed",
    ("pred", "FP_BKG"): "false alarm on background",
    ("pred", "FP_CLS"): "right place, wrong class",
    ("pred", "FP_DUP"): "second prediction of one instance",
    ("pred", "FP_BOTH"): "wrong class and badly placed",
}
"""Kinds of units in words."""


def notices(report: SliceReport) -> None:
    """What a reader of the list must know before trusting it."""
    by, tested = slice_text.counts(report), [r.tested for r in report.tested if r.tested is not None]
    images = report.units.detections.images
    if missing := sum(i.path is None for i in images):
        n, them = ("none", "any") if missing == len(images) else (f"{len(images) - missing:,}", "the others")
        have = "have" if n != "none" and len(images) - missing != 1 else "has"
        shell.note(f"Of {count(len(images), 'image')} {n} {have} a file here: what looks at pixels cannot score {them}.")
    if not tested:
        return
    passed, chance = sum(t.paper_pass for t in tested), slice_text.by_chance(report)
    if chance is not None and report.settings.test.mode != "paper":  # there it is the headline
        line = (
            "The rule as printed (windows of {w}, τ {tau}) passes {k} of {n} hypotheses; on the same scores it passes {c} of random losses."
        )
        w, tau = report.settings.test.window, report.settings.test.tau
        shell.note(fill(line, w=count(w, "unit"), tau=f"{tau:g}", k=f"{passed:,}", n=f"{len(tested):,}", c=strong(f"{chance:.0%}")))
    if report.settings.test.mode == "spearman":
        shell.note("Binned Spearman asks for ρ ≥ 0.5 at every number of bins; its verdicts are not controlled for many hypotheses.")
    if by["inconclusive"] and not by["verified"] and not by["elevated"]:
        needs = " and ".join(f"about {n:,} units ({alone:,} tested alone) to see a rise of {rise} points" for rise, n, alone in RISES)
        most = max(t.inside.n for t in tested)
        if most:
            shell.note(
                f"As the only one of a few dozen hypotheses, a slice needs {needs}, four times in five; "
                f"the largest here has {count(most, 'unit')}. More images bring more."
            )


def how(report: SliceReport) -> None:
    """Everything behind the list: units, populations, verdicts, what was left out."""
    with st.expander("How these numbers come about"):
        u, t = report.units, report.settings.test
        shell.section("Units", slice_settings.in_words(report.settings))
        shell.note(slice_text.left_out(u))
        sides = Counter((str(s), str(k)) for s, k in zip(u.side.tolist(), u.kind.tolist(), strict=True))
        rows = [[_SIDES[s], k, _KINDS.get((s, k), "with its loss"), f"{n:,}"] for (s, k), n in sorted(sides.items())]
        shell.html(table(["Side", "Kind", "Meaning", "Units"], rows, right=(3,)))
        shell.note(
            "A hypothesis is tested on one side alone: missed instances among all of the ground truth, false alarms among all predictions. "
            "A true positive therefore stands on both sides, and no test mixes them."
        )
        shell.section("Verdicts")
        known = slice_text.meanings(t.mode)
        meanings: list[list[Text]] = [[slice_text.verdict_chip(v), known[v]] for v in VERDICTS if v in known]
        shell.html(table(["Verdict", "Meaning"], meanings))
        together = sum(r.tested is not None and (r.tested.q_trend is not None or r.tested.q_lift is not None) for r in report.tested)
        n = f"{together:,} of {count(len(report.tested), 'hypothesis', 'hypotheses')}"
        shell.note(
            f"P-values come from {t.flips:,} random sign flips of whole images, so boxes of one image are not taken as independent; "
            f"q-values from Benjamini-Hochberg over the {n} with enough units to be tested. "
            f"Trend and lift are two looks: for a false discovery rate of {t.fdr:g} "
            f"over both, ask for q below {t.fdr / 2:g}. Intervals are 95 % Wilson intervals, one at a time, on fewer units where those of "
            "one image fail together. “q adj.” is the trend after the means of size and class are taken out. “Power” is the chance that a "
            "rise of 40 points over the slice would have been seen; “Saved” the errors that would go if the slice failed no more than the "
            "rest."
        )
        _not_scorable(report)


def _not_scorable(report: SliceReport) -> None:
    rows: list[list[object]] = []
    for r in report.tested:
        if r.tested is None:
            continue
        flags = dict(r.scores.counts) if r.scores is not None else {}
        said = ", ".join(f"{n:,} {k.replace('_', ' ')}" for k, n in flags.items() if n)
        outside = dict(r.population.left_out) if r.population is not None else {}
        gone = ", ".join(f"{n:,} {k}" for k, n in outside.items() if n)
        if r.tested.not_scorable or said or gone:
            rows.append([r.hypothesis.text, f"{r.tested.not_scorable:,}", said or "–", gone or "–"])
    if rows:
        shell.section("Left out, hypothesis by hypothesis")
        shell.html(table(["Hypothesis", "Not scorable", "Of the scores", "Not of its units"], rows, right=(1,)))
