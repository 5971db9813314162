"""ANOVA kernels of rows of features: their values, their derivatives, and exact steps of one parameter at a time.

Column ``f`` of ``V`` has an order ``d``: of a row with values ``x`` it gives the sum over all sets of d features of the
products of ``z_j = V[j, f] x_j``, the elementary symmetric polynomial ``e_d``. Columns stand in the order of ``d``;
those of order t begin at ``first[t]``, and ``first[-1]`` is their number. Without feature j,

    e_t(without j) = e_t - z_j e_{t-1}(without j)

which is what all derivatives are made of.
"""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vector registers; infinities and NaN stay what they are, so an overflow is seen."""


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _symmetric(columns, values, low, high, first, V, A):
    """Fill ``A[t, f]`` with ``e_t`` of a row, for the columns whose order is at least t."""
    order, K = len(first) - 2, V.shape[1]
    A[0] = 1
    A[1:] = 0
    for p in range(low, high):
        j, x = columns[p], values[p]
        for t in range(order, 0, -1):
            for f in range(first[t], K):
                A[t, f] += A[t - 1, f] * (V[j, f] * x)


@njit(cache=True, nogil=True, fastmath=FAST)
def anova_scores(starts, columns, values, rows, first, V, out):
    """Add to ``out[k]`` what all columns give of row ``rows[k]``."""
    order = len(first) - 2
    A = np.empty((order + 1, V.shape[1]))
    for k in range(len(rows)):
        i = rows[k]
        _symmetric(columns, values, starts[i], starts[i + 1], first, V, A)
        total = 0.0
        for t in range(1, order + 1):
            for f in range(first[t], first[t + 1]):
                total += A[t, f]
        out[k] += total


@njit(cache=True, nogil=True, fastmath=FAST)
def anova_pull(starts, columns, values, rows, slopes, first, V, G, seen, touched):
    """Add to ``G`` the derivatives of ``sum slopes[k] score(rows[k])``; returns how many rows of ``V`` it touched.

    ``touched`` lists them; ``seen`` counts how often each was, from what must be zero where a count begins.
    """
    order, K = len(first) - 2, V.shape[1]
    A = np.empty((order + 1, K))
    B = np.empty(K)
    count = 0
    for k in range(len(rows)):
        i, g = rows[k], slopes[k]
        _symmetric(columns, values, starts[i], starts[i + 1], first, V, A)
        for p in range(starts[i], starts[i + 1]):
            j, x = columns[p], values[p]
            if seen[j] == 0:
                touched[count] = j
                count += 1
            seen[j] += 1
            B[:] = 1
            for t in range(1, order):
                for f in range(first[t + 1], K):
                    B[f] = A[t, f] - V[j, f] * x * B[f]
            for f in range(K):
                G[j, f] += g * x * B[f]
    return count


@njit(cache=True, nogil=True, fastmath=FAST)
def sgd_features(touched, seen, shares, ridges, step, V, G):
    """Move rows of ``V`` against mean gradients, then shrink them as penalties ``shares_j ridges_f`` have it.

    Gradients and counts become zero.
    """
    for k in range(len(touched)):
        j = touched[k]
        each = 1.0 / seen[j]
        seen[j] = 0
        for f in range(V.shape[1]):
            V[j, f] = (V[j, f] - step * each * G[j, f]) / (1 + step * shares[j] * ridges[f])
            G[j, f] = 0


@njit(cache=True, nogil=True, fastmath=FAST)
def adagrad_features(touched, seen, shares, ridges, step, eps, V, G, H):
    """Do so by Adagrad: by sums of gradients, each over the root of the sum of its squares so far, ``H``."""
    for k in range(len(touched)):
        j = touched[k]
        share = shares[j] * seen[j]
        seen[j] = 0
        for f in range(V.shape[1]):
            g = G[j, f] + share * ridges[f] * V[j, f]
            G[j, f] = 0
            H[j, f] += g * g
            V[j, f] -= step * g / (np.sqrt(H[j, f]) + eps)


@njit(cache=True, nogil=True, fastmath=FAST)
def anova_terms(starts, columns, values, v, C):
    """Fill ``C[i, t]``, t from 1 on, with ``e_t`` of row i by the one column ``v``."""
    order = C.shape[1]
    for i in range(len(C)):
        if order == 2:  # in a register: twice as fast
            total = 0.0
            for p in range(starts[i], starts[i + 1]):
                total += v[columns[p]] * values[p]
            C[i, 1] = total
            continue
        C[i, 1:] = 0
        for p in range(starts[i], starts[i + 1]):
            z = v[columns[p]] * values[p]
            for t in range(order - 1, 1, -1):
                C[i, t] += C[i, t - 1] * z
            if order > 1:
                C[i, 1] += z


@njit(cache=True, nogil=True, fastmath=FAST)
def anova_sweep(starts, rows, values, features, precision, weights, ridge, pull, noise, v, C):
    """Solve for, or draw, each of ``v[features]`` given all else; ``C[i, 0]`` is what row i leaves unexplained.

    ``starts``, ``rows`` and ``values`` list the rows of each feature. The score of a row is linear in ``v_j``, with the
    slope ``h = x_j e_{d-1}(without j)``. ``weights`` of rows may be empty, for ones.
    """
    d = C.shape[1]
    h = np.empty(max([starts[j + 1] - starts[j] for j in features]) if d > 2 else 0, C.dtype)
    for j in features:
        low, high, before = starts[j], starts[j + 1], C.dtype.type(v[j])
        S, R = 0.0, 0.0
        if d == 1:
            for p in range(low, high):
                i, x = rows[p], values[p]
                w = weights[i] * x if len(weights) else x
                S += w * x
                R += w * C[i, 0]
        elif d == 2:  # by far the most common: written out, it takes half as long
            for p in range(low, high):
                i, x = rows[p], values[p]
                b = (C[i, 1] - before * x) * x
                w = weights[i] * b if len(weights) else b
                S += w * b
                R += w * C[i, 0]
        else:
            for p in range(low, high):
                i, x = rows[p], values[p]
                b = C.dtype.type(1)
                for t in range(1, d):
                    b = C[i, t] - before * x * b
                b *= x
                h[p - low] = b
                w = weights[i] * b if len(weights) else b
                S += w * b
                R += w * C[i, 0]
        total = precision * S + ridge[j]
        if total <= 0:
            continue
        after = (precision * (R + S * v[j]) + pull[j]) / total + noise[j] / np.sqrt(total)
        moved = C.dtype.type(after - v[j])
        v[j] = after
        if d == 1:
            for p in range(low, high):
                C[rows[p], 0] -= moved * values[p]
        elif d == 2:
            for p in range(low, high):
                i, x = rows[p], values[p]
                C[i, 0] -= moved * ((C[i, 1] - before * x) * x)
                C[i, 1] += moved * x
        else:
            for p in range(low, high):
                i, x = rows[p], values[p]
                C[i, 0] -= moved * h[p - low]
                b = C.dtype.type(1)
                for t in range(1, d):
                    without = C[i, t] - before * x * b
                    C[i, t] += moved * x * b
                    b = without
