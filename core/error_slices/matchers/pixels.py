"""Measuring pixels: every image is opened once, whatever the number of its boxes and of the hypotheses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.error_slices.detections import FloatArray, Image, IntArray
from core.error_slices.matchers.features import NAMES, PixelFeatures, keys_of
from core.error_slices.units import Visible
from core.error_slices.vision.crops import load_picture
from core.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

Progress = Callable[[int, int], None]
MOST_PIXELS = 40_000
"""Larger boxes are measured on every second, third, … pixel."""
SHORT_SIDE = 48
"""Sharpness is measured on boxes no larger than this, so that it does not follow their size."""
HUES, SATURATIONS = 12, 6
_BOX = slice(0, 7)
_IMAGE = slice(7, len(NAMES))


def pixel_features(
    visible: Visible,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
    known: PixelFeatures | None = None,
) -> PixelFeatures:
    """Measurements of the pixels of all boxes of a side, shape (n, features).

    Args:
        visible: The boxes, and the images with their files.
        progress: Called with images done and in all.
        cancel: Asked after each image; True stops, and what is not measured stays NaN.
        known: Measurements made before, looked up by key.
    """
    keys = keys_of(visible)
    values = np.full((len(visible), len(NAMES)), np.nan)
    rows = {} if known is None else {k: i for i, k in enumerate(known.keys)}
    at = np.array([rows.get(k, -1) for k in keys], np.int64)
    if known is not None:
        values[at >= 0] = known.values[at[at >= 0]]
    left = np.flatnonzero(at < 0)
    left = left[np.argsort(visible.image[left], kind="stable")]
    images, starts = np.unique(visible.image[left], return_index=True)
    jobs = [(visible.images[i], part) for i, part in zip(images.tolist(), np.split(left, starts[1:]), strict=True)] if len(left) else []
    without_file = sum(image.path is None for image, _ in jobs)
    problems = [f"{without_file} images have no picture; the boxes in them cannot be measured."] if without_file else []
    jobs = [job for job in jobs if job[0].path is not None]
    done, broken = 0, {}
    for part, result in _in_turn(jobs, visible.xyxy, cancel):
        if isinstance(result, InputError):
            broken[int(part[0])] = str(result)
        else:
            values[part] = result
        done += 1
        if progress is not None:
            progress(done, len(jobs))
    problems += [broken[i] for i in sorted(broken)]
    if done < len(jobs):
        problems.append(f"Stopped after {done} of {len(jobs)} images.")
    return PixelFeatures(keys, values, tuple(problems), int((at >= 0).sum()))


def _in_turn(
    jobs: list[tuple[Image, IntArray]], xyxy: FloatArray, cancel: Callable[[], bool] | None
) -> Iterator[tuple[IntArray, FloatArray | InputError]]:
    """Rows and measurements of one image after the other, a few at a time: reading a picture leaves the interpreter free."""
    workers = min(4, os.cpu_count() or 1)
    waiting = iter(jobs)
    with ThreadPoolExecutor(workers) as pool:
        running: dict[Future[FloatArray | InputError], IntArray] = {}
        stop = False
        while True:
            while not stop and len(running) < 2 * workers and (job := next(waiting, None)) is not None:
                running[pool.submit(_measure, job[0], xyxy[job[1]])] = job[1]
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
            stop = stop or (cancel is not None and cancel())


def _measure(image: Image, xyxy: FloatArray) -> FloatArray | InputError:
    """Measurements of the boxes of one image, shape (m, features); the reason where it cannot be opened."""
    try:
        picture = load_picture(image)
    except InputError as e:
        return e
    if min(image.width, image.height) > 0:  # boxes are about the size that the data tells, which may not be the file's
        x, y = picture.width / image.width, picture.height / image.height
        xyxy = xyxy * [x, y, x, y]
    return measure(picture, xyxy)


def measure(picture: Picture, xyxy: FloatArray) -> FloatArray:
    """Measurements of boxes of a picture, shape (m, features).

    Args:
        picture: In RGB.
        xyxy: Shape (m, 4): px.
    """
    gray, hsv = picture.convert("L"), picture.convert("HSV")
    out = np.full((len(xyxy), len(NAMES)), np.nan)
    out[:, _IMAGE] = _whole(picture, gray, hsv)
    luma, colour = np.asarray(gray), np.asarray(hsv)
    codes = (colour[..., 0].astype(np.uint16) * HUES // 256 * SATURATIONS + colour[..., 1].astype(np.uint16) * SATURATIONS // 256).astype(
        np.uint8
    )
    edges = laplacian(luma.astype(np.float32))
    height, width = luma.shape
    corners = np.clip(np.nan_to_num(xyxy), 0, [width, height, width, height])
    x1, y1 = np.floor(corners[:, :2]).astype(np.int64).T
    x2, y2 = np.ceil(corners[:, 2:]).astype(np.int64).T
    for row, box in enumerate(zip(x1.tolist(), y1.tolist(), x2.tolist(), y2.tolist(), strict=True)):
        if box[2] - box[0] >= 2 and box[3] - box[1] >= 2:
            out[row, _BOX] = _box(gray, luma, codes, edges, box)
    return out


def laplacian(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Sum of the four neighbours less four times the pixel, mirrored at the border, shape as given."""
    padded = np.pad(values, 1, mode="reflect" if min(values.shape) > 1 else "edge")
    out = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * values
    return np.asarray(out, np.float32)


def _whole(picture: Picture, gray: Picture, hsv: Picture) -> tuple[float, float, float, float]:
    """Median brightness, that of the upper third, mean dark channel, mean saturation of a picture."""
    from PIL import Image as Pillow
    from scipy import ndimage

    top = gray.crop((0, 0, gray.width, max(1, gray.height // 3)))
    tiny = np.asarray(picture.resize((64, 64), Pillow.Resampling.BOX)).min(2)
    dark = ndimage.minimum_filter(tiny, size=7, mode="nearest").mean() / 255
    saturation = np.asarray(hsv.getchannel("S").histogram())
    return _median(gray), _median(top), float(dark), float(saturation @ np.arange(256) / max(saturation.sum(), 1) / 255)


def _median(gray: Picture) -> float:
    """Median brightness of a picture."""
    total = np.cumsum(gray.histogram())
    n = int(total[-1])
    low, high = np.searchsorted(total, [(n - 1) // 2, n // 2], "right")
    return float(low + high) / 2


def _box(
    gray: Picture, luma: npt.NDArray[np.uint8], codes: npt.NDArray[np.uint8], edges: npt.NDArray[np.float32], box: tuple[int, int, int, int]
) -> tuple[float, ...]:
    """Measurements of one box of 2 × 2 pixels or more, in the order of the first names."""
    x1, y1, x2, y2 = box
    height, width = luma.shape
    wide, high = max(4, (x2 - x1) // 4), max(4, (y2 - y1) // 4)
    left, top, right, bottom = max(0, x1 - wide), max(0, y1 - high), min(width, x2 + wide), min(height, y2 + high)
    step = max(1, int(np.sqrt((x2 - x1) * (y2 - y1) / MOST_PIXELS)))
    rows, columns = np.arange(top, bottom, step), np.arange(left, right, step)
    inside = ((rows >= y1) & (rows < y2))[:, None] & ((columns >= x1) & (columns < x2))[None, :]
    block = (slice(top, bottom, step), slice(left, right, step))
    here, there = luma[block][inside].astype(np.float64), luma[block][~inside]
    out = [float(here.mean()), np.nan, float((here > 245).mean()), float(here.std() / 255), _sharpness(gray, box), np.nan, np.nan]
    if there.size > 8:
        own = np.bincount(codes[block][inside], minlength=HUES * SATURATIONS) / here.size
        ring = np.bincount(codes[block][~inside], minlength=HUES * SATURATIONS) / there.size
        out[1], out[5] = float(there.mean()), float(np.sqrt(own * ring).sum())
        out[6] = float(np.log10(edges[block][~inside].astype(np.float64).var() + 1))
    return tuple(out)


def _sharpness(gray: Picture, box: tuple[int, int, int, int]) -> float:
    """How much of the contrast of a box lies in its finest details."""
    from PIL import Image as Pillow

    x1, y1, x2, y2 = box
    shrink = SHORT_SIDE / min(x2 - x1, y2 - y1)
    size = (round((x2 - x1) * shrink), round((y2 - y1) * shrink)) if shrink < 1 else (x2 - x1, y2 - y1)
    part = np.asarray(gray.resize(size, Pillow.Resampling.BOX, box=box), np.float32)
    return float(np.log10((laplacian(part).astype(np.float64).var() + 1) / (part.astype(np.float64).var() + 25)))
