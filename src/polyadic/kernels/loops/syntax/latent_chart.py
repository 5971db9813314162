"""Derivations of a sentence as edges, from parts to wholes, and sums over them of products of tensors.

An edge (rule, parent, left, right) is a binary rule, a unary one (numbered after the binary ones, right -1), or none at
all (rule -1) that takes a symbol of the lower layer of a cell to the upper one: see
:mod:`polyadic.kernels.loops.syntax.chart` for cells and layers.
"""

from numba import njit


@njit(cache=True, nogil=True)
def _added(edges, count, rule, parent, left, right):
    """Write an edge, if there is room at all, and give the number of the next."""
    if len(edges) > 0:
        edges[count, 0], edges[count, 1], edges[count, 2], edges[count, 3] = rule, parent, left, right
    return count + 1


@njit(cache=True, nogil=True)
def forest_edges(n, slots, binary, unary, edges):
    """Fill ``edges`` and give how many there are; where ``edges`` has no rows they are only counted.

    ``slots[layer, cell, symbol]`` is the number of a node, or -1; ``binary`` is (starts, right, parent) by left child,
    ``unary`` (starts, parent) by child.
    """
    b_start, b_right, b_parent = binary
    u_start, u_parent = unary
    rules, count = len(b_right), 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            cell = j * (j - 1) // 2 + i
            for k in range(i + 1, j):
                first, second = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
                for s in range(slots.shape[2]):
                    left = slots[1, first, s]
                    if left < 0:
                        continue
                    for r in range(b_start[s], b_start[s + 1]):
                        right, parent = slots[1, second, b_right[r]], slots[0, cell, b_parent[r]]
                        if right >= 0 and parent >= 0:
                            count = _added(edges, count, r, parent, left, right)
            for s in range(slots.shape[2]):
                low = slots[0, cell, s]
                if low < 0:
                    continue
                if slots[1, cell, s] >= 0:
                    count = _added(edges, count, -1, slots[1, cell, s], low, -1)
                for u in range(u_start[s], u_start[s + 1]):
                    parent = slots[1, cell, u_parent[u]]
                    if parent >= 0:
                        count = _added(edges, count, rules + u, parent, low, -1)
    return count


@njit(cache=True, nogil=True)
def latent_inside(edges, binary, unary, values):
    """Add to ``values``, which hold those of words, the sums of what is below each node."""
    rules, m = len(binary), values.shape[1]
    for e in range(len(edges)):
        r, p, x, y = edges[e]
        if r < 0:
            values[p] += values[x]
        elif r < rules:
            for a in range(m):
                for b in range(m):
                    part = 0.0
                    for c in range(m):
                        part += binary[r, a, b, c] * values[y, c]
                    values[p, a] += part * values[x, b]
        else:
            for a in range(m):
                for b in range(m):
                    values[p, a] += unary[r - rules, a, b] * values[x, b]


@njit(cache=True, nogil=True)
def latent_outside(edges, binary, unary, values, around):
    """Add to ``around``, which holds that of the root, the sums of what is around each node."""
    rules, m = len(binary), values.shape[1]
    for e in range(len(edges) - 1, -1, -1):
        r, p, x, y = edges[e]
        if r < 0:
            around[x] += around[p]
        elif r < rules:
            for a in range(m):
                for b in range(m):
                    part = 0.0
                    for c in range(m):
                        t = binary[r, a, b, c] * around[p, a]
                        part += t * values[y, c]
                        around[y, c] += t * values[x, b]
                    around[x, b] += part
        else:
            for a in range(m):
                for b in range(m):
                    around[x, b] += unary[r - rules, a, b] * around[p, a]


@njit(cache=True, nogil=True)
def best_edges(edges, gains, values, best):
    """Fill ``values``, 0 for words and else minus infinity, with the largest sums of gains, ``best`` with edges."""
    for e in range(len(edges)):
        p, x, y = edges[e, 1], edges[e, 2], edges[e, 3]
        value = gains[e] + values[x] + (values[y] if y >= 0 else 0.0)
        if value > values[p]:
            values[p] = value
            best[p] = e
