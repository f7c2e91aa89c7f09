"""Mixture on embeddings: clusters in which embedding and error agree, in the manner of Domino (error-aware mixture model)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.error_slices.baselines.found import FoundSlice
from core.error_slices.detections import FloatArray


@dataclass(frozen=True)
class MixtureSettings:
    """Settings of the mixture.

    Attributes:
        components: Clusters that are fitted.
        dimensions: Principal components of the embedding that are kept.
        weight: How much the error counts against the embedding.
        rounds: Rounds of expectation and maximisation at most.
        least_lift: A cluster is kept if its mean loss exceeds that of all units by more.
        least_units: And if it holds so many units.
        seed: Of the first assignment.
    """

    components: int = 25
    dimensions: int = 32
    weight: float = 10.0
    rounds: int = 100
    least_lift: float = 0.1
    least_units: int = 15
    seed: int = 0


def mixture_slices(embedding: FloatArray, loss: FloatArray, settings: MixtureSettings | None = None) -> tuple[FoundSlice, ...]:
    """Clusters with a high mean loss, largest lift first; units ranked by how surely they belong.

    Args:
        embedding: Shape (n, dimensions): of the units; a NaN takes the mean of its column.
        loss: Shape (n,): in [0, 1].
        settings: See `MixtureSettings`.
    """
    s = settings or MixtureSettings()
    n = len(loss)
    if n < 2:
        return ()
    belongs = _fit(_reduced(embedding, s.dimensions), loss, s)
    cluster = belongs.argmax(1)
    overall = float(loss.mean())
    out = []
    for k in np.unique(cluster).tolist():
        units = np.flatnonzero(cluster == k)
        error = float(loss[units].mean())
        if error - overall > s.least_lift and len(units) >= s.least_units:
            out.append(FoundSlice(f"cluster {k + 1}", units[np.argsort(-belongs[units, k], kind="stable")], error, error - overall))
    return tuple(sorted(out, key=lambda f: (-(f.lift or 0), f.name)))


def _reduced(embedding: FloatArray, dimensions: int) -> FloatArray:
    """Principal components, shape (n, dimensions or fewer); those without spread are left out."""
    known = ~np.isnan(embedding)
    count = known.sum(0)
    total = np.where(known, embedding, 0).sum(0)
    mean = np.divide(total, count, out=np.zeros(embedding.shape[1]), where=count > 0)
    centred = np.where(known, embedding - mean, 0)
    spread = centred.std(0)
    centred = centred[:, spread > 1e-9] / spread[spread > 1e-9]
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    keep = size > 1e-9 * max(1.0, float(size[0]) if len(size) else 1.0)
    return np.asarray((left * size)[:, keep][:, :dimensions], np.float64)


def _fit(x: FloatArray, loss: FloatArray, s: MixtureSettings) -> FloatArray:
    """Shares of each unit in each cluster, shape (n, clusters): diagonal normals for the embedding, a coin for the error."""
    n = len(x)
    components = max(1, min(s.components, n // 2))
    scale = x.var(0) if x.shape[1] else np.zeros(0)
    centres = x[np.random.default_rng(s.seed).choice(n, components, replace=False)]
    each = np.maximum(scale, 1e-9)
    distance = -2 * x @ (centres / each).T + (centres**2 / each).sum(1)  # less what all centres share
    share = np.eye(components)[distance.argmin(1)]
    before = -np.inf
    for _ in range(s.rounds):
        size = share.sum(0) + 1e-9
        mean = share.T @ x / size[:, None]
        variance = np.maximum(share.T @ x**2 / size[:, None] - mean**2, 1e-3 * scale + 1e-9)
        rate = np.clip((share.T @ loss + 0.5) / (size + 1), 1e-6, 1 - 1e-6)
        # Squared distances as one product of matrices: x² / v − 2 x m / v + m² / v.
        far = x**2 @ (1 / variance).T - 2 * x @ (mean / variance).T + (mean**2 / variance).sum(1)
        log_p = np.log(size / size.sum()) - 0.5 * (far + np.log(variance).sum(1))
        log_p += s.weight * (loss[:, None] * np.log(rate) + (1 - loss[:, None]) * np.log1p(-rate))
        highest = log_p.max(1, keepdims=True)
        total = np.exp(log_p - highest).sum(1, keepdims=True)
        share = np.exp(log_p - highest) / total
        now = float((highest + np.log(total)).mean())
        if abs(now - before) < 1e-6:
            break
        before = now
    return np.asarray(share, np.float64)
