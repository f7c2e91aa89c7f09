"""A datastore of footage: a normalised manifest as Parquet with its tags as codes, and the rows of it that a query wants."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.acquisition.fidelity import Tag
from core.acquisition.normalise import CATEGORY
from core.acquisition.read_tags import tag_of
from core.errors import InputError

if TYPE_CHECKING:
    import duckdb

BATCH = 1_024
"""Rows that are unpacked together to read one of them."""
TEMPLATE = "*"
"""Tag of the question category where a row asks nothing: a template then asks whatever is wanted."""
FILE, ROWS, META, VECTORS = "manifest.parquet", "rows.arrow", "meta.json", "vectors.npy"
"""All columns for DuckDB; what a person reads of a row, in small batches; what is known of it all; vectors of captions."""


@dataclass(frozen=True)
class Row:
    """One row of a datastore.

    Attributes:
        row: Its number, in the order of the ids.
        id, path, caption, dataset, split, licence, group, sha256: As the manifest says, "" where it says nothing.
        synthetic: Whether it is said to be made up.
        question, options, answer, qa_type: Its own question, "" and () without one.
        tags: Per dimension.
        by: Rule that derived a tag, by dimension.
        texts: Text of a missing tag that is no value, by dimension.
    """

    row: int
    id: str
    path: str
    caption: str
    dataset: str
    split: str
    licence: str
    group: str
    sha256: str
    synthetic: bool
    question: str
    options: tuple[str, ...]
    answer: str
    qa_type: str
    tags: Mapping[str, Tag]
    by: Mapping[str, str]
    texts: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Captions:
    """Vectors of the captions.

    Attributes:
        of_row: (rows,) place of the vector of each row.
        vectors: (V, D) float16 of unit length, mapped from disk.
        model: Id of the encoder.
    """

    of_row: npt.NDArray[np.int32]
    vectors: npt.NDArray[np.float16]
    model: str


@dataclass(frozen=True, eq=False)
class Packed:
    """Tags of some dimensions as one code per row: code = sum of (tag + 1) times stride, 0 for a missing tag.

    Attributes:
        dims: Dimensions.
        sizes: Tags of each, the missing one included.
        codes: (L,) of the rows that are no copies.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: npt.NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Datastore:
    """An opened datastore; its arrays have one element per row.

    Attributes:
        name: Name to show.
        digest: Of what it was made from: file, plan, rules, ODD.
        folder: Where it lies.
        root: Folder that relative paths of media start from, None if not known.
        meta: What is known of its making: source, plan, report.
        dims: Dimensions.
        entries: Tags in use, by dimension.
        codes: (rows,) index into the entries, -1 where missing, by dimension.
        group: (rows,) video or log, -1 where not known.
        copy_of: (rows,) first row with the same media and question, -1 for a first row.
        asks: (rows,) whether it has a question of its own.
    """

    name: str
    digest: str
    folder: Path
    root: Path | None
    meta: Mapping[str, Any]
    dims: tuple[str, ...]
    entries: Mapping[str, tuple[Tag, ...]]
    codes: Mapping[str, npt.NDArray[np.int8]]
    group: npt.NDArray[np.int32]
    copy_of: npt.NDArray[np.int32]
    asks: npt.NDArray[np.bool_]
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __len__(self) -> int:
        return int(self.asks.size)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self)

    @property
    def synthetic(self) -> bool:
        """Whether any of it is said to be made up."""
        return bool(self.meta["synthetic"])

    @property
    def report(self) -> Mapping[str, Any]:
        """`ManifestReport` of the import, as JSON-ready data."""
        found: Mapping[str, Any] = self.meta["report"]
        return found

    @cached_property
    def live(self) -> npt.NDArray[np.int32]:
        """Rows that are no copies of earlier ones, ascending."""
        return np.flatnonzero(self.copy_of < 0).astype(np.int32)

    @cached_property
    def packed(self) -> tuple[Packed, ...]:
        """The tags of all dimensions in as few codes as fit into 16 bits, so that a query looks up two or three tables a row."""
        out: list[Packed] = []
        dims: list[str] = []
        for d in self.dims:
            sizes = [len(self.entries[x]) + 1 for x in (*dims, d)]
            if dims and int(np.prod(sizes, dtype=np.int64)) > 1 << 16:
                out.append(self._pack(dims))
                dims = []
            dims.append(d)
        return (*out, self._pack(dims)) if dims else tuple(out)

    def _pack(self, dims: Sequence[str]) -> Packed:
        codes = np.zeros(self.live.size, dtype=np.int64)
        for d in dims:
            codes = codes * (len(self.entries[d]) + 1) + self.codes[d][self.live] + 1
        return Packed(tuple(dims), tuple(len(self.entries[d]) + 1 for d in dims), codes.astype(np.uint16))

    @cached_property
    def copies(self) -> npt.NDArray[np.int64]:
        """(rows,) number of later rows that are copies of each."""
        return np.bincount(self.copy_of[self.copy_of >= 0], minlength=len(self))

    @cached_property
    def captions(self) -> Captions | None:
        """Vectors of the captions, None if none were made."""
        made = self.meta.get("vectors")
        if not made:
            return None
        import pyarrow.parquet as pq

        of_row = pq.read_table(self.folder / FILE, columns=["vector"])["vector"].to_numpy()
        return Captions(of_row, np.load(self.folder / VECTORS, mmap_mode="r"), made["model"])

    @cached_property
    def _duckdb(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        made = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
        made.execute("SET parquet_metadata_cache = true")  # the file never changes
        path = str(self.folder / FILE).replace("'", "''")
        made.execute(f"CREATE VIEW manifest AS SELECT * FROM read_parquet('{path}')")  # noqa: S608 (escaped)
        return made

    def sql(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows that DuckDB answers to a query of the manifest, which is called `manifest`; never text of a user's.

        Args:
            query: SQL with ? for values.
            values: These values.
        """
        with self._lock:
            cursor = self._duckdb.cursor()
        try:
            done = cursor.execute(query, list(values))
            names = [d[0] for d in done.description or ()]
            return [dict(zip(names, row, strict=True)) for row in done.fetchall()]
        finally:
            cursor.close()

    def check(self) -> None:
        """Looks whether the files beside the tags can be read: the first and the last row, and the vectors.

        Raises:
            InputError: They are damaged.
        """
        self.fetch(sorted({0, len(self) - 1}))
        try:
            _ = self.captions
        except (OSError, ValueError, KeyError, pa.ArrowException) as e:
            raise InputError(f'The vectors of the datastore "{self.name}" cannot be read ({e}). Import its manifest again.') from e

    def fetch(self, rows: Sequence[int]) -> list[Row]:
        """These rows, in the order given.

        Raises:
            InputError: The files of the datastore are damaged.
        """
        wanted = sorted({int(r) for r in rows})
        found: dict[int, Row] = {}
        if not wanted:
            return []
        try:
            with pa.memory_map(str(self.folder / ROWS)) as mapped:
                file = pa.ipc.open_file(mapped)
                for number, batch in groupby(wanted, key=lambda r: r // BATCH):
                    places = [r - number * BATCH for r in batch]
                    found |= {r["row"]: self._row(r) for r in file.get_batch(number).take(pa.array(places)).to_pylist()}
        except (OSError, pa.ArrowException) as e:
            raise InputError(f'The datastore "{self.name}" cannot be read ({e}). Import its manifest again.') from e
        return [found[int(r)] for r in rows]

    def _row(self, r: Mapping[str, Any]) -> Row:
        plain = {k: r[k] or "" for k in ("id", "path", "caption", "dataset", "split", "licence", "group", "sha256", "question")}
        return Row(
            row=r["row"],
            **plain,
            synthetic=r["synthetic"],
            options=tuple(r["options"] or ()),
            answer=r["answer"],
            qa_type=r["qa_type"],
            tags={d: self.tag(d, r["row"]) for d in self.dims},
            by={d: r[f"by:{d}"] for d in self.dims if r.get(f"by:{d}")},
            texts={d: r[f"text:{d}"] for d in self.dims if r.get(f"text:{d}")},
        )

    def tag(self, dimension: str, row: int) -> Tag:
        """The tag of a row, None where it is missing."""
        code = int(self.codes[dimension][row])
        tag = self.entries[dimension][code] if code >= 0 else None
        return None if tag == TEMPLATE else tag

    def inventory(self) -> dict[str, dict[str, int]]:
        """Rows per tag of each dimension; "" counts those without."""
        out = {}
        for d in self.dims:
            column = f"tag:{d}".replace('"', '""')
            counted = self.sql(f'SELECT "{column}" AS tag, count(*) AS n FROM manifest GROUP BY ALL ORDER BY n DESC, tag')  # noqa: S608
            out[d] = {r["tag"] or "": r["n"] for r in counted}
        return out

    def media(self, path: str) -> Path | None:
        """The local file of a path of the manifest; None for a URL, and for whatever lies outside the folder of the media.

        A manifest may come from anywhere, and what it names is sent to models: it reaches no file but those beside it.
        """
        if not path or "://" in path or self.root is None:
            return None
        root = self.root.resolve()
        try:
            file = (root / path).resolve()
        except (OSError, ValueError, RuntimeError):
            return None
        return file if file.is_relative_to(root) else None


def open_datastore(folder: Path, name: str = "", root: Path | None = None) -> Datastore:
    """Opens what `write_datastore` wrote.

    Args:
        folder: Its folder.
        name: Name to show; that of the source file by default.
        root: Folder that relative paths of media start from.

    Raises:
        InputError: It is not there, or damaged.
    """
    import pyarrow.parquet as pq

    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        dims: list[str] = meta["dims"]
        tags = [f"tag:{d}" for d in dims]
        table = pq.read_table(folder / FILE, columns=["group", "copy_of", "asks", *tags])
    except (OSError, ValueError, KeyError, pa.ArrowException) as e:
        raise InputError(f'The datastore "{name or folder.name[:12]}" cannot be opened ({e}). Import its manifest again.') from e
    asks = table["asks"].to_numpy()
    entries = {d: tuple(tag_of(t) for t in meta["entries"][d]) for d in dims}
    codes = {d: _codes(table[f"tag:{d}"], meta["entries"][d]) for d in dims}
    if CATEGORY in codes:
        entries[CATEGORY] = (*entries[CATEGORY], TEMPLATE)
        codes[CATEGORY] = np.where(~asks & (codes[CATEGORY] < 0), np.int8(len(entries[CATEGORY]) - 1), codes[CATEGORY]).astype(np.int8)
    groups = table["group"].unify_dictionaries().combine_chunks()
    nowhere = np.array([g == "" for g in groups.dictionary.to_pylist()] + [True])
    group = groups.indices.fill_null(-1).to_numpy().astype(np.int32)
    return Datastore(
        name=name or str(meta["source"].get("file", "")) or folder.name[:12],
        digest=meta["digest"],
        folder=folder,
        root=root,
        meta=meta,
        dims=tuple(dims),
        entries=entries,
        codes=codes,
        group=np.where(nowhere[group], -1, group).astype(np.int32),
        copy_of=table["copy_of"].to_numpy(),
        asks=asks,
    )


def _codes(column: pa.ChunkedArray, entries: Sequence[str]) -> npt.NDArray[np.int8]:
    """(rows,) index into the entries, whatever dictionary each part of the column has."""
    coded = column.unify_dictionaries().combine_chunks()
    place = {e: i for i, e in enumerate(entries)}
    to = np.array([place[e] for e in coded.dictionary.to_pylist()] + [-1], dtype=np.int8)
    codes: npt.NDArray[np.int8] = to[coded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)]
    return codes
