r"""Join collocations such as "new york", which co-occur far more often than by chance, into single words.

.. math:: \text{NPMI}(a, b) = \log \frac{n_{ab} N}{n_a n_b} \Big/ \log \frac{N}{n_{ab}}

lies between -1 and 1, and is 1 if the words only occur together (Bouma 2009, Normalized (pointwise) mutual information
in collocation extraction). Pairs with an NPMI above a threshold become a word; of overlapping pairs, the first one
does. Stop words, rare words and punctuation are never part of a pair; where punctuation is dropped, the words around it
are adjacent.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]

THRESHOLD = 0.55
"""Minimum NPMI; of the values tried, this one agrees best with the titles of articles (docs/results/sizes.md)."""
MIN_COUNT = 10  # minimum count of a pair
BUCKETS = 24  # logarithm of the number of hash buckets in which pairs are first counted, to bound memory

Chunks = Callable[[], "Iterable[tuple[Numbers, Numbers]]"]  # numbers of words, and lengths of sentences
Counted = tuple["NDArray[np.uint64]", "NDArray[np.int64]"]


def pairs(chunks: Chunks, usable: NDArray[np.bool_], *, min_count: int = MIN_COUNT) -> Counted:
    """Count adjacent pairs of words marked as ``usable``; return the sorted keys and counts of frequent pairs."""

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
    """Compute the hash bucket of each word pair from the key of the pair."""
    return np.asarray((keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - BUCKETS))


NONE = np.uint64(2**64 - 1)  # key of a pair that spans two sentences


def keys_of(numbers: Numbers, lengths: Numbers) -> NDArray[np.uint64]:
    """Return the key of each pair of consecutive words, or NONE for a pair that spans two sentences."""
    wide = numbers.astype(np.uint64)
    keys = (wide[:-1] << np.uint64(32)) | wide[1:]
    ends = np.cumsum(lengths, dtype=np.int64)[:-1]
    keys[ends[(ends > 0) & (ends <= len(keys))] - 1] = NONE
    return keys


def select_pairs(
    counted: Counted, occurrences: NDArray[np.int64], *, threshold: float = THRESHOLD
) -> NDArray[np.uint64]:
    """Return the pairs with an NPMI of at least ``threshold``, in descending order of frequency."""
    keys, n = counted
    total = occurrences.sum()
    a, b = (occurrences[word.astype(np.int64)] for word in (keys >> np.uint64(32), keys & np.uint64(2**32 - 1)))
    npmi = np.log(n * (total / a) / b) / np.maximum(np.log(total / n), np.finfo(float).tiny)
    kept = npmi >= threshold
    return keys[kept][np.argsort(-n[kept], kind="stable")]


def join_pairs(numbers: Numbers, lengths: Numbers, keys: NDArray[np.uint64], named: Numbers) -> tuple[Numbers, Numbers]:
    """Replace pairs of words in encoded sentences by joined words; return the word ids and the sentence lengths."""
    starts, which = find_pairs(numbers, lengths, keys)
    result = numbers.copy()
    result[starts] = named[which]
    gone = np.zeros(len(numbers), bool)
    gone[starts + 1] = True
    edges = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    lost = np.diff(np.concatenate([[0], np.cumsum(gone)])[edges])
    return result[~gone], (lengths - lost).astype(np.uint32)


def find_pairs(
    numbers: Numbers, lengths: Numbers, keys: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions at which a pair to be joined begins, and the index of the pair in ``keys``."""
    order = np.argsort(keys)
    here = keys_of(numbers, lengths)
    at = np.minimum(np.searchsorted(keys[order], here), len(keys) - 1)
    starts = np.flatnonzero(keys[order][at] == here) if len(here) else np.empty(0, np.int64)
    run = np.cumsum(np.concatenate([[True], np.diff(starts) > 1])) if len(starts) else starts  # of overlapping pairs
    inside = starts - starts[np.searchsorted(run, run)] if len(starts) else starts
    starts = starts[inside % 2 == 0]
    return starts, order[at[starts]]


def join_words(sentence: Sequence[str], words: Container[str]) -> list[str]:
    """Join adjacent words of a sentence with an underscore if the joined word is in ``words``."""
    result: list[str] = []
    free = False  # whether the word before may be the first of two
    for word in sentence:
        if free and (pair := f"{result[-1]}_{word}") in words:
            result[-1], free = pair, False
        else:
            result.append(word)
            free = True
    return result
