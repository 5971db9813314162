"""Doors to the loops that score dependency arcs with a tensor of low rank, and move its factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import arc_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

DISTANCES = arc_tensor.BINS
"""Bins of signed distances, the first for any."""


class ArcParts(NamedTuple):
    """What arcs are scored with, or the sums that make its mean, of float32.

    Attributes
    ----------
    theta : ndarray of shape (a power of two,)
        Weights of hashed pairs.
    U, V : ndarray of shape (features + dense values, R)
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


class Moves(NamedTuple):
    """Which of the factors a step moves; theta always moves."""

    U: bool = True
    V: bool = True
    W: bool = True


ALL = Moves()


class Pairs(NamedTuple):
    """Which features of the ends of an arc are paired: of the head and of the word; and the column that is the tag."""

    columns: NDArray[np.int64]
    tag: int


def score_tensor_arcs(
    table: NDArray[np.int32], parts: ArcParts, pairs: Pairs, *, gamma: float, dense: NDArray[np.float32] | None = None
) -> ArcScores:
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
    dense : ndarray of float32 of shape (n + 1, values), optional
        Features of the root and of each word that are numbers. They belong to the last rows of U and V.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), eq. (5)
    """
    values = _check(table, parts, pairs, dense)
    size, rank = len(table), parts.W.shape[1]
    scores = np.zeros((size, size))
    P, Q = np.zeros((size, rank), np.float32), np.zeros((size, rank), np.float32)
    if gamma < 1:
        arc_tensor.feature_sums(table, parts.U, P)
        arc_tensor.feature_sums(table, parts.V, Q)
        if more := values.shape[1]:
            P += values @ parts.U[-more:]
            Q += values @ parts.V[-more:]
    arc_tensor.tensor_arc_scores(table, pairs.columns, pairs.tag, parts.theta, P, Q, parts.W, float(gamma), scores)
    return ArcScores(scores, P, Q)


def step_tensor_arcs(
    table: NDArray[np.int32],
    parts: ArcParts,
    pairs: Pairs,
    *,
    scored: ArcScores,
    heads: NDArray[Any],
    predicted: NDArray[Any],
    loss: float,
    gamma: float,
    C: float,
    clock: int,
    sums: ArcParts,
    scratch: Scratch,
    moves: Moves = ALL,
    more: float = 0.0,
    dense: NDArray[np.float32] | None = None,
) -> float:
    r"""Move theta, U, V and W at once, in place, towards a tree and away from another; gives the step.

    .. math:: \alpha = \min\Big(C, \frac{\text{loss}}{\gamma^2 \|\Delta\phi\|^2
              + (1 - \gamma)^2 (\|\partial U\|^2 + \|\partial V\|^2 + \|\partial W\|^2)}\Big)

    where the last three are gradients of the difference of the trilinear scores of both trees; of factors that stay as
    they are, nothing.

    Parameters
    ----------
    table, parts, pairs, dense
        As in :func:`score_tensor_arcs`.
    scored : ArcScores
        With these parts.
    heads, predicted : ndarray of int of shape (n,)
        The tree wanted, and the other.
    loss : float
    gamma, C : float
    clock : int
        What is added, times ``clock``, joins the sums.
    sums : ArcParts
    scratch : Scratch
    moves : Moves
    more : float
        Added to what the loss is divided by: the squares of features that are moved elsewhere by the same step.
    """
    values = _check(table, parts, pairs, dense)
    for tree in (heads, predicted):
        _check_heads(table, tree)
    if any(part.shape != total.shape for part, total in zip(parts, sums, strict=True)):
        raise ValueError("each weight needs a sum")
    trees = (frozen(heads, np.int64), frozen(predicted, np.int64))
    how = (float(gamma), float(C), float(clock), float(more))
    what = (table, values, pairs.columns, pairs.tag, trees, float(loss), how, tuple(map(bool, moves)))
    arrays = (tuple(parts), tuple(sums), (scored.P, scored.Q), tuple(scratch))
    return float(arc_tensor.tensor_arc_step(*what, *arrays))


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
    _check_heads(table, heads)
    room = 2 * len(heads) * len(pairs.columns)
    cells, values = np.empty((room, 3), np.int64), np.empty(room)
    count = arc_tensor.arc_pairs(table, pairs.columns, theta, frozen(heads, np.int64), cells, values)
    return cells[:count], values[:count]


def hashed_cells(triples: NDArray[np.int64], *, bits: int) -> NDArray[np.int64]:
    """Give the cells, of two to the power of ``bits``, in which pairs of features have their weights.

    Parameters
    ----------
    triples : ndarray of int64 of shape (n, 3)
        As :func:`tensor_cells` gives them.
    bits : int
    """
    if triples.ndim != 2 or triples.shape[1] != 3 or triples.dtype != np.int64:
        raise ValueError(f"cells must be triples of int64; got {triples.dtype} of shape {triples.shape}")
    cells = np.empty(len(triples), np.int64)
    arc_tensor.hashed_cells(triples, np.uint64((1 << bits) - 1), cells)
    return cells


def _check_heads(table: NDArray[Any], heads: NDArray[Any]) -> None:
    if len(heads) != len(table) - 1 or not 0 <= heads.min() <= heads.max() < len(table):
        raise ValueError(f"each word needs a head from 0 to {len(table) - 1}; got {heads}")


def _check(
    table: NDArray[Any], parts: ArcParts, pairs: Pairs, dense: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Refuse what does not fit; gives the dense values, no columns if there are none."""
    theta, U, V, W = parts
    values = np.zeros((len(table), 0), np.float32) if dense is None else dense
    if values.ndim != 2 or len(values) != len(table) or values.dtype != np.float32 or values.shape[1] > len(U):
        raise ValueError(f"dense must be of float32, a row for each of the table; got {values.dtype}, {values.shape}")
    features = len(U) - values.shape[1]
    if table.ndim != 2 or len(table) < 2 or table.dtype != np.int32:
        raise ValueError(f"table must be of int32, with a root and a word; got {table.dtype} of shape {table.shape}")
    if not -1 <= table.min() <= table.max() < features:
        raise ValueError(f"features must be from 0 to {features - 1}, or -1; got {table.min()} to {table.max()}")
    if not len(theta) >= 16 or len(theta) & (len(theta) - 1):
        raise ValueError(f"theta must have a power of two of weights, at least 16; got {len(theta)}")
    if U.shape != V.shape or W.shape != (DISTANCES, U.shape[1]):
        raise ValueError(f"factors do not fit one another; got shapes {U.shape}, {V.shape} and {W.shape}")
    columns = pairs.columns
    if columns.ndim != 2 or columns.shape[1] != 2 or not 0 <= columns.min() <= columns.max() < table.shape[1]:
        raise ValueError(f"pairs must be of columns of the table; got {columns.tolist()}")
    if not 0 <= pairs.tag < table.shape[1]:
        raise ValueError(f"the tag must be a column of the table; got {pairs.tag}")
    return np.ascontiguousarray(values)
