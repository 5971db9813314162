"""Nanoseconds of one core per sampled cell of a stochastic step (Adam, squared loss): polyadic and pyttb's `gcp_opt`.

COUNTS is made by `polyadic count`. Both get the same asymmetric list, all permutations of the associations, and draw as
many zeros as listed cells for each step. Ours is an epoch without its evaluation of the objective; theirs is a run of
many steps less a run of one. Needs `pip install pyttb==1.8.6`.
"""

import statistics
import time
from pathlib import Path

import numpy as np

from experiments.bench.als import of_counts
from polyadic import CP, L2, Entries, Objective, Squared, Term
from polyadic.core.solvers.adaptive import Adam
from polyadic.core.solvers.stochastic import Zeros, _Descent

ROUNDS = 3
STEPS = 20
BATCH = 16_384


def ours(x: Entries, start: list[np.ndarray]) -> float:
    """Return nanoseconds per cell, listed or drawn."""
    term = Term(x, CP(), Squared(), (0, 1, 2))
    rng = np.random.default_rng(0)
    objective, zeros_of = Objective([term], [L2()] * 3, threads=1), {0: Zeros(term, 1.0)}
    descent = _Descent(objective, start, Adam(), batch=BATCH, zeros=1.0, zeros_of=zeros_of, rng=rng)
    state = Adam().start(descent.T)
    began = time.process_time()
    descent.epoch(state, 1e-3)
    return (time.process_time() - began) / (2 * len(x)) * 1e9


def theirs(x: Entries, start: list[np.ndarray]) -> float:
    """Return the same for pyttb."""
    import pyttb as ttb
    from pyttb.gcp.fg_setup import Objectives
    from pyttb.gcp.optimizers import Adam as TheirAdam
    from pyttb.gcp.samplers import GCPSampler, Samplers, StratifiedCount

    tensor = ttb.sptensor(x.indices.astype(int), x.values.astype(float)[:, None], x.shape)
    init = ttb.ktensor([u.astype(float) for u in start])

    def run(steps: int) -> float:
        few = StratifiedCount(100, 100)
        each = StratifiedCount(BATCH, BATCH)
        sampler = GCPSampler(
            tensor,
            function_sampler=Samplers.STRATIFIED,
            function_samples=few,
            gradient_sampler=Samplers.STRATIFIED,
            gradient_samples=each,
        )
        solver = TheirAdam(epoch_iters=steps, max_iters=1, printitn=0)
        began = time.process_time()
        ttb.gcp_opt(tensor, start[0].shape[1], Objectives.GAUSSIAN, solver, init=init, sampler=sampler, printitn=0)
        return time.process_time() - began

    return (run(STEPS + 1) - run(1)) / (2 * BATCH * STEPS) * 1e9


def main(counts: Path, *, words: int = 5000, entries: int = 100_000, ranks: tuple[int, ...] = (50, 300)) -> None:
    x = of_counts(counts, words, entries).expand()
    order = np.lexsort(x.indices.T[::-1])
    x = Entries(np.asfortranarray(x.indices[order]), x.values[order], x.shape)
    print(f"{len(x):,} listed cells of shape {x.shape}")
    for rank in ranks:
        start = [np.random.default_rng(d).random((size, rank), np.float32) for d, size in enumerate(x.shape)]
        ours(x, start)
        took = [(ours(x, start), theirs(x, start)) for _ in range(ROUNDS)]
        mine, other = (statistics.median(column) for column in zip(*took, strict=True))
        ratio = f"x {other / mine:.1f}"
        print(f"rank {rank:4d}  ours {mine:7.0f} ns  pyttb {other:9.0f} ns per sampled cell  {ratio}", flush=True)
