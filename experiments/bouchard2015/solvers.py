"""Solvers to one objective: epochs and processor time; and L1 penalties on the factors of ratings."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.bouchard2015.ratings import traits
from polyadic.completion.cells import cells_of, split_cells
from polyadic.completion.coupled.collective import CollectiveFactorization
from polyadic.completion.coupled.database import Relation
from polyadic.completion.factorization import MatrixFactorization, StochasticMatrixFactorization
from polyadic.completion.logistic import LogisticFactorization
from polyadic.core.entries import Entries
from polyadic.core.solvers.run import NotConvergedWarning
from polyadic.supervised.factorization_machines import FactorizationMachineClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from experiments.data.multilabel import Labelling
    from experiments.data.ratings import Fold, MovieLens
    from polyadic.core.stage_cache import Facts

GAPS = (0.01, 0.001)
"""Shares of the decrease of the objective, from the start of all to the lowest reached, that may be left."""
LINEAR_EPOCHS = 600
L1, RIDGES = (0.0, 0.3, 1.0, 2.0), (1.0, 11.0)


def compare(fits: Mapping[str, Callable[[Any], Any]]) -> list[Facts]:
    """Fit one objective by each solver; ``fits`` take a callback and return a fitted model."""
    runs = {}
    for name, fit in fits.items():
        marks = [time.process_time()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            history = np.array(fit(lambda _, marks=marks: marks.append(time.process_time())).history_)
        runs[name] = history, np.array(marks) - marks[0]
    low, high = min(h.min() for h, _ in runs.values()), max(h[0] for h, _ in runs.values())
    rows: list[Facts] = []
    for name, (history, seconds) in runs.items():
        row: Facts = {"solver": name, "objective": float(history.min())}
        for gap in GAPS:
            near = np.flatnonzero(history - low <= gap * (high - low))
            row[f"epochs to {gap:g}"] = int(near[0]) if len(near) else None
            row[f"seconds to {gap:g}"] = float(seconds[near[0]]) if len(near) else None
        rows.append(row)
    return rows


def linear(labels: Labelling, *, seed: int) -> list[Facts]:
    """Fit logistic regression for the most frequent label of a set by each solver."""
    X, y = labels.features, labels.labels[:, labels.labels.sum(axis=0).argmax()].astype(int)
    how: Facts = {"order": 1, "linear_ridge": 1.0, "count_power": 0.0, "tol": 0.0, "seed": seed, "threads": 1}
    return compare(
        {
            solver: lambda callback, solver=solver: FactorizationMachineClassifier(  # type: ignore[misc]
                solver=solver, max_iter=LINEAR_EPOCHS, callback=callback, **how
            ).fit(X, y)
            for solver in ("als", "adagrad", "sgd", "sag", "saga")
        }
    )


def factors(fold: Fold, *, rank: int, seed: int) -> dict[str, list[Facts]]:
    """Factorize ratings with squared loss, and whether they have four stars with logistic loss, by each solver."""
    X = fold.train
    how: Facts = {"tol": 0.0, "seed": seed, "threads": 1}
    squared: dict[str, Callable[[Any], Any]] = {
        "als": lambda callback: MatrixFactorization(
            rank, ridge=7.0, count_power=1, max_iter=40, callback=callback, **how
        ).fit(X)
    }
    for solver, epochs in (("sgd", 150), ("sag", 100), ("saga", 100)):
        squared[solver] = lambda callback, solver=solver, epochs=epochs: StochasticMatrixFactorization(  # type: ignore[misc]
            rank, solver=solver, max_iter=epochs, callback=callback, **how
        ).fit(X)
    liked = Entries(X.indices, (X.values >= 4).astype(float), X.shape, unobserved="missing")
    logistic: dict[str, Callable[[Any], Any]] = {
        solver: lambda callback, solver=solver, epochs=epochs: LogisticFactorization(  # type: ignore[misc]
            rank, ridge=3.0, solver=solver, max_iter=epochs, callback=callback, **how
        ).fit(liked)
        for solver, epochs in (("quasi-newton", 150), ("sag", 150), ("saga", 150))
    }
    return {"squared loss": compare(squared), "logistic loss": compare(logistic)}


def coupled(fold: Fold, about: MovieLens, *, rank: int, seed: int) -> list[Facts]:
    """Factorize ratings with the tables of people and films by coordinate descent and by stochastic gradients."""
    tables = {"ratings": Relation(fold.train, ("user", "film")), **traits(about)}
    return compare(
        {
            solver: lambda callback, solver=solver, epochs=epochs: CollectiveFactorization(  # type: ignore[misc]
                rank, solver=solver, max_iter=epochs, tol=0.0, seed=seed, threads=1, callback=callback
            ).fit(tables)
            for solver, epochs in (("coordinate-descent", 60), ("sgd", 60))
        }
    )


def sparse(fold: Fold, *, rank: int, seed: int) -> list[Facts]:
    """Return the error and the zeros of factors by penalty; on a tenth of the training cells, and on the test cells."""
    cells = cells_of(fold.train)
    kept, held = split_cells(cells, 0.1, seed=seed)
    i, j = np.asarray(fold.test.indices, np.int64).T
    rows: list[Facts] = []
    for ridge in RIDGES:
        for l1 in L1:
            model = MatrixFactorization(rank, ridge=ridge, l1=l1, seed=seed, threads=1, tol=1e-3)
            model.fit(kept)
            inside = _rmse(model, held.rows, held.columns, held.values)
            model.fit(cells)
            zeros = [float((F == 0).mean()) for F in (model.row_factors_, model.column_factors_)]
            used = int((model.row_factors_.any(axis=0) & model.column_factors_.any(axis=0)).sum())
            row: Facts = {"ridge": ridge, "l1": l1, "held": inside, "rmse": _rmse(model, i, j, fold.test.values)}
            rows.append(row | {"zeros_of_users": zeros[0], "zeros_of_films": zeros[1], "components": used})
    return rows


def _rmse(model: MatrixFactorization, i: Any, j: Any, values: Any) -> float:
    return float(np.sqrt(np.mean((np.clip(model.predict(i, j), 1, 5) - values) ** 2)))
