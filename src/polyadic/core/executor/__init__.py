r"""Executors: run work in threads or processes of this machine, or on a Dask cluster, with bit-identical results.

``imap`` yields the results of a pure function of each item, in order. ``hold`` keeps parts of the data where they are
worked on. ``map`` applies a pure function to every held part, and ``reduce`` adds the results along a fixed tree,

.. math:: \big((t_0 + t_1) + (t_2 + t_3)\big) + \big((t_4 + t_5) + t_6\big),

so that the rounding of the sum does not depend on the executor or the number of machines. The number of parts does not
depend on the executor either. ``RowBlocks`` are the rows of a sparse table, whose products do not depend on the blocks.
"""

from __future__ import annotations

import uuid
from contextvars import ContextVar
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.kernels.common import imap, in_window
from polyadic.core.resources import deferred_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

MAX_WAITING = 2
"""Finished results that may wait for their turn, beside those being computed."""


class Sum(NamedTuple):
    """Number and arrays that are added elementwise; None represents an array of zeros."""

    value: float
    arrays: list[NDArray[Any] | None]


def added(left: Sum, right: Sum) -> Sum:
    """Add two sums in place: the result is stored in the arrays of the left one."""
    arrays: list[NDArray[Any] | None] = []
    for a, b in zip(left.arrays, right.arrays, strict=True):
        arrays.append(b if a is None else a if b is None else np.add(a, b, out=a))
    return Sum(left.value + right.value, arrays)


class SumTree:
    """Add a stream of sums along a fixed tree, keeping only a logarithmic number of them."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, Sum]] = []

    def add(self, leaf: Sum) -> None:
        """Append a leaf and merge finished subtrees of equal size."""
        self._nodes.append((1, leaf))
        while len(self._nodes) > 1 and self._nodes[-2][0] == self._nodes[-1][0]:
            self._join()

    def total(self) -> Sum:
        """Return the sum of all leaves."""
        while len(self._nodes) > 1:
            self._join()
        return self._nodes[0][1]

    def _join(self) -> None:
        (n, left), (m, right) = self._nodes[-2:]
        self._nodes[-2:] = [(n + m, added(left, right))]


class Shared:
    """Value that every worker needs: ``make(*parts)``, built on each worker and cached until it is replaced."""

    def __init__(self, make: Callable[..., Any], *parts: Any) -> None:
        self.make, self.parts, self.key = make, parts, uuid.uuid4().hex

    @cached_property
    def value(self) -> Any:
        """Value, built in this process."""
        return self.make(*self.parts)


class Executor:
    """Executor with threads of this process; subclasses use processes or a Dask cluster, with the same results.

    ``size`` is the number of workers that hold parts of their own, ``grain`` the size of a piece of work relative to
    that for a thread, larger where sending is expensive.
    """

    size: int = 1
    grain: int = 1

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @property
    def copies(self) -> int:
        """Number of sequential transfers of a broadcast: two for each level of the tree of workers."""
        return 2 * self.size.bit_length()

    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """Yield ``work(item)`` or ``work(shared value, item)`` for each item in order, computing a few in advance."""
        do = work if shared is None else partial(work, shared.value)
        return imap(do, items, self.threads, ahead=self.threads + MAX_WAITING)

    def sees(self, files: Sequence[str]) -> bool:
        """Return whether every worker can read the same files itself."""
        return not any(file.startswith("memory://") for file in files)

    def forget(self, shared: Shared) -> None:
        """Release a shared value."""
        shared.__dict__.pop("value", None)

    def hold(self, parts: Sequence[Any], *, cost: Callable[[Any], float] = lambda _: 1.0) -> Any:
        """Distribute parts to the workers; ``cost`` estimates the work for a part."""
        del cost
        return parts

    def map(
        self, work: Callable[[Any, Any, Any, int], Any], held: Any, given: Any, own: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return ``work(part, given, value for this part, threads)`` for each held part."""
        both = zip(held, [None] * len(held) if own is None else own, strict=True)
        return [work(part, given, mine, self.threads) for part, mine in both]

    def reduce(
        self,
        work: Callable[[Any, Any, int], Sum],
        held: Any,
        given: Any,
        *,
        callback: Callable[[], None] = lambda: None,
    ) -> Sum:
        """Sum ``work(part, given, threads)`` over the held parts; ``callback`` is called once per part."""
        tree, inside = SumTree(), max(1, self.threads // len(held))
        for leaf in imap(lambda part: work(part, given, inside), held, self.threads):
            tree.add(leaf)
            callback()
        return tree.total()


_CLUSTER: ContextVar[Executor | None] = ContextVar("cluster", default=None)


def cluster() -> Executor | None:
    """Return the current cluster (see :func:`polyadic.core.executor.dask.working_on`), or None."""
    return _CLUSTER.get()


def spans(starts: NDArray[Any], number: int) -> list[slice]:
    """Split items into at most ``number`` runs of similar cost; item ``i`` costs ``starts[i + 1] - starts[i]``."""
    shares = np.linspace(0, starts[-1], number + 1)[1:-1]
    nearest = np.searchsorted((starts[1:] + starts[:-1]) / 2, shares).tolist()
    return [slice(first, last) for first, last in pairwise(sorted({0, *nearest, len(starts) - 1}))] or [slice(0, 0)]


def get_executor(threads: int) -> Executor:
    """Return the current cluster, or an executor with this number of threads."""
    return cluster() or Executor(threads)


class ProcessExecutor(Executor):
    """Executor with processes of this machine for ``imap`` (Python code) and threads for compiled work."""

    def __init__(self, processes: int | None) -> None:
        from loky import cpu_count

        super().__init__(processes or cpu_count())

    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """See :class:`Executor`; lambdas are allowed."""
        # Not joblib.Parallel: it iterates over the items in another thread, which some iterators (database cursors) do
        # not allow, and it leaves its workers running. loky pickles lambdas and needs no __main__ guard.
        from loky import ProcessPoolExecutor
        from loky.process_executor import PicklingError

        given = () if shared is None else (shared.value,)
        pool = ProcessPoolExecutor(max_workers=self.threads)
        finished = False

        def submit(item: Any) -> Any:
            with deferred_interrupts():
                return pool.submit(work, *given, item)

        try:
            for future in in_window(submit, items, MAX_WAITING * self.threads + 1):
                yield future.result()
            finished = True
        except PicklingError as error:
            raise InputError(
                f"the function or its items cannot be sent to other processes ({error}); use jobs=1", "jobs"
            ) from error
        finally:
            pool.shutdown(wait=True, kill_workers=not finished)


class RowBlock(NamedTuple):
    """Rows of a sparse table in CSR format; ``listed`` contains arrays with a value for each entry."""

    starts: NDArray[Any]
    columns: NDArray[Any]
    listed: tuple[NDArray[Any], ...]


class RowBlocks:
    """Rows split into one block per worker, with about the same number of entries each.

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
        """Concatenate ``work(block, rows of V, given, offset of the block, threads)`` over the blocks."""
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
