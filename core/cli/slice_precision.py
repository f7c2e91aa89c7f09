"""The command `slices precision`: how well the slices that were found are those that are known."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from core.cli import options as o
from core.cli.show import say
from core.cli.slices import Confidence, Gamma, Set, set_named, workspace
from core.error_slices.hypotheses import CATEGORIES
from core.error_slices.precision import RULES
from core.error_slices.units import UnitSettings
from core.error_slices.verification.settings import TestSettings
from core.errors import InputError
from core.operators import slices as operators
from core.operators.slice_precision import SlicePrecision, known_of, slice_precision
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
    as_json: o.AsJson = False,
) -> None:
    """Compares found slices with known ones: Precision@k in both rules, with its breakdowns."""
    try:
        text = None if known is None else known.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"{known}: cannot be read ({e}).") from e
    settings = SliceSettings(units=UnitSettings(confidence=confidence), test=TestSettings(gamma=gamma))
    with workspace() as store:
        report = operators.slice_report(store, set_named(store, which), settings)
    got = slice_precision(report, known_of(report, text), k=k, cap=cap)
    if as_json:
        json.dump(got.to_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    for line in lines(got):
        say(line)


def lines(got: SlicePrecision) -> list[str]:
    """The figures as lines of text."""

    def mean(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    release, r = got.found["release"], got.relevance
    out = [f"{len(release.found)} known slices with errors, {release.slices} slices found and {got.untested.slices} with scores."]
    out += [f"left out: {n:,} {what}" for what, n in got.left_out.items()]
    for rule, p in got.found.items():
        out.append(f"P@{got.k} {mean(p.mean)}, first {got.cap} slices {mean(got.capped[rule].mean)}: {RULES[rule]}")
    out.append(f"P@{got.k} {mean(got.untested.mean)} if every hypothesis counted, whatever the tests say")
    out += [f"  {f.truth}: {f.value:.2f} of {f.size:,} units, {f.best or 'no slice'}" for f in release.found]
    out += [f"{name}: {value:.2f} ({n})" for name, (value, n) in got.by_error.items()]
    names = {str(key): label for key, label in CATEGORIES.items()}
    out += [f"{names.get(name, 'no category')}: {value:.2f} ({n})" for name, (value, n) in got.by_category.items()]
    out += [f"{name} alone: {mean(p.mean)} with {p.slices} slices" for name, p in got.origins.alone.items()]
    out += [f"overlap of {' and '.join(pair)}: {mean(v)}" for pair, v in got.origins.overlap.items()]
    if r is not None:
        out.append(f"by meaning: precision {mean(r.precision)} of {r.predicted}, recall {mean(r.recall)} of {r.known}, F1 {mean(r.f1)}")
    for g in got.grounded:
        trend = f"trend z {mean(g.instance_z)} and {mean(g.image_z)}"
        out.append(f"{g.truth}, {g.hypothesis}: instances {g.instance:.2f}, whole images {g.image:.2f}; {trend}")
    return out
