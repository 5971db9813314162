r"""Scores of dependency arcs from hashed pairs of features and from a tensor of low rank, and their update.

A row of ``table`` holds the numbers of the features of a word, minus one where there is none. An arc has a *cell* of
``theta`` for each pair of features of its ends, once and once for its distance; the two are in one line of the cache.
"""

import numpy as np
from numba import njit

BINS = 15
"""Distances: 0 for any, then 1 to 5, 6 to 10, and more, to the left and to the right."""


@njit(cache=True, nogil=True, inline="always")
def _mixed(a, b):
    """Scramble two numbers into one."""
    key = (np.uint64(a) << np.uint64(32)) ^ np.uint64(b)
    key = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xFF51AFD7ED558CCD)
    return key ^ (key >> np.uint64(32))


@njit(cache=True, nogil=True, inline="always")
def _bin(h, m):
    """Give the bin of a distance."""
    away = abs(h - m)
    size = away if away <= 5 else 6 if away <= 10 else 7
    return size + 7 if h < m else size


@njit(cache=True, nogil=True)
def _pair_cells(table, pairs, h, m, mask, cells):
    """Write the cells of the pairs of features of an arc; gives how many there are."""
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
    """Give the cell of a tag between the ends of an arc."""
    return (_mixed(_mixed(h_tag, tag) & np.uint64(0x7FFFFFFF), m_tag) & mask) ^ right


@njit(cache=True, nogil=True)
def _arc_cells(table, pairs, tag, h, m, mask, cells):
    """Write all cells of an arc; gives how many there are."""
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
def feature_sums(table, U, total):
    """Add the rows of ``U`` of the features of each word: one row per word."""
    for i in range(table.shape[0]):
        total[i] = 0
        for k in range(table.shape[1]):
            f = table[i, k]
            if f >= 0:
                for r in range(U.shape[1]):
                    total[i, r] += U[f, r]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, forceinline=True)
def _low_rank_scores(P, Q, W, share, scores):
    """Add the share of the tensor to each arc."""
    size, rank = P.shape
    scaled = np.empty((BINS, rank), W.dtype)
    for d in range(BINS):
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
def tensor_arc_scores(table, pairs, tag, theta, P, Q, W, gamma, scores):
    """Fill ``scores[h, m]``, zeros at first."""
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
            count = 0  # different tags between left and right
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
    """Write cells of arcs of one tree only, and by how much the trees differ there; gives how many, and squares.

    ``delta`` is zero before and after.
    """
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
    """Write the gradient of the score of the tree minus that of the other by the sums of rows, and by W."""
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
def _moves(row):
    """Tell whether a row is not all zeros."""
    for value in row:  # noqa: SIM110  compiled loops have no generators
        if value != 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _rows_of_features(table, dP, place, features, rows):
    """Write the features whose rows change and the gradient of each row; gives how many, and squares.

    ``place`` is minus one before and after.
    """
    count, squares = 0, 0.0
    for i in range(table.shape[0]):
        if not _moves(dP[i]):
            continue
        for k in range(table.shape[1]):
            f = table[i, k]
            if f < 0:
                continue
            if place[f] < 0:
                place[f] = count
                features[count] = f
                for r in range(rows.shape[1]):
                    rows[count, r] = 0
                count += 1
            for r in range(rows.shape[1]):
                rows[place[f], r] += dP[i, r]
    for k in range(count):
        place[features[k]] = -1
        for r in range(rows.shape[1]):
            squares += rows[k, r] * rows[k, r]
    return count, squares


@njit(cache=True, nogil=True)
def _rows_of_values(dense, dP, rows):
    """Write the gradients of the rows that dense values multiply; gives squares."""
    for k in range(rows.shape[0]):
        for r in range(rows.shape[1]):
            rows[k, r] = 0
    squares = 0.0
    for i in range(dense.shape[0]):
        if _moves(dP[i]):
            for k in range(dense.shape[1]):
                if dense[i, k] != 0:
                    for r in range(rows.shape[1]):
                        rows[k, r] += dense[i, k] * dP[i, r]
    for k in range(rows.shape[0]):
        for r in range(rows.shape[1]):
            squares += rows[k, r] * rows[k, r]
    return squares


@njit(cache=True, nogil=True)
def _gradient_of_factor(table, dense, dP, place, features, rows):
    """Write the rows of U or V that change and their gradients, those of dense values last; gives how many, squares."""
    count, squares = _rows_of_features(table, dP, place, features, rows)
    first, more = len(place) - dense.shape[1], dense.shape[1]
    squares += _rows_of_values(dense, dP, rows[count : count + more])
    for k in range(more):
        features[count + k] = first + k
    return count + more, squares


@njit(cache=True, nogil=True)
def _move_rows(features, rows, count, step, clock, U, sums):
    for k in range(count):
        for r in range(U.shape[1]):
            U[features[k], r] += step * rows[k, r]
            sums[features[k], r] += step * clock * rows[k, r]


@njit(cache=True, nogil=True)
def tensor_arc_step(table, dense, pairs, tag, trees, loss, how, moves, parts, sums, products, scratch):
    """Move parts at once so far that the loss is gone to first order, at most ``C`` times; gives the step.

    ``trees`` are the heads wanted and those found, ``how`` is (gamma, C, clock, more), ``more`` joining the squares,
    ``moves`` says whether U, V and W move, ``parts`` and ``sums`` are theta, U, V, W, ``products`` are P and Q, and
    ``scratch`` is ``delta`` and ``place``.
    """
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
    u_count, v_count = 0, 0
    room = table.size + dense.shape[1] if gamma < 1 else 0
    u_features, v_features = np.empty(room, np.int64), np.empty(room, np.int64)
    u_rows, v_rows = np.empty((room, rank), np.float32), np.empty((room, rank), np.float32)
    dW = np.zeros((BINS, rank), np.float32)
    if gamma < 1:
        dP, dQ = np.zeros((size, rank), np.float32), np.zeros((size, rank), np.float32)
        _factor_difference(heads, predicted, P, Q, W, dP, dQ, dW)
        if moves[0]:
            u_count, squares = _gradient_of_factor(table, dense, dP, place, u_features, u_rows)
            norm += (1 - gamma) ** 2 * squares
        if moves[1]:
            v_count, squares = _gradient_of_factor(table, dense, dQ, place, v_features, v_rows)
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
    _move_rows(u_features, u_rows, u_count, step, clock, U, sums[1])
    _move_rows(v_features, v_rows, v_count, step, clock, V, sums[2])
    if gamma < 1 and moves[2]:
        for d in range(BINS):
            for r in range(rank):
                W[d, r] += step * dW[d, r]
                sums[3][d, r] += step * clock * dW[d, r]
    return alpha


@njit(cache=True, nogil=True)
def arc_pairs(table, pairs, theta, heads, cells, values):
    """Write (feature of the head, of the word, bin) of the pairs of arcs, and their weights; gives how many."""
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
def hashed_cells(triples, mask, cells):
    """Write the cell of each (feature of the head, of the word, bin)."""
    for k in range(len(triples)):
        cells[k] = (_mixed(triples[k, 0], triples[k, 1]) & mask) ^ np.uint64(triples[k, 2])
