"""Stochastic gradient descent in its plainest form: one cell, or one pair of cells, after another."""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


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


@njit(cache=True, nogil=True, fastmath=FAST)
def sgd_pairs(rows, better, worse, step, ridge, U, V):
    """Step down ``log(1 + exp(-u_i (v_j - v_k)))`` and the penalties of one triple ``i, j, k`` after another."""
    for e in range(len(rows)):
        u, v, w = U[rows[e]], V[better[e]], V[worse[e]]
        m = U.dtype.type(0)
        for r in range(U.shape[1]):
            m += u[r] * (v[r] - w[r])
        left = 1 / (1 + math.exp(min(m, 700.0)))
        for r in range(U.shape[1]):
            before, difference = u[r], v[r] - w[r]
            u[r] += step * (left * difference - ridge * before)
            v[r] += step * (left * before - ridge * v[r])
            w[r] += step * (-left * before - ridge * w[r])


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
