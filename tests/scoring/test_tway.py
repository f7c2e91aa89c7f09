"""t-way coverage: a case counted by hand, brute force over sets, and sizes of the built-in ODD."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.odd import built_in, infer_odd
from core.scoring import tway

ODD = infer_odd({"time": ["day", "night"], "fog": ["no", "yes"], "road": ["dry", "ice", "wet"]})
SPACE = ODD.base_space
SLICES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), max_size=8)


def codes(rows: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def test_pairs_by_hand() -> None:
    """(day, no, dry) and (day, yes, dry) cover 2 of 4, 1 of 6 and 2 of 6; (night, no, wet) adds 1, 1 and 1."""
    got = tway(codes([(0, 0, 0), (0, 1, 0)]), codes([(1, 0, 2)]), SPACE, (0, 1, 2), 2)
    assert [(c.dimensions, c.possible, c.covered, c.added, c.open) for c in got.combinations] == [
        (("time", "fog"), 4, 2, 1, 1),
        (("time", "road"), 6, 1, 1, 4),
        (("fog", "road"), 6, 2, 1, 3),
    ]
    assert (got.possible, got.covered, got.added, got.open) == (16, 5, 3, 8)
    assert (got.t, got.slices, got.listed) == (2, 2, 1)
    assert got.combinations[0].still_open == (("night", "yes"),)
    assert got.combinations[1].still_open == (("day", "ice"), ("day", "wet"), ("night", "dry"))


@pytest.mark.parametrize("t", [1, 2, 3])
@given(observed=SLICES, listed=SLICES, fog=st.sets(st.sampled_from(["no", "yes"]), min_size=1))
def test_brute_force(t: int, observed: list[tuple[int, ...]], listed: list[tuple[int, ...]], fog: set[str]) -> None:
    space = ODD.codec.space([["day", "night"], sorted(fog), ["dry", "wet"]])
    got = tway(codes(observed), codes(listed), space, (0, 1, 2), t, few=100)
    allowed = [a.tolist() for a in space.allowed]
    for c, dims in zip(got.combinations, combinations(range(3), t), strict=True):
        wanted = set(product(*(allowed[k] for k in dims)))
        have = {tuple(s[k] for k in dims) for s in observed} & wanted
        more = ({tuple(s[k] for k in dims) for s in listed} & wanted) - have
        assert (c.possible, c.covered, c.added) == (len(wanted), len(have), len(more))
        names = [tuple(ODD.codec.values[k][i] for k, i in zip(dims, v, strict=True)) for v in sorted(wanted - have - more)]
        assert list(c.still_open) == names
        assert c.open == len(names)


def test_nothing_tested_and_nothing_listed() -> None:
    got = tway(codes([]), codes([]), SPACE, (0, 1, 2), 3)
    assert (got.possible, got.covered, got.added, got.open) == (12, 0, 0, 12)
    assert got.combinations[0].still_open[0] == ("day", "no", "dry")


def test_fewer_dimensions_than_t_leave_nothing_to_cover() -> None:
    got = tway(codes([(0, 0, 0)]), codes([]), SPACE, (0, 1), 3)
    assert (got.possible, got.covered, got.combinations) == (0, 0, ())
    with pytest.raises(ValueError, match="at least 1"):
        tway(codes([]), codes([]), SPACE, (0, 1), 0)


def test_all_slices_cover_everything() -> None:
    got = tway(np.concatenate(list(SPACE.chunks())), codes([]), SPACE, (0, 1, 2), 2)
    assert got.covered == got.possible == 16
    assert all(c.still_open == () for c in got.combinations)


def test_sizes_of_the_built_in_odd_with_every_extension() -> None:
    odd = built_in()
    space = odd.codec.space(odd.codec.values)
    dims = tuple(range(len(odd.names)))
    listed = odd.codec.decode(np.random.default_rng(0).integers(0, odd.codec.size, 500))
    for t in (2, 3):
        got = tway(listed[:0], listed, space, dims, t)
        assert got.possible == sum(np.prod([odd.codec.sizes[k] for k in c]) for c in combinations(dims, t))
        assert got.covered == 0
        assert 0 < got.added < got.possible


def test_a_dimension_of_many_values_needs_no_table_of_all_combinations() -> None:
    wide = infer_odd({d: [f"{d}{i:03d}" for i in range(500)] for d in "abc"})
    rows = np.stack([np.arange(500, dtype=np.int32)] * 3, axis=1)
    got = tway(rows[:250], rows[250:], wide.base_space, (0, 1, 2), 3)
    assert (got.possible, got.covered, got.added) == (500**3, 250, 250)
    assert got.combinations[0].still_open[0] == ("a000", "b000", "c001")
