"""Eigenvectors of associations of words beside ARPACK, randomized methods and PRIMME.

    python -m experiments.bench.eigenvectors COUNTS [--rank 300] [--repeats 3]

COUNTS is of `polyadic count --order 2`. Contenders alternate; of each: medians of seconds by the clock and of the
processor, the largest residual ||A v - w v|| beside the last eigenvalue, and the share of the best sum of |w|. Peers
that are not installed are left out.
"""

import argparse
import importlib.util
import statistics
import time

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.decomposition import TruncatedSVD

from polyadic.core.linalg import symmetric_matrix, truncated_eigh
from polyadic.text.counts import Counts
from polyadic.text.weighting import ppmi


def contenders(A, rank):
    def of_svd(method):
        svd = TruncatedSVD(rank, algorithm=method, random_state=0).fit(A)
        V = svd.components_.T
        return np.einsum("ij,ij->j", V, A @ V), V

    these = {
        "polyadic": lambda: truncated_eigh(A, rank, seed=0),
        "scipy, eigsh": lambda: eigsh(A, rank, tol=1e-2),
        "scikit-learn, arpack": lambda: of_svd("arpack"),
        "scikit-learn, randomized": lambda: of_svd("randomized"),
    }
    if importlib.util.find_spec("fbpca"):
        import fbpca

        def fb():
            _, _, Vt = fbpca.pca(A, rank, raw=True, n_iter=5)
            return np.einsum("ij,ij->j", Vt.T, A @ Vt.T), Vt.T

        these["fbpca, 5 iterations"] = fb
    if importlib.util.find_spec("primme"):
        import primme

        these["PRIMME"] = lambda: primme.eigsh(A, rank, which="LM", tol=1e-3)
    return these


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts")
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+")
    given = parser.parse_args()
    entries = ppmi(Counts.open(given.counts))
    A = symmetric_matrix(entries.indices, entries.values, entries.shape[0])
    these = {name: work for name, work in contenders(A, given.rank).items() if name in (given.only or [name])}
    truncated_eigh(A[:2000][:, :2000], 10, seed=0)  # compiled
    rows = {name: [] for name in these}
    for _ in range(given.repeats):
        for name, work in these.items():
            clock, processor = time.perf_counter(), time.process_time()
            w, V = work()
            clock, processor = time.perf_counter() - clock, time.process_time() - processor
            residual = np.linalg.norm(A @ V - V * w, axis=0).max() / np.abs(w).min()
            rows[name].append((clock, processor, residual, np.abs(w).sum()))
    best = max(row[-1] for each in rows.values() for row in each)
    print(f"{A.shape[0]:,} words, {A.nnz:,} cells, rank {given.rank}\n")
    print("| | seconds | of the processor | residual | sum of eigenvalues |\n|---|---|---|---|---|")
    for name, each in rows.items():
        clock, processor, residual, total = (statistics.median(column) for column in zip(*each, strict=True))
        print(f"| {name} | {clock:.1f} | {processor:.1f} | {residual:.1g} | {total / best:.5f} |")


if __name__ == "__main__":
    main()
