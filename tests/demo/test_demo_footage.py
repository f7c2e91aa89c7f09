"""The demo footage: reproducible to the byte, labelled synthetic, flawed on purpose, and some gaps are filled while others are not."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from core import operators
from core.digest import sha256_bytes
from core.odd import built_in
from core.operators import DEMO_MANIFEST
from core.operators.workspace import DEMO_TABLE
from core.scoring import ScoringParameters
from core.settings import Settings
from core.storage import open_store

DEMO = DEMO_MANIFEST.parent
MOST = 4_000_000


def rows():
    with DEMO_MANIFEST.open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def test_the_script_draws_the_same_bytes_from_anywhere(tmp_path):
    subprocess.run([sys.executable, DEMO / "make_footage.py", tmp_path], cwd=tmp_path, check=True)
    made = {p.relative_to(tmp_path): p.read_bytes() for p in [tmp_path / "manifest.csv", *(tmp_path / "images").iterdir()]}
    kept = {p.relative_to(DEMO): p.read_bytes() for p in [DEMO_MANIFEST, *(DEMO / "images").iterdir()]}
    assert made == kept


def test_every_row_is_labelled_and_its_picture_is_there():
    listed = rows()
    assert 150 <= len(listed) <= 250
    assert {(r["synthetic"], r["split"]) for r in listed} == {("true", "demo")}
    assert all(r["licence"] and r["dataset"].startswith("synthetic-") and r["caption"].startswith("Drawn road scene") for r in listed)
    for r in listed:
        assert sha256_bytes((DEMO / r["path"]).read_bytes()) == r["sha256"]
    assert {r["path"] for r in listed} == {f"images/{p.name}" for p in (DEMO / "images").iterdir()}
    assert sum(p.stat().st_size for p in (DEMO / "images").iterdir()) < MOST


def test_the_word_stands_in_the_pixels_of_every_picture():
    bands = set()
    for path in sorted((DEMO / "images").iterdir()):
        with Image.open(path) as image:
            band = image.convert("L").crop((4, image.height - 15, 250, image.height - 1)).point(lambda v: 255 * (v > 120))
        bands.add(sum(v > 0 for v in band.tobytes()))
    assert min(bands) > 300  # light letters on the dark strip
    assert max(bands) - min(bands) < 120  # the same ones everywhere, but for what JPEG makes of them


def test_flaws_of_every_kind_turn_up_and_are_counted():
    report = operators.read_manifest(DEMO_MANIFEST).report
    assert (report.rows, report.accepted, report.rejected) == (len(rows()), len(rows()), ())
    assert report.copies == 3
    scene = [d for d in report.dimensions if d.name not in ("road_users_present", "question_category")]
    assert sum(d.missing - d.unknown for d in scene) > 10
    assert sum(d.several for d in scene) > 3
    assert sum(d.unknown for d in scene) > 3
    assert 0 < report.uncategorised < report.questions < report.accepted
    kinds = Counter(r["qa_type"] for r in rows())
    assert min(kinds["MCQ"], kinds["VQA"], kinds[""]) >= 15


@pytest.fixture(scope="module")
def footage(tmp_path_factory):
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path_factory.mktemp("home"))}))
    yield operators.open_datastore(store, operators.load_demo_datastore(store).id)
    store.close()


@pytest.mark.parametrize(
    "where",
    [{}, {"time": ["night"]}, {"weather_visibility": ["foggy"], "environment": ["highway"]}, {"environment": ["construction"]}],
    ids=["high risk (D)", "night (C)", "foggy highway (E)", "construction (H)"],
)
def test_some_of_the_best_ranked_slices_are_filled_and_some_are_not(footage, tmp_path, where):
    settings = Settings.from_environment({"ODDYSSEY_HOME": str(tmp_path)})
    prepared = operators.prepare(operators.open_table(DEMO_TABLE), built_in(), overrides={"model": "model-a"})
    ranking = operators.rank(operators.check(prepared).seed, ScoringParameters(), settings, top=10, where=where).ranking
    names = ranking.odd.codec.names(ranking.codes)
    slices = [{ranking.odd.names[k]: v[k] for k in ranking.dims} for v in names]
    found = operators.acquire(ranking.odd, slices, footage, source="datastore", per_slice=1, settings=settings, media=settings.media)
    assert 2 <= len(found.unfilled) <= 8
    assert all(found.counts[k] for k in ("valid", "partial", "invalid"))
    assert (found.counts["no_media"], found.counts["media_changed"], found.counts["no_question"]) == (0, 0, 0)
    assert {i.qa_origin for i in found.items} == {"dataset", "template"}
    assert all((Path(i.root) / i.images[0]).is_file() for i in found.items)


def test_only_one_option_is_right_of_what_was_drawn():
    true = {
        "A wet road": "wet road",
        "Snow on the road": "snow on the road",
        "Little visibility in fog": "fog,",
        "It is clear": "clear air",
        "It rains": ": rain",
        "There is fog": "fog,",
        "It snows": "falling snow",
    }
    seen = Counter()
    for r in rows():
        options, right = r["options"].split(" | "), "ABCD".find(r["answer"])
        if r["qa_type"] == "MCQ" and any(o in true for o in options):
            drawn = [o for o in options if o in true and true[o] in r["caption"]]
            assert drawn == ([] if options[right] == "Nothing unusual" else [options[right]])
            seen[options[right]] += 1
        if options[0] == "Keep the speed":
            assert right == 1 or "at an intersection" not in r["caption"]  # where the lights are red
            seen[options[right]] += 1
    assert len(seen) >= 6
