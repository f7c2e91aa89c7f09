"""What people can be asked about: the tags of footage, what models tagged here, and images that were made."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from core.acquisition.datastore import Datastore, Row
from core.acquisition.fidelity import UNSPECIFIED
from core.acquisition.normalise import CATEGORY
from core.acquisition.synthesis import REQUESTS, pixel_dims
from core.acquisition.verification import media_key
from core.errors import InputError
from core.evaluation.images import read_image, sha_of
from core.odd import Odd
from core.operators.verify import said_of
from core.storage import QueueItem, Store


def footage_items(datastore: Datastore, odd: Odd, size: int, seed: int = 0) -> tuple[QueueItem, ...]:
    """Rows of footage that a sample of a size is drawn from: of each value of each dimension so many at random, fewer if there are.

    Only rows whose image lies on this machine are of use; what is not there is left out here, and a row that a template would
    ask about has no question category of its own.

    Args:
        datastore: The footage.
        odd: Dimensions that are judged.
        size: Of the sample.
        seed: Of the draw.
    """
    order = np.random.default_rng(seed).permutation(datastore.live)
    wanted: set[int] = set()
    for d in (d for d in datastore.dims if d in odd.by_name):
        for code, entry in enumerate(datastore.entries[d]):
            if isinstance(entry, str) and entry in odd.by_name[d].by_name:
                wanted.update(order[datastore.codes[d][order] == code][:size].tolist())
    rows = datastore.fetch(sorted(wanted))
    items = (_of_row(datastore, odd, r) for r in rows)
    return tuple(x for x in items if x is not None)


def tagged_items(store: Store, odd: Odd) -> tuple[QueueItem, ...]:
    """Media that models tagged in this workspace with values of an ODD; of each dimension the newest tag counts."""
    paths: dict[str, tuple[str, ...]] = {}
    tags: dict[str, dict[str, str]] = {}
    for r in reversed(store.media_tags.list()):  # the oldest first
        if r.content.get("kind") == "scene":
            paths[r.media] = tuple(r.content.get("paths", ()))
            for d, said in said_of(r).items():
                if isinstance(said.tag, str) and d in odd.by_name and said.tag in odd.by_name[d].by_name and said.how == "read":
                    tags.setdefault(r.media, {})[d] = said.tag
    return tuple(QueueItem(m, p, {d: tags[m][d] for d in odd.names if d in tags[m]}) for m, p in paths.items() if m in tags)


def made_items(media: Path, odd: Odd) -> tuple[QueueItem, ...]:
    """Images that were made here, each with what it was meant to show."""
    out: dict[str, QueueItem] = {}
    for note in sorted((media / REQUESTS).glob("*.json")):
        try:
            told = json.loads(note.read_text(encoding="utf-8"))
            requested: Mapping[str, str] = told["requested"]
            file = media / Path(str(told["file"])).name
            if sha_of(read_image(str(file))) != told["sha256"]:
                continue
        except (OSError, ValueError, KeyError, TypeError, InputError):
            continue  # lost or damaged: there is nothing to look at
        meant = {d: requested[d] for d in odd.names if d in pixel_dims(requested) and requested[d] in odd.by_name[d].by_name}
        out[f"{told['sha256']} {sorted(meant.items())}"] = QueueItem(str(told["sha256"]), (str(file),), meant, caption="made, not found")
    return tuple(out.values())


def _of_row(datastore: Datastore, odd: Odd, row: Row) -> QueueItem | None:
    file = datastore.media(row.path)
    if file is None or not os.path.isfile(file):  # a name that no disk can hold is not there
        return None
    known = {d: t for d, t in row.tags.items() if isinstance(t, str) and t != UNSPECIFIED and d in odd.by_name}
    tags = {d: t for d, t in known.items() if t in odd.by_name[d].by_name and (d != CATEGORY or row.question)}
    media = row.sha256 or media_key("", row.path, row.id)
    return QueueItem(media, (str(file),), tags, row.question, row.options, row.answer, row.caption)
