"""What was said of media since reaches results that exist already: a confirmed sample counts, a refuted one no longer does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

from core.acquisition.candidates import Candidate
from core.acquisition.fidelity import Tag, fidelity, verdict_of
from core.acquisition.synthesis import pixel_dims
from core.errors import InputError, OddysseyError
from core.evaluation.items import Item
from core.evaluation.rows import result_of, row_of
from core.odd import Odd
from core.operators.acquire_files import read_acquired
from core.operators.verify import apply_confirmations
from core.storage import Store

RETRIEVAL, BUNDLE = "dataset_retrieval.jsonl", "normalized_bundle.jsonl"
"""Files of a run's record."""


@dataclass(frozen=True)
class Settled:
    """What became of the results of some runs.

    Attributes:
        looked: Results that were looked at.
        changed: Those whose fidelity or realised slice changed.
        valid: Changed ones that count from now on.
        lost: Changed ones that counted and no longer do.
        runs: Runs with a change.
        tables: Names of seed tables that grew or shrank by it.
    """

    looked: int
    changed: int
    valid: int
    lost: int
    runs: tuple[str, ...]
    tables: tuple[str, ...]


def settle_results(store: Store, odd: Odd, *, run_ids: Collection[str] | None = None, who: str) -> Settled:
    """Grade the samples of finished evaluations anew by what was said of their media since.

    A further row is added for each result that changes, as for a correction; the score stays. Taking answers back and calling
    this again takes the change back too, since samples are graded from what was known when they were acquired.

    Args:
        store: The workspace.
        odd: Grades the tags.
        run_ids: Evaluations; all of the workspace if None.
        who: Who does it, for the rows.

    Raises:
        InputError: Nobody is named, or a result was corrected at the same moment.
    """
    if not who.strip():
        raise InputError("Results are changed by somebody; say who you are.")
    count: Counter[str] = Counter()
    runs: dict[str, None] = {}
    tables: dict[str, None] = {}
    for run in store.results.runs(run_ids):
        rows = store.results.rows(run.run_id)
        known = _recorded(store, run.run_id)
        first = [result_of(r if not r.version else store.results.history(run.run_id, r.item_id)[0]).item for r in rows]
        before = [known.get(i.id) or _candidate(i, odd) for i in first]
        for row, at_first, was, after in zip(rows, first, before, apply_confirmations(store, before, odd), strict=True):
            count["looked"] += 1
            item = result_of(row).item
            fits = (at_first.verdict, at_first.realised) if after is was else (after.verdict, after.realised)
            if fits == (item.verdict, item.realised):
                continue
            changed = replace(result_of(row), item=replace(item, verdict=fits[0], realised=fits[1]))
            why = "fidelity confirmed" if after.confirmed else "fidelity as it was acquired"
            grown = store.tables.correct(row_of(run.run_id, changed, version=row.version + 1, who=who.strip(), why=why))
            count.update(["changed", *(["valid"] if fits[0] == "valid" else []), *(["lost"] if item.verdict == "valid" != fits[0] else [])])
            runs[run.run_id] = None
            tables |= dict.fromkeys(t.name for t in grown)
    return Settled(count["looked"], count["changed"], count["valid"], count["lost"], tuple(runs), tuple(tables))


def _recorded(store: Store, run_id: str) -> dict[str, Candidate]:
    """The candidates of a run of the controller, as its record has them; {} for an evaluation without one."""
    try:
        folder = store.runs.path(store.runs.get(run_id))
        found = read_acquired((folder / RETRIEVAL).read_bytes(), (folder / BUNDLE).read_bytes())
    except (OSError, OddysseyError):
        return {}
    return {c.id: c for c in found.candidates}


def _candidate(item: Item, odd: Odd) -> Candidate:
    """A sample of which only the item is known: what it shows where that was known in full, else nothing is."""
    made = item.source == "synthetic"
    shown = set(pixel_dims(item.requested))
    tags: dict[str, Tag] = {d: None for d in item.requested}
    if item.realised is not None:
        tags |= item.realised
    elif made:
        tags |= {d: (v,) if d in shown else v for d, v in item.requested.items()}
    flags = fidelity(odd, item.requested, tags)
    return Candidate(
        id=item.id,
        source="synthetic" if made else "datastore",
        path=item.images[0] if item.images else "",
        requested=item.requested,
        tags=tags,
        fidelity=flags,
        verdict=verdict_of(flags),
        matches=sum(f == "match" for f in flags.values()),
        media_sha256=item.image_sha256[0] if len(item.image_sha256) == 1 else "",
        question=item.question,
        options=item.options,
    )
