"""Manifests as nobody should write them: nothing crashes, nothing moves to another row, nothing is guessed, nothing is lost."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.acquisition.datastore import FILE, META, ROWS
from core.acquisition.importers import open_records
from core.acquisition.locate import locate
from core.acquisition.media import read_media
from core.errors import InputError
from core.evaluation.items import Result
from core.odd import built_in
from core.operators import acquire, bundle_jsonl, read_acquired, read_manifest, read_results_file, retrieval_jsonl, unfilled_jsonl
from core.operators.footage import build_datastore
from core.settings import Settings

ODD = built_in()
SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""End a line for Python's splitlines, and not for JSON Lines."""


def table(text: str | bytes, name: str = "m.csv"):
    return read_manifest(text if isinstance(text, bytes) else text.encode(), name).manifest.table.to_pylist()


def store_of(text: str, tmp_path: Path, name: str = "m.csv"):
    return build_datastore(read_manifest(text.encode(), name), tmp_path / "stores", root=tmp_path)


def look(datastore, tmp_path, slices, **k):
    own = Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path / "home")})
    return acquire(ODD, slices, datastore, **{"source": "datastore", "per_slice": 1, "settings": own, "media": own.media} | k)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(st.sampled_from(["a.b", "a.#", "a.b.c", "c"]), st.integers(0, 3)), min_size=1, max_size=6), st.data())
def test_a_name_that_comes_twice_in_a_record_moves_no_cell_to_another_row(flat, data):
    records = [
        {"id": str(i), **r} | data.draw(st.sampled_from([{}, {"a": {"b": 9}}, {"a": {"#": 9, "b": {"c": 9}}}])) for i, r in enumerate(flat)
    ]
    raw = open_records(json.dumps(records).encode(), "m.json").raw
    for name, column in raw.columns.items():
        assert len(column.codes) == len(records), name
    for i, r in enumerate(records):
        for name in set(r) - {"a", "id"}:  # in front of the nested ones, so they count
            assert raw.columns[name].texts()[raw.columns[name].codes[i]] == str(r[name])
        for name, column in raw.columns.items():
            if name not in r and "a" not in r:
                assert column.codes[i] < 0


def test_a_name_that_comes_twice_in_a_record_is_told():
    records = open_records(b'[{"w.x": "1", "w": {"x": "2"}}, {"p": "b"}, {"w": {"x": "3"}}]', "m.json")
    assert records.notes == ("1 cells have the name of another one of the same record, written with dots; the first one counts.",)


@pytest.mark.parametrize("count", ["unknown", "NaN", "inf", "-5", "3.7", "1e300", "1e9", "", True, [1]])
def test_what_is_no_count_makes_no_tag(count):
    def tags(objects):
        record = {"sample_token": "1", "image": {"rel_path": "a.jpg"}, "scene_token": "s", "objects": objects}
        other = record | {"sample_token": "2", "objects": {"vehicle.car": 2, "human.pedestrian.adult": 1}}
        row, whole = table(json.dumps([record, other]), "m.json")
        assert (whole["tag:traffic_type"], whole["tag:road_users_present"]) == ("sparse", "pedestrians")
        return row["tag:traffic_type"], row["tag:road_users_present"], row["tag:environment"]

    if count not in ("", [1]):  # an empty cell is no cell; a list is told by another name
        assert tags({"vehicle.car": count, "vehicle.truck": 3, "human.pedestrian.adult": 1}) == (None, "pedestrians", None)
        assert tags({"vehicle.bicycle": count, "human.pedestrian.adult": 1, "vehicle.car": 1}) == ("sparse", None, None)
        assert tags({"movable_object.barrier": count, "movable_object.trafficcone": 30})[2] is None
    assert tags({"vehicle.car": count})[0] is None


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 5_000])
def test_nesting_without_end_is_a_text_like_any_other(deep):
    quoted = '"' + deep.replace('"', '""') + '"'
    rows = table(f"id,path,time,question,options,answer\n1,a.jpg,{quoted},,,\n2,b.jpg,night,,,\n3,c.jpg,night,Q?,{quoted},A\n")
    assert [(r["id"], r["tag:time"], r["text:time"]) for r in rows] == [("1", None, deep), ("2", "night", None)]


@pytest.mark.parametrize(
    "path", ["x" * 300 + ".jpg", "x/" * 3_000 + "y.jpg", "a\0b.jpg", "~/x.jpg", "/etc/passwd", "../../etc/passwd", "[]", "[[]]"]
)
def test_a_path_that_leads_nowhere_is_no_media(tmp_path, path):
    text = json.dumps([{"id": "1", "path": path, "time": "night"}, {"id": "2", "path": "b.jpg", "time": "night"}])
    (tmp_path / "b.jpg").write_bytes(b"B")
    datastore = store_of(text, tmp_path, "m.json")
    assert locate(datastore, datastore.fetch([0])[0]).flaw == "no_media"
    found = look(datastore, tmp_path, [{"time": "night"}])
    assert [c.path for c in found.candidates] == ["b.jpg"]
    (tmp_path / "m.json").write_text(text)
    (tmp_path / "b.jpg").rename(tmp_path / "b.png")
    with pytest.raises(InputError, match="No row"):
        read_media(tmp_path / "m.json", ODD)


def test_what_may_not_be_read_is_no_media(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    datastore = store_of("id,path,time\n1,a.jpg,night\n2,clip,night\n", tmp_path)
    (tmp_path / "a.jpg").write_bytes(b"A")
    (tmp_path / "clip").mkdir()
    for name in ("_sha256", "frames_of"):
        monkeypatch.setattr(f"core.acquisition.locate.{name}", refuse)
    assert [locate(datastore, r).flaw for r in datastore.fetch([0, 1])] == ["no_media", "no_media"]


@pytest.mark.parametrize("end", SEPARATORS)
def test_files_of_an_acquisition_come_back_whatever_a_caption_holds(tmp_path, end):
    (tmp_path / "a.jpg").write_bytes(b"A")
    text = json.dumps([{"id": "1", "path": "a.jpg", "time": "night", "caption": f"a{end}b", "question": f"c{end}d?", "answer": "e"}])
    found = look(store_of(text, tmp_path, "m.json"), tmp_path, [{"time": "night"}])
    assert f"a{end}b" in found.candidates[0].caption
    again = read_acquired(retrieval_jsonl(found), bundle_jsonl(found), unfilled_jsonl(found))
    assert (again.candidates, again.items, again.unfilled) == (found.candidates, found.items, found.unfilled)
    result = Result(found.items[0], "k", "scored", 1.0, "judge", f"f{end}g")
    line = json.dumps(result.as_dict(), ensure_ascii=False)
    assert read_results_file(f"{line}\n\n{line}\n".encode())[1].response == f"f{end}g"


MADE_UP = {"true": 0, "Yes": 0, "y": 0, "1.0": 0, "generated": 0, "perhaps": 1, "2024-05-01": 1}
"""Texts of the column, each with whether it has to be told that it was taken so."""
REAL = dict.fromkeys(("", "no", "False", "0.0", "n/a", "real"), 0)


@pytest.mark.parametrize(("text", "made_up", "told"), [(t, s is MADE_UP, n) for s in (MADE_UP, REAL) for t, n in s.items()])
def test_made_up_media_are_never_taken_for_real_ones(tmp_path, text, made_up, told):
    datastore = store_of(f"id,path,time,synthetic\n1,a.jpg,night,{text}\n2,b.jpg,day,no\n", tmp_path)
    assert (datastore.synthetic, [r.synthetic for r in datastore.fetch([0, 1])]) == (made_up, [made_up, False])
    assert len(datastore.report["notes"]) == told
    found = look(datastore, tmp_path, [{"time": "night"}, {"time": "day"}])
    assert [(c.synthetic, c.as_dict()["synthetic"]) for c in found.candidates] == [(made_up, made_up), (False, False)]


ROWS_WITHOUT_ID = ["a.jpg,night,Q?,x|y,x", "a.jpg,day,Q?,x|y,x", "a.jpg,day,Q?,p|q,p", "b.jpg,day,,,", "b.jpg,dusk,,,", "b.jpg,dusk,,,"]


@settings(deadline=None, max_examples=60)
@given(st.permutations(range(len(ROWS_WITHOUT_ID))))
def test_rows_have_the_same_ids_in_whatever_order_they_come(order):
    def rows(numbers):
        text = "path,time,question,options,answer\n" + "".join(f"{ROWS_WITHOUT_ID[i]}\n" for i in numbers)
        return table(text)

    found = rows(order)
    assert found == rows(range(len(ROWS_WITHOUT_ID)))
    assert len({r["id"] for r in found}) == len(found)


def test_copies_ask_the_same_and_say_what_they_say_otherwise():
    text = (
        "id,path,time,question,options,answer\n1,a.jpg,day,Q?,x|y,x\n2,a.jpg,day,Q?,p|q,p\n3,a.jpg,night,Q?,x|y,y\n4,a.jpg,day,Q?,x|y,x\n"
    )
    read = read_manifest(text.encode(), "m.csv")
    assert read.manifest.table["copy_of"].to_pylist() == [-1, -1, 0, 0]
    assert read.report.copies == 2
    assert [n.partition(" the row")[0] for n in read.report.notes] == ["1 copies have another answer than", "1 copies have other tags than"]


@pytest.mark.parametrize("name", [FILE, ROWS, META])
@pytest.mark.parametrize("harm", [lambda f: f.write_bytes(b"junk"), lambda f: f.unlink(), lambda f: f.write_bytes(f.read_bytes()[:-40])])
def test_importing_again_mends_a_damaged_datastore(tmp_path, name, harm):
    datastore = store_of("id,path,time\n1,a.jpg,night\n", tmp_path)
    harm(datastore.folder / name)
    again = store_of("id,path,time\n1,a.jpg,night\n", tmp_path)
    assert (again.digest, again.fetch([0])[0].tags["time"]) == (datastore.digest, "night")
    assert [p.name for p in (tmp_path / "stores").iterdir()] == [datastore.digest]


def test_rows_that_cannot_be_evaluated_give_way_to_those_that_can(tmp_path):
    lines = [f"{i},{i}.jpg,night,,,\n" for i in range(1, 10)]
    lines[6] = "7,7.jpg,night,Q?,yes,ego_action_reasoning\n"
    datastore = store_of("id,path,time,question,answer,question_category\n" + "".join(lines), tmp_path)
    for i in (4, 7, 8, 9):
        (tmp_path / f"{i}.jpg").write_bytes(str(i).encode())
    found = look(datastore, tmp_path, [{"time": "night"}], per_slice=3)
    assert ([c.path for c in found.candidates], len(found.items), found.unfilled) == (["4.jpg", "7.jpg", "8.jpg"], 3, ())
    assert found.counts["no_media"] == 5
    # Only one row has a question of this category: no template asks for an action at night alone.
    found = look(datastore, tmp_path, [{"time": "night", "question_category": "ego_action_reasoning"}], per_slice=2)
    assert [(c.path, c.verdict) for c in found.candidates] == [("1.jpg", "partial"), ("7.jpg", "valid")]
    (entry,) = found.unfilled
    assert (entry["valid"], entry["lacking"]) == (1, 1)
    assert entry["reason"] == "9 rows match, 8 of them without a question or without their media on this machine."


def test_no_more_rows_are_looked_at_than_is_bearable_and_this_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["core.operators.acquire"], "TRIED", 4)
    datastore = store_of("id,path,time\n" + "".join(f"{i:02d},{i}.jpg,night\n" for i in range(40)), tmp_path)
    found = look(datastore, tmp_path, [{"time": "night"}], per_slice=2)
    assert found.unfilled[0]["reason"] == (
        "40 rows match, 6 of the 6 that were looked at without a question or without their media on this machine."
    )
    assert (len(found.candidates), found.counts["no_media"]) == (2, 6)
    assert Counter(c.verdict for c in found.candidates) == {"valid": 2}
