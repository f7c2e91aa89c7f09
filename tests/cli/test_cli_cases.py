"""The commands `cases` and `natr`."""

from __future__ import annotations

import json

import pytest

from core.settings import Settings
from core.trajectories.document import write_cases
from tests.cases import case, straight


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "drives.jsonl"
    write_cases(path, [case("s1-a"), case("s2-a", planner=straight(8.0, 2.0)), case("s1-b", planner=straight())])
    return path


def test_cases_come_in_and_every_one_is_told_of(ended, source, tmp_path):
    code, out, err = ended("cases", "import", source, "--out", tmp_path / "set", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)["report"]
    assert (report["accepted"], report["rejected"], report["format"]) == (3, 0, "jsonl")
    code, out, _ = ended("cases", "check", tmp_path / "set", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["cases"], found["scenes"], found["planners"], found["synthetic"]) == (3, 2, {"a": 2, "b": 1}, 3)


def test_a_set_of_the_workspace_is_named_and_found(ended, source):
    code, out, _ = ended("cases", "import", source, "--name", "Night drives")
    assert code == 0
    assert "3 cases accepted, 0 rejected, 0 resampled" in out
    assert ended("cases", "check", "night drives")[0] == 0
    code, _, err = ended("cases", "check", "Day drives")
    assert code == 2
    assert '"Night drives"' in err


def test_a_name_that_is_taken_leaves_no_files_behind(ended, source):
    assert ended("cases", "import", source, "--name", "Night drives")[0] == 0
    folder = Settings.from_environment().cases
    before = sorted(folder.iterdir())
    assert len(before) == 1
    code, _, err = ended("cases", "import", source, "--name", "night drives")
    assert (code, sorted(folder.iterdir())) == (2, before)
    assert "already a case set" in err


def test_metrics_are_those_of_the_geometry_and_say_what_is_not_known(ended, source, tmp_path):
    ended("cases", "import", source, "--out", tmp_path / "set")
    code, out, _ = ended("cases", "metrics", tmp_path / "set", "--json")
    assert code == 0
    values = json.loads(out)["values"]
    assert values["fde_5s_expert"]["a"]["s2"]["value"] == pytest.approx(2.0)
    assert values["ade_5s_expert"]["a"]["s2"]["value"] == pytest.approx(2.0 * 10.5 / 20)  # a ramp: the mean of 1/20 … 20/20 is 10.5/20
    assert values["ade_3s_expert"]["b"]["s1"]["value"] == 0.0
    assert values["rfs"]["a"]["s1"]["value"] is None
    assert values["rfs"]["a"]["s1"]["reason"]
    code, out, _ = ended("cases", "metrics", tmp_path / "set")
    assert code == 0
    assert "95 % interval" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["cases", "import", "gone.jsonl"], "no file or folder"),
        (["cases", "import", "SOURCE", "--format", "film"], 'no format "film"'),
        (["cases", "import", "SOURCE", "--option", "speed"], "name=value"),
        (["cases", "import", "SOURCE", "--option", "speed=3"], "speed"),
        (["cases", "import", "SOURCE", "--option", "step_s=fast"], "step_s"),
        (["cases", "metrics", "gone"], "no folder"),
        (["natr", "gone.jsonl"], "gone.jsonl"),
        (["natr", "SOURCE"], "problems"),
        (["natr", "SOURCE", "--abstain", "guess"], "exclude, count_as_no, bounds"),
    ],
)
def test_what_is_wrong_is_told_with_exit_code_2(ended, source, args, said):
    code, out, err = ended(*[str(source) if a == "SOURCE" else a for a in args])
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_missing_image_is_told_of(ended, source, tmp_path):
    from tests.cases import camera

    write_cases(source, [case("s1-a", cameras=(camera("images/a.png"),))])
    ended("cases", "import", source, "--out", tmp_path / "set")
    code, out, err = ended("cases", "check", tmp_path / "set", "--json")
    assert code == 2
    assert json.loads(out)["missing_images"] == ["images/a.png"]
    assert "images/a.png" in err


def verdict(scene, status, *threats, planner="a"):
    return {"case_id": f"{scene}-{planner}", "scene_id": scene, "planner_id": planner, "status": status, "threats": list(threats)}


@pytest.mark.parametrize(("policy", "value"), [("exclude", 2 / 3), ("count_as_no", 3 / 4), ("bounds", None)])
def test_natr_always_comes_with_its_bounds(ended, tmp_path, policy, value):
    rows = [
        verdict("s1", "has_threat", "off_road_driving"),
        verdict("s2", "no_threat"),
        verdict("s3", "no_threat"),
        verdict("s4", "abstain"),
    ]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    code, out, _ = ended("natr", path, "--abstain", policy, "--json")
    assert code == 0
    overall = json.loads(out)["planners"][0]["rates"][0]
    assert (overall["n"], overall["threats"], overall["open"]) == (4, 1, 1)
    assert overall["natr"]["value"] == (None if value is None else pytest.approx(value))
    assert overall["natr"]["bounds"] == [pytest.approx(0.5), pytest.approx(0.75)]
    code, out, _ = ended("natr", path, "--abstain", policy)
    assert code == 0
    assert "bounds 0.500 to 0.750" in out
    assert "open 1" in out
