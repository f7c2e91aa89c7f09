"""The command `tag`: slice signatures of a folder of images or of a manifest, by a vision-language model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from core import operators
from core.cli import options as o
from core.cli.evaluate import interruptible
from core.cli.show import say, say_json
from core.errors import InputError
from core.llm.connections import endpoint_for
from core.llm.pace import Limits
from core.odd import Odd
from core.operators import TagResult
from core.settings import Settings
from core.storage import open_store


def tag(
    source: Annotated[Path, typer.Argument(metavar="MANIFEST|FOLDER", help="Manifest, or folder of images.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a manifest with the tags, .csv or .jsonl, and how they were made beside it.")
    ] = None,
    odd: o.OddName = "driving",
    dims: Annotated[str, typer.Option("--dims", help="Dimensions to tag, separated by commas; all by default.")] = "",
    tier: Annotated[str, typer.Option("--tier", help="Values to choose from: base (inside the ODD) or all.")] = "base",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Tag the first N images or clips only.")] = None,
    clips: Annotated[bool, typer.Option("--clips", help="In a folder, each folder below it is one clip of frames.")] = False,
    retag: Annotated[bool, typer.Option("--retag", help="Also ask for what the manifest says already.")] = False,
    map_: Annotated[
        list[str] | None, typer.Option("--map", help="dimension=column or field=column (path, question, …); may be given several times.")
    ] = None,
    least: Annotated[
        float, typer.Option("--min-confidence", help="Leave a dimension open where the model gives less confidence, from 0 to 1.")
    ] = 0.0,
    examples: Annotated[
        int,
        typer.Option("--examples", min=0, help="Questions of the manifest that have a category already, shown as examples."),
    ] = 0,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=0, help="Calls that may be sent at most.")] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", min=0, help="Cost at most; the connection must name a price.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """Tags media with a model; ODDYSSEY_TAGGER_BASE_URL and _MODEL (else those of the VLM) name it."""
    if tier not in ("base", "all"):
        raise InputError(f'--tier: got "{tier}"; allowed: base, all.')
    if out is not None:
        operators.check_tag_file(out)  # a wrong ending is said before anything is paid
    domain = operators.load_odd(odd)
    store = open_store(Settings.from_environment())
    try:
        endpoint = endpoint_for("tagger", store)
        if endpoint is None:
            raise InputError(
                "No model is connected that could tag. Set ODDYSSEY_TAGGER_BASE_URL and ODDYSSEY_TAGGER_MODEL, "
                "or save a connection on the page Controller."
            )
        media = operators.read_media(source, domain, _decisions(o.pairs(map_, "--map"), domain), clips=clips)
        taken = media if limit is None else replace(media, media=media.media[:limit])
        with interruptible() as stop:
            result = operators.tag(
                store,
                taken,
                domain,
                endpoint,
                dims=o.listed(dims),
                tiers="all" if tier == "all" else "base",
                retag=retag,
                least=least,
                examples=operators.tag_examples(media, examples),
                limits=Limits(max_calls=max_calls, max_cost=max_cost),
                cancel=stop.is_set,
            )
    finally:
        store.close()
    written = operators.write_tags(result, out) if out is not None else []
    if as_json:
        data = result.as_dict() | {"not_taken": len(media.media) - len(taken.media), "written": [str(p) for p in written]}
        say_json(data)
    else:
        _print(result, len(media.media) - len(taken.media), written, endpoint.borrowed)
    if result.stopped or result.states["failed"]:
        sys.exit(1)


def _decisions(columns: dict[str, str], odd: Odd) -> dict[str, dict[str, str]]:
    """Columns of dimensions, and columns of fields."""
    return {
        "dims": {k: c for k, c in columns.items() if k in odd.by_name},
        "fields": {k: c for k, c in columns.items() if k not in odd.by_name},
    }


def _print(result: TagResult, not_taken: int, written: list[Path], borrowed: str) -> None:
    model = result.manifest["model"]["name"]
    states = ", ".join(f"{n:,} {s}" for s, n in result.states.items() if n)
    say(f"{len(result.items):,} images or clips, tagged by {model}{f' (the connection of the {borrowed})' if borrowed else ''}: {states}.")
    for why, n in result.source.left_out.items():
        say(f"  left out: {n:,} {why}")
    if not_taken:
        say(f"  not taken, --limit: {not_taken:,}")
    if result.kept:
        say(f"  tags that were there and stayed: {result.kept:,}")
    for d, counts in result.by_dimension.items():
        if counts:
            say(f"  {d}: {', '.join(f'{n:,} {_HOW[how]}' for how, n in counts.items())}")
    calls = result.calls
    cost = "" if result.cost is None else f", cost {result.cost:,.4g}"
    tokens = result.usage.prompt + result.usage.completion
    say(f"Calls: {calls['new']:,} new, {calls['cached']:,} kept from before; {tokens:,} tokens{cost}.")
    for x in result.items:
        if x.state in ("failed", "blocked"):
            say(f"  {x.state}: {x.media.name}: {x.why}")
    if result.stopped:
        say(f"Stopped early. {result.stopped} Run it again to go on.")
    for path in written:
        say(f"Written: {path}")


_HOW = {
    "read": "tagged",
    "only": "with the only value there is",
    "unsure": "with too little confidence",
    "ambiguous": "with several values",
    "outside": "answered outside the vocabulary",
    "missing": "without an answer",
}
