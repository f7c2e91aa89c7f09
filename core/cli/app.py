"""The commands `check`, `rank` and `triage`; `compare` and `campaign` stand in files of their own."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from core import operators
from core.cli import options as o
from core.cli.acquire import acquire, footage
from core.cli.ask import ask, replay, resume
from core.cli.benchmark import compare
from core.cli.campaign import campaign
from core.cli.cases import cases
from core.cli.evaluate import evaluate, judge
from core.cli.labels import labels
from core.cli.natr import natr
from core.cli.ranking import RankOptions, ranks
from core.cli.show import print_ranking, print_report, print_triage, say_json
from core.cli.slice_precision import precision
from core.cli.slice_proposals import propose
from core.cli.slices import slices
from core.cli.stability import stability
from core.cli.tag import tag
from core.errors import InputError, OddysseyError
from core.scoring import Search, candidate_space
from core.seed_table import CheckReport

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, help="What to test next, and why."
)
app.command()(o.reads_table(compare, optional=True))
app.command()(o.reads_table(ask, option=True))
app.command()(resume)
app.command()(replay)
app.command()(o.reads_table(stability, option=True))
app.command()(evaluate)
app.command()(judge)
app.command()(tag)
app.command()(o.reads_table(ranks(acquire), optional=True))
app.command()(natr)
app.add_typer(campaign, name="campaign")
app.add_typer(cases, name="cases")
app.add_typer(labels, name="labels")
slices.command()(precision)
slices.command()(propose)
app.add_typer(slices, name="slices")
app.add_typer(footage, name="footage")


def main(args: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 is fine, 2 is an error of the user's with a message and never a traceback."""
    try:
        app(args=args)
    except OddysseyError as e:
        sys.stderr.write(f"error: {e}\n")
        sys.exit(2)
    except OSError as e:
        sys.stderr.write(f"error: {e.filename or 'A file'}: {e.strerror or e}\n")
        sys.exit(2)


def _report(opts: o.TableOptions) -> tuple[operators.Prepared, CheckReport]:
    prepared = opts.prepare()
    report = operators.check(prepared)
    if not report.accepted:
        raise InputError(f"None of the {report.rows:,} rows can be used. The first problems:", list(islice(report.problems(), 20)))
    return prepared, report


@app.command()
@o.reads_table
def check(
    opts: o.TableOptions,
    rejected_out: Annotated[
        Path | None, typer.Option("--rejected-out", help="Write the rejected rows, unchanged, to this CSV file.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Says what becomes of every row of a table."""
    prepared = opts.prepare()
    report = operators.check(prepared)
    if rejected_out is not None:
        rejected_out.write_bytes(operators.rejected_rows(prepared, report))
    if as_json:
        data = {
            "rows": report.rows,
            "accepted": report.accepted,
            "rejected": [p.as_dict() for p in report.problems()],
            "observed_slices": report.observed,
            "missing_slices": report.missing,
            "warnings": [*report.warnings, *prepared.file.notes, *prepared.notes],
        }
        say_json({**data, "rejected_rows": int(report.rejected.size), "summary": report.summary(), "plan": report.plan.model_dump()})
    else:
        print_report(prepared, report)


@app.command()
@o.reads_table
@ranks
def rank(
    opts: o.TableOptions,
    ranking: RankOptions,
    top: Annotated[int, typer.Option("--top", min=0, help="Slices to return; 0 returns all.")] = operators.DEFAULT_TOP,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the ranking to this .csv, .json or .parquet file, its manifest beside it.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Ranks the slices that were never tested, with the reason for each rank."""
    if out is not None:
        operators.format_of(out)  # a wrong ending is said before anything slow starts
    prepared, report = _report(opts)
    result = ranking.rank(prepared, report, top or None)
    if out is not None:
        operators.write(result, out)
    if as_json:
        say_json(operators.as_object(result))
    else:
        print_ranking(prepared, report, result, out)


@app.command()
@o.reads_table
def triage(
    opts: o.TableOptions,
    where: o.Where = None,
    top: Annotated[int, typer.Option("--top", min=0, help="Rows per list to print; JSON holds all.")] = 10,
    as_json: o.AsJson = False,
) -> None:
    """Says where the model fails among what was tested, and what was hardly tested."""
    prepared, report = _report(opts)
    start = time.perf_counter()
    chosen = o.filters(where)
    result = operators.triage(report.seed, chosen)
    if not as_json:
        print_triage(report, result, top)
        return
    space = candidate_space(report.seed.odd, chosen).size
    groups = len(result.coverage) + result.pairs_possible
    search = Search(space, groups, result.slices, len(result.by_value) + len(result.by_pair), True, time.perf_counter() - start)
    seed = report.seed
    data = operators.triage_object(result) | {
        "search": {k: v for k, v in vars(search).items() if k not in ("method", "implausible", "gap")},
        "manifest": {
            "input": operators.source_of(prepared, report),
            "seed_table": {"sha256": seed.digest, "slices": len(seed.n), "samples": seed.total, "n_assumed": seed.n_assumed},
            "odd": {"name": seed.odd.name, "version": seed.odd.version, "source": seed.odd.source, "sha256": seed.odd.hash},
            "filter": chosen,
            "versions": operators.versions(),
        },
    }
    say_json(data)
