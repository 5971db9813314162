"""What a stochastic step does beside the gradient: find the rows it touches, move them, and draw cells that are zero.

Factors are the rows of one table ``T``, as in the loops of CP models: ``T[i, 0]`` is a row ``U[i]``, ``T[i, 1]`` its
gradient, further layers what a rule remembers of it. A step touches few rows; everything here costs in proportion to
these, and their gradients are left as zeros for the next step. Where a row ends its padding is zero and stays zero.
"""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vector registers; infinities and NaN stay what they are, so an overflow is seen."""


@njit(cache=True, nogil=True)
def touch_rows(indices, offsets, stamp, now, rows, count):
    """List in ``rows`` each row of the entries whose ``stamp`` is not ``now``, and stamp it. Returns how many."""
    for d in range(indices.shape[0]):
        column, offset = indices[d], offsets[d]
        for e in range(len(column)):
            i = offset + column[e]
            if stamp[i] != now:
                stamp[i] = now
                rows[count] = i
                count += 1
    return count


@njit(cache=True, nogil=True, fastmath=FAST)
def pull_rows(rows, shares, ridge, pull, T):
    """Add ``shares_k (ridge_i U_i + pull_i)`` to the gradient of each row ``i = rows_k``; no pull if it is empty."""
    for k in range(len(rows)):
        i, share = rows[k], shares[k]
        strength = share * ridge[i]
        if strength != 0:
            for r in range(T.shape[2]):
                T[i, 1, r] += strength * T[i, 0, r]
        if len(pull):
            for r in range(pull.shape[1]):
                T[i, 1, r] += share * pull[i, r]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _shrink_row(u, steps, lasso, bounded):
    """Take the proximal step of ``lasso |u|``, of ``u >= 0`` if ``bounded``, each element with its own step."""
    zero = u.dtype.type(0)
    if bounded:
        for r in range(len(u)):
            u[r] = max(u[r] - lasso * steps[r], zero)
    else:
        for r in range(len(u)):
            size = max(abs(u[r]) - lasso * steps[r], zero)
            u[r] = size if u[r] > 0 else -size


@njit(cache=True, nogil=True, fastmath=FAST)
def adam_rows(rows, shares, lasso, bounded, pace, betas, eps, T, seen):
    """Move rows by Adam, each at its own pace and with its own count of steps; the gradient becomes zero.

    Layers of ``T`` are the row, its gradient, the mean of gradients and that of their squares.
    """
    beta, gamma = betas[0], betas[1]
    one = T.dtype.type(1)
    steps = np.empty(T.shape[2], T.dtype)
    for k in range(len(rows)):
        i = rows[k]
        seen[i] += 1
        # the square root of the correction is taken once a row, and eps is scaled with it
        root = T.dtype.type(math.sqrt(1 - float(gamma) ** seen[i]))
        step, small = pace[i] * root, eps * root
        unbias = T.dtype.type(1 / (1 - float(beta) ** seen[i]))
        for r in range(T.shape[2]):
            g = T[i, 1, r]
            T[i, 1, r] = 0
            m = beta * T[i, 2, r] + (one - beta) * g
            v = gamma * T[i, 3, r] + (one - gamma) * g * g
            T[i, 2, r] = m
            T[i, 3, r] = v
            steps[r] = step / (np.sqrt(v) + small)
            T[i, 0, r] -= unbias * steps[r] * m
        if bounded[i] or lasso[i] != 0:
            _shrink_row(T[i, 0], steps, shares[k] * lasso[i], bounded[i])


@njit(cache=True, nogil=True, fastmath=FAST)
def adagrad_rows(rows, shares, lasso, bounded, pace, eps, T):
    """Move rows by Adagrad, each at its own pace; the gradient becomes zero. Layer 2 is the sum of its squares."""
    steps = np.empty(T.shape[2], T.dtype)
    for k in range(len(rows)):
        i = rows[k]
        for r in range(T.shape[2]):
            g = T[i, 1, r]
            T[i, 1, r] = 0
            total = T[i, 2, r] + g * g
            T[i, 2, r] = total
            steps[r] = pace[i] / (np.sqrt(total) + eps)
            T[i, 0, r] -= steps[r] * g
        if bounded[i] or lasso[i] != 0:
            _shrink_row(T[i, 0], steps, shares[k] * lasso[i], bounded[i])


@njit(cache=True, nogil=True, fastmath=FAST)
def adagrad_whole_rows(rows, shares, lasso, bounded, pace, eps, rank, T, total):
    """Do the same with one sum for all ``rank`` elements of a row: that of their mean squares."""
    steps = np.empty(T.shape[2], T.dtype)
    for k in range(len(rows)):
        i = rows[k]
        squares = T.dtype.type(0)
        for r in range(T.shape[2]):
            squares += T[i, 1, r] * T[i, 1, r]
        total[i] += squares / rank
        step = pace[i] / (np.sqrt(total[i]) + eps)
        for r in range(T.shape[2]):
            T[i, 0, r] -= step * T[i, 1, r]
            T[i, 1, r] = 0
        if bounded[i] or lasso[i] != 0:
            steps[:] = step
            _shrink_row(T[i, 0], steps, shares[k] * lasso[i], bounded[i])


@njit(cache=True, nogil=True)
def _first_at_least(column, low, high, value):
    """Give the first place in ``column[low:high]``, which rises, that is not below ``value``; ``high`` if none is."""
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def absent_cells(indices, starts, prefixes, leaves, absent):
    """Tell for each prefix (order - 1, p) and leaf (p, l) whether the cell is not listed.

    ``indices`` (order, n) is in lexicographic order; entries of first index ``i`` are ``starts[i]`` to
    ``starts[i + 1]``.
    """
    order = indices.shape[0]
    for p in range(leaves.shape[0]):
        low, high = 0, indices.shape[1]
        for d in range(order - 1):
            value = prefixes[d, p]
            if d == 0:
                low, high = starts[value], starts[value + 1]
            else:
                low = _first_at_least(indices[d], low, high, value)
                high = _first_at_least(indices[d], low, high, value + 1)
        for c in range(leaves.shape[1]):
            at = _first_at_least(indices[order - 1], low, high, leaves[p, c])
            absent[p, c] = at == high or indices[order - 1, at] != leaves[p, c]
