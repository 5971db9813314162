"""Row-wise operations on a sparse table, in blocks that stay on their workers. Results do not depend on the blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.executor import spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polyadic.core.executor import Executor


class RowBlock(NamedTuple):
    """Rows of a sparse table in CSR form; ``listed`` are arrays of values of each entry."""

    starts: NDArray[Any]
    columns: NDArray[Any]
    listed: tuple[NDArray[Any], ...]


class RowBlocks:
    """Rows cut into one block per worker of the executor, with about as many entries each.

    A block receives the rows of the right factor that its columns need, or all where one broadcast copy is cheaper.
    """

    def __init__(self, rows: RowBlock, columns: int, executor: Executor) -> None:
        self._spans, self._executor = spans(rows.starts, executor.size), executor
        blocks = [_block(rows, span) for span in self._spans]
        self._needed: list[NDArray[Any]] | None = None
        if len(blocks) > 1:
            needed, renamed = zip(*(np.unique(block.columns, return_inverse=True) for block in blocks), strict=True)
            if sum(map(len, needed)) <= executor.copies * columns:
                self._needed = list(needed)
                blocks = [b._replace(columns=at.astype(b.columns.dtype)) for b, at in zip(blocks, renamed, strict=True)]
        self._held = executor.hold(blocks)

    def map(
        self,
        work: Callable[..., NDArray[Any]],
        V: NDArray[Any],
        *,
        given: Any = None,
        before: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return the rows of ``work(block, rows of V, given, rows before, threads)``, concatenated over blocks."""
        own: list[Any] = [None if before is None else before[span] for span in self._spans]
        if self._needed is None:
            parts = self._executor.map(partial(_with_all, work), self._held, (V, given), own)
        else:
            own = [(V[needed], mine) for needed, mine in zip(self._needed, own, strict=True)]
            parts = self._executor.map(partial(_with_its_own, work), self._held, given, own)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _block(rows: RowBlock, span: slice) -> RowBlock:
    starts = rows.starts[span.start : span.stop + 1]
    some = slice(int(starts[0]), int(starts[-1]))
    return RowBlock(starts - starts[0], rows.columns[some], tuple(array[some] for array in rows.listed))


def _with_all(work: Callable[..., NDArray[Any]], block: RowBlock, given: Any, own: Any, threads: int) -> NDArray[Any]:
    return work(block, *given, own, threads)


def _with_its_own(
    work: Callable[..., NDArray[Any]], block: RowBlock, given: Any, own: Any, threads: int
) -> NDArray[Any]:
    V, before = own
    return work(block, V, given, before, threads)
