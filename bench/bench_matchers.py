"""Offline matching at the size of COCO's validation images, and the bench of planted slices. CPU seconds of one process."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image as Pillow

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.error_slices.dedupe import slice_groups  # noqa: E402
from core.error_slices.library import load_library  # noqa: E402
from core.error_slices.matchers.pixels import measure  # noqa: E402
from core.error_slices.matchers.registry import score_offline  # noqa: E402
from core.error_slices.planted import METHODS, PlantedSettings, planted_bench  # noqa: E402
from core.error_slices.planted_boxes import made_up_boxes  # noqa: E402

IMAGES = 8_000
T = TypeVar("T")


def timed(what: str, run: Callable[[], T]) -> T:
    """Runs it and says how long it took."""
    start = time.process_time()
    out = run()
    print(f"{what:70} {time.process_time() - start:7.2f} CPU-s")
    return out


def main() -> None:
    """Prints all figures."""
    library = load_library()
    boxes = made_up_boxes(IMAGES)
    scores = timed(f"17 hypotheses on {len(boxes):,} boxes", lambda: score_offline(boxes, library.hypotheses))
    assert len(scores) == 17
    tested = [h for h in library.hypotheses if h.id in scores]
    timed("groups of equal slices", lambda: slice_groups(tested, {i: m.logit for i, m in scores.items()}))
    rng = np.random.default_rng(0)
    picture = Pillow.fromarray(rng.integers(0, 256, (480, 640, 3), dtype=np.uint8))
    corners = rng.uniform(0, 400, (200, 2))
    xyxy = np.hstack([corners, corners + rng.uniform(5, 150, (200, 2))])
    timed("pixels of 200 boxes of one picture", lambda: measure(picture, xyxy))
    small = made_up_boxes()
    planted_bench(small, PlantedSettings(repeats=1))  # compiles what there is to compile
    for s in (PlantedSettings(planted=0, repeats=20), PlantedSettings(repeats=20), PlantedSettings(base=0.3, repeats=20)):
        report = timed(f"{s.planted} planted, base rate {s.base}, {s.repeats} runs", lambda s=s: planted_bench(small, s))
        for r in report.rows:
            values = (r.precision, r.capped, r.pure, r.meaning, r.recall, r.f1)
            print(f"  {METHODS[r.method]:50} {r.slices:6.1f}" + "".join("     –" if v is None else f"{v:6.2f}" for v in values))


if __name__ == "__main__":
    main()
