"""The best spanning tree of a directed graph (Chu & Liu 1965, Edmonds 1967), for parses whose arcs may cross.

Each node takes its best head. If that makes a cycle, its nodes become one, and an arc into a node of the cycle is worth
what it wins against the arc that it would replace; so again, until there is no cycle. Then cycles are opened, the
last first, where the arc that was chosen enters them.
"""

import numpy as np
from numba import njit


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
