"""The end of a run: its report and its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import core
from core.controller import record as rec
from core.controller import trail
from core.controller.origin import origin
from core.controller.record import Record
from core.controller.report import report
from core.controller.state import RunState
from core.evaluation import Result
from core.operators import Acquired, versions


def write_end(
    record: Record, state: RunState, results: Mapping[int, Any], acquired: Acquired | None, evaluated: Sequence[Result] | None
) -> str:
    """Write what the run found, as far as it came, and the SHA-256 of every file.

    Args:
        record: Of the run.
        state: How far it is.
        results: Rankings and triages by position of their step.
        acquired: Samples, None if none were looked for.
        evaluated: Results of an evaluation, None if there was none.

    Returns:
        SHA-256 of the manifest.
    """
    record.write(rec.REPORT, report(state, results, acquired, evaluated, record.context(), record.odd().names).encode())
    record.keep(rec.MANIFEST)  # before the files are counted, so that the new one names the old
    return record.write(rec.MANIFEST, rec.dump(manifest(record, state)), kept=True)


def manifest(record: Record, state: RunState) -> dict[str, Any]:
    """What the run rests on and what it wrote; the only file but the log of events that holds times and versions."""
    context = record.context()
    calls = [c for c in record.lines(rec.CALLS) if c.get("usage")]
    return {
        "oddyssey": core.__version__,
        "run": state.id,
        "query": state.query,
        "who": state.who,
        "created_at": state.created_at,
        "status": state.status,
        "controller": state.plan.controller,
        "model": state.plan.model,
        "fallback_reason": state.plan.fallback_reason,
        "seed_sha256": context["seed_sha256"],
        "odd_sha256": record.odd().hash,
        "table": context["table"],
        "datastore": context["datastore"],
        "endpoints": context["endpoints"],
        "parameters": context["parameters"],
        "prompt_sha256": state.plan.prompt_sha,
        "llm_calls": len(record.lines(rec.CALLS)),
        "llm_tokens": {k: sum(int(c["usage"].get(k, 0)) for c in calls) for k in ("prompt", "completion")},
        "steps": [
            {"op": s.op, "status": s.status, "rows": s.rows, "in": s.in_sha, "out": s.out_sha, "seconds": round(s.seconds, 3)}
            for s in state.steps
        ],
        "files": record.shas(),
        "events": trail.so_far(record),
        "versions": versions(),
        "made_by": origin(),
    }
