"""Truncated eigenvalue and singular value decompositions of large operators: block Lanczos and randomized methods."""

from __future__ import annotations

import contextlib
import warnings
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse.linalg import LinearOperator

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError, check_choice, check_int, check_number
from polyadic.core.linalg.sparse import distribute

BLOCK = 32  # vectors multiplied at once: one reading of a sparse matrix serves all, but more would delay convergence

DEAD, SURE = 0.5, 0.9
"""Remaining length of a unit row after the second projection below which it consists of rounding errors, and above
which it needs no third.
"""

CLEAR = 0.1  # remaining share of rows after the first projection above which they need no second one

FIRST_CHECK, CHECK_FACTOR, MAX_BASIS = 4, 1.08, 6
"""Vectors in the basis per eigenvalue when residuals are first checked, factor until the next check, and maximum. Word
matrices took 4.5 to 5.
"""

MAX_RESTARTS = 30  # maximum number of restarts


def truncated_eigh(
    operator: Any, rank: int, *, tol: float = 1e-2, seed: int | None = None
) -> tuple[AnyArray, AnyArray]:
    r"""Compute the ``rank`` eigenpairs of largest magnitude, :math:`A \approx V \mathrm{diag}(w) V^\top`.

    Block Lanczos with full orthogonalization and thick restarts (Wu and Simon 2000, here for blocks), until residuals
    :math:`\|A v - w v\|` are at most ``tol`` times the smallest eigenvalue. For a sparse matrix with slowly decaying
    eigenvalues this takes a fifth (in one thread) to a ninth of the time of ARPACK, as most of its work is matrix
    products. The element of largest magnitude of each vector is positive. Symmetry is not checked.
    """
    check_int("rank", rank, low=1)
    check_number("tol", tol, above=True)
    n = operator.shape[0]
    if operator.shape != (n, n):
        raise InputError(f"the matrix must be square; got shape {operator.shape}")
    if rank >= n:
        raise InputError(f"rank must be below {n}, the smaller dimension of the matrix; got {rank}", "rank")
    if not np.issubdtype(operator.dtype, np.floating):
        operator = operator.astype(float)
    operator = distribute(operator)
    if n <= 4 * rank + 5 * BLOCK:
        w, V = _largest(finite(np.asarray(operator @ np.eye(n, dtype=operator.dtype), float)), rank)
    else:
        w, V = _lanczos(
            operator, rank, min(MAX_BASIS * rank + 4 * BLOCK, n - BLOCK), tol=tol, rng=np.random.default_rng(seed)
        )
    V *= np.sign(V[np.abs(V).argmax(axis=0), np.arange(rank)])
    return w, V


def _lanczos(operator: Any, rank: int, size: int, *, tol: float, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
    """Compute leading eigenpairs of a large symmetric operator by block Lanczos; ``size`` is the size of the basis."""
    n, kind = operator.shape[0], np.dtype(operator.dtype)
    Q = np.empty((size + BLOCK, n), kind)  # rows are the basis and the next block
    T = np.zeros((size, size))  # Q A Q' below the diagonal
    Q[:BLOCK] = np.linalg.qr(rng.standard_normal((n, BLOCK)).astype(kind))[0].T
    filled = 0
    fillings, looked = 0, FIRST_CHECK * rank / CHECK_FACTOR
    while True:
        while filled + BLOCK <= size and filled < CHECK_FACTOR * looked:
            new = slice(filled, filled + BLOCK)
            Y = np.asarray(operator @ np.ascontiguousarray(Q[new].T)).T
            filled += BLOCK
            rest, T[new, :filled], onward = _orthogonalize(Y, Q[:filled], rng)
            Q[filled : filled + BLOCK] = rest
        looked = filled
        w, Z = _largest(finite(T[:filled, :filled]), 2 * rank)
        residuals = np.linalg.norm(onward @ Z[-BLOCK:, :rank], axis=0)
        attainable = 4 * np.finfo(kind).eps * np.sqrt(n) * abs(w[0])
        settled = residuals.max() <= max(tol * abs(w[rank - 1]), attainable)
        full = filled + BLOCK > size
        fillings += full
        if settled or fillings == MAX_RESTARTS:
            break
        if not full:
            continue
        best = Z.T.astype(kind) @ Q[:filled]
        Q[2 * rank : 2 * rank + BLOCK] = Q[filled : filled + BLOCK].copy()
        Q[: 2 * rank] = best
        filled, looked = 2 * rank, FIRST_CHECK * rank / CHECK_FACTOR
        T[:] = 0
        T[np.arange(filled), np.arange(filled)] = w
    if not settled:
        share = residuals.max() / abs(w[rank - 1])
        warnings.warn(f"eigenvectors have relative residuals of {share:.1g}, above the tolerance {tol:g}", stacklevel=3)
    return w[:rank], np.ascontiguousarray((Z[:, :rank].T.astype(kind) @ Q[:filled]).T)


def finite(A: AnyArray) -> AnyArray:
    """Return the array unchanged; raise InputError if it contains infinity or NaN."""
    if not np.isfinite(A).all():
        raise InputError("products with the matrix are not finite; divide the matrix by its largest element")
    return A


def _orthogonalize(Y: AnyArray, Q: AnyArray, rng: np.random.Generator) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Orthonormalize the rows of ``Y`` against the rows of ``Q`` and each other.

    Returns ``rest``, ``H`` and ``R`` with ``Y = H Q + R' rest`` and ``rest`` orthonormal and orthogonal to the rows of
    ``Q``. The projection is repeated where little remains. Rows that consist of rounding errors are replaced by random
    ones.
    """
    H = Y @ Q.T
    beyond = Y - H @ Q
    with contextlib.suppress(np.linalg.LinAlgError):  # the rows are dependent
        exact = beyond.astype(float)
        L = np.linalg.cholesky(exact @ exact.T)
        if L.diagonal().min() > CLEAR * np.linalg.norm(Y, axis=1).max():
            return np.linalg.inv(L).astype(Y.dtype) @ beyond, H, L.T
    rest, first = np.linalg.qr(beyond.T)
    G = rest.T @ Q.T
    beyond = rest - Q.T @ G.T
    rest, second = np.linalg.qr(beyond)
    left = np.abs(np.diag(second))
    if left.min() < SURE:
        rest[:, left < DEAD] = rng.standard_normal((len(rest), int((left < DEAD).sum())))
        for _ in range(2):
            rest = np.linalg.qr(rest - Q.T @ (Q @ rest))[0]
        second = rest.T @ beyond
    return rest.T, H + first.T @ G, second @ first


def one_thread() -> Any:
    """Return a context manager that limits BLAS to one thread, which is faster for small matrices."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _largest(A: AnyArray, rank: int) -> tuple[AnyArray, AnyArray]:
    """Return the ``rank`` eigenpairs of largest magnitude of a dense symmetric matrix, given its lower triangle."""
    with one_thread():
        w, V = np.linalg.eigh(A, UPLO="L")
    falling = np.argsort(-np.abs(w), kind="stable")[:rank]
    return w[falling], V[:, falling]


SVDMethod = Literal["lanczos", "randomized"]
OVERSAMPLE = 10  # random directions beyond the rank
POWERS = 5  # power iterations of A'A


def truncated_svd(
    operator: Any, rank: int, *, method: SVDMethod = "lanczos", tol: float = 1e-2, seed: int | None = None
) -> tuple[AnyArray, AnyArray, AnyArray]:
    r"""Compute the ``rank`` largest singular values and vectors, :math:`A \approx U \mathrm{diag}(s) V^\top`.

    Block Lanczos on the smaller of :math:`A^\top A` and :math:`A A^\top`, with ``tol`` for squared singular values, or
    randomized subspace iteration (Halko, Martinsson, Tropp 2011, algorithm 4.4), which is faster and less accurate for
    small ones. The element of largest magnitude of each column of :math:`U` is positive.
    """
    check_int("rank", rank, low=1)
    check_choice("method", method, get_args(SVDMethod))
    small = min(operator.shape)
    if rank >= small:
        raise InputError(f"rank must be below {small}, the smaller dimension of the matrix; got {rank}", "rank")
    if not np.issubdtype(operator.dtype, np.floating):
        operator = operator.astype(float)
    operator = distribute(operator)
    wide = operator.shape[0] < operator.shape[1]
    A = operator.T if wide else operator  # V has the smaller side
    V: AnyArray
    if small <= 4 * rank + 5 * BLOCK:
        V = np.eye(small, dtype=operator.dtype)
    elif method == "lanczos":
        _, V = truncated_eigh(Gram(A), rank, tol=tol, seed=seed)
    else:
        turned, V = A.T, np.random.default_rng(seed).standard_normal((small, min(rank + OVERSAMPLE, small)))
        V = V.astype(A.dtype)
        for _ in range(POWERS + 1):
            V = np.linalg.qr(finite(np.asarray(turned @ np.linalg.qr(np.asarray(A @ V))[0])))[0]
    left, s, right = np.linalg.svd(finite(np.asarray(A @ V)), full_matrices=False)
    U, s, V = left[:, :rank], s[:rank], V @ right[:rank].T
    if wide:
        U, V = V, U
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(rank)])
    return U * signs, s, V * signs


def leading_svd(A: Any, rank: int, *, tol: float = 1e-2) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Compute the ``rank`` largest singular values and vectors of a sparse matrix, or all if there are not more."""
    if rank < min(A.shape):
        return truncated_svd(A, rank, tol=tol, seed=0)
    U, s, Vt = np.linalg.svd(A.toarray(), full_matrices=False)
    return U, s, Vt.T


class Gram(LinearOperator):  # type: ignore[misc] # scipy has no types
    """Gram matrix ``A.T @ A`` of a matrix or linear operator, as a linear operator."""

    def __init__(self, A: Any) -> None:
        super().__init__(A.dtype, (A.shape[1], A.shape[1]))
        self._A, self._turned = A, A.T

    def _matmat(self, X: AnyArray) -> AnyArray:
        return np.asarray(self._turned @ (self._A @ X))
