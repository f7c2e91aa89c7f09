"""Which pictures of one set are those of another, whatever their names there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.error_slices.detections import Image


def same_pictures(images: Sequence[Image], others: Iterable[Image]) -> list[int]:
    """Positions of the images that are among others.

    By their bytes where both are known. Else by their names, of which one may begin further down: `val/7.jpg` and `7.jpg` are the same
    picture, `train/7.jpg` and `val/7.jpg` are not; where names are all that is known, the same name is taken for the same picture.

    Args:
        images: Those that are asked about.
        others: Those that they may be.
    """
    others = list(others)
    known = {x.sha256 for x in others if x.sha256}
    any_name, unread = _Names(others), _Names(x for x in others if not x.sha256)
    return [
        i for i, x in enumerate(images) if (x.sha256 in known or unread.hold(x) if x.sha256 else any_name.hold(x))
    ]  # fmt: skip


class _Names:
    """Names of images, as a whole and from each folder on."""

    def __init__(self, images: Iterable[Image]) -> None:
        names = [_tails(x) for x in images]
        self.whole = {t[0] for t in names}
        self.tails = {tail for t in names for tail in t}

    def hold(self, image: Image) -> bool:
        """Whether the name of an image is one of them, or begins further down in one of them, or one of them in it."""
        own = _tails(image)
        return own[0] in self.tails or any(tail in self.whole for tail in own)


def _tails(image: Image) -> list[str]:
    """The name of an image as a whole, then from each folder on, without regard to case."""
    parts = [p for p in (image.file_name or image.id).replace("\\", "/").casefold().split("/") if p not in ("", ".")] or [""]
    return ["/".join(parts[k:]) for k in range(len(parts))]
