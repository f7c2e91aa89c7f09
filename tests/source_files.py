"""Small sources of cases for tests of importers, hand-made: a nuScenes-like sample, an Argoverse 2 scenario, points as CSV."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

SPEED = 8.0


def csv_points(rows: list[tuple[Any, ...]], header: str = "scene_id,planner,t,x,y") -> str:
    """CSV text of rows."""
    return "\n".join([header, *(",".join(map(str, r)) for r in rows)]) + "\n"


def track(
    scene: str, who: str, speed: float = SPEED, *, dt: float = 0.25, n: int = 20, dy: float = 0.0, first: int = 1
) -> list[tuple[Any, ...]]:
    """Rows of a straight drive with a steady drift to the left of dy metres in all."""
    return [(scene, who, round(k * dt, 6), speed * k * dt, dy * k / n) for k in range(first, n + first)]


def braking(scene: str, who: str, *, dt: float = 0.25, n: int = 20) -> list[tuple[Any, ...]]:
    """Rows of a drive from 8 m/s with 1.5 m/s² of braking."""
    return [(scene, who, round(k * dt, 6), SPEED * k * dt - 0.75 * (k * dt) ** 2, 0.0) for k in range(1, n + 1)]


def sample(**changes: Any) -> dict[str, Any]:
    """A nuScenes-like sample: 8 m/s ahead, a parked car 20 m ahead on the left, an oncoming car, a cone, one box nobody saw.

    The lidar stands 1 m ahead of the rear axle and looks exactly ahead: its x is to the right, its y forward.
    """
    made: dict[str, Any] = {
        "token": "t1",
        "prev": "",
        "next": "",
        "timestamp": 1_000_000_000,
        "scene_token": "s1",
        "map_location": "town",
        "can_bus": [0.0] * 7 + [-0.5] + [0.0] * 10,
        "lidar2ego_translation": [1.0, 0.0, 1.8],
        "lidar2ego_rotation": [math.sqrt(0.5), 0.0, 0.0, -math.sqrt(0.5)],
        "gt_ego_fut_trajs": [[0.5 * k * 0.1, 4.0 * k] for k in range(7)],
        "gt_ego_fut_masks": [1.0] * 6,
        "gt_ego_his_trajs": [[0.0, -4.0 * k] for k in range(4, -1, -1)],
        "gt_ego_fut_cmd": [0.0, 1.0, 0.0],
        "gt_ego_lcf_feat": [0.0, 8.0, -0.5, 0.0, 0.1, 4.084, 1.85, 8.0, 0.0],
        "gt_boxes": [
            [-3.0, 20.0, -1.0, 1.9, 4.5, 1.5, -math.pi],
            [-4.0, 30.0, -1.0, 1.9, 4.5, 1.5, 0.0],
            [2.0, 10.0, -1.0, 0.4, 0.4, 0.8, 0.0],
            [9.0, 9.0, -1.0, 1.9, 4.5, 1.5, 0.0],
        ],
        "gt_names": ["vehicle.car", "vehicle.car", "movable_object.trafficcone", "vehicle.car"],
        "gt_velocity": [[0.0, 0.0], [0.0, -6.0], [0.0, 0.0], [0.0, 0.0]],
        "valid_flag": [True, True, True, False],
        "gt_agent_fut_trajs": [[0.0] * 12, [0.0, -3.0] * 3 + [0.0] * 6, [0.0] * 12, [0.0] * 12],
        "gt_agent_fut_masks": [[1.0] * 6, [1.0] * 3 + [0.0] * 3, [0.0] * 6, [1.0] * 6],
        "cams": {
            "CAM_FRONT": {
                "data_path": "/elsewhere/samples/CAM_FRONT/n1__CAM_FRONT__1.png",
                "sensor2ego_translation": [1.7, 0.0, 1.5],
                "sensor2ego_rotation": [0.5, -0.5, 0.5, -0.5],
                "cam_intrinsic": [[1250.0, 0.0, 800.0], [0.0, 1250.0, 450.0], [0.0, 0.0, 1.0]],
            },
            "CAM_BACK": {"data_path": "samples/CAM_BACK/n1__CAM_BACK__1.png"},
        },
    }
    return made | changes


def write_samples(folder: Path, *samples: dict[str, Any]) -> Path:
    """The samples as a file, with an image of 160 × 90 px for the front camera of each."""
    from tests.stub_llm import png

    for s in samples:
        image = folder / "samples" / "CAM_FRONT" / Path(s["cams"]["CAM_FRONT"]["data_path"]).name
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(png(160, 90))
    path = folder / "output.json"
    path.write_text(json.dumps({s["token"]: s for s in samples}))
    return path


def scenario_columns(**changes: Any) -> dict[str, list[Any]]:
    """Columns of an Argoverse 2 scenario in which the ego heads along the city's +y at 5 m/s from (100, 200) at t = 0.

    Besides: a vehicle 10 m ahead of it at the same speed that vanishes 2 s later, a pedestrian who is there before t = 0 only, and a
    riderless bicycle 4 m to its left.
    """
    rows: list[dict[str, Any]] = []

    def add(name: str, kind: str, category: int, step: int, x: float, y: float, heading: float, v: tuple[float, float]) -> None:
        rows.append(
            {
                "scenario_id": "sc1",
                "track_id": name,
                "object_type": kind,
                "object_category": category,
                "timestep": step,
                "position_x": x,
                "position_y": y,
                "heading": heading,
                "velocity_x": v[0],
                "velocity_y": v[1],
                "observed": step < 50,
                "city": "town",
            }
        )

    for k in range(110):
        t = 0.1 * (k - 49)
        add("AV", "vehicle", 1, k, 100.0, 200.0 + 5.0 * t, math.pi / 2, (0.0, 5.0))
        if k < 70:
            add("7", "vehicle", 3, k, 100.0, 210.0 + 5.0 * t, math.pi / 2, (0.0, 5.0))
        if k < 40:
            add("8", "pedestrian", 0, k, 95.0, 205.0, 0.0, (1.0, 0.0))
        add("9", "riderless_bicycle", 0, k, 96.0, 200.0, 0.0, (0.0, 0.0))
    columns = {name: [r[name] for r in rows] for name in rows[0]}
    return columns | changes


def write_scenario(folder: Path, columns: dict[str, list[Any]] | None = None, map_: Any = "made") -> Path:
    """A scenario folder with its map; no map where it is None."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scenario_sc1.parquet"
    pq.write_table(pa.table(scenario_columns() if columns is None else columns), path)
    if map_ is not None:
        (folder / "log_map_archive_sc1.json").write_text(json.dumps(vector_map() if map_ == "made" else map_))
    return path


def vector_map() -> dict[str, Any]:
    """One bike lane 3 m wide along the ego's way, its area, a crosswalk whose edges run against each other, and an area far away."""

    def line(*points: tuple[float, float]) -> list[dict[str, float]]:
        return [{"x": x, "y": y, "z": 3.0} for x, y in points]

    return {
        "drivable_areas": {
            "1": {"id": 1, "area_boundary": line((95, 190), (105, 190), (105, 260), (95, 260))},
            "2": {"id": 2, "area_boundary": line((1000, 1900), (1005, 1900), (1005, 1960))},
        },
        "lane_segments": {
            "3": {
                "id": 3,
                "lane_type": "BIKE",
                "is_intersection": False,
                "left_lane_boundary": line((98.5, 190), (98.5, 260)),
                "right_lane_boundary": line((101.5, 190), (101.5, 260)),
                "left_lane_mark_type": "DASHED_YELLOW",
                "right_lane_mark_type": "NONE",
                "centerline": line((100, 190), (100, 260)),
                "successors": [4],
            }
        },
        "pedestrian_crossings": {"5": {"id": 5, "edge1": line((95, 220), (105, 220)), "edge2": line((105, 223), (95, 223))}},
    }


def noise(seed: int, n: int) -> bytes:
    """Random bytes."""
    return np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8).tobytes()
