"""Doors to the loops of sparse codes: non-negative ones of rows, and activations of filters.

Least squares with an absolute penalty by coordinate descent: non-negative rows, and activations of filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen, in_spans

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
    work = in_spans(lambda first, last: _lasso_rows(G, B, some, small, sweeps, first, last, A), n, threads)
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
    in_spans(lambda first, last: _activations(*given, tol, sweeps, first, last, W), signals, threads)
    return W


FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


@njit(cache=True, nogil=True, fastmath=FAST)
def _lasso_rows(G, B, l1, tol, sweeps, first, last, A):
    """Lower ``a G a' / 2 - b a' + l1 sum(a)`` over ``a >= 0`` for rows first..last of ``A``, from where they are.

    ``G`` is (R, R), ``B`` and ``A`` are (n, R). A row is done when a sweep changes no coordinate by more than ``tol``,
    measured in the norm of ``G``. Returns how many rows were not.
    """
    rank = G.shape[0]
    q = np.empty(rank, A.dtype)
    zero = A.dtype.type(0)
    left = 0
    for n in range(first, last):
        a, b = A[n], B[n]
        q[:] = 0
        for k in range(rank):
            if a[k] != 0:
                g = G[k]
                for r in range(rank):
                    q[r] += a[k] * g[r]
        largest = zero
        for _ in range(sweeps):
            largest = zero
            for k in range(rank):
                if G[k, k] <= 0:
                    continue
                moved = max(zero, a[k] + (b[k] - l1 - q[k]) / G[k, k])
                change = moved - a[k]
                if change != 0:
                    a[k] = moved
                    g = G[k]
                    for r in range(rank):
                        q[r] += change * g[r]
                    largest = max(largest, change * change * G[k, k])
            if largest <= tol * tol:
                break
        left += largest > tol * tol
    return left


MOST, SINGULAR = 64, 1e-9
"""Activations that are solved for at once, and what is left of one, beside its own square, where they are dependent."""
AMONG = 10
"""Sweeps over those that are not zero between two over all."""


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add(change, g, i, p, c):
    """Take an activation's change from what each filter has in common with the rest, at each place."""
    size, L = c.shape[0], g.shape[0]
    start = (size // L - p) * L
    column = g[i, start : start + size]
    for t in range(size):
        c[t] -= change * column[t]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _descend(g, w, c, l1, at, number, active):
    """Move each of the activations ``at``, filters and places, to its optimum; list those that are not zero then.

    Returns how many these are, the largest of them, the largest change, and whether all signs are what they were.
    """
    L = g.shape[0]
    kept, largest, moved, same = 0, 0.0, 0.0, True
    for a in range(number):
        i, p = at[0, a], at[1, a]
        d, old, new = g[i, i], w[i, p], 0.0
        z = c[p * L + i] + d * old
        if z > l1 and d > 0:
            new = (z - l1) / d
        elif z < -l1 and d > 0:
            new = (z + l1) / d
        change = new - old
        if change != 0:
            w[i, p] = new
            _add(change, g, i, p, c)
            moved = max(moved, abs(change))
            same = same and old * new > 0
        if new != 0:
            largest = max(largest, abs(new))
            active[0, kept], active[1, kept] = i, p
            kept += 1
    return kept, largest, moved, same


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _solve(g, w, c, l1, at, number, R, x):
    """Move the activations ``at`` to where none of them would move, or until the first of them is zero.

    By the Cholesky factor of what they have in common, without those that depend on others.
    """
    L = g.shape[0]
    size = c.shape[0]
    used = 0
    for a in range(number):
        i, p = at[0, a], at[1, a]
        for b in range(used):
            total = g[at[0, b], size + (p - at[1, b]) * L + i]
            for t in range(b):
                total -= R[used, t] * R[b, t]
            R[used, b] = total / R[b, b]
        rest = g[i, i]
        for t in range(used):
            rest -= R[used, t] * R[used, t]
        if rest <= SINGULAR * g[i, i]:
            continue
        R[used, used] = np.sqrt(rest)
        at[0, used], at[1, used] = i, p
        total = c[p * L + i] - (l1 if w[i, p] > 0 else -l1)
        for t in range(used):
            total -= R[used, t] * x[t]
        x[used] = total / R[used, used]
        used += 1
    number = used
    share, first = 1.0, -1
    for a in range(number - 1, -1, -1):
        for t in range(a + 1, number):
            x[a] -= R[t, a] * x[t]
        x[a] /= R[a, a]
        now = w[at[0, a], at[1, a]]
        if now * (now + x[a]) < 0 and -now / x[a] < share:
            share, first = -now / x[a], a
    for a in range(number):
        i, p = at[0, a], at[1, a]
        change = -w[i, p] if a == first else share * x[a]
        w[i, p] += change
        _add(change, g, i, p, c)


@njit(cache=True, nogil=True, fastmath=FAST)
def _activations(f, G, which, y, l1, tol, sweeps, first, last, W):
    """Lower ``|y - sum_l f_l * w_l|^2 / 2 + l1 |w|_1``, circular convolutions, for signals first..last, from zero.

    ``f`` is (K, L, m), ``G`` (K, L, 2 n L) has the first columns of ``F_l' F_j``, twice, with all ``l`` of a place side
    by side, ``which`` says whose filters a signal has, ``y`` is (S, n) and ``W`` (S, L, n). A signal is done when a
    sweep over all moves no activation by more than ``tol`` of the largest.

    What filters have in common with what is not explained yet is kept in ``c``, so that activations that stay at zero
    cost a comparison. Between sweeps over all, those that are not zero move until no sign changes, and are then solved
    for at once: alone they would go there in ever smaller steps.
    """
    _, L, m = f.shape
    n = y.shape[1]
    c, around = np.empty(n * L), np.empty(n + m - 1)
    everything, active = np.empty((2, L * n), np.int32), np.empty((2, L * n), np.int32)
    for a in range(L * n):
        everything[0, a], everything[1, a] = a // n, a % n
    R, x = np.empty((MOST, MOST)), np.empty(MOST)
    for s in range(first, last):
        w, g = W[s], G[which[s]]
        for p in range(n + m - 1):
            around[p] = y[s, p % n]
        c[:] = 0
        w[:] = 0
        for i in range(L):
            for q in range(m):
                for p in range(n):
                    c[p * L + i] += f[which[s], i, q] * around[p + q]
        for _ in range(sweeps):
            number, largest, moved, same = _descend(g, w, c, l1[s], everything, L * n, active)
            if moved <= tol * largest:
                break
            for _ in range(AMONG):
                if same:
                    break
                number, _, _, same = _descend(g, w, c, l1[s], active, number, active)
            if same and number <= MOST:
                _solve(g, w, c, l1[s], active, number, R, x)
