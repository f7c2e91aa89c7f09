"""The command `slices precision`: how well the slices that were found are those that are known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.cli import options as o
from core.cli.evaluate import interruptible
from core.cli.show import say, say_json
from core.cli.slices import Confidence, Gamma, Set, set_named
from core.cli.workspace import workspace
from core.error_slices.generate.relevance import JudgedRelevance
from core.error_slices.hypotheses import CATEGORIES
from core.error_slices.precision import RULES
from core.error_slices.units import UnitSettings
from core.error_slices.verification.settings import TestSettings
from core.errors import InputError
from core.llm import endpoint_for
from core.operators import slices as operators
from core.operators.slice_precision import SlicePrecision, found_of, judge_meaning, known_of, slice_precision
from core.operators.slice_report import SliceSettings


def precision(
    which: Set,
    known: Annotated[
        Path | None, typer.Option("--known", help="JSON of known slices; those of the data by default.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Units of a slice that are looked at.")] = 10,
    cap: Annotated[int, typer.Option("--cap", min=1, help="Slices that are used for the capped figure.")] = 15,
    confidence: Confidence = UnitSettings.confidence,
    gamma: Gamma = TestSettings.gamma,
    judge: Annotated[bool, typer.Option("--judge", help="Ask a language model which known slices the found ones mean.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Send its calls.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Compares found slices with known ones: Precision@k in both rules, with its breakdowns; their meaning too, with --judge."""
    try:
        text = None if known is None else known.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"{known}: cannot be read ({e}).") from e
    settings = SliceSettings(units=UnitSettings(confidence=confidence), test=TestSettings(gamma=gamma))
    with workspace() as store:
        report = operators.slice_report(store, set_named(store, which), settings)
        slices = known_of(report, text)
        got = slice_precision(report, slices, k=k, cap=cap)
        endpoint = endpoint_for("judge", store) if judge else None
        if judge and endpoint is None:
            raise InputError("No judge is connected. Name one under Connections, or with ODDYSSEY_JUDGE_BASE_URL and ODDYSSEY_JUDGE_MODEL.")
        judged = None
        if endpoint is not None and yes:
            with interruptible() as stop:
                judged = judge_meaning(store, endpoint, report, slices, cancel=stop.is_set)
    if as_json:
        told = got.to_json() | ({} if judged is None else {"judged": _judged_object(judged)})
        say_json(told)
    else:
        for line in lines(got):
            say(line)
        if endpoint is not None and judged is None:
            say(f"The judge ({endpoint.name}) would get {len(found_of(report)):,} calls at most; nothing was sent. Add --yes to send them.")
        elif judged is not None:
            say(_judged_line(judged))
    if judged is not None and judged.asked.stopped:
        sys.exit(1)


def _judged_object(judged: JudgedRelevance) -> dict[str, object]:
    r = judged.relevance
    figures = {"precision": r.precision, "recall": r.recall, "f1": r.f1, "n": [r.predicted, r.known]}
    return figures | {
        "unread": judged.unread,
        "calls": dict(judged.asked.calls),
        "cost": judged.asked.cost,
        "stopped": judged.asked.stopped,
    }


def _judged_line(judged: JudgedRelevance) -> str:
    r = judged.relevance
    figures = f"precision {_mean(r.precision)} of {r.predicted}, recall {_mean(r.recall)} of {r.known}, F1 {_mean(r.f1)}"
    left = f"; {judged.unread:,} without an answer count neither way" if judged.unread else ""
    return f"by meaning, as a language model judges: {figures}{left}. {judged.asked.stopped}".rstrip()


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def lines(got: SlicePrecision) -> list[str]:
    """The figures as lines of text."""
    release, r = got.found["release"], got.relevance
    out = [f"{len(release.found)} known slices with errors, {release.slices} slices found and {got.untested.slices} with scores."]
    out += [f"left out: {n:,} {what}" for what, n in got.left_out.items()]
    for rule, p in got.found.items():
        out.append(f"P@{got.k} {_mean(p.mean)}, first {got.cap} slices {_mean(got.capped[rule].mean)}: {RULES[rule]}")
    out.append(f"P@{got.k} {_mean(got.untested.mean)} if every hypothesis counted, whatever the tests say")
    out += [f"  {f.truth}: {f.value:.2f} of {f.size:,} units, {f.best or 'no slice'}" for f in release.found]
    out += [f"{name}: {value:.2f} ({n})" for name, (value, n) in got.by_error.items()]
    names = {str(key): label for key, label in CATEGORIES.items()}
    out += [f"{names.get(name, 'no category')}: {value:.2f} ({n})" for name, (value, n) in got.by_category.items()]
    out += [f"{name} alone: {_mean(p.mean)} with {p.slices} slices" for name, p in got.origins.alone.items()]
    out += [f"overlap of {' and '.join(pair)}: {_mean(v)}" for pair, v in got.origins.overlap.items()]
    if r is not None:
        out.append(f"by meaning: precision {_mean(r.precision)} of {r.predicted}, recall {_mean(r.recall)} of {r.known}, F1 {_mean(r.f1)}")
    for g in got.grounded:
        trend = f"trend z {_mean(g.instance_z)} and {_mean(g.image_z)}"
        out.append(f"{g.truth}, {g.hypothesis}: instances {g.instance:.2f}, whole images {g.image:.2f}; {trend}")
    return out
