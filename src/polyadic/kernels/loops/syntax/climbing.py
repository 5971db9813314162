"""Dependency trees whose score has parts of several arcs: their hashed features, and the climb from tree to tree.

A part is four places ``(x, h, s, m)``: a word m below its head h, the dependent s of h that is next to m on the way to
h, and x, which is the head of h or the dependent before s. Where there is no such dependent the place is that of h.
Behind the outermost dependent on each side stands an end mark, at -1 or after the last word: it too is an m.

A tree is kept as heads with, for each word, its neighbours among the dependents on its side (``inner``, ``outer``) and
its own nearest dependent on each side (``near``). A word is hung anew by taking it off with all that is below it, and
asking for each head what the parts that this would make are worth.
"""

import numpy as np
from numba import njit

GRAND, SIBLING, GRAND_SIBLING, THREE = range(4)
"""Kinds of parts: (grandparent, h, -, m), (-, h, s, m), (grandparent, h, s, m), (dependent before s, h, s, m)."""
PLACES = 4094
"""Words of a sentence, at most: the places of a part are the digits of a number."""
SLACK = 1e-6
"""What a step must gain, at least, so that rounding does not keep the climb going."""
PASSES = 1000
"""Over the words, at most; a few suffice, unless scores are so large that rounding exceeds the slack."""


@njit(cache=True, nogil=True, inline="always")
def _mixed(a, b):
    """Scramble two numbers into one."""
    key = (a ^ (a >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xFF51AFD7ED558CCD)
    return key ^ (key >> np.uint64(32))


@njit(cache=True, nogil=True, inline="always")
def _feature(table, place, h, column):
    """Give what is known of a place: 0 nothing, 1 the end mark, 2 no dependent, and features from 3."""
    if place == h:
        return 2
    return 1 if place < 0 or place == len(table) else table[place, column] + 3 if table[place, column] >= 0 else 0


@njit(cache=True, nogil=True)
def _cells(table, templates, mask, kind, x, h, s, m, cells):
    """Write the cells of the features of a part; gives how many there are. Templates are sorted by kind."""
    sides = (1 if h < m else 0) + (2 if x < h else 0) + (4 if x < m else 0)
    count, k = 0, -1
    while k + 1 < len(templates) and templates[k + 1, 0] <= kind:
        k += 1
        if templates[k, 0] < kind:
            continue
        key, known = np.uint64(k * 8 + sides + 1), True
        column = templates[k, 1]
        if column >= 0:
            feature = _feature(table, x, h, column)
            known = feature > 0
            key = _mixed(key, feature)
        column = templates[k, 2]
        if column >= 0:
            known = known and table[h, column] >= 0
            key = _mixed(key, table[h, column] + 3)
        column = templates[k, 3]
        if column >= 0:
            feature = _feature(table, s, h, column)
            known = known and feature > 0
            key = _mixed(key, feature)
        column = templates[k, 4]
        if column >= 0:
            feature = _feature(table, m, h, column)
            known = known and feature > 0
            key = _mixed(key, feature)
        if known:
            cells[count] = _mixed(key, k) & mask
            count += 1
    return count


@njit(cache=True, nogil=True)
def _part(model, kind, x, h, s, m):
    """Give the score of a part: looked up if it was asked for before, and not another since in the same place."""
    table, templates, weights, gamma, keys, values, cells = model
    digits = np.int64(PLACES + 2)
    name = (((kind * digits + x + 1) * digits + h) * digits + s + 1) * digits + m + 1
    at = _mixed(np.uint64(name), 0) & np.uint64(len(keys) - 1)
    if keys[at] != name:
        total = 0.0
        for k in range(_cells(table, templates, np.uint64(len(weights) - 1), kind, x, h, s, m, cells)):
            total += weights[cells[k]]
        keys[at], values[at] = name, gamma * total
    return values[at]


@njit(cache=True, nogil=True)
def _chained(model, order, g, h, t, s, m):
    """Give the score of the parts of m, a word or an end, beside its inner neighbours t and s; no g is -1."""
    total = _part(model, SIBLING, h, h, s, m)
    if order == 3:
        if s != h:
            total += _part(model, THREE, t, h, s, m)
        if g >= 0:
            total += _part(model, GRAND_SIBLING, g, h, s, m)
    return total


@njit(cache=True, nogil=True)
def _neighbours(tree, h, m):
    """Give the dependents of h next to m, or to where m would stand: the inner one or h, the outer one or the end."""
    _, _, outer, near = tree
    side = 1 if h < m else 0
    s, o = h, near[side, h]
    while (o < m) if side else (o > m):
        s, o = o, outer[o]
    return s, o


@njit(cache=True, nogil=True)
def _worth(model, order, tree, scores, h, m):
    """Give what is gained if m, which hangs nowhere, is hung below h with all that is below m."""
    heads, inner, outer, near = tree
    size = len(heads)
    g = heads[h]
    s, o = _neighbours(tree, h, m)
    t = inner[s] if s != h else h
    total = scores[h, m]
    if order == 1:
        return total
    total += _chained(model, order, g, h, t, s, m) + _chained(model, order, g, h, s, m, o)
    total -= _chained(model, order, g, h, t, s, o)
    if order == 3 and 0 <= o < size:
        total += _part(model, THREE, m, h, o, outer[o]) - _part(model, THREE, s, h, o, outer[o])
    if g >= 0:
        total += _part(model, GRAND, g, h, h, m)
    for side in range(2):
        s, o = m, near[side, m]
        while 0 <= o < size:
            total += _part(model, GRAND, h, m, m, o)
            if order == 3:
                total += _part(model, GRAND_SIBLING, h, m, s, o)
            s, o = o, outer[o]
        if order == 3:
            total += _part(model, GRAND_SIBLING, h, m, s, o)
    return total


@njit(cache=True, nogil=True)
def _hang(tree, h, m):
    """Hang m, which hangs nowhere, below h."""
    heads, inner, outer, near = tree
    side = 1 if h < m else 0
    s, o = _neighbours(tree, h, m)
    heads[m], inner[m], outer[m] = h, s, o
    if s == h:
        near[side, h] = m
    else:
        outer[s] = m
    if 0 <= o < len(heads):
        inner[o] = m


@njit(cache=True, nogil=True)
def _take_off(tree, m):
    """Let m hang nowhere."""
    heads, inner, outer, near = tree
    h, s, o = heads[m], inner[m], outer[m]
    if s == h:
        near[1 if h < m else 0, h] = o
    else:
        outer[s] = o
    if 0 <= o < len(heads):
        inner[o] = s
    heads[m] = -1


@njit(cache=True, nogil=True)
def _crosses(heads, h, m):
    """Tell whether an arc between h and m would cross another."""
    left, right = min(h, m), max(h, m)
    for k in range(1, len(heads)):
        a, b = min(k, heads[k]), max(k, heads[k])
        if a >= 0 and (a < left < b < right or left < a < right < b):
            return True
    return False


@njit(cache=True, nogil=True)
def _upwards(tree, order_of):
    """Write the words such that each comes before its head."""
    _, _, outer, near = tree
    size = len(outer)
    last, read = size - 1, size - 1  # filled from the end, and read from there
    for side in range(2):
        o = near[side, 0]
        while 0 < o < size:
            last -= 1
            order_of[last] = o
            o = outer[o]
    while read > last:
        read -= 1
        m = order_of[read]
        for side in range(2):
            o = near[side, m]
            while 0 < o < size:
                last -= 1
                order_of[last] = o
                o = outer[o]


@njit(cache=True, nogil=True)
def _below(heads, h, m):
    """Tell whether h is m or below it."""
    while h > 0:
        if h == m:
            return True
        h = heads[h]
    return False


@njit(cache=True, nogil=True)
def _best_head(model, how, tree, scores, allowed, m):
    """Take m off and hang it where it is worth most, if that is better; gives what was gained.

    If there is to be one word below the root, another becomes it only as the first is hung below that.
    """
    order, projective, one_root = how
    heads, _, _, near = tree
    was = heads[m]
    if was == 0 and one_root:
        return 0.0
    _take_off(tree, m)
    now = _worth(model, order, tree, scores, was, m)
    best, at = now + SLACK, was
    for h in range(1 if one_root else 0, len(heads)):
        if allowed[h, m] and h != was and not _below(heads, h, m) and not (projective and _crosses(heads, h, m)):
            value = _worth(model, order, tree, scores, h, m)
            if value > best:
                best, at = value, h
    if one_root and allowed[0, m]:
        top = near[1, 0]
        _take_off(tree, top)
        if allowed[m, top] and not (projective and (_crosses(heads, 0, m) or _crosses(heads, m, top))):
            value = _worth(model, order, tree, scores, 0, m) - _worth(model, order, tree, scores, 0, top)
            _hang(tree, 0, m)
            value += _worth(model, order, tree, scores, m, top)
            if value > best:
                _hang(tree, m, top)
                return value - now
            _take_off(tree, m)
        _hang(tree, 0, top)
    _hang(tree, at, m)
    return best - now if at != was else 0.0


@njit(cache=True, nogil=True)
def _link(start, tree):
    """Make the tree of some heads."""
    heads, inner, outer, near = tree
    near[0], near[1] = -1, len(heads)
    heads[:], inner[:], outer[:] = -1, -1, -1
    for m in range(1, len(heads)):
        _hang(tree, start[m - 1], m)


@njit(cache=True, nogil=True)
def tree_parts(heads, order, parts):
    """Write the parts (kind, x, h, s, m) of a tree, of heads from 0 for the root; gives how many there are."""
    size, count = len(heads) + 1, 0
    links = np.empty((3, size), np.int64)
    tree = (links[0], links[1], links[2], np.empty((2, size), np.int64))
    _link(heads, tree)
    above, _, outer, near = tree
    for h in range(size):
        g = above[h]
        for side in range(2):
            t, s, m = h, h, near[side, h]
            while True:
                word = 0 <= m < size
                for kind, x, wanted in (
                    (GRAND, g, word and g >= 0),
                    (SIBLING, h, True),
                    (GRAND_SIBLING, g, order == 3 and g >= 0),
                    (THREE, t, order == 3 and s != h),
                ):
                    if wanted:
                        parts[count] = kind, x, h, h if kind == GRAND else s, m
                        count += 1
                if not word:
                    break
                t, s, m = s, m, outer[m]
    return count


@njit(cache=True, nogil=True)
def tree_score(model, order, scores, heads):
    """Give the score of a tree, all parts added."""
    total = 0.0
    for m in range(1, len(scores)):
        total += scores[heads[m - 1], m]
    if order > 1:
        parts = np.empty((4 * 3 * len(scores), 5), np.int64)
        for k in range(tree_parts(heads, order, parts)):
            total += _part(model, parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3], parts[k, 4])
    return total


@njit(cache=True, nogil=True)
def climb(model, how, scores, allowed, trees, values):
    """Climb from each tree to one that no new head of a single word makes better, in place, and write its score.

    ``how`` is (order, projective, one_root); ``allowed[h, m]`` are the arcs that may be made. Where a tree is a copy
    of an earlier one there is no second climb.
    """
    size = len(scores)
    links = np.empty((3, size), np.int64)
    tree = (links[0], links[1], links[2], np.empty((2, size), np.int64))
    starts = trees.copy()
    words = np.empty(size - 1, np.int64)
    for k in range(len(trees)):
        twin = 0
        while np.any(starts[twin] != starts[k]):
            twin += 1
        if twin < k:
            trees[k], values[k] = trees[twin], values[twin]
            continue
        values[k] = tree_score(model, how[0], scores, starts[k])
        _link(starts[k], tree)
        for _ in range(PASSES):
            gained = 0.0
            _upwards(tree, words)
            for m in words:
                gained += _best_head(model, how, tree, scores, allowed, m)
            values[k] += gained
            if gained <= 0:
                break
        trees[k] = tree[0][1:]


@njit(cache=True, nogil=True)
def tree_difference(table, templates, order, heads, predicted, delta, cells, counts):
    """Write the cells of two trees and by how much they differ there; gives how many there are, and the squares.

    ``delta`` is zero before and after. A cell that is written twice has nothing the second time.
    """
    count, squares, mask = 0, 0.0, np.uint64(len(delta) - 1)
    parts = np.empty((4 * 3 * len(table), 5), np.int64)
    for heads_of, sign in ((heads, 1), (predicted, -1)):
        for k in range(tree_parts(heads_of, order, parts)):
            kind, x, h, s, m = parts[k]
            more = _cells(table, templates, mask, kind, x, h, s, m, cells[count:])
            for c in range(count, count + more):
                delta[cells[c]] += sign
            count += more
    for c in range(count):
        counts[c] = delta[cells[c]]
        delta[cells[c]] = 0
        squares += counts[c] * counts[c]
    return count, squares


@njit(cache=True, nogil=True)
def move_cells(cells, counts, step, clock, weights, sums):
    """Add a step along the difference of two trees, and the step times ``clock`` to the sums."""
    for c in range(len(cells)):
        weights[cells[c]] += step * counts[c]
        sums[cells[c]] += step * clock * counts[c]
