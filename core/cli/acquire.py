"""The commands `acquire` (samples for untested slices) and `footage` (manifests of footage in the workspace)."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from core import operators
from core.acquisition.manifest import FIELDS, ManifestReport
from core.acquisition.tag_rules import RulesDoc, read_rules, shipped_rules
from core.cli import options as o
from core.cli.ranking import RankOptions
from core.cli.show import SHOWN, say, say_json
from core.errors import InputError
from core.llm.connections import endpoint_for
from core.operators import Acquired
from core.operators.acquire import AcquireFrom
from core.settings import Settings
from core.storage import SavedDatastore, open_store

footage = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Footage to look for samples in.",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV, JSONL, JSON, Parquet or Excel, also gzipped.", show_default=False)]
OddName = Annotated[str, typer.Option("--odd", help="driving, or the path of a YAML file.")]
Maps = Annotated[list[str] | None, typer.Option("--map", help='dimension=column, "-" for none; may be given several times.')]
Fields = Annotated[
    list[str] | None, typer.Option("--field", help=f'field=column, "-" for none; fields: {", ".join(FIELDS)}; may be given several times.')
]
Constants = Annotated[list[str] | None, typer.Option("--set", help="field=text for all rows, such as licence=CC-BY-4.0.")]
Values = Annotated[
    list[str] | None, typer.Option("--value", help="dimension:text=value reads a text as a value; an empty one leaves it out.")
]
Format = Annotated[str, typer.Option("--format", help="Kind of source with rules for tags; by default as recognised; table has none.")]
Rules = Annotated[Path | None, typer.Option("--rules", help="Own rules for tags, a YAML file.")]
Thresholds = Annotated[
    list[str] | None, typer.Option("--threshold", help="rule=0,1,12,30: other thresholds of a counting rule, in the order of its steps.")
]
FILES = {
    "dataset_retrieval.jsonl": operators.retrieval_jsonl,
    "normalized_bundle.jsonl": operators.bundle_jsonl,
    "unfilled_slices.jsonl": operators.unfilled_jsonl,
}


def acquire(
    opts: o.TableOptions,
    ranking: RankOptions,
    manifest: Annotated[str, typer.Option("--manifest", help="Footage: a saved datastore, the file of a manifest, or demo.")] = "",
    slices: Annotated[Path | None, typer.Option("--slices", help="A table of slices instead of a ranking: a column per dimension.")] = None,
    source: Annotated[str, typer.Option("--source", help=f"{', '.join(get_args(AcquireFrom))}.")] = "datastore_then_synthesis",
    per_slice: Annotated[int, typer.Option("--per-slice", min=1, help="Samples wanted of each slice.")] = 1,
    top: Annotated[int, typer.Option("--top", min=1, help="Best ranked slices to look for.")] = 10,
    out_dir: Annotated[Path | None, typer.Option("--out-dir", help=f"Write {', '.join(FILES)} and acquire.manifest.json there.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """Looks for samples of untested slices in footage, and has images made where there are none."""
    if (opts.table is None) == (slices is None):
        raise InputError("Name the table to rank, or the slices themselves with --slices.")
    settings = Settings.from_environment()
    store = open_store(settings)
    try:
        if slices is not None:
            odd = operators.load_odd(opts.odd)
            wanted, notes = operators.read_slices(slices, odd)
        else:
            prepared = opts.prepare()
            report = operators.check(prepared)
            if not report.accepted:
                problems = list(islice(report.problems(), SHOWN))
                raise InputError(f"None of the {report.rows:,} rows can be used. The first problems:", problems)
            ranked = ranking.rank(prepared, report, top).ranking
            odd, notes = report.odd, ()
            wanted = [dict(zip((odd.names[k] for k in ranked.dims), v, strict=True)) for v in _named(ranked)]
        found = operators.acquire(
            odd,
            wanted,
            operators.open_footage(store, manifest, odd) if manifest else None,
            source=source,  # type: ignore[arg-type]  # checked there
            per_slice=per_slice,
            settings=settings,
            images=endpoint_for("images", store),
            media=settings.media,
        )
    finally:
        store.close()
    if out_dir is not None:
        out_dir.mkdir(parents=True, exist_ok=True)
        for name, written in FILES.items():
            (out_dir / name).write_bytes(written(found))
        about = {"manifest": found.manifest, "counts": found.counts}
        (out_dir / "acquire.manifest.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if as_json:
        lists = {"candidates": [c.as_dict() for c in found.candidates], "unfilled": list(found.unfilled)}
        say_json(lists | {"counts": found.counts, "manifest": found.manifest, "notes": list(notes)})
    else:
        _print_acquired(found, notes, out_dir)


def _named(ranked: Any) -> list[tuple[str, ...]]:
    """The slices of a ranking as the values of the dimensions that are written out."""
    return [tuple(names[k] for k in ranked.dims) for names in ranked.odd.codec.names(ranked.codes)]


def _print_acquired(found: Acquired, notes: tuple[str, ...], out_dir: Path | None) -> None:
    n = found.counts
    for note in notes:
        say(f"note: {note}")
    if found.manifest["datastore"] and found.manifest["datastore"]["synthetic"]:
        say("note: some of this footage is synthetic.")
    say(
        f"{n['slices']:,} slices, {n['slices'] - n['unfilled']:,} filled; {n['candidates']:,} candidates: {n['valid']:,} match, "
        f"{n['partial']:,} lack or blur a tag, {n['invalid']:,} contradict the slice; {n['made']:,} were made and are not verified."
    )
    left = {
        "copies": "copies of them left out",
        "passed_over": "gave way to other videos",
        "no_question": "have no question",
        "no_media": "have no media on this machine",
        "media_changed": "have media that changed since",
        "uncategorised": "have a question without a category",
    }
    say(f"{n['items']:,} can be evaluated" + "".join(f"; {n[k]:,} {words}" for k, words in left.items() if n[k]) + ".")
    for c in found.candidates[:SHOWN]:
        flaws = ", ".join(f"{d} {f}" for d, f in c.fidelity.items() if f != "match")
        say(f"  {c.verdict:<7}  {', '.join(c.requested.values())}: {c.path or '(no media named)'}{f' ({flaws})' if flaws else ''}")
    if len(found.candidates) > SHOWN:
        say(f"  and {len(found.candidates) - SHOWN:,} more (--out-dir writes all).")
    for u in found.unfilled[:SHOWN]:
        say(f"  unfilled {', '.join(u['slice'].values())}: {u['valid']:,} of {u['wanted']:,}; {u['reason']}")
    if out_dir is not None:
        say(f"Wrote {', '.join(FILES)} to {out_dir}.")


@footage.command("import")
def import_(
    file: File,
    name: Annotated[str, typer.Option("--name", help="Name of the datastore; by default that of the file.")] = "",
    odd: OddName = "driving",
    map_: Maps = None,
    field: Fields = None,
    constant: Constants = None,
    value: Values = None,
    format_: Format = "",
    rules: Rules = None,
    threshold: Thresholds = None,
    root: Annotated[Path | None, typer.Option("--root", help="Folder that relative paths start from; by default that of the file.")] = None,
    captions: Annotated[bool, typer.Option("--captions", help="Encode the captions, so that queries compare them too (slow).")] = False,
    dry_run: Annotated[bool, typer.Option("--check", help="Only say what became of every row.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Imports a manifest of footage, and says what became of every row and tag."""
    said = {
        "format": format_,
        "dims": o.pairs(map_, "--map"),
        "fields": o.pairs(field, "--field"),
        "constants": o.pairs(constant, "--set"),
        "value_map": o.value_map(value)[0],
    }
    own = _rules(rules)
    steps = {k: _numbers(k, v) for k, v in o.pairs(threshold, "--threshold").items()}
    settings = Settings.from_environment()
    if dry_run:
        read = operators.read_manifest(file, odd=operators.load_odd(odd), said=said, rules=own, thresholds=steps)
        report, saved = read.report, None
        kind = read.plan.format
    else:
        store = open_store(settings)
        try:
            saved = operators.import_manifest(
                store,
                file,
                name=name,
                odd=operators.load_odd(odd),
                said=said,
                rules=own,
                thresholds=steps,
                root=root,
                captions=settings if captions else None,
            )
            report = operators.manifest_report(store, saved.id)
            kind = store.datastores.provenance(saved.id)["plan"]["format"]
        finally:
            store.close()
    if as_json:
        say_json({"saved": _saved(saved) if saved else None, "format": kind, "report": report.as_dict()})
    else:
        _print_import(report, kind, saved)


@footage.command("list")
def list_(as_json: o.AsJson = False) -> None:
    """Lists the datastores of the workspace."""
    store = open_store(Settings.from_environment())
    try:
        found = store.datastores.list()
    finally:
        store.close()
    if as_json:
        say_json({"items": [_saved(x) for x in found]})
        return
    for x in found:
        say(f"{x.id}  {x.name}: {x.rows:,} rows{', synthetic' if x.synthetic else ''}")
    if not found:
        say("No footage in this workspace.")


@footage.command("show")
def show(
    which: Annotated[str, typer.Argument(metavar="DATASTORE", help="Name or id of a saved datastore, or demo.", show_default=False)],
    as_json: o.AsJson = False,
) -> None:
    """Shows how many rows have which tag."""
    store = open_store(Settings.from_environment())
    try:
        opened = operators.open_footage(store, which)
        found = opened.inventory()
    finally:
        store.close()
    if as_json:
        say_json({"name": opened.name, "digest": opened.digest, "rows": opened.rows, "synthetic": opened.synthetic, "inventory": found})
        return
    say(f"{opened.name}: {opened.rows:,} rows{', synthetic' if opened.synthetic else ''}.")
    for dimension, tags in found.items():
        listed = ", ".join(f"{tag or 'missing'} {n:,}" for tag, n in tags.items())
        say(f"  {dimension}: {listed}")


@footage.command("rules")
def rules_(
    rules: Rules = None,
    threshold: Thresholds = None,
    as_json: o.AsJson = False,
) -> None:
    """Lists the rules by which tags are derived, with their thresholds and reasons."""
    doc = (_rules(rules) or shipped_rules()).with_thresholds({k: _numbers(k, v) for k, v in o.pairs(threshold, "--threshold").items()})
    if as_json:
        say_json(doc.model_dump(mode="json"))
        return
    for name, form in doc.formats.items():
        say(f"{name}: {form.about} Recognised by {', '.join(form.needs)}.")
        for r in form.rules:
            say(f"  {r.id}: {r.dimension} from {r.says()}. {r.why}")
        for what, why in form.silent.items():
            say(f"  not used: {what}. {why}")


def _print_import(report: ManifestReport, kind: str, saved: SavedDatastore | None) -> None:
    say(
        f"{report.rows:,} rows, {report.accepted:,} accepted, {report.rows - report.accepted:,} rejected; "
        f"{report.questions:,} with a question, {report.uncategorised:,} of these without a category; {report.copies:,} copies; "
        f"{report.without_media:,} without media. Read as: {kind}."
    )
    for r in report.rejected:
        say(f"  {r.rows:,} rejected: {r.reason} (rows {', '.join(map(str, r.numbers))}{', ...' if r.rows > len(r.numbers) else ''})")
    for d in report.dimensions:
        by = f"; by rule {', '.join(f'{k} {n:,}' for k, n in d.by_rule.items())}" if d.by_rule else ""
        column = f" (column {d.column})" if d.column and d.column != d.name else ""
        say(f"  {d.name}{column}: {d.tagged:,} tagged, {d.several:,} unsettled, {d.missing:,} missing{by}")
        for u in d.unknown_texts:
            hint = f', did you mean "{u.suggestion}"?' if u.suggestion else ""
            say(f'    "{u.text}" is no value: {u.rows:,} rows stay missing{hint}')
    for note in report.notes:
        say(f"note: {note}")
    say(f'Kept as "{saved.name}" ({saved.id}).' if saved else "Nothing was kept.")


def _rules(path: Path | None) -> RulesDoc | None:
    if path is None:
        return None
    try:
        return read_rules(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as e:
        raise InputError(f'The rules "{path.name}" are not UTF-8 text.') from e


def _numbers(rule: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(x) for x in o.listed(text))
    except ValueError as e:
        raise InputError(f'--threshold {rule}: got "{text}"; allowed: whole numbers separated by commas.') from e


def _saved(x: SavedDatastore) -> dict[str, Any]:
    return {
        "id": x.id,
        "name": x.name,
        "digest": x.digest,
        "rows": x.rows,
        "synthetic": x.synthetic,
        "created_at": x.created_at.isoformat(),
    }
