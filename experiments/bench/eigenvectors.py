"""Eigenvectors of associations of words beside ARPACK, randomized methods and PRIMME.

COUNTS is made by `polyadic count --order 2`. Contenders alternate. Printed are medians of seconds by the clock and of
the processor, the largest residual ||A v - w v|| beside the last eigenvalue, and the share of the best sum of |w|.
Packages that are not installed are left out.
"""

from pathlib import Path

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.decomposition import TruncatedSVD

from experiments.bench.common import alternate, associations, heading, installed, row
from polyadic.core.linalg import symmetric_matrix, truncated_eigh


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
    if installed("fbpca"):
        import fbpca

        def fb():
            _, _, Vt = fbpca.pca(A, rank, raw=True, n_iter=5)
            return np.einsum("ij,ij->j", Vt.T, A @ Vt.T), Vt.T

        these["fbpca, 5 iterations"] = fb
    if installed("primme"):
        import primme

        these["PRIMME"] = lambda: primme.eigsh(A, rank, which="LM", tol=1e-3)
    return these


def main(counts: Path, *, rank: int = 300, repeats: int = 3, only: tuple[str, ...] = ()) -> None:
    entries = associations(counts)
    A = symmetric_matrix(entries.indices, entries.values, entries.shape[0])
    truncated_eigh(A[:2000][:, :2000], 10, seed=0)  # compiled
    chosen = {name: work for name, work in contenders(A, rank).items() if name in (only or [name])}
    timings = alternate(chosen, repeats)
    best = max(np.abs(timing.result[0]).sum() for timing in timings.values())
    print(f"{A.shape[0]:,} words, {A.nnz:,} cells, rank {rank}\n")
    heading("", "seconds", "of the processor", "residual", "sum of eigenvalues")
    for name, (clock, processor, (w, V)) in timings.items():
        residual = np.linalg.norm(A @ V - V * w, axis=0).max() / np.abs(w).min()
        row(name, f"{clock:.1f}", f"{processor:.1f}", f"{residual:.1g}", f"{np.abs(w).sum() / best:.5f}")
