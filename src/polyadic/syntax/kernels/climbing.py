"""Numba kernels for higher-order dependency trees: hashed features, hill climbing and weight updates.

A part is a tuple of positions ``(x, h, s, m)``: a word m with its head h, the inner neighbour s of m among the
dependents of h on the same side, and x, which is the head of h or the inner neighbour of s. h replaces a missing
neighbour. An end mark, at -1 or after the last word, follows the outermost dependent on each side in place of m.

A tree is stored as heads, with the neighbours of each word among the dependents on its side (``inner``, ``outer``) and
its nearest dependent on each side (``near``). To reattach a word, it is detached with its subtree, and the gain of each
head is the score of the parts that the attachment would create. A gain depends only on the dependents of both words and
on the head of the head, so it is cached until one of these changes.

Kernels with ``_nrt=False`` do not count references to arrays and cannot allocate any: otherwise numba counts them again
at each call that passes a tuple of arrays, which took two thirds of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32, Mask
from polyadic.core.kernels.common import frozen

# Kinds of parts: (grandparent, h, -, m), (-, h, s, m), (grandparent, h, s, m), (inner neighbour of s, h, s, m). They
# and ROOT are numpy integers, because numba compiles a kernel anew for each literal argument.
GRAND, SIBLING, GRAND_SIBLING, THREE = np.arange(4)
ROOT = np.int64(0)
MAX_WORDS = 4094  # maximum number of words of a sentence: the positions of a part are digits of one number
SLACK = 1e-6  # minimum gain of a step, so that rounding errors do not prolong the climb
CACHE_SIZE = 1 << 16  # maximum number of cached part scores per sentence
MAX_PASSES = 1000  # passes over the words; a few suffice unless scores are so large that rounding exceeds the slack


@njit(cache=True, nogil=True, inline="always")
def _mixed(a, b):
    """Hash two integers into one."""
    key = (a ^ (a >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xFF51AFD7ED558CCD)
    return key ^ (key >> np.uint64(32))


@njit(cache=True, nogil=True, _nrt=False)
def _cells(features, mask, kind, x, h, s, m, cells):
    """Write the hashed features of a higher-order part of a tree and return their count; see :func:`_checked`."""
    table, templates, begins = features
    sides = (1 if h < m else 0) + (2 if x < h else 0) + (4 if x < m else 0)
    none, count = len(table) - 1, 0
    rows = (none if x == h else x + 1, h + 1, none if s == h else s + 1, m + 1)
    for k in range(begins[kind], begins[kind + 1]):
        key, known = np.uint64(k * 8 + sides + 1), True
        for place in range(4):
            column = templates[k, 1 + place]
            if column >= 0:
                feature = table[rows[place], column]
                known = known and feature > 0
                key = _mixed(key, feature)
        if known:
            cells[count] = _mixed(key, k) & mask
            count += 1
    return count


@njit(cache=True, nogil=True, _nrt=False)
def _summed(model, kind, x, h, s, m):
    """Compute the score of a higher-order part of a tree from the weights of its hashed features."""
    features, weights, gamma, _, cells = model
    total = 0.0
    for k in range(_cells(features, np.uint64(len(weights) - 1), kind, x, h, s, m, cells)):
        total += weights[cells[k]]
    return gamma * total


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _part(model, kind, x, h, s, m):
    """Return the score of a higher-order part of a tree from a cache, computing the score if necessary."""
    _, _, _, cache, _ = model
    digits = np.int64(MAX_WORDS + 2)
    name = (((kind * digits + x + 1) * digits + h) * digits + s + 1) * digits + m + 1
    at = (np.uint64(name) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(44)) & np.uint64(len(cache) - 1)
    one = cache[at]
    if one.name != name:
        one.name, one.value = name, _summed(model, kind, x, h, s, m)
    return one.value


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _chained(model, order, g, h, t, s, m):
    """Return the score of the sibling parts of a dependent ``m`` and its head ``h``."""
    total = _part(model, SIBLING, h, h, s, m)
    if order == 3:
        if s != h:
            total += _part(model, THREE, t, h, s, m)
        if g >= 0:
            total += _part(model, GRAND_SIBLING, g, h, s, m)
    return total


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _neighbours(tree, h, m):
    """Return the nearest dependents of the head ``h`` on either side of ``m``."""
    _, _, outer, near = tree
    side = 1 if h < m else 0
    s, o = h, near[side, h]
    while (o < m) if side else (o > m):
        s, o = o, outer[o]
    return s, o


@njit(cache=True, nogil=True, _nrt=False)
def _attachment_gain(model, order, tree, scores, h, m):
    """Return the score gained by attaching the detached word ``m`` with its subtree to the head ``h``."""
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


@njit(cache=True, nogil=True, _nrt=False)
def _attach(tree, h, m):
    """Attach the detached word ``m`` to the head ``h``."""
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


@njit(cache=True, nogil=True, _nrt=False)
def _detach(tree, m):
    """Detach the word ``m`` from its head."""
    heads, inner, outer, near = tree
    h, s, o = heads[m], inner[m], outer[m]
    if s == h:
        near[1 if h < m else 0, h] = o
    else:
        outer[s] = o
    if 0 <= o < len(heads):
        inner[o] = s
    heads[m] = -1


@njit(cache=True, nogil=True, _nrt=False)
def _mark_crossing(heads, m, covered):
    """Mark the heads to which the word ``m`` cannot be attached without crossing arcs."""
    for k in range(len(covered)):
        covered[k] = 0
    first, last = 0, len(heads) - 1  # the range inside all arcs over m
    for k in range(1, len(heads)):
        a, b = min(k, heads[k]), max(k, heads[k])
        if a < 0:
            continue
        if a < m < b:
            first, last = max(first, a), min(last, b)
        elif b < m or m < a:
            covered[a + 1] += 1
            covered[b] -= 1
    arcs = 0
    for k in range(len(heads)):
        arcs += covered[k]
        covered[k] = arcs > 0 or not first <= k <= last


@njit(cache=True, nogil=True, _nrt=False)
def _upwards(tree, order_of):
    """Write the words in bottom-up order, each word before its head."""
    _, _, outer, near = tree
    size = len(outer)
    last, read, m = size - 1, size - 1, ROOT  # a queue, filled and read backwards
    while True:
        for side in range(2):
            o = near[side, m]
            while 0 < o < size:
                last -= 1
                order_of[last] = o
                o = outer[o]
        if read <= last:
            break
        read -= 1
        m = order_of[read]


@njit(cache=True, nogil=True, _nrt=False)
def _is_descendant(heads, h, m):
    """Return whether the word ``h`` is ``m`` or a descendant of ``m``."""
    while h > 0:
        if h == m:
            return True
        h = heads[h]
    return False


@njit(cache=True, nogil=True, _nrt=False)
def _invalidate(gains, v):
    """Invalidate the cached gains of all attachments with ``v`` as the head or the dependent."""
    for k in range(len(gains)):
        gains[v, k] = gains[k, v] = np.nan


@njit(cache=True, nogil=True, _nrt=False)
def _move(tree, gains, m, h):
    """Attach the word ``m`` to a new head and invalidate the cached gains that change."""
    was = tree[0][m]
    if was >= 0:
        _detach(tree, m)
        _invalidate(gains, was)
    _attach(tree, h, m)
    _invalidate(gains, h)
    _invalidate(gains, m)


@njit(cache=True, nogil=True, _nrt=False)
def _best_head(model, how, tree, scores, allowed, gains, covered, m):
    """Attach the word ``m`` to its best head if this raises the score of the tree, and return the gain."""
    order, projective, one_root = how
    heads, _, _, near = tree
    was = heads[m]
    if was == 0 and one_root:
        return 0.0
    _detach(tree, m)
    if np.isnan(gains[was, m]):
        gains[was, m] = _attachment_gain(model, order, tree, scores, was, m)
    now = gains[was, m]
    best, at = now + SLACK, was
    if projective:
        _mark_crossing(heads, m, covered)
    for h in range(1 if one_root else 0, len(heads)):
        if allowed[h, m] and h != was and not (gains[h, m] <= best or covered[h] or _is_descendant(heads, h, m)):
            if np.isnan(gains[h, m]):
                gains[h, m] = _attachment_gain(model, order, tree, scores, h, m)
            if gains[h, m] > best:
                best, at = gains[h, m], h
    top = near[1, 0]
    if one_root and allowed[0, m] and allowed[m, top]:
        _detach(tree, top)
        free = True
        for h, k in ((0, m), (m, top)):
            if projective:
                _mark_crossing(heads, k, covered)
            free = free and not covered[h]
        if free:
            value = _attachment_gain(model, order, tree, scores, ROOT, m)
            value -= _attachment_gain(model, order, tree, scores, ROOT, top)
            _attach(tree, ROOT, m)
            value += _attachment_gain(model, order, tree, scores, m, top)
            _detach(tree, m)
            if value > best:
                best, at = value, 0
        _attach(tree, ROOT, top)
    _attach(tree, was, m)
    if at == was:
        return 0.0
    _move(tree, gains, m, at)
    if one_root and at == 0:
        _move(tree, gains, top, m)
    return best - now


@njit(cache=True, nogil=True)
def _are_trees(trees):
    """Return whether the heads in each row form a tree with root 0."""
    seen = np.empty(trees.shape[1] + 1, np.int64)
    for heads in trees:
        seen[:] = 0
        for start in range(1, len(seen)):
            m = start
            while m and not seen[m]:
                seen[m] = start
                m = heads[m - 1]
                if not 0 <= m < len(seen):
                    return False
            if m and seen[m] == start:
                return False
    return True


@njit(cache=True, nogil=True)
def _detached_tree(size):
    """Return an empty tree structure, in which no word has a head."""
    links, near = np.full((3, size), -1), np.empty((2, size), np.int64)
    near[0], near[1] = -1, size
    return links[0], links[1], links[2], near


@njit(cache=True, nogil=True)
def _linked_tree(heads):
    """Build the linked tree structure from an array of heads."""
    tree = _detached_tree(len(heads) + 1)
    for m in range(1, len(heads) + 1):
        _attach(tree, heads[m - 1], m)
    return tree


@njit(cache=True, nogil=True, _nrt=False)
def _list_parts(tree, order, parts):
    """Write the higher-order parts (kind, x, h, s, m) of a tree and return the number of parts."""
    above, _, outer, near = tree
    size, count = len(above), 0
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


@njit(cache=True, nogil=True, _nrt=False)
def _score(model, order, tree, scores, parts):
    """Return the score of a linked tree, using ``parts`` as a buffer for the higher-order parts."""
    heads, total = tree[0], 0.0
    for m in range(1, len(scores)):
        total += scores[heads[m], m]
    if order > 1:
        for k in range(_list_parts(tree, order, parts)):
            total += _part(model, parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3], parts[k, 4])
    return total


@njit(cache=True, nogil=True)
def _tree_score(model, order, scores, heads):
    """Return the score of the dependency tree given by an array of heads."""
    return _score(model, order, _linked_tree(heads), scores, np.empty((4 * 3 * len(scores), 5), np.int64))


@njit(cache=True, nogil=True)
def _climb(model, how, scores, allowed, trees, values):
    """Improve each tree in place by hill climbing until no change of a single head raises the score.

    ``how`` is (order, projective, one_root). ``gains[h, m]`` caches :func:`_attachment_gain` until h or m changes.
    """
    size = len(scores)
    tree, gains, covered = _detached_tree(size), np.full((size, size), np.nan), np.zeros(size, np.int64)
    parts = np.empty((4 * 3 * size, 5), np.int64)
    words, settled = np.empty(size - 1, np.int64), np.zeros(size, np.bool_)
    for k in range(len(trees)):
        for m in range(1, size):
            if tree[0][m] != trees[k, m - 1]:
                _move(tree, gains, m, trees[k, m - 1])
                settled[:] = False
        values[k] = _score(model, how[0], tree, scores, parts)
        for _ in range(MAX_PASSES):
            gained = 0.0
            _upwards(tree, words)
            for m in words:
                if not settled[m]:
                    gain = _best_head(model, how, tree, scores, allowed, gains, covered, m)
                    if gain > 0:
                        gained += gain
                        settled[:] = False
                    else:
                        settled[m] = True
            values[k] += gained
            if gained <= 0:
                break
        trees[k] = tree[0][1:]


@njit(cache=True, nogil=True)
def _tree_difference(features, order, heads, predicted, delta, cells, counts):
    """Write the difference of the feature counts of two trees; return its length and squared norm."""
    count, squares, mask = 0, 0.0, np.uint64(len(delta) - 1)
    parts = np.empty((4 * 3 * (len(heads) + 1), 5), np.int64)
    for heads_of, sign in ((heads, 1), (predicted, -1)):
        for k in range(_list_parts(_linked_tree(heads_of), order, parts)):
            kind, x, h, s, m = parts[k]
            more = _cells(features, mask, kind, x, h, s, m, cells[count:])
            for c in range(count, count + more):
                delta[cells[c]] += sign
            count += more
    for c in range(count):
        counts[c] = delta[cells[c]]
        delta[cells[c]] = 0
        squares += counts[c] * counts[c]
    return count, squares


@njit(cache=True, nogil=True)
def _move_cells(cells, counts, step, clock, weights, sums):
    """Add ``step`` times a feature difference to the weights, and update the running sums for averaging."""
    for c in range(len(cells)):
        weights[cells[c]] += step * counts[c]
        sums[cells[c]] += step * clock * counts[c]


class TreeParts(NamedTuple):
    """Parameters of the higher-order parts of dependency trees."""

    order: int  # maximum number of arcs in a part: 1, 2 or 3
    templates: Ints  # kind of the part, ascending, and joined columns of x, h, s, m, or -1; (n, 5)
    weights: Floats  # hashed; their number is a power of two
    gamma: float  # factor of the sums of weights


def score_trees(table: Ints32, scores: Array, trees: AnyArray, parts: TreeParts) -> Array:
    r"""Return the scores of dependency trees with heads of shape (trees, n), summed over arcs and higher-order parts.

    .. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

    ``table`` holds feature ids of the root and each word, -1 for a missing feature; ``scores`` those of the arcs.
    """
    model, trees = _checked(table, scores, trees, parts)
    return np.array([_tree_score(model, parts.order, frozen(scores, np.float64), tree) for tree in trees])


def climb_trees(
    table: Ints32,
    scores: Array,
    trees: AnyArray,
    *,
    parts: TreeParts,
    allowed: Mask,
    projective: bool,
    single_root: bool = True,
) -> tuple[Ints32, Array]:
    """Improve trees by hill climbing, one head at a time, and return the locally optimal trees and their scores.

    Each pass visits the words from the leaves up and gives each its best head, all else fixed, until a pass changes
    nothing. With a single root, also of the starts, making another word the root attaches the old root to it in the
    same step. ``allowed[h, m]`` marks the arcs that may be made. If ``projective``, so must be the starts. Zhang, Lei,
    Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing, section 3.
    """
    model, trees = _checked(table, scores, trees, parts)
    if allowed.shape != scores.shape or allowed.dtype != np.bool_:
        got = f"{allowed.dtype} of shape {allowed.shape}"
        raise ValueError(f"the mask allowed must be boolean and have the same shape as scores; got {got}")
    if single_root and not ((trees == 0).sum(axis=1) == 1).all():
        raise ValueError("each tree must have exactly one root")
    _, first, twins = np.unique(trees, axis=0, return_index=True, return_inverse=True)
    starts = np.sort(first)  # duplicate trees are climbed once
    found, values = trees[starts], np.zeros(len(starts))
    how = (parts.order, bool(projective), bool(single_root))
    _climb(model, how, frozen(scores, np.float64), frozen(allowed), found, values)
    reached = np.searchsorted(starts, first[twins.ravel()])
    return found[reached].astype(np.int32), values[reached]


def difference_of_trees(
    table: Ints32, parts: TreeParts, *, heads: AnyArray, predicted: AnyArray, delta: Floats
) -> tuple[Ints, Floats, float]:
    """Return cells, counts and squared norm of the features of ``heads`` minus those of ``predicted``.

    ``delta`` is a workspace of zeros, and contains zeros again afterwards.
    """
    pair = np.stack([heads, predicted])
    (features, *_), _ = _checked(table, np.zeros((len(table), len(table))), pair, parts)
    if len(delta) != len(parts.weights):
        raise ValueError(f"delta must have the same length as the weights, {len(parts.weights)}; got {len(delta)}")
    heads, predicted = pair.astype(np.int64)
    cells = np.empty(24 * len(table) * len(parts.templates), np.int64)
    counts = np.empty(len(cells), np.float32)
    count, squares = _tree_difference(features, parts.order, heads, predicted, delta, cells, counts)
    return cells[:count], counts[:count], float(squares)


def move_weights(parts: TreeParts, cells: Ints, counts: Floats, *, step: float, clock: int, sums: Array) -> None:
    """Add ``step`` times a feature difference to the weights in place, and update the running sums for averaging."""
    if len(sums) != len(parts.weights):
        raise ValueError("sums must have the same length as the weights")
    _move_cells(cells, counts, float(step), float(clock), parts.weights, sums)


def _checked(table: AnyArray, scores: AnyArray, trees: AnyArray, parts: TreeParts) -> tuple[tuple[Any, ...], Ints]:
    """Validate the inputs and return the model parameters for the kernels and a copy of the trees."""
    size, trees = len(table), trees.astype(np.int64)
    if table.ndim != 2 or not 2 <= size <= MAX_WORDS + 1 or table.dtype != np.int32 or table.min() < -1:
        about = f"table must be an int32 matrix of feature ids from -1, with 2 to {MAX_WORDS + 1} rows"
        raise ValueError(f"{about}; got {table.dtype} of shape {table.shape}")
    if scores.shape != (size, size) or trees.ndim != 2 or trees.shape[1] != size - 1:
        about = f"scores must have shape ({size}, {size}) and trees must have {size - 1} columns"
        raise ValueError(f"{about}; got shapes {scores.shape} and {trees.shape}")
    if not _are_trees(trees):
        raise ValueError(f"heads must be from 0 to {size - 1} and form trees")
    order, templates, weights, gamma = parts
    if order not in {1, 2, 3}:
        raise ValueError(f"order must be 1, 2 or 3; got {order}")
    width = table.shape[1]
    if templates.ndim != 2 or templates.shape[1] != 5 or not -1 <= templates.min() <= templates[:, 1:].max() < width:
        about = f"templates must have shape (n, 5) and column indices from -1 to {width - 1}"
        raise ValueError(f"{about}; got {templates.tolist()}")
    if (np.diff(templates[:, 0]) < 0).any() or not 0 <= templates[0, 0] <= templates[-1, 0] <= THREE:
        raise ValueError("the first column of templates must contain kinds from 0 to 3 in ascending order")
    if weights.dtype != np.float32 or not len(weights) or len(weights) & (len(weights) - 1):
        got = f"{weights.dtype} of length {len(weights)}"
        raise ValueError(f"weights must be a float32 array whose length is a power of two; got {got}")
    shifted = np.full((size + 3, width), 1, np.int32)  # 1 is the end mark on both sides
    shifted[1:-2] = np.where(table >= 0, table + 3, 0)  # 0 is a missing feature
    shifted[-1] = 2  # no dependent
    begins = np.searchsorted(templates[:, 0], np.arange(THREE + 2))
    features = frozen(shifted), frozen(templates, np.int64), frozen(begins, np.int64)
    slots = min(CACHE_SIZE, 1 << (1024 * size).bit_length())
    cache = np.zeros(slots, [("name", np.int64), ("value", np.float64)])  # no part has the name 0
    held = features, frozen(weights), float(gamma), cache, np.empty(len(templates), np.int64)
    return held, trees
