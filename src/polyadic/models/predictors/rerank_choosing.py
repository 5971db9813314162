"""The reranker, order, rank and C that cost least on lists held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from polyadic.errors import InputError
from polyadic.progress import tracked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.models.predictors.reranking import Reranker


class Chosen(NamedTuple):
    """The model that costs least, fitted, and what each costs.

    Attributes
    ----------
    best : Reranker
    costs : list of float
        Mean cost over the lists held out in the best epoch of each model, in the order of the models.
    """

    best: Any
    costs: list[float]


def choose(models: Sequence[Reranker], X: Any, y: Any = None, *, validation: Any) -> Chosen:
    """Fit each of some models, keep its best epoch, and take the model that costs least; the first of equals.

    Parameters
    ----------
    models : sequence of Reranker
        They are cloned; of different orders, ranks, C.
    X, y, validation
        See :meth:`~polyadic.models.predictors.reranking.Reranker.fit`.

    Raises
    ------
    InputError
        If there is no model, or as ``fit``.

    Examples
    --------
    >>> from polyadic.groups import Groups
    >>> from polyadic.models.predictors.linear_rerankers import MIRA
    >>> lists = Groups.of([[1, 0], [0, 1], [1, 1], [0, 1]], costs=[1, 0, 1, 0], group=[0, 0, 1, 1])
    >>> choose([MIRA(C=0.1), MIRA(C=1.0)], lists, validation=lists).costs
    [0.0, 0.0]
    """
    if not models:
        raise InputError("there is no model to choose from")
    fitted, costs = [], []
    for model in tracked(models, "choosing", total=len(models)):
        fitted.append(clone(model).fit(X, y, validation=validation))
        if fitted[-1].interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
        costs.append(min(fitted[-1].result_.measured))
    return Chosen(fitted[int(np.argmin(costs))], costs)
