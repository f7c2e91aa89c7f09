"""Scores of the hypotheses that need no model; pixels are measured once and kept beside the detections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from core.error_slices.hypotheses import Hypothesis, OfflineMatcher
from core.error_slices.matchers.features import PixelFeatures, keys_of, read_features, write_features
from core.error_slices.matchers.pixels import pixel_features
from core.error_slices.matchers.registry import MATCHERS, matcher_label, score_offline
from core.error_slices.population import visible
from core.error_slices.scores import Scores
from core.error_slices.units import SIDE_OF, Population, Side, Units, Visible

PIXELS = "pixels.parquet"
NOT_SCORABLE = "units that the matcher cannot score"


def offline_scores(
    folder: Path,
    units: Units,
    hypotheses: Sequence[Hypothesis],
    populations: Mapping[str, Population],
    tell: Callable[[str, float], None],
) -> tuple[dict[str, Scores], tuple[str, ...]]:
    """Scores by hypothesis, of the units of its population; with what could not be measured, one sentence each.

    Args:
        folder: Of the detections, where measurements are kept.
        units: All units.
        hypotheses: Those with a matcher and units.
        populations: The units of each.
        tell: Told what is done, and how much of it.
    """
    out = dict[str, Scores]()
    problems = dict[str, None]()
    by_side = dict[Side, list[tuple[Hypothesis, OfflineMatcher]]]()
    for h in hypotheses:
        if h.offline is not None:
            by_side.setdefault(SIDE_OF[h.error], []).append((h, h.offline))
    for side, asked in by_side.items():
        seen, rows = visible(units, side), units.on(side)
        features = None
        if any(MATCHERS[offline.name].looks == "pixels" for _, offline in asked):
            features = features_of(folder, seen, tell)
            problems |= dict.fromkeys(features.problems)
        found = score_offline(seen, [h for h, _ in asked], features=features)
        for h, offline in asked:
            if h.id not in found:
                continue
            at = populations[h.id].units
            place = np.searchsorted(rows, at)
            c, logit = found[h.id].c[place], found[h.id].logit[place]
            unknown = int(np.isnan(c).sum())
            out[h.id] = Scores(
                hypothesis_id=h.id,
                units=at,
                c=c,
                logit=logit,
                source="geometric",
                matcher=matcher_label(offline),
                flags=np.full(len(at), ""),
                counts={NOT_SCORABLE: unknown} if unknown else {},
            )
    return out, tuple(problems)


def features_of(folder: Path, seen: Visible, tell: Callable[[str, float], None]) -> PixelFeatures:
    """Measurements of the pixels of all boxes of a side, those of the file and new ones, which join it."""
    path = folder / PIXELS
    known = _known(path, path.stat().st_mtime_ns) if path.is_file() else None
    if known is not None and set(keys_of(seen)) <= set(known.keys):
        return pixel_features(seen, known=known)
    found = pixel_features(
        seen, lambda done, of: tell(f"Measuring pixels: image {done:,} of {of:,}", 0.1 + 0.7 * done / max(of, 1)), known=known
    )
    if found.found < len(found):
        write_features(path, found, known)
    return found


@lru_cache(maxsize=4)
def _known(path: Path, _changed: int) -> PixelFeatures | None:
    return read_features(path)
