"""The slices of a seed table as bytes and back, without losing a bit.

The bytes are zlib-compressed JSON with floats in hexadecimal: every language reads it, and a float comes back as it was.
"""

from __future__ import annotations

import json
import math
import zlib

import numpy as np

from core.errors import InputError
from core.odd import Odd
from core.seed_table.table import Floats, SeedTable

FORMAT = 1


def pack(table: SeedTable) -> bytes:
    """The slices of a table; equal tables give equal bytes."""
    document = {
        "format": FORMAT,
        "ids": table.ids.tolist(),
        "n": table.n.tolist(),
        "mean": [x.hex() for x in table.mean.tolist()],
        "variance": ["nan" if math.isnan(x) else x.hex() for x in table.variance.tolist()],
    }
    return zlib.compress(json.dumps(document, separators=(",", ":")).encode("ascii"), 6)


def unpack(data: bytes, odd: Odd, n_assumed: bool) -> SeedTable:
    """The table of some bytes.

    Raises:
        ValueError: The bytes are not what `pack` made with this ODD.
    """
    try:
        document = json.loads(zlib.decompress(data))
        if document["format"] != FORMAT:
            raise ValueError(f"unknown format {document['format']}")
        ids = np.array(document["ids"], dtype=np.int64)
        return SeedTable(
            odd=odd,
            codes=odd.codec.decode(ids),
            n=np.array(document["n"], dtype=np.int64),
            mean=_floats(document["mean"]),
            variance=_floats(document["variance"]),
            n_assumed=n_assumed,
        )
    except (InputError, zlib.error, KeyError, TypeError, IndexError, OverflowError) as e:
        raise ValueError(f"{type(e).__name__}: {e}") from e


def _floats(texts: list[str]) -> Floats:
    return np.array([float.fromhex(x) for x in texts], dtype=np.float64)
