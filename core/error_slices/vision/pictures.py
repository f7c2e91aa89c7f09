"""Pictures of many units, made in threads while others are on their way."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from core.error_slices.detections import Image
from core.error_slices.units import Units
from core.error_slices.vision.crops import CropSettings, check_unchanged, load_picture, rounded, unit_pictures

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


AT_ONCE = 2
"""Units whose pictures are made at a time: each may hold a whole photograph in memory, and servers answer more slowly than that."""
PIXELS = 50_000_000
"""Pixels of photographs that are kept open, beside those that are in use."""


class Pictures:
    """Pictures of units, made in threads; the last ones are kept, since several statements are about one unit."""

    def __init__(self, units: Units, crops: CropSettings, kept: int = 64) -> None:
        self._units, self._crops, self._kept = units, crops, kept
        self._made: OrderedDict[int, asyncio.Task[tuple[str, ...]]] = OrderedDict()
        self._opened: OrderedDict[int, asyncio.Task[Picture]] = OrderedDict()
        self._room = asyncio.Semaphore(AT_ONCE)

    async def urls(self, unit: int) -> tuple[str, ...]:
        """Data URLs of a unit's pictures.

        Raises:
            InputError: Its image cannot be read.
        """
        made = self._made.get(unit)
        if made is None:
            made = self._made[unit] = asyncio.create_task(self._make(unit))
            _shorten(self._made, self._kept)
        return await asyncio.shield(made)

    async def _make(self, unit: int) -> tuple[str, ...]:
        at = int(self._units.image[unit])
        image = self._units.detections.images[at]
        async with self._room:
            opened = self._opened.get(at)
            if opened is None:
                _shorten(self._opened, _kept(image) - 1)
                opened = self._opened[at] = asyncio.create_task(asyncio.to_thread(_opened, image))
            picture = await asyncio.shield(opened)
            box = None if self._units.side[unit] == "image" else rounded(self._units.xyxy[unit])
            return (await asyncio.to_thread(unit_pictures, picture, image, box, self._crops)).urls


def _kept(image: Image) -> int:
    """Photographs of this size that are kept open."""
    return max(1, min(4, PIXELS // max(1, image.width * image.height)))


def _opened(image: Image) -> Picture:
    check_unchanged(image)
    return load_picture(image)


def _shorten(kept: OrderedDict[int, Any], most: int) -> None:
    """Forget what was made first; whoever waits for it still gets it."""
    while len(kept) > most:
        kept.popitem(last=False)
