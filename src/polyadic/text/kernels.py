"""Numba kernels that count tuples of co-occurring words, grouped by the rarest word of each tuple.

Words are numbered by falling frequency. For each word ``c`` all tuples whose rarest member is an occurrence of ``c``
are encoded as integers (the ids of the other members, rarer first), sorted, and counted as runs. The work for one ``c``
is independent of all others, its integers stay in cache, and runs come out in sorted order.

A tuple of positions counts if it spans at most ``reach`` and one of its positions lies within ``near`` of both ends.
Sentences are separated by an id that is not a word, which is also repeated ``reach`` times at both ends of the text.
Another id above those of the words, a hole, takes up a position but is never a member of a tuple.

Unsigned numbers are used in inner loops because numba checks signed indices for wraparound, which takes a seventh of
the time. Arrays are copied element by element because slice assignment makes numba compile its error path.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCANNED = 1 << 20  # values that one thread scans at a time


class WordIndex(NamedTuple):
    """Corpus indexed by word for counting co-occurrences, created by :func:`index_words`."""

    ids: NDArray[Any]  # word ids with a separator around sentences
    positions: NDArray[Any]  # positions of each word, by falling frequency
    starts: NDArray[np.int64]  # start of each word in ``positions``
    end: int  # the separator, an id that is not a word
    reach: int


def index_words(ids: NDArray[Any], sentences: NDArray[np.int64], size: int, reach: int, holes: int = 0) -> WordIndex:
    """Index words below ``size``, with separators for windows of size ``reach``; ``holes`` more ids are no words."""
    ids, sentences = _tokens(ids, sentences)
    if ids.max(initial=0) >= size + holes or not 0 < reach < 1 << 15:
        raise ValueError(
            f"ids must be below {size + holes} and reach must be below 32,768; got {ids.max(initial=0)} and {reach}"
        )
    n = indexed_length(len(ids), len(sentences), reach)
    apart = np.empty(n, np.promote_types(ids.dtype, np.min_scalar_type(size + holes)))
    end = int(np.iinfo(apart.dtype).max)
    _with_ends(ids, sentences, reach, end, apart)
    return WordIndex(apart, *word_positions(apart, size, size if holes else end), end, reach)


def word_positions(ids: NDArray[Any], size: int, end: int = 1 << 62) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the positions of all words, grouped by id, and the offset of each group; ignore ids from ``end`` on."""
    ids = frozen(ids)
    starts = np.empty(size + 1, np.int64)
    n = _word_starts(ids, end, starts)
    if n < 0:
        raise ValueError(f"word ids must be below {size}")
    positions = np.empty(n, np.int32 if len(ids) < 1 << 31 else np.int64)
    _occurrences(ids, end, positions, starts)
    return positions, starts


def positions_where(values: NDArray[Any], truth: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the positions whose value is marked in ``truth``, in ascending order."""
    bounds = [*range(0, len(values), SCANNED), len(values)]
    with ThreadPoolExecutor(2) as pool:
        parts = pool.map(lambda span: _where(values[slice(*span)], truth, span[0]), pairwise(bounds))
        return np.concatenate([np.zeros(0, np.int64), *parts])


def words_near(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    bounds: NDArray[np.int64],
    codes: NDArray[Any],
    number: NDArray[np.int32],
    left: int,
    right: int,
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the words near matches in the text of their sentences, which begin at ``bounds``.

    Returns how often each word is at each position, shape (size, left + right), and how many tokens of each word are
    near a match, where each token counts once; the last number is that of all tokens, also of those without a word.
    """
    positions, together = np.zeros((size, left + right), np.int64), np.zeros(size + 1, np.int64)
    _count_near(starts, ends, bounds, codes, number, left, positions, together, np.zeros(len(codes), np.bool_))
    return positions, together


def indexed_length(ids: int, bounds: int, reach: int) -> int:
    """Return the length of the id array of a word index, including the separators between sentences."""
    return ids + bounds - 1 + 2 * reach


def chunk_sets(
    ids: NDArray[Any], sentences: NDArray[np.int64], length: int, order: int, hole: int = 1 << 62
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Split sentences into chunks of ``length`` ids; return the distinct ones below ``hole``, and chunk offsets."""
    ids, sentences = _tokens(ids, sentences)
    if not (length > 0 and order > 0):
        raise ValueError(f"length and order must be positive; got {length} and {order}")
    sets = np.empty_like(ids)
    bounds = np.empty(len(ids) // order + 2, np.int64)
    n, chunks = _chunk_sets(ids, sentences, length, order, hole, sets, bounds)
    return sets[:n], bounds[: chunks + 1]


def tuple_work(index: WordIndex, order: int, where: slice = slice(None), *, repeats: bool) -> NDArray[np.float64]:
    """Return for each word an upper bound on the number of tuples in which the word is the rarest; shape (V,)."""
    work = np.zeros(len(index.starts) - 1)
    start, stop, _ = where.indices(len(index.ids))
    _count_work(index.ids, index.end, index.reach, start, stop, order, repeats, work)
    return work


def count_tuples(
    index: WordIndex,
    first: int,
    last: int,
    *,
    order: int,
    near: int,
    repeats: bool,
    min_count: int,
    max_tuples: int | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64]]:
    """Count the frequent word tuples whose rarest word has an id from ``first`` to ``last - 1``.

    A tuple occurs at least ``min_count`` times, spans at most the ``reach`` of the index, and has a position within
    ``near`` of both ends. ``(order - 1) * bit_length(last - 1)`` must not exceed 64. Returns words (order, n), rarest
    first and in lexicographic order, counts (n,), and in marginals (V,) the number of tuples, kept or not, of each word
    with multiplicity.
    """
    marginals = np.zeros(len(index.starts) - 1, np.int64)
    bits = (order - 1) * max(last - 1, 1).bit_length()
    keys = np.empty(1 << 12, np.uint32 if bits <= 32 else np.uint64)
    if max_tuples is None:
        max_tuples = int(tuple_work(index, order, repeats=repeats)[first:last].sum())
    words = np.empty((order, max_tuples // min_count), index.ids.dtype)
    counts = np.empty(max_tuples // min_count + 1, np.uint32)
    how = (first, last, order, near, repeats, min_count)
    n = _count_tuples(*index, *how, keys, words, counts, marginals)
    if n < 0:
        raise ValueError(f"there are more than max_tuples={max_tuples} tuples; increase max_tuples")
    return words[:, :n], counts[:n], marginals


def tuple_marginals(tuples: NDArray[Any], counts: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """Return the number of tuples that contain each word, counted with multiplicity; shape (V,)."""
    marginals = np.zeros(size, np.int64)
    for d in range(tuples.shape[1]):
        _add_counts(frozen(tuples[:, d]), frozen(counts), marginals)
    return marginals


def _tokens(ids: NDArray[Any], sentences: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Check that the sentence offsets are valid, because a kernel would otherwise write out of bounds."""
    ids, sentences = frozen(ids), frozen(sentences, np.int64)
    if not (len(sentences) and sentences[0] == 0 and sentences[-1] == len(ids) and (np.diff(sentences) >= 0).all()):
        raise ValueError(f"the sentence offsets must increase from 0 to the number of ids, {len(ids)}")
    return ids, sentences


TOGETHER = 64  # number of occurrences whose contexts are fetched together, to overlap memory latency
INSERTED = 48  # number of keys from which radix sort is faster than insertion sort
WIDE = 4000  # number of keys from which radix sort passes of 11 bits are faster than passes of 8 bits


@njit(cache=True, nogil=True)
def _with_ends(ids, sentences, reach, end, padded):
    """Copy the word ids, with the separator ``end`` after each sentence and ``reach`` separators at both ends."""
    at = reach
    padded[:reach] = end
    for s in range(sentences.shape[0] - 1):
        for p in range(sentences[s], sentences[s + 1]):
            padded[at] = ids[p]
            at += 1
        padded[at] = end
        at += 1
    padded[at:] = end


@njit(cache=True, nogil=True)
def _word_starts(ids, end, starts):
    """Compute the offset of each word in the array of positions; return the array size, or -1 if an id is invalid."""
    starts[:] = 0
    for p in range(ids.shape[0]):
        if ids[p] < end:
            if not 0 <= ids[p] < starts.shape[0] - 1:
                return -1
            starts[ids[p] + 1] += 1
    for c in range(starts.shape[0] - 1):
        starts[c + 1] += starts[c]
    return starts[-1]


@njit(cache=True, nogil=True)
def _count_near(starts, ends, bounds, codes, number, left, positions, together, near):
    first = 0
    for i in range(len(starts)):
        while bounds[first + 1] <= starts[i]:
            first += 1
        last = first
        while bounds[last + 1] < ends[i]:
            last += 1
        for j in range(positions.shape[1]):
            at = starts[i] - left + j if j < left else ends[i] + j - left
            if bounds[first] <= at < bounds[last + 1]:
                word = number[codes[at]]
                if word >= 0:
                    positions[word, j] += 1
                if not near[at]:
                    near[at] = True
                    together[-1] += 1
                    if word >= 0:
                        together[word] += 1


@njit(cache=True, nogil=True)
def _where(values, truth, start):
    found = np.empty(len(values), np.int64)
    n = 0
    for i in range(len(values)):
        found[n] = start + i
        n += truth[values[i]]
    return found[:n].copy()


@njit(cache=True, nogil=True)
def _occurrences(ids, end, positions, starts):
    """Write the positions of each word, beginning at the offset of the word in ``starts``."""
    for p in range(ids.shape[0]):
        c = ids[p]
        if c < end:
            positions[starts[c]] = p
            starts[c] += 1
    for c in range(starts.shape[0] - 1, 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0


@njit(cache=True, nogil=True)
def _chunk_sets(ids, sentences, length, order, hole, sets, bounds):
    """Split sentences into chunks of distinct words; return the number of words and the number of chunks."""
    n, chunks = 0, 0
    bounds[0] = 0
    for s in range(sentences.shape[0] - 1):
        start = sentences[s]
        while start < sentences[s + 1]:
            end = min(start + length, sentences[s + 1])
            first = n
            for p in range(start, end):
                new = ids[p] < hole
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
def _count_work(ids, end, reach, start, stop, order, repeats, work):
    """Add to ``work`` an upper bound on the number of tuples in which each word is the rarest."""
    for p in range(np.uint64(start), np.uint64(stop)):
        c = ids[p]
        if c >= work.shape[0]:  # the end of a sentence, or a hole
            continue
        k = 0
        q = p - np.uint64(1)
        while ids[q] != end and q + np.uint64(reach) >= p:
            k += ids[q] < c + repeats
            q -= np.uint64(1)
        q = p + np.uint64(1)
        while ids[q] != end and q <= p + np.uint64(reach):
            k += ids[q] < c
            q += np.uint64(1)
        tuples = 1
        for d in range(order - 1):
            tuples = tuples * (k - d) // (d + 1)
        work[c] += tuples


@njit(cache=True, nogil=True)
def _add_counts(words, counts, marginals):
    """Add the count of each tuple to the marginal count of the word at one position in the tuple."""
    for i in range(words.shape[0]):
        marginals[words[i]] += counts[i]


@njit(cache=True, nogil=True)
def _count_tuples(
    ids, positions, starts, end, reach, first, last, order, near, repeats, min_count, keys, words, counts, marginals
):
    """Write the frequent tuples to ``words`` and ``counts``; return the number of tuples, or -1 for lack of space."""
    swap = np.empty_like(keys)
    digits, following = np.empty(1 << 11, np.uint32), np.empty(1 << 11, np.uint32)
    around = np.empty((TOGETHER, 2 * reach + 1), ids.dtype)
    candidates = np.empty((2, 2 * reach + 1), np.int64)
    degrees = np.empty(2 * reach + 1, np.int64)
    level = np.empty((2, 64), np.int64)  # members of subsets, 15 bits each
    written = np.int64(0)  # a literal would be a type of its own, for which all below is compiled once more
    for c in range(first, last):
        bits = 1
        while (1 << bits) < c + repeats:
            bits += 1
        n = np.int64(0)
        for block in range(starts[c], starts[c + 1], TOGETHER):
            some = min(TOGETHER, starts[c + 1] - block)
            for t in range(some):
                start = np.uint64(positions[block + t]) - np.uint64(reach)
                for j in range(np.uint64(2 * reach + 1)):
                    around[t, j] = ids[start + j]
            for t in range(some):
                m = _candidates(around[t], end, reach, c, repeats, candidates)
                if m < order - 1:
                    continue
                most, partial = 1, 1
                for d in range(order - 1):
                    partial = max(partial, most)
                    most = most * (m - d) // (d + 1)
                if n + most + 1 > keys.shape[0]:
                    swap = np.empty(2 * (n + most + 1), keys.dtype)
                    for k in range(n):
                        swap[k] = keys[k]
                    keys, swap = swap, np.empty_like(swap)
                for k in range(m):
                    degrees[k] = 0
                if order == 2:
                    for k in range(m):
                        keys[n] = candidates[0, k]
                        degrees[k] = abs(candidates[1, k]) <= near
                        n += degrees[k]
                elif order == 3:
                    n = _pairs(candidates, m, near, reach, repeats, bits, keys, n, degrees)
                else:
                    if partial > level.shape[1]:
                        level = np.empty((2, 2 * partial), np.int64)
                    n = _subsets(candidates, m, order - 1, near, reach, repeats, bits, level, keys, n, degrees)
                for k in range(m):
                    marginals[candidates[0, k]] += degrees[k]
        marginals[c] += n
        if written + n // min_count > words.shape[1]:
            return -1
        keys, swap = _sort(keys, swap, n, bits * (order - 1), digits, following)
        kept = _runs(keys, n, min_count, counts, written)
        for k in range(kept):
            words[0, written + k] = c
        for d in range(1, order):
            shift, mask = np.uint64(bits * (order - 1 - d)), np.uint64((1 << bits) - 1)
            for k in range(kept):
                words[d, written + k] = (np.uint64(keys[k]) >> shift) & mask
        written += kept
    return written


@njit(cache=True, nogil=True)
def _candidates(around, end, reach, c, repeats, candidates):
    """Collect the words near word ``c`` that are more frequent than ``c``, with relative positions; count the words."""
    start = np.uint64(reach)
    while start > np.uint64(0) and around[start - np.uint64(1)] != end:
        start -= np.uint64(1)
    m = np.uint64(0)
    for j in range(start, np.uint64(reach)):
        candidates[0, m] = around[j]
        candidates[1, m] = np.int64(j) - reach
        m += np.uint64(around[j] < c + repeats)
    for j in range(np.uint64(reach + 1), np.uint64(2 * reach + 1)):
        if around[j] == end:
            break
        candidates[0, m] = around[j]
        candidates[1, m] = np.int64(j) - reach
        m += np.uint64(around[j] < c)
    return np.int64(m)


@njit(cache=True, nogil=True)
def _pairs(candidates, m, near, reach, repeats, bits, keys, n, degrees):
    """Write a key for each pair of candidate words that forms a triple with the central word; return the number."""
    written, first = np.uint64(n), np.uint64(0)
    for k in range(np.uint64(1), np.uint64(m)):
        x, q = np.uint64(candidates[0, k]), candidates[1, k]
        while q - candidates[1, first] > reach:
            first += np.uint64(1)
        before = written
        for j in range(first, k):
            y, r = np.uint64(candidates[0, j]), candidates[1, j]
            keys[written] = (max(x, y) << np.uint64(bits)) | min(x, y)
            low, high = min(r, 0), max(q, 0)
            middle = q + r - low - high
            fits = np.uint64((middle - low <= near) & (high - middle <= near) & ((x != y) | repeats))
            written += fits
            degrees[j] += fits
        degrees[k] = written - before
    return np.int64(written)


@njit(cache=True, nogil=True)
def _subsets(candidates, m, size, near, reach, repeats, bits, level, keys, n, degrees):
    """Write a key for each set of ``size`` candidates that forms a tuple with the central word; return the number."""
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
                        degrees[(members >> (15 * b)) & 0x7FFF] += 1
                    keys[n] = (key << bits) | candidates[0, j]
                    degrees[j] += 1
                    n += 1
        partial = grown
    return n


@njit(cache=True, nogil=True)
def _spans(candidates, members, j, d, near, reach):
    """Return whether a tuple spans at most ``reach`` positions and has a word at most ``near`` words from both ends."""
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
def _sort(keys, swap, n, bits, digits, following):
    """Sort the first ``n`` keys by radix sort; return the sorted array and the spare buffer."""
    if n <= INSERTED:
        for i in range(1, n):
            x = keys[i]
            j = i
            while j > 0 and keys[j - 1] > x:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = x
        return keys, swap
    passes = -(-bits // (8 if n < WIDE else 11))
    width = -(-bits // passes)
    mask = np.uint64((1 << width) - 1)
    digits[: 1 << width] = 0
    for i in range(n):
        digits[keys[i] & mask] += 1
    for step in range(passes):
        shift, next_shift = np.uint64(step * width), np.uint64(min((step + 1) * width, 63))
        start = np.uint32(0)
        for d in range(1 << width):
            digits[d], start = start, start + digits[d]
        following[: 1 << width] = 0
        for i in range(n):
            key = np.uint64(keys[i])
            d = (key >> shift) & mask
            swap[digits[d]] = keys[i]
            digits[d] += 1
            following[(key >> next_shift) & mask] += 1
        keys, swap = swap, keys
        digits, following = following, digits
    return keys, swap


@njit(cache=True, nogil=True)
def _runs(keys, n, min_count, counts, written):
    """Reduce sorted keys in place to the distinct keys that occur at least ``min_count`` times; write the counts."""
    if n == 0:
        return 0
    keys[n] = ~keys[n - 1]
    at, start, one = np.uint64(0), np.uint64(0), np.uint64(1)
    for i in range(np.uint64(n)):
        key = keys[i]
        ends = key != keys[i + one]
        run = i + one - start
        keys[at] = key
        counts[np.uint64(written) + at] = run
        at += np.uint64(ends & (run >= np.uint64(min_count)))
        start = i + one if ends else start
    return np.int64(at)
