"""Charts of weighted context-free grammars: sums and maxima over all derivations of a sentence.

Cell ``j (j - 1) / 2 + i`` is of the words from ``i`` to ``j - 1``. It holds two layers of symbols: below, built of two
symbols of smaller cells or of a word; above, reached from the lower layer by at most one unary rule. Binary rules take
upper symbols, so a rule that stands for a chain of unary ones is used once, and no derivation counts twice.

Symbols come in blocks, those of one coarse symbol in a row: ``block[s]`` is the coarse symbol and ``first[c]`` the
first symbol of a block. ``base[layer, cell, c]`` is the slot of the first symbol of block ``c``, or -1 where a coarser
grammar has excluded it; without one each symbol is a block of its own. Binary rules ``a -> b c`` are sorted by
``b``, those of ``b`` from ``starts[b]`` on; unary rules ``a -> b`` likewise.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _alive(values, base, block_first, cell, none, symbols, slots):
    """Write the symbols of the upper layer of a cell whose value is more than ``none``, and their slots."""
    count = 0
    for c in range(base.shape[2]):
        start = base[1, cell, c]
        if start >= 0:
            for s in range(block_first[c], block_first[c + 1]):
                slot = start + s - block_first[c]
                if values[slot] > none:
                    symbols[count] = s
                    slots[count] = slot
                    count += 1
    return count


@njit(cache=True, nogil=True)
def chart_inside(n, words, word_symbols, word_values, binary, unary, block, first, base, values, summed):
    """Fill ``values`` with the inside value of each slot: sums of products, or (not ``summed``) maxima of sums.

    ``words``, ``word_symbols``, ``word_values`` list which symbols each word may have, sorted by word; ``binary`` is
    (starts, right, parent, weight), ``unary`` (starts, parent, weight). ``values`` holds 0, or minus infinity.
    """
    b_start, b_right, b_parent, b_weight = binary
    u_start, u_parent, u_weight = unary
    none = 0.0 if summed else -np.inf
    symbols, slots = np.empty(len(block), np.int32), np.empty(len(block), np.int64)
    at = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            cell = j * (j - 1) // 2 + i
            if i == j - 1:
                while at < len(words) and words[at] == i:
                    s = word_symbols[at]
                    slot = base[0, cell, block[s]]
                    if slot >= 0:
                        values[slot + s - first[block[s]]] = word_values[at]
                    at += 1
            for k in range(i + 1, j):
                right = j * (j - 1) // 2 + k
                alive = _alive(values, base, first, k * (k - 1) // 2 + i, none, symbols, slots)
                for x in range(alive):
                    left_value = values[slots[x]]
                    for r in range(b_start[symbols[x]], b_start[symbols[x] + 1]):
                        c = b_right[r]
                        slot = base[1, right, block[c]]
                        if slot < 0:
                            continue
                        right_value = values[slot + c - first[block[c]]]
                        if not right_value > none:
                            continue
                        a = b_parent[r]
                        slot = base[0, cell, block[a]]
                        if slot < 0:
                            continue
                        slot += a - first[block[a]]
                        if summed:
                            values[slot] += left_value * right_value * b_weight[r]
                        else:
                            values[slot] = max(values[slot], left_value + right_value + b_weight[r])
            for c in range(base.shape[2]):
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


@njit(cache=True, nogil=True)
def chart_outside(n, root, binary, unary, block, first, base, values, outside):
    """Fill ``outside``, all zero, with the sum of products of what surrounds each slot in derivations from ``root``.

    ``values`` are the sums of :func:`chart_inside`.
    """
    b_start, b_right, b_parent, b_weight = binary
    u_start, u_parent, u_weight = unary
    symbols, slots = np.empty(len(block), np.int32), np.empty(len(block), np.int64)
    whole = n * (n - 1) // 2
    outside[base[1, whole, block[root]] + root - first[block[root]]] = 1.0
    for j in range(n, 0, -1):
        for i in range(j):
            cell = j * (j - 1) // 2 + i
            for c in range(base.shape[2]):
                start = base[0, cell, c]
                if start < 0:
                    continue
                for b in range(first[c], first[c + 1]):
                    if not values[start + b - first[c]] > 0.0:
                        continue
                    total = 0.0
                    if base[1, cell, c] >= 0:
                        total = outside[base[1, cell, c] + b - first[c]]
                    for r in range(u_start[b], u_start[b + 1]):
                        slot = base[1, cell, block[u_parent[r]]]
                        if slot >= 0:
                            total += outside[slot + u_parent[r] - first[block[u_parent[r]]]] * u_weight[r]
                    outside[start + b - first[c]] = total
            for k in range(i + 1, j):
                right = j * (j - 1) // 2 + k
                alive = _alive(values, base, first, k * (k - 1) // 2 + i, 0.0, symbols, slots)
                for x in range(alive):
                    left_value, total = values[slots[x]], 0.0
                    for r in range(b_start[symbols[x]], b_start[symbols[x] + 1]):
                        c, a = b_right[r], b_parent[r]
                        slot, above = base[1, right, block[c]], base[0, cell, block[a]]
                        if slot < 0 or above < 0:
                            continue
                        slot += c - first[block[c]]
                        weighted = outside[above + a - first[block[a]]] * b_weight[r]
                        outside[slot] += weighted * left_value
                        total += weighted * values[slot]
                    outside[slots[x]] += total
