"""Numba kernels that score and learn dependency arcs by hashed feature pairs and a low-rank tensor.

A row of ``table`` holds the feature ids of a word, -1 for a missing feature. An arc has two *cells* of ``theta`` per
pair of features of its ends, with and without its distance; both are in one cache line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32
from polyadic.core.kernels.common import frozen

DISTANCES = 15  # number of distance bins: any distance; then 1 to 5, 6 to 10 and more, to the left and to the right


@njit(cache=True, nogil=True, inline="always")
def _mixed(a, b):
    """Hash two integers into one."""
    key = (np.uint64(a) << np.uint64(32)) ^ np.uint64(b)
    key = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xFF51AFD7ED558CCD)
    return key ^ (key >> np.uint64(32))


@njit(cache=True, nogil=True, inline="always")
def _bin(h, m):
    """Return the distance bin of the arc from ``h`` to ``m``."""
    away = abs(h - m)
    size = away if away <= 5 else 6 if away <= 10 else 7
    return size + 7 if h < m else size


@njit(cache=True, nogil=True)
def _pair_cells(table, pairs, h, m, mask, cells):
    """Write the hashed indices of the feature pairs of an arc and return their count."""
    away, count = np.uint64(_bin(h, m)), 0
    for k in range(len(pairs)):
        a, b = table[h, pairs[k, 0]], table[m, pairs[k, 1]]
        if a >= 0 and b >= 0:
            cell = _mixed(a, b) & mask
            cells[count] = cell
            cells[count + 1] = cell ^ away
            count += 2
    return count


@njit(cache=True, nogil=True, inline="always")
def _between_cell(h_tag, tag, m_tag, right, mask):
    """Return the hashed index of the feature for a tag between the head and the dependent of an arc."""
    return (_mixed(_mixed(h_tag, tag) & np.uint64(0x7FFFFFFF), m_tag) & mask) ^ right


@njit(cache=True, nogil=True)
def _arc_cells(table, pairs, tag, h, m, mask, cells):
    """Write the hashed indices of all features of an arc and return their count."""
    count = _pair_cells(table, pairs, h, m, mask, cells)
    left, right = min(h, m), max(h, m)
    a, b, side = table[h, tag], table[m, tag], np.uint64(1 if h < m else 0)
    if a >= 0 and b >= 0:
        for at in range(left + 1, right):
            new = table[at, tag] >= 0
            for other in range(left + 1, at):
                if table[other, tag] == table[at, tag]:
                    new = False
                    break
            if new:
                cells[count] = _between_cell(a, table[at, tag], b, side, mask)
                count += 1
    return count


@njit(cache=True, nogil=True)
def _feature_sums(table, U, total):
    """Sum the rows of the factor matrix ``U`` over the features of each word."""
    for i in range(table.shape[0]):
        total[i] = 0
        for k in range(table.shape[1]):
            f = table[i, k]
            if f >= 0:
                for r in range(U.shape[1]):
                    total[i, r] += U[f, r]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, forceinline=True)
def _low_rank_scores(P, Q, W, share, scores):
    """Add the low-rank tensor scores to the arc scores."""
    size, rank = P.shape
    scaled = np.empty((DISTANCES, rank), W.dtype)
    for d in range(DISTANCES):
        for r in range(rank):
            scaled[d, r] = share * (W[0, r] + (W[d, r] if d else 0))
    for h in range(size):
        for m in range(1, size):
            if h != m:
                d, total = _bin(h, m), np.float32(0)
                for r in range(rank):
                    total += P[h, r] * Q[m, r] * scaled[d, r]
                scores[h, m] += total


@njit(cache=True, nogil=True)
def _tensor_arc_scores(table, pairs, tag, theta, P, Q, W, gamma, scores):
    """Fill the zero matrix ``scores[h, m]`` with the score of the arc from ``h`` to ``m``."""
    size, mask = len(scores), np.uint64(len(theta) - 1)
    cells = np.empty(2 * len(pairs), np.int64)
    tags = np.empty(size, np.int64)
    if gamma > 0:
        for h in range(size):
            for m in range(1, size):
                if h != m:
                    total = 0.0
                    for k in range(_pair_cells(table, pairs, h, m, mask, cells)):
                        total += theta[cells[k]]
                    scores[h, m] = gamma * total
        for left in range(size):
            count = 0  # number of distinct tags between left and right
            for right in range(left + 2, size):
                new = table[right - 1, tag] >= 0
                for k in range(count):
                    new = new and tags[k] != table[right - 1, tag]
                if new:
                    tags[count] = table[right - 1, tag]
                    count += 1
                a, b = table[left, tag], table[right, tag]
                if a >= 0 and b >= 0:
                    for k in range(count):
                        scores[left, right] += gamma * theta[_between_cell(a, tags[k], b, np.uint64(1), mask)]
                        scores[right, left] += gamma * theta[_between_cell(b, tags[k], a, np.uint64(0), mask)]
    if gamma < 1:
        _low_rank_scores(P, Q, W, 1 - gamma, scores)


@njit(cache=True, nogil=True)
def _sparse_difference(table, pairs, tag, heads, predicted, delta, cells, values):
    """Write the difference of the sparse features of two trees; return its length and squared norm."""
    count, squares, mask = 0, 0.0, np.uint64(len(delta) - 1)
    for m in range(1, len(table)):
        if heads[m - 1] != predicted[m - 1]:
            for h, sign in ((heads[m - 1], 1), (predicted[m - 1], -1)):
                more = _arc_cells(table, pairs, tag, h, m, mask, cells[count:])
                for k in range(count, count + more):
                    delta[cells[k]] += sign
                count += more
    for k in range(count):
        values[k] = delta[cells[k]]
        delta[cells[k]] = 0
        squares += values[k] * values[k]
    return count, squares


@njit(cache=True, nogil=True)
def _factor_difference(heads, predicted, P, Q, W, dP, dQ, dW):
    """Add the gradients of the score difference of two trees with respect to the feature sums and ``W``."""
    for m in range(1, len(P)):
        if heads[m - 1] != predicted[m - 1]:
            for h, sign in ((heads[m - 1], 1), (predicted[m - 1], -1)):
                d = _bin(h, m)
                for r in range(P.shape[1]):
                    w = W[0, r] + W[d, r]
                    dP[h, r] += sign * Q[m, r] * w
                    dQ[m, r] += sign * P[h, r] * w
                    dW[0, r] += sign * P[h, r] * Q[m, r]
                    dW[d, r] += sign * P[h, r] * Q[m, r]


@njit(cache=True, nogil=True)
def _gradient_of_factor(table, dense, dP, place, features, rows):
    """Write the gradients of all rows of ``U`` or ``V`` that change and return their count and squared norm."""
    count, squares, more, total = 0, 0.0, dense.shape[1], 0.0
    for i in range(table.shape[0]):
        if not dP[i].any():
            continue
        for k in range(table.shape[1]):
            f = table[i, k]
            if f < 0:
                continue
            if place[f] < 0:
                place[f] = count
                features[count] = f
                rows[count] = 0
                count += 1
            for r in range(rows.shape[1]):
                rows[place[f], r] += dP[i, r]
    for k in range(count):
        place[features[k]] = -1
        for r in range(rows.shape[1]):
            squares += rows[k, r] * rows[k, r]
    own = rows[count : count + more]  # of real-valued features
    own[:] = 0
    for i in range(dense.shape[0]):
        if dP[i].any():
            for k in range(more):
                if dense[i, k] != 0:
                    for r in range(own.shape[1]):
                        own[k, r] += dense[i, k] * dP[i, r]
    for k in range(more):
        features[count + k] = len(place) - more + k
        for r in range(own.shape[1]):
            total += own[k, r] * own[k, r]
    return count + more, squares + total


@njit(cache=True, nogil=True)
def _move_rows(features, rows, count, step, clock, U, sums):
    for k in range(count):
        for r in range(U.shape[1]):
            U[features[k], r] += step * rows[k, r]
            sums[features[k], r] += step * clock * rows[k, r]


@njit(cache=True, nogil=True)
def _tensor_arc_step(table, dense, pairs, tag, trees, loss, how, moves, parts, sums, products, scratch):
    """Update the parameters by a passive-aggressive step and return its size; ``trees`` is (correct, predicted)."""
    heads, predicted = trees
    gamma, C, clock, more = how
    theta, U, V, W = parts
    P, Q = products
    delta, place = scratch
    size, rank = P.shape
    cells = np.empty(2 * size * (2 * len(pairs) + size), np.int64)
    values = np.empty(len(cells), np.float32)
    norm, cell_count = more, 0
    if gamma > 0:
        cell_count, squares = _sparse_difference(table, pairs, tag, heads, predicted, delta, cells, values)
        norm += gamma**2 * squares
    room = table.size + dense.shape[1] if gamma < 1 else 0
    counts, features, rows = np.zeros(2, np.int64), np.empty((2, room), np.int64), np.empty((2, room, rank), np.float32)
    dW = np.zeros((DISTANCES, rank), np.float32)
    if gamma < 1:
        dPQ = np.zeros((2, size, rank), np.float32)
        _factor_difference(heads, predicted, P, Q, W, dPQ[0], dPQ[1], dW)
        for k in range(2):
            if moves[k]:
                counts[k], squares = _gradient_of_factor(table, dense, dPQ[k], place, features[k], rows[k])
                norm += (1 - gamma) ** 2 * squares
        if moves[2]:
            norm += (1 - gamma) ** 2 * (dW * dW).sum()
    if norm <= 0 or loss <= 0:
        return 0.0
    alpha = min(C, loss / norm)
    for k in range(cell_count):
        theta[cells[k]] += alpha * gamma * values[k]
        sums[0][cells[k]] += alpha * gamma * clock * values[k]
    step = alpha * (1 - gamma)
    _move_rows(features[0], rows[0], counts[0], step, clock, U, sums[1])
    _move_rows(features[1], rows[1], counts[1], step, clock, V, sums[2])
    if gamma < 1 and moves[2]:
        _move_rows(np.arange(DISTANCES), dW, DISTANCES, step, clock, W, sums[3])
    return alpha


@njit(cache=True, nogil=True)
def _arc_pairs(table, pairs, theta, heads, cells, values):
    """Write the tensor indices and weights of the feature pairs of a tree and return their count."""
    count, mask = 0, np.uint64(len(theta) - 1)
    for m in range(1, len(table)):
        h = heads[m - 1]
        d = _bin(h, m)
        for k in range(len(pairs)):
            a, b = table[h, pairs[k, 0]], table[m, pairs[k, 1]]
            if a >= 0 and b >= 0:
                cell = _mixed(a, b) & mask
                for away in (0, d):
                    cells[count, 0], cells[count, 1], cells[count, 2] = a, b, away
                    values[count] = theta[cell ^ np.uint64(away)]
                    count += 1
    return count


@njit(cache=True, nogil=True)
def _hashed_cells(triples, mask, cells):
    """Write the hashed index of each triple of head feature, dependent feature and distance bin."""
    for k in range(len(triples)):
        cells[k] = (_mixed(triples[k, 0], triples[k, 1]) & mask) ^ np.uint64(triples[k, 2])


class ArcParts(NamedTuple):
    """Parameters of the arc scores (float32), or their running sums for averaging."""

    theta: AnyArray  # hashed weights of feature pairs; their number is a power of two
    U: AnyArray  # factor of heads, (features + dense values, R)
    V: AnyArray  # factor of dependents
    W: AnyArray  # factor of distances, (DISTANCES, R)


class FeaturePairs(NamedTuple):
    """Columns of the head and dependent features that form pairs, and the column of the part-of-speech tag."""

    columns: Ints
    tag: int


def score_tensor_arcs(
    table: Ints32, parts: ArcParts, pairs: FeaturePairs, *, gamma: float, dense: Floats | None = None
) -> tuple[Array, tuple[Floats, Floats]]:
    r"""Return the score of each arc of a sentence (Lei et al. 2014, eq. 5), and the sums of U and V for each word.

    .. math:: S_{hm} = \gamma \, \theta \cdot \phi(h, m)
              + (1 - \gamma) \sum_r (U^\top \phi_h)_r (V^\top \phi_m)_r (W_0 + W_{d(h, m)})_r

    ``table`` of shape (n + 1, columns) holds the feature ids of the root and of each word, -1 for a missing feature;
    ``dense`` of shape (n + 1, values) real-valued features, which multiply the last rows of U and V.
    """
    values = _check(table, parts, pairs, dense)
    scores = np.zeros((len(table), len(table)))
    P, Q = np.zeros((2, len(table), parts.W.shape[1]), np.float32)
    if gamma < 1:
        _feature_sums(table, parts.U, P)
        _feature_sums(table, parts.V, Q)
        if more := values.shape[1]:
            P += values @ parts.U[-more:]
            Q += values @ parts.V[-more:]
    _tensor_arc_scores(table, pairs.columns, pairs.tag, parts.theta, P, Q, parts.W, float(gamma), scores)
    return scores, (P, Q)


def scratch_of(parts: ArcParts) -> tuple[Floats, Ints]:
    """Allocate the workspace of learning steps; each step restores its initial values."""
    return np.zeros(len(parts.theta), np.float32), np.full(len(parts.U), -1)


def step_tensor_arcs(
    table: Ints32,
    parts: ArcParts,
    pairs: FeaturePairs,
    *,
    products: tuple[Floats, Floats],
    heads: AnyArray,
    predicted: AnyArray,
    loss: float,
    gamma: float,
    C: float,
    clock: int,
    sums: ArcParts,
    scratch: tuple[Floats, Ints],
    moves: tuple[bool, bool, bool] = (True, True, True),
    more: float = 0.0,
    dense: Floats | None = None,
) -> float:
    r"""Update the parameters in place towards the correct tree and away from the predicted tree; return the step size.

    .. math:: \alpha = \min\Big(C, \frac{\text{loss}}{\gamma^2 \|\Delta\phi\|^2
              + (1 - \gamma)^2 (\|\partial U\|^2 + \|\partial V\|^2 + \|\partial W\|^2)}\Big)

    The last three terms are gradients of the difference of the trilinear scores of both trees, 0 for a factor that is
    not updated. ``moves`` says which of U, V and W are updated, ``scratch`` is the result of :func:`scratch_of`, and
    ``products`` are the sums of U and V that :func:`score_tensor_arcs` returns. ``clock`` is the factor of the update
    in the running sums, and ``more`` is the squared norm of features that the same step updates elsewhere.
    """
    values = _check(table, parts, pairs, dense)
    for tree in (heads, predicted):
        check_heads(table, tree)
    if any(part.shape != total.shape for part, total in zip(parts, sums, strict=True)):
        raise ValueError("sums must have the same shapes as the weights")
    trees = (frozen(heads, np.int64), frozen(predicted, np.int64))
    how = (float(gamma), float(C), float(clock), float(more))
    what = (table, values, pairs.columns, pairs.tag, trees, float(loss), how, moves)
    return float(_tensor_arc_step(*what, tuple(parts), tuple(sums), products, scratch))


def tensor_cells(table: Ints32, theta: Floats, pairs: FeaturePairs, *, heads: AnyArray) -> tuple[Ints, Array]:
    """Return the feature pairs of the arcs of a tree as cells (head, dependent, distance or 0), and their weights."""
    check_heads(table, heads)
    room = 2 * len(heads) * len(pairs.columns)
    cells, values = np.empty((room, 3), np.int64), np.empty(room)
    count = _arc_pairs(table, pairs.columns, theta, frozen(heads, np.int64), cells, values)
    return cells[:count], values[:count]


def hashed_cells(triples: Ints, *, bits: int) -> Ints:
    """Hash each triple of head feature, dependent feature and distance bin to an index below ``2 ** bits``."""
    if triples.ndim != 2 or triples.shape[1] != 3 or triples.dtype != np.int64:
        got = f"{triples.dtype} of shape {triples.shape}"
        raise ValueError(f"triples must be an int64 array of shape (n, 3); got {got}")
    cells = np.empty(len(triples), np.int64)
    _hashed_cells(triples, np.uint64((1 << bits) - 1), cells)
    return cells


def check_heads(table: AnyArray, heads: AnyArray) -> None:
    """Raise ValueError unless each word has a head in the table."""
    if len(heads) != len(table) - 1 or not len(heads) or not 0 <= heads.min() <= heads.max() < len(table):
        raise ValueError(f"each word must have a head from 0 to {len(table) - 1}; got {heads}")


def _check(table: AnyArray, parts: ArcParts, pairs: FeaturePairs, dense: Floats | None) -> Floats:
    """Validate the inputs and return the real-valued features as a contiguous array."""
    theta, U, V, W = parts
    values = np.zeros((len(table), 0), np.float32) if dense is None else dense
    if values.ndim != 2 or len(values) != len(table) or values.dtype != np.float32 or values.shape[1] > len(U):
        got = f"{values.dtype} of shape {values.shape}"
        raise ValueError(f"the array dense must have type float32 and {len(table)} rows; got {got}")
    features = len(U) - values.shape[1]
    if table.ndim != 2 or len(table) < 2 or table.dtype != np.int32:
        got = f"{table.dtype} of shape {table.shape}"
        raise ValueError(f"table must be an int32 array with a row for the root and for each word; got {got}")
    if not -1 <= table.min() <= table.max() < features:
        raise ValueError(f"feature ids must be from -1 to {features - 1}; got {table.min()} to {table.max()}")
    if not len(theta) >= 16 or len(theta) & (len(theta) - 1):
        raise ValueError(f"the length of theta must be a power of two, at least 16; got {len(theta)}")
    if U.shape != V.shape or W.shape != (DISTANCES, U.shape[1]):
        raise ValueError(f"the shapes of U, V and W do not match; got {U.shape}, {V.shape} and {W.shape}")
    columns = pairs.columns
    if columns.ndim != 2 or columns.shape[1] != 2 or not 0 <= columns.min() <= columns.max() < table.shape[1]:
        got = columns.tolist()
        raise ValueError(f"feature pairs must be pairs of column indices below {table.shape[1]}; got {got}")
    if not 0 <= pairs.tag < table.shape[1]:
        raise ValueError(f"the column of the tag must be from 0 to {table.shape[1] - 1}; got {pairs.tag}")
    return np.ascontiguousarray(values)
