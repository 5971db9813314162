"""Doors to the loops that score the arcs of dependency trees and their relations, and learn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import arcs

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score_arcs(words: NDArray[Any], tags: NDArray[Any], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give the score of each arc of a sentence of n words: the sum of the weights of its hashed features.

    Parameters
    ----------
    words, tags : ndarray of int of shape (n + 2,)
        Numbers of words and tags, with one for the root in front and one mark at the end.
    weights : ndarray of float32
        As many as a power of two.

    Returns
    -------
    ndarray of shape (n + 1, n + 1)
        For :func:`~polyadic.kernels.syntax.best_trees.best_arcs`.
    """
    _check_sentence(words, tags, weights)
    scores = np.zeros((len(words) - 1, len(words) - 1))
    arcs.arc_scores(frozen(words, np.int64), frozen(tags, np.int64), weights, scores)
    return scores


def step_arcs(
    words: NDArray[Any],
    tags: NDArray[Any],
    heads: NDArray[Any],
    *,
    step: float,
    time: int,
    weights: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Add to the weights of the features of a tree, in place, and to the sums that make their average.

    Parameters
    ----------
    words, tags : ndarray of int of shape (n + 2,)
        As for :func:`score_arcs`.
    heads : ndarray of int of shape (n,)
        From 0 for the root.
    step : float
        What is added; times ``time`` to ``sums``.
    time : int
    weights, sums : ndarray of float32 and of float64, of the same size
    """
    _check_sentence(words, tags, weights)
    if len(heads) != len(words) - 2 or sums.shape != weights.shape:
        raise ValueError(f"each word needs a head, and each weight a sum; got {len(heads)} heads, sums {sums.shape}")
    if len(heads) and not 0 <= heads.min() <= heads.max() <= len(heads):
        raise ValueError(f"heads must be words of the sentence, or 0; got {heads.min()} to {heads.max()}")
    arcs.arc_step(
        frozen(words, np.int64), frozen(tags, np.int64), frozen(heads, np.int64), float(step), int(time), weights, sums
    )


def _check_sentence(words: NDArray[Any], tags: NDArray[Any], weights: NDArray[Any]) -> None:
    if words.shape != tags.shape or words.ndim != 1 or len(words) < 3:
        raise ValueError(f"words and tags need a root, a word and an end; got shapes {words.shape} and {tags.shape}")
    if weights.ndim != 1 or not len(weights) or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must be as many as a power of two; got shape {weights.shape}")


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
    _check_table(table, heads, weights, pairs)
    scores = np.zeros((len(heads), weights.shape[1]), np.float32)
    arcs.arc_label_scores(table, pairs, frozen(heads, np.int64), weights, scores)
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
    sums: NDArray[Any],
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
    sums : ndarray of float32 or float64 of the shape of ``weights``

    Returns
    -------
    int
        Words for which another relation was at least as good.

    References
    ----------
    Crammer et al. (2006), Online passive-aggressive algorithms, eq. (42), with the single best wrong relation
    """
    _check_table(table, heads, weights, pairs)
    if len(labels) != len(heads) or not 0 <= labels.min() <= labels.max() < weights.shape[1]:
        raise ValueError(f"each word needs a relation from 0 to {weights.shape[1] - 1}")
    if sums.shape != weights.shape:
        raise ValueError(f"each weight needs a sum; got shapes {weights.shape} and {sums.shape}")
    right = frozen(labels, np.int64)
    above = frozen(heads, np.int64)
    return int(arcs.arc_label_steps(table, pairs, above, right, float(C), float(clock), weights, sums))


def _check_table(table: NDArray[Any], heads: NDArray[Any], weights: NDArray[Any], pairs: NDArray[Any]) -> None:
    if len(heads) != len(table) - 1 or not len(heads) or not 0 <= heads.min() <= heads.max() < len(table):
        raise ValueError(f"each word needs a head from 0 to {len(table) - 1}; got {heads}")
    if weights.ndim != 2 or len(weights) < 8 or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must have a power of two of rows, at least 8; got shape {weights.shape}")
    if not 0 <= pairs.min() <= pairs.max() < table.shape[1]:
        raise ValueError(f"pairs must be of columns of the table; got {pairs.tolist()}")
