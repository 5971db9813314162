"""One row after another of a factor, given the others: normal equations solved, sampled from, or kept whole."""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add_entries(starts, columns, c, y, V, i, block, A, b):
    """Add ``sum c v v'`` to the upper half of ``A`` and ``sum y v`` to ``b``, four entries at a time.

    The ``v`` of an entry is the product, element by element, of the rows of ``V`` that ``columns`` names.
    """
    rank, end = V.shape[1], starts[i + 1]
    for e0 in range(starts[i], end, 4):
        for q in range(4):
            e = e0 + q
            if e < end:
                v = V[columns[e, 0]]
                for r in range(rank):
                    block[q, r] = v[r]
                for k in range(1, columns.shape[1]):
                    v = V[columns[e, k]]
                    for r in range(rank):
                        block[q, r] *= v[r]
            else:
                block[q, :] = 0
        last = end - e0 - 1
        e1, e2, e3 = e0 + min(1, last), e0 + min(2, last), e0 + min(3, last)
        v0, v1, v2, v3 = block[0], block[1], block[2], block[3]
        for r in range(rank):
            w0, w1, w2, w3 = c[e0] * v0[r], c[e1] * v1[r], c[e2] * v2[r], c[e3] * v3[r]
            row, t0, t1, t2, t3 = A[r, r:], v0[r:], v1[r:], v2[r:], v3[r:]
            for s in range(rank - r):  # from zero: a loop from r is not made of vectors
                row[s] += w0 * t0[s] + w1 * t1[s] + w2 * t2[s] + w3 * t3[s]
            b[r] += y[e0] * v0[r] + y[e1] * v1[r] + y[e2] * v2[r] + y[e3] * v3[r]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _factorize(A):
    """Replace the upper half of ``A`` by ``R`` with ``A = R' R``, four rows at a time; say whether it is positive."""
    rank = len(A)
    for first in range(0, rank, 4):
        last = min(first + 4, rank)
        for k in range(first, last):
            row = A[k, k:]
            for p in range(first, k):
                other, w = A[p, k:], A[p, k]
                for s in range(rank - k):
                    row[s] -= w * other[s]
            if not row[0] > 0:
                return False
            inverse = 1 / math.sqrt(row[0])
            for s in range(rank - k):
                row[s] *= inverse
        if last == rank:
            return True
        r0, r1, r2, r3 = A[first], A[first + 1], A[first + 2], A[first + 3]
        for i in range(last, rank):
            w0, w1, w2, w3 = r0[i], r1[i], r2[i], r3[i]
            row, t0, t1, t2, t3 = A[i, i:], r0[i:], r1[i:], r2[i:], r3[i:]
            for s in range(rank - i):
                row[s] -= w0 * t0[s] + w1 * t1[s] + w2 * t2[s] + w3 * t3[s]
    return True


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _solve(R, b, z, first):
    """Replace ``b``, which begins with ``first`` zeros, by ``(R' R)^-1 b + R^-1 z``; ``z`` may be empty."""
    rank = len(R)
    for k in range(first, rank):
        row, rest = R[k, k:], b[k:]
        w = rest[0] / row[0]
        for s in range(rank - k):
            rest[s] -= w * row[s]
        rest[0] = w
    for k in range(len(z)):
        b[k] += z[k]
    for k in range(rank - 1, -1, -1):
        row, rest, total = R[k, k + 1 :], b[k + 1 :], b[k]
        for s in range(len(rest)):
            total -= row[s] * rest[s]
        b[k] = total / R[k, k]


@njit(cache=True, nogil=True, fastmath=FAST)
def posterior_rows(starts, columns, c, y, V, precision, linear, noise, first, last, U):
    """Set rows first..last of ``U`` to ``A^-1 b + R^-1 z`` with ``A = precision + sum c v v' = R' R``.

    ``b = linear + sum y v``; row ``i`` has the entries ``starts[i]:starts[i + 1]``. ``z`` are rows of ``noise``, which
    may have none. ``U`` may be a part of ``V``. Returns the first row whose ``A`` is not positive, or -1.
    """
    rank = V.shape[1]
    A, b, block = np.empty((rank, rank), V.dtype), np.empty(rank, V.dtype), np.empty((4, rank), V.dtype)
    nothing = noise[:0, 0]
    for i in range(first, last):
        for r in range(rank):
            b[r] = linear[r]
            for q in range(rank):
                A[r, q] = precision[r, q]
        _add_entries(starts, columns, c, y, V, i, block, A, b)
        if not _factorize(A):
            return i
        _solve(A, b, noise[i] if len(noise) else nothing, 0)
        for r in range(rank):
            U[i, r] = b[r]
    return -1


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add_moments(starts, columns, c, y, V, S, i, A, b):
    """Do as ``_add_entries`` for random ``v``: ``v v'`` is expected to be the product of ``v v' + S`` of rows."""
    rank = V.shape[1]
    for e in range(starts[i], starts[i + 1]):
        first = columns[e, 0]
        if columns.shape[1] == 1:
            v, spread = V[first], S[first]
            for r in range(rank):
                row, tail, more, scaled = A[r, r:], v[r:], spread[r, r:], c[e] * v[r]
                for s in range(rank - r):
                    row[s] += scaled * tail[s] + c[e] * more[s]
                b[r] += y[e] * v[r]
            continue
        for r in range(rank):
            row = A[r]
            mean = y[e]
            for k in range(columns.shape[1]):
                mean *= V[columns[e, k], r]
            b[r] += mean
            for s in range(r, rank):
                product = c[e]
                for k in range(columns.shape[1]):
                    at = columns[e, k]
                    product *= V[at, r] * V[at, s] + S[at, r, s]
                row[s] += product


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _invert(R, X):
    """Set ``X`` to ``(R' R)^-1``."""
    nothing = X[0, :0]
    for column in range(len(R)):
        x = X[column]
        x[:] = 0
        x[column] = 1
        _solve(R, x, nothing, column)


@njit(cache=True, nogil=True, fastmath=FAST)
def variational_rows(starts, columns, c, y, V, S, precision, linear, first, last, U, C):
    """Set rows first..last of ``U`` to means and ``C`` to covariances of normal distributions.

    Rows of ``V`` are random with covariances ``S``; see ``posterior_rows`` for the rest. ``U`` and ``C`` may be parts
    of ``V`` and ``S``. Returns the first row whose matrix is not positive, or -1.
    """
    rank = V.shape[1]
    A, b, nothing = np.empty((rank, rank)), np.empty(rank), np.empty(0)
    for i in range(first, last):
        for r in range(rank):
            b[r] = linear[r]
            for q in range(rank):
                A[r, q] = precision[r, q]
        _add_moments(starts, columns, c, y, V, S, i, A, b)
        if not _factorize(A):
            return i
        _solve(A, b, nothing, 0)
        for r in range(rank):
            U[i, r] = b[r]
        _invert(A, C[i])
    return -1


@njit(cache=True, nogil=True, fastmath=FAST)
def moments(indices, V, S, first, last, mean, square):
    """Give mean and expected square of ``sum_r prod_k v_kr``, the ``v`` random rows of ``V`` with covariances ``S``."""
    rank, order = V.shape[1], indices.shape[1]
    for e in range(first, last):
        mean[e] = 0
        square[e] = 0
        for r in range(rank):
            product = 1.0
            for k in range(order):
                product *= V[indices[e, k], r]
            mean[e] += product
            for s in range(r + 1):
                product = 1.0 if r == s else 2.0
                for k in range(order):
                    at = indices[e, k]
                    product *= V[at, r] * V[at, s] + S[at, r, s]
                square[e] += product
