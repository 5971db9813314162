r"""Parameters and penalties of factorization machines, and exact coordinate descent.

.. math:: m(x) = w_0 + \sum_f e_{d_f}(v_{1f} x_1, v_{2f} x_2, \ldots), \quad e_1(z) = \sum_j z_j, \quad
          e_2(z) = \sum_{j < k} z_j z_k, \quad e_3(z) = \sum_{j < k < l} z_j z_k z_l, \ldots

Columns of order 1 are linear weights, those of order 2 the factors of the usual factorization machine, and those of
order d the factors of the ANOVA kernel of that order. The objective is

.. math:: \sum_i w_i \ell(y_i, m(x_i)) + \tfrac12 \sum_j n_j^\gamma \sum_f \lambda_f v_{jf}^2

where feature j occurs in :math:`n_j` rows. Scores are linear in each parameter, so squared loss is minimised exactly,
and a loss of bounded curvature :math:`c` by the parabola that touches it from above: :math:`\ell(m + t) \le \ell(m) +
\ell'(m) t + \tfrac c2 t^2`. No step increases the objective.

References
----------
Rendle (2012), Factorization machines with libFM, sections 2 and 3.2. Blondel, Fujino, Ueda, Ishihata (2016),
Higher-order factorization machines, eq. 5 to 8. Boehning, Lindsay (1988), Monotonicity of quadratic-approximation
algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.losses import Squared
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep
from polyadic.supervised.kernels import FeatureTable, anova_scores, anova_sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.core.losses import Convex, Loss

    Array = NDArray[np.float64]

TINY = 1e-12
"""Substitute for a count of 0, so that features without a row stay at zero."""
COPIES = 4
"""Number of copies of the parameters held during a fit: current, best so far, and working memory of a step."""


class Machine(NamedTuple):
    """Bias and parameters V of shape (features, K) of a factorization machine."""

    bias: float
    V: Array


@dataclass(frozen=True)
class Ridge:
    r"""The penalty :math:`\tfrac12 \sum_j n_j^\gamma \sum_f \lambda_f v_{jf}^2`.

    Attributes
    ----------
    columns : ndarray of shape (K,)
        :math:`\lambda`.
    power : float
        :math:`\gamma`: 0 penalises all features alike, 1 in proportion to their number of rows.
    """

    columns: Array
    power: float

    def features(self, counts: NDArray[Any]) -> Array:
        r"""Return :math:`n_j^\gamma`."""
        return np.maximum(counts, TINY) ** self.power

    def value(self, V: Array, counts: NDArray[Any]) -> float:
        """Return the penalty."""
        return float(0.5 * self.features(counts) @ (V**2 @ self.columns))


class Observed(NamedTuple):
    """Feature vectors, targets and optional weights of rows."""

    table: FeatureTable
    y: Array
    weights: Array | None = None

    @property
    def counts(self) -> Array:
        """Weighted number of rows of each feature."""
        if self.weights is None:
            return self.table.counts.astype(float)
        starts, columns, _ = self.table.rows
        return np.asarray(np.bincount(columns, np.repeat(self.weights, np.diff(starts)), self.table.shape[1]), float)

    def loss(self, loss: Loss, m: Array) -> float:
        """Return the weighted sum of losses."""
        values = loss.value(self.y, m)
        return float(values.sum() if self.weights is None else self.weights @ values)


def orders_of(rank: tuple[int, ...], *, linear: bool = True) -> NDArray[np.int64]:
    """Return the order of each column: one of order 1 if ``linear``, ``rank[0]`` of order 2, ``rank[1]`` of 3, ...

    Examples
    --------
    >>> orders_of((2, 1)).tolist()
    [1, 2, 2, 3]
    """
    return np.repeat(np.arange(1, len(rank) + 2), [int(linear), *rank])


def started(table: FeatureTable, orders: NDArray[np.int64], scale: float, rng: np.random.Generator) -> Array:
    """Return initial parameters: linear weights of zero, and normal factors of standard deviation ``scale``.

    Factors of features with a root mean square above 1 are divided by it. Otherwise scores would start far from the
    data, and a fit would seem to converge as soon as it has come back.
    """
    features, K = table.shape[1], len(orders)
    remedy = "lower the rank, or number the features without gaps"
    check_memory(COPIES * 8.0 * features * K, f"a machine of {features:,} features", remedy)
    V = scale * rng.standard_normal((features, K)) / np.maximum(table.sizes, 1)[:, None]
    V[:, orders == 1] = 0
    return np.asarray(V)


def descend_features(
    data: Observed, start: Machine, *, orders: NDArray[np.int64], loss: Convex, ridge: Ridge, threads: int = 1
) -> Iterator[Sweep]:
    """Minimise over the bias, then over each feature of one column after another.

    Parameters
    ----------
    data : Observed
    start : Machine
        Not changed.
    orders : ndarray of shape (K,)
        Order of each column, non-decreasing.
    loss : Convex
    ridge : Ridge
    threads : int
        The result does not depend on it.

    Yields
    ------
    Sweep
        Factors ``[bias, V]``; first the start.
    """
    table, y, w = data
    bias, W = start.bias, np.ascontiguousarray(start.V.T, float).copy()
    c, counts = loss.curvature, data.counts
    share = ridge.features(counts)
    caches = {int(d): np.zeros((table.shape[0], int(d))) for d in np.unique(orders)}
    m = bias + anova_scores(table, start.V, orders=orders, threads=threads)
    while True:
        V = np.ascontiguousarray(W.T)
        yield Sweep([np.array([bias]), V], data.loss(loss, m) + ridge.value(V, counts))
        left = _left(loss, y, m)
        moved = float(np.average(left, weights=w))
        bias += moved
        m = m + moved
        for v, d, strength in zip(W, orders.tolist(), ridge.columns.tolist(), strict=True):
            left, C = _left(loss, y, m), caches[d]
            C[:, 0] = left
            anova_sweep(table, v, C, ridge=strength * share, precision=c, weights=w, threads=threads)
            m = m + (left - C[:, 0])


def _left(loss: Convex, y: Array, m: Array) -> Array:
    """Return the distance from predictions to the minimum of the touching parabola."""
    return y - m if isinstance(loss, Squared) else -loss.grad(y, m) / loss.curvature
