"""One row after another of a factor, given the other: normal equations solved, or sampled from."""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


@njit(cache=True, nogil=True, fastmath=FAST)
def posterior_rows(starts, columns, c, y, V, precision, linear, noise, first, last, U):
    """Set rows first..last of ``U`` to ``A^-1 b + L^-T z`` with ``A = precision + sum c v v' = L L'``.

    ``b = linear + sum y v``; row ``i`` has the entries ``starts[i]:starts[i + 1]``, whose ``v`` are rows of ``V``.
    ``z`` are rows of ``noise``, which may have none. Returns the first row whose ``A`` is not positive, or -1.
    """
    rank = V.shape[1]
    A = np.empty((rank, rank), np.float64)
    b = np.empty(rank, np.float64)
    for i in range(first, last):
        A[:] = precision
        b[:] = linear
        for e in range(starts[i], starts[i + 1]):
            v = V[columns[e]]
            for r in range(rank):
                scaled = c[e] * v[r]
                row = A[r]
                for s in range(r + 1):
                    row[s] += scaled * v[s]
                b[r] += y[e] * v[r]
        for r in range(rank):
            row = A[r]
            for s in range(r):
                other = A[s]
                total = row[s]
                for q in range(s):
                    total -= row[q] * other[q]
                row[s] = total / other[s]
            total = row[r]
            for q in range(r):
                total -= row[q] * row[q]
            if not total > 0:
                return i
            row[r] = math.sqrt(total)
        for r in range(rank):
            row = A[r]
            for q in range(r):
                b[r] -= row[q] * b[q]
            b[r] /= row[r]
        if len(noise):
            for r in range(rank):
                b[r] += noise[i, r]
        for r in range(rank - 1, -1, -1):
            b[r] /= A[r, r]
            row = A[r]
            for q in range(r):
                b[q] -= row[q] * b[r]
        for r in range(rank):
            U[i, r] = b[r]
    return -1
