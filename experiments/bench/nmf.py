"""Seconds of one core until non-negative factors converge, beside scikit-learn from the same starts.

Set OPENBLAS_NUM_THREADS=1. Tables are TF-IDF of BBC news and counts of the KOS posts (POLYADIC_DATA); the loss is
squared or, with --kl, the Kullback-Leibler divergence. Both libraries take turns, from the same random factors, until
each stops by its own rule. "reached" is when ours was within a thousandth of scikit-learn's final objective.

With --solvers: processor time of each solver of the squared loss, ours and scikit-learn's, until the objective is
within a hundredth and within a thousandth of the highest of their final objectives, which all of them reach.
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
from polyadic.topics.multiplicative import SQUARES, Divergence, Squares, WeightedCells, descend, uniform
from polyadic.topics.text_topics import TextTopics

CLOSE = 1.001
OURS, THEIRS, SWEEPS = ("hals", "mu", "anls"), ("cd", "mu"), 1000
TARGETS = (1.01, CLOSE)


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


def history(X: csr_array, start, solver: str) -> list[tuple[float, float]]:
    """Objective and processor time after each sweep of one of our solvers, until it converges."""
    cells, found = WeightedCells(X), []
    began = time.process_time()
    halves = [SQUARES[solver](side, threads=1) for side in (cells, cells.turned())]
    for sweep in itertools.islice(descend(*halves, start), SWEEPS):
        found.append((float(sweep.objective), time.process_time() - began))
        if len(found) > 10 and found[-11][0] - found[-1][0] < 1e-5 * found[-1][0]:
            break
    return found


def swept(X: csr_array, start, solver: str, sweeps: int, tol: float = 0.0) -> tuple[float, float, int]:
    """Objective, processor time and number of sweeps of one of scikit-learn's solvers."""
    W, H = start[0].copy(), np.ascontiguousarray(start[1].T)
    began = time.process_time()
    W, H, done = non_negative_factorization(
        X, W=W, H=H, init="custom", n_components=len(H), solver=solver, max_iter=sweeps, tol=tol
    )
    seconds = time.process_time() - began
    return objective(X, W, H.T, kl=False), seconds, done


def fewest(X: csr_array, start, solver: str, target: float, most: int) -> float:
    """Processor time of the smallest number of sweeps, up to a twentieth, with which scikit-learn reaches a target."""
    low, high = 0, most
    if swept(X, start, solver, most)[0] > target:
        return np.inf
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if swept(X, start, solver, middle)[0] <= target else (middle, high)
    return swept(X, start, solver, high)[1]


def compare_solvers(name: str, X: csr_array, rank: int, *, seeds: int) -> None:
    for solver in OURS:
        history(X[:50], [f[:50] if k == 0 else f for k, f in enumerate(_start(X, rank, 0))], solver)  # compiles
    rows: dict[tuple[str, float], list[float]] = {}
    for seed in range(seeds):
        start = _start(X, rank, seed)
        ours = {f"ours, {solver}": history(X, start, solver) for solver in OURS}
        ends = {solver: swept(X, start, solver, SWEEPS, 1e-4) for solver in THEIRS}
        finals = {solver: found[-1][0] for solver, found in ours.items()}
        finals |= {f"scikit-learn, {solver}": end[0] for solver, end in ends.items()}
        print(f"{name} rank {rank} start {seed}:", ", ".join(f"{s} {v:.6g}" for s, v in finals.items()), flush=True)
        for close in TARGETS:
            for solver, found in ours.items():
                rows.setdefault((solver, close), []).append(
                    next((seconds for value, seconds in found if value <= close * max(finals.values())), np.inf)
                )
            for solver, end in ends.items():
                seconds = fewest(X, start, solver, close * max(finals.values()), end[2])
                rows.setdefault((f"scikit-learn, {solver}", close), []).append(seconds)
    for (solver, close), seconds in rows.items():
        ratios = [a / b for a, b in zip(seconds, rows["ours, hals", close], strict=True) if b < np.inf]
        print(
            f"{name} rank {rank}, within {close - 1:.1%}: {solver} {statistics.median(seconds):.2f} s, "
            f"{statistics.median(ratios):.1f} times hals, reached by {sum(s < np.inf for s in seconds)} of {seeds}"
        )


def _start(X: csr_array, rank: int, seed: int):
    return uniform(WeightedCells(X), rank, rng=np.random.default_rng(seed))


def main(*, ranks: tuple[int, ...] = (20, 100), seeds: int = 5, kl: bool = False, solvers: bool = False) -> None:
    warnings.simplefilter("ignore")
    for (name, X), rank in itertools.product(tables().items(), ranks):
        if solvers:
            compare_solvers(name, X, rank, seeds=seeds)
        else:
            compare(name, X, rank, seeds=seeds, kl=kl)
