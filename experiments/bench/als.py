"""Nanoseconds per unique entry and sweep of CP by alternating least squares: polyadic, pyttb, tensorly.

Set OPENBLAS_NUM_THREADS=1. Without COUNTS (a folder made by `polyadic count`) entries are drawn at random, frequent
words more often. All contenders get the same tensor, start and number of sweeps; the others need all permutations
written out. Needs `pip install pyttb==1.8.6 tensorly sparse`; contenders that are not installed or fail are named. At
the default size the others take minutes; tensorly needs memory for words squared times the rank.
"""

import math
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np

from experiments.bench.common import alternate, associations
from experiments.experiment import Option
from polyadic import CP, L2, Entries, Objective, Squared, Term
from polyadic.core.solvers.run import run
from polyadic.words.asymmetric import als


def of_counts(counts: Path, words: int, entries: int) -> Entries:
    """Return associations among the most frequent words, evenly thinned."""
    x = associations(counts)
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
    """Print the fit and the median time of each contender."""
    start = [
        np.random.default_rng(d).standard_normal((size, rank)).astype(np.float32) for d, size in enumerate(x.shape)
    ]
    f, zero, contenders = objective(x), [np.zeros_like(u) for u in start], {}
    for make in makers:
        try:
            descend = make(x, start, sweeps)
            factors = [u.astype(float) for u in descend()]  # compiles
            fit = 1 - math.sqrt(f.value(factors) / f.value(zero))
            print(f"rank {rank:4d}  {make.__name__:12s} fit {fit:.6f} after {sweeps} sweeps")
            contenders[make.__name__] = descend
        except Exception as error:  # noqa: BLE001 # a failure is a result
            print(f"rank {rank:4d}  {make.__name__:12s} {type(error).__name__}: {str(error)[:90]}")
    timings = alternate(contenders, rounds)
    for name, (_, seconds, _) in timings.items():
        each, ratio = seconds / sweeps / len(x) * 1e9, seconds / timings["ours"].processor
        print(f"rank {rank:4d}  {name:12s} {seconds:8.3f} s {each:9.0f} ns per unique entry and sweep  x {ratio:.1f}")


def main(
    counts: Path | None = None,
    *,
    words: int = 1000,
    entries: int = 20_000,
    ranks: tuple[int, ...] = (50, 300),
    sweeps: int = 3,
    rounds: int = 3,
    leave_out: Annotated[tuple[str, ...], Option("Contenders not to run.")] = (),
) -> None:
    warnings.simplefilter("ignore")
    x = of_counts(counts, words, entries) if counts else drawn(words, entries)
    print(f"{len(x):,} unique entries of order 3, {words:,} words; {len(x.expand()):,} written out")
    for rank in ranks:
        makers = [make for make in (ours, written_out, tensorly, pyttb) if make.__name__ not in leave_out]
        compare(x, rank, makers, sweeps=sweeps, rounds=rounds)
