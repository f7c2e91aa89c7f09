"""An ODD read off a categorical table: every chosen column a dimension, every value that occurs a base value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import InputError
from core.odd.model import Dimension, Odd, Value

MAX_VALUES = 500
"""A column with more distinct values than this is not a category."""


def infer_odd(columns: Mapping[str, Sequence[str]], name: str = "inferred") -> Odd:
    """The ODD whose values are exactly those that occur.

    Args:
        columns: Distinct, non-empty values of each chosen column, columns in the order of the dimensions.
        name: Name of the ODD.

    Raises:
        InputError: No column, a column without a value, or one with more than `MAX_VALUES` values.
    """
    dims = []
    for column, values in columns.items():
        distinct = sorted(set(values))
        if not distinct:
            raise InputError(f'Column "{column}" holds no value at all, so it cannot be a dimension.')
        if len(distinct) > MAX_VALUES:
            raise InputError(
                f'Column "{column}" has {len(distinct):,} distinct values; a dimension may have at most {MAX_VALUES}. '
                "Leave the column out, or bin its values first."
            )
        dims.append(Dimension(name=column, label=column.replace("_", " ").strip() or column, values=tuple(Value(v) for v in distinct)))
    if not dims:
        raise InputError("Choose at least one column as a dimension.")
    odd = Odd(name=name, version=1, dimensions=tuple(dims), source="inferred")
    odd.codec  # noqa: B018 (numbers the slices now, so that a vocabulary beyond 2^63 is refused here)
    return odd
