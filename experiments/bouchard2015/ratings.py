"""MovieLens 100K: one fold completed by every method, settings chosen within its training part."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.coupled.bayesian import BayesianFactorization
from polyadic.completion.coupled.collective import CollectiveFactorization
from polyadic.completion.coupled.database import Relation
from polyadic.completion.coupled.variational import VariationalFactorization
from polyadic.completion.factorization import MatrixFactorization, StochasticMatrixFactorization
from polyadic.completion.trace_norm import TraceNormCompletion, choose_penalty
from polyadic.core.selection import select

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.data.ratings import Fold, MovieLens
    from polyadic.core.entries import Entries
    from polyadic.core.stage_cache import Facts

DECADES = (0, 18, 25, 35, 45, 50, 56, 200)
"""Bounds of the ages that MovieLens itself uses."""


def evaluate(fold: Fold, about: MovieLens, *, rank: int, seed: int) -> list[Facts]:
    """Complete a fold by every method.

    ``about``: Whose users and films are the second and third table. ``rank``: Of the models that learn their penalties,
    and of point estimates of all tables.
    """
    return [_timed(name, make, fold) for name, make in (*_completions(rank, seed), *_databases(about, rank, seed))]


def traits(about: MovieLens) -> dict[str, Relation]:
    """Return users by traits and films by genres, as truth values of which all are known."""
    jobs = sorted({user.occupation for user in about.users})
    people = [
        [user.gender == "F", *np.histogram([user.age], DECADES)[0], *(user.occupation == job for job in jobs)]
        for user in about.users
    ]
    films = [[genre in film.genres for genre in about.genres] for film in about.films]
    return {
        "people": Relation(np.array(people, float), ("user", "trait"), loss="logistic"),
        "kinds": Relation(np.array(films, float), ("film", "genre"), loss="logistic"),
    }


def _completions(rank: int, seed: int) -> list[tuple[str, Callable[[Entries], tuple[Any, Facts]]]]:
    """Return methods of a single table: each takes training cells to a function of rows and columns."""

    def plain(model: Any) -> Callable[[Entries], tuple[Any, Facts]]:
        return lambda X: (model.fit(X).predict, {})

    def least_squares(X: Entries) -> tuple[Any, Facts]:
        model = select(MatrixFactorization(seed=seed), X, seed=seed)
        return model.predict, model.selection_.settings

    def trace_norm(X: Entries) -> tuple[Any, Facts]:
        model = TraceNormCompletion(offsets="biases", bias_ridge=5.0, tol=1e-3)
        model.set_params(penalty=choose_penalty(model, X, seed=seed).best).fit(X)
        return model.predict, {"penalty": model.penalty, "rank": model.rank_}

    return [
        ("biases alone", plain(MatrixFactorization(0))),
        ("stochastic gradient, rank 10, not chosen", plain(StochasticMatrixFactorization(10, seed=seed))),
        ("alternating least squares", least_squares),
        ("trace norm", trace_norm),
        (f"Bayesian, rank {rank}", plain(BayesianMatrixFactorization(rank, seed=seed))),
    ]


def _databases(about: MovieLens, rank: int, seed: int) -> list[tuple[str, Callable[[Entries], tuple[Any, Facts]]]]:
    """Return models of coupled tables: ratings alone, and with attributes of users and films."""
    kinds: dict[str, Callable[[], Any]] = {
        "point estimates": lambda: CollectiveFactorization(rank, seed=seed),
        "variational": lambda: VariationalFactorization(rank, seed=seed),
        "draws": lambda: BayesianFactorization(rank, seed=seed),
    }

    def method(make: Callable[[], Any], tables: dict[str, Relation]) -> Callable[[Entries], tuple[Any, Facts]]:
        def fitted(X: Entries) -> tuple[Any, Facts]:
            model = make().fit({"ratings": Relation(X, ("user", "film")), **tables})
            return lambda i, j: model.predict("ratings", np.column_stack([i, j])), {}

        return fitted

    return [
        (f"database of {what}, {name}, rank {rank}", method(make, tables))
        for name, make in kinds.items()
        for what, tables in (("ratings", {}), ("ratings, people, films", traits(about)))
    ]


def _timed(name: str, make: Callable[[Entries], tuple[Any, Facts]], fold: Fold) -> Facts:
    start = time.perf_counter()
    predict, settings = make(fold.train)
    seconds = time.perf_counter() - start
    i, j = np.asarray(fold.test.indices, np.int64).T
    m = np.clip(predict(i, j), 1, 5)
    return {"name": name, "rmse": float(np.sqrt(np.mean((m - fold.test.values) ** 2))), "seconds": seconds, **settings}
