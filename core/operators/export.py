"""Rankings as files: CSV, JSON and Parquet with the same rows, and the manifest beside them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.errors import InputError
from core.operators.rank import RankResult
from core.scoring import Ranking, Triage
from core.similarity import UNIT

SCORES = ("phi", "w_rare", "w_nb", "eps_hat", "exposure", "scope")
NEAREST = ("nearest_slice", "nearest_similarity", "nearest_error", "nearest_n")
FORMATS = ("csv", "json", "parquet")
SEPARATOR = " | "
"""Between the values of `nearest_slice`."""


def columns(ranking: Ranking) -> list[str]:
    """Column names of a ranking."""
    return ["rank", "slice_id", *(ranking.odd.names[k] for k in ranking.dims), *SCORES, *NEAREST]


def rows(ranking: Ranking) -> list[dict[str, Any]]:
    """One mapping per slice, best first.

    The nearest slice is the most similar observed one, None where no observed slice reaches theta. It need not be the one
    that sets eps_hat, which is the neighbour with the largest similarity times error: see the explanation.
    """
    observed, odd = ranking.evidence.observed, ranking.odd
    names = odd.codec.names(ranking.codes)
    inside = odd.base_space.contains(ranking.codes)
    near = ranking.neighbours[:, 0].tolist()
    known = odd.codec.names(observed.codes)
    out = []
    for i, values in enumerate(names):
        j = near[i]
        row: dict[str, Any] = {"rank": i + 1, "slice_id": int(ranking.ids[i])}
        row |= {odd.names[k]: values[k] for k in ranking.dims}
        row |= {x: float(getattr(ranking, x)[i]) for x in SCORES[:-1]}
        row["scope"] = "in_odd" if inside[i] else "out_of_odd"
        row["nearest_slice"] = SEPARATOR.join(known[j][k] for k in ranking.dims) if j >= 0 else None
        row["nearest_similarity"] = int(ranking.similarities[i, 0]) / UNIT if j >= 0 else None
        row["nearest_error"] = float(observed.error[j]) if j >= 0 else None
        row["nearest_n"] = int(observed.n[j]) if j >= 0 else None
        out.append(row)
    return out


def as_csv(ranking: Ranking) -> bytes:
    """UTF-8 CSV; numbers in their shortest exact form, so equal rankings give equal bytes."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns(ranking), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(ranking))
    return text.getvalue().encode()


def as_json(result: RankResult) -> bytes:
    """The object that `rank --json` prints, without wall time."""
    return (json.dumps(as_object(result, seconds=False), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def as_object(result: RankResult, *, seconds: bool = True) -> dict[str, Any]:
    """Items with explanations, the search and the manifest."""
    search = vars(result.ranking.search).copy()
    if not seconds:
        del search["seconds"]
    items = [{**row, "explanation": e.as_dict()} for row, e in zip(rows(result.ranking), result.explanations(), strict=True)]
    return {"items": items, "search": search, "manifest": result.manifest}


def triage_object(found: Triage) -> dict[str, Any]:
    """Failures and coverage of a triage: its sums, its groups as "items", its values as "coverage"."""
    data = {k: v for k, v in asdict(found).items() if not isinstance(v, (tuple, list))}
    items = [f.as_dict() for f in (*found.by_value, *found.by_pair)]
    return data | {"items": items, "coverage": [vars(c) for c in found.coverage]}


def as_parquet(result: RankResult) -> bytes:
    """Parquet with typed columns, the manifest in the file's metadata under "oddyssey"."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ranking = result.ranking
    kinds = {
        "rank": pa.int64(),
        "slice_id": pa.int64(),
        "nearest_n": pa.int64(),
        "nearest_similarity": pa.float64(),
        "nearest_error": pa.float64(),
    }
    kinds |= dict.fromkeys(SCORES[:-1], pa.float64())
    schema = pa.schema([(c, kinds.get(c, pa.string())) for c in columns(ranking)])
    table = pa.Table.from_pylist(rows(ranking), schema=schema)
    table = table.replace_schema_metadata({"oddyssey": json.dumps(result.manifest, ensure_ascii=False)})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def as_manifest(result: RankResult) -> bytes:
    """The manifest as a JSON file."""
    return (json.dumps(result.manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def format_of(path: Path) -> str:
    """The format that the ending of a file names.

    Raises:
        InputError: The ending is no known format.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise InputError(f'Cannot write "{path.name}": the ending must be {", ".join(FORMATS)}.')
    return kind


def write(result: RankResult, path: Path) -> list[Path]:
    """Writes a ranking in the format of the file's ending, and its manifest beside it as NAME.manifest.json.

    Raises:
        InputError: The ending is no known format, or the place cannot be written.
    """
    kind = format_of(path)
    data = {"csv": lambda: as_csv(result.ranking), "json": lambda: as_json(result), "parquet": lambda: as_parquet(result)}[kind]()
    side = path.with_name(path.stem + ".manifest.json")
    try:
        path.write_bytes(data)
        side.write_bytes(as_manifest(result))
    except OSError as e:
        raise InputError(f'Cannot write "{path}": {e.strerror}.') from e
    return [path, side]
