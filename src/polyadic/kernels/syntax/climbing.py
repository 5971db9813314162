"""Doors to the loops that score trees by parts of several arcs, climb to better trees, and learn from two trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import climbing

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRAND, SIBLING, GRAND_SIBLING, THREE = climbing.GRAND, climbing.SIBLING, climbing.GRAND_SIBLING, climbing.THREE
MOST_WORDS = climbing.PLACES
"""Words of a sentence, at most."""
CACHED = 1 << 16
"""Scores of parts that are kept while a sentence is parsed, at most."""


class TreeParts(NamedTuple):
    """What parts of several arcs are scored with.

    Attributes
    ----------
    order : int
        1, 2 or 3: how many arcs a part has at most.
    templates : ndarray of int64 of shape (templates, 5)
        Kind of the part, in ascending order, and the columns of the table that are joined: of x, h, s and m, or minus
        one.
    weights : ndarray of float32 of shape (a power of two,)
        Of hashed features.
    gamma : float
        What sums of weights are multiplied by.
    """

    order: int
    templates: NDArray[np.int64]
    weights: NDArray[np.float32]
    gamma: float


class Difference(NamedTuple):
    """Cells of features of two trees, by how much their counts differ, and the sum of squares of that."""

    cells: NDArray[np.int64]
    counts: NDArray[np.float32]
    squares: float


def score_trees(
    table: NDArray[np.int32], scores: NDArray[np.float64], trees: NDArray[Any], parts: TreeParts
) -> NDArray[np.float64]:
    r"""Give the scores of trees, arcs and parts added up.

    .. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

    Parameters
    ----------
    table : ndarray of int32 of shape (n + 1, columns)
        Numbers of the features of the root and of each word; minus one where there is none.
    scores : ndarray of shape (n + 1, n + 1)
        Of arcs.
    trees : ndarray of int of shape (trees, n)
        Heads, 0 for the root.
    parts : TreeParts
    """
    model, trees = _checked(table, scores, trees, parts)
    return np.array([climbing.tree_score(model, parts.order, frozen(scores, np.float64), tree) for tree in trees])


def climb_trees(
    table: NDArray[np.int32],
    scores: NDArray[np.float64],
    trees: NDArray[Any],
    *,
    parts: TreeParts,
    allowed: NDArray[np.bool_],
    projective: bool,
    single_root: bool = True,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Climb from each tree to one that no new head of a single word makes better.

    Each pass asks for each word, from the leaves up, which head is best when all else stays, until a pass changes
    nothing. If one word is to stay below the root, to put another there is one step with hanging the first below it.

    Parameters
    ----------
    table, scores, parts
        As in :func:`score_trees`.
    trees : ndarray of int of shape (trees, n)
        Where to start, without crossing arcs if ``projective``.
    allowed : ndarray of bool of shape (n + 1, n + 1)
        Arcs from heads (rows) to words that may be made.
    projective : bool
        Whether no arcs may come to cross.
    single_root : bool
        Whether exactly one word depends on the root, in the trees to start from too.

    Returns
    -------
    trees : ndarray of int32 of shape (trees, n)
    values : ndarray of shape (trees,)
        Their scores.

    References
    ----------
    Zhang, Lei, Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing, section 3
    """
    model, trees = _checked(table, scores, trees, parts)
    if allowed.shape != scores.shape or allowed.dtype != np.bool_:
        raise ValueError(f"allowed must be bool, as many as scores; got {allowed.dtype} of shape {allowed.shape}")
    if single_root and not ((trees == 0).sum(axis=1) == 1).all():
        raise ValueError("each tree must have one word below the root")
    values = np.zeros(len(trees))
    how = (parts.order, bool(projective), bool(single_root))
    climbing.climb(model, how, frozen(scores, np.float64), frozen(allowed), trees, values)
    return trees.astype(np.int32), values


def difference_of_trees(
    table: NDArray[np.int32],
    parts: TreeParts,
    *,
    heads: NDArray[Any],
    predicted: NDArray[Any],
    delta: NDArray[np.float32],
) -> Difference:
    """Give by how much the features of one tree exceed those of another.

    Parameters
    ----------
    table, parts
        As in :func:`score_trees`.
    heads, predicted : ndarray of int of shape (n,)
    delta : ndarray of float32
        Zeros, as many as weights; so they are afterwards.
    """
    pair = np.stack([heads, predicted])
    (features, *_), _ = _checked(table, np.zeros((len(table), len(table))), pair, parts)
    if len(delta) != len(parts.weights):
        raise ValueError(f"delta must be as long as the weights, {len(parts.weights)}; got {len(delta)}")
    heads, predicted = pair.astype(np.int64)
    cells = np.empty(24 * len(table) * len(parts.templates), np.int64)
    counts = np.empty(len(cells), np.float32)
    count, squares = climbing.tree_difference(features, parts.order, heads, predicted, delta, cells, counts)
    return Difference(cells[:count], counts[:count], float(squares))


def move_weights(
    parts: TreeParts, difference: Difference, *, step: float, clock: int, sums: NDArray[np.float64]
) -> None:
    """Add a step along a difference to the weights, in place, and the step times ``clock`` to their sums."""
    if len(sums) != len(parts.weights):
        raise ValueError("each weight needs a sum")
    climbing.move_cells(difference.cells, difference.counts, float(step), float(clock), parts.weights, sums)


def _checked(
    table: NDArray[Any], scores: NDArray[Any], trees: NDArray[Any], parts: TreeParts
) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """Give what the loops take for the model, and a copy of the trees."""
    size, trees = len(table), trees.astype(np.int64)
    if table.ndim != 2 or not 2 <= size <= MOST_WORDS + 1 or table.dtype != np.int32 or table.min() < -1:
        raise ValueError(f"table must be of int32 from -1, of 1 to {MOST_WORDS} words; got shape {table.shape}")
    if scores.shape != (size, size) or trees.ndim != 2 or trees.shape[1] != size - 1:
        raise ValueError(f"{size - 1} words do not go with scores {scores.shape} and trees {trees.shape}")
    if not climbing.are_trees(trees):
        raise ValueError(f"heads must form trees, from 0 to {size - 1}")
    order, templates, weights, gamma = parts
    if order not in {1, 2, 3}:
        raise ValueError(f"order must be 1, 2 or 3; got {order}")
    width = table.shape[1]
    if templates.ndim != 2 or templates.shape[1] != 5 or not -1 <= templates.min() <= templates[:, 1:].max() < width:
        raise ValueError(f"templates must be of columns of the table; got {templates.tolist()}")
    if (np.diff(templates[:, 0]) < 0).any() or not 0 <= templates[0, 0] <= templates[-1, 0] <= THREE:
        raise ValueError("templates must be of kinds from 0 to 3, and in that order")
    if weights.dtype != np.float32 or not len(weights) or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must be of float32, as many as a power of two; got {len(weights)}")
    told = np.full((size + 3, width), 1, np.int32)  # an end mark on both sides of the words
    told[1:-2] = np.where(table >= 0, table + 3, 0)
    told[-1] = 2  # of no dependent
    begins = np.searchsorted(templates[:, 0], np.arange(THREE + 2))
    features = frozen(told), frozen(templates, np.int64), frozen(begins, np.int64)
    slots = min(CACHED, 1 << (1024 * size).bit_length())
    asked = np.zeros(slots, [("name", np.int64), ("value", np.float64)])  # no part has the name 0
    held = features, frozen(weights), float(gamma), asked, np.empty(len(templates), np.int64)
    return held, trees
