"""From a file to a seed table: which ODD, which columns, what became of every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError
from core.odd import Odd, built_in, infer_odd, load_yaml
from core.seed_table import CheckReport, ImportPlan, TableFile, check_table, dimension_candidates, propose_plan
from core.seed_table.values import normal


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
        overrides: Fields of `ImportPlan` that the user set.

    Raises:
        InputError: A dimension, column or plan field does not exist, or no dimension can be found.
    """
    named = dict(columns or {})
    head = file.head()
    set_by_user = {k: v for k, v in (overrides or {}).items() if v not in (None, "", ())}
    if odd is not None:
        odd = odd.restricted(dims) if dims else odd
        plan = propose_plan(head, odd).model_copy(update=set_by_user)
        taken = {v for k, v in set_by_user.items() if k != "model" and isinstance(v, str)} | set(named.values())
        kept = {d: c for d, c in plan.columns.items() if c not in taken}
        return Prepared(file, odd, _without_clash(plan, set_by_user, {**kept, **named}))
    plan = propose_plan(head, None).model_copy(update=set_by_user)
    notes: tuple[str, ...] = ()
    if not dims:
        dims = dimension_candidates(head, plan)
        if not dims:
            raise InputError(f"No column looks like a dimension; name them (--dims a,b). Columns: {', '.join(file.columns)}.")
        notes = (f"Dimensions were chosen by content: {', '.join(dims)}. Name them (--dims) to choose others.",)
    mapping = {d: named.get(d, d) for d in dims}
    unknown = [c for c in mapping.values() if c not in file.columns]
    if unknown:
        raise InputError(f'The file has no column "{unknown[0]}". Columns: {", ".join(file.columns)}.')
    plan = _without_clash(plan, set_by_user, mapping)
    return Prepared(file, _inferred(file, plan, mapping), plan, notes)


def _without_clash(plan: ImportPlan, set_by_user: Mapping[str, object], columns: dict[str, str]) -> ImportPlan:
    """The plan with its columns, without proposed roles that a dimension or the user's own choice takes the place of."""
    update: dict[str, object] = {"columns": columns}
    for role in ("score", "count", "truth", "predicted", "model_column", "source_column", "qa_column", "sample_column"):
        if role not in set_by_user and getattr(plan, role) in {*columns.values(), *(v for k, v in set_by_user.items() if k != "model")}:
            update[role] = ""
    if "truth" in set_by_user and "score" not in set_by_user:
        update["score"] = ""
    if "score" in set_by_user and "truth" not in set_by_user:
        update |= {"truth": "", "predicted": ""}
    if "assume_n" in set_by_user and "count" not in set_by_user:
        update["count"] = ""
    return plan.model_copy(update=update)


def _inferred(file: TableFile, plan: ImportPlan, mapping: Mapping[str, str]) -> Odd:
    """The ODD of every value in the file, of all models, so that models tested on one file share it.

    Spellings that differ in case or separators only become one value, the first in order of name.
    """
    raw = file.read(list(dict.fromkeys(mapping.values())))
    missing = {w.casefold() for w in plan.missing_words}
    values: dict[str, list[str]] = {}
    for d, c in mapping.items():
        if len(raw.columns[c].values) > 2_000:
            raise InputError(
                f'Column "{c}" has {len(raw.columns[c].values):,} distinct values and cannot be a dimension. Leave it out, or bin it.'
            )
        mapped = plan.value_map.get(d, {})
        texts = [mapped.get(t, t) for t in raw.columns[c].texts() if t.casefold() not in missing]
        kept: dict[str, str] = {}
        for t in sorted(t for t in texts if t):
            kept.setdefault(normal(t), t)
        values[d] = list(kept.values())
    return infer_odd(values)


def check(prepared: Prepared) -> CheckReport:
    """Checks a prepared file; see `core.seed_table.check_table`."""
    return check_table(prepared.file, prepared.odd, prepared.plan)
