"""Files of an evaluation: results line by line, the tables by condition, and a manifest with the fingerprint of each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.digest import canonical_json, sha256_bytes
from core.evaluation import Cell, Rate, Result
from core.operators.evaluate import Evaluated

RATES = ("all", "mcq", "vqa", "judge")
COUNTS = ("items", "valid", "partial", "invalid", "unscored", "failed", "blocked", "synthetic")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def results_jsonl(results: Sequence[Result]) -> str:
    """Results, one a line; the same results give the same bytes."""
    return "".join(canonical_json(r.as_dict()) + "\n" for r in results)


def cells_csv(cells: Sequence[Cell]) -> str:
    """A table by condition: requested and realised values, counts, and each rate with n and interval."""
    requested = list(dict.fromkeys(d for c in cells for d in c.requested))
    values = list(dict.fromkeys(d for c in cells for d in c.values))
    head = [f"requested_{d}" for d in requested] + [f"realised_{d}" if requested else d for d in values]
    head += [*COUNTS, *(f"{r}_{part}" for r in RATES for part in ("n", "mean", "low", "high"))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for c in cells:
        row: list[Any] = [_cell(c.requested.get(d, "")) for d in requested] + [_cell(c.values.get(d, "")) for d in values]
        rates: list[Rate] = [getattr(c, r) for r in RATES]
        row += [getattr(c, n) for n in COUNTS] + [x for r in rates for x in (r.n, "" if r.mean is None else r.mean, r.low, r.high)]
        writer.writerow(row)
    return out.getvalue()


def write_evaluation(run: Evaluated, folder: Path) -> tuple[Path, ...]:
    """Write `eval_results.jsonl`, `by_slice.csv`, `by_value.csv`, `by_category.csv` and `manifest.json` into a folder.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "eval_results.jsonl": results_jsonl(run.results),
        "by_slice.csv": cells_csv(run.by_slice),
        "by_value.csv": cells_csv(run.by_value),
        "by_category.csv": cells_csv(run.by_category),
    }
    shas = {name: sha256_bytes(text.encode()) for name, text in files.items()}
    manifest = {"run_id": run.run_id, **run.manifest, "stopped": run.stopped, "files": shas}
    files["manifest.json"] = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    return tuple(folder / name for name in files)


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
