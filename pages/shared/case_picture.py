"""A case at rest: its front camera with both paths on the road, the scene from above, the speeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st
from markupsafe import Markup

from core.errors import InputError
from core.plots.case_camera import camera_picture
from core.plots.case_charts import bev_chart, path_colours, speed_chart
from core.trajectories.case import Case
from core.trajectories.case_set import CaseSet
from core.trajectories.view import case_view
from pages.shared import case_sets, shell
from pages.shared.markup import fill

FRONT, REAR = ("front_left", "front", "front_right"), ("rear_left", "rear", "rear_right")


@st.cache_data(show_spinner=False, max_entries=64)
def _view(digest: str, case_id: str, _case: Case) -> dict[str, Any]:
    del digest, case_id  # only keys of the cache
    return case_view(_case)


def view(content: CaseSet, case: Case) -> dict[str, Any]:
    """What there is to show of a case; nothing of it names the planner."""
    return _view(content.digest, case.case_id, case)


def end(content: CaseSet, case: Case) -> str:
    """Where the planner is in the end, seen from the expert, as the question says it, such as "1.9 m to the left"."""
    said = str(view(content, case)["question"]).split(" the planner is ", 1)[-1].split(". ")[0]
    return said.removesuffix(" than the expert").removesuffix(" of the expert").removesuffix(" from the expert")


@st.cache_data(show_spinner=False, max_entries=128)
def _picture(digest: str, case_id: str, camera: str, width: int, _content: CaseSet, _shown: Mapping[str, Any]) -> bytes:
    del digest, case_id, camera  # only keys of the cache
    return camera_picture(_content.folder / _shown["frames"][-1]["path"], _shown, width=width)


def show(content: CaseSet, case: Case, key: str, all_cameras: bool = False) -> None:
    """Draw a case.

    Args:
        content: Its set.
        case: The case.
        key: Begins the keys of the charts.
        all_cameras: Show all that there are instead of the front one.
    """
    data, dark = view(content, case), shell.dark()
    cameras = {c["name"]: c for c in data["cameras"]}
    first = cameras.get("front") or next(iter(cameras.values()), None)
    if first is None or all_cameras:
        for row in (FRONT, REAR):
            if not set(row) & set(cameras):
                continue
            for column, name in zip(st.columns(3, gap="small"), row, strict=True):
                with column:
                    if name in cameras:
                        _camera(content, case, cameras[name], 480)
        left, right = st.columns([0.5, 0.5], gap="medium")
        with left:
            _above(data, dark, key)
        with right:
            if first is None:
                shell.note("No camera: this case is told from above and by its speeds.")
            _speeds(data, dark, key)
    else:
        left, right = st.columns([0.6, 0.4], gap="medium")
        with left:
            _camera(content, case, first, 960)
        with right:
            _above(data, dark, key)
            _speeds(data, dark, key)
    legend(dark, rated=data["bev"]["rated"] is not None)


def _camera(content: CaseSet, case: Case, shown: Mapping[str, Any], width: int) -> None:
    try:
        st.image(_picture(content.digest, case.case_id, shown["name"], width, content, shown), width="stretch")
    except OSError as e:
        shell.error_card(InputError(f"{shown['title']}: the image cannot be read ({e.strerror or e})."), "Everything else is shown.")
        return
    shell.note(fill("{title}. {overlay}", title=shown["title"], overlay=shown["overlay"]))


def _above(data: Mapping[str, Any], dark: bool, key: str) -> None:
    shell.section("From above", "ahead is up; a dot each second; axes scaled apart")
    st.altair_chart(bev_chart(data["bev"], dark, height=250), width="stretch", key=f"{key}-above")
    if data["bev"]["unknown"]:
        shell.note(f"Not looked for in this data: {', '.join(u.replace('_', ' ') for u in data['bev']['unknown'])}.")


def _speeds(data: Mapping[str, Any], dark: bool, key: str) -> None:
    shell.section("Speed", "m/s")
    st.altair_chart(speed_chart(data["speed"], dark), width="stretch", key=f"{key}-speed")


def legend(dark: bool, rated: bool = False) -> None:
    """Which colour is whose path."""
    colours = path_colours(dark)
    names = {"expert": "Expert, thin", "planner": "Planner, broad"} | ({"rated": "Best rated reference, dotted"} if rated else {})
    one = Markup('<div><i class="od-path {}" style="color:{}"></i><span>{}</span></div>')
    items = [one.format(k, colours[k], v) for k, v in names.items()]
    shell.html(Markup('<div class="od-legend">{}</div>').format(Markup("").join(items)))


def of_demo(case_id: str, key: str) -> None:
    """Draw a case of the demo pack.

    Raises:
        InputError: The pack is damaged, or has no such case.
    """
    content = case_sets.demo()
    case = case_sets.by_id(content, case_id)
    if case is None:
        raise InputError(f'The demo pack has no case "{case_id}".')
    show(content, case, key)
