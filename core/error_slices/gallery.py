"""The crops that show what is in a slice: which come first, what they are called, and their pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from zlib import crc32

import numpy as np

from core.error_slices.detections import BoolArray, FloatArray, IntArray
from core.error_slices.units import Kind, Population, Units

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

Tab = Literal["top", "around", "counter", "misses", "mixed"]
TABS: Mapping[Tab, tuple[str, str]] = {
    "top": ("Top", "in the slice, highest scores first"),
    "around": ("Around γ", "all scored units, those nearest to γ first: where the slice ends"),
    "counter": ("Counter-examples", "in the slice and yet without the error, highest scores first"),
    "misses": ("Outside, with the error", "errors that this slice does not explain, lowest scores first"),
    "mixed": ("Mixed", "in the slice, in a random order that stays: what its precision should be judged on"),
}
"""Name and order of each tab."""
LONGEST = 320
"""Longest side of a crop, px."""
RATIO = 4 / 3
"""Width of a crop through its height."""
_ROOM = 2.4
"""Width of a crop through that of its box."""
_LEAST = 96.0
"""Least width of a crop, px of the image, so that a small box has its surroundings."""


@dataclass(frozen=True)
class Mark:
    """How the outcome of a unit is drawn; letter and colour both tell it, so that neither has to.

    Attributes:
        letter: On the box.
        name: In a caption.
        tone: Name of the colour.
    """

    letter: str
    name: str
    tone: Literal["missed", "false", "placed", "right"]


MARKS: Mapping[Kind, Mark] = {
    "TP": Mark("T", "right", "right"),
    "FN": Mark("M", "missed", "missed"),
    "FP_BKG": Mark("B", "false: background", "false"),
    "FP_CLS": Mark("C", "false: wrong class", "false"),
    "FP_DUP": Mark("D", "false: duplicate", "false"),
    "FP_BOTH": Mark("X", "false: wrong class and place", "false"),
    "LOC": Mark("L", "badly placed", "placed"),
}
"""Marks of boxes; whole images and masks have theirs from their loss."""


def is_error(loss: FloatArray) -> BoolArray:
    """Which losses count as errors: 1 of 0 and 1, and those above a half where the loss is continuous."""
    return loss > 0.5


def order(tab: Tab, population: Population, ids: Sequence[str], c: FloatArray, logit: FloatArray, gamma: float) -> IntArray:
    """Positions in a population in the order of a tab; units without a score are in none.

    Equal scores come in an order that does not follow the file, and is the same each time.

    Args:
        tab: Which tab.
        population: m units.
        ids: Ids of all units.
        c: Shape (m,): matching scores.
        logit: Shape (m,): their logits.
        gamma: What lies above it is in the slice.
    """
    scored = np.isfinite(c) & np.isfinite(logit)
    inside, wrong = scored & (c > gamma), is_error(population.loss)
    keep = {"top": inside, "around": scored, "counter": inside & ~wrong, "misses": scored & ~inside & wrong, "mixed": inside}[tab]
    at = np.flatnonzero(keep)
    salt = np.array([crc32(ids[u].encode()) for u in population.units[at].tolist()], np.int64)
    if tab == "mixed":
        return at[np.argsort(salt, kind="stable")]
    by = logit[at]
    if tab == "around":
        by = np.abs(by - np.log(gamma / (1 - gamma))) if 0 < gamma < 1 else np.abs(c[at] - gamma)
    elif tab != "misses":
        by = -by
    return at[np.lexsort((salt, by))]


def mark_of(kind: str, loss: float) -> Mark:
    """How a unit is drawn."""
    if kind in MARKS:
        return MARKS[cast(Kind, kind)]
    whole = kind == "IMAGE"
    if loss > 0.5:
        return Mark("I" if whole else "S", "image more wrong than right" if whole else "mask misses", "missed")
    return Mark("T", "image more right than wrong" if whole else "mask fits", "right")


def outcome(units: Units, unit: int, loss: float) -> str:
    """What became of a unit, in words, with the numbers behind it."""
    kind, iou, score = str(units.kind[unit]), float(units.iou[unit]), float(units.score[unit])
    confident = "" if np.isnan(score) else f", confidence {score:.2f}"
    if kind == "FN":
        explained = {
            "cls": "a prediction of another class lies there",
            "loc": "a prediction lies there, badly placed",
            "both": "a prediction of another class lies near, badly placed",
        }.get(str(units.fn_cause[unit]), "no prediction explains it")
        return f"missed; {explained}" + ("" if np.isnan(iou) else f", best IoU {iou:.2f}")
    if kind in ("IMAGE", "SEG"):
        return f"{mark_of(kind, loss).name}, loss {loss:.2f}"
    if kind == "TP":
        return f"{'found' if units.side[unit] == 'gt' else 'right'}, IoU {iou:.2f}{confident}"
    ref = int(units.ref[unit])
    really = f", there is {_article(_class(units, ref))}" if kind == "FP_CLS" and ref >= 0 else ""
    return f"{mark_of(kind, loss).name}{really}{confident}" + ("" if np.isnan(iou) or kind == "FP_BKG" else f", IoU {iou:.2f}")


def caption(units: Units, unit: int, loss: float, c: float) -> dict[str, Any]:
    """What stands under a crop, as JSON values."""
    x1, y1, x2, y2 = units.xyxy[unit].tolist()
    m = mark_of(str(units.kind[unit]), loss)
    return {
        "cls": _class(units, unit),
        "size": f"{x2 - x1:.0f} × {y2 - y1:.0f} px",
        "c": f"{c:.2f}",
        "outcome": outcome(units, unit, loss),
        "letter": m.letter,
        "tone": m.tone,
    }


def boxes_of(units: Units, image: int) -> list[dict[str, Any]]:
    """The boxes of an image with what became of them: ground truth, predictions above the cut, and regions to be ignored."""
    out: list[dict[str, Any]] = []
    for u in np.flatnonzero((units.image == image) & ((units.side == "gt") | (units.side == "pred"))).tolist():
        m = mark_of(str(units.kind[u]), 0.0)
        score = float(units.score[u])
        out.append(
            {
                "id": units.ids[u],
                "side": str(units.side[u]),
                "box": _rounded(units.xyxy[u]),
                "cls": _class(units, u),
                "letter": m.letter,
                "tone": m.tone,
                "score": None if np.isnan(score) else round(score, 3),
            }
        )
    truth = units.detections.truth
    for row in np.flatnonzero((truth.image == image) & truth.ignore).tolist():
        cls = int(truth.cls[row])
        name = units.detections.classes[cls].name if cls >= 0 else "any class"
        out.append(
            {"id": "", "side": "ignore", "box": _rounded(truth.xyxy[row]), "cls": name, "letter": "", "tone": "right", "score": None}
        )
    return out


def crop_rect(xyxy: Sequence[float], width: int, height: int, whole: bool = False) -> tuple[int, int, int, int]:
    """The part of an image that a crop shows: its box with surroundings, inside the image where that is large enough.

    Args:
        xyxy: Box, px; it may stick out of the image.
        width: Of the image, px.
        height: Of the image, px.
        whole: Show the whole image.
    """
    if whole:
        return 0, 0, max(width, 1), max(height, 1)
    x1, y1 = min(max(xyxy[0], 0), width), min(max(xyxy[1], 0), height)
    x2, y2 = min(max(xyxy[2], 0), width), min(max(xyxy[3], 0), height)
    w = max((x2 - x1) * _ROOM, (y2 - y1) * _ROOM * RATIO, _LEAST)
    w, h = min(w, width), min(w / RATIO, height)
    left = min(max((x1 + x2 - w) / 2, 0), width - w)
    top = min(max((y1 + y2 - h) / 2, 0), height - h)
    x0, y0 = int(left), int(top)
    return x0, y0, max(x0 + 1, min(width, int(np.ceil(left + w)))), max(y0 + 1, min(height, int(np.ceil(top + h))))


def open_picture(path: Path) -> Picture:
    """The pixels of an image as RGB; of 16 bits the upper eight.

    Raises:
        OSError: It cannot be read as an image.
    """
    from PIL import Image

    try:
        with Image.open(path) as opened:
            opened.load()
            if opened.mode.startswith("I"):
                pixels = np.asarray(opened).astype(np.float64)
                return Image.fromarray((pixels / (256 if pixels.max(initial=0) > 255 else 1)).clip(0, 255).astype(np.uint8)).convert("RGB")
            return opened.convert("RGB")
    except (ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as e:  # what Pillow raises for broken files beside OSError
        raise OSError(f"{path.name} cannot be read as an image: {e}") from e


def crop_jpeg(picture: Picture, rect: tuple[int, int, int, int], longest: int = LONGEST) -> bytes:
    """A part of an image as JPEG, its longest side at most `longest` px; never enlarged, which the browser does as well."""
    from PIL import Image

    part = picture.crop(rect)
    scale = min(1.0, longest / max(part.size))
    if scale < 1:
        size = (max(1, round(part.width * scale)), max(1, round(part.height * scale)))
        part = part.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    out = BytesIO()
    part.save(out, "JPEG", quality=88)
    return out.getvalue()


def _class(units: Units, unit: int) -> str:
    cls = int(units.cls[unit])
    return units.detections.classes[cls].name if cls >= 0 else "whole image"


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _rounded(box: FloatArray) -> list[float]:
    return [round(float(v), 2) for v in box]
