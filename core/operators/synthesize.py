"""What making images for slices would take: what would be asked, what is there already, what it costs. `acquire` makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.acquisition.synthesis import Recipe, made_before, recipe
from core.errors import InputError
from core.llm import Endpoint
from core.odd import Odd


@dataclass(frozen=True)
class SynthesisPlan:
    """What making images would take.

    Attributes:
        recipes: One for each image.
        there: How many were made before and cost nothing.
        calls: Images that are to be made.
        cost: Of these, None where the endpoint has no price for an image.
        currency: As the user writes it.
    """

    recipes: tuple[Recipe, ...]
    there: int
    calls: int
    cost: float | None
    currency: str


def plan_synthesis(odd: Odd, slices: Sequence[Mapping[str, str]], per_slice: int, endpoint: Endpoint, media: Path) -> SynthesisPlan:
    """What making images of slices would take; nothing is sent.

    Raises:
        InputError: A slice names what the ODD does not have, or nothing that an image can show.
    """
    if per_slice < 1:
        raise InputError(f"Images per slice: got {per_slice}; allowed: a whole number of at least 1.")
    recipes = tuple(recipe(odd, s, k, endpoint) for s in slices for k in range(per_slice))
    missing = {r.key for r in recipes if made_before(r, media) is None}
    price = endpoint.price
    cost = None if price is None or price.image <= 0 else len(missing) * price.image
    return SynthesisPlan(recipes, len({r.key for r in recipes}) - len(missing), len(missing), cost, price.currency if price else "")
