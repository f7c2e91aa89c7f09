"""The log of a run's states as a chain: each line names the SHA-256 of the one before, so that none can be changed or taken out unseen.

The manifest holds the SHA-256 of the log up to itself, the last line that of the manifest, and the workspace keeps the same states. Who
holds the folder alone and writes all of it anew, in agreement with itself, is seen only by a replay, by the workspace that ran it, or by
whoever wrote the SHA-256 of the manifest down elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.controller import record as rec
from core.controller.record import Record
from core.controller.state import RunState
from core.digest import sha256_bytes
from core.storage import Store

FIRST = ""


def add(record: Record, row: Mapping[str, Any]) -> None:
    """Add a line to the log.

    Raises:
        InputError: The folder cannot be written.
    """
    lines = _lines(record)
    record.append(rec.EVENTS, dict(row) | {"before": sha256_bytes(lines[-1]) if lines else FIRST})


def so_far(record: Record) -> dict[str, Any]:
    """How many lines the log has, and their SHA-256."""
    lines = _lines(record)
    return {"lines": len(lines), "sha256": _sha(lines)}


def faults(record: Record, state: RunState, manifest: Mapping[str, Any], store: Store) -> list[tuple[str, str]]:
    """What was changed in the log or in the manifest: name of the file and in which way; nothing if all is as it was written.

    Args:
        record: Of a run that has come to its end, or waits.
        state: Its newest state.
        manifest: As it stands in the record.
        store: The workspace; it may know the run or not.
    """
    lines, found = _lines(record), []
    before = [json.loads(x).get("before") for x in lines]
    wrong = next((i for i, b in enumerate(before) if b != (sha256_bytes(lines[i - 1]) if i else FIRST)), None)
    if wrong is not None:
        found.append((rec.EVENTS, f"line {wrong + 1:,} does not follow from the line before it"))
    seen = manifest.get("events") or {}
    if _sha(lines[: int(seen.get("lines", 0))]) != seen.get("sha256"):
        found.append((rec.EVENTS, "it is not the log that the manifest was written for"))
    if sha256_bytes(record.read(rec.MANIFEST)) != state.manifest_sha:
        found.append((rec.MANIFEST, "the file was changed after the run"))
    known = next((r for r in [_known(store, state.id)] if r is not None and r.created_at.isoformat() == state.created_at), None)
    if known is not None and known.state and known.state not in [json.loads(x)["state"] for x in lines]:
        found.append((rec.EVENTS, "the workspace remembers a state of this run that the log does not have"))
    return found


def _known(store: Store, run_id: str) -> Any:
    from core.errors import InputError

    try:
        return store.runs.get(run_id)
    except InputError:
        return None


def _lines(record: Record) -> list[bytes]:
    """The whole lines; one that a crash cut off is none."""
    return [x for x in record.read(rec.EVENTS).split(b"\n")[:-1] if x.strip()] if record.has(rec.EVENTS) else []


def _sha(lines: list[bytes]) -> str:
    return sha256_bytes(b"".join(x + b"\n" for x in lines))
