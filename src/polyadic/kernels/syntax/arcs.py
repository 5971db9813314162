"""Doors to the loops that score the arcs of dependency trees, and learn from them."""

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
        For :func:`~polyadic.kernels.syntax.eisner.best_arcs`.
    """
    _check(words, tags, weights)
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
    _check(words, tags, weights)
    if len(heads) != len(words) - 2 or sums.shape != weights.shape:
        raise ValueError(f"each word needs a head, and each weight a sum; got {len(heads)} heads, sums {sums.shape}")
    if len(heads) and not 0 <= heads.min() <= heads.max() <= len(heads):
        raise ValueError(f"heads must be words of the sentence, or 0; got {heads.min()} to {heads.max()}")
    arcs.arc_step(
        frozen(words, np.int64), frozen(tags, np.int64), frozen(heads, np.int64), float(step), int(time), weights, sums
    )


def _check(words: NDArray[Any], tags: NDArray[Any], weights: NDArray[Any]) -> None:
    if words.shape != tags.shape or words.ndim != 1 or len(words) < 3:
        raise ValueError(f"words and tags need a root, a word and an end; got shapes {words.shape} and {tags.shape}")
    if weights.ndim != 1 or not len(weights) or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must be as many as a power of two; got shape {weights.shape}")
