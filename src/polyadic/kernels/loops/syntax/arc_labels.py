"""Scores of the relations of dependency arcs from hashed pairs of features, and their passive-aggressive update."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _rows(table, pairs, h, m, mask, rows):
    """Write the rows of weights of an arc; gives how many there are.

    A pair has one row of its own, and one for the side of the head and whether it is the next word.
    """
    side = (1 if h < m else 2) + (2 if abs(h - m) == 1 else 0)
    count = 0
    for k in range(len(pairs)):
        a, b = table[h, pairs[k, 0]], table[m, pairs[k, 1]]
        if a >= 0 and b >= 0:
            key = (np.uint64(a) << np.uint64(32)) ^ np.uint64(b)
            key = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
            key = (key ^ (key >> np.uint64(29))) * np.uint64(0xFF51AFD7ED558CCD)
            row = (key ^ (key >> np.uint64(32))) & mask
            rows[count] = row
            rows[count + 1] = row ^ np.uint64(side)
            count += 2
    return count


@njit(cache=True, nogil=True)
def _add_rows(weights, rows, count, total):
    """Fill ``total`` with the sum of some rows; four at a time, so that it is fetched and put back less often."""
    total[:] = 0
    k = 0
    while k + 4 <= count:
        a, b, c, d = weights[rows[k]], weights[rows[k + 1]], weights[rows[k + 2]], weights[rows[k + 3]]
        for label in range(len(total)):
            total[label] += (a[label] + b[label]) + (c[label] + d[label])
        k += 4
    while k < count:
        a = weights[rows[k]]
        for label in range(len(total)):
            total[label] += a[label]
        k += 1


@njit(cache=True, nogil=True)
def arc_label_scores(table, pairs, heads, weights, scores):
    """Fill a row for each word: the score of each relation to its head."""
    rows = np.empty(2 * len(pairs), np.int64)
    for m in range(1, len(table)):
        count = _rows(table, pairs, heads[m - 1], m, np.uint64(len(weights) - 1), rows)
        _add_rows(weights, rows, count, scores[m - 1])


@njit(cache=True, nogil=True)
def arc_label_steps(table, pairs, heads, labels, C, clock, weights, sums):
    """Make the right relation of each word better by 1 than the best of the others; gives how many were not best.

    The step takes the loss away, and is at most ``C``.
    """
    rows = np.empty(2 * len(pairs), np.int64)
    scores = np.empty(weights.shape[1], np.float32)
    wrong = 0
    for m in range(1, len(table)):
        count = _rows(table, pairs, heads[m - 1], m, np.uint64(len(weights) - 1), rows)
        _add_rows(weights, rows, count, scores)
        right, other = labels[m - 1], -1
        for label in range(weights.shape[1]):
            if label != right and (other < 0 or scores[label] > scores[other]):
                other = label
        if other < 0 or count == 0:
            continue
        wrong += scores[other] >= scores[right]
        loss = 1 - scores[right] + scores[other]
        if loss > 0:
            step = min(C, loss / (2 * count))
            for k in range(count):
                weights[rows[k], right] += step
                weights[rows[k], other] -= step
                sums[rows[k], right] += step * clock
                sums[rows[k], other] -= step * clock
    return wrong
