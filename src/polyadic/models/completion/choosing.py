"""Settings chosen by how well cells are predicted that are held out of those to learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from polyadic.errors import InputError, check_number
from polyadic.models.completion.cells import cells_of
from polyadic.progress import tracked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.models.completion.cells import Cells


class Choice(NamedTuple):
    """The model of the smallest error, not fitted, and the error of each.

    Attributes
    ----------
    best : estimator
    errors : list of float
        Root mean squared error over the cells held out, in the order of the models.
    """

    best: Any
    errors: list[float]


def split(cells: Cells, share: float, *, seed: int | None = None) -> tuple[Cells, Cells]:
    """Hold out a random share of cells.

    Raises
    ------
    InputError
        If the share is not between 0 and 1, or leaves no cell on one side.
    """
    if check_number("share", share, above=True) >= 1:
        raise InputError(f"the share to hold out must be less than 1; got {share!r}")
    number = round(share * len(cells.values))
    if not 0 < number < len(cells.values):
        raise InputError(f"a share of {share:g} of {len(cells.values):,} cells leaves none on one side")
    held = np.zeros(len(cells.values), bool)
    held[np.random.default_rng(seed).permutation(len(held))[:number]] = True
    return cells.at(~held), cells.at(held)


def rmse(model: Any, cells: Cells) -> float:
    """Give the root mean squared error of a model over cells."""
    return float(np.sqrt(np.mean((model.predict(cells.rows, cells.columns) - cells.values) ** 2)))


def choose(models: Sequence[Any], X: Any, *, share: float = 0.1, seed: int | None = None) -> Choice:
    """Fit each of some models to the same part of the cells, and take the one that predicts the others best.

    Parameters
    ----------
    models : sequence of estimators
        They are cloned.
    X : Entries, sparse matrix or array with NaN for unknown cells
    share : float
        Of the cells held out.
    seed : int, optional

    Raises
    ------
    InputError
        If there is no model, or the share leaves nothing.

    Examples
    --------
    >>> from polyadic.models.completion.factorization import MatrixFactorization
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> models = [MatrixFactorization(1, ridge=ridge, max_iter=500, seed=0) for ridge in (1.0, 0.001)]
    >>> choose(models, x, seed=0).best.ridge
    0.001
    """
    if not models:
        raise InputError("there is no model to choose from")
    train, held = split(cells_of(X), share, seed=seed)
    errors = []
    for model in tracked(models, "choosing", total=len(models)):
        fitted = clone(model).fit(train)
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
        errors.append(rmse(fitted, held))
    return Choice(clone(models[int(np.argmin(errors))]), errors)
