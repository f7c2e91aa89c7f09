"""A campaign as ASAM OpenSCENARIO XML: one environment catalog per slice, and a plain list of what an environment cannot say."""

from __future__ import annotations

import io
import json
import re
import threading
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import Any

from core.acquisition.mapping import MappingDoc, SettingDoc
from core.errors import InputError, MissingPackageError
from core.storage import PlannedSlice

NO_DATE = datetime(2000, 1, 1)
"""Stands in the header, which must have a date, where none is given; the present time would make every file another one."""
PINNED = "scenariogeneration==0.16.7"

_one_at_a_time = threading.Lock()
"""The library keeps the version of the standard in a class attribute, which all threads share."""
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold."""


@dataclass(frozen=True)
class Lost:
    """Something of the slices that the files do not say.

    Attributes:
        dimension: The dimension.
        value: One of its values.
        fit: "part" if some of it is written, "none" if nothing is.
        slices: Slices of the campaign that have the value.
        why: The reason.
    """

    dimension: str
    value: str
    fit: str
    slices: int
    why: str


@dataclass(frozen=True)
class Export:
    """Files by name, and what they do not say.

    Attributes:
        files: Content by path, in the order in which they are packed.
        lost: By dimension in the order of the slices, then value.
        checked: How the XML was checked, in words.
    """

    files: Mapping[str, bytes]
    lost: tuple[Lost, ...]
    checked: str

    def as_zip(self) -> bytes:
        """All files in one archive; equal files give equal bytes (stored, not packed, since packers differ)."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
            for name, data in self.files.items():
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.create_system, info.external_attr = 3, 0o644 << 16
                z.writestr(info, data)
        return out.getvalue()


def lost(slices: Sequence[PlannedSlice], mapping: MappingDoc) -> tuple[Lost, ...]:
    """What the files of these slices would not say. Needs no package."""
    counts: dict[tuple[str, str], int] = {}
    for s in slices:
        for item in s.values.items():
            counts[item] = counts.get(item, 0) + 1
    order = {d: i for i, d in enumerate(dict.fromkeys(d for d, _ in counts))}
    found = [(d, v, n, mapping.lost(d, v)) for (d, v), n in counts.items()]
    out = [Lost(d, v, what[0], n, what[1]) for d, v, n, what in found if what is not None]
    return tuple(sorted(out, key=lambda x: (order[x.dimension], x.value)))


def export(
    name: str,
    slices: Sequence[PlannedSlice],
    mapping: MappingDoc,
    manifest: Mapping[str, Any],
    created: datetime | None = None,
) -> Export:
    """Writes a campaign as environment catalogs.

    Args:
        name: Name of the campaign.
        slices: Its slices, in order.
        mapping: How values are written.
        manifest: Goes along as manifest.json.
        created: Date in the headers.

    Raises:
        InputError: There is no slice, or the library reads a file back differently than it was written.
        MissingPackageError: scenariogeneration is not installed.
    """
    if not slices:
        raise InputError("The campaign has no slice, so there is nothing to export.")
    xosc = _library()
    schema = _schema(mapping.minor)
    width = len(str(slices[-1].rank))
    out: dict[str, bytes] = {}
    with _version(xosc, mapping.minor):
        for s in slices:
            file = f"environments/slice_{s.rank:0{width}}.xosc"
            out[file] = _catalog(xosc, s, f"slice_{s.rank:0{width}}", _xml_text(name), mapping, created or NO_DATE)
            if schema is not None:
                _validate(schema, out[file], file)
    checked = f"Every file was read back with scenariogeneration {version('scenariogeneration')} and compared"
    checked += (
        f", and validated against OpenSCENARIO_1_{mapping.minor}.xsd." if schema is not None else "; no XSD of the standard is installed."
    )
    missing = lost(slices, mapping)
    document = {
        **manifest,
        "openscenario": {
            "standard": f"OpenSCENARIO XML 1.{mapping.minor}",
            "mapping": {"name": mapping.name, "version": mapping.version},
            "checked": checked,
            "files": {f: {"rank": s.rank, "slice_id": s.slice_id, "values": dict(s.values)} for f, s in zip(out, slices, strict=True)},
            "not_written": [vars(x) for x in missing],
        },
    }
    out["manifest.json"] = (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    out["README.txt"] = _readme(name, slices, mapping, missing, checked).encode()
    return Export(out, missing, checked)


def _library() -> Any:
    try:
        return import_module("scenariogeneration.xosc")
    except ModuleNotFoundError as e:
        raise MissingPackageError(f'The export to OpenSCENARIO needs the package scenariogeneration: pip install "{PINNED}".') from e


@contextmanager
def _version(xosc: Any, minor: int) -> Iterator[None]:
    base = import_module("scenariogeneration.xosc.enumerations").VersionBase
    with _one_at_a_time:
        before = base.version_minor
        base.version_minor = minor
        try:
            yield
        finally:
            base.version_minor = before


def _catalog(xosc: Any, s: PlannedSlice, entry: str, name: str, mapping: MappingDoc, created: datetime) -> bytes:
    """The file of one slice."""
    environment = _environment(xosc, s, entry, mapping)
    file = xosc.CatalogFile()
    values = "; ".join(f"{d} = {v}" for d, v in s.values.items())
    file.create_catalog("", entry, _xml_text(f"Campaign {name}, rank {s.rank}: {values}"), "Oddyssey", creation_date=created)
    file.add_to_catalog(environment)
    root = file.catalog_element
    for key in [k for k in root.attrib if k.startswith("xsi:") or k.startswith("xmlns")]:
        del root.attrib[key]  # they point to a schema file that is not there
    ET.indent(root, "  ")
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
    back = ET.fromstring(data)  # noqa: S314 (our own bytes)
    element = back.find("Catalog/Environment")
    if element is None or xosc.Environment.parse(element) != environment or xosc.FileHeader.parse(back[0]).author != "Oddyssey":
        raise InputError(f"The file of rank {s.rank} reads back differently than it was written, so nothing was exported.")
    return data


def _environment(xosc: Any, s: PlannedSlice, entry: str, mapping: MappingDoc) -> Any:
    x: SettingDoc = mapping.setting(s.values)
    parameters = xosc.ParameterDeclarations()
    for parameter, value in zip(parameter_names(list(s.values)), s.values.values(), strict=True):
        parameters.add_parameter(xosc.Parameter(parameter, xosc.ParameterType.string, _xml_text(value)))
    if x.time is None or x.sun is None or x.precipitation is None:
        raise ValueError("The base of a mapping sets everything.")
    time = xosc.TimeOfDay(False, *map(int, mapping.date.split("-")), *map(int, x.time.split(":")))
    weather = xosc.Weather(
        cloudstate=getattr(xosc.FractionalCloudCover, str(x.clouds)),
        sun=xosc.Sun(x.sun.illuminance, x.sun.azimuth, x.sun.elevation),
        fog=xosc.Fog(x.fog),
        precipitation=xosc.Precipitation(getattr(xosc.PrecipitationType, x.precipitation.type), x.precipitation.intensity),
    )
    road = xosc.RoadCondition(x.friction, wetness=getattr(xosc.Wetness, x.wetness) if x.wetness else None)
    return xosc.Environment(entry, time, weather, road, parameters)


def parameter_names(dimensions: Sequence[str]) -> list[str]:
    """A parameter name for each dimension: letters, digits and underscores only, no two alike."""
    out: list[str] = []
    for d in dimensions:
        plain = re.sub(r"[^0-9A-Za-z_]", "_", d)
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"
        found, number = plain, 1
        while found in out:
            number += 1
            found = f"{plain}_{number}"
        out.append(found)
    return out


def _xml_text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def _schema(minor: int) -> Any:
    """The XSD of the standard, which the library brings along, as a validator; None if it or lxml is not installed."""
    try:
        found = [f for f in files("scenariogeneration") or () if f.name == f"OpenSCENARIO_1_{minor}.xsd"]
        etree = import_module("lxml.etree")
    except (ModuleNotFoundError, PackageNotFoundError):
        return None
    path = Path(str(found[0].locate())) if found else None
    return etree.XMLSchema(etree.parse(str(path))) if path is not None and path.is_file() else None


def _validate(schema: Any, data: bytes, file: str) -> None:
    etree = import_module("lxml.etree")
    if not schema.validate(etree.fromstring(data)):
        raise InputError(f"{file} does not follow the schema of the standard, so nothing was exported: {schema.error_log.last_error}.")


def _readme(name: str, slices: Sequence[PlannedSlice], mapping: MappingDoc, missing: Sequence[Lost], checked: str) -> str:
    lines = [
        f"Campaign: {name}",
        f"{len(slices):,} slices, {sum(s.samples for s in slices):,} samples.",
        "",
        f"environments/ holds one ASAM OpenSCENARIO XML 1.{mapping.minor} catalog per slice, named by its rank, with one Environment.",
        "Refer to it with a CatalogReference (catalog name and entry name are the name of the file) in an EnvironmentAction.",
        "All values of a slice stand in its ParameterDeclarations, also those that the environment does not say.",
        "manifest.json says from what the campaign was made, and which file is which slice.",
        checked,
        "",
        f"Where a slice says nothing: {mapping.base.why}",
        f"Date of every time of day: {mapping.date}. {mapping.date_why}",
        "",
        "Not written, or only in part:" if missing else "Every value of every slice is written in full.",
    ]
    word = {"none": "not written", "part": "in part"}
    lines += [f"- {x.dimension} = {x.value} ({x.slices:,} of {len(slices):,} slices), {word[x.fit]}: {x.why}" for x in missing]
    return "\n".join(lines) + "\n"
