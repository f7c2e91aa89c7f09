"""A case from above and its speeds over time, from what `core.trajectories.view.case_view` says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.plots.style import GREY, PADDING, axis, ground, muted

View = Mapping[str, Any]
Points = Sequence[Sequence[float] | None]


def path_colours(dark: bool) -> dict[str, str]:
    """Colours of the paths on the ground of the theme; images take the brighter ones of `core.plots.case_camera`."""
    if dark:
        return {"expert": "#22D3EE", "planner": "#FF4D42", "rated": "#4ADE80"}
    return {"expert": "#0B8CA3", "planner": "#D93A30", "rated": "#15803D"}


def bev_chart(bev: View, dark: bool = False, height: int = 330) -> alt.LayerChart:
    """The scene from above, ahead is up: road, others, and the two paths with a dot at each second.

    Args:
        bev: The part "bev" of a view.
        dark: Whether the theme is dark.
        height: px, ahead. It is as wide as its place, so the axes have scales of their own, which a reader must be told.
    """
    (x0, x1), (y0, y1) = bev["extent"]["x"], bev["extent"]["y"]
    across = alt.Scale(domain=[-y1, -y0], nice=False, zero=False)
    ahead = alt.Scale(domain=[x0, x1], nice=False, zero=False)
    line = {"gridColor": muted(dark), "gridOpacity": 0.16, "labelColor": muted(dark), "labelFontSize": 11}
    x = alt.X("across:Q", scale=across, axis=axis(labelExpr="datum.label + ' m'", tickCount=5, **line))
    y = alt.Y("ahead:Q", scale=ahead, axis=axis(labelExpr="datum.label + ' m'", tickCount=7, **line))
    shapes = _shapes(bev, dark)
    layers: list[alt.Chart] = [
        alt.Chart(_frame(shapes))
        .mark_line(interpolate="linear-closed", clip=True, strokeWidth=0.8)
        .encode(x=x, y=y, detail="id:N", order="order:Q", fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("edge:N", scale=None))
    ]
    for dashed in (False, True):
        lines = [s for s in _lines(bev, dark) if s["dashed"] == dashed]
        layers.append(
            alt.Chart(_frame(lines))
            .mark_line(clip=True, strokeWidth=1.3, strokeDash=[5, 4] if dashed else [1, 0])
            .encode(x=x, y=y, detail="id:N", order="order:Q", stroke=alt.Stroke("edge:N", scale=None))
        )
    layers.append(
        alt.Chart(_small(bev, dark))
        .mark_point(clip=True, filled=True, size=26, opacity=1)
        .encode(x=x, y=y, color=alt.Color("fill:N", scale=None), shape=alt.Shape("shape:N", scale=None))
    )
    colours = path_colours(dark)
    for name in ("rated", "planner", "expert"):
        if bev.get(name) is not None:
            layers += _path(bev[name], colours[name], x, y, dark, name)
    return alt.layer(*layers).properties(height=height, padding=PADDING).configure_view(stroke=None).configure(background="transparent")


def _path(path: View, colour: str, x: alt.X, y: alt.Y, dark: bool, name: str) -> list[alt.Chart]:
    """A line with a dot each second; the planner's is broad and lies below, so that both show where they are one."""
    points = [{"id": 0, "order": i, "across": -p[1], "ahead": p[0]} for i, p in enumerate(path["points"]) if p is not None]
    dots = pd.DataFrame([{"across": -py, "ahead": px, "s": f"{t:g}"} for t, px, py in path["seconds"]], columns=["across", "ahead", "s"])
    wide, size = (5.0, 85) if name == "planner" else (2.0, 30)
    dash = {"strokeDash": [2, 3]} if name == "rated" else {}
    mark = {"clip": True, "filled": True, "size": size, "color": colour, "stroke": ground(dark), "strokeWidth": 1, "opacity": 1}
    out = [
        alt.Chart(_frame(points)).mark_line(clip=True, strokeWidth=wide, color=colour, **dash).encode(x=x, y=y, order="order:Q"),
        alt.Chart(dots).mark_point(**mark).encode(x=x, y=y),
    ]
    if name == "planner":
        out.append(alt.Chart(dots).mark_text(clip=True, dx=10, align="left", fontSize=10.5, color=muted(dark)).encode(x=x, y=y, text="s:N"))
    return out


def _shapes(bev: View, dark: bool) -> list[dict[str, Any]]:
    """Closed outlines, from below to above."""
    road, edge = ("#1A232D", "#2B3744") if dark else ("#F0F2F5", "#DCE2E8")
    body, small = ("#7F8E9C", "#E0A030") if dark else ("#98A6B3", "#C98A00")
    ego = "#C9D3DD" if dark else "#3B4B5A"
    rows: list[dict[str, Any]] = []
    closed = [(a["points"], road, edge) for a in bev["areas"]]
    closed += [(a["outline"], body, ground(dark)) for a in bev["agents"]]
    closed += [(t["points"], small, small) for t in bev["things"] if len(t["points"]) > 2]
    closed += [(bev["ego"], ego, ground(dark))]
    for number, (points, fill, line) in enumerate(closed):
        rows += _ring(points, number, fill, line)
    return rows


def _ring(points: Points, number: int, fill: str, edge: str) -> list[dict[str, Any]]:
    return [
        {"id": number, "order": i, "across": -p[1], "ahead": p[0], "fill": fill, "edge": edge}
        for i, p in enumerate(points)
        if p is not None
    ]


def _lines(bev: View, dark: bool) -> list[dict[str, Any]]:
    white, yellow = ("#9DABB9", "#E8B84A") if dark else ("#7A8794", "#C98A00")
    return [
        {
            "id": n,
            "order": i,
            "across": -p[1],
            "ahead": p[0],
            "edge": yellow if m["colour"] == "yellow" else white,
            "dashed": bool(m["dashed"]),
        }
        for n, m in enumerate(bev["lines"])
        for i, p in enumerate(m["points"])
    ]


def _small(bev: View, dark: bool) -> pd.DataFrame:
    """Cones, poles and signals, which are smaller than what can be drawn to scale."""
    rows = [(p, "#E0A030" if dark else "#C98A00", "circle") for t in bev["things"] if len(t["points"]) < 3 for p in t["points"]]
    rows += [(s["points"][0], _light(s["state"]), "square") for s in bev["signals"] if s["points"]]
    data = [{"across": -p[1], "ahead": p[0], "fill": fill, "shape": shape} for p, fill, shape in rows]
    return pd.DataFrame(data, columns=["across", "ahead", "fill", "shape"])


def _light(state: str) -> str:
    return {"red": "#D55E00", "yellow": "#E69F00", "green": "#009E73"}.get(state, GREY)


def _frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["id", "order", "across", "ahead", "fill", "edge"])


def speed_chart(speed: View, dark: bool = False, height: int = 92) -> alt.LayerChart:
    """Speeds of expert and planner over the horizon, in m/s; colours and widths as from above, so that one legend tells both.

    Args:
        speed: The part "speed" of a view.
        dark: Whether the theme is dark.
        height: px; it is as wide as its place.
    """
    colours = path_colours(dark)
    quiet = {"gridColor": muted(dark), "gridOpacity": 0.16, "labelColor": muted(dark), "labelFontSize": 11}
    top = max(float(speed.get("max") or 0.0), 1.0)
    end = max(speed["t"], default=1.0) or 1.0
    x = alt.X("t:Q", scale=alt.Scale(domain=[0, end]), axis=axis(labelExpr="datum.label + ' s'", tickCount=5, grid=False, **quiet))
    y = alt.Y("v:Q", scale=alt.Scale(domain=[0, top]), axis=axis(tickCount=3, **quiet))
    layers = []
    for name in ("rated", "planner", "expert"):
        rows = [{"t": t, "v": v, "who": name} for t, v in zip(speed["t"], speed.get(name) or [], strict=False) if v is not None]
        if rows:
            dash = {"strokeDash": [2, 3]} if name == "rated" else {}
            line = alt.Chart(pd.DataFrame(rows)).mark_line(strokeWidth=4.5 if name == "planner" else 2.0, color=colours[name], **dash)
            layers.append(
                line.encode(x=x, y=y, tooltip=["who:N", alt.Tooltip("t:Q", title="s"), alt.Tooltip("v:Q", title="m/s", format=".1f")])
            )
    return alt.layer(*layers).properties(height=height, padding=PADDING).configure_view(stroke=None).configure(background="transparent")
