"""Door to the loops that sum products of tensors over the derivations of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import latent_chart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.kernels.syntax.chart import ChartRules


class Sums(NamedTuple):
    """What :func:`latent_sums` finds.

    Attributes
    ----------
    total : float
        Of all derivations.
    nodes : ndarray of shape (nodes,)
        Of the derivations that go through each node.
    """

    total: float
    nodes: NDArray[np.float64]


def forest_edges(rules: ChartRules, slots: NDArray[np.int32]) -> NDArray[np.int32]:
    """List the edges between nodes of a chart, parts before wholes.

    Parameters
    ----------
    rules : ChartRules
        Each symbol a block of its own.
    slots : ndarray of int32 of shape (2, cells, symbols)
        Number of the node of each symbol in the lower and the upper layer of each cell, or -1.

    Returns
    -------
    ndarray of int32 of shape (edges, 4)
        Rule, parent, and children: a binary rule, or after those a unary one (last column -1); -1 for the step from
        the lower layer to the upper one.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    n = round((2 * slots.shape[1] + 0.25) ** 0.5 - 0.5)
    if slots.shape != (2, n * (n + 1) // 2, len(rules.block)) or not n:
        raise ValueError(f"slots must be of two layers, the cells of a sentence and {len(rules.block)} symbols")
    numbers = frozen(slots, np.int32)
    (b_start, b_right, b_parent, _), (u_start, u_parent, _) = rules.by_child
    binary, unary = (b_start, b_right, b_parent), (u_start, u_parent)
    count = latent_chart.forest_edges(n, numbers, binary, unary, np.zeros((0, 4), np.int32))
    edges = np.zeros((count, 4), np.int32)
    if count:
        latent_chart.forest_edges(n, numbers, binary, unary, edges)
    return edges


def latent_sums(
    edges: NDArray[np.int32],
    binary: NDArray[np.float64],
    unary: NDArray[np.float64],
    words: NDArray[np.float64],
    *,
    root: int,
    first: NDArray[np.float64],
) -> tuple[Sums, NDArray[np.float64]]:
    """Sum products of tensors over all derivations, and over those through each node and each edge of one child.

    Parameters
    ----------
    edges : ndarray of int32 of shape (edges, 4)
        See :func:`forest_edges`.
    binary, unary : ndarray of shape (rules, m, m, m) and (rules, m, m)
        A tensor for each rule: parent first.
    words : ndarray of shape (nodes, m)
        Vectors of the words' tags, zero elsewhere.
    root : int
        Node of the whole.
    first : ndarray of shape (m,)
        What the vector of the root is multiplied with.

    Returns
    -------
    Sums
    ndarray of shape (edges,)
        Sums of the derivations that go through each edge of one child; 0 for others.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    m = words.shape[1]
    _check(edges, len(words), rules=len(binary) + len(unary))
    if binary.shape[1:] != (m, m, m) or unary.shape[1:] != (m, m) or first.shape != (m,):
        raise ValueError(f"tensors must have {m} states; got shapes {binary.shape}, {unary.shape}, {first.shape}")
    values, around = np.array(words, np.float64), np.zeros(words.shape)
    tensors = frozen(binary, np.float64), frozen(unary, np.float64)
    latent_chart.latent_inside(edges, *tensors, values)
    around[root] = first
    latent_chart.latent_outside(edges, *tensors, values, around)
    total = float(values[root] @ first)
    through = np.zeros(len(edges))
    at = np.flatnonzero(edges[:, 0] >= len(binary))
    _, parents, children, _ = edges[at].T
    matrices = tensors[1][edges[at, 0] - len(binary)]
    through[at] = np.einsum("ea,eab,eb->e", around[parents], matrices, values[children])
    return Sums(total, (values * around).sum(axis=1)), through


def best_edges(edges: NDArray[np.int32], gains: NDArray[np.float64], leaves: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Give for each node the edge below it on the way to the largest sum of gains; -1 for words, or if there is none.

    Parameters
    ----------
    edges : ndarray of int32 of shape (edges, 4)
    gains : ndarray of shape (edges,)
    leaves : ndarray of bool of shape (nodes,)
        The nodes of words.
    """
    _check(edges, len(leaves), rules=np.iinfo(np.int32).max)
    if gains.shape != (len(edges),):
        raise ValueError(f"each edge needs a gain; got {len(edges)} edges and gains of shape {gains.shape}")
    values, best = np.where(leaves, 0.0, -np.inf), np.full(len(leaves), -1, np.int64)
    latent_chart.best_edges(edges, frozen(gains, np.float64), values, best)
    return best


def _check(edges: NDArray[np.int32], nodes: int, *, rules: int) -> None:
    if edges.ndim != 2 or edges.shape[1] != 4 or edges.dtype != np.int32:
        raise ValueError(f"edges must be int32 of shape (edges, 4); got {edges.dtype} of shape {edges.shape}")
    if len(edges) and (edges[:, 0].max() >= rules or edges[:, 1:].max() >= nodes or edges[:, 1:3].min() < 0):
        raise ValueError(f"edges must be between {nodes} nodes, by {rules} rules")
