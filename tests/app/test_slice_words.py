"""Words, links and settings of the pages of error slices."""

from __future__ import annotations

import pytest

from core.error_slices.hypotheses import Hypothesis
from core.error_slices.units import UnitSettings
from core.error_slices.verification.settings import ErrorRate, TestSettings
from pages.shared import links, slice_settings, slice_text
from pages.shared.compare_models import ends, signed
from pages.shared.slice_list import ranges
from pages.shared.slice_own import free_id


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("The object is very small (about 32 px).", "the object is very small"),
        ("A person sits.", "a person sits"),
        ("SUVs are far away.", "SUVs are far away"),
        ("", ""),
    ],
)
def test_a_hypothesis_fits_into_a_sentence(text, clause):
    assert slice_text.clause(Hypothesis("x", text, "FN", "intrinsic_difficulty")) == clause


def test_a_small_q_value_is_not_told_as_none():
    assert [slice_text.p_value(v) for v in (None, 0.0004, 0.001, 0.25)] == ["–", "< 0.001", "0.001", "0.250"]


def test_points_have_a_sign_and_zero_has_none():
    assert [slice_text.points(v) for v in (None, 0.184, -0.05, 0.001)] == ["–", "+18 pt", "−5 pt", "0 pt"]
    assert [signed(v) for v in (None, -0.145, 0.0)] == ["–", "−14.5 points", "0.0 points"]
    assert ends(-0.1, 0.02) == "−10.0 to +2.0" and ends(None, None) == "–"


def test_a_rate_without_units_draws_nothing():
    none, some = ErrorRate(None, None, None, 0, 0), ErrorRate(0.5, 0.25, 0.75, 12, 4)
    drawn = ranges(some, none)
    assert 'class="in" style="left:25.0%;width:50.0%"' in drawn
    assert 'class="out"' not in drawn


def test_links_lead_to_pages_of_the_app_alone():
    made = links.link("<b>", "pages/slice.py", {"slice": "a&b", "detections": "1"})
    assert made == '<a class="od-go" href="slice?slice=a%26b&amp;detections=1" target="_self">&lt;b&gt;</a>'
    assert links.target("slice?slice=a%26b&detections=1") == ("pages/slice.py", {"slice": "a&b", "detections": "1"})
    for address in ("", "https://elsewhere/slice", "//elsewhere/slice", "nowhere?x=1", "../slice"):
        assert links.target(address) == ("", {})


def test_every_setting_can_be_changed_and_stands_in_the_address():
    known = {*slice_settings._NUMBERS, *slice_settings._FLAGS, "mode", "halves"}
    assert known == {*UnitSettings.__dataclass_fields__, *TestSettings.__dataclass_fields__, "fp_includes_loc", "missed_only", "halves"}
    usual = slice_settings.USUAL
    assert slice_settings.params(usual) == {}
    changed = usual
    for name, value in {"confidence": 0.4, "window": 10, "mode": "paper", "missed_only": True, "halves": "verification"}.items():
        changed = slice_settings._with(changed, name, value)
    assert slice_settings.params(changed) == {
        "confidence": "0.4",
        "window": "10",
        "mode": "paper",
        "missed_only": "1",
        "halves": "verification",
    }
    back = usual
    for name, text in slice_settings.params(changed).items():
        back = slice_settings._with(back, name, slice_settings._read(name, text))
    assert back == changed


@pytest.mark.parametrize(
    ("name", "text"),
    [("confidence", "1.2"), ("confidence", "nan"), ("window", "4"), ("window", "5.5"), ("mode", "x"), ("missed_only", "yes")],
)
def test_a_setting_that_cannot_be_is_not_read(name, text):
    assert slice_settings._read(name, text) is None


def test_own_hypotheses_get_short_names_that_are_free():
    assert free_id("The person is behind a parked car.", set()) == "own_person_parked_car"
    assert free_id("The person is behind a parked car.", {"own_person_parked_car"}) == "own_person_parked_car_2"
    assert free_id("人", set()) == "own_hypothesis"
