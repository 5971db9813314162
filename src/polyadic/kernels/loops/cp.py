"""CP models of any order: predictions, the way back from their derivatives, and both in one for the squared loss.

The factors are the rows of one table ``T``, and ``offsets[d]`` says where those of mode ``d`` begin, so modes may share
a factor or not. ``T[i, 0]`` is a row ``U[i]`` and ``T[i, 1]``, beside it in memory, its gradient ``dU[i]``. A fibre is
a run of entries that share all words but the last, the leaf. With ``p`` the words of its prefix, the product
``w = prod_d U[p_d]`` is formed once; each leaf ``k`` costs one dot product ``m = w . U[k]`` and two vector updates,
``s += g U[k]`` and ``dU[k] += g w``; the words of the prefix get ``dU[p_d] += s prod_(c != d) U[p_c]`` at the end.
Leaves go in pairs, which share each pass over ``w`` and ``s``.
"""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vector registers; infinities and NaN stay what they are, so an overflow is seen."""


@njit(cache=True, nogil=True)
def _fibre_end(indices, start, last):
    """Give the first entry after ``start`` that differs from it in more than the leaf."""
    e = start + 1
    while e < last:
        for d in range(indices.shape[0] - 1):
            if indices[d, e] != indices[d, start]:
                return e
        e += 1
    return e


@njit(cache=True, inline="always")
def _prefix_product(indices, offsets, T, e, w):
    """Multiply the rows of all words of entry ``e`` but the leaf."""
    for r in range(len(w)):
        w[r] = 1
    for d in range(indices.shape[0] - 1):
        i = offsets[d] + indices[d, e]
        for r in range(len(w)):
            w[r] *= T[i, 0, r]


@njit(cache=True, inline="always")
def _dot(T, k, w):
    m = T.dtype.type(0)
    for r in range(len(w)):
        m += w[r] * T[k, 0, r]
    return m


@njit(cache=True, inline="always")
def _dots(T, k, h, w):
    m, n = T.dtype.type(0), T.dtype.type(0)
    for r in range(len(w)):
        m += w[r] * T[k, 0, r]
        n += w[r] * T[h, 0, r]
    return m, n


@njit(cache=True, inline="always")
def _add_leaf(T, k, g, w, s):
    for r in range(len(w)):
        s[r] += g * T[k, 0, r]
        T[k, 1, r] += g * w[r]


@njit(cache=True, inline="always")
def _add_leaves(T, k, h, g, f, w, s):
    for r in range(len(w)):
        s[r] += g * T[k, 0, r] + f * T[h, 0, r]
        T[k, 1, r] += g * w[r]
        T[h, 1, r] += f * w[r]


@njit(cache=True, inline="always")
def _add_to_prefix(indices, offsets, T, e, s, rest):
    """Add ``s`` times the rows of the other words to the gradient of each word of the prefix of entry ``e``."""
    prefix = indices.shape[0] - 1
    for d in range(prefix):
        for r in range(len(s)):
            rest[r] = s[r]
        for c in range(prefix):
            if c != d:
                j = offsets[c] + indices[c, e]
                for r in range(len(s)):
                    rest[r] *= T[j, 0, r]
        i = offsets[d] + indices[d, e]
        for r in range(len(s)):
            T[i, 1, r] += rest[r]


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_fibres(indices, offsets, values, weights, zero_weight, importance, scale, T, first, last):
    """Add the gradient of ``scale/2 sum_e [weights_e (x_e - m_e)^2 - z_e m_e^2]`` over entries first..last.

    ``z_e`` is ``zero_weight`` times the ``importance`` of each word. ``indices`` is (order, n), ``T`` is (rows, 2, R).
    Returns the value, summed in double precision.
    """
    rank, last_mode = T.shape[2], indices.shape[0] - 1
    leaf, offset = indices[last_mode], offsets[last_mode]
    w, s, rest = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    value = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, w)
        z = zero_weight
        for d in range(last_mode):
            z *= importance[offsets[d] + indices[d, start]]
        for r in range(rank):
            s[r] = 0
        e = start
        while e + 1 < end:
            k, h = offset + leaf[e], offset + leaf[e + 1]
            m, n = _dots(T, k, h, w)
            a, b = m - values[e], n - values[e + 1]
            p, q = z * importance[k] * m, z * importance[h] * n
            value += weights[e] * a * a - p * m + weights[e + 1] * b * b - q * n
            g, f = weights[e] * a - p, weights[e + 1] * b - q
            _add_leaves(T, k, h, scale * g, scale * f, w, s)
            e += 2
        if e < end:
            k = offset + leaf[e]
            m = _dot(T, k, w)
            a, p = m - values[e], z * importance[k] * m
            value += weights[e] * a * a - p * m
            _add_leaf(T, k, scale * (weights[e] * a - p), w, s)
        _add_to_prefix(indices, offsets, T, start, s, rest)
        start = end
    return 0.5 * scale * value


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_triples(indices, offsets, values, weights, zero_weight, importance, scale, T, first, last):
    """Do what ``squared_fibres`` does, for order 3, the common case: a known prefix takes a fifth less time."""
    rank, leaf, offset = T.shape[2], indices[2], offsets[2]
    w, s = np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    value = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        i, j = offsets[0] + indices[0, start], offsets[1] + indices[1, start]
        z = zero_weight * importance[i] * importance[j]
        for r in range(rank):
            w[r] = T[i, 0, r] * T[j, 0, r]
            s[r] = 0
        for e in range(start, end - 1, 2):
            k, h = offset + leaf[e], offset + leaf[e + 1]
            m, n = _dots(T, k, h, w)
            a, b = m - values[e], n - values[e + 1]
            p, q = z * importance[k] * m, z * importance[h] * n
            value += weights[e] * a * a - p * m + weights[e + 1] * b * b - q * n
            g, f = weights[e] * a - p, weights[e + 1] * b - q
            _add_leaves(T, k, h, scale * g, scale * f, w, s)
        if (end - start) % 2:
            k = offset + leaf[end - 1]
            m = _dot(T, k, w)
            a, p = m - values[end - 1], z * importance[k] * m
            value += weights[end - 1] * a * a - p * m
            _add_leaf(T, k, scale * (weights[end - 1] * a - p), w, s)
        for r in range(rank):
            T[i, 1, r] += T[j, 0, r] * s[r]
            T[j, 1, r] += T[i, 0, r] * s[r]
        start = end
    return 0.5 * scale * value


@njit(cache=True, nogil=True, fastmath=FAST)
def predict_fibres(indices, offsets, T, first, last, predictions):
    """Write ``m_e = sum_r prod_d U[indices[d, e], r]`` for entries first..last."""
    last_mode = indices.shape[0] - 1
    leaf, offset = indices[last_mode], offsets[last_mode]
    w = np.empty(T.shape[2], T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, w)
        e = start
        while e + 1 < end:
            predictions[e], predictions[e + 1] = _dots(T, offset + leaf[e], offset + leaf[e + 1], w)
            e += 2
        if e < end:
            predictions[e] = _dot(T, offset + leaf[e], w)
        start = end


@njit(cache=True, nogil=True, fastmath=FAST)
def pullback_fibres(indices, offsets, derivatives, T, first, last):
    """Add ``sum_e derivatives_e dm_e/dU`` over entries first..last to the gradients."""
    rank, last_mode = T.shape[2], indices.shape[0] - 1
    leaf, offset = indices[last_mode], offsets[last_mode]
    w, s, rest = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, w)
        for r in range(rank):
            s[r] = 0
        e = start
        while e + 1 < end:
            k, h = offset + leaf[e], offset + leaf[e + 1]
            _add_leaves(T, k, h, derivatives[e], derivatives[e + 1], w, s)
            e += 2
        if e < end:
            _add_leaf(T, offset + leaf[e], derivatives[e], w, s)
        _add_to_prefix(indices, offsets, T, start, s, rest)
        start = end
