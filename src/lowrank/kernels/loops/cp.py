"""CP models of any order: predictions, the way back from their derivatives, and both in one for the squared loss.

The factors are the rows of one tall matrix ``U``; ``offsets[d]`` says where those of mode ``d`` begin, so modes may
share a factor or not. A fibre is a run of entries that share all words but the last, the leaf. With ``p`` the words of
its prefix, the product ``w = prod_d U[p_d]`` is formed once; each leaf ``k`` costs one dot product ``m = w . U[k]`` and
two vector updates, ``s += g U[k]`` and ``dU[k] += g w``; the words of the prefix get ``dU[p_d] += s prod_(c != d)
U[p_c]`` at the end.
"""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vector registers; infinities and NaN stay what they are, so an overflow is seen."""


@njit(cache=True, nogil=True, fastmath=FAST)
def _fibre_end(indices, start, last):
    """Give the first entry after ``start`` that differs from it in more than the leaf."""
    e = start + 1
    while e < last:
        for d in range(indices.shape[0] - 1):
            if indices[d, e] != indices[d, start]:
                return e
        e += 1
    return e


@njit(cache=True, nogil=True, fastmath=FAST)
def _prefix_product(indices, offsets, U, e, w):
    """Multiply the rows of all words of entry ``e`` but the leaf."""
    w[:] = 1
    for d in range(indices.shape[0] - 1):
        i = offsets[d] + indices[d, e]
        for r in range(len(w)):
            w[r] *= U[i, r]


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_to_prefix(indices, offsets, U, e, s, rest, dU):
    """Add ``s`` times the rows of the other words to the gradient of each word of the prefix of entry ``e``."""
    prefix = indices.shape[0] - 1
    if prefix == 2:  # order 3, the common case: both updates in one pass
        i, j = offsets[0] + indices[0, e], offsets[1] + indices[1, e]
        for r in range(len(s)):
            dU[i, r] += U[j, r] * s[r]
            dU[j, r] += U[i, r] * s[r]
        return
    for d in range(prefix):
        for r in range(len(s)):
            rest[r] = s[r]
        for c in range(prefix):
            if c != d:
                j = offsets[c] + indices[c, e]
                for r in range(len(s)):
                    rest[r] *= U[j, r]
        i = offsets[d] + indices[d, e]
        for r in range(len(s)):
            dU[i, r] += rest[r]


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_fibres(indices, offsets, values, weights, zero_weight, scale, U, first, last, dU):
    """Add the gradient of ``scale/2 sum_e [weights_e (x_e - m_e)^2 - zero_weight m_e^2]`` over entries first..last.

    ``indices`` is (order, n), ``U`` and ``dU`` are (rows, R). Returns the value, summed in double precision.
    """
    rank, last_mode = U.shape[1], indices.shape[0] - 1
    leaf, offset = indices[last_mode], offsets[last_mode]
    w, s, rest = np.empty(rank, U.dtype), np.empty(rank, U.dtype), np.empty(rank, U.dtype)
    value = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, U, start, w)
        s[:] = 0
        for e in range(start, end):
            k = offset + leaf[e]
            m = U.dtype.type(0)
            for r in range(rank):
                m += w[r] * U[k, r]
            residual = m - values[e]
            g = scale * (weights[e] * residual - zero_weight * m)
            value += weights[e] * residual * residual - zero_weight * m * m
            for r in range(rank):
                s[r] += g * U[k, r]
                dU[k, r] += g * w[r]
        _add_to_prefix(indices, offsets, U, start, s, rest, dU)
        start = end
    return 0.5 * scale * value


@njit(cache=True, nogil=True, fastmath=FAST)
def predict_fibres(indices, offsets, U, first, last, predictions):
    """Write ``m_e = sum_r prod_d U[indices[d, e], r]`` for entries first..last."""
    rank, last_mode = U.shape[1], indices.shape[0] - 1
    w = np.empty(rank, U.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, U, start, w)
        for e in range(start, end):
            k = offsets[last_mode] + indices[last_mode, e]
            m = U.dtype.type(0)
            for r in range(rank):
                m += w[r] * U[k, r]
            predictions[e] = m
        start = end


@njit(cache=True, nogil=True, fastmath=FAST)
def pullback_fibres(indices, offsets, derivatives, U, first, last, dU):
    """Add ``sum_e derivatives_e dm_e/dU`` over entries first..last to ``dU``."""
    rank, last_mode = U.shape[1], indices.shape[0] - 1
    w, s, rest = np.empty(rank, U.dtype), np.empty(rank, U.dtype), np.empty(rank, U.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, U, start, w)
        s[:] = 0
        for e in range(start, end):
            k = offsets[last_mode] + indices[last_mode, e]
            g = derivatives[e]
            for r in range(rank):
                s[r] += g * U[k, r]
                dU[k, r] += g * w[r]
        _add_to_prefix(indices, offsets, U, start, s, rest, dU)
        start = end
