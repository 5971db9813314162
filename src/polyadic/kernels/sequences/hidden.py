"""Doors to the loops that add up the paths of hidden Markov chains, and find the likeliest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import PARTS, frozen, in_spans, in_turns
from polyadic.kernels.loops.sequences import hidden

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Chain(NamedTuple):
    """The probabilities of a hidden Markov chain of S states and V symbols.

    Attributes
    ----------
    start : ndarray of shape (S,)
        Of the first state.
    move : ndarray of shape (S, S)
        Of each state (column) after each (row).
    emit : ndarray of shape (V, S)
        Of each symbol (row) in each state (column).
    """

    start: Array
    move: Array
    emit: Array


class Expected(NamedTuple):
    """How often things are to be expected, given sequences: tables like those of a :class:`Chain`, not divided by sums.

    Attributes
    ----------
    starts, moves, emits : ndarray
    log_probability : float
        Of all sequences; minus infinity if one cannot be, and the tables are then of no use.
    """

    starts: Array
    moves: Array
    emits: Array
    log_probability: float


def expected_counts(symbols: NDArray[Any], edges: NDArray[Any], chain: Chain, *, threads: int = 1) -> Expected:
    """Count starts, moves and symbols of states over all paths, each by its probability given the sequence.

    Parameters
    ----------
    symbols : ndarray of int of shape (N,)
        Of all sequences one after another, rows of ``emit``.
    edges : ndarray of int of shape (sequences + 1,)
        Where each sequence begins and ends; it may be empty.
    chain : Chain
    threads : int
        Parts worked on at the same time.

    Raises
    ------
    ValueError
        If shapes do not fit, or a symbol does not exist.

    References
    ----------
    Rabiner (1989), A tutorial on hidden Markov models, section V and equations 91 to 95
    """
    x, ends, tables = _checked(symbols, edges, chain)
    bounds = np.linspace(0, len(ends) - 1, PARTS + 1).astype(np.int64)
    sums, logs = [np.zeros(table.shape) for table in chain], 0.0

    def compute(k: int) -> Expected:
        starts, moves, emits = (np.zeros(table.shape) for table in chain)
        total = hidden.hidden_counts(x, ends, *tables, bounds[k], bounds[k + 1], starts, moves, emits)
        return Expected(starts, moves, emits, float(total))

    def take(part: Expected) -> None:
        nonlocal logs
        *counts, log = part
        logs += log
        for k, more in enumerate(counts):
            sums[k] += more

    in_turns(compute, take, PARTS, threads)
    starts, moves, emits = sums
    return Expected(starts, moves, emits, logs)


def hidden_states(
    symbols: NDArray[Any], edges: NDArray[Any], chain: Chain, *, smoothed: bool, threads: int = 1
) -> tuple[Array, Array]:
    """Give the distribution of the state of each token, and the logarithm of its probability given those before it.

    Parameters
    ----------
    symbols, edges, chain, threads
        As for :func:`expected_counts`.
    smoothed : bool
        Whether states are given all tokens of the sequence, or those up to each.

    Returns
    -------
    states : ndarray of shape (N, S)
        NaN in sequences that cannot be; where only tokens up to each are given, from the first on that cannot be.
    logs : ndarray of shape (N,)
        Minus infinity from the first token on that cannot be.
    """
    x, ends, tables = _checked(symbols, edges, chain)
    states, logs = np.empty((len(x), len(chain.start))), np.empty(len(x))

    def work(first: int, last: int) -> None:
        hidden.hidden_states(x, ends, *tables, first, last, smoothed, states, logs)

    in_spans(work, len(ends) - 1, threads)
    return states, logs


def _checked(
    symbols: NDArray[Any], edges: NDArray[Any], chain: Chain
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Array]]:
    size = len(chain.start)
    if chain.move.shape != (size, size) or chain.emit.ndim != 2 or chain.emit.shape[1] != size:
        raise ValueError(f"move and emit must have {size} columns; got {chain.move.shape} and {chain.emit.shape}")
    ends = frozen(edges, np.int64)
    if not len(ends) or ends[0] != 0 or ends[-1] != len(symbols) or (np.diff(ends) < 0).any():
        raise ValueError(f"edges must rise from 0 to {len(symbols)}")
    if len(symbols) and not 0 <= symbols.min() <= symbols.max() < len(chain.emit):
        raise ValueError(
            f"symbols must be rows of emit, below {len(chain.emit)}; got {symbols.min()} to {symbols.max()}"
        )
    return frozen(symbols, np.int64), ends, [frozen(part, np.float64) for part in chain]


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

    def work(first: int, last: int) -> None:
        hidden.viterbi_states(words, edges, *tables, first, last, states)

    in_spans(work, len(edges) - 1, threads)
    return states
