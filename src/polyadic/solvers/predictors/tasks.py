r"""Many tasks over the same features, through few directions: the objective, its gradient and where to begin.

.. math:: f(U, V, b) = \sum_{(i, k)\ \mathrm{known}} \ell(y_{ik}, x_i^\top U v_k + b_k)
          + \tfrac\lambda2 (\|U\|_F^2 + \|V\|_F^2)

with :math:`U \in \mathbb R^{d \times R}`, :math:`V \in \mathbb R^{K \times R}`, and targets of the squared and Huber
loss less the mean of all. The least :math:`\tfrac12 (\|U\|_F^2 + \|V\|_F^2)` over all :math:`U V^\top = \Theta` is the
trace norm of :math:`\Theta`, so with a rank that does not bind this is the convex problem with the penalty
:math:`\lambda \|\Theta\|_*`.

References
----------
Yu, Jain, Kar, Dhillon (2014), Large-scale multi-label learning with missing labels, equation 2.
Srebro, Rennie, Jaakkola (2005), Maximum-margin matrix factorization, lemma 1, for the trace norm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from polyadic.errors import InputError
from polyadic.linalg import truncated_svd
from polyadic.losses import Logistic
from polyadic.penalties import L2
from polyadic.solvers.smooth import WithOffsets

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.forms import Factors
    from polyadic.losses import Convex

    Array = NDArray[np.float64]

RIDGE = 0.01
"""Of offsets, which keeps that of a label which nothing has finite, and gives a task without targets the mean."""
SCALES = 2.0 ** np.arange(-20, 11)
"""Of the start that are tried."""


class Tasks:
    r"""Losses of known cells, and their gradient.

    Parameters
    ----------
    X : csr_array or ndarray of shape (n, d)
    rows, columns : ndarray of int of shape (m,), or None
        The known cells; None for both if all are.
    y : ndarray of shape (m,), or (n, K) if all are known
    tasks : int
        K.
    loss : Convex
    ridge : float
        :math:`\lambda`.

    Attributes
    ----------
    centre : float
        What was taken from all targets, so that a shift of them changes nothing else; 0 for the logistic loss.
    """

    def __init__(
        self,
        X: Any,
        rows: NDArray[np.int64] | None,
        columns: NDArray[np.int64] | None,
        y: Array,
        *,
        tasks: int,
        loss: Convex,
        ridge: float,
    ) -> None:
        self.centre = 0.0 if isinstance(loss, Logistic) else float(y.mean())
        self.X, self.rows, self.columns, self.y, self.loss = X, rows, columns, y - self.centre, loss
        self.shape = (X.shape[0], tasks)
        self.penalties = (L2(ridge), L2(ridge), L2(RIDGE))

    @classmethod
    def of(cls, X: Any, targets: ArrayLike, *, loss: Convex, ridge: float) -> Tasks:
        """Take rows of features and targets of shape (n, K), NaN where they are not known.

        Raises
        ------
        InputError
            If shapes do not fit, no target is known, one is infinite, or not from 0 to 1 where the loss wants that.
        """
        Y = np.asarray(targets, float)
        if Y.ndim != 2 or len(Y) != X.shape[0]:
            raise InputError(
                f"targets must have a row for each of {X.shape[0]:,} and a column for each task; got {Y.shape}"
            )
        known = ~np.isnan(Y)
        if not known.any() or np.isinf(Y).any():
            raise InputError("targets must be finite, NaN where they are not known, and some must be known")
        y = Y[known]
        if isinstance(loss, Logistic) and not (y.min() >= 0 and y.max() <= 1):
            raise InputError(f"truth values are from 0 to 1; got {y.min():g} to {y.max():g}")
        if known.all():
            return cls(X, None, None, Y, tasks=Y.shape[1], loss=loss, ridge=ridge)
        rows, columns = known.nonzero()
        return cls(X, rows, columns, y, tasks=Y.shape[1], loss=loss, ridge=ridge)

    def value_and_gradient(self, factors: Factors) -> tuple[float, Factors]:
        """Give the objective at U, V and b, and its gradient."""
        U, V, b = factors
        Z = self.X @ U
        m = self._predicted(Z, V, b)
        value = float(self.loss.value(self.y, m).sum()) + sum(
            penalty.value(u) for penalty, u in zip(self.penalties, factors, strict=True)
        )
        G = self.slopes(m)
        gradient = [self.X.T @ (G @ V), G.T @ Z, np.asarray(G.sum(axis=0)).ravel()]
        return value, [np.asarray(g) + p.grad(u) for g, p, u in zip(gradient, self.penalties, factors, strict=True)]

    def slopes(self, m: Array) -> Any:
        """Give the derivatives of cells as a matrix of shape (n, K), sparse unless all cells are known."""
        g = self.loss.grad(self.y, m)
        return g if self.rows is None else csr_array((g, (self.rows, self.columns)), shape=self.shape)

    def start(self, rank: int) -> Factors:
        """Give the best offsets, and U and V along the strongest directions in which the loss falls.

        Zero is a saddle, which descent does not leave; the scale is the best of ``SCALES``.
        """
        n, K = self.shape
        columns = np.tile(np.arange(K), n) if self.columns is None else self.columns
        flat = WithOffsets(self.y.ravel(), columns, self.loss, 1.0, RIDGE, K)
        b = flat.offsets(np.zeros(self.y.size))
        S = -(self.X.T @ self.slopes(b[columns].reshape(self.y.shape)))
        S = S.toarray() if issparse(S) else np.asarray(S)
        if rank < min(S.shape):
            u, s, v = truncated_svd(S, rank, seed=0)
        else:
            u, s, w = np.linalg.svd(S, full_matrices=False)
            v = w.T
        if not s[0]:
            return [u * 0, v * 0, b]
        root = np.sqrt(s / s[0])
        starts = [[u * root * c, v * root * c, b] for c in SCALES]
        return min(starts, key=lambda factors: self.value_and_gradient(factors)[0])

    def _predicted(self, Z: Array, V: Array, b: Array) -> Array:
        if self.rows is None or self.columns is None:
            return np.asarray(Z @ V.T + b)
        return np.asarray(np.einsum("mr,mr->m", Z[self.rows], V[self.columns]) + b[self.columns])
