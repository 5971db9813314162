"""Paths of hidden Markov chains: sums over all, scaled place by place, and the likeliest.

Token ``i`` is the symbol ``symbols[i]``, sequence ``k`` the tokens from ``edges[k]`` to ``edges[k + 1]``. The
probability of the first state is ``start[s]``, that of state t after s ``move[s, t]``, of symbol x in s ``emit[x, s]``.
"""

import numpy as np
from numba import njit

LEAST = 1e-290
"""A state of a smaller share given the tokens up to one is out: tokens behind could ask for more than numbers hold."""


@njit(cache=True, nogil=True)
def _forward(symbols, low, high, start, move, emit, alpha, scale):
    """Write the distribution of the state of each token given those up to it, and the probability of each token.

    Of a token given those before it; the pass stops where that is 0. Tell whether it is nowhere.
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
            now[t] = now[t] / total if now[t] > LEAST * total else 0.0
    return True


@njit(cache=True, nogil=True)
def _backward(x, back, emit, now, scale, after, ahead):
    """Write what the tokens from one of symbol ``x`` on say of the state before it; ``after`` is what those behind say.

    ``ahead`` gets the share of each state of the token in it, ``now`` is their distribution given the tokens up to it;
    ``back`` is the turned table of moves.
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
def hidden_counts(symbols, edges, start, move, emit, first, last, starts, moves, emits):
    """Add to the tables how often each state is the first, follows each, and has each symbol, as is to be expected.

    Only of the sequences from ``first`` to ``last``. Returns the sum of the logarithms of their probabilities.
    """
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
def hidden_states(symbols, edges, start, move, emit, first, last, smoothed, states, logs):
    """Write the distribution of the state of each token, given all of its sequence or those up to it, and logarithms.

    ``logs[i]`` is that of the probability of a token given those before it; from the first of probability 0 on it is
    minus infinity, and states are NaN from there on, or in all of such a sequence if they are given all of it.
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
def viterbi_states(words, edges, scores, start, move, first, last, states):
    """Write into ``states`` the best path of each sentence from ``first`` to ``last``.

    Token ``i`` is ``words[i]``, and costs ``scores[words[i], s]`` in state ``s``, minus infinity where it cannot be
    in it; ``start[s]`` and ``move[s, t]`` are added for the first state and for each step. Of equals the first.
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
            best = now.max()  # sums that grew with the sentence would lose their last digits
            if best > -np.inf:
                now -= best
            now, before = before, now
        if high > low:
            state = np.argmax(before)
            for i in range(high - 1, low - 1, -1):
                states[i] = state
                state = back[i - low, state]
