"""Which similarity a ranking uses, and how far two of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.digest import sha256_json
from core.errors import InputError, MissingPackageError, Problem
from core.odd import Codes, Odd, SliceSpace, built_in
from core.odd.text import TEMPLATE
from core.settings import Settings
from core.similarity.base import MODES, UNIT, Similarity, Units
from core.similarity.calibrated import SCOPES, FitSize, Scope, factored_tables, fit_tables
from core.similarity.encoder import Encoder, Progress, installed
from core.similarity.shipped import read_tables, shipped_tables, vocabulary_hash, write_tables
from core.similarity.tables import SimilarityTables, exact_similarity
from core.similarity.text import MAX_TEXTS, count_texts, text_similarity

Needed = Sequence[Codes | SliceSpace]
"""Slices that will be compared: arrays of codes (n, K), or whole spaces, which are not enumerated before they must be."""


@dataclass(frozen=True)
class Choice:
    """A mode and why it was taken.

    Attributes:
        mode: One of `MODES`.
        reason: For the manifest and the screen.
    """

    mode: str
    reason: str


def default_choice(odd: Odd, dims: Sequence[int], needed: Needed = ()) -> Choice:
    """The mode that is used unless another is asked for; imports nothing heavy and embeds nothing."""
    if _ready_made(odd, dims, "calibrated", needed) is not None:
        return Choice("calibrated", "tables for this vocabulary ship with the product")
    if not installed():
        return Choice("exact", "sentence-transformers is not installed, so texts cannot be compared")
    count = count_texts(tuple(sorted(set(dims))), needed)
    if count > MAX_TEXTS:
        return Choice("calibrated", f"{count:,} texts are too many to embed, so value tables are fitted to a sample of them")
    return Choice("text", "the similarity of the paper")


def choose_similarity(
    odd: Odd,
    dims: Sequence[int],
    mode: str | None,
    settings: Settings,
    needed: Needed = (),
    progress: Progress | None = None,
) -> Similarity:
    """The similarity of a ranking.

    Args:
        odd: Domain of the slices.
        dims: Positions of the dimensions that count: the active ones in-ODD, all out of it.
        mode: One of `MODES`, None for the default of this ODD.
        settings: Encoder and cache folder.
        needed: Candidates and observed slices; the mode "text" embeds exactly these.
        progress: Called with (texts done, texts in all) while texts are embedded.

    Raises:
        InputError: The mode is unknown, there are too many texts, or the model cannot be loaded.
        MissingPackageError: The mode needs a package that is not installed; the text says what to do.
    """
    chosen = mode or default_choice(odd, dims, needed).mode
    if chosen not in MODES:
        raise InputError("There is no such similarity.", [Problem(None, "similarity", chosen, ", ".join(MODES))])
    if chosen == "exact":
        return exact_similarity(odd, dims)
    if chosen == "text":
        return text_similarity(odd, dims, needed, Encoder.from_settings(settings), progress)
    return _ready_made(odd, dims, chosen, needed) or kept_tables(odd, dims, chosen, scope_of(odd, needed), settings, progress)


def scope_of(odd: Odd, needed: Needed) -> Scope:
    """The scope "base" if all the slices have base values only, else "all"."""
    if not needed:
        return "all"
    for n in needed:
        for k, base in enumerate(odd.is_base):
            codes = n.allowed[k] if isinstance(n, SliceSpace) else n[:, k]
            if not base[codes].all():
                return "all"
    return "base"


def kept_tables(
    odd: Odd, dims: Sequence[int], mode: str, scope: Scope, settings: Settings, progress: Progress | None = None, seed: int = 0
) -> SimilarityTables:
    """Tables made on demand for any ODD, and kept in the cache folder; a damaged file there is made again.

    Raises:
        MissingPackageError: sentence-transformers is not installed.
    """
    try:
        encoder = Encoder.from_settings(settings)
    except MissingPackageError as e:
        raise MissingPackageError(
            f"The similarity {mode} has no tables that ship for these dimensions and values, so they must be made from texts. {e}"
        ) from e
    picked = sorted(set(dims))
    size = FitSize()
    made_from = [vocabulary_hash(odd), [[bool(b) for b in base] for base in odd.is_base], picked, mode, scope, encoder.model_id]
    key = sha256_json([*made_from, TEMPLATE, asdict(size), seed])
    path = settings.caches / "tables" / f"{key[:32]}.json"
    if path.is_file():
        try:
            kept = read_tables(path, odd)
        except InputError:
            kept = None
        if kept is not None:
            return kept
    if mode == "factored":
        tables = factored_tables(odd, picked, encoder, progress)
    else:
        tables = fit_tables(odd, picked, scope, encoder, progress, seed, size)
    write_tables(path, tables, scope)
    return tables


def _ready_made(odd: Odd, dims: Sequence[int], mode: str, needed: Needed) -> SimilarityTables | None:
    """Shipped tables that give these dimensions exactly and cover all the slices."""
    names = {odd.names[k] for k in dims}
    # A built-in ODD with some dimensions left out is served by name where that changes nothing.
    for source in (odd, built_in()) if odd.source == "built-in" else (odd,):
        for scope in SCOPES:
            tables = shipped_tables(source, mode, scope)
            if tables is None or not (names <= set(tables.used) if mode == "factored" else names == set(tables.used)):
                continue
            bound = tables.bind(odd, dims)
            if _covers(bound, needed):
                return bound
    return None


def _covers(tables: SimilarityTables, needed: Needed) -> bool:
    for n in needed:
        for k, ok in zip(tables.dims, tables.covered, strict=True):
            if not ok[n.allowed[k] if isinstance(n, SliceSpace) else n[:, k]].all():
                return False
    return True


def value_cosines(odd: Odd, settings: Settings, progress: Progress | None = None) -> tuple[Units, ...]:
    """Similarity of the values of each dimension: cosines of their texts (V_k, V_k) in units of 1e-6 (SliceNav, section 3.5, sim(v, v*)).

    Raises:
        MissingPackageError: No tables ship for these values, and sentence-transformers is not installed.
    """
    tables = choose_similarity(odd, range(len(odd.names)), "factored", settings, [odd.codec.space(odd.codec.values)], progress)
    if not isinstance(tables, SimilarityTables) or len(tables.cosines) != len(odd.names):
        raise TypeError("Tables of the mode factored hold the cosines of their values.")
    return tables.cosines


@dataclass(frozen=True)
class Agreement:
    """How far two similarities agree on the pairs of candidates and observed slices.

    Attributes:
        pairs: Pairs compared.
        spearman: Rank correlation over the pairs, None where one of the two does not vary.
        mean_abs_difference: Mean of the absolute difference, in 0..1.
        max_abs_difference: Largest absolute difference, in 0..1.
        same_nearest: Share of candidates for which some observed slice is nearest in both.
        candidates: Candidates looked at.
    """

    pairs: int
    spearman: float | None
    mean_abs_difference: float | None
    max_abs_difference: float | None
    same_nearest: float | None
    candidates: int

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON-ready data."""
        return asdict(self)


def agreement(a: Similarity, b: Similarity, candidates: Codes, observed: Codes, most_pairs: int = 300_000) -> Agreement:
    """Compare two similarities over candidates (n, K) and observed slices (p, K).

    Beyond `most_pairs` a seeded sample of the candidates is looked at, so that the answer stays the same from run to run.
    """
    from scipy.stats import spearmanr

    most = max(1, most_pairs // max(1, len(observed)))
    sampled = len(candidates) > most
    # Not every i-th candidate: that would leave out values whenever i divides the period of a dimension.
    some = candidates[np.sort(np.random.default_rng(0).choice(len(candidates), most, replace=False))] if sampled else candidates
    x, y = a.matrix(some, observed), b.matrix(some, observed)
    if not x.size:
        return Agreement(0, None, None, None, None, len(some))
    gap = np.abs(x - y)
    nearest = ((x == x.max(axis=1, keepdims=True)) & (y == y.max(axis=1, keepdims=True))).any(axis=1)
    varied = x.min() < x.max() and y.min() < y.max()
    return Agreement(
        pairs=int(x.size),
        spearman=float(spearmanr(x.ravel(), y.ravel()).statistic) if varied else None,
        mean_abs_difference=float(gap.mean()) / UNIT,
        max_abs_difference=float(gap.max()) / UNIT,
        same_nearest=float(nearest.mean()),
        candidates=len(some),
    )
