r"""Gaussian emissions of hidden Markov models.

.. math:: \mu_s = \frac{\sum_i \gamma_{is} x_i}{\sum_i \gamma_{is}}, \qquad
          \Sigma_s = \frac{\lambda I + \sum_i \gamma_{is} (x_i - \mu_s)(x_i - \mu_s)^\top}{\sum_i \gamma_{is}}

with the posterior probabilities :math:`\gamma` of the states. They maximize the likelihood with the penalty
:math:`-\tfrac{\lambda}{2} \operatorname{tr} \Sigma_s^{-1}`. Diagonal covariances are stored as vectors of variances.

References
----------
Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition, section IV A
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError
from polyadic.sequences.symbols import items, stacked

MIN_COUNT = 1e-10  # expected number of observations below which a state keeps its mean and covariance
NARROW = 1e-6  # ratio of the variance of a state to that of all observations below which it is degenerate


def read_vectors(sequences: Any, lengths: Sequence[int] | None = None, *, size: int = 0) -> list[Array]:
    """Return sequences as arrays of shape (length, d), where d is ``size`` if that is positive.

    An array, a series and a flat list of numbers are one sequence, or several of the given ``lengths``.
    """
    whole = getattr(sequences, "ndim", 0)
    values: Any = sequences if whole else items("sequences", sequences)
    if lengths is not None:
        parts = stacked(_table("sequences", values, size), lengths)
    elif whole in (1, 2) or (len(values) and not any(hasattr(value, "__len__") for value in values)):
        parts = [values]
    else:
        parts = list(values)
    tables = [_table(f"sequence {k}", part, size) for k, part in enumerate(parts, 1)]
    size = size or next((table.shape[1] for table in tables if len(table)), 0)
    for k, table in enumerate(tables, 1):
        if len(table) and table.shape[1] != size:
            raise InputError(f"sequence {k} must have {size} numbers in each observation; got {table.shape[1]}")
        if not np.isfinite(table).all():
            i, j = np.argwhere(~np.isfinite(table))[0].tolist()
            raise InputError(f"sequence {k}, place {i + 1}, number {j + 1} is missing or not finite; replace it")
    if not size:
        raise InputError("the training sequences must contain at least one observation")
    return [table.reshape(-1, size) for table in tables]


def _table(what: str, values: Any, size: int) -> Array:
    """Return the observations of a sequence as rows; numbers are vectors of length 1."""
    try:
        given = items(what, values) if np.ndim(values) == 0 or hasattr(values, "columns") else values
        table: Array = np.ma.filled(np.ma.asarray(given).astype(float), np.nan)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} must contain numbers, or vectors of equally many numbers") from None
    if table.ndim > 2:
        raise InputError(f"{what} must have one row per observation; got an array of shape {table.shape}")
    return table if table.ndim == 2 else table.reshape(-1, 1 if len(table) else size)


class Gaussians(NamedTuple):
    """Mean vectors of the states and their covariances, as variances of shape (S, d) or matrices (S, d, d)."""

    means: Array
    covariances: Array

    def logs(self, X: Array) -> Array:
        """Return the log-densities of observations, of shape (observations, S)."""
        try:
            roots = np.linalg.cholesky(self.matrices)
        except np.linalg.LinAlgError:
            about = "a covariance is not positive definite; use fewer states, or increase covars_prior"
            raise InputError(about, "covars_prior") from None
        logs = np.empty((len(X), len(roots)))
        for s, (mean, root) in enumerate(zip(self.means, roots, strict=True)):
            z = np.linalg.solve(root, (X - mean).T)
            logs[:, s] = -0.5 * (z * z).sum(axis=0) - np.log(np.diagonal(root)).sum()
        return logs - 0.5 * X.shape[1] * np.log(2 * np.pi)

    @property
    def matrices(self) -> Array:
        """The covariance matrices."""
        full = self.covariances.ndim == 3
        return self.covariances if full else self.covariances[:, :, None] * np.eye(self.means.shape[1])

    @property
    def penalty(self) -> float:
        """Half the sum of the traces of the inverse covariance matrices."""
        return float(np.trace(np.linalg.inv(self.matrices), axis1=1, axis2=2).sum()) / 2

    def updated(self, X: Array, shares: Array, prior: float, fixed: Sequence[str]) -> Gaussians:
        """Return the means and covariances that maximize the expected log-likelihood, given the state posteriors."""
        counts, full = shares.sum(axis=0), self.covariances.ndim == 3
        means, covariances = self.means.copy(), self.covariances.copy()
        for s in np.flatnonzero(counts > MIN_COUNT):
            if "means" not in fixed:
                means[s] = shares[:, s] @ X / counts[s]
            if "covars" not in fixed:
                away = X - means[s]
                weighted = away * shares[:, s, None]
                squares = weighted.T @ away if full else (weighted * away).sum(axis=0)
                covariances[s] = (prior * (np.eye(X.shape[1]) if full else 1) + squares) / counts[s]
        return Gaussians(means, covariances)

    def degenerate(self, X: Array, shares: Array) -> str:
        """Describe the first state with too few observations, or with hardly any variance; empty if there is none."""
        least = self.means.shape[1] + 1 if self.covariances.ndim == 3 else 2
        whole, counts = X.var(axis=0).max(), shares.sum(axis=0)
        for s, matrix in enumerate(self.matrices):
            variance = np.linalg.eigvalsh(matrix)[0]
            if counts[s] < least or variance <= NARROW * whole:
                return f"state {s} has {counts[s]:.3g} expected observations and the smallest variance {variance:.3g}"
        return ""


def first_gaussians(X: Array, states: int, *, full: bool, random: bool, prior: float, seed: int | None) -> Gaussians:
    """Return initial emissions: centres of k-means clusters, or random observations, and the covariance of all."""
    from sklearn.cluster import KMeans

    if len(X) < states:
        raise InputError(f"{states} states require at least as many observations; got {len(X)}", "states")
    if random:
        means = X[np.random.default_rng(seed).choice(len(X), states, replace=False)]
    else:
        means = KMeans(states, n_init=10, random_state=seed).fit(X).cluster_centers_
    covariance = np.cov(X.T, bias=True).reshape(X.shape[1], -1) + prior / len(X) * np.eye(X.shape[1])
    return Gaussians(means, np.array([covariance if full else np.diagonal(covariance)] * states))
