"""The best projective dependency tree of a sentence (Eisner 1996), in the time that one derivation in each cell takes.

A span of words is complete if one of its ends governs all of it, and incomplete if there is an arc between its ends.
``C[i, j]`` is the value of the best complete span under its left end if i < j, and under its right end if i > j: the
first number is that of the governing word. Incomplete spans are laid out in the same way.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def projective_tree(scores, single_root, heads):
    """Write the head of each word, from 0 for the root, in the tree of highest sum; gives the sum.

    ``scores[h, m]`` is of the arc from word ``h`` to word ``m``. The heads are as they were if no tree is allowed.
    """
    size = len(scores)
    complete, arc = np.full((size, size), -np.inf), np.full((size, size), -np.inf)
    split, joint = np.zeros((size, size), np.int64), np.zeros((size, size), np.int64)
    for i in range(size):
        complete[i, i] = 0.0
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            best, at = -np.inf, i
            for m in range(i, 1 if i == 0 and single_root else j):  # nothing stands between the root and its only arc
                value = complete[i, m] + complete[j, m + 1]
                if value > best:
                    best, at = value, m
            arc[i, j], joint[i, j] = best + scores[i, j], at
            arc[j, i], joint[j, i] = best + scores[j, i] if i else -np.inf, at
            best, at = -np.inf, j
            for m in range(i + 1, j + 1):
                value = arc[i, m] + complete[m, j]
                if value > best:
                    best, at = value, m
            complete[i, j], split[i, j] = best, at
            best, at = -np.inf, i
            for m in range(i, j):
                value = complete[m, i] + arc[j, m]
                if value > best:
                    best, at = value, m
            complete[j, i], split[j, i] = best, at
    if complete[0, size - 1] == -np.inf:
        return -np.inf
    stack = np.empty((2 * size + 2, 2), np.int64)  # spans to read: the governing word, and the other end
    stack[0, 0], stack[0, 1] = 0, size - 1
    depth = 1
    while depth:
        depth -= 1
        top, end = stack[depth, 0], stack[depth, 1]
        if top == end:
            continue
        m = split[top, end]
        heads[m - 1] = top
        inner = joint[top, m]
        left, right = min(top, m), max(top, m)
        for a, b in ((m, end), (left, inner), (right, inner + 1)):
            stack[depth, 0], stack[depth, 1] = a, b
            depth += 1
    return complete[0, size - 1]
