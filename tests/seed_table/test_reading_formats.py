"""The same table in every format reads the same; damaged and foreign files are refused in words."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.seed_table.reading import RawTable, open_table

HEADER = ["weather", "n", "score", "note"]
ROWS = [["rain", "3", "0.5", 'says "wet"'], ["NA", "4", "1", "a, b"], ["None", "5", "0.25", ""], ["null", "6", "0", "two\nlines"]]


def cells(table: RawTable) -> list[list[str]]:
    columns = [[c.values[i].as_py() if i >= 0 else "" for i in c.codes.tolist()] for c in table.columns.values()]
    return [list(r) for r in zip(*columns, strict=True)]


def as_csv(separator: str = ",", encoding: str = "utf-8", header: list[str] | None = None, rows: list[list[str]] | None = None) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator).writerows([header or HEADER, *(rows if rows is not None else ROWS)])
    return out.getvalue().encode(encoding)


def as_excel() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "empty"
    sheet = book.create_sheet("results")
    for row in [HEADER, *[[r[0], int(r[1]), float(r[2]), r[3] or None] for r in ROWS]]:
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def as_parquet() -> bytes:
    table = pa.table(
        {
            "weather": pa.array([r[0] for r in ROWS]).dictionary_encode(),
            "n": pa.array([int(r[1]) for r in ROWS]),
            "score": pa.array([float(r[2]) for r in ROWS]),
            "note": pa.array([r[3] or None for r in ROWS]),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def as_jsonl(array: bool = False) -> bytes:
    records = [{"weather": r[0], "n": int(r[1]), "score": float(r[2]), "note": r[3] or None} for r in ROWS]
    return (json.dumps(records) if array else "\n".join(map(json.dumps, records))).encode()


MAKERS: dict[str, Callable[[], bytes]] = {
    "csv": as_csv,
    "tsv": lambda: as_csv("\t"),
    "semicolons": lambda: as_csv(";"),
    "pipes": lambda: as_csv("|"),
    "utf-8 with bom": lambda: as_csv(encoding="utf-8-sig"),
    "utf-16 with bom": lambda: as_csv(encoding="utf-16"),
    "utf-16 le without bom": lambda: as_csv(encoding="utf-16-le"),
    "excel": as_excel,
    "parquet": as_parquet,
    "json lines": as_jsonl,
    "json array": lambda: as_jsonl(array=True),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", MAKERS)
def test_every_format_reads_the_same(kind: str, packed: bool) -> None:
    data = MAKERS[kind]()
    file = open_table(gzip.compress(data) if packed else data, "table")
    assert file.columns == tuple(HEADER)
    assert cells(file.read()) == ROWS
    assert cells(file.read(["score", "weather"])) == [[r[2], r[0]] for r in ROWS]
    assert file.read().numbers.tolist() == [1, 2, 3, 4]
    assert cells(file.head(2)) == ROWS[:2]
    assert file.dialect.compression == ("gzip" if packed else "")


@pytest.mark.parametrize("kind", MAKERS)
def test_rejected_rows_come_back_unchanged(kind: str) -> None:
    text = open_table(MAKERS[kind](), "table").rows_as_csv([2, 4], ["bad", "worse"]).decode()
    assert list(csv.reader(io.StringIO(text))) == [["row", "reason", *HEADER], ["2", "bad", *ROWS[1]], ["4", "worse", *ROWS[3]]]


def test_the_bom_does_not_stick_to_the_first_header() -> None:
    file = open_table(as_csv(encoding="utf-8-sig"), "bom.csv")
    assert file.columns[0] == "weather"
    assert file.dialect.bom


def test_semicolons_with_decimal_commas() -> None:
    file = open_table(as_csv(";", rows=[["rain", "1", "0,5", "x"], ["snow", "2", "0,75", "y"]]), "comma.csv")
    assert file.dialect.separator == ";"
    assert cells(file.read(["score"])) == [["0,5"], ["0,75"]]


def test_latin_1_is_recognised_and_said() -> None:
    file = open_table("wetter,score\nnebel für alle,1\n".encode("cp1252"), "latin.csv")
    assert cells(file.read()) == [["nebel für alle", "1"]]
    assert file.notes


def test_typed_parquet_columns_become_what_a_person_would_write() -> None:
    frame = pd.DataFrame(
        {"flag": [True, False], "whole": [1.0, 2.0], "part": [0.1, float("nan")], "day": pd.to_datetime(["2026-01-02", "2026-01-03"])}
    )
    out = io.BytesIO()
    frame.to_parquet(out)
    assert cells(open_table(out.getvalue(), "t.parquet").read(["flag", "whole"])) == [["true", "1"], ["false", "2"]]
    assert cells(open_table(out.getvalue(), "t.parquet").read(["day"]))[0][0].startswith("2026-01-02")


def test_nested_columns_are_left_out_and_said() -> None:
    data = b'{"a": 1, "b": {"c": 2}}\n{"a": 2, "b": [1]}\n'
    file = open_table(data, "n.jsonl")
    assert file.columns == ("a",)
    assert "nested" in " ".join(file.notes)
    assert '{""c"": 2}' in file.rows_as_csv([1], ["x"]).decode()


def test_a_bad_json_line_is_a_broken_record_and_the_rest_is_read() -> None:
    table = open_table(b'{"a": 1}\n{"a": \n{"a": 3, "late": "x"}\n', "b.jsonl").read()
    assert cells(table) == [["1", ""], ["3", "x"]]
    assert table.numbers.tolist() == [1, 3]
    assert [p.row for p in table.broken] == [2]


def test_a_record_with_too_many_fields_is_a_broken_record() -> None:
    file = open_table(b"a,b\n1,2\n1,2,3\n4,5\n6\n", "w.csv")
    table = file.read()
    assert cells(table) == [["1", "2"], ["4", "5"]]
    assert [(p.row, p.kind) for p in table.broken] == [(2, "broken_row"), (4, "broken_row")]
    assert "1,2,3" in file.rows_as_csv([2], ["too many"]).decode()


def test_sheets_can_be_chosen_and_a_wrong_one_is_named() -> None:
    file = open_table(as_excel(), "x.xlsx")
    assert file.dialect.sheet == "results"
    assert "2 sheets" in " ".join(file.notes)
    with pytest.raises(InputError, match="its sheets: empty, results"):
        open_table(as_excel(), "x.xlsx", sheet="other")
    with pytest.raises(InputError, match="is empty"):
        open_table(as_excel(), "x.xlsx", sheet="empty")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no bytes"),
        (b"a,b\n", "record"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "not a table"),
        (b"%PDF-1.7 ...", "not a table"),
        (gzip.compress(b"a,b\n1,2\n" * 500)[:40], "gzip"),
        (b"\x1f\x8b", "gzip"),
        (as_parquet()[:-20], "damaged"),
        (as_excel()[:-200], "damaged"),
        (b"PK\x03\x04" + bytes(30), "damaged"),
        (b"[1, 2", "array|record|table"),
        (b'[{"a": 1}', "array"),
        (bytes(range(256)) * 4, "table"),
    ],
    ids=[
        "empty",
        "header only",
        "png",
        "pdf",
        "cut gzip",
        "gzip magic",
        "cut parquet",
        "cut excel",
        "zip magic",
        "bad list",
        "cut array",
        "junk",
    ],
)
def test_what_is_no_table_is_refused_in_words(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_table(data, "upload").read()


def test_a_file_that_is_not_there_and_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nope\.csv"):
        open_table(tmp_path / "nope.csv")
    with pytest.raises(InputError) as e:
        open_table(as_csv(), "t.csv").read(["wether", "score"])
    assert e.value.problems[0].suggestion == "weather"


def test_headers_that_repeat_or_are_empty_are_named_anew_and_said() -> None:
    file = open_table(b"a,,a\n1,2,3\n", "h.csv")
    assert file.columns == ("a", "column 2", "a (2)")
    assert len(file.notes) >= 2


TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00\r", exclude_categories=["Cs", "Cc"]), max_size=6).map(
    str.strip
)
RECORDS = st.integers(2, 4).flatmap(lambda k: st.lists(st.lists(TEXTS, min_size=k, max_size=k), min_size=1, max_size=6))


@given(RECORDS, st.sampled_from([",", ";", "\t", "|"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@settings(deadline=None)
def test_what_a_csv_writer_wrote_reads_back(rows: list[list[str]], separator: str, encoding: str) -> None:
    header = [f"c{i}" for i in range(len(rows[0]))]
    rows = [r for r in rows if any(r)] or [["x"] * len(header)]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    assert cells(open_table(out.getvalue().encode(encoding), "t.csv").read()) == rows


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("bench2drive/uniad_base_routes.csv", 218),
        ("compas_divexplorer/compas_discretized.csv", 6172),
        ("drivebench/drivebench_scores_long.csv", 328),
    ],
)
def test_public_files(path: str, rows: int) -> None:
    file = Path(__file__).parents[2].parent / "shared" / "data" / path
    if not file.is_file():
        pytest.skip(f"the public data file {path} is not on this machine")
    table = open_table(file).read()
    assert (table.rows, table.broken) == (rows, ())
    if "precipitation" in table.columns:
        assert "none" in table.columns["precipitation"].texts()
