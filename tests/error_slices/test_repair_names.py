"""Names of exported pictures and numbers of exported boxes."""

from __future__ import annotations

from core.error_slices.detections import Image
from core.error_slices.repair.coco import numbers_of
from core.error_slices.repair.yolo import picture_names


def test_picture_names_stay_below_their_folder_and_are_unique() -> None:
    names = ["a/1.jpg", "b/1.jpg", "../../x.jpg", "/etc/y.png", "a\\2.jpg", "A/1.png", "images/3.jpg", "", "c?.jpg"]
    got = picture_names([Image(str(i), n, 1, 1) for i, n in enumerate(names)])
    assert got == [
        *("a/1.jpg", "b/1.jpg", "image_000003.jpg", "image_000004.png", "a/2.jpg"),
        *("image_000006.png", "image_000007.jpg", "image_000008.jpg", "image_000009.jpg"),
    ]


def test_numbered_names_meet_no_other_and_every_name_is_a_picture_on_one_line() -> None:
    names = ["?.jpg", "frame.0001", "frame.0002", "image_000001.jpg", "image_000004.png", "a\u2028b.jpg", "Strasse ä 1.jpg", "a.gif"]
    got = picture_names([Image(str(i), n, 1, 1) for i, n in enumerate(names)])
    assert got == [
        *("image_000001.jpg", "image_000002.jpg", "image_000003.jpg", "image_000004.jpg"),
        *("image_000005.png", "image_000006.jpg", "Strasse ä 1.jpg", "image_000008.jpg"),
    ]
    again = picture_names([Image("", n, 1, 1) for n in ("image_000003.jpg", "x.jpg", "?")])
    assert again == ["image_000003.jpg", "x.jpg", "image_000006.jpg"]


def test_ids_stay_numbers_where_all_of_them_are() -> None:
    assert numbers_of(["3", "7"]) == ([3, 7], True)
    assert numbers_of(["3", "x"]) == ([1, 2], False)
    assert numbers_of(["3", "3"]) == ([1, 2], False)
    assert numbers_of(["03", "4"]) == ([1, 2], False)
    assert numbers_of(["0", "4"]) == ([0, 4], True)
    assert numbers_of(["0", "4"], 1) == ([1, 2], False)
    assert numbers_of([]) == ([], True)
