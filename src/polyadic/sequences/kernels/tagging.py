"""Numba kernels for linear-chain taggers: Viterbi paths, forward-backward sums, and AdaGrad training.

Token ``i`` has the features ``columns[starts[i]:starts[i + 1]]``, sentence ``k`` the tokens from ``edges[k]`` to
``edges[k + 1]``. With Y tags, ``T[s, t]`` is the score of tag t after s; row Y is the start, column Y the end, and
impossible transitions are minus infinity. ``scores[i, t]`` is V times the sum of rows of U, weighted by the feature
values; an empty V means the identity, and empty values are 1.

Weights are stored in tables of shape (rows, 3, width): weight, sum of squared gradients, sum for averaging.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32
from polyadic.core.kernels.common import frozen, mean_weights


class CodedSentences(NamedTuple):
    """Sentences encoded as feature ids, with the boundaries of tokens and sentences."""

    columns: Ints32
    starts: Ints
    edges: Ints
    values: Floats = np.empty(0, np.float32)  # of the features, in the order of columns


class TagParts(NamedTuple):
    """Weights of a linear-chain tagger with F features and Y tags."""

    U: AnyArray  # shape (F, K)
    V: AnyArray  # shape (Y, K), or (0, Y) for the identity, where K is Y
    T: AnyArray  # transition scores, shape (Y + 1, Y + 1); the last row is the start, the last column the end


class TagTables(NamedTuple):
    """Tagger weights in training, with sums of squared gradients and sums for averaging, of shape (rows, 3, width)."""

    U: Floats
    V: Floats
    T: Floats

    @classmethod
    def of(cls, parts: TagParts) -> TagTables:
        """Initialize the tables from weights, with all sums of squared gradients set to 1."""
        rows = ([part, np.ones_like(part), np.zeros_like(part)] for part in parts)
        return cls(*(np.stack(each, axis=1, dtype=np.float32, casting="same_kind") for each in rows))

    def weights(self) -> TagParts:
        """Return a copy of the weights."""
        return TagParts(*(table[:, 0].copy() for table in self))

    def means(self, seen: int) -> TagParts:
        """Return the mean of the initial weights and the weights after each of ``seen`` sentences."""
        return TagParts(*(mean_weights(table[:, 0], table[:, 2], seen) for table in self))


def tag_epoch(
    sentences: CodedSentences,
    gold: Ints32,
    tables: TagTables,
    *,
    order: Ints,
    importance: Floats,
    seen: int,
    soft: bool,
    cost: float,
    learning_rate: float,
    ridge: float,
) -> float:
    r"""Train for one epoch by AdaGrad, updating after each sentence, and return the sum of losses before the updates.

    ``importance``, the number of sentences per occurrence of a feature, multiplies its decay; so the expected gradient
    is that of the objective. ``soft`` is the negative log-likelihood; otherwise the loss is the best score, plus
    ``cost`` for each wrong tag, minus that of ``gold``.
    """
    _check(sentences, *(table[:, 0] for table in tables))
    size = len(tables.T) - 1
    if gold.shape != (len(sentences.starts) - 1,) or (len(gold) and not 0 <= gold.min() <= gold.max() < size):
        raise ValueError(f"gold must contain one tag id below {size} for each token")
    if importance.shape != (len(tables.U),):
        raise ValueError(f"importance must contain one value for each of the {len(tables.U)} features")
    if len(order) and not 0 <= order.min() <= order.max() < len(sentences.edges) - 1:
        raise ValueError(f"order must contain sentence indices below {len(sentences.edges) - 1}")
    how = (seen, soft, float(cost), float(learning_rate), float(ridge))
    return float(_tag_epoch(tuple(sentences), gold, order, importance, tuple(tables), *how))


def tag_paths(sentences: CodedSentences, parts: TagParts) -> Ints32:
    """Return the highest-scoring tags of all sentences, concatenated in one array (Viterbi decoding)."""
    _check(sentences, *parts)
    paths = np.zeros(len(sentences.starts) - 1, np.int32)
    _tagged(*sentences, *(frozen(part) for part in parts), paths, np.empty((0, 0)))
    return paths


def tag_marginals(sentences: CodedSentences, parts: TagParts) -> Array:
    """Return the marginal probability of each tag for each token, of shape (tokens, Y)."""
    _check(sentences, *parts)
    shares = np.empty((len(sentences.starts) - 1, len(parts.T) - 1))
    _tagged(*sentences, *(frozen(part) for part in parts), np.empty(0, np.int32), shares)
    return shares


def _check(sentences: CodedSentences, U: AnyArray, V: AnyArray, T: AnyArray) -> None:
    """Raise ValueError for shapes or indices that would make a kernel read out of bounds."""
    columns, starts, edges, values = sentences
    size = len(T) - 1
    full = len(V) == 0
    if T.shape != (size + 1, size + 1) or V.shape != (0 if full else size, U.shape[1]) or (full and U.shape[1] != size):
        raise ValueError(f"the shapes of U, V and T do not match; got {U.shape}, {V.shape} and {T.shape}")
    for name, bounds, end in (("starts", starts, len(columns)), ("edges", edges, len(starts) - 1)):
        if bounds[0] != 0 or bounds[-1] != end or (np.diff(bounds) < 0).any():
            raise ValueError(f"{name} must increase from 0 to {end}")
    if len(values) not in (0, len(columns)):
        raise ValueError(f"values must contain a number for each of the {len(columns)} features; got {len(values)}")
    if len(columns) and not 0 <= columns.min() <= columns.max() < len(U):
        raise ValueError(f"columns must contain feature ids below {len(U)}; got {columns.min()} to {columns.max()}")


SMALLEST = 1e-290


@njit(cache=True, nogil=True)
def _scores(columns, starts, values, first, last, U, V, sums, scores):
    """Write the sums of feature rows of U and the tag scores for the tokens from ``first`` to ``last - 1``."""
    for i in range(first, last):
        z, score = sums[i - first], scores[i - first]
        z[:] = 0
        for at in range(starts[i], starts[i + 1]):
            row = U[columns[at]]
            value = values[at] if len(values) else np.float32(1)
            for k in range(len(z)):
                z[k] += value * row[k]
        if len(V) == 0:
            score[:] = z
            continue
        for y in range(len(score)):
            total = 0.0
            for k in range(len(z)):
                total += V[y, k] * z[k]
            score[y] = total


@njit(cache=True, nogil=True)
def _best_path(scores, n, T, best, path):
    """Write the best tags of a sentence and return their score; ``best`` receives the best score up to each tag."""
    size = scores.shape[1]
    best[0] = T[size, :size] + scores[0]
    for i in range(1, n):
        now = best[i]
        now[:] = -np.inf
        for s in range(size):
            before, move = best[i - 1, s], T[s]
            for t in range(size):
                through = before + move[t]
                now[t] = max(now[t], through)
        now += scores[i]
    after, top = size, -np.inf
    for i in range(n - 1, -1, -1):
        state, value = 0, -np.inf
        for s in range(size):
            through = best[i, s] + T[s, after]
            if through > value:
                state, value = s, through
        if i == n - 1:
            top = value
        path[i] = after = state
    return top


@njit(cache=True, nogil=True)
def _log_products(logs, E, moves, shift, out):
    """Write the log-sum-exp over ``s`` of ``logs[s] + moves[s, t]`` for each ``t``; E is ``exp(moves - shift)``."""
    size = len(out)
    highest = logs.max()
    if highest == -np.inf:
        out[:] = -np.inf
        return
    out[:] = 0
    for s in range(size):
        p = np.exp(logs[s] - highest)
        if p > 0:
            for t in range(size):
                out[t] += p * E[s, t]
    for t in range(size):
        if out[t] > SMALLEST:
            out[t] = np.log(out[t]) + highest + shift
            continue
        top = -np.inf  # terms far below the maximum have lost their digits, so they are summed separately
        for s in range(size):
            top = max(top, logs[s] + moves[s, t])
        total = 0.0
        if top > -np.inf:
            for s in range(size):
                total += np.exp(logs[s] + moves[s, t] - top)
        out[t] = np.log(total) + top if total > 0 else -np.inf


@njit(cache=True, nogil=True)
def _tag_sums(scores, n, T, alpha, beta, expected):
    """Compute forward and backward log sums and expected transitions, and return the log partition function."""
    size = scores.shape[1]
    moves = np.ascontiguousarray(T[:size, :size]).astype(np.float64)
    turned = np.ascontiguousarray(moves.T)
    shift = moves.max()
    shift = shift if shift > -np.inf else 0.0
    E = np.exp(moves - shift)
    turned_E = np.ascontiguousarray(E.T)
    after = np.empty(size)
    for t in range(size):
        alpha[0, t] = T[size, t] + scores[0, t]
        beta[n - 1, t] = T[t, size]
    for i in range(1, n):
        _log_products(alpha[i - 1], E, moves, shift, alpha[i])
        for t in range(size):
            alpha[i, t] += scores[i, t]
    for i in range(n - 1, 0, -1):
        for t in range(size):
            after[t] = scores[i, t] + beta[i, t]
        _log_products(after, turned_E, turned, shift, beta[i - 1])
    ends = alpha[n - 1] + beta[n - 1]
    highest = ends.max()
    if highest == -np.inf:
        return -np.inf
    total = np.log(np.exp(ends - highest).sum()) + highest
    if len(expected) == 0:
        return total
    for t in range(size):
        expected[size, t] += np.exp(alpha[0, t] + beta[0, t] - total)
        expected[t, size] += np.exp(ends[t] - total)
    for i in range(1, n):
        for t in range(size):
            after[t] = scores[i, t] + beta[i, t]
        left, right = alpha[i - 1].max(), after.max()
        rest = left + right + shift - total
        after_p = np.exp(after - right)
        for s in range(size):
            if rest < 500:
                p = np.exp(alpha[i - 1, s] - left) * np.exp(rest)
                if p > 0:
                    for t in range(size):
                        expected[s, t] += p * E[s, t] * after_p[t]
            else:
                for t in range(size):
                    expected[s, t] += np.exp(alpha[i - 1, s] + moves[s, t] + after[t] - total)
    return total


@njit(cache=True, nogil=True)
def _tag_gradient(scores, gold, T, soft, cost, D, G):
    """Write the gradient of the loss by scores (D) and transitions (G), and return the loss."""
    n, size = len(gold), scores.shape[1]
    G[:] = 0
    right = T[size, gold[0]] + T[gold[n - 1], size]
    for i in range(n):
        right += scores[i, gold[i]] + (T[gold[i - 1], gold[i]] if i else 0.0)
    if soft:
        alpha, beta = np.empty((n, size)), np.empty((n, size))
        total = _tag_sums(scores, n, T, alpha, beta, G)
        for i in range(n):
            for t in range(size):
                D[i, t] = np.exp(alpha[i, t] + beta[i, t] - total)
    else:
        path = np.empty(n, np.int32)
        if cost > 0:
            for i in range(n):
                for t in range(size):
                    scores[i, t] += cost
                scores[i, gold[i]] -= cost
        total = _best_path(scores, n, T, np.empty((n, size)), path)
        for i in range(n):
            D[i] = 0
            D[i, path[i]] = 1
            G[path[i - 1] if i else size, path[i]] += 1
        G[path[n - 1], size] += 1
    for i in range(n):
        D[i, gold[i]] -= 1
        G[gold[i - 1] if i else size, gold[i]] -= 1
    G[gold[n - 1], size] -= 1
    return total - right


@njit(cache=True, nogil=True)
def _step(row, gradient, value, decay, learning_rate, clock):
    """Update a row of weights by AdaGrad with ``value`` times the gradient and L2 penalty ``decay``."""
    weight, square, total = row[0], row[1], row[2]
    for k in range(len(gradient)):
        g = value * gradient[k] + decay * weight[k]
        if g == 0:
            continue
        square[k] += g * g
        move = -learning_rate * g / np.sqrt(square[k])
        weight[k] += move
        total[k] += clock * move


@njit(cache=True, nogil=True)
def _tag_epoch(sentences, gold, order, importance, tables, clock, soft, cost, learning_rate, ridge):
    """Train on the sentences in the given order and return the sum of the losses before each update."""
    columns, starts, edges, values = sentences
    P, Q, R = tables
    rank, size = P.shape[2], len(R) - 1
    longest = np.append(np.diff(edges)[order], 1).max()
    sums, scores, D = np.empty((longest, rank)), np.empty((longest, size)), np.empty((longest, size))
    G, dz, dV = np.empty((size + 1, size + 1)), np.empty(rank), np.empty((len(Q), rank))
    U, V, T = P[:, 0], Q[:, 0], R[:, 0]
    loss = 0.0
    for k in order:
        low, n = edges[k], edges[k + 1] - edges[k]
        clock += 1
        if n == 0:
            continue
        _scores(columns, starts, values, low, low + n, U, V, sums, scores)
        loss += _tag_gradient(scores[:n], gold[low : low + n], T, soft, cost, D, G)
        dV[:] = 0
        for i in range(n):
            if ridge == 0 and not soft and D[i].min() == 0:
                continue  # the tag is right
            if len(Q) == 0:
                dz[:] = D[i]
            else:
                dz[:] = 0
                for y in range(size):
                    d = D[i, y]
                    if d != 0:
                        for r in range(rank):
                            dz[r] += d * V[y, r]
                            dV[y, r] += d * sums[i, r]
            for at in range(starts[low + i], starts[low + i + 1]):
                f = columns[at]
                value = values[at] if len(values) else np.float32(1)
                _step(P[f], dz, value, ridge * importance[f], learning_rate, clock)
        for y in range(len(Q)):
            _step(Q[y], dV[y], 1.0, ridge, learning_rate, clock)
        for s in range(size + 1):
            _step(R[s], G[s], 1.0, ridge, learning_rate, clock)
    return loss


@njit(cache=True, nogil=True)
def _tagged(columns, starts, edges, values, U, V, T, paths, shares):
    """Write the best tags of each sentence to ``paths`` or, if ``shares`` has rows, the tag marginals to ``shares``."""
    longest, size = np.append(np.diff(edges), 1).max(), len(T) - 1
    sums, scores = np.empty((longest, U.shape[1])), np.empty((longest, size))
    alpha, beta = np.empty((longest, size)), np.empty((longest, size))
    for k in range(len(edges) - 1):
        low, n = edges[k], edges[k + 1] - edges[k]
        if n == 0:
            continue
        _scores(columns, starts, values, low, low + n, U, V, sums, scores)
        if len(shares) == 0:
            _best_path(scores, n, T, alpha, paths[low : low + n])
            continue
        total = _tag_sums(scores, n, T, alpha[:n], beta[:n], np.empty((0, 0)))
        for i in range(n):
            for t in range(size):
                shares[low + i, t] = np.exp(alpha[i, t] + beta[i, t] - total)
