"""Stochastic gradient descent in its plainest form: one cell, or one pair of cells, after another."""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""
TINY = 1e-8
"""Square of a gradient before any."""
TRIES = 20
"""Draws until all that are not listed are looked for: a row may list nearly all."""


@njit(cache=True, nogil=True, fastmath=FAST)
def sgd_cells(rows, columns, values, step, ridges, U, V):
    """Step down ``(x - a_i - b_j - u_i v_j)^2 / 2`` and the penalties of cell after cell; biases stand last in a row.

    Both rows move by what they were before the cell. ``ridges`` has one number for each column of ``U``.
    """
    rank = U.shape[1] - 1
    for e in range(len(values)):
        u, v = U[rows[e]], V[columns[e]]
        m = u[rank] + v[rank]
        for r in range(rank):
            m += u[r] * v[r]
        left = values[e] - m
        for r in range(rank):
            before = u[r]
            u[r] += step * (left * v[r] - ridges[r] * before)
            v[r] += step * (left * before - ridges[r] * v[r])
        u[rank] += step * (left - ridges[rank] * u[rank])
        v[rank] += step * (left - ridges[rank] * v[rank])


@njit(cache=True, nogil=True, inline="always")
def _random(state):
    """Give the next state and its 64 random bits (splitmix64: Steele, Lea, Flood 2014)."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _lists(starts, columns, i, k):
    """Tell whether row ``i`` lists column ``k``."""
    low, size = starts[i], starts[i + 1] - starts[i]
    while size > 0:
        half = size >> 1
        if columns[low + half] < k:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low < starts[i + 1] and columns[low] == k


@njit(cache=True, nogil=True, inline="always")
def _absent(starts, columns, i, members, state):
    """Draw one of ``members`` that row ``i`` does not list, uniformly; -1 if it lists all."""
    for _ in range(TRIES):
        state, bits = _random(state)
        k = members[((bits >> np.uint64(32)) * np.uint64(len(members))) >> np.uint64(32)]
        if not _lists(starts, columns, i, k):
            return state, k
    free = 0
    for k in members:
        free += not _lists(starts, columns, i, k)
    if free:
        state, bits = _random(state)
        left = bits % np.uint64(free)
        for k in members:
            if not _lists(starts, columns, i, k):
                if left == 0:
                    return state, k
                left -= np.uint64(1)
    return state, members.dtype.type(-1)


@njit(cache=True, nogil=True, fastmath=FAST)
def sgd_pairs(rows, better, members, state, starts, columns, negatives, step, ridge, U, V):
    """Step down ``log(1 + exp(-u_i (v_j - v_k)))`` and the penalties, for some columns ``k`` beside each cell ``i, j``.

    Those are drawn from ``members`` that row ``i`` does not list.
    """
    kept = U.dtype.type(1 - step * ridge)
    for e in range(len(rows)):
        u, v = U[rows[e]], V[better[e]]
        for _ in range(negatives):
            state, k = _absent(starts, columns, rows[e], members, state)
            if k < 0:
                break
            w, m = V[k], U.dtype.type(0)
            for r in range(U.shape[1]):
                m += u[r] * (v[r] - w[r])
            left = U.dtype.type(step / (1 + math.exp(min(m, 80.0))))
            for r in range(U.shape[1]):
                before, difference = u[r], v[r] - w[r]
                u[r] = kept * before + left * difference
                v[r] = kept * v[r] + left * before
                w[r] = kept * w[r] - left * before


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _label(U, V, sums, squares, ridges, step, x, i, j):
    """Step down ``log(1 + exp(m)) - x m`` of a cell and its penalties; a row's step falls with its gradients so far."""
    u, v, R = U[i], V[j], U.shape[1]
    m = uu = vv = U.dtype.type(0)
    for r in range(R):
        m += u[r] * v[r]
        uu += u[r] * u[r]
        vv += v[r] * v[r]
    left, p, q = x - 1 / (1 + math.exp(min(max(-m, -80.0), 80.0))), ridges[0][i], ridges[1][j]
    sums[i] += (left * left * vv - 2 * left * p * m + p * p * uu) / R
    squares[j] += (left * left * uu - 2 * left * q * m + q * q * vv) / R
    a, b = step / math.sqrt(sums[i] + TINY), step / math.sqrt(squares[j] + TINY)
    kept, more = U.dtype.type(1 - a * p), U.dtype.type(a * left)
    also, other = U.dtype.type(1 - b * q), U.dtype.type(b * left)
    for r in range(R):
        before = u[r]
        u[r] = kept * before + more * v[r]
        v[r] = also * v[r] + other * before


@njit(cache=True, nogil=True, fastmath=FAST)
def sgd_labels(rows, at, x, group, members, state, starts, columns, negatives, beside, step, ridges, sums, U, V):
    """Step down the logistic loss and the penalties of one listed cell after another, each with zeros drawn beside it.

    Those are unlisted cells of its row, or of any row of a group if not ``beside``, in columns ``members``.
    ``sums`` are, for each row of ``U`` and of ``V``, the mean squares of its gradients.
    """
    for e in range(len(rows)):
        i = rows[e]
        _label(U, V, sums[0], sums[1], ridges, step, x[e], i, at[e])
        state, bits = _random(state)
        for _ in range(int(negatives + (bits >> np.uint64(11)) / 2.0**53)):
            if not beside:
                state, bits = _random(state)
                i = group[((bits >> np.uint64(32)) * np.uint64(len(group))) >> np.uint64(32)]
            state, k = _absent(starts, columns, i, members, state)
            if k >= 0:
                _label(U, V, sums[0], sums[1], ridges, step, 0.0, i, k)


@njit(cache=True, nogil=True)
def absent_columns(starts, columns, rows, number, drawn):
    """Replace each draw below the columns that row ``rows_e`` does not list by that column; -1 if it lists all.

    ``drawn`` are uniform numbers from 0 to 1, ``columns`` of a row rise. So draws are exact without rejection.
    """
    absent = np.empty(len(rows), np.int64)
    for e in range(len(rows)):
        first, last = starts[rows[e]], starts[rows[e] + 1]
        free = number - (last - first)
        if free == 0:
            absent[e] = -1
            continue
        k = min(int(drawn[e] * free), free - 1)
        # the k-th column that is not listed: k more than the listed columns before it
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            if columns[middle] - (middle - first) <= k:
                low = middle + 1
            else:
                high = middle
        absent[e] = k + (low - first)
    return absent
