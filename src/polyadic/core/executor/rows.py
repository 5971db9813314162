"""Rows of a sparse table in blocks that stay with whoever works on them; rows depend on no other, nor on the blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.executor import spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Block(NamedTuple):
    """Some rows.

    Attributes
    ----------
    starts : ndarray of shape (n + 1,)
        Row ``i`` has the entries ``starts[i]:starts[i + 1]``.
    columns : ndarray of shape (entries,)
    listed : tuple of ndarrays of shape (entries,)
        What is known of each entry.
    """

    starts: NDArray[Any]
    columns: NDArray[Any]
    listed: tuple[NDArray[Any], ...]


class RowBlocks:
    """Rows cut into as many blocks as there are to hold them, each with about as many entries.

    What is multiplied with, or solved against, has a row for each column. Each block gets those that its own columns
    need, unless they are so many that one copy for all, which goes from worker to worker, is there sooner.

    Parameters
    ----------
    rows : Block
        All of them.
    columns : int
        How many there are.
    executor : Executor
        One block for all threads of this machine, one for each worker of a cluster.
    """

    def __init__(self, rows: Block, columns: int, executor: Executor) -> None:
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
        """Give the rows that ``work(block, rows of V, given, rows before, threads)`` makes, block after block."""
        own: list[Any] = [None if before is None else before[span] for span in self._spans]
        if self._needed is None:
            parts = self._executor.map(partial(_with_all, work), self._held, (V, given), own)
        else:
            own = [(V[needed], mine) for needed, mine in zip(self._needed, own, strict=True)]
            parts = self._executor.map(partial(_with_its_own, work), self._held, given, own)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _block(rows: Block, span: slice) -> Block:
    starts = rows.starts[span.start : span.stop + 1]
    some = slice(int(starts[0]), int(starts[-1]))
    return Block(starts - starts[0], rows.columns[some], tuple(array[some] for array in rows.listed))


def _with_all(work: Callable[..., NDArray[Any]], block: Block, given: Any, own: Any, threads: int) -> NDArray[Any]:
    return work(block, *given, own, threads)


def _with_its_own(work: Callable[..., NDArray[Any]], block: Block, given: Any, own: Any, threads: int) -> NDArray[Any]:
    V, before = own
    return work(block, V, given, before, threads)
