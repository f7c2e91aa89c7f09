"""Images for slices: the same slice asks for the same thing, nothing is paid twice, nothing counts as verified, no placeholder."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from core import operators
from core.acquisition.fidelity import UNSPECIFIED
from core.acquisition.questions import shipped_questions
from core.acquisition.synthesis import image_prompt, made_before, pixel_dims, recipe, synthesize
from core.digest import sha256_bytes
from core.errors import InputError
from core.llm import Client, Endpoint, ModelError, Price, Profile
from core.llm.download import MAX_BYTES, image_kind, refused
from core.odd import load_yaml
from core.operators import load_odd, plan_synthesis
from core.settings import Settings
from tests.stub_llm import Answer, StubServer, error, image, png

ODD = load_odd("driving")
SLICE = {
    "weather_visibility": "foggy",
    "time": "night",
    "environment": "highway",
    "road_users_present": UNSPECIFIED,
    "question_category": "scene_observation",
}


@pytest.fixture
def media(tmp_path: Path) -> Path:
    return tmp_path / "media"


_open: list[Client] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _open:
        _open.pop().close()


def connect(endpoint: Endpoint) -> Client:
    """A client that is closed after the test."""
    _open.append(Client(endpoint))
    return _open[-1]


def coded(data: bytes) -> Answer:
    return Answer({"data": [{"b64_json": base64.b64encode(data).decode()}]})


# The request


def test_the_prompt_is_the_definitions_in_the_order_of_the_odd():
    text = image_prompt(ODD, dict(reversed(SLICE.items())))
    assert text == image_prompt(ODD, SLICE)
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert lines == [
        "- Weather and visibility: foggy. Fog reduces visibility, any density.",
        "- Time of day: night. Sun below the horizon and no twilight left.",
        "- Environment: highway. Motorway, freeway or other multi-lane highway.",
    ]


def test_values_without_a_definition_and_later_images():
    odd = load_yaml("dimensions: {time: {label: Time, values: [late_night]}}")
    assert "- Time: late night.\n" in image_prompt(odd, {"time": "late_night"})
    first, second = (image_prompt(odd, {"time": "late_night"}, k) for k in (0, 1))
    assert second.startswith(first)
    assert "Variant 2" in second


def test_seed_and_key_come_from_what_is_to_be_seen():
    with StubServer([]) as stub:
        end = stub.endpoint()
        one = recipe(ODD, SLICE, 0, end)
        assert one == recipe(ODD, SLICE, 0, replace(end, key="other", label="x"))
        assert 0 <= one.seed < 2**31
        other_question = recipe(ODD, {**SLICE, "question_category": "hazard_assessment"}, 0, end)
        assert (other_question.seed, other_question.key) == (one.seed, one.key)
        others = [recipe(ODD, SLICE, 1, end), recipe(ODD, {**SLICE, "time": "day"}, 0, end), recipe(ODD, SLICE, 0, replace(end, model="m"))]
        assert len({one.key, *(o.key for o in others)}) == 4


def test_what_no_image_can_show_is_refused():
    assert pixel_dims(SLICE) == ("weather_visibility", "time", "environment")
    for wrong, told in (
        ({"time": "noon"}, "noon"),
        ({"colour": "red"}, "colour"),
        ({"question_category": "scene_observation"}, "nothing that an image can show"),
        ({}, "nothing that an image can show"),
    ):
        with pytest.raises(InputError, match=told):
            image_prompt(ODD, wrong)


# The image


def test_an_image_is_kept_under_its_digest_and_is_not_verified(media):
    data = png(colour=(1, 2, 3))
    with StubServer([image(data)]) as stub:
        found = synthesize(ODD, SLICE, 0, connect(stub.endpoint("qwen-image")), media, questions=shipped_questions())
        body = stub.asked[0].body
    sha = sha256_bytes(data)
    assert Path(found.path) == media / f"{sha}.png"
    assert Path(found.path).read_bytes() == data
    assert (found.source, found.media_sha256) == ("synthetic", sha)
    assert found.fidelity == {
        "weather_visibility": "ambiguous",
        "time": "ambiguous",
        "environment": "ambiguous",
        "road_users_present": "match",
        "question_category": "match",
    }
    assert (found.verdict, found.matches, found.realised) == ("partial", 2, None)
    assert found.tags["time"] == ("night",)
    assert (found.qa_origin, found.qa_type, len(found.options) > 1) == ("template", "MCQ", True)
    made = recipe(ODD, SLICE, 0, stub.endpoint("qwen-image"))
    assert (body["prompt"], body["seed"], body["size"], body["n"], body["model"]) == (made.prompt, made.seed, "1024x1024", 1, "qwen-image")
    assert found.made_by["prompt"] == made.prompt
    assert found.made_by["seed"] == made.seed
    note = json.loads((media / "requests" / f"{made.key}.json").read_text())
    assert (note["sha256"], note["requested"]) == (sha, SLICE)


def test_the_same_request_is_not_paid_twice(media):
    with StubServer([image(png(colour=(1, 1, 1))), image(png(colour=(2, 2, 2)))]) as stub:
        client = connect(stub.endpoint())
        first = synthesize(ODD, SLICE, 0, client, media)
        assert synthesize(ODD, SLICE, 0, client, media) == first
        # Another question about the same picture is another candidate, but no other image.
        other = synthesize(ODD, {**SLICE, "question_category": "hazard_assessment"}, 0, client, media)
        assert other.media_sha256 == first.media_sha256
        assert other.id != first.id
        assert len(stub.asked) == 1
        # A file that was changed or lost is made anew.
        Path(first.path).write_bytes(b"changed")
        assert synthesize(ODD, SLICE, 0, client, media).media_sha256 != first.media_sha256
        assert len(stub.asked) == 2


def test_two_at_once_pay_for_one(media):
    with StubServer(lambda r: image(png(), delay=0.1)) as stub:
        client, found = connect(stub.endpoint()), []
        threads = [threading.Thread(target=lambda: found.append(synthesize(ODD, SLICE, 0, client, media))) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(stub.asked) == 1
    assert len(found) == 4 and len(set(map(str, found))) == 1


def test_without_a_template_the_category_is_missing(media):
    with StubServer([image()]) as stub:
        found = synthesize(ODD, SLICE, 0, connect(stub.endpoint()), media)
    assert (found.question, found.fidelity["question_category"], found.tags["question_category"]) == ("", "missing", None)


def test_a_slice_that_names_no_category_gets_some_question(media):
    with StubServer([image()]) as stub:
        found = synthesize(ODD, {"time": "night"}, 0, connect(stub.endpoint()), media, questions=shipped_questions())
    assert found.question
    assert found.fidelity == {"time": "ambiguous"}


def jpeg() -> bytes:
    return b"\xff\xd8\xff\xe0" + bytes(16)


@pytest.mark.parametrize(
    ("answer", "ending"),
    [(coded(jpeg()), "jpg"), (coded(b"RIFF\0\0\0\0WEBPVP8 "), "webp"), (coded(png()), "png")],
)
def test_kinds_of_images(media, answer, ending):
    with StubServer([answer]) as stub:
        assert Path(synthesize(ODD, SLICE, 0, connect(stub.endpoint()), media).path).suffix == f".{ending}"


@pytest.mark.parametrize(
    "answer",
    [
        coded(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        coded(b"<html>"),
        coded(b""),
        Answer({"data": [{"b64_json": "!!!"}]}),
        Answer({"data": []}),
        Answer({"data": [{}]}),
        Answer({}),
        Answer({"data": [{"url": "http://127.0.0.2/x.png"}]}),
        Answer({"data": [{"url": "file:///etc/hostname"}]}),
        Answer({"data": [{"url": "http://user:pw@127.0.0.1/x.png"}]}),
        Answer({"data": [{"url": "http://[::1"}]}),
        error(500, "out of memory"),
        error(400, "Your prompt was flagged.", code="content_policy_violation"),
    ],
)
def test_what_is_no_image_leaves_nothing_behind(media, answer):
    with StubServer([answer]) as stub, pytest.raises(ModelError):
        synthesize(ODD, SLICE, 0, connect(stub.endpoint()), media)
    assert not media.exists() or [p for p in media.rglob("*") if p.is_file()] == []


def test_a_server_that_refuses_the_format_or_the_seed(media):
    def script(request):
        for name in ("response_format", "seed"):
            if name in request.body:
                return error(400, f"Unknown parameter: '{name}'.", param=name)
        return image()

    with StubServer(script) as stub:
        client = connect(stub.endpoint())
        assert synthesize(ODD, SLICE, 0, client, media).media_sha256
        assert (client.profile.image_format, client.profile.seed) == (False, False)


def test_what_making_images_would_take(media):
    other = {**SLICE, "question_category": "hazard_assessment"}  # the same picture
    wanted = [(SLICE, 2), (other, 1), ({"question_category": "scene_observation"}, 1)]
    with StubServer([image()]) as stub:
        end = stub.endpoint(price=Price(image=0.04, currency="EUR"))
        before = plan_synthesis(ODD, wanted, end, media)
        assert (before.calls, before.there, before.impossible, before.cost, before.currency) == (2, 0, 1, 0.08, "EUR")
        assert [r.k for r in before.recipes] == [0, 1]
        assert stub.asked == []
        synthesize(ODD, SLICE, 0, connect(end), media)
        after = plan_synthesis(ODD, wanted, end, media)
        assert (after.calls, after.there, after.cost) == (1, 1, 0.04)
        assert plan_synthesis(ODD, wanted, stub.endpoint(), media).cost is None


def test_acquisition_fills_a_slice_with_made_images_and_asks_once(media, tmp_path):
    found = []
    with StubServer([image(png(colour=(1, 1, 1))), image(png(colour=(2, 2, 2)))]) as stub:
        for end in (stub.endpoint(), stub.endpoint(), None):
            kind = {"source": "datastore_then_synthesis", "per_slice": 2, "settings": Settings(tmp_path, ""), "images": end, "media": media}
            found.append(operators.acquire(ODD, [SLICE], None, **kind))
        assert len(stub.asked) == 2
    first, again, without = found
    assert [(c.source, c.verdict) for c in first.candidates] == [("synthetic", "partial")] * 2
    assert [i.verdict for i in first.items] == ["partial"] * 2
    assert first.unfilled == ()
    assert again.candidates == first.candidates
    assert without.candidates == ()
    assert without.unfilled[0]["lacking"] == 2
    assert "no endpoint makes images" in without.unfilled[0]["reason"]


# Addresses


@pytest.fixture
def files() -> Iterator[tuple[str, dict[str, tuple[int, bytes]], list[dict[str, str]]]]:
    """A server of files on 127.0.0.1: its address, its files, and the headers that it was asked with."""
    there: dict[str, tuple[int, bytes]] = {}
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append({k.lower(): v for k, v in self.headers.items()})
            status, data = there.get(self.path, (404, b""))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", data.decode())
                data = b""
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(OSError):  # once the client has read enough
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", there, asked
    server.shutdown()
    server.server_close()
    thread.join()


def at(url: str) -> Answer:
    return Answer({"data": [{"url": url}]})


def test_an_address_on_the_same_host_is_fetched_without_the_key(media, files):
    url, there, asked = files
    there["/made.png"] = (200, png())
    with StubServer([at(f"{url}/made.png")]) as stub:
        found = synthesize(ODD, SLICE, 0, connect(stub.endpoint(key="sk-secret-key")), media)
    assert Path(found.path).read_bytes() == png()
    assert "authorization" not in asked[0]
    assert "sk-secret-key" not in str(asked)


@pytest.mark.parametrize("name", ["missing", "moved", "page", "huge"])
def test_an_address_that_gives_no_image(media, files, name):
    url, there, asked = files
    there["/moved"] = (302, f"{url}/made.png".encode())
    there["/made.png"] = (200, png())
    there["/page"] = (200, b"<html>")
    there["/huge"] = (200, png() + bytes(MAX_BYTES))
    with StubServer([at(f"{url}/{name}")]) as stub, pytest.raises(ModelError):
        synthesize(ODD, SLICE, 0, connect(stub.endpoint()), media)
    assert len(asked) == 1
    assert not media.exists()


def test_a_data_url_is_an_image_in_the_answer(media):
    with StubServer([at("data:image/png;base64," + base64.b64encode(png()).decode())]) as stub:
        assert Path(synthesize(ODD, SLICE, 0, connect(stub.endpoint()), media).path).read_bytes() == png()


def test_which_addresses_may_be_fetched():
    with StubServer([]) as stub:
        end = stub.endpoint()
        assert refused("http://127.0.0.1:9/x", end) == refused("https://127.0.0.1/x", end) == ""
        assert "another host, cdn.example" in refused("https://cdn.example/x", end)
        assert refused("https://cdn.example/x", replace(end, profile=Profile(image_hosts=("CDN.example",)))) == ""
        assert refused("https://cdn.example.evil/x", replace(end, profile=Profile(image_hosts=("cdn.example",))))
        for wrong in (
            "ftp://127.0.0.1/x",
            "//127.0.0.1/x",
            "x",
            "",
            "http:///x",
            "http://a:b@127.0.0.1/x",
            "http://127.0.0.1:xx/",
            "http://[::1",
        ):
            assert refused(wrong, end)


def test_kinds_by_first_bytes():
    assert [image_kind(x) for x in (png(), jpeg(), b"RIFF1234WEBP", b"GIF89a", b"", b"RIFF1234WAVE")] == ["png", "jpg", "webp", "", "", ""]


def test_a_note_that_was_tampered_with_finds_nothing(media, tmp_path):
    with StubServer([image()]) as stub:
        synthesize(ODD, SLICE, 0, connect(stub.endpoint()), media)
        made = recipe(ODD, SLICE, 0, stub.endpoint())
    note = media / "requests" / f"{made.key}.json"
    outside = tmp_path / "outside.png"
    outside.write_bytes(png())
    told = json.loads(note.read_text())
    assert made_before(made, media) is not None
    for change in ({"file": "../outside.png"}, {"file": str(outside)}, {"sha256": "0"}, {"file": None}):
        note.write_text(json.dumps({**told, **change}))
        assert made_before(made, media) is None
    note.write_text("[")
    assert made_before(made, media) is None
