"""What docs/cases.md says holds."""

import json
import re
from pathlib import Path

from core.trajectories.document import case_from_json, case_to_json
from core.trajectories.filters import FILTERS
from core.trajectories.importers import IMPORTERS
from tests.cases import case

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "cases.md").read_text(encoding="utf-8")


def test_the_smallest_line_is_a_case():
    (line,) = re.findall(r"```json\n(.*?)```", TEXT, re.S)
    found = case_from_json(json.loads(line))
    assert (found.case_id, found.horizon_s, len(found.planner)) == ("s1:mine", 1.0, 2)


def test_every_key_of_a_line_is_described():
    keys = case_to_json(case())
    missing = [k for k in keys if f"`{k}`" not in TEXT]
    assert missing == []


def test_every_importer_is_listed_with_what_it_was_tested_on():
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    for name, importer in IMPORTERS.items():
        (row,) = [r for r in rows if f"`{name}`" in r.split("|")[1]]
        assert ("**real**" in row) == (importer.tested_on == "real files"), name
        assert ("hand-built" in row) == ("hand-built" in importer.tested_on) or name in ("jsonl", "parquet"), name


def test_options_that_are_named_exist():
    known = {o for i in IMPORTERS.values() for o in i.options} | {"step_s", "licence", "authors"}
    named = set(re.findall(r"`([a-z_]+)=[^`]*`", TEXT))
    assert named - known == set()


def test_flags_are_described():
    assert [f for f in FILTERS if f"`{f}`" not in TEXT] == []
