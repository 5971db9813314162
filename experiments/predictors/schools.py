"""Scores of pupils from 139 schools: one regression, one for each school, and tasks of low rank between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.data.school import SCHOOLS, school
from polyadic.core.stage_cache import whole
from polyadic.supervised.multitask import LowRankTasks

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

    Array = NDArray[np.float64]
    Predicted = Callable[[Array, NDArray[np.int64]], Array]

SHARE = 0.25
"""Training share of the pupils of each school; as many of the rest are for validation."""
RIDGES = (1.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
RANKS = (1, 2, 3, 5, 27)


def alike(X: Array, y: Array, schools: NDArray[np.int64], *, ridge: float) -> Predicted:
    """Fit one ridge regression to all pupils."""
    from sklearn.linear_model import Ridge

    del schools
    model = Ridge(ridge).fit(X, y)

    def predicted(Z: Array, at: NDArray[np.int64]) -> Array:
        del at
        return np.asarray(model.predict(Z))

    return predicted


def apart(X: Array, y: Array, schools: NDArray[np.int64], *, ridge: float) -> Predicted:
    """Fit a ridge regression for each school."""
    from sklearn.linear_model import Ridge

    models = [Ridge(ridge).fit(X[schools == k], y[schools == k]) for k in range(SCHOOLS)]
    weights, offsets = np.array([m.coef_ for m in models]), np.array([m.intercept_ for m in models])
    return lambda Z, at: np.einsum("nd,nd->n", Z, weights[at]) + offsets[at]


def together(X: Array, y: Array, schools: NDArray[np.int64], *, rank: int, ridge: float) -> Predicted:
    """Fit regressions whose weights are of low rank."""
    Y = np.full((len(y), SCHOOLS), np.nan)
    Y[np.arange(len(y)), schools] = y
    return whole(LowRankTasks(rank, ridge=ridge).fit(X, Y)).predict_tasks


METHODS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "one regression": (alike, [{"ridge": ridge} for ridge in RIDGES]),
    "one for each school": (apart, [{"ridge": ridge} for ridge in RIDGES]),
    "low-rank tasks": (together, [{"rank": rank, "ridge": ridge} for rank in RANKS for ridge in RIDGES[2:]]),
}


def compared(*, splits: int, seed: int, root: str | os.PathLike[str] | None = None) -> list[Facts]:
    """Hide pupils of each school, several times; choose settings of each method within the rest.

    ``seed``: Of the first split.
    """
    data = school(root=root)
    X = (data.features - data.features.mean(axis=0)) / data.features.std(axis=0)
    y, at = data.scores, data.schools
    rows: list[Facts] = [{"name": name, "explained": [], "within": [], "chosen": []} for name in METHODS]
    for number in range(seed, seed + splits):
        rng = np.random.default_rng(number)
        test = _hidden(at, np.ones(len(y), bool), rng)
        held = _hidden(at, ~test, rng)
        fitted = ~test & ~held
        for row, (fit, settings) in zip(rows, METHODS.values(), strict=True):
            errors = [
                float(((fit(X[fitted], y[fitted], at[fitted], **setting)(X[held], at[held]) - y[held]) ** 2).sum())
                for setting in settings
            ]
            best = settings[int(np.argmin(errors))]
            p = fit(X[~test], y[~test], at[~test], **best)(X[test], at[test])
            for key, share in zip(("explained", "within"), explained(y[test], p, at[test]), strict=True):
                row[key].append(share)
            row["chosen"].append(best)
    return rows


def explained(y: Array, p: Array, groups: NDArray[np.int64]) -> tuple[float, float]:
    """Return the share of the variance of y that p explains: of all, and of that within groups.

    Examples
    --------
    >>> y, groups = np.array([1.0, 3.0, 11.0, 13.0]), np.array([0, 0, 1, 1])
    >>> [round(share, 3) for share in explained(y, np.array([2.0, 2.0, 12.0, 12.0]), groups)]
    [0.962, 0.0]
    """
    sizes = np.bincount(groups)
    means = np.bincount(groups, y) / np.maximum(sizes, 1)
    wrong = float(((y - p) ** 2).sum())
    return 1 - wrong / float(((y - y.mean()) ** 2).sum()), 1 - wrong / float(((y - means[groups]) ** 2).sum())


def _hidden(groups: NDArray[np.int64], among: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a share of the given items of each group."""
    hidden = np.zeros(len(groups), bool)
    for k in range(groups.max() + 1):
        there = rng.permutation(np.flatnonzero(among & (groups == k)))
        hidden[there[: round(SHARE * np.sum(groups == k))]] = True
    return hidden
