"""A datastore of a million rows, warm and imported: from a slice to the rows that fit it best.

Rows and vectors are generated: tags at random with 5 % missing, one caption a row, and vectors that are unit noise, no real captions.
Target: a query, that is graded tags over all rows, captions of the best 5,000, spread and the rows themselves, in at most 60 ms.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.acquisition.datastore import Datastore, open_datastore  # noqa: E402
from core.acquisition.query import POOL, find, spread  # noqa: E402
from core.acquisition.write_datastore import datastore_digest, write_datastore  # noqa: E402
from core.odd import Odd, built_in  # noqa: E402
from core.operators import ReadManifest, read_manifest  # noqa: E402

ROWS, DEPTH, TARGET = 1_000_000, 384, 0.060
TIMES = 15


def generated(odd: Odd, folder: Path, rng: np.random.Generator) -> Path:
    """A manifest of random tags as a Parquet file."""
    number = np.arange(ROWS)
    columns = {
        "id": pa.array(number).cast(pa.string()),
        "path": pa.array([f"video/{i // 40:06d}/{i % 40:03d}.jpg" for i in range(ROWS)]),
        "caption": pa.array([f"generated caption {i}" for i in range(ROWS)]),
        "group": pa.array(number // 40).cast(pa.string()),
        "dataset": pa.array(["generated"] * ROWS),
    }
    for k in odd.active:
        values = [v.name for v in odd.dimensions[k].values]
        weights = rng.dirichlet(np.ones(len(values)))
        codes = rng.choice(len(values), ROWS, p=weights)
        columns[odd.names[k]] = pa.DictionaryArray.from_arrays(pa.array(codes, mask=rng.random(ROWS) < 0.05), values)
    path = folder / "generated.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def imported(odd: Odd, folder: Path, read: ReadManifest, rng: np.random.Generator) -> Datastore:
    """The manifest as a datastore with generated vectors."""
    vectors = np.empty((ROWS, DEPTH), dtype=np.float16)
    for start in range(0, ROWS, 50_000):
        part = rng.standard_normal((50_000, DEPTH), dtype=np.float32)
        vectors[start : start + 50_000] = part / np.linalg.norm(part, axis=1, keepdims=True)
    source = {"file": read.records.name, "sha256": read.records.sha256, "bytes": read.records.size}
    digest = datastore_digest(read.records.sha256, read.plan, read.rules, odd, "generated")
    made = (np.arange(ROWS, dtype=np.int32), vectors, "generated")
    return open_datastore(write_datastore(folder, digest, read.manifest, odd, read.plan, source, made))


def timed(call: Callable[[], object], times: int = TIMES) -> float:
    """Median wall time in seconds, after one call that does not count."""
    call()
    out = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        out.append(time.perf_counter() - start)
    return median(out)


def sql(odd: Odd, requested: dict[str, str]) -> str:
    """The graded match count of exact tags as DuckDB would do it on the Parquet file."""
    same = " + ".join(f"coalesce(\"tag:{d}\" = '{v}', false)::INT" for d, v in requested.items())
    other = " + ".join(f"coalesce(\"tag:{d}\" <> '{v}', false)::INT" for d, v in requested.items())
    return f"SELECT row FROM manifest ORDER BY {same} DESC, {other}, row LIMIT {POOL}"  # noqa: S608 (values of the ODD)


def main() -> None:
    """Generates, imports, queries, and prints what it took."""
    odd, rng = built_in(), np.random.default_rng(20261130)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = generated(odd, folder, rng)
        start = time.perf_counter()
        read = read_manifest(path)
        took = time.perf_counter() - start
        start = time.perf_counter()
        store = imported(odd, folder / "stores", read, rng)
        wrote = time.perf_counter() - start
        print(f"{ROWS:,} generated rows of {len(odd.active)} tags: read {took:.1f} s, written with {DEPTH}-d vectors in {wrote:.1f} s")
        start = time.perf_counter()
        store = open_datastore(store.folder)
        assert store.captions is not None and store.packed and len(store) == ROWS
        print(
            f"  opened in {time.perf_counter() - start:.2f} s; {sum(c.nbytes for c in store.codes.values()) / 1e6:.0f} MB of tags in memory"
        )
        vectors = store.captions.vectors
        np.asarray(vectors).sum(dtype=np.float32)  # every page once, so that it is warm
        vector = np.asarray(vectors[123_456]).astype(np.float32)
        slices = [
            {odd.names[k]: odd.dimensions[k].base[int(rng.integers(len(odd.dimensions[k].base)))].name for k in odd.active}
            for _ in range(TIMES)
        ]
        turn = iter(slices * 100)

        def query() -> None:
            found = find(store, odd, next(turn), vector)
            picked = spread(found, store.group, 10)
            assert len(store.fetch([int(found.rows[i]) for i in picked.at])) == 10

        whole = timed(query)
        tags = timed(lambda: find(store, odd, next(turn)))
        both = timed(lambda: find(store, odd, next(turn), vector))
        duck = timed(lambda: store.sql(sql(odd, next(turn))), 5)

        def every() -> None:
            for start in range(0, ROWS, 50_000):
                np.asarray(vectors[start : start + 50_000]).astype(np.float32) @ vector

        brute = timed(every, 3)
        print(f"  query (tags, {POOL:,} captions, spread, 10 rows): {whole * 1e3:.1f} ms (target {TARGET * 1e3:.0f} ms)")
        print(f"  tags of all rows: {tags * 1e3:.1f} ms; with captions of the best {POOL:,}: {both * 1e3:.1f} ms")
        print(f"  grading exact tags by DuckDB on Parquet takes {duck * 1e3:.1f} ms, {duck / tags:.1f} times the codes")
        print(f"  scoring every caption takes {brute * 1e3:.0f} ms, {brute / whole:.0f} times the query")


if __name__ == "__main__":
    main()
