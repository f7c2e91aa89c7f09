"""Which crops come first, what they say, and their pixels."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from core.error_slices.detections import Boxes
from core.error_slices.gallery import TABS, boxes_of, caption, crop_jpeg, crop_rect, mark_of, open_picture, order
from tests.slice_units import population_of, units_of

IDS = tuple(f"u{k}" for k in range(6))
C = np.array([0.9, 0.6, 0.52, 0.4, 0.1, np.nan])
LOGIT = np.log(C / (1 - C))
LOSS = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]


def in_tab(tab, gamma=0.5):
    return order(tab, population_of(LOSS), IDS, C, LOGIT, gamma).tolist()


def test_each_tab_holds_what_it_says():
    assert in_tab("top") == [0, 1, 2]
    near = in_tab("around")  # .6 and .4 are equally near, and so are .9 and .1
    assert (near[0], set(near[1:3]), set(near[3:])) == (2, {1, 3}, {0, 4})
    assert in_tab("counter") == [1]
    assert in_tab("misses") == [4]  # the one without a score is in no tab
    assert sorted(in_tab("mixed")) == [0, 1, 2]


def test_saturated_scores_are_told_apart_by_their_logits():
    c, logit = np.ones(3), np.array([20.0, 40.0, 30.0])
    assert order("top", population_of([0.0] * 3), IDS, c, logit, 0.5).tolist() == [1, 2, 0]


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_a_gamma_at_the_end_is_no_division_by_zero(gamma):
    assert len(in_tab("around", gamma)) == 5


def test_equal_scores_do_not_come_in_the_order_of_the_file():
    n = 200
    ids = tuple(f"{k}" for k in range(n))
    found = order("top", population_of([1.0] * n), ids, np.full(n, 0.9), np.full(n, 2.0), 0.5)
    again = order("top", population_of([1.0] * n), ids, np.full(n, 0.9), np.full(n, 2.0), 0.5)
    assert found.tolist() == again.tolist() != list(range(n))
    assert abs(np.corrcoef(found, np.arange(n))[0, 1]) < 0.3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30), st.floats(0.01, 0.99))
def test_tabs_share_out_the_scored_units(units, gamma):
    c = np.array([u[0] for u in units])
    logit = np.clip(np.log(np.maximum(c, 1e-9) / np.maximum(1 - c, 1e-9)), -20, 20)
    p = population_of([float(u[1]) for u in units])
    got = {t: order(t, p, tuple(map(str, range(len(units)))), c, logit, gamma).tolist() for t in TABS}
    assert sorted(got["top"]) == sorted(got["mixed"]) == np.flatnonzero(c > gamma).tolist()
    assert sorted(got["around"]) == list(range(len(units)))
    assert set(got["counter"]) <= set(got["top"]) and not set(got["misses"]) & set(got["top"])


def test_letters_and_tones_tell_outcomes_apart():
    kinds = ["TP", "FN", "FP_BKG", "FP_CLS", "FP_DUP", "FP_BOTH", "LOC"]
    assert len({mark_of(k, 0).letter for k in kinds}) == len(kinds)
    assert [mark_of(k, loss).tone for k in ("IMAGE", "SEG") for loss in (0.9, 0.1)] == ["missed", "right", "missed", "right"]


def test_a_caption_says_what_happened_and_how_sure():
    u = units_of(
        [
            {"id": "0:g1", "kind": "FN", "cause": "cls", "iou": 0.61, "cls": 1},
            {"id": "0:d1", "kind": "FP_CLS", "side": "pred", "score": 0.8, "iou": 0.61, "ref": 0},
            {"id": "0:m", "kind": "IMAGE", "side": "image", "cls": -1, "loss": 0.7},
            {"id": "0:g2", "kind": "TP", "iou": 0.9},
        ],
        [(100, 80)],
    )
    assert caption(u, 0, 1.0, 0.93) == {
        "cls": "person",
        "size": "20 × 10 px",
        "c": "0.93",
        "outcome": "missed; a prediction of another class lies there, best IoU 0.61",
        "letter": "M",
        "tone": "missed",
    }
    assert caption(u, 1, 1.0, 0.5)["outcome"] == "false: wrong class, there is a person, confidence 0.80, IoU 0.61"
    assert caption(u, 2, 0.7, 0.5)["outcome"] == "image more wrong than right, loss 0.70"
    assert caption(u, 3, 0.0, 0.5)["outcome"] == "found, IoU 0.90"


def test_the_boxes_of_an_image_are_its_own_with_ignore_regions():
    truth = Boxes.of([0, 0], [0, -1], [[10, 10, 30, 20], [0, 0, 50, 50]], ignore=[False, True])
    u = units_of(
        [{"id": "0:g0"}, {"id": "0:d0", "side": "pred", "score": 0.5}, {"id": "1:g0", "image": 1}, {"id": "0:m", "side": "image"}],
        [(100, 80), (100, 80)],
        truth=truth,
    )
    assert [(b["side"], b["cls"], b["score"]) for b in boxes_of(u, 0)] == [
        ("gt", "car", None),
        ("pred", "car", 0.5),
        ("ignore", "any class", None),
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.floats(-50, 700), st.floats(-50, 500)),
    st.tuples(st.floats(0, 900), st.floats(0, 700)),
    st.integers(1, 640),
    st.integers(1, 480),
)
def test_a_crop_lies_in_the_image_and_shows_what_of_the_box_lies_in_it(corner, side, width, height):
    box = (*corner, corner[0] + side[0], corner[1] + side[1])
    x0, y0, x1, y1 = crop_rect(box, width, height)
    assert 0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height
    seen = [min(max(v, 0), m) for v, m in zip(box, (width, height, width, height), strict=True)]
    assert x0 <= seen[0] + 1e-6 and seen[2] <= x1 + 1e-6
    assert y0 <= seen[1] + 1e-6 and seen[3] <= y1 + 1e-6


def test_a_crop_of_a_small_box_has_surroundings_and_its_shape():
    x0, y0, x1, y1 = crop_rect((300, 200, 310, 210), 640, 480)
    assert (x1 - x0, y1 - y0) == (96, 72)
    assert (x0 + x1) / 2 == pytest.approx(305, abs=1) and (y0 + y1) / 2 == pytest.approx(205, abs=1)
    assert crop_rect((0, 0, 5, 5), 640, 480, whole=True) == (0, 0, 640, 480)


def test_crops_are_small_and_never_enlarged(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (1000, 500), (200, 10, 10)).save(path)
    picture = open_picture(path)
    small = Image.open(BytesIO(crop_jpeg(picture, (0, 0, 1000, 500))))
    assert small.size == (320, 160) and small.format == "JPEG"
    assert Image.open(BytesIO(crop_jpeg(picture, (10, 10, 60, 50)))).size == (50, 40)


def test_pictures_of_every_kind_open_as_rgb(tmp_path):
    for name, made in {
        "grey.png": Image.new("L", (4, 4), 128),
        "palette.png": Image.new("P", (4, 4), 1),
        "alpha.png": Image.new("RGBA", (4, 4), (1, 2, 3, 4)),
        "deep.png": Image.fromarray(np.full((4, 4), 40_000, np.uint16)),
        "cmyk.jpg": Image.new("CMYK", (4, 4)),
    }.items():
        made.save(tmp_path / name)
        assert open_picture(tmp_path / name).mode == "RGB"
    assert open_picture(tmp_path / "deep.png").getpixel((0, 0)) == (156, 156, 156)


@pytest.mark.parametrize("data", [b"", b"not an image", b"\x89PNG\r\n\x1a\n" + b"\0" * 30, b"\xff\xd8\xff\xe0\0\x10JFIF"])
def test_a_broken_picture_is_one_kind_of_error(tmp_path, data):
    path = tmp_path / "b.jpg"
    path.write_bytes(data)
    with pytest.raises(OSError):
        open_picture(path)
