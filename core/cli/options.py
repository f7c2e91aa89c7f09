"""Options that several commands share, and how they become operator arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from core.errors import InputError
from core.odd import Odd
from core.operators import Prepared, load_odd, open_table, prepare
from core.seed_table import TableFile
from core.storage import SavedTable, Store

_TABLE = typer.Argument(help="CSV, TSV, Excel, Parquet or JSONL file, also gzipped.", show_default=False)
Table = Annotated[Path, _TABLE]
_TABLE_OPTION = typer.Option("--table", help="File of the table, or name or id of a saved one.", show_default=False)
OddName = Annotated[str, typer.Option("--odd", help="driving, infer, or the path of a YAML file.")]
Dims = Annotated[str, typer.Option("--dims", help="Dimensions to use, separated by commas.")]
Maps = Annotated[list[str] | None, typer.Option("--map", help="dimension=column; may be given several times.")]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--value",
        help="dimension:text=value reads a text as a value; =+value adds that value to the ODD; an empty value excludes the rows.",
    ),
]
Score = Annotated[
    str, typer.Option("--score", help='Column of the score; 1 is right. "-" for a column says that there is none, here and below.')
]
ScoreScale = Annotated[str, typer.Option("--score-scale", help="unit (0 to 1), percent (0 to 100) or boolean.")]
Truth = Annotated[str, typer.Option("--truth", help="Column of the right answer; with --predicted instead of a score.")]
Predicted = Annotated[str, typer.Option("--predicted", help="Column of the model's answer.")]
Count = Annotated[str, typer.Option("--count", help="Column of the number of samples behind each row.")]
AssumeN = Annotated[int | None, typer.Option("--assume-n", help="Samples behind each row where the file gives none.")]
ModelColumn = Annotated[str, typer.Option("--model-column", help="Column that names the model.")]
Model = Annotated[str, typer.Option("--model", help="Model whose rows are used.")]
SampleColumn = Annotated[str, typer.Option("--sample-column", help="Column that identifies a sample.")]
MissingWords = Annotated[list[str] | None, typer.Option("--missing-word", help='A text that means "no value" in this file, such as NA.')]
Sheet = Annotated[str, typer.Option("--sheet", help="Sheet of an Excel file.")]
Where = Annotated[list[str] | None, typer.Option("--where", help="dimension=value,value; may be given several times.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True)
class TableOptions:
    """Everything a command line says about a table; `table` is None only where a command can do without."""

    table: Path | None
    odd: str = "driving"
    dims: str = ""
    map: Sequence[str] = ()
    value: Sequence[str] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    sheet: str = ""

    def prepare(self) -> Prepared:
        """Opens the file and settles ODD and plan."""
        odd, columns, overrides = self.settle()
        return prepare(self.open(self.table), odd, dims=listed(self.dims), columns=columns, overrides=overrides)

    def saved(self, store: Store) -> SavedTable | None:
        """The saved table that is named, None if a file of this name is there.

        Raises:
            InputError: There is neither.
        """
        if self.table is None or self.table.is_file():
            return None
        name = str(self.table)
        for table in store.tables.list():
            if name in (table.id, table.name):
                return table
        known = ", ".join(f'"{t.name}"' for t in store.tables.list()) or "none"
        raise InputError(f'There is no file "{name}" and no saved table of this name; saved tables: {known}.')

    def open(self, path: Path | None) -> TableFile:
        """Opens a file."""
        if path is None:
            raise InputError("Name the file of the table.")
        return open_table(path, sheet=self.sheet or None)

    def settle(self) -> tuple[Odd | None, dict[str, str], dict[str, Any]]:
        """The ODD, None where it is to be inferred; the columns of dimensions; and the decisions on the plan."""
        scale = self.fields.get("scale")
        if scale not in (None, "", "unit", "percent", "boolean"):
            raise InputError(f'--score-scale: got "{scale}"; allowed: unit, percent, boolean.')
        n = self.fields.get("assume_n")
        if n is not None and n < 1:
            raise InputError(f"--assume-n: got {n}; allowed: a whole number of at least 1.")
        odd = None if self.odd == "infer" else load_odd(self.odd)
        mapped, added = value_map(self.value)
        odd = odd.with_values(added) if odd is not None and added else odd
        return odd, pairs(self.map, "--map"), {**self.fields, "value_map": mapped}


def _table_options(
    table: Table,
    odd: OddName = "driving",
    dims: Dims = "",
    map_: Maps = None,
    value: Values = None,
    score: Score = "",
    score_scale: ScoreScale = "",
    truth: Truth = "",
    predicted: Predicted = "",
    count: Count = "",
    assume_n: AssumeN = None,
    model_column: ModelColumn = "",
    model: Model = "",
    sample_column: SampleColumn = "",
    missing_word: MissingWords = None,
    sheet: Sheet = "",
) -> TableOptions:
    """The options of every command that reads a table, gathered."""
    fields = {
        "score": score,
        "scale": score_scale or None,
        "truth": truth,
        "predicted": predicted,
        "count": count,
        "assume_n": assume_n,
        "model_column": model_column,
        "model": model,
        "sample_column": sample_column,
        "missing_words": tuple(missing_word or ()),
    }
    return TableOptions(table, odd, dims, map_ or (), value or (), fields, sheet)


def reads_table(command: Callable[..., None], *, optional: bool = False, option: bool = False) -> Callable[..., None]:
    """Gives a command the options of a table, which it gets as its first argument, one `TableOptions`.

    Args:
        command: The command.
        optional: Whether it can do without a table.
        option: Whether the table is named by --table instead, as a file or as a saved table (see `TableOptions.saved`).
    """
    shared = list(signature(_table_options, eval_str=True).parameters.values())
    if optional:
        shared[0] = shared[0].replace(annotation=Annotated[Path | None, _TABLE], default=None)
    if option:
        shared[0] = shared[0].replace(annotation=Annotated[Path, _TABLE_OPTION])
    own = list(signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        options = _table_options(**{p.name: given.pop(p.name) for p in shared})
        command(options, **given)

    needed_first = sorted([*own, *shared] if option else [*shared, *own], key=lambda p: p.default is not Parameter.empty)
    run.__signature__ = Signature(needed_first)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*shared, *own)}
    return run


def listed(text: str) -> list[str]:
    """Items of a comma-separated list."""
    return [x.strip() for x in text.split(",") if x.strip()]


def pairs(items: Sequence[str] | None, option: str) -> dict[str, str]:
    """Left and right sides of `a=b` items."""
    out = {}
    for item in items or ():
        left, sign, right = item.partition("=")
        if not sign or not left.strip():
            raise InputError(f'{option}: got "{item}"; allowed: name=value.')
        out[left.strip()] = right.strip()
    return out


def value_map(items: Sequence[str] | None) -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """`dimension:text=value` items as a value map, and the values that a + before them adds to the ODD."""
    mapped: dict[str, dict[str, str]] = {}
    added: dict[str, list[str]] = {}
    for item in items or ():
        dim, sign, rest = item.partition(":")
        text, equals, value = rest.rpartition("=")  # a text of the file may hold a sign of its own, as in ">=3"
        if not (sign and equals and dim.strip() and text.strip()):
            raise InputError(f'--value: got "{item}"; allowed: dimension:text=value, dimension:text=+value or dimension:text=.')
        dim, text, value = dim.strip(), text.strip(), value.strip()
        if value.startswith("+"):
            value = value[1:].strip() or text
            added.setdefault(dim, []).append(value)
        mapped.setdefault(dim, {})[text] = value
    return mapped, added


def filters(items: Sequence[str] | None) -> dict[str, list[str]]:
    """`dimension=a,b` items as a filter; the same dimension given twice adds up."""
    out: dict[str, list[str]] = {}
    for item in items or ():
        for name, values in pairs([item], "--where").items():
            out.setdefault(name, []).extend(listed(values))
    return out
