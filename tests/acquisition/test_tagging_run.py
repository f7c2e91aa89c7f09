"""Tagging from end to end against a stub of a server: what is asked, kept, counted and written."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.acquisition.importers import open_records
from core.acquisition.manifest import propose_manifest
from core.acquisition.media import content_of, identity, read_media, spread
from core.acquisition.normalise import normalise
from core.acquisition.tag_rules import shipped_rules
from core.errors import InputError
from core.llm import Price
from core.llm.pace import Limits
from core.odd import load_yaml
from core.operators.tag import tag, tag_examples, tag_rows, write_tags
from core.operators.verify import tags_about
from core.settings import Settings
from core.storage import Store, open_store
from tests.stub_llm import Request, StubServer, error, png, text

ODD = load_yaml("""
dimensions:
  time: {label: Time of day, values: [day, night, {name: dusk, tier: extended, parent: night}]}
  weather: {values: [clear, rain, fog]}
  users: {values: [unspecified, {name: people, tier: extended}]}
  question_category: {values: [what_is_there, what_next], extendable: false}
""")
QUICK = Limits(first_wait=0.01, longest_wait=0.02)


@pytest.fixture
def store(workspace: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(workspace)}))
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three images of different colours."""
    out = tmp_path / "shots"
    out.mkdir()
    for i in range(3):
        (out / f"{i + 8}.png").write_bytes(png(colour=(i, 0, 0)))
    return out


def label(request: Request) -> str:
    """What a model might answer: the last value that is offered for each field."""
    schema = request.body["response_format"]["json_schema"]["schema"]["properties"]
    found = {d: p["enum"][-1] for d, p in schema.items() if d != "confidence"}
    return json.dumps({**found, "confidence": dict.fromkeys(found, 0.75)})


def test_a_folder_is_tagged_and_a_second_run_is_free(store, folder):
    with StubServer(label) as stub:
        seen = []
        endpoint = stub.endpoint(price=Price(input=1e6, output=0, currency="EUR"))
        first = tag(store, read_media(folder, ODD), ODD, endpoint, progress=lambda d, n: seen.append((d, n)))
        again = tag(store, read_media(folder, ODD), ODD, endpoint)
        assert len(stub.asked) == 3
    assert [x.media.name for x in first.items] == ["8.png", "9.png", "10.png"]  # numbers by size
    assert first.items[0].tags == {"time": "night", "weather": "fog", "users": "unspecified"}
    assert {d: s.how for d, s in first.items[0].said.items()} == {"time": "read", "weather": "read", "users": "only"}
    assert first.items[0].said["time"].confidence == 0.75
    assert first.states == {"done": 3, "failed": 0, "blocked": 0, "stopped": 0}
    assert first.by_dimension["time"] == {"read": 3}
    assert (first.calls["new"], first.calls["cached"]) == (3, 0)
    assert first.cost == pytest.approx(3 * 10)
    assert sorted(seen) == [(1, 3), (2, 3), (3, 3)]
    assert (again.calls["new"], again.calls["cached"], again.cost) == (0, 3, 0)
    assert again.items == first.items
    assert len(store.media_tags.list()) == 3
    record = store.media_tags.about([first.items[0].id])[0]
    assert (record.model, record.odd_hash) == ("stub-model", ODD.hash)
    assert record.content["tags"]["time"]["tag"] == "night"


def test_the_image_that_is_sent_is_a_jpeg_of_the_file(store, folder):
    with StubServer(label) as stub:
        tag(store, read_media(folder, ODD), ODD, stub.endpoint(), dims=["time"])
        parts = stub.asked[0].messages[1]["content"]
    assert [p["type"] for p in parts] == ["image_url", "text"]
    assert parts[0]["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")


def test_another_offer_another_model_or_another_image_is_another_call(store, folder):
    with StubServer(label) as stub:
        media = read_media(folder, ODD)
        for more in ({}, {"tiers": "all"}, {"dims": ["time"]}):
            tag(store, media, ODD, stub.endpoint(), **more)
        tag(store, media, ODD, stub.endpoint("other"))
        assert len(stub.asked) == 12
        (folder / "8.png").write_bytes(png(colour=(9, 9, 9)))
        assert tag(store, media, ODD, stub.endpoint()).calls["new"] == 1
        assert tag(store, media, ODD, stub.endpoint(label="own name")).calls["new"] == 0


def test_clips_get_one_tuple_each(store, tmp_path):
    for clip, n in (("a", 12), ("b", 2)):
        (tmp_path / "clips" / clip).mkdir(parents=True)
        for i in range(n):
            (tmp_path / "clips" / clip / f"f{i}.png").write_bytes(png(colour=(i, n, 0)))
    media = read_media(tmp_path / "clips", ODD, clips=True)
    assert [(m.name, [Path(p).stem for p in m.paths]) for m in media.media] == [
        ("a", ["f0", "f2", "f3", "f5", "f6", "f8", "f9", "f11"]),
        ("b", ["f0", "f1"]),
    ]
    with StubServer(label) as stub:
        found = tag(store, media, ODD, stub.endpoint(), dims=["time"])
        assert [len(r.messages[1]["content"]) for r in sorted(stub.asked, key=lambda r: -len(r.messages[1]["content"]))] == [9, 3]
    assert [x.tags["time"] for x in found.items] == ["night", "night"]
    assert found.items[0].id == identity(content_of(media.media[0])) != found.items[0].shas[0]


def test_spread_takes_the_first_the_last_and_evenly_between():
    assert spread([1, 2, 3], 8) == [1, 2, 3]
    assert spread(list(range(100)), 3) == [0, 50, 99]
    assert spread(list(range(9)), 1) == [4]


def test_a_server_without_schemas_gets_plain_json(store, folder):
    def script(request: Request):
        if "response_format" in request.body:
            return error(400, "response_format is not supported", param="response_format")
        return "```json\n" + json.dumps({"time": "night", "weather": "a storm"}) + "\n```"

    with StubServer(script) as stub:
        found = tag(store, read_media(folder, ODD), ODD, stub.endpoint(), dims=["time", "weather"], limits=QUICK)
    assert {x.tags["time"] for x in found.items} == {"night"}
    assert found.by_dimension == {"time": {"read": 3}, "weather": {"outside": 3}}
    assert found.items[0].said["weather"].text == "a storm"
    assert found.items[0].tags["weather"] is None


def test_what_fails_is_counted_and_tried_again_next_time(store, folder):
    (folder / "8.png").write_bytes(b"not an image")
    answers = iter([error(400, "Flagged by the content filter.", code="content_filter"), error(400, "No.")])
    with StubServer(lambda r: next(answers, None) or label(r)) as stub:
        media = read_media(folder, ODD)
        found = tag(store, media, ODD, stub.endpoint(), dims=["time"], limits=Limits(start=1, most=1, attempts=1))
        assert {x.state for x in found.items} == {"failed", "blocked"}
        assert found.states == {"done": 0, "failed": 2, "blocked": 1, "stopped": 0}
        assert "no image" in found.items[0].why
        assert all(x.why for x in found.items)
        later = tag(store, media, ODD, stub.endpoint(), dims=["time"])
        assert later.states == {"done": 1, "failed": 1, "blocked": 1, "stopped": 0}
    assert len(store.media_tags.list()) == 1


def test_a_budget_stops_and_the_next_run_goes_on(store, folder):
    with StubServer(label) as stub:
        media = read_media(folder, ODD)
        found = tag(store, media, ODD, stub.endpoint(), dims=["time"], limits=Limits(max_calls=2))
        assert found.states == {"done": 2, "failed": 0, "blocked": 0, "stopped": 1}
        assert "budget" in found.stopped
        found = tag(store, media, ODD, stub.endpoint(), dims=["time"])
        assert (found.calls["cached"], found.calls["new"], found.stopped) == (2, 1, "")
        stopped = tag(store, media, ODD, stub.endpoint("other"), dims=["time"], cancel=lambda: True)
        assert stopped.states["stopped"] == 3
    assert len(stub.asked) == 3


MANIFEST = """id,image,Time of day,weather,note,question,options,answer
1,shots/8.png,day,,keep me,What is next?,go|stop,A
2,shots/9.png,,rain,,,,
3,shots/missing.png,day,rain,lost,,,
4,https://example.org/x.png,,,far,,,
5,shots/10.png,,fog|rain,,Who is there?,,nobody
"""


@pytest.fixture
def manifest(folder: Path) -> Path:
    path = folder.parent / "manifest.csv"
    path.write_text(MANIFEST)
    return path


def test_a_manifest_keeps_what_it_says_and_gets_what_it_lacks(store, manifest, tmp_path):
    with StubServer(label) as stub:
        media = read_media(manifest, ODD)
        found = tag(store, media, ODD, stub.endpoint())
        sorted_ = [r for r in stub.asked if "<<<" in r.last]
        assert [("What is next?\nOptions: go | stop" in r.last) for r in sorted(sorted_, key=lambda r: "What is next?" not in r.last)] == [
            True,
            False,
        ]
    assert media.left_out == {"name a file that is not there": 1, "name an address, not a file": 1}
    first, second, third = found.items
    assert first.tags == {"time": "day", "weather": "fog", "users": "unspecified", "question_category": "what_next"}
    assert "time" not in first.said
    assert second.tags == {"time": "night", "weather": "rain", "users": "unspecified", "question_category": None}
    assert third.tags["weather"] == ("rain", "fog")
    assert found.kept == 3  # a tag of several values is one too

    out = tmp_path / "elsewhere" / "tagged.csv"
    out.parent.mkdir()
    write_tags(found, out)
    with out.open() as f:
        rows = list(csv.DictReader(f))
    assert [r["id"] for r in rows] == ["1", "2", "3", "4", "5"]
    assert rows[0] | {"sha256": ""} == {
        "id": "1",
        "image": "../shots/8.png",
        "Time of day": "day",
        "weather": "fog",
        "note": "keep me",
        "question": "What is next?",
        "options": "go|stop",
        "answer": "A",
        "users": "unspecified",
        "question_category": "what_next",
        "sha256": "",
        "tag_origin": "stub-model: weather, users, question_category",
        "tag_confidence": "weather 0.75, question_category 0.75",
    }
    assert (rows[2]["Time of day"], rows[2]["note"], rows[2]["tag_origin"], rows[2]["image"]) == ("day", "lost", "", "shots/missing.png")
    assert rows[4]["weather"] == "rain|fog"
    side = json.loads((out.parent / "tagged.manifest.json").read_text())
    assert side["manifest"]["model"]["name"] == "stub-model"
    assert side["left_out"] == media.left_out
    assert "items" not in side


def test_questions_with_a_category_are_examples_for_the_others(store, folder, tmp_path):
    rows = ["image,question,question_category"]
    rows += [f"shots/8.png,Who {i}?,what_is_there" for i in range(3)] + ["shots/9.png,And then?,what_next", "shots/10.png,Why?,"]
    (tmp_path / "m.csv").write_text("\n".join(rows))
    media = read_media(tmp_path / "m.csv", ODD)
    examples = tag_examples(media, 3)
    assert [e.value for e in examples] == ["what_is_there", "what_next", "what_is_there"]
    assert tag_examples(media, 0) == ()
    assert len(tag_examples(media, 99)) == 4
    with StubServer(label) as stub:
        found = tag(store, media, ODD, stub.endpoint(), dims=["question_category"], examples=examples)
        (only,) = stub.asked
    assert '- "And then?" is what_next' in only.last
    assert found.items[4].tags["question_category"] == "what_next"
    assert found.manifest["examples"] == [{"question": e.question, "value": e.value} for e in examples]


def test_answers_below_a_confidence_are_left_open_and_a_lower_bar_costs_nothing(store, folder, tmp_path):
    with StubServer(label) as stub:  # says 0.75 of everything
        media = read_media(folder, ODD)
        found = tag(store, media, ODD, stub.endpoint(), dims=["time", "users"], least=0.8)
        assert found.by_dimension == {"time": {"unsure": 3}, "users": {"only": 3}}
        assert found.items[0].tags["time"] == ("night",)
        assert [r["time"] for r in tag_rows(found, tmp_path)[1]] == [""] * 3
        lower = tag(store, media, ODD, stub.endpoint(), dims=["time", "users"], least=0.7)
        assert (lower.calls["new"], lower.items[0].tags["time"]) == (0, "night")
        assert tags_about(store, [found.items[0].id]) == {found.items[0].id: {"time": "night"}}
        assert tags_about(store, [found.items[0].id], 0.8) == {found.items[0].id: {"time": ("night",)}}
        with pytest.raises(InputError, match="between 0 and 1"):
            tag(store, media, ODD, stub.endpoint(), least=80)


def test_retagging_asks_for_everything(store, manifest):
    with StubServer(label) as stub:
        found = tag(store, read_media(manifest, ODD), ODD, stub.endpoint(), retag=True)
    assert (found.items[0].tags["time"], found.kept) == ("night", 0)
    assert found.items[2].tags["weather"] == "fog"


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_what_was_written_can_be_imported(store, manifest, tmp_path, ending):
    with StubServer(label) as stub:
        found = tag(store, read_media(manifest, ODD), ODD, stub.endpoint())
    out = tmp_path / f"tagged.{ending}"
    write_tags(found, out)
    records = open_records(out)
    plan = propose_manifest(records, ODD, shipped_rules())
    report = normalise(records, ODD, plan, shipped_rules()).report
    by_name = {d.name: d for d in report.dimensions}
    assert (report.rows, report.accepted) == (5, 5)
    assert by_name["time"].values == {"day": 2, "night": 2}
    assert (by_name["weather"].tagged, by_name["weather"].several, by_name["weather"].missing) == (3, 1, 1)
    assert by_name["question_category"].values == {"what_next": 2}
    again = read_media(out, ODD)
    assert [m.tags for m in again.media] == [x.tags for x in found.items]
    columns, rows = tag_rows(found, tmp_path)
    assert len(rows) == 5 and set(rows[0]) == set(columns)


def test_media_that_stop_early_keep_what_the_manifest_said(store, manifest, tmp_path):
    with StubServer(label) as stub:
        found = tag(store, read_media(manifest, ODD), ODD, stub.endpoint(), retag=True, cancel=lambda: True)
        assert stub.asked == []
    rows = tag_rows(found, tmp_path)[1]
    assert [(r["Time of day"], r["weather"]) for r in rows] == [("day", ""), ("", "rain"), ("day", "rain"), ("", ""), ("", "rain|fog")]


def test_what_cannot_be_tagged_is_said(store, folder, tmp_path):
    with pytest.raises(InputError, match="no file or folder"):
        read_media(tmp_path / "nowhere", ODD)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no image"):
        read_media(tmp_path / "empty", ODD)
    (tmp_path / "t.csv").write_text("time,weather\nday,rain\n")
    with pytest.raises(InputError, match="--map path=COLUMN"):
        read_media(tmp_path / "t.csv", ODD)
    (tmp_path / "u.csv").write_text("path,time\nhttp://x/y.png,day\nz.mp4,day\n")
    with pytest.raises(InputError, match="1 name an address, not a file, 1 name a file that is not there"):
        read_media(tmp_path / "u.csv", ODD)
    with StubServer([]) as stub, pytest.raises(InputError, match="Unknown dimension sky"):
        tag(store, read_media(folder, ODD), ODD, stub.endpoint(), dims=["sky"])
    with StubServer(label) as stub, pytest.raises(InputError, match=r"\.csv or \.jsonl"):
        write_tags(tag(store, read_media(folder, ODD), ODD, stub.endpoint()), tmp_path / "x.parquet")


def test_the_key_is_nowhere(store, folder, tmp_path):
    with StubServer(label) as stub:
        found = tag(store, read_media(folder, ODD), ODD, stub.endpoint(key="sk-very-secret"))
    out = tmp_path / "t.csv"
    write_tags(found, out)
    written = b"".join(p.read_bytes() for p in [*tmp_path.rglob("*")] if p.is_file())
    assert b"sk-very-secret" not in written
    assert "sk-very-secret" not in json.dumps(found.as_dict())


def test_a_text_answer_is_what_the_stub_sends(store, folder):
    with StubServer([text("day"), text("day"), text("dusk")]) as stub:
        found = tag(store, read_media(folder, ODD), ODD, stub.endpoint(), dims=["time"], limits=Limits(start=1, most=1))
    assert found.by_dimension == {"time": {"outside": 1, "read": 2}}
