"""From a file to a seed table: which ODD, which columns, what became of every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from core.errors import InputError, Problem
from core.odd import Odd, built_in, infer_odd, load_yaml
from core.seed_table import CheckReport, ImportPlan, TableFile, check_table, dimension_candidates, propose_plan
from core.seed_table.check import MAX_DISTINCT
from core.seed_table.values import normal

ROLES = {
    "score": "score",
    "truth": "right answer",
    "predicted": "predicted answer",
    "count": "count",
    "model_column": "model",
    "source_column": "source",
    "qa_column": "question type",
    "sample_column": "sample",
}
"""Fields of a plan that name a column which is no dimension, with their names for people."""
NO_COLUMN = "-"
"""Said instead of a column: the role is left empty although a column looks like it."""


@dataclass(frozen=True)
class Prepared:
    """A file with the ODD and the plan that it is to be checked with.

    Attributes:
        file: The opened file.
        odd: The ODD, inferred from the file where that was asked for.
        plan: Proposed columns, overridden by what the user named.
        notes: What was chosen without being asked for.
    """

    file: TableFile
    odd: Odd
    plan: ImportPlan
    notes: tuple[str, ...] = ()


def load_odd(name: str) -> Odd:
    """The ODD called "driving", or that of a YAML file.

    Raises:
        InputError: There is no such file, or it is no valid ODD.
    """
    if name == "driving":
        return built_in()
    path = Path(name)
    if not path.is_file():
        raise InputError(f'No ODD "{name}": say driving, infer, or the path of a YAML file.')
    try:
        return load_yaml(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as e:
        raise InputError(f'The ODD file "{path.name}" is not UTF-8 text.') from e


def prepare(
    file: TableFile,
    odd: Odd | None,
    *,
    dims: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Prepared:
    """Proposes a plan for a file and applies what the user said.

    Args:
        file: The opened file.
        odd: The ODD to map to; None infers it from the table.
        dims: Dimensions to use; for an inferred ODD, columns or the names given to them in `columns`.
        columns: Column of a dimension, as the user named it.
        overrides: Fields of `ImportPlan` that the user set; `NO_COLUMN` leaves a role empty.

    Raises:
        InputError: A dimension, column or plan field does not exist, or no dimension can be found.
    """
    named = dict(columns or {})
    said = {k: "" if k in ROLES and v == NO_COLUMN else v for k, v in (overrides or {}).items() if v not in (None, "", (), {})}
    head = file.head()
    proposed = propose_plan(head, odd)
    notes: tuple[str, ...] = ()
    if odd is not None:
        odd = odd.restricted(dims) if dims else odd
        taken = {v for k, v in said.items() if k in ROLES} | set(named.values())
        kept = {d: c for d, c in proposed.columns.items() if d in odd.by_name and c not in taken}
        plan = _settled(proposed, said, {**kept, **named})
    else:
        if not dims:
            dims = list(named) or dimension_candidates(head, _settled(proposed, said, {}))
            if not dims:
                raise InputError(f"No column looks like a dimension; name them (--dims a,b). Columns: {', '.join(file.columns)}.")
            if not named:
                notes = (f"Dimensions were chosen by content: {', '.join(dims)}. Name them (--dims) to choose others.",)
        unknown = [
            Problem(None, d, d, f"one of {', '.join(dims)}", next(iter(get_close_matches(d, dims, 1)), ""), "unknown_dimension")
            for d in dict.fromkeys([*named, *dict(said.get("value_map", {}))])  # type: ignore[call-overload]
            if d not in dims
        ]
        if unknown:
            raise InputError("A column or a value is given to a dimension that is not used:", unknown)
        plan = _settled(proposed, said, {d: named.get(d, d) for d in dims})
        odd = inferred_odd(file, plan)
    return Prepared(file, odd, plan, (*notes, *_chosen(plan, said, named)))


def _settled(proposed: ImportPlan, said: Mapping[str, object], columns: Mapping[str, str]) -> ImportPlan:
    """The proposal with the user's word over it, without proposed roles whose column or purpose the user's word took.

    Raises:
        InputError: A field does not exist or cannot hold what it was given.
    """
    taken = {*columns.values(), *(v for k, v in said.items() if k in ROLES)}
    plan = proposed.model_dump() | {role: "" for role in ROLES if getattr(proposed, role) in taken}
    if said.get("truth") and "score" not in said:
        plan["score"] = ""
    if said.get("score"):
        plan |= {"truth": "", "predicted": ""}
    if said.get("assume_n"):
        plan["count"] = ""
    try:
        return ImportPlan.model_validate({**plan, **said, "columns": dict(columns)})
    except ValidationError as e:
        problems = [Problem(None, ".".join(map(str, x["loc"])), str(x.get("input")), x["msg"]) for x in e.errors()]
        raise InputError("A decision on how to read the table is not possible:", problems) from e


def _chosen(plan: ImportPlan, said: Mapping[str, object], named: Mapping[str, str]) -> tuple[str, ...]:
    """Says which columns were chosen by name or content, so that nothing is guessed silently."""
    parts = [f"{d} = {c}" for d, c in plan.columns.items() if d != c and d not in named]
    parts += [f"{ROLES[r]} = {getattr(plan, r)}" for r in ROLES if r not in said and getattr(plan, r)]
    return (
        (f'Columns were chosen by name or content: {", ".join(parts)}. Name others to choose them, or "{NO_COLUMN}" for none.',)
        if parts
        else ()
    )


def inferred_odd(file: TableFile, plan: ImportPlan) -> Odd:
    """The ODD of every value in the file, of all models, so that models tested on one file share it.

    Spellings that differ in case or separators only become one value, the first in order of name.
    """
    raw = file.read(list(dict.fromkeys(plan.columns.values())))
    missing = {w.strip().casefold() for w in plan.missing_words}
    values: dict[str, list[str]] = {}
    for d, c in plan.columns.items():
        mapped = plan.value_map.get(d, {})
        if len(raw.columns[c].values) > MAX_DISTINCT:
            raise InputError(
                f'Column "{c}" has {len(raw.columns[c].values):,} distinct values and cannot be a dimension. Leave it out, or bin it.'
            )
        texts = [mapped.get(t, t) for t in raw.columns[c].texts() if t in mapped or t.casefold() not in missing]
        kept: dict[str, str] = {}
        for t in sorted(t for t in texts if t):
            kept.setdefault(normal(t), t)
        values[d] = list(kept.values())
    return infer_odd(values)


def check(prepared: Prepared) -> CheckReport:
    """Checks a prepared file; see `core.seed_table.check_table`."""
    return check_table(prepared.file, prepared.odd, prepared.plan)
