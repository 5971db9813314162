"""The largest singular values and vectors of a large operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.sparse.linalg import LinearOperator

from polyadic.errors import InputError, check_choice, check_int
from polyadic.linalg.lanczos import BLOCK, finite, truncated_eigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

Method = Literal["lanczos", "randomized"]
OVERSAMPLE = 10
"""Random directions beyond the rank."""
POWERS = 5
"""Times that both factors of A'A are applied to them."""


def truncated_svd(
    operator: Any, rank: int, *, method: Method = "lanczos", tol: float = 1e-2, seed: int | None = None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    r"""Give the ``rank`` largest singular values and vectors, :math:`A \approx U \mathrm{diag}(s) V^\top`.

    The sign of each pair is fixed: the element of largest magnitude of each column of :math:`U` is positive, so the
    result does not depend on the start of the iteration.

    Parameters
    ----------
    operator : sparse array, ndarray or LinearOperator of shape (m, n)
        :math:`A`; only products with it are taken.
    rank : int
        At most ``min(m, n) - 1``.
    method : {"lanczos", "randomized"}
        Block Lanczos on :math:`A^\top A`, or :math:`A A^\top` if that is smaller; or the products of a few random
        directions with ``POWERS`` powers of it, which is quicker and leaves the small singular values less exact. A
        small matrix is decomposed exactly, whatever the method.
    tol : float
        Of the Lanczos method: see :func:`~polyadic.linalg.truncated_eigh`, here for squared singular values.
    seed : int, optional
        Of the start of the iteration.

    Returns
    -------
    U : ndarray of shape (m, rank)
    s : ndarray of shape (rank,)
        Falling.
    V : ndarray of shape (n, rank)

    Raises
    ------
    InputError
        If the rank does not fit, or a product overflows.

    References
    ----------
    Halko, Martinsson, Tropp (2011), Finding structure with randomness, algorithm 4.4, for the randomized method.

    Examples
    --------
    >>> U, s, V = truncated_svd(np.diag([3.0, 1.0, 2.0]), 2)
    >>> s.round(6).tolist(), abs(U).round(6).tolist()
    ([3.0, 2.0], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    check_int("rank", rank, low=1)
    check_choice("method", method, get_args(Method))
    small = min(operator.shape)
    if rank >= small:
        raise InputError(f"rank must be below {small}, the smaller side of the matrix; got {rank}")
    if not np.issubdtype(operator.dtype, np.floating):
        operator = operator.astype(float)
    wide = operator.shape[0] < operator.shape[1]
    A = operator.T if wide else operator  # V has the smaller side
    V: NDArray[Any]
    if small <= 4 * rank + 5 * BLOCK:
        V = np.eye(small, dtype=operator.dtype)
    elif method == "lanczos":
        _, V = truncated_eigh(Gram(A), rank, tol=tol, seed=seed)
    else:
        V = _range(A, rank, np.random.default_rng(seed))
    left, s, right = np.linalg.svd(finite(np.asarray(A @ V)), full_matrices=False)
    U, s, V = left[:, :rank], s[:rank], V @ right[:rank].T
    if wide:
        U, V = V, U
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(rank)])
    return U * signs, s, V * signs


class Gram(LinearOperator):  # type: ignore[misc] # scipy has no types
    """The matrix A'A."""

    def __init__(self, A: Any) -> None:
        super().__init__(A.dtype, (A.shape[1], A.shape[1]))
        self._A, self._turned = A, A.T

    def _matmat(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._turned @ (self._A @ X))


def _range(A: Any, rank: int, rng: np.random.Generator) -> NDArray[Any]:
    """Give an orthonormal basis of about the space of the right singular vectors."""
    turned, size = A.T, min(rank + OVERSAMPLE, *A.shape)
    Q = rng.standard_normal((A.shape[1], size)).astype(A.dtype)
    for _ in range(POWERS + 1):
        Q = np.linalg.qr(finite(np.asarray(turned @ np.linalg.qr(np.asarray(A @ Q))[0])))[0]
    return Q
