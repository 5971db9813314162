"""Correspondence analysis of a co-occurrence table beside scikit-learn's TruncatedSVD.

CORPUS is made by `polyadic corpus`. Contenders alternate; medians of seconds are printed, and the share of the best
inertias (of all) that each found. TruncatedSVD gets the table divided by the roots of its margins, and one more
component. With --prince the contenders are prince and polyadic on a dense table of that many most frequent words.
"""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from experiments.bench.common import alternate, peak, timed
from polyadic import Corpus, CorrespondenceAnalysis
from polyadic.text.contexts import contexts


def scaled(N: csr_array) -> csr_array:
    """Return the table divided by the roots of its margins, which adds a trivial component."""
    r, c = (np.asarray(N.sum(axis=axis)).ravel() for axis in (1, 0))
    rows = np.repeat(np.maximum(r, 1) ** -0.5, np.diff(N.indptr))
    data = N.data * (rows * np.maximum(c, 1)[N.indices] ** -0.5).astype(N.dtype)
    return csr_array((data, N.indices, N.indptr), N.shape)


def against_prince(table: np.ndarray, rank: int) -> dict:
    """Return contenders on a dense table without its empty rows and columns, by which prince divides."""
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


def main(
    corpus: Path, *, width: int = 10, rank: int = 100, repeats: int = 3, side: str = "both", prince: int = 0
) -> None:
    text = Corpus.open(corpus)
    seconds, _, N = timed(lambda: contexts(text, side=side, width=width).astype(np.float32))
    print(f"{len(text):,} tokens, table {N.shape[0]:,} x {N.shape[1]:,} of {N.nnz:,} cells in {seconds:.0f} s")
    S = scaled(N)
    contenders = {
        "lanczos": lambda: CorrespondenceAnalysis(rank, seed=0).fit(N).inertia_,
        "randomized": lambda: CorrespondenceAnalysis(rank, method="randomized", seed=0).fit(N).inertia_,
        "TruncatedSVD": lambda: TruncatedSVD(rank + 1, random_state=0).fit(S).singular_values_[1:] ** 2,
    }
    if prince:
        contenders = against_prince(N[:prince, :prince].astype(float).toarray(), rank)
    timings = alternate(contenders, repeats)
    best = np.max([timing.result for timing in timings.values()], axis=0)
    for name, (seconds, _, found) in timings.items():
        print(f"{name}: {seconds:.1f} s, {1e9 * seconds / N.nnz:.0f} ns per cell,"
              f" {found.sum() / best.sum():.5f} of the inertia, last axis {found[-1] / best[-1]:.4f}")  # fmt: skip
    print(f"peak {peak() / 1024:.1f} GiB")
