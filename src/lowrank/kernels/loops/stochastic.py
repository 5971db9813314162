"""What a stochastic step does beside the gradient: find the rows it touches, move them, and draw cells that are zero.

Factors are the rows of one tall matrix ``U``, as in the loops of CP models. A step touches few of them; everything here
costs in proportion to the rows touched, and the gradient ``dU`` is left as zeros for the next step.
"""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vector registers; infinities and NaN stay what they are, so an overflow is seen."""


@njit(cache=True, nogil=True)
def touch_rows(indices, offsets, stamp, now, rows, found):
    """List in ``rows`` each row of the entries whose ``stamp`` is not ``now``, and stamp it. Returns how many."""
    for d in range(indices.shape[0]):
        column, offset = indices[d], offsets[d]
        for e in range(len(column)):
            i = offset + column[e]
            if stamp[i] != now:
                stamp[i] = now
                rows[found] = i
                found += 1
    return found


@njit(cache=True, nogil=True, fastmath=FAST)
def pull_rows(rows, shares, ridge, pull, U, dU):
    """Add ``shares_k (ridge_i U_i + pull_i)`` to the gradient of each row ``i = rows_k``; no pull if it is empty."""
    for k in range(len(rows)):
        i, share = rows[k], shares[k]
        strength = share * ridge[i]
        if strength != 0:
            for r in range(U.shape[1]):
                dU[i, r] += strength * U[i, r]
        if len(pull):
            for r in range(U.shape[1]):
                dU[i, r] += share * pull[i, r]


@njit(cache=True, nogil=True, fastmath=FAST)
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
def adam_rows(rows, shares, lasso, bounded, pace, betas, eps, U, dU, first, second, seen):
    """Move rows by Adam, each at its own pace and with its own count of steps; the gradient becomes zero."""
    rank = U.shape[1]
    beta, gamma = betas[0], betas[1]
    one = U.dtype.type(1)
    steps = np.empty(rank, U.dtype)
    for k in range(len(rows)):
        i = rows[k]
        seen[i] += 1
        # the square root of the correction is taken once a row, and eps is scaled with it
        root = U.dtype.type(math.sqrt(1 - float(gamma) ** seen[i]))
        step, small = pace[i] * root, eps * root
        unbias = U.dtype.type(1 / (1 - float(beta) ** seen[i]))
        for r in range(rank):
            g = dU[i, r]
            dU[i, r] = 0
            m = beta * first[i, r] + (one - beta) * g
            v = gamma * second[i, r] + (one - gamma) * g * g
            first[i, r] = m
            second[i, r] = v
            steps[r] = step / (np.sqrt(v) + small)
            U[i, r] -= unbias * steps[r] * m
        if bounded[i] or lasso[i] != 0:
            _shrink_row(U[i], steps, shares[k] * lasso[i], bounded[i])


@njit(cache=True, nogil=True, fastmath=FAST)
def adagrad_rows(rows, shares, lasso, bounded, pace, eps, U, dU, total):
    """Move rows by Adagrad, each at its own pace; the gradient becomes zero. A one-column ``total`` is per row."""
    rank = U.shape[1]
    steps = np.empty(rank, U.dtype)
    for k in range(len(rows)):
        i = rows[k]
        if total.shape[1] == 1:
            squares = U.dtype.type(0)
            for r in range(rank):
                squares += dU[i, r] * dU[i, r]
            total[i, 0] += squares / rank
            steps[:] = pace[i] / (np.sqrt(total[i, 0]) + eps)
        else:
            for r in range(rank):
                t = total[i, r] + dU[i, r] * dU[i, r]
                total[i, r] = t
                steps[r] = pace[i] / (np.sqrt(t) + eps)
        for r in range(rank):
            U[i, r] -= steps[r] * dU[i, r]
            dU[i, r] = 0
        if bounded[i] or lasso[i] != 0:
            _shrink_row(U[i], steps, shares[k] * lasso[i], bounded[i])


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
