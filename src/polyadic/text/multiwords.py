r"""Two words that are one: pairs that stand side by side far more often than by chance, such as "new york".

.. math:: \text{NPMI}(a, b) = \log \frac{n_{ab} N}{n_a n_b} \Big/ \log \frac{N}{n_{ab}}

lies between -1 and 1, which it is where neither word stands without the other (Bouma 2009, Normalized (pointwise)
mutual information in collocation extraction). Pairs of at least a threshold become a word; where two overlap, the first
does. Stop words and rare words are in none, nor are marks; where marks are left out, words on both sides of one are
side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

THRESHOLD = 0.55
"""Of NPMI: of those tried, it agrees best with the titles of articles (docs/results/sizes.md)."""
MIN_COUNT = 10
"""Times that a pair occurs at least."""
BUCKETS = 24
"""Pairs are first counted in 2^24 places, by a hash, so that memory stays bounded; then those whose place suffices."""

Chunks = Callable[[], "Iterable[tuple[NDArray[np.uint32], NDArray[np.uint32]]]"]
Counted = tuple["NDArray[np.uint64]", "NDArray[np.int64]"]


def pairs(chunks: Chunks, usable: NDArray[np.bool_], *, min_count: int = MIN_COUNT) -> Counted:
    """Count pairs of usable words that stand side by side in a sentence so many times at least.

    Parameters
    ----------
    chunks : callable
        Gives the words of consecutive sentences and how many each has, (numbers, lengths), chunk by chunk; called
        twice.
    usable : ndarray of shape (V,)
        By word.
    min_count : int

    Returns
    -------
    keys, counts
        Pairs as a 2^32 + b, sorted, and how often each occurs.
    """

    def found() -> Iterator[NDArray[np.uint64]]:
        for numbers, lengths in chunks():
            key, here = keys_of(numbers, lengths), usable[numbers]
            yield key[here[:-1] & here[1:] & (key != NONE)]

    places = np.zeros(1 << BUCKETS, np.uint32)
    for key in found():
        hashes, often = np.unique(_place(key), return_counts=True)
        places[hashes] += often.astype(np.uint32)
    keys, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
    for key in found():
        new, often = np.unique(key[places[_place(key)] >= min_count], return_counts=True)
        keys, at = np.unique(np.concatenate([keys, new]), return_inverse=True)
        counts = np.bincount(at, np.concatenate([counts, often]), minlength=len(keys)).astype(np.int64)
    return keys[counts >= min_count], counts[counts >= min_count]


def _place(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Give where a pair is counted first."""
    place: NDArray[np.uint64] = (keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - BUCKETS)
    return place


NONE = np.uint64(2**64 - 1)
"""No pair: the end of a sentence lies between."""


def keys_of(numbers: NDArray[np.uint32], lengths: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Give the pair that begins at each word but the last."""
    wide = numbers.astype(np.uint64)
    keys = (wide[:-1] << np.uint64(32)) | wide[1:]
    ends = np.cumsum(lengths, dtype=np.int64)[:-1]
    keys[ends[(ends > 0) & (ends <= len(keys))] - 1] = NONE
    return keys


def select_pairs(
    counted: Counted, occurrences: NDArray[np.int64], *, threshold: float = THRESHOLD
) -> NDArray[np.uint64]:
    """Give the pairs that become words, the most frequent first.

    Examples
    --------
    >>> keys, n = np.array([1, 2], np.uint64), np.array([90, 20])  # of the words 0 and 1, and of 0 and 2
    >>> select_pairs((keys, n), np.array([110, 95, 5000])).tolist()
    [1]
    """
    keys, n = counted
    total = occurrences.sum()
    a, b = (occurrences[word.astype(np.int64)] for word in (keys >> np.uint64(32), keys & np.uint64(2**32 - 1)))
    npmi = np.log(n * (total / a) / b) / np.maximum(np.log(total / n), np.finfo(float).tiny)
    kept = npmi >= threshold
    return keys[kept][np.argsort(-n[kept], kind="stable")]


def join_pairs(
    numbers: NDArray[np.uint32], lengths: NDArray[np.uint32], keys: NDArray[np.uint64], named: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Give words and lengths of sentences with pairs in one: that of the k-th of ``keys`` is the k-th of ``named``.

    Examples
    --------
    >>> numbers, lengths = np.array([3, 5, 3, 3, 5], np.uint32), np.array([3, 2], np.uint32)
    >>> join_pairs(numbers, lengths, np.array([(3 << 32) + 5], np.uint64), np.array([9], np.uint32))
    (array([9, 3, 9], dtype=uint32), array([2, 1], dtype=uint32))
    """
    order = np.argsort(keys)
    here = keys_of(numbers, lengths)
    at = np.minimum(np.searchsorted(keys[order], here), len(keys) - 1)
    starts = np.flatnonzero(keys[order][at] == here) if len(here) else np.empty(0, np.int64)
    run = np.cumsum(np.concatenate([[True], np.diff(starts) > 1])) if len(starts) else starts  # of overlapping pairs
    inside = starts - starts[np.searchsorted(run, run)] if len(starts) else starts
    starts = starts[inside % 2 == 0]
    result = numbers.copy()
    result[starts] = named[order[at[starts]]]
    gone = np.zeros(len(numbers), bool)
    gone[starts + 1] = True
    edges = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    lost = np.diff(np.concatenate([[0], np.cumsum(gone)])[edges])
    return result[~gone], (lengths - lost).astype(np.uint32)


def join_words(sentence: Sequence[str], words: Container[str]) -> list[str]:
    """Give a sentence of other text with two words in one where the one is a word.

    Examples
    --------
    >>> join_words(["in", "new", "york"], {"in", "new", "new_york"})
    ['in', 'new_york']
    """
    result: list[str] = []
    free = False  # whether the word before may be the first of two
    for word in sentence:
        if free and (pair := f"{result[-1]}_{word}") in words:
            result[-1], free = pair, False
        else:
            result.append(word)
            free = True
    return result
