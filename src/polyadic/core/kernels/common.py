"""Helper functions for Numba kernels: memory layout, index validation, threading and weight averaging."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from polyadic.core.annotations import AnyArray, DTypeLike, Floats, Ints

LINE = 64  # bytes of a cache line
PARTS = 16  # number of parts of a sum, whatever the number of threads
MIN_PER_ROW = 24
"""Minimum number of entries of a part per row of its sum, so that adding the parts takes about a tenth of the time."""
MIN_ROWS = 32  # rows that are worth a call
MEAN_ROWS = 1 << 14  # rows averaged at once, which bounds the temporaries
MAX_PART = 1 << 22  # maximum number of entries whose gradients are added in the precision of the factors


def frozen(array: AnyArray, dtype: DTypeLike | None = None) -> AnyArray:
    """Return a read-only, contiguous view of an array, so that Numba compiles a single signature."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def table(*layers: AnyArray) -> AnyArray:
    """Interleave the rows of several matrices in one array that is aligned to cache lines.

    What a kernel uses together is then adjacent in memory: a gradient beside its row halves the time of an entry.
    Shapes (rows, R) -> (rows, layers, R rounded up), padded with zeros.
    """
    rows, rank = layers[0].shape
    kind = layers[0].dtype
    line = LINE // kind.itemsize
    width = -(-rank // line) * line
    shape = (rows, len(layers), width)
    memory = np.zeros(rows * shape[1] * width + line, kind)
    start = -memory.ctypes.data % LINE // kind.itemsize
    laid = memory[start : start + memory.size - line].reshape(shape)
    for place, layer in enumerate(layers):
        laid[:, place, :rank] = layer
    return laid


def checked(indices: AnyArray, offsets: Sequence[int] | None, rows: int) -> tuple[AnyArray, Ints]:
    """Return contiguous indices and offsets, after checking that they are within bounds."""
    if indices.ndim != 2:
        raise ValueError(f"indices must have two dimensions; got shape {indices.shape}")
    columns = frozen(indices.T)
    at = np.zeros(len(columns), np.int64) if offsets is None else np.asarray(offsets, np.int64)
    if at.shape != (len(columns),):
        raise ValueError(f"offsets must have one element for each of {len(columns)} modes; got shape {at.shape}")
    for column, offset in zip(columns, at.tolist(), strict=True):
        size = min([other for other in at.tolist() if other > offset], default=rows) - offset
        if column.size and not 0 <= int(column.min()) <= int(column.max()) < size:
            raise ValueError(
                f"indices must be row indices of U, from 0 to {size - 1}; got {column.min()} to {column.max()}"
            )
    return columns, at


def in_window(submit: Callable[[Any], Any], items: Iterable[Any], ahead: int, *, cancel: bool = False) -> Iterator[Any]:
    """Submit a task for each item, and yield the futures in order with at most ``ahead`` futures pending.

    With ``cancel``, unused futures are cancelled at the end, which pools do themselves when they shut down.
    """
    waiting: deque[Any] = deque()
    try:
        for item in items:
            waiting.append(submit(item))
            if len(waiting) == ahead:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        for future in waiting if cancel else ():
            future.cancel()


def imap(work: Callable[[Any], Any], items: Iterable[Any], threads: int, *, ahead: int | None = None) -> Iterator[Any]:
    """Apply a function to each item in threads, and yield the results in order, by default one for each thread."""
    if threads == 1 and ahead is None:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        for future in in_window(lambda item: pool.submit(work, item), items, threads if ahead is None else ahead):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def in_threads(work: Callable[[int], Any], parts: int, threads: int) -> list[Any]:
    """Run ``work(i)`` for ``i`` in ``range(parts)`` in threads, and return the results in order."""
    workers = max(1, min(threads, parts))
    return list(imap(work, range(parts), workers, ahead=None if workers == 1 else parts))


def in_spans(work: Callable[[int, int], Any], n: int, threads: int, *, parts: int = PARTS) -> list[Any]:
    """Run ``work(first, last)`` on contiguous ranges of ``n`` rows in threads, and return the results in order."""
    bounds = np.linspace(0, n, max(1, min(parts, n // MIN_ROWS)) + 1).astype(int).tolist()
    return in_threads(lambda k: work(bounds[k], bounds[k + 1]), len(bounds) - 1, threads)


def thick_parts(n: int, rows: int, *, most: int = PARTS) -> int:
    """Choose a number of chunks for ``n`` entries that keeps the cost of adding the partial sums low."""
    return max(1, min(most, n // max(MIN_PER_ROW * rows, 1)))


def short_parts(n: int) -> int:
    """Choose a number of chunks for ``n`` entries that keeps the rounding errors of the partial sums small."""
    return max(1, -(-n // MAX_PART))


def sum_of_parts(
    work: Callable[[int, int, AnyArray], float],
    n: int,
    layers: Sequence[AnyArray],
    like: AnyArray,
    *,
    threads: int,
    parts: int | None = None,
    spare: list[AnyArray] | None = None,
) -> tuple[float, AnyArray]:
    """Compute a loss and its gradient over chunks of entries in threads, and sum the results in order.

    ``work(first, last, T)`` returns a value and adds a gradient, of the shape and type of ``like``, to the last layer
    of a table of ``layers`` and one of zeros. Tables are taken from ``spare`` and returned to it.
    """
    rank = like.shape[1]
    parts = max(thick_parts(n, len(like)), short_parts(n)) if parts is None else parts
    bounds = np.linspace(0, n, parts + 1).astype(int).tolist()
    zeros = np.broadcast_to(like.dtype.type(0), like.shape)
    value, total = 0.0, np.empty(like.shape, like.dtype)
    spare = [] if spare is None else spare

    def compute(k: int) -> tuple[float, AnyArray]:
        try:
            T = spare.pop()
        except IndexError:
            T = table(*layers, zeros)
        return work(bounds[k], bounds[k + 1], T), T

    for k, (more, T) in enumerate(imap(compute, range(parts), threads)):
        part = T[:, -1, :rank]
        value += more
        np.add(total, part, out=total) if k else np.copyto(total, part)
        part[:] = 0
        spare.append(T)
    return value, total


def mean_weights(w: Floats, s: AnyArray, T: int) -> Floats:
    r"""Return the weights averaged over the initial state and the states after each of ``T`` steps.

    With the final weights w and a sum s, the mean is :math:`w - s / (T + 1)`. The step at time t adds t times its
    change of a weight to s (Daumé 2006, Practical structured learning techniques for natural language processing,
    figure 2.3).
    """
    mean = np.empty_like(w)
    for start in range(0, len(w), MEAN_ROWS):
        some = slice(start, start + MEAN_ROWS)
        mean[some] = w[some] - s[some] / (T + 1)
    return mean


def importances(given: AnyArray | None, rows: AnyArray) -> AnyArray:
    """Return validated importance weights, one per row; all weights are one if ``given`` is None."""
    q = frozen(np.ones(len(rows)) if given is None else given, rows.dtype)
    if q.shape != (len(rows),):
        raise ValueError(f"importance must have shape ({len(rows)},), one value per row; got shape {q.shape}")
    return q
