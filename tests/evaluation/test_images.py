"""Images reach the model upright, as JPEG, and no larger than 1,280 px."""

from __future__ import annotations

import asyncio
import base64
import io

import pytest
from PIL import Image

from core.digest import sha256_bytes
from core.errors import InputError
from core.evaluation.images import Gallery, data_url, read_image
from tests.loops import alone


def encoded(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def sent(data: bytes) -> Image.Image:
    url = data_url(data)
    head, _, body = url.partition(",")
    assert head == "data:image/jpeg;base64"
    image = Image.open(io.BytesIO(base64.b64decode(body, validate=True)))
    assert (image.format, image.mode) == ("JPEG", "RGB")
    return image


@pytest.mark.parametrize(
    ("size", "expected"),
    [((2560, 1280), (1280, 640)), ((900, 3000), (384, 1280)), ((1280, 720), (1280, 720)), ((3, 2), (3, 2)), ((1, 5000), (1, 1280))],
)
@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_the_longest_side_is_1280(size, expected, form):
    assert sent(encoded(Image.new("RGB", size, "red"), form)).size == expected


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_every_mode_becomes_rgb(mode):
    form = "TIFF" if mode in ("CMYK", "I;16") else "PNG"
    assert sent(encoded(Image.new(mode, (20, 10)), form)).size == (20, 10)


def test_what_is_transparent_becomes_white():
    assert min(sent(encoded(Image.new("RGBA", (8, 8), (0, 0, 0, 0)))).getpixel((4, 4))) > 250


def test_a_turned_camera_is_turned_back():
    image = Image.new("RGB", (40, 20), "black")
    exif = Image.Exif()
    exif[0x0112] = 6  # the top of the picture is at the right
    assert sent(encoded(image, "JPEG", exif=exif)).size == (20, 40)


@pytest.mark.parametrize(
    "data", [b"", b"no image", encoded(Image.new("RGB", (9, 9)))[:40], encoded(Image.new("RGB", (300, 300)), "JPEG")[:400]]
)
def test_damaged_files_are_told(data):
    with pytest.raises(InputError, match="no image that can be read"):
        data_url(data, "a.jpg")


def test_a_file_that_claims_to_be_huge_is_refused_before_it_is_unpacked():
    data = encoded(Image.new("1", (30_000, 30_000)))
    assert len(data) < 1_000_000
    with pytest.raises(InputError, match="no image that can be read"):
        data_url(data)


def test_only_files_of_this_machine_are_read(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    assert read_image("a.png", tmp_path) == b"x"
    assert read_image(str(tmp_path / "a.png")) == b"x"
    for name, told in [
        ("http://host/a.png", "on the network"),
        ("b.png", "cannot be read"),
        ("clip.mp4", "single frames"),
        ("a\0b", "cannot be"),
    ]:
        with pytest.raises(InputError, match=told):
            read_image(name, tmp_path)


def test_an_image_is_made_ready_once_and_only_if_it_is_the_one_acquired(tmp_path):
    data = encoded(Image.new("RGB", (9, 9)))
    (tmp_path / "a.png").write_bytes(data)

    async def main():
        gallery = Gallery(kept=1)
        sha = sha256_bytes(data)
        first, second = await asyncio.gather(gallery.url("a.png", sha, tmp_path), gallery.url("a.png", sha, tmp_path))
        assert first == second == data_url(data)
        (tmp_path / "a.png").write_bytes(b"another")
        assert await gallery.url("a.png", sha, tmp_path) == first
        with pytest.raises(InputError, match="content has changed"):
            await gallery.url("a.png", "0" * 64, tmp_path)
        with pytest.raises(InputError, match="content has changed"):
            await gallery.url("a.png", sha, tmp_path)  # only one image is kept

    alone(main())
