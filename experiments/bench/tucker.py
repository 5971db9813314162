"""Seconds and memory of one sweep of sparse Tucker decomposition, beside pyttb's `tucker_als` on the same tensor.

python -m experiments.bench.tucker --size 1000 --entries 50000 --rank 10

The tensor is symmetric, its words as frequent as Zipf's law has them. pyttb gets every permutation, and so does
"polyadic, a factor per mode", whose problem is the same; "polyadic, one factor" gets each tuple once. Each contender
runs in a process of its own, after a warm-up, with different numbers of sweeps: the difference is the time of a sweep.
Memory is what the process has at its peak beyond that after loading the tensor. pyttb works in double precision,
polyadic in single.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from polyadic import Entries
from polyadic.core.solvers.run import run
from polyadic.words.tucker import hooi

CONTENDERS = ("pyttb tucker_als", "polyadic, a factor per mode", "polyadic, one factor")
SWEEPS = (1, 4)


def tensor(size: int, n: int) -> Entries:
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, size + 1)
    rows = rng.choice(size, (n, 3), p=frequency / frequency.sum())
    x = Entries.collect(rows, rng.random(n) + 0.1, size)
    return Entries(x.indices.astype(np.uint16), x.values.astype(np.float32), x.shape, symmetric=True)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, size: int, n: int, rank: int) -> None:
    x = tensor(size, n)
    rng = np.random.default_rng(1)
    start = [rng.standard_normal((size, rank)).astype(np.float32)] * (1 if name.endswith("one factor") else 3)
    entries = x if name.endswith("one factor") else x.expand()
    if name.startswith("pyttb"):
        import pyttb

        def sweep(x: Entries, k: int) -> float:
            tensor = pyttb.sptensor(x.indices.astype(int), x.values[:, None].astype(float), x.shape)
            init = [u.astype(float) for u in start]
            result = pyttb.tucker_als(tensor, [rank] * 3, init=init, maxiters=k, stoptol=0.0, printitn=0)
            return float(result[2]["normresidual"] ** 2 / 2)
    else:

        def sweep(x: Entries, k: int) -> float:
            return run(hooi(x, start, threads=1), max_iter=k).history[-1]

    few = slice(0, 2 * rank)
    sweep(Entries(entries.indices[few], entries.values[few], x.shape, symmetric=entries.symmetric), 1)  # warm up
    before, seconds = peak(), []
    for k in SWEEPS:
        began = time.perf_counter()
        objective = sweep(entries, k)
        seconds.append(time.perf_counter() - began)
    each = (seconds[1] - seconds[0]) / (SWEEPS[1] - SWEEPS[0])
    print(json.dumps({"seconds": each, "memory": peak() - before, "objective": objective, "entries": len(x)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=50_000)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, options.size, options.entries, options.rank)
        return
    for name in CONTENDERS:
        arguments = ["--size", options.size, "--entries", options.entries, "--rank", options.rank, "--one", name]
        command = [sys.executable, __file__, *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(f"{name:28s} failed")
            continue
        row = json.loads(done.stdout)
        print(
            f"{name:28s} {row['seconds']:9.3f} s a sweep  {row['memory']:8.0f} MB more  objective after"
            f" {SWEEPS[1]} sweeps {row['objective']:.1f}  ({row['entries']:,} tuples)"
        )


if __name__ == "__main__":
    main()
