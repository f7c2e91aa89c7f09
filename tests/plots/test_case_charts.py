"""Charts of one case: what is drawn, where, and that left stays left."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from core.plots.case_camera import camera_picture
from core.plots.case_charts import bev_chart, path_colours, speed_chart
from core.trajectories.case import Agent, Agents, Coverage, Layer, Shape
from core.trajectories.view import case_view
from tests.cases import case, straight


def data_of(chart, mark, **wanted):
    """Rows behind the layers with a mark."""
    spec = chart.to_dict()
    sets = spec["datasets"]
    out = []
    for layer in spec["layer"]:
        m = layer["mark"]
        if m["type"] == mark and all(m.get(k) == v for k, v in wanted.items()):
            out.append(sets[layer["data"]["name"]])
    return out


def scene():
    cone, light = Shape("cone", np.array([[12.0, -2.0]])), Shape("traffic_light", np.array([[30.0, 4.0]]), attributes={"state": "red"})
    return case_view(
        case(
            expert=straight(8.0),
            planner=straight(9.0, 1.0),
            agents=Agents((Agent("a", "vehicle", 20.0, 3.0, 4.0, 2.0, 0.0),), Coverage("made")),
            static_objects=Layer((cone,), Coverage("made")),
            signals=Layer((light,), Coverage("made")),
        )
    )


def test_left_of_the_vehicle_is_left_on_the_chart():
    chart = bev_chart(scene()["bev"])
    (shapes,) = data_of(chart, "line", interpolate="linear-closed")
    agent = [r for r in shapes if 18 <= r["ahead"] <= 22]
    assert sorted((r["across"], r["ahead"]) for r in agent) == [(-4.0, 18.0), (-4.0, 22.0), (-2.0, 18.0), (-2.0, 22.0)]
    (small,) = [d for d in data_of(chart, "point") if d and "shape" in d[0]]
    assert [(r["across"], r["ahead"], r["fill"]) for r in small] == [(2.0, 12.0, "#C98A00"), (-4.0, 30.0, "#D55E00")]


def test_the_planner_ends_a_metre_to_the_left_and_five_ahead_with_a_dot_each_second():
    chart = bev_chart(scene()["bev"])
    (planner,) = data_of(chart, "line", color=path_colours(False)["planner"])
    (expert,) = data_of(chart, "line", color=path_colours(False)["expert"])
    assert len(planner) == len(expert) == 21
    assert (planner[-1]["across"], planner[-1]["ahead"]) == pytest.approx((-1.0, 45.0))
    assert (expert[-1]["across"], expert[-1]["ahead"]) == pytest.approx((0.0, 40.0))
    (dots,) = data_of(chart, "point", color=path_colours(False)["planner"])
    assert [(d["s"], round(d["ahead"], 2)) for d in dots] == [("1", 9.0), ("2", 18.0), ("3", 27.0), ("4", 36.0), ("5", 45.0)]


def test_speeds_are_drawn_for_those_that_there_are():
    planner, expert = data_of(speed_chart(scene()["speed"]), "line")
    assert {r["who"] for r in expert} == {"expert"}
    assert (planner[5]["who"], planner[5]["v"]) == ("planner", pytest.approx(9.0, abs=0.05))


CAMERA = {
    "name": "front",
    "width": 100,
    "height": 50,
    "ribbons": {"planner": [[40, 50, 60, 50, 0], [40, 20, 60, 20, 0], None, [10, 10, 20, 10, 1], [10, 5, 20, 5, 1]], "expert": []},
    "seconds": {"planner": [], "expert": []},
}


def pixels(tmp_path, camera, size=(100, 50), width=200):
    path = tmp_path / "grey.png"
    Image.new("RGB", size, (90, 90, 90)).save(path)
    with Image.open(io.BytesIO(camera_picture(path, camera, width=width))) as made:
        return np.asarray(made.convert("RGB")).astype(int)


def is_red(p):
    return p[0] > p[1] + 40 and p[0] > p[2] + 40


def test_the_ribbon_lies_where_its_pixels_say_and_gaps_stay_open(tmp_path):
    made = pixels(tmp_path, CAMERA)
    assert made.shape == (100, 200, 3)
    assert is_red(made[70, 100])
    assert not is_red(made[70, 40])
    assert not is_red(made[30, 100])
    assert not is_red(made[15, 30])  # hidden: only its edges are drawn


def test_a_file_that_was_shrunk_since_is_drawn_upon_in_the_same_place(tmp_path):
    made = pixels(tmp_path, CAMERA, size=(50, 25), width=100)
    assert made.shape == (50, 100, 3)
    assert is_red(made[35, 50])
    assert not is_red(made[35, 20])


def test_small_images_are_not_enlarged_beyond_twice_their_size(tmp_path):
    assert pixels(tmp_path, CAMERA, size=(50, 25), width=900).shape == (50, 100, 3)
