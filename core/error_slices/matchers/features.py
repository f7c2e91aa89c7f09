"""Measurements of pixels as columns that can be kept: one row per box, found again by image and rounded box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.error_slices.detections import FloatArray
from core.error_slices.units import Visible

VERSION = 1
"""Raised with every change of a measurement, so that kept ones are not used for it."""

FEATURES: Mapping[str, str] = {
    "luma": "mean brightness of the box, 0 to 255",
    "ring_luma": "mean brightness of the ring around it, a quarter of its sides wide",
    "glare": "share of pixels brighter than 245",
    "deviation": "standard deviation of brightness over 255",
    "sharpness": "log10 of the variance of the Laplacian over that of brightness, at 48 px",
    "likeness": "Bhattacharyya coefficient of hue and saturation, box against ring",
    "clutter": "log10 of the variance of the Laplacian in the ring",
    "image_luma": "median brightness of the image",
    "image_top": "median brightness of its upper third",
    "dark_channel": "mean of the darkest colour nearby, over 255 (at 64 x 64)",
    "saturation": "mean saturation of the image over 255",
}
"""Names of the measurements and what they are."""
NAMES = tuple(FEATURES)


@dataclass(frozen=True, eq=False)
class PixelFeatures:
    """Measurements of n boxes; NaN where there is none: no file, a box of fewer than 2 × 2 pixels, no ring around it.

    Attributes:
        keys: Shape (n,): image, rounded box and version of each; see `keys_of`.
        values: Shape (n, features): in the order of `NAMES`.
        problems: Images that could not be read, one sentence each.
        found: Boxes that were found among known measurements.
    """

    keys: tuple[str, ...]
    values: FloatArray
    problems: tuple[str, ...] = ()
    found: int = 0

    def __len__(self) -> int:
        return len(self.keys)

    def column(self, name: str) -> FloatArray:
        """Shape (n,): one measurement."""
        return self.values[:, NAMES.index(name)]


def keys_of(visible: Visible) -> tuple[str, ...]:
    """The key of each box: digest of the image's bytes (its id where there is no file), corners rounded to pixels, version."""
    names = [i.sha256[:20] or f"id {i.id}" for i in visible.images]
    corners = np.rint(np.clip(np.nan_to_num(visible.xyxy), -1e9, 1e9)).astype(np.int64)
    return tuple(f"{names[i]}:{a},{b},{c},{d}:{VERSION}" for i, (a, b, c, d) in zip(visible.image.tolist(), corners.tolist(), strict=True))


def write_features(path: Path, features: PixelFeatures, known: PixelFeatures | None = None) -> None:
    """Keep measurements in a Parquet file, with those known before; rows without any measurement are not kept.

    Args:
        path: The file; replaced at once, so that a reader never sees half of it.
        features: New measurements.
        known: Those of the file before.
    """
    import os

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {
        k: v for part in (known, features) if part is not None for k, v in zip(part.keys, part.values, strict=True) if not np.isnan(v).all()
    }
    values = np.array(list(rows.values()), np.float32).reshape(len(rows), len(NAMES))
    table = pa.table({"key": pa.array(list(rows), pa.string()), **{n: pa.array(values[:, i]) for i, n in enumerate(NAMES)}})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    pq.write_table(table.replace_schema_metadata({"version": str(VERSION)}), part)
    part.replace(path)


def read_features(path: Path) -> PixelFeatures | None:
    """Kept measurements, None if there are none, or none of this version that can be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (FileNotFoundError, pa.ArrowInvalid):
        return None
    if (table.schema.metadata or {}).get(b"version") != str(VERSION).encode():
        return None
    values = np.column_stack([table[n].to_numpy().astype(np.float64) for n in NAMES])
    return PixelFeatures(tuple(table["key"].to_pylist()), values)
