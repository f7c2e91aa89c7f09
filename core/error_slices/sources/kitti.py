"""KITTI: label_2 files of 15 columns, and results with a score as the 16th (readme of the KITTI object development kit)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.error_slices.detections import ClassName
from core.error_slices.sources.image_files import ImageFolder
from core.error_slices.sources.json_files import in_reach, number, short
from core.error_slices.sources.parsed import NAN, Parsed, ParsedBoxes, ParsedImage, Remarks, Xyxy
from core.error_slices.sources.text_boxes import Places, lines_of, settle_scores, text_files
from core.errors import InputError, Problem

DONT_CARE = "dontcare"
KNOWN = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc")
"""Types of the benchmark, in its order."""
NEIGHBOURS: Mapping[str, str] = {"Van": "Car", "Person_sitting": "Pedestrian"}
"""Types that are too like another to be held against a detector of the other."""


@dataclass(frozen=True)
class Difficulty:
    """What counts at a level of the benchmark.

    Attributes:
        height: Least height of a box, px.
        occluded: Most occlusion.
        truncated: Most truncation.
    """

    height: float
    occluded: float
    truncated: float


DIFFICULTIES: Mapping[str, Difficulty] = {
    "easy": Difficulty(40, 0, 0.15),
    "moderate": Difficulty(25, 1, 0.30),
    "hard": Difficulty(25, 2, 0.50),
}


@dataclass(frozen=True)
class Row:
    """The object of a line: its type, box (px), truncation and occlusion (NaN where not told), score (NaN likewise).

    `unknown` says that its occlusion is marked as unknown (3), which no level of the benchmark takes.
    """

    type: str
    xyxy: Xyxy
    truncated: float
    occluded: float
    score: float
    unknown: bool = False


def parse_row(words: list[str]) -> Row | str:
    """The object of a line, or what is wrong with it."""
    if len(words) not in {15, 16}:
        hint = " (the tracking benchmark has 17 or 18, with frame and track first, and is not read)" if len(words) in {17, 18} else ""
        return f"{len(words)} columns; labels have 15, results 16{hint}"
    if math.isfinite(number(words[0])):
        return f'the first column is the type of the object, not the number "{words[0]}"'
    values = [number(w) for w in words[1:]]
    box = values[3:7]
    if not in_reach(*box):
        return "not all of left, top, right and bottom are finite numbers of pixels"
    if box[2] < box[0] or box[3] < box[1]:
        return "right is left of left, or bottom above top"
    truncated, occluded = values[0], values[1]
    return Row(
        words[0],
        (box[0], box[1], box[2], box[3]),
        truncated if 0 <= truncated <= 1 else NAN,
        occluded if occluded in {0, 1, 2} else NAN,
        values[14] if len(words) == 16 else NAN,
        occluded == 3,
    )


def _outside(row: Row, level: Difficulty) -> bool:
    """Whether an object is too small, too occluded or too truncated for a level."""
    return row.xyxy[3] - row.xyxy[1] < level.height or row.occluded > level.occluded or row.truncated > level.truncated or row.unknown


def _rows(folder: Path, parsed: Parsed, places: Places, what: str) -> list[tuple[int, Row]]:
    remarks, out = parsed.remarks, []
    files = text_files(folder, what)
    for key, path in files.items():
        image = places.find(key)
        found: list[Row] = []
        for i, words in lines_of(path, remarks, what):
            row = parse_row(words)
            if isinstance(row, str):
                remarks.tell(f"lines of {what} left out", f"{path.name}, line {i}: {row}; left out.")
            else:
                found.append(row)
        if image is None:
            remarks.tell(
                f"files of {what} for unknown images",
                f"{path.name}: {places.why_not(key)}; its {len(found):,} objects are left out.",
            )
            remarks.count(f"{what} left out: unknown image", len(found))
            continue
        out += [(image, row) for row in found]
    return out


def _images(truth: Path, folder: ImageFolder | None, remarks: Remarks) -> list[ParsedImage]:
    """One image a label file; those of the folder without one are told."""
    names = {} if folder is None else {p.relative_to(folder.root).with_suffix("").as_posix(): p for p in folder.paths}
    by_stem = {p.stem: p for p in names.values()}
    images, taken = [], set()
    for key in text_files(truth, "ground truth"):
        path = names.get(key) or by_stem.get(key.rsplit("/", 1)[-1])
        inside = f"{key}.png" if path is None or folder is None else path.relative_to(folder.root).as_posix()
        taken.add(inside)
        images.append(ParsedImage(key, inside))
    if not images:
        raise InputError(f"{truth.name}: this folder has no label file.")
    if folder is not None and (more := len(folder.paths) - len(taken & {p.relative_to(folder.root).as_posix() for p in folder.paths})):
        remarks.count("images left out: no label file", more)
    return images


def _index(word: str, classes: list[ClassName], index: dict[str, int]) -> int:
    key = word.casefold()
    if key not in index:
        index[key] = len(classes)
        classes.append(ClassName(word, word))
    return index[key]


def parse(
    truth: Path,
    predictions: Path | None,
    images: Path | None = None,
    *,
    difficulty: str = "",
    neighbours: str = "no",
    **_: Any,
) -> Parsed:
    """Takes labels and results of KITTI's object benchmark.

    Args:
        truth: Folder of label files (label_2).
        predictions: Folder of result files, None for none.
        images: Folder of the images (image_2); sizes are not known without it.
        difficulty: "easy", "moderate" or "hard": objects outside it become ignore regions; "" takes all.
        neighbours: "yes" makes a Van an ignore region of Car, and Person_sitting one of Pedestrian, as the benchmark does.

    Raises:
        InputError: A folder is missing or empty, or an option has no such value.
    """
    problems = [
        Problem(None, name, got, ", ".join(allowed))
        for name, got, allowed in (("difficulty", difficulty, ("", *DIFFICULTIES)), ("neighbours", neighbours, ("yes", "no")))
        if got not in allowed
    ]
    if problems:
        raise InputError("Options of KITTI have values that are not known.", problems)
    folder = None if images is None else ImageFolder(images)
    remarks = Remarks()
    parsed = Parsed("kitti", [truth.name], "detection", [], [], _images(truth, folder, remarks), remarks=remarks, dataset="")
    places = Places(parsed.images)
    rows = _rows(truth, parsed, places, "ground truth")
    index: dict[str, int] = {}
    seen = {row.type.casefold() for _, row in rows}
    for name in KNOWN:
        if name.casefold() in seen:
            _index(name, parsed.classes, index)
    if neighbours == "yes":
        for target in NEIGHBOURS.values():
            _index(target, parsed.classes, index)
    ignore_neighbours = {k.casefold(): v for k, v in NEIGHBOURS.items()} if neighbours == "yes" else {}
    for image, row in rows:
        _add_truth(image, row, parsed, index, DIFFICULTIES.get(difficulty), ignore_neighbours)
    if predictions is not None:
        _add_predictions(predictions, parsed, places)
    return parsed


def _add_truth(
    image: int,
    row: Row,
    parsed: Parsed,
    index: dict[str, int],
    level: Difficulty | None,
    neighbours: Mapping[str, str],
) -> None:
    key = row.type.casefold()
    boxes, remarks = parsed.truth, parsed.remarks
    if key == DONT_CARE:
        remarks.count("DontCare regions")
        boxes.add(image, -1, row.xyxy, ignore=True)
        return
    ignored = False
    if key in neighbours:
        remarks.count(f"{row.type} taken as an ignore region of {neighbours[key]}")
        key, ignored = neighbours[key].casefold(), True
    elif level is not None and _outside(row, level):
        remarks.count("objects outside the difficulty, taken as ignore regions")
        ignored = True
    cls = index[key] if key in index else _index(row.type, parsed.classes, index)
    boxes.add(image, cls, row.xyxy, ignore=ignored, truncated=row.truncated, occluded=row.occluded)


def _add_predictions(folder: Path, parsed: Parsed, places: Places) -> None:
    index: dict[str, int] = {}
    boxes: ParsedBoxes = parsed.predictions
    for image, row in _rows(folder, parsed, places, "predictions"):
        if row.type.casefold() == DONT_CARE:
            parsed.remarks.count("predictions left out: DontCare is no object")
            continue
        if not math.isnan(row.score) and not 0 <= row.score <= 1:
            parsed.remarks.tell(
                "predictions with a score outside 0 to 1",
                f"image {parsed.images[image].id}: score {short(f'{row.score:g}')}; kept, but the confidence cut expects 0 to 1.",
            )
        boxes.add(image, _index(row.type, parsed.predicted, index), row.xyxy, score=row.score)
    settle_scores(boxes, parsed, folder.name)
    parsed.files.append(folder.name)


def looks_like(folder: Path) -> bool:
    """Whether a folder holds label files of KITTI: the first line that is not blank is an object."""
    for path in sorted(folder.rglob("*.txt"))[:200]:
        try:
            with path.open(encoding="utf-8") as f:
                words = next((w for w in (line.split() for line in f) if w), None)
        except (OSError, ValueError):
            continue
        if words:
            return isinstance(parse_row(words), Row)
    return False
