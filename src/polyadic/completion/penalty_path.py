"""Penalties along a path, chosen by how well cells are predicted that are held out; and the error of any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from polyadic.completion.cells import cells_of
from polyadic.core.errors import InputError, check_int
from polyadic.core.progress import tracked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyadic.completion.cells import ObservedEntries
    from polyadic.completion.trace_norm import TraceNormCompletion


def rmse(model: Any, cells: ObservedEntries) -> float:
    """Give the root mean squared error of a model over cells."""
    return float(np.sqrt(np.mean((model.predict(cells.rows, cells.columns) - cells.values) ** 2)))


PATIENCE = 3
"""Penalties in a row without a lower loss of the cells held out, after which smaller ones are not tried."""


class PenaltyChoice(NamedTuple):
    """What cells that were held out say of penalties.

    Attributes
    ----------
    penalties : list of float
        Those tried, falling.
    losses : list of float
        The mean loss of the cells held out.
    ranks : list of int
    best : float
        The penalty of the smallest loss.
    """

    penalties: list[float]
    losses: list[float]
    ranks: list[int]
    best: float


def penalty_path(model: TraceNormCompletion, X: Any, penalties: Sequence[float]) -> Iterator[TraceNormCompletion]:
    """Give one fit after another along falling penalties, each from the last, which is quicker than each from zero.

    Parameters
    ----------
    model : TraceNormCompletion
        Says all but the penalty; it stays as it is.
    X : Entries, sparse matrix or array with NaN for unknown cells
    penalties : sequence of float
        Ctrl-C ends the path with the fit that it cut short.

    Raises
    ------
    InputError
        If they do not fall, or the method has no penalty.

    Examples
    --------
    >>> from polyadic.completion.trace_norm import TraceNormCompletion
    >>> x = np.diag([5.0, 3.0, 1.0])
    >>> [fit.rank_ for fit in penalty_path(TraceNormCompletion(offsets="none"), x, [6.0, 4.0, 2.0])]
    [0, 1, 2]
    """
    if model.method == "frank-wolfe" or list(penalties) != sorted(penalties, reverse=True):
        raise InputError("a path goes along falling penalties, of a method that has one")
    start = None
    for penalty in tracked(penalties, "penalties", total=len(penalties)):
        fitted = clone(model).set_params(penalty=penalty).fit(X, start=start)
        start = fitted.start_
        yield fitted
        if fitted.interrupted_:
            return


def choose_penalty(
    model: TraceNormCompletion, X: Any, *, share: float = 0.1, number: int = 20, min_ratio: float = 0.02, seed: int = 0
) -> PenaltyChoice:
    r"""Hold cells out, and find the penalty under which the others predict them best.

    Parameters
    ----------
    model : TraceNormCompletion
        Says all but the penalty.
    X : Entries, sparse matrix or array with NaN for unknown cells
    share : float
        Of the cells to be held out.
    number : int
        Penalties tried at most: from the largest that leaves anything to ``min_ratio`` of it, by a constant ratio; the
        search ends when ``PATIENCE`` in a row are no better.
    min_ratio : float
    seed : int
        Of the cells held out.

    Raises
    ------
    InputError
        If a share is not between 0 and 1, or nothing is left to fit or to predict.

    Examples
    --------
    >>> from polyadic.completion.trace_norm import TraceNormCompletion
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20)) + 0.1 * rng.standard_normal((30, 20))
    >>> choice = choose_penalty(TraceNormCompletion(offsets="none"), x)
    >>> choice.best < choice.penalties[0], choice.losses[0] > min(choice.losses)
    (True, True)
    """
    check_int("number", number, low=2)
    for name, value in (("share", share), ("min_ratio", min_ratio)):
        if not 0 < value < 1:
            raise InputError(f"{name} must lie between 0 and 1; got {value!r}")
    cells = cells_of(X)
    out = np.random.default_rng(seed).random(len(cells.values)) < share
    if out.all() or not out.any():
        raise InputError(f"a share of {share:g} of {len(out):,} cells leaves none to fit or none to predict")
    kept = cells.at(~out)
    largest = model.largest_penalty(kept)
    if not largest:
        raise InputError("offsets alone explain every cell that is kept, so there is no penalty to choose")
    penalties = (largest * np.geomspace(1, min_ratio, number + 1)[1:]).tolist()
    losses: list[float] = []
    ranks: list[int] = []
    for fitted in penalty_path(model, kept, penalties):
        if fitted.interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
        predicted = fitted.predict(cells.rows[out], cells.columns[out])
        losses.append(float(model.loss.value(cells.values[out], predicted).mean()))
        ranks.append(fitted.rank_)
        if len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
            break
    return PenaltyChoice(penalties[: len(losses)], losses, ranks, penalties[int(np.argmin(losses))])
