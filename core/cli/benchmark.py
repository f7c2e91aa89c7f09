"""The command `compare`: methods of ranking against an oracle, or against synthetic ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from core import operators
from core.benchmark import ALL_KINDS, BY_NAME, KINDS, Line, Row
from core.cli import options as o
from core.cli.show import say, say_json
from core.errors import InputError, Problem
from core.operators import BenchmarkResult, Prepared, Side, SuiteResult
from core.settings import Settings

Oracle = Annotated[Path | None, typer.Argument(help="Table of the oracle; the same options apply to it.", show_default=False)]
Budgets = Annotated[str, typer.Option("--k", help="Budgets K, separated by commas.")]
DEFAULT_K = ",".join(map(str, operators.BUDGETS))


def compare(
    opts: o.TableOptions,
    oracle: Oracle = None,
    k: Budgets = DEFAULT_K,
    scope: Annotated[str, typer.Option("--scope", help="in ranks slices of the ODD, out those outside it.")] = "in",
    methods: Annotated[str, typer.Option("--methods", help=f"Some of {', '.join(BY_NAME)}; all by default.")] = "",
    similarity: Annotated[
        str, typer.Option("--similarity", help="text, calibrated, factored or exact; by default what suits the ODD, text for --synthetic.")
    ] = "",
    oracle_model: Annotated[str, typer.Option("--oracle-model", help="Model of the oracle, where it is not that of the seed.")] = "",
    allow_shared: Annotated[bool, typer.Option("--allow-shared", help="Go on although seed and oracle share samples.")] = False,
    split_by: Annotated[
        str,
        typer.Option("--split-by", help="No oracle: split the table in halves by a hash of this column; the second half is the oracle."),
    ] = "",
    split_seed: Annotated[int, typer.Option("--split-seed", help="Another number splits otherwise.")] = 0,
    splits: Annotated[int, typer.Option("--splits", min=1, help="With --split-by: means over so many splits.")] = 1,
    synthetic: Annotated[
        str, typer.Option("--synthetic", help=f"No table: oracles made up of these kinds ({', '.join(ALL_KINDS)}; all but iid: suite).")
    ] = "",
    seeds: Annotated[int, typer.Option("--seeds", help="Synthetic oracles of each kind.")] = 5,
    extend: Annotated[
        list[str] | None,
        typer.Option("--extend", help="With --synthetic: dimension=value,value; ranks the slices outside the ODD that have one."),
    ] = None,
    observed: Annotated[int, typer.Option("--observed", help="Slices of each synthetic seed table.")] = 300,
    resamples: Annotated[int, typer.Option("--bootstrap", min=0, help="Draws of the oracle behind the intervals; 0 makes none.")] = 1000,
    number: Annotated[int, typer.Option("--seed", min=0, help="Seeds chance and bootstrap.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Write the figures to this .csv or .json file.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """Compares methods of ranking on an oracle: regret and diversity at each budget K, with intervals."""
    budgets = _whole_numbers(k)
    common: dict[str, Any] = {"budgets": budgets, "methods": o.listed(methods)}
    if synthetic:
        if opts.table is not None or oracle is not None or split_by:
            raise InputError("--synthetic makes its own tables: name neither seed nor oracle, and no --split-by.")
        unused = {"--scope": scope != "in", "--oracle-model": bool(oracle_model), "--allow-shared": allow_shared, "--seed": number != 0}
        if any(unused.values()):
            named = ", ".join(name for name, given in unused.items() if given)
            raise InputError(f"--synthetic makes its own tables and has no use for {named}. Candidates outside the ODD: --extend.")
        kinds = [x for name in o.listed(synthetic) for x in (KINDS if name == "suite" else (name,))]
        odd = opts.settle()[0]
        if odd is None:
            raise InputError("A synthetic oracle needs a declared ODD: --odd driving, or the path of a YAML file.")
        odd = odd.restricted(o.listed(opts.dims)) if opts.dims else odd
        settings = Settings.from_environment()
        mode = similarity or "text"
        made = operators.suite(kinds, seeds, settings, odd=odd, mode=mode, observed=observed, extend=extend or (), **common)
        _tell_suite(made, out, as_json)
        return
    if extend:
        raise InputError("--extend goes with --synthetic: an oracle of your own says itself which values it has.")
    if scope not in ("in", "out"):
        raise InputError(f'--scope: got "{scope}"; allowed: in, out.')
    if splits > 1:
        if not split_by or oracle is not None or scope != "in":
            raise InputError("--splits needs --split-by COLUMN, one table, and the scope in.")
        prepared = _to_split(opts, split_by)
        args = (prepared, operators.check(prepared), split_by, splits, Settings.from_environment())
        _tell_suite(operators.split_suite(*args, mode=similarity or None, **common), out, as_json)
        return
    seed_side, oracle_side, notes = _sides(opts, oracle, oracle_model, split_by, split_seed)
    result = operators.benchmark(
        seed_side,
        oracle_side,
        Settings.from_environment(),
        mode=similarity or None,
        scope=scope,  # type: ignore[arg-type]  # checked above
        allow_shared=allow_shared,
        resamples=resamples,
        number=number,
        **common,
    )
    if out is not None:
        _write(out, operators.benchmark_csv(result), operators.benchmark_object(result))
    if as_json:
        say_json(operators.benchmark_object(result))
    else:
        print_benchmark(result, notes)


def _tell_suite(result: SuiteResult, out: Path | None, as_json: bool) -> None:
    if out is not None:
        _write(out, operators.suite_csv(result), result.as_object())
    if as_json:
        say_json(result.as_object())
    else:
        print_suite(result)


def _sides(opts: o.TableOptions, oracle: Path | None, oracle_model: str, split_by: str, split_seed: int) -> tuple[Side, Side, list[str]]:
    """Seed and oracle, and what was found in their files."""
    if split_by:
        if oracle is not None:
            raise InputError("--split-by makes seed and oracle of one table; name no second one.")
        prepared = _to_split(opts, split_by)
        report = operators.check(prepared)
        return *operators.split_sides(prepared, report, split_by, split_seed), operators.reading_notes(prepared, report)
    if oracle is None:
        raise InputError("Name the table of the oracle, split one table (--split-by COLUMN), or make one up (--synthetic suite).")
    odd, columns, overrides = opts.settle()
    files = opts.open(opts.table), opts.open(oracle)
    pair = operators.prepare_pair(*files, odd, dims=o.listed(opts.dims), columns=columns, overrides=overrides, oracle_model=oracle_model)
    sides, notes = [], []
    for prepared in pair:
        report = operators.check(prepared)
        sides.append(operators.side_of(prepared, report))
        notes += [f"{prepared.file.name}: {x}" for x in operators.reading_notes(prepared, report)]
    return sides[0], sides[1], notes


def _to_split(opts: o.TableOptions, column: str) -> Prepared:
    """The one table; without its key among dimensions that were chosen by content, since halves share no key."""
    prepared = opts.prepare()
    dims = [d for d, c in prepared.plan.columns.items() if c != column]
    if opts.dims or opts.map or opts.settle()[0] is not None or len(dims) == len(prepared.plan.columns):
        return prepared
    odd, columns, overrides = opts.settle()
    again = operators.prepare(prepared.file, odd, dims=dims, columns=columns, overrides=overrides)
    note = f"Dimensions were chosen by content: {', '.join(dims)}. Name them (--dims) to choose others."
    return replace(again, notes=(note, *again.notes))


def _whole_numbers(text: str) -> list[int]:
    wrong = [Problem(None, "--k", x, "a whole number of at least 1") for x in o.listed(text) if not x.isascii() or not x.isdigit()]
    if wrong:
        raise InputError("A budget K is no whole number.", wrong)
    return [int(x) for x in o.listed(text)]


def _write(path: Path, table: bytes, data: dict[str, Any]) -> None:
    kind = path.suffix.lower()
    if kind not in (".csv", ".json"):
        raise InputError(f'Cannot write "{path.name}": the ending must be csv or json.')
    try:
        path.write_bytes(table if kind == ".csv" else (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())
    except OSError as e:
        raise InputError(f'Cannot write "{path}": {e.strerror}.') from e


def print_benchmark(result: BenchmarkResult, notes: list[str]) -> None:
    """The figures as tables, budget by budget."""
    c, found = result.comparison, result.candidates
    for text in notes:
        say(f"note: {text}")
    outside = result.manifest["scope"]["kind"] == "out"
    of = "" if found.missing is None else f" of {found.missing:,} missing slices"
    say(
        f"{'Out of the ODD' if outside else 'In-ODD'}: {c.size:,}{of} are covered by the oracle (U). Its {found.oracle_slices:,} slices: "
        f"{found.tested:,} tested in the seed, {found.beyond:,} {'inside' if outside else 'outside'} the ODD, {c.size:,} left."
    )
    say(
        f"Mean oracle risk {c.mean_risk:.3f}; {c.samples:,} oracle samples, at least {c.thinnest:,} per slice; "
        f"{result.manifest['similarity']['mode']} similarity."
    )
    for text in result.notes:
        say(f"note: {text}")
    for k in dict.fromkeys(r.k for r in c.rows):
        rows = [r for r in c.rows if r.k == k]
        say()
        if rows[0].saturated:
            say(f"K = {k:,}: saturated. K reaches U = {c.size:,}, so every list holds everything and regret is 0 for all.")
            continue
        say(f"{f'K = {k:,}':<26} {'regret':>8}  {'true one, 95 %':<14} {'ILD':>5}  {'against SliceScorer':<26} {'own list':>8}")
        for r in rows:
            say(f"  {r.label:<24} {r.regret:8.4f}  {_range(r.low, r.high):<14} {r.ild:5.3f}  {_against(r):<26} {r.native:8,}")
    say()
    say(c.how)
    for k in dict.fromkeys(p.k for p in c.frontier):
        points = ", ".join(f"{p.regret:.3f} at {p.ild:.3f}" for p in c.frontier if p.k == k)
        say(f"Ridge under rising floors, regret at ILD, K = {k:,}: {points}.")
    _print_paper_style(c.rows)


def _print_paper_style(rows: tuple[Row, ...]) -> None:
    short = [r for r in rows if r.native < r.k]
    if short:
        say("Paper-style, apart: own list only, divided by K (regret / ILD). Lists that end early look worse than they rank:")
        for r in short:
            say(f"  {r.label:<24} K = {r.k:,}: {r.paper_regret:.4f} / {r.paper_ild:.4f} ({r.native:,} listed)")


def _range(low: float | None, high: float | None, sign: str = "") -> str:
    return "" if low is None or high is None else f"{low:{sign}.3f} to {high:{sign}.3f}"


def _against(r: Row) -> str:
    if r.difference is None:
        return ""
    told = _range(r.difference_low, r.difference_high, "+")
    return f"{r.difference:+.4f}" + (f" ({told})" if told else "")


def print_suite(result: SuiteResult) -> None:
    """Means over all runs, then by kind."""
    kinds = list(result.by_kind)
    runs = len(result.runs)
    say(f"{'Synthetic: ' if result.synthetic else ''}{result.what}; {result.similarity['mode']} similarity.")
    for text in result.notes:
        say(f"note: {text}")
    _print_lines("Mean regret/ILD", result.lines, result)
    if len(kinds) > 1:
        for kind in kinds:
            _print_lines(kind, result.by_kind[kind], result)
    for name in ("ridge", "ridge-floor"):
        if name in [m.name for m in result.methods]:
            against = ", ".join(f"{m.label} {result.wins(name, m.name)}" for m in result.methods if m.baseline or m.name == "slicescorer")
            say(f"{BY_NAME[name].label}: lower regret at all K, in how many of {runs} runs: {against}.")
    matched = ", ".join(f"{BY_NAME[m].label} {a} ({b})" for m, (a, b) in result.matched_wins().items())
    say(f"Ridge with a floor at the other's own ILD: lower regret at all K (on the mean over K), in how many of {runs} runs: {matched}.")


def _print_lines(title: str, lines: tuple[Line, ...], result: SuiteResult) -> None:
    say()
    say(f"{title:<26}" + "".join(f"{'@' + format(k, ','):>14}" for k in result.budgets))
    for m in result.methods:
        mine = {x.k: x for x in lines if x.method == m.name}
        say(f"  {m.label:<24}" + "".join(f"{mine[k].regret:.3f}/{mine[k].ild:.3f}".rjust(14) for k in result.budgets))
