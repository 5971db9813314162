"""Sums over all derivations of a sentence by a grammar of few symbols, as products of rows.

Cells and layers are those of :mod:`polyadic.kernels.loops.syntax.chart`. What the upper layer holds is stored twice,
``left[i, s, j]`` and ``right[j, s, i]`` for the symbol ``s`` over the words from ``i`` to ``j - 1``: then the sum over
all places where such a phrase may be cut into a ``b`` and a ``c`` is the inner product of two rows,
``sum_k left[i, b, k] right[j, c, k]``, which all rules with these children share.
"""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


@njit(cache=True, nogil=True)
def _noted(ends, row, s, at):
    """Widen the range in which a row has other than zeros."""
    ends[row, s, 0] = min(ends[row, s, 0], at)
    ends[row, s, 1] = max(ends[row, s, 1], at + 1)


@njit(cache=True, nogil=True)
def _cuts(i, j, one, other):
    """Give between which places words ``i`` to ``j - 1`` may be cut: where both rows have other than zeros."""
    return np.uint64(max(i + 1, one[0], other[0])), np.uint64(max(0, min(j, one[1], other[1])))


@njit(cache=True, nogil=True, fastmath=FAST)
def span_inside(n, words, kinds, weights, pairs, parent, weight, unary, low, left, right, left_ends, right_ends):
    """Fill ``low`` (cells, S), ``left`` and ``right``, all zero, with the inside values of both layers.

    ``words``, ``kinds``, ``weights`` list which symbols each word may have, sorted by word. ``pairs`` is (children of
    each pair of them, starts of its rules among ``parent`` and ``weight``), ``unary`` (child, parent, weight). The
    ends, of which the first are n + 1 and the second 0, are of what is not zero in each row.
    """
    children, starts = pairs
    at = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            lower = low[j * (j - 1) // 2 + i]
            while j == i + 1 and at < len(words) and words[at] == i:
                lower[kinds[at]] = weights[at]
                at += 1
            for p in range(children.shape[0]):
                b, c = children[p, 0], children[p, 1]
                first, last = _cuts(i, j, left_ends[i, b], right_ends[j, c])
                if first >= last:
                    continue
                x, y, total = left[i, b], right[j, c], 0.0
                for k in range(first, last):
                    total += x[k] * y[k]
                for r in range(starts[p], starts[p + 1]):
                    lower[parent[r]] += total * weight[r]
            for s in range(lower.shape[0]):
                left[i, s, j] = lower[s]
            for u in range(unary[0].shape[0]):
                left[i, unary[1][u], j] += lower[unary[0][u]] * unary[2][u]
            for s in range(lower.shape[0]):
                if left[i, s, j] > 0.0:
                    right[j, s, i] = left[i, s, j]
                    _noted(left_ends, i, s, j)
                    _noted(right_ends, j, s, i)


@njit(cache=True, nogil=True)
def span_outside(
    n, root, pairs, parent, weight, unary, inner, left, right, left_ends, right_ends, least, low, of_left, of_right
):
    """Fill ``low``, ``of_left`` and ``of_right``, all zero, with the sums of products of what surrounds each symbol.

    That of the upper layer is ``of_left[i, s, j] + of_right[j, s, i]``; the rest is what :func:`span_inside` took and
    filled, ``inner`` its lower layer. What would go with derivations whose sum is less than ``least`` is left at zero.
    """
    children, starts = pairs
    of_left[0, root, n] = 1.0
    for j in range(n, 0, -1):
        for i in range(j):
            lower = low[j * (j - 1) // 2 + i]
            for s in range(lower.shape[0]):
                lower[s] = of_left[i, s, j] + of_right[j, s, i]
            for u in range(unary[0].shape[0]):
                above = unary[1][u]
                lower[unary[0][u]] += (of_left[i, above, j] + of_right[j, above, i]) * unary[2][u]
            reached = False
            for s in range(lower.shape[0]):
                if lower[s] * inner[j * (j - 1) // 2 + i, s] < least:
                    lower[s] = 0.0
                reached |= lower[s] > 0.0
            if not reached:
                continue
            for p in range(children.shape[0]):
                b, c = children[p, 0], children[p, 1]
                first, last = _cuts(i, j, left_ends[i, b], right_ends[j, c])
                if first >= last:
                    continue
                around = 0.0
                for r in range(starts[p], starts[p + 1]):
                    around += lower[parent[r]] * weight[r]
                if around == 0.0:
                    continue
                x, y, of_x, of_y = left[i, b], right[j, c], of_left[i, b], of_right[j, c]
                for k in range(first, last):
                    of_x[k] += around * y[k]
                    of_y[k] += around * x[k]
