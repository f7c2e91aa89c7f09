"""Error slices as files and JSON: the units, the scores, and what the tests found."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from core.error_slices.units import Units
from core.operators.slice_report import SliceReport, SliceRow, SliceSettings

UNIT_COLUMNS = (
    *("unit_id", "side", "image_id", "file_name", "split", "half", "x1", "y1", "x2", "y2", "class_id", "class"),
    *("kind", "fn_cause", "confidence", "iou", "loss", "ref_unit", "truncated", "occluded", "gt_slice", "weight"),
)


def unit_rows(units: Units) -> list[dict[str, Any]]:
    """One row a unit; what is not known is None."""
    d = units.detections
    out = []
    for i, unit_id in enumerate(units.ids):
        image, side, row = d.images[units.image[i]], str(units.side[i]), int(units.row[i])
        cls = d.classes[units.cls[i]] if units.cls[i] >= 0 else None
        boxes = d.truth if side == "gt" else d.predictions if side == "pred" else None
        named = d.truth.slices if side == "gt" else d.predictions.slices
        out.append(
            {
                "unit_id": unit_id,
                "side": side,
                "image_id": image.id,
                "file_name": image.file_name,
                "split": image.split,
                "half": image.half,
                **{k: _number(v) for k, v in zip(("x1", "y1", "x2", "y2"), units.xyxy[i], strict=True)},
                "class_id": None if cls is None else cls.id,
                "class": None if cls is None else cls.name,
                "kind": str(units.kind[i]),
                "fn_cause": str(units.fn_cause[i]),
                "confidence": _number(units.score[i]),
                "iou": _number(units.iou[i]),
                "loss": _number(units.loss[i]),
                "ref_unit": units.ids[units.ref[i]] if units.ref[i] >= 0 else None,
                "truncated": None if boxes is None else _number(boxes.truncated[row]),
                "occluded": None if boxes is None else _number(boxes.occluded[row]),
                "gt_slice": named[row] if boxes is not None and named is not None else "",
                "weight": _number(units.weight[i]),
            }
        )
    return out


def units_csv(units: Units) -> str:
    """The units as CSV, one row each; what is not known is empty."""
    return _csv(UNIT_COLUMNS, unit_rows(units))


def unit_counts(units: Units) -> dict[str, Any]:
    """How many units of each side and kind there are, and what made none."""
    sides = Counter(map(str, units.side))
    kinds = Counter(f"{side} {kind}" for side, kind in zip(units.side, units.kind, strict=True))
    return {
        "units": len(units),
        "sides": dict(sorted(sides.items())),
        "kinds": dict(sorted(kinds.items())),
        "left_out": dict(units.left_out),
    }


def settings_object(settings: SliceSettings) -> dict[str, Any]:
    """The settings as JSON values."""
    return asdict(settings)


def row_object(row: SliceRow) -> dict[str, Any]:
    """One hypothesis with what was found, as JSON values."""
    h, t = row.hypothesis, row.tested
    out: dict[str, Any] = h.to_json() | {
        "untested": row.untested,
        "group": row.group,
        "units": 0 if row.population is None else len(row.population.units),
        "left_out": {} if row.population is None else dict(row.population.left_out),
        "score_source": None if row.scores is None else row.scores.source,
        "matcher": None if row.scores is None else row.scores.matcher,
        "score_notes": {} if row.scores is None else dict(row.scores.counts),
        "judgement": None if row.judgement is None else {k: getattr(row.judgement, k) for k in ("verdict", "note", "who")},
        "clicks": dict(row.clicks),
    }
    if t is not None:
        found = asdict(t) | {"lift": t.lift, "errors_saved": t.errors_saved}
        found["spearman"] = {str(k): v for k, v in t.spearman.items()}
        found["why"] = list(t.why)
        out["tested"] = {k: _plain(v) for k, v in found.items() if k != "hypothesis_id"}
    else:
        out["tested"] = None
    return out


def report_object(report: SliceReport) -> dict[str, Any]:
    """The whole report as JSON values."""
    s = report.saved
    verdicts = Counter(r.tested.verdict for r in report.rows if r.tested is not None)
    return {
        "detections": {"id": s.id, "name": s.name, "model": s.model, "task": s.task, "digest": s.digest, "synthetic": s.synthetic},
        "settings": settings_object(report.settings),
        "units": unit_counts(report.units),
        "tested": len(report.tested),
        "untested": len(report.rows) - len(report.tested),
        "verdicts": dict(sorted(verdicts.items())),
        "hypotheses": [row_object(r) for r in report.rows],
        "digest": report.digest,
    }


def scores_csv(report: SliceReport, hypothesis_ids: Sequence[str] = ()) -> str:
    """Matching scores as CSV, one row a unit and hypothesis; units without a score have an empty one."""
    rows = []
    for r in report.rows:
        if r.scores is None or r.population is None or (hypothesis_ids and r.hypothesis.id not in hypothesis_ids):
            continue
        s = r.scores
        for u, c, logit, flag, loss in zip(s.units, s.c, s.logit, s.flags, r.population.loss, strict=True):
            rows.append(
                {
                    "hypothesis_id": r.hypothesis.id,
                    "unit_id": report.units.ids[u],
                    "score": _number(c),
                    "logit": _number(logit),
                    "flag": str(flag),
                    "source": s.source,
                    "loss": _number(loss),
                }
            )
    return _csv(("hypothesis_id", "unit_id", "score", "logit", "flag", "source", "loss"), rows)


def report_csv(report: SliceReport) -> str:
    """The list of hypotheses as CSV."""
    columns = (
        *("id", "text", "error", "category", "verdict", "error_in", "low_in", "high_in", "n_in", "images_in"),
        *("error_out", "low_out", "high_out", "n_out", "images_out", "lift", "errors_saved"),
        *("slope", "p_trend", "q_trend", "p_lift", "q_lift", "p_adjusted", "paper_trend", "paper_pass", "paper_null_pass", "score_source"),
        *("not_scorable", "group", "untested"),
    )
    rows = []
    for r in report.rows:
        h, t = r.hypothesis, r.tested
        row: dict[str, Any] = {
            "id": h.id,
            "text": h.text,
            "error": h.error,
            "category": h.category,
            "untested": r.untested,
            "group": r.group,
        }
        if t is not None:
            row |= {k: _plain(getattr(t, k)) for k in columns if hasattr(t, k)}
            for name, rate in (("in", t.inside), ("out", t.outside)):
                row |= {f"error_{name}": rate.value, f"low_{name}": rate.low, f"high_{name}": rate.high}
                row |= {f"n_{name}": rate.n, f"images_{name}": rate.images}
            row["score_source"] = None if r.scores is None else r.scores.source
        rows.append(row)
    return _csv(columns, rows)


def _csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: "" if (v := row.get(k)) is None else v for k in columns} for row in rows)
    return out.getvalue()


def _number(value: Any) -> float | None:
    x = float(value)
    return x if np.isfinite(x) else None


def _plain(value: Any) -> Any:
    """A value that JSON can say."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value
