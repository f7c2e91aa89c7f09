"""Draws the demo of error slices: pictures, ground truth, the predictions of two made-up detectors, and what was planted.

`python assets/detections/make_detections.py` makes the pack again, to the byte, in a few minutes.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
# Script folder first: its modules use those of the demo cases, whose painter draws these pictures too.
sys.path[:0] = [str(HERE), str(HERE.parent / "cases")]

import detectors  # noqa: E402 (the script runs from anywhere)
import render  # noqa: E402
import scenes_city  # noqa: E402
import scenes_junction  # noqa: E402
import scenes_road  # noqa: E402
import stage  # noqa: E402
from PIL import Image  # noqa: E402
from witness import CLASSES, HEIGHT, WIDTH, Thing, Witness  # noqa: E402

SEED, STREETS = 7, 23
QUALITY = 72
NOTE = "Drawn by a program, synthetic: no camera, no detector and no person was involved."
DETECTORS = {"before": detectors.BEFORE, "after": detectors.AFTER}


def shots(streets: int = STREETS, seed: int = SEED, with_cases: bool = True) -> Iterator[tuple[str, str, Image.Image, list[Thing]]]:
    """All pictures: name, weather and light, picture, things.

    The front pictures of the demo cases are among them, named by their scenes, so that a slice leads to cases that can be driven.
    """
    view = render.View("front")
    for place in stage.places(seed, streets):
        witness = Witness(place.scene, place.base)
        for k, (scene, ahead) in enumerate(stage.frames(place)):
            picture, things = witness.frame(view, scene, ahead, place.scene.seed * 100 + k)
            yield f"{place.scene.id}-{k:02d}", scene.look, picture, things
    for module in (scenes_city, scenes_road, scenes_junction) if with_cases else ():
        for make in module.SCENES:
            scene = make()
            if scene.cameras:
                witness = Witness(replace(scene, seed=scene.seed), module.BASES[scene.id])
                picture, things = witness.frame(view, scene, 0.0, scene.seed)
                yield scene.id, scene.look, picture, things


def annotated(image_id: int, first: int, things: list[Thing]) -> list[dict[str, Any]]:
    """Ground truth of a picture; what is too small or too hidden for a box is an ignore region."""
    out = []
    for t in things:
        if t.cls < 0:
            continue
        x1, y1, x2, y2 = t.box
        out.append(
            {
                "id": first + len(out),
                "image_id": image_id,
                "category_id": t.cls + 1,
                "bbox": [x1, y1, x2 - x1, y2 - y1],
                "area": (x2 - x1) * (y2 - y1),
                "iscrowd": int(not t.clear),
                "attributes": {"covered": round(t.covered, 3), "cut": round(t.cut, 3), "metres": round(t.metres, 1)},
            }
        )
    return out


def make(folder: Path, streets: int = STREETS, seed: int = SEED, with_cases: bool = True) -> None:
    """Draw and write a pack into a folder."""
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in DETECTORS}
    struck: dict[str, dict[str, list[Any]]] = {name: {rule["id"]: [] for rule in detectors.RULES} for name in DETECTORS}
    for number, (name, look, picture, things) in enumerate(shots(streets, seed, with_cases), 1):
        picture.save(folder / "images" / f"{name}.jpg", "JPEG", quality=QUALITY, optimize=True)
        images.append({"id": number, "file_name": f"{name}.jpg", "width": WIDTH, "height": HEIGHT, "look": look})
        truth = annotated(number, len(annotations) + 1, things)
        annotations += truth
        at = dict(zip((i for i, t in enumerate(things) if t.cls >= 0), truth, strict=True))
        for model, detector in DETECTORS.items():
            said, why = detectors.detect(things, look, detector, [seed, number])
            results[model] += [{"image_id": number, "category_id": p["category"] + 1, "bbox": p["bbox"], "score": p["score"]} for p in said]
            for w in why:
                # Rules of missing and placing strike an annotation, rules of inventing strike a picture.
                missed = w["rule"] not in ("post", "lamp", "mirrored")
                struck[model][w["rule"]].append(at[w["thing"]]["id"] if missed else number)
    info = {"description": f"Demo of error slices. {NOTE}", "version": "1", "synthetic": True, "seed": seed, "licence": "CC0-1.0"}
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(CLASSES)]
    write(folder / "ground_truth.json", {"info": info, "images": images, "annotations": annotations, "categories": categories})
    for model, rows in results.items():
        write(folder / f"results_{model}.json", rows)
    write(folder / "planted.json", {"note": NOTE, "seed": seed, "base_miss": detectors.BASE_MISS, "rules": list(detectors.RULES),
                                    "detectors": {m: vars(d) for m, d in DETECTORS.items()}, "struck": struck})  # fmt: skip


def write(path: Path, data: Any) -> None:
    """A JSON file with the same bytes everywhere, a row a line where it is a list of many."""
    buffer = io.StringIO()
    json.dump(data, buffer, separators=(",", ":"), default=float)
    path.write_text(buffer.getvalue().replace("},{", "},\n{") + "\n", encoding="utf-8", newline="\n")


def main(folder: Path) -> None:
    """Make the pack in place of the one that was there."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as made_in:
        fresh = Path(made_in) / "pack"
        make(fresh)
        for made in sorted(fresh.iterdir()):
            old = folder / made.name
            if old.is_dir():
                shutil.rmtree(old)
            made.replace(old)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
