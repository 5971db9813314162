"""The k best projective dependency trees of a sentence (Eisner 1996, with k derivations in each cell).

A span of words ``i`` to ``j`` is *complete* if one of its ends governs all of it (to the right: ``i``), *incomplete* if
there is an arc between its ends. Two complete spans that meet make an incomplete one, with an arc either way; an
incomplete one and a complete one that share a word make a complete one. Each tree is built in one way.
"""

import numpy as np
from numba import njit

ARC, RIGHT, LEFT = range(3)
"""Kinds of spans: with an arc between the ends, its score not yet added; complete under the left, the right end."""


@njit(cache=True, nogil=True)
def _add(pool, ranks, count, split, a, b, value):
    """Add a candidate."""
    pool[count] = value
    ranks[count, 0], ranks[count, 1], ranks[count, 2] = split, a, b
    return count + 1


@njit(cache=True, nogil=True)
def _merge(kind, i, j, low, high, k, scores, values, counts, back, pool, ranks):
    """Fill a span with the best ``k`` ways to put two spans together, where the words to part them are low..high-1."""
    count = 0
    for phase in range(k + 1):
        if phase == 0:
            first, last = low, high
        else:  # take the best candidate, and propose its neighbours
            best = -1
            for c in range(count):
                if pool[c] > -np.inf and (best < 0 or pool[c] > pool[best]):
                    best = c
            if best < 0:
                break
            at = counts[kind, i, j]
            values[kind, i, j, at] = pool[best]
            back[kind, i, j, at] = ranks[best]
            counts[kind, i, j] = at + 1
            pool[best] = -np.inf
            first, last = ranks[best, 0], ranks[best, 0] + 1
        for m in range(first, last):
            if kind == ARC:
                one, two, n, arc = RIGHT, LEFT, m + 1, 0.0
            elif kind == RIGHT:
                one, two, n, arc = ARC, RIGHT, m, scores[i, m]
            else:
                one, two, n, arc = LEFT, ARC, m, scores[j, m]
            lefts, rights = counts[one, i, m], counts[two, n, j]
            if phase == 0:
                if lefts and rights and arc > -np.inf:
                    count = _add(pool, ranks, count, m, 0, 0, values[one, i, m, 0] + values[two, n, j, 0] + arc)
            else:
                a, b = ranks[best, 1], ranks[best, 2]
                if b + 1 < rights:
                    value = values[one, i, m, a] + values[two, n, j, b + 1] + arc
                    count = _add(pool, ranks, count, m, a, b + 1, value)
                if b == 0 and a + 1 < lefts:
                    value = values[one, i, m, a + 1] + values[two, n, j, 0] + arc
                    count = _add(pool, ranks, count, m, a + 1, 0, value)


@njit(cache=True, nogil=True)
def _push(stack, depth, kind, i, j, rank):
    """Put a span that is to be read on the stack; gives its new height."""
    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = kind, i, j, rank
    return depth + 1


@njit(cache=True, nogil=True)
def eisner_kbest(scores, k, single_root):
    """Give heads (trees, n), from 0 for the root, and scores of the best trees, best first.

    ``scores[h, m]`` is of the arc from word ``h`` to word ``m``, from 1, and 0 the root; minus infinity forbids it. If
    ``single_root``, one word depends on the root.
    """
    size = len(scores)
    values = np.empty((3, size, size, k))  # of a span its first counts are read
    back = np.empty((3, size, size, k, 3), np.int32)
    counts = np.zeros((3, size, size), np.int32)
    pool, ranks = np.empty(size + 2 * k + 2), np.empty((size + 2 * k + 2, 3), np.int32)
    for i in range(size):
        for kind in (RIGHT, LEFT):
            values[kind, i, i, 0] = 0.0
            counts[kind, i, i] = 1
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            high = 1 if i == 0 and single_root else j  # nothing stands between the root and its only arc
            _merge(ARC, i, j, i, high, k, scores, values, counts, back, pool, ranks)
            _merge(RIGHT, i, j, i + 1, j + 1, k, scores, values, counts, back, pool, ranks)
            if i > 0:
                _merge(LEFT, i, j, i, j, k, scores, values, counts, back, pool, ranks)
    found = counts[RIGHT, 0, size - 1]
    heads = np.zeros((found, size - 1), np.int32)
    stack = np.empty((2 * size + 2, 4), np.int32)
    for tree in range(found):
        depth = _push(stack, 0, RIGHT, 0, size - 1, tree)
        while depth:
            depth -= 1
            kind, i, j, rank = stack[depth]
            if i == j:
                continue
            m, a, b = back[kind, i, j, rank]
            if kind == ARC:
                depth = _push(stack, depth, RIGHT, i, m, a)
                depth = _push(stack, depth, LEFT, m + 1, j, b)
            elif kind == RIGHT:
                heads[tree, m - 1] = i
                depth = _push(stack, depth, ARC, i, m, a)
                depth = _push(stack, depth, RIGHT, m, j, b)
            else:
                heads[tree, m - 1] = j
                depth = _push(stack, depth, LEFT, i, m, a)
                depth = _push(stack, depth, ARC, m, j, b)
    return heads, values[RIGHT, 0, size - 1, :found].copy()
