"""Processor cores, memory limits, and handling of Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

from polyadic.core.errors import InputError, check_int


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MAX_THREADS = 1024  # maximum number of threads: each needs memory for a stack


def thread_count(threads: int | None) -> int:
    """Validate the number of threads; return the number of cores if ``threads`` is None."""
    return cores() if threads is None else check_int("threads", threads, low=1, high=MAX_THREADS)


SYSTEM = Path("/")
GROUPS = {
    2: ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    1: ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Linux control groups by version: folder, and the files or fields of limit, usage and reclaimable cache."""

_BOUND: ContextVar[int | None] = ContextVar("memory", default=None)


def free_memory() -> int | None:
    """Return the free memory in bytes, within container and configured limits, or None if unknown."""
    bound, held = _BOUND.get(), current_memory()
    left = [] if bound is None or held is None else [max(bound - (held << 20), 0)]
    free = [_installed("MemAvailable")] if _installed("MemAvailable") else []
    return min([*free, *left, *(left for _, left in _groups())], default=None)


MEMORY_SHARE = 0.9  # share of the free memory to use; the rest is left to other processes
MIN_MEMORY = 256 << 20  # bytes that the program and its libraries need at start


@contextlib.contextmanager
def memory_limit(bound: int | None, *, enforced: bool = True) -> Iterator[None]:
    """Context manager that limits the memory of this process, by default to the free memory.

    Exceeding it raises MemoryError. Linux enforces the limit on all writable memory; elsewhere, and unless
    ``enforced``, only :func:`check_memory` respects it. A limit below what the program itself needs is an InputError.
    """
    if bound is not None and bound < MIN_MEMORY and enforced:
        raise InputError(f"memory must be at least {MIN_MEMORY >> 20} MiB, because the program itself needs that much")
    most = bound
    if bound is None and (free := free_memory()) is not None:
        most = int(MEMORY_SHARE * (free + _installed("SwapFree"))) + MIN_MEMORY
    before = _BOUND.set(bound)
    try:
        if not enforced or most is None or sys.platform != "linux":
            yield
            return
        import resource

        import numpy as np

        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        known = [limit for limit in (min(most, sys.maxsize), soft, hard) if limit != resource.RLIM_INFINITY]
        if bound is not None:
            _ = np.ones((256, 256)) @ np.ones((256, 256))  # BLAS allocates now: a later failure would end the process
        resource.setrlimit(resource.RLIMIT_DATA, (min(known), hard))
        try:
            yield
        except MemoryError as error:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
            reason = f" ({error})" if str(error) else ""
            raise MemoryError(f"the memory limit of {min(known) >> 20:,} MiB was exceeded{reason}") from None
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    finally:
        _BOUND.reset(before)


def _installed(*names: str) -> int:
    """Return the sum of the named fields of ``/proc/meminfo``, in bytes."""
    try:
        lines = (SYSTEM / "proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.split(":")[0] in names)


def _groups() -> Iterator[tuple[int, int]]:
    """Yield the memory limit and free memory of each control group of this process, in bytes."""
    try:
        rows = [row.split(":", 2) for row in (SYSTEM / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return
    for _, controllers, group in rows:
        version = 2 if not controllers else 1 if "memory" in controllers.split(",") else 0
        if not version:
            continue
        mount, limit, used, cached = GROUPS[version]
        own = Path(group.lstrip("/"))
        for place in (own, *own.parents):  # a container may see its own group as the root
            folder = SYSTEM / mount / place
            with contextlib.suppress(OSError, ValueError):  # no such folder, or the limit is "max"
                most, now = (int((folder / name).read_text(encoding="ascii")) for name in (limit, used))
                known = dict(row.split() for row in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
                yield most, max(most - now + int(known.get(cached, 0)), 0)


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise InputError, with a ``remedy``, if fewer than the bytes ``needed`` for ``what`` are free."""
    free = free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"{what} needs {needed / 2**20:,.0f} MiB of memory, but only {free / 2**20:,.0f} MiB are free; {remedy}"
        )


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the ``with`` block; child processes started in the block ignore Ctrl-C.

    Child processes inherit the blocked signal. In this process another thread may still receive it, and Python then
    calls the handler in the main thread; so the handler is replaced as well.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # if loky started it below, it would unblock the signal
    heard: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and handler not in (None, signal.SIG_IGN)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        if mine:
            signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if mine:
            signal.signal(signal.SIGINT, handler)
            if heard:
                signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def reraised_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the ``with`` block if Ctrl-C was pressed, even if it was handled.

    >>> import signal
    >>> try:
    ...     with reraised_interrupts():
    ...         with contextlib.suppress(KeyboardInterrupt):
    ...             signal.raise_signal(signal.SIGINT)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
        yield
        return
    heard = False

    def wrapped(handler: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], None]:
        def hear(number: int, frame: FrameType | None) -> None:
            nonlocal heard
            heard = True
            handler(number, frame)

        return hear

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number, handler in before.items():
        signal.signal(number, wrapped(handler))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if heard:
        raise KeyboardInterrupt


def current_memory() -> int | None:
    """Return the current memory of this process in MiB, or None if unknown."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:")), None)
