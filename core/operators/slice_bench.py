"""The bench with planted slices, on made-up boxes or on those of a set of detections."""

from __future__ import annotations

from collections.abc import Callable

from core.error_slices.matching import make_units
from core.error_slices.planted import METHODS, PlantedReport, PlantedSettings, planted_bench
from core.error_slices.planted_boxes import made_up_boxes
from core.error_slices.population import visible
from core.operators.slice_offline import features_of
from core.operators.slices import open_detections
from core.storage import Store
from core.trajectories.report import several


def bench_slices(
    store: Store | None = None,
    set_id: str = "",
    settings: PlantedSettings | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> PlantedReport:
    """Plant slices and look for them in every way.

    Args:
        store: The workspace, for a set of detections.
        set_id: Detections on whose boxes and pixels slices are planted; made-up boxes without pixels where none is named.
        settings: Of the bench.
        progress: Called with runs done and in all.

    Raises:
        InputError: There is no such set, or no rule holds for enough of its boxes.
    """
    if store is None or not set_id:
        return planted_bench(made_up_boxes(), settings, progress=progress)
    seen = visible(make_units(open_detections(store, set_id)), "gt")
    features = features_of(store.detections.get(set_id).folder, seen, lambda _what, _share: None)
    return planted_bench(seen, settings, features=features, progress=progress)


def bench_table(report: PlantedReport) -> list[str]:
    """The bench as lines of text."""
    s = report.settings
    made = f"{min(s.planted, len(report.rules))} of {len(report.rules)} rules planted in each of {several(s.repeats, 'run', 'runs')}"
    boxes = f"{report.units:,} boxes in {several(report.images, 'image', 'images')}"
    out = [
        f"{boxes}, {report.hypotheses} hypotheses, {made}; error rate {s.inside:g} inside, {s.base:g} outside. The errors are made up.",
        f"{'':50} slices   P@{s.k}  P@{s.k} of first {s.cap}  pure  precision  recall     F1",
    ]
    for r in report.rows:
        values = (r.precision, r.capped, r.pure, r.meaning, r.recall, r.f1)
        shown = "".join(f"{'–' if v is None else f'{v:.2f}':>{w}}" for v, w in zip(values, (7, 16, 6, 11, 8, 7), strict=True))
        out.append(f"{METHODS[r.method]:50}{r.slices:7.1f}{shown}")
    return out
