"""The command `natr`: rates of scenes without an additional threat, from a file of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core import operators
from core.cli import options as o
from core.cli.cases import open_cases
from core.cli.show import say, say_json
from core.errors import InputError
from core.threats import POLICIES, Difference, PlannerRates, Span, ThreatRate, load_taxonomy, read_verdicts
from core.threats import natr as rates_of


def natr(
    verdicts: Annotated[Path, typer.Argument(metavar="VERDICTS", help="JSON Lines, one verdict of a case a line.", show_default=False)],
    cases: Annotated[str, typer.Option("--cases", help="Case set that tells scene and planner of each case.")] = "",
    policy: Annotated[str, typer.Option("--abstain", help="Scenes without a verdict: exclude, count_as_no or bounds.")] = "exclude",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap.")] = 0,
    as_json: o.AsJson = False,
) -> None:
    """Rates of scenes without an additional threat (NATR), each with its bounds and intervals."""
    chosen = next((p for p in POLICIES if p == policy), None)
    if chosen is None:
        raise InputError(f'--abstain: got "{policy}"; allowed: {", ".join(POLICIES)}.')
    places = {c.case_id: (c.scene_id, c.planner_id) for c in open_cases(cases).cases} if cases else None
    try:
        text = verdicts.read_text(encoding="utf-8")
    except UnicodeDecodeError as e:
        raise InputError(f'"{verdicts}" is not UTF-8: {e.reason} at byte {e.start}.') from e
    taxonomy = load_taxonomy()
    found = read_verdicts(text, taxonomy, places)
    report = rates_of(found, taxonomy, chosen, seed=seed)
    without = None if places is None else len(places) - len(found)
    if as_json:
        data = {"verdicts": len(found), "cases_without_a_line": without} | operators.rates_json(report)
        say_json(data)
        return
    if without is not None:
        say(f"{len(found):,} of the set's {len(found) + without:,} cases are in the file; {without:,} are not, and count nowhere.")
    say(f"Scenes without a verdict: {chosen.replace('_', ' ')}.")
    say(f"Intervals are 95 %, the bootstrap one over scenes with {report.repeats:,} resamples.")
    say(report.common.text())
    for p in report.planners:
        _planner(p)
    if len(report.planners) > 1 and not report.common.equal and report.common.scenes:
        say("On the scenes in common:")
        for p in report.shared:
            say(f"  {_name(p.planner_id)}: NATR {_line(p.overall)}")
    for d in report.differences:
        say(f"{_name(d.first)} less {_name(d.second)}, on the scenes that both have: {_less(d)}")


def _planner(p: PlannerRates) -> None:
    say(f"{_name(p.planner_id)}: NATR {_line(p.overall)}")
    for r in p.level("supercategory"):
        say(f"  {r.set.label}: {_line(r)}")
    if p.unnamed:
        scenes, are = ("1 scene has", "it is") if p.unnamed == 1 else (f"{p.unnamed:,} scenes have", "they are")
        say(f"  {scenes} a threat that nobody named; {are} open in every category.")


def _name(planner: str) -> str:
    return planner or "(no planner named)"


def _line(r: ThreatRate) -> str:
    value = "not one number" if r.natr is None else f"{r.natr:.3f}"
    spans = f"bounds {_span(r.natr_bounds)}, bootstrap {_span(r.natr_bootstrap)}, Wilson {_span(r.natr_wilson)}"
    return f"{value}, {spans}, n = {r.n:,}, open {r.open:,}"


def _less(d: Difference) -> str:
    value = "not one number" if d.value is None else f"{d.value:+.3f}"
    return f"{value}, bounds {_span(d.bounds, '+')}, paired bootstrap {_span(d.bootstrap, '+')}, n = {d.n:,}, left out {d.left_out:,}"


def _span(s: Span | None, sign: str = "") -> str:
    return "not known" if s is None else f"{s.low:{sign}.3f} to {s.high:{sign}.3f}"
