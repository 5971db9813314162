"""Rows of a factor in blocks that stay with whoever solves for them; rows depend on no other, nor on the blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels import RowEntries, conjugate_rows, posterior_rows
from polyadic.workers import row_spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polyadic.workers import Workers


class RowBlocks:
    """Entries by row, cut into as many blocks as there are to hold them, each with about as many entries.

    Parameters
    ----------
    entries : RowEntries
    team : Workers
        One block for all threads of this machine, one for each worker of a cluster.
    """

    def __init__(self, entries: RowEntries, team: Workers) -> None:
        self._spans, self._team = row_spans(entries.starts, team), team
        self._held = team.hold([_block(entries, span) for span in self._spans])

    def solved(self, work: Callable[..., NDArray[Any]], given: Any, U: NDArray[Any]) -> NDArray[Any]:
        """Give rows that ``work(entries, given, rows before, threads)`` makes, block by block."""
        parts = self._team.each(work, self._held, given, [U[span] for span in self._spans])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _block(entries: RowEntries, span: slice) -> RowEntries:
    starts = entries.starts[span.start : span.stop + 1]
    some = slice(int(starts[0]), int(starts[-1]))
    return RowEntries(starts - starts[0], entries.columns[some], entries.c[some], entries.y[some])


def solved_rows(
    entries: RowEntries, given: tuple[NDArray[Any], NDArray[Any]], U: NDArray[Any], threads: int, *, steps: int | None
) -> NDArray[Any]:
    """Solve for rows given the other factor and the precision: exactly, or by some conjugate gradient steps from U."""
    V, precision = given
    if steps is None:
        return posterior_rows(entries, V, precision=precision, threads=threads)
    U = U.copy()
    conjugate_rows(entries, V, U, precision=precision, steps=steps, threads=threads)
    return U
