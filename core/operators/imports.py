"""An import in progress as one JSON-ready value, from which file, ODD and plan can be found again after any interruption."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import InputError
from core.odd import Odd, built_in
from core.operators.fixes import Decided
from core.operators.table import ROLES, Prepared, inferred_odd, prepare
from core.operators.workspace import DEMO_ORACLE, DEMO_TABLE
from core.seed_table import ImportPlan, TableFile, propose_plan
from core.storage import Store

OddSource = Literal["driving", "infer", "own"]
FEW_MODELS = 6
"""Up to this many models of a file are all imported unless the user says otherwise; of more, the user chooses."""


class ImportChoices(BaseModel):
    """Everything that was decided in an import.

    Attributes:
        name: Name for the table, "" takes that of the file.
        file_name: Name of the file as it was uploaded.
        sheet: Sheet of a workbook, "" takes the first that is not empty.
        odd: Where the ODD comes from.
        odd_hash: The stored ODD, where it is the user's own.
        dims: Columns that are dimensions, where the ODD is inferred.
        added: Values added to the ODD during the import.
        plan: Columns, scale, counts and decisions on values.
        models: Models to import, where the file names several; one table each.
        left_out: Problems whose rows are left out knowingly.
        pending: Decisions that are marked but not applied yet: whether checked, and what to use.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = ""
    file_name: str = ""
    sheet: str = ""
    odd: OddSource = "driving"
    odd_hash: str = ""
    dims: tuple[str, ...] = ()
    added: dict[str, list[str]] = {}
    plan: ImportPlan = ImportPlan()
    models: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    pending: dict[str, tuple[bool, str]] = {}

    @classmethod
    def read(cls, decisions: dict[str, Any]) -> ImportChoices:
        """The choices of a stored draft.

        Raises:
            InputError: They cannot be read.
        """
        try:
            return cls.model_validate(decisions)
        except ValidationError as e:
            raise InputError("This unfinished import was saved by another version and cannot be read; start again from the file.") from e

    def dump(self) -> dict[str, Any]:
        """The choices as a draft keeps them."""
        return self.model_dump(mode="json")

    @property
    def decided(self) -> Decided:
        """The decisions on single problems."""
        return Decided(self.plan.value_map, self.added, self.left_out)

    def with_decided(self, d: Decided) -> ImportChoices:
        """The choices with other decisions on single problems, none pending."""
        plan = self.plan.model_copy(update={"value_map": d.value_map})
        return self.model_copy(update={"plan": plan, "added": d.added, "left_out": d.left_out, "pending": {}})


def begin_import(file: TableFile, sheet: str = "") -> ImportChoices:
    """First proposal for a file: the built-in ODD where each of its dimensions finds a column, else one inferred from the table."""
    driving = built_in()
    plan = propose_plan(file.head(), driving)
    start = ImportChoices(file_name=file.name, sheet=sheet)
    if all(plan.columns.get(d.name) for d in driving.dimensions if d.active):
        return propose(file, start, driving)
    return propose(file, start.model_copy(update={"odd": "infer"}), None)


def propose(file: TableFile, choices: ImportChoices, odd: Odd | None, dims: tuple[str, ...] = ()) -> ImportChoices:
    """The choices with columns proposed for another ODD; what was said about scores, counts and models stays.

    Args:
        file: The opened file.
        choices: With `odd` and `odd_hash` set as wanted.
        odd: The ODD, None to infer it.
        dims: Columns to use as dimensions; found by content where none is given.
    """
    old = choices.plan
    kept = {r: getattr(old, r) for r in ROLES if getattr(old, r) and getattr(old, r) not in dims}
    kept |= {k: getattr(old, k) for k in ("scale", "assume_n", "missing_words")}
    try:
        plan = prepare(file, odd, dims=dims if odd is None else (), overrides=kept).plan
    except InputError:  # nothing looks like a dimension: the page then says so and lets the user choose
        plan = propose_plan(file.head(), odd)
    update = {
        "plan": plan.model_copy(update={"value_map": {}, "model": ""}),
        "added": {},
        "pending": {},
        "dims": tuple(plan.columns) if odd is None else (),
    }
    out = choices.model_copy(update=update)
    return out if choices.models or not plan.model_column else out.model_copy(update={"models": default_models(file, plan)})


def default_models(file: TableFile, plan: ImportPlan) -> tuple[str, ...]:
    """All models that a file names if they are few, else none."""
    names = sorted(file.read([plan.model_column]).columns[plan.model_column].texts()) if plan.model_column else []
    return tuple(names) if len(names) <= FEW_MODELS else ()


def odd_of(file: TableFile, choices: ImportChoices, store: Store) -> Odd:
    """The ODD that the choices amount to, with the values that were added.

    Raises:
        InputError: The stored ODD is not there, or none can be inferred.
    """
    if choices.odd == "infer":
        return inferred_odd(file, choices.plan)
    if choices.odd == "own" and not choices.odd_hash:
        raise InputError("Choose one of the ODDs in the workspace, or paste your own.")
    odd = built_in() if choices.odd == "driving" else store.odds.get(choices.odd_hash)
    return odd.with_values(choices.added) if choices.added else odd


def prepared_for(file: TableFile, odd: Odd, choices: ImportChoices, model: str = "") -> Prepared:
    """What is to be checked for one model of the file ("" where it names none)."""
    columns = {d: c for d, c in choices.plan.columns.items() if d in odd.by_name and c}
    return Prepared(file, odd, choices.plan.model_copy(update={"columns": columns, "model": model}))


def is_demo(sha256: str) -> bool:
    """Whether a file is one of the made-up tables that ship with the product."""
    from core.digest import sha256_bytes

    return any(path.is_file() and sha256_bytes(path.read_bytes()) == sha256 for path in (DEMO_TABLE, DEMO_ORACLE))
