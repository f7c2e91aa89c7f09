"""A recorded run once more, without a model: is every file the same, and if not, what has changed?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from core import operators
from core.controller import record as rec
from core.controller import trail
from core.controller.context import Context
from core.controller.executor import FREE, file_of, last_state, recorded
from core.controller.origin import changes
from core.controller.paid import STOPPED
from core.controller.plan import Acquire, Step, Triage
from core.controller.ranked import NOT_EXACT, ranking_csv, run_rank, run_triage, slices_of
from core.controller.record import Record, open_record
from core.controller.report import report
from core.controller.state import RunState, StepState
from core.digest import sha256_bytes
from core.errors import InputError, OddysseyError
from core.operators import RankResult
from core.settings import Settings
from core.storage import Store

if TYPE_CHECKING:
    from core.acquisition.datastore import Datastore

Status = Literal["equal", "differs", "not replayed"]


@dataclass(frozen=True)
class Check:
    """One file of a record.

    Attributes:
        name: Of the file.
        status: Whether it came out the same.
        why: What differs, or why it could not be made again.
    """

    name: str
    status: Status
    why: str = ""


@dataclass(frozen=True)
class Replay:
    """What became of a replay.

    Attributes:
        run: Id of the run.
        checks: One per file.
        changed: What else is not as it was: versions, the program's code, texts that a plan rests on.
    """

    run: str
    checks: tuple[Check, ...]
    changed: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether nothing differs; what could not be replayed is told apart."""
        return all(c.status != "differs" for c in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self) | {"equal": self.equal}


def replay(folder: Path, store: Store, settings: Settings, datastore: Datastore | None = None) -> Replay:
    """Runs the plan of a record again with the table, parameters and answers in it; no model is asked.

    Args:
        folder: Of the record.
        store: Where the footage of the run is looked up.
        settings: Of this machine.
        datastore: Footage, where the workspace does not have it.

    Raises:
        InputError: It is no record, its inputs are damaged, or the run came to no end yet.
    """
    record = open_record(folder)
    with _readable(record):
        state = last_state(record)
        if not state.manifest_sha:
            raise InputError(f'The run "{state.id}" is still at work, or was interrupted: go on with it first (python -m core resume).')
        manifest = record.json(rec.MANIFEST)
        checks = [_intact(record, name, sha) for name, sha in manifest["files"].items()]
        checks = [c for c in checks if c.status != "equal"]  # what was tampered with; the rest is computed anew below
        checks += [Check(name, "differs", why) for name, why in trail.faults(record, state, manifest, store)]
        checks += [Check(n, "differs", "the manifest does not name it") for n in record.names() if n not in manifest["files"]]
        changed = tuple([*_versions(manifest["versions"]), *changes(manifest.get("made_by") or {})])
    with _readable(record) if checks else nullcontext():  # an error in a record that nobody touched is one of ours
        ctx = recorded(record, Context(record.seed(), {}, settings, store))
        checks += _Again(record, state, ctx, datastore).run()
    return Replay(state.id, tuple(checks), changed)


@contextmanager
def _readable(record: Record) -> Iterator[None]:
    """Says that a record is damaged where its files are JSON and yet not what a run writes, whatever the reader stumbles over."""
    try:
        yield
    except InputError as e:
        if any(word in str(e) for word in ("damaged", "interrupted")):
            raise
        raise InputError(f'The record "{record.folder.name}" is damaged: {e}') from e
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as e:  # pydantic's errors are ValueErrors
        raise InputError(f'The record "{record.folder.name}" is damaged: {type(e).__name__} in what its files say ({e}).') from e


def _intact(record: Record, name: str, sha: str) -> Check:
    if not record.has(name):
        return Check(name, "differs", "the file is gone")
    return Check(name, "equal") if sha256_bytes(record.read(name)) == sha else Check(name, "differs", "the file was changed after the run")


def _versions(then: Mapping[str, str]) -> list[str]:
    now = operators.versions()
    return [f"{name} {then.get(name, 'not installed')} is now {now[name]}" for name in now if then.get(name) != now[name]]


def _but_reasons(unfilled: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in u.items() if k != "reason"} for u in unfilled]


class _Again:
    """The steps of a run once more."""

    def __init__(self, record: Record, state: RunState, ctx: Context, datastore: Datastore | None) -> None:
        self.record, self.state, self.ctx, self.datastore = record, state, ctx, datastore
        self.results: dict[int, Any] = {}
        self.ranked: RankResult | None = None
        self.acquired: Any = None
        self.evaluated: Any = None

    def run(self) -> list[Check]:
        """A check for each file that steps wrote, and for the report."""
        checks = []
        for i, (step, was) in enumerate(zip(self.state.plan.steps, self.state.steps, strict=True)):
            if was.status != "done":
                continue
            try:
                checks += self._step(i, step, was)
            except OddysseyError as e:
                checks += [Check(name, "not replayed", str(e)) for name in was.files]
        if self.record.has(rec.REPORT):
            checks.append(self._report(any(c.status == "not replayed" for c in checks)))
        return checks

    def _step(self, i: int, step: Step, was: StepState) -> list[Check]:
        if rec.CONDITIONS in was.files:
            if self.evaluated is None:
                return [Check(rec.CONDITIONS, "not replayed", "the results that it adds up could not be read")]
            return [self._same(rec.CONDITIONS, operators.conditions_csv(self.evaluated, self.ctx.seed.odd.names))]
        if isinstance(step, Triage):
            found = self.results[i] = run_triage(self.ctx, step)
            return [self._same(file_of(self.state, i, step), rec.dump(operators.triage_object(found)))]
        if isinstance(step, FREE):
            self.ranked = self.results[i] = run_rank(self.ctx, step)
            check = self._same(file_of(self.state, i, step), ranking_csv(self.ranked))
            if check.status == "differs" and (NOT_EXACT in was.note or not self.ranked.ranking.search.complete):
                check = Check(check.name, "not replayed", "the search was stopped by its limit of time, then or now, and is not exact")
            return [check]
        return self._acquire(step) if isinstance(step, Acquire) else self._evaluate()

    def _acquire(self, step: Acquire) -> list[Check]:
        kept = operators.read_acquired(
            *(self.record.read(n) for n in (rec.RETRIEVAL, rec.BUNDLE, rec.UNFILLED)), media=self.ctx.settings.media
        )
        self.acquired = kept
        wanted = self.record.context()["datastore"]
        names = (rec.RETRIEVAL, rec.BUNDLE, rec.UNFILLED)
        datastore = self.datastore or (operators.find_datastore(self.ctx.store, wanted["digest"]) if wanted else None)
        if wanted and (datastore is None or datastore.digest != wanted["digest"]):
            why = f'the footage "{wanted["name"]}" ({wanted["digest"][:12]}) is not in this workspace'
            return [Check(n, "not replayed", why) for n in names]
        if self.ranked is None:
            return [Check(n, "not replayed", "no ranking came before it") for n in names]
        unseen = [int(u["rank"]) for u in kept.unfilled if u["reason"] == STOPPED]
        turn = itertools.count(1)
        found = operators.acquire(
            self.ctx.seed.odd,
            slices_of(self.ranked),
            datastore,
            source=step.source,
            per_slice=step.per_slice,
            settings=self.ctx.settings,
            media=self.ctx.settings.media,
            made=[c for c in kept.candidates if c.source == "synthetic"],
            cancel=lambda: bool(unseen) and next(turn) >= min(unseen),  # a person may have stopped it there
        )
        data = (operators.retrieval_jsonl(found), operators.bundle_jsonl(found), operators.unfilled_jsonl(found))
        checks = [self._same(n, d) for n, d in zip(names, data, strict=True)]
        if checks[-1].status == "differs" and _but_reasons(kept.unfilled) == _but_reasons(found.unfilled):
            checks[-1] = Check(rec.UNFILLED, "not replayed", "the reasons came from the server that makes images; the slices are the same")
        return checks

    def _evaluate(self) -> list[Check]:
        self.evaluated = operators.judged_anew(operators.read_results_file(self.record.read(rec.RESULTS)))
        return [self._same(rec.RESULTS, operators.results_jsonl(self.evaluated).encode())]

    def _report(self, lacking: bool) -> Check:
        text = report(self.state, self.results, self.acquired, self.evaluated, self.record.context(), self.ctx.seed.odd.names)
        check = self._same(rec.REPORT, text.encode())
        told = Check(rec.REPORT, "not replayed", "it tells of steps that were not replayed")
        return told if lacking and check.status == "differs" else check

    def _same(self, name: str, data: bytes) -> Check:
        kept = self.record.read(name)
        if kept == data:
            return Check(name, "equal")
        old, new = kept.splitlines(), data.splitlines()
        line = next((i for i, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b), min(len(old), len(new)) + 1)
        return Check(name, "differs", f"from line {line:,}; {len(old):,} lines were recorded, {len(new):,} came out now")
