"""Regularized latent semantic indexing: factors of words and of documents with L1 or L2 penalties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from polyadic.core import kernels
from polyadic.core.annotations import Array, Floats
from polyadic.core.linalg import truncated_svd
from polyadic.core.model import Amount, Callback, Count, Positive, Seed
from polyadic.core.solvers.run import Sweep
from polyadic.topics.base import Topics

Norm = Literal["l1", "l2"]
SIDES = ("document", "word")
PASSES = 10  # coordinate descent passes between two tests of convergence in :func:`lasso_rows`


class Penalty(NamedTuple):
    """Penalty of a factor: its norm and its strength."""

    norm: Norm
    strength: float

    @property
    def degree(self) -> int:
        """Degree of homogeneity: the penalty of a scaled factor is multiplied by the scale to this power."""
        return 1 if self.norm == "l1" else 2

    def columns(self, A: Floats) -> Array:
        """Return the penalty of each column of a factor."""
        return np.asarray(self.strength * (np.abs(A) ** self.degree).sum(axis=0, dtype=float))

    def improve(self, G: Floats, B: Floats, A: Floats, *, passes: int, threads: int) -> Floats:
        r"""Return a factor with a lower :math:`\|X - A D\|^2 + \Omega(A)`, given :math:`G = D D^\top, B = X D^\top`."""
        if self.norm == "l2":
            return ridge_rows(G, B, l2=self.strength)
        A = np.multiply(A, np.diagonal(G) > 0, order="C")  # a component without partner does not change the fit
        kernels.hals(G, B, A, l1=self.strength / 2, signed=True, passes=passes, threads=threads)
        return A


class RLSI(Topics):
    r"""Regularized latent semantic indexing: topics and document factors of either sign, with L1 or L2 penalties.

    .. math:: \min \|X - W H\|^2 + \lambda_H \Omega_H(H) + \lambda_W \Omega_W(W),
              \qquad \Omega(A) = \|A\|_1 \text{ or } \|A\|^2

    The paper proposes sparse topics and dense documents, the default, and compares all four pairs of norms. With two L2
    penalties :math:`W H` is the singular value decomposition with singular values reduced by
    :math:`\sqrt{\lambda_H \lambda_W}`. Starting from singular vectors, a factor with an L2 penalty is solved exactly,
    and a factor with an L1 penalty is updated by coordinate descent; no sweep increases the objective. In the paper
    documents are columns: its :math:`U` is :math:`H^\top`, its :math:`V` is :math:`W^\top`.

    Parameters
    ----------
    word_norm, document_norm : {"l1", "l2"}
        Penalty of the topics, :math:`\Omega_H`, and of the document factors, :math:`\Omega_W`: the sum of absolute
        values (l1), which gives zeros, or of squares (l2).
    word_penalty, document_penalty : float
        Strength of the two penalties, :math:`\lambda_H` and :math:`\lambda_W`. Both must be positive, since a single
        penalty can be avoided by rescaling. The defaults suit rows of length 1, as in TF-IDF.
    inner : int
        Number of coordinate descent passes over a factor with an L1 penalty per sweep.
    seed : int, optional
        Seed of the randomized singular value decomposition; its effect is small.

    Attributes
    ----------
    components_ : float32 ndarray of shape (n_components, words)
        Topics :math:`H`, signed such that the weights of each topic have a non-negative sum.
    row_factors_ : float32 ndarray of shape (documents, n_components)
        Factors :math:`W` of the training documents.

    References
    ----------
    Wang, Xu, Li, Craswell (2011), Regularized latent semantic indexing, equation 2, section 4.3 and algorithms 1 to 3.

    Examples
    --------
    >>> x = np.array([[2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 6.0]])
    >>> model = RLSI(2, word_penalty=0.1, document_penalty=0.01, seed=0).fit(x)
    >>> (model.components_ != 0).sum(axis=1).tolist()
    [2, 2]
    """

    _: KW_ONLY
    word_norm: Norm = "l1"
    document_norm: Norm = "l2"
    word_penalty: Positive = 0.1
    document_penalty: Positive = 0.1
    max_iter: Count = 500
    tol: Amount = 1e-4
    inner: Count = 1
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorize a table, such as of TF-IDF weights; see :meth:`Topics.fit <polyadic.topics.base.Topics.fit>`."""
        self.check()
        table = self._table(X, reset=True)
        start = singular_start(table, self.n_components, seed=self.seed)
        penalties = [Penalty(getattr(self, f"{side}_norm"), getattr(self, f"{side}_penalty")) for side in SIDES]
        sweeps = latent_indexing(table, start, *penalties, passes=self.inner, threads=self._threads)
        W, H = self._optimize(sweeps)
        signs = np.where(H.sum(axis=0) < 0, np.float32(-1), np.float32(1))
        self.row_factors_, self.components_ = W * signs, np.ascontiguousarray((H * signs).T)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the factors of new documents with the topics fixed."""
        check_is_fitted(self)
        H = self.components_.T
        G, B = H.T @ H, self._table(X, reset=False) @ H
        if self.document_norm == "l2":
            return ridge_rows(G, B, l2=self.document_penalty)
        l1, max_iter, tol = self.document_penalty, self.max_iter, self.tol
        return lasso_rows(G, B, l1=l1, max_iter=max_iter, tol=tol, threads=self._threads)


def ridge_rows(G: Floats, B: Floats, *, l2: float) -> Floats:
    r"""Return the rows that minimize a least-squares loss and a ridge penalty, :math:`B (G + \lambda)^{-1}`."""
    return np.linalg.solve(G.astype(float) + l2 * np.eye(len(G)), B.T.astype(float)).T.astype(np.float32)


def lasso_rows(G: Floats, B: Floats, *, l1: float, max_iter: int, tol: float, threads: int) -> Floats:
    """Return the rows that minimize a least-squares loss and an L1 penalty; each row converges by itself."""
    A, active = np.zeros(B.shape, np.float32), np.arange(len(B))
    for _ in range(0, max_iter, PASSES):
        new = A[active]
        kernels.hals(G, B[active], new, l1=l1 / 2, signed=True, passes=PASSES, threads=threads)
        moved = np.abs(new - A[active]).max(axis=1) > tol * np.abs(new).max(axis=1)
        A[active] = new
        active = active[moved]
        if not len(active):
            break
    return A


def singular_start(X: csr_array, n_components: int, *, seed: int | None) -> Floats:
    """Initialize topics with right singular vectors of the table, and any further topics with random vectors."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((X.shape[1], n_components)).astype(np.float32)
    H /= np.linalg.norm(H, axis=0)
    count = min(n_components, *(n - 1 for n in X.shape))
    if count:
        H[:, :count] = truncated_svd(X, count, method="randomized", seed=int(rng.integers(2**31)))[2]
    return H


def latent_indexing(
    X: csr_array, start: Floats, documents: Penalty, words: Penalty, *, passes: int = 1, threads: int
) -> Iterator[Sweep]:
    """Iterate over updates of the document factors and the topics, (words, R), which never raise the objective."""
    turned, squares = csr_array(X.T), float((X.data.astype(float) ** 2).sum())
    H, W = start, np.zeros((X.shape[0], start.shape[1]), np.float32)
    while True:
        W = documents.improve(H.T @ H, X @ H, W, passes=passes, threads=threads)
        S, R = W.T @ W, turned @ W
        explained = 2 * float((H * R).sum(dtype=float)) - float(((H.T @ H).astype(float) * S).sum())
        penalty = float(words.columns(H).sum() + documents.columns(W).sum())
        yield Sweep([W, H], squares - explained + penalty)
        H = words.improve(S, R, H, passes=passes, threads=threads)
        # beyond the paper, topics are rescaled to minimize the penalties, where descent is slow
        scale = _balance(words.columns(H), documents.columns(W), words.degree, documents.degree)
        H, W = H * scale, W / scale


def _balance(a: Array, b: Array, p: int, q: int) -> Floats:
    """Return the scale :math:`s` of each topic that minimizes the sum of penalties :math:`a s^p + b s^{-q}`."""
    used = (a > 0) & (b > 0)
    return np.where(used, (q * b / (p * np.where(used, a, 1))) ** (1 / (p + q)), 1).astype(np.float32)
