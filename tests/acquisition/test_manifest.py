from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.acquisition.manifest import ManifestReport
from core.acquisition.normalise import Question, settle
from core.acquisition.read_tags import tag_of, tag_text
from core.errors import InputError
from core.odd import built_in, infer_odd
from core.operators import read_manifest

SHA = "ab" * 32


def read(text, **k):
    return read_manifest(text.encode(), "m.csv", **k)


def told(result, name):
    return next(d for d in result.report.dimensions if d.name == name)


def test_columns_are_found_by_usual_names_and_by_what_they_hold():
    plan = read("image_path,licence,group,Weather,light,time\na.jpg,MIT,v1,rainy,x,night\nb.jpg,MIT,v1,foggy,y,day\n").plan
    assert plan.fields == {"path": "image_path", "licence": "licence", "group": "group"}
    assert plan.dims == {"weather_visibility": "Weather", "time": "time"}


def test_a_column_that_repeats_is_no_id_and_free_text_no_dimension_and_both_are_said():
    rows = "".join(f"a{i // 2}.jpg,{i // 2},2018-07-24 11:{i:05d},Q{i % 2}?,yes\n" for i in range(5_002))
    result = read(f"path,image_id,time,question,answer\n{rows}")
    assert (result.report.accepted, result.report.copies) == (5_002, 0)  # two questions an image
    assert ("id" in result.plan.fields, "time" in result.plan.dims) == (False, False)
    assert [n.split('"')[1] for n in result.report.notes] == ["time", "image_id"]
    assert read("path,image_id\na.jpg,1\nb.jpg,1\n", said={"fields": {"id": "image_id"}}).report.accepted == 1  # the user insists


def test_the_users_word_counts_and_a_dash_leaves_out():
    said = {
        "dims": {"time": "-", "weather_visibility": "w2"},
        "fields": {"path": "file2", "licence": "-"},
        "constants": {"licence": "CC0-1.0"},
    }
    result = read("id,file,file2,weather_visibility,w2,time,licence\n1,a,b,rainy,foggy,day,MIT\n", said=said)
    row = result.manifest.table.to_pylist()[0]
    assert (row["path"], row["licence"], row["tag:weather_visibility"], row["tag:time"]) == ("b", "CC0-1.0", "foggy", None)


def test_every_wrong_decision_is_told_at_once():
    said = {"dims": {"tme": "time"}, "fields": {"path": "fil"}, "value_map": {"time": {"x": "midnight"}}}
    with pytest.raises(InputError) as e:
        read("file,time\na,day\n", said=said)
    assert {p.column for p in e.value.problems} == {"field path", "dimension", "time: x"}
    with pytest.raises(InputError, match="Unknown kind of source"):
        read("file,time\na,day\n", said={"format": "kitti"})
    with pytest.raises(InputError):
        read("file,time\na,day\n", said={"shape": "round"})


def test_texts_are_read_mapped_missing_ambiguous_or_unknown_and_each_is_counted():
    texts = ["night", "NIGHT", "midnight sun", "", "unknown", "day|dusk", "unspecified", "moonlit", "midnight sun", "n/a"]
    rows = "".join(f"{i},{t}\n" for i, t in enumerate(texts))
    result = read(f"id,time\n{rows}", said={"value_map": {"time": {"moonlit": "night"}}})
    d = told(result, "time")
    assert (d.tagged, d.several, d.missing) == (3, 2, 5)
    assert d.values == {"night": 3}
    assert d.unknown == 2
    assert [(u.text, u.rows) for u in d.unknown_texts] == [("midnight sun", 2)]
    table = result.manifest.table.to_pylist()
    assert [r["tag:time"] for r in table] == ["night", "night", None, None, None, "day|dusk", "|unspecified", "night", None, None]
    assert [r["text:time"] for r in table] == [None, None, "midnight sun", None, None, None, None, None, "midnight sun", None]


def test_synonyms_of_one_value_are_that_value_and_of_several_stay_open():
    result = read("id,traffic_type\n1,rush hour\n2,heavy traffic\n3,unspecified\n")
    assert result.manifest.table["tag:traffic_type"].to_pylist() == ["stop_and_go|traffic_jam", "dense", "|unspecified"]


def test_unspecified_is_a_value_only_where_the_dimension_has_it():
    result = read("id,road_users_present,time\n1,unspecified,unspecified\n")
    assert (told(result, "road_users_present").tagged, told(result, "time").several) == (1, 1)


def test_a_text_mapped_to_nothing_is_missing_and_not_unknown():
    d = told(read("id,time\n1,later\n2,day\n", said={"value_map": {"time": {"later": ""}}, "dims": {"time": "time"}}), "time")
    assert (d.tagged, d.missing, d.unknown) == (1, 1, 0)


def test_a_column_of_free_text_is_no_dimension():
    rows = "".join(f"{i},text {i}\n" for i in range(5_001))
    with pytest.raises(InputError, match="different texts"):
        read(f"id,words\n{rows}", said={"dims": {"time": "words"}})


def test_rejected_rows_have_a_reason_and_add_up():
    text = (
        "id,path,question,options,answer\n"
        "1,a.jpg,Q?,A | B,B\n"
        "1,b.jpg,,,\n"  # the same id
        ",c.jpg,,,\n"  # no id
        "4,,,,\n"  # no path
        "5,e.jpg,Q?,A | B,C\n"  # no such option
        "6,f.jpg,Q?,,\n"  # no answer
        "7,g.jpg,Q?,A | A,A\n"
        "8,h.jpg,,,\n"
    )
    report = read(text).report
    assert (report.rows, report.accepted, report.questions) == (8, 2, 1)
    assert {r.reason: r.numbers for r in report.rejected} == {
        "its id stands in an earlier row": (2,),
        "it has no id": (3,),
        "it names no file or URL": (4,),
        "the answer to its question is none of the options": (5,),
        "its question has no answer": (6,),
        "its question has an option twice": (7,),
    }
    assert report.accepted + sum(r.rows for r in report.rejected) == report.rows
    assert ManifestReport.from_dict(json.loads(json.dumps(report.as_dict()))) == report


def test_a_manifest_without_a_usable_row_is_refused_with_the_reasons():
    with pytest.raises(InputError) as e:
        read("id,path\n1,\n2,\n")
    assert "names no file" in str(e.value)


@pytest.mark.parametrize(
    ("options", "answer", "kind", "expected"),
    [
        ("Yes | No", "No", "MCQ", Question(("Yes", "No"), "B", "MCQ")),
        ("Yes | No", "b", "", Question(("Yes", "No"), "B", "MCQ")),
        ("A. Yes | B. No", "B. No", "", Question(("Yes", "No"), "B", "MCQ")),
        ('["Yes", "No", "Perhaps"]', "(C)", "", Question(("Yes", "No", "Perhaps"), "C", "MCQ")),
        ('{"A": "Yes", "B": "No"}', "A", "", Question(("Yes", "No"), "A", "MCQ")),
        ("Yes\nNo", "yes", "", Question(("Yes", "No"), "A", "MCQ")),
        ("A | B", "a", "", Question(("A", "B"), "A", "MCQ")),
        ("", "A red car", "VQA", Question((), "A red car", "VQA")),
        ("", "B", "multiple choice", "its question is multiple choice but has no options"),
        ("Yes", "Yes", "", "its question has 1 options; allowed: 2 to 26"),
        ("Yes | No", "Maybe", "", "the answer to its question is none of the options"),
        ("Yes | No", "2", "", "the answer to its question is none of the options"),  # from 0 or from 1: not guessed
    ],
)
def test_questions_are_settled_or_refused(options, answer, kind, expected):
    assert settle(options, answer, kind) == expected


def test_rows_are_kept_in_the_order_of_their_ids_and_copies_point_at_the_first():
    text = f"id,path,sha256,question,answer\nc,x.jpg,{SHA},,\na,y.jpg,{SHA.upper()},,\nb,y.jpg,{SHA},Q?,yes\nd,z.jpg,wrong,,\ne,z.jpg,,,\n"
    result = read(text)
    table = result.manifest.table.to_pydict()
    assert table["id"] == ["a", "b", "c", "d", "e"]
    assert table["copy_of"] == [-1, -1, 0, -1, 3]  # c shows what a shows; b asks something; d and e have the same path
    assert result.report.copies == 2
    assert any("SHA-256" in n for n in result.report.notes)


def test_rows_without_an_id_get_one_from_their_content():
    first, again = (read("path,time\na.jpg,day\nb.jpg,day\na.jpg,day\n").manifest.table.to_pydict() for _ in range(2))
    assert first["id"] == again["id"]
    assert len(set(first["id"])) == 3
    assert sorted(first["copy_of"])[:2] == [-1, -1]


def test_an_own_odd_takes_part_and_rules_for_what_it_lacks_leave_the_text():
    odd = infer_odd({"environment": ["construction", "highway"], "time": ["day", "night"]})
    record = {"name": "a.jpg", "attributes": {"weather": "rainy", "scene": "tunnel", "timeofday": "night"}, "labels": []}
    result = read_manifest(json.dumps([record]).encode(), "l.json", odd=odd)
    row = result.manifest.table.to_pylist()[0]
    assert (row["tag:time"], row["tag:environment"], row["text:environment"]) == ("night", None, "tunnel")
    assert told(result, "environment").unknown == 1


@given(
    st.one_of(st.none(), st.sampled_from(["day", "night"]), st.lists(st.sampled_from(["day", "dusk"]), min_size=1, max_size=2, unique=True))
)
def test_tags_come_back_as_they_were_stored(tag):
    tag = tuple(tag) if isinstance(tag, list) else tag
    assert tag_of(tag_text(tag)) == tag


def test_one_row_is_enough():
    result = read("path\na.jpg\n")
    assert result.report.accepted == 1
    assert all(d.missing == 1 for d in result.report.dimensions)
    assert len(result.report.dimensions) == len(built_in().names)


def test_values_that_hold_the_sign_between_several_are_refused():
    with pytest.raises(InputError, match="rename them"):
        read("path,time\na.jpg,day\n", odd=infer_odd({"time": ["day", "dusk|dawn"]}))
