"""Damaged, foreign and hostile files of every format end in words, and typed cells in what a person would write."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.seed_table import dialect
from core.seed_table.reading import TableFile, open_table


def excel(*rows: list[object]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def zipped(name: str, content: bytes = b"a,b\n1,2\n") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(name, content)
    return out.getvalue()


def column(file: TableFile, name: str) -> list[str]:
    c = file.read([name]).columns[name]
    return [[*c.texts(), ""][i] for i in c.codes.tolist()]


WHOLE = {
    "csv": b'weather,score\nrain,0.5\n"dry, ""cold""",1\n' * 4,
    "gzip": gzip.compress(b"weather,score\nrain,0.5\ndry,1\n", mtime=0),
    "excel": excel(["weather", "score"], ["rain", 0.5], ["dry", 1]),
    "parquet": parquet(pa.table({"weather": ["rain", "dry"], "score": [0.5, 1.0]})),
    "json lines": b'{"weather": "rain", "score": 0.5}\n{"weather": "dry", "score": 1}\n',
    "json array": b'[{"weather": "rain", "score": 0.5}, {"weather": "dry", "score": 1}]',
}


@pytest.mark.parametrize("kind", WHOLE)
@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_a_damaged_file_is_read_or_refused_in_words(kind: str, data: st.DataObject) -> None:
    hurt = bytearray(WHOLE[kind])
    for _ in range(data.draw(st.integers(0, 4))):
        hurt[data.draw(st.integers(0, len(hurt) - 1))] = data.draw(st.integers(0, 255))
    hurt = hurt[: data.draw(st.integers(0, len(hurt)))]
    try:
        table = open_table(bytes(hurt), "hurt").read()
    except InputError as e:
        assert str(e).startswith('"hurt"') or "Parquet" in str(e) or "records" in str(e)
    else:
        assert all(len(c.codes) == table.rows == len(table.numbers) for c in table.columns.values())


@given(st.binary(min_size=1, max_size=300))
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_read_or_refused_in_words(data: bytes) -> None:
    try:
        assert open_table(data).read().rows > 0
    except InputError as e:
        assert str(e)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (zipped("table.csv"), "no Excel workbook"),
        (zipped("xl/workbook.xml", b"<x"), "workbook is damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old Excel"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
        (b"SQLite format 3\x00" + bytes(100), "SQLite"),
        (gzip.compress(b""), "no bytes"),
        (gzip.compress(WHOLE["csv"])[:-9], "cut off"),
        (gzip.compress(WHOLE["csv"] * 99)[:-20] + b"\xff" * 20, "gzip"),
        (excel(["a", "b"]), "no records"),
        (excel(), "No sheet"),
        (parquet(pa.table({"a": pa.array([], pa.string())})), "no records"),
        (parquet(pa.table({"a": [[1]]})), "nested"),
        (b"\n\n\r\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b'{\n "a": 1,\n "b": [\n  2\n ]\n}\n', "None of the 6 records"),
        (b"[1, 2", "record|array"),
        (b"[" * 5000 + b"{", "damaged|record"),
    ],
    ids=[
        "zip that is no workbook",
        "workbook without content",
        "old excel",
        "web page",
        "sqlite",
        "gzip of nothing",
        "cut gzip",
        "gzip with a wrong end",
        "excel with a header only",
        "empty workbook",
        "parquet without rows",
        "parquet with nested columns only",
        "blank lines only",
        "byte order mark only",
        "one object over many lines",
        "cut list",
        "brackets only",
    ],
)
def test_refused_in_words(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_table(data, "upload.json" if data[:1] in b"{[" else "upload")


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"a,b\n" + b"1,2\n" * 50_000), excel(*[["x" * 2000] * 5] * 20), parquet(pa.table({"a": ["y" * 30_000, "z" * 30_000]}))],
    ids=["gzip", "excel", "parquet"],
)
def test_a_bomb_is_refused_before_it_is_unpacked(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    open_table(data)
    monkeypatch.setattr(dialect, "MAX_UNPACKED", 20_000)
    with pytest.raises(InputError, match="unpacks to"):
        open_table(data)


def test_typed_parquet_cells() -> None:
    day, instant = datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5)
    table = pa.table(
        {
            "short": pa.array([0.1, 2.0, None], pa.float32()),
            "long": pa.array([1e-7, 123456789012.0, -0.0]),
            "text": pa.array([b"a", "é".encode(), None]),
            "flag": pa.array([True, False, None]),
            "day": pa.array([day, day, None]),
            "at": pa.array([instant, instant, None], pa.timestamp("ns")),
            "far": pa.array([2**50, 0, None], pa.timestamp("s")),
            "none": pa.nulls(3),
            "kind": pa.DictionaryArray.from_arrays(pa.array([2, 0, None], pa.int8()), [" x ", "unused", "NA"]),
            "a.b": ["1", "2", "3"],
            "boxes": [[1], [], None],
        }
    )
    file = open_table(parquet(table))
    assert column(file, "short") == ["0.1", "2", ""]
    assert column(file, "long") == ["1e-07", "123456789012", "0"]
    assert column(file, "text") == ["a", "é", ""]
    assert column(file, "flag") == ["true", "false", ""]
    assert column(file, "day") == ["2024-01-02", "2024-01-02", ""]
    assert column(file, "at") == ["2024-01-02T03:04:05", "2024-01-02T03:04:05", ""]
    assert len(set(column(file, "far"))) == 3
    assert column(file, "none") == ["", "", ""]
    assert column(file, "kind") == ["NA", "x", ""]
    assert file.read(["kind"]).columns["kind"].texts() == ["x", "NA"]
    assert column(file, "a.b") == ["1", "2", "3"]
    assert "boxes" not in file.columns
    back = list(csv.reader(io.StringIO(file.rows_as_csv([1], ["why"]).decode())))
    assert dict(zip(*back, strict=True))["boxes"] == "[1]"
    assert dict(zip(*back, strict=True))["short"] == "0.1"


def test_bytes_that_are_no_text_are_refused_with_their_column() -> None:
    with pytest.raises(InputError, match='"picture"'):
        open_table(parquet(pa.table({"picture": [b"\xff\xfe\xfd"]}))).read()


def test_parquet_columns_of_one_name_are_told_apart() -> None:
    file = open_table(parquet(pa.Table.from_arrays([pa.array(["1"]), pa.array(["2"])], names=["x", "x"])))
    assert (column(file, "x"), column(file, "x (2)")) == (["1"], ["2"])


def test_typed_excel_cells_blank_rows_and_unnamed_columns() -> None:
    day, instant = datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5)
    file = open_table(
        excel([], [" day ", "at", "ok"], [day, instant, True], [None, " "], [day, instant, False, "extra"], [None, None, 2.0])
    )
    assert file.columns == ("day", "at", "ok", "column 4")
    assert column(file, "day") == ["2024-01-02", "2024-01-02", ""]
    assert column(file, "at") == ["2024-01-02T03:04:05", "2024-01-02T03:04:05", ""]
    assert column(file, "ok") == ["true", "false", "2"]
    assert column(file, "column 4") == ["", "extra", ""]
    assert any(n.startswith("2 blank lines") for n in file.notes)
    assert any("Column 4 has no name" in n for n in file.notes)


def test_formulas_that_were_never_computed_are_counted() -> None:
    file = open_table(excel(["a", "b"], [1, "=A2+1"], [2, "=A3+1"]))
    assert any(n.startswith("2 formulas have no stored result") for n in file.notes)
    assert column(file, "b") == ["", ""]


def test_json_keys_are_united_and_late_ones_start_empty() -> None:
    file = open_table(b'{"a": 1.0, "n": {"x": 1}}\n\n{"b": null, "a": true}\nnot json\n{"c": "\\ud800", "n": 3, "b": 1e3}\n')
    assert file.columns == ("a", "b", "c")
    assert (column(file, "a"), column(file, "b")) == (["1", "true", ""], ["", "", "1000"])
    table = file.read()
    assert (table.numbers.tolist(), [p.row for p in table.broken]) == ([1, 2, 4], [3])
    back = list(csv.reader(io.StringIO(file.rows_as_csv([1, 3, 4], ["x", "y", "z"]).decode())))
    assert back[0] == ["row", "reason", "a", "n", "b", "c", "raw"]
    assert back[1] == ["1", "x", "1", '{"x": 1}', "", "", ""]
    assert back[2] == ["3", "y", "", "", "", "", "not json"]
    assert back[3][3] == "3"


def test_json_array_items_that_are_no_objects_are_broken_records() -> None:
    file = open_table(json.dumps([{"a": 1}, 7, {"a": 2}]).encode())
    assert [p.row for p in file.read().broken] == [2]
    assert b"7" in file.rows_as_csv([2], ["no object"])


def test_what_does_not_apply_to_the_format_is_refused() -> None:
    with pytest.raises(InputError, match="sheet"):
        open_table(WHOLE["csv"], sheet="x")
    with pytest.raises(InputError, match="text files"):
        open_table(WHOLE["excel"], separator=";")
