"""The command `natr` on planners with unequal scenes, on part of a case set, and on files as other tools write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from core.threats import load_taxonomy, read_verdicts
from core.trajectories.document import write_cases
from tests.cases import case

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as e:
            main([str(a) for a in args])
        out = capsys.readouterr()
        return int(e.value.code or 0), out.out, out.err

    return call


def line(case_id: str, status: str = "no_threat", **more: Any) -> str:
    return json.dumps({"case_id": case_id, "status": status, "threats": []} | more, ensure_ascii=False)


def test_planners_on_unequal_scenes_are_compared_on_those_in_common(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    rows = [("1", "a", "has_threat"), ("2", "a", "has_threat"), ("3", "a", "no_threat"), ("3", "b", "no_threat"), ("2", "b", "abstain")]
    path.write_text("\n".join(line(f"{p}{s}", x, scene_id=s, planner_id=p) for s, p, x in rows))
    code, out, _ = run("natr", path, "--abstain", "count_as_no")
    assert code == 0
    assert "2 scenes in common; left out of the comparison: a 1." in out
    own, shared = out.split("On the scenes in common:")
    assert "a: NATR 0.333" in own and "n = 3, open 0" in own
    assert "  a: NATR 0.500" in shared and "  b: NATR 1.000" in shared
    assert "a less b, on the scenes that both have: -0.500, bounds -0.500 to +0.000" in shared
    assert "n = 2, left out 1" in shared
    assert "2 scenes have a threat that nobody named; they are open in every category." in own


def test_cases_of_the_set_that_the_file_lacks_are_counted(run: Run, tmp_path: Path) -> None:
    write_cases(tmp_path / "c.jsonl", [case(f"s{k}-p") for k in range(5)])
    run("cases", "import", tmp_path / "c.jsonl", "--out", tmp_path / "set")
    path = tmp_path / "v.jsonl"
    path.write_text(line("s0-p") + "\n" + line("s1-p", "abstain"))
    code, out, _ = run("natr", path, "--cases", tmp_path / "set")
    assert code == 0
    assert "2 of the set's 5 cases are in the file; 3 are not, and count nowhere." in out
    told = json.loads(run("natr", path, "--cases", tmp_path / "set", "--json")[1])
    assert (told["verdicts"], told["cases_without_a_line"], told["planners"][0]["n"]) == (2, 3, 2)
    assert json.loads(run("natr", path, "--json")[1])["cases_without_a_line"] is None


def test_a_planner_without_a_name_is_called_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text(line("1", "has_threat"))
    _, out, _ = run("natr", path)
    assert "(no planner named): NATR 0.000" in out
    assert "1 scene has a threat that nobody named; it is open" in out
    assert "less" not in out


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85"])
def test_only_an_end_of_line_ends_a_line(start: str, end: str, inside: str) -> None:
    # JSON leaves these as they are within a text; only str.splitlines takes them for ends.
    raw = start + end.join(line(c, note=f"a{inside}b") for c in "xy") + end
    assert [v.case_id for v in read_verdicts(raw, load_taxonomy())] == ["x", "y"]


@pytest.mark.parametrize(("seed", "said"), [("-1", "--seed"), ("x", "--seed")])
def test_a_seed_that_is_none(run: Run, tmp_path: Path, seed: str, said: str) -> None:
    (tmp_path / "v.jsonl").write_text(line("1"))
    code, _, err = run("natr", tmp_path / "v.jsonl", "--seed", seed)
    assert code == 2
    assert said in err and "Traceback" not in err


def test_one_problem_is_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text("no json")
    code, _, err = run("natr", tmp_path / "v.jsonl")
    assert code == 2
    assert "1 problem in the verdicts." in err
