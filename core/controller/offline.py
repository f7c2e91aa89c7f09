"""The embedded controller: from a question to a plan by words and rules alone, the same every time, in about a millisecond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from core.controller.cues import asks_for, cues
from core.controller.interpret import Read, interpret, not_used
from core.controller.language import language
from core.controller.plan import TOP, Acquire, Evaluate, InOdd, Op, OutOfOdd, Plan, Step, Triage, Values
from core.controller.reading import Planned, Reading
from core.odd import Odd
from core.settings import Settings

__all__ = ["asks_for", "cues", "plan_offline"]

LONGEST = 4_000
"""Characters of a question that are read."""
_MANY = 3
"""Values per dimension that a broad extension of an own ODD takes."""


def plan_offline(query: str, odd: Odd, settings: Settings | None = None) -> Planned:
    """Plans without a model.

    Args:
        query: The question, in English for what is asked; names of values may be in any language.
        odd: Declares what can be asked about.
        settings: Where the text encoder lies; with it, and if it is installed, values that words did not match are suggested.

    Returns:
        A plan, or a question back if nothing was understood or the text gives orders that are none of its business.
    """
    text = query.encode("utf-8", "replace").decode("utf-8")
    notes = [f"Only the first {LONGEST:,} characters were read."] if len(text) > LONGEST else []
    text = text[:LONGEST]
    read = interpret(text, odd)
    if settings is not None and not read.cues.injection:
        from core.controller.suggest import suggest

        read = suggest(read, settings)
    clarify = _clarify(read)
    if read.understood:
        read.notes.append(not_used(read))
    steps = () if clarify else tuple(_Rules(read).steps())
    plan = Plan(
        query=text,
        controller="offline",
        steps=steps,
        unsupported_terms=_once(read.unsupported),
        notes=_once([*notes, *read.notes]),
    )
    return Planned(plan, read.readings, read.suggestions, clarify)


@dataclass
class _Rules:
    """From what was read to steps."""

    read: Read
    ext: Values = field(default_factory=dict)

    def steps(self) -> list[Step]:
        """The steps of the plan, in order."""
        r = self.read
        broad = "outside" in r.cues or ("edge" in r.cues and not r.focus and "inside" not in r.cues)
        self.ext = {d: kept for d, vs in r.focus.items() if (kept := [v for v in vs if not r.is_base(d, v)])}
        for d in [d for d in self.ext if not r.odd.by_name[d].extendable]:
            r.notes.append(f"{d} cannot be extended by a question, so {', '.join(self.ext.pop(d))} is not added.")
        base = any(r.is_base(d, v) for d, vs in r.focus.items() for v in vs)
        if "inside" in r.cues and "outside" not in r.cues and self.ext:
            names = _listed(self.ext)
            r.notes.append(f"{names} lies outside the ODD; as the question stays inside, the nearest values there are taken.")
            self.ext = {}
        if broad and not self.ext:
            self.ext = self._broad()
            if not self.ext:
                r.notes.append("This ODD declares no further values outside itself, so the ranking stays inside it.")
        ops = self._ops(bool(self.ext) and broad, base)
        if ops[0] == "out_of_odd" and "in_odd" not in ops and base and self.ext:
            self._say_combined()
        return [self._step(op, i, ops) for i, op in enumerate(ops)]

    def _ops(self, broad: bool, base: bool) -> list[Op]:
        """Which operators, in which order (docs/design of queries: Appendix G and examples A-H of the paper)."""
        c, named = self.read.cues, any(d in self.ext for d in self.read.focus)
        if c.source is not None:
            after: list[Op] = ["evaluate", "triage"] if "evaluate" in c else []
            return ["out_of_odd" if self.ext else "in_odd", "acquire", *after]
        if c.no_ranking and "triage" in c:
            self.read.notes.append("No ranking of what is untested, as the question says that none is wanted.")
            return ["triage"]
        if broad and not (named and not base):
            return ["triage", "in_odd", "out_of_odd"]
        if self.ext:
            return ["in_odd", "out_of_odd"] if base else ["out_of_odd", "triage"]
        if self.read.focus and not ("triage" in c or "edge" in c or "question_category" in self.read.focus):
            return ["in_odd", "triage"]
        return ["triage", "in_odd"]

    def _step(self, op: Op, i: int, ops: Sequence[Op]) -> Step:
        r, top = self.read, self.read.top or TOP
        if op == "triage":
            after = "evaluate" in ops
            why = "Group the new results by condition." if after else "See where the model fails among what was tested."
            return Triage(where=r.base_only(self._all_focus()), reason=why)
        if op == "in_odd":
            where = r.inside(self._all_focus())
            self._read_parents(where)
            return InOdd(where=where, top=top, reason=_reason("Rank what was never tested inside the ODD", where))
        if op == "out_of_odd":
            where = self._outside_where()
            more = {d: vs for d, vs in where.items() if vs != self.ext.get(d)}
            return OutOfOdd(extend=self.ext, where=where, top=top, reason=_reason(f"Rank outside the ODD with {_listed(self.ext)}", more))
        if op == "acquire":
            source = r.cues.source or "datastore"
            how = {"datastore": "Look for footage", "synthesis": "Make images"}.get(source, "Look for footage, and make what is not there,")
            return Acquire(source=source, per_slice=r.per_slice or 1, reason=f"{how} for the slices of the ranking.")
        return Evaluate(reason="Ask the model under test about the samples.")

    def _read_parents(self, where: Values) -> None:
        """Says which values inside the ODD stand for named ones outside it."""
        r = self.read
        for reading in [x for x in r.readings if x.how == "extension" and x.value in r.focus.get(x.dimension, ())]:
            parent = r.odd.by_name[reading.dimension].by_name[reading.value].parent
            if parent in where.get(reading.dimension, ()) and parent not in r.focus[reading.dimension]:
                note = f"stands for {reading.value} inside the ODD"
                r.readings = (*r.readings, Reading(reading.phrase, "parent", reading.dimension, parent, note))

    def _all_focus(self) -> Values:
        return {**self.read.focus, **{d: vs for d, vs in self.read.complement.items() if d not in self.read.focus}}

    def _outside_where(self) -> Values:
        """Values that a slice outside the ODD may have: of a dimension with named extended values only those."""
        where: Values = {}
        for d, vs in self.read.focus.items():
            where[d] = self.ext[d] if d in self.ext else [v for v in vs if self.read.is_base(d, v)]
        for d, vs in self.read.complement.items():
            where.setdefault(d, [*vs, *self.ext.get(d, [])])
        return {d: vs for d, vs in where.items() if vs}

    def _broad(self) -> Values:
        """What a question about the world outside adds where it names no values: that of example A, or some of every dimension."""
        odd, r = self.read.odd, self.read
        open_ = [d for d in odd.dimensions if d.extendable and d.name not in r.focus]
        chosen = [d for d in open_ if d.name in r.only]
        open_ = chosen or open_
        known = language().broad
        wanted = {d.name: [v.name for v in d.values if v.name in known.get(d.name, ()) and v.tier == "extended"] for d in open_}
        few = sum(map(bool, wanted.values())) < (2 if odd.source != "built-in" and not chosen else len(chosen))
        if few:
            wanted = {d.name: [v.name for v in d.values if v.tier == "extended"][:_MANY] for d in open_}
        left = {d: [v for v in vs if v not in r.left_out.get(d, ())] for d, vs in wanted.items()}
        left = {d: vs for d, vs in left.items() if vs}
        if left:
            r.notes.append(f"No value outside the ODD is named, so these are added: {_listed(left)}.")
        return left

    def _say_combined(self) -> None:
        both = [d for d in self.ext if any(self.read.is_base(d, v) for v in self.read.focus.get(d, ()))]
        for d in both:
            inside = ", ".join(v for v in self.read.focus.get(d, ()) if self.read.is_base(d, v))
            self.read.notes.append(
                f"Samples are taken for {d}={', '.join(self.ext[d])} only; ask again for {inside}, which lies inside the ODD."
            )


def _reason(start: str, where: Mapping[str, Sequence[str]]) -> str:
    text = f"{start}, where {_listed(where)}." if where else f"{start}."
    return text if len(text) <= 300 else text[:297] + "..."


def _listed(values: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{d}={'|'.join(vs)}" for d, vs in values.items())


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts without repeats and empty ones, in order."""
    kept: dict[str, str] = {}
    for t in texts:
        if t.strip():
            kept.setdefault(t.strip().casefold(), t.strip())
    return tuple(kept.values())


def _clarify(read: Read) -> str:
    """A question back where there is nothing to plan, "" otherwise."""
    odd = read.odd
    can = (
        'You can ask what is untested ("What scenarios are we missing?"), where the model fails, what lies outside the ODD, and have '
        "samples found or made for it and the model evaluated on them"
    )
    dims = [d for d in odd.dimensions if d.active] or list(odd.dimensions)
    some = "; ".join(f"{d.label}: {', '.join(v.name for v in d.base[:4])}" for d in dims[:4])
    if read.cues.injection:
        return (
            f"That reads like an order about the program itself, which a question cannot give; nothing was done. {can}. Conditions: {some}."
        )
    if not read.words:
        return f"What do you want to know? {can}. Conditions: {some}."
    if read.understood:
        return ""
    if read.unsupported:
        names = ", ".join(f'"{t}"' for t in dict.fromkeys(read.unsupported))
        near = " ".join(n for n in read.notes if any(t in n for t in read.unsupported))
        return f"The vocabulary has no {names}, so nothing was ranked for it. {near} Which condition instead? For example {some}."
    if read.readings:
        known = ", ".join(dict.fromkeys(f'"{r.phrase}" ({r.dimension}={r.value})' for r in read.readings if r.dimension))
        return f"Of that only {known} was recognised, and not what to do with it. {can}."
    return f"No condition of this ODD and no request was recognised in that. {can}. Conditions: {some}."
