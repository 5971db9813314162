"""Nanoseconds per entry of one full gradient of the symmetric squared loss, on counted text.

COUNTS is made by `polyadic count`. The general path, with the loss outside the kernel, is timed on few entries. Row
traffic is what the loop reads and writes of rows and gradients: three rows for a leaf and three for each fibre. For
comparison, the throughput of `a += b` for matrices of one megabyte and of the size of the factors is shown.
"""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from experiments.bench.common import alternate, associations
from polyadic import CP, L2, Objective, Squared, Term

ROUNDS = 3


def fibres(entries) -> int:
    """Return the number of runs of entries that share all words but the last."""
    prefix = entries.indices.T[:-1]
    return 1 + int(np.count_nonzero((prefix[:, 1:] != prefix[:, :-1]).any(axis=0)))


def streamed(size: int) -> float:
    """Return the gigabytes a second that numpy reads and writes when it adds two arrays of that many bytes."""
    a, b = np.zeros(size // 4, np.float32), np.ones(size // 4, np.float32)
    times = max(1, (1 << 30) // size)
    start = time.perf_counter()
    for _ in range(times):
        np.add(a, b, out=a)
    return 3 * size * times / (time.perf_counter() - start) / 1e9


def main(counts: Path, *, ranks: tuple[int, ...] = (100, 300)) -> None:
    entries = associations(counts)
    some = {name: getattr(entries, name)[:100_000] for name in ("indices", "values", "weights")}
    few, slots = replace(entries, **some), (0,) * entries.order
    print(f"{len(entries):,} entries of order {entries.order}, {entries.shape[0]:,} words, float32")
    for rank in ranks:
        U = np.random.default_rng(0).standard_normal((entries.shape[0], rank)).astype(np.float32)
        objectives = {}
        for threads in (1, 2):
            term = Term(entries, CP(), Squared(), slots, zero_weight=0.1)
            objectives[f"fused, {threads} thread(s)"] = Objective([term], [L2()], threads=threads), len(entries)
        term = Term(few, CP(), Squared(), slots, zero_weight=0.1)
        objectives["general path"] = Objective([term], [L2()], compiled=False), len(few)
        contenders = {name: partial(f.value_and_gradient, [U]) for name, (f, _) in objectives.items()}
        alternate(contenders, 1)
        line = 4 * (-(-rank // 16) * 16)
        moved = 3 * line * (1 + fibres(entries) / len(entries))
        for name, (seconds, _, _) in alternate(contenders, ROUNDS).items():
            each = seconds / objectives[name][1] * 1e9
            traffic = f"{moved / each:6.1f} GB/s of rows" if name != "general path" else ""
            print(f"rank {rank:4d}  {name:20s} {seconds:8.3f} s  {each:8.1f} ns per entry  {traffic}")
        print(
            f"a += b, one thread: {streamed(1 << 19):.1f} GB/s in 1 MB, {streamed(len(U) * line):.1f} in all of U, dU"
        )
