"""Sparse non-negative word vectors: sparse coding of PPMI-SVD vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.core import kernels
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Count
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run
from polyadic.embedding import unit_rows
from polyadic.words.base import IterativeModel, listed
from polyadic.words.pairwise import PPMISVD

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NNSE(IterativeModel):
    r"""Non-negative sparse embedding (NNSE): each word vector is a sparse combination of dictionary atoms.

    .. math:: \min_{A \ge 0,\; \|D_k\|_2 \le 1} \tfrac12 \|X - A D\|_F^2 + \lambda \|A\|_1

    The rows of :math:`X` are the PPMI-SVD vectors of the words, scaled to unit length so that :math:`\lambda` has the
    same effect on each. Codes and dictionary are updated in turn, and neither step increases the objective. The columns
    of :math:`A` are interpretable: the words with the largest values in one share a topic or a category.

    Parameters
    ----------
    rank : int
        Dimension of the codes: columns of :math:`A`, rows of :math:`D`. It may exceed ``svd_rank``.
    svd_rank : int, optional
        Dimension of the PPMI-SVD vectors :math:`X`, by default 300.
    power : float
        Exponent of the singular values in :math:`X`; see :class:`~polyadic.words.pairwise.PPMISVD`.
    l1 : float
        Strength :math:`\lambda` of the L1 penalty; larger values give more zeros.
    max_iter : int
        Maximum number of sweeps; one sweep is both steps.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, rank)
        The codes :math:`A`, non-negative, most elements exactly zero.
    dictionary_ : ndarray of shape (rank, svd_rank)
        The dictionary :math:`D`.
    zeros_ : float
        Share of the elements of :math:`A` that are zero.

    References
    ----------
    Murphy, Talukdar, Mitchell (2012), Learning effective and interpretable semantic models using non-negative sparse
    embedding, eq. 1 to 3. Mairal, Bach, Ponce, Sapiro (2009), Online dictionary learning for sparse coding,
    algorithm 2, for the dictionary.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]], np.ones(6), 6)
    >>> A = NNSE(2, svd_rank=2, l1=0.1, seed=0).fit(x).vectors_
    >>> (A > 0).sum(axis=1).tolist(), bool((A[0] * A[1]).any()), bool((A[0] * A[3]).any())
    ([1, 1, 1, 1, 1, 1], True, False)
    """

    _: KW_ONLY
    svd_rank: Count | None = None
    power: Amount = 0.5
    l1: Amount = 0.05
    max_iter: Count = 50

    def fit(self, entries: Any) -> Self:
        """Decompose a symmetric association matrix by SVD, and compute sparse codes of the word vectors.

        For the parameters, see :meth:`PPMISVD.fit <polyadic.words.pairwise.PPMISVD.fit>`.
        """
        self.check()
        entries = listed(entries, symmetric=True)
        if entries.order != 2:
            what = "a symmetric matrix of associations, such as the result of ppmi for counts of order 2"
            raise InputError(f"NNSE requires {what}")
        size = entries.shape[0]
        check_int("rank", self.rank, low=1, high=size)
        kept = min(300, size - 1) if self.svd_rank is None else self.svd_rank
        check_int("svd_rank", kept, low=1, high=size - 1)
        what = f"a model of {size:,} words, rank {self.rank} and svd_rank {kept}"
        check_memory(16.0 * size * (self.rank + kept), what, "lower a rank or the size of the vocabulary")
        X = unit_rows(PPMISVD(kept, power=self.power, seed=self.seed).fit(entries).vectors_)
        solver = _sweeps(X, self.rank, self.l1, self._threads, np.random.default_rng(self.seed))
        sweeps = run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        self.vectors_, self.dictionary_ = self._keep(sweeps)
        self.zeros_ = float((self.vectors_ == 0).mean())
        return self


def _sweeps(X: NDArray[np.float32], rank: int, l1: float, threads: int, rng: np.random.Generator) -> Iterator[Sweep]:
    """Alternate between updating sparse codes and the dictionary, which is initialized with random words."""
    D = X[rng.choice(len(X), rank, replace=False)].copy()
    A = np.zeros((len(X), rank), np.float32)
    while True:
        squares = np.sum((X - A @ D) ** 2, dtype=float)
        yield Sweep([A.copy(), D.copy()], 0.5 * float(squares) + l1 * float(A.sum(dtype=float)))
        kernels.nonnegative_lasso(D @ D.T, X @ D.T, A, l1=l1, threads=threads)
        S, P = A.T @ A, A.T @ X
        for k in range(rank):  # block coordinate descent in the unit ball
            if S[k, k] > 0:
                best = D[k] + (P[k] - S[k] @ D) / S[k, k]
                D[k] = best / max(1.0, np.linalg.norm(best))
            else:  # an unused row does not affect the objective, so it is replaced by another word
                D[k] = X[rng.integers(len(X))]
