"""OpenSCENARIO files: what stands in them, that they follow the standard, and that what they cannot say is listed."""

from __future__ import annotations

import io
import json
import sys
import xml.etree.ElementTree as ET
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import files

import pytest

from core.acquisition import openscenario
from core.acquisition.mapping import driving_mapping, read_mapping
from core.acquisition.openscenario import Export, export, lost, parameter_names
from core.errors import InputError, MissingPackageError
from core.odd import built_in
from core.storage import PlannedSlice

VALUES = {"weather_visibility": "rainy", "sky_conditions": "cloudy", "time": "night", "environment": "highway", "road_condition": "snow"}


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("scenariogeneration", reason="scenariogeneration, which writes OpenSCENARIO, is not installed")


def slice_(rank: int = 1, **values: str) -> PlannedSlice:
    return PlannedSlice(rank, rank * 7, VALUES | values, 93, 93.0, 1.5, 0.5)


def written(*slices: PlannedSlice, **options: object) -> Export:
    return export("Nights", slices or (slice_(),), driving_mapping(), {"odd": "x"}, **options)  # type: ignore[arg-type]


def environment(e: Export, rank: int = 1) -> ET.Element:
    found = ET.fromstring(e.files[f"environments/slice_{rank}.xosc"]).find("Catalog/Environment")
    assert found is not None
    return found


def attributes(element: ET.Element, path: str) -> dict[str, str]:
    found = element.find(path)
    assert found is not None, path
    return dict(found.attrib)


# The mapping


def test_every_value_of_the_built_in_odd_is_mapped_or_named_as_unmapped() -> None:
    odd, mapping = built_in(), driving_mapping()
    assert set(mapping.dimensions) | set(mapping.unmapped) == set(odd.names)
    assert set(mapping.dimensions) & set(mapping.unmapped) == set()
    for d, known in mapping.dimensions.items():
        assert set(known) == set(odd.by_name[d].by_name)


def test_a_later_dimension_counts_over_an_earlier_one() -> None:
    m = driving_mapping()
    glare = m.setting({"time": "dawn", "sky_conditions": "sun_glare"})
    assert glare.sun is not None
    assert (glare.sun.illuminance, glare.sun.azimuth, glare.sun.elevation, glare.time) == (400, 1.5708, 0.1, "06:00:00")
    assert m.setting({}) == m.base.set
    assert m.setting({"weather_visibility": "spray"}) == m.base.set


MINIMAL = """
name: own
version: 1
minor: 2
date: '2025-03-20'
date_why: x
base: {set: {time: '12:00:00', sun: {illuminance: 1, azimuth: 1, elevation: 1}, clouds: oneOktas, precipitation: {type: dry, intensity: 0}, fog: 9, friction: 1}, why: x}
dimensions:
  light:
    "no": {fit: full, set: {time: '00:00:00'}, why: x}
"""  # noqa: E501


@pytest.mark.parametrize(
    "old, new, told",
    [
        ("version: 1", "version: 0", "version"),
        ("minor: 2", "minor: 1", "minor"),
        ("2025-03-20", "2025-13-20", "date"),
        ("'00:00:00'", "'24:00:00'", "dimensions.light.no.set.time"),
        ("fit: full", "fit: half", "dimensions.light.no.fit"),
        ("fit: full", "fit: none", "the fit none sets nothing"),
        ("set: {time: '00:00:00'}, ", "", "any other sets something"),
        ("intensity: 0", "intensity: 3", "dry has the intensity 0"),
        ("elevation: 1", "elevation: 2", "elevation"),
        ("fog: 9, ", "", "the base must set fog"),
        ("fog: 9", "mist: 9", "mist"),
        ("oneOktas", "tenOktas", "clouds"),
        (", why: x}\n", "}\n", "why"),
        ("name: own", "name: [", "not valid YAML"),
    ],
)
def test_a_mapping_that_breaks_the_schema_is_told(old: str, new: str, told: str) -> None:
    assert read_mapping(MINIMAL).dimensions["light"]["no"].fit == "full"
    assert old in MINIMAL
    with pytest.raises(InputError) as e:
        read_mapping(MINIMAL.replace(old, new))
    assert told in str(e.value)


# The files


def test_what_stands_in_the_file_of_a_slice() -> None:
    x = environment(written())
    assert attributes(x, "TimeOfDay") == {"animation": "false", "dateTime": "2025-03-20T00:00:00"}
    assert attributes(x, "Weather") == {"fractionalCloudCover": "sixOktas"}
    assert attributes(x, "Weather/Precipitation") == {"precipitationType": "rain", "precipitationIntensity": "5.0"}
    assert attributes(x, "Weather/Fog") == {"visualRange": "50000.0"}
    assert float(attributes(x, "Weather/Sun")["elevation"]) < 0
    assert attributes(x, "RoadCondition") == {"frictionScaleFactor": "0.3"}
    declared = {p.attrib["name"]: (p.attrib["parameterType"], p.attrib["value"]) for p in x.iter("ParameterDeclaration")}
    assert declared == {d: ("string", v) for d, v in VALUES.items()}


def test_every_value_of_the_built_in_odd_gives_a_file_that_follows_the_schema() -> None:
    slices = [
        replace(slice_(), rank=i, values=VALUES | {d.name: v.name})
        for i, (d, v) in enumerate(((d, v) for d in built_in().dimensions for v in d.values), 1)
    ]
    e = export("all", slices, driving_mapping(), {})
    assert len(e.files) == len(slices) + 2
    assert "read back with scenariogeneration" in e.checked
    if any(f.name == "OpenSCENARIO_1_2.xsd" for f in files("scenariogeneration") or ()):
        assert "validated against OpenSCENARIO_1_2.xsd" in e.checked


def test_a_file_against_the_schema_is_refused() -> None:
    if openscenario._schema(2) is None:
        pytest.skip("no XSD of OpenSCENARIO is installed")
    data = written().files["environments/slice_1.xosc"].replace(b"visualRange", b"range")
    with pytest.raises(InputError, match="does not follow the schema"):
        openscenario._validate(openscenario._schema(2), data, "x.xosc")


def test_equal_campaigns_give_equal_bytes_without_the_present_time() -> None:
    a, b = written(), written()
    assert a.as_zip() == b.as_zip()
    assert b"2000-01-01T00:00:00" in a.files["environments/slice_1.xosc"]
    at = datetime(2026, 11, 30, 8, 20, tzinfo=UTC)
    assert b'date="2026-11-30T08:20:00+00:00"' in written(created=at).files["environments/slice_1.xosc"]


def test_the_archive_holds_the_files_a_manifest_and_a_readme() -> None:
    e = written(slice_(9), slice_(10, time="day"))
    with zipfile.ZipFile(io.BytesIO(e.as_zip())) as z:
        assert z.testzip() is None
        assert z.namelist() == ["environments/slice_09.xosc", "environments/slice_10.xosc", "manifest.json", "README.txt"]
        manifest = json.loads(z.read("manifest.json"))
        readme = z.read("README.txt").decode()
    assert manifest["odd"] == "x"
    assert manifest["openscenario"]["files"]["environments/slice_09.xosc"] == {"rank": 9, "slice_id": 63, "values": VALUES}
    assert [x["dimension"] for x in manifest["openscenario"]["not_written"]] == ["environment", "road_condition"]
    assert "- environment = highway (2 of 2 slices), not written: The area is chosen by the road network" in readme
    assert "- road_condition = snow (2 of 2 slices), in part:" in readme
    assert "weather_visibility" not in readme


def test_what_an_unknown_odd_does_not_say_is_listed_by_value() -> None:
    values = {"fog": "dense", "time": "night", "shift": "1"}
    found = lost([replace(slice_(), values=values), replace(slice_(2), values=values | {"time": "late"})], driving_mapping())
    assert [(x.dimension, x.value, x.fit, x.slices) for x in found] == [
        ("fog", "dense", "none", 2),
        ("time", "late", "none", 1),
        ("shift", "1", "none", 2),
    ]
    assert found[0].why == 'The mapping "driving" has no dimension of this name.'
    assert found[1].why == 'The mapping "driving" does not know this value.'
    assert lost([], driving_mapping()) == ()


def test_hostile_names_are_written_as_text() -> None:
    nasty = '<a b="c">&\x00\ud7ff  $x'
    e = export(nasty, [replace(slice_(), values={nasty: nasty, "": "", "1": "\n"})], driving_mapping(), {})
    declared = [(p.attrib["name"], p.attrib["value"]) for p in environment(e).iter("ParameterDeclaration")]
    assert [v for _, v in declared] == [nasty.replace("\x00", "\ufffd"), "", "\n"]
    assert len({n for n, _ in declared}) == 3


def test_parameter_names_are_allowed_and_distinct() -> None:
    assert parameter_names(["time", "a b", "a-b", "1", "", "ä"]) == ["time", "a_b", "a_b_2", "_1", "_", "__2"]


def test_threads_do_not_share_the_version_of_the_standard() -> None:
    third = driving_mapping().model_copy(update={"minor": 3})

    def one(i: int) -> bytes:
        return export("x", [slice_()], third if i % 2 else driving_mapping(), {}).files["environments/slice_1.xosc"]

    with ThreadPoolExecutor(4) as pool:
        out = list(pool.map(one, range(12)))
    assert all((b'revMinor="3"' if i % 2 else b'revMinor="2"') in x for i, x in enumerate(out))


def test_no_slice_is_told() -> None:
    with pytest.raises(InputError, match="no slice"):
        export("x", [], driving_mapping(), {})


def test_a_missing_package_is_told_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scenariogeneration.xosc", None)
    with pytest.raises(MissingPackageError, match=r'pip install "scenariogeneration==0\.16\.7"'):
        written()
    assert lost([slice_()], driving_mapping())  # what would be lost can be said without it


def test_without_a_schema_the_files_say_that_none_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openscenario, "_schema", lambda minor: None)
    assert written().checked.endswith("no XSD of the standard is installed.")
