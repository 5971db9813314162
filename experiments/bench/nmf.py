"""Seconds of one core until non-negative factors converge, beside scikit-learn from the same starts.

Set OPENBLAS_NUM_THREADS=1. Tables are TF-IDF of BBC news and counts of the KOS posts (POLYADIC_DATA); the loss is
squared or, with --kl, the Kullback-Leibler divergence. Both libraries take turns, from the same random factors, until
each stops by its own rule. "reached" is when ours was within a thousandth of scikit-learn's final objective.
"""

import itertools
import statistics
import time
import warnings

import numpy as np
from scipy.sparse import csr_array
from scipy.special import xlogy
from sklearn.decomposition import non_negative_factorization
from sklearn.feature_extraction.text import TfidfTransformer

from polyadic.core.solvers.run import run
from polyadic.datasets.documents import bbc, kos
from polyadic.text.documents import document_table
from polyadic.topics.multiplicative import Divergence, Squares, WeightedCells, descend, uniform
from polyadic.topics.text_topics import TextTopics

CLOSE = 1.001


def tables() -> dict[str, csr_array]:
    counts = document_table(TextTopics().corpus([article.text for article in bbc()]))
    return {"bbc": csr_array(TfidfTransformer().fit_transform(counts).astype(np.float32)), "kos": kos()}


def objective(X: csr_array, W, H, *, kl: bool) -> float:
    W, H = W.astype(float), H.astype(float)
    if not kl:
        return (float((X.data.astype(float) ** 2).sum()) - 2 * (W * (X @ H)).sum() + ((W.T @ W) * (H.T @ H)).sum()) / 2
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    m = np.concatenate([(W[r] * H[c]).sum(axis=1) for r, c in parts(rows, X.indices)])
    x = X.data.astype(float)
    return float((xlogy(x, x / np.maximum(m, 1e-12)) - x).sum() + W.sum(axis=0) @ H.sum(axis=0))


def parts(rows, columns, size=1 << 16):
    for first in range(0, len(rows), size):
        yield rows[first : first + size], columns[first : first + size]


def ours(X: csr_array, start, *, kl: bool):
    cells = WeightedCells(X)
    began = time.perf_counter()
    halves = [
        Divergence(side, beta=1.0, threads=1) if kl else Squares(side, threads=1) for side in (cells, cells.turned())
    ]
    result = run(descend(*halves, start), max_iter=1000, tol=1e-5)
    return time.perf_counter() - began, result


def theirs(X: csr_array, start, *, kl: bool):
    how = {"solver": "mu", "beta_loss": "kullback-leibler"} if kl else {"solver": "cd"}
    W, H = start[0].copy(), np.ascontiguousarray(start[1].T)
    began = time.perf_counter()
    W, H, sweeps = non_negative_factorization(X, W=W, H=H, init="custom", n_components=len(H), max_iter=1000, **how)
    return time.perf_counter() - began, sweeps, objective(X, W, H.T, kl=kl)


def compare(name: str, X: csr_array, rank: int, *, seeds: int, kl: bool) -> None:
    ours(X, uniform(WeightedCells(X), rank, rng=np.random.default_rng(0)), kl=kl)  # compiles
    rows = []
    for seed in range(seeds):
        start = uniform(WeightedCells(X), rank, rng=np.random.default_rng(seed))
        their_seconds, their_sweeps, low = theirs(X, start, kl=kl)
        seconds, result = ours(X, start, kl=kl)
        end = objective(X, *result.factors, kl=kl)
        reached = [s for s, value in zip(result.seconds, result.history, strict=True) if value <= low * CLOSE]
        rows.append((seconds, result.n_iter, end, their_seconds, their_sweeps, low, reached[0] if reached else np.inf))
    median = [statistics.median(column) for column in zip(*rows, strict=True)]
    loss = "kl" if kl else "squared"
    print(
        f"{name} {loss} rank {rank}: ours {median[0]:.2f} s, {median[1]:.0f} sweeps, {median[2]:.6g};"
        f" scikit-learn {median[3]:.2f} s, {median[4]:.0f} sweeps, {median[5]:.6g}; reached after {median[6]:.2f} s,"
        f" by {sum(row[6] < np.inf for row in rows)} of {seeds}"
    )


def main(*, ranks: tuple[int, ...] = (20, 100), seeds: int = 5, kl: bool = False) -> None:
    warnings.simplefilter("ignore")
    for (name, X), rank in itertools.product(tables().items(), ranks):
        compare(name, X, rank, seeds=seeds, kl=kl)
