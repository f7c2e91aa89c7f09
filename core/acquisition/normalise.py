"""A manifest as one Arrow table in the order of its ids: tags, questions and sources settled, what cannot be used counted."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.acquisition.importers import Records
from core.acquisition.manifest import ManifestPlan, ManifestReport, Rejected
from core.acquisition.read_tags import MISSING_WORDS, Tags, read_tags, tag_text
from core.acquisition.tag_rules import RulesDoc
from core.digest import sha256_json
from core.errors import InputError, Problem
from core.odd import Odd
from core.seed_table.raw import RawColumn
from core.seed_table.values import normal

CATEGORY = "question_category"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SYNTHETIC = ("true", "1", "1.0", "yes", "y", "t", "synthetic", "synthesised", "synthesized", "generated", "simulated", "rendered", "drawn")
NOT_SYNTHETIC = ("false", "0", "0.0", "no", "n", "f", "real", "camera", "recorded")
"""Texts of the column that says whether media are made up; what stands in neither list counts as made up, and is told."""
NUMBERS_KEPT = 20
"""Record numbers that a report lists per reason."""

Ints = npt.NDArray[np.int64]
_SHA = re.compile(r"[0-9a-f]{64}")
_PREFIX = re.compile(r"\s*\(?([A-Za-z])\s*[.):]\s+")


@dataclass(frozen=True, eq=False)
class Manifest:
    """A manifest that can be kept.

    Attributes:
        table: One row per accepted record, ascending ids.
        dims: Dimensions that it has tags for or not, all of the ODD.
        report: What became of the file.
        synthetic: Whether any row says that it is made up.
    """

    table: pa.Table
    dims: tuple[str, ...]
    report: ManifestReport
    synthetic: bool


@dataclass(frozen=True)
class Question:
    """A question of a data set, settled: an MCQ's answer is the letter of its option."""

    options: tuple[str, ...]
    answer: str
    qa_type: str


def normalise(records: Records, odd: Odd, plan: ManifestPlan, doc: RulesDoc) -> Manifest:
    """Reads all rows of a manifest.

    Raises:
        InputError: Not a single row can be used, or a column cannot be a dimension.
    """
    raw, rows = records.raw, records.raw.rows
    fields: dict[str, RawColumn] = {f: raw.columns[c] for f, c in plan.fields.items()}
    bad: dict[str, npt.NDArray[np.bool_]] = {}
    ids = _ids(fields, raw.columns, rows, bad)
    if "path" in fields:
        bad["it names no file or URL"] = fields["path"].codes < 0
    asks, questions, of_row = _questions(fields, rows, bad)
    rules = doc.formats[plan.format].rules if plan.format in doc.formats else ()
    tags = {d.name: read_tags(d, raw.columns, rows, plan, [r for r in rules if r.dimension == d.name]) for d in odd.dimensions}

    good = np.ones(rows, dtype=bool)
    rejected: list[Rejected] = []
    for reason, mask in bad.items():
        hit = np.flatnonzero(mask & good)
        good[hit] = False
        if hit.size:
            rejected.append(Rejected(reason, int(hit.size), tuple(raw.numbers[hit[:NUMBERS_KEPT]].tolist())))
    if raw.broken:
        numbers = tuple(p.row for p in raw.broken[:NUMBERS_KEPT] if p.row is not None)
        rejected.append(Rejected("it cannot be read as a record", len(raw.broken), numbers))
    kept = np.flatnonzero(good)
    if not kept.size:
        problems = [Problem(r.numbers[0] if r.numbers else None, "row", f"{r.rows:,} rows", r.reason) for r in rejected]
        raise InputError(f'None of the {rows + len(raw.broken):,} rows of "{records.name}" can be used.', problems)
    kept = kept[pc.sort_indices(ids.take(pa.array(kept))).to_numpy()]

    table, notes = _table(fields, plan, ids, kept, rows, asks, questions, of_row, tags)
    synthetic = bool(pc.any(table["synthetic"]).as_py())
    report = ManifestReport(
        rows=rows + len(raw.broken),
        accepted=int(kept.size),
        rejected=tuple(rejected),
        dimensions=tuple(t.report(d, kept) for d, t in tags.items()),
        questions=int(asks[kept].sum()),
        uncategorised=int((asks[kept] & (tags[CATEGORY].codes[kept] < 0)).sum()) if CATEGORY in tags else int(asks[kept].sum()),
        copies=int((table["copy_of"].to_numpy() >= 0).sum()),
        without_media=int(pc.sum(pc.equal(table["path"], "")).as_py()),
        notes=(*records.notes, *plan.notes, *notes),
    )
    return Manifest(table, odd.names, report, synthetic)


def _ids(fields: Mapping[str, RawColumn], columns: Mapping[str, RawColumn], rows: int, bad: dict[str, npt.NDArray[np.bool_]]) -> pa.Array:
    """Ids of all rows: as given, else the digest of path and question, whatever the order of the rows."""
    if "id" in fields:
        column = fields["id"]
        bad["it has no id"] = column.codes < 0
        first = np.zeros(rows, dtype=bool)
        first[np.unique(column.codes, return_index=True)[1]] = True
        bad["its id stands in an earlier row"] = ~first & (column.codes >= 0)
        return _texts(column, rows)
    parts = [_texts(fields.get(f), rows).to_pylist() for f in ("path", "question", "options", "answer")]
    out = [sha256_json(p)[:16] for p in zip(*parts, strict=True)]
    equal: defaultdict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(out):
        equal[text].append(row)
    if len(equal) < rows:  # they stay apart, numbered by what else they say
        cells = {name: [*c.texts(), ""] for name, c in sorted(columns.items())}
        for same in equal.values():
            if len(same) > 1:
                ordered = sorted(same, key=lambda r: [texts[columns[name].codes[r]] for name, texts in cells.items()])
                for number, row in enumerate(ordered[1:], 2):
                    out[row] = f"{out[row]}-{number}"
    return pa.array(out, pa.string())


def _questions(
    fields: Mapping[str, RawColumn], rows: int, bad: dict[str, npt.NDArray[np.bool_]]
) -> tuple[npt.NDArray[np.bool_], list[Question], Ints]:
    """Which rows ask something, the distinct settled questions, and that of each row (-1: none)."""
    of_row = np.full(rows, -1, dtype=np.int64)
    if "question" not in fields:
        return np.zeros(rows, dtype=bool), [], of_row
    asks = fields["question"].codes >= 0
    empty = np.full(rows, -1, dtype=np.int32)
    parts = [fields[f].codes if f in fields else empty for f in ("options", "answer", "qa_type")]
    distinct, inverse = np.unique(np.stack(parts, axis=1)[asks], axis=0, return_inverse=True)
    lists = {f: fields[f].texts() if f in fields else [] for f in ("options", "answer", "qa_type")}
    settled: list[Question] = []
    reasons: dict[str, set[int]] = {}
    for i, codes in enumerate(distinct.tolist()):
        options, answer, qa_type = (lists[f][c] if c >= 0 else "" for f, c in zip(lists, codes, strict=True))
        found = settle(options, answer, qa_type)
        settled.append(found if isinstance(found, Question) else Question((), "", ""))
        if isinstance(found, str):
            reasons.setdefault(found, set()).add(i)
    of_row[asks] = inverse.reshape(-1)
    for reason, which in reasons.items():
        bad[reason] = np.isin(of_row, list(which))
    return asks, settled, of_row


def settle(options: str, answer: str, qa_type: str) -> Question | str:
    """A question's options, answer and type as they stand in a manifest, settled; else the reason why it cannot be used."""
    listed = _options(options)
    if not answer:
        return "its question has no answer"
    kind = normal(qa_type)
    if not listed:
        if kind in ("mcq", "multiple choice"):
            return "its question is multiple choice but has no options"
        return Question((), answer, "VQA")
    if len(listed) < 2 or len(listed) > len(LETTERS):
        return f"its question has {len(listed)} options; allowed: 2 to {len(LETTERS)}"
    if len({normal(o) for o in listed}) < len(listed):
        return "its question has an option twice"
    texts = {normal(o): LETTERS[i] for i, o in enumerate(listed)}
    plain = _PREFIX.sub("", answer)
    letter = texts.get(normal(answer)) or texts.get(normal(plain)) or answer.strip("(). ").upper()
    if len(letter) != 1 or letter not in LETTERS[: len(listed)]:
        return "the answer to its question is none of the options"
    return Question(listed, letter, "MCQ")


def _options(text: str) -> tuple[str, ...]:
    """Options of a cell: a JSON list, or texts with | or line breaks between them; letters in front are taken off."""
    items: list[str] = []
    if text.startswith(("[", "{")):
        try:
            data = json.loads(text)
            items = [str(x) for x in (data.values() if isinstance(data, dict) else data)]
        except (ValueError, RecursionError):
            items = []
    if not items:
        items = re.split(r"\s*(?:\||\n)\s*", text)
    items = [x.strip() for x in items if x.strip()]
    letters = [m.group(1).upper() if (m := _PREFIX.match(x)) else "" for x in items]
    if items and letters == list(LETTERS[: len(items)]):
        items = [_PREFIX.sub("", x, count=1).strip() for x in items]
    return tuple(items)


def _table(
    fields: Mapping[str, RawColumn],
    plan: ManifestPlan,
    ids: pa.Array,
    kept: Ints,
    rows: int,
    asks: npt.NDArray[np.bool_],
    questions: list[Question],
    of_row: Ints,
    tags: dict[str, Tags],
) -> tuple[pa.Table, list[str]]:
    at, notes = pa.array(kept), []
    constants: dict[str, str] = {str(f): text for f, text in plan.constants.items()}
    out: dict[str, pa.Array] = {"row": pa.array(np.arange(kept.size, dtype=np.int32)), "id": ids.take(at)}
    for name in ("path", "caption", "question"):
        out[name] = _texts(fields.get(name), rows, constants.get(name, "")).take(at)
    for name in ("dataset", "split", "licence", "group"):
        out[name] = _texts(fields.get(name), rows, constants.get(name, "")).take(at).dictionary_encode()
    picked = pa.array(of_row[kept], mask=of_row[kept] < 0)
    out["options"] = pa.array([list(q.options) for q in questions], pa.list_(pa.string())).take(picked)
    for name in ("answer", "qa_type"):
        out[name] = pa.array([getattr(q, name) for q in questions], pa.string()).take(picked).fill_null("")
    hashes = pc.utf8_lower(_texts(fields.get("sha256"), rows).take(at))
    wrong = pc.and_(pc.not_equal(hashes, ""), pc.invert(pc.match_substring_regex(hashes, f"^{_SHA.pattern}$")))
    if wrong_rows := pc.sum(wrong).as_py():
        notes.append(f"{wrong_rows:,} texts in the column of the SHA-256 are none; they count as not given.")
    out["sha256"] = pc.if_else(wrong, "", hashes)
    said = pc.utf8_lower(_texts(fields.get("synthetic"), rows, constants.get("synthetic", "")).take(at))
    real = pc.is_in(said, pa.array([*NOT_SYNTHETIC, *MISSING_WORDS]))
    out["synthetic"] = pc.invert(real)
    if odd_rows := pc.sum(pc.invert(pc.or_(real, pc.is_in(said, pa.array(SYNTHETIC))))).as_py():
        notes.append(f"{odd_rows:,} rows say neither yes nor no to being made up; they count as made up.")
    out["asks"] = pa.array(asks[kept])
    place = {o: i for i, o in enumerate(dict.fromkeys(q.options for q in questions))}
    of_options = np.array([*(place[q.options] for q in questions), -1], dtype=np.int64)[of_row[kept]]
    copy_of = _copies(out, of_options)
    out["copy_of"] = pa.array(copy_of)
    notes += _differ(copy_of, out["answer"], {d: t.codes[kept] for d, t in tags.items()})
    for d, t in tags.items():
        out[f"tag:{d}"] = _coded(t.codes[kept], [str(tag_text(e)) for e in t.entries])
        out[f"by:{d}"] = _coded(t.by[kept], list(t.rules))
        out[f"text:{d}"] = _coded(t.unknown[kept], [text for text, _ in t.texts])
    return pa.table(out), notes


def _copies(out: dict[str, pa.Array], options: Ints) -> npt.NDArray[np.int32]:
    """(rows,) the first row that asks the same of the same media, -1 for a first row; media are the same by content, else by path."""
    known = pc.if_else(pc.equal(out["sha256"], ""), out["path"], out["sha256"])
    key = pc.if_else(pc.equal(known, ""), out["id"], known).dictionary_encode().indices.to_numpy().astype(np.int64)
    question = out["question"].dictionary_encode().indices.to_numpy().astype(np.int64)
    for part in (question, options + 1):
        key = np.unique(key * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].reshape(-1)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    of = first[inverse.reshape(-1)]
    return np.where(of == np.arange(of.size), -1, of).astype(np.int32)


def _differ(copy_of: npt.NDArray[np.int32], answers: pa.Array, tags: Mapping[str, npt.NDArray[np.int8]]) -> list[str]:
    """What copies say otherwise than the rows that stand for them, in sentences."""
    copies = np.flatnonzero(copy_of >= 0)
    of = copy_of[copies]
    answer = answers.dictionary_encode().indices.to_numpy()
    other = int((answer[copies] != answer[of]).sum())
    tagged = np.zeros(copies.size, dtype=bool)
    for codes in tags.values():
        tagged |= codes[copies] != codes[of]
    told = {"another answer than": other, "other tags than": int(tagged.sum())}
    return [f"{n:,} copies have {what} the row that they are copies of; the row with the first id counts." for what, n in told.items() if n]


def _coded(codes: npt.NDArray[np.signedinteger], entries: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(entries, pa.string()))


def _texts(column: RawColumn | None, rows: int, otherwise: str = "") -> pa.Array:
    """The texts of all rows; a constant where there is no column or the cell is empty."""
    if column is None:
        return pa.array([otherwise], pa.string()).take(pa.array(np.zeros(rows, dtype=np.int32)))
    return column.values.take(pa.array(column.codes, mask=column.codes < 0)).fill_null(otherwise)
