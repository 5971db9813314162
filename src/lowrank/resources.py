"""What this machine has: cores and memory, asked before work starts."""

from __future__ import annotations

import os
from pathlib import Path

from lowrank.errors import InputError


def cores() -> int:
    """Give the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int | None:
    """Give the bytes that can be had without swapping, or None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


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
    lowrank.errors.InputError: a model of rank 10,000 needs 1,099,511,627,776 MiB of memory and ...; lower the rank
    """
    free = free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"{what} needs {needed / 2**20:,.0f} MiB of memory and {free / 2**20:,.0f} MiB are free; {remedy}"
        )
