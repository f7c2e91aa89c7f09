"""Q-values of Benjamini and Hochberg."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from core.error_slices.verification.benjamini_hochberg import benjamini_hochberg

# From the paper's kind of table: ten p-values in order, two of which pass at 0.05.
P = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
Q = [0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.105714, 0.216, 0.216, 0.216]


def test_known_values_in_any_order():
    assert benjamini_hochberg(P) == pytest.approx(Q, abs=1e-6)
    assert benjamini_hochberg(P[::-1]) == pytest.approx(Q[::-1], abs=1e-6)
    assert sum(q < 0.05 for q in benjamini_hochberg(P)) == 2


def test_what_was_not_tested_does_not_count():
    q = benjamini_hochberg([None, *P, None])
    assert q[0] is None
    assert q[-1] is None
    assert q[1:-1] == pytest.approx(Q, abs=1e-6)
    assert benjamini_hochberg([]) == ()
    assert benjamini_hochberg([None]) == (None,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_equals_scipy(p):
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p).tolist())
