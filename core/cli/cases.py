"""The commands `cases import`, `cases check` and `cases metrics`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from core import operators
from core.cli import options as o
from core.cli.show import say, say_json
from core.errors import InputError
from core.settings import Settings
from core.storage import open_store
from core.trajectories.case_set import CaseSet, open_case_set, write_case_set
from core.trajectories.report import ImportReport

cases = typer.Typer(no_args_is_help=True, help="Cases of trajectories: import, check, measure.")

Source = Annotated[str, typer.Argument(metavar="CASES", help="Folder of a case set, or name or id of one in the workspace.")]


@cases.command("import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="File or folder to import.", show_default=False)],
    format_: Annotated[str, typer.Option("--format", help="Format of the source; recognised by default.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write the set into this new folder; the workspace by default.")] = None,
    name: Annotated[str, typer.Option("--name", help="Name of the set; that of the source by default.")] = "",
    option: Annotated[
        list[str] | None, typer.Option("--option", help="Option of the importer as key=value; may be given several times.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Imports cases, and says what became of every one."""
    options: dict[str, Any] = {k: _seconds(k, v) if k.endswith("_s") else v for k, v in o.pairs(option, "--option").items()}
    if out is not None:
        imported, _ = operators.read_cases_of(source, format_ or None, **options)
        written = write_case_set(out, name or source.stem, imported)
        report, where, head = imported.report, str(out), {"folder": str(out), "digest": written.digest}
    else:
        store = open_store(Settings.from_environment())
        try:
            kept = operators.import_cases(store, source, format_ or None, name=name, **options)
        finally:
            store.close()
        report, where = kept.report, f'the case set "{kept.saved.name}" ({kept.saved.id})'
        head = {"id": kept.saved.id, "name": kept.saved.name, "digest": kept.saved.digest}
    if as_json:
        say_json(head | {"report": report.to_json()})
        return
    print_import(report, where)


@cases.command("check")
def check(source: Source, as_json: o.AsJson = False) -> None:
    """Looks at every case and image of a set."""
    found = operators.check_cases(open_cases(source))
    if as_json:
        say_json(found.to_json())
    else:
        say(f"{found.cases:,} cases of {found.scenes:,} scenes, {found.synthetic:,} of them synthetic.")
        for title, counts in [
            ("planners", found.planners),
            ("step and horizon", found.horizons),
            ("cameras", found.cameras),
            ("flags", found.flags),
            ("licences", found.licences),
        ]:
            say(f"  {title}: {', '.join(f'{k} ({n:,})' for k, n in counts.items()) or 'none'}")
        say(f"  with a rated trajectory: {found.rated:,}")
        say(f"  images: {len(found.missing_images):,} missing, {len(found.changed_images):,} changed")
    if not found.ok:
        bad = [*found.missing_images, *found.changed_images]
        raise InputError(f"{len(bad):,} images are missing or changed: {', '.join(bad[:10])}{' …' if len(bad) > 10 else ''}.")


@cases.command("metrics")
def metrics(source: Source, as_json: o.AsJson = False) -> None:
    """Measures displacement and Rater Feedback Score of every case."""
    found = operators.measure_cases(open_cases(source).cases)
    if as_json:
        say_json(operators.metrics_json(found))
        return
    say(found.common.text())
    label = {m.key: f"{m.label}{f', {m.unit}' if m.unit else ''}" for m in found.metrics}
    for planner, rows in groupby(sorted(found.summaries, key=lambda s: s.planner_id), key=lambda s: s.planner_id):
        say(f"{planner}:")
        for m in rows:
            span = "not known" if m.low is None or m.high is None else f"{m.low:.3f} to {m.high:.3f}"
            value = "not known" if m.mean is None else f"{m.mean:.3f}, 95 % interval {span}, n = {m.n:,}"
            left = f"; {m.unknown:,} without: {' '.join(f'{why} ({n:,})' for why, n in m.reasons.items())}" if m.unknown else ""
            say(f"  {label[m.metric]}: {value}{left}")


def open_cases(which: str) -> CaseSet:
    """The set of a folder, or of a name or id in the workspace.

    Raises:
        InputError: There is neither.
    """
    path = Path(which)
    if path.is_dir():
        return open_case_set(path)
    store = open_store(Settings.from_environment())
    try:
        found = store.cases.find(which)
        if found is None:
            known = ", ".join(f'"{s.name}"' for s in store.cases.list()) or "none"
            raise InputError(f'There is no folder "{which}" and no case set of this name; case sets: {known}.')
        return store.cases.open(found.id)
    finally:
        store.close()


def print_import(report: ImportReport, where: str) -> None:
    """Prints what an importer did."""
    say(f"{report.accepted:,} cases accepted, {report.rejected:,} rejected, {report.resampled:,} resampled; written to {where}.")
    for remark in report.remarks:
        say(f"  {remark}")
    for note, n in report.reasons().most_common(20):
        say(f"  {n:,} × {note}")
    for x in [x for x in report.outcomes if x.fate == "rejected"][:10]:
        say(f"  rejected: {x.where}{f' ({x.case_id})' if x.case_id else ''}: {' '.join(x.notes)}")


def _seconds(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f'--option {key}: got "{text}"; allowed: a number of seconds, such as 0.25.') from None
