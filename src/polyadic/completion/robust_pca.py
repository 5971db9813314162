"""Robust principal component analysis: a low-rank matrix plus sparse outliers."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.admm import check_size, robust_pca
from polyadic.completion.cells import cells_of, explained, pairs
from polyadic.core.linalg.spectral import Spectral
from polyadic.core.model import Callback, Count, Model, Positive
from polyadic.core.solvers.run import run
from polyadic.core.solvers.trace_norm import warn_of_gap


class RobustPCA(Model):
    r"""Robust principal component analysis: decomposition into a low-rank and a sparse matrix.

    .. math:: \min_{L, S} \|L\|_* + \lambda \|S\|_1 \quad \text{such that} \quad L + S = X \text{ in known cells}

    If the singular vectors of L are spread over rows and columns and the cells of S are at random positions, both are
    recovered exactly, without knowledge of the rank or the positions.

    Parameters
    ----------
    penalty : float, optional
        Penalty :math:`\lambda` on the outliers. By default :math:`1 / \sqrt{p \max(m, n)}` with the share p of observed
        cells, which suits any scale of values.
    tol : float
        Relative duality gap and relative residual at which to stop.

    Attributes
    ----------
    matrix_, outliers_ : Spectral and csr_array of shape (m, n)
        L, of rank ``rank_``, as U, s and V; and S.
    gap_ : float
        Duality gap, an upper bound of the distance of the objective to its minimum.

    References
    ----------
    Candes, Li, Ma, Wright (2011), Robust principal component analysis?, eq. 1.1 and theorems 1.1 and 1.2.

    Examples
    --------
    >>> x = np.ones((20, 20))
    >>> x[3, 4] = 100.0
    >>> model = RobustPCA().fit(x)
    >>> model.rank_, model.outliers_.nnz, round(float(model.outliers_[3, 4]), 3)
    (1, 1, 99.0)
    """

    penalty: Positive | None = None
    _: KW_ONLY
    max_iter: Count = 1000
    tol: Positive = 1e-6
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decompose a matrix, as other completion models take it, into a low-rank matrix and a sparse one of outliers.

        InputError is raised if all observed cells are zero, the matrix is too large, or a parameter is out of range.
        """
        self.check()
        cells = cells_of(X)
        check_size(cells.shape)
        known = ~np.isnan(dense := cells.array())
        dense[~known] = 0
        usual = (known.mean() * max(cells.shape)) ** -0.5
        penalty = float(usual if self.penalty is None else self.penalty)
        sweeps = robust_pca(dense, known, penalty=penalty, tol=self.tol)
        U, s, V, S, bound = self._keep(run(sweeps, max_iter=self.max_iter, callback=self.callback))
        self.matrix_, self.outliers_, self.rank_ = Spectral(U, s, V), csr_array(S), len(s)
        self.gap_ = self.history_[-1] - float(bound)
        warn_of_gap(self.result_, self.gap_, tol=self.tol)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return R² of the predictions of held-out cells by the low-rank matrix; X is as in :meth:`fit`."""
        check_is_fitted(self)
        cells, (U, s, V) = cells_of(X), self.matrix_
        i, j = pairs(cells.rows, cells.columns, (len(U), len(V)))
        return explained(cells.values, np.einsum("nr,nr->n", U[i] * s, V[j]))
