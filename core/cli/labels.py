"""The commands `labels export`, `labels agreement` and `labels training`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, get_args

import typer

from core.cli import options as o
from core.cli.show import say, say_json
from core.errors import InputError
from core.labels.agreement import Agreement, Interval
from core.labels.export import answers_of, read_labels
from core.labels.raters import RaterAgreement, rater_agreement
from core.labels.training_sets import Target, Which
from core.operators import labelling_files, labelling_results
from core.settings import Settings
from core.storage import Store, open_store

labels = typer.Typer(no_args_is_help=True, help="Labels of people: export, agreement, training sets.")

Set = Annotated[str, typer.Argument(metavar="SET", help="Name or id of a case set in the workspace.", show_default=False)]
Out = Annotated[Path, typer.Option("--out", help="Folder to write into.", show_default=False)]


@labels.command("export")
def export(
    which: Set,
    out: Out,
    planner: Annotated[bool, typer.Option("--planner", help="Tell case id and planner too.")] = False,
    comments: Annotated[bool, typer.Option("--comments", help="Tell comments too; they may tell who wrote them.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Writes the labels of a set without names, with a codebook."""
    store = open_store(Settings.from_environment())
    try:
        found = labelling_files.export(store, _set_id(store, which), out, planner=planner, comments=comments)
    finally:
        store.close()
    if as_json:
        counts = {k: getattr(found, k) for k in ("labels", "checks", "decided", "annotators", "not_counting")}
        say_json({"files": [str(out / f) for f in found.files]} | counts | {"left_out": dict(found.left_out)})
        return
    say(f"{found.labels:,} labels of {found.annotators:,} people written to {out}: {', '.join(found.files)}.")
    say(f"  beside them {found.checks:,} hidden checks and {found.decided:,} decisions; {found.not_counting:,} lines do not count.")
    for why, n in found.left_out.items():
        say(f"  left out: {n:,} {why}")


@labels.command("training")
def training(
    which: Set,
    out: Out,
    kind: Annotated[str, typer.Option("--set", help="union (a Y of anybody) or filtered (without disagreement).")] = "union",
    split: Annotated[float, typer.Option("--split", min=0, max=0.9, help="Share of the scenes that test.")] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Of the split.")] = 0,
    images: Annotated[bool, typer.Option("--images/--no-images", help="Write the images with both paths drawn in.")] = True,
    as_json: o.AsJson = False,
) -> None:
    """Writes a training set for a model that says whether a planner adds a threat."""
    chosen = next((k for k in get_args(Which) if k == kind), None)
    if chosen is None:
        raise InputError(f'--set: got "{kind}"; allowed: {", ".join(get_args(Which))}.')
    store = open_store(Settings.from_environment())
    try:
        found = labelling_files.training_set(store, _set_id(store, which), out, chosen, split=split, seed=seed, images=images)
    finally:
        store.close()
    counts = {part: {t: found.chosen.count(part, t) for t in get_args(Target)} for part in ("train", "test")}
    if as_json:
        about = {"images": found.images, "without_images": found.without_images, "left_out": dict(found.chosen.left_out)}
        say_json({"files": list(found.files)} | about | counts)
        return
    for part, by in counts.items():
        say(f"{part}: {sum(by.values()):,} examples ({', '.join(f'{t} {n:,}' for t, n in by.items())})")
    say(f"{found.images:,} images, {found.without_images:,} examples without; written to {out}.")
    for why, n in found.chosen.left_out.items():
        say(f"  left out: {n:,} {why}")


@labels.command("agreement")
def agreement(
    which: Annotated[str, typer.Argument(metavar="LABELS", help="Exported labels.jsonl, or name or id of a case set.", show_default=False)],
    all_: Annotated[bool, typer.Option("--all", help="Also labels of people with a flag (of a file).")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Says how far people agree, under every policy for Unsure."""
    path = Path(which)
    if path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as e:
            raise InputError(f'"{path}" is not UTF-8: {e.reason} at byte {e.start}.') from e
        found = rater_agreement(answers_of(read_labels(text), all_of_them=all_))
    else:
        store = open_store(Settings.from_environment())
        try:
            found = labelling_results.agreement(store, _set_id(store, which)).raters
        finally:
            store.close()
    if as_json:
        say_json(asdict(found))
    else:
        _print(found)


def _print(a: RaterAgreement) -> None:
    say(f"{len(a.raters):,} people, {a.cases:,} cases: {a.single:,} with one label only, {a.with_unsure:,} with an Unsure.")
    say(f"Unanimous: {a.unanimous:,} of {a.compared:,} cases without Unsure, {_interval(a.overlap)}.")
    for title, x in [("Unsure left out", a.exclude), ("Unsure as a third answer", a.as_class), ("Unsure as missing", a.missing)]:
        say(f"{title} ({_n(x)}): Fleiss' kappa {_interval(x.kappa)}, Krippendorff's alpha {_interval(x.alpha)}")
    for p in a.pairs:
        say(f"  {p.first} and {p.second}: Cohen's kappa {_interval(p.kappa)}, n = {p.n:,} of {p.both:,}")


def _n(a: Agreement) -> str:
    return f"n = {a.questions:,}"


def _interval(x: Interval) -> str:
    if x.value is None:
        return "not known"
    return f"{x.value:.3f}" + ("" if x.low is None or x.high is None else f" ({x.low:.3f} to {x.high:.3f})")


def _set_id(store: Store, which: str) -> str:
    found = store.cases.find(which)
    if found is None:
        known = ", ".join(f'"{s.name}"' for s in store.cases.list()) or "none"
        raise InputError(f'There is no case set "{which}" in this workspace; case sets: {known}.')
    return found.id
