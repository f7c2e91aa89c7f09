"""RiskRidge: the error of a slice as a mean, one effect per value and one per pair of values, each with its prior variance.

A Gaussian process whose kernel counts equal dimensions: with h of D equal, K1 = h / D and K2 = h (h - 1) / (D (D - 1)). Its
posterior mean is exactly a sum of D single and D (D - 1) / 2 pair tables, which is how it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import log, pi

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from core.errors import InputError
from core.odd import Codes, Odd
from core.scoring.shrinkage import shrink
from core.seed_table import SeedTable
from core.similarity import UNIT, Units
from core.similarity.tables import UNCOVERED

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Solve = Callable[[Floats], Floats]

RISK_UNIT = 1_000_000_000
"""Entries of the tables are integers in units of 1e-9: sums do not depend on their order, and what processors and thread counts
change in the last digits of a solution is, in practice, rounded away."""
GRID = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
"""Prior variances tried for the single effects together (s1) and the pair effects together (s2)."""
MEAN_VARIANCE = 1e-3
"""Prior variance of the mean around the error over all samples."""
LEAST_SPREAD = 0.02
"""A slice of n samples is never taken for more certain than this over n."""
NOISE_SHARES = (1.0, 0.5, 0.25)
"""Shares of the noise of right-or-wrong answers that are tried where scores are graded: such scores vary less around their mean, and
taken for right or wrong they would drown every effect in slices of one sample."""
MAX_UNKNOWNS = 5_000
"""Largest system that is solved."""
_BETTER = 1e-9


@dataclass(frozen=True, eq=False)
class RidgeModel:
    """A fitted RiskRidge: additive tables, and what they were fitted to.

    Attributes:
        odd: The ODD.
        dims: Positions of its dimensions that count, ascending.
        mean: Error over all samples.
        s1, s2: Prior variances of the sum of the single and of the pair effects.
        log_likelihood: Marginal log likelihood at them.
        constant, singles, pairs: The tables, in units of 1e-9: a number; for each of `dims` one entry per code (V_k,); for positions
            i < j in `dims` one entry per pair of codes (V_i, V_j).
        observed: The slices fitted.
        noise: (S,) variance of their errors.
        weights: (S,) the solution of (K + noise) w = error - mean.
        kernels: For each of `dims`, similarity of its values (V_k, V_k); None where equality counts.
        noise_share: Share of the noise of right-or-wrong answers that `noise` is, one of `NOISE_SHARES`.
    """

    odd: Odd
    dims: tuple[int, ...]
    mean: float
    s1: float
    s2: float
    log_likelihood: float
    constant: int
    singles: tuple[Ints, ...]
    pairs: dict[tuple[int, int], Ints]
    observed: SeedTable
    noise: Floats
    weights: Floats
    kernels: tuple[Floats, ...] | None
    noise_share: float = 1.0

    def predict_units(self, codes: Codes) -> Ints:
        """Predicted errors (n,) of slices (n, K) in units of 1e-9; may lie outside [0, 1]."""
        out = np.full(codes.shape[0], self.constant, dtype=np.int64)
        for i, table in enumerate(self.singles):
            out += table[codes[:, self.dims[i]]]
        for (i, j), pair in self.pairs.items():
            out += pair[codes[:, self.dims[i]], codes[:, self.dims[j]]]
        return out

    def predict(self, codes: Codes) -> Floats:
        """`predict_units` as errors."""
        return self.predict_units(codes) / RISK_UNIT

    def solve(self, columns: Floats) -> Floats:
        """(K + noise)^-1 applied to columns (S, M): what the posterior variances need."""
        system = _system(self.observed.codes[:, self.dims], self.kernels, self.noise)
        with threadpool_limits(1, user_api="blas"):
            return system.factor(self.s1, self.s2)[1](columns)


def fit_ridge(observed: SeedTable, dims: Sequence[int], error: Floats | None = None, alike: Sequence[Units] | None = None) -> RidgeModel:
    """Fits RiskRidge; the two variances are the point of `GRID` x `GRID` with the largest marginal likelihood, the first of equals.

    The noise of a slice is max(e (1 - e), 0.02) / n with e its error after `shrink`; where scores are graded, a share of that, which
    the marginal likelihood chooses from `NOISE_SHARES` together with the variances. With one dimension there are no pairs.

    Args:
        observed: Tested slices, at least one.
        dims: Positions of the dimensions that count.
        error: (S,) errors to fit, such as shrunk ones; those of the table by default.
        alike: For each of `dims`, similarities of its values (V_k, V_k) in units of 1e-6, 1,000,000 on the diagonal, in place of
            equality; a value that they do not cover is like itself only.

    Raises:
        InputError: The system is larger than `MAX_UNKNOWNS`.
        ValueError: No slice or no dimension, or `alike` does not fit `dims`.
    """
    picked = tuple(int(k) for k in dims)
    sizes = [observed.odd.codec.sizes[k] for k in picked]
    if not len(observed.n) or not picked or list(picked) != sorted(set(picked)):
        raise ValueError("fit_ridge needs a tested slice, and dimensions in ascending order.")
    kernels = None if alike is None else value_kernels(alike, sizes)
    shrunk, prior = shrink(observed.error, observed.n)
    noise = np.maximum(shrunk * (1.0 - shrunk), LEAST_SPREAD) / observed.n
    y = (observed.error if error is None else error) - prior.mean
    x = observed.codes[:, picked]
    system = _system(x, kernels, noise)
    if system.unknowns > MAX_UNKNOWNS:
        raise InputError(
            f"Effects of {len(y):,} tested slices over {len(picked)} dimensions are more than can be fitted (at most {MAX_UNKNOWNS:,} "
            f"unknowns; got {system.unknowns:,}). Use the risk prior neighbour, or fewer dimensions."
        )
    best = (-np.inf, 0.0, 0.0, y, 1.0)
    # One thread: for systems this small more of them wait for each other, and their number would show in the last digits.
    with threadpool_limits(1, user_api="blas"):
        for share in NOISE_SHARES if _graded(observed) else NOISE_SHARES[:1]:
            system = system if share == 1.0 else _system(x, kernels, noise * share)
            for s1, s2 in product(GRID, GRID if len(picked) > 1 else GRID[:1]):
                half_log_det, solve = system.factor(s1, s2)
                weights = solve(y)
                value = -0.5 * float(y @ weights) - half_log_det - 0.5 * len(y) * log(2 * pi)
                if value > best[0] + _BETTER:
                    best = (value, s1, s2, weights, share)
    likelihood, s1, s2, weights, share = best
    constant, singles, pairs = _tables(x, sizes, weights, s1, s2, kernels)
    return RidgeModel(
        observed.odd,
        picked,
        prior.mean,
        s1,
        s2,
        likelihood,
        int(_units(np.array(prior.mean + constant))),
        tuple(_units(t) for t in singles),
        {ij: _units(t) for ij, t in pairs.items()},
        observed,
        noise * share,
        weights,
        kernels,
        share,
    )


def _graded(observed: SeedTable) -> bool:
    """Whether some slice's failures are no whole number, whatever rounding its mean went through."""
    failures = observed.error * observed.n
    return bool((np.abs(failures - np.rint(failures)) > 1e-3 * observed.n).any())


def varied_dims(observed: SeedTable, dims: Sequence[int]) -> tuple[int, ...]:
    """The dimensions in which tested slices differ, all of them if there is none.

    Of the others nothing can be learnt, and with equal values everywhere their pair tables would act as single tables of their
    partners. So a value that was never seen in such a dimension has no effect at all.
    """
    varied = tuple(k for k in dims if len(np.unique(observed.codes[:, k])) > 1)
    return varied or tuple(dims)


def value_kernels(alike: Sequence[Units], sizes: Sequence[int]) -> tuple[Floats, ...]:
    """Similarities of values as kernels: (V_k, V_k) each, symmetric, without negative eigenvalues (rounding leaves some).

    Raises:
        ValueError: The shapes do not fit.
    """
    if [t.shape for t in alike] != [(v, v) for v in sizes]:
        raise ValueError(f"Similarities of values must have the shapes {[(v, v) for v in sizes]}; got {[t.shape for t in alike]}.")
    out = []
    for t in alike:
        c = np.where(t == UNCOVERED, UNIT * np.eye(len(t)), t) / UNIT
        c = (c + c.T) / 2
        values, vectors = np.linalg.eigh(c)
        out.append(c if values[0] >= 0 else (vectors * np.maximum(values, 0.0)) @ vectors.T)
    return tuple(out)


def kernel_matrices(a: Codes, b: Codes, kernels: Sequence[Floats] | None = None) -> tuple[Floats, Floats]:
    """K1 and K2 (len(a), len(b)) of slices given by the codes of the D dimensions that count: (n, D) and (p, D).

    With c_k for the likeness of two values (1 or 0 for equality), K1 = sum_k c_k / D and
    K2 = ((sum_k c_k)^2 - sum_k c_k^2) / (D (D - 1)), which for equality is h (h - 1) / (D (D - 1)); K2 = 0 for D = 1.
    """
    d = a.shape[1]
    total, squares = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
    for k in range(d):
        c = (a[:, k, None] == b[None, :, k]).astype(np.float64) if kernels is None else kernels[k][np.ix_(a[:, k], b[:, k])]
        total += c
        squares += c * c
    return total / d, (total * total - squares) / (d * (d - 1)) if d > 1 else np.zeros_like(total)


class _Kernel:
    """K + noise as a system of one unknown per slice."""

    def __init__(self, x: Codes, kernels: Sequence[Floats] | None, noise: Floats) -> None:
        self.x, self.kernels, self.noise, self.unknowns = x, kernels, noise, len(x)
        self.made: tuple[Floats, Floats] | None = None

    def factor(self, s1: float, s2: float) -> tuple[float, Solve]:
        """Half the log determinant, and what solves the system."""
        from scipy.linalg import cho_factor, cho_solve

        k1, k2 = self.made = self.made or kernel_matrices(self.x, self.x, self.kernels)
        k = s1 * k1 + s2 * k2 + MEAN_VARIANCE
        k[np.diag_indices_from(k)] += self.noise
        factor = cho_factor(k, lower=True, overwrite_a=True, check_finite=False)
        return float(np.log(np.diag(factor[0])).sum()), lambda columns: cho_solve(factor, columns, check_finite=False)


class _Features:
    """The same as a system of one unknown per effect, for tables with more slices than effects."""

    def __init__(self, singles: Floats, pairs: Floats, noise: Floats) -> None:
        self.width = singles.shape[1], pairs.shape[1]
        self.unknowns = sum(self.width)
        self.phi = np.hstack([singles, pairs, np.ones((len(noise), 1))])
        self.noise = noise
        self.gram = self.phi.T @ (self.phi / noise[:, None])

    def factor(self, s1: float, s2: float) -> tuple[float, Solve]:
        """Half the log determinant, and what solves the system."""
        from scipy.linalg import cho_factor, cho_solve

        root = np.sqrt(np.repeat([s1, s2, MEAN_VARIANCE], [*self.width, 1]))
        b = root[:, None] * self.gram * root[None]
        b[np.diag_indices_from(b)] += 1.0
        factor = cho_factor(b, lower=True, overwrite_a=True, check_finite=False)
        phi = self.phi * root

        def solve(columns: Floats) -> Floats:
            near = (columns.T / self.noise).T
            fitted: Floats = phi @ cho_solve(factor, phi.T @ near, check_finite=False)
            return near - (fitted.T / self.noise).T

        return float(np.log(np.diag(factor[0])).sum()) + 0.5 * float(np.log(self.noise).sum()), solve


def _system(x: Codes, kernels: Sequence[Floats] | None, noise: Floats) -> _Kernel | _Features:
    """The smaller of the two systems."""
    features = _features(x, kernels)
    return _Kernel(x, kernels, noise) if features is None else _Features(*features, noise)


def _features(x: Codes, kernels: Sequence[Floats] | None = None) -> tuple[Floats, Floats] | None:
    """Columns for single and for pair effects, so that their products are K1 and K2; None if they are more than slices."""
    s, d = x.shape
    one = [np.unique(x[:, k], return_inverse=True) for k in range(d)]
    if kernels is None:
        codes = [c for _, c in one]
        two = [np.unique(codes[i] * (codes[j].max() + 1) + codes[j], return_inverse=True)[1] for i, j in combinations(range(d), 2)]
        if sum(int(c.max()) + 1 for c in [*codes, *two]) >= s:
            return None
        singles = [np.eye(int(c.max()) + 1)[c] for c in codes]
        pairs = [np.eye(int(c.max()) + 1)[c] for c in two]
    else:
        sizes = [len(values) for values, _ in one]
        if sum(sizes) + sum(a * b for a, b in combinations(sizes, 2)) >= s:
            return None
        # Only the values observed matter to the fit: a square root of their kernel gives each as many features as there are values.
        singles = [_root(kernel[np.ix_(values, values)])[c] for kernel, (values, c) in zip(kernels, one, strict=True)]
        pairs = [(a[:, :, None] * b[:, None, :]).reshape(s, -1) for a, b in combinations(singles, 2)]
    return np.hstack(singles) / np.sqrt(d), np.hstack([np.empty((s, 0)), *pairs]) * np.sqrt(2.0 / max(d * (d - 1), 1))


def _root(kernel: Floats) -> Floats:
    """R with R R' = kernel."""
    values, vectors = np.linalg.eigh(kernel)
    out: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return out


def _tables(
    x: Codes, sizes: Sequence[int], weights: Floats, s1: float, s2: float, kernels: Sequence[Floats] | None
) -> tuple[float, list[Floats], dict[tuple[int, int], Floats]]:
    """The posterior mean taken apart: constant, singles and pairs."""
    d = len(sizes)
    singles: list[Floats] = []
    pairs: dict[tuple[int, int], Floats] = {}
    for k, size in enumerate(sizes):
        one = np.bincount(x[:, k], weights, size).astype(np.float64)
        singles.append(s1 / d * (one if kernels is None else kernels[k] @ one))
    for i, j in combinations(range(d), 2):
        flat = np.bincount(x[:, i].astype(np.int64) * sizes[j] + x[:, j], weights, sizes[i] * sizes[j])
        two = flat.astype(np.float64).reshape(sizes[i], sizes[j])
        pairs[i, j] = 2.0 * s2 / (d * (d - 1)) * (two if kernels is None else kernels[i] @ two @ kernels[j])
    return MEAN_VARIANCE * float(weights.sum()), singles, pairs


def _units(table: Floats) -> Ints:
    return np.rint(table * RISK_UNIT).astype(np.int64)
