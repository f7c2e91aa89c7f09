"""Threat rates of a case set from labels and files, and numbers from outside, by hand-derived answers."""

from __future__ import annotations

import json

import pytest

from core.errors import InputError
from core.operators import labelling, outside, threats
from core.settings import Settings
from core.storage import open_store
from tests.cases import case, straight
from tests.labels.desk import gold_cases, keep, labelling_cases, person, say


@pytest.fixture
def store(tmp_path):
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)}))
    yield opened
    opened.close()


@pytest.fixture
def set_id(store):
    """Four scenes by two planners, of which one case is flagged; and calibration cases that never count."""
    cases = labelling_cases(4)
    cases[0] = case("s00-p0", flags=("open_future",))
    return keep(store, [*cases, *gold_cases(4)])


def test_labels_become_verdicts_and_everything_without_one_is_counted(store, set_id):
    ann, bob, cyd = (person(store, n) for n in ("Ann", "Bob", "Cyd"))
    say(store, set_id, ann, {"s00-p0": "Y", "s01-p0": "Y", "s02-p0": "N", "s01-p1": "U"})
    say(store, set_id, bob, {"s00-p0": "Y", "s01-p0": "Y", "s02-p0": "Y"})
    say(store, set_id, cyd, {"s01-p0": "N"})
    say(store, set_id, cyd, {"calibration00-p": "Y"}, slot="calibration:1")
    found = threats.verdicts_of_labels(store, set_id)
    assert {v.case_id: v.status for v in found.verdicts} == {
        "s00-p0": "has_threat", "s01-p0": "has_threat", "s02-p0": "abstain", "s01-p1": "abstain",
    }  # fmt: skip
    assert (found.cases, found.without, found.flagged) == (8, 4, 0)
    assert (found.people, found.not_counting, found.labels, found.several, found.consensus) == (3, 0, 8, 3, 0)
    labelling.leave_out(store, set_id, ["open_future"])
    less = threats.verdicts_of_labels(store, set_id)
    assert "s00-p0" not in {v.case_id for v in less.verdicts}
    assert (less.cases, less.without, less.flagged, less.labels) == (7, 4, 1, 6)
    labelling.consensus(store, set_id, cyd, "s02-p0", "N", "The cones are far.")
    settled = threats.verdicts_of_labels(store, set_id)
    assert {v.case_id: v.status for v in settled.verdicts}["s02-p0"] == "no_threat"
    assert settled.consensus == 1


def test_rates_carry_the_bounds_of_what_is_open(store, set_id):
    ann = person(store)
    say(store, set_id, ann, {"s00-p0": "Y", "s01-p0": "N", "s02-p0": "U", "s03-p0": "N"})
    found = threats.verdicts_of_labels(store, set_id)
    (p0,) = threats.threat_rates(found).planners
    assert (p0.n, p0.overall.threats, p0.overall.open) == (4, 1, 1)
    assert p0.overall.rate == pytest.approx(1 / 3)
    assert (p0.overall.bounds.low, p0.overall.bounds.high) == (0.25, 0.5)
    assert threats.threat_rates(found, "count_as_no").planners[0].overall.rate == 0.25


def test_overlap_is_over_the_scenes_that_planners_share(store, set_id):
    ann = person(store)
    say(store, set_id, ann, {"s00-p0": "Y", "s01-p0": "Y", "s02-p0": "N", "s03-p0": "Y", "s00-p1": "Y", "s01-p1": "N", "s02-p1": "U"})
    result = threats.threat_overlap(threats.verdicts_of_labels(store, set_id))
    assert result.common.scenes == ("s00", "s01", "s02")
    assert result.matrix.names == ("p0", "p1")
    assert result.matrix.sizes == (2, 1)
    assert result.matrix.pairs[0][1].shared == 1
    assert result.open == {"p0": 0, "p1": 1}


def test_people_of_a_group_are_compared_among_themselves(store, set_id):
    labels = {f"s{i:02d}-p0": "YN"[i % 2] for i in range(4)}
    for name, inside in (("Ann", True), ("Bob", True), ("Cyd", False)):
        say(store, set_id, person(store, name, inside), labels)
    groups = threats.agreement_of_groups(store, set_id)
    assert list(groups) == ["Members of the project"]  # one person alone agrees with nobody
    assert (groups["Members of the project"].compared, groups["Members of the project"].unanimous) == (4, 4)


def test_a_file_of_verdicts_names_its_cases(store, set_id):
    lines = [
        {"case_id": "s00-p0", "status": "has_threat", "threats": ["lane_straddling"]},
        {"case_id": "s01-p0", "status": "abstain", "threats": []},
    ]
    found = threats.verdicts_of_file(store, set_id, "\n".join(json.dumps(x) for x in lines))
    assert {(v.scene_id, v.planner_id, v.status) for v in found.verdicts} == {("s00", "p0", "has_threat"), ("s01", "p0", "abstain")}
    assert (found.cases, found.without, found.people) == (8, 6, 0)
    with pytest.raises(InputError, match="unknown"):
        threats.verdicts_of_file(store, set_id, json.dumps({"case_id": "unknown", "status": "no_threat", "threats": []}))


def test_threats_by_metric_put_each_planner_into_the_same_bins(store):
    cases = [case(f"s{i}-{p}", planner=straight(8.0 + i)) for i in range(4) for p in ("a", "b")]
    set_id = keep(store, cases)
    say(store, set_id, person(store), {f"s{i}-{p}": "Y" if i > 1 else "N" for i in range(4) for p in ("a", "b")})
    found, table = threats.verdicts_of_labels(store, set_id), threats.measure_cases(cases)
    a, b = threats.threats_by_metric(found, table, "fde_5s_expert", "linear", 2)
    assert [(x.low, x.high) for x in a.bins] == [(x.low, x.high) for x in b.bins]
    assert [(x.n, x.threats) for x in a.bins] == [(2, 0), (2, 2)]


NUMBERS = b"scene_id,planner,PDMS\ns00,p0,0\ns00,p1,0\ns01,p0,0\ns01,p1,0.5\ns02,p0,1\ns02,p1,\nnowhere,p0,1\n"


def test_numbers_from_outside_stand_beside_a_set_that_stays_as_it_is(store, set_id):
    content = store.cases.open(set_id)
    found = outside.add_outside(store, set_id, "pdms.csv", NUMBERS, content.cases)
    assert (found.used, len(found.unmatched)) == (6, 1)
    cases = {c.case_id: c for c in outside.with_outside(store, set_id, content.cases)}
    assert cases["s01-p1"].metrics == {"PDMS": 0.5}
    assert cases["s02-p1"].metrics == {}
    assert store.cases.open(set_id).digest == content.digest
    (kept,) = outside.outside_files(store, set_id)
    assert kept.name == "pdms.csv"
    outside.add_outside(store, set_id, "pdms.csv", NUMBERS, content.cases)
    assert len(outside.outside_files(store, set_id)) == 1  # the same file once more
    outside.drop_outside(store, set_id, kept.sha256)
    assert outside.with_outside(store, set_id, content.cases) == content.cases


def test_failures_by_a_rule_overlap_on_scenes_that_all_planners_have(store, set_id):
    content = store.cases.open(set_id)
    outside.add_outside(store, set_id, "pdms.csv", NUMBERS, content.cases)
    found = outside.failure_overlap(outside.with_outside(store, set_id, content.cases), "PDMS <= 0")
    assert dict(found.failed) == {"p": 0, "p0": 2, "p1": 1}
    assert found.unknown["p1"] == 2


def test_a_file_that_meets_no_case_is_not_kept(store, set_id):
    cases = store.cases.open(set_id).cases
    with pytest.raises(InputError, match="meets a case"):
        outside.add_outside(store, set_id, "x.csv", b"scene_id,PDMS\nelsewhere,1\n", cases)
    with pytest.raises(InputError, match="UTF-8"):
        outside.add_outside(store, set_id, "x.csv", b"scene_id,PDMS\n\xff,1\n", cases)
    assert outside.outside_files(store, set_id) == ()
