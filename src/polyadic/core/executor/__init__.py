r"""Executors that run work in local threads, local processes or a Dask cluster, with bit-identical results.

``imap`` yields the results of a pure function of each item, in order. ``hold`` keeps parts of the data where they are
worked on. ``map`` applies a pure function to every held part, and ``reduce`` adds the results along a fixed tree,

.. math:: \big((t_0 + t_1) + (t_2 + t_3)\big) + \big((t_4 + t_5) + t_6\big),

so that the rounding of the sum does not depend on the executor or the number of machines. The number of parts does not
depend on the executor either. ``RowBlocks`` are the rows of a sparse table, whose products do not depend on the blocks.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError
from polyadic.core.kernels.common import imap, in_window
from polyadic.core.resources import deferred_interrupts

MAX_WAITING = 2  # finished results that may wait for their turn, beside those being computed


class Sum(NamedTuple):
    """Scalar and arrays to be summed over parallel tasks; None stands for an array of zeros."""

    value: float
    arrays: list[AnyArray | None]


def added(left: Sum, right: Sum) -> Sum:
    """Add two :class:`Sum` objects, storing the result in the arrays of the left operand."""
    arrays: list[AnyArray | None] = []
    for a, b in zip(left.arrays, right.arrays, strict=True):
        arrays.append(b if a is None else a if b is None else np.add(a, b, out=a))
    return Sum(left.value + right.value, arrays)


Work = Callable[[Any, Any, int], Sum]
"""Function of a part, a value shared by all parts, and the number of threads."""


class SumTree:
    """Accumulator that sums a stream along a fixed binary tree, with memory logarithmic in the length of the stream."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, Sum]] = []

    def add(self, leaf: Sum) -> None:
        """Add a leaf to the tree, and merge complete subtrees of equal size."""
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
    """Value that each worker builds once with ``make(*parts)`` and then caches."""

    def __init__(self, make: Callable[..., Any], *parts: Any) -> None:
        self.make, self.parts, self.key = make, parts, uuid.uuid4().hex

    @cached_property
    def value(self) -> Any:
        """Shared value, built in this process on first access."""
        return self.make(*self.parts)


class Executor:
    """Executor that runs work in threads of this process; base class of the other executors.

    ``size`` is the number of workers that hold parts of their own, ``grain`` the size of a piece of work relative to
    that for a thread, larger where sending is expensive.
    """

    size: int = 1
    grain: int = 1

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @property
    def copies(self) -> int:
        """Estimated number of sequential transfers in a broadcast to all workers."""
        return 2 * self.size.bit_length()

    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """Yield ``work(item)``, or ``work(value of shared, item)``, in order; a few results are computed in advance."""
        do = work if shared is None else partial(work, shared.value)
        return imap(do, items, self.threads, ahead=self.threads + MAX_WAITING)

    def sees(self, files: Sequence[str]) -> bool:
        """Return whether all workers can read the given files directly."""
        return not any(file.startswith("memory://") for file in files)

    def forget(self, shared: Shared) -> None:
        """Release the memory of a shared value."""
        shared.__dict__.pop("value", None)

    def hold(self, parts: Sequence[Any], *, cost: Callable[[Any], float] = lambda _: 1.0) -> Any:
        """Distribute data partitions to the workers in proportion to the estimated cost of each partition."""
        del cost
        return parts

    def map(
        self, work: Callable[[Any, Any, Any, int], Any], held: Any, given: Any, own: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return ``work(part, given, value for this part, threads)`` of each distributed partition, in order."""
        both = zip(held, [None] * len(held) if own is None else own, strict=True)
        return [work(part, given, mine, self.threads) for part, mine in both]

    def reduce(self, work: Work, held: Any, given: Any, *, callback: Callable[[], None] = lambda: None) -> Sum:
        """Sum ``work(part, given, threads)`` over all distributed partitions; ``callback`` is called once per part."""
        tree, inside = SumTree(), max(1, self.threads // len(held))
        for leaf in imap(lambda part: work(part, given, inside), held, self.threads):
            tree.add(leaf)
            callback()
        return tree.total()


_CLUSTER: ContextVar[Executor | None] = ContextVar("cluster", default=None)


def cluster() -> Executor | None:
    """Return the active cluster executor, or None; see :func:`polyadic.core.executor.dask.working_on`."""
    return _CLUSTER.get()


def spans(starts: AnyArray, number: int) -> list[slice]:
    """Split items of cost ``starts[i + 1] - starts[i]`` into at most ``number`` consecutive slices of similar cost."""
    shares = np.linspace(0, starts[-1], number + 1)[1:-1]
    nearest = np.searchsorted((starts[1:] + starts[:-1]) / 2, shares).tolist()
    return [slice(first, last) for first, last in pairwise(sorted({0, *nearest, len(starts) - 1}))] or [slice(0, 0)]


def get_executor(threads: int) -> Executor:
    """Return the active cluster executor, or a local executor with the given number of threads."""
    return cluster() or Executor(threads)


class ProcessExecutor(Executor):
    """Executor that runs Python functions in processes of this machine, and compiled code in threads."""

    def __init__(self, processes: int | None) -> None:
        from loky import cpu_count

        super().__init__(processes or cpu_count())

    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """Apply a function to each item in parallel processes, and yield the results in order; lambdas are allowed."""
        # Not joblib.Parallel: it iterates over the items in another thread, which some iterators (database cursors) do
        # not allow, and it leaves its workers running. loky pickles lambdas and needs no __main__ guard.
        from loky import ProcessPoolExecutor
        from loky.process_executor import PicklingError

        given = () if shared is None else (shared.value,)
        pool = ProcessPoolExecutor(max_workers=self.threads, initializer=_end_with_parent)
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


def _end_with_parent() -> None:
    """End a worker process soon after the process that started it, which may be killed without a chance to say so."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class RowBlock(NamedTuple):
    """Block of rows of a sparse matrix in CSR format, with several values per entry in the arrays ``listed``."""

    starts: AnyArray
    columns: AnyArray
    listed: tuple[AnyArray, ...]


class RowBlocks:
    """Sparse matrix split by rows into one block per worker, with similar numbers of entries per block.

    A block receives the rows of the right factor that its columns need, or all where one broadcast copy is cheaper.
    """

    def __init__(self, rows: RowBlock, columns: int, executor: Executor) -> None:
        self._spans, self._executor = spans(rows.starts, executor.size), executor
        blocks = [_block(rows, span) for span in self._spans]
        self._needed: list[AnyArray] | None = None
        if len(blocks) > 1:
            needed, renamed = zip(*(np.unique(block.columns, return_inverse=True) for block in blocks), strict=True)
            if sum(map(len, needed)) <= executor.copies * columns:
                self._needed = list(needed)
                blocks = [b._replace(columns=at.astype(b.columns.dtype)) for b, at in zip(blocks, renamed, strict=True)]
        self._held = executor.hold(blocks)

    def map(
        self, work: Callable[..., AnyArray], V: AnyArray, *, given: Any = None, before: AnyArray | None = None
    ) -> AnyArray:
        """Apply a function to each block and the matching rows of a matrix, and concatenate the results."""
        rows: list[Any] = [None] * len(self._spans) if self._needed is None else [V[needed] for needed in self._needed]
        own = [(mine, None if before is None else before[at]) for mine, at in zip(rows, self._spans, strict=True)]
        shared = V if self._needed is None else None, given
        parts = self._executor.map(partial(_with_rows, work), self._held, shared, own)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _block(rows: RowBlock, span: slice) -> RowBlock:
    starts = rows.starts[span.start : span.stop + 1]
    some = slice(int(starts[0]), int(starts[-1]))
    return RowBlock(starts - starts[0], rows.columns[some], tuple(array[some] for array in rows.listed))


def _with_rows(work: Callable[..., AnyArray], block: RowBlock, shared: Any, own: Any, threads: int) -> AnyArray:
    (V, given), (mine, before) = shared, own
    return work(block, V if mine is None else mine, given, before, threads)
