r"""Who works on parts: threads and processes of this machine, or the workers of a Dask cluster, with the same bits.

A few verbs suffice. ``imap`` gives the results of a pure function of one item after another, whoever is free taking
the next. ``hold`` puts parts where they stay. ``each`` gives what a pure function makes of every part held and of what
is sent to all; ``total`` adds it along a fixed tree,

.. math:: \big((t_0 + t_1) + (t_2 + t_3)\big) + \big((t_4 + t_5) + t_6\big),

so that the sum has the same bits whoever adds, on however many machines. How many parts there are does not depend on
the workers either.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.kernels.common import in_turns
from polyadic.core.resources import interrupts_held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

WAITING = 2
"""Results that may be ready before it is their turn, beside those being made."""


class Sum(NamedTuple):
    """A number and arrays, which are added one by one.

    Attributes
    ----------
    value : float
    arrays : list of ndarray or None
        None stands for zeros.
    """

    value: float
    arrays: list[NDArray[Any] | None]


def added(left: Sum, right: Sum) -> Sum:
    """Add two sums; the arrays of the left one become the result."""
    arrays: list[NDArray[Any] | None] = []
    for a, b in zip(left.arrays, right.arrays, strict=True):
        arrays.append(b if a is None else a if b is None else np.add(a, b, out=a))
    return Sum(left.value + right.value, arrays)


class Tree:
    """Adds sums that come one after another along the tree, and holds few of them.

    Examples
    --------
    >>> tree = Tree()
    >>> for number in (1.0, 2.0, 3.0):
    ...     tree.add(Sum(number, []))
    >>> tree.total().value
    6.0
    """

    def __init__(self) -> None:
        self._nodes: list[tuple[int, Sum]] = []

    def add(self, leaf: Sum) -> None:
        """Add the next leaf, and whatever is of one size then."""
        self._nodes.append((1, leaf))
        while len(self._nodes) > 1 and self._nodes[-2][0] == self._nodes[-1][0]:
            self._join()

    def total(self) -> Sum:
        """Give the sum of all."""
        while len(self._nodes) > 1:
            self._join()
        return self._nodes[0][1]

    def _join(self) -> None:
        (n, left), (m, right) = self._nodes[-2:]
        self._nodes[-2:] = [(n + m, added(left, right))]


class Shared:
    """A value that all workers need, which each makes of what is sent to it, and keeps until another one is needed.

    Parameters
    ----------
    make : callable
        Makes it: a function of this library.
    *parts
        What of.
    """

    def __init__(self, make: Callable[..., Any], *parts: Any) -> None:
        self.make, self.parts, self.key = make, parts, uuid.uuid4().hex

    @cached_property
    def value(self) -> Any:
        """What is made, here."""
        return self.make(*self.parts)


class Executor(ABC):
    """Those who work.

    Attributes
    ----------
    size : int
        How many hold parts of their own.
    grain : int
        How many times the work of a thread's turn a piece should be, so that sending it costs little beside.
    """

    size: int
    grain: int = 1

    @property
    def copies(self) -> int:
        """How many copies of what all need are sent one after another until all have it: two for each level of a tree.

        (:meth:`map` and :meth:`reduce` pass them on along it.)
        """
        return 2 * self.size.bit_length()

    @abstractmethod
    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """Give ``work(item)``, or ``work(shared value, item)``, of each item, in their order; a few are made ahead."""

    def sees(self, files: Sequence[str]) -> bool:
        """Whether each of them sees the same files, and can read them itself; processes of this machine do."""
        return not any(file.startswith("memory://") for file in files)

    @abstractmethod
    def forget(self, shared: Shared) -> None:
        """Let go of what is shared, as nobody needs it any more."""

    @abstractmethod
    def hold(self, parts: Sequence[Any], *, cost: Callable[[Any], float] = lambda _: 1.0) -> Any:
        """Put parts where they stay, for :meth:`reduce`; ``cost`` says what one takes beside another."""

    @abstractmethod
    def map(
        self, work: Callable[[Any, Any, Any, int], Any], held: Any, given: Any, own: Sequence[Any] | None = None
    ) -> list[Any]:
        """Give ``work(part, given, own of the part, threads)`` of all parts held."""

    @abstractmethod
    def reduce(
        self,
        work: Callable[[Any, Any, int], Sum],
        held: Any,
        given: Any,
        *,
        callback: Callable[[], None] = lambda: None,
    ) -> Sum:
        """Add ``work(part, given, threads)`` of all parts held; ``callback`` is called after each, or at the end."""


_CLUSTER: ContextVar[Executor | None] = ContextVar("cluster", default=None)


def cluster() -> Executor | None:
    """Give the cluster that work goes to (:func:`polyadic.core.executor.dask.working_on`); None for this machine."""
    return _CLUSTER.get()


def spans(starts: NDArray[Any], number: int) -> list[slice]:
    """Cut what costs ``starts[i + 1] - starts[i]`` each into so many runs that cost about the same, or fewer, but one.

    Examples
    --------
    >>> spans(np.array([0, 4, 5, 6, 8]), 2)
    [slice(0, 1, None), slice(1, 4, None)]
    """
    shares = np.linspace(0, starts[-1], number + 1)[1:-1]
    nearest = np.searchsorted((starts[1:] + starts[:-1]) / 2, shares).tolist()
    return [slice(first, last) for first, last in pairwise(sorted({0, *nearest, len(starts) - 1}))] or [slice(0, 0)]


def get_executor(threads: int) -> Executor:
    """Give the cluster that work goes to, or so many threads of this process."""
    return cluster() or ThreadExecutor(threads)


class ThreadExecutor(Executor):
    """Threads of this process, which share all there is."""

    size = 1

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """See :class:`Executor`."""
        given = () if shared is None else (shared.value,)
        pool = ThreadPoolExecutor(self.threads)
        waiting: deque[Any] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, *given, item))
                if len(waiting) == self.threads + WAITING:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def forget(self, shared: Shared) -> None:
        """See :class:`Executor`."""
        shared.__dict__.pop("value", None)

    def hold(self, parts: Sequence[Any], *, cost: Callable[[Any], float] = lambda _: 1.0) -> Sequence[Any]:
        """Give them back."""
        del cost
        return parts

    def map(
        self, work: Callable[[Any, Any, Any, int], Any], held: Any, given: Any, own: Sequence[Any] | None = None
    ) -> list[Any]:
        """See :class:`Executor`; one after another, each in all threads."""
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
        """See :class:`Executor`; several parts at a time, of one thread each where there are as many as threads."""
        tree, inside = Tree(), max(1, self.threads // len(held))

        def take(leaf: Sum) -> None:
            tree.add(leaf)
            callback()

        in_turns(lambda k: work(held[k], given, inside), take, len(held), self.threads)
        return tree.total()


class ProcessExecutor(ThreadExecutor):
    """Processes of this machine for what python computes, in order; threads for the rest."""

    def __init__(self, processes: int | None) -> None:
        from loky import cpu_count

        super().__init__(processes or cpu_count())

    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """See :class:`Executor`; functions of any kind, lambdas too."""
        # A pool of our own rather than joblib.Parallel, which would draw from the items in a thread of its own (some
        # iterators, such as database cursors, refuse that) and leave its workers behind. loky sends lambdas and needs
        # no __main__ guard.
        from loky import ProcessPoolExecutor
        from loky.process_executor import PicklingError

        given = () if shared is None else (shared.value,)
        pool = ProcessPoolExecutor(max_workers=self.threads)
        finished = False
        try:
            waiting: deque[Any] = deque()
            for item in items:
                with interrupts_held():
                    waiting.append(pool.submit(work, *given, item))
                if len(waiting) > WAITING * self.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            finished = True
        except PicklingError as error:
            raise InputError(f"this cannot be sent to other processes ({error}); ask for jobs=1") from error
        finally:
            pool.shutdown(wait=True, kill_workers=not finished)
