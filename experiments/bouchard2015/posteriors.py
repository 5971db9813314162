"""Bayesian factorization of ratings: Gibbs sampling, Hamiltonian Monte Carlo, variational Bayes, Matchbox."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import norm

from experiments.bouchard2015.ratings import traits
from experiments.data.ratings import Fold
from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.bayesian_pca import BayesianGeneralizedPCA
from polyadic.completion.coupled.database import Relation
from polyadic.completion.coupled.variational import VariationalFactorization
from polyadic.completion.matchbox import MatchboxFactorization
from polyadic.core.entries import Entries
from polyadic.metrics.chains import effective_sample_size
from polyadic.metrics.figures import Figure, difference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from experiments.data.ratings import MovieLens
    from polyadic.core.stage_cache import Facts

    Array = NDArray[np.float64]

LEVELS = np.arange(1.0, 6.0)
CELLS = 200
"""Number of test cells whose predictions give the effective sample size."""


class Posterior(NamedTuple):
    """Predictive means, standard deviations and probabilities of the levels; predictions by sample for some cells."""

    mean: Array
    std: Array
    levels: Array
    chain: Array | None = None


def subset(fold: Fold, size: int, *, seed: int) -> tuple[Fold, NDArray[np.int64], NDArray[np.int64]]:
    """Return the ratings of random users for the films which these users rated most, and their numbers."""
    n, m = fold.train.shape
    users = np.sort(np.random.default_rng(seed).permutation(n)[:size])
    rows, columns = np.asarray(fold.train.indices, np.int64).T
    counts = np.bincount(columns[np.isin(rows, users)], minlength=m)
    films = np.sort(np.argsort(-counts, kind="stable")[:size])

    def part(entries: Entries) -> Entries:
        i, j = np.asarray(entries.indices, np.int64).T
        at = np.flatnonzero(np.isin(i, users) & np.isin(j, films))
        indices = np.column_stack([np.searchsorted(users, i[at]), np.searchsorted(films, j[at])])
        return Entries(indices, entries.values[at], (len(users), len(films)), unobserved="missing")

    return Fold(part(fold.train), part(fold.test)), users, films


def evaluate(
    fold: Fold, about: MovieLens, *, rank: int, seed: int, size: int | None = None, draws: int = 400, leapfrog: int = 5
) -> list[Facts]:
    """Fit each method to a fold, or to a subset of ``size`` users and films, and evaluate its predictive distributions.

    Hamiltonian Monte Carlo is run on subsets only, with at most 2^leapfrog - 1 steps in a transition. Times are those
    of one thread, without time in which it waits for a processor.
    """
    tables = traits(about)
    users, films = (np.asarray(tables[name].data) for name in ("people", "kinds"))
    if size is not None:
        fold, some, others = subset(fold, size, seed=seed)
        users, films = users[some], films[others]
    i, j = np.asarray(fold.test.indices, np.int64).T
    some = np.random.default_rng(seed).permutation(len(i))[:CELLS]

    def gibbs(X: Entries) -> Posterior:
        model = BayesianMatrixFactorization(
            rank, burn_in=draws // 4, draws=draws, n_samples=draws, seed=seed, threads=1
        ).fit(X)
        chain = []
        for draw in model.memory_.draws:
            U, V = np.split(draw.state[0][:-1], [X.shape[0]])
            chain.append(np.einsum("nr,nr->n", U[i[some]], V[j[some]]))
        return _normal(*model.predict_distribution(i, j), np.array(chain))

    def hamiltonian(X: Entries) -> Posterior:
        how: dict[str, Any] = {"burn_in": draws, "draws": draws, "n_samples": draws, "max_depth": leapfrog}
        model = BayesianGeneralizedPCA(rank, **how, seed=seed, threads=1).fit(X)
        chain = np.einsum("snr,snr->sn", model.row_factors_[:, i[some]], model.column_factors_[:, j[some]])
        return _normal(*model.predict_distribution(i, j), chain)

    def variational(X: Entries) -> Posterior:
        model = VariationalFactorization(rank, seed=seed, threads=1).fit({"ratings": Relation(X, ("user", "film"))})
        return _normal(*model.predict_distribution("ratings", np.column_stack([i, j])))

    def matchbox(X: Entries, **how: Any) -> Posterior:
        features = how.pop("features", {})
        model = MatchboxFactorization(rank, seed=seed, **how).fit(X, **features)
        levels = np.zeros((len(i), len(LEVELS)))
        levels[:, np.searchsorted(LEVELS, model.levels_)] = model.predict_levels(i, j)
        return Posterior(*model.predict_distribution(i, j), levels)

    methods: list[tuple[str, Callable[[Entries], Posterior]]] = [
        ("Gibbs sampling", gibbs),
        *([] if size is None else [("Hamiltonian Monte Carlo", hamiltonian)]),
        ("variational Bayes", variational),
        ("Matchbox", matchbox),
        ("Matchbox, one pass", lambda X: matchbox(X, max_iter=1, tol=0.0)),
        *([("Matchbox, shared thresholds", lambda X: matchbox(X, thresholds="shared"))] if size else []),
        ("Matchbox, features", lambda X: matchbox(X, features={"row_features": users, "column_features": films})),
    ]
    return [_evaluated(name, make, fold) for name, make in methods]


def _normal(mean: Array, std: Array, chain: Array | None = None) -> Posterior:
    """Return the probabilities of levels by rounding a normal variable."""
    bounds = norm.cdf((LEVELS[:-1] + 0.5 - mean[:, None]) / std[:, None])
    return Posterior(mean, std, np.diff(bounds, prepend=0.0, append=1.0, axis=1), chain)


def _evaluated(name: str, make: Callable[[Entries], Posterior], fold: Fold) -> Facts:
    start = time.process_time()
    posterior = make(fold.train)
    seconds = time.process_time() - start
    x, users = np.asarray(fold.test.values), np.asarray(fold.test.indices, np.int64)[:, 0]
    error = np.clip(posterior.mean, 1, 5) - x
    logs = np.log(np.maximum(posterior.levels[np.arange(len(x)), np.searchsorted(LEVELS, x)], 1e-12))
    facts: Facts = {"name": name, "seconds": seconds, "mae": float(np.abs(error).mean())}
    facts |= {"rmse": float(np.sqrt(np.mean(error**2))), "log": float(logs.mean())}
    facts["coverage"] = float(np.mean(np.abs(posterior.mean - x) <= norm.ppf(0.95) * posterior.std))
    if posterior.chain is not None:
        facts["samples"] = float(np.nanmedian(effective_sample_size(posterior.chain)))
    sums = {"squares": error**2, "logs": logs, "cells": np.ones(len(x))}
    return facts | {key: np.bincount(users, value, fold.test.shape[0]).tolist() for key, value in sums.items()}


def pooled(folds: Facts) -> list[Facts]:
    """Average the measures over folds, with differences from the first method and intervals over users."""
    rows = []
    methods = [[fold[k] for fold in folds.values()] for k in range(len(next(iter(folds.values()))))]
    for method in methods:
        row: Facts = {"name": method[0]["name"]}
        for key in ("rmse", "mae", "log", "coverage", "seconds", "samples"):
            if key in method[0]:
                row[key] = float(np.mean([fold[key] for fold in method]))
        if "samples" in row:
            row["rate"] = float(np.mean([fold["samples"] / fold["seconds"] for fold in method]))
        if method is not methods[0]:
            for key, name, statistic in (("squares", "rmse", _root), ("logs", "log", None)):
                ours, theirs = (_figure(name, folds_, key, statistic) for folds_ in (method, methods[0]))
                row[f"{name}_difference"] = difference(ours, theirs)._asdict()
        rows.append(row)
    return rows


def _figure(name: str, folds: Sequence[Facts], key: str, statistic: Any) -> Figure:
    sums = np.column_stack([np.sum([fold[k] for fold in folds], axis=0) for k in (key, "cells")])
    how = {} if statistic is None else {"statistic": statistic}
    return Figure(name, sums[sums[:, 1] > 0], used=int(sums[:, 1].sum()), total=int(sums[:, 1].sum()), **how)


def _root(rows: Array, times: NDArray[np.int64]) -> Array:
    sums = times @ rows
    return np.asarray(np.sqrt(sums[:, 0] / sums[:, 1]))
