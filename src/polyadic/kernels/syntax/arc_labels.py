"""Doors to the loops that choose the relations of dependency arcs, and learn to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import arc_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score_arc_labels(
    table: NDArray[np.int32], heads: NDArray[Any], weights: NDArray[np.float32], *, pairs: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Give the score of each relation between each word and its head.

    Parameters
    ----------
    table : ndarray of int32 of shape (n + 1, columns)
        Numbers of the features of the root and of each word; minus one where there is none.
    heads : ndarray of int of shape (n,)
    weights : ndarray of float32 of shape (a power of two, relations)
    pairs : ndarray of int64 of shape (pairs, 2)
        Columns of features of the head and of the word.

    Returns
    -------
    ndarray of shape (n, relations)
    """
    _check(table, heads, weights, pairs)
    scores = np.zeros((len(heads), weights.shape[1]), np.float32)
    arc_labels.arc_label_scores(table, pairs, frozen(heads, np.int64), weights, scores)
    return scores


def step_arc_labels(
    table: NDArray[np.int32],
    heads: NDArray[Any],
    labels: NDArray[Any],
    *,
    pairs: NDArray[np.int64],
    C: float,
    clock: int,
    weights: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> int:
    """Make the relation of each word score 1 more than any other, by a step of at most ``C``, in place.

    Parameters
    ----------
    table, heads, pairs, weights
        As in :func:`score_arc_labels`.
    labels : ndarray of int of shape (n,)
        Relations.
    C : float
    clock : int
        What is added, times ``clock``, joins ``sums``.
    sums : ndarray of float64 of the shape of ``weights``

    Returns
    -------
    int
        Words for which another relation was at least as good.

    References
    ----------
    Crammer et al. (2006), Online passive-aggressive algorithms, eq. (42), with the single best wrong relation
    """
    _check(table, heads, weights, pairs)
    if len(labels) != len(heads) or not 0 <= labels.min() <= labels.max() < weights.shape[1]:
        raise ValueError(f"each word needs a relation from 0 to {weights.shape[1] - 1}")
    if sums.shape != weights.shape:
        raise ValueError(f"each weight needs a sum; got shapes {weights.shape} and {sums.shape}")
    right = frozen(labels, np.int64)
    above = frozen(heads, np.int64)
    return int(arc_labels.arc_label_steps(table, pairs, above, right, float(C), float(clock), weights, sums))


def _check(table: NDArray[Any], heads: NDArray[Any], weights: NDArray[Any], pairs: NDArray[Any]) -> None:
    if len(heads) != len(table) - 1 or not len(heads) or not 0 <= heads.min() <= heads.max() < len(table):
        raise ValueError(f"each word needs a head from 0 to {len(table) - 1}; got {heads}")
    if weights.ndim != 2 or len(weights) < 8 or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must have a power of two of rows, at least 8; got shape {weights.shape}")
    if not 0 <= pairs.min() <= pairs.max() < table.shape[1]:
        raise ValueError(f"pairs must be of columns of the table; got {pairs.tolist()}")
