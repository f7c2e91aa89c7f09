"""The fast CSV path against the standard library's reader, at block borders and on odd quoting."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.seed_table import delimited, dialect
from core.seed_table.reading import RawTable, open_table


def cells(table: RawTable) -> list[list[str]]:
    columns = [[c.values[i].as_py() if i >= 0 else "" for i in c.codes.tolist()] for c in table.columns.values()]
    return [list(r) for r in zip(*columns, strict=True)]


def as_the_standard_library_reads(text: str) -> tuple[list[list[str]], list[int], list[int]]:
    """Stripped cells and numbers of the good records, numbers of the broken ones."""
    header, *records = [r for r in csv.reader(io.StringIO(text, newline="")) if r]
    good = [(i, r) for i, r in enumerate(records, start=1) if len(r) == len(header)]
    return [[x.strip() for x in r] for _, r in good], [i for i, _ in good], sorted({*range(1, len(records) + 1)} - {i for i, _ in good})


def agrees(body: str) -> bool:
    """Compare; False if the file was refused for its quotes or because nothing in it can be read."""
    text = "h1,h2\n" + body
    try:
        file = open_table(text.encode(), separator=",")
        table = file.read()
    except InputError:
        return False
    rows, good, broken = as_the_standard_library_reads(text)
    assert cells(table) == rows
    assert table.numbers.tolist() == good
    assert [p.row for p in table.broken] == broken
    head = file.head(2)
    assert cells(head) == [r for r, i in zip(rows, good, strict=True) if i <= 2]
    assert [p.row for p in head.broken] == [i for i in broken if i <= 2]
    back = list(csv.reader(io.StringIO(file.rows_as_csv(good, ["why"] * len(good)).decode(), newline="")))
    assert [[x.strip() for x in r[2:]] for r in back[1:]] == rows
    return True


BODIES = st.lists(st.sampled_from(['"', '""', ",", "a", " ", "\n", "\r\n", "\r", "é", 'x,"y\nz"\n', "1,2\n"]), max_size=14).map("".join)


@given(BODIES)
@example('a"b,"c"\n1,2\n')
@example('"a"b,2\r3,4\r')
@example('1,"a\n\nb"\n\n2,c\n')
@settings(deadline=None, max_examples=200)
def test_fast_path_is_the_standard_reader(body: str) -> None:
    agrees(body)


@given(BODIES)
@settings(deadline=None, max_examples=200)
def test_borders_of_chunks_and_windows_do_not_show(body: str) -> None:
    with pytest.MonkeyPatch.context() as m:
        m.setattr(dialect, "CHUNK", 3)
        m.setattr(delimited, "_WINDOW", 2)
        agrees(body)


@pytest.mark.parametrize("body", ["1,2\n3,4\n", '"a\nb",2\n', "1\n1,2\n1,2,3\n", "\n1,2\n\n\r\n3,4", '1,"say ""hi"""\n', ",\n1,2\n"])
def test_ordinary_bodies_are_not_refused(body: str) -> None:
    assert agrees(body)


@pytest.mark.parametrize(
    ("body", "record"),
    [('1,2\n3,"4\n5,6\n', 2), ('1,"2', 1), ('1,2\n3,"4\n5,"x"\n7,8\n', 2), ('"1,2\n', 1)],
    ids=["in the middle", "at the end", "closed by a later cell", "first cell"],
)
def test_a_quote_that_is_not_closed_is_told_with_its_record(body: str, record: int) -> None:
    with pytest.raises(InputError, match=f"record {record} ") as e:
        open_table(b"a,b\n" + body.encode())
    assert [(p.row, p.kind) for p in e.value.problems] == [(record, "broken_quote")]


def test_broken_records_are_numbered_counted_and_downloaded_whole() -> None:
    file = open_table(b'a,b\n1,2\n3\n\n"x\ny",4\n5,6,7\n', "t.csv")
    table = file.read(["b"])
    assert (cells(table), table.numbers.tolist()) == ([["2"], ["4"]], [1, 3])
    assert [(p.row, p.kind, p.got, p.allowed) for p in table.broken] == [
        (2, "broken_row", "1 field: 3", "2 fields, as in the header"),
        (4, "broken_row", "3 fields: 5,6,7", "2 fields, as in the header"),
    ]
    back = list(csv.reader(io.StringIO(file.rows_as_csv([4, 3, 4], ["x", "y", "z"]).decode(), newline="")))
    assert back == [
        ["row", "reason", "a", "b", "raw"],
        ["4", "x", "", "", "5,6,7"],
        ["3", "y", "x\ny", "4", ""],
        ["4", "z", "", "", "5,6,7"],
    ]
    assert file.notes == ("1 blank line was skipped.",)


def test_a_table_of_broken_records_only_says_so() -> None:
    with pytest.raises(InputError, match="None of the 2 records"):
        open_table(b"a,b\n1\n2\n", separator=",").read()


def test_a_record_longer_than_a_block_is_read() -> None:
    long = "x" * 3_000_000
    assert cells(open_table(f"a,b\n1,{long}\n2,y\n".encode()).read()) == [["1", long], ["2", "y"]]


@pytest.mark.parametrize(
    ("text", "separator", "first"),
    [
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";", "1,5"),
        ("score, mean;n\n0,5;3\n0,7;4\n", ";", "0,5"),
        ("a\tb,c\n1\t2,3\n", "\t", "1"),
        ("a|b\n1;2|3;4\n", "|", "1;2"),
        ("a,b,c\n1,2,3\n1,2\n1,2,3\n", ",", "1"),
        ('"a;x",b\n"1;2;3",4\n', ",", "1;2;3"),
        ("text\nhello, you\nbye\n", "\t", "hello, you"),
        ("sep=;\na;b\n1;2\n", ";", "1"),
    ],
    ids=["decimal commas", "decimal comma and header", "tab", "pipe", "with a broken record", "quoted", "one column", "sep line"],
)
def test_separator(text: str, separator: str, first: str) -> None:
    file = open_table(text.encode())
    assert file.dialect.separator == separator
    assert cells(file.read())[0][0] == first


@pytest.mark.parametrize(
    ("encoding", "text", "shown"),
    [
        ("utf-8", "größe,n\nä,1\n", "utf-8"),
        ("utf-16-le", "größe,n\nä,1\n", "utf-16-le"),
        ("utf-16-be", "größe,n\nä,1\n", "utf-16-be"),
        ("utf-16", "größe,n\nä,1\n", "utf-16-le"),
        ("utf-32", "größe,n\nä,1\n", "utf-32-le"),
        ("latin-1", "größe,n\nä,1\n", "latin-1"),
        ("cp1252", "größe €,n\nä,1\n", "cp1252"),
        ("utf-8-sig", "größe,n\nä,1\n", "utf-8"),
    ],
)
def test_encoding(encoding: str, text: str, shown: str) -> None:
    file = open_table(text.encode(encoding))
    assert file.dialect.encoding == shown
    assert file.columns[0] == text.split(",")[0]
    assert cells(file.read()) == [["ä", "1"]]
    assert open_table(text.encode(encoding), encoding=encoding).columns == file.columns


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "klingon", "hex", "utf-16"])
def test_an_encoding_that_does_not_fit_is_refused(encoding: str) -> None:
    with pytest.raises(InputError, match=r"decoded as|Unknown encoding|binary"):
        open_table("größe,n\nä,12\n".encode("latin-1"), encoding=encoding)


@pytest.mark.parametrize("separator", ["", ",,", '"', "\n", "§"])
def test_a_separator_that_cannot_be_one_is_refused(separator: str) -> None:
    with pytest.raises(InputError, match="separate"):
        open_table(b"a,b\n1,2\n", separator=separator)


def test_missing_words_stay_texts_and_whitespace_goes() -> None:
    table = open_table(b" a , b\nNA, x \nNone,x\nnull,\nnan,  \n").read()
    assert table.columns["a"].texts() == ["NA", "None", "null", "nan"]
    assert (table.columns["b"].codes.tolist(), table.columns["b"].texts()) == ([0, 0, -1, -1], ["x"])


def test_a_file_on_disk_reads_like_its_bytes(tmp_path: Path) -> None:
    data = b"a,b\n" + b'"x\ny",2\n1\n' * 3000
    (tmp_path / "t.csv").write_bytes(data)
    one, two = open_table(tmp_path / "t.csv"), open_table(data, "t.csv")
    assert (one.name, one.size, one.sha256, one.dialect, one.notes) == (two.name, two.size, two.sha256, two.dialect, two.notes)
    assert cells(one.read()) == cells(two.read())
    assert one.rows_as_csv([2, 5], ["", ""]) == two.rows_as_csv([2, 5], ["", ""])
