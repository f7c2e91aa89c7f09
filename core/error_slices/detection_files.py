"""A set of detections in a folder: images, ground truth and predictions as Parquet, and a manifest that names them by hash.

Pictures stay where they are unless they are copied into the folder; `images.parquet` says where each one lies.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from core.digest import sha256_bytes, sha256_json
from core.error_slices.detections import Boxes, Classified, ClassName, DetectionSet, Image, Rle, SourceReport
from core.errors import InputError
from core.storage.places import read_root, written_place

MANIFEST, IMAGES, TRUTH, PREDICTIONS, CLASSIFIED = (
    "manifest.json",
    "images.parquet",
    "ground_truth.parquet",
    "predictions.parquet",
    "classified.parquet",
)
PICTURES = "images"
"""Folder of pictures that were copied into a set."""
VERSION = 1
_FACTS = ("name", "model", "task", "dataset", "licence", "synthetic", "paired", "classes", "report")


@dataclass(frozen=True)
class Digests:
    """What names the content of a set.

    Attributes:
        digest: Of everything in it.
        truth_digest: Of images, classes and ground truth alone: two models on the same units share it.
    """

    digest: str
    truth_digest: str


@dataclass(frozen=True)
class WrittenDetections(Digests):
    """A set that lies in a folder.

    Attributes:
        folder: Where.
    """

    folder: Path


def write_detections(folder: Path, content: DetectionSet, *, copy_images: bool = False) -> WrittenDetections:
    """Write a set; the folder is there whole or not at all.

    Args:
        folder: Where; must not exist, or be empty.
        content: The set.
        copy_images: Copy the pictures into the folder, for those that lie in a place that will go away.

    Raises:
        InputError: The folder holds something already, there is no image, or a picture cannot be copied.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f'The folder "{folder}" is not empty; name a new one.')
    if not content.images:
        raise InputError("There is not a single image in these detections, so there is nothing to evaluate.")
    part = folder.parent / f".{uuid4().hex}.part"
    part.mkdir(parents=True)
    try:
        paths = _copied(part, content.images) if copy_images else {i: written_place(x.path) for i, x in enumerate(content.images) if x.path}
        truth = _parts_of_truth(content, paths)
        files = truth | _parts_of_predictions(content)
        for name, data in files.items():
            (part / name).write_bytes(data)
        digests = digests_of(content)
        manifest = {
            "version": VERSION,
            "name": content.name,
            "model": content.model,
            "task": content.task,
            "dataset": content.dataset,
            "licence": content.licence,
            "synthetic": content.synthetic,
            "paired": content.paired,
            "classes": [[c.id, c.name] for c in content.classes],
            "report": content.report.to_json(),
            "files": {name: sha256_bytes(data) for name, data in files.items()},
            "digest": digests.digest,
            "truth_digest": digests.truth_digest,
        }
        manifest["sha256"] = sha256_json(manifest)
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        read_detections(part)  # what could not be opened again must not be there
        if folder.exists():
            folder.rmdir()
        os.replace(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return WrittenDetections(digests.digest, digests.truth_digest, folder)


def digest_in(folder: Path) -> str:
    """The digest that a set was written with, whatever goes into digests today.

    Raises:
        InputError: There is no manifest, or it was changed.
    """
    return str(_manifest(folder)["digest"])


def read_detections(folder: Path) -> DetectionSet:
    """Open a set.

    Raises:
        InputError: A file is missing, broken, or not the one that the manifest names.
    """
    manifest = _manifest(folder)
    read = {name: _checked(folder / name, sha) for name, sha in manifest["files"].items()}
    images = tuple(_image(folder, row) for row in _rows(read[IMAGES]))
    classified = None
    if CLASSIFIED in read:
        t = _table(read[CLASSIFIED])
        classified = Classified(_ints(t, "image"), _ints(t, "label"), _ints(t, "prediction"), tuple(t["group"].to_pylist()))
    return DetectionSet(
        name=manifest["name"],
        model=manifest["model"],
        task=manifest["task"],
        classes=tuple(ClassName(*c) for c in manifest["classes"]),
        images=images,
        truth=_boxes(read[TRUTH]),
        predictions=_boxes(read[PREDICTIONS]),
        classified=classified,
        report=SourceReport.from_json(manifest["report"]),
        dataset=manifest["dataset"],
        licence=manifest["licence"],
        synthetic=manifest["synthetic"],
        paired=manifest["paired"],
    )


def digests_of(content: DetectionSet) -> Digests:
    """What names a set: of what its units are made of, not of where its pictures lie today."""
    facts = [[x.id, x.file_name, x.width, x.height, x.split, x.sha256] for x in content.images]
    k = content.classified
    labels = None if k is None else [k.image.tolist(), k.label.tolist(), k.group]
    kept = content.truth if content.task == "detection" else None  # masks that wait for a segmenter are no part of its units
    truth = _digest(content.truth if kept is None else replace(kept, masks=None))
    truth_digest = sha256_json([facts, [[c.id, c.name] for c in content.classes], truth, labels, content.task])
    said = None if k is None else k.prediction.tolist()
    waiting = [] if kept is None or kept.masks is None else [_digest(kept)]
    return Digests(sha256_json([truth_digest, _digest(content.predictions), said, content.model, content.paired, *waiting]), truth_digest)


def _digest(b: Boxes) -> str:
    """Of what boxes say, whatever the version of the library that writes them."""
    whole, real = np.int64, np.float64  # as they are read back
    numbers = [x.astype(whole) for x in (b.image, b.cls)] + [x.astype(real) for x in (b.xyxy, b.score)] + [b.ignore.astype(bool)]
    numbers += [x.astype(real) for x in (b.area, b.truncated, b.occluded)]
    masks = None if b.masks is None else [None if m is None else [*m.size, sha256_bytes(m.counts)] for m in b.masks]
    return sha256_json([b.ids, [sha256_bytes(np.ascontiguousarray(x).tobytes()) for x in numbers], masks, b.slices])


def _parts_of_truth(content: DetectionSet, paths: Mapping[int, str]) -> dict[str, bytes]:
    import pyarrow as pa

    images = pa.table(
        {
            "id": [x.id for x in content.images],
            "file_name": [x.file_name for x in content.images],
            "width": [x.width for x in content.images],
            "height": [x.height for x in content.images],
            "path": [paths.get(i, "") for i in range(len(content.images))],
            "split": [x.split for x in content.images],
            "sha256": [x.sha256 for x in content.images],
        }
    )
    return {IMAGES: _parquet(images), TRUTH: _parquet(_box_table(content.truth))}


def _parts_of_predictions(content: DetectionSet) -> dict[str, bytes]:
    import pyarrow as pa

    out = {PREDICTIONS: _parquet(_box_table(content.predictions))}
    if (k := content.classified) is not None:
        columns = {"image": k.image, "label": k.label, "prediction": k.prediction, "group": pa.array(k.group, pa.string())}
        out[CLASSIFIED] = _parquet(pa.table(columns))
    return out


def _box_table(b: Boxes) -> Any:
    import pyarrow as pa

    columns: dict[str, Any] = {"id": pa.array(b.ids, pa.string()), "image": b.image, "class": b.cls}
    columns |= {name: b.xyxy[:, k] for k, name in enumerate(("x1", "y1", "x2", "y2"))}
    columns |= {
        "score": b.score,
        "ignore": b.ignore,
        "area": b.area,
        "truncated": b.truncated,
        "occluded": b.occluded,
    }
    if b.masks is not None:
        columns["mask_height"] = pa.array([None if m is None else m.size[0] for m in b.masks], pa.int32())
        columns["mask_width"] = pa.array([None if m is None else m.size[1] for m in b.masks], pa.int32())
        columns["mask_counts"] = pa.array([None if m is None else m.counts for m in b.masks], pa.binary())
    if b.slices is not None:
        columns["slice"] = pa.array(b.slices, pa.string())
    return pa.table(columns)


def _boxes(data: bytes) -> Boxes:
    t = _table(data)
    masks = None
    if "mask_counts" in t.column_names:
        parts = zip(*(t[f"mask_{k}"].to_pylist() for k in ("height", "width", "counts")), strict=True)
        masks = tuple(None if counts is None else Rle((h, w), counts) for h, w, counts in parts)
    return Boxes(
        ids=tuple(t["id"].to_pylist()),
        image=_ints(t, "image"),
        cls=_ints(t, "class"),
        xyxy=np.stack([_floats(t, k) for k in ("x1", "y1", "x2", "y2")], axis=1),
        score=_floats(t, "score"),
        ignore=t["ignore"].to_numpy().astype(bool),
        area=_floats(t, "area"),
        truncated=_floats(t, "truncated"),
        occluded=_floats(t, "occluded"),
        masks=masks,
        slices=tuple(t["slice"].to_pylist()) if "slice" in t.column_names else None,
    )


def _image(folder: Path, row: Mapping[str, Any]) -> Image:
    place = read_root(row["path"])
    path = place if place is None or place.is_absolute() else folder / place
    there = path if path is not None and path.is_file() else None
    return Image(row["id"], row["file_name"], row["width"], row["height"], there, row["split"], row["sha256"])


def _copied(part: Path, images: Iterable[Image]) -> dict[int, str]:
    """Copies pictures under their hashes; their places relative to the folder, by number."""
    out = {}
    (part / PICTURES).mkdir()
    for i, image in enumerate(images):
        if image.path is None:
            continue
        try:
            data = image.path.read_bytes()
            place = f"{PICTURES}/{sha256_bytes(data)}{image.path.suffix.lower()[:8]}"
            (part / place).write_bytes(data)
        except OSError as e:
            raise InputError(f'The image "{image.file_name}" cannot be copied: {e.strerror or e}.') from e
        out[i] = place
    return out


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if manifest["version"] != VERSION:
            raise InputError(f'"{path}" is of version {manifest["version"]}; this program reads version {VERSION}.')
        if not {IMAGES, TRUTH, PREDICTIONS} <= set(manifest["files"]) or not {*_FACTS, "digest"} <= set(manifest):
            raise KeyError("files")
        if manifest.get("sha256") not in (None, sha256_json({k: v for k, v in manifest.items() if k != "sha256"})):
            raise InputError(f'"{path}" was changed since it was written. Import the detections again.')
    except OSError as e:
        raise InputError(f'"{path}" cannot be read: {e.strerror or e}.') from e
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise InputError(f'"{path}" is not the manifest of a set of detections.') from e
    return manifest


def _checked(path: Path, sha: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as e:
        raise InputError(f'"{path}" cannot be read: {e.strerror or e}.') from e
    if sha256_bytes(data) != sha:
        raise InputError(f'"{path}" is not the file that the manifest names; it was changed. Import the detections again.')
    return data


def _parquet(table: Any) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def _table(data: bytes) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(data))


def _rows(data: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _table(data).to_pylist()
    return rows


def _ints(table: Any, name: str) -> Any:
    return table[name].to_numpy().astype(np.int64)


def _floats(table: Any, name: str) -> Any:
    return table[name].to_numpy().astype(np.float64)
