"""The pictures by which a model sees a unit: the right place, the right size, boxes around and not over what they mark."""

from __future__ import annotations

import io
import random
from collections import Counter

import numpy as np
import pytest
from PIL import Image as Pillow

from core.error_slices.detections import Image
from core.error_slices.vision.crops import CropSettings, image_digest, load_picture, rounded, unit_pictures
from core.errors import InputError

YELLOW = np.array([255, 230, 0])


def saved(tmp_path, size=(400, 300), spot=(200, 100, 240, 140), stated=None, **more):
    picture = Pillow.new("RGB", size, (0, 0, 120))
    picture.paste((220, 20, 20), spot)
    path = tmp_path / "a.png"
    picture.save(path, **more)
    width, height = stated or size
    return Image("1", path.name, width, height, path)


def opened(data):
    return np.asarray(Pillow.open(io.BytesIO(data)).convert("RGB")).astype(int)


def shown(image, box, settings=None):
    made = unit_pictures(load_picture(image), image, box, settings)
    return opened(made.frame), None if made.crop is None else opened(made.crop)


def red(pixels):
    return (pixels[..., 0] > 150) & (pixels[..., 1] < 90) & (pixels[..., 2] < 90)


def yellow(pixels):
    return np.abs(pixels - YELLOW).sum(-1) < 120


def test_the_crop_is_the_box_with_its_margin_enlarged(tmp_path):
    frame, crop = shown(saved(tmp_path), (200, 100, 240, 140))
    assert frame.shape == (300, 400, 3)
    assert crop.shape == (224, 224, 3)
    _, xs = np.nonzero(red(crop))
    assert (xs.min() + xs.max()) / 2 == pytest.approx(112, abs=4)
    assert red(crop).mean() == pytest.approx(1 / 1.5**2, rel=0.1)


def test_the_box_stands_around_what_it_marks(tmp_path):
    frame, _ = shown(saved(tmp_path), (200, 100, 240, 140))
    assert red(frame)[104:136, 204:236].all()
    marked = yellow(frame)
    assert marked[98:100, 205:235].any(0).all()
    assert not marked[101:139, 201:239].any()
    assert not marked[:90].any() and not marked[150:].any()


def test_large_pictures_are_made_smaller_and_their_boxes_with_them(tmp_path):
    frame, crop = shown(saved(tmp_path, (2_048, 1_024), (1_000, 500, 1_800, 900)), (1_000, 500, 1_800, 900))
    assert frame.shape == (512, 1_024, 3)
    assert max(crop.shape) == 672
    ys, xs = np.nonzero(yellow(frame))
    assert (xs.min(), xs.max(), ys.min(), ys.max()) == pytest.approx((498, 901, 248, 451), abs=2)


def test_boxes_are_scaled_where_the_file_has_another_size_than_the_ground_truth(tmp_path):
    image = saved(tmp_path, stated=(800, 600))
    _, crop = shown(image, (400, 200, 480, 280))
    assert red(crop).mean() == pytest.approx(1 / 1.5**2, rel=0.1)


@pytest.mark.parametrize(
    "box", [(-50, -50, 20, 20), (390, 290, 500, 400), (0, 0, 400, 300), (200, 100, 200, 100), (-20, -20, -10, -10), (900, 900, 950, 950)]
)
def test_boxes_at_and_beyond_the_edge_give_pictures(tmp_path, box):
    frame, crop = shown(saved(tmp_path), box)
    assert frame.shape == (300, 400, 3)
    assert min(crop.shape[:2]) >= 1 and max(crop.shape[:2]) >= 224


def test_a_whole_image_is_one_picture_without_a_box(tmp_path):
    made = unit_pictures(load_picture(saved(tmp_path)), saved(tmp_path), None)
    assert made.crop is None and len(made.urls) == 1
    assert made.urls[0].startswith("data:image/jpeg;base64,")
    assert not yellow(opened(made.frame)).any()


def test_pictures_are_turned_only_where_the_boxes_are(tmp_path):
    exif = Pillow.Exif()
    exif[0x0112] = 6  # a quarter turn
    stored = saved(tmp_path, exif=exif)
    assert load_picture(stored).size == (400, 300)
    turned = Image("1", stored.file_name, 300, 400, stored.path)
    assert load_picture(turned).size == (300, 400)


def test_pictures_that_are_turned_by_half_stand_as_viewers_show_them(tmp_path):
    exif = Pillow.Exif()
    exif[0x0112] = 3  # a half turn
    assert load_picture(saved(tmp_path, exif=exif)).getpixel((179, 179))[0] > 200  # the spot lay at (200..239, 100..139)
    exif[0x0112] = 6
    unknown = saved(tmp_path, stated=(0, 0), exif=exif)
    assert load_picture(unknown).size == (300, 400)


def test_of_16_bits_the_upper_eight_are_shown(tmp_path):
    path = tmp_path / "deep.png"
    Pillow.fromarray(np.full((20, 30), 40_000, np.uint16)).save(path)
    assert load_picture(Image("1", "deep.png", 30, 20, path)).getpixel((5, 5)) == (156, 156, 156)


def test_the_same_unit_gives_the_same_bytes(tmp_path):
    image = saved(tmp_path)
    a, b = (unit_pictures(load_picture(image), image, (200, 100, 240, 140)) for _ in range(2))
    assert a == b
    assert unit_pictures(load_picture(image), image, (200, 100, 240, 140), CropSettings(margin=3.0)).crop != a.crop


def test_missing_and_broken_files_are_named(tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(InputError, match=r"broken\.png"):
        load_picture(Image("1", "broken.png", 10, 10, broken))
    with pytest.raises(InputError, match=r"gone\.png"):
        load_picture(Image("1", "gone.png", 10, 10, tmp_path / "gone.png"))
    with pytest.raises(InputError, match="was not given"):
        image_digest(Image("1", "none.png", 10, 10))
    with pytest.raises(InputError, match="cannot be read"):
        image_digest(Image("1", "gone.png", 10, 10, tmp_path / "gone.png"))


def test_rounding_holds_the_box():
    assert rounded((1.2, 1.9, 3.1, 4.0)) == (1, 1, 4, 4)
    assert rounded((-0.5, 1.0004, 3.0, 4.0)) == (-1, 1, 3, 4)


@pytest.mark.parametrize("box", [(10, 50, 90, 50), (50, 10, 50, 90), (50, 50, 50, 50), (0, 99, 160, 100), (159, 0, 160, 100)])
def test_boxes_without_an_area_and_slivers_give_crops_that_models_take(tmp_path, box):
    path = tmp_path / "a.png"
    Pillow.new("RGB", (160, 100), (9, 90, 9)).save(path)
    image = Image("a", "a.png", 160, 100, path)
    made = unit_pictures(load_picture(image), image, box)
    for data in (made.frame, made.crop):
        (tmp_path / "out.jpg").write_bytes(data)
        with Pillow.open(tmp_path / "out.jpg") as shown:
            assert min(shown.size) >= 28 and max(shown.size) <= 5 * min(shown.size)


def test_tiny_pictures_are_enlarged(tmp_path):
    path = tmp_path / "a.png"
    Pillow.new("RGB", (16, 12)).save(path)
    image = Image("a", "a.png", 16, 12, path)
    (tmp_path / "out.jpg").write_bytes(unit_pictures(load_picture(image), image, None).frame)
    with Pillow.open(tmp_path / "out.jpg") as shown:
        assert shown.size == (224, 168)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP"])
@pytest.mark.filterwarnings("ignore")
def test_broken_files_of_every_format_are_named_and_never_end_a_run(tmp_path, kind):
    rng = random.Random(kind)
    path = tmp_path / f"a.{kind.lower()}"
    Pillow.frombytes("RGB", (60, 40), rng.randbytes(60 * 40 * 3)).save(path, kind)
    whole = path.read_bytes()
    read = Counter()
    for _ in range(150):
        data = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(rng.randrange(1, 12)):
            if data:
                data[rng.randrange(min(len(data), rng.choice([40, 10_000])))] = rng.randrange(256)
        path.write_bytes(bytes(data))
        try:
            load_picture(Image("a", path.name, 60, 40, path))
            read["read"] += 1
        except InputError as e:
            assert path.name in str(e)
            read["refused"] += 1
    assert read["refused"]
