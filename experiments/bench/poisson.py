"""Nanoseconds per entry and multiplicative update of CP-APR on counted text, beside pyttb.

COUNTS is made by `polyadic count`. Both get the same start and the same first entries as a plain list, one cell each;
pyttb, which holds a row per entry, gets few. The last row is for a symmetric list, each entry in all its orders. Equal
objectives show that both computed the same.
"""

import itertools
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from polyadic import CP, Entries, NonNegative, Objective, Term
from polyadic.core.losses import Poisson
from polyadic.text.counts import Counts
from polyadic.words.poisson import apr

ROUNDS = 3
SWEEPS = 1
INNER = 10


def ours(entries: Entries, start: list[np.ndarray], *, threads: int) -> tuple[float, float]:
    """Return the seconds that sweeps took, after what is compiled or sorted once, and the objective they reached."""
    term = Term(entries, CP(), Poisson(), tuple(range(entries.order)), zero_weight=1.0)
    objective = Objective([term], [NonNegative()] * entries.order, threads=threads)
    solver = apr(objective, start, inner=INNER, inner_tol=0)
    next(solver)
    began = time.perf_counter()
    *_, last = itertools.islice(solver, SWEEPS)
    return time.perf_counter() - began, last.objective


def theirs(entries: Entries, start: list[np.ndarray]) -> tuple[float, float]:
    """Return the same for pyttb."""
    import pyttb as ttb

    x = ttb.sptensor(
        np.ascontiguousarray(entries.indices, np.int64), entries.values.astype(float)[:, None], entries.shape
    )
    began = time.perf_counter()
    model, _, _ = ttb.cp_apr(
        x,
        start[0].shape[1],
        init=ttb.ktensor([u.astype(float) for u in start]),
        maxiters=SWEEPS,
        maxinneriters=INNER,
        stoptol=0,
        printitn=0,
    )
    seconds = time.perf_counter() - began
    factors = [model.factor_matrices[0] * model.weights, *model.factor_matrices[1:]]
    term = Term(entries, CP(), Poisson(), tuple(range(entries.order)), zero_weight=1.0)
    value = Objective([term], [NonNegative()] * entries.order).value([np.ascontiguousarray(u) for u in factors])
    return seconds, value


def first(entries: Entries, n: int, *, symmetric: bool) -> Entries:
    """Keep the first entries, and the words that occur in them."""
    indices = entries.indices[:n]
    shape = (int(indices.max()) + 1,) * entries.order
    return replace(entries, indices=indices, values=entries.values[:n], shape=shape, symmetric=symmetric)


def main(counts: Path, *, ranks: tuple[int, ...] = (16, 64), entries: int = 2_000_000, few: int = 200_000) -> None:
    listed = Counts.open(counts).entries
    many, some = (first(listed, n, symmetric=False) for n in (entries, few))
    every = first(listed, few, symmetric=True)
    single, double = np.dtype(np.float32), np.dtype(float)
    contenders = {
        "pyttb, double, 1 thread": (theirs, some, double, {}),
        "double, 1 thread": (ours, some, double, {"threads": 1}),
        "single, 1 thread": (ours, some, single, {"threads": 1}),
        "single, 1 thread, more": (ours, many, single, {"threads": 1}),
        "single, 2 threads, more": (ours, many, single, {"threads": 2}),
        "single, 1 thread, all orders": (ours, every, single, {"threads": 1}),
    }
    for rank in ranks:
        whole = np.random.default_rng(0).random((many.order, many.shape[0], rank))
        took: dict[str, list[float]] = {name: [] for name in contenders}
        reached = {}
        for _ in range(ROUNDS):
            for name, (work, x, dtype, how) in contenders.items():
                seconds, reached[name] = work(x, [u[: x.shape[0]].astype(dtype) for u in whole], **how)
                took[name].append(seconds / (SWEEPS * INNER * x.order * len(x)))
        for name, (_, x, _, _) in contenders.items():
            figure = f"{statistics.median(took[name]) * 1e9:8.1f} ns per entry and update"
            print(f"rank {rank:4d}  {name:28s} {len(x):9,} entries  {figure}  objective {reached[name]:.6g}")
