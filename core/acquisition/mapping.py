"""How values of an ODD are written as an OpenSCENARIO environment: data with a schema, each mapping with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import InputError, Problem
from core.settings import ASSETS

DRIVING = ASSETS / "openscenario" / "driving.yaml"

Clouds = Literal[
    "zeroOktas", "oneOktas", "twoOktas", "threeOktas", "fourOktas", "fiveOktas", "sixOktas", "sevenOktas", "eightOktas", "nineOktas"
]
Wetness = Literal["dry", "moist", "wetWithPuddles", "lowFlooded", "highFlooded"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SunDoc(_Strict):
    """Sun: illuminance in lx, azimuth (0 north, π/2 east) and elevation (0 horizon) in rad."""

    illuminance: float | None = Field(default=None, ge=0)
    azimuth: float | None = Field(default=None, ge=0, le=6.2832)
    elevation: float | None = Field(default=None, ge=-1.5708, le=1.5708)


class PrecipitationDoc(_Strict):
    """Kind of precipitation and its intensity in mm/h."""

    type: Literal["dry", "rain", "snow"]
    intensity: float = Field(ge=0, le=300)

    @model_validator(mode="after")
    def _agree(self) -> PrecipitationDoc:
        if (self.type == "dry") != (self.intensity == 0):
            raise ValueError("dry has the intensity 0, rain and snow more")
        return self


class SettingDoc(_Strict):
    """What a value fixes of an environment; the rest is left to other dimensions.

    Attributes:
        time: Time of day, HH:MM:SS.
        sun: Sun.
        clouds: Cloud cover in eighths of the sky.
        precipitation: Precipitation.
        fog: Visual range in m.
        friction: Friction relative to a dry road.
        wetness: Wetness of the road.
    """

    time: str | None = Field(default=None, pattern=r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$")
    sun: SunDoc | None = None
    clouds: Clouds | None = None
    precipitation: PrecipitationDoc | None = None
    fog: float | None = Field(default=None, gt=0)
    friction: float | None = Field(default=None, ge=0, le=2)
    wetness: Wetness | None = None

    def over(self, below: SettingDoc) -> SettingDoc:
        """Both together; where both fix the same, this one counts."""
        mine = self.model_dump(exclude_none=True)
        theirs = below.model_dump(exclude_none=True)
        sun = {**theirs.get("sun", {}), **mine.get("sun", {})}
        return SettingDoc.model_validate({**theirs, **mine, **({"sun": sun} if sun else {})})


class ValueDoc(_Strict):
    """How one value is written: "full", in "part" or not at all ("none"), and why so."""

    fit: Literal["full", "part", "none"]
    set: SettingDoc = SettingDoc()
    why: str = Field(min_length=1)

    @model_validator(mode="after")
    def _agree(self) -> ValueDoc:
        if (self.fit == "none") == bool(self.set.model_dump(exclude_none=True)):
            raise ValueError("a value of the fit none sets nothing, any other sets something")
        return self


class BaseDoc(_Strict):
    """What holds where a slice says nothing; complete but for the wetness, so that every environment is."""

    set: SettingDoc
    why: str = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self) -> BaseDoc:
        sun = self.set.sun or SunDoc()
        given = {**dict(self.set), **{f"sun.{k}": v for k, v in dict(sun).items()}}
        absent = [k for k, v in given.items() if v is None and k != "wetness"]
        if absent:
            raise ValueError(f"the base must set {', '.join(absent)}")
        return self


class MappingDoc(_Strict):
    """A whole mapping.

    Attributes:
        name, version: Of the document.
        minor: Version 1.minor of OpenSCENARIO XML.
        date: Day of every time of day, for `date_why`.
        base: What holds where a slice says nothing.
        dimensions: Value documents by dimension and value; later dimensions count over earlier ones.
        unmapped: Dimensions that an environment cannot say, with the reason.
    """

    name: str = Field(min_length=1)
    version: int = Field(ge=1)
    minor: int = Field(ge=2, le=3)
    date: str = Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")
    date_why: str = Field(min_length=1)
    base: BaseDoc
    dimensions: dict[str, dict[str, ValueDoc]] = Field(min_length=1)
    unmapped: dict[str, str] = {}

    def setting(self, values: Mapping[str, str]) -> SettingDoc:
        """The environment of a slice, given as value names per dimension."""
        out = self.base.set
        for dimension, known in self.dimensions.items():
            doc = known.get(values.get(dimension, ""))
            if doc is not None:
                out = doc.set.over(out)
        return out

    def lost(self, dimension: str, value: str) -> tuple[str, str] | None:
        """What is lost of a value ("part" or "none", and why), None if nothing is."""
        if dimension in self.unmapped:
            return "none", self.unmapped[dimension]
        if dimension not in self.dimensions:
            return "none", f'The mapping "{self.name}" has no dimension of this name.'
        doc = self.dimensions[dimension].get(value)
        if doc is None:
            return "none", f'The mapping "{self.name}" does not know this value.'
        return None if doc.fit == "full" else (doc.fit, doc.why)


def read_mapping(text: str) -> MappingDoc:
    """The mapping of a YAML text.

    Raises:
        InputError: It is no YAML or breaks the schema; every problem is listed.
    """
    try:
        data: Any = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (a BaseLoader builds text, lists and mappings only)
    except yaml.YAMLError as e:
        raise InputError(f"The mapping is not valid YAML: {getattr(e, 'problem', None) or e}.") from e
    try:
        return MappingDoc.model_validate(data)
    except ValidationError as e:
        problems = [Problem(None, ".".join(map(str, x["loc"])) or "document", str(x.get("input"))[:60], x["msg"]) for x in e.errors()]
        raise InputError("The mapping to OpenSCENARIO breaks a rule.", problems) from e


@cache
def driving_mapping(path: Path = DRIVING) -> MappingDoc:
    """The mapping that ships with the product, for the built-in driving ODD."""
    return read_mapping(path.read_text(encoding="utf-8"))
