"""Stable fingerprints of data, so that a result can say exactly what it was made from."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of raw bytes."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON text that depends on the value alone: sorted keys, no spaces, UTF-8, NaN refused.

    Raises:
        ValueError: The value holds NaN or infinity.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_json(value: Any) -> str:
    """Hex SHA-256 of `canonical_json(value)`."""
    return sha256_bytes(canonical_json(value).encode())
