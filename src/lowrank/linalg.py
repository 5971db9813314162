"""Dense linear algebra on top of sparse operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowrank.errors import InputError, check_int

if TYPE_CHECKING:
    from numpy.typing import NDArray


def truncated_svd(
    operator: Any, rank: int, *, seed: int | None = None
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
    seed : int, optional
        Of the start of the Lanczos iteration.

    Returns
    -------
    U : ndarray of shape (m, rank)
    s : ndarray of shape (rank,)
        Falling.
    V : ndarray of shape (n, rank)

    Raises
    ------
    InputError
        If the rank does not fit.

    Examples
    --------
    >>> U, s, V = truncated_svd(np.diag([3.0, 1.0, 2.0]), 2)
    >>> s.round(6).tolist(), abs(U).round(6).tolist()
    ([3.0, 2.0], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    from scipy.sparse.linalg import svds

    check_int("rank", rank, low=1)
    if rank >= min(operator.shape):
        raise InputError(f"rank must be below {min(operator.shape)}, the smaller side of the matrix; got {rank}")
    start = np.random.default_rng(seed).standard_normal(min(operator.shape))
    left, s, right = svds(operator, k=rank, v0=start)
    falling = np.argsort(-s)
    left, s, right = left[:, falling], s[falling], right[falling].T
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(rank)])
    return left * signs, s, right * signs
