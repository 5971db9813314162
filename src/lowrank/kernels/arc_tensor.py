"""Doors to the loops that score dependency arcs with a tensor of low rank, and move its factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowrank.kernels.doors import frozen
from lowrank.kernels.loops import arc_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

DISTANCES = arc_tensor.BINS
"""Bins of signed distances, the first for any."""


class ArcParts(NamedTuple):
    """What arcs are scored with, of float32; or, of float64, sums that make its mean.

    Attributes
    ----------
    theta : ndarray of shape (a power of two,)
        Weights of hashed pairs.
    U, V : ndarray of shape (features, R)
        Of heads and of the words below.
    W : ndarray of shape (DISTANCES, R)
    """

    theta: NDArray[Any]
    U: NDArray[Any]
    V: NDArray[Any]
    W: NDArray[Any]


class ArcScores(NamedTuple):
    """Scores of the arcs of a sentence, and the sums of rows of U and V for each word that they are made of."""

    scores: NDArray[np.float64]
    P: NDArray[np.float32]
    Q: NDArray[np.float32]


class Scratch(NamedTuple):
    """Room that a step works in and leaves as it was: zeros like theta, and minus one for each feature."""

    delta: NDArray[np.float32]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, parts: ArcParts) -> Scratch:
        """Make room for some parts."""
        return cls(np.zeros(len(parts.theta), np.float32), np.full(len(parts.U), -1))


class Pairs(NamedTuple):
    """Which features of the ends of an arc are paired: of the head and of the word; and the column that is the tag."""

    columns: NDArray[np.int64]
    tag: int


def score_tensor_arcs(table: NDArray[np.int32], parts: ArcParts, pairs: Pairs, *, gamma: float) -> ArcScores:
    r"""Give the score of each arc of a sentence.

    .. math:: S_{hm} = \gamma \, \theta \cdot \phi(h, m)
              + (1 - \gamma) \sum_r (U^\top \phi_h)_r (V^\top \phi_m)_r (W_0 + W_{d(h, m)})_r

    Parameters
    ----------
    table : ndarray of int32 of shape (n + 1, columns)
        Numbers of the features of the root and of each word; minus one where there is none.
    parts : ArcParts
    pairs : Pairs
    gamma : float
        Of 0 the tensor alone, of 1 pairs alone.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), eq. (5)
    """
    _check(table, parts, pairs)
    size, rank = len(table), parts.W.shape[1]
    scores = np.zeros((size, size))
    P, Q = np.zeros((size, rank), np.float32), np.zeros((size, rank), np.float32)
    if gamma < 1:
        arc_tensor.feature_sums(table, parts.U, P)
        arc_tensor.feature_sums(table, parts.V, Q)
    arc_tensor.tensor_arc_scores(table, pairs.columns, pairs.tag, parts.theta, P, Q, parts.W, float(gamma), scores)
    return ArcScores(scores, P, Q)


def step_tensor_arcs(
    table: NDArray[np.int32],
    parts: ArcParts,
    pairs: Pairs,
    *,
    scored: ArcScores,
    heads: NDArray[Any],
    found: NDArray[Any],
    loss: float,
    gamma: float,
    C: float,
    clock: int,
    sums: ArcParts,
    scratch: Scratch,
) -> float:
    r"""Move theta, U, V and W at once, in place, towards a tree and away from another; gives the step.

    .. math:: \alpha = \min\Big(C, \frac{\text{loss}}{\gamma^2 \|\Delta\phi\|^2
              + (1 - \gamma)^2 (\|\partial U\|^2 + \|\partial V\|^2 + \|\partial W\|^2)}\Big)

    where the last three are gradients of the difference of the trilinear scores of both trees.

    Parameters
    ----------
    table, parts, pairs
        As in :func:`score_tensor_arcs`.
    scored : ArcScores
        With these parts.
    heads, found : ndarray of int of shape (n,)
        The tree wanted, and the other.
    loss : float
    gamma, C : float
    clock : int
        What is added, times ``clock``, joins the sums.
    sums : ArcParts
    scratch : Scratch
    """
    _check(table, parts, pairs)
    for tree in (heads, found):
        if len(tree) != len(table) - 1 or not 0 <= tree.min() <= tree.max() < len(table):
            raise ValueError(f"each word needs a head from 0 to {len(table) - 1}; got {tree}")
    if any(one.shape != other.shape for one, other in zip(parts, sums, strict=True)):
        raise ValueError("each weight needs a sum")
    trees = (frozen(heads, np.int64), frozen(found, np.int64))
    how = (float(gamma), float(C), float(clock))
    products = (scored.P, scored.Q)
    return float(
        arc_tensor.tensor_arc_step(
            table,
            pairs.columns,
            pairs.tag,
            trees,
            float(loss),
            how,
            tuple(parts),
            tuple(sums),
            products,
            tuple(scratch),
        )
    )


def tensor_cells(
    table: NDArray[np.int32], theta: NDArray[np.float32], pairs: Pairs, *, heads: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give the pairs of features of the arcs of a tree as cells of a tensor, and their weights.

    Parameters
    ----------
    table, theta, pairs
        As in :func:`score_tensor_arcs`.
    heads : ndarray of int of shape (n,)

    Returns
    -------
    cells : ndarray of shape (cells, 3)
        Feature of the head, of the word, and bin of the distance, 0 for any.
    values : ndarray of shape (cells,)
    """
    room = 2 * len(heads) * len(pairs.columns)
    cells, values = np.empty((room, 3), np.int64), np.empty(room)
    count = arc_tensor.arc_pairs(table, pairs.columns, theta, frozen(heads, np.int64), cells, values)
    return cells[:count], values[:count]


def _check(table: NDArray[Any], parts: ArcParts, pairs: Pairs) -> None:
    theta, U, V, W = parts
    if table.ndim != 2 or len(table) < 2 or table.dtype != np.int32:
        raise ValueError(f"table must be of int32, with a root and a word; got {table.dtype} of shape {table.shape}")
    if not -1 <= table.min() <= table.max() < len(U):
        raise ValueError(f"features must be from 0 to {len(U) - 1}, or -1; got {table.min()} to {table.max()}")
    if not len(theta) >= 16 or len(theta) & (len(theta) - 1):
        raise ValueError(f"theta must have a power of two of weights, at least 16; got {len(theta)}")
    if U.shape != V.shape or W.shape != (DISTANCES, U.shape[1]):
        raise ValueError(f"factors do not fit one another; got shapes {U.shape}, {V.shape} and {W.shape}")
    columns = pairs.columns
    if columns.ndim != 2 or columns.shape[1] != 2 or not 0 <= columns.min() <= columns.max() < table.shape[1]:
        raise ValueError(f"pairs must be of columns of the table; got {columns.tolist()}")
    if not 0 <= pairs.tag < table.shape[1]:
        raise ValueError(f"the tag must be a column of the table; got {pairs.tag}")
