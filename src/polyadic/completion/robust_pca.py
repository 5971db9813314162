"""Robust principal components: a matrix of low rank, and a few cells that are something else."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from polyadic.completion.admm import refuse_large, robust_pca
from polyadic.completion.cells import cells_of
from polyadic.core.linalg.spectral import Spectral
from polyadic.core.model import Callback, Count, Model, Positive
from polyadic.core.solvers.run import run
from polyadic.core.solvers.trace_norm import warn_of_gap


class RobustPCA(Model):
    r"""A matrix as the sum of one of low rank and one with few cells, however large these are.

    .. math:: \min_{L, S} \|L\|_* + \lambda \|S\|_1 \quad \text{such that} \quad L + S = X \text{ in known cells}

    If the singular vectors of L are spread over rows and columns, and the cells of S lie anywhere, both are found
    exactly, though neither the rank nor the cells are given.

    Parameters
    ----------
    penalty : float, optional
        :math:`\lambda`; by default :math:`1 / \sqrt{p \max(m, n)}` with a share p of cells known, which suits whatever
        the values are.
    max_iter, tol
        Sweeps at most, and the duality gap and the residual, both relative, at which to stop.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    matrix_ : Spectral
        L, as U, s and V.
    outliers_ : csr_array of shape (m, n)
        S.
    rank_ : int
    gap_ : float
        How much smaller the objective can be at most.
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

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
        """Split a matrix.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (m, n)
            Zeros that a sparse matrix lists are known.

        Raises
        ------
        InputError
            If no known cell differs from zero, the matrix is too large, or a parameter is out of range.
        """
        del y
        from scipy.sparse import csr_array

        self.check()
        cells = cells_of(X)
        refuse_large(cells.shape)
        dense, known = np.zeros(cells.shape), np.zeros(cells.shape, bool)
        dense[cells.rows, cells.columns], known[cells.rows, cells.columns] = cells.values, True
        usual = (known.mean() * max(cells.shape)) ** -0.5
        penalty = float(usual if self.penalty is None else self.penalty)
        sweeps = robust_pca(dense, known, penalty=penalty, tol=self.tol)
        U, s, V, S, bound = self._keep(run(sweeps, max_iter=self.max_iter, callback=self.callback))
        self.matrix_, self.outliers_, self.rank_ = Spectral(U, s, V), csr_array(S), len(s)
        self.gap_ = self.history_[-1] - float(bound)
        warn_of_gap(self.result_, self.gap_, tol=self.tol)
        return self
