"""The best dependency trees of a sentence: projective, the k best of those, and where arcs may cross.

*Projective* (Eisner 1996): a span of words ``i`` to ``j`` is *complete* if one of its ends governs all of it (to the
right: ``i``), *incomplete* if there is an arc between its ends. Two complete spans that meet make an incomplete one,
with an arc either way; an incomplete one and a complete one that share a word make a complete one. Each tree is built
in one way. For the one best tree ``C[i, j]`` is the value of the best complete span under its left end if i < j, and
under its right end if i > j: the first number is that of the governing word, and incomplete spans are laid out in the
same way. For the k best there are k derivations in each cell.

*Spanning trees* of a directed graph (Chu & Liu 1965, Edmonds 1967), whose arcs may cross: each node takes its best
head. If that makes a cycle, its nodes become one, and an arc into a node of the cycle is worth what it wins against the
arc that it would replace; so again, until there is no cycle. Then cycles are opened, the last first, where the arc that
was chosen enters them.
"""

import numpy as np
from numba import njit

ARC, RIGHT, LEFT = range(3)
"""Kinds of spans: with an arc between the ends, its score not yet added; complete under the left, the right end."""


@njit(cache=True, nogil=True, forceinline=True)
def _largest_sum(x, y):
    """Give the maximum of ``x[k] + y[k]``."""
    largest = -np.inf
    for k in range(len(x)):
        largest = max(largest, x[k] + y[k])
    return largest


@njit(cache=True, nogil=True, forceinline=True)
def _where(x, y, total):
    """Give the first k such that ``x[k] + y[k]`` is ``total``."""
    k = 0
    while x[k] + y[k] != total:
        k += 1
    return k


@njit(cache=True, nogil=True)
def _projective_tree(scores, single_root, complete, turned, arc, stack, heads):
    """Write the head of each word, from 0 for the root, in the tree of highest sum; gives the sum.

    ``scores[h, m]`` is of the arc from word ``h`` to word ``m``. The heads are as they were if no tree is allowed.
    ``turned`` has the columns of ``complete`` as rows, and ``stack`` the spans to read: the governing word, and the
    other end. Where a span is cut is looked for again when it is read, which few are.
    """
    size = len(scores)
    for i in range(size):
        complete[i, i] = turned[i, i] = 0.0
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            last = 1 if i == 0 and single_root else j  # nothing stands between the root and its only arc
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
def projective_trees(tables, single_root, heads, values):
    """Write the tree of highest sum of each table of scores, as far as one is allowed, and its sum."""
    size = tables.shape[1]
    complete, turned, arc = np.empty((3, size, size))
    stack = np.empty((2 * size + 2, 2), np.int64)
    for k in range(len(tables)):
        values[k] = _projective_tree(tables[k], single_root, complete, turned, arc, stack, heads[k])


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
                left, right, n, arc = RIGHT, LEFT, m + 1, 0.0
            elif kind == RIGHT:
                left, right, n, arc = ARC, RIGHT, m, scores[i, m]
            else:
                left, right, n, arc = LEFT, ARC, m, scores[j, m]
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
    return heads, values[RIGHT, 0, size - 1, :trees].copy()


@njit(cache=True, nogil=True)
def _best_heads(values, active, above):
    """Give each active node but the root its best head."""
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
    """Mark the nodes of a cycle; gives one of them, or 0 if there is none."""
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
    """Put a cycle into one of its nodes; ``ends[h, m]`` are the words that the arc between two nodes joins."""
    size = len(values)
    for node in range(size):
        if not active[node] or inside[node]:
            continue
        into, out = -1, -1  # the best places to enter and to leave the cycle
        for v in range(size):
            if inside[v]:
                gain = values[node, v] - values[above[v], v]
                if into < 0 or gain > values[node, into] - values[above[into], into]:
                    into = v
                if out < 0 or values[v, node] > values[out, node]:
                    out = v
        gain = values[node, into] - values[above[into], into]
        word, other = ends[node, into, 0], ends[node, into, 1]
        ends[node, kept, 0], ends[node, kept, 1] = word, other
        word, other = ends[out, node, 0], ends[out, node, 1]
        best = values[out, node]
        ends[kept, node, 0], ends[kept, node, 1] = word, other
        # The gain is compared within the column of the cycle only, so the arcs that it keeps need not be added.
        values[node, kept], values[kept, node] = gain, best
    for v in range(size):
        if inside[v] and v != kept:
            active[v] = False


@njit(cache=True, nogil=True)
def spanning_tree(values, heads):
    """Write the head of each word but the root 0 in the tree of highest sum.

    ``values[h, m]``, finite, is of the arc from ``h`` to ``m``, and is overwritten.
    """
    size = len(values)
    active = np.ones(size, np.bool_)
    above, inside = np.zeros(size, np.int64), np.zeros(size, np.bool_)
    ends = np.empty((size, size, 2), np.int32)
    for h in range(size):
        for m in range(size):
            ends[h, m, 0], ends[h, m, 1] = h, m
    group = np.arange(size)  # the node that each word is part of
    steps = 0
    groups = np.zeros((size, size), np.int64)  # as it was before each contraction
    arcs = np.full((size, size, 2), -1, np.int32)  # of the cycle, into each of its nodes
    _best_heads(values, active, above)
    kept = _cycle(above, active, inside)
    while kept:
        groups[steps] = group
        for v in range(size):
            if inside[v]:
                arcs[steps, v, 0], arcs[steps, v, 1] = ends[above[v], v, 0], ends[above[v], v, 1]
        _contract(values, active, above, inside, kept, ends)
        for word in range(size):
            if inside[group[word]]:
                group[word] = kept
        steps += 1
        _best_heads(values, active, above)
        kept = _cycle(above, active, inside)
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
