"""The taxonomy that ships, and what a taxonomy may not do."""

from __future__ import annotations

import pytest
import yaml

from core.errors import InputError
from core.threats import load_taxonomy, parse_taxonomy
from core.threats.taxonomy import TAXONOMY

TEXT = TAXONOMY.read_text(encoding="utf-8")


def test_the_taxonomy_that_ships() -> None:
    t = load_taxonomy()
    assert (len(t.threats), len(t.groups), len(t.supercategories)) == (32, 12, 6)
    assert list(t.supercategories) == ["quality", "navigation", "collision", "longitudinal", "priority", "lateral"]
    per = {s.id: len(s.threats) for s in t.sets if s.level == "supercategory"}
    assert per == {"quality": 7, "navigation": 3, "collision": 3, "longitudinal": 3, "priority": 6, "lateral": 10}
    assert {x.severity for x in t.threats} == {"S1", "S2", "S3"}
    assert t.by_id["improper_shoulder_pass_or_bypass"] is t.by_id["improper_shoulder_pass"]
    assert len({x.label for x in t.threats}) == 32


def test_sets_are_nested_and_whole() -> None:
    t = load_taxonomy()
    by = {(s.level, s.id): s for s in t.sets}
    assert t.sets[0].threats == {x.id for x in t.threats}
    for level in ("supercategory", "group", "threat"):
        parts = [s.threats for s in t.sets if s.level == level]
        assert sum(map(len, parts)) == len(frozenset().union(*parts)) == 32
    for s in t.sets:
        if s.level == "threat":
            assert s.threats <= by["group", s.parent].threats
        if s.level == "group":
            assert s.threats <= by["supercategory", s.parent].threats


def test_the_digest_tells_definitions_apart() -> None:
    t = load_taxonomy()
    assert t.digest == parse_taxonomy(TEXT).digest
    assert t.digest != parse_taxonomy(TEXT.replace("transit-only", "buses-only")).digest


def test_every_broken_rule_is_told_at_once() -> None:
    doc = yaml.safe_load(TEXT)
    doc["threats"][0]["group"] = "nowhere"
    doc["threats"][1]["id"] = doc["threats"][2]["id"]
    doc["groups"]["empty"] = {"supercategory": "none", "label": "Empty"}
    with pytest.raises(InputError) as e:
        parse_taxonomy(yaml.safe_dump(doc))
    assert {(p.column, p.got) for p in e.value.problems} == {
        ("threats.blocking_traffic_without_necessity.group", "nowhere"),
        ("groups.empty.supercategory", "none"),
        ("groups.empty", "no threat"),
        ("threats", doc["threats"][2]["id"]),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "not valid YAML"),
        ("a: 1", "breaks its schema"),
        (TEXT.replace("severity: S3", "severity: S4"), "breaks its schema"),
        (TEXT.replace("id: lane_straddling", "id: Lane Straddling"), "breaks its schema"),
    ],
)
def test_no_taxonomy(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_taxonomy(text)
