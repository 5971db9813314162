"""The doors to the compiled loops: each makes arrays contiguous and of one type, checks shapes, then calls its kernel.

Nothing else in the library imports a kernel. Loops run without the interpreter's lock, so parts of the work go to
threads; a part has its own output, and parts are added in a fixed order: as many threads, the same bits.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowrank.kernels import counting, symmetric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

PART = 1 << 20
"""Entries whose gradients are added in a row in the precision of the factors before they join the total."""


class WordIndex(NamedTuple):
    """A corpus prepared for counting: see :func:`index_words`."""

    ids: NDArray[Any]
    before: NDArray[np.uint16]
    after: NDArray[np.uint16]
    positions: NDArray[Any]
    starts: NDArray[np.int64]


def index_words(ids: NDArray[Any], sentences: NDArray[np.int64], size: int, reach: int) -> WordIndex:
    """List the occurrences of each word and how far a window of ``reach`` stretches from each position.

    Parameters
    ----------
    ids : ndarray of shape (N,)
        Word ids below ``size``.
    sentences : ndarray of shape (S + 1,)
        Where sentences start; the last value is N.
    size : int
        Number of words, V.
    reach : int
        Words to look to each side, at most 65,535.
    """
    ids, sentences = _tokens(ids, sentences)
    if ids.max(initial=0) >= size or not 0 < reach < 1 << 16:
        raise ValueError(f"ids must be below {size} and reach below 65,536; got {ids.max(initial=0)} and {reach}")
    n = len(ids)
    before, after = np.empty(n, np.uint16), np.empty(n, np.uint16)
    counting.window_bounds(sentences, reach, before, after)
    positions = np.empty(n, np.int32 if n < 1 << 31 else np.int64)
    starts = np.empty(size + 1, np.int64)
    counting.occurrences(ids, positions, starts)
    return WordIndex(ids, before, after, positions, starts)


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


def tuple_work(index: WordIndex, order: int, *, repeats: bool) -> NDArray[np.float64]:
    """Give an upper bound of the number of tuples of which each word is the rarest member; shape (V,)."""
    work = np.empty(len(index.starts) - 1)
    counting.count_work(index.ids, index.before, index.after, order, repeats, work)
    return work


def count_tuples(
    index: WordIndex, first: int, last: int, *, order: int, near: int, reach: int, repeats: bool, min_count: int
) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64]]:
    """Count the tuples whose rarest word is one of ``first``..``last`` - 1.

    Parameters
    ----------
    index : WordIndex
        The corpus.
    first, last : int
        Range of words.
    order : int
        Words in a tuple; ``(order - 1) * bit_length(last - 1)`` may not pass 64.
    near, reach : int
        A tuple spans at most ``reach`` positions, and one of them is within ``near`` of both ends.
    repeats : bool
        Whether a word may stand twice in a tuple.
    min_count : int
        Occurrences of the tuples to return.

    Returns
    -------
    words : ndarray of shape (order, n)
        Ids, rarest word first, in lexicographic order.
    counts : ndarray of shape (n,)
        Occurrences, at least ``min_count``.
    marginals : ndarray of shape (V,)
        Number of tuples, kept or not, that contain each word, once for each time it is a member.
    """
    marginals = np.zeros(len(index.starts) - 1, np.int64)
    words, counts = counting.count_tuples(*index, first, last, order, near, reach, repeats, min_count, marginals)
    return words, counts, marginals


def symmetric_squared(
    indices: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    U: NDArray[Any],
    *,
    zero_weight: float,
    scale: float,
    threads: int,
) -> tuple[float, NDArray[Any]]:
    r"""Squared loss over listed entries of a symmetric CP model, and its gradient.

    .. math:: \tfrac{s}{2} \sum_e w_e (x_e - m_e)^2 - z\, m_e^2, \qquad m_e = \sum_r \prod_d U_{e_d r}

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        Words of each entry; runs that share all words but the last make it fast.
    values, weights : ndarray of shape (n,)
        :math:`x_e` and :math:`w_e`; no weights means ones.
    U : ndarray of shape (V, R)
        The factor; single or double precision, which everything else follows.
    zero_weight, scale : float
        :math:`z` and :math:`s`.
    threads : int
        Parts worked on at the same time.

    Returns
    -------
    value : float
    gradient : ndarray of shape (V, R)
    """
    columns, U = _columns(indices, U)
    n = columns.shape[1]
    weights = np.ones(n, U.dtype) if weights is None else weights
    if not (len(values) == len(weights) == n):
        raise ValueError(f"{n} entries need as many values and weights; got {len(values)} and {len(weights)}")
    values, weights = _frozen(values, U.dtype), _frozen(weights, U.dtype)
    z, s = U.dtype.type(zero_weight), U.dtype.type(scale)
    threads = max(1, min(threads, n // len(U)))  # with fewer entries than rows a thread would mostly add zeros
    rounds = max(1, -(-n // (threads * PART)))
    size = max(1, -(-n // (threads * rounds)))  # at most PART, and as many parts for each thread

    def work(thread: int) -> tuple[float, NDArray[Any]]:
        value, total, part = 0.0, np.zeros_like(U), np.zeros_like(U)
        for first in range(thread * size, n, threads * size):
            value += symmetric.squared_fibres(columns, values, weights, z, s, U, first, min(first + size, n), part)
            total += part
            part[:] = 0
        return value, total

    results = _in_threads(work, threads)
    gradient = results[0][1]
    for _, more in results[1:]:
        gradient += more
    return sum(value for value, _ in results), gradient


def symmetric_predict(indices: NDArray[Any], U: NDArray[Any], *, threads: int) -> NDArray[Any]:
    """Give the model's value of each entry: shapes (n, order), (V, R) -> (n,)."""
    columns, U = _columns(indices, U)
    n = columns.shape[1]
    predictions = np.empty(n, U.dtype)
    bounds = np.linspace(0, n, threads + 1).astype(np.int64)
    _in_threads(lambda t: symmetric.predict_fibres(columns, U, bounds[t], bounds[t + 1], predictions), threads)
    return predictions


def _tokens(ids: NDArray[Any], sentences: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Check that sentences cut the ids into pieces: a loop would write beyond its arrays."""
    ids, sentences = _frozen(ids), _frozen(sentences, np.int64)
    if not (len(sentences) and sentences[0] == 0 and sentences[-1] == len(ids) and (np.diff(sentences) >= 0).all()):
        raise ValueError(f"sentences must rise from 0 to the number of ids, {len(ids)}")
    return ids, sentences


def _columns(indices: NDArray[Any], U: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check that every index is a row of U: a loop would read and write beyond it."""
    if indices.ndim != 2 or U.ndim != 2:
        raise ValueError(f"indices and U must be of two dimensions; got shapes {indices.shape} and {U.shape}")
    columns = _frozen(indices.T)
    if columns.size and not (columns.min() >= 0 and columns.max() < len(U)):
        raise ValueError(f"indices must be rows of U, from 0 to {len(U) - 1}; got {columns.min()} to {columns.max()}")
    return columns, _frozen(U)


def _frozen(array: NDArray[Any], dtype: DTypeLike = None) -> NDArray[Any]:
    """Give a contiguous view that cannot be written to, so that mapped files and arrays share one compiled loop."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def _in_threads(work: Callable[[int], Any], threads: int) -> list[Any]:
    """Run ``work(0)`` .. ``work(threads - 1)`` at the same time; results in that order."""
    if threads == 1:
        return [work(0)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))
