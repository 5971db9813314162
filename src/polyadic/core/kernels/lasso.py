"""Coordinate descent for lasso problems: non-negative sparse coding, and convolutional sparse coding."""

from __future__ import annotations

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Floats
from polyadic.core.kernels.common import frozen, in_spans
from polyadic.core.kernels.nonnegative import check_products

FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved


def nonnegative_lasso(
    G: AnyArray, B: AnyArray, A: Floats, *, l1: float, tol: float = 1e-4, sweeps: int = 100, threads: int
) -> int:
    r"""Update the non-negative sparse codes of many rows for a fixed dictionary in place, by coordinate descent.

    .. math:: \min_{A \ge 0} \tfrac12 \|X - A D\|_F^2 + \lambda \|A\|_1
              \quad\text{with}\quad G = D D^\top, \; B = X D^\top

    No step raises the objective. Shapes (R, R), (n, R) and (n, R), float32. A row has converged when no coordinate
    moves its reconstruction by more than ``tol``; at most ``sweeps`` passes are made. Returns the number of rows that
    have not converged.
    """
    n, _ = check_products(G, B, A)
    G, B = frozen(G, np.float32), frozen(B, np.float32)
    small, some = np.float32(tol), np.float32(l1)
    work = in_spans(lambda first, last: _lasso_rows(G, B, some, small, sweeps, first, last, A), n, threads)
    return int(sum(work))


def sparse_activations(
    f: AnyArray, G: AnyArray, y: AnyArray, *, which: AnyArray, l1: AnyArray, tol: float, sweeps: int, threads: int
) -> Array:
    r"""Compute convolutional sparse codes of many independent signals for fixed filters.

    .. math:: \min_w \tfrac12 \Big\| y - \sum_l f_l * w_l \Big\|^2 + \lambda \sum_l \|w_l\|_1

    ``f``, shape (K, L, m), are the filters of each kind of signal, ``G``, shape (K, L, L, n), the first columns of the
    blocks of :math:`\mathcal F^\top \mathcal F`, ``y``, shape (S, n), the signals, ``which`` their kinds and ``l1``
    their :math:`\lambda`. A signal has converged when a pass moves no activation by more than ``tol`` times the
    largest; at most ``sweeps`` passes are made. Returns an array of shape (S, L, n).
    """
    (K, L, m), (signals, n) = f.shape, y.shape
    if m > n or G.shape != (K, L, L, n) or not signals == len(which) == len(l1):
        raise ValueError(
            f"the arrays f, G, y, which and l1 have inconsistent shapes: {[x.shape for x in (f, G, y, which, l1)]}"
        )
    if signals and not 0 <= which.min() <= which.max() < K:
        raise ValueError(f"the array which must contain indices from 0 to {K - 1}; got {which.min()} to {which.max()}")
    W = np.empty((signals, L, n))
    twice = np.concatenate([G, G], axis=-1).transpose(0, 2, 3, 1).reshape(K, L, -1)  # in reading order
    given = frozen(f, float), frozen(twice, float), frozen(which, np.int64), frozen(y, float), frozen(l1, float)
    in_spans(lambda first, last: _activations(*given, tol, sweeps, first, last, W), signals, threads)
    return W


@njit(cache=True, nogil=True, fastmath=FAST)
def _lasso_rows(G, B, l1, tol, sweeps, first, last, A):
    """Numba kernel: minimize ``a G a' / 2 - b a' + l1 sum(a)``, ``a >= 0``; return how many rows have not converged."""
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


MAX_SOLVED, MIN_PIVOT = 64, 1e-9
"""Maximum number of activations solved jointly, and relative pivot below which one is linearly dependent."""
INNER_PASSES = 10  # passes over the non-zero activations between two over all


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add(change, g, i, p, c):
    """Update the correlations of the filters with the residual after an activation has changed."""
    size, L = c.shape[0], g.shape[0]
    start = (size // L - p) * L
    column = g[i, start : start + size]
    for t in range(size):
        c[t] -= change * column[t]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _descend(g, w, c, l1, at, number, active):
    """Numba kernel: optimize each activation once by coordinate descent, and list the non-zero activations.

    Returns the number and the largest magnitude of the non-zero activations, the largest change, and whether all signs
    stayed the same.
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
    """Numba kernel: optimize linearly independent activations jointly, until one of them reaches zero."""
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
        if rest <= MIN_PIVOT * g[i, i]:
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
    """Numba kernel of :func:`sparse_activations`, starting from zero.

    ``G``, (K, L, 2 n L), holds the first columns of ``F_l' F_j`` twice, with the values of all ``l`` at one position
    adjacent. ``c`` holds the correlations of the filters with the residual, so that an activation that stays zero costs
    only a comparison. Between passes over all activations, the non-zero ones are updated until no sign changes, and are
    then solved for jointly.
    """
    _, L, m = f.shape
    n = y.shape[1]
    c, around = np.empty(n * L), np.empty(n + m - 1)
    everything, active = np.empty((2, L * n), np.int32), np.empty((2, L * n), np.int32)
    for a in range(L * n):
        everything[0, a], everything[1, a] = a // n, a % n
    R, x = np.empty((MAX_SOLVED, MAX_SOLVED)), np.empty(MAX_SOLVED)
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
            for _ in range(INNER_PASSES):
                if same:
                    break
                number, _, _, same = _descend(g, w, c, l1[s], active, number, active)
            if same and number <= MAX_SOLVED:
                _solve(g, w, c, l1[s], active, number, R, x)
