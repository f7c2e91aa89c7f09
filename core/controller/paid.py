"""The operators that cost something: looking for or making samples, and asking the model under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from core import operators
from core.controller import record as rec
from core.controller.context import Context
from core.controller.plan import Acquire, Evaluate
from core.controller.ranked import slices_of
from core.controller.record import Record
from core.controller.state import StepState
from core.digest import sha256_bytes, sha256_json
from core.errors import OddysseyError
from core.evaluation import Result
from core.operators import Acquired, RankResult

Decision = Literal["do", "skip"]
Tell = Callable[[StepState], None]
STOPPED = "it was stopped."
"""Why a slice is unfilled that was not looked at, as `core.operators.acquire` says it."""


@dataclass(eq=False)
class Paid:
    """What the paid steps of a run share.

    Attributes:
        ctx, record, run_id: Of the run.
        asked: What the question itself asks for ("acquire", "synthesis", "evaluate").
        auto_confirm: Whether what was asked for may cost something.
        evaluates: Whether the plan goes on to evaluate.
        acquired: Samples of the last acquisition.
        evaluated: Results of the last evaluation.
    """

    ctx: Context
    record: Record
    run_id: str
    asked: frozenset[str]
    auto_confirm: bool
    evaluates: bool
    acquired: Acquired | None = None
    evaluated: tuple[Result, ...] | None = None

    def run(self, step: Acquire | Evaluate, was: StepState, ranked: RankResult | None, decision: Decision | None, tell: Tell) -> StepState:
        """A step, as far as it may go."""
        if isinstance(step, Acquire):
            return self._acquire(step, was, ranked, decision)
        return self._evaluate(was, decision, tell)

    def restore(self, op: str) -> None:
        """Take what a step left in the record."""
        if op == "acquire":
            data = (self.record.read(n) for n in (rec.RETRIEVAL, rec.BUNDLE, rec.UNFILLED))
            self.acquired = operators.read_acquired(*data, datastore=self.ctx.datastore, media=self.ctx.settings.media)
        else:
            self.evaluated = operators.read_results_file(self.record.read(rec.RESULTS))

    def conditions(self, was: StepState) -> StepState:
        """A triage of the new results: what came out per realised slice, value and category (SliceNav, examples C and E)."""
        data = operators.conditions_csv(self.evaluated or (), self.ctx.seed.odd.names)
        sha = self.record.write(rec.CONDITIONS, data)
        rows = len(data.decode().splitlines()) - 1
        note = f"New results by realised slice, value and question category: {rows:,} groups."
        seen = sha256_bytes(self.record.read(rec.RESULTS))
        return replace(was, status="done", rows=rows, note=note, in_sha=seen, out_sha=sha, files=(rec.CONDITIONS,))

    def _acquire(self, step: Acquire, was: StepState, ranked: RankResult | None, decision: Decision | None) -> StepState:
        slices = slices_of(ranked) if ranked is not None else []
        if ranked is None or not slices:
            return replace(was, status="skipped", note="No slice was ranked before, so there is nothing to look for.")
        making = bool(was.estimate and "images" in was.estimate)  # it waits for the images alone
        if decision == "skip" and not making:
            return replace(was, status="skipped", note="Left out.", estimate=None)
        if "acquire" not in self.asked and decision is None:
            return replace(was, status="waiting", note="Nobody asked for samples; confirm to look for them.", estimate={"calls": 0})
        found = self._look(step, slices, images=False)
        images = self.ctx.endpoints.get("images")
        lacking = sum(int(u.get("lacking", 1)) for u in found.unfilled)
        if step.source != "datastore" and images is not None and lacking and decision != "skip":
            wanted = [(u["slice"], int(u.get("lacking", 1))) for u in found.unfilled]
            plan = operators.plan_synthesis(self.ctx.seed.odd, wanted, images, self.ctx.settings.media)
            told = (making and decision == "do") or (self.auto_confirm and "synthesis" in self.asked)
            if plan.calls and not told:  # what was made before costs nothing
                estimate = {"images": plan.calls, "model": images.name, "cost": plan.cost, "currency": plan.currency}
                note = f"{_verdicts(found)} {plan.calls:,} images would have to be made for {len(found.unfilled):,} slices."
                return replace(was, status="waiting", note=note, estimate=estimate, counts=dict(found.counts))
            found = self._look(step, slices, images=True)
        return self._keep(step, was, slices, found)

    def _look(self, step: Acquire, slices: list[dict[str, str]], images: bool) -> Acquired:
        return operators.acquire(
            self.ctx.seed.odd,
            slices,
            self.ctx.datastore,
            source=step.source,
            per_slice=step.per_slice,
            settings=self.ctx.settings,
            images=self.ctx.endpoints.get("images") if images else None,
            media=self.ctx.settings.media,
            progress=self.ctx.progress,
            cancel=self.ctx.cancel,
        )

    def _keep(self, step: Acquire, was: StepState, slices: list[dict[str, str]], found: Acquired) -> StepState:
        self.acquired = found
        out_sha = self.record.write(rec.RETRIEVAL, operators.retrieval_jsonl(found))
        self.record.write(rec.BUNDLE, operators.bundle_jsonl(found))
        self.record.write(rec.UNFILLED, operators.unfilled_jsonl(found))
        footage = self.ctx.datastore.digest if self.ctx.datastore else ""
        in_sha = sha256_json({"step": step.model_dump(mode="json", exclude={"reason"}), "slices": slices, "datastore": footage})
        verdicts = Counter(c.verdict for c in found.candidates)
        usable = sum(i.verdict != "invalid" for i in found.items)
        counts = dict(found.counts) | {str(k): n for k, n in verdicts.items()}
        counts |= {"unfilled": len(found.unfilled), "items": len(found.items), "usable": usable}
        note = _verdicts(found)
        if unseen := sum(u["reason"] == STOPPED for u in found.unfilled):
            note += f" It was stopped before the last {unseen:,} of {len(slices):,} slices."
        if usable and not self.evaluates:
            note += f" Ready to be evaluated, which nobody asked for: {usable:,}."
        if self.ctx.datastore is None and step.source != "synthesis":
            note += " There is no footage to look in: import a manifest."
        files = (rec.RETRIEVAL, rec.BUNDLE, rec.UNFILLED)
        rows = len(found.candidates)
        return replace(was, status="done", rows=rows, note=note, counts=counts, in_sha=in_sha, out_sha=out_sha, files=files, estimate=None)

    def _evaluate(self, was: StepState, decision: Decision | None, tell: Tell) -> StepState:
        if decision == "skip":
            return replace(was, status="skipped", note="Left out.", estimate=None)
        if self.acquired is None:
            return replace(was, status="skipped", note="No samples were looked for before, so there is nothing to evaluate.")
        items = [i for i in self.acquired.items if i.verdict != "invalid"]
        unfit = len(self.acquired.items) - len(items)
        if not items:
            why = f"none of the {len(self.acquired.candidates):,} candidates fits its slice and has a question"
            return replace(was, status="skipped", note=f"Nothing to evaluate: {why}.")
        vlm, judge = self.ctx.endpoints.get("vlm"), self.ctx.endpoints.get("judge")
        if vlm is None:
            note = (
                f"{len(items):,} samples are ready in {rec.BUNDLE}, but no endpoint of a model under test is set (ODDYSSEY_VLM_BASE_URL)."
            )
            return replace(was, status="skipped", note=note)
        estimate = operators.estimate(items, vlm, judge, self.ctx.store)
        if decision is None and not (self.auto_confirm and "evaluate" in self.asked):
            leaving = f"; {unfit:,} that {'contradicts its' if unfit == 1 else 'contradict their'} slice left out" if unfit else ""
            note = f"{_samples(len(items))} for {vlm.name}{leaving}."
            return replace(was, status="waiting", note=note, estimate=estimate.as_dict(), rows=len(items))
        tell(replace(was, status="running", rows=len(items)))
        done = operators.evaluate(
            self.ctx.store,
            items,
            vlm,
            judge,
            run_id=self.run_id,
            limits=self.ctx.limits,
            progress=self.ctx.progress,
            cancel=self.ctx.cancel,
            pause=self.ctx.pause,
            who=self.ctx.who,
        )
        if done.stopped:
            why = {"cancelled": "Paused", "paused": done.stopped.rstrip(".")}.get(done.why, f"Stopped: {done.stopped.rstrip('.')}")
            failed = int(done.counts.get("failed", 0))
            note = f"{why}. {len(done.results) - failed:,} of {len(items):,} are done and will not be asked again."
            note += f" Failed, to be asked again: {failed:,}." if failed else ""
            left = operators.estimate(items, vlm, judge, self.ctx.store)
            return replace(was, status="waiting", note=note, estimate=left.as_dict(), counts=dict(done.counts))
        self.evaluated = done.results
        out_sha = self.record.write(rec.RESULTS, operators.results_jsonl(done.results).encode())
        in_sha = sha256_json({"bundle": sha256_bytes(self.record.read(rec.BUNDLE)), **done.manifest})
        note = f"{_scored(done.counts)} {self._count()}{f' Left out because they contradict their slice: {unfit:,}.' if unfit else ''}"
        right = sum(r.status == "scored" and r.score == 1 for r in done.results)
        counts = {**done.counts, "right": right, "left_out": unfit}
        return replace(
            was,
            status="done",
            rows=len(done.results),
            note=note,
            counts=counts,
            in_sha=in_sha,
            out_sha=out_sha,
            files=(rec.RESULTS,),
            estimate=None,
        )

    def _count(self) -> str:
        """Add the results to the seed table that was asked about, and say so."""
        table = self.ctx.table
        if table is None:
            return "The table came from a file or is not in this workspace, so the results were not counted into it."
        try:
            grown = operators.count_results(self.ctx.store, table.id, self.run_id, who=self.ctx.who)
        except OddysseyError as e:
            return f"Not counted into the table: {e}"
        told = operators.counting(self.ctx.store, table.id, self.run_id)
        left = f" Left out: {', '.join(f'{n:,} ({why})' for why, n in told.left_out.items())}." if told.left_out else ""
        return f'{_samples(told.counted)} counted into the table "{grown.name}"; this can be undone.{left}'


def _verdicts(found: Acquired) -> str:
    n = Counter(c.verdict for c in found.candidates)
    made = sum(c.source == "synthetic" for c in found.candidates)
    ends = f" Made and not verified: {made:,}." if made else ""
    return (
        f"Candidates: {len(found.candidates):,}; full match {n['valid']:,}, something not known {n['partial']:,}, contradiction "
        f"{n['invalid']:,}. Slices unfilled: {len(found.unfilled):,}.{ends}"
    )


def _samples(n: int) -> str:
    return f"{n:,} sample{'' if n == 1 else 's'}"


def _scored(counts: Mapping[str, Any]) -> str:
    words = ("scored", "unscored", "failed", "blocked")
    return f"{', '.join(f'{int(counts.get(w, 0)):,} {w}' for w in words)}."
