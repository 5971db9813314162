"""Numba kernels for hashed features of dependency arcs (scores and relation labels) and of semantic roles.

Arc scores use words and tags at, around and between both ends (McDonald et al. 2005), with perceptron updates. Relation
scores use pairs of features of both ends, with passive-aggressive updates.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32
from polyadic.core.kernels.common import frozen
from polyadic.syntax.kernels.arc_tensor import check_heads


def score_arcs(words: AnyArray, tags: AnyArray, weights: Floats) -> Array:
    """Return the (n + 1, n + 1) matrix of arc scores, where a score is the sum of hashed feature weights.

    ``words`` and ``tags``, of shape (n + 2,), include root and end mark; the number of ``weights`` is a power of two.
    """
    _check_sentence(words, tags, weights)
    scores = np.zeros((len(words) - 1, len(words) - 1))
    _arc_scores(frozen(words, np.int64), frozen(tags, np.int64), weights, scores)
    return scores


def step_arcs(
    words: AnyArray, tags: AnyArray, heads: AnyArray, *, step: float, time: int, weights: Floats, sums: Array
) -> None:
    """Add ``step`` to the weight of each feature of a tree in place, and update the running sums for averaging."""
    _check_sentence(words, tags, weights)
    if len(heads) != len(words) - 2 or sums.shape != weights.shape:
        about = f"heads must have length {len(words) - 2} and sums must have shape {weights.shape}"
        raise ValueError(f"{about}; got length {len(heads)} and shape {sums.shape}")
    if len(heads) and not 0 <= heads.min() <= heads.max() <= len(heads):
        raise ValueError(f"heads must be from 0 to {len(heads)}; got {heads.min()} to {heads.max()}")
    _arc_step(*(frozen(part, np.int64) for part in (words, tags, heads)), float(step), int(time), weights, sums)


def _check_sentence(words: AnyArray, tags: AnyArray, weights: AnyArray) -> None:
    if words.shape != tags.shape or words.ndim != 1 or len(words) < 3:
        about = "words and tags must be arrays of the same length, at least 3, including the root and the end"
        raise ValueError(f"{about}; got shapes {words.shape} and {tags.shape}")
    if weights.ndim != 1 or not len(weights) or len(weights) & (len(weights) - 1):
        raise ValueError(f"weights must be an array whose length is a power of two; got shape {weights.shape}")


def score_arc_labels(table: Ints32, heads: AnyArray, weights: Floats, *, pairs: Ints) -> Floats:
    """Return the scores of all dependency relations for the arc between each word and its head, shape (n, relations).

    ``table`` of shape (n + 1, columns) holds the feature ids of the root and of each word, -1 for a missing feature;
    ``weights`` has the shape (a power of two, relations), and ``pairs`` are columns of head and dependent features.
    """
    _check_table(table, heads, weights, pairs)
    scores = np.zeros((len(heads), weights.shape[1]), np.float32)
    _arc_label_scores(table, pairs, frozen(heads, np.int64), weights, scores)
    return scores


def step_arc_labels(
    table: Ints32, heads: AnyArray, labels: Ints, *, pairs: Ints, C: float, clock: int, weights: Floats, sums: AnyArray
) -> int:
    """Update the relation weights in place by passive-aggressive steps and return the number of wrong relations.

    Steps are at most ``C``, and ``clock`` times each step is added to ``sums``: Crammer et al. (2006), Online
    passive-aggressive algorithms, eq. (42), with the single best wrong relation.
    """
    _check_table(table, heads, weights, pairs)
    if len(labels) != len(heads) or not 0 <= labels.min() <= labels.max() < weights.shape[1]:
        raise ValueError(f"each word must have a relation id from 0 to {weights.shape[1] - 1}")
    if sums.shape != weights.shape:
        raise ValueError(f"sums must have the same shape as weights; got shapes {weights.shape} and {sums.shape}")
    trees = frozen(heads, np.int64), frozen(labels, np.int64)
    return int(_arc_label_steps(table, pairs, *trees, float(C), float(clock), weights, sums))


def _check_table(table: AnyArray, heads: AnyArray, weights: AnyArray, pairs: AnyArray) -> None:
    check_heads(table, heads)
    if weights.ndim != 2 or len(weights) < 8 or len(weights) & (len(weights) - 1):
        raise ValueError(f"the number of rows of weights must be a power of two, at least 8; got shape {weights.shape}")
    if not 0 <= pairs.min() <= pairs.max() < table.shape[1]:
        raise ValueError(f"feature pairs must be pairs of column indices below {table.shape[1]}; got {pairs.tolist()}")


def score_cells(cells: Ints32, theta: Floats, *, roles: int) -> Array:
    r"""Return the score of each semantic role for each row of hashed features.

    .. math:: S_{ir} = \sum_k \theta_{c_{ik}} + \theta_{c_{ik} + 1 + r}

    ``cells`` of shape (n, features) holds the index of the first weight of each feature, or -1 for a missing feature.
    """
    if cells.ndim != 2 or cells.dtype != np.int32:
        raise ValueError(f"cells must be a two-dimensional int32 array; got {cells.dtype} of shape {cells.shape}")
    if cells.size and not -1 <= cells.min() <= cells.max() < len(theta) - roles:
        raise ValueError(f"cells must be from -1 to {len(theta) - roles - 1}; got {cells.min()} to {cells.max()}")
    scores = np.zeros((len(cells), roles))
    _cell_scores(frozen(cells), frozen(theta, np.float32), scores)
    return scores


_GRAMS = "wt-- w--- t--- WT-- W--- T--- wtWT tWT- wWT- wtT- wtW- wW-- tT-- tbAT atAT tbTB atTB tbT- atT- tAT- tTB-"
GRAMS = np.array([["-wtWTabAB".index(letter) for letter in gram] for gram in _GRAMS.split()])
"""Words (w, W) and tags (t, T) of the head and of the dependent, and tags beside them (a, b; A, B), that are joined."""
MAX_FEATURES = 64  # maximum number of features of an arc, apart from the tags between its ends


@njit(cache=True, nogil=True)
def _mix(a, b):
    """Combine an integer with a hash."""
    added = np.uint64(b) + np.uint64(0x9E3779B97F4A7C15) + (a << np.uint64(6)) + (a >> np.uint64(2))
    a = (a ^ added) * np.uint64(0xFF51AFD7ED558CCD)
    return a ^ (a >> np.uint64(32))


@njit(cache=True, nogil=True)
def _features(words, tags, h, m, mask, slots):
    """Write the hashed features of the arc from ``h`` to ``m`` and return their count."""
    left, right = min(h, m), max(h, m)
    away = right - left
    length = away if away < 5 else 5 if away < 8 else 6 if away < 12 else 7
    side = 2 * length + (1 if h < m else 0)
    h0 = tags[h - 1] if h else np.int64(0)
    joined = (np.int64(0), words[h], tags[h], words[m], tags[m], h0, tags[h + 1], tags[m - 1], tags[m + 1])
    count = 0
    for kind in range(len(GRAMS)):
        key = np.uint64(kind + 1)
        for part in range(4):
            key = _mix(key, joined[GRAMS[kind, part]])
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
            key = _mix(_mix(_mix(_mix(np.uint64(97), tags[h]), tags[at]), tags[m]), side & 1)
            slots[count] = key & mask
            count += 1
    return count


@njit(cache=True, nogil=True)
def _arc_scores(words, tags, weights, scores):
    """Write the score of each arc, the sum of its feature weights, to ``scores[h, m]``."""
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
    """Add ``step`` to the weight of each feature of a tree, and update the running sums for averaging."""
    size = len(heads) + 1
    mask = np.uint64(len(weights) - 1)
    slots = np.empty(MAX_FEATURES + size, np.int64)
    for m in range(1, size):
        for f in range(_features(words, tags, heads[m - 1], m, mask, slots)):
            weights[slots[f]] += step
            sums[slots[f]] += step * time


@njit(cache=True, nogil=True)
def _rows(table, pairs, h, m, mask, rows):
    """Write the two weight rows of each pair of an arc (one knows side and adjacency) and return their count."""
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
    """Sum the selected rows of ``weights`` into ``total``, four rows at a time to save memory traffic."""
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
    """Compute the scores of all dependency relations for the arc between each word and its head."""
    rows = np.empty(2 * len(pairs), np.int64)
    for m in range(1, len(table)):
        count = _rows(table, pairs, heads[m - 1], m, np.uint64(len(weights) - 1), rows)
        _add_rows(weights, rows, count, scores[m - 1])


@njit(cache=True, nogil=True)
def _arc_label_steps(table, pairs, heads, labels, C, clock, weights, sums):
    """Update the weights towards a margin of 1 for each correct relation and return the number of errors."""
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


@njit(cache=True, nogil=True)
def _cell_scores(cells, theta, scores):
    """Add the shared and the role-specific weight of each feature of row ``i`` to ``scores[i, r]``."""
    for i in range(cells.shape[0]):
        shared = 0.0
        for k in range(cells.shape[1]):
            c = cells[i, k]
            if c >= 0:
                shared += theta[c]
                for r in range(scores.shape[1]):
                    scores[i, r] += theta[c + 1 + r]
        for r in range(scores.shape[1]):
            scores[i, r] += shared
