"""Adagrad over the cells of a co-occurrence matrix, for vectors and biases of words and of contexts."""

import math

from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def glove_cells(rows, columns, logs, weights, step, U, b, S, t, first, last):
    """Step down ``weight (w_i . c_j + b_i + d_j - log)^2 / 2`` at cells first..last, each of them in both directions.

    ``U`` is (2, V, R), words and contexts, ``b`` is (2, V); ``S`` and ``t``, of the same shapes, sum the squares of
    past steps. Returns the loss that was met on the way.
    """
    rank = U.shape[2]
    one = U.dtype.type(1)
    value = 0.0
    for e in range(first, last):
        i, j = rows[e], columns[e]
        for _ in range(1 if i == j else 2):
            w, c, sw, sc = U[0, i], U[1, j], S[0, i], S[1, j]
            m = U.dtype.type(0)
            for r in range(rank):
                m += w[r] * c[r]
            error = m + b[0, i] + b[1, j] - logs[e]
            g = weights[e] * error
            value += 0.5 * g * error
            g *= step
            for r in range(rank):
                dw, dc = g * c[r], g * w[r]
                w[r] -= dw * (one / math.sqrt(sw[r]))
                c[r] -= dc * (one / math.sqrt(sc[r]))
                sw[r] += dw * dw
                sc[r] += dc * dc
            b[0, i] -= g * (one / math.sqrt(t[0, i]))
            b[1, j] -= g * (one / math.sqrt(t[1, j]))
            t[0, i] += g * g
            t[1, j] += g * g
            i, j = j, i
    return value
