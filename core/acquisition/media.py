"""What there is to tag: the images and clips of a folder, or the rows of a manifest."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.acquisition.fidelity import Tag
from core.acquisition.importers import open_records
from core.acquisition.manifest import ManifestPlan, propose_manifest
from core.acquisition.read_tags import SEVERAL, read_tags
from core.acquisition.tag_rules import shipped_rules
from core.digest import sha256_json
from core.errors import InputError
from core.evaluation.images import read_image, sha_of
from core.odd import Odd
from core.seed_table.raw import RawTable

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
"""Endings of the files of a folder that are taken for images."""
FRAMES = 8
"""Images of a clip that are looked at: the first, the last, and evenly between."""


@dataclass(frozen=True)
class Media:
    """An image or clip, with what is known of it.

    Attributes:
        name: As it is shown.
        paths: Images in the order of time, as many as are looked at.
        places: Files or folders that were named, from which the images come.
        question, options, answer: Of the question that comes with it, "" and () if none.
        tags: What is known per dimension.
        row: The cells of the manifest, in its order; of a folder, the path alone.
        number: 1-based record number in the manifest, or place in the folder.
    """

    name: str
    paths: tuple[str, ...]
    places: tuple[str, ...] = ()
    question: str = ""
    options: tuple[str, ...] = ()
    answer: str = ""
    tags: Mapping[str, Tag] = field(default_factory=dict)
    row: Mapping[str, str] = field(default_factory=dict)
    number: int = 0


@dataclass(frozen=True)
class MediaList:
    """Everything that was found.

    Attributes:
        source: File or folder.
        sha256: Of the manifest, or of the list of paths.
        plan: How the manifest was read, None for a folder.
        media: In order.
        other: Cells of the rows that cannot be tagged, by number.
        left_out: Why not, with the number of rows.
        columns: Columns of the manifest.
    """

    source: str
    sha256: str
    plan: ManifestPlan | None
    media: tuple[Media, ...]
    other: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()


def identity(shas: Sequence[str]) -> str:
    """Content hash of an image, or of a clip by its images."""
    return shas[0] if len(shas) == 1 else sha256_json(list(shas))


def content_of(media: Media) -> tuple[str, ...]:
    """SHA-256 of each image.

    Raises:
        InputError: One cannot be read.
    """
    return tuple(sha_of(read_image(p)) for p in media.paths)


def read_media(source: str | Path, odd: Odd, said: Mapping[str, Any] | None = None, *, clips: bool = False) -> MediaList:
    """The media of a folder of images, or of a manifest.

    Args:
        source: Folder or file. Paths in a manifest are taken from its folder.
        odd: Its dimensions are looked for in the manifest.
        said: Decisions on how to read the manifest, see `ManifestPlan`.
        clips: In a folder, every folder below it with images is one clip; else every image is one.

    Raises:
        InputError: There is no such file or folder, it holds nothing to tag, or the manifest cannot be read.
    """
    path = Path(source)
    if path.is_dir():
        return _folder(path, clips)
    if not path.exists():
        raise InputError(f'There is no file or folder "{path}".')
    records = open_records(path)
    plan = propose_manifest(records, odd, shipped_rules(), said)
    if "path" not in plan.fields:
        raise InputError(
            f'No column of "{records.name}" names the images. It has: {", ".join(records.raw.columns)}. Name one with --map path=COLUMN.'
        )
    media, other, left = _rows(records.raw, plan, odd, path.parent)
    if records.raw.broken:
        left["are no record that can be read"] = len(records.raw.broken)
    if not media:
        raise InputError(f'No row of "{records.name}" names an image: {_words(left)}.')
    return MediaList(records.name, records.sha256, plan, tuple(media), other, left, tuple(records.raw.columns))


def frames_of(folder: Path, most: int = FRAMES) -> tuple[str, ...]:
    """Images of a folder in the order of their names, numbers by size, at most so many."""
    return tuple(str(p) for p in spread(sorted((p for p in folder.iterdir() if _is_image(p)), key=_natural), most))


def spread(items: Sequence[Any], most: int) -> list[Any]:
    """The first, the last, and evenly between, at most so many."""
    n = len(items)
    if n <= most:
        return list(items)
    return [items[round(i * (n - 1) / (most - 1))] for i in range(most)] if most > 1 else [items[n // 2]]


def _folder(path: Path, clips: bool) -> MediaList:
    images = sorted((p for p in path.rglob("*") if _is_image(p)), key=lambda p: _natural(p.relative_to(path)))
    if not images:
        raise InputError(f'The folder "{path}" holds no image ({", ".join(SUFFIXES)}).')
    units = {p.parent: frames_of(p.parent) for p in images} if clips else {p: (str(p),) for p in images}
    names = [str(u.relative_to(path)) for u in units]
    media = [Media(n, f, (str(u),), row={"path": n}, number=i) for i, (n, (u, f)) in enumerate(zip(names, units.items(), strict=True), 1)]
    return MediaList(str(path), sha256_json([list(m.paths) for m in media]), None, tuple(media), columns=("path",))


def _rows(raw: RawTable, plan: ManifestPlan, odd: Odd, folder: Path) -> tuple[list[Media], dict[int, dict[str, str]], dict[str, int]]:
    texts = {name: [*column.texts(), ""] for name, column in raw.columns.items()}  # the last one for empty cells, whose code is -1
    formats = shipped_rules().formats
    rules = formats[plan.format].rules if plan.format in formats else ()
    tags = {d.name: read_tags(d, raw.columns, raw.rows, plan, [r for r in rules if r.dimension == d.name]) for d in odd.dimensions}
    media: list[Media] = []
    other: dict[int, dict[str, str]] = {}
    left: dict[str, int] = {}
    for i in range(raw.rows):
        row = {name: texts[name][column.codes[i]] for name, column in raw.columns.items()}
        said = {f: row[c] for f, c in plan.fields.items()}
        said = {f: said.get(f) or str(plan.constants.get(f, "")) for f in {**plan.constants, **said}}
        places, paths, why = _paths(said.get("path", ""), folder)
        if why:
            other[int(raw.numbers[i])] = row
            left[why] = left.get(why, 0) + 1
            continue
        media.append(
            Media(
                name=said.get("id") or said["path"],
                paths=paths,
                places=places,
                question=said.get("question", ""),
                options=_list(said.get("options", "")),
                answer=said.get("answer", ""),
                tags={d: t.entries[t.codes[i]] if t.codes[i] >= 0 else None for d, t in tags.items()},
                row=row,
                number=int(raw.numbers[i]),
            )
        )
    return media, other, left


def _paths(named: str, folder: Path) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Files or folders that a cell names, the images to look at, and why there are none."""
    names = _list(named) if named.startswith("[") else (named,) if named else ()
    if not names:
        return (), (), "name no image"
    if any("://" in n for n in names):
        return (), (), "name an address, not a file"
    found = [folder / n for n in names]
    places = tuple(map(str, found))
    if len(found) == 1 and os.path.isdir(found[0]):  # os.path: a name that no disk can hold is not there
        frames = frames_of(found[0])
        return places, frames, "" if frames else "name a folder without images"
    if not all(os.path.isfile(p) for p in found):
        return (), (), "name a file that is not there"
    if not all(_is_image(p) for p in found):
        return (), (), "name a file that is no image"
    return places, tuple(str(p) for p in spread(found, FRAMES)), ""


def _list(text: str) -> tuple[str, ...]:
    """A JSON list, or texts between bars."""
    if text.startswith("["):
        try:
            return tuple(str(x) for x in json.loads(text))
        except (ValueError, RecursionError):
            pass
    return tuple(p.strip() for p in text.split(SEVERAL) if p.strip())


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and os.path.isfile(path)


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Key of an order in which frame 10 comes after frame 9."""
    return [(1, int(p), "") if p.isdigit() and p.isascii() else (0, 0, p) for p in re.split(r"([0-9]+)", str(path)) if p]


def _words(left: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {why}" for why, n in left.items()) or "it has none"
