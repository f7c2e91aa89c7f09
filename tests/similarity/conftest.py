"""Stand-ins for the text encoder: seeded, fast, and counting what they are asked."""

import hashlib

import numpy as np
import pytest

from core.odd import Dimension, Odd, Value


class StubModel:
    """Sum of one random direction per comma-separated part, normalised: cosines are close to additive, as of real texts."""

    def __init__(self, name="stub@1", size=32):
        self.id = name
        self.size = size
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        return np.stack([self._vector(t) for t in texts])

    def _vector(self, text):
        total = np.zeros(self.size)
        for part in [*text.split(", "), "common", "ground"]:
            seed = int.from_bytes(hashlib.sha256(f"{self.id} {part}".encode()).digest()[:8], "little")
            total += np.random.default_rng(seed).standard_normal(self.size)
        return (total / np.linalg.norm(total)).astype(np.float32)


def make_odd(*sizes, extended=0, name="toy"):
    """Dimensions d0, d1, ... with base values v00, v01, ... and some extended ones x00, ..."""
    dims = tuple(
        Dimension(
            f"d{k}",
            f"d{k}",
            tuple(Value(f"v{i:02d}") for i in range(n)) + tuple(Value(f"x{i:02d}", "extended") for i in range(extended)),
        )
        for k, n in enumerate(sizes)
    )
    return Odd(name, 1, dims)


@pytest.fixture
def stub():
    return StubModel()


@pytest.fixture
def stub_class():
    return StubModel


@pytest.fixture
def odd_of():
    return make_odd


@pytest.fixture
def settings(tmp_path):
    from core.settings import Settings

    return Settings(home=tmp_path, database_url="sqlite://")
