"""Results made elsewhere: VLMEvalKit-style tables (index, question, A, B, …, answer, prediction, hit or score) and our own JSONL."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from core.errors import InputError, Problem
from core.evaluation.bundle import MAX_PROBLEMS, json_lines
from core.evaluation.choices import LETTERS, letter_of, read_choice
from core.evaluation.items import Item, Result
from core.evaluation.job import answer_key
from core.odd import Odd
from core.seed_table import TableFile
from core.seed_table.raw import RawColumn
from core.seed_table.scores import read_scores
from core.seed_table.values import ValueReader, normal

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("item id", "index", "id", "sample id", "question id"),
    "question": ("question", "prompt"),
    "options": ("options", "choices"),
    "answer": ("answer", "ground truth", "gt", "reference"),
    "prediction": ("prediction", "response", "model answer", "predicted", "output"),
    "score": ("hit", "score", "correct", "is correct", "verdict"),
}
"""Names under which a column is found, compared without case, blanks, hyphens and underscores."""
Scale = Literal["unit", "percent", "boolean"]

_result_type = TypeAdapter(Result)
_WHOLE = re.compile(r"([0-9]+)\.0+")
_NO_ANSWER = re.compile(r"\s*failed to obtain answer", re.I)
"""What VLMEvalKit writes for an answer where a call failed; its own score of such a row is 0."""
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Imported:
    """What was read from a file of results.

    Attributes:
        results: One per row that can be used; "unscored" where the file gives no score and no letter can be read.
        answers: The model's answer by item, for a judge.
        rows: Rows of the file.
        left_out: Rows that cannot be used, by reason.
        notes: What was chosen without being asked for, and what could not be mapped.
    """

    results: tuple[Result, ...]
    answers: Mapping[str, str]
    rows: int
    left_out: Mapping[str, int]
    notes: tuple[str, ...]


def read_results(
    file: TableFile,
    odd: Odd | None,
    *,
    model: str,
    items: Iterable[Item] = (),
    columns: Mapping[str, str] | None = None,
    scale: Scale | None = None,
    use_scores: bool = True,
) -> Imported:
    """Results of a table.

    A row belongs to the slice of the item with its id, if such items are given; else to the slice that its columns name, one per
    dimension of the ODD. A row whose slice is not fully known is kept with the fidelity "partial".

    Args:
        file: CSV, TSV, Excel, Parquet or JSONL.
        odd: Its dimensions; None where slices do not matter.
        model: Name under which the results count.
        items: Samples of a bundle, found by id.
        columns: Column of a role ("id", "question", "answer", "prediction", "score") or of a dimension, as the user named it.
        scale: Of the scores; None recognises it.
        use_scores: Whether the scores of the file count; else only answers are read.

    Raises:
        InputError: A column does not exist, neither score nor answer can be found, or the scale of the scores is not clear.
    """
    said, known = dict(columns or {}), {i.id: i for i in items}
    roles, notes = _roles(file, said, use_scores)
    dims, unmapped = _dimensions(file, odd, said) if odd is not None and not known else ({}, [])
    if known and "id" not in roles:
        raise InputError(f"No column holds the ids of the samples; name it. Columns: {', '.join(file.columns)}.")
    if unmapped and not known:
        notes.append(f"No column for {', '.join(unmapped)}: no row has a full slice, so none is evidence unless partial ones count.")
    letters = [c for c in LETTERS if c in file.columns]
    letters = letters[: next((i for i, c in enumerate(letters) if c != LETTERS[i]), len(letters))]
    raw = file.read(list(dict.fromkeys([*roles.values(), *dims.values(), *letters])))
    cells = {name: _texts(raw.columns[c]) for name, c in roles.items()}
    options = [_texts(raw.columns[c]) for c in letters]
    slices, misread = _slices(odd, {d: _texts(raw.columns[c]) for d, c in dims.items()}, len(raw.numbers))
    notes += [f'{n:,} rows: {d} = "{text}" is no value of the ODD.' for (d, text), n in misread.most_common(20)]
    scores = _scores(cells["score"], scale, notes) if "score" in cells else None
    answered = any(t.strip() for t in cells.get("prediction", ()))
    results, answers, left, seen = list[Result](), dict[str, str](), Counter[str](), set[str]()
    for i, number in enumerate(raw.numbers.tolist()):
        row = {name: texts[i] for name, texts in cells.items()}
        name = _name(row.get("id", ""), known) or f"row {number}"
        if name in seen:
            left["its id stands there twice"] += 1
            continue
        seen.add(name)
        item = known.get(name) if known else _item(name, row, [o[i] for o in options], slices[i], odd, file.name)
        if item is None:
            left["no sample of the bundle has its id"] += 1
            continue
        result = _result(item, row.get("prediction", ""), None if scores is None else scores[i], answered)
        if result is None:
            left["it has neither a score nor an answer"] += 1
            continue
        results.append(result)
        answers[item.id] = row.get("prediction", "")
    if not results:
        why = "; ".join(f"{n:,} rows: {k}" for k, n in left.items())
        raise InputError(f"No row of {file.name} can be used{f' ({why})' if why else ''}.")
    return Imported(tuple(results), answers, len(raw.numbers), dict(left), tuple(notes))


def read_own_results(path: Path) -> Imported | None:
    """Results of a JSONL file that this product wrote (`eval_results.jsonl`); None if the file is something else.

    Raises:
        InputError: The file cannot be read, or a line is not what its first line is.
    """
    out, problems, seen, left = list[Result](), list[Problem](), set[str](), Counter[str]()
    for number, data in json_lines(path):
        if not isinstance(data.get("item"), dict) or "status" not in data:
            if out or problems:
                raise InputError(f"Line {number} of {path.name} is no result, as the lines before it are.")
            return None
        try:
            result = _result_type.validate_python(data)
        except ValidationError as e:
            problems += [Problem(number, ".".join(map(str, x["loc"])), str(x.get("input"))[:80], x["msg"]) for x in e.errors()]
            continue
        problems += _flaws(number, result)
        if result.item.id in seen:
            left["its id stands there twice"] += 1
            continue
        seen.add(result.item.id)
        out.append(result)
    if problems:
        raise InputError(f"Lines of {path.name} are no results; {len(problems):,} problems:", problems[:MAX_PROBLEMS])
    rows = len(out) + left.total()
    return Imported(tuple(out), {r.item.id: r.response for r in out}, rows, dict(left), ()) if out else None


def _flaws(number: int, result: Result) -> list[Problem]:
    """Why a line cannot be a result of ours."""
    score, item = result.score, result.item
    rules = [
        (
            "score",
            score is None if result.status != "scored" else score is not None and 0 <= score <= 1,
            score,
            "0 to 1; none unless scored",
        ),
        ("scored_by", bool(result.scored_by) == (result.status == "scored"), result.scored_by, "who scored it; nobody unless scored"),
        ("key", _KEY.fullmatch(result.key) is not None, result.key[:80], "a SHA-256"),
        ("item.verdict", item.verdict in ("valid", "partial", "invalid"), item.verdict[:80], "valid, partial or invalid"),
        ("item.id", len(item.id) <= 500, item.id[:80], "at most 500 characters"),
    ]
    return [Problem(number, name, str(got), allowed) for name, ok, got, allowed in rules if not ok]


def _roles(file: TableFile, said: Mapping[str, str], use_scores: bool) -> tuple[dict[str, str], list[str]]:
    """Column by role, and what was chosen by name."""
    by_name = {normal(c): c for c in reversed(file.columns)}
    roles = {r: said[r] for r in COLUMNS if said.get(r)}
    missing = [Problem(None, r, c, f"one of {', '.join(file.columns)}") for r, c in said.items() if c and c not in file.columns]
    if missing:
        raise InputError(f"A column does not stand in {file.name}.", missing)
    found = {r: by_name[n] for r, names in COLUMNS.items() if r not in said for n in names[::-1] if n in by_name}
    roles = found | roles
    if not use_scores:
        roles.pop("score", None)
    if "score" not in roles and "prediction" not in roles:
        raise InputError(f"{file.name} has neither a column of scores nor one of answers; name one. Columns: {', '.join(file.columns)}.")
    chosen = ", ".join(f"{r} = {c}" for r, c in roles.items() if r not in said)
    return roles, [f"Columns were chosen by name: {chosen}."] if chosen else []


def _dimensions(file: TableFile, odd: Odd, said: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Column by dimension, and the active dimensions that have none."""
    by_name = {normal(c): c for c in reversed(file.columns)}
    found = {d: said.get(d) or by_name.get(normal(d), "") for d in odd.names}
    return {d: c for d, c in found.items() if c}, [d.name for d in odd.dimensions if d.active and not found[d.name]]


def _slices(odd: Odd | None, texts: Mapping[str, Sequence[str]], rows: int) -> tuple[list[dict[str, str]], Counter[tuple[str, str]]]:
    """The known values of each row, and the texts that are none."""
    out: list[dict[str, str]] = [{} for _ in range(rows)]
    misread: Counter[tuple[str, str]] = Counter()
    for dim, column in texts.items():
        assert odd is not None  # noqa: S101 (dimensions come from it)
        reader = ValueReader(odd.by_name[dim])
        read = {t: reader.read(t).value for t in set(column) if t}
        for values, text in zip(out, column, strict=True):
            if read.get(text):
                values[dim] = read[text]
            elif text:
                misread[dim, text] += 1
    return out, misread


def _texts(column: RawColumn) -> list[str]:
    """One text a row, "" where the cell is empty."""
    texts = ["", *column.texts()]
    return [texts[i + 1] for i in column.codes.tolist()]


def _scores(texts: Sequence[str], scale: Scale | None, notes: list[str]) -> list[float | None]:
    """Scores in [0, 1] by row, None where the text is none."""
    distinct = sorted(set(texts) - {""})
    if not distinct:
        return [None] * len(texts)
    weights = Counter(texts)
    found = read_scores(pa.array(distinct, pa.string()), np.array([weights[t] for t in distinct], dtype=np.int64), scale)
    if not found.confident:
        raise InputError(f"The scale of the scores is not clear, so say it (unit, percent or boolean). {found.evidence}")
    value = {t: float(v) if math.isfinite(v) and 0 <= v <= 1 else None for t, v in zip(distinct, found.values.tolist(), strict=True)}
    unread = sum(weights[t] for t, v in value.items() if v is None)
    if unread:
        notes.append(f"{unread:,} scores are no number on the scale {found.scale}; their rows are unscored.")
    return [value.get(t) for t in texts]


def _item(name: str, row: Mapping[str, str], options: Sequence[str], values: Mapping[str, str], odd: Odd | None, dataset: str) -> Item:
    kept = _without_empty_end(options) or _listed(row.get("options", ""))
    full = odd is not None and all(d.name in values for d in odd.dimensions if d.active)
    return Item(
        id=name,
        images=(),
        question=row.get("question", ""),
        options=kept if len(kept) > 1 else (),
        answer=letter_of(row.get("answer", ""), kept) if len(kept) > 1 else row.get("answer", ""),
        qa_type="MCQ" if len(kept) > 1 else "VQA",
        requested=dict(values),
        realised=dict(values) if full else None,
        verdict="valid" if full else "partial",
        dataset=dataset,
    )


def _name(text: str, known: Mapping[str, Item]) -> str:
    """An id as its sample has it: a program may have written the whole number 7 as 7.0."""
    return text if text in known or (m := _WHOLE.fullmatch(text)) is None else m[1]


def _without_empty_end(options: Sequence[str]) -> tuple[str, ...]:
    """Options up to the last that says something; an empty one between them keeps its letter."""
    said = ["" if o.strip().casefold() == "nan" else o for o in options]
    while said and not said[-1]:
        said.pop()
    return tuple(said)


def _listed(text: str) -> tuple[str, ...]:
    """Options written into one cell: a JSON list, or texts between "|"."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = text.split("|") if "|" in text else []
    return tuple(str(x).strip() for x in found) if isinstance(found, list) else ()


def _result(item: Item, prediction: str, score: float | None, answered: bool) -> Result | None:
    """The result of a row; None if it says nothing. `answered`: whether the file holds answers at all."""
    blank: dict[str, Any] = {"item": item, "key": answer_key(item, prediction), "response": prediction}
    if _NO_ANSWER.match(prediction):
        return Result(
            status="failed", score=None, scored_by="", why="the file says that no answer was obtained", **blank | {"response": ""}
        )
    if score is not None and answered and not prediction.strip():
        return Result(status="unscored", score=None, scored_by="", why="the file gives a score, but no answer", **blank)
    if score is not None:
        return Result(status="scored", score=score, scored_by="imported", why="as in the file", **blank)
    if not prediction.strip():
        return None
    result = Result(status="unscored", score=None, scored_by="", why="the file gives no score", **blank)
    choice = read_choice(prediction, item.options) if item.options and item.answer else None
    if choice is None or not choice.letter:
        return result
    right = float(choice.letter == item.answer)
    return replace(result, status="scored", score=right, scored_by="shortcut", choice=choice.letter, why=choice.why)
