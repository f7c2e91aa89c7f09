"""What the commands print for people; numbers come with their n and interval, exclusions with their count."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from core.operators import Prepared, RankResult, Triage
from core.scoring import Failure
from core.seed_table import CheckReport

SHOWN = 20


def say(text: str = "") -> None:
    """One line on stdout; what would steer a terminal is shown, not obeyed, as some texts come from files and models."""
    sys.stdout.write("".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text) + "\n")


def say_json(data: Any) -> None:
    """One value as JSON on one line of stdout."""
    sys.stdout.write(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")


def print_report(prepared: Prepared, report: CheckReport) -> None:
    """What became of the rows."""
    say(f"{prepared.file.name}: {report.rows:,} rows, {report.accepted:,} accepted, {report.rejected.size:,} rejected.")
    _print_exclusions(prepared, report)
    say(f"{report.observed:,} of {report.odd.base_space.size:,} slices observed, {report.missing:,} missing.")
    for p in islice(report.problems(), SHOWN):
        say(f"  {p}")
    if report.problem_count > SHOWN:
        say(f"  and {report.problem_count - SHOWN:,} more problems (--json lists all, --rejected-out writes the rows).")
    if report.inventory:
        say("Rows by source and question type:")
    for row in report.inventory[:SHOWN]:
        say(f"  {' '.join(x for x in (row.source, row.qa_type) if x)}: {row.rows:,} rows, {row.slices:,} slices")
    if len(report.inventory) > SHOWN:
        say(f"  and {len(report.inventory) - SHOWN:,} more.")


def _print_exclusions(prepared: Prepared, report: CheckReport) -> None:
    for text in (*prepared.file.notes, *prepared.notes, *report.warnings):
        say(f"note: {text}")


def print_ranking(prepared: Prepared, report: CheckReport, result: RankResult, out: Path | None) -> None:
    """The ranking as a list, each slice with the evidence that put it there."""
    ranking, search = result.ranking, result.ranking.search
    _print_exclusions(prepared, report)
    say(
        f"{report.accepted:,} of {report.rows:,} rows, {report.rejected.size:,} rejected; {search.observed:,} slices observed, "
        f"{search.candidates:,} missing slices to choose from, of {search.space:,}; "
        f"{ranking.similarity['mode']} similarity; {search.seconds:.2f} s."
    )
    if ranking.scope.outside:
        n = sum(map(len, ranking.scope.extend.values()))
        say(f"Scope {ranking.scope.kind}: {n:,} extended values in {', '.join(ranking.scope.extend)}.")
    if search.implausible:
        say(f"{search.implausible:,} slices are called implausible by the ODD and left out.")
    if not search.complete:
        say(f"Not exact: the search was stopped; no slice left out scores more than the last one here plus {search.gap:.2g}.")
    if ranking.diversity is not None:
        d = ranking.diversity
        say(
            f"ILD {d.after:.4f} (floor {d.floor:g}, {'kept' if d.reached else 'not reached'}; {d.before:.4f} without it): "
            f"{d.swaps:,} of the best {len(ranking):,} gave way to others among the best {d.pool:,}."
        )
    if ranking.evidence.shrinkage is not None:
        s = ranking.evidence.shrinkage
        say(f"Errors are shrunk towards {s.mean:.1%} as by {s.strength:.1f} samples.")
    if ranking.evidence.provisional.any():
        weak = int(ranking.evidence.provisional.sum())
        say(f"{weak:,} observed slices have fewer than {ranking.evidence.threshold} samples (provisional); they count as observed.")
    if len(ranking.evidence.set_aside.n):
        aside = len(ranking.evidence.set_aside.n)
        say(f"{aside:,} slices with fewer than {ranking.evidence.threshold} samples were set to count as missing.")
    if not len(ranking):
        also = ["lies inside the ODD"] * (ranking.scope.kind == "out") + ["is implausible"] * (search.implausible > 0)
        nothing = f"No slice is missing under this filter: everything in it {' or '.join(['was tested', *also])}."
        say(nothing if not search.candidates else "The search was stopped before it found a slice.")
    for e in result.explanations(SHOWN):
        why = e.decisive
        if e.contributions:
            because = f"predicted to fail {e.raw_error:.0%}"
        elif why:
            because = f"beside a slice that fails {why.measured:.0%} (n = {why.n}, similarity {why.similarity:.2f})"
        else:
            because = "no failing neighbour"
        say(f"{e.rank:4d}  {e.phi:.4f}  {', '.join(e.values.values())}: {because}")
    if len(ranking) > SHOWN:
        say(f"      and {len(ranking) - SHOWN:,} more.")
    if out is not None:
        say(f"Wrote {len(ranking):,} slices to {out}, and the manifest beside it.")


def print_triage(report: CheckReport, result: Triage, top: int) -> None:
    """Worst values and pairs, and values that were hardly tested."""
    say(f"{result.n:,} samples in {result.slices:,} slices; error {result.error:.1%} ({result.low:.1%} to {result.high:.1%}).")
    for title, rows in (("Values", result.by_value), ("Pairs", result.by_pair)):
        say(f"{title}, highest lower bound of the error first:")
        for f in rows[:top]:
            say(f"  {_named(f)}: {f.error:.1%} ({f.low:.1%} to {f.high:.1%}), n = {f.n:,}, {f.slices:,} slices")
    never = [f"{c.dimension}={c.value}" for c in result.coverage if c.n == 0 and c.possible]
    say(f"Values never tested: {', '.join(never) or 'none'}. Pairs of values tested: {result.pairs_tested:,} of {result.pairs_possible:,}.")
    for text in report.warnings:
        say(f"note: {text}")


def _named(f: Failure) -> str:
    return ", ".join(f"{d}={v}" for d, v in zip(f.dimensions, f.values, strict=True))
