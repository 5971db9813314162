r"""Sparse topics and dense documents by squares: regularized latent semantic indexing.

.. math:: \min_{W, H} \|X - W H^\top\|^2 + \lambda_1 \|H\|_1 + \lambda_2 \|W\|^2

References
----------
Wang, Xu, Li, Craswell (2011), Regularized latent semantic indexing, algorithms 1 to 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from polyadic import kernels
from polyadic.linalg import truncated_svd
from polyadic.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float32]


def ridge_rows(X: csr_array, H: Array, *, l2: float) -> Array:
    r"""Solve for the rows of documents: :math:`W = X H (H^\top H + \lambda_2)^{-1}`."""
    G = (H.T @ H).astype(float) + l2 * np.eye(H.shape[1])
    return np.linalg.solve(G, (X @ H).T.astype(float)).T.astype(np.float32)


def singular_start(X: csr_array, rank: int, *, seed: int | None) -> Array:
    """Give the first right singular vectors; beyond the rank that the table can have, random directions."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((X.shape[1], rank)).astype(np.float32)
    H /= np.linalg.norm(H, axis=0)
    count = min(rank, *(n - 1 for n in X.shape))
    if count:
        H[:, :count] = truncated_svd(X, count, method="randomized", seed=int(rng.integers(2**31)))[2]
    return H


def latent_indexing(
    X: csr_array, start: Array, *, l1: float, l2: float, passes: int = 1, threads: int
) -> Iterator[Sweep]:
    r"""Solve for documents, then improve topics by coordinates; neither raises the objective.

    Beyond the paper each topic is then scaled, and its documents inversely, as the penalties have it: the model stays
    as it is, and coordinates alone get there slowly.

    Parameters
    ----------
    X : csr_array of shape (documents, words)
    start : float32 ndarray of shape (words, R)
        :math:`H`; it is not changed.
    l1, l2 : float
        :math:`\lambda_1` and :math:`\lambda_2`, above zero: alone, either is evaded by scale.
    passes : int
        Over the coordinates of the topics in a sweep.
    threads : int

    Yields
    ------
    Sweep
        First the start, with the documents that are best for it.
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
    """Give the scale of each topic, and of documents by its inverse, at which both penalties together are least."""
    of_words, of_documents = np.abs(H).sum(axis=0, dtype=float), (W.astype(float) ** 2).sum(axis=0)
    used = (of_words > 0) & (of_documents > 0)
    scale = np.cbrt(2 * l2 * of_documents / (l1 * np.where(used, of_words, 1)))
    return np.where(used, scale, 1).astype(np.float32)
