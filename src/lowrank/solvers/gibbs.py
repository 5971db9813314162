r"""Gibbs sampling of two factors whose rows share normal priors, and these a Normal-Wishart prior of their own.

.. math:: x_{ij} \sim N(u_i \cdot v_j, \alpha^{-1}), \quad u_i \sim N(\mu, \Lambda^{-1}), \quad
          \mu \sim N(0, (\beta_0 \Lambda)^{-1}), \quad \Lambda \sim W(I, R), \quad \alpha \sim \Gamma(a_0, b_0)

and the same for :math:`v_j`. Given all else, each is drawn from its distribution; rows do not depend on one another.

References
----------
Salakhutdinov, Mnih (2008), Bayesian probabilistic matrix factorization using Markov chain Monte Carlo, eq. 7 to 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lowrank.kernels import RowEntries, posterior_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Priors:
    r"""What is believed before any cell is seen.

    Attributes
    ----------
    beta : float
        :math:`\beta_0`, how many rows the prior mean 0 is worth.
    shape, rate : float
        :math:`a_0` and :math:`b_0` of the precision of the noise.
    """

    beta: float = 2.0
    shape: float = 1.0
    rate: float = 1.0


@dataclass
class Draw:
    """One state of the chain.

    Attributes
    ----------
    U, V : ndarray of shape (rows, R) and (columns, R)
    alpha : float
        Precision of the noise.
    """

    U: Array
    V: Array
    alpha: float


def draw_prior(U: Array, priors: Priors, rng: np.random.Generator) -> tuple[Array, Array]:
    r"""Draw :math:`\mu` and :math:`\Lambda` given the rows that they are of.

    Returns
    -------
    ndarray of shape (R,), ndarray of shape (R, R)
    """
    n, R = U.shape
    mean = U.mean(axis=0)
    centred = U - mean
    weight = priors.beta * n / (priors.beta + n)
    scatter = np.eye(R) + centred.T @ centred + weight * np.outer(mean, mean)
    precision = wishart(np.linalg.inv(scatter), R + n, rng)
    spread = np.linalg.cholesky((priors.beta + n) * precision)
    mu = n * mean / (priors.beta + n) + np.linalg.solve(spread.T, rng.standard_normal(R))
    return mu, precision


def wishart(scale: Array, freedom: float, rng: np.random.Generator) -> Array:
    """Draw from a Wishart distribution of mean ``freedom * scale``, by Bartlett's decomposition."""
    R = len(scale)
    A = np.tril(rng.standard_normal((R, R)), -1)
    A[np.diag_indices(R)] = np.sqrt(rng.chisquare(freedom - np.arange(R)))
    X = np.linalg.cholesky((scale + scale.T) / 2) @ A
    return np.asarray(X @ X.T)


def gibbs(
    by_row: RowEntries, by_column: RowEntries, start: Draw, *, priors: Priors, rng: np.random.Generator, threads: int
) -> Iterator[Draw]:
    r"""Draw states one after another.

    Parameters
    ----------
    by_row, by_column : RowEntries
        Known cells: weights :math:`c` of ones, and :math:`y`, their values. The columns of ``by_column`` are rows.
    start : Draw
        Where the chain begins, or went on to.
    priors : Priors
    rng : Generator
    threads : int
        The result does not depend on them.
    """
    state = start
    rows = np.repeat(np.arange(len(by_row.starts) - 1), np.diff(by_row.starts))
    while True:
        U = _drawn(by_row, state.V, state.U, state.alpha, priors, rng, threads)
        V = _drawn(by_column, U, state.V, state.alpha, priors, rng, threads)
        left = by_row.y - np.einsum("nr,nr->n", U[rows], V[by_row.columns])
        shape, rate = priors.shape + len(left) / 2, priors.rate + float(left @ left) / 2
        state = Draw(U, V, rng.gamma(shape, 1 / rate))
        yield state


def _drawn(
    entries: RowEntries, V: Array, U: Array, alpha: float, priors: Priors, rng: np.random.Generator, threads: int
) -> Array:
    """Draw the prior given the rows, then the rows."""
    mu, precision = draw_prior(U, priors, rng)
    weighed = RowEntries(entries.starts, entries.columns, alpha * entries.c, alpha * entries.y)
    noise = rng.standard_normal(U.shape)
    return posterior_rows(weighed, V, precision=precision, linear=precision @ mu, noise=noise, threads=threads)
