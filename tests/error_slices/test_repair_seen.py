"""Pictures that verified a slice are known again in another set, by bytes or by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.error_slices.detections import Image
from core.error_slices.repair.seen import same_pictures
from core.error_slices.standing import why_not
from core.error_slices.verification import settings

NONE = settings.ErrorRate(None, None, None, 0, 0)


def image(name: str, sha: str = "") -> Image:
    return Image("7", name, 1, 1, sha256=sha)


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        (image("a.jpg", "1"), image("b.jpg", "1"), True),
        (image("a.jpg", "1"), image("a.jpg", "2"), False),  # two pictures of one name: their bytes tell
        (image("a.jpg", "1"), image("a.jpg"), True),  # one set was imported without its pictures
        (image("a.jpg"), image("a.jpg", "1"), True),
        (image("val/a.jpg"), image("a.jpg", "1"), True),
        (image("a.jpg", "1"), image("coco/val/A.jpg"), True),
        (image(".\\val\\a.jpg"), image("coco/val/a.jpg"), True),
        (image("train/a.jpg"), image("val/a.jpg"), False),
        (image("ba.jpg"), image("a.jpg"), False),
        (image("b.jpg", "1"), image("a.jpg"), False),
        (image(""), image(""), True),  # the id is all that is left
    ],
)
def test_bytes_tell_where_both_are_known_and_names_where_they_are_not(mine: Image, theirs: Image, same: bool) -> None:
    other = image("else.png", "9")
    assert same_pictures([other, mine], [theirs]) == ([1] if same else [])
    assert same_pictures([], [theirs]) == same_pictures([mine], []) == []


@pytest.mark.parametrize("verdict", ["verified", "elevated", "inconclusive", "reversed", "rejected", None])
def test_what_people_decided_goes_before_what_the_tests_found(verdict: settings.Verdict | None) -> None:
    tested = None if verdict is None else replace(settings.Tested("h", "verified", NONE, NONE, NONE, 0, 0), verdict=verdict)
    assert why_not(tested, "accept") == ""
    assert why_not(tested, "reject") == "a person rejected it"
    reason = "" if verdict in ("verified", "elevated") else f"it is {verdict or 'not tested'}, and nobody accepted it"
    assert why_not(tested, None) == why_not(tested, "unsure") == reason
