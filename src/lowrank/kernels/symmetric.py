"""Squared loss of a symmetric CP model and its gradient, in one pass over fibres.

A fibre is a run of entries that share all words but the last, the leaf. With ``p`` the words of its prefix, the product
``w = prod_d U[p_d]`` is formed once; each leaf ``k`` costs one dot product ``m = w . U[k]`` and two vector updates,
``s += g U[k]`` and ``dU[k] += g w``; the words of the prefix get ``dU[p_d] += s prod_(c != d) U[p_c]`` at the end.
"""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vector registers; infinities and NaN stay what they are, so an overflow is seen."""


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_fibres(indices, values, weights, zero_weight, scale, U, first, last, dU):
    """Add the gradient of ``scale/2 sum_e [weights_e (x_e - m_e)^2 - zero_weight m_e^2]`` over entries first..last.

    ``indices`` is (order, n), ``U`` and ``dU`` are (V, R). Returns the value, summed in double precision.
    """
    rank, prefix = U.shape[1], indices.shape[0] - 1
    leaf = indices[prefix]
    w = np.empty(rank, U.dtype)
    s = np.empty(rank, U.dtype)
    rest = np.empty(rank, U.dtype)
    value = 0.0
    e = first
    while e < last:
        start = e
        i = indices[0, start]
        for r in range(rank):
            w[r] = U[i, r]
            s[r] = 0
        for d in range(1, prefix):
            i = indices[d, start]
            for r in range(rank):
                w[r] *= U[i, r]
        same_fibre = True
        while same_fibre:
            k = leaf[e]
            m = U.dtype.type(0)
            for r in range(rank):
                m += w[r] * U[k, r]
            residual = m - values[e]
            g = scale * (weights[e] * residual - zero_weight * m)
            value += weights[e] * residual * residual - zero_weight * m * m
            for r in range(rank):
                s[r] += g * U[k, r]
                dU[k, r] += g * w[r]
            e += 1
            same_fibre = e < last
            for d in range(prefix):
                same_fibre = same_fibre and indices[d, e] == indices[d, start]
        if prefix == 2:  # order 3, the common case: both updates in one pass
            i, j = indices[0, start], indices[1, start]
            for r in range(rank):
                dU[i, r] += U[j, r] * s[r]
                dU[j, r] += U[i, r] * s[r]
        else:
            for d in range(prefix):
                for r in range(rank):
                    rest[r] = s[r]
                for c in range(prefix):
                    if c != d:
                        j = indices[c, start]
                        for r in range(rank):
                            rest[r] *= U[j, r]
                i = indices[d, start]
                for r in range(rank):
                    dU[i, r] += rest[r]
    return 0.5 * scale * value


@njit(cache=True, nogil=True, fastmath=FAST)
def predict_fibres(indices, U, first, last, predictions):
    """Write ``m_e = sum_r prod_d U[indices[d, e], r]`` for entries first..last."""
    order, rank = indices.shape[0], U.shape[1]
    w = np.empty(rank, U.dtype)
    for e in range(first, last):
        i = indices[0, e]
        for r in range(rank):
            w[r] = U[i, r]
        for d in range(1, order):
            i = indices[d, e]
            for r in range(rank):
                w[r] *= U[i, r]
        m = U.dtype.type(0)
        for r in range(rank):
            m += w[r]
        predictions[e] = m
