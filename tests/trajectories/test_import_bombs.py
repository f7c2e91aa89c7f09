"""Small files that would become huge, and names that no report can hold: memory stays bounded and the reason is told."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import tracemalloc

import numpy as np
import pytest
from numpy._core.numeric import _frombuffer

from core.errors import InputError
from core.trajectories.case_set import write_case_set
from core.trajectories.importers import argoverse2, import_source, navsim, wire, wod_submission
from core.trajectories.importers.pickles import read_pickle
from core.trajectories.importers.wire import Message, WireError
from core.trajectories.parquet import parquet_rows, write_parquet
from core.trajectories.report import LONGEST_NAME, LONGEST_NOTE, Outcome
from tests.cases import case
from tests.source_files import write_scenario
from tests.trajectories import written as w

MB = 2**20


class Calls:
    """Pickles to a call of anything with any arguments."""

    def __init__(self, function, *arguments):
        self.reduced = (function, arguments)

    def __reduce__(self):
        return self.reduced


def peak(run):
    """Most bytes that something takes while it runs."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("raw", [bytes(2 * MB), bytearray(2 * MB)], ids=["bytes", "bytearray"])
def test_an_array_that_is_asked_for_again_and_again_is_there_once(tmp_path, raw):
    kind = np.dtype("f8")
    asked = [Calls(_frombuffer, raw, kind, (len(raw) // 8,), "C") for _ in range(60)]
    path = w.write(tmp_path / "x.pkl", pickle.dumps(asked, protocol=5))
    assert path.stat().st_size < 3 * MB
    assert peak(lambda: read_pickle(path)) < 12 * MB
    found = read_pickle(path)
    assert len(found) == 60 and not found[0].value.flags.writeable and not found[0].value.any()


def test_one_array_behind_many_tokens_is_counted_for_each(tmp_path, navsim_classes, monkeypatch):
    one = navsim_classes.Trajectory(np.stack([np.arange(1, 9) * 2.0, np.zeros(8), np.zeros(8)], axis=1))
    path = w.write(tmp_path / "x.pkl", pickle.dumps({"predictions": [{f"t{i}": one for i in range(50)}]}))
    assert len(import_source(path, "navsim", expert=path).cases) == 50
    monkeypatch.setattr(navsim, "MOST_POSES", 399)
    with pytest.raises(InputError, match="more than 399 poses"):
        import_source(path, "navsim", expert=path)


@pytest.mark.parametrize("number", [10**400, -(10**400), 1 << 40_000], ids=["1e400", "-1e400", "40,000 bits"])
def test_a_whole_number_beyond_all_measure_is_refused(tmp_path, navsim_classes, number):
    one = navsim_classes.Trajectory(np.ones((8, 3)), navsim_classes.TrajectorySampling(interval_length=number))
    path = w.write(tmp_path / "x.pkl", pickle.dumps({"predictions": [{"t": one}]}))
    with pytest.raises(InputError, match=r"a whole number of [\d,]+ bits"):
        import_source(path, "navsim", expert=path)


@pytest.mark.parametrize("name", ["\ud800", "\x1b[31mred\x07", "a\nb\u2028c", "x" * 100_000], ids=["surrogate", "escape", "lines", "long"])
def test_a_name_that_cannot_be_shown_or_written_is_told_in_a_way_that_can(tmp_path, navsim_classes, name):
    rows = np.stack([np.arange(1, 9) * 2.0, np.zeros(8), np.zeros(8)], axis=1)
    dicts = {name: navsim_classes.Trajectory(rows), "good": navsim_classes.Trajectory(rows)}
    path = w.write(tmp_path / "x.pkl", pickle.dumps({"predictions": [dicts]}))
    made = import_source(path, "navsim", expert=path)
    assert [o.fate for o in made.report.outcomes] == ["rejected", "accepted"]
    assert len(write_case_set(tmp_path / "set", "x", made).cases) == 1
    for o in made.report.outcomes:
        assert o.where.isprintable() and len(o.where) <= LONGEST_NAME and o.case_id.isprintable() and len(o.case_id) <= LONGEST_NAME
        assert all(n.isprintable() and len(n) <= LONGEST_NOTE for n in o.notes)


def test_an_outcome_keeps_what_can_be_shown():
    assert Outcome("zeile 1 ä", "fall-ü", "accepted", notes=("gut – 3 m",)) == Outcome(
        "zeile 1 ä", "fall-ü", "accepted", "", ("gut – 3 m",)
    )
    assert Outcome("a\x00b", "c\td", "rejected").where == "a\N{REPLACEMENT CHARACTER}b"


def test_fields_of_messages_inside_count_together(monkeypatch):
    monkeypatch.setattr(wire, "MOST_FIELDS", 1000)
    inner = w.integer(1, 1) * 300
    assert len(Message(w.blob(4, inner) * 2).messages(4)) == 2
    with pytest.raises(WireError, match="more than 1,000 fields"):
        Message(w.blob(4, inner) * 4).messages(4)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE])
def test_an_archive_is_not_unpacked_beyond_its_limit(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(wod_submission, "LARGEST_FILE", MB)
    head = tarfile.TarInfo("x")
    head.type, head.size = kind, 64 * MB
    content = head.tobuf(tarfile.GNU_FORMAT) + bytes(64 * MB) + tarfile.TarInfo("shard.bin").tobuf()
    path = w.write(tmp_path / "submission.tar.gz", gzip.compress(content, 1))
    del content

    def read():
        with pytest.raises(InputError, match="unpacks to more than"):
            wod_submission.read_submission(path)

    assert peak(read) < 12 * MB


def test_a_damaged_archive_is_an_input_error(tmp_path):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("shard.bin")
        info.size = 5000
        archive.addfile(info, io.BytesIO(np.random.default_rng(0).bytes(5000)))
    data = bytearray(file.getvalue())
    for at in (2, 12, 40, 600, len(data) // 2, len(data) - 9):
        broken = data.copy()
        broken[at : at + 4] = b"\xff\x00\xff\x00"
        with pytest.raises(InputError):
            wod_submission.read_submission(w.write(tmp_path / "submission.tar.gz", bytes(broken)))


def test_rows_of_a_scenario_are_counted_before_they_are_read(tmp_path, monkeypatch):
    path = write_scenario(tmp_path)
    monkeypatch.setattr(argoverse2, "MOST_ROWS", 100)
    (outcome,) = import_source(path, "argoverse2").report.outcomes
    assert outcome.fate == "rejected" and "a scenario of at most 100 is read" in outcome.notes[0]


def test_a_text_that_a_mirror_repeats_is_not_held_for_all_rows_at_once(tmp_path):
    path = tmp_path / "cases.parquet"
    write_parquet(path, [case(f"s{i}-p", source={"note": "x" * MB}) for i in range(60)])
    assert path.stat().st_size < MB / 2
    seen = []
    assert peak(lambda: seen.extend(n for n, _, _ in parquet_rows(path))) < 30 * MB
    assert seen == list(range(1, 61))
