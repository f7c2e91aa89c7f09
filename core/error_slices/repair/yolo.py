"""The exported images as ultralytics reads them: pictures, label files, lists of hard images, a data file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np

from core.error_slices.detections import Image
from core.error_slices.repair.content import ImageTable, RepairInput

ON_IGNORE = "ignore regions, which label files have no line for"
NO_SIZE = "images of unknown size, which get no label file"
NO_AREA = "boxes without area inside their image"
SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"}


def picture_names(images: Sequence[Image]) -> list[str]:
    """A name below `images/` for each image: its own where that stays below the folder and no other has it, else a numbered one.

    Names are told apart without their endings, since label files have none of these.
    """
    out: list[str] = []
    stems: set[str] = set()

    def taken(name: str) -> bool:
        return name.rpartition(".")[0].casefold() in stems

    for i, x in enumerate(images):
        path = PurePosixPath(x.file_name.replace("\\", "/"))
        suffix = path.suffix.lower() if path.suffix.lower() in SUFFIXES else ".jpg"
        odd = path.is_absolute() or ".." in path.parts or not path.name or not str(path).isprintable()
        odd = odd or any(c in ':*?"<>|' for c in str(path))
        # "images" inside the path would be taken for the folder that labels lie beside
        odd = odd or "images" in path.parts or path.suffix.lower() not in SUFFIXES
        name, number = ("" if odd else str(path)), i + 1
        while not name or taken(name):
            name, number = f"image_{number:06d}{suffix}", number + len(images)
        stems.add(name.rpartition(".")[0].casefold())
        out.append(name)
    return out


def label_files(content: RepairInput, names: Sequence[str]) -> tuple[dict[str, str], dict[str, int]]:
    """A label file an image, empty where there is nothing to find; classes are numbered in the order of the set.

    Returns:
        Text by path below `labels/`, and how many of what is not in them.
    """
    d, left_out = content.detections, dict[str, int]()
    lines: dict[int, list[str]] = {i: [] for i in content.images.tolist()}
    for r in np.flatnonzero(np.isin(d.truth.image, content.images)).tolist():
        i = int(d.truth.image[r])
        x = d.images[i]
        if d.truth.ignore[r] or d.truth.cls[r] < 0:
            left_out[ON_IGNORE] = left_out.get(ON_IGNORE, 0) + 1
            continue
        if not (x.width and x.height):
            continue
        box = np.clip(d.truth.xyxy[r] / (x.width, x.height, x.width, x.height), 0, 1)
        wide, high = box[2] - box[0], box[3] - box[1]
        if wide <= 0 or high <= 0:
            left_out[NO_AREA] = left_out.get(NO_AREA, 0) + 1
            continue
        lines[i].append(f"{d.truth.cls[r]} {(box[0] + box[2]) / 2:.6f} {(box[1] + box[3]) / 2:.6f} {wide:.6f} {high:.6f}")
    out = {}
    for i, of in lines.items():
        if d.images[i].width and d.images[i].height:
            out[f"{names[i].rpartition('.')[0]}.txt"] = "".join(f"{line}\n" for line in of)
        else:
            left_out[NO_SIZE] = left_out.get(NO_SIZE, 0) + 1
    return out, left_out


def lists(content: RepairInput, t: ImageTable, names: Sequence[str]) -> dict[str, str]:
    """Lists of pictures for trainers that take them: all, those with a unit of a slice (highest score first), and all by weight.

    In the list by weight an image stands as often as its weight says, rounded, before weights are scaled: for trainers without a
    sampler. Paths begin at the folder of the list.
    """
    path = [f"./images/{names[i]}" for i in t.image.tolist()]
    often = [p for p, w in zip(path, t.raw.tolist(), strict=True) for _ in range(max(1, round(w)))]
    return {name: "".join(f"{p}\n" for p in of) for name, of in (
        ("train.txt", path), ("hard_samples.txt", [path[k] for k in t.hard.tolist()]), ("train_weighted.txt", often)
    )}  # fmt: skip


def data_yaml(content: RepairInput) -> str:
    """The data file: trains on the weighted list; what is validated on stays what it was."""
    names = "".join(f"  {i}: {json.dumps(c.name, ensure_ascii=False)}\n" for i, c in enumerate(content.detections.classes))
    return (
        "# Training images for repair. Add them to the images that the model was trained on; alone they would make it forget the rest.\n"
        "# train.txt lists each image once, hard_samples.txt those of a slice, train_weighted.txt each as often as its weight says.\n"
        "train: train_weighted.txt\n"
        "val:  # unchanged: enter what the model was validated on; nothing that verified the slices belongs into training\n"
        f"names:\n{names}"
    )
