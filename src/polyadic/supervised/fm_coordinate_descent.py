r"""Factorization machines: their parameters, and exact descent of one parameter at a time.

.. math:: m(x) = w_0 + \sum_f e_{d_f}(v_{1f} x_1, v_{2f} x_2, \ldots), \quad e_1(z) = \sum_j z_j, \quad
          e_2(z) = \sum_{j < k} z_j z_k, \quad e_3(z) = \sum_{j < k < l} z_j z_k z_l, \ldots

A column of order 1 is linear weights; those of order 2 are the factors of the usual machine, those of order d the
factors of the ANOVA kernel of that order. All minimise

.. math:: \sum_i w_i \ell(y_i, m(x_i)) + \tfrac12 \sum_j n_j^\gamma \sum_f \lambda_f v_{jf}^2

where feature j stands in :math:`n_j` rows. A score is linear in each parameter, so the squared loss can be solved for
it, and another of bounded curvature :math:`c` through the parabola that touches it from above:
:math:`\ell(m + t) \le \ell(m) + \ell'(m) t + \tfrac c2 t^2`. Neither ever raises the objective.

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
"""Instead of no row, so that a feature without one is held at zero."""
COPIES = 4
"""Of the parameters that a fit holds at once: where it is, the best so far, and what a step needs."""


class Machine(NamedTuple):
    """Parameters.

    Attributes
    ----------
    bias : float
    V : ndarray of shape (features, K)
    """

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
        :math:`\gamma`: 0 penalises all features alike, 1 by their rows.
    """

    columns: Array
    power: float

    def features(self, counts: NDArray[Any]) -> Array:
        r"""Give :math:`n_j^\gamma`."""
        return np.maximum(counts, TINY) ** self.power

    def value(self, V: Array, counts: NDArray[Any]) -> float:
        """Give the penalty."""
        return float(0.5 * self.features(counts) @ (V**2 @ self.columns))


class Observed(NamedTuple):
    """Rows and what is known of them.

    Attributes
    ----------
    table : FeatureTable
    y : ndarray of shape (rows,)
    weights : ndarray of shape (rows,) or None
    """

    table: FeatureTable
    y: Array
    weights: Array | None = None

    @property
    def counts(self) -> Array:
        """In how many rows each feature stands, by their weights."""
        if self.weights is None:
            return self.table.counts.astype(float)
        starts, columns, _ = self.table.rows
        return np.asarray(np.bincount(columns, np.repeat(self.weights, np.diff(starts)), self.table.shape[1]), float)

    def loss(self, loss: Loss, m: Array) -> float:
        """Give the weighted sum of losses."""
        values = loss.value(self.y, m)
        return float(values.sum() if self.weights is None else self.weights @ values)


def orders_of(rank: tuple[int, ...], *, linear: bool = True) -> NDArray[np.int64]:
    """Give the order of each column: one of order 1 if ``linear``, ``rank[0]`` of order 2, ``rank[1]`` of 3, ...

    Examples
    --------
    >>> orders_of((2, 1)).tolist()
    [1, 2, 2, 3]
    """
    return np.repeat(np.arange(1, len(rank) + 2), [int(linear), *rank])


def started(table: FeatureTable, orders: NDArray[np.int64], scale: float, rng: np.random.Generator) -> Array:
    """Draw parameters to start from: linear weights of zero, normal factors of standard deviation ``scale``.

    Those of a feature of a size beyond 1, its root mean square, are smaller by it: otherwise scores would begin far
    from the data, and a fit would seem to settle once it is back from there.

    Raises
    ------
    InputError
        If memory does not suffice.
    """
    features, K = table.shape[1], len(orders)
    remedy = "lower the rank, or leave no gaps between the numbers of features"
    check_memory(COPIES * 8.0 * features * K, f"a machine of {features:,} features", remedy)
    V = scale * rng.standard_normal((features, K)) / np.maximum(table.sizes, 1)[:, None]
    V[:, orders == 1] = 0
    return np.asarray(V)


def descend_features(
    data: Observed, start: Machine, *, orders: NDArray[np.int64], loss: Convex, ridge: Ridge, threads: int = 1
) -> Iterator[Sweep]:
    """Solve for the bias, and feature by feature for one column after another.

    Parameters
    ----------
    data : Observed
    start : Machine
        It is not changed.
    orders : ndarray of shape (K,)
        Rising.
    loss : Convex
    ridge : Ridge
    threads : int
        The result does not depend on them.

    Yields
    ------
    Sweep
        Of factors ``[bias, V]``; first the start.
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
    """Give the distance from predictions to where the touching parabola is lowest."""
    return y - m if isinstance(loss, Squared) else -loss.grad(y, m) / loss.curvature
