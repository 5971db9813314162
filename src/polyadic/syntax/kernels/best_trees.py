"""Decoding of dependency trees: k best projective trees (Eisner) and maximum spanning trees (Chu-Liu, Edmonds).

*Projective trees* (Eisner 1996). A span of words ``i`` to ``j`` is *complete* if one of its ends governs all of it, and
*incomplete* if there is an arc between its ends. Two adjacent complete spans make an incomplete one, with an arc in
either direction; an incomplete and a complete span that share a word make a complete one. Each tree has exactly one
derivation. For the single best tree, ``C[i, j]`` is the value of the best complete span with head ``i`` and other end
``j``, in either order; incomplete spans are stored in the same way. For the k best trees each span has k derivations.

*Spanning trees* (Chu & Liu 1965, Edmonds 1967), whose arcs may cross. Each node takes its best head. A cycle is
contracted to one node, where an arc into the cycle is worth its gain over the arc that it would replace; this repeats
until there is no cycle. Then the cycles are expanded, the last first, and broken where the chosen arc enters them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from polyadic.core.annotations import Array, Ints32
from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def best_projective_tree(scores: ArrayLike, *, single_root: bool = True) -> tuple[Ints32, float]:
    """Return heads and score of the best projective tree, or -1 and minus infinity; faster than :func:`best_arcs`."""
    heads, values = best_projective_trees(np.asarray(scores)[None], single_root=single_root)
    return heads[0], float(values[0])


def best_projective_trees(scores: ArrayLike, *, single_root: bool = True) -> tuple[Ints32, Array]:
    """Return the heads and score of the highest-scoring projective tree for each score matrix of a batch."""
    tables = _checked(scores)
    heads, values = np.full((len(tables), tables.shape[1] - 1), -1, np.int32), np.empty(len(tables))
    _projective_trees(frozen(tables), single_root, heads, values)
    return heads, values


def best_spanning_tree(scores: ArrayLike, *, single_root: bool = True) -> tuple[Ints32, float]:
    r"""Return the heads and score of the maximum spanning tree, or -1 and minus infinity if there is none.

    The score of a tree is :math:`\sum_m S_{h_m m}`, where ``scores[h, m]`` is that of the arc from h to m; row 0 is the
    root, column 0 and the diagonal are ignored, and minus infinity forbids an arc. A large penalty on arcs from the
    root ensures a ``single_root``. Among trees that differ by less than about 1e-15 of the spread of the scores times
    the square of the number of words, any may be returned; so forbid arcs by minus infinity, not huge numbers.

    McDonald, Pereira, Ribarov, Hajič (2005), Non-projective dependency parsing using spanning tree algorithms.
    Stanojević, Cohen (2021), A root of a problem: optimizing single-root dependency parsing, for the single root.

    >>> heads, value = best_spanning_tree([[0, 1, 5], [0, 0, 2], [0, 4, 0]])
    >>> heads.tolist(), value
    ([2, 0], 9.0)
    """
    [table] = _checked(np.asarray(scores)[None])
    n = len(table) - 1
    allowed = table > -np.inf
    low, high = table[allowed].min(), table[allowed].max()
    values = table - low
    span = (high - low) * n + 1.0  # exceeds the difference of any two trees
    if single_root:
        values[0] -= span
        span *= n + 1
    values[~allowed] = -span * (n + 1)
    above = np.empty(n + 1, np.int64)
    _spanning_tree(values, above)
    heads = above[1:].astype(np.int32)
    value = float(table[heads, np.arange(1, n + 1)].sum())
    if value == -np.inf or (single_root and (heads == 0).sum() != 1):
        return np.full(n, -1, np.int32), -np.inf
    return heads, value


def best_spanning_trees(scores: ArrayLike, *, single_root: bool = True) -> tuple[Ints32, Array]:
    """Return the heads and score of the maximum spanning tree for each score matrix of a batch."""
    found = [best_spanning_tree(table, single_root=single_root) for table in np.asarray(scores)]
    return np.stack([heads for heads, _ in found]), np.array([value for _, value in found])


def _checked(scores: ArrayLike) -> Array:
    """Validate a batch of score matrices and return a copy with zeros on the diagonal and in column 0."""
    tables = np.array(scores, np.float64)
    if tables.ndim != 3 or tables.shape[1] != tables.shape[2] or tables.shape[1] < 2:
        got = tables.shape[1:]
        raise ValueError(f"scores must be a square matrix for the root and at least one word; got shape {got}")
    words = np.arange(tables.shape[1])
    tables[:, words, words] = tables[:, :, 0] = 0.0
    if not (tables < np.inf).all():  # also catches NaN
        raise ValueError("scores must not be NaN or plus infinity")
    return tables


def best_arcs(scores: ArrayLike, k: int = 1, *, single_root: bool = True) -> tuple[Ints32, Array]:
    r"""Return the heads of the k projective trees with the highest scores :math:`\sum_m S_{h_m m}`, and the scores.

    Scores are those of :func:`best_spanning_tree`. Eisner (1996), Three new probabilistic models for dependency
    parsing. Huang, Chiang (2005), Better k-best parsing, algorithm 2.

    >>> heads, values = best_arcs([[0, 1, 5], [0, 0, 2], [0, 4, 0]], k=2)
    >>> heads.tolist(), values.tolist()
    ([[2, 0], [0, 1]], [9.0, 3.0])
    """
    [table] = _checked(np.asarray(scores)[None])
    np.fill_diagonal(table, -np.inf)
    table[:, 0] = -np.inf
    if k < 1 or k != int(k):
        raise ValueError(f"k must be a whole number of at least 1; got {k}")
    heads, values = _eisner_kbest(frozen(table), int(k), bool(single_root))
    return heads, values


# Kinds of spans: incomplete (without the score of its arc), complete under the left end, and under the right end. They
# are numpy integers, because numba compiles a kernel anew for each literal argument.
ARC, RIGHT, LEFT = np.arange(3)


@njit(cache=True, nogil=True, forceinline=True)
def _largest_sum(x, y):
    """Return the maximum of ``x[k] + y[k]`` over all indices ``k``."""
    largest = -np.inf
    for k in range(len(x)):
        largest = max(largest, x[k] + y[k])
    return largest


@njit(cache=True, nogil=True, forceinline=True)
def _where(x, y, total):
    """Return the first index ``k`` where ``x[k] + y[k]`` equals ``total``."""
    k = 0
    while x[k] + y[k] != total:
        k += 1
    return k


@njit(cache=True, nogil=True)
def _projective_tree(scores, single_root, complete, turned, arc, stack, heads):
    """Write the heads of the best projective tree and return its score, or minus infinity if there is no tree.

    ``turned`` is the transpose of ``complete``, and ``stack`` holds the spans (governing end, other end) to backtrace.
    """
    size = len(scores)
    for i in range(size):
        complete[i, i] = turned[i, i] = 0.0
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            last = 1 if i == 0 and single_root else j  # the root has a single dependent
            best = _largest_sum(complete[i, i:last], complete[j, i + 1 : last + 1])
            arc[i, j] = best + scores[i, j]
            arc[j, i] = best + scores[j, i] if i else -np.inf
            complete[i, j] = turned[j, i] = _largest_sum(arc[i, i + 1 : j + 1], turned[j, i + 1 : j + 1])
            complete[j, i] = turned[i, j] = _largest_sum(turned[i, i:j], arc[j, i:j])
    if complete[0, size - 1] == -np.inf:
        return -np.inf
    stack[0, 0], stack[0, 1] = 0, size - 1
    depth = 1
    while depth:
        depth -= 1
        top, end = stack[depth, 0], stack[depth, 1]
        if top == end:
            continue
        if top < end:
            m = top + 1 + _where(arc[top, top + 1 : end + 1], turned[end, top + 1 : end + 1], complete[top, end])
        else:
            m = end + _where(turned[end, end:top], arc[top, end:top], complete[top, end])
        heads[m - 1] = top
        left, right = min(top, m), max(top, m)
        last = 1 if left == 0 and single_root else right
        lefts, rights = complete[left, left:last], complete[right, left + 1 : last + 1]
        inner = left + _where(lefts, rights, _largest_sum(lefts, rights))
        for a, b in ((m, end), (left, inner), (right, inner + 1)):
            stack[depth, 0], stack[depth, 1] = a, b
            depth += 1
    return complete[0, size - 1]


@njit(cache=True, nogil=True)
def _projective_trees(tables, single_root, heads, values):
    """Write the heads and the score of the best projective tree for each score matrix."""
    size = tables.shape[1]
    complete, turned, arc = np.empty((3, size, size))
    stack = np.empty((2 * size + 2, 2), np.int64)
    for k in range(len(tables)):
        values[k] = _projective_tree(tables[k], single_root, complete, turned, arc, stack, heads[k])


@njit(cache=True, nogil=True)
def _parts(kind, m):
    """Return the kinds of both parts of a span that is split at ``m``, and the first word of the second part."""
    if kind == ARC:
        return RIGHT, LEFT, m + 1
    return (ARC, RIGHT, m) if kind == RIGHT else (LEFT, ARC, m)


@njit(cache=True, nogil=True)
def _add(pool, ranks, count, split, a, b, value):
    """Append a candidate to the pool and return the new size of the pool."""
    pool[count] = value
    ranks[count, 0], ranks[count, 1], ranks[count, 2] = split, a, b
    return count + 1


@njit(cache=True, nogil=True)
def _merge(kind, i, j, low, high, k, scores, values, counts, back, pool, ranks):
    """Write the ``k`` best derivations of a span from two smaller spans, for split points ``low`` to ``high - 1``."""
    count = 0
    for phase in range(k + 1):
        if phase == 0:
            first, last = low, high
        else:  # take the best candidate and add its neighbours
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
            left, right, n = _parts(kind, m)
            arc = 0.0 if kind == ARC else scores[i if kind == RIGHT else j, m]
            lefts, rights = counts[left, i, m], counts[right, n, j]
            if phase == 0:
                if lefts and rights and arc > -np.inf:
                    count = _add(pool, ranks, count, m, 0, 0, values[left, i, m, 0] + values[right, n, j, 0] + arc)
            else:
                a, b = ranks[best, 1], ranks[best, 2]
                if b + 1 < rights:
                    value = values[left, i, m, a] + values[right, n, j, b + 1] + arc
                    count = _add(pool, ranks, count, m, a, b + 1, value)
                if b == 0 and a + 1 < lefts:
                    value = values[left, i, m, a + 1] + values[right, n, j, 0] + arc
                    count = _add(pool, ranks, count, m, a + 1, 0, value)


@njit(cache=True, nogil=True)
def _push(stack, depth, kind, i, j, rank):
    """Push a span onto the backtracing stack and return the stack size."""
    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = kind, i, j, rank
    return depth + 1


@njit(cache=True, nogil=True)
def _eisner_kbest(scores, k, single_root):
    """Return the heads and scores of the k best projective trees in decreasing order of score."""
    size = len(scores)
    values = np.empty((3, size, size, k))  # only the first counts of a span are used
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
            high = 1 if i == 0 and single_root else j  # the root has a single dependent
            _merge(ARC, i, j, i, high, k, scores, values, counts, back, pool, ranks)
            _merge(RIGHT, i, j, i + 1, j + 1, k, scores, values, counts, back, pool, ranks)
            if i > 0:
                _merge(LEFT, i, j, i, j, k, scores, values, counts, back, pool, ranks)
    trees = counts[RIGHT, 0, size - 1]
    heads = np.zeros((trees, size - 1), np.int32)
    stack = np.empty((2 * size + 2, 4), np.int32)
    for tree in range(trees):
        depth = _push(stack, 0, RIGHT, 0, size - 1, tree)
        while depth:
            depth -= 1
            kind, i, j, rank = stack[depth]
            if i == j:
                continue
            m, a, b = back[kind, i, j, rank]
            if kind != ARC:
                heads[tree, m - 1] = i if kind == RIGHT else j
            left, right, n = _parts(kind, m)
            depth = _push(stack, depth, left, i, m, a)
            depth = _push(stack, depth, right, n, j, b)
    return heads, values[RIGHT, 0, size - 1, :trees].copy()


@njit(cache=True, nogil=True)
def _best_heads(values, active, above):
    """Write the best head of each active node except the root."""
    size = len(values)
    for m in range(1, size):
        if active[m]:
            best = -1
            for h in range(size):
                if h != m and active[h] and (best < 0 or values[h, m] > values[best, m]):
                    best = h
            above[m] = best


@njit(cache=True, nogil=True)
def _cycle(above, active, inside):
    """Mark the nodes of a cycle and return one of the nodes, or 0 if there is no cycle."""
    size = len(above)
    seen = np.zeros(size, np.int64)
    for start in range(1, size):
        if not active[start]:
            continue
        node = start
        while node and not seen[node]:
            seen[node] = start
            node = above[node]
        if node and seen[node] == start:
            inside[:] = False
            at = node
            while not inside[at]:
                inside[at] = True
                at = above[at]
            return node
    return 0


@njit(cache=True, nogil=True)
def _contract(values, active, above, inside, kept, ends):
    """Contract a cycle into the node ``kept`` and update the scores and endpoints of its arcs."""
    size = len(values)
    for node in range(size):
        if not active[node] or inside[node]:
            continue
        into, out = -1, -1  # best nodes to enter and leave the cycle
        for v in range(size):
            if inside[v]:
                gain = values[node, v] - values[above[v], v]
                if into < 0 or gain > values[node, into] - values[above[into], into]:
                    into = v
                if out < 0 or values[v, node] > values[out, node]:
                    out = v
        gain, best = values[node, into] - values[above[into], into], values[out, node]
        ends[node, kept] = ends[node, into]
        ends[kept, node] = ends[out, node]
        # Gains are only compared within the column of the cycle, so the constant score of its arcs is left out.
        values[node, kept], values[kept, node] = gain, best
    for v in range(size):
        if inside[v] and v != kept:
            active[v] = False


@njit(cache=True, nogil=True)
def _spanning_tree(values, heads):
    """Write the heads of the maximum spanning tree with root 0, overwriting the (finite) scores ``values``."""
    size = len(values)
    active = np.ones(size, np.bool_)
    above, inside = np.zeros(size, np.int64), np.zeros(size, np.bool_)
    ends = np.empty((size, size, 2), np.int32)
    for h in range(size):
        for m in range(size):
            ends[h, m, 0], ends[h, m, 1] = h, m
    group = np.arange(size)  # node of each word
    steps = 0
    groups = np.zeros((size, size), np.int64)  # before each contraction
    arcs = np.full((size, size, 2), -1, np.int32)  # arcs of the cycle, into each of its nodes
    while True:
        _best_heads(values, active, above)
        kept = _cycle(above, active, inside)
        if not kept:
            break
        groups[steps] = group
        for v in range(size):
            if inside[v]:
                arcs[steps, v, 0], arcs[steps, v, 1] = ends[above[v], v, 0], ends[above[v], v, 1]
        _contract(values, active, above, inside, kept, ends)
        for word in range(size):
            if inside[group[word]]:
                group[word] = kept
        steps += 1
    heads[:] = -1
    for m in range(1, size):
        if active[m]:
            heads[ends[above[m], m, 1]] = ends[above[m], m, 0]
    for step in range(steps - 1, -1, -1):
        entered = -1
        for word in range(1, size):
            if heads[word] >= 0 and arcs[step, groups[step, word], 0] >= 0:
                entered = groups[step, word]
        for v in range(size):
            if arcs[step, v, 0] >= 0 and v != entered:
                heads[arcs[step, v, 1]] = arcs[step, v, 0]
