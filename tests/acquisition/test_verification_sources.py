"""What people can be asked about: footage, what models tagged, images that were made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import operators
from core.acquisition.synthesis import synthesize
from core.acquisition.verification import coverage_of
from core.digest import sha256_bytes
from core.llm import Client
from core.odd import built_in, load_yaml
from core.operators.tag import tag
from core.settings import Settings
from core.storage import Store, open_store
from tests.stub_llm import StubServer, image, png

ODD = load_yaml("dimensions: {time: {values: [day, night]}, weather: {values: [clear, rain]}, users: {values: [unspecified, people]}}")


@pytest.fixture
def store(workspace: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(workspace)}))
    yield opened
    opened.close()


def test_the_demo_footage_can_be_judged(store):
    saved = operators.load_demo_datastore(store)
    footage = operators.open_datastore(store, saved.id)
    pool = operators.footage_items(footage, built_in(), 5)
    assert pool == operators.footage_items(footage, built_in(), 5)
    assert all(Path(x.paths[0]).is_file() for x in pool)
    assert all("users" not in x.tags and "unspecified" not in x.tags.values() for x in pool)
    counts = coverage_of(pool)
    for d, by in footage.inventory().items():
        for value, n in by.items():
            if d in counts and value in built_in().by_name[d].by_name and d != "question_category" and value != "unspecified":
                assert counts[d].get(value, 0) >= min(n, 5) or n == 0, (d, value)
    queue = operators.draw_queue(store, "demo", pool, built_in(), size=10)
    for x in store.verification.items(queue.id):
        assert x.media == sha256_bytes(Path(x.paths[0]).read_bytes())


def test_media_that_models_tagged_with_the_newest_tag_of_each_dimension(store, tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    media = operators.read_media(tmp_path, ODD)
    for answer in ({"time": "day", "weather": "rain", "users": "people"}, {"time": "night", "weather": "storm", "users": "people"}):
        with StubServer([json.dumps(answer)]) as stub:
            tag(store, media, ODD, stub.endpoint(json.dumps(answer)))
    (found,) = operators.tagged_items(store, ODD)
    assert found.tags == {"time": "night", "weather": "rain", "users": "people"}
    assert found.paths == (str(tmp_path / "a.png"),)
    assert operators.tagged_items(store, load_yaml("dimensions: {other: {values: [a, b]}}")) == ()


def test_images_that_were_made_with_what_they_were_meant_to_show(store, tmp_path):
    asked = {"time": "night", "users": "unspecified"}
    with StubServer([image(png()), image(png(colour=(1, 1, 1)))]) as stub:
        client = Client(stub.endpoint())
        first = synthesize(ODD, asked, 0, client, tmp_path)
        second = synthesize(ODD, asked, 1, client, tmp_path)
        client.close()
    found = operators.made_items(tmp_path, ODD)
    assert {x.media: x.tags for x in found} == {first.media_sha256: {"time": "night"}, second.media_sha256: {"time": "night"}}
    Path(second.path).unlink()
    (tmp_path / "requests" / "broken.json").write_text("[]")
    assert [x.media for x in operators.made_items(tmp_path, ODD)] == [first.media_sha256]
    queue = operators.draw_queue(store, "made", operators.made_items(tmp_path, ODD), ODD)
    (item,) = store.verification.items(queue.id)
    store.verification.answer({item.statements[0]: "yes"}, "Ada", queue_id=queue.id)
    assert operators.apply_confirmations(store, [first], ODD)[0].verdict == "valid"
    assert operators.made_items(tmp_path / "nowhere", ODD) == ()
