"""How far two similarities agree on the table at hand."""

from __future__ import annotations

import numpy as np

from core.errors import InputError
from core.operators.rank import similarity_for
from core.scoring import ScoringParameters, gather_evidence
from core.scoring.rank import MAX_CANDIDATES
from core.scoring.search import Progress
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import Agreement, agreement


def compare_modes(
    seed: SeedTable, params: ScoringParameters, settings: Settings, mode: str, other: str, progress: Progress | None = None
) -> Agreement:
    """Compares two similarity modes over the missing and the observed slices of the ODD.

    Args:
        seed: Tested slices.
        params: Support policy; the rest does not matter here.
        settings: Where models and caches lie.
        mode: A similarity mode.
        other: Another one.
        progress: Called with texts done and in all, while a mode embeds them.

    Raises:
        InputError, MissingPackageError: A mode does not work here, or the ODD has too many slices to enumerate.
    """
    space = seed.odd.base_space
    if space.size > MAX_CANDIDATES:
        raise InputError(f"The ODD has {space.size:,} slices; similarities are compared over at most {MAX_CANDIDATES:,}.")
    observed = gather_evidence(seed, params).observed
    first, _ = similarity_for(seed, params, settings, mode, progress)
    second, _ = similarity_for(seed, params, settings, other, progress)
    blocks = [b[~np.isin(seed.odd.codec.encode(b), observed.ids)] for b in space.chunks()]
    return agreement(first, second, np.concatenate(blocks), observed.codes)
