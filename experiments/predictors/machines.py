"""Factorization machines on MovieLens 100K: errors on the five test parts, with and without attributes.

What is chosen is chosen on a tenth of the training part of each fold.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.data.ratings import movielens, movielens_fold
from polyadic.core.stage_cache import whole
from polyadic.supervised.factorization_machines import FactorizationMachine
from polyadic.supervised.fields import FieldEncoder
from polyadic.supervised.fm_gibbs import BayesianFactorizationMachine

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from experiments.data.ratings import MovieLens
    from polyadic.core.entries import Entries
    from polyadic.core.stage_cache import Facts
    from polyadic.supervised.factorization_machines import Solver

    Root = str | os.PathLike[str] | None

FOLDS = ("u1", "u2", "u3", "u4", "u5")
AGES = (18, 25, 35, 45, 50, 56)
"""Where groups of ages begin, those of MovieLens 1M."""
RIDGES = (0.8, 1.0, 1.2, 1.4)
"""Grid of each solver."""
EPOCHS: dict[Solver, int] = {"als": 80, "adagrad": 40, "sgd": 60}
HELD_OUT = 0.1


class Ratings(NamedTuple):
    """Rows of features of ratings to learn from and to predict, and the field of each feature."""

    train: csr_array
    train_ratings: NDArray[np.float64]
    test: csr_array
    test_ratings: NDArray[np.float64]
    groups: NDArray[np.int64]


def ratings(fold: str, *, attributes: bool, root: Root = None) -> Ratings:
    """Read a fold as rows of features: user and film; with ``attributes`` age group, sex, occupation and genres.

    ``fold``: Of :data:`FOLDS`.
    """
    everything, split = movielens(root=root), movielens_fold(fold, root=root)
    encoder = FieldEncoder().fit(columns(everything, everything.ratings, attributes=attributes))
    train, test = (
        encoder.transform(columns(everything, part, attributes=attributes)) for part in (split.train, split.test)
    )
    return Ratings(train, split.train.values, test, split.test.values, encoder.groups_)


def columns(data: MovieLens, part: Entries, *, attributes: bool) -> dict[str, list[Any]]:
    """Return the fields of ratings."""
    users, films = part.indices.T.tolist()
    fields: dict[str, list[Any]] = {"user": users, "film": films}
    if not attributes:
        return fields
    ages = np.digitize([viewer.age for viewer in data.users], AGES).tolist()
    return fields | {
        "age": [ages[u] for u in users],
        "sex": [data.users[u].gender for u in users],
        "occupation": [data.users[u].occupation for u in users],
        "genre": [data.films[i].genres for i in films],
    }


def drawn(
    fold: str,
    *,
    attributes: bool,
    rank: int = 8,
    draws: int = 300,
    burn_in: int = 20,
    seed: int = 0,
    grouped: bool = True,
    root: Root = None,
) -> Facts:
    """Draw machines for a fold; predictions are means over draws, none beyond the scale of ratings.

    ``grouped``: Whether each field has penalties of its own.
    """
    data = ratings(fold, attributes=attributes, root=root)
    began = time.perf_counter()
    model = BayesianFactorizationMachine(rank, draws=draws, burn_in=burn_in, clip=True, seed=seed)
    model.fit(data.train, data.train_ratings, groups=data.groups if grouped else None)
    seconds = time.perf_counter() - began
    row: Facts = {"fold": fold, "name": "mcmc", "attributes": attributes, "rank": rank, "draws": draws}
    row["rmse"] = rmse(model.predict(data.test), data.test_ratings)
    model.draws_ = model.draws_[-1:]
    return row | {"last_draw": rmse(model.predict(data.test), data.test_ratings), "fit_seconds": seconds}


def descended(fold: str, solver: Solver, *, attributes: bool, rank: int = 8, seed: int = 0, root: Root = None) -> Facts:
    """Fit a point estimate of a machine; penalty and sweeps are selected within the training part."""
    data = ratings(fold, attributes=attributes, root=root)
    X, y = data.train, data.train_ratings
    held = np.zeros(len(y), bool)
    held[np.random.default_rng(seed).permutation(len(y))[: round(HELD_OUT * len(y))]] = True
    began, tried = time.perf_counter(), []
    for ridge in RIDGES:
        model = FactorizationMachine(rank, solver=solver, ridge=ridge, max_iter=EPOCHS[solver], tol=0, seed=seed)
        model.fit(X[~held], y[~held], validation=(X[held], y[held]))
        tried.append((rmse(whole(model).predict(X[held]), y[held]), ridge, max(model.result_.best, 1)))
    error, ridge, sweeps = min(tried)
    model = FactorizationMachine(rank, solver=solver, ridge=ridge, max_iter=sweeps, tol=0, seed=seed).fit(X, y)
    row: Facts = {"fold": fold, "name": solver, "attributes": attributes, "rank": rank}
    row |= {"rmse": rmse(whole(model).predict(data.test).clip(y.min(), y.max()), data.test_ratings)}
    row |= {"validation": error, "chosen": {"ridge": ridge, "sweeps": sweeps}}
    return row | {"fit_seconds": model.result_.seconds[-1], "seconds": time.perf_counter() - began}


def rmse(predicted: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))
