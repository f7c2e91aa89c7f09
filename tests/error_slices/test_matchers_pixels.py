"""Matchers of pixels on pictures that are drawn for it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image as Pillow

from core.digest import sha256_bytes
from core.error_slices.detections import Image
from core.error_slices.hypotheses import Hypothesis, OfflineMatcher
from core.error_slices.matchers.features import FEATURES, NAMES, PixelFeatures, keys_of, read_features, write_features
from core.error_slices.matchers.pixels import laplacian, measure, pixel_features
from core.error_slices.matchers.registry import score_offline
from tests.error_slices.boxes_by_hand import boxes, logistic, matched

BOX = [40, 40, 80, 80]


def features(**columns):
    """Measurements as written, everything else 0."""
    n = len(next(iter(columns.values())))
    values = np.zeros((n, len(NAMES)))
    for name, column in columns.items():
        values[:, NAMES.index(name)] = column
    return PixelFeatures(("",) * n, values)


def many(n):
    return boxes([[0, 0, 10, 10]] * n)


@pytest.mark.parametrize(
    ("name", "columns", "logit"),
    [
        ("dark_box", {"luma": [60, 36, 255]}, [0, 2, -16.25]),
        ("glare", {"glare": [0.15, 0.27, 0]}, [0, 2, -2.5]),
        ("low_figure_ground", {"luma": [100, 100, 90], "ring_luma": [112.75, 100, 115.5]}, [0, 2.5, -2.5]),
        ("camouflage", {"likeness": [0.93, 0.99, 0.84], "saturation": [0.3] * 3}, [0, 2, -3]),
        ("low_texture", {"deviation": [0.1, 0.04, 0.16]}, [0, 2, -2]),
    ],
)
def test_a_measurement_is_half_at_its_threshold(name, columns, logit):
    got = matched(many(3), name, features(**columns))
    assert_allclose(got.logit, logit, atol=1e-9)
    assert_allclose(got.c, logistic(np.array(logit)), atol=1e-9)


def test_nothing_blends_into_a_picture_without_colours():
    got = matched(many(2), "camouflage", features(likeness=[0.99, 0.99], saturation=[0.3, 0.001]))
    assert got.c[0] > 0.8 and np.isnan(got.c[1])


def test_an_image_is_dark_if_its_upper_third_is_too():
    got = matched(many(3), "image_dark", features(image_luma=[55, 25, 25], image_top=[70, 10, 130]))
    assert_allclose(got.c, [0.25, logistic(3) * logistic(4), logistic(3) * logistic(-4)])


def test_haze_is_bright_everywhere_and_grey():
    got = matched(many(3), "haze", features(dark_channel=[0.37, 0.55, 0.55], saturation=[0.25, 0.05, 0.5]))
    assert_allclose(got.c, [0.25, logistic(3) * logistic(4), logistic(3) * logistic(-5)])


def test_blur_and_clutter_are_measured_against_the_other_boxes():
    spread = np.arange(9.0)  # median 4, deviation 2 · 1.4826
    z = (spread - 4) / (2 * 1.4826)
    assert_allclose(matched(many(9), "blur_rel", features(sharpness=spread)).logit, (-z - 1) / 0.4)
    assert_allclose(matched(many(9), "ring_clutter", features(clutter=spread)).logit, (z - 1) / 0.4)
    assert np.isnan(matched(many(7), "blur_rel", features(sharpness=spread[:7])).c).all()


def picture(values):
    return Pillow.fromarray(np.asarray(values, np.uint8)).convert("RGB")


def one(values, box=BOX):
    return dict(zip(NAMES, measure(picture(values), np.array([box], np.float64))[0], strict=True))


def test_measurements_of_a_flat_box_on_a_flat_ground():
    ground = np.full((120, 120), 200)
    ground[40:80, 40:80] = 50
    m = one(ground)
    assert (m["luma"], m["ring_luma"], m["glare"], m["deviation"]) == (50, 200, 0, 0)
    # No detail, no contrast: log10 of 1 over 25. Hues and saturations are all those of grey.
    assert m["sharpness"] == pytest.approx(np.log10(1 / 25))
    assert m["likeness"] == pytest.approx(1)
    assert (m["image_luma"], m["image_top"], m["saturation"]) == (200, 200, 0)
    # The ring of 10 px holds 60² − 40² pixels; those beside the box have an edge of 150 towards it, the others none.
    edges = np.array([-150.0] * 160 + [0.0] * (60**2 - 40**2 - 160))
    assert m["clutter"] == pytest.approx(np.log10(edges.var() + 1), rel=1e-6)


def test_colours_of_box_and_ring_are_compared():
    rgb = np.zeros((120, 120, 3), np.uint8)
    rgb[:] = (200, 30, 30)
    assert one_rgb(rgb)["likeness"] == pytest.approx(1)
    rgb[40:80, 40:80] = (30, 30, 200)
    assert one_rgb(rgb)["likeness"] == 0
    rgb[40:60, 40:80] = (200, 30, 30)  # half of the box as the ring: the root of a half
    assert one_rgb(rgb)["likeness"] == pytest.approx(np.sqrt(0.5))


def one_rgb(values):
    return dict(zip(NAMES, measure(Pillow.fromarray(values), np.array([BOX], np.float64))[0], strict=True))


def test_glare_counts_pixels_brighter_than_245():
    values = np.full((120, 120), 100)
    values[40:50, 40:80] = 246
    assert one(values)["glare"] == pytest.approx(0.25)


def test_a_blurred_box_is_less_sharp():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (120, 120))
    soft = np.asarray(picture(noise).convert("L").resize((15, 15), Pillow.Resampling.BOX).resize((120, 120), Pillow.Resampling.BICUBIC))
    assert one(noise)["sharpness"] > one(soft)["sharpness"] + 1


def test_the_dark_channel_is_high_in_fog_alone():
    fog = np.full((120, 120), 180)
    street = fog.copy()
    street[:, ::6] = street[:, 1::6] = 10
    assert one(fog)["dark_channel"] == pytest.approx(180 / 255)
    assert one(street)["dark_channel"] < 0.3


def test_the_laplacian_is_that_of_the_four_neighbours():
    values = np.zeros((5, 5), np.float32)
    values[2, 2] = 1
    expected = np.zeros((5, 5))
    expected[2, 2], expected[1, 2], expected[3, 2], expected[2, 1], expected[2, 3] = -4, 1, 1, 1, 1
    assert_allclose(laplacian(values), expected)
    ramp = np.tile(np.arange(5, dtype=np.float32), (5, 1))
    assert_allclose(laplacian(ramp)[:, 0], 2)  # mirrored: 1 + 1 - 2 · 0
    assert laplacian(np.zeros((1, 3), np.float32)).shape == (1, 3)


@pytest.mark.parametrize("box", [[10, 10, 10, 10], [-40, -40, -5, -5], [130, 10, 150, 20], [10, 10, 11, 40]])
def test_a_box_without_two_pixels_either_way_has_no_measurements_but_its_image_has(box):
    m = one(np.full((120, 120), 90), box)
    assert np.isnan(m["luma"]) and m["image_luma"] == 90


def test_a_box_that_fills_the_image_has_no_ring():
    m = one(np.full((120, 120), 90), [0, 0, 120, 120])
    assert m["luma"] == 90 and np.isnan([m["ring_luma"], m["likeness"], m["clutter"]]).all()
    got = matched(boxes([[0, 0, 120, 120]]), "low_figure_ground", PixelFeatures(("",), np.array([[m[n] for n in NAMES]])))
    assert np.isnan(got.c[0])


def test_large_boxes_are_sampled():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 256, (900, 900))
    m = one(values, [100, 100, 800, 800])
    assert m["luma"] == pytest.approx(values[100:800, 100:800].mean(), abs=2)
    assert m["deviation"] == pytest.approx(values[100:800, 100:800].std() / 255, abs=0.01)


@pytest.fixture
def folder(tmp_path):
    """Three pictures, dark, grey and bright, and one broken file."""
    images = []
    for i, level in enumerate((20, 128, 250)):
        path = tmp_path / f"{i}.png"
        picture(np.full((60, 80), level)).save(path)
        images.append(Image(str(i), path.name, 80, 60, path, sha256=sha256_bytes(path.read_bytes())))
    broken = tmp_path / "3.png"
    broken.write_bytes(b"no picture")
    return tuple([*images, Image("3", "3.png", 80, 60, broken, sha256="3" * 64), Image("4", "4.png", 80, 60)])


def test_all_images_are_measured_and_those_that_cannot_be_are_named(folder):
    v = boxes([[10, 10, 30, 30]] * 5, image=[2, 0, 1, 3, 4], size=(80, 60), images=folder)
    steps = []
    got = pixel_features(v, progress=lambda done, total: steps.append((done, total)))
    assert_allclose(got.column("luma")[:3], [250, 20, 128])
    assert np.isnan(got.values[3:]).all()
    assert len(got.problems) == 2 and "1 images have no picture" in got.problems[0] and "3.png" in got.problems[1]
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_boxes_lie_where_the_data_says_though_the_file_has_another_size(tmp_path, folder):
    values = np.full((30, 40), 200)
    values[5:15, 5:15] = 10
    path = tmp_path / "half.png"
    picture(values).save(path)
    v = boxes([[10, 10, 30, 30]], size=(80, 60), images=(Image("a", "half.png", 80, 60, path, sha256="a" * 64),))
    assert pixel_features(v).column("luma")[0] == 10


def test_known_measurements_are_not_made_again(folder, tmp_path):
    v = boxes([[10, 10, 30, 30], [10.2, 9.8, 30, 30], [11, 10, 30, 30]], image=[0, 0, 0], size=(80, 60), images=folder)
    first = pixel_features(v)
    assert first.found == 0 and first.keys[0] == first.keys[1] != first.keys[2]
    path = tmp_path / "cache" / "features.parquet"
    write_features(path, first)
    known = read_features(path)
    assert known is not None and len(known) == 2
    # The same bytes under another name and place are the same picture.
    moved = tuple(Image("x", "x.png", 80, 60, tmp_path / "gone.png", sha256=folder[0].sha256) for _ in folder)
    again = pixel_features(boxes(v.xyxy, image=v.image, size=(80, 60), images=moved), known=known)
    assert again.found == 3 and again.problems == ()
    assert_allclose(again.values, first.values, rtol=1e-6)
    write_features(path, pixel_features(boxes([[0, 0, 9, 9]], size=(80, 60), images=folder)), known)
    assert len(read_features(path)) == 3


def test_measurements_that_failed_are_not_kept(folder, tmp_path):
    v = boxes([[10, 10, 30, 30]] * 2, image=[3, 4], size=(80, 60), images=folder)
    write_features(tmp_path / "f.parquet", pixel_features(v))
    assert len(read_features(tmp_path / "f.parquet")) == 0


def test_a_missing_or_broken_file_of_measurements_counts_for_nothing(tmp_path):
    assert read_features(tmp_path / "none.parquet") is None
    (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
    assert read_features(tmp_path / "bad.parquet") is None


def test_cancelling_leaves_the_rest_unmeasured(folder):
    v = boxes([[10, 10, 30, 30]] * 60, image=np.arange(60), size=(80, 60), images=tuple(folder[0] for _ in range(60)))
    got = pixel_features(v, cancel=lambda: True)
    measured = int((~np.isnan(got.column("luma"))).sum())
    assert 1 <= measured < 60 and got.problems == (f"Stopped after {measured} of 60 images.",)


def test_hypotheses_about_pixels_have_no_scores_without_measurements(folder):
    v = boxes([[10, 10, 30, 30]], size=(80, 60), images=folder)
    dark = Hypothesis("dark", "The object is dark.", "FN", "intrinsic_difficulty", offline=OfflineMatcher("dark_box"))
    assert score_offline(v, [dark]) == {}
    assert score_offline(v, [dark], features=pixel_features(v))["dark"].c[0] > 0.9
    with pytest.raises(ValueError, match="0 boxes for 1"):
        score_offline(v, [dark], features=pixel_features(boxes([])))


def test_whole_images_are_scored_by_what_they_are_like(folder):
    v = boxes([[0, 0, 80, 60]] * 3, [-1] * 3, [0, 1, 2], side="image", size=(80, 60), images=folder)
    got = matched(v, "image_dark", pixel_features(v))
    assert got.c[0] > 0.9 and got.c[1] < 0.01 and got.c[2] < 0.01


def test_every_measurement_is_described():
    assert len(FEATURES) == 11 and all(FEATURES.values())
    assert keys_of(boxes([])) == ()
