"""Counts of unordered n-tuples of words that occur together, by their rarest word.

The words are numbered by falling frequency. For each word ``c`` all tuples whose rarest member is an occurrence of
``c`` are written down as integers (the ids of the other members, rarer first), sorted, and counted as runs. The work
for one ``c`` is independent of every other, its integers stay in a near cache, and runs come out in sorted order.

A tuple of positions counts if it spans at most ``reach`` and one of its positions lies within ``near`` of both ends.

Here as in other loops, arrays are copied element by element: to assign one to a slice, numba compiles seconds of what
puts shapes that differ into words.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def window_bounds(sentences, reach, before, after):
    """Write how far a tuple may stretch from each position: to the sentence's ends, at most ``reach``."""
    for s in range(sentences.shape[0] - 1):
        start, end = sentences[s], sentences[s + 1]
        for p in range(start, end):
            before[p] = min(reach, p - start)
            after[p] = min(reach, end - 1 - p)


@njit(cache=True, nogil=True)
def occurrences(ids, positions, starts):
    """List the positions of each word; ``starts`` (V + 1) is where each word's list begins."""
    starts[:] = 0
    for p in range(ids.shape[0]):
        starts[ids[p] + 1] += 1
    for c in range(starts.shape[0] - 1):
        starts[c + 1] += starts[c]
    for p in range(ids.shape[0]):
        c = ids[p]
        positions[starts[c]] = p
        starts[c] += 1
    for c in range(starts.shape[0] - 1, 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0


@njit(cache=True, nogil=True)
def chunk_sets(ids, sentences, length, order, sets, bounds):
    """Cut sentences into chunks of ``length`` words and keep each chunk's distinct words, if at least ``order``.

    Returns the number of words written to ``sets`` and of chunks, whose starts go to ``bounds``.
    """
    n, chunks = 0, 0
    bounds[0] = 0
    for s in range(sentences.shape[0] - 1):
        start = sentences[s]
        while start < sentences[s + 1]:
            end = min(start + length, sentences[s + 1])
            first = n
            for p in range(start, end):
                new = True
                for q in range(first, n):
                    if sets[q] == ids[p]:
                        new = False
                if new:
                    sets[n] = ids[p]
                    n += 1
            if n - first < order:
                n = first
            else:
                chunks += 1
                bounds[chunks] = n
            start = end
    return n, chunks


@njit(cache=True, nogil=True)
def count_work(ids, before, after, start, stop, order, repeats, work):
    """Add for each word a bound of the tuples of which it is the rarest member: ``sum_p C(k_p, order - 1)``."""
    for p in range(start, stop):
        c = ids[p]
        k = 0
        for q in range(p - int(before[p]), p):
            k += ids[q] < c + repeats
        for q in range(p + 1, p + int(after[p]) + 1):
            k += ids[q] < c
        tuples = 1.0
        for d in range(order - 1):
            tuples *= (k - d) / (d + 1)
        work[c] += tuples


@njit(cache=True, nogil=True)
def add_counts(words, counts, marginals):
    """Add the count of each of some tuples to the marginal of one of its words."""
    for i in range(words.shape[0]):
        marginals[words[i]] += counts[i]


@njit(cache=True, nogil=True)
def count_tuples(ids, before, after, positions, starts, first, last, order, near, reach, repeats, min_count, marginals):
    """Count the tuples whose rarest word is ``first``..``last`` - 1.

    Returns kept tuples, (order, n), rarest word first and in lexicographic order, and their counts. All tuples, kept or
    not, add to ``marginals``, once for each member.
    """
    words = np.empty((order, 1 << 12), ids.dtype)
    counts = np.empty(1 << 12, np.uint32)
    keys = np.empty(1 << 12, np.uint64)
    swap = np.empty(1 << 12, np.uint64)
    digits = np.empty(1 << 11, np.int64)
    candidates = np.empty((2, 64), np.int64)
    level = np.empty((2, 64), np.int64)
    written = np.int64(0)  # a literal would be a type of its own, for which all below is compiled once more
    for c in range(first, last):
        bits = 1
        while (1 << bits) < c + repeats:
            bits += 1
        n = np.int64(0)
        for t in range(starts[c], starts[c + 1]):
            p = int(positions[t])
            width = int(before[p]) + int(after[p])
            if width > candidates.shape[1]:
                candidates = np.empty((2, 2 * width), np.int64)
            m = _candidates(ids, before, after, p, repeats, candidates)
            if m < order - 1:
                continue
            most, partial = 1, 1
            for d in range(order - 1):
                partial = max(partial, most)
                most = most * (m - d) // (d + 1)
            if n + most + 1 > keys.shape[0]:
                grown = np.empty(2 * (n + most + 1), np.uint64)
                for k in range(n):
                    grown[k] = keys[k]
                keys = grown
                swap = np.empty(grown.shape[0], np.uint64)
            if order == 2:
                for k in range(m):
                    keys[n] = candidates[0, k]
                    n += abs(candidates[1, k]) <= near
            elif order == 3:
                n = _pairs(candidates, m, near, reach, repeats, bits, keys, n)
            else:
                if partial > level.shape[1]:
                    level = np.empty((2, 2 * partial), np.int64)
                n = _subsets(candidates, m, order - 1, near, reach, repeats, bits, level, keys, n)
        if written + n > words.shape[1]:
            words, counts = _grown(words, counts, written, 2 * (written + n))
        keys, swap = _sort(keys, swap, n, bits * (order - 1), digits)
        written = _runs(keys, n, c, order, bits, min_count, words, counts, written, marginals)
    return words[:, :written].copy(), counts[:written].copy()


@njit(cache=True, nogil=True)
def _grown(words, counts, written, capacity):
    """Copy what is written to arrays with more room."""
    more_words = np.empty((words.shape[0], capacity), words.dtype)
    more_counts = np.empty(capacity, counts.dtype)
    for k in range(written):
        more_counts[k] = counts[k]
        for d in range(words.shape[0]):
            more_words[d, k] = words[d, k]
    return more_words, more_counts


@njit(cache=True, nogil=True)
def _candidates(ids, before, after, p, repeats, candidates):
    """Write ids and relative positions of the words around ``p`` that are more frequent; ties go to the left."""
    c, m = int(ids[p]), 0
    for q in range(p - int(before[p]), p):
        candidates[0, m] = ids[q]
        candidates[1, m] = q - p
        m += ids[q] < c + repeats
    for q in range(p + 1, p + int(after[p]) + 1):
        candidates[0, m] = ids[q]
        candidates[1, m] = q - p
        m += ids[q] < c
    return m


@njit(cache=True, nogil=True)
def _pairs(candidates, m, near, reach, repeats, bits, keys, n):
    """Write the keys of all pairs of candidates that make a tuple with position 0."""
    for k in range(1, m):
        x, q = candidates[0, k], candidates[1, k]
        for j in range(k):
            y, r = candidates[0, j], candidates[1, j]
            low, high = min(r, 0), max(q, 0)
            middle = q + r - low - high
            fits = (high - low <= reach) & (middle - low <= near) & (high - middle <= near)
            keys[n] = (max(x, y) << bits) | min(x, y)
            n += fits & ((x != y) | repeats)
    return n


@njit(cache=True, nogil=True)
def _subsets(candidates, m, size, near, reach, repeats, bits, level, keys, n):
    """Write the keys of all ``size``-subsets of the candidates that make a tuple with position 0.

    Subsets grow by one candidate at a time, in falling order of id; ``level`` holds their members, 15 bits apiece.
    """
    for k in range(1, m):  # insertion sort by id, then by position
        x, q = candidates[0, k], candidates[1, k]
        j = k
        while j > 0 and candidates[0, j - 1] > x:
            candidates[0, j], candidates[1, j] = candidates[0, j - 1], candidates[1, j - 1]
            j -= 1
        candidates[0, j], candidates[1, j] = x, q
    for k in range(m):
        level[0, k] = k
    partial = m
    for d in range(1, size):
        grown = 0
        for t in range(partial):
            members = level[(d - 1) & 1, t]
            last = members & 0x7FFF
            for j in range(last):
                if candidates[0, j] == candidates[0, last] and not repeats:
                    continue
                if d < size - 1:
                    if _spans(candidates, members, j, d, 1 << 60, reach):
                        level[d & 1, grown] = (members << 15) | j
                        grown += 1
                elif _spans(candidates, members, j, d, near, reach):
                    key = 0
                    for b in range(d - 1, -1, -1):
                        key = (key << bits) | candidates[0, (members >> (15 * b)) & 0x7FFF]
                    keys[n] = (key << bits) | candidates[0, j]
                    n += 1
        partial = grown
    return n


@njit(cache=True, nogil=True)
def _spans(candidates, members, j, d, near, reach):
    """Whether the ``d`` members, candidate ``j`` and position 0 span at most ``reach`` around one within ``near``."""
    low, high = min(0, candidates[1, j]), max(0, candidates[1, j])
    for b in range(d):
        q = candidates[1, (members >> (15 * b)) & 0x7FFF]
        low, high = min(low, q), max(high, q)
    centred = (-low <= near and high <= near) or (candidates[1, j] - low <= near and high - candidates[1, j] <= near)
    for b in range(d):
        q = candidates[1, (members >> (15 * b)) & 0x7FFF]
        centred = centred or (q - low <= near and high - q <= near)
    return centred and high - low <= reach


@njit(cache=True, nogil=True)
def _sort(keys, swap, n, bits, digits):
    """Sort ``keys[:n]`` of ``bits`` bits; returns the sorted array and the other one."""
    if n <= 48:  # insertion beats the passes of a radix sort
        for i in range(1, n):
            x = keys[i]
            j = i
            while j > 0 and keys[j - 1] > x:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = x
        return keys, swap
    width = 8 if n < 20_000 else 11
    passes = -(-bits // width)
    width = -(-bits // passes)
    size = 1 << width
    for step in range(passes):
        shift = np.uint64(step * width)
        mask = np.uint64(size - 1)
        digits[:size] = 0
        for i in range(n):
            digits[(keys[i] >> shift) & mask] += 1
        start = 0
        for d in range(size):
            digits[d], start = start, start + digits[d]
        for i in range(n):
            d = (keys[i] >> shift) & mask
            swap[digits[d]] = keys[i]
            digits[d] += 1
        keys, swap = swap, keys
    return keys, swap


@njit(cache=True, nogil=True)
def _runs(keys, n, c, order, bits, min_count, words, counts, written, marginals):
    """Turn runs of equal keys into tuples and counts."""
    mask = np.uint64((1 << bits) - 1)
    shift = np.uint64(bits)
    i = 0
    while i < n:
        key = keys[i]
        start = i
        i += 1
        while i < n and keys[i] == key:
            i += 1
        run = i - start
        marginals[c] += run
        for d in range(order - 1, 0, -1):
            x = key & mask
            key >>= shift
            marginals[x] += run
            words[d, written] = x
        words[0, written] = c
        counts[written] = run
        written += run >= min_count
    return written
