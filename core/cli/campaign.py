"""The command `campaign`: plan one from a table, keep it in the workspace, look at it, and say how far it is."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from core import operators
from core.acquisition import Request, read_terms
from core.acquisition.mapping import MappingDoc, driving_mapping, read_mapping
from core.acquisition.openscenario import lost
from core.cli import options as o
from core.cli.ranking import RankOptions, ranks
from core.cli.show import SHOWN, say, say_json
from core.errors import InputError
from core.operators import CampaignPlan, CampaignSheet
from core.settings import Settings
from core.storage import STATUSES, CampaignContent, SavedCampaign, SavedTable, Store, open_store

campaign = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, help="Test plans: what to acquire, in which order."
)

Which = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Name or id of a saved campaign.", show_default=False)]
Out = Annotated[
    Path | None, typer.Option("--out", help="Write it to this .csv (manifest beside it), .json, or .zip file (OpenSCENARIO XML).")
]
Mapping = Annotated[Path | None, typer.Option("--mapping", help="Own mapping of values to OpenSCENARIO, a YAML file.")]


@campaign.command("plan")
@o.reads_table
@ranks
def plan(
    opts: o.TableOptions,
    ranking: RankOptions,
    slices: Annotated[int | None, typer.Option("--slices", help="Budget: slices.")] = None,
    samples: Annotated[int | None, typer.Option("--samples", help="Budget: samples in all.")] = None,
    budget: Annotated[float | None, typer.Option("--budget", help="Budget: units of cost.")] = None,
    per_slice: Annotated[int, typer.Option("--per-slice", min=0, help="Samples per slice; else from --interval-width.")] = 0,
    width: Annotated[
        float, typer.Option("--interval-width", help="Samples per slice: as many as make the 95 % Wilson interval this narrow.")
    ] = 0.2,
    rate: Annotated[float, typer.Option("--assume-error", help="Error rate assumed for that; 0.5 is safe.")] = 0.5,
    sample_cost: Annotated[float, typer.Option("--sample-cost", help="Cost of one sample.")] = 1.0,
    cost: Annotated[
        list[str] | None, typer.Option("--cost", help="dimension=value:factor, such as time=night:2; may be given several times.")
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option("--quota", help="dimension=value:10 (at most), :>=10 (at least), :25% (share); may be given several times."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also take slices that other campaigns of the workspace have.")] = False,
    pool: Annotated[int, typer.Option("--pool", min=0, help="Best ranked slices to choose from; 0 takes all.")] = operators.POOL,
    save: Annotated[str, typer.Option("--save", help="Keep it in the workspace under this name, and the table too.")] = "",
    out: Out = None,
    mapping: Mapping = None,
    as_json: o.AsJson = False,
) -> None:
    """Plans a campaign: untested slices in the order of the ranking, within a budget and quotas."""
    given = {k: v for k, v in {"slices": slices, "samples": samples, "cost": budget}.items() if v is not None}
    if len(given) != 1:
        raise InputError(f"One budget is needed: --slices, --samples or --budget; got {', '.join(given) or 'none'}.")
    ((kind, amount),) = given.items()
    factors, quotas = read_terms(cost or (), quota or ())
    request = Request(
        budget=amount,
        kind=kind,  # type: ignore[arg-type]  # one of the three above
        samples=per_slice,
        width=width,
        rate=rate,
        base_cost=sample_cost,
        factors=factors,
        quotas=quotas,
        skip_scheduled=not again,
    )
    if ranking.floor is not None:
        raise InputError("--min-ild shapes a list of a given length; a campaign is shaped by quotas. Leave it out.")
    own = _mapping(mapping)
    prepared = opts.prepare()
    report = operators.check(prepared)
    if not report.accepted:
        raise InputError(f"None of the {report.rows:,} rows can be used. The first problems:", list(islice(report.problems(), 20)))
    request.check(report.odd)  # a mistake is said before anything slow starts
    result = ranking.rank(prepared, report, pool or None)
    store = _workspace(bool(save))
    try:
        made = operators.plan_campaign(result, request, store)
        saved = None
        if save and store is not None:
            saved = operators.save_campaign(store, save, made, _table(store, opts, prepared, report))
    finally:
        if store is not None:
            store.close()
    sheet = operators.campaign_sheet(made, saved.name if saved else "campaign")
    if out is not None:
        operators.write_campaign(sheet, out, own)
    if as_json:
        say_json(operators.campaign_object(sheet) | ({"saved": _saved(saved)} if saved else {}))
    else:
        _print_plan(made, sheet, own, saved, out, result.ranking.search.complete)


@campaign.command("list")
def list_(as_json: o.AsJson = False) -> None:
    """Lists the campaigns of the workspace."""
    store = _workspace(False)
    found = store.campaigns.list() if store is not None else ()
    if store is not None:
        store.close()
    if as_json:
        say_json({"items": [_saved(x) for x in found]})
        return
    for x in found:
        say(f"{x.id}  {x.name}: {x.slices:,} slices, {x.samples:,} samples, cost {x.cost:,.10g}; {_counts(x)}")
    if not found:
        say("No campaign in this workspace.")


@campaign.command("show")
def show(which: Which, out: Out = None, mapping: Mapping = None, as_json: o.AsJson = False) -> None:
    """Shows a campaign with the status of each slice, or writes it to a file."""
    content = _load(which)
    sheet = operators.campaign_sheet(content)
    if out is not None:
        operators.write_campaign(sheet, out, _mapping(mapping))
    if as_json:
        say_json(operators.campaign_object(sheet) | {"saved": _saved(content.saved)})
        return
    saved = content.saved
    say(f"{saved.name} ({saved.id}): {saved.slices:,} slices, {saved.samples:,} samples, cost {saved.cost:,.10g}; {_counts(saved)}.")
    for s in content.slices:
        p = s.planned
        note = f" ({s.note})" if s.note else ""
        say(f"{p.rank:5d}  {s.status:<9}  {p.samples:,} samples  {', '.join(p.values.values())}{note}  [{p.slice_id}]")
    if out is not None:
        say(f"Wrote {out}.")


@campaign.command("status")
def status(
    which: Which,
    new: Annotated[str, typer.Argument(metavar="STATUS", help=", ".join(STATUSES), show_default=False)],
    ranks_: Annotated[list[int] | None, typer.Option("--rank", help="Slice by its rank; may be given several times.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All slices that were not dropped.")] = False,
    note: Annotated[str, typer.Option("--note", help="Kept with the status.")] = "",
) -> None:
    """Gives slices of a campaign a status; every status is kept."""
    if all_ == bool(ranks_):
        raise InputError("Name slices with --rank, or take --all.")
    content = _load(which)
    by_rank = {s.planned.rank: s.planned.slice_id for s in content.slices}
    unknown = [str(r) for r in ranks_ or () if r not in by_rank]
    if unknown:
        raise InputError(f'The campaign "{content.saved.name}" has no slice of rank {", ".join(unknown)}. Nothing was changed.')
    ids = [s.planned.slice_id for s in content.slices if s.status != "dropped"] if all_ else [by_rank[r] for r in ranks_ or ()]
    store = open_store(Settings.from_environment())
    try:
        changed = store.campaigns.set_status(content.saved.id, ids, new, note)  # type: ignore[arg-type]  # checked there
        now = store.campaigns.get(content.saved.id)
        say(f"{changed:,} of {len(ids):,} slices got the status {new}. {now.name}: {_counts(now)}.")
    finally:
        store.close()


def _workspace(needed: bool) -> Store | None:
    """The workspace; None if there is none yet and none is needed."""
    settings = Settings.from_environment()
    own = settings.home / "oddyssey.db"
    if needed or own.is_file() or settings.database_url != f"sqlite:///{own}":
        return open_store(settings)
    return None


def _table(store: Store, opts: o.TableOptions, prepared: operators.Prepared, report: Any) -> SavedTable:
    """The saved table with the same slices, saved now if there is none."""
    same = [t for t in store.tables.list() if t.digest == report.seed.digest]
    if same:
        return same[0]
    sha = store.uploads.put(prepared.file.name, Path(str(opts.table)).read_bytes())
    name = store.tables.free_name(Path(prepared.file.name).stem)
    return operators.save_table(store, name, prepared, report, upload_sha=sha, synthetic=operators.is_demo(sha))


def _load(which: str) -> CampaignContent:
    store = _workspace(False)
    if store is None:
        raise InputError(f'There is no campaign "{which}": the workspace is empty.')
    try:
        found = [x for x in store.campaigns.list() if which == x.id or which.casefold() == x.name.casefold()]
        if not found:
            names = ", ".join(x.name for x in store.campaigns.list()) or "none"
            raise InputError(f'There is no campaign "{which}" in this workspace; there are: {names}.')
        return store.campaigns.load(found[0].id)
    finally:
        store.close()


def _mapping(path: Path | None) -> MappingDoc | None:
    if path is None:
        return None
    try:
        return read_mapping(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as e:
        raise InputError(f'The mapping "{path.name}" is not UTF-8 text.') from e


def _saved(x: SavedCampaign) -> dict[str, Any]:
    return asdict(x) | {"created_at": x.created_at.isoformat(), "changed_at": x.changed_at.isoformat()}


def _counts(x: SavedCampaign) -> str:
    return ", ".join(f"{n:,} {k}" for k, n in x.counts.items() if n)


def _print_plan(
    made: CampaignPlan, sheet: CampaignSheet, mapping: MappingDoc | None, saved: SavedCampaign | None, out: Path | None, complete: bool
) -> None:
    c = made.campaign
    summary = c.summary()
    say(
        f"{len(c):,} slices, {summary['samples']:,} samples ({c.request.per_slice:,} each), cost {summary['cost']:,.10g}; "
        f"{c.expected_failures:,.0f} failing samples expected (samples × the scorer's estimated error; not a measurement)."
    )
    for x in c.coverage:
        word = {1: "Values", 2: "Pairs of values"}[x.t]
        say(f"{word} covered: {x.before:,} of {x.possible:,} before, {x.after:,} after.")
    s = c.skipped
    say(
        f"Not taken, of {c.considered:,} ranked slices: {s.scheduled:,} scheduled by other campaigns, {s.quota:,} over a quota, "
        f"{s.reserved:,} for which the room was kept for a quota, {s.budget:,} beyond the budget."
    )
    if c.considered < c.candidates:
        say(f"note: only the best {c.considered:,} of {c.candidates:,} missing slices were considered (--pool).")
    if not complete:
        say("note: the search for these slices was stopped at the time limit, so better ones may be missing.")
    for q in c.quotas:
        if not q.met:
            say(f"note: quota {q.quota} was not met: {q.have:,} of {q.slices:,}; {q.available:,} ranked slices have the value.")
    for p in made.slices[:SHOWN]:
        say(f"{p.rank:5d}  {p.samples:,} samples  cost {p.cost:,.10g}  {', '.join(p.values.values())}")
    if len(made.slices) > SHOWN:
        say(f"       and {len(made.slices) - SHOWN:,} more.")
    if saved is not None:
        say(f'Saved as "{saved.name}" ({saved.id}).')
    if out is not None:
        say(f"Wrote {len(made.slices):,} slices to {out}.")
        if out.suffix.lower() == ".zip":
            missing = lost(sheet.slices, mapping or driving_mapping())
            say(
                f"OpenSCENARIO does not say all of {len(missing):,} values; README.txt lists them."
                if missing
                else "All values were written."
            )
