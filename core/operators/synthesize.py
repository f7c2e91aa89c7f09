"""What making images for slices would take: what is there already, what would be made, what it costs. `acquire` makes them."""

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
        recipes: One for each image, also of those that were made before.
        there: Images that were made before and cost nothing.
        calls: Images that are to be made.
        impossible: Slices that name nothing that an image can show.
        cost: Of the images that are to be made, None where the endpoint has no price.
        currency: As the user writes it.
    """

    recipes: tuple[Recipe, ...]
    there: int
    calls: int
    impossible: int
    cost: float | None
    currency: str


def plan_synthesis(odd: Odd, wanted: Sequence[tuple[Mapping[str, str], int]], endpoint: Endpoint, media: Path) -> SynthesisPlan:
    """What making images of slices would take; nothing is sent.

    Args:
        odd: Defines the values.
        wanted: Slices, each with the number of images.
        endpoint: Would make them.
        media: Folder of images that were made.
    """
    recipes: dict[str, Recipe] = {}
    impossible = 0
    for requested, number in wanted:
        try:
            made = [recipe(odd, requested, k, endpoint) for k in range(number)]
        except InputError:
            impossible += 1
            continue
        recipes |= {r.key: r for r in made}
    calls = sum(made_before(r, media) is None for r in recipes.values())
    price = endpoint.price
    cost = None if price is None else calls * price.image
    return SynthesisPlan(tuple(recipes.values()), len(recipes) - calls, calls, impossible, cost, price.currency if price else "")
