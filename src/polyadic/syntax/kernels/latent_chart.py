"""Inside-outside computations for latent-variable grammars, over the derivations of a sentence or given trees.

An edge (rule, parent, left, right) is a binary rule, a unary rule (numbered after the binary ones, right -1), or the
step of a symbol from the lower to the upper layer of a cell (rule -1); see :mod:`polyadic.syntax.kernels.chart` for
cells, layers and slots. Each node has a number of states. The tensor of a rule, parent axis first, starts at
``starts[rule]`` in one flat array. Given trees have one edge per node; that of a tag has no children (-1), and its
tensor is a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import Array, Ints, Ints32, Mask
from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.syntax.kernels.chart import Chart, ChartRules


class Forest(NamedTuple):
    """Packed parse forest: the derivations of a sentence with shared subtrees."""

    edges: Ints32  # (edges, 4), parts before wholes
    layers: Ints  # layer, cell and symbol of each node, sorted
    cells: Ints
    symbols: Ints32

    def node(self, layer: int, cell: int, symbol: int) -> int:
        """Return the index of the node with the given layer, cell and symbol, or -1 if there is none."""
        found = np.flatnonzero((self.layers == layer) & (self.cells == cell) & (self.symbols == symbol))
        return int(found[0]) if len(found) else -1


class Tensors(NamedTuple):
    """Parameter tensors of grammar rules, concatenated into one flat array."""

    numbers: Array
    starts: Ints  # first entry of the tensor of each rule


def forest_of(rules: ChartRules, filled: Chart, kept: Mask) -> Forest:
    """Build the parse forest of the derivations of a chart that use only the slots marked in ``kept``."""
    n, base, values = filled
    if kept.shape != values.shape or base.shape[2] != len(rules.first) - 1:
        about = f"the mask kept must have shape ({len(values)},), and the chart must have the symbols of the rules"
        raise ValueError(f"{about}; got shape {kept.shape}")
    slots = np.flatnonzero(kept)
    entries = np.flatnonzero(base >= 0)
    starts = base.ravel()[entries]
    entry = np.searchsorted(starts, slots, side="right") - 1
    layers, cells, blocks = np.unravel_index(entries[entry], base.shape)
    symbols = (rules.first[blocks] + slots - starts[entry]).astype(np.int32)
    numbers = np.full(len(values), -1, np.int32)
    numbers[slots] = np.arange(len(slots))
    of_cells = np.searchsorted(layers * base.shape[1] + cells, np.arange(2 * base.shape[1] + 1))
    # per layer, with the end of its last cell
    ends = np.stack([of_cells[: base.shape[1] + 1], of_cells[base.shape[1] :]])
    binary, unary = (each[:-1] for each in rules.by_child)  # without weights
    how = base, rules.block, rules.first, numbers, symbols, ends, binary, unary
    edges = np.zeros((16 * len(slots), 4), np.int32)
    if (count := _forest_edges(n, *how, edges)) > len(edges):
        edges = np.zeros((count, 4), np.int32)
        _forest_edges(n, *how, edges)
    return Forest(edges[:count], layers, cells, symbols)


def in_a_row(tensors: Sequence[Array]) -> Tensors:
    """Concatenate the tensors of grammar rules into one flat array, in the order of the rules."""
    numbers = np.concatenate([np.zeros(0), *(np.ravel(tensor) for tensor in tensors)])
    return Tensors(numbers, np.cumsum([0, *(tensor.size for tensor in tensors)])[:-1])


def latent_sums(
    edges: Ints32, tensors: Tensors, sizes: NDArray[np.integer], words: Array, *, root: int, first: Array
) -> tuple[float, Array, Array]:
    """Return the total weight of all derivations, and of those through each node and through each unary edge.

    ``sizes`` are the numbers of states of the nodes, ``words`` of shape (nodes, m) holds the vectors of the tags of
    words, zero elsewhere, and ``first`` the weights of the states of ``root``, the node of the whole sentence.
    """
    states = _checked(edges, tensors, sizes)
    if words.shape != (len(sizes), states.max(initial=0)) or first.shape != (states[root],):
        shapes = f"({len(sizes)}, {states.max(initial=0)}) and ({states[root]},); got {words.shape} and {first.shape}"
        raise ValueError(f"the arrays words and first must have shapes {shapes}")
    values, around, through = np.array(words, np.float64), np.zeros(words.shape), np.zeros(len(edges))
    _latent_inside(edges, *tensors, states, values)
    around[root, : len(first)] = first
    _latent_outside(edges, *tensors, states, values, around, through)
    return float(values[root, : len(first)] @ first), (values * around).sum(axis=1), through


def tree_sums(
    edges: Ints32, tensors: Tensors, sizes: NDArray[np.integer], roots: NDArray[np.integer]
) -> tuple[float, Array, Array, Array]:
    """Return the log-probability, expected counts, and inside and outside values of given trees (E-step of EM).

    There is one edge per node; ``sizes`` are the numbers of states of the nodes, 1 for ``roots``. The counts are
    those of the tensor entries. Rows of the inside and outside values, of shape (nodes, m), sum to 1.
    """
    states = _checked(edges, tensors, sizes)
    if len(edges) != len(sizes) or (states[roots] != 1).any():
        got = f"{len(edges)} edges for {len(sizes)} nodes"
        raise ValueError(f"each node must have one edge, and each root must have one state; got {got}")
    inner, outer = np.zeros((2, len(sizes), states.max(initial=0)))
    outer[roots, 0] = 1
    counts = np.zeros(len(tensors.numbers))
    log = _tree_inside(edges, *tensors, states, inner)
    _tree_counts(edges, *tensors, states, inner, outer, counts)
    return float(log), counts, inner, outer


def best_edges(edges: Ints32, gains: Array, words: Array) -> Ints:
    """Return the edge below each node with the largest sum of gains, or -1; ``words`` are gains of tags of words."""
    _check(edges, len(words))
    if gains.shape != (len(edges),):
        raise ValueError(f"each edge must have a gain; got {len(edges)} edges and gains of shape {gains.shape}")
    values, best = np.array(words, np.float64), np.full(len(words), -1, np.int64)
    _best_edges(edges, frozen(gains, np.float64), values, best)
    return best


def _check(edges: Ints32, nodes: int) -> None:
    if edges.ndim != 2 or edges.shape[1] != 4 or edges.dtype != np.int32:
        raise ValueError(f"edges must be an int32 array of shape (edges, 4); got {edges.dtype} of shape {edges.shape}")
    if len(edges) and (edges[:, 1:].max() >= nodes or edges[:, 1].min() < 0):
        raise ValueError(f"edges must connect node ids from 0 to {nodes - 1}")


def _checked(edges: Ints32, tensors: Tensors, sizes: NDArray[np.integer]) -> Ints:
    """Validate the edges and tensors and return the number of states of each node."""
    _check(edges, len(sizes))
    states = frozen(sizes, np.int64)
    rules = edges[edges[:, 0] >= 0]
    if len(rules):
        if rules[:, 0].max() >= len(tensors.starts):
            raise ValueError(f"rule ids of edges must be below {len(tensors.starts)}")
        children = np.where(rules[:, 2:] < 0, 1, states[rules[:, 2:]]).prod(axis=1)
        room = np.diff(tensors.starts, append=len(tensors.numbers))
        if (states[rules[:, 1]] * children != room[rules[:, 0]]).any():
            about = "the size of each rule tensor must be the product of the state counts of parent and children"
            raise ValueError(about)
    same = edges[edges[:, 0] < 0]
    if (states[same[:, 1]] != states[same[:, 2]]).any():
        raise ValueError("both layers of a symbol must have the same number of states")
    return states


@njit(cache=True, nogil=True)
def _added(edges, count, rule, parent, left, right):
    """Write an edge if the array has room and return the index of the next edge."""
    if count < len(edges):
        edges[count, 0], edges[count, 1], edges[count, 2], edges[count, 3] = rule, parent, left, right
    return count + 1


@njit(cache=True, nogil=True)
def _node(numbers, base, block, first, layer, cell, symbol):
    """Return the node index of a symbol in a chart cell, or -1 if there is no such node."""
    start = base[layer, cell, block[symbol]]
    return numbers[start + symbol - first[block[symbol]]] if start >= 0 else -1


@njit(cache=True, nogil=True)
def _forest_edges(n, base, block, first, numbers, symbols, cells, binary, unary, edges):
    """Write the edges of a parse forest and return their number, which may exceed the length of ``edges``.

    ``numbers`` are the nodes of slots, or -1, ``symbols`` those of nodes, and ``cells`` the first node of each cell.
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
def _latent_inside(edges, tensors, starts, sizes, values):
    """Compute the inside values of all nodes in place, where ``values`` initially holds the word vectors."""
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
def _latent_outside(edges, tensors, starts, sizes, values, around, through):
    """Compute the outside values ``around``, and the sums ``through`` unary edges, from the root vector in place."""
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
    """Divide the first ``size`` entries of a row by their sum and return the sum."""
    total = 0.0
    for a in range(size):
        total += row[a]
    if total > 0.0:
        for a in range(size):
            row[a] /= total
    return total


@njit(cache=True, nogil=True)
def _tree_inside(edges, tensors, starts, sizes, values):
    """Compute the inside values of trees, scaled to sum to 1, and return the log-probability of all trees."""
    log = 0.0
    for e in range(len(edges)):
        r, p, x, _ = edges[e]
        if x < 0:
            values[p, : sizes[p]] = tensors[starts[r] : starts[r] + sizes[p]]
        else:
            _latent_inside(edges[e : e + 1], tensors, starts, sizes, values)
        log += np.log(_scaled(values[p], sizes[p]))
    return log


@njit(cache=True, nogil=True)
def _tree_counts(edges, tensors, starts, sizes, values, around, counts):
    """Add the expected counts to ``counts``; ``around``, at first 1 for roots, is filled with outside values."""
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
def _best_edges(edges, gains, values, best):
    """Compute the largest sum of gains of each node in ``values``, and the corresponding edge in ``best``."""
    for e in range(len(edges)):
        p, x, y = edges[e, 1], edges[e, 2], edges[e, 3]
        value = gains[e] + values[x] + (values[y] if y >= 0 else 0.0)
        if value > values[p]:
            values[p] = value
            best[p] = e
