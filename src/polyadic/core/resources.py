"""What this machine has: cores and memory, asked before work starts."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


def cores() -> int:
    """Give the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MOST_THREADS = 1024
"""Threads that may be asked for; a stack of each takes memory."""
SYSTEM = Path("/")
GROUPS = {
    2: ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    1: ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Of Linux's control groups, by version: where they are, the limit, what is used, what of that can be had back."""


_BOUND: ContextVar[int | None] = ContextVar("memory", default=None)


def free_memory() -> int | None:
    """Give the bytes that can be had without swapping, in this container and bound too; None where no system tells."""
    bound, held = _BOUND.get(), held_memory()
    left = [] if bound is None or held is None else [max(bound - (held << 20), 0)]
    free = [_installed("MemAvailable")] if _installed("MemAvailable") else []
    return min([*free, *left, *(left for _, left in _groups())], default=None)


FOR_US = 0.9
"""Of what is free; the rest is for what other processes take meanwhile."""
LEAST = 256 << 20
"""Bytes that the program and its libraries take before they do anything."""


@contextlib.contextmanager
def memory_below(bound: int | None, *, enforced: bool = True) -> Iterator[None]:
    """Keep this process below ``bound`` bytes, by default below what there is: what needs more gets a MemoryError.

    Linux enforces it, on all memory that can be written to: then nothing is killed because it asked for too much.
    Elsewhere, and if it is not ``enforced``, :func:`check_memory` alone goes by it.

    Raises
    ------
    InputError
        If the program itself needs more.
    """
    if bound is not None and bound < LEAST and enforced:
        raise InputError(f"memory must be {LEAST >> 20} MiB at least, which the program itself takes")
    most = bound
    if bound is None and (free := free_memory()) is not None:
        most = int(FOR_US * (free + _installed("SwapFree"))) + LEAST
    before = _BOUND.set(bound)
    try:
        if not enforced or most is None or sys.platform != "linux":
            yield
            return
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        known = [limit for limit in (min(most, sys.maxsize), soft, hard) if limit != resource.RLIM_INFINITY]
        if bound is not None:
            _take_buffers()
        resource.setrlimit(resource.RLIMIT_DATA, (min(known), hard))
        try:
            yield
        except MemoryError as error:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
            reason = f" ({error})" if str(error) else ""
            raise MemoryError(f"this needs more than the {min(known) >> 20:,} MiB it may have{reason}") from None
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    finally:
        _BOUND.reset(before)


def _take_buffers() -> None:
    """Let BLAS take what it works in, once and for all its threads: if it could not later, it would end the process."""
    import numpy as np

    some = np.ones((256, 256))
    _ = some @ some


def _installed(*names: str) -> int:
    """Add what Linux tells of memory under some names, in bytes."""
    try:
        lines = (SYSTEM / "proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.split(":")[0] in names)


def _groups() -> Iterator[tuple[int, int]]:
    """Give the limit of each control group of this process that has one, and what it leaves, in bytes."""
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
        for place in (own, *own.parents):  # a container may see its own as the root
            folder = SYSTEM / mount / place
            with contextlib.suppress(OSError, ValueError):  # there is none, or its limit is "max"
                most, now = (int((folder / name).read_text(encoding="ascii")) for name in (limit, used))
                known = dict(row.split() for row in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
                yield most, max(most - now + int(known.get(cached, 0)), 0)


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse work that would not fit.

    Parameters
    ----------
    needed : float
        Bytes.
    what, remedy : str
        What needs them, and what to do about it.

    Raises
    ------
    InputError
        If less is free.

    Examples
    --------
    >>> check_memory(2.0**60, "a model of rank 10,000", "lower the rank")
    Traceback (most recent call last):
    polyadic.core.errors.InputError: a model of rank 10,000 needs 1,099,511,627,776 MiB of memory and ...; lower the
    rank
    """
    free = free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"{what} needs {needed / 2**20:,.0f} MiB of memory and {free / 2**20:,.0f} MiB are free; {remedy}"
        )


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back for the moment, and for ever in processes that start meanwhile: the parent ends them quietly.

    Blocking the signal keeps it from those processes, but not from here: another thread, such as one of a library's,
    may take it, and Python then calls the handler in the main thread all the same. So there it is taken note of.

    Examples
    --------
    >>> import signal
    >>> try:
    ...     with interrupts_held():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("held")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    held
    interrupted
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # starting it below, as loky does, would let Ctrl-C through again
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
def interrupts_told() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of a body that took note of Ctrl-C and went on, as fits do.

    Examples
    --------
    >>> import signal
    >>> try:
    ...     with interrupts_told():
    ...         with contextlib.suppress(KeyboardInterrupt):
    ...             signal.raise_signal(signal.SIGINT)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
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


def held_memory() -> int | None:
    """Give the memory that this process holds now, in MiB; None where the system does not tell."""
    return _status("VmRSS")


def _status(name: str) -> int | None:
    """Read an amount of memory that Linux tells of this process, in MiB."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith(f"{name}:")), None)


def peak_memory() -> int | None:
    """Give the most memory that this process ever held, in MiB, or None where the system does not tell."""
    peak = _status("VmHWM")
    if peak is not None:  # what getrusage says begins with the memory of the process that started this one
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 20 if sys.platform == "darwin" else peak // 1024
