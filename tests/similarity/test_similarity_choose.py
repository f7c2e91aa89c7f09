import numpy as np
import pytest

from core.errors import InputError, MissingPackageError
from core.odd import built_in, infer_odd
from core.similarity import agreement, choose, choose_similarity, default_choice, exact_similarity
from core.similarity import encoder as encoder_module
from core.similarity.encoder import Encoder
from core.similarity.shipped import shipped_tables


@pytest.fixture
def lite(monkeypatch):
    """As if sentence-transformers were not installed."""
    for module in (choose, encoder_module):
        monkeypatch.setattr(module, "installed", lambda: False)


@pytest.fixture
def full(monkeypatch, stub):
    """As if it were, with a stand-in for the model."""
    for module in (choose, encoder_module):
        monkeypatch.setattr(module, "installed", lambda: True)
    monkeypatch.setattr(Encoder, "from_settings", classmethod(lambda cls, settings: cls(stub)))
    return stub


@pytest.fixture
def own():
    return infer_odd({"day": ["mon", "tue", "wed"], "rain": ["no", "yes"]})


def test_built_in_takes_the_shipped_tables_in_lite_and_full(settings, monkeypatch, stub):
    odd = built_in()
    for present in (False, True):
        monkeypatch.setattr(choose, "installed", lambda p=present: p)
        s = choose_similarity(odd, odd.active, None, settings, [odd.base_space])
        assert s.mode == "calibrated" and s.sha256 == shipped_tables(odd, "calibrated", "base").sha256
        whole = choose_similarity(odd, range(9), None, settings, [odd.codec.space(odd.codec.values)])
        assert whole.sha256 == shipped_tables(odd, "calibrated", "all").sha256


def test_built_in_base_tables_serve_the_odd_without_its_inactive_dimension(settings, lite):
    odd = built_in()
    eight = odd.restricted([odd.names[k] for k in odd.active])
    assert choose_similarity(eight, range(8), None, settings, [eight.base_space]).mode == "calibrated"
    five = odd.restricted(odd.names[:5])
    assert default_choice(five, range(5)).mode == "exact"
    factored = choose_similarity(five, range(5), "factored", settings)
    assert factored.mode == "factored" and factored.used == odd.names[:5]


def test_observed_values_outside_the_base_tables_are_not_left_to_fail_later(settings, lite):
    odd = built_in()
    outside = odd.codec.decode([odd.codec.size - 1])
    assert default_choice(odd, odd.active, [odd.base_space]).mode == "calibrated"
    assert default_choice(odd, odd.active, [odd.base_space, outside]).mode == "exact"


def test_own_odd_takes_exact_in_lite(own, settings, lite):
    choice = default_choice(own, (0, 1), [own.base_space])
    assert choice.mode == "exact" and "not installed" in choice.reason
    assert choose_similarity(own, (0, 1), None, settings, [own.base_space]).mode == "exact"


def test_own_odd_takes_text_in_full(own, settings, full):
    s = choose_similarity(own, (0, 1), None, settings, [own.base_space])
    assert s.mode == "text" and sum(map(len, full.asked)) == 6


def test_own_odd_too_large_for_text_takes_tables_fitted_to_a_sample(settings, full, odd_of):
    odd = odd_of(50, 50, 50)
    choice = default_choice(odd, (0, 1, 2), [odd.base_space])
    assert choice.mode == "calibrated" and "125,000 texts" in choice.reason
    with pytest.raises(InputError, match="125,000 texts"):
        choose_similarity(odd, (0, 1, 2), "text", settings, [odd.base_space])


@pytest.mark.parametrize("mode", ["text", "calibrated", "factored"])
def test_modes_that_need_a_package_say_what_to_install(own, settings, lite, mode):
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements\.txt") as e:
        choose_similarity(own, (0, 1), mode, settings, [own.base_space])
    assert "exact" in str(e.value)


def test_an_unknown_mode_names_the_known_ones(own, settings):
    with pytest.raises(InputError, match="text, calibrated, factored, exact"):
        choose_similarity(own, (0, 1), "cosine", settings)


@pytest.mark.parametrize("mode", ["calibrated", "factored"])
def test_tables_made_on_demand_are_kept(own, settings, full, mode):
    first = choose_similarity(own, (0, 1), mode, settings, [own.base_space])
    asked = len(full.asked)
    again = choose_similarity(own, (0, 1), mode, settings, [own.base_space])
    assert again.sha256 == first.sha256 and again.provenance() == first.provenance() and len(full.asked) == asked > 0
    (kept,) = (settings.caches / "tables").iterdir()
    kept.write_text("damaged")
    assert choose_similarity(own, (0, 1), mode, settings, [own.base_space]).sha256 == first.sha256
    assert len(full.asked) > asked


def test_agreement_by_hand(odd_of):
    odd = odd_of(2, 2)
    a, b = exact_similarity(odd, (0, 1)), exact_similarity(odd, (0,))
    candidates, observed = np.array([[0, 0], [1, 1]], np.int32), np.array([[0, 1], [1, 0], [0, 0]], np.int32)
    # a: .5 .5 1 / .5 .5 0    b: 1 0 1 / 0 1 0
    got = agreement(a, b, candidates, observed)
    assert (got.pairs, got.candidates) == (6, 2)
    assert got.mean_abs_difference == pytest.approx(2 / 6) and got.max_abs_difference == 0.5
    assert got.same_nearest == 1.0  # the third for the first candidate, the second for the second
    # Ranks of a: 3.5 3.5 6 3.5 3.5 1, of b: 5 2 5 2 5 2; products sum to 7.5, squares to 12.5 and 13.5.
    assert got.spearman == pytest.approx(7.5 / np.sqrt(12.5 * 13.5))


def test_agreement_with_itself_and_with_nothing(odd_of):
    odd = odd_of(3, 3, 3)
    s = exact_similarity(odd, (0, 1, 2))
    codes = next(odd.base_space.chunks())
    got = agreement(s, s, codes, codes[:5], most_pairs=40)
    assert (got.candidates, got.pairs, got.spearman, got.mean_abs_difference, got.same_nearest) == (8, 40, pytest.approx(1), 0, 1)
    assert agreement(s, s, codes, codes[:0]).as_dict() == {
        "pairs": 0,
        "spearman": None,
        "mean_abs_difference": None,
        "max_abs_difference": None,
        "same_nearest": None,
        "candidates": 27,
    }
