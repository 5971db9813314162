"""Nanoseconds per entry of one full gradient of the symmetric squared loss, on counted text.

python -m experiments.bench.gradient COUNTS --rank 100 300

COUNTS is a folder made by `polyadic count`. The general path, loss outside the kernel, is timed on few entries. Row
traffic is what the loop reads and writes of rows and gradients, three rows for a leaf and three for each fibre,
wherever they are; beside it stands what `a += b` moves, of matrices of one megabyte and of the size of the factors.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from polyadic import CP, L2, Objective, Squared, Term, ppmi
from polyadic.text.counts import Counts

ROUNDS = 3


def fibres(entries) -> int:
    """Count runs of entries that share all words but the last."""
    prefix = entries.indices.T[:-1]
    return 1 + int(np.count_nonzero((prefix[:, 1:] != prefix[:, :-1]).any(axis=0)))


def streamed(size: int) -> float:
    """Gigabytes a second that numpy reads and writes adding two arrays of so many bytes."""
    a, b = np.zeros(size // 4, np.float32), np.ones(size // 4, np.float32)
    times = max(1, (1 << 30) // size)
    start = time.perf_counter()
    for _ in range(times):
        np.add(a, b, out=a)
    return 3 * size * times / (time.perf_counter() - start) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=Path)
    parser.add_argument("--rank", type=int, nargs="+", default=[100, 300])
    options = parser.parse_args()
    entries = ppmi(Counts.open(options.counts))
    few = replace(
        entries,
        indices=entries.indices[:100_000],
        values=entries.values[:100_000],
        weights=entries.weights[:100_000],
    )
    print(f"{len(entries):,} entries of order {entries.order}, {entries.shape[0]:,} words, float32")
    for rank in options.rank:
        U = np.random.default_rng(0).standard_normal((entries.shape[0], rank)).astype(np.float32)
        slots = (0,) * entries.order
        contenders = {}
        for threads in (1, 2):
            term = Term(entries, CP(), Squared(), slots, zero_weight=0.1)
            contenders[f"fused, {threads} thread(s)"] = Objective([term], [L2()], threads=threads), len(entries)
        term = Term(few, CP(), Squared(), slots, zero_weight=0.1)
        contenders["general path"] = Objective([term], [L2()], compiled=False), len(few)
        for objective, _ in contenders.values():
            objective.value_and_gradient([U])
        took: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
            for name, (objective, _) in contenders.items():
                start = time.perf_counter()
                objective.value_and_gradient([U])
                took[name].append(time.perf_counter() - start)
        row = 4 * (-(-rank // 16) * 16)
        moved = 3 * row * (1 + fibres(entries) / len(entries))
        for name, (_, size) in contenders.items():
            median = statistics.median(took[name])
            traffic = f"{moved / (median / size * 1e9):6.1f} GB/s of rows" if name != "general path" else ""
            print(f"rank {rank:4d}  {name:20s} {median:8.3f} s  {median / size * 1e9:8.1f} ns per entry  {traffic}")
        print(f"a += b, one thread: {streamed(1 << 19):.1f} GB/s in 1 MB, {streamed(len(U) * row):.1f} in all of U, dU")


if __name__ == "__main__":
    main()
