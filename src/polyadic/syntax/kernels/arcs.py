"""Doors to the loops that score the arcs of dependency trees and their relations, and learn from them.

Hashed features of dependency arcs: for their scores, and for their relations once heads are known.

Scores of arcs: words, tags, what stands around and between (McDonald et al. 2005), added to as the perceptron says.
Relations: pairs of features of both ends, with passive-aggressive updates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score_arcs(words: NDArray[Any], tags: NDArray[Any], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give the score of each arc of a sentence of n words: the sum of the weights of its hashed features.

    Parameters
    ----------
    words, tags : ndarray of int of shape (n + 2,)
        Numbers of words and tags, with one for the root in front and one mark at the end.
    weights : ndarray of float32
        As many as a power of two.

    Returns
    -------
    ndarray of shape (n + 1, n + 1)
        For :func:`~polyadic.syntax.kernels.best_trees.best_arcs`.
    """
    _check_sentence(words, tags, weights)
    scores = np.zeros((len(words) - 1, len(words) - 1))
    _arc_scores(frozen(words, np.int64), frozen(tags, np.int64), weights, scores)
    return scores


def step_arcs(
    words: NDArray[Any],
    tags: NDArray[Any],
    heads: NDArray[Any],
    *,
    step: float,
    time: int,
    weights: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Add to the weights of the features of a tree, in place, and to the sums that make their average.

    Parameters
    ----------
    words, tags : ndarray of int of shape (n + 2,)
        As for :func:`score_arcs`.
    heads : ndarray of int of shape (n,)
        From 0 for the root.
    step : float
        What is added; times ``time`` to ``sums``.
    time : int
    weights, sums : ndarray of float32 and of float64, of the same size
    """
    _check_sentence(words, tags, weights)
    if len(heads) != len(words) - 2 or sums.shape != weights.shape:
        raise ValueError(f"each word needs a head, and each weight a sum; got {len(heads)} heads, sums {sums.shape}")
    if len(heads) and not 0 <= heads.min() <= heads.max() <= len(heads):
        raise ValueError(f"heads must be words of the sentence, or 0; got {heads.min()} to {heads.max()}")
    _arc_step(
        frozen(words, np.int64), frozen(tags, np.int64), frozen(heads, np.int64), float(step), int(time), weights, sums
    )


def _check_sentence(words: NDArray[Any], tags: NDArray[Any], weights: NDArray[Any]) -> None:
    if words.shape != tags.shape or words.ndim != 1 or len(words) < 3:
        raise ValueError(f"words and tags need a root, a word and an end; got shapes {words.shape} and {tags.shape}")
    if weights.ndim != 1 or not len(weights) or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must be as many as a power of two; got shape {weights.shape}")


def score_arc_labels(
    table: NDArray[np.int32], heads: NDArray[Any], weights: NDArray[np.float32], *, pairs: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Give the score of each relation between each word and its head.

    Parameters
    ----------
    table : ndarray of int32 of shape (n + 1, columns)
        Numbers of the features of the root and of each word; minus one where there is none.
    heads : ndarray of int of shape (n,)
    weights : ndarray of float32 of shape (a power of two, relations)
    pairs : ndarray of int64 of shape (pairs, 2)
        Columns of features of the head and of the word.

    Returns
    -------
    ndarray of shape (n, relations)
    """
    _check_table(table, heads, weights, pairs)
    scores = np.zeros((len(heads), weights.shape[1]), np.float32)
    _arc_label_scores(table, pairs, frozen(heads, np.int64), weights, scores)
    return scores


def step_arc_labels(
    table: NDArray[np.int32],
    heads: NDArray[Any],
    labels: NDArray[Any],
    *,
    pairs: NDArray[np.int64],
    C: float,
    clock: int,
    weights: NDArray[np.float32],
    sums: NDArray[Any],
) -> int:
    """Make the relation of each word score 1 more than any other, by a step of at most ``C``, in place.

    Parameters
    ----------
    table, heads, pairs, weights
        As in :func:`score_arc_labels`.
    labels : ndarray of int of shape (n,)
        Relations.
    C : float
    clock : int
        What is added, times ``clock``, joins ``sums``.
    sums : ndarray of float32 or float64 of the shape of ``weights``

    Returns
    -------
    int
        Words for which another relation was at least as good.

    References
    ----------
    Crammer et al. (2006), Online passive-aggressive algorithms, eq. (42), with the single best wrong relation
    """
    _check_table(table, heads, weights, pairs)
    if len(labels) != len(heads) or not 0 <= labels.min() <= labels.max() < weights.shape[1]:
        raise ValueError(f"each word needs a relation from 0 to {weights.shape[1] - 1}")
    if sums.shape != weights.shape:
        raise ValueError(f"each weight needs a sum; got shapes {weights.shape} and {sums.shape}")
    right = frozen(labels, np.int64)
    above = frozen(heads, np.int64)
    return int(_arc_label_steps(table, pairs, above, right, float(C), float(clock), weights, sums))


def _check_table(table: NDArray[Any], heads: NDArray[Any], weights: NDArray[Any], pairs: NDArray[Any]) -> None:
    if len(heads) != len(table) - 1 or not len(heads) or not 0 <= heads.min() <= heads.max() < len(table):
        raise ValueError(f"each word needs a head from 0 to {len(table) - 1}; got {heads}")
    if weights.ndim != 2 or len(weights) < 8 or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must have a power of two of rows, at least 8; got shape {weights.shape}")
    if not 0 <= pairs.min() <= pairs.max() < table.shape[1]:
        raise ValueError(f"pairs must be of columns of the table; got {pairs.tolist()}")


MAX_FEATURES = 64
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
def _arc_scores(words, tags, weights, scores):
    """Fill ``scores[h, m]`` with the sum of the weights of the features of each arc; root and end mark are in place."""
    size = len(scores)
    mask = np.uint64(len(weights) - 1)
    slots = np.empty(MAX_FEATURES + size, np.int64)
    for h in range(size):
        for m in range(1, size):
            if h != m:
                total = 0.0
                for f in range(_features(words, tags, h, m, mask, slots)):
                    total += weights[slots[f]]
                scores[h, m] = total


@njit(cache=True, nogil=True)
def _arc_step(words, tags, heads, step, time, weights, sums):
    """Add ``step`` to the weights of the features of a tree, and ``step`` times ``time`` to their sums."""
    size = len(heads) + 1
    mask = np.uint64(len(weights) - 1)
    slots = np.empty(MAX_FEATURES + size, np.int64)
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
def _arc_label_scores(table, pairs, heads, weights, scores):
    """Fill a row for each word: the score of each relation to its head."""
    rows = np.empty(2 * len(pairs), np.int64)
    for m in range(1, len(table)):
        count = _rows(table, pairs, heads[m - 1], m, np.uint64(len(weights) - 1), rows)
        _add_rows(weights, rows, count, scores[m - 1])


@njit(cache=True, nogil=True)
def _arc_label_steps(table, pairs, heads, labels, C, clock, weights, sums):
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
