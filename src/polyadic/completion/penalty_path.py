"""Regularization path of trace-norm completion, and selection of the penalty on held-out cells."""

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
    """Return the root mean squared error of a model on cells."""
    return float(np.sqrt(np.mean((model.predict(cells.rows, cells.columns) - cells.values) ** 2)))


PATIENCE = 3
"""Number of consecutive penalties without a lower held-out loss after which the path ends."""


class PenaltyChoice(NamedTuple):
    """Mean held-out losses and ranks along a path of decreasing penalties, and the penalty of the lowest loss."""

    penalties: list[float]
    losses: list[float]
    ranks: list[int]
    best: float


def penalty_path(model: TraceNormCompletion, X: Any, penalties: Sequence[float]) -> Iterator[TraceNormCompletion]:
    """Yield fits along decreasing penalties, each started from the last, which is faster than from zero.

    Ctrl-C ends the path with the interrupted fit.
    """
    if model.method == "frank-wolfe" or list(penalties) != sorted(penalties, reverse=True):
        raise InputError(
            "penalties must be decreasing, and the method must have a penalty (not frank-wolfe)", "penalties"
        )
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
    """Select the penalty with the lowest loss on a held-out ``share`` of the cells.

    At most ``number`` penalties form a geometric sequence from the largest that gives a non-zero matrix to
    ``min_ratio`` of it. The search ends after ``PATIENCE`` penalties without improvement.
    """
    check_int("number", number, low=2)
    for name, value in (("share", share), ("min_ratio", min_ratio)):
        if not 0 < value < 1:
            raise InputError(f"{name} must be between 0 and 1; got {value!r}")
    cells = cells_of(X)
    out = np.random.default_rng(seed).random(len(cells.values)) < share
    if out.all() or not out.any():
        raise InputError(
            f"a held-out share of {share:g} of {len(out):,} cells leaves no cells on one side; change the share"
        )
    kept = cells.at(~out)
    largest = model.largest_penalty(kept)
    if not largest:
        raise InputError("offsets alone explain all cells, so there is no penalty to select")
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
