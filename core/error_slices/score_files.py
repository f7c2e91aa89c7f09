"""Matching scores of a vision model, kept beside the detections that they are about: dear to make, so never made twice.

A score belongs to a unit of the ground truth or to a prediction, whatever the confidence cut and the IoU; both have ids that these do not
change; that of two masks names its box too, which follows the prediction that was found. All scores of one matcher stand in one file; of
two samples the one with more scores of the present units stays.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from core.digest import sha256_bytes
from core.error_slices.detections import FloatArray
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.scores import Scores, ScoreSource
from core.error_slices.units import Population, Units

FOLDER = "scores"
_BEST: tuple[ScoreSource, ...] = ("logprob", "sampled", "verbalised")
"""Which source is shown where there are several, the first first."""


@dataclass(frozen=True, eq=False)
class StoredScores:
    """Scores of one hypothesis as they lie in a file, m units.

    Attributes:
        source: How they were found.
        matcher: Model and version of the prompt.
        sha256: Of the file.
        ids: Shape (m,): ids of the units.
        c: Shape (m,).
        logit: Shape (m,).
        flags: Shape (m,).
        weight: Shape (m,).
        not_reached: Units that were chosen for this sample and that the run ended before; then rates rest on the units that came first.
    """

    source: ScoreSource
    matcher: str
    sha256: str
    ids: tuple[str, ...]
    c: FloatArray
    logit: FloatArray
    flags: np.ndarray
    weight: FloatArray
    not_reached: int = 0


def write_scores(folder: Path, hypothesis: Hypothesis, scores: Scores, units: Units, *, not_reached: int = 0) -> Path:
    """Keep the scores of a model, with those that it gave earlier; where units were sampled, the sample with more of the present units.

    Args:
        folder: Of the set of detections.
        hypothesis: What was asked.
        scores: What came of it.
        units: Those that the scores are about.
        not_reached: Units that were chosen and that the run ended before.

    Returns:
        The file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / FOLDER / f"{hypothesis.digest[:24]}-{scores.source}-{sha256_bytes(scores.matcher.encode())[:8]}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    weight = np.ones(len(scores.units)) if scores.weight is None else scores.weight
    rows = {
        _key(units, u): (c, logit, str(flag), w)
        for u, c, logit, flag, w in zip(scores.units, scores.c, scores.logit, scores.flags, weight, strict=True)
    }
    if path.is_file():
        old = _read(path)
        if (old.weight != 1).any() or (weight != 1).any():  # weights hold for one sample, so samples are never joined
            here = {_key(units, u) for u in range(len(units))}  # other settings have other predictions
            if sum(i in here and bool(np.isfinite(c)) for i, c in zip(old.ids, old.c, strict=True)) > np.isfinite(scores.c).sum():
                return path
        else:
            kept = zip(old.ids, old.c, old.logit, old.flags, old.weight, strict=True)
            known = {i: (c, logit, str(flag), w) for i, c, logit, flag, w in kept if not np.isnan(c)}
            rows = rows | known | {i: row for i, row in rows.items() if not np.isnan(row[0])}  # a call that failed takes nothing away
    columns = list(zip(*rows.values(), strict=True)) or [(), (), (), ()]
    table = pa.table(
        {
            "unit_id": pa.array(rows.keys(), pa.string()),
            "c": pa.array(columns[0], pa.float64()),
            "logit": pa.array(columns[1], pa.float64()),
            "flag": pa.array(columns[2], pa.string()),
            "weight": pa.array(columns[3], pa.float64()),
        },
        metadata={
            "source": scores.source,
            "matcher": scores.matcher,
            "hypothesis": hypothesis.text,
            "not_reached": str(not_reached),
        },
    )
    part = path.with_name(f".{uuid4().hex}.part")
    pq.write_table(table, part, compression="zstd")
    os.replace(part, path)
    return path


def stored_scores(folder: Path, hypothesis: Hypothesis) -> StoredScores | None:
    """The best scores that a model gave for a hypothesis: those from token probabilities first, then the newest; None without any."""
    found = list((folder / FOLDER).glob(f"{hypothesis.digest[:24]}-*.parquet"))
    if not found:
        return None
    return _read(min(found, key=lambda p: (_BEST.index(_source(p)), -p.stat().st_mtime_ns, p.name)))


def scores_for(stored: StoredScores, hypothesis: Hypothesis, population: Population, units: Units) -> Scores:
    """Stored scores in the order of a population; units that were never asked about have none."""
    where = {i: k for k, i in enumerate(stored.ids)}
    at = np.array([where.get(_key(units, u), -1) for u in population.units], dtype=np.int64)
    known = at >= 0

    def column(values: Any, missing: Any) -> Any:
        return np.where(known, values[at], missing) if len(values) else np.full(len(at), missing)

    flags = column(stored.flags, "")
    counts = {"units that the model was not asked about": int((~known).sum())}
    counts |= {"units that were chosen and that the run did not reach": stored.not_reached}
    counts |= {f"answers: {name}": n for name in ("censored", "low_mass", "no_yes_no_token", "failed") if (n := int((flags == name).sum()))}
    return Scores(
        hypothesis_id=hypothesis.id,
        units=population.units,
        c=column(stored.c, np.nan),
        logit=column(stored.logit, np.nan),
        source=stored.source,
        matcher=stored.matcher,
        flags=flags,
        counts={k: v for k, v in counts.items() if v},
        weight=column(stored.weight, 1.0),
    )


def _key(units: Units, unit: int) -> str:
    """What a score is kept by: the unit, and the box that was looked at where it depends on the settings."""
    name = units.ids[unit]
    return f"{name}@{','.join(f'{v:.0f}' for v in units.xyxy[unit])}" if units.side[unit] == "seg" else name


def _source(path: Path) -> ScoreSource:
    name = path.stem.split("-")[1]
    return next((s for s in _BEST if s == name), "verbalised")


def _read(path: Path) -> StoredScores:
    import io

    import pyarrow.parquet as pq

    data = path.read_bytes()
    t = pq.read_table(io.BytesIO(data))
    told = t.schema.metadata or {}
    return StoredScores(
        source=_source(path),
        matcher=told.get(b"matcher", b"").decode(),
        sha256=sha256_bytes(data),
        ids=tuple(t["unit_id"].to_pylist()),
        c=t["c"].to_numpy().astype(np.float64),
        logit=t["logit"].to_numpy().astype(np.float64),
        flags=np.array(t["flag"].to_pylist(), dtype=object).astype(str) if len(t) else np.empty(0, "U1"),
        weight=t["weight"].to_numpy().astype(np.float64),
        not_reached=int(told.get(b"not_reached", b"0")),
    )
