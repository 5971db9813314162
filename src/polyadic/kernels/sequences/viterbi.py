"""Door to the loop that finds the likeliest states of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen, in_threads
from polyadic.kernels.loops.sequences import viterbi

if TYPE_CHECKING:
    from numpy.typing import NDArray


def viterbi_states(
    words: NDArray[Any],
    edges: NDArray[Any],
    *,
    scores: NDArray[Any],
    start: NDArray[Any],
    move: NDArray[Any],
    threads: int = 1,
) -> NDArray[np.int32]:
    r"""Give the states of highest score of each sentence.

    .. math:: \max_s\; a_{s_1} + \sum_i B_{w_i s_i} + \sum_{i > 1} M_{s_{i-1} s_i}

    Parameters
    ----------
    words : ndarray of int of shape (N,)
        :math:`w`, the words of all sentences one after another.
    edges : ndarray of int of shape (sentences + 1,)
        Where each sentence begins and ends; a sentence may be empty.
    scores : ndarray of shape (V, S)
        :math:`B`; minus infinity where a word cannot be in a state. Each word needs a state.
    start, move : ndarray of shape (S,) and (S, S)
        :math:`a` and :math:`M`, finite.
    threads : int
        Parts worked on at the same time.

    Returns
    -------
    ndarray of int32 of shape (N,)
        Of equals, those that end in the first state.
    """
    size = len(start)
    if scores.ndim != 2 or scores.shape[1] != size or move.shape != (size, size):
        raise ValueError(f"scores and move must have {size} columns; got shapes {scores.shape} and {move.shape}")
    edges = frozen(edges, np.int64)
    if edges[0] != 0 or edges[-1] != len(words) or (np.diff(edges) < 0).any():
        raise ValueError(f"edges must rise from 0 to {len(words)}")
    if len(words) and not 0 <= words.min() <= words.max() < len(scores):
        raise ValueError(f"words must be rows of scores, below {len(scores)}; got {words.min()} to {words.max()}")
    states = np.empty(len(words), np.int32)
    words = frozen(words, np.int64)
    tables = [frozen(table, np.float32) for table in (scores, start, move)]
    bounds = np.linspace(0, len(edges) - 1, threads + 1).astype(np.int64)
    in_threads(lambda t: viterbi.viterbi_states(words, edges, *tables, bounds[t], bounds[t + 1], states), threads)
    return states
