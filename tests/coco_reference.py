"""Detection sets from COCO documents in memory, what pycocotools says of them, and random ones that hold every trap."""

from __future__ import annotations

import contextlib
import copy
import io
from pathlib import Path
from typing import Any

import numpy as np

from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image, Rle

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def set_of(truth: dict[str, Any], results: list[dict[str, Any]], task: str = "detection") -> DetectionSet:
    """A detection set from a COCO ground truth and results, both as JSON values; masks as compressed run lengths."""
    images = {i["id"]: k for k, i in enumerate(truth["images"])}
    classes = {c["id"]: k for k, c in enumerate(truth["categories"])}

    def boxes(rows: list[dict[str, Any]], **more: Any) -> Boxes:
        xyxy = np.array([r["bbox"] for r in rows], np.float64).reshape(-1, 4)
        xyxy[:, 2:] += xyxy[:, :2]
        masks = tuple(Rle(tuple(r["segmentation"]["size"]), r["segmentation"]["counts"]) for r in rows) if task == "segmentation" else None
        return Boxes.of([images[r["image_id"]] for r in rows], [classes[r["category_id"]] for r in rows], xyxy, masks=masks, **more)

    annotations = truth["annotations"]
    return DetectionSet(
        "made",
        "model",
        task,  # type: ignore[arg-type]
        tuple(ClassName(str(c["id"]), c["name"]) for c in truth["categories"]),
        tuple(Image(str(i["id"]), f"{i['id']}.jpg", i["width"], i["height"]) for i in truth["images"]),
        boxes(annotations, ids=[a["id"] for a in annotations], ignore=[bool(a["iscrowd"]) for a in annotations]),
        boxes(results, score=[r["score"] for r in results]),
    )


def evaluate(truth: dict[str, Any], results: list[dict[str, Any]], kind: str = "bbox") -> Any:
    """A finished COCOeval."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {"info": {}, **copy.deepcopy(truth)}
        coco.createIndex()
        out = COCOeval(coco, coco.loadRes(copy.deepcopy(results)), kind)
        out.evaluate()
        out.accumulate()
        out.summarize()
    return out


def labels(evaluated: Any, iou: int = 0) -> dict[int, str]:
    """TP, FP or IGN of each prediction that pycocotools counted, by its place in the results."""
    out = {}
    for one in evaluated.evalImgs:
        if one is not None and one["aRng"] == evaluated.params.areaRng[0]:
            for d, match, ignored in zip(one["dtIds"], one["dtMatches"][iou], one["dtIgnore"][iou], strict=True):
                out[d - 1] = "IGN" if ignored else ("TP" if match else "FP")
    return out


def random_documents(
    rng: np.random.Generator, images: int = 6, classes: int = 3, most: int = 8, *, masks: bool = False
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Ground truth with crowds, and predictions with equal confidences, copies, shifted and zero-area boxes."""
    truth: dict[str, Any] = {
        "images": [{"id": 10 * (i + 1), "width": 64, "height": 48} for i in rng.permutation(images).tolist()],
        "categories": [{"id": 5 + 2 * k, "name": f"class {k}"} for k in range(classes)],
        "annotations": [],
    }
    results = []
    for image in truth["images"]:
        for _ in range(rng.integers(0, most)):
            box = [int(v) for v in (*rng.integers(0, 40, 2), *rng.integers(0, 25, 2))]
            category = 5 + 2 * int(rng.integers(classes))
            crowd = int(rng.random() < 0.2)
            number = len(truth["annotations"]) + 1
            truth["annotations"].append(
                {"id": number, "image_id": image["id"], "category_id": category, "bbox": box, "iscrowd": crowd, "area": box[2] * box[3]}
            )
            for _ in range(rng.integers(0, 4)):
                moved = [v + int(d) for v, d in zip(box, rng.integers(-3, 4, 4) * int(rng.integers(0, 3)), strict=True)]
                moved[2:] = [max(0, v) for v in moved[2:]]
                wrong = 5 + 2 * int(rng.integers(classes)) if rng.random() < 0.3 else category
                score = float(rng.integers(1, 10)) / 10
                results.append({"image_id": image["id"], "category_id": wrong, "bbox": moved, "score": score})
    if masks:
        for row in (*truth["annotations"], *results):
            row["segmentation"] = random_mask(rng, row["bbox"])
    return truth, results


def random_mask(rng: np.random.Generator, box: list[int]) -> dict[str, Any]:
    """A mask that fills most of a box on an image of 64 × 48 px, as compressed run lengths."""
    from pycocotools import mask as coco

    pixels = np.zeros((48, 64), np.uint8, order="F")
    x, y, w, h = box
    part = pixels[max(y, 0) : y + h, max(x, 0) : x + w]
    part[:] = rng.random(part.shape) < 0.9
    said: dict[str, Any] = coco.encode(pixels)
    return said
