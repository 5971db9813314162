"""Multiplicative factors of Poisson CP models: how much each element of one mode should grow to explain the counts.

Layout of entries, factors and fibres as for the other CP loops. All entries of a fibre share the words of its prefix,
so the product of their rows is formed once; each leaf then costs one dot product and one vector update, whichever mode
the factors are wanted for. No row is kept per entry.
"""

import math

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


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _log_likelihood(x, m, floor):
    """Give ``x log m``, continued below ``floor`` as its tangent."""
    if m < floor:
        return x * (math.log(floor) + (m - floor) / floor)
    return x * math.log(m)


@njit(cache=True, nogil=True, fastmath=FAST)
def poisson_fibres(indices, offsets, values, T, target, floor, measured, first, last, phi):
    """Add ``sum_e x_e / max(m_e, floor) prod_(d != target) U[o_d + e_d]`` to row ``e_target`` of ``phi``.

    Column ``d`` of ``indices`` (order, n) names rows ``U[i] = T[i, 0]`` from ``offsets[d]`` on; ``phi`` has
    the rows of the target alone. Returns ``sum_e x_e log m_e`` of entries first..last if ``measured``, else 0.
    """
    rank, leaf = T.shape[2], indices.shape[0] - 1
    others, w, s = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    total = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        others[:] = 1
        for d in range(leaf):
            if d != target:
                i = offsets[d] + indices[d, start]
                for r in range(rank):
                    others[r] *= T[i, 0, r]
        if target == leaf:
            for r in range(rank):
                w[r] = others[r]
        else:
            i = offsets[target] + indices[target, start]
            for r in range(rank):
                w[r] = others[r] * T[i, 0, r]
                s[r] = 0
        for e in range(start, end):
            x = values[e]
            if x == 0:
                continue
            at = indices[leaf, e]
            k = offsets[leaf] + at
            m = T.dtype.type(0)
            for r in range(rank):
                m += w[r] * T[k, 0, r]
            if measured:
                total += _log_likelihood(x, m, floor)
            c = x / max(m, floor)
            if target == leaf:
                for r in range(rank):
                    phi[at, 0, r] += c * w[r]
            else:
                for r in range(rank):
                    s[r] += c * T[k, 0, r]
        if target != leaf:
            i = indices[target, start]
            for r in range(rank):
                phi[i, 0, r] += s[r] * others[r]
        start = end
    return total
