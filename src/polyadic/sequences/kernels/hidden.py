"""Numba kernels for hidden Markov models: scaled forward-backward sums, and Viterbi paths.

Token ``i`` is the symbol ``symbols[i]``, sequence ``k`` the tokens from ``edges[k]`` to ``edges[k + 1]``. The
probability of the first state is ``start[s]``, that of state t after s ``move[s, t]``, of symbol x in s ``emit[x, s]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Ints, Ints32
from polyadic.core.kernels.common import PARTS, frozen, imap


class HiddenChain(NamedTuple):
    """Parameters of a hidden Markov model with S states and V symbols."""

    start: Array  # initial distribution, shape (S,)
    move: Array  # transition probabilities, from the state of the row to that of the column
    emit: Array  # probability of each symbol (row) in each state (column)


class Expected(NamedTuple):
    """Expected counts of initial states, transitions and emissions, with the log-probability of the sequences."""

    starts: Array
    moves: Array
    emits: Array
    log_probability: float


def expected_counts(symbols: AnyArray, edges: AnyArray, chain: HiddenChain, *, threads: int = 1) -> Expected:
    """Return the expected counts of initial states, transitions and emissions (Rabiner 1989, equations 91 to 95)."""
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
    return Expected(sums[0], sums[1], sums[2], logs)


def hidden_states(symbols: AnyArray, edges: AnyArray, chain: HiddenChain, *, smoothed: bool) -> tuple[Array, Array]:
    """Return the state distribution of each token, and the log-probability of each token given its predecessors.

    States are conditioned on the whole sequence if ``smoothed``, else on the tokens up to each. In impossible sequences
    states are NaN, and logarithms minus infinity, from the first impossible token on; smoothed states everywhere.
    """
    x, ends, tables = _checked(symbols, edges, chain)
    states, logs = np.empty((len(x), len(chain.start))), np.empty(len(x))
    _hidden_states(x, ends, *tables, smoothed, states, logs)
    return states, logs


def _checked(symbols: AnyArray, edges: AnyArray, chain: HiddenChain) -> tuple[Ints, Ints, list[Array]]:
    size = len(chain.start)
    if chain.move.shape != (size, size) or chain.emit.ndim != 2 or chain.emit.shape[1] != size:
        got = f"{chain.move.shape} and {chain.emit.shape}"
        raise ValueError(f"the arrays move and emit must have {size} columns; got shapes {got}")
    ends = frozen(edges, np.int64)
    if not len(ends) or ends[0] != 0 or ends[-1] != len(symbols) or (np.diff(ends) < 0).any():
        raise ValueError(f"edges must increase from 0 to {len(symbols)}")
    if len(symbols) and not 0 <= symbols.min() <= symbols.max() < len(chain.emit):
        about = f"{len(chain.emit)}, the number of rows of emit; got {symbols.min()} to {symbols.max()}"
        raise ValueError(f"symbols must be ids below {about}")
    return frozen(symbols, np.int64), ends, [frozen(part, np.float64) for part in chain]


def viterbi_states(symbols: AnyArray, edges: AnyArray, scores: HiddenChain) -> Ints32:
    r"""Return the highest-scoring state path of each sequence; ties go to the path that ends in the first state.

    .. math:: \max_s\; a_{s_1} + \sum_i B_{x_i s_i} + \sum_{i > 1} M_{s_{i-1} s_i}

    with the scores ``start`` :math:`a`, ``move`` :math:`M` and ``emit`` :math:`B`, which may be minus infinity.
    """
    x, ends, _ = _checked(symbols, edges, scores)
    states = np.empty(len(x), np.int32)
    _viterbi_states(x, ends, *(frozen(table, np.float32) for table in scores), states)
    return states


MIN_PROBABILITY = 1e-290  # smaller filtered probabilities are set to zero, to prevent an overflow of the backward pass


@njit(cache=True, nogil=True)
def _forward(symbols, low, high, start, move, emit, alpha, scale):
    """Run the forward pass on a sequence and return whether all tokens have positive probability."""
    size = len(start)
    for i in range(low, high):
        now, likely = alpha[i - low], emit[symbols[i]]
        if i == low:
            now[:] = start
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
    """Update the backward weights ``after`` in place; ``ahead`` receives the weight of each state of the token."""
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
    """Add the expected counts of sequences ``first`` to ``last - 1`` and return their total log-probability."""
    size, total = len(start), 0.0
    longest = np.append(np.diff(edges[first : last + 1]), 0).max()
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
                starts += alpha[0] * after
                break
            _backward(symbols[i], back, emit, alpha[i - low], scale[i - low], after, ahead)
            for s in range(size):
                weight, pair = alpha[i - low - 1, s], pairs[s]
                for t in range(size):
                    pair[t] += weight * ahead[t]
    moves += pairs * move
    return total


@njit(cache=True, nogil=True)
def _hidden_states(symbols, edges, start, move, emit, smoothed, states, logs):
    """Write the smoothed or filtered state distribution and the log-probability of each token."""
    size, longest = len(start), np.append(np.diff(edges), 0).max()
    alpha, scale = np.empty((longest, size)), np.empty(longest)
    after, ahead = np.empty(size), np.empty(size)
    back = np.ascontiguousarray(move.T)
    for k in range(len(edges) - 1):
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
def _viterbi_states(symbols, edges, start, move, emit, states):
    """Write the most likely state path of each sequence into ``states``."""
    size, longest = len(start), np.append(np.diff(edges), 0).max()
    back = np.zeros((longest, size), np.int32)
    now, before = np.empty(size, np.float32), np.empty(size, np.float32)
    for k in range(len(edges) - 1):
        low, high = edges[k], edges[k + 1]
        for i in range(low, high):
            score = emit[symbols[i]]
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
