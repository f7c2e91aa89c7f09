"""The registry of importers keeps its promises: modules, options, recognition."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from core.errors import InputError
from core.trajectories.importers import COMMON, IMPORTERS, detect, import_source
from tests.source_files import noise


@pytest.mark.parametrize("name", IMPORTERS)
def test_the_options_of_a_format_are_those_that_it_reads(name):
    importer = IMPORTERS[name]
    module = import_module(f"core.trajectories.importers.{importer.module}")
    parameters = inspect.signature(module.read).parameters.values()
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert set(importer.options) == named
    assert not named & set(COMMON)
    assert importer.tested_on and importer.title and importer.what.endswith(".")


def test_sources_of_no_known_format_are_not_recognised(tmp_path):
    sources = {
        "a.txt": b"hello\n",
        "b.csv": b"a,b\n1,2\n",
        "c.json": b"{}",
        "d.jsonl": b'{"x": 1}\n',
        "e.parquet": b"PAR1",
        "f.xml": b"<a/>",
    }
    sources |= {f"noise{ext}": noise(3, 3000) for ext in (".csv", ".json", ".parquet", ".xml", ".tfrecord", ".bin", "")}
    for name, data in sources.items():
        (tmp_path / name).write_bytes(data)
        assert detect(tmp_path / name) in (None, "jsonl" if name == "d.jsonl" else None)
    (tmp_path / "empty").mkdir()
    assert detect(tmp_path / "empty") is None
    assert detect(tmp_path / "none") is None


def test_an_unknown_format_and_an_unknown_option_are_refused(tmp_path):
    with pytest.raises(InputError, match='no format "waymo"; allowed: jsonl'):
        import_source(tmp_path, "waymo")
    with pytest.raises(InputError, match='Did you mean "planners"'):
        import_source(tmp_path, "csv", planner="x")
    with pytest.raises(InputError, match=r"step_s is \"fast\""):
        import_source(tmp_path, "csv", step_s="fast")
