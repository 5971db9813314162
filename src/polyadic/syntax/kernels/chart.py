"""Chart parsing with weighted context-free grammars: inside and outside sums, Viterbi maxima, k best derivations.

*Layout.* Cell ``j (j - 1) / 2 + i`` covers the words ``i`` to ``j - 1``. Each cell has two layers of symbols: the lower
layer is built from a word or from two symbols of smaller cells, the upper one from the lower one by at most one unary
rule. Binary rules take upper symbols, so a unary rule that stands for a chain of rules is used once, and no derivation
counts twice. Symbols are grouped in blocks, one per coarse symbol: ``block[s]`` is the coarse symbol of ``s``, and
``first[c]`` the first symbol of block ``c``. ``base[layer, cell, c]`` is the slot of the first symbol of block ``c``,
or -1 where a coarser grammar has pruned it; without one each symbol is a block. Binary rules ``a -> b c`` are sorted by
``b`` and start at ``starts[b]``; unary rules ``a -> b`` likewise.

*k best.* Derivations are enumerated lazily from the root (Huang & Chiang 2005, algorithm 3). An *item* is a requested
slot, with a linked list of candidates for its next derivation and its derivations so far, best first. A candidate is a
rule, the end of its left child, and the ranks of the derivations of both children. The left rank grows only while the
right one is zero, so each pair of ranks is proposed once.

*Sums for grammars of few symbols.* The upper layer is stored twice, as ``left[i, s, j]`` and ``right[j, s, i]`` for
symbol ``s`` over the words ``i`` to ``j - 1``. The sum over all split points of a ``b`` and a ``c`` is then an inner
product of two rows, ``sum_k left[i, b, k] right[j, c, k]``, which all rules with these children share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import Array, Ints, Ints32, Mask
from polyadic.core.kernels.common import frozen
from polyadic.core.resources import check_memory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class ChartRules(NamedTuple):
    """Weighted grammar rules in the sorted orders that the chart kernels need."""

    binary: Ints32  # parent and children, of shape (rules, 3)
    unary: Ints32  # parent and child
    unary_weights: Array
    by_child: tuple[Any, Any]  # binary (starts by left child, right, parent, weight), unary (starts, parent, weight)
    by_parent: tuple[Any, Any]  # binary (starts, rules, left, right, weight) and unary (starts, rules, child, weight)
    by_block: tuple[Any, ...]
    by_pair: tuple[Any, ...]
    block: Ints32
    first: Ints32


class Chart(NamedTuple):
    """Parse chart of a sentence, with a value for each allowed symbol and span."""

    length: int  # number of words
    base: Ints  # slot of the first symbol of each block, or -1; (2 layers, cells, blocks)
    values: Array  # by slot


def chart_rules(binary: ArrayLike, unary: ArrayLike, *, weights: tuple[Any, Any], block: ArrayLike) -> ChartRules:
    """Sort binary rules (parent, left, right) and unary rules (parent, child) for the chart kernels.

    ``weights`` are those of the binary and of the unary rules: probabilities for sums, logarithms for maxima. A unary
    rule may stand for a chain of rules; two are never applied in a row. ``block`` holds the coarse symbol of each
    symbol, non-decreasing from 0; ``arange(symbols)`` for none.
    """
    blocks = frozen(np.asarray(block), np.int32)
    if not len(blocks) or blocks[0] != 0 or not np.isin(np.diff(blocks), (0, 1)).all():
        raise ValueError("block ids of symbols must start at 0 and increase by at most 1 between successive symbols")
    size = len(blocks)
    parts = []
    for given, weight, width in ((binary, weights[0], 3), (unary, weights[1], 2)):
        rules, values = np.asarray(given, np.int32).reshape(-1, width), np.asarray(weight, float)
        if values.shape != (len(rules),):
            got = f"{len(rules)} rules and weights of shape {values.shape}"
            raise ValueError(f"each rule must have a weight; got {got}")
        if len(rules) and not 0 <= rules.min() <= rules.max() < size:
            raise ValueError(f"symbols of rules must be below {size}; got {rules.min()} to {rules.max()}")
        order = np.argsort(rules[:, 1], kind="stable")
        parts.append((np.ascontiguousarray(rules[order].T), frozen(values[order])))
    (b, bw), (u, uw) = parts
    places = np.arange(size + 1)
    b_order, u_order = (np.argsort(rules[0], kind="stable").astype(np.int32) for rules in (b, u))
    starts = [np.searchsorted(keys, places).astype(np.int32) for keys in (b[1], u[1], b[0][b_order], u[0][u_order])]
    by_child = (starts[0], b[2], b[0], bw), (starts[1], u[0], uw)
    by_parent = (starts[2], b_order, b[1], b[2], bw), (starts[3], u_order, u[1], uw)
    first = np.searchsorted(blocks, np.arange(blocks[-1] + 2)).astype(np.int32)
    grouped = _by_block(b, bw, blocks, first), _by_pair(b, bw)
    return ChartRules(b.T, u.T, uw, by_child, by_parent, *grouped, blocks, first)


def _by_block(b: Ints32, weights: Array, block: Any, first: Any) -> tuple[Any, ...]:
    """Group binary rules by the coarse symbols of the parent, the left child and the right child."""
    of = block[b]
    order = np.lexsort((b[0], b[2], b[1], of[0], of[2], of[1]))
    (parent, left, right), (above, one, other) = b[:, order], of[:, order]
    starts = np.flatnonzero(np.diff(np.stack([one, other, above]), prepend=-1).any(axis=0))
    groups = np.searchsorted(one[starts], np.arange(len(first)))
    names = np.ascontiguousarray(left), np.ascontiguousarray(right), parent - first[above]
    return groups, other[starts], above[starts], np.append(starts, len(order)), *names, frozen(weights[order])


def _by_pair(b: Ints32, weights: Array) -> tuple[Any, ...]:
    """Group binary rules by the pair of child symbols."""
    order = np.lexsort((b[2], b[1]))
    children = b[1:, order].T
    starts = np.flatnonzero(np.diff(children, axis=0, prepend=-1).any(axis=1))
    return np.ascontiguousarray(children[starts]), np.append(starts, len(order)), b[0][order], frozen(weights[order])


def inside(
    rules: ChartRules,
    words: ArrayLike,
    symbols: ArrayLike,
    values: ArrayLike,
    *,
    summed: bool,
    allowed: Mask | None = None,
) -> Chart:
    """Compute the inside values of all symbols and spans of a sentence, as sums or as Viterbi maxima.

    ``words``, ``symbols`` and ``values``, of shape (N,), list the positions of words, ascending from 0 without gaps,
    their possible symbols and the weights of these. ``allowed``, of shape (2, cells, blocks), marks the blocks
    allowed in each cell of the lower and the upper layer; all by default.
    """
    n, at, kinds, weights = _words(rules, words, symbols, values)
    cells, blocks, symbols_of = n * (n + 1) // 2, len(rules.first) - 1, np.diff(rules.first)
    if allowed is not None and allowed.shape != (2, cells, blocks):
        raise ValueError(f"the mask allowed must have shape {(2, cells, blocks)}; got {allowed.shape}")
    used = 2 * cells if allowed is None else allowed.sum(axis=(0, 1))
    # per symbol of a cell: a value, an item index, and for one in ten an entry of a row
    check_memory(16.0 * float(np.sum(used * symbols_of)), f"a chart of {n:,} words", "split the sentence")
    if allowed is None:
        allowed = np.ones((2, cells, blocks), bool)
    sizes = np.where(allowed, symbols_of, 0).astype(np.int64)
    ends = np.cumsum(sizes).reshape(sizes.shape)
    base = np.where(allowed, ends - sizes, -1)
    filled = np.full(int(ends[-1, -1, -1]), 0.0 if summed else -np.inf)
    how = rules.by_block, rules.by_child[1], rules.block, rules.first, base
    _chart_inside(n, np.searchsorted(at, np.arange(n + 1)), kinds, weights, *how, filled, summed)
    return Chart(n, base, filled)


def _words(rules: ChartRules, words: ArrayLike, symbols: ArrayLike, values: ArrayLike) -> tuple[int, Any, Any, Any]:
    """Validate the words, symbols and weights of a sentence and convert them to arguments of the kernels."""
    at, kinds = frozen(np.asarray(words), np.int32), frozen(np.asarray(symbols), np.int32)
    weights = frozen(np.asarray(values), np.float64)
    n = int(at[-1]) + 1 if len(at) else 0
    if not n or at[0] != 0 or not np.isin(np.diff(at), (0, 1)).all():
        raise ValueError("word positions must start at 0 and increase by at most 1 between successive entries")
    if not at.shape == kinds.shape == weights.shape or not 0 <= kinds.min() <= kinds.max() < len(rules.block):
        last = len(rules.block) - 1
        raise ValueError(f"symbols must be ids from 0 to {last}, with one word position and one weight for each")
    return n, at, kinds, weights


def span_shares(
    rules: ChartRules, words: ArrayLike, symbols: ArrayLike, values: ArrayLike, root: int, *, min_share: float = 0.0
) -> Array | None:
    """Return the posterior probability of each symbol over each span of a sentence.

    It equals inside times outside values over the total, but is ten times faster for grammars of few symbols without
    blocks. The result has shape (2, cells, symbols); it is None if the words have no derivation from ``root``, or the
    total is out of range. Parameters are those of :func:`inside`, with probabilities, and of :func:`outside`.
    """
    n, *given = _words(rules, words, symbols, values)
    size = len(rules.block)
    # eight numbers per symbol, layer and cell
    check_memory(64.0 * n * (n + 1) * size, f"a chart of {n:,} words", "split the sentence")
    children, starts, parent, weight = rules.by_pair
    unary = rules.unary[:, 1].copy(), rules.unary[:, 0].copy(), rules.unary_weights
    how = (children, starts), parent, weight, unary
    low, left, right = np.zeros((n * (n + 1) // 2, size)), np.zeros((n, size, n + 1)), np.zeros((n + 1, size, n))
    left_ends, right_ends = (np.tile(np.array([n + 1, 0]), (rows, size, 1)) for rows in (n, n + 1))
    _span_inside(n, *given, *how, low, left, right, left_ends, right_ends)
    total = left[0, root, n]
    if not 0 < total < np.inf:
        return None
    around, of_left, of_right = np.zeros_like(low), np.zeros_like(left), np.zeros_like(right)
    _span_outside(n, root, *how, low, left, right, left_ends, right_ends, min_share * total, around, of_left, of_right)
    j = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    i = np.arange(len(j)) - j * (j - 1) // 2
    shares = np.stack([low * around, left[i, :, j] * (of_left[i, :, j] + of_right[j, :, i])])
    shares /= total
    return shares


def outside(rules: ChartRules, filled: Chart, root: int, *, min_share: float = 0.0) -> Array:
    """Return the outside value of each symbol over each span, in derivations from the symbol ``root``.

    Times the inside value it is the sum over all derivations through the slot. Slots of the lower layer whose share of
    the total is below ``min_share`` are not expanded, so the values below them lack these derivations.
    """
    n, base, values = filled
    result = np.zeros_like(values)
    if base[1, n * (n - 1) // 2, rules.block[root]] >= 0:
        rows, size = rules.by_parent[0], len(rules.block)
        ends = np.tile(np.array([n + 1, 0], np.int32), (2, n + 1, size, 1))
        how = rows, rules.by_child[1], rules.block, rules.first, base, values
        _chart_outside(n, root, *how, min_share * value_of(rules, filled, root), *ends, result)
    return result


def value_of(rules: ChartRules, filled: Chart, root: int) -> float:
    """Return the inside value of ``root`` over the whole sentence: 0 or minus infinity without a derivation."""
    start = filled.base[1, filled.length * (filled.length - 1) // 2, rules.block[root]]
    return float(filled.values[start + root - rules.first[rules.block[root]]]) if start >= 0 else -np.inf


class Derivations(NamedTuple):
    """The k best derivations of a sentence in a table with shared subderivations."""

    # rule (binary ones first, then unary ones), SAME or WORD; symbol; rows of both parts: -1 if there is none, and the
    # position of the word for WORD
    table: Ints32
    values: Array  # sum of the weights of each derivation
    best: Ints32  # rows of the derivations of the whole sentence, best first


def k_best(rules: ChartRules, filled: Chart, root: int, *, k: int) -> Derivations:
    """Return up to ``k`` best derivations of a sentence from the symbol ``root``, given a Viterbi chart."""
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    if value_of(rules, filled, root) == -np.inf:
        raise ValueError("the sentence has no derivation from the root symbol")
    n, base, values = filled
    return Derivations(*_chart_kbest(n, root, k, *rules.by_parent, rules.block, rules.first, base, values))


WORD, SAME = -1, -2  # in place of a rule: a word, and a symbol of the upper layer that is the same in the lower one
SYMBOL, LEFT_EDGE, RIGHT_EDGE, LAYER, FIRST, PENDING, COUNT, DONE = range(8)
RULE, SPLIT, LEFT_RANK, RIGHT_RANK, NEXT = range(5)
PLACE, BEGIN, END, ROOM = range(4)
COLUMNS_PER_TILE = 8  # number of chart columns filled together


@njit(cache=True, nogil=True, forceinline=True, fastmath={"reassoc", "contract", "nsz"})
def _sum_of_products(x, p, y, q, length):
    """Return the inner product of ``x[p:p + length]`` and ``y[q:q + length]``."""
    total = 0.0
    for k in range(length):
        total += x[p + k] * y[q + k]
    return total


@njit(cache=True, nogil=True, forceinline=True, fastmath={"nnan", "nsz"})
def _largest_sum(x, p, y, q, length):
    """Return the maximum of ``x[p:p + length] + y[q:q + length]``, where no sum is NaN."""
    largest = -np.inf
    for k in range(length):
        largest = max(largest, x[p + k] + y[q + k])
    return largest


@njit(cache=True, nogil=True)
def _appended(row, j, value, none, pool, used):
    """Append a value at index ``j`` to a row, doubling the size of the row if it is full."""
    if row[END] == 0:
        row[BEGIN] = j
    length = j - row[BEGIN]
    if length >= row[ROOM]:
        room = 2 * length + 8
        while used + room > len(pool):
            pool = _larger(pool)
        for k in range(room):
            pool[used + k] = pool[row[PLACE] + k] if k < row[ROOM] else none
        row[PLACE], row[ROOM] = used, room
        used += room
    row[END] = j + 1
    pool[row[PLACE] + length] = value
    return pool, used


@njit(cache=True, nogil=True)
def _chart_inside(n, word_starts, word_symbols, word_values, groups, unary, block, first, base, values, summed):
    """Fill ``values``, at first 0 or minus infinity, with the inside value of each chart slot, as sums or as maxima.

    ``groups`` are the binary rules by the blocks of their symbols: (starts of the groups of each left block, right
    block, parent block, starts of the rules; of each rule left child, right child, offset of the parent in its block,
    weight). All split points of a cell are handled together: the upper values of a symbol over the words from ``i`` to
    each ``k`` are one row, those from each ``k`` to ``j`` another, and a rule combines both. Rows extend from the first
    to the last split point with a value. Right rows are kept for a few ``j`` at a time, which share the left rows.
    """
    starts, right_block, parent_block, rules, left, right, parent, weight = groups
    u_start, u_parent, u_weight = unary
    none = 0.0 if summed else -np.inf
    blocks, size = base.shape[2], len(block)
    rows, left_lives = np.zeros((n, size, 4), np.int64), np.zeros((n, blocks), np.bool_)
    pool, used = np.empty(1 << 14), np.int64(0)  # numba compiles a kernel anew for a literal 0
    ending, ends = np.full((COLUMNS_PER_TILE, size, n), none), np.zeros((COLUMNS_PER_TILE, size, 2), np.int64)
    right_lives = np.zeros((COLUMNS_PER_TILE, blocks), np.bool_)
    for tile in range((n - 1) // COLUMNS_PER_TILE + 1):
        right_lives[:] = False
        for t in range(COLUMNS_PER_TILE):
            for s in range(size):
                ending[t, s, ends[t, s, 0] : ends[t, s, 1]] = none
                ends[t, s, 0] = ends[t, s, 1] = 0
        for i in range(min(n, (tile + 1) * COLUMNS_PER_TILE) - 1, -1, -1):
            for t in range(COLUMNS_PER_TILE):
                j = tile * COLUMNS_PER_TILE + t + 1
                if j <= i or j > n:
                    continue
                cell = j * (j - 1) // 2 + i
                if j == i + 1:
                    for at in range(word_starts[i], word_starts[i + 1]):
                        s = word_symbols[at]
                        slot = base[0, cell, block[s]]
                        if slot >= 0:
                            values[slot + s - first[block[s]]] = word_values[at]
                for b in range(blocks):
                    if not left_lives[i, b]:
                        continue
                    for g in range(starts[b], starts[b + 1]):
                        slot = base[0, cell, parent_block[g]]
                        if slot < 0 or not right_lives[t, right_block[g]]:
                            continue
                        for r in range(rules[g], rules[g + 1]):
                            row, c, a = rows[i, left[r]], right[r], slot + parent[r]
                            begin = max(row[BEGIN], ends[t, c, 0])
                            end = min(row[END], ends[t, c, 1])
                            if begin >= end:
                                continue
                            place, length = np.uint64(row[PLACE] + begin - row[BEGIN]), np.uint64(end - begin)
                            other, low = ending[t, c], np.uint64(begin)
                            if summed:
                                values[a] += _sum_of_products(pool, place, other, low, length) * weight[r]
                            else:
                                values[a] = max(values[a], _largest_sum(pool, place, other, low, length) + weight[r])
                for c in range(blocks):
                    start = base[0, cell, c]
                    if start < 0:
                        continue
                    for b in range(first[c], first[c + 1]):
                        value = values[start + b - first[c]]
                        if not value > none:
                            continue
                        if base[1, cell, c] >= 0:
                            slot = base[1, cell, c] + b - first[c]
                            values[slot] = values[slot] + value if summed else max(values[slot], value)
                        for r in range(u_start[b], u_start[b + 1]):
                            a = u_parent[r]
                            slot = base[1, cell, block[a]]
                            if slot >= 0:
                                slot += a - first[block[a]]
                                if summed:
                                    values[slot] += value * u_weight[r]
                                else:
                                    values[slot] = max(values[slot], value + u_weight[r])
                for c in range(blocks):
                    start = base[1, cell, c]
                    if start < 0:
                        continue
                    for s in range(first[c], first[c + 1]):
                        value = values[start + s - first[c]]
                        if not value > none:
                            continue
                        if ends[t, s, 1] == 0:
                            ends[t, s, 1] = i + 1
                        ends[t, s, 0], ending[t, s, i] = i, value
                        right_lives[t, c] = left_lives[i, c] = True
                        pool, used = _appended(rows[i, s], j, value, none, pool, used)


@njit(cache=True, nogil=True)
def _ends(n, first, base, values, left, right):
    """Write the ranges (first, last + 1) of ends for each start and symbol, and of starts for each end and symbol."""
    for j in range(1, n + 1):
        for i in range(j):
            cell = j * (j - 1) // 2 + i
            for c in range(base.shape[2]):
                start = base[1, cell, c]
                for s in range(first[c], first[c + 1] if start >= 0 else first[c]):
                    if values[start + s - first[c]] > 0.0:
                        left[i, s, 0], left[i, s, 1] = min(left[i, s, 0], j), max(left[i, s, 1], j + 1)
                        right[j, s, 0], right[j, s, 1] = min(right[j, s, 0], i), max(right[j, s, 1], i + 1)


@njit(cache=True, nogil=True)
def _chart_outside(n, root, binary, unary, block, first, base, values, threshold, left_ends, right_ends, outside):
    """Fill the zero array ``outside`` with the outside value of each chart slot in derivations from ``root``.

    A rule is applied where its parent is reached by derivations whose sum is positive and at least ``threshold``, at
    split points where both children may occur.
    """
    b_start, b_rule, b_left, b_right, b_weight = binary
    u_start, u_parent, u_weight = unary
    _ends(n, first, base, values, left_ends, right_ends)
    whole = n * (n - 1) // 2
    outside[base[1, whole, block[root]] + root - first[block[root]]] = 1.0
    for j in range(n, 0, -1):
        for i in range(j):
            cell = j * (j - 1) // 2 + i
            for c in range(base.shape[2]):
                start = base[0, cell, c]
                for a in range(first[c], first[c + 1] if start >= 0 else first[c]):
                    if not values[start + a - first[c]] > 0.0:
                        continue
                    total = 0.0
                    if base[1, cell, c] >= 0:
                        total = outside[base[1, cell, c] + a - first[c]]
                    for r in range(u_start[a], u_start[a + 1]):
                        slot = base[1, cell, block[u_parent[r]]]
                        if slot >= 0:
                            total += outside[slot + u_parent[r] - first[block[u_parent[r]]]] * u_weight[r]
                    outside[start + a - first[c]] = total
                    if total == 0.0 or total * values[start + a - first[c]] < threshold:
                        continue
                    for at in range(b_start[a], b_start[a + 1]):
                        r = b_rule[at]
                        x, y, weighted = b_left[r], b_right[r], total * b_weight[r]
                        begin = max(left_ends[i, x, 0], right_ends[j, y, 0])
                        for k in range(begin, min(left_ends[i, x, 1], right_ends[j, y, 1])):
                            one = base[1, k * (k - 1) // 2 + i, block[x]]
                            other = base[1, j * (j - 1) // 2 + k, block[y]]
                            if one >= 0 and other >= 0:
                                one, other = one + x - first[block[x]], other + y - first[block[y]]
                                outside[one] += weighted * values[other]
                                outside[other] += weighted * values[one]


@njit(cache=True, nogil=True)
def _slot(base, block, first, layer, i, j, s):
    """Return the index of the slot of a symbol in a chart cell, or -1 if the symbol is pruned."""
    start = base[layer, j * (j - 1) // 2 + i, block[s]]
    return start + s - first[block[s]] if start >= 0 else -1


@njit(cache=True, nogil=True)
def _larger(array):
    """Return a copy of an array with twice as many rows, where the new rows have arbitrary contents."""
    return np.concatenate((array, array))


@njit(cache=True, nogil=True)
def _edges(symbol, i, j, layer, binary, unary, block, first, base, values):
    """Return the rule, split point and score of each derivation of a chart item from its highest-scoring children."""
    p_start, p_rule, left, right, weight = binary
    u_start, u_rule, child, u_weight = unary
    starts = p_start if layer == 0 else u_start
    most = (starts[symbol + 1] - starts[symbol]) * (j - i - 1 if layer == 0 else 1)
    rules, splits, scores = np.empty(most + 1, np.int32), np.empty(most + 1, np.int32), np.empty(most + 1)
    count = 0
    own = _slot(base, block, first, 0, i, j, symbol)
    if layer == 1:
        if own >= 0 and values[own] > -np.inf:
            rules[0], splits[0], scores[0] = SAME, j, values[own]
            count = 1
        for at in range(u_start[symbol], u_start[symbol + 1]):
            u = u_rule[at]
            below = _slot(base, block, first, 0, i, j, child[u])
            if below >= 0 and values[below] > -np.inf:
                rules[count], splits[count], scores[count] = len(left) + u, j, values[below] + u_weight[u]
                count += 1
    elif j == i + 1:
        rules[0], splits[0], scores[0] = WORD, j, values[own]
        count = 1
    else:
        for k in range(i + 1, j):
            for at in range(p_start[symbol], p_start[symbol + 1]):
                r = p_rule[at]
                one = _slot(base, block, first, 1, i, k, left[r])
                if one < 0 or values[one] == -np.inf:
                    continue
                other = _slot(base, block, first, 1, k, j, right[r])
                if other < 0 or values[other] == -np.inf:
                    continue
                rules[count], splits[count], scores[count] = r, k, values[one] + values[other] + weight[r]
                count += 1
    return rules[:count], splits[:count], scores[:count]


@njit(cache=True, nogil=True)
def _children(item, candidate, binary, unary, ends):
    """Write the symbol, start, end and layer of both children of a candidate, with symbol -1 for a missing child."""
    rule, left, right, child = candidate[RULE], binary[2], binary[3], unary[2]
    for side in range(2):
        ends[side, SYMBOL], ends[side, LAYER] = -1, 0
        ends[side, LEFT_EDGE], ends[side, RIGHT_EDGE] = item[LEFT_EDGE], item[RIGHT_EDGE]
    if rule == SAME:
        ends[0, SYMBOL] = item[SYMBOL]
    elif rule >= len(left):
        ends[0, SYMBOL] = child[rule - len(left)]
    elif rule != WORD:
        ends[0, SYMBOL], ends[1, SYMBOL] = left[rule], right[rule]
        ends[0, RIGHT_EDGE] = ends[1, LEFT_EDGE] = candidate[SPLIT]
        ends[0, LAYER] = ends[1, LAYER] = 1


@njit(cache=True, nogil=True)
def _begin(item, edges, k, pool, scores, used):
    """Initialize the candidates of a chart item with its ``k`` best edges and return the new size of the pool."""
    rules, splits, best = edges
    item[FIRST] = item[PENDING] = -1
    item[COUNT] = item[DONE] = 0
    for e in np.argsort(-best)[:k]:
        pool[used, RULE], pool[used, SPLIT], pool[used, NEXT] = rules[e], splits[e], item[FIRST]
        pool[used, LEFT_RANK] = pool[used, RIGHT_RANK] = 0
        scores[used] = best[e]
        item[FIRST] = used
        used += 1
    return used


@njit(cache=True, nogil=True)
def _succeed(item, side, own, last, pool, scores, used, binary, unary, lists, sums):
    """Add the candidate with the next best child derivation on one side and return the new size of the pool."""
    pool[used] = last
    pool[used, LEFT_RANK + side] += 1
    pool[used, NEXT] = item[FIRST]
    item[FIRST] = used
    rule, count = last[RULE], len(binary[2])
    scores[used] = sums[lists[own[0], pool[used, LEFT_RANK]]]
    if rule >= count:
        scores[used] += unary[3][rule - count]
    elif rule != SAME:
        scores[used] = scores[used] + sums[lists[own[1], pool[used, RIGHT_RANK]]] + binary[4][rule]
    return used + 1


@njit(cache=True, nogil=True)
def _take(item, pool, scores, taken):
    """Return the best candidate of a chart item, or -1 if there is none, and remove it if ``taken``."""
    best, before, previous, c = -1, -1, -1, item[FIRST]
    while c >= 0:
        if best < 0 or scores[c] > scores[best]:
            best, before = c, previous
        previous, c = c, pool[c, NEXT]
    if taken:
        if before >= 0:
            pool[before, NEXT] = pool[best, NEXT]
        else:
            item[FIRST] = pool[best, NEXT]
    return best


@njit(cache=True, nogil=True)
def _chart_kbest(n, root, k, binary, unary, block, first, base, values):
    """Return the table, values and best rows of the ``k`` best derivations from ``root``, given rules by parent."""
    item_of = np.full(len(values), -1, np.int32)
    items, lists, in_items = np.empty((256, 8), np.int32), np.empty((256, k), np.int32), 0
    table, sums, in_table = np.empty((1024, 4), np.int32), np.empty(1024), 0
    pool, scores, in_pool = np.empty((4096, 5), np.int32), np.empty(4096), np.int64(0)
    stack = np.empty((8 * n + 8, 5), np.int32)  # symbol, ends and layer of an item, and the wanted rank
    stack[0, SYMBOL], stack[0, LEFT_EDGE], stack[0, RIGHT_EDGE], stack[0, LAYER], stack[0, 4] = root, 0, n, 1, k - 1
    ends, own, depth = np.empty((2, 4), np.int32), np.empty(2, np.int32), 1
    while depth:
        if in_items == len(items):
            items, lists = _larger(items), _larger(lists)
        if in_table == len(table):
            table, sums = _larger(table), _larger(sums)
        while in_pool + k + 2 > len(pool):
            pool, scores = _larger(pool), _larger(scores)
        symbol, i, j, layer, rank = stack[depth - 1]
        slot = _slot(base, block, first, layer, i, j, symbol)
        at = item_of[slot]
        if at < 0:  # first request
            at = item_of[slot] = in_items
            in_items += 1
            items[at, :4] = stack[depth - 1, :4]
            edges = _edges(symbol, i, j, layer, binary, unary, block, first, base, values)
            in_pool = _begin(items[at], edges, k, pool, scores, in_pool)
        item, wanted = items[at], -1
        if item[COUNT] > rank or item[DONE]:
            depth -= 1
            continue
        pending = item[PENDING] >= 0
        best = item[PENDING] if pending else _take(item, pool, scores, False)
        if best < 0:
            item[DONE] = 1
            continue
        _children(item, pool[best], binary, unary, ends)
        for side in range(2):
            part, start, end, floor = ends[side]  # -1: no item yet; -2: no part
            own[side] = item_of[_slot(base, block, first, floor, start, end, part)] if part >= 0 else -2
            needed = own[side] >= -1 and not (pending and side == 0 and own[1] >= 0 and pool[best, RIGHT_RANK] > 0)
            need = pool[best, LEFT_RANK + side] + (1 if pending else 0)
            if needed and (own[side] < 0 or (items[own[side], COUNT] <= need and not items[own[side], DONE])):
                wanted = side
        if wanted >= 0:  # a part needs more derivations first
            stack[depth, :4] = ends[wanted]
            stack[depth, 4] = pool[best, LEFT_RANK + wanted] + (1 if pending else 0)
            depth += 1
            continue
        if pending:  # add the successors of the last derivation
            for side in range(2):
                if own[side] < 0 or (side == 0 and own[1] >= 0 and pool[best, RIGHT_RANK] > 0):
                    continue
                if items[own[side], COUNT] > pool[best, LEFT_RANK + side] + 1:
                    more = item, side, own, pool[best], pool, scores, in_pool
                    in_pool = _succeed(*more, binary, unary, lists, sums)
            item[PENDING] = -1
            continue
        best = _take(item, pool, scores, True)
        table[in_table, 0], table[in_table, 1] = pool[best, RULE], symbol
        for side in range(2):
            table[in_table, 2 + side] = lists[own[side], pool[best, LEFT_RANK + side]] if own[side] >= 0 else -1
        if pool[best, RULE] == WORD:
            table[in_table, 2] = i
        sums[in_table] = scores[best]
        lists[at, item[COUNT]] = in_table
        item[COUNT] += 1
        item[PENDING] = best
        in_table += 1
    whole = item_of[_slot(base, block, first, 1, 0, n, root)]
    return table[:in_table].copy(), sums[:in_table].copy(), lists[whole, : items[whole, COUNT]].copy()


FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums may be reordered, but infinities and NaN are kept


@njit(cache=True, nogil=True)
def _cuts(i, j, one, other):
    """Return the range of split points between ``i`` and ``j`` at which both rows may be nonzero."""
    return np.uint64(max(i + 1, one[0], other[0])), np.uint64(max(0, min(j, one[1], other[1])))


@njit(cache=True, nogil=True, fastmath=FAST)
def _span_inside(n, words, kinds, weights, pairs, parent, weight, unary, low, left, right, left_ends, right_ends):
    """Compute the inside values of both chart layers in the zero arrays ``low``, ``left`` and ``right``.

    ``pairs`` is (children of each distinct pair, starts of its rules in ``parent`` and ``weight``), ``unary`` is
    (child, parent, weight). The ends are the ranges of nonzero entries of the rows, at first (n + 1, 0).
    """
    children, starts = pairs
    at = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            lower = low[j * (j - 1) // 2 + i]
            while j == i + 1 and at < len(words) and words[at] == i:
                lower[kinds[at]] = weights[at]
                at += 1
            for p in range(children.shape[0]):
                b, c = children[p, 0], children[p, 1]
                first, last = _cuts(i, j, left_ends[i, b], right_ends[j, c])
                if first >= last:
                    continue
                x, y, total = left[i, b], right[j, c], 0.0
                for k in range(first, last):
                    total += x[k] * y[k]
                for r in range(starts[p], starts[p + 1]):
                    lower[parent[r]] += total * weight[r]
            for s in range(lower.shape[0]):
                left[i, s, j] = lower[s]
            for u in range(unary[0].shape[0]):
                left[i, unary[1][u], j] += lower[unary[0][u]] * unary[2][u]
            for s in range(lower.shape[0]):
                if left[i, s, j] > 0.0:
                    right[j, s, i] = left[i, s, j]
                    for ends, at_end in ((left_ends[i, s], j), (right_ends[j, s], i)):
                        ends[0], ends[1] = min(ends[0], at_end), max(ends[1], at_end + 1)


@njit(cache=True, nogil=True)
def _span_outside(
    n, root, pairs, parent, weight, unary, inner, left, right, left_ends, right_ends, threshold, low, of_left, of_right
):
    """Compute the outside values of both chart layers; the upper one is ``of_left[i, s, j] + of_right[j, s, i]``."""
    children, starts = pairs
    of_left[0, root, n] = 1.0
    for j in range(n, 0, -1):
        for i in range(j):
            lower = low[j * (j - 1) // 2 + i]
            for s in range(lower.shape[0]):
                lower[s] = of_left[i, s, j] + of_right[j, s, i]
            for u in range(unary[0].shape[0]):
                above = unary[1][u]
                lower[unary[0][u]] += (of_left[i, above, j] + of_right[j, above, i]) * unary[2][u]
            reached = False
            for s in range(lower.shape[0]):
                if lower[s] * inner[j * (j - 1) // 2 + i, s] < threshold:
                    lower[s] = 0.0
                reached |= lower[s] > 0.0
            if not reached:
                continue
            for p in range(children.shape[0]):
                b, c = children[p, 0], children[p, 1]
                first, last = _cuts(i, j, left_ends[i, b], right_ends[j, c])
                if first >= last:
                    continue
                around = 0.0
                for r in range(starts[p], starts[p + 1]):
                    around += lower[parent[r]] * weight[r]
                if around == 0.0:
                    continue
                x, y, of_x, of_y = left[i, b], right[j, c], of_left[i, b], of_right[j, c]
                for k in range(first, last):
                    of_x[k] += around * y[k]
                    of_y[k] += around * x[k]
