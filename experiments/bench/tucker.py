"""Seconds and memory of one sweep of sparse Tucker decomposition, beside pyttb's `tucker_als` on the same tensor.

The tensor is symmetric with Zipf-distributed words. pyttb gets every permutation, and so does "polyadic, a factor per
mode", whose problem is the same; "polyadic, one factor" gets each tuple once. Each contender runs in a process of its
own, after a warm-up, with different numbers of sweeps: the difference is the time of a sweep. Memory is the peak of the
process beyond that after loading the tensor. pyttb works in double precision, polyadic in single.
"""

import subprocess
import time

import numpy as np

from experiments.bench.common import own_process, peak
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


def measure(name: str, size: int, n: int, rank: int) -> tuple[float, float, float, int]:
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
    return each, peak() - before, objective, len(x)


def main(*, size: int = 1000, entries: int = 50_000, rank: int = 10) -> None:
    for name in CONTENDERS:
        try:
            seconds, memory, objective, tuples = own_process(measure, name, size, entries, rank)
        except subprocess.CalledProcessError:
            print(f"{name:28s} failed")
            continue
        print(f"{name:28s} {seconds:9.3f} s a sweep  {memory:8.0f} MB more  objective after"
              f" {SWEEPS[1]} sweeps {objective:.1f}  ({tuples:,} tuples)")  # fmt: skip
