"""How a manifest of footage is read, and the report on what became of every row and every text of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from core.acquisition.importers import Records
from core.acquisition.tag_rules import RulesDoc
from core.errors import InputError, Problem
from core.odd import Odd
from core.seed_table import propose_plan
from core.seed_table.raw import take
from core.seed_table.values import normal

FieldName = Literal[
    "id", "path", "caption", "dataset", "split", "licence", "group", "question", "options", "answer", "qa_type", "sha256", "synthetic"
]
FIELDS: tuple[FieldName, ...] = get_args(FieldName)

FIELD_NAMES: dict[FieldName, tuple[str, ...]] = {
    "id": ("id", "sample id", "uid", "question id", "frame id", "image id", "token"),
    "path": ("path", "image path", "image", "file", "file name", "filename", "media", "video", "video path", "url", "image url", "uri"),
    "caption": ("caption", "description", "text", "summary"),
    "dataset": ("dataset", "source dataset", "source", "data source", "benchmark"),
    "split": ("split", "subset", "partition"),
    "licence": ("licence", "license", "terms"),
    "group": ("group", "video id", "log", "log id", "scene", "scene id", "scene token", "sequence", "clip", "drive"),
    "question": ("question", "query", "prompt"),
    "options": ("options", "choices", "candidates"),
    "answer": ("answer", "right answer", "ground truth", "gt", "label", "truth"),
    "qa_type": ("qa type", "question type", "answer type"),
    "sha256": ("sha256", "sha 256", "image sha256", "media sha256", "hash", "checksum"),
    "synthetic": ("synthetic", "generated", "is synthetic"),
}
"""Usual names of the columns, most telling first; compared without case and separators."""


MEDIA_IDS = ("frame id", "image id", "token")
"""Names that tell media apart, and rows only where no medium stands in two."""
HEAD = 2_000
"""Records that are looked at to find the columns of dimensions."""
MAX_TEXTS = 5_000
"""Different texts of a column that is read as a dimension."""


class ManifestPlan(BaseModel):
    """How a manifest is read.

    Attributes:
        format: Name of a kind of source with rules for tags, "table" for one without.
        dims: Column of a dimension.
        fields: Column of a field.
        constants: Content of a field that has no column, or where its cell is empty.
        value_map: Value that a text of a dimension stands for; an empty one leaves it missing.
        missing_words: Further texts that say nothing.
        notes: What was decided without being asked for, in sentences.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: str = ""
    dims: dict[str, str] = {}
    fields: dict[FieldName, str] = {}
    constants: dict[FieldName, str] = {}
    value_map: dict[str, dict[str, str]] = {}
    missing_words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnknownText:
    """A text that is no value of its dimension: kept as missing, with the text.

    Attributes:
        text: As it stands there.
        rows: Rows with it.
        suggestion: Nearest value, "" if nothing is near.
    """

    text: str
    rows: int
    suggestion: str = ""


@dataclass(frozen=True)
class DimensionReport:
    """What a manifest says along one dimension; tagged, several and missing add up to the accepted rows.

    Attributes:
        name: Dimension.
        column: Column that was read, "" if none.
        tagged: Rows with one value.
        several: Rows with several possible values, or with a tag that settles nothing.
        missing: Rows without a tag.
        unknown: Of the missing ones, those whose text is no value.
        unknown_texts: The most frequent of these texts.
        by_rule: Rows that each rule tagged.
        values: Rows per value among the tagged ones.
    """

    name: str
    column: str
    tagged: int
    several: int
    missing: int
    unknown: int
    unknown_texts: tuple[UnknownText, ...] = ()
    by_rule: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Rejected:
    """Rows that cannot be used, for one reason.

    Attributes:
        reason: In words.
        rows: Number of rows.
        numbers: Record numbers of the first ones.
    """

    reason: str
    rows: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class ManifestReport:
    """What became of a manifest.

    Attributes:
        rows: Records in the file; accepted and rejected ones add up to it.
        accepted: Those that can be used.
        rejected: Those that cannot, by reason.
        dimensions: One for each dimension of the ODD.
        questions: Accepted rows with a question of their own.
        uncategorised: Of these, those without a question category.
        copies: Accepted rows whose media and question stand in an earlier row.
        without_media: Accepted rows that name no file or URL.
        notes: In sentences.
    """

    rows: int
    accepted: int
    rejected: tuple[Rejected, ...]
    dimensions: tuple[DimensionReport, ...]
    questions: int
    uncategorised: int
    copies: int
    without_media: int
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ManifestReport:
        """The report that `as_dict` wrote."""
        dims = [{**d, "unknown_texts": tuple(UnknownText(**u) for u in d["unknown_texts"])} for d in data["dimensions"]]
        lists = {
            "rejected": tuple(Rejected(**{**r, "numbers": tuple(r["numbers"])}) for r in data["rejected"]),
            "dimensions": tuple(DimensionReport(**d) for d in dims),
            "notes": tuple(data["notes"]),
        }
        return cls(**{**data, **lists})


def propose_manifest(records: Records, odd: Odd, doc: RulesDoc, said: Mapping[str, Any] | None = None) -> ManifestPlan:
    """A plan for a manifest: what its columns look like, overridden by what the user said.

    Args:
        records: The opened manifest.
        odd: Its values are looked for.
        doc: Sources that are known.
        said: Fields of `ManifestPlan`; "-" for a column leaves a dimension or field without one.

    Raises:
        InputError: A column, dimension, field or format does not exist.
    """
    try:
        own = ManifestPlan.model_validate(dict(said or {}))
    except ValidationError as e:
        problems = [Problem(None, ".".join(map(str, x["loc"])), str(x.get("input")), x["msg"]) for x in e.errors()]
        raise InputError("A decision on how to read the manifest is not possible:", problems) from e
    columns = records.raw.columns
    kind = own.format or doc.format_of(columns) or "table"
    if kind != "table" and kind not in doc.formats:
        raise InputError(f'Unknown kind of source "{kind}"; allowed: table, {", ".join(doc.formats)}.')
    fields: dict[FieldName, str] = {}
    dims: dict[str, str] = {}
    constants: dict[str, str] = {}
    notes: list[str] = []
    if kind == "table":
        dims, fields, notes = _usual(records, odd)
    else:
        known = doc.formats[kind]
        fields = {k: c for k, c in known.fields.items() if c in columns and k in FIELDS}
        constants = dict(known.constants)
    taken = {*own.dims.values(), *own.fields.values()} - {"-"}
    dims = {d: c for d, c in ({d: c for d, c in dims.items() if c not in taken} | own.dims).items() if c != "-"}
    fields = {f: c for f, c in ({f: c for f, c in fields.items() if c not in taken} | own.fields).items() if c != "-"}
    plan = ManifestPlan.model_validate(
        own.model_dump()
        | {"format": kind, "dims": dims, "fields": fields, "constants": constants | own.constants, "notes": (*own.notes, *notes)}
    )
    _refuse_unknown(plan, tuple(columns), odd)
    return plan


def _usual(records: Records, odd: Odd) -> tuple[dict[str, str], dict[FieldName, str], list[str]]:
    """Columns of dimensions and fields by their usual names and by what they hold, and what was left out of these and why."""
    columns, notes = records.raw.columns, []
    dims = dict(propose_plan(take(records.raw, list(columns), HEAD), odd).columns)
    for d, c in list(dims.items()):
        if (n := len(columns[c].values)) > MAX_TEXTS:
            del dims[d]
            notes.append(f'Column "{c}" has {n:,} different texts, so it was not read as the dimension {d}.')
    names = {normal(c): c for c in reversed(list(columns)) if c not in dims.values()}
    fields: dict[FieldName, str] = {}
    for name, usual in FIELD_NAMES.items():
        for column in (names[u] for u in usual if u in names and names[u] not in fields.values()):
            if name == "id" and normal(column) in MEDIA_IDS and len(columns[column].values) < records.raw.rows:
                notes.append(f'Column "{column}" does not tell the rows apart, so it is not their id; rows get one from their content.')
                continue
            fields[name] = column
            break
    return dims, fields, notes


def _refuse_unknown(plan: ManifestPlan, columns: tuple[str, ...], odd: Odd) -> None:
    problems = []
    for where, pairs in (("dimension", plan.dims), ("field", plan.fields)):
        for name, column in pairs.items():
            if column not in columns:
                near = next(iter(get_close_matches(column, columns, 1)), "")
                problems.append(Problem(None, f"{where} {name}", column, f"a column: {', '.join(columns)}", near, "unknown_column"))
    for name in {*plan.dims, *plan.value_map}:
        if name not in odd.by_name:
            near = next(iter(get_close_matches(name, odd.names, 1)), "")
            problems.append(Problem(None, "dimension", name, f"one of {', '.join(odd.names)}", near, "unknown_dimension"))
        for text, value in plan.value_map.get(name, {}).items():
            if name in odd.by_name and value and value not in odd.by_name[name].by_name:
                problems.append(Problem(None, f"{name}: {text}", value, f"one of {', '.join(odd.by_name[name].by_name)}"))
    if problems:
        raise InputError("The manifest cannot be read so:", problems)
