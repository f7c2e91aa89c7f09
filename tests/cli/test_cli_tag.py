"""The command `tag` against a stub of a server."""

from __future__ import annotations

import csv
import json

import pytest

from core.cli import main
from tests.stub_llm import StubServer, error, png

COMMAND = ("tag",)
TEXT = "path,time,weather_visibility\na.png,day,\nb.png,,rainy\nc.png,,\ngone.png,day,\n"


def label(request):
    schema = request.body["response_format"]["json_schema"]["schema"]["properties"]
    return json.dumps({d: p["enum"][0] for d, p in schema.items() if d != "confidence"})


@pytest.fixture
def shots(table):
    """Images beside the table."""
    for i, name in enumerate("abc"):
        (table.parent / f"{name}.png").write_bytes(png(colour=(i, 0, 0)))
    return table


@pytest.fixture
def stub(monkeypatch):
    with StubServer(label) as server:
        for role in ("VLM", "TAGGER"):
            for name in ("BASE_URL", "MODEL", "API_KEY"):
                monkeypatch.delenv(f"ODDYSSEY_{role}_{name}", raising=False)
        for name, value in server.environment("tagger", model="a-tagger").items():
            monkeypatch.setenv(name, value)
        yield server


def test_a_manifest_is_tagged_and_written(run, shots, stub, tmp_path):
    out = tmp_path / "tagged.csv"
    text = run(shots, "--dims", "time,weather_visibility", "--out", out)
    assert "3 images or clips, tagged by a-tagger: 3 done." in text
    assert "left out: 1 name a file that is not there" in text
    assert "tags that were there and stayed: 2" in text
    assert "time: 2 tagged" in text
    assert "Calls: 3 new, 0 kept from before; 45 tokens." in text
    with out.open() as f:
        rows = list(csv.DictReader(f))
    assert [(r["path"], r["time"], r["weather_visibility"]) for r in rows] == [
        ("a.png", "day", "snowy"),
        ("b.png", "day", "rainy"),
        ("c.png", "day", "snowy"),
        ("gone.png", "day", ""),
    ]
    assert [r["tag_origin"] for r in rows] == [
        "a-tagger: weather_visibility",
        "a-tagger: time",
        "a-tagger: weather_visibility, time",
        "",
    ]
    assert (tmp_path / "tagged.manifest.json").is_file()
    assert "0 new, 3 kept from before" in run(shots, "--dims", "time,weather_visibility")
    assert len(stub.asked) == 3


def test_as_json(run, shots, stub):
    data = json.loads(run(shots, "--dims", "time", "--limit", 2, "--tier", "all", "--retag", "--json"))
    assert (data["media"], data["not_taken"], data["states"]["done"]) == (2, 1, 2)
    assert data["manifest"]["offered"]["time"] == ["day", "night", "dawn", "dusk"]
    assert [x["said"]["time"]["tag"] for x in data["items"]] == ["day", "day"]
    assert data["written"] == []


def test_a_folder_of_clips(run, shots, stub):
    folder = shots.parent / "clips" / "one"
    folder.mkdir(parents=True)
    for name in "abc":
        (shots.parent / f"{name}.png").rename(folder / f"{name}.png")
    data = json.loads(run(shots.parent / "clips", "--clips", "--dims", "time", "--json"))
    assert [(x["name"], len(x["paths"])) for x in data["items"]] == [("one", 3)]


def test_the_model_may_be_that_of_the_vlm(run, shots, stub, monkeypatch):
    for name, value in stub.environment("vlm", model="a-vlm").items():
        monkeypatch.setenv(name, value)
        monkeypatch.delenv(name.replace("VLM", "TAGGER"), raising=False)
    assert "tagged by a-vlm (the connection of the vlm): 3 done" in run(shots, "--dims", "time", "--retag")


def test_columns_can_be_named(run, table, stub):
    (table.parent / "x.png").write_bytes(png())
    table.write_text("picture_of_it,hour\nx.png,night\n")
    data = json.loads(run(table, "--map", "path=picture_of_it", "--map", "time=hour", "--dims", "time,sky_conditions", "--json"))
    assert (list(data["items"][0]["said"]), data["kept"]) == (["sky_conditions"], 1)


def test_a_failure_is_told_and_ends_with_1(shots, stub, capsys):
    stub.script = lambda r: error(400, "Nothing works.")
    with pytest.raises(SystemExit) as e:
        main(["tag", str(shots), "--dims", "time", "--retag"])
    assert e.value.code == 1
    out = capsys.readouterr().out
    assert "3 failed" in out
    assert "failed: a.png: bad_request" in out


def test_a_budget_stops_it(shots, stub, capsys):
    with pytest.raises(SystemExit) as e:
        main(["tag", str(shots), "--dims", "time", "--retag", "--max-calls", "1"])
    assert e.value.code == 1
    assert "Run it again to go on." in capsys.readouterr().out


def test_what_is_refused(refused, shots, stub, monkeypatch, tmp_path):
    assert 'got "outer"; allowed: base, all' in refused(shots, "--tier", "outer")
    assert ".csv or .jsonl" in refused(shots, "--out", tmp_path / "x.xlsx")
    assert "Unknown dimension sky" in refused(shots, "--dims", "sky")
    assert "There is no file or folder" in refused(tmp_path / "nowhere")
    assert "has no price" in refused(shots, "--max-cost", "1")
    assert stub.asked == []
    monkeypatch.delenv("ODDYSSEY_TAGGER_BASE_URL")
    assert "ODDYSSEY_TAGGER_BASE_URL" in refused(shots)
