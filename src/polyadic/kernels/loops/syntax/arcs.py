"""Hashed features of dependency arcs: words, tags, what stands around and between (McDonald et al. 2005)."""

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
