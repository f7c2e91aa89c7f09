"""Argoverse 2 scenarios: the ego's frame, tracks that come and go, the map; the real scenario."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import InputError
from core.trajectories.importers import detect, import_source
from tests.source_files import noise, scenario_columns, vector_map, write_scenario

REAL = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "av2_forecasting"
real = pytest.mark.skipif(not REAL.exists(), reason="the scenario of Argoverse 2 is not beside the repository")


def read(path, **options):
    return import_source(path, "argoverse2", **({"planners": "constant_velocity"} | options))


def one(folder, **options):
    made = read(folder, **options)
    return made.cases[0], made.report.outcomes[0]


def test_the_ego_looks_along_x_and_five_of_six_seconds_are_kept(tmp_path):
    write_scenario(tmp_path)
    case, outcome = one(tmp_path)
    assert detect(tmp_path) == detect(tmp_path / "scenario_sc1.parquet") == "argoverse2"
    assert (case.scene_id, case.dt_s, len(case.expert)) == ("sc1", 0.1, 50)
    assert np.allclose(case.expert.points, [[0.5 * k, 0.0] for k in range(1, 51)])
    assert case.expert.yaw is not None and np.allclose(case.expert.yaw, 0.0)
    assert case.history is not None and len(case.history) == 50
    assert np.allclose(case.history.points[[0, -1]], [[-24.5, 0.0], [0.0, 0.0]])
    assert (case.ego.origin, case.ego.speed_mps, case.ego.accel_mps2, case.ego.yaw_rate_rps) == ("centre", 5.0, 0.0, 0.0)
    assert outcome.notes[:3] == (
        "the last 1 s of the 6 s of future were cut",
        "left out: 1 of 3 tracks without a state at t = 0",
        "left out: 1 piece of the map farther than 100 m",
    )


def test_the_whole_future_can_be_kept_and_brought_to_four_hertz(tmp_path):
    write_scenario(tmp_path)
    case, outcome = one(tmp_path, horizon_s="6", step_s=0.25)
    assert (case.dt_s, len(case.expert), case.horizon_s) == (0.25, 24, 6.0)
    assert not any("cut" in n for n in outcome.notes) and outcome.resampled
    with pytest.raises(InputError, match=r"from 0\.1 to 6"):
        one(tmp_path, horizon_s=7)
    with pytest.raises(InputError, match="horizon_s"):
        one(tmp_path, horizon_s="long")


def test_tracks_are_road_users_or_things_with_masks_where_they_vanish(tmp_path):
    write_scenario(tmp_path)
    case, _ = one(tmp_path)
    assert case.agents is not None and case.static_objects is not None
    (car,) = case.agents.items
    assert (car.track_id, car.cls) == ("7", "vehicle") and (car.x, car.y) == pytest.approx((10.0, 0.0))
    assert car.velocity == pytest.approx((5.0, 0.0)) and car.yaw == pytest.approx(0.0)
    assert car.future is not None and car.future.valid.tolist() == [True] * 20 + [False] * 30
    assert np.allclose(car.future.points[20:], car.future.points[19])
    assert car.attributes == ("size is assumed", "focal track")
    (bike,) = case.static_objects.items
    assert bike.kind == "riderless_bicycle" and np.allclose(bike.points, [[0.0, 4.0]])


def test_the_map_is_in_the_frame_of_the_ego(tmp_path):
    write_scenario(tmp_path)
    case, _ = one(tmp_path)
    assert case.map is not None and case.map.coverage is not None and case.map.coverage.range_m == 100.0
    kinds = {s.kind: s for s in case.map.items}
    assert set(kinds) == {"drivable", "crosswalk", "lane", "marking"}
    lane = kinds["lane"]
    assert lane.attributes["lane_type"] == "bike" and lane.closed
    assert np.allclose(lane.points, [[-10, 1.5], [60, 1.5], [60, -1.5], [-10, -1.5]])
    assert np.allclose(lane.attributes["centreline"], [[-10, 0], [60, 0]])
    assert kinds["marking"].attributes["marking"] == "dashed_yellow"
    corners = kinds["crosswalk"].points
    assert np.allclose(corners, [[20, 5], [20, -5], [23, -5], [23, 5]])  # no edges that cross


def test_a_scenario_without_a_map_or_with_a_broken_one_is_a_case_whose_map_is_unknown(tmp_path):
    write_scenario(tmp_path / "a", map_=None)
    case, outcome = one(tmp_path / "a")
    assert case.map is None and "there is no map (log_map_archive_sc1.json)" in outcome.notes
    (write_scenario(tmp_path / "b", map_=None).parent / "log_map_archive_sc1.json").write_text("{")
    case, outcome = one(tmp_path / "b")
    assert case.map is None and any(n.startswith("the map was left out") for n in outcome.notes)


def test_broken_pieces_of_a_map_are_counted(tmp_path):
    broken = vector_map()
    broken["lane_segments"]["9"] = {"id": 9, "left_lane_boundary": [{"x": "a", "y": 1}]}
    broken["drivable_areas"]["9"] = 7
    write_scenario(tmp_path, map_=broken)
    case, outcome = one(tmp_path)
    assert case.map is not None and "left out: 2 broken pieces of the map" in outcome.notes


def test_a_folder_of_scenarios_gives_all_and_tells_of_broken_ones(tmp_path):
    write_scenario(tmp_path / "a")
    write_scenario(tmp_path / "b", scenario_columns(scenario_id=["sc2"] * len(scenario_columns()["scenario_id"])))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "scenario_x.parquet").write_bytes(noise(1, 500))
    made = read(tmp_path)
    assert [c.scene_id for c in made.cases] == ["sc1", "sc2"]
    assert [o.fate for o in made.report.outcomes] == ["accepted", "accepted", "rejected"]
    assert "cannot be read" in made.report.outcomes[2].notes[0]


def changed(**columns):
    return scenario_columns() | columns


def without_ego(step=None):
    columns = scenario_columns()
    gone = [t == "AV" and (step is None or step(k)) for t, k in zip(columns["track_id"], columns["timestep"], strict=True)]
    return {name: [v for v, g in zip(values, gone, strict=True) if not g] for name, values in columns.items()}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (without_ego(), 'it has no track "AV"'),
        (without_ego(lambda k: k == 49), "no state at t = 0"),
        (without_ego(lambda k: k > 49), "no state after t = 0"),
        (changed(timestep=[k * 2 for k in scenario_columns()["timestep"]]), "expected 0 to 109"),
        (changed(timestep=[k // 2 for k in scenario_columns()["timestep"]]), "has a step twice"),
        (changed(position_x=["a"] * len(scenario_columns()["position_x"])), "it cannot be read"),
        (changed(position_x=[None, *scenario_columns()["position_x"][1:]]), "has 1 empty cells"),
        (changed(scenario_id=["a", *scenario_columns()["scenario_id"][1:]]), "2 scenarios"),
        ({k: v for k, v in scenario_columns().items() if k != "heading"}, "columns are missing: heading"),
        ({k: v[:0] for k, v in scenario_columns().items()}, "no rows|cannot be read"),
    ],
)
def test_scenarios_that_cannot_be_used_are_told(tmp_path, columns, said):
    write_scenario(tmp_path, columns)
    made = import_source(tmp_path / "scenario_sc1.parquet", "argoverse2")
    assert made.cases == [] and any(s in made.report.outcomes[0].notes[0] for s in said.split("|"))


def test_states_of_the_ego_that_are_missing_or_not_finite_are_not_valid(tmp_path):
    columns = without_ego(lambda k: 60 <= k < 65)
    at = [i for i, (t, k) in enumerate(zip(columns["track_id"], columns["timestep"], strict=True)) if t == "AV" and k == 70]
    columns["position_y"][at[0]] = math.nan
    write_scenario(tmp_path, columns)
    case, outcome = one(tmp_path)
    assert np.flatnonzero(~case.expert.valid).tolist() == [10, 11, 12, 13, 14, 20]
    assert "not valid: 6 of 50 states of the expert" in outcome.notes


def test_sources_that_hold_no_scenario_are_refused(tmp_path):
    with pytest.raises(InputError, match="holds no scenario"):
        read(tmp_path)
    made = read(tmp_path / "none.parquet")
    assert made.cases == [] and "cannot be read" in made.report.outcomes[0].notes[0]
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    assert detect(tmp_path / "x.parquet") is None


@real
def test_the_real_scenario():
    made = import_source(REAL, "argoverse2")
    assert detect(REAL) == "argoverse2"
    assert [c.planner_id for c in made.cases] == ["constant_velocity", "constant_acceleration", "lateral_ramp", "faster", "late_braking"]
    case = made.cases[0]
    assert (len(case.expert), case.dt_s, case.cameras) == (50, 0.1, ())
    assert case.expert.valid.all() and case.history is not None and len(case.history) == 50
    assert case.ego.speed_mps == pytest.approx(1.264, abs=1e-3)
    assert case.agents is not None and len(case.agents.items) == 21
    assert case.map is not None
    kinds = [s.kind for s in case.map.items]
    assert (kinds.count("drivable"), kinds.count("lane"), kinds.count("crosswalk")) == (2, 67, 5)
    assert made.report.outcomes[0].notes[:3] == (
        "the last 1 s of the 6 s of future were cut",
        "left out: 33 of 57 tracks without a state at t = 0",
        "left out: 5 pieces of the map farther than 100 m",
    )


@real
def test_the_real_ego_drives_on_its_drivable_area_and_along_a_lane():
    case = import_source(REAL, "argoverse2", planners="faster").cases[0]
    assert case.map is not None
    ways = [np.asarray(s.attributes["centreline"]) for s in case.map.items if s.kind == "lane" and s.attributes["lane_type"] == "vehicle"]
    nearest = min(float(np.hypot(*(w[:, None] - case.expert.points[None]).T).min(axis=1).max()) for w in [np.vstack(ways)])
    assert nearest < 2.5
    assert np.allclose(
        np.hypot(*np.diff(case.expert.points, axis=0).T) / 0.1, np.gradient(np.hypot(*case.expert.points.T), 0.1)[1:], atol=1.5
    )
