"""Writes a datastore: all columns as Parquet, single rows in small batches, vectors of captions, and what is known of it all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.acquisition.datastore import BATCH, FILE, META, ROWS, VECTORS, open_datastore
from core.acquisition.manifest import ManifestPlan
from core.acquisition.normalise import Manifest
from core.acquisition.tag_rules import RulesDoc
from core.digest import canonical_json, sha256_json
from core.errors import InputError
from core.odd import Odd

VERSION = 4
"""Of the layout; another one gives another digest."""
ROW_GROUP = 65_536
PLAIN = (
    *("row", "id", "path", "caption", "dataset", "split", "licence", "group", "sha256", "synthetic"),
    *("question", "options", "answer", "qa_type"),
)


def datastore_digest(source_sha: str, plan: ManifestPlan, doc: RulesDoc, odd: Odd, encoder: str = "") -> str:
    """What identifies a datastore: all that it is made from."""
    rules = doc.formats[plan.format].model_dump(mode="json") if plan.format in doc.formats else None
    made_of = {"version": VERSION, "source": source_sha, "plan": plan.model_dump(mode="json"), "rules": rules, "odd": odd.hash}
    return sha256_json(made_of | {"encoder": encoder})


def write_datastore(
    parent: Path,
    digest: str,
    manifest: Manifest,
    odd: Odd,
    plan: ManifestPlan,
    source: Mapping[str, Any],
    vectors: tuple[npt.NDArray[np.int32], npt.NDArray[np.float16], str] | None = None,
) -> Path:
    """Writes a datastore into a folder named by its digest, all or nothing; a whole one that is there already is left as it is.

    Args:
        parent: Folder of all datastores.
        digest: `datastore_digest`.
        manifest: The normalised manifest.
        odd: The ODD of its tags.
        plan: How it was read.
        source: File name, SHA-256, bytes.
        vectors: Place of the vector of each row, (V, D) vectors, id of the encoder.
    """
    import pyarrow.parquet as pq

    folder = parent / digest
    if is_whole(folder):
        return folder
    table = manifest.table
    meta: dict[str, Any] = {
        "version": VERSION,
        "digest": digest,
        "odd": {"name": odd.name, "sha256": odd.hash},
        "dims": list(manifest.dims),
        "entries": {d: table[f"tag:{d}"].combine_chunks().dictionary.to_pylist() for d in manifest.dims},
        "plan": plan.model_dump(mode="json"),
        "source": dict(source),
        "report": manifest.report.as_dict(),
        "synthetic": manifest.synthetic,
        "vectors": None,
    }
    part, old = (parent / f".{uuid4().hex}.{kind}" for kind in ("part", "old"))
    part.mkdir(parents=True)
    try:
        if vectors is not None:
            table = table.append_column("vector", pa.array(vectors[0]))
            np.save(part / VECTORS, vectors[1])
            meta["vectors"] = {"model": vectors[2], "shape": list(vectors[1].shape)}
        pq.write_table(table, part / FILE, compression="zstd", row_group_size=ROW_GROUP)
        told = {d.name: d for d in manifest.report.dimensions}
        some = [f"by:{d}" for d in manifest.dims if told[d].by_rule] + [f"text:{d}" for d in manifest.dims if told[d].unknown]
        plain = pa.table({c: table[c].cast(pa.string()) if pa.types.is_dictionary(table[c].type) else table[c] for c in (*PLAIN, *some)})
        with pa.ipc.new_file(str(part / ROWS), plain.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
            for start in range(0, plain.num_rows, BATCH):  # each batch whole, whatever chunks the columns have
                file.write_table(plain.slice(start, BATCH).combine_chunks())
        (part / META).write_text(canonical_json(meta), encoding="utf-8")
        if folder.exists() and not is_whole(folder):  # what is damaged gives way
            with suppress(OSError):
                folder.rename(old)
        try:
            part.rename(folder)
        except OSError:
            if not is_whole(folder):  # nobody else made it meanwhile
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    return folder


def is_whole(folder: Path) -> bool:
    """Whether a datastore lies in a folder, and can be read."""
    try:
        open_datastore(folder).check()
    except InputError:
        return False
    return True
