"""CommonRoad scenarios that are written by hand from the public schema."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.trajectories.importers import import_source
from core.trajectories.importers.commonroad import looks_like
from core.trajectories.importers.commonroad_xml import EgoFrame
from core.trajectories.view import case_view
from tests.trajectories import commonroad_files as cr
from tests.trajectories import written as w

# An ego vehicle at (100, 50) that drives along +y (yaw 90 degrees) at 10 m/s; another car 20 m ahead and 3 m to its left.
UP = math.pi / 2
EGO = [(100, 50 + k, UP, 10) for k in range(61)]
OTHER = [(97, 70 + 0.5 * k, UP, 5) for k in range(61)]


@pytest.fixture
def source(tmp_path):
    def make(*parts, name="scenario.xml", **more):
        return w.write(tmp_path / name, cr.scenario(*(parts or (cr.lanelet(1, 0, 4), cr.moving(30, EGO), cr.moving(31, OTHER))), **more))

    return make


def read(path, **options):
    return import_source(path, "commonroad", **({"planners": "constant_velocity"} | options))


def rejected(found):
    return [o.notes for o in found.report.outcomes if o.fate == "rejected"]


def test_the_frame_turns_and_moves():
    frame = EgoFrame(100, 50, UP)
    np.testing.assert_allclose(frame.points(np.array([[100, 60], [97, 50]])), [[10, 0], [0, 3]], atol=1e-12)
    assert frame.angle(-UP) == pytest.approx(-math.pi) or frame.angle(-UP) == pytest.approx(math.pi)
    assert frame.angle(UP + 0.5) == pytest.approx(0.5)


def test_an_obstacle_plays_the_ego_vehicle(source):
    found = read(source(), expert_obstacle=30, licence="test data")
    (case,) = found.cases
    assert (case.case_id, case.scene_id) == ("DEU_Made-1_1_T-1:30:constant_velocity", "DEU_Made-1_1_T-1:30")
    assert (case.dt_s, len(case.expert), case.horizon_s) == (0.1, 50, 5.0)
    np.testing.assert_allclose(case.expert.points[[0, -1]], [[1, 0], [50, 0]], atol=1e-9)
    np.testing.assert_allclose(case.expert.yaw, 0, atol=1e-9)
    assert (case.ego.speed_mps, case.ego.origin, case.ego.length_m, case.ego.width_m) == (10, "centre", 4.5, 1.8)
    assert case.cameras == ()
    assert (case.licence, case.synthetic, case.flags) == ("test data", False, ("trivial_expert",))
    (other,) = case.agents.items
    assert (other.track_id, other.cls, other.length_m, other.width_m) == ("31", "vehicle", 4.5, 1.8)
    np.testing.assert_allclose([other.x, other.y, other.yaw], [20, 3, 0], atol=1e-9)
    np.testing.assert_allclose(other.velocity, [5, 0], atol=1e-9)
    np.testing.assert_allclose(other.future.points[[0, -1]], [[20.5, 3], [45, 3]], atol=1e-9)
    assert case.agents.coverage.source == "CommonRoad scenario"
    view = case_view(case)
    assert view["cameras"] == []
    assert view["bev"]["agents"][0]["kind"] == "vehicle"


def test_every_vehicle_may_play_it_in_turn(source):
    walker = cr.moving(40, [(90 + k / 10, 60, 0.0, 1) for k in range(61)], "pedestrian")
    short = cr.moving(41, EGO[:20])
    found = read(source(cr.lanelet(1, 0, 4), cr.moving(30, EGO), cr.moving(31, OTHER), walker, short), expert_obstacle="all")
    assert [c.scene_id.rsplit(":")[-1] for c in found.cases] == ["30", "31"]
    assert {a.track_id for a in found.cases[1].agents.items} == {"30", "40", "41"}
    assert "scenario.xml: 1 moving obstacles do not play the ego vehicle: they are no cars, trucks or buses" in found.report.remarks
    assert (
        "scenario.xml: 1 moving obstacles do not play the ego vehicle: they have a trajectory that ends before the horizon"
        in found.report.remarks
    )


def test_a_short_expert_is_cut_and_told(source):
    found = read(source(cr.lanelet(1, 0, 4), cr.moving(30, EGO[:21])), expert_obstacle=30)
    assert found.cases[0].horizon_s == pytest.approx(2.0)
    assert "the expert's trajectory ends after 2 s" in found.report.outcomes[0].notes


def test_a_missing_step_is_not_valid(source):
    data = cr.moving(30, EGO).replace(cr.state("state", *EGO[3][:3], 3, 10), "")
    found = read(source(cr.lanelet(1, 0, 4), data), expert_obstacle=30)
    valid = found.cases[0].expert.valid
    assert (valid.sum(), bool(valid[2])) == (49, False)
    assert "1 steps of the expert are missing and not valid" in found.report.outcomes[0].notes


def test_solutions_are_expert_and_planner(source, tmp_path):
    path = source(cr.lanelet(1, 0, 4), cr.moving(31, OTHER), cr.problem(7, 100, 50, UP, 10), cr.problem(8, 0, 0, 0, 1))
    expert = w.write(tmp_path / "expert.sol", cr.solution([(100, 50 + k, UP, 10) for k in range(51)]))
    wide = [(100 - 0.02 * k, 50 + 1.1 * k, -0.2, 11) for k in range(41)]
    planner = w.write(tmp_path / "swerve.sol", cr.solution(wide, kind="pm", benchmark="PM1:SM1:DEU_Made-1_1_T-1:2020a"))
    found = import_source(path, "commonroad", expert=expert, solution=planner)
    (case,) = found.cases
    assert (case.case_id, case.planner_id) == ("DEU_Made-1_1_T-1:7:swerve", "swerve")
    np.testing.assert_allclose(case.planner.points[[0, -1]], [[1.1, 0.02], [44, 0.8]], atol=1e-9)
    np.testing.assert_allclose(case.planner.yaw, math.atan2(0.2, 11), atol=1e-9)
    assert (case.ego.speed_mps, case.ego.yaw_rate_rps, case.ego.length_m) == (10, 0.0, 4.508)
    assert "the expert covers 5 s and was cut to the 4 s that both cover" in found.report.outcomes[1].notes
    assert rejected(found) == [("the expert's solution does not solve it",)]
    both = import_source(path, "commonroad", expert=expert, solution=planner, planner="P", planners="faster")
    assert [c.planner_id for c in both.cases] == ["P", "faster"]


def test_a_solution_of_another_scenario_is_refused(source, tmp_path):
    other = w.write(tmp_path / "s.sol", cr.solution([(0, 0, 0, 1)] * 3, benchmark="KS2:SM1:DEU_Other-1_1_T-1:2020a"))
    with pytest.raises(InputError, match=r'solves "KS2:SM1:DEU_Other-1_1_T-1:2020a", not "DEU_Made-1_1_T-1"'):
        read(source(), expert=other)
    inputs = w.write(tmp_path / "i.sol", b'<CommonRoadSolution benchmark_id="x"><inputVector/></CommonRoadSolution>')
    with pytest.raises(InputError, match="holds <inputVector>"):
        read(source(), expert=inputs)
    with pytest.raises(InputError, match="is no solution"):
        read(source(), expert=source(name="b.xml"))


def test_who_the_expert_is_has_to_be_said(source, tmp_path):
    path = source()
    for options in ({}, {"expert_obstacle": 30, "expert": path}, {"solution": path, "expert_obstacle": 30}):
        with pytest.raises(InputError, match=r'Moving obstacles of "scenario.xml": 30, 31\.'):
            read(path, **options)
    with pytest.raises(InputError, match='no moving obstacle "99"'):
        read(path, expert_obstacle=99)


def test_lanelets_become_lanes_with_their_use_and_markings(source):
    limit = "<trafficSignElement><trafficSignID>274</trafficSignID><additionalValue>13.9</additionalValue></trafficSignElement>"
    sign = f'<trafficSign id="201">{limit}</trafficSign>'
    parts = [
        cr.lanelet(1, 0, 4, extra='<trafficSignRef ref="201"/>'),
        cr.lanelet(2, 4, 8, ("urban", "busLane")),
        cr.lanelet(3, 8, 10, ("bicycleLane",), marking="no_marking"),
        cr.lanelet(4, -2, 0, ("sidewalk",)),
        cr.lanelet(5, 0, 1, ("crosswalk",)),
        sign,
        cr.moving(30, [(10 + k, 2, 0, 10) for k in range(61)]),
    ]
    case = read(source(*parts), expert_obstacle=30).cases[0]
    areas = {s.id: s for s in case.map.items if s.closed}
    assert {i: (s.kind, s.attributes.get("lane_type")) for i, s in areas.items()} == {
        "1": ("lane", None),
        "2": ("lane", "bus"),
        "3": ("lane", "bike"),
        "4": ("sidewalk", None),
        "5": ("crosswalk", None),
    }
    np.testing.assert_allclose(areas["1"].points, [[-10, 2], [40, 2], [90, 2], [90, -2], [40, -2], [-10, -2]])
    assert areas["1"].attributes["speed_limit_mps"] == 13.9
    assert areas["1"].attributes["one_way"] == ["vehicle"]
    lines = [(s.id, s.kind, s.attributes.get("marking")) for s in case.map.items if not s.closed]
    assert ("1", "marking", "dashed") in lines
    assert ("1", "boundary", None) in lines
    assert ("3", "boundary", None) in lines
    (placed,) = case.signals.items
    assert (placed.kind, placed.attributes["speed_limit_mps"], placed.id) == ("traffic_sign", 13.9, "201")
    np.testing.assert_allclose(placed.points, [[90, 0]])


def light(i, phases, offset=None, position="", more=""):
    cycle = "".join(f"<cycleElement><duration>{d}</duration><color>{c}</color></cycleElement>" for d, c in phases)
    start = f"<timeOffset>{offset}</timeOffset>" if offset else ""
    return f'<trafficLight id="{i}"><cycle>{cycle}{start}</cycle>{position}{more}</trafficLight>'


@pytest.mark.parametrize(
    ("offset", "changes"),
    [
        (None, [[0.0, "red"], [3.0, "green"]]),
        (10, [[0.0, "yellow"], [1.0, "red"], [4.0, "green"]]),
        (100, [[0.0, "red"], [3.0, "green"]]),
        (25, [[0.0, "green"], [1.5, "yellow"], [2.5, "red"]]),
        (65, [[0.0, "green"]]),
    ],
)
def test_lights_have_the_state_of_their_cycle(source, offset, changes):
    # Red for 3 s, green for 6 s, yellow for 1 s; with an offset of 65 steps, t = 0 is step 35 of the 100 of the cycle.
    phases = [(30, "red"), (60, "green"), (10, "yellow")]
    lamp = light(9, phases, offset, f"<position>{cr.point(60, 5)}</position>", "<direction>left</direction>")
    data = source(cr.lanelet(1, 0, 4), lamp, cr.moving(30, [(10 + k, 2, 0, 10) for k in range(61)]))
    (lamp,) = read(data, expert_obstacle=30).cases[0].signals.items
    assert (lamp.kind, lamp.attributes["state"], lamp.attributes["direction"]) == ("traffic_light", changes[0][1], "left")
    assert lamp.attributes["changes"] == changes
    np.testing.assert_allclose(lamp.points, [[50, 3]])


def test_lights_without_a_place_stand_where_their_lanelet_ends(source):
    stop = f"<stopLine>{cr.point(80, 4)}{cr.point(80, 0)}<lineMarking>solid</lineMarking></stopLine>"
    parts = [
        cr.lanelet(1, 0, 4, extra=(stop, '<trafficLightRef ref="9"/>')),
        light(9, [(10, "red")], more="<active>false</active>"),
        light(10, [(10, "red")]),
        cr.moving(30, [(10 + k, 2, 0, 10) for k in range(61)]),
    ]
    found = read(source(*parts), expert_obstacle=30)
    (lamp,) = found.cases[0].signals.items
    assert (lamp.id, lamp.attributes["state"]) == ("9", "inactive")
    np.testing.assert_allclose(lamp.points, [[90, 0]])
    assert "1 signs or lights without a place were left out" in found.report.outcomes[0].notes
    (line,) = [s for s in found.cases[0].map.items if s.kind == "stop_line"]
    np.testing.assert_allclose(line.points, [[70, 2], [70, -2]])


def test_obstacles_keep_what_they_are(source):
    round_thing = "<shape><circle><radius>0.5</radius></circle></shape>"
    turned = cr.rectangle(6, 2, "<orientation>1.5707963267948966</orientation><center><x>1</x><y>0</y></center>")
    area = f"<occupancySet><occupancy>{round_thing}<time><exact>1</exact></time></occupancy></occupancySet>"
    walls = f"<shape><polygon>{cr.point(20, 20)}{cr.point(30, 20)}{cr.point(30, 30)}</polygon></shape>"
    house = f'<environmentObstacle id="70"><type>building</type>{walls}</environmentObstacle>'
    parts = [
        cr.lanelet(1, 0, 4),
        cr.standing(50, 20, 0),
        cr.standing(51, 30, 1, "constructionZone", yaw=UP, shape=cr.rectangle(2, 1)),
        cr.standing(52, 40, 1, "unknown", shape=round_thing),
        cr.moving(53, [(30, 5, 0, 3)], "bus", follow=area),
        cr.moving(54, [(10, 8, 0, 0)] * 3, "truck", shape=turned),
        cr.moving(55, [(10, 9, 0, 0)] * 3, "tram", shape="<shape/>"),
        house,
        cr.moving(30, [(10 + k, 2, 0, 10) for k in range(61)]),
    ]
    found = read(source(*parts), expert_obstacle=30)
    case = found.cases[0]
    agents = {a.track_id: a for a in case.agents.items}
    assert {i: (a.cls, a.attributes, a.velocity) for i, a in agents.items()} == {
        "50": ("vehicle", ("parked",), (0.0, 0.0)),
        "53": ("bus", (), (3.0, 0.0)),
        "54": ("truck", (), (0.0, 0.0)),
    }
    assert agents["53"].future is None
    assert agents["54"].future.valid.tolist() == [True, True] + [False] * 48
    np.testing.assert_allclose([agents["54"].x, agents["54"].y, agents["54"].yaw], [1, 6, UP], err_msg="the box lies beside its reference")
    things = {s.id: s for s in case.static_objects.items}
    assert {i: s.kind for i, s in things.items()} == {"51": "construction_zone", "52": "obstacle", "70": "building"}
    low, high = things["51"].points.min(axis=0), things["51"].points.max(axis=0)
    np.testing.assert_allclose([low, high], [[19.5, -2], [20.5, 0]], err_msg="2 m long across the road, 1 m along it")
    assert len(things["52"].points) == 24
    np.testing.assert_allclose(things["70"].points, [[10, 18], [20, 18], [20, 28]])
    notes = found.report.outcomes[0].notes
    assert "1 moving obstacles have areas instead of a trajectory: their future is not known" in notes
    assert "1 obstacles without a shape were left out" in notes


def test_uncertain_states_are_taken_in_the_middle_and_told(source):
    place = "<rectangle><length>2</length><width>1</width><center><x>10</x><y>2</y></center></rectangle>"
    start = cr.state("initialState", 10, 2, 0, 0, 10)
    uncertain = cr.state("initialState", 0, 0, 0, 0, position=place).replace(
        "</initialState>", "<velocity><intervalStart>8</intervalStart><intervalEnd>12</intervalEnd></velocity></initialState>"
    )
    data = cr.moving(30, [(10 + k, 2, 0, 10) for k in range(61)])
    assert start in data
    found = read(source(cr.lanelet(1, 0, 4), data.replace(start, uncertain)), expert_obstacle=30)
    assert found.cases[0].ego.speed_mps == 10
    np.testing.assert_allclose(found.cases[0].expert.points[0], [1, 0])
    assert "states of the expert are areas or intervals: their middles were taken" in found.report.outcomes[0].notes


def test_made_up_places_are_synthetic(source):
    assert read(source(benchmark="ZAM_Tutorial-1_1_T-1"), expert_obstacle=30).cases[0].synthetic
    assert read(source(tags="<simulated/>"), expert_obstacle=30).cases[0].synthetic


def test_a_folder_of_scenarios_is_read_whole(source, tmp_path):
    source(name="a.xml", benchmark="DEU_A-1_1_T-1")
    source(name="b.xml", benchmark="DEU_B-1_1_T-1")
    source(cr.lanelet(1, 0, 4), cr.moving(31, OTHER), name="c.xml")
    w.write(tmp_path / "d.xml", b"<broken")
    w.write(tmp_path / "solution.xml", cr.solution(EGO))
    found = read(tmp_path, expert_obstacle=30)
    assert [c.scene_id for c in found.cases] == ["DEU_A-1_1_T-1:30", "DEU_B-1_1_T-1:30"]
    assert [(o.where, o.notes[0][:38]) for o in found.report.outcomes if o.fate == "rejected"] == [
        ("c.xml", '"c.xml" has no moving obstacle "30". A'),
        ("d.xml", '"d.xml" is no sound XML: line 1, colum'),
    ]
    assert looks_like(tmp_path)


def test_a_solution_that_starts_elsewhere_is_told(source, tmp_path):
    path = source(cr.lanelet(1, 0, 4), cr.problem(7, 100, 50, UP, 10))
    expert = w.write(tmp_path / "expert.sol", cr.solution([(100, 51 + k, UP, 10) for k in range(51)]))
    assert "the expert's solution starts 1.00 m from the initial state" in read(path, expert=expert).report.outcomes[0].notes


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (cr.scenario(version="2018b"), "the version 2018b; scenarios of the version 2020a are read"),
        (b"<other/>", "is <other>; scenarios"),
        (cr.scenario(step="0"), 'timeStepSize "0"'),
        (cr.scenario(step="x"), 'timeStepSize "x"'),
        (cr.scenario(cr.moving(30, EGO), '<lanelet id="4"/>'), '<lanelet id="4"> has no <leftBound>'),
        (cr.scenario(cr.moving(30, [("nan", 0, 0, 1), (1, 0, 0, 1)])), 'needs a number in <x>, got "nan"'),
        (cr.scenario(cr.moving(30, [("1e300", 0, 0, 1), (1, 0, 0, 1)])), 'needs a number in <x>, got "1e300"'),
        (cr.scenario(cr.moving(30, [("zero", 0, 0, 1), (1, 0, 0, 1)])), 'needs a number in <x>, got "zero"'),
        (cr.scenario()[:-20], "is no sound XML: line 1"),
        (b"", "is no sound XML"),
        (b"\x00\x01", "is no sound XML"),
    ],
)
def test_files_that_break_the_format_are_refused_with_the_place(tmp_path, data, why):
    with pytest.raises(InputError) as e:
        read(w.write(tmp_path / "x.xml", data), expert_obstacle=30)
    assert why in str(e.value)


HOSTILE = {
    "laughs": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    "outside": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    "parameter": '<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/hostname"> %x;]>',
    "document type": '<!DOCTYPE a SYSTEM "http://localhost:1/a.dtd">',
    "empty document type": "<!DOCTYPE commonRoad>",
}


@pytest.mark.parametrize("head", HOSTILE.values(), ids=HOSTILE.keys())
def test_document_types_and_entities_are_refused(source, head):
    with pytest.raises(InputError, match=r"was not read: it has a document type \(DOCTYPE\)"):
        read(source(head=head), expert_obstacle=30)


def test_unknown_entities_depth_and_size_are_refused(tmp_path, monkeypatch):
    for data in (
        b"<a>&x;</a>",
        b"<a>" * 41,
        b'<?xml version="1.0" encoding="no-such-code"?><a/>',
        b'<?xml version="1.0" encoding="utf-7"?><a/>',
    ):
        with pytest.raises(InputError, match=r"was not read|is no sound XML"):
            read(w.write(tmp_path / "x.xml", data), expert_obstacle=30)
    monkeypatch.setattr("core.trajectories.importers.safe_xml.MOST_ELEMENTS", 5)
    with pytest.raises(InputError, match="more than 40 levels or 5 elements"):
        read(w.write(tmp_path / "x.xml", b"<a>" + b"<b/>" * 6 + b"</a>"), expert_obstacle=30)
    monkeypatch.setattr("core.trajectories.importers.safe_xml.LARGEST_FILE", 3)
    with pytest.raises(InputError, match="has 4 bytes"):
        read(w.write(tmp_path / "x.xml", b"<a/>"), expert_obstacle=30)


def test_a_scenario_is_recognised(source, tmp_path):
    assert looks_like(source())
    assert not looks_like(w.write(tmp_path / "s.xml", cr.solution(EGO)))
    assert not looks_like(w.write(tmp_path / "s.txt", cr.scenario()))
    assert not looks_like(tmp_path / "none.xml")


def test_planners_may_come_from_a_file_in_the_frame_of_the_ego_vehicle(source, tmp_path):
    rows = "".join(f"DEU_Made-1_1_T-1:30,mine,{0.5 * k},{6 * k},0\n" for k in range(1, 11))
    table = w.write(tmp_path / "mine.csv", ("scene_id,planner,t,x,y\n" + rows).encode())
    found = import_source(source(), "commonroad", expert_obstacle=30, planner_file=table)
    (case,) = found.cases
    assert case.case_id == "DEU_Made-1_1_T-1:30:mine"
    np.testing.assert_allclose(case.planner.points[[0, -1]], [[1.2, 0], [60, 0]])
    assert found.report.outcomes[0].resampled


def test_a_horizon_that_is_no_number_is_an_input_error(source):
    with pytest.raises(InputError, match="horizon_s"):
        read(source(), expert_obstacle=30, horizon_s="long")


def test_what_is_far_away_is_left_out_and_counted(source):
    parts = [
        cr.lanelet(1, 0, 4),
        cr.lanelet(2, 400, 404),
        cr.moving(30, [(10 + k, 2, 0, 10) for k in range(61)]),
        cr.moving(31, [(155, 2, 0, 0)] * 3),
        cr.moving(32, [(900, 2, 0, 0)] * 3),
        cr.standing(50, 10, -150, "constructionZone"),
    ]
    found = read(source(*parts), expert_obstacle=30)
    case = found.cases[0]
    assert {s.id for s in case.map.items} == {"1"}
    assert [a.track_id for a in case.agents.items] == ["31"]
    assert case.static_objects.items == ()
    assert case.agents.coverage.range_m == 100
    assert "3 things farther than 100 m from the expert's way were left out" in found.report.outcomes[0].notes


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_changed_byte_makes_the_import_fail_in_another_way(tmp_path_factory, data):
    lamp = light(9, [(30, "red"), (60, "green")], 5, f"<position>{cr.point(60, 5)}</position>")
    ways = [(cr.moving(i, [(10 + k, 2, 0, 10) for k in range(8)])) for i in (30, 31)]
    content = bytearray(cr.scenario(cr.lanelet(1, 0, 4), lamp, cr.standing(50, 20, 0), *ways))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(32, 126))
    path = w.write(tmp_path_factory.mktemp("fuzz") / "a.xml", bytes(content))
    try:
        imported = read(path, expert_obstacle=30)
    except InputError as e:
        assert '"a.xml"' in str(e)
        return
    assert imported.report.accepted == len(imported.cases) <= 1
