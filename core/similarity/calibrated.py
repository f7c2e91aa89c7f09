"""Value tables fitted to text similarity, so that spaces too large to embed still rank by an additive similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.odd import Codes, Odd, slice_text, value_text
from core.odd.codec import SliceSpace
from core.similarity.base import UNIT, Units
from core.similarity.encoder import Encoder, Progress
from core.similarity.tables import UNCOVERED, SimilarityTables, mean_of_cosines
from core.similarity.text import cosines, quantise

Scope = Literal["base", "all"]
"""Values that are covered: those inside the ODD, or the whole vocabulary."""

SCOPES: tuple[Scope, ...] = ("base", "all")

MIN_TEST = 20
"""With fewer held-out tuples than this nothing is held out: the figures would say nothing."""

_DAMP = 1.0
_MAX_PAIRS = 400_000


@dataclass(frozen=True)
class FitSize:
    """How many tuples a fit looks at.

    Attributes:
        fit: Tuples whose pairs are fitted.
        test: Further tuples, of which nothing is seen by the fit, for the quality.
    """

    fit: int = 1_200
    test: int = 300


def scope_space(odd: Odd, scope: Scope) -> SliceSpace:
    """The slices of a scope."""
    return odd.base_space if scope == "base" else odd.codec.space(odd.codec.values)


def fit_tables(
    odd: Odd,
    dims: Sequence[int],
    scope: Scope,
    encoder: Encoder,
    progress: Progress | None = None,
    seed: int = 0,
    size: FitSize = FitSize(),
) -> SimilarityTables:
    """Mode "calibrated": least-squares fit of the cosine of two texts by sum_k T_k[v, v'].

    Pairs are sampled among the tuples of the fit, equal ones among them; entries are symmetric; the mean is spread evenly
    over the dimensions and what no pair tells of stays at it (mild damping). Quality is that of the rounded, clipped tables
    over all pairs of the held-out *tuples*.

    Args:
        odd: Declares the values.
        dims: Positions of the dimensions that the texts name.
        scope: Values to cover; the others are marked as uncovered.
        encoder: Gives the vectors of the texts.
        progress: Called with (texts done, texts in all).
        seed: Of the sampling; equal seeds give equal tables.
        size: How many tuples are looked at.

    Raises:
        InputError: No dimension is given.
    """
    picked = tuple(sorted(set(dims)))
    if not picked:
        raise InputError("Similarity needs at least one dimension.")
    rng = np.random.default_rng(seed)
    space = scope_space(odd, scope)
    fit, test = _split(space, picked, size, rng)
    vectors = quantise(encoder.encode(slice_text(odd, np.concatenate([fit, test]), picked), progress))
    seen, held_out = vectors[: len(fit)], vectors[len(fit) :]

    i, j = _pairs(len(fit), _MAX_PAIRS, rng)
    i, j = np.concatenate([i, np.arange(len(fit))]), np.concatenate([j, np.arange(len(fit))])
    target = cosines(seen, seen)[i, j] / UNIT
    allowed, sizes = [space.allowed[k] for k in picked], [odd.codec.sizes[k] for k in picked]
    tables = _solve(fit[i][:, picked], fit[j][:, picked], target, allowed, sizes)
    made = SimilarityTables("calibrated", odd, picked, tables, encoder.model_id)

    codes, known = (test, held_out) if len(test) else (fit, seen)
    quality = _quality(made, codes, known) | {
        "measured_on": "held-out tuples" if len(test) else "the tuples of the fit: too few to hold some out",
        "n_tuples_fit": len(fit),
        "n_tuples_test": len(test),
        "n_pairs": len(i),
        "seed": seed,
    }
    return SimilarityTables("calibrated", odd, picked, tables, encoder.model_id, quality)


def factored_tables(odd: Odd, dims: Sequence[int], encoder: Encoder, progress: Progress | None = None) -> SimilarityTables:
    """Mode "factored": mean over the dimensions of the cosine of the two values' texts, whole vocabulary.

    Additive without a fit, but a poor proxy of the text similarity of whole tuples.
    """
    picked = tuple(sorted(set(dims)))
    if not picked:
        raise InputError("Similarity needs at least one dimension.")
    texts = [value_text(odd.names[k], v) for k in picked for v in odd.codec.values[k]]
    vectors = quantise(encoder.encode(texts, progress))
    ends = list(accumulate(odd.codec.sizes[k] for k in picked))
    tables = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        table = cosines(vectors[start:end], vectors[start:end])
        np.fill_diagonal(table, UNIT)
        tables.append(table)
    return mean_of_cosines(odd, picked, tables, encoder.model_id, {"n_texts": len(texts)})


def _split(space: SliceSpace, dims: tuple[int, ...], size: FitSize, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Distinct tuples to fit (n, K) and to test (p, K), each set sorted; only `dims` vary, every value is in the fit."""
    allowed = [c if k in dims else c[:1] for k, c in enumerate(space.allowed)]
    narrow = SliceSpace(space.codec, tuple(allowed))
    fit_n = max(size.fit, 3 * max(narrow.sizes))
    if narrow.size <= fit_n + size.test:
        everything = np.concatenate(list(narrow.chunks()))
        n_test = len(everything) * size.test // (size.fit + size.test)
        place = rng.permutation(len(everything))
        fit, test = everything[np.sort(place[n_test:])], everything[np.sort(place[:n_test])]
        complete = all(len(np.unique(fit[:, k])) == narrow.sizes[k] for k in dims)
        return (fit, test) if n_test >= MIN_TEST and complete else (everything, everything[:0])
    # Every value of a dimension occurs equally often (up to one), so that rare pairs of values are seen too.
    columns = [c[rng.permutation(fit_n) % len(c)] for c in allowed]
    fit_ids = np.unique(space.codec.encode(np.stack(columns, axis=1)))
    drawn = space.codec.encode(np.stack([rng.choice(c, size.test) for c in allowed], axis=1))
    return space.codec.decode(fit_ids), space.codec.decode(np.setdiff1d(drawn, fit_ids))


def _pairs(n: int, most: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Pairs i < j of n things, all of them or a sample."""
    i, j = np.triu_indices(n, 1)
    if len(i) > most:
        chosen = np.sort(rng.choice(len(i), most, replace=False))
        i, j = i[chosen], j[chosen]
    return i, j


def _solve(a: Codes, b: Codes, target: npt.NDArray[np.float64], allowed: Sequence[Codes], sizes: Sequence[int]) -> tuple[Units, ...]:
    """Symmetric tables (V_k, V_k), units of 1e-6, whose sums fit the target (p,) for pairs of tuples a, b (p, number of dimensions)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import lsqr

    starts = [0, *accumulate(v * v for v in sizes)]
    width = len(sizes)
    columns = np.stack(
        [starts[k] + np.minimum(a[:, k], b[:, k]).astype(np.int64) * v + np.maximum(a[:, k], b[:, k]) for k, v in enumerate(sizes)], axis=1
    )
    used, flat = np.unique(columns.ravel(), return_inverse=True)
    features = csr_matrix((np.ones(columns.size), flat.ravel(), np.arange(0, columns.size + 1, width)), shape=(len(a), len(used)))
    mean = float(target.mean())
    weights = np.zeros(starts[-1])
    weights[used] = lsqr(features, target - mean, damp=_DAMP, iter_lim=200)[0]
    out = []
    for k, v in enumerate(sizes):
        upper = np.triu(weights[starts[k] : starts[k + 1]].reshape(v, v))
        whole = np.rint((upper + np.triu(upper, 1).T + mean / width) * UNIT).astype(np.int32)
        table = np.full((v, v), UNCOVERED, dtype=np.int32)
        table[np.ix_(allowed[k], allowed[k])] = whole[np.ix_(allowed[k], allowed[k])]
        out.append(table)
    return tuple(out)


def _quality(tables: SimilarityTables, codes: Codes, vectors: npt.NDArray[np.float32]) -> dict[str, Any]:
    """R2, mean absolute error and Spearman over all pairs of different tuples, and the mean a tuple is given with itself."""
    from scipy.stats import spearmanr

    i, j = np.triu_indices(len(codes), 1)
    said = tables.matrix(codes, codes)
    truth, guess = cosines(vectors, vectors)[i, j] / UNIT, said[i, j] / UNIT
    spread = float(((truth - truth.mean()) ** 2).sum()) if len(i) else 0.0
    varied = spread > 0 and len(np.unique(guess)) > 1
    return {
        "r2": round(1 - float(((truth - guess) ** 2).sum()) / spread, 4) if spread > 0 else None,
        "mae": round(float(np.abs(truth - guess).mean()), 4) if len(i) else None,
        "spearman": round(float(spearmanr(truth, guess).statistic), 4) if varied else None,
        "self": round(float(said.diagonal().mean()) / UNIT, 4) if len(codes) else None,
    }
