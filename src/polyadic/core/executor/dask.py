"""Executor for a Dask cluster, with data placement, transfers and recovery from lost workers.

Nothing is shuffled, and nothing large passes through the scheduler: shared values travel from worker to worker, parts
stay where they were put, and each worker sends one set of arrays per sum. Parts of a lost worker are sent to another
one and the sum is repeated; Dask itself repeats results of single items.

Results are bit-identical to those of one machine if all processors are of one kind.
"""

from __future__ import annotations

import hashlib
import json
import logging
import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, needing
from polyadic.core.executor import _CLUSTER, MAX_WAITING, Executor, Shared, Sum, Work, added, spans
from polyadic.core.kernels.common import in_window
from polyadic.core.resources import deferred_interrupts
from polyadic.core.urls import states_of

MAX_ATTEMPTS = 4  # attempts at a sum, or at sending an item, when workers are lost
CONNECT_TIMEOUT, JOIN_TIMEOUT = 10.0, 30.0
"""Seconds to wait for a scheduler, and for a worker if there is none."""
LOCAL_SETTINGS: dict[str, object] = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.deploy.lost-worker-timeout": "1 day",
}
"""Dask settings of a local cluster. By default Dask returns freed memory at once, so that every page of a new array
faults, which makes counting a sixth slower; and it gives up a worker fifteen seconds after a lost connection, although
the worker may have reconnected.
"""
MEMORY_SHARE = 0.6  # share of a worker's memory that parts may take; the rest is for factors, gradients and the library


@contextmanager
def working_on(where: Any = None, *, workers: int | None = None) -> Iterator[DaskExecutor]:
    """Context manager that runs text encoding, counting and objective evaluations on a Dask cluster.

    ``where`` is a client, the address of a scheduler (``"tcp://10.0.0.1:8786"``) or its scheduler file; without one,
    ``workers`` local processes are started. A missing scheduler and other versions on workers are InputErrors.
    """
    with needing("distributed", "distributed", "work on a cluster"):
        import dask
        from distributed import Client, LocalCluster
    if (where is None) == (workers is None):
        raise InputError("specify either a scheduler or a number of local workers, but not both")
    with ExitStack() as stack:
        client = where
        if workers is not None:
            stack.enter_context(dask.config.set(LOCAL_SETTINGS))
            with deferred_interrupts():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address="127.0.0.1:0",  # any port: two clusters may run
                        silence_logs=logging.CRITICAL,
                    )
                )
            client = stack.enter_context(Client(cluster))
        elif isinstance(where, str):
            try:
                file = Path(where)
                address = json.loads(file.read_text(encoding="utf-8"))["address"] if file.is_file() else where
                client = stack.enter_context(Client(address, timeout=CONNECT_TIMEOUT))
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise InputError(f"cannot connect to a scheduler at {where}: {error}") from None
        executor = DaskExecutor(client)
        token = _CLUSTER.set(executor)
        try:
            yield executor
        finally:
            _CLUSTER.reset(token)


class WorkerLostError(Exception):
    """Exception raised if a Dask worker is lost during a transfer or before it returns a result."""


def with_retries(work: Callable[[], Any]) -> Any:
    """Call a function, and retry if a worker is lost; raise InputError after ``MAX_ATTEMPTS`` attempts."""
    for left in reversed(range(MAX_ATTEMPTS)):
        try:
            return work()
        except WorkerLostError as error:
            if not left:
                raise InputError(
                    f"a task failed after {MAX_ATTEMPTS} attempts because workers were lost: {error.__cause__}"
                ) from error
    raise AssertionError  # the last attempt returns or raises


class Held(NamedTuple):
    """Partitions held by workers, those of a worker consecutive, with the future, worker and cost of each."""

    parts: Sequence[Any]
    futures: list[Any]
    owners: list[str]
    costs: Array


class DaskExecutor(Executor):
    """Executor that runs work on a Dask cluster, and records in ``used`` whether any work was sent to the cluster."""

    grain = 16

    def __init__(self, client: Any) -> None:
        self.client, self.used = client, False
        self._known: dict[tuple[str, str], Any] = {}
        self._sent: dict[str, Any] = {}
        self._check()

    def imap(self, work: Callable[..., Any], items: Iterable[Any], *, shared: Shared | None = None) -> Iterator[Any]:
        """Apply a function to each item on the cluster, and yield the results in order."""
        self.used = True
        ahead = MAX_WAITING * max(sum(self._threads().values()), 1) + MAX_WAITING
        for sent in in_window(partial(_Sent, self, work, shared), items, ahead, cancel=True):
            yield sent.result()

    def sees(self, files: Sequence[str]) -> bool:
        """Return whether all workers see the same files, comparing sizes and modification times."""
        here = _stamp(files)
        return here is not None and all(there == here for there in self.client.run(_stamp, files).values())

    def forget(self, shared: Shared) -> None:
        """Release the memory of a shared value on all workers."""
        self._sent.pop(shared.key, None)
        self.client.run(_forget, shared.key, on_error="ignore")  # some workers may be lost

    def hold(self, parts: Sequence[Any], *, cost: Callable[[Any], float] = lambda _: 1.0) -> Held:
        """Distribute data partitions to the workers by cost, reusing unchanged partitions of the previous call."""
        from dask.base import tokenize

        self.used = True
        costs = np.array([cost(part) for part in parts])
        owners = self._owners(costs)
        sizes = [_size(part) for part in parts]
        limits = {address: worker["memory_limit"] for address, worker in self.workers().items()}
        for owner in dict.fromkeys(owners):
            size = sum(n for n, other in zip(sizes, owners, strict=True) if other == owner)
            if limits.get(owner) and size > MEMORY_SHARE * limits[owner]:
                raise InputError(
                    f"worker {owner} has {limits[owner] >> 20:,} MiB of memory, but {size >> 20:,} MiB are required;"
                    " use more workers, or workers with more memory"
                )
        marks = [(tokenize(part), owner) for part, owner in zip(parts, owners, strict=True)]
        futures = [self._known.get(mark) or self.put(part, [mark[1]]) for mark, part in zip(marks, parts, strict=True)]
        self._known = dict(zip(marks, futures, strict=True))
        return Held(parts, futures, owners, costs)

    @property
    def size(self) -> int:  # type: ignore[override]
        """Current number of workers."""
        return len(self.workers())

    def map(
        self, work: Callable[[Any, Any, Any, int], Any], held: Held, given: Any, own: Sequence[Any] | None = None
    ) -> list[Any]:
        """Apply a function to each distributed partition; the partitions of a lost worker are sent to other workers."""
        owned = [None] * len(held.parts) if own is None else [(mine,) for mine in own]

        def made() -> list[Any]:
            self._repair(held)
            threads, copies = self._threads(), self._copies(given, held.owners)
            futures = [
                self._submit(
                    work, (part, copies[owner], mine and self.put(mine[0], [owner]), threads.get(owner, 1)), owner
                )
                for part, owner, mine in zip(held.futures, held.owners, owned, strict=True)
            ]
            return [_own(self.take(future)) for future in futures]

        return with_retries(made)

    def reduce(self, work: Work, held: Held, given: Any, *, callback: Callable[[], None] = lambda: None) -> Sum:
        """Apply a function to each distributed partition and sum the results, even if workers are lost."""
        total: Sum = with_retries(lambda: self._total(work, held, given))
        for _ in held.parts:
            callback()
        return total

    def put(self, value: Any, where: list[str] | None = None) -> Any:
        """Send a value directly to a worker and return its future; raise WorkerLostError if the worker is lost."""
        try:
            return self.client.scatter([_portable(value)], workers=where, hash=False, direct=True)[0]
        except (OSError, TimeoutError, KeyError, ValueError) as error:
            raise WorkerLostError from error

    def parts_of(self, shared: Shared) -> Any:
        """Send the arguments of a shared value to a worker, unless already sent, and return their future."""
        known = self._sent.get(shared.key)
        if known is None or known.status != "finished":
            known = self._sent[shared.key] = self.put(shared.parts)
        return known

    def take(self, future: Any) -> Any:
        """Return the result of a future; raise WorkerLostError, or InputError if the task killed several workers."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            return self.client.gather(future, direct=True)  # not through the scheduler
        except CancelledError as error:
            raise WorkerLostError from error
        except KilledWorker as error:
            raise InputError(
                f"a task killed several workers, possibly because they ran out of memory: {error}"
            ) from None

    def _total(self, work: Work, held: Held, given: Any) -> Sum:
        """Sum the results within each worker, then across workers along a binary tree."""
        self._repair(held)
        threads, copies = self._threads(), self._copies(given, held.owners)
        sums: dict[tuple[int, int], tuple[Any, str]] = {}
        for owner, first, last in _runs(held.owners):
            for low, high in nodes_within(len(held.parts), first, last):
                arguments = (work, threads.get(owner, 1), copies[owner], *held.futures[low:high])
                sums[low, high] = self._submit(_node, arguments, owner), owner
        total: Sum = self.take(self._node(sums, 0, len(held.parts))[0])
        return Sum(total.value, [_own(array) for array in total.arrays])

    def _node(self, sums: Mapping[tuple[int, int], tuple[Any, str]], low: int, high: int) -> tuple[Any, str]:
        """Return the future of the sum at a tree node, and the worker that computes the sum."""
        if (low, high) in sums:
            return sums[low, high]
        middle = low + half(high - low)
        (left, owner), (right, _) = self._node(sums, low, middle), self._node(sums, middle, high)
        return self._submit(_joined, (left, right), owner), owner

    def _copies(self, given: Any, owners: Sequence[str]) -> dict[str, Any]:
        """Broadcast a value along a binary tree of workers."""
        first, *others = dict.fromkeys(owners)
        sent = [self.put(given, [first])]
        for k, owner in enumerate(others):
            sent.append(self._submit(lambda value: value, (sent[k // 2],), owner))  # Dask copies it there
        return dict(zip([first, *others], sent, strict=True))

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...], owner: str) -> Any:
        return self.client.submit(function, *arguments, workers=[owner], pure=False)

    def _repair(self, held: Held) -> None:
        """Send the partitions of lost workers to the remaining workers."""
        there = self.workers()
        both = enumerate(zip(held.futures, held.owners, strict=True))
        lost = [k for k, (future, owner) in both if future.status != "finished" or owner not in there]
        heirs = self._owners(held.costs) if lost else []
        for k in lost:
            held.owners[k] = heirs[k]
            held.futures[k] = self.put(held.parts[k], [heirs[k]])

    def _owners(self, costs: Array) -> list[str]:
        """Assign consecutive partitions to workers by cost, and return the worker of each partition."""
        addresses = sorted(self.workers())
        runs = spans(np.concatenate([[0], np.cumsum(costs)]), len(addresses))
        return [address for address, run in zip(addresses, runs, strict=False) for _ in range(run.start, run.stop)]

    def workers(self) -> dict[str, Any]:
        """Return information about each worker, waiting until at least one worker has connected."""
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            try:
                self.client.wait_for_workers(1, timeout=JOIN_TIMEOUT)
            except TimeoutError:
                raise InputError(
                    f"no worker connected to the scheduler within {JOIN_TIMEOUT:.0f} s; start a worker"
                ) from None
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _threads(self) -> dict[str, int]:
        return {address: int(worker["nthreads"]) for address, worker in self.workers().items()}

    def _check(self) -> None:
        """Raise InputError if a worker has different versions of Python, polyadic, numpy or numba."""
        self.workers()
        here = _versions()
        for address, there in sorted(self.client.run(_versions).items()):
            if other := next((name for name in here if here[name] != there.get(name)), None):
                raise InputError(
                    f"worker {address} has {other} {there.get(other, 'none')}, but this machine has {here[other]};"
                    " install the same version on both"
                )


class _Sent:
    """Pending ``imap`` task on a Dask cluster, which is resubmitted if its worker is lost."""

    def __init__(self, executor: DaskExecutor, work: Callable[..., Any], shared: Shared | None, item: Any) -> None:
        self._executor, self._work, self._shared, self._item = executor, work, shared, item
        self._future = with_retries(self._send)

    def _send(self) -> Any:
        executor, shared = self._executor, self._shared
        item = executor.put(self._item) if _size(self._item) else self._item
        if shared is None:
            return executor.client.submit(self._work, item, pure=False)
        made = shared.make, shared.key, executor.parts_of(shared)
        return executor.client.submit(_with_made, self._work, *made, item, pure=False)

    def result(self) -> Any:
        """Wait for the result of the task; resubmit the task if its worker was lost."""
        try:
            return self._executor.take(self._future)
        except WorkerLostError:
            return with_retries(lambda: self._executor.take(self._send()))

    def cancel(self) -> None:
        """Cancel the task."""
        self._future.cancel()


def half(n: int) -> int:
    """Return the size of the left subtree of a tree with ``n`` leaves: the largest power of two below ``n``."""
    return 1 << (n - 1).bit_length() - 1


def nodes_within(leaves: int, first: int, last: int, *, low: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the largest subtrees whose leaves all lie between ``first`` and ``last``, as pairs (start, stop)."""
    high = low + leaves
    if first <= low and high <= last:
        yield low, high
    elif low < last and first < high and leaves > 1:
        left = half(leaves)
        yield from nodes_within(left, first, last, low=low)
        yield from nodes_within(leaves - left, first, last, low=low + left)


def _runs(owners: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each worker with the range of partitions that it holds, as tuples (worker, start, stop)."""
    first = 0
    for k in range(1, len(owners) + 1):
        if k == len(owners) or owners[k] != owners[first]:
            yield owners[first], first, k
            first = k


def _node(work: Work, threads: int, given: Any, *parts: Any) -> Sum:
    """Compute the results of consecutive partitions, and return their sum."""
    return Executor(threads).reduce(work, parts, [_own(factor) for factor in given] if type(given) is list else given)


def _joined(left: Sum, right: Sum) -> Sum:
    """Return the sum of two results without modifying either of them."""
    return added(Sum(left.value, [None if array is None else np.array(array) for array in left.arrays]), right)


_MAKING = threading.Lock()


def _with_made(work: Callable[..., Any], make: Callable[..., Any], key: str, parts: tuple[Any, ...], item: Any) -> Any:
    """Apply a function to an item and a shared value, which each worker builds on first use and caches."""
    from distributed import get_worker

    worker = get_worker()
    with _MAKING:
        made = worker.__dict__.setdefault("_polyadic", {})
        if key not in made:
            made.clear()
            made[key] = make(*parts)
        value = made[key]
    return work(value, item)


def _forget(key: str, dask_worker: Any) -> None:
    """Remove a shared value from the cache of a worker, which Dask passes as ``dask_worker``."""
    dask_worker.__dict__.get("_polyadic", {}).pop(key, None)


def _portable(value: Any) -> Any:
    """Convert memory maps and other array subclasses to plain arrays, recursively in lists and tuples."""
    if isinstance(value, np.ndarray):
        return np.array(value, order="K", subok=False)
    if isinstance(value, tuple):
        items = [_portable(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return [_portable(item) for item in value] if type(value) is list else value


def _own(value: Any) -> Any:
    """Copy an array received from another process, because it is read-only and its alignment may affect rounding."""
    return np.array(value) if isinstance(value, np.ndarray) else value


def _size(value: Any) -> int:
    """Return the total size of the arrays and strings in a nested value, in bytes."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, str):
        return len(value)
    return sum(map(_size, value)) if isinstance(value, (tuple, list)) else 0


def _stamp(paths: Sequence[str]) -> str | None:
    """Return a hash of the sizes and modification times of files, or None if a file cannot be read."""
    try:
        states = states_of(paths, anew=True)  # a worker may have cached older states
    except (OSError, InputError, ImportError):  # the client reads them itself and reports the error
        return None
    return hashlib.blake2b(repr(states).encode(), digest_size=16).hexdigest()


def _versions() -> dict[str, str]:
    import importlib.metadata as installed

    packages = {name: installed.version(name) for name in ("polyadic", "numpy", "numba")}
    return {"Python": platform.python_version(), **packages}
