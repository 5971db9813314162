"""Doors to the loops of sparse codes: non-negative ones of rows, and activations of filters."""

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


def sparse_activations(
    f: NDArray[Any],
    G: NDArray[Any],
    y: NDArray[Any],
    *,
    which: NDArray[np.integer],
    l1: NDArray[Any],
    tol: float,
    sweeps: int,
    threads: int,
) -> NDArray[np.float64]:
    r"""Find sparse activations of filters in many signals, which do not depend on one another.

    .. math:: \min_w \tfrac12 \Big\| y - \sum_l f_l * w_l \Big\|^2 + \lambda \sum_l \|w_l\|_1

    Parameters
    ----------
    f : ndarray of shape (K, L, m)
        Filters of each kind of signal, no longer than these.
    G : ndarray of shape (K, L, L, n)
        First columns of the blocks of :math:`\mathcal F^\top \mathcal F`.
    y : ndarray of shape (S, n)
        Signals.
    which : ndarray of shape (S,)
        The kind of each, below K.
    l1 : ndarray of shape (S,)
        :math:`\lambda` of each.
    tol : float
        A signal is done when a sweep moves none of its activations by more than this share of the largest.
    sweeps : int
        Passes over the activations of a signal at most.
    threads : int

    Returns
    -------
    ndarray of shape (S, L, n)
    """
    (K, L, m), (signals, n) = f.shape, y.shape
    if m > n or G.shape != (K, L, L, n) or not signals == len(which) == len(l1):
        raise ValueError(f"filters {f.shape}, blocks {G.shape} and {len(which)} kinds do not fit signals {y.shape}")
    if signals and not 0 <= which.min() <= which.max() < K:
        raise ValueError(f"kinds must be below {K}; got {which.min()} to {which.max()}")
    W = np.empty((signals, L, n))
    twice = np.concatenate([G, G], axis=-1).transpose(0, 2, 3, 1).reshape(K, L, -1)  # what is read together, together
    given = (
        *(frozen(array, float) for array in (f, twice)),
        frozen(which, np.int64),
        frozen(y, float),
        frozen(l1, float),
    )
    in_spans(lambda first, last: lasso.activations(*given, tol, sweeps, first, last, W), signals, threads)
    return W
