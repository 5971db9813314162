"""Matrices of low rank by their singular vectors, and the step that makes them: singular values are shrunk."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, check_number
from polyadic.core.linalg.sparse import SparsePlusLowRank
from polyadic.core.linalg.truncated import Gram, finite, one_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DENSE = 200
"""Up to this smaller side a matrix is decomposed whole: of 200 x 400 in 10 ms, as long as a few products in parts."""
LARGEST = 4000
"""Beyond this smaller side no matrix is decomposed whole: it would take minutes."""
BEYOND = 8
"""Directions tried beyond those known: chance ones at the start, and those next in line later."""
SETTLED = 0.1
"""Residual, as a share of its eigenvalue, at which one below the threshold is believed to be the largest of those."""
NEAR = 1e-8
"""Squared distance, as a share of the squares, from which on their difference has half of the digits; else it is taken
in a common basis."""
PASSES = 100
"""Times that the basis is extended, at most; from the last iterate it takes two to five."""


class Spectral(NamedTuple):
    r"""A matrix :math:`U \mathrm{diag}(s) V^\top` of low rank.

    Attributes
    ----------
    U : ndarray of shape (m, r)
        With orthonormal columns, as ``V``.
    s : ndarray of shape (r,)
        Positive, falling.
    V : ndarray of shape (n, r)

    Examples
    --------
    >>> M = zero(3, 2)
    >>> M.rank, M.norm, M.toarray().shape
    (0, 0.0, (3, 2))
    """

    U: Array
    s: Array
    V: Array

    @property
    def rank(self) -> int:
        """The number of singular values."""
        return len(self.s)

    @property
    def norm(self) -> float:
        """The trace norm, the sum of the singular values."""
        return float(self.s.sum())

    @property
    def transposed(self) -> Spectral:
        """The same of the transposed matrix."""
        return Spectral(self.V, self.s, self.U)

    def toarray(self) -> Array:
        """Give all cells."""
        return np.asarray((self.U * self.s) @ self.V.T)


def zero(rows: int, columns: int) -> Spectral:
    """Give the matrix of zeros, of rank 0."""
    return Spectral(np.zeros((rows, 0)), np.zeros(0), np.zeros((columns, 0)))


def distance(A: Spectral, B: Spectral) -> float:
    """Give the Frobenius norm of the difference of two matrices.

    Examples
    --------
    >>> one = Spectral(np.array([[1.0]]), np.array([3.0]), np.array([[1.0]]))
    >>> distance(one, one._replace(s=np.array([1.0])))
    2.0
    """
    across = (A.U.T @ B.U * B.s) @ (B.V.T @ A.V) * A.s
    total = float(A.s @ A.s + B.s @ B.s)
    squared = total - 2 * float(np.trace(across))
    if squared > NEAR * total:
        return squared**0.5
    left, right = (np.linalg.qr(np.hstack(pair))[1] for pair in ((A.U * A.s, -B.U * B.s), (A.V, B.V)))
    return float(np.linalg.norm(left @ right.T))


def combined(S: Any, parts: list[tuple[float, Spectral]]) -> SparsePlusLowRank:
    """Give a sparse or dense matrix plus multiples of matrices of low rank, as products with it."""
    L = [a * M.U * M.s for a, M in parts]
    return SparsePlusLowRank(S, np.hstack(L), np.hstack([M.V for _, M in parts]))


def shrunk(operator: Any, threshold: float, *, near: Spectral, tol: float, seed: int = 0) -> Spectral:
    r"""Take a threshold from all singular values, and leave out those below it.

    .. math:: \arg\min_M \tfrac12 \|M - A\|_F^2 + \theta \|M\|_*

    Singular vectors are found from those of a matrix nearby, such as the last iterate, by products with :math:`A`
    alone; a basis of them is extended by their residuals (block Lanczos, if none has settled) until all above the
    threshold are known and one below.

    Parameters
    ----------
    operator : ndarray, sparse array or LinearOperator of shape (m, n)
        :math:`A`.
    threshold : float
        :math:`\theta`.
    near : Spectral
        Where to begin; :func:`zero` if nothing is known.
    tol : float
        Residuals :math:`\|A^\top u - s v\|` are at most this, or what the precision allows. A matrix of which a side is
        short, or most singular values are wanted, is decomposed whole.
    seed : int
        Of the chance directions.

    Raises
    ------
    InputError
        If most singular values of a matrix of more than ``LARGEST`` rows and columns lie above the threshold.

    References
    ----------
    Cai, Candes, Shen (2010), A singular value thresholding algorithm for matrix completion, theorem 2.1.

    Examples
    --------
    >>> shrunk(np.diag([3.0, 1.0, 2.0]), 1.5, near=zero(3, 3), tol=1e-9).toarray().round(6).tolist()
    [[1.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]
    """
    check_number("threshold", threshold)
    if operator.shape[0] < operator.shape[1]:  # the basis has the smaller side
        return shrunk(operator.T, threshold, near=near.transposed, tol=tol, seed=seed).transposed
    n = operator.shape[1]
    pairs = None if n <= DENSE else _leading(Gram(operator), threshold**2, near.V, tol=tol, seed=seed, roots=True)
    if pairs is None:
        _check_size(n)
        U, s, Vt = np.linalg.svd(finite(_whole(operator)), full_matrices=False)
    else:
        U, s, rotation = np.linalg.svd(np.asarray(operator @ pairs[1]), full_matrices=False)
        Vt = rotation @ pairs[1].T
    kept = s > threshold
    return Spectral(U[:, kept], s[kept] - threshold, np.ascontiguousarray(Vt[kept].T))


def shrunk_symmetric(operator: Any, threshold: float, *, near: Spectral, tol: float, seed: int = 0) -> Spectral:
    """Do what :func:`shrunk` does of a symmetric matrix, by its eigenvalues: columns of U are those of V, or negative.

    Parameters
    ----------
    operator, threshold, near, tol, seed
        As of :func:`shrunk`; that the matrix is symmetric is not checked.

    Examples
    --------
    >>> M = shrunk_symmetric(np.diag([3.0, 1.0, -2.0]), 1.5, near=zero(3, 3), tol=1e-9)
    >>> M.toarray().round(6).tolist()
    [[1.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -0.5]]
    """
    check_number("threshold", threshold)
    n = operator.shape[0]
    pairs = None if n <= DENSE else _leading(operator, threshold, near.V, tol=tol, seed=seed, roots=False)
    if pairs is None:
        _check_size(n)
        pairs = np.linalg.eigh(finite(_whole(operator)))
    w, V = pairs
    falling = np.argsort(-np.abs(w), kind="stable")[: int((np.abs(w) > threshold).sum())]
    w, V = w[falling], V[:, falling]
    return Spectral(V * np.sign(w), np.abs(w) - threshold, V)


def top_pair(operator: Any, *, near: Array | None = None, tol: float = 1e-3, seed: int = 0) -> tuple[Spectral, float]:
    r"""Give the largest singular value with its vectors, and a bound above it.

    Parameters
    ----------
    operator : ndarray, sparse array or LinearOperator of shape (m, n)
        :math:`A`.
    near : ndarray of shape (n, k), optional
        Directions to begin with.
    tol : float
        The residual :math:`\|A^\top u - s v\|` relative to s.
    seed : int
        Of the chance directions.

    Returns
    -------
    Spectral
        Of rank 1.
    float
        The value plus what the residual leaves open.

    Examples
    --------
    >>> pair, bound = top_pair(np.diag([3.0, 1.0, 2.0]))
    >>> pair.s.round(6).tolist(), pair.V.round(6).tolist()
    ([3.0], [[1.0], [0.0], [0.0]])
    """
    n, s = operator.shape[1], 0.0
    if min(operator.shape) <= DENSE:
        U, values, Vt = np.linalg.svd(finite(_whole(operator)), full_matrices=False)
        pair, bound = Spectral(U[:, :1], values[:1], Vt[:1].T), float(values[0])
    else:
        start = np.zeros((n, 0)) if near is None else near
        leading = _leading(Gram(operator), None, start, tol=tol, seed=seed, roots=True)
        assert leading is not None  # one direction always fits
        v = leading[1]
        u = np.asarray(operator @ v)
        s = float(np.linalg.norm(u))
        u = u / s if s else np.eye(len(u), 1)
        bound = s + float(np.linalg.norm(operator.T @ u - s * v))
        pair = Spectral(u, np.array([s]), v)
    sign = np.sign(pair.V[np.abs(pair.V).argmax(), 0])
    return Spectral(pair.U * sign, pair.s, pair.V * sign), bound


def _leading(
    A: Any, threshold: float | None, start: Array, *, tol: float, seed: int, roots: bool
) -> tuple[Array, Array] | None:
    """Eigenvalues beyond a threshold in magnitude, and vectors; the largest alone if there is none.

    With ``roots`` their square roots are meant, for which ``tol`` then holds. None if most of them would be needed.
    """
    n, rng = A.shape[0], np.random.default_rng(seed)
    Q = _orthonormal(np.hstack([start, rng.standard_normal((n, BEYOND))]), None)
    AQ = finite(np.asarray(A @ Q))
    whole = -1  # how many were inside when all others were far below the threshold
    for passes in range(PASSES + 1):
        H = Q.T @ AQ
        with one_thread():
            w, Z = np.linalg.eigh((H + H.T) / 2)
        falling = np.argsort(-np.abs(w), kind="stable")
        w, Z = w[falling], Z[:, falling]
        inside = 1 if threshold is None else int((np.abs(w) > threshold).sum())
        sought = min(inside + BEYOND, len(w))
        R = AQ @ Z[:, :sought] - (Q @ Z[:, :sought]) * w[:sought]
        residuals = np.linalg.norm(R, axis=0)
        allowed = _allowed(w[:sought], tol, n, relative=threshold is None, roots=roots)
        unsure = residuals > allowed
        unsure[inside:] = residuals[inside:] > SETTLED * np.abs(w[inside:sought])  # they need not be known well
        needed = inside + (threshold is not None)
        far = np.abs(w[inside:sought]) + residuals[inside:]
        closed = threshold is not None and not unsure[:inside].any() and bool((far <= SETTLED * threshold).all())
        if sought >= needed and (not unsure[:needed].any() or (closed and whole == inside)):
            return w[:inside], Q @ Z[:, :inside]
        if 2 * sought > n:
            return None
        if passes == PASSES:
            break
        if Q.shape[1] + sought > max(4 * sought, 60):  # begin again with the best
            keep = min(2 * sought, len(w))
            Q, AQ = Q @ Z[:, :keep], AQ @ Z[:, :keep]
        whole = inside if closed else whole  # then only chance directions can tell whether there are more
        new = np.zeros((n, 0)) if closed else R[:, unsure]
        if sought < needed or closed:
            new = np.hstack([new, rng.standard_normal((n, sought))])
        new = _orthonormal(new, Q)
        Q, AQ = np.hstack([Q, new]), np.hstack([AQ, finite(np.asarray(A @ new))])
    warnings.warn(f"singular vectors are known to {residuals.max():.1g}, not to {tol:.1g}", stacklevel=3)
    return w[:inside], Q @ Z[:, :inside]


def _allowed(w: Array, tol: float, n: int, *, relative: bool, roots: bool) -> Array:
    """Residuals of eigenvalues that are small enough."""
    scale = np.abs(w) if relative else np.sqrt(np.abs(w)) if roots else np.ones(len(w))
    attainable = 4 * np.finfo(float).eps * np.sqrt(n) * np.abs(w[0])
    return np.maximum(tol * scale, attainable)


def _orthonormal(X: Array, Q: Array | None) -> Array:
    """Give a basis of what the columns of X add to the span of Q."""
    X = X / np.maximum(np.linalg.norm(X, axis=0), np.finfo(float).tiny)
    for _ in range(2):
        if Q is not None:
            X = X - Q @ (Q.T @ X)
        X, size = np.linalg.qr(X)
        X = X[:, np.abs(np.diag(size)) > 1e-10]  # the rest is rounding errors
    return X


def _whole(operator: Any) -> Array:
    """Give all cells, by products with the unit matrix of the smaller side: the larger may be long."""
    if operator.shape[0] < operator.shape[1]:
        return _whole(operator.T).T
    return np.asarray(operator @ np.eye(operator.shape[1]), float)


def _check_size(n: int) -> None:
    if n > LARGEST:
        raise InputError(
            f"most singular values of a matrix of {n:,} rows and columns would be needed; raise the penalty"
        )
