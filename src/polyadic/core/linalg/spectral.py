"""Low-rank matrices given by their singular value decomposition, and singular value thresholding."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import eigsh

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_number
from polyadic.core.linalg.sparse import SparsePlusLowRank
from polyadic.core.linalg.truncated import Gram, finite, one_thread

DENSE_SIZE = 200
"""Smaller side up to which a matrix is decomposed densely: 200 x 400 takes 10 ms, as long as a few products."""
MAX_DENSE = 4000  # smaller side beyond which no matrix is decomposed densely: it would take minutes
EXTRA = 8  # additional directions: random ones at the start, later the next singular vectors
SETTLED_SHARE = 0.1  # relative residual at which an eigenvalue below the threshold is accepted as the largest of those
NEAR = 1e-8
"""Relative squared distance below which cancellation would lose half of the digits, so that a common basis is used."""
MAX_EXTENSIONS = 100  # maximum number of extensions of the basis; from the last iterate it takes two to five


class Spectral(NamedTuple):
    r"""Low-rank matrix :math:`U \mathrm{diag}(s) V^\top`, given by its singular value decomposition.

    Shapes (m, r), (r,) and (n, r); s is positive and in descending order.
    """

    U: Array
    s: Array
    V: Array

    @property
    def rank(self) -> int:
        """Number of singular values."""
        return len(self.s)

    @property
    def norm(self) -> float:
        """Trace norm, the sum of the singular values."""
        return float(self.s.sum())

    @property
    def transposed(self) -> Spectral:
        """The transposed matrix."""
        return Spectral(self.V, self.s, self.U)

    def toarray(self) -> Array:
        """Return the dense matrix."""
        return np.asarray((self.U * self.s) @ self.V.T)


def zero(rows: int, columns: int) -> Spectral:
    """Return the zero matrix, of rank 0."""
    return Spectral(np.zeros((rows, 0)), np.zeros(0), np.zeros((columns, 0)))


def distance(A: Spectral, B: Spectral) -> float:
    """Return the Frobenius norm of the difference of two matrices."""
    across = (A.U.T @ B.U * B.s) @ (B.V.T @ A.V) * A.s
    total = float(A.s @ A.s + B.s @ B.s)
    squared = total - 2 * float(np.trace(across))
    if squared > NEAR * total:
        return squared**0.5
    left, right = (np.linalg.qr(np.hstack(pair))[1] for pair in ((A.U * A.s, -B.U * B.s), (A.V, B.V)))
    return float(np.linalg.norm(left @ right.T))


def plus_low_rank(S: Any, parts: list[tuple[float, Spectral]]) -> SparsePlusLowRank:
    """Return the sum of a matrix and weighted low-rank matrices as a linear operator."""
    L = [a * M.U * M.s for a, M in parts]
    return SparsePlusLowRank(S, np.hstack(L), np.hstack([M.V for _, M in parts]))


def soft_threshold(operator: Any, threshold: float, *, near: Spectral, tol: float) -> Spectral:
    r"""Soft-threshold the singular values of a matrix (Cai, Candes, Shen 2010, theorem 2.1).

    .. math:: \arg\min_M \tfrac12 \|M - A\|_F^2 + \theta \|M\|_*

    Singular vectors are found from those of a nearby matrix ``near``, such as the last iterate, by products with
    :math:`A`: the basis is extended by residuals (block Lanczos, if none has converged) until all singular values above
    the threshold and one below are known, with residuals :math:`\|A^\top u - s v\|` of at most ``tol``. A matrix with a
    short side is decomposed densely, as is one that needs most of its singular values; beyond ``MAX_DENSE`` rows and
    columns the latter is an InputError.
    """
    check_number("threshold", threshold)
    if operator.shape[0] < operator.shape[1]:  # the basis has the smaller side
        return soft_threshold(operator.T, threshold, near=near.transposed, tol=tol).transposed
    n = operator.shape[1]
    pairs = None if n <= DENSE_SIZE else _leading(Gram(operator), threshold**2, near.V, tol=tol, roots=True)
    if pairs is None:
        _check_size(n)
        U, s, Vt = np.linalg.svd(finite(_whole(operator)), full_matrices=False)
    else:
        U, s, rotation = np.linalg.svd(np.asarray(operator @ pairs[1]), full_matrices=False)
        Vt = rotation @ pairs[1].T
    kept = s > threshold
    return Spectral(U[:, kept], s[kept] - threshold, np.ascontiguousarray(Vt[kept].T))


def soft_threshold_symmetric(
    operator: Any, threshold: float, *, near: Spectral, tol: float, positive: bool = False
) -> Spectral:
    """Soft-threshold the eigenvalues of a symmetric matrix, without checking its symmetry.

    Columns of U are plus or minus those of V. With ``positive``, negative eigenvalues become zero: the proximal
    operator of the trace of positive semidefinite matrices. Parameters are those of :func:`soft_threshold`.
    """
    check_number("threshold", threshold)
    n = operator.shape[0]
    pairs = None if n <= DENSE_SIZE else _leading(operator, threshold, near.V, tol=tol, roots=False)
    if pairs is None:
        _check_size(n)
        pairs = np.linalg.eigh(finite(_whole(operator)))
    w, V = pairs
    size = w if positive else np.abs(w)
    falling = np.argsort(-size, kind="stable")[: int((size > threshold).sum())]
    size, V = size[falling], V[:, falling]
    return Spectral(V * np.sign(w[falling]), size - threshold, V)


def largest_eigenvalue(operator: Any, *, tol: float) -> float:
    """Return an upper bound on the largest eigenvalue of a symmetric matrix; ``tol`` is its relative accuracy."""
    n = operator.shape[0]
    if n <= DENSE_SIZE:
        return float(np.linalg.eigvalsh(finite(_whole(operator)))[-1])
    (w,), v = eigsh(operator, 1, which="LA", v0=np.random.default_rng(0).standard_normal(n), tol=tol)
    return float(w + np.linalg.norm(operator @ v - w * v))


def top_singular_pair(operator: Any, *, near: Array | None = None, tol: float = 1e-3) -> tuple[Spectral, float]:
    r"""Return the leading singular triplet as a matrix of rank 1, and an upper bound on the largest singular value.

    ``near``, shape (n, k), are starting directions; ``tol`` is the residual :math:`\|A^\top u - s v\|` relative to s.
    """
    n, s = operator.shape[1], 0.0
    if min(operator.shape) <= DENSE_SIZE:
        U, values, Vt = np.linalg.svd(finite(_whole(operator)), full_matrices=False)
        pair, bound = Spectral(U[:, :1], values[:1], Vt[:1].T), float(values[0])
    else:
        start = np.zeros((n, 0)) if near is None else near
        leading = _leading(Gram(operator), None, start, tol=tol, roots=True)
        assert leading is not None  # one direction always fits
        v = leading[1]
        u = np.asarray(operator @ v)
        s = float(np.linalg.norm(u))
        u = u / s if s else np.eye(len(u), 1)
        bound = s + float(np.linalg.norm(operator.T @ u - s * v))
        pair = Spectral(u, np.array([s]), v)
    sign = np.sign(pair.V[np.abs(pair.V).argmax(), 0])
    return Spectral(pair.U * sign, pair.s, pair.V * sign), bound


def _leading(A: Any, threshold: float | None, start: Array, *, tol: float, roots: bool) -> tuple[Array, Array] | None:
    """Return the eigenpairs whose magnitude exceeds a threshold, or only the largest if ``threshold`` is None.

    With ``roots``, ``tol`` refers to their square roots. Returns None if most of them would be needed.
    """
    n, rng = A.shape[0], np.random.default_rng(0)
    Q = _orthonormal(np.hstack([start, rng.standard_normal((n, EXTRA))]), None)
    AQ = finite(np.asarray(A @ Q))
    whole = -1  # number inside when all others were far below the threshold
    for passes in range(MAX_EXTENSIONS + 1):
        H = Q.T @ AQ
        with one_thread():
            w, Z = np.linalg.eigh((H + H.T) / 2)
        falling = np.argsort(-np.abs(w), kind="stable")
        w, Z = w[falling], Z[:, falling]
        inside = 1 if threshold is None else int((np.abs(w) > threshold).sum())
        sought = min(inside + EXTRA, len(w))
        R = AQ @ Z[:, :sought] - (Q @ Z[:, :sought]) * w[:sought]
        residuals = np.linalg.norm(R, axis=0)
        size = np.abs(w[:sought])
        scale = size if threshold is None else np.sqrt(size) if roots else np.ones(sought)
        attainable = 4 * np.finfo(float).eps * np.sqrt(n) * size[0]
        unsure = residuals > np.maximum(tol * scale, attainable)
        unsure[inside:] = residuals[inside:] > SETTLED_SHARE * np.abs(w[inside:sought])  # roughly
        needed = inside + (threshold is not None)
        far = np.abs(w[inside:sought]) + residuals[inside:]
        closed = threshold is not None and not unsure[:inside].any() and bool((far <= SETTLED_SHARE * threshold).all())
        if sought >= needed and (not unsure[:needed].any() or (closed and whole == inside)):
            return w[:inside], Q @ Z[:, :inside]
        if 2 * sought > n:
            return None
        if passes == MAX_EXTENSIONS:
            break
        if Q.shape[1] + sought > max(4 * sought, 60):  # restart
            keep = min(2 * sought, len(w))
            Q, AQ = Q @ Z[:, :keep], AQ @ Z[:, :keep]
        whole = inside if closed else whole  # then only random directions can find more
        new = np.zeros((n, 0)) if closed else R[:, unsure]
        if sought < needed or closed:
            new = np.hstack([new, rng.standard_normal((n, sought))])
        new = _orthonormal(new, Q)
        Q, AQ = np.hstack([Q, new]), np.hstack([AQ, finite(np.asarray(A @ new))])
    warnings.warn(
        f"singular vectors have residuals of {residuals.max():.1g}, above the tolerance {tol:.1g}", stacklevel=3
    )
    return w[:inside], Q @ Z[:, :inside]


def _orthonormal(X: Array, Q: Array | None) -> Array:
    """Return an orthonormal basis of the columns of X that is orthogonal to the columns of Q."""
    X = X / np.maximum(np.linalg.norm(X, axis=0), np.finfo(float).tiny)
    for _ in range(2):
        if Q is not None:
            X = X - Q @ (Q.T @ X)
        X, size = np.linalg.qr(X)
        X = X[:, np.abs(np.diag(size)) > 1e-10]  # drop rounding errors
    return X


def _whole(operator: Any) -> Array:
    """Convert a linear operator to a dense matrix, by a product with the identity matrix on the smaller side."""
    if operator.shape[0] < operator.shape[1]:
        return _whole(operator.T).T
    return np.asarray(operator @ np.eye(operator.shape[1]), float)


def _check_size(n: int) -> None:
    if n > MAX_DENSE:
        raise InputError(
            f"the penalty is too small: it requires most singular values of a matrix of size {n:,}; increase it"
        )
