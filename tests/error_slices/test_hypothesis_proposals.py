"""What key words make of plain words, and hypotheses that say the same."""

from __future__ import annotations

import numpy as np
import pytest

from core.error_slices.dedupe import near_duplicates, slice_groups, spearman, tokens, top, without_duplicates
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.library import load_library
from core.error_slices.matchers.registry import check_matcher
from core.error_slices.propose import propose
from core.error_slices.vocabulary import load_vocabulary


@pytest.mark.parametrize(
    ("text", "error", "classes", "matcher", "params"),
    [
        ("The object is very small.", "FN", "any", "small", {}),
        ("The bicycle is partly hidden by a person.", "FN", "bicycle", "occluded_by", {"by": "person"}),
        ("Pedestrians behind parked cars", "FN", "pedestrian", "occluded_by", {"by": "car"}),
        ("The object is partly hidden behind another object.", "FN", "any", "occluded", {}),
        ("The person is inside a vehicle.", "FN", "person", "inside_of", {"of": "vehicle"}),
        ("The car is cut off by the image border.", "FN", "car", "truncated", {}),
        ("The detected region is close to the edge of the image.", "FP", "any", "near_edge", {}),
        ("The box is loose because the object is blurred.", "LOC", "any", "blur_rel", {}),
        ("The box of the truck is too loose because it is cut off by the image edge.", "LOC", "truck", "truncated", {}),
        ("The picture was taken at night.", "IMAGE", "any", "image_dark", {}),
        ("The picture shows fog.", "IMAGE", "any", "haze", {}),
        ("The truck is far away near the horizon.", "FN", "truck", "far_horizon", {}),
        ("The person stands in a dense group of the same class.", "FN", "person", "crowded", {"same_class": True}),
        ("The van is misclassified next to a similar vehicle.", "CLS", "van", "near_similar", {}),
        ("The person is sitting.", "FN", "person", "wide_for_class", {}),
        ("The sheep blends into its background.", "FN", "sheep", "camouflage", {}),
        ("The bicycle is seen from directly in front or behind.", "FN", "bicycle", "narrow_for_class", {}),
        ("People who step out from behind a parked van", "FN", "person", "occluded_by", {"by": "van"}),
        ("car hidden by another car", "FN", "car", "occluded_by", {"by": "car"}),
        ("The car is hidden and the car is dark.", "FN", "car", "occluded", {}),
        ("trucks cut by the frame edge", "FN", "truck", "truncated", {}),
        ("The picture shows fog, haze or heavy rain.", "IMAGE", "any", "haze", {}),
        ("The motorbike is seen from behind at night.", "FN", "motorcycle", "image_dark", {}),
    ],
)
def test_plain_words_are_understood(text, error, classes, matcher, params):
    got = propose(text)
    assert (got.error, got.classes, got.offline.name, dict(got.offline.params)) == (error, (classes,), matcher, params)
    assert check_matcher("own", got.offline, got.error, load_vocabulary()) == ()
    assert any(matcher in reason for reason in got.why)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The person is a small child.", "do not tell age"),
        ("The detected region is a reflection in a mirror.", "do not tell reflections"),
        ("The pedestrian is seen from behind.", "as narrow from the front"),
        ("The object is not small.", "turns the meaning round"),
        ("The driver waves.", "fits these words"),
        ("The detected truck looks like a dumpster.", "do not tell looks"),
        ("The picture shows a dense group.", "fits these words"),
    ],
)
def test_what_no_matcher_tells_is_left_to_a_vision_model(text, reason):
    got = propose(text)
    assert got.offline is None and any(reason in w for w in got.why)


def test_classes_of_the_data_are_understood_too():
    assert propose("The forklift is small.", ("Forklift",)).classes == ("forklift",)
    assert propose("The forklift is small.").classes == ("any",)


def test_nothing_at_all_is_about_everything():
    got = propose("")
    assert (got.error, got.classes, got.offline) == ("FN", ("any",), None)


@pytest.mark.parametrize("h", [h for h in load_library().hypotheses if h.offline], ids=lambda h: h.id)
def test_a_proposal_can_always_be_kept(h):
    got = propose(h.text)
    assert got.offline is None or check_matcher("own", got.offline, got.error, load_vocabulary()) == ()


def statement(i, text, error="FN", classes=("any",)):
    return Hypothesis(i, text, error, "intrinsic_difficulty", classes)


def test_words_are_compared_without_case_signs_and_plural():
    assert tokens("The Cars, hidden by a Person's bags!") == {"car", "hidden", "person", "s", "bag"}


def test_nearly_the_same_words_are_told():
    a = statement("a", "The bicycle is partly hidden by a person.")
    b = statement("b", "Bicycles partly hidden by persons")
    c = statement("c", "The bicycle is partly hidden by a car.")
    assert [(t.first, t.second, t.words, t.meaning) for t in near_duplicates([a, b, c])] == [("a", "b", 1.0, None)]


def test_only_hypotheses_of_one_error_and_a_common_class_are_compared():
    text = "The object is very small."
    a, b = statement("a", text, classes=("car",)), statement("b", text, "FP", ("car",))
    c, d = statement("c", text, classes=("bus",)), statement("d", text)
    assert [(t.first, t.second) for t in near_duplicates([a, b, c, d])] == [("a", "d"), ("c", "d")]


def test_meaning_is_compared_where_an_encoder_is_there():
    def embed(texts):
        return np.array([[1.0, 0.1 * ("tiny" in t)] for t in texts])

    pairs = near_duplicates([statement("a", "The object is tiny."), statement("b", "It has few pixels.")], embed)
    assert pairs[0].words == 0 and pairs[0].meaning == pytest.approx(1 / np.sqrt(1.01))


def test_new_hypotheses_that_say_what_is_known_are_left_out():
    known = [statement("k", "The object is very small.")]
    new = [statement("n1", "Object: very small"), statement("n2", "The object is blurred."), statement("n3", "Blurred objects")]
    kept, why = without_duplicates(new, known)
    assert [h.id for h in kept] == ["n2"] and {(t.first, t.second) for t in why} == {("k", "n1"), ("n2", "n3")}


def test_the_library_has_no_duplicates():
    assert near_duplicates(load_library().hypotheses) == ()


def test_rank_correlation_is_over_what_both_know():
    assert spearman(np.array([1.0, 2, 3, np.nan, 9]), np.array([1.0, 4, 9, 0, np.nan])) == pytest.approx(1)
    assert spearman(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1)
    assert spearman(np.array([1.0, 2]), np.array([1.0, 2])) == 0
    assert spearman(np.ones(5), np.arange(5.0)) == 0


def test_the_top_holds_the_highest_scores_and_no_order_of_the_file():
    assert top(np.array([0.1, 0.9, np.nan, 0.8]), 2) == {1, 3}
    assert top(np.zeros(1000), 10) != frozenset(range(10)) and len(top(np.zeros(1000), 10)) == 10


def test_slices_that_rank_alike_are_one_group_under_the_best():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = rng.normal(size=400)
    logits = {"b": x + 0.01 * y, "a": x, "other": y, "loc": x}
    order = [statement("b", "b"), statement("a", "a"), statement("other", "o"), statement("loc", "l", "LOC"), statement("vision", "v")]
    assert slice_groups(order, logits) == {"b": "b", "a": "b", "other": "other", "loc": "loc", "vision": "vision"}


def test_alike_at_the_top_alone_or_over_all_alone_is_not_enough():
    x = np.arange(400.0)
    shuffled = x.copy()
    shuffled[:350] = np.random.default_rng(0).permutation(350)  # the top 50 are the same
    moved = np.where(x >= 350, 300.5 + (x - 350) / 1000, x)  # nearly the same ranks, other top 50
    logits = {"x": x, "shuffled": shuffled, "moved": moved}
    got = slice_groups([statement(i, i) for i in logits], logits)
    assert got["shuffled"] == "shuffled" and spearman(x, shuffled) < 0.9
    assert got["moved"] == "moved" and spearman(x, moved) > 0.9 and len(top(x, 50) & top(moved, 50)) < 25


def test_a_hypothesis_without_any_score_leads_itself():
    assert slice_groups([statement("a", "a"), statement("b", "b")], {"a": np.full(3, np.nan), "b": np.full(3, np.nan)}) == {
        "a": "a",
        "b": "b",
    }
