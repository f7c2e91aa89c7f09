"""The commands `slices units`, `slices match`, `slices verify`, `slices export` and `slices bench`."""

from __future__ import annotations

import sys
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from core.cli import options as o
from core.cli.show import say, say_json
from core.cli.slice_vision import ask_vision
from core.cli.workspace import workspace
from core.error_slices.detect import LEAST_CONFIDENCE
from core.error_slices.detections import DetectionSet
from core.error_slices.planted import PlantedSettings
from core.error_slices.repair.export import Pictures
from core.error_slices.units import UnitSettings
from core.error_slices.verification.settings import ErrorRate, Mode, TestSettings
from core.error_slices.vision.options import MatchOptions
from core.errors import InputError
from core.operators import slice_bench, slice_files, slice_repair
from core.operators import slices as operators
from core.operators.detection_sources import beside_truth, look_at_detections, prepare_detector, run_detector
from core.operators.slice_report import Halves, SliceReport, SliceRow, SliceSettings
from core.settings import Settings
from core.storage import Store
from core.trajectories.report import several

Way = Literal["logprob", "sampled", "verbalised"]
slices = typer.Typer(no_args_is_help=True, help="Error slices: import detections, match hypotheses, test them, export them for repair.")

Set = Annotated[str, typer.Argument(metavar="SET", help="Name or id of a set of detections in the workspace.", show_default=False)]
Confidence = Annotated[float, typer.Option("--confidence", min=0, max=1, help="Predictions below it are left out before matching.")]
Iou = Annotated[float, typer.Option("--iou", min=0.01, max=1, help="Least IoU of a match.")]
Gamma = Annotated[float, typer.Option("--gamma", min=0, max=1, help="Matching score above which a unit is in the slice.")]
FpLoc = Annotated[bool, typer.Option("--fp-includes-loc", help="Count badly placed predictions as false positives.")]
Only = Annotated[list[str] | None, typer.Option("--hypothesis", help="Id of a hypothesis; may be given several times.")]
HalvesOption = Annotated[str, typer.Option("--images", help="all, or verification: leave the other half of the images for repair.")]


@slices.command("units")
def units(
    truth: Annotated[Path, typer.Argument(help="Ground truth: file or folder.", show_default=False)],
    predictions: Annotated[Path | None, typer.Argument(help="Predictions: file or folder.", show_default=False)] = None,
    format_: Annotated[str, typer.Option("--format", help="coco, yolo, kitti, voc, gesd or classification; recognised by default.")] = "",
    images: Annotated[Path | None, typer.Option("--images", help="Folder of the images.", show_default=False)] = None,
    class_map: Annotated[list[str] | None, typer.Option("--class", help="prediction class=ground-truth class; empty for none.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="Option of the reader as key=value.")] = None,
    weights: Annotated[str, typer.Option("--weights", help="Weights of ultralytics that make the predictions now.")] = "",
    model: Annotated[str, typer.Option("--model", help="Name of the model.")] = "",
    name: Annotated[str, typer.Option("--name", help="Name of the set; that of the file by default.")] = "",
    confidence: Confidence = UnitSettings.confidence,
    iou: Iou = UnitSettings.iou,
    out: Annotated[Path | None, typer.Option("--out", help="Write the units as CSV.", show_default=False)] = None,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Keep the detections in the workspace.")] = True,
    as_json: o.AsJson = False,
) -> None:
    """Reads detections, compares them with the ground truth, and keeps them."""
    if weights and predictions is not None:
        raise InputError("Name a file of predictions or weights that make them, not both.")
    options = dict[str, Any](o.pairs(option, "--option"))
    if wrong := options.keys() & signature(look_at_detections).parameters.keys():
        raise InputError(
            f"--option: {', '.join(sorted(wrong))} is no option of a reader; --format, --images, --class, --model and --name say it."
        )
    content = look_at_detections(
        truth,
        predictions,
        format=format_ or None,
        images=images,
        class_map=None if weights else o.pairs(class_map, "--class") or None,
        model=model,
        name=name,
        **options,
    ).content
    if weights:
        content = _detected(content, weights, images, o.pairs(class_map, "--class"), name)
    made = operators.units_of(content, UnitSettings(confidence=confidence, iou=iou))
    if out is not None:
        out.write_text(slice_files.units_csv(made), encoding="utf-8")
    saved = None
    if keep:
        with workspace() as store:
            saved = operators.keep_detections(store, content, name=name)
    counts = slice_files.unit_counts(made)
    if as_json:
        head = {} if saved is None else {"id": saved.id, "name": saved.name, "digest": saved.digest}
        say_json(head | counts | {"report": content.report.to_json(), "out": _name(out)})
        return
    _print_source(content)
    say(f"At confidence {confidence:g} and IoU {iou:g}: {several(counts['units'], 'unit', 'units')}.")
    for what, n in (counts["kinds"] | counts["left_out"]).items():
        say(f"  {what}: {n:,}")
    if saved is not None:
        say(f'Kept as "{saved.name}" ({saved.id}).')


def _detected(truth: DetectionSet, weights: str, images: Path | None, class_map: dict[str, str], name: str) -> DetectionSet:
    """The ground truth with what a detector finds on its images now."""
    if images is None:
        raise InputError("--weights needs --images, the folder of the images that the detector looks at.")
    loaded = prepare_detector(Settings.from_environment(), truth, weights, class_map or None)
    found = run_detector(
        loaded, confidence=LEAST_CONFIDENCE, progress=lambda done, of: _progress("Detecting", done / max(of, 1))
    )  # fmt: skip
    return beside_truth(truth, found, class_map or None, name)


@slices.command("match")
def match(
    which: Set,
    hypothesis: Only = None,
    vision: Annotated[bool, typer.Option("--vision", help="Ask the connected vision model; says what it takes, asks with --yes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Send the calls.")] = False,
    most_errors: Annotated[int, typer.Option("--most-errors", min=0, help="Units with an error to ask about; 0 for all.")] = 200,
    most_correct: Annotated[int, typer.Option("--most-correct", min=0, help="Units without, likewise.")] = 400,
    kind: Annotated[str, typer.Option("--kind", help="logprob, sampled or verbalised; the best that the model can by default.")] = "",
    both_orders: Annotated[bool, typer.Option("--both-orders", help="Ask yes or no, and no or yes: twice the calls.")] = False,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=1, help="Calls at which the run pauses.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Tokens, likewise.")] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", min=0, help="Cost, likewise.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the scores as CSV.", show_default=False)] = None,
    confidence: Confidence = UnitSettings.confidence,
    iou: Iou = UnitSettings.iou,
    as_json: o.AsJson = False,
) -> None:
    """Scores units for hypotheses that need no model; with --vision asks a model about the others, exit code 1 below 95 % scored."""
    settings, told = SliceSettings(UnitSettings(confidence, iou)), dict[str, Any]()
    with workspace() as store:
        set_id = set_named(store, which)
        if vision:
            way = None if not kind else _one(kind, Way, "--kind")
            options = MatchOptions(way, most_errors or None, most_correct or None, both_orders)
            caps = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost}
            told = ask_vision(store, set_id, settings, hypothesis or [], options, caps, yes=yes, quiet=as_json)
            if not yes:
                if as_json:
                    say_json(told)
                return
        report = operators.slice_report(store, set_id, settings, progress=_progress)
    rows = _chosen(report, hypothesis)
    if out is not None:
        out.write_text(slice_files.scores_csv(report, [r.hypothesis.id for r in rows]), encoding="utf-8")
    found = [
        {
            "id": r.hypothesis.id,
            "source": None if r.scores is None else r.scores.source,
            "units": 0 if r.population is None else len(r.population.units),
            "scored": 0 if r.scores is None else int((r.scores.c == r.scores.c).sum()),
            "in_slice": 0 if r.scores is None else int((r.scores.c > report.settings.test.gamma).sum()),
            "why_not": r.untested,
        }
        for r in rows
    ]
    if as_json:
        say_json({"detections": report.saved.id, "hypotheses": found, "problems": list(report.problems), "out": _name(out)} | told)
    else:
        for f in found:
            counted = f"{f['scored']:,} of {f['units']:,} units scored ({f['source']}), {f['in_slice']:,} in the slice"
            say(f"{f['id']}: {counted if f['source'] else f['why_not']}")
        for p in report.problems:
            say(f"note: {p}")
    if vision and (told["run"]["stopped"] or told["run"]["partial"]):
        sys.exit(1)


@slices.command("verify")
def verify(
    which: Set,
    hypothesis: Only = None,
    mode: Annotated[str, typer.Option("--mode", help="calibrated, paper or spearman.")] = TestSettings.mode,
    gamma: Gamma = TestSettings.gamma,
    tau: Annotated[float, typer.Option("--tau", help="Least slope.")] = TestSettings.tau,
    window: Annotated[int, typer.Option("--window", min=5, help="Units in a window of the paper's rule.")] = TestSettings.window,
    fdr: Annotated[float, typer.Option("--fdr", min=0.0001, max=0.5, help="Level of the false discovery rate.")] = TestSettings.fdr,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the sign flips.")] = TestSettings.seed,
    confidence: Confidence = UnitSettings.confidence,
    iou: Iou = UnitSettings.iou,
    fp_includes_loc: FpLoc = False,
    halves: HalvesOption = "all",
    out: Annotated[Path | None, typer.Option("--out", help="Write the list as CSV.", show_default=False)] = None,
    as_json: o.AsJson = False,
) -> None:
    """Tests every hypothesis that has scores, and says which hold up."""
    test = TestSettings(mode=_one(mode, Mode, "--mode"), gamma=gamma, tau=tau, window=window, fdr=fdr, seed=seed)
    settings = SliceSettings(UnitSettings(confidence, iou), test, fp_includes_loc, halves=_one(halves, Halves, "--images"))
    with workspace() as store:
        report = operators.slice_report(store, set_named(store, which), settings, progress=_progress)
    rows = _chosen(report, hypothesis)
    if out is not None:
        out.write_text(slice_files.report_csv(report), encoding="utf-8")
    if as_json:
        say_json(slice_files.report_object(replace(report, rows=tuple(rows))) | {"out": _name(out)})
        return
    _print_report(report, rows)


@slices.command("export")
def export(
    which: Set,
    out: Annotated[Path, typer.Option("--out", help="New folder to write into.", show_default=False)],
    hypothesis: Only = None,
    target: Annotated[str, typer.Option("--from", help="Set whose images are exported, such as the training data.")] = "",
    formats: Annotated[str, typer.Option("--formats", help="Formats, separated by commas; all that fit by default.")] = "",
    halves: HalvesOption = "verification",
    mode: Annotated[str, typer.Option("--mode", help="calibrated, paper or spearman.")] = TestSettings.mode,
    gamma: Gamma = TestSettings.gamma,
    most_weight: Annotated[float, typer.Option("--most-weight", min=1, help="Weight of an image with a score of 1.")] = 3.0,
    pictures: Annotated[str, typer.Option("--pictures", help="copy, link or none: what becomes of the pictures.")] = "copy",
    confidence: Confidence = UnitSettings.confidence,
    iou: Iou = UnitSettings.iou,
    as_json: o.AsJson = False,
) -> None:
    """Writes accepted slices for repair, over images that no test has seen; without --from, those of the half that verified nothing."""
    test = TestSettings(mode=_one(mode, Mode, "--mode"), gamma=gamma)
    settings = SliceSettings(UnitSettings(confidence, iou), test, halves=_one(halves, Halves, "--images"))
    with workspace() as store:
        done = slice_repair.export_repair(
            store,
            set_named(store, which),
            hypothesis or [],
            out,
            settings,
            target_id=set_named(store, target) if target else "",
            formats=o.listed(formats) or None,
            most_weight=most_weight,
            pictures=_one(pictures, Pictures, "--pictures"),
            progress=_progress,
        )
    if as_json:
        say_json(done.to_json())
        return
    files, pictures = several(len(done.files), "file", "files"), several(done.pictures, "picture", "pictures")
    say(f"{several(done.images, 'image', 'images')}, {done.hard:,} with a unit of a slice; {files} and {pictures} in {out}.")
    for note in done.notes:
        say(f"note: {note}")
    for what, n in done.left_out.items():
        say(f"  left out: {n:,} {what}")


@slices.command("bench")
def bench(
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Draws of the errors.")] = 8,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the draws.")] = 0,
    base: Annotated[float, typer.Option("--base", min=0, max=0.6, help="Error rate outside the planted slices.")] = 0.1,
    planted: Annotated[int, typer.Option("--planted", min=0, help="Slices planted in a run.")] = 3,
    which: Annotated[str, typer.Option("--set", help="Set of detections whose boxes are used; made-up boxes by default.")] = "",
    as_json: o.AsJson = False,
) -> None:
    """Plants slices and says which ways of finding them find what: Precision@k, number of slices, precision and recall."""
    settings = PlantedSettings(base=base, planted=planted, repeats=repeats, seed=seed)
    if which:
        with workspace() as store:
            report = slice_bench.bench_slices(store, set_named(store, which), settings)
    else:
        report = slice_bench.bench_slices(settings=settings)
    if as_json:
        say_json(report.to_json())
        return
    for line in slice_bench.bench_table(report):
        say(line)


def set_named(store: Store, which: str) -> str:
    """Id of the set of detections with a name or an id.

    Raises:
        InputError: There is none.
    """
    found = store.detections.find(which)
    if found is None:
        known = ", ".join(f'"{s.name}" ({s.id})' for s in store.detections.list()) or "none"
        raise InputError(f'There is no set of detections "{which}" in this workspace; there are: {known}.')
    return found.id


def _one(got: str, allowed: Any, option: str) -> Any:
    if got not in get_args(allowed):
        raise InputError(f'{option}: got "{got}"; allowed: {", ".join(get_args(allowed))}.')
    return got


def _chosen(report: SliceReport, ids: list[str] | None) -> list[SliceRow]:
    unknown = [i for i in ids or () if report.row(i) is None]
    if unknown:
        raise InputError(
            f"There is no hypothesis {', '.join(unknown)}; there are: {', '.join(sorted(r.hypothesis.id for r in report.rows))}."
        )
    return [r for r in report.rows if not ids or r.hypothesis.id in ids]


def _progress(what: str, share: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{what} … {share:4.0%} ")
        if share >= 1:
            sys.stderr.write("\n")


def _print_source(content: DetectionSet) -> None:
    r = content.report
    said = (len(content.images), "image"), (len(content.truth), "instance"), (len(content.predictions), "prediction")
    counted = ", ".join(several(n, what, f"{what}s") for n, what in said if n or content.classified is None)
    say(f"{content.name}: {counted} ({r.format}).{' Synthetic data.' if content.synthetic else ''}")
    for what, n in r.counts.items():
        say(f"  {what}: {n:,}")
    for name, n in r.unmapped.items():
        how = '--class "prediction class=ground-truth class" names one'
        say(f'  class "{name}" has no class on the other side: {several(n, "box", "boxes")}; {how}')
    for p in r.problems[:20]:
        say(f"  note: {p}")
    if len(r.problems) > 20:
        say(f"  and {len(r.problems) - 20:,} more (--json lists all).")


def _print_report(report: SliceReport, rows: list[SliceRow]) -> None:
    s, t = report.saved, report.settings.test
    tested = [r for r in rows if r.tested is not None]
    made_up = " Synthetic data." if s.synthetic else ""
    say(f"{s.name}: {len(tested):,} of {len(rows):,} hypotheses tested, {t.mode} rule, gamma {t.gamma:g}, FDR {t.fdr:g}.{made_up}")
    for r in tested:
        x = r.tested
        if x is None:
            continue
        q = "".join(f", q {name} {v:.3g}" for name, v in [("trend", x.q_trend), ("lift", x.q_lift)] if v is not None)
        say(f"{x.verdict:12} {r.hypothesis.id}: in {_rate(x.inside)}, out {_rate(x.outside)}{q}")
        if x.paper_pass and x.paper_null_pass is not None:
            say(f"{'':12} passes as printed, as would {x.paper_null_pass:.0%} of {x.paper_null_runs:,} random losses")
        for why in x.why:
            say(f"{'':12} {why}")
    for r in rows:
        if r.tested is None:
            say(f"{'not tested':12} {r.hypothesis.id}: {r.untested}")


def _rate(r: ErrorRate) -> str:
    if r.value is None or r.low is None or r.high is None:
        return "no unit"
    return f"{r.value:.1%} [{r.low:.1%}, {r.high:.1%}] (n = {r.n:,}, {several(r.images, 'image', 'images')})"


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)
