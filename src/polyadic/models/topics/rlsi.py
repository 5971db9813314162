"""Regularized latent semantic indexing: topics of few words, found by squares."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.models.base import Amount, Count, Positive, Seed, Threads, Watch
from polyadic.models.topics.base import Topics
from polyadic.solvers.run import run
from polyadic.solvers.topics.latent_indexing import latent_indexing, ridge_rows, singular_start

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RLSI(Topics):
    r"""Topics of few words each, and documents that use all topics, of either sign.

    .. math:: \min \|X - W H\|^2 + \lambda_1 \sum_k \|h_k\|_1 + \lambda_2 \|W\|^2

    :math:`H` by coordinate descent from singular vectors, :math:`W` exactly; no sweep raises the objective. (In the
    paper documents are columns: its :math:`U` is :math:`H^\top`, its :math:`V` is :math:`W^\top`.)

    Parameters
    ----------
    rank : int
        Topics.
    l1, l2 : float
        :math:`\lambda_1` of words in topics, for rows of length 1 as TF-IDF gives; :math:`\lambda_2` of topics in
        documents. Alone, either would be evaded by scale.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    inner : int
        Passes over the words of topics in a sweep.
    seed : int, optional
        Of the search for singular vectors; what it changes is small.
    threads : int, optional
        All cores by default; the result depends on them in last digits only.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    components_ : float32 ndarray of shape (rank, words)
        :math:`H`. The sign of a topic is that of most of the sum of its weights.
    row_factors_ : float32 ndarray of shape (documents, rank)
        :math:`W`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    Wang, Xu, Li, Craswell (2011), Regularized latent semantic indexing, equation 2.

    Examples
    --------
    >>> x = np.array([[2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 6.0]])
    >>> model = RLSI(2, l1=0.1, l2=0.01, seed=0).fit(x)
    >>> (model.components_ != 0).sum(axis=1).tolist()
    [2, 2]
    """

    rank: Count = 10
    _: KW_ONLY
    l1: Positive = 0.1
    l2: Positive = 0.1
    max_iter: Count = 500
    tol: Amount = 1e-4
    inner: Count = 1
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorize a table.

        Parameters
        ----------
        X : sparse matrix or array of shape (documents, words)

        Raises
        ------
        InputError
            If a value is negative, all are zero, or a parameter is out of range.
        """
        del y
        self.check()
        table = self._table(X, reset=True)
        start = singular_start(table, self.rank, seed=self.seed)
        sweeps = latent_indexing(table, start, l1=self.l1, l2=self.l2, passes=self.inner, threads=self._threads)
        W, H = self._keep(run(sweeps, max_iter=self.max_iter, tol=self.tol, watch=self.watch))
        signs = np.where(H.sum(axis=0) < 0, np.float32(-1), np.float32(1))
        self.row_factors_, self.components_ = W * signs, np.ascontiguousarray((H * signs).T)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Give the factors of other documents, with the topics as they are."""
        check_is_fitted(self)
        return ridge_rows(self._table(X, reset=False), self.components_.T, l2=self.l2)
