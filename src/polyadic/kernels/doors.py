"""What doors share: arrays of one type, rows laid out for the loops, indices checked, and the work in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

LINE = 64
"""Bytes of a cache line."""
PART = 1 << 22
"""Entries whose gradients are added in a row in the precision of the factors before they join the total."""


def frozen(array: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Give a contiguous view that cannot be written to, so that mapped files and arrays share one compiled loop."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def table(*layers: NDArray[Any]) -> NDArray[Any]:
    """Lay rows out for the loops: rows of the same number side by side, each in cache lines of its own.

    What a loop reads and writes together is then close together: a gradient beside its row halves the time of an
    entry against two matrices.

    Parameters
    ----------
    *layers : ndarray of shape (rows, R)

    Returns
    -------
    ndarray of shape (rows, layers, R rounded up)
        With zeros beyond R, which add nothing to a product or a sum.
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


def checked(indices: NDArray[Any], offsets: Sequence[int] | None, rows: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Give indices by column and offsets; each must be a row of its mode: a loop would read and write beyond."""
    if indices.ndim != 2:
        raise ValueError(f"indices must be of two dimensions; got shape {indices.shape}")
    columns = frozen(indices.T)
    at = np.zeros(len(columns), np.int64) if offsets is None else np.asarray(offsets, np.int64)
    if at.shape != (len(columns),):
        raise ValueError(f"offsets must be one per mode, {len(columns)}; got shape {at.shape}")
    for column, offset in zip(columns, at.tolist(), strict=True):
        size = min([other for other in at.tolist() if other > offset], default=rows) - offset
        if column.size and not 0 <= int(column.min()) <= int(column.max()) < size:
            raise ValueError(f"indices must be rows of U, from 0 to {size - 1}; got {column.min()} to {column.max()}")
    return columns, at


def in_threads(work: Callable[[int], Any], threads: int) -> list[Any]:
    """Run ``work(0)`` .. ``work(threads - 1)`` at the same time; results in that order."""
    if threads == 1:
        return [work(0)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))


def sum_of_parts(
    work: Callable[[int, int, NDArray[Any]], float],
    n: int,
    layers: Sequence[NDArray[Any]],
    like: NDArray[Any],
    *,
    threads: int,
) -> tuple[float, NDArray[Any]]:
    """Add values and gradients of parts of ``n`` entries, each part of its own sum, in a fixed order.

    ``work(first, last, T)`` returns a value and adds a gradient, of the shape and type of ``like``, to the last layer
    of a table of ``layers`` and one of zeros.
    """
    rows, rank = like.shape
    threads = max(1, min(threads, n // max(rows, 1)))  # with fewer entries than rows a thread would mostly add zeros
    rounds = max(1, -(-n // (threads * PART)))
    size = max(1, -(-n // (threads * rounds)))  # at most PART, and as many parts for each thread
    zeros = np.broadcast_to(like.dtype.type(0), like.shape)

    def parts(thread: int) -> tuple[float, NDArray[Any]]:
        T = table(*layers, zeros)
        part = T[:, -1, :rank]
        if rounds == 1:
            return work(min(thread * size, n), min((thread + 1) * size, n), T), part
        value, total = 0.0, np.zeros(like.shape, like.dtype)
        for first in range(thread * size, n, threads * size):
            value += work(first, min(first + size, n), T)
            total += part
            part[:] = 0
        return value, total

    results = in_threads(parts, threads)
    gradient = np.ascontiguousarray(results[0][1])
    for _, more in results[1:]:
        gradient += more
    return sum(value for value, _ in results), gradient


def importances(given: NDArray[Any] | None, rows: NDArray[Any]) -> NDArray[Any]:
    """Give a number per row, ones if none are given, in the type of the rows."""
    q = frozen(np.ones(len(rows)) if given is None else given, rows.dtype)
    if q.shape != (len(rows),):
        raise ValueError(f"importance must have shape ({len(rows)},), one per row; got {q.shape}")
    return q
