"""Derivations of sentences as edges, from parts to wholes, and sums over them of products of tensors.

An edge (rule, parent, left, right) is a binary rule, a unary one (numbered after the binary ones, right -1), or none at
all (rule -1) that takes a symbol of the lower layer of a cell to the upper one: see
:mod:`polyadic.kernels.loops.syntax.chart` for cells, layers and slots. Each node has a number of states, and the tensor
of a rule, whose first axis is that of the parent, stands from ``starts[rule]`` on in one row of numbers. In trees,
which have one edge for each node, that of a tag has no children at all (-1 both), and its tensor is a vector.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _added(edges, count, rule, parent, left, right):
    """Write an edge, if there is room, and give the number of the next."""
    if count < len(edges):
        edges[count, 0], edges[count, 1], edges[count, 2], edges[count, 3] = rule, parent, left, right
    return count + 1


@njit(cache=True, nogil=True)
def _node(numbers, base, block, first, layer, cell, symbol):
    """Give the node of a symbol, or -1."""
    start = base[layer, cell, block[symbol]]
    return numbers[start + symbol - first[block[symbol]]] if start >= 0 else -1


@njit(cache=True, nogil=True)
def forest_edges(n, base, block, first, numbers, symbols, cells, binary, unary, edges):
    """Fill ``edges`` and give how many there are, which may be more than there is room for.

    ``numbers`` has the node of each slot, or -1; ``symbols`` the symbol of each node, and those of a layer of a cell
    stand from ``cells[layer, cell]`` to ``cells[layer, cell + 1]``. ``binary`` is (starts, right, parent) by left
    child, ``unary`` (starts, parent) by child.
    """
    b_start, b_right, b_parent = binary
    u_start, u_parent = unary
    rules, count = len(b_right), 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            cell = j * (j - 1) // 2 + i
            if cells[0, cell] == cells[0, cell + 1]:
                continue
            for k in range(i + 1, j):
                one, other = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
                if cells[1, other] == cells[1, other + 1]:
                    continue
                for left in range(cells[1, one], cells[1, one + 1]):
                    s = symbols[left]
                    for r in range(b_start[s], b_start[s + 1]):
                        right = _node(numbers, base, block, first, 1, other, b_right[r])
                        if right < 0:
                            continue
                        parent = _node(numbers, base, block, first, 0, cell, b_parent[r])
                        if parent >= 0:
                            count = _added(edges, count, r, parent, left, right)
            for low in range(cells[0, cell], cells[0, cell + 1]):
                s = symbols[low]
                above = _node(numbers, base, block, first, 1, cell, s)
                if above >= 0:
                    count = _added(edges, count, -1, above, low, -1)
                for u in range(u_start[s], u_start[s + 1]):
                    above = _node(numbers, base, block, first, 1, cell, u_parent[u])
                    if above >= 0:
                        count = _added(edges, count, rules + u, above, low, -1)
    return count


@njit(cache=True, nogil=True)
def latent_inside(edges, tensors, starts, sizes, values):
    """Add to ``values``, which hold those of words, the sums of what is below each node."""
    for e in range(len(edges)):
        r, p, x, y = edges[e]
        if r < 0:
            for a in range(sizes[p]):
                values[p, a] += values[x, a]
            continue
        at = starts[r]
        for a in range(sizes[p]):
            total = 0.0
            for b in range(sizes[x]):
                if y < 0:
                    total += tensors[at + b] * values[x, b]
                    continue
                part = 0.0
                for c in range(sizes[y]):
                    part += tensors[at + c] * values[y, c]
                total += part * values[x, b]
                at += sizes[y]
            at += sizes[x] if y < 0 else 0
            values[p, a] += total


@njit(cache=True, nogil=True)
def latent_outside(edges, tensors, starts, sizes, values, around, through):
    """Add to ``around``, which holds that of the root, the sums of what is around each node.

    ``through``, all zero, becomes the sum of what goes through each edge of one child.
    """
    for e in range(len(edges) - 1, -1, -1):
        r, p, x, y = edges[e]
        if r < 0:
            for a in range(sizes[p]):
                around[x, a] += around[p, a]
            continue
        at = starts[r]
        for a in range(sizes[p]):
            for b in range(sizes[x]):
                part = 0.0
                if y < 0:
                    part = tensors[at + b] * around[p, a]
                    through[e] += part * values[x, b]
                else:
                    for c in range(sizes[y]):
                        t = tensors[at + c] * around[p, a]
                        part += t * values[y, c]
                        around[y, c] += t * values[x, b]
                    at += sizes[y]
                around[x, b] += part
            at += sizes[x] if y < 0 else 0


@njit(cache=True, nogil=True)
def _scaled(row, size):
    """Divide the first numbers of a row by their sum, which is given."""
    total = 0.0
    for a in range(size):
        total += row[a]
    if total > 0.0:
        for a in range(size):
            row[a] /= total
    return total


@njit(cache=True, nogil=True)
def tree_inside(edges, tensors, starts, sizes, values):
    """Fill ``values``, all zero, with the inside values of the nodes of trees, each row of sum 1.

    There is one edge for each node, children before parents. Gives the sum of the logarithms of what rows were divided
    by: that of all trees whose root has one state.
    """
    log = 0.0
    for e in range(len(edges)):
        r, p, x, _ = edges[e]
        if x < 0:
            for a in range(sizes[p]):
                values[p, a] = tensors[starts[r] + a]
        else:
            latent_inside(edges[e : e + 1], tensors, starts, sizes, values)
        log += np.log(_scaled(values[p], sizes[p]))
    return log


@njit(cache=True, nogil=True)
def tree_counts(edges, tensors, starts, sizes, values, around, counts):
    """Add to ``counts`` how often each cell of each tensor is expected to be used in trees.

    ``values`` are those of :func:`tree_inside`; ``around`` has ones for the roots and is otherwise zero, and becomes
    the outside values, each row of sum 1.
    """
    for e in range(len(edges) - 1, -1, -1):
        r, p, x, y = edges[e]
        m, k = sizes[x] if x >= 0 else 1, sizes[y] if y >= 0 else 1
        total = 0.0
        for a in range(sizes[p]):
            for b in range(m):
                for c in range(k):
                    t = tensors[starts[r] + (a * m + b) * k + c]
                    total += t * around[p, a] * (values[x, b] if x >= 0 else 1.0) * (values[y, c] if y >= 0 else 1.0)
        for a in range(sizes[p]):
            for b in range(m):
                for c in range(k):
                    at = starts[r] + (a * m + b) * k + c
                    t = tensors[at] * around[p, a]
                    in_x, in_y = values[x, b] if x >= 0 else 1.0, values[y, c] if y >= 0 else 1.0
                    counts[at] += t * in_x * in_y / total
                    if x >= 0:
                        around[x, b] += t * in_y
                    if y >= 0:
                        around[y, c] += t * in_x
        if x >= 0:
            _scaled(around[x], m)
        if y >= 0:
            _scaled(around[y], k)


@njit(cache=True, nogil=True)
def best_edges(edges, gains, values, best):
    """Fill ``values``, minus infinity but for words, with the largest sums of gains, ``best`` with edges."""
    for e in range(len(edges)):
        p, x, y = edges[e, 1], edges[e, 2], edges[e, 3]
        value = gains[e] + values[x] + (values[y] if y >= 0 else 0.0)
        if value > values[p]:
            values[p] = value
            best[p] = e
