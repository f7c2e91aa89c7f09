"""Synthetic oracles: what each kind is, that they repeat, and that seeds drawn from them are as promised."""

from __future__ import annotations

import numpy as np
import pytest

from core.benchmark import ALL_KINDS, opened, skewed_seed, synthetic_oracle
from core.errors import InputError
from core.odd import built_in, from_document, infer_odd

SMALL = infer_odd({"a": ["x", "y", "z"], "b": ["u", "v"], "c": ["p", "q", "r"]})


def vectors(odd, dim=16):
    return np.random.default_rng(0).normal(size=(odd.base_space.size, dim))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_risks_are_rates_and_the_same_for_the_same_number(kind):
    a, b = (synthetic_oracle(kind, SMALL, 4, vectors(SMALL)) for _ in range(2))
    assert np.array_equal(a.risk, b.risk)
    assert a.risk.shape == (18,)
    assert a.risk.min() >= 0 and a.risk.max() <= 1
    assert a.risk.std() > 0.01
    assert not np.array_equal(a.risk, synthetic_oracle(kind, SMALL, 5, vectors(SMALL)).risk)


def test_an_additive_oracle_is_additive_in_the_log_odds():
    o = synthetic_oracle("additive", SMALL, 1)
    z = np.log(o.risk / (1 - o.risk)).reshape(3, 2, 3)
    # Two-way differences vanish: z[i,j] - z[i',j] does not depend on j.
    assert np.ptp(z[0] - z[1], axis=None) == pytest.approx(0, abs=1e-12)
    assert np.ptp(z[:, 0] - z[:, 1]) == pytest.approx(0, abs=1e-12)


def test_a_pairwise_oracle_has_no_triple_effects_and_is_not_additive():
    o = synthetic_oracle("pairwise", SMALL, 1)
    z = np.log(o.risk / (1 - o.risk)).reshape(3, 2, 3)
    triple = (z[1:] - z[:1])[:, 1:] - (z[1:] - z[:1])[:, :1]
    assert np.ptp(triple[:, 0, :] - triple[:, 0, :1], axis=None) > 1e-3 or np.ptp(z[0] - z[1]) > 1e-3
    third = triple[:, :, 1:] - triple[:, :, :1]
    assert np.abs(third).max() == pytest.approx(0, abs=1e-12)


def test_rules_have_a_floor_and_a_few_levels():
    o = synthetic_oracle("rules", SMALL, 1)
    assert o.risk.min() == 0.12 or len(np.unique(o.risk)) <= 8
    assert len(np.unique(o.risk)) <= 8


def test_clusters_fall_off_from_their_spots():
    o = synthetic_oracle("clustered", built_in(), 0)
    assert 0.12 <= o.risk.min() < 0.2
    assert o.risk.max() > 0.6


def test_an_oracle_does_not_depend_on_the_names_of_the_values():
    # The order of the document rules the draws, not the alphabet, by which slices are numbered.
    def odd(*names):
        values = [{"name": n} for n in names]
        return from_document(
            {"name": "t", "version": 1, "dimensions": {"d": {"values": values}, "e": {"values": [{"name": "k"}, {"name": "l"}]}}}
        )

    a, b = odd("alpha", "beta"), odd("zulu", "yankee")
    ra, rb = synthetic_oracle("iid", a, 0), synthetic_oracle("iid", b, 0)
    named = lambda o, r: {s: x for s, x in zip(o.codec.names(r.codes), r.risk.tolist(), strict=True)}  # noqa: E731
    rename = {"alpha": "zulu", "beta": "yankee"}
    assert {(rename[s[0]], s[1]): x for s, x in named(a, ra).items()} == named(b, rb)


def test_a_seed_drawn_from_an_oracle_is_skewed_and_thick_enough():
    odd = built_in()
    oracle = synthetic_oracle("additive", odd, 0)
    seed = skewed_seed(oracle)
    assert len(seed.n) == 300
    assert seed.n.min() >= 10
    k = odd.names.index("weather_visibility")
    clear = seed.codes[:, k] == odd.codec.code_of[k]["clear"]
    assert clear.mean() > 0.4  # a quarter of the values, most of the slices
    truth = dict(zip(odd.codec.encode(oracle.codes).tolist(), oracle.risk.tolist(), strict=True))
    true = np.array([truth[i] for i in seed.ids.tolist()])
    assert np.corrcoef(true, seed.error)[0, 1] > 0.5
    z = (seed.error - true) / np.sqrt(np.maximum(true * (1 - true), 1e-6) / seed.n)
    assert abs(z.mean()) < 0.2 and 0.8 < z.std() < 1.2  # binomial around the truth
    again = skewed_seed(synthetic_oracle("additive", odd, 0))
    assert again.digest == seed.digest


def test_the_oracle_as_a_table_holds_its_risks():
    oracle = synthetic_oracle("iid", SMALL, 0)
    table = oracle.table(50)
    assert np.allclose(table.error, oracle.risk, atol=1e-15)
    assert set(table.n.tolist()) == {50}


def test_what_cannot_be_made_up_is_said():
    with pytest.raises(InputError, match="no synthetic oracle"):
        synthetic_oracle("magic", SMALL, 0)
    with pytest.raises(InputError, match="text encoder"):
        synthetic_oracle("semantic", SMALL, 0)
    with pytest.raises(InputError, match="at least two dimensions"):
        synthetic_oracle("iid", infer_odd({"a": ["x", "y"], "b": ["u"]}), 0)
    with pytest.raises(InputError, match="from 1 to 17"):
        skewed_seed(synthetic_oracle("iid", SMALL, 0), 18)
    big = infer_odd({f"d{i}": [str(j) for j in range(10)] for i in range(6)})
    with pytest.raises(InputError, match="at most 100,000"):
        synthetic_oracle("iid", big, 0)


def test_an_oracle_may_reach_beyond_the_odd_while_the_seed_stays_within():
    odd = built_in().restricted(["time", "weather_visibility", "environment", "road_condition"])
    wide = opened(odd, {"time": ("dusk",), "weather_visibility": ("dust", "fog_dense")})
    assert wide.base_space.size == 3 * 6 * 4 * 3
    assert (odd.base_space.size, odd.codec.values) == (2 * 4 * 4 * 3, wide.codec.values)  # the ODD itself is untouched
    oracle = synthetic_oracle("additive", wide, 0)
    seed = skewed_seed(oracle, 40, odd)
    assert seed.odd is odd and seed.in_base.all() and len(seed.n) == 40
    with pytest.raises(InputError, match="from 1 to 95"):
        skewed_seed(oracle, 96, odd)
