"""Correspondence analysis of a co-occurrence table beside scikit-learn's TruncatedSVD.

    python -m experiments.bench.correspondence CORPUS [--width 10] [--rank 100] [--repeats 3] [--side left] [--prince
    5000]

CORPUS is of `polyadic corpus`. Contenders alternate; medians of seconds are printed, and the share of the best inertias
(of all) that each found. TruncatedSVD gets the table divided by the roots of its margins, and one component more.
With --prince only prince is beside us, on a dense table of so many of the most frequent words.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from polyadic import Corpus, CorrespondenceAnalysis
from polyadic.text.contexts import contexts


def scaled(N: csr_array) -> csr_array:
    """Give the table divided by the roots of its margins: TruncatedSVD then finds a trivial component besides."""
    r, c = (np.asarray(N.sum(axis=axis)).ravel() for axis in (1, 0))
    rows = np.repeat(np.maximum(r, 1) ** -0.5, np.diff(N.indptr))
    data = N.data * (rows * np.maximum(c, 1)[N.indices] ** -0.5).astype(N.dtype)
    return csr_array((data, N.indices, N.indptr), N.shape)


def against_prince(table: np.ndarray, rank: int) -> dict:
    """Give both analyses of a dense table; rows and columns without counts are left out, as prince divides by them."""
    import pandas as pd
    import prince

    kept = (table.sum(axis=0) > 0) & (table.sum(axis=1) > 0)
    table = table[kept][:, kept]
    frame = pd.DataFrame(table)
    sparse = csr_array(table)
    return {
        "polyadic, dense": lambda: CorrespondenceAnalysis(rank, seed=0).fit(table).inertia_,
        "polyadic, sparse": lambda: CorrespondenceAnalysis(rank, seed=0).fit(sparse).inertia_,
        "prince": lambda: prince.CA(n_components=rank, n_iter=5, random_state=0).fit(frame).eigenvalues_,
    }


def timed(call) -> tuple[float, object]:
    """Run it, and give the seconds and what it returned."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def main() -> None:
    """Fit each, in turn, several times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--width", type=int, default=10)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--side", default="both")
    parser.add_argument("--prince", type=int, default=0)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    seconds, N = timed(lambda: contexts(corpus, side=options.side, width=options.width).astype(np.float32))
    print(f"{len(corpus):,} tokens, table {N.shape[0]:,} x {N.shape[1]:,} of {N.nnz:,} cells in {seconds:.0f} s")
    S, rank = scaled(N), options.rank
    contenders = {
        "lanczos": lambda: CorrespondenceAnalysis(rank, seed=0).fit(N).inertia_,
        "randomized": lambda: CorrespondenceAnalysis(rank, method="randomized", seed=0).fit(N).inertia_,
        "TruncatedSVD": lambda: TruncatedSVD(rank + 1, random_state=0).fit(S).singular_values_[1:] ** 2,
    }
    if options.prince:
        contenders = against_prince(N[: options.prince, : options.prince].astype(float).toarray(), rank)
    taken, found = {name: [] for name in contenders}, {}
    for _ in range(options.repeats):
        for name, run in contenders.items():
            seconds, found[name] = timed(run)
            taken[name].append(seconds)
            print(f"  {name} {seconds:.1f} s", flush=True)
    best = np.max(list(found.values()), axis=0)
    for name in contenders:
        share = found[name].sum() / best.sum()
        print(f"{name}: {np.median(taken[name]):.1f} s, {1e9 * np.median(taken[name]) / N.nnz:.0f} ns per cell,"
              f" {share:.5f} of the inertia, last axis {found[name][-1] / best[-1]:.4f}")  # fmt: skip
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
