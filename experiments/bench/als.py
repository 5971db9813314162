"""Nanoseconds of one core per unique entry and sweep of CP by alternating least squares: ours, pyttb, tensorly.

OPENBLAS_NUM_THREADS=1 python -m experiments.bench.als [COUNTS] --words 1000 --entries 20000 --rank 50 300

Without COUNTS (a folder made by `polyadic count`) entries are drawn at random, frequent words more often. All get the
same tensor, the same start and as many sweeps; the others need all permutations written out. Needs
`pip install pyttb==1.8.6 tensorly sparse`; who is not installed, or does not come to an end, is named. At the
default size the others take minutes; tensorly needs memory for words squared times the rank.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from polyadic import CP, L2, Entries, Objective, Squared, Term, ppmi
from polyadic.core.solvers.run import run
from polyadic.text.counts import Counts
from polyadic.words.asymmetric import als


def of_counts(counts: Path, words: int, entries: int) -> Entries:
    """Associations among the most frequent words, evenly thinned."""
    x = ppmi(Counts.open(counts))
    keep = np.flatnonzero(x.indices[:, 0] < words)  # indices fall along the row: the first is the rarest word
    keep = keep[np.linspace(0, len(keep) - 1, min(entries, len(keep))).astype(int)]
    return Entries(x.indices.T[:, keep].T, x.values[keep], (words,) * 3, symmetric=True)


def drawn(words: int, entries: int) -> Entries:
    rng = np.random.default_rng(0)
    rows = (words ** rng.random((3 * entries, 3))).astype(int) - 1
    rows = np.unique(np.sort(rows, axis=1)[:, ::-1], axis=0)
    rows = rows[np.sort(rng.permutation(len(rows))[:entries])]
    values = rng.random(len(rows), np.float32) + np.float32(0.1)
    return Entries(np.asfortranarray(rows.astype(np.uint16)), values, (words,) * 3, symmetric=True)


def objective(x: Entries) -> Objective:
    return Objective([Term(x, CP(), Squared(), (0, 1, 2), zero_weight=1.0)], [L2()] * 3, threads=1)


def ours(x: Entries, start, sweeps: int):
    f = objective(x)
    return lambda: run(als(f, start), max_iter=sweeps).factors


def written_out(x: Entries, start, sweeps: int):
    return ours(x.expand(), start, sweeps)


def pyttb(x: Entries, start, sweeps: int):
    import pyttb as ttb

    full = x.expand()
    tensor = ttb.sptensor(full.indices.astype(int), full.values.astype(float)[:, None], full.shape)
    init = ttb.ktensor([u.astype(float) for u in start])
    how = {"init": init, "maxiters": sweeps, "stoptol": 0, "printitn": 0, "fixsigns": False}

    def descend():
        found = ttb.cp_als(tensor, start[0].shape[1], **how)[0]
        return [found.factor_matrices[0] * found.weights, *found.factor_matrices[1:]]

    return descend


def tensorly(x: Entries, start, sweeps: int):
    import sparse
    import tensorly as tl
    from tensorly.contrib.sparse.decomposition import parafac

    full = x.expand()
    tensor = sparse.COO(full.indices.T.astype(int), full.values.astype(float), shape=full.shape)

    def descend():
        ones = sparse.COO.from_numpy(np.ones(start[0].shape[1]))
        init = tl.cp_tensor.CPTensor((ones, [u.astype(float) for u in start]))
        found = parafac(tensor, start[0].shape[1], n_iter_max=sweeps, init=init, tol=0)
        return [found.factors[0] * found.weights.todense(), *found.factors[1:]]

    return descend


def compare(x: Entries, rank: int, makers, *, sweeps: int, rounds: int) -> None:
    """Take turns; print the median time and what part of the tensor was explained."""
    start = [
        np.random.default_rng(d).standard_normal((size, rank)).astype(np.float32) for d, size in enumerate(x.shape)
    ]
    f, zero = objective(x), [np.zeros_like(u) for u in start]
    contenders, took = {}, {}
    for make in makers:
        try:
            contenders[make.__name__] = make(x, start, sweeps)
            factors = [u.astype(float) for u in contenders[make.__name__]()]  # compiles; also the first to fail
            fit = 1 - math.sqrt(f.value(factors) / f.value(zero))
            print(f"rank {rank:4d}  {make.__name__:12s} fit {fit:.6f} after {sweeps} sweeps")
            took[make.__name__] = []
        except Exception as error:  # noqa: BLE001 whatever stops a contender is part of the result
            print(f"rank {rank:4d}  {make.__name__:12s} {type(error).__name__}: {str(error)[:90]}")
    for _ in range(rounds):
        for name, seconds in took.items():
            began = time.process_time()
            contenders[name]()
            seconds.append(time.process_time() - began)
    for name, seconds in took.items():
        median = statistics.median(seconds)
        ratio = median / statistics.median(took["ours"])
        per_entry = median / sweeps / len(x) * 1e9
        print(
            f"rank {rank:4d}  {name:12s} {median:8.3f} s {per_entry:9.0f} ns per unique entry and sweep  x {ratio:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=Path, nargs="?")
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--rank", type=int, nargs="+", default=[50, 300])
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--leave-out", nargs="*", default=[], help="contenders not to run, such as tensorly")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cut = (options.words, options.entries)
    x = of_counts(options.counts, *cut) if options.counts else drawn(*cut)
    print(f"{len(x):,} unique entries of order 3, {options.words:,} words; {len(x.expand()):,} written out")
    for rank in options.rank:
        makers = (ours, written_out, tensorly, pyttb)
        taking_part = [make for make in makers if make.__name__ not in options.leave_out]
        compare(x, rank, taking_part, sweeps=options.sweeps, rounds=options.rounds)


if __name__ == "__main__":
    main()
