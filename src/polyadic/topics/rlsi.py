r"""Regularized latent semantic indexing: sparse topics and dense documents by least squares.

.. math:: \min_{W, H} \|X - W H^\top\|^2 + \lambda_1 \|H\|_1 + \lambda_2 \|W\|^2

References
----------
Wang, Xu, Li, Craswell (2011), Regularized latent semantic indexing, algorithms 1 to 3.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from polyadic.core import kernels
from polyadic.core.linalg import truncated_svd
from polyadic.core.model import Amount, Callback, Count, Positive, Seed
from polyadic.core.solvers.run import Sweep, run
from polyadic.topics.base import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float32]


class RLSI(Topics):
    r"""Regularized latent semantic indexing: sparse topics, dense document factors of either sign.

    .. math:: \min \|X - W H\|^2 + \lambda_1 \sum_k \|h_k\|_1 + \lambda_2 \|W\|^2

    :math:`H` is updated by coordinate descent, starting from singular vectors, and :math:`W` is solved exactly; no
    sweep increases the objective. In the paper documents are columns: its :math:`U` is :math:`H^\top`, its :math:`V` is
    :math:`W^\top`.

    Parameters
    ----------
    l1, l2 : float
        Strength of the L1 penalty of topics, :math:`\lambda_1`, and of the L2 penalty of documents, :math:`\lambda_2`.
        Both must be positive, since a single penalty can be avoided by rescaling. The defaults suit rows of length 1,
        as in TF-IDF.
    inner : int
        Number of coordinate descent passes over the topics per sweep.
    seed : int, optional
        Seed of the randomized singular value decomposition; its effect is small.
    threads : int, optional
        Number of threads; all cores by default. Results differ between numbers of threads in the last digits only.

    Attributes
    ----------
    components_ : float32 ndarray of shape (n_components, words)
        Topics :math:`H`, signed such that the weights of each topic have a non-negative sum.
    row_factors_ : float32 ndarray of shape (documents, n_components)
        Factors :math:`W` of the training documents.

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

    _: KW_ONLY
    l1: Positive = 0.1
    l2: Positive = 0.1
    max_iter: Count = 500
    tol: Amount = 1e-4
    inner: Count = 1
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorize a table into topics and document factors.

        Parameters
        ----------
        X : sparse matrix or array of shape (documents, words)
            Non-negative weights of words in documents, such as TF-IDF.

        Raises
        ------
        InputError
            If a value is negative, all values are zero, or a parameter is out of range.
        """
        del y
        self.check()
        table = self._table(X, reset=True)
        start = singular_start(table, self.n_components, seed=self.seed)
        sweeps = latent_indexing(table, start, l1=self.l1, l2=self.l2, passes=self.inner, threads=self._threads)
        W, H = self._keep(run(sweeps, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        signs = np.where(H.sum(axis=0) < 0, np.float32(-1), np.float32(1))
        self.row_factors_, self.components_ = W * signs, np.ascontiguousarray((H * signs).T)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the factors of new documents with the topics fixed."""
        check_is_fitted(self)
        return ridge_rows(self._table(X, reset=False), self.components_.T, l2=self.l2)


def ridge_rows(X: csr_array, H: Array, *, l2: float) -> Array:
    r"""Return the document factors by ridge regression, :math:`W = X H (H^\top H + \lambda_2)^{-1}`."""
    G = (H.T @ H).astype(float) + l2 * np.eye(H.shape[1])
    return np.linalg.solve(G, (X @ H).T.astype(float)).T.astype(np.float32)


def singular_start(X: csr_array, n_components: int, *, seed: int | None) -> Array:
    """Initialize topics with right singular vectors of the table, and any further topics with random vectors."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((X.shape[1], n_components)).astype(np.float32)
    H /= np.linalg.norm(H, axis=0)
    count = min(n_components, *(n - 1 for n in X.shape))
    if count:
        H[:, :count] = truncated_svd(X, count, method="randomized", seed=int(rng.integers(2**31)))[2]
    return H


def latent_indexing(
    X: csr_array, start: Array, *, l1: float, l2: float, passes: int = 1, threads: int
) -> Iterator[Sweep]:
    """Iterate over sweeps that solve for the document factors and update the topics without increasing the objective.

    Topics :math:`H` have shape (words, R).

    Beyond the paper, topics are rescaled against their documents to minimize the penalties, where descent is slow.
    """
    turned, squares = csr_array(X.T), float((X.data.astype(float) ** 2).sum())
    H = start
    while True:
        W = ridge_rows(X, H, l2=l2)
        S, R = W.T @ W, turned @ W
        explained = 2 * float((H * R).sum(dtype=float)) - float(((H.T @ H).astype(float) * S).sum())
        penalty = l1 * float(np.abs(H).sum(dtype=float)) + l2 * float((W.astype(float) ** 2).sum())
        yield Sweep([W, H], squares - explained + penalty)
        H = H.copy()
        kernels.hals(S, R, H, l1=l1 / 2, signed=True, passes=passes, threads=threads)
        H *= _balance(H, W, l1=l1, l2=l2)


def _balance(H: Array, W: Array, *, l1: float, l2: float) -> Array:
    """Return the scale of each topic that minimizes the sum of the topic and document penalties.

    Documents scale inversely.
    """
    of_words, of_documents = np.abs(H).sum(axis=0, dtype=float), (W.astype(float) ** 2).sum(axis=0)
    used = (of_words > 0) & (of_documents > 0)
    scale = np.cbrt(2 * l2 * of_documents / (l1 * np.where(used, of_words, 1)))
    return np.where(used, scale, 1).astype(np.float32)
