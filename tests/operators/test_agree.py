from __future__ import annotations

import pytest

from core import operators
from core.errors import InputError
from core.odd import built_in, infer_odd
from core.scoring import ScoringParameters
from core.seed_table import SeedTable
from core.settings import Settings


def table(odd, **slice_):
    return SeedTable.from_slices(odd, [slice_], [12], [0.5])


def test_a_mode_agrees_with_itself_over_all_missing_slices(workspace):
    odd = infer_odd({"a": ["x", "y", "z"], "b": ["u", "v"]})
    r = operators.compare_modes(table(odd, a="x", b="u"), ScoringParameters(), Settings.from_environment(), "exact", "exact")
    assert (r.candidates, r.pairs) == (5, 5)
    assert r.mean_abs_difference == r.max_abs_difference == 0
    assert r.same_nearest == 1
    assert r.spearman == pytest.approx(1)


def test_the_shipped_tables_are_compared_with_equal_values_on_the_built_in_odd(workspace):
    odd = built_in()
    seed = table(odd, **{odd.names[k]: odd.dimensions[k].base[0].name for k in odd.active})
    r = operators.compare_modes(seed, ScoringParameters(), Settings.from_environment(), "calibrated", "exact")
    assert r.candidates == 3839
    assert 0 < r.mean_abs_difference < r.max_abs_difference < 1
    assert 0 < r.spearman < 1


def test_slices_set_aside_are_compared_as_missing(workspace):
    odd = infer_odd({"a": ["x", "y", "z"], "b": ["u", "v"]})
    seed = SeedTable.from_slices(odd, [{"a": "x", "b": "u"}, {"a": "y", "b": "v"}], [12, 3], [0.5, 0.5])
    params = ScoringParameters(provisional="missing")
    r = operators.compare_modes(seed, params, Settings.from_environment(), "exact", "exact")
    assert (r.candidates, r.pairs) == (5, 5)


def test_a_space_that_cannot_be_enumerated_is_refused(workspace):
    odd = infer_odd({f"d{i}": [str(v) for v in range(10)] for i in range(8)})
    seed = table(odd, **{f"d{i}": "0" for i in range(8)})
    with pytest.raises(InputError, match="at most 5,000,000"):
        operators.compare_modes(seed, ScoringParameters(), Settings.from_environment(), "exact", "exact")
