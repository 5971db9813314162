"""Numba kernels of hidden Markov chains: scaled forward-backward sums, and Viterbi paths.

Token ``i`` is the symbol ``symbols[i]``, sequence ``k`` the tokens from ``edges[k]`` to ``edges[k + 1]``. The
probability of the first state is ``start[s]``, that of state t after s ``move[s, t]``, of symbol x in s ``emit[x, s]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.kernels.common import PARTS, frozen, imap, in_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Chain(NamedTuple):
    """The probabilities of a hidden Markov chain of S states and V symbols.

    Attributes
    ----------
    start : ndarray of shape (S,)
        Initial distribution of states.
    move : ndarray of shape (S, S)
        Transition probabilities from the state of the row to that of the column.
    emit : ndarray of shape (V, S)
        Probability of each symbol (row) in each state (column).
    """

    start: Array
    move: Array
    emit: Array


class Expected(NamedTuple):
    """Expected counts given sequences: tables like those of a :class:`Chain`, not normalized.

    Attributes
    ----------
    starts, moves, emits : ndarray
    log_probability : float
        Log-probability of all sequences; if it is minus infinity, the tables are meaningless.
    """

    starts: Array
    moves: Array
    emits: Array
    log_probability: float


def expected_counts(symbols: NDArray[Any], edges: NDArray[Any], chain: Chain, *, threads: int = 1) -> Expected:
    """Return the expected counts of initial states, transitions and emissions (E-step of Baum-Welch).

    Parameters
    ----------
    symbols : ndarray of int of shape (N,)
        Concatenated sequences, as rows of ``emit``.
    edges : ndarray of int of shape (sequences + 1,)
        Start and end of each sequence, which may be empty.
    chain : Chain
    threads : int
        Number of threads.

    References
    ----------
    Rabiner (1989), A tutorial on hidden Markov models, section V and equations 91 to 95
    """
    x, ends, tables = _checked(symbols, edges, chain)
    bounds = np.linspace(0, len(ends) - 1, PARTS + 1).astype(np.int64)
    sums, logs = [np.zeros(table.shape) for table in chain], 0.0

    def compute(k: int) -> Expected:
        starts, moves, emits = (np.zeros(table.shape) for table in chain)
        total = _hidden_counts(x, ends, *tables, bounds[k], bounds[k + 1], starts, moves, emits)
        return Expected(starts, moves, emits, float(total))

    for *counts, log in imap(compute, range(PARTS), threads):
        logs += log
        for k, more in enumerate(counts):
            sums[k] += more
    starts, moves, emits = sums
    return Expected(starts, moves, emits, logs)


def hidden_states(
    symbols: NDArray[Any], edges: NDArray[Any], chain: Chain, *, smoothed: bool, threads: int = 1
) -> tuple[Array, Array]:
    """Return the distribution of the state of each token, and the log-probability of the token given its predecessors.

    Parameters
    ----------
    symbols, edges, chain, threads
        As for :func:`expected_counts`.
    smoothed : bool
        Whether states are conditioned on the whole sequence, or on the tokens up to each.

    Returns
    -------
    states : ndarray of shape (N, S)
        NaN in impossible sequences; without smoothing only from the first impossible token on.
    logs : ndarray of shape (N,)
        Minus infinity from the first impossible token on.
    """
    x, ends, tables = _checked(symbols, edges, chain)
    states, logs = np.empty((len(x), len(chain.start))), np.empty(len(x))

    def work(first: int, last: int) -> None:
        _hidden_states(x, ends, *tables, first, last, smoothed, states, logs)

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
    r"""Return the states of highest score of each sentence.

    .. math:: \max_s\; a_{s_1} + \sum_i B_{w_i s_i} + \sum_{i > 1} M_{s_{i-1} s_i}

    Parameters
    ----------
    words : ndarray of int of shape (N,)
        :math:`w`, the concatenated words of all sentences.
    edges : ndarray of int of shape (sentences + 1,)
        Start and end of each sentence, which may be empty.
    scores : ndarray of shape (V, S)
        :math:`B`; minus infinity where a word is impossible in a state. Each word needs a possible state.
    start, move : ndarray of shape (S,) and (S, S)
        :math:`a` and :math:`M`, finite.
    threads : int
        Number of threads.

    Returns
    -------
    ndarray of int32 of shape (N,)
        Ties go to the path that ends in the first state.
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
        _viterbi_states(words, edges, *tables, first, last, states)

    in_spans(work, len(edges) - 1, threads)
    return states


MIN_PROBABILITY = 1e-290
"""Smaller filtered probabilities are set to zero, to prevent an overflow of the backward pass."""


@njit(cache=True, nogil=True)
def _forward(symbols, low, high, start, move, emit, alpha, scale):
    """Write the filtered states and conditional probability of each token; return whether all tokens are possible.

    The pass stops at the first token of probability 0.
    """
    size = len(start)
    for i in range(low, high):
        now, likely = alpha[i - low], emit[symbols[i]]
        if i == low:
            for s in range(size):
                now[s] = start[s]
        else:
            now[:] = 0
            before = alpha[i - low - 1]
            for s in range(size):
                weight, row = before[s], move[s]
                for t in range(size):
                    now[t] += weight * row[t]
        total = 0.0
        for t in range(size):
            now[t] *= likely[t]
            total += now[t]
        scale[i - low] = total
        if not total > 0:
            return False
        for t in range(size):
            now[t] = now[t] / total if now[t] > MIN_PROBABILITY * total else 0.0
    return True


@njit(cache=True, nogil=True)
def _backward(x, back, emit, now, scale, after, ahead):
    """Update the backward weights ``after`` by one token of symbol ``x``.

    ``ahead`` receives the weight of each state of the token, ``now`` is its filtered distribution; ``back`` is the
    transposed transition matrix.
    """
    likely = emit[x]
    for t in range(len(ahead)):
        ahead[t] = likely[t] * after[t] / scale if now[t] > 0 else 0.0
    after[:] = 0
    for t in range(len(ahead)):
        weight, row = ahead[t], back[t]
        for s in range(len(after)):
            after[s] += weight * row[s]


@njit(cache=True, nogil=True)
def _hidden_counts(symbols, edges, start, move, emit, first, last, starts, moves, emits):
    """Add the expected counts of sequences ``first`` to ``last``; return the sum of their log-probabilities."""
    size, longest, total = len(start), 0, 0.0
    for k in range(first, last):
        longest = max(longest, edges[k + 1] - edges[k])
    alpha, scale = np.empty((longest, size)), np.empty(longest)
    after, ahead = np.empty(size), np.empty(size)
    back, pairs = np.ascontiguousarray(move.T), np.zeros((size, size))
    for k in range(first, last):
        low, high = edges[k], edges[k + 1]
        if low == high:
            continue
        if not _forward(symbols, low, high, start, move, emit, alpha, scale):
            return -np.inf
        after[:] = 1
        for i in range(high - 1, low - 1, -1):
            total += np.log(scale[i - low])
            row = emits[symbols[i]]
            for s in range(size):
                row[s] += alpha[i - low, s] * after[s]
            if i == low:
                for s in range(size):
                    starts[s] += alpha[0, s] * after[s]
                break
            _backward(symbols[i], back, emit, alpha[i - low], scale[i - low], after, ahead)
            for s in range(size):
                weight, pair = alpha[i - low - 1, s], pairs[s]
                for t in range(size):
                    pair[t] += weight * ahead[t]
    for s in range(size):
        for t in range(size):
            moves[s, t] += pairs[s, t] * move[s, t]
    return total


@njit(cache=True, nogil=True)
def _hidden_states(symbols, edges, start, move, emit, first, last, smoothed, states, logs):
    """Write the distribution of the state of each token, smoothed or filtered, and log-probabilities.

    ``logs[i]`` is the log-probability of a token given its predecessors. From the first token of probability 0 on it is
    minus infinity and states are NaN; if smoothed, states of the whole sequence are NaN.
    """
    size, longest = len(start), 0
    for k in range(first, last):
        longest = max(longest, edges[k + 1] - edges[k])
    alpha, scale = np.empty((longest, size)), np.empty(longest)
    after, ahead = np.empty(size), np.empty(size)
    back = np.ascontiguousarray(move.T)
    for k in range(first, last):
        low, high = edges[k], edges[k + 1]
        scale[: high - low] = 0
        possible = _forward(symbols, low, high, start, move, emit, alpha, scale)
        for i in range(low, high):
            positive = scale[i - low] > 0
            logs[i] = np.log(scale[i - low]) if positive else -np.inf
            for s in range(size):
                states[i, s] = alpha[i - low, s] if possible or (positive and not smoothed) else np.nan
        if not smoothed or not possible:
            continue
        after[:] = 1
        for i in range(high - 1, low - 1, -1):
            total = 0.0
            for s in range(size):
                states[i, s] *= after[s]
                total += states[i, s]
            for s in range(size):
                states[i, s] /= total
            _backward(symbols[i], back, emit, alpha[i - low], scale[i - low], after, ahead)


@njit(cache=True, nogil=True)
def _viterbi_states(words, edges, scores, start, move, first, last, states):
    """Write into ``states`` the best path of each sentence from ``first`` to ``last``.

    Token ``i`` is ``words[i]`` with the score ``scores[words[i], s]`` in state ``s``, minus infinity if impossible;
    ``start[s]`` and ``move[s, t]`` are added for the first state and for each transition. Ties go to the first state.
    """
    size = len(start)
    longest = 0
    for k in range(first, last):
        longest = max(longest, edges[k + 1] - edges[k])
    back = np.zeros((longest, size), np.int32)
    now, before = np.empty(size, np.float32), np.empty(size, np.float32)
    for k in range(first, last):
        low, high = edges[k], edges[k + 1]
        for i in range(low, high):
            score = scores[words[i]]
            for t in range(size):
                now[t] = -np.inf
                if score[t] == -np.inf:
                    continue
                if i == low:
                    now[t] = start[t] + score[t]
                    continue
                for s in range(size):
                    through = before[s] + move[s, t]
                    if through + score[t] > now[t]:
                        now[t] = through + score[t]
                        back[i - low, t] = s
            best = now.max()  # sums that grow with the sentence would lose precision
            if best > -np.inf:
                now -= best
            now, before = before, now
        if high > low:
            state = np.argmax(before)
            for i in range(high - 1, low - 1, -1):
                states[i] = state
                state = back[i - low, state]
