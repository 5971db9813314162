"""Hashed features of dependency arcs: for their scores, and for their relations once heads are known.

Scores of arcs: words, tags, what stands around and between (McDonald et al. 2005), added to as the perceptron says.
Relations: pairs of features of both ends, with passive-aggressive updates.
"""

import numpy as np
from numba import njit

MOST = 64
"""Features of an arc, apart from the tags between its ends."""


@njit(cache=True, nogil=True)
def _mix(a, b):
    """Join a number to a hash."""
    a = (a ^ (np.uint64(b) + np.uint64(0x9E3779B97F4A7C15) + (a << np.uint64(6)) + (a >> np.uint64(2)))) * np.uint64(
        0xFF51AFD7ED558CCD
    )
    return a ^ (a >> np.uint64(32))


@njit(cache=True, nogil=True)
def _features(words, tags, h, m, mask, slots):
    """Write the slots of the features of an arc from ``h`` to ``m``; gives how many there are.

    ``words`` and ``tags`` have the root in front and one mark at the end.
    """
    left, right = min(h, m), max(h, m)
    away = right - left
    length = away if away < 5 else 5 if away < 8 else 6 if away < 12 else 7
    side = 2 * length + (1 if h < m else 0)
    hw, ht, mw, mt = words[h], tags[h], words[m], tags[m]
    h0, h1 = tags[h - 1] if h else 0, tags[h + 1]
    m0, m1 = tags[m - 1], tags[m + 1]
    grams = (
        (hw, ht, 0, 0),
        (hw, 0, 0, 0),
        (ht, 0, 0, 0),
        (mw, mt, 0, 0),
        (mw, 0, 0, 0),
        (mt, 0, 0, 0),
        (hw, ht, mw, mt),
        (ht, mw, mt, 0),
        (hw, mw, mt, 0),
        (hw, ht, mt, 0),
        (hw, ht, mw, 0),
        (hw, mw, 0, 0),
        (ht, mt, 0, 0),
        (ht, h1, m0, mt),
        (h0, ht, m0, mt),
        (ht, h1, mt, m1),
        (h0, ht, mt, m1),
        (ht, h1, mt, 0),
        (h0, ht, mt, 0),
        (ht, m0, mt, 0),
        (ht, mt, m1, 0),
    )
    count = 0
    for kind in range(len(grams)):
        key = _mix(np.uint64(kind + 1), grams[kind][0])
        for part in range(1, 4):
            key = _mix(key, grams[kind][part])
        slots[count] = key & mask
        slots[count + 1] = _mix(key, side + 1) & mask
        count += 2
    for at in range(left + 1, right):
        seen = False
        for before in range(left + 1, at):
            if tags[before] == tags[at]:
                seen = True
                break
        if not seen:
            key = _mix(_mix(_mix(_mix(np.uint64(97), ht), tags[at]), mt), side & 1)
            slots[count] = key & mask
            count += 1
    return count


@njit(cache=True, nogil=True)
def arc_scores(words, tags, weights, scores):
    """Fill ``scores[h, m]`` with the sum of the weights of the features of each arc; root and end mark are in place."""
    size = len(scores)
    mask = np.uint64(len(weights) - 1)
    slots = np.empty(MOST + size, np.int64)
    for h in range(size):
        for m in range(1, size):
            if h != m:
                total = 0.0
                for f in range(_features(words, tags, h, m, mask, slots)):
                    total += weights[slots[f]]
                scores[h, m] = total


@njit(cache=True, nogil=True)
def arc_step(words, tags, heads, step, time, weights, sums):
    """Add ``step`` to the weights of the features of a tree, and ``step`` times ``time`` to their sums."""
    size = len(heads) + 1
    mask = np.uint64(len(weights) - 1)
    slots = np.empty(MOST + size, np.int64)
    for m in range(1, size):
        for f in range(_features(words, tags, heads[m - 1], m, mask, slots)):
            weights[slots[f]] += step
            sums[slots[f]] += step * time


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
