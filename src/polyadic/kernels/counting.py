"""Doors to the loops that count tuples of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops import counting

if TYPE_CHECKING:
    from numpy.typing import NDArray


class WordIndex(NamedTuple):
    """A corpus prepared for counting: see :func:`index_words`."""

    ids: NDArray[Any]
    """With an id that is no word around sentences."""
    positions: NDArray[Any]
    """Where each word is, from the most frequent on."""
    starts: NDArray[np.int64]
    """Where the positions of each word begin."""
    end: int
    """The id that is no word."""
    reach: int


def index_words(ids: NDArray[Any], sentences: NDArray[np.int64], size: int, reach: int) -> WordIndex:
    """List the occurrences of each word, and set sentences apart so far that a window of ``reach`` sees where they end.

    Parameters
    ----------
    ids : ndarray of shape (N,)
        Word ids below ``size``.
    sentences : ndarray of shape (S + 1,)
        Where sentences start; the last value is N.
    size : int
        Number of words, V.
    reach : int
        Words to look to each side, at most 32,767.
    """
    ids, sentences = _tokens(ids, sentences)
    if ids.max(initial=0) >= size or not 0 < reach < 1 << 15:
        raise ValueError(f"ids must be below {size} and reach below 32,768; got {ids.max(initial=0)} and {reach}")
    n = indexed_length(len(ids), len(sentences), reach)
    apart = np.empty(n, np.promote_types(ids.dtype, np.min_scalar_type(size)))
    end = int(np.iinfo(apart.dtype).max)
    counting.with_ends(ids, sentences, reach, end, apart)
    return WordIndex(apart, *word_positions(apart, size, end), end, reach)


def word_positions(ids: NDArray[Any], size: int, end: int = -1) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """List where each word is, in the order of the ids, and where the list of each begins; ``end`` is no word.

    Raises
    ------
    ValueError
        If there are other ids that are not from 0 to ``size`` - 1.

    Examples
    --------
    >>> word_positions(np.array([0, 1, 0]), 2)
    (array([0, 2, 1], dtype=int32), array([0, 2, 3]))
    """
    ids = frozen(ids)
    starts = np.empty(size + 1, np.int64)
    n = counting.word_starts(ids, end, starts)
    if n < 0:
        raise ValueError(f"ids must be below {size}")
    positions = np.empty(n, np.int32 if len(ids) < 1 << 31 else np.int64)
    counting.occurrences(ids, end, positions, starts)
    return positions, starts


def indexed_length(ids: int, bounds: int, reach: int) -> int:
    """Give how long the ids of an index are, of so many ids and bounds of sentences.

    Examples
    --------
    >>> len(index_words(np.array([0, 1, 0]), np.array([0, 1, 3]), 2, 4).ids) == indexed_length(3, 3, 4)
    True
    """
    return ids + bounds - 1 + 2 * reach


def chunk_sets(
    ids: NDArray[Any], sentences: NDArray[np.int64], length: int, order: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Cut sentences into chunks of ``length`` words; give the distinct words of each and where chunks start."""
    ids, sentences = _tokens(ids, sentences)
    if not (length > 0 and order > 0):
        raise ValueError(f"length and order must be positive; got {length} and {order}")
    sets = np.empty_like(ids)
    bounds = np.empty(len(ids) // order + 2, np.int64)
    n, chunks = counting.chunk_sets(ids, sentences, length, order, sets, bounds)
    return sets[:n], bounds[: chunks + 1]


def tuple_work(index: WordIndex, order: int, where: slice = slice(None), *, repeats: bool) -> NDArray[np.float64]:
    """Give a bound of the tuples of which each word is the rarest, at some or all of ``index.ids``; shape (V,)."""
    work = np.zeros(len(index.starts) - 1)
    start, stop, _ = where.indices(len(index.ids))
    counting.count_work(index.ids, index.end, index.reach, start, stop, order, repeats, work)
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
    most: int | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64]]:
    """Count the tuples whose rarest word is one of ``first``..``last`` - 1.

    Parameters
    ----------
    index : WordIndex
        The corpus; a tuple spans at most its ``reach`` positions.
    first, last : int
        Range of words.
    order : int
        Words in a tuple; ``(order - 1) * bit_length(last - 1)`` may not pass 64.
    near : int
        One of the positions of a tuple is within ``near`` of both ends.
    repeats : bool
        Whether a word may stand twice in a tuple.
    min_count : int
        Occurrences of the tuples to return.
    most : int, optional
        Tuples that there are at most; by default what :func:`tuple_work` says.

    Returns
    -------
    words : ndarray of shape (order, n)
        Ids, rarest word first, in lexicographic order.
    counts : ndarray of shape (n,)
        Occurrences, at least ``min_count``.
    marginals : ndarray of shape (V,)
        Number of tuples, kept or not, that contain each word, once for each time it is a member.

    Raises
    ------
    ValueError
        If there are more than ``most``.
    """
    marginals = np.zeros(len(index.starts) - 1, np.int64)
    bits = (order - 1) * max(last - 1, 1).bit_length()
    keys = np.empty(1 << 12, np.uint32 if bits <= 32 else np.uint64)
    if most is None:
        most = int(tuple_work(index, order, repeats=repeats)[first:last].sum())
    words = np.empty((order, most // min_count), index.ids.dtype)
    counts = np.empty(most // min_count + 1, np.uint32)
    how = (first, last, order, near, repeats, min_count)
    n = counting.count_tuples(*index, *how, keys, words, counts, marginals)
    if n < 0:
        raise ValueError(f"there are more than {most} tuples")
    return words[:, :n], counts[:n], marginals


def tuple_marginals(tuples: NDArray[Any], counts: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """Give in how many tuples each word is, once for each time it is a member; shape (V,).

    Parameters
    ----------
    tuples : ndarray of shape (n, order)
        Word ids below ``size``, column by column in memory.
    counts : ndarray of shape (n,)
        Occurrences of each.
    size : int
        Number of words, V.
    """
    marginals = np.zeros(size, np.int64)
    for d in range(tuples.shape[1]):
        counting.add_counts(frozen(tuples[:, d]), frozen(counts), marginals)
    return marginals


def _tokens(ids: NDArray[Any], sentences: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Check that sentences cut the ids into pieces: a loop would write beyond its arrays."""
    ids, sentences = frozen(ids), frozen(sentences, np.int64)
    if not (len(sentences) and sentences[0] == 0 and sentences[-1] == len(ids) and (np.diff(sentences) >= 0).all()):
        raise ValueError(f"sentences must rise from 0 to the number of ids, {len(ids)}")
    return ids, sentences
