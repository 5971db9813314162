"""Door to the loop of sparse non-negative codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen, in_spans
from polyadic.kernels.loops import lasso

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nonnegative_lasso(
    G: NDArray[Any],
    B: NDArray[Any],
    A: NDArray[np.float32],
    *,
    l1: float,
    tol: float = 1e-4,
    sweeps: int = 100,
    threads: int,
) -> int:
    r"""Improve sparse codes of many rows that share a dictionary, in place.

    .. math:: \min_{A \ge 0} \tfrac12 \|X - A D\|_F^2 + \lambda \|A\|_1
              \quad\text{with}\quad G = D D^\top, \; B = X D^\top

    No step raises the objective, and rows do not depend on one another, so neither does the result on the threads.

    Parameters
    ----------
    G : ndarray of shape (R, R)
    B : ndarray of shape (n, R)
    A : float32 ndarray of shape (n, R)
        Where to begin, not negative; overwritten.
    l1 : float
        :math:`\lambda`.
    tol : float
        A row is done when no coordinate moves its reconstruction by more.
    sweeps : int
        Passes over the coordinates of a row at most.
    threads : int
        Parts worked on at the same time.

    Returns
    -------
    int
        Rows that were not done within ``sweeps``.
    """
    n, rank = A.shape
    if G.shape != (rank, rank) or B.shape != (n, rank):
        raise ValueError(f"G and B must be of shapes {(rank, rank)} and {(n, rank)}; got {G.shape} and {B.shape}")
    if A.dtype != np.float32 or not A.flags.c_contiguous or not A.flags.writeable:
        raise ValueError("A must be a contiguous, writeable array of float32")
    G, B = frozen(G, np.float32), frozen(B, np.float32)
    small, some = np.float32(tol), np.float32(l1)
    work = in_spans(lambda first, last: lasso.lasso_rows(G, B, some, small, sweeps, first, last, A), n, threads)
    return int(sum(work))
