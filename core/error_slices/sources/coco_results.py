"""Results of detectors as COCO json: a list of image_id, category_id, bbox, score and, for masks, segmentation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from core.error_slices.detections import ClassName
from core.error_slices.sources.coco_truth import box_from, categories_of, drawn
from core.error_slices.sources.json_files import key_of, number, short
from core.error_slices.sources.parsed import Parsed
from core.errors import InputError, Problem

LEAST_BOXES, MOST_SHARE, MOST_OF, HALF = 10, 2.0, 0.9, 0.5
"""How many boxes it takes to judge what their numbers are, the largest coordinate of shares, and how many must fit."""


def results_of(document: Any, path: Path) -> list[Any]:
    """The entries of a results file: a list, or the annotations of a file like the ground truth.

    Raises:
        InputError: It is neither.
    """
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        for key in ("annotations", "predictions", "results"):
            if isinstance(document.get(key), list):
                return list(document[key])
    raise InputError(f"{path.name}: results of a detector are a list of image_id, category_id, bbox and score.")


def first_number(value: int | str) -> int:
    """The number of the first class, from an option.

    Raises:
        InputError: It is neither 0 nor 1.
    """
    if str(value) not in {"0", "1"}:
        raise InputError("The first class has no such number.", [Problem(None, "first_class", str(value), "0, 1")])
    return int(value)


def _category(entry: dict[str, Any], first: int) -> str | None:
    """Id of the class of a prediction, counted from 0 where it counts from `first`."""
    key = key_of(entry.get("category_id"))
    return str(int(key) - first) if first and key is not None and key.isdigit() else key


def _predicted_classes(results: Iterable[Any], document: Any, path: Path, parsed: Parsed, names: list[str], first: int) -> dict[str, int]:
    """Finds what the predictions call their classes and returns the index of each id."""
    own: dict[str, str] = {str(i): n for i, n in enumerate(names)}
    if isinstance(document, dict) and not own:
        own = {c.id: c.name for c in categories_of(document, path, parsed.remarks, needed=False)}
    truth = {c.id: c.name for c in parsed.classes}
    used: dict[str, str] = {}
    for entry in results:
        if isinstance(entry, dict):
            key = _category(entry, first)
            if key is not None and key not in used:
                used[key] = str(entry.get("category_name") or "")
    named = bool(own) or any(used.values())
    parsed.by_id, parsed.complete = not named, bool(own)
    index: dict[str, int] = {}
    for key in [*own, *(k for k in used if k not in own)]:
        index[key] = len(index)
        parsed.predicted.append(ClassName(key, own.get(key) or used.get(key) or (truth.get(key, key) if not named else key)))
    return index


class ImageFinder:
    """Finds the image of a prediction: by its id; else by its file, which some detectors write instead of an id.

    Numbers of all predictions are either ids or files, whichever more of them are: one that is not among the ids may still be the file of
    quite another image. A file of predictions that lists images of its own may number them in its own way, so there the name of the file
    comes first.
    """

    def __init__(self, document: Any, results: Iterable[Any], parsed: Parsed, index: dict[str, int]) -> None:
        """Looks at the images of both files, and at what the predictions call them."""
        self._index, self._remarks = index, parsed.remarks
        self._files: dict[str, int] = {}
        for i, image in enumerate(parsed.images):
            name = image.file_name.replace("\\", "/")
            stem = name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
            number = {str(int(stem))} if stem.isdecimal() and stem.isascii() else set()  # some detectors write 139 for 000139.jpg
            for alias in ({name, name.rsplit("/", 1)[-1], stem} | number) - {""}:
                self._files[alias] = -1 if alias in self._files else i  # a name of two images names neither
        self._own: dict[str, int] = {}
        listed = document.get("images") if isinstance(document, dict) else None
        for entry in listed if isinstance(listed, list) else ():
            key: str | None = key_of(entry.get("id")) if isinstance(entry, dict) else None
            place = self._by_file(entry.get("file_name")) if key is not None else None
            if key is not None and place is not None:
                self._own[key] = place
                if index.get(key) != place:
                    parsed.remarks.count("images numbered otherwise in the file of predictions, found by their file")

        said = {k for r in results if isinstance(r, dict) and (k := key_of(r.get("image_id"))) is not None and k.isdecimal()}
        self._numbers_are_files = sum(self._by_file(k) is not None for k in said) > sum(k in index for k in said)

    def _by_file(self, value: Any) -> int | None:
        name = str(value or "").replace("\\", "/")
        place = self._files.get(name, self._files.get(name.rsplit("/", 1)[-1], -1))
        return None if place < 0 else place

    def find(self, value: Any) -> int | None:
        """Index of an image, None if it is not in the ground truth."""
        key = key_of(value)
        if key is None:
            return None
        if key in self._own:
            return self._own[key]
        number = key.isdecimal()
        if key in self._index and not (number and self._numbers_are_files):
            return self._index[key]
        place = self._by_file(key) if self._numbers_are_files or not number else None
        self._remarks.count("predictions whose image was found by its file", place is not None)
        return place


def read_results(
    document: Any, path: Path, parsed: Parsed, index: dict[str, int], *, masks: bool, names: list[str], first: int = 0
) -> None:
    """Adds the predictions of a results file.

    Args:
        document: Its value.
        path: The file.
        parsed: What is known of the ground truth.
        index: Index of each image by its id.
        masks: Whether masks are read.
        names: Names of the classes by number, empty to take the ids as those of the ground truth.
        first: Number of the first class in the file.

    Raises:
        InputError: It is no results file.
    """
    remarks, results = parsed.remarks, results_of(document, path)
    classes = _predicted_classes(results, document, path, parsed, names, first)
    unscored = bool(results) and not any(isinstance(r, dict) and "score" in r for r in results)
    if unscored:
        remarks.say(
            "no scores", f"{path.name}: no prediction has a score, so all are taken as certain (1.0); a confidence cut changes nothing."
        )
    finder = ImageFinder(document, results, parsed, index)
    unknown: dict[str, int] = {}
    for i, entry in enumerate(results):
        where = f"{path.name}, [{i}]"
        if not isinstance(entry, dict):
            remarks.tell("predictions left out: no object", f"{where}: {short(entry)} is no prediction; left out.")
            continue
        image = finder.find(entry.get("image_id"))
        if image is None:
            remarks.count("predictions left out: unknown image")
            key = short(entry.get("image_id"))
            unknown[key] = unknown.get(key, 0) + 1
            continue
        cls = classes.get(_category(entry, first) or "")
        if cls is None:
            remarks.tell("predictions left out: no category", f"{where}: category {short(entry.get('category_id'))} is no id; left out.")
            continue
        score = 1.0 if unscored else number(entry.get("score"))
        if not math.isfinite(score):
            remarks.tell("predictions left out: no usable score", f"{where}: score {short(entry.get('score'))} is no number; left out.")
            continue
        if not 0 <= score <= 1:
            remarks.tell(
                "predictions with a score outside 0 to 1", f"{where}: score {score:g}; kept, but the confidence cut expects 0 to 1."
            )
        size = (parsed.images[image].height, parsed.images[image].width)
        xyxy = box_from(entry, where, "predictions", size, remarks)
        if xyxy is None:
            continue
        segmentation = entry.get("segmentation")
        mask = drawn(segmentation, where, size, remarks) if masks and segmentation else None
        parsed.predictions.add(image, cls, xyxy, id=str(i), score=score, mask=mask)
    for key, n in unknown.items():
        remarks.say(
            "predictions left out: unknown image",
            f"{path.name}: image {key} is not in the ground truth; its {n:,} predictions are left out.",
        )
    if results and sum(unknown.values()) == len(results):
        remarks.say("other images", f"{path.name}: not one result is about an image of the ground truth; are both files of one data set?")
    _look_at_ids(parsed, path)
    _look_at_corners(parsed, path)


def _look_at_ids(parsed: Parsed, path: Path) -> None:
    """Says when the predictions seem to count their classes from 0 and the ground truth from 1."""
    mine, theirs = {c.id for c in parsed.predicted}, {c.id for c in parsed.classes}
    beyond = str(len(theirs))
    if parsed.by_id and "0" in theirs and "0" not in mine and beyond in mine and beyond not in theirs:
        parsed.remarks.say(
            "categories count from another number",
            f"{path.name}: category {beyond} occurs here and 0 does not, but the ground truth counts from 0. If the detector counts its "
            "classes from 1, all of them are off by one: say first_class=1.",
        )
    if parsed.by_id and "0" in mine and "0" not in theirs and "1" in theirs:
        parsed.remarks.say(
            "categories count from another number",
            f"{path.name}: category 0 occurs here, but the ground truth counts from 1. If the detector counts its classes from 0, all of "
            "them are off by one or more: give the names of its classes.",
        )


def _look_at_corners(parsed: Parsed, path: Path) -> None:
    """Says when boxes seem to be shares of the image, or left, top, right and bottom, where left, top, width and height are meant."""
    boxes = np.asarray(parsed.predictions.xyxy, np.float64).reshape(-1, 4)
    size = np.array([(i.width, i.height) for i in parsed.images], np.float64)[parsed.predictions.image]
    known = (size > 0).all(1)
    boxes, size = boxes[known], size[known]
    if len(boxes) < LEAST_BOXES:
        return
    start, sides = boxes[:, :2], boxes[:, 2:] - boxes[:, :2]
    if boxes.max() <= MOST_SHARE:
        said = "no box reaches beyond the first pixel or two: the boxes seem to be shares of the image and not pixels"
    elif ((sides > start) & (sides <= size + 1)).all(1).mean() > MOST_OF and (boxes[:, 2:] > size + 1).any(1).mean() > HALF:
        said = "most boxes reach over the border: they seem to be left, top, right and bottom, where left, top, width and height are meant"
    else:
        return
    parsed.remarks.say("boxes of another kind", f"{path.name}: {said}. They are read as they stand.")
