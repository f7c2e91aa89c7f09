"""A camera's image with the two paths drawn on the road, as it is shown while labelling, for pages that show cases at rest."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

EXPERT, PLANNER, RATED, HISTORY = "#22D3EE", "#FF4D42", "#4ADE80", "#E5EBF1"
"""Colours on images."""
COLOURS = {"history": HISTORY, "rated": RATED, "planner": PLANNER, "expert": EXPERT}
"""What is drawn of a camera, from below to above."""
_SHARPER = 2
"""Drawn this many times larger and shrunk, so that slanted edges are smooth."""

Section = Sequence[float] | None


def camera_picture(path: Path, camera: Mapping[str, Any], shown: Sequence[str] = tuple(COLOURS), width: int = 720) -> bytes:
    """The critical image of a camera with what is drawn into it, as JPEG.

    Args:
        path: Where the image lies.
        camera: The camera of `core.trajectories.view.case_view`.
        shown: Which ribbons: "expert", "planner", "rated", "history".
        width: px of the result; images are not enlarged beyond twice their size.

    Raises:
        OSError: The image cannot be read.
    """
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    own = image.width
    width = min(width, own * 2)
    height = max(1, round(image.height * width / own))
    canvas = image.resize((width * _SHARPER, height * _SHARPER), Image.Resampling.BICUBIC).convert("RGBA")
    # Pixels are those of the file as the importer saw it; the file itself may have been shrunk since.
    scale = canvas.width / (camera.get("width") or own)
    for name, colour in COLOURS.items():
        if name in shown:
            canvas = _ribbon(canvas, camera["ribbons"].get(name) or [], colour, scale)
    for name in ("planner", "expert"):
        if name in shown:
            _seconds(canvas, camera["seconds"].get(name) or [], scale)
    out = io.BytesIO()
    canvas.convert("RGB").resize((width, height), Image.Resampling.LANCZOS).save(out, "JPEG", quality=88)
    return out.getvalue()


def _ribbon(canvas: Image.Image, sections: Sequence[Section], colour: str, scale: float) -> Image.Image:
    """Lay a ribbon over the image: filled where the road can be seen, only edged where somebody stands before it."""
    if len(sections) < 2:
        return canvas
    layer = Image.new("RGBA", canvas.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    solid, thin = _rgba(colour, 255), _rgba(colour, 112)
    for a, b in itertools.pairwise(sections):
        if a is None or b is None:
            continue
        left, right = _pair(a, b, 0, scale), _pair(a, b, 2, scale)
        hidden = bool(a[4]) and bool(b[4])
        if not hidden:
            pen.polygon([left[0], left[1], right[1], right[0]], fill=thin)
        across = abs(b[2] - b[0]) * scale
        wide = int(max(1, min(5, across * 0.035)) * _SHARPER / 2) or 1
        for edge in (left, right):
            pen.line(edge, fill=_rgba(colour, 150) if hidden else solid, width=wide)
    return Image.alpha_composite(canvas, layer)


def _seconds(canvas: Image.Image, seconds: Sequence[Sequence[float]], scale: float) -> None:
    """A white bar across the ribbon at each whole second."""
    pen = ImageDraw.Draw(canvas)
    for _, xl, yl, xr, yr in seconds:
        wide = int(max(2, min(5, abs(xr - xl) * scale * 0.05)))
        pen.line([(xl * scale, yl * scale), (xr * scale, yr * scale)], fill=(255, 255, 255, 255), width=wide)


def _pair(a: Sequence[float], b: Sequence[float], at: int, scale: float) -> list[tuple[float, float]]:
    return [(a[at] * scale, a[at + 1] * scale), (b[at] * scale, b[at + 1] * scale)]


def _rgba(colour: str, alpha: int) -> tuple[int, int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16), alpha
