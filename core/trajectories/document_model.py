"""Schema of a case as a JSON object: names, shapes and limits of what stands in one line of `cases.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from core.trajectories.case import SCHEMA_VERSION, CameraName

MAX_ABS_M = 1e6
"""Nothing that a vehicle meets within seconds is a thousand kilometres away."""
MAX_POINTS = 10_000
MAX_TEXT = 2_000


def _plain(value: Any, where: str = "", depth: int = 0) -> Any:
    """The value if JSON can hold it: no NaN, no infinity, nothing nested beyond reason, text that is Unicode."""
    if depth > 30:
        raise ValueError(f"{where or 'the value'} is nested more than 30 levels deep")
    if isinstance(value, Mapping):
        for k, v in value.items():
            if not isinstance(k, str):
                raise ValueError(f"{where or 'the value'} has a key that is no text")
            _plain(k, where, depth + 1)
            _plain(v, f"{where}.{k}" if where else k, depth + 1)
    elif isinstance(value, list | tuple):
        for v in value:
            _plain(v, where, depth + 1)
    elif isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise ValueError(f"{where or 'the value'} holds half of a surrogate pair")
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{where or 'the value'} is not a finite number")
    elif value is not None and not isinstance(value, bool | int):
        raise ValueError(f"{where or 'the value'} is a {type(value).__name__}, which JSON does not have")
    return value


def _identifier(value: str) -> str:
    if value != value.strip() or not value.isprintable():
        raise ValueError("must not begin or end with a space and must be printable")
    return value


def inside(value: str) -> str:
    """The path if it stays inside the folder of the case set on every system."""
    parts = value.split("/")
    if "\\" in value or ":" in value or not value.isprintable() or any(p in ("", ".", "..") for p in parts):
        raise ValueError('must be a relative path with forward slashes, without "..", drive or address')
    return value


def _wrapped(value: Any) -> Any:
    """A bare list of points as the object that it is short for."""
    return {"points": value} if isinstance(value, list | tuple) else value


Metres = Annotated[float, Field(ge=-MAX_ABS_M, le=MAX_ABS_M, allow_inf_nan=False)]
Size = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Number = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Id = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_identifier)]
Point = Annotated[list[Metres], Field(min_length=2, max_length=2)]
PlainObject = Annotated[dict[str, Any], AfterValidator(_plain)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TrajectoryDoc(_Strict):
    """Points, and where given a mask and headings as long as they are."""

    points: list[Point] = Field(max_length=MAX_POINTS)
    valid: list[bool] | None = None
    yaw: list[Number] | None = None

    @model_validator(mode="after")
    def _same_length(self) -> TrajectoryDoc:
        for name, values in (("valid", self.valid), ("yaw", self.yaw)):
            if values is not None and len(values) != len(self.points):
                raise ValueError(f'"{name}" has {len(values)} values for {len(self.points)} points')
        return self


Traj = Annotated[TrajectoryDoc, BeforeValidator(_wrapped)]


class EgoDoc(_Strict):
    """The ego vehicle at t = 0."""

    speed_mps: float = Field(ge=0, le=200, allow_inf_nan=False)
    accel_mps2: Number | None = None
    yaw_rate_rps: Number | None = None
    origin: Literal["rear_axle", "centre"] = "rear_axle"
    length_m: Size = 4.9
    width_m: Size = 2.0
    rear_overhang_m: Size = 1.0


class RatedDoc(_Strict):
    """A trajectory that people scored; -1 and null say that it was not rated."""

    points: Traj
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _scale(self) -> RatedDoc:
        if self.score is not None and self.score != -1 and not 0 <= self.score <= 10:
            raise ValueError("a score lies between 0 and 10; -1 or null where it was not rated")
        return self


class FrameDoc(_Strict):
    """One image."""

    t_s: float = Field(ge=-3600, le=0, allow_inf_nan=False)
    path: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(inside)]
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")


class CameraDoc(_Strict):
    """One camera with its images by time."""

    name: CameraName
    frames: list[FrameDoc] = Field(min_length=1, max_length=1000)
    width: int | None = Field(default=None, ge=1, le=100_000)
    height: int | None = Field(default=None, ge=1, le=100_000)
    intrinsics: list[Annotated[list[Number], Field(min_length=3, max_length=3)]] | None = Field(default=None, min_length=3, max_length=3)
    extrinsics: list[Annotated[list[Number], Field(min_length=4, max_length=4)]] | None = Field(default=None, min_length=4, max_length=4)
    distortion: list[Number] = Field(default_factory=list, max_length=14)
    model: Literal["pinhole", "fisheye"] = "pinhole"
    ground_z_m: Metres = 0.0

    @model_validator(mode="after")
    def _by_time(self) -> CameraDoc:
        times = [f.t_s for f in self.frames]
        if any(b <= a for a, b in pairwise(times)):
            raise ValueError("the frames must follow each other in time, the one of t = 0 last")
        return self


class CoverageDoc(_Strict):
    """Who looked where."""

    source: Text
    cameras: list[CameraName] = Field(default_factory=list)
    range_m: Annotated[float, Field(ge=0, le=1e5, allow_inf_nan=False)] | None = None


class AgentDoc(_Strict):
    """A road user; its box is x, y, length, width, yaw, or x, y, z, length, width, height, yaw."""

    track_id: Text
    cls: Annotated[str, Field(min_length=1, max_length=100)]
    box: list[Metres]
    velocity: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    future: Traj | None = None
    attributes: list[Text] = Field(default_factory=list)

    @model_validator(mode="after")
    def _box(self) -> AgentDoc:
        if len(self.box) not in (5, 7):
            raise ValueError(
                f'"box" has {len(self.box)} numbers; 5 are x, y, length, width, yaw; 7 are x, y, z, length, width, height, yaw'
            )
        if min(self.plane[2:4]) < 0:
            raise ValueError('"box" has a negative length or width')
        return self

    @property
    def plane(self) -> list[float]:
        """The box seen from above: x, y, length, width, yaw."""
        return self.box if len(self.box) == 5 else [*self.box[:2], *self.box[3:5], self.box[6]]


class AgentsDoc(_Strict):
    """Road users with where was looked for them."""

    items: list[AgentDoc] = Field(max_length=100_000)
    coverage: CoverageDoc | None = None


class ShapeDoc(_Strict):
    """A thing on the map or beside the road."""

    kind: Annotated[str, Field(min_length=1, max_length=100)]
    points: list[Point] = Field(min_length=1, max_length=100_000)
    closed: bool = False
    attributes: PlainObject = Field(default_factory=dict)
    id: Text = ""


class LayerDoc(_Strict):
    """Shapes of one layer with where was looked for them."""

    items: list[ShapeDoc] = Field(max_length=100_000)
    coverage: CoverageDoc | None = None


class MasksDoc(_Strict):
    """Masks that stand beside bare lists of points."""

    expert: list[bool] | None = None
    planner: list[bool] | None = None
    history: list[bool] | None = None


class CaseDoc(_Strict):
    """One scene × planner."""

    schema_version: Literal["1.0"]
    case_id: Id
    scene_id: Id
    planner_id: Id
    dt_s: float = Field(gt=0, le=60, allow_inf_nan=False)
    horizon_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    expert: Traj
    planner: Traj
    valid: MasksDoc = Field(default_factory=MasksDoc)
    ego: EgoDoc
    command: Literal["unknown", "straight", "left", "right"] = "unknown"
    history: Traj | None = None
    rater_refs: list[RatedDoc] = Field(default_factory=list, max_length=1000)
    cameras: list[CameraDoc] = Field(default_factory=list)
    agents: AgentsDoc | None = None
    map: LayerDoc | None = None
    static_objects: LayerDoc | None = None
    signals: LayerDoc | None = None
    flags: list[Id] = Field(default_factory=list)
    metrics: dict[Id, Number] = Field(default_factory=dict)
    licence: Text = ""
    source: PlainObject = Field(default_factory=dict)
    synthetic: bool = False

    @model_validator(mode="after")
    def _whole(self) -> CaseDoc:
        steps = len(self.expert.points)
        if not steps:
            raise ValueError('"expert" has no points')
        if len(self.planner.points) != steps:
            raise ValueError(f'"planner" has {len(self.planner.points)} points and "expert" {steps}; both must cover the same time')
        if self.horizon_s is not None and abs(self.horizon_s - steps * self.dt_s) > 1e-6 * max(1.0, self.horizon_s):
            raise ValueError(f'"horizon_s" is {self.horizon_s:g}, but {steps} steps of {self.dt_s:g} s are {steps * self.dt_s:g} s')
        for name in ("expert", "planner", "history"):
            mask = getattr(self.valid, name)
            trajectory: TrajectoryDoc | None = getattr(self, name)
            if mask is not None and (trajectory is None or len(mask) != len(trajectory.points)):
                n = 0 if trajectory is None else len(trajectory.points)
                raise ValueError(f'"valid.{name}" has {len(mask)} values for {n} points')
            if mask is not None and trajectory is not None and trajectory.valid is not None:
                raise ValueError(f'"{name}" has two masks, its own and "valid.{name}"')
        names = [c.name for c in self.cameras]
        if len(set(names)) < len(names):
            raise ValueError("a camera is listed twice")
        return self


assert SCHEMA_VERSION == "1.0"  # noqa: S101 - the literal in CaseDoc has to follow
