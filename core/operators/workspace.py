"""Seed tables in the workspace: save what a check made of a file, and the demo that ships with the product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.errors import InputError
from core.odd import built_in
from core.operators.table import Prepared, check, prepare
from core.seed_table import CheckReport, open_table
from core.settings import ASSETS
from core.storage import SavedTable, Store

DEMO_TABLE = ASSETS / "demo" / "seed_table.csv"
DEMO_ORACLE = ASSETS / "demo" / "oracle_table.csv"
DEMO_MODELS = ("model-a", "model-b")
"""The made-up models of the demo table; the first one is the table in use."""


def source_of(prepared: Prepared, report: CheckReport) -> dict[str, Any]:
    """What is known of the input of a table, for manifests: file, plan, counts, notes."""
    file = prepared.file
    return {
        "file": file.name,
        "sha256": file.sha256,
        "bytes": file.size,
        "plan": report.plan.model_dump(mode="json"),
        **report.summary(),
        "notes": [*file.notes, *prepared.notes],
    }


def save_table(
    store: Store, name: str, prepared: Prepared, report: CheckReport, *, upload_sha: str | None = None, synthetic: bool = False
) -> SavedTable:
    """Saves the slices of a report under a name, with the plan and the counts that they came from.

    Raises:
        InputError: No row was accepted, or a living table has the name.
    """
    if not report.accepted:
        raise InputError(f"None of the {report.rows:,} rows can be used, so there is nothing to save.")
    return store.tables.save(
        name,
        report.seed,
        upload_sha=upload_sha,
        decisions=report.plan.model_dump(mode="json"),
        report=source_of(prepared, report),
        model=report.plan.model,
        synthetic=synthetic,
    )


def load_demo(store: Store) -> list[SavedTable]:
    """The demo tables, one per made-up model, saved on the first call and found again on later ones."""
    return _load(store, DEMO_TABLE, "Demo")


def load_demo_oracle(store: Store) -> list[SavedTable]:
    """The demo's oracle, one table per made-up model: every slice of the ODD, tested with other samples than the demo tables."""
    return _load(store, DEMO_ORACLE, "Demo oracle")


def _load(store: Store, path: Path, title: str) -> list[SavedTable]:
    data = path.read_bytes()
    sha = store.uploads.put(path.name, data)
    living = {t.model: t for t in store.tables.list() if t.synthetic and t.upload_sha == sha}
    out = []
    for model in DEMO_MODELS:
        if model not in living:
            prepared = prepare(open_table(data, path.name), built_in(), overrides={"model": model})
            report = check(prepared)
            name = store.tables.free_name(f"{title}, {model}")
            living[model] = save_table(store, name, prepared, report, upload_sha=sha, synthetic=True)
        out.append(living[model])
    return out
