"""Starting points of symmetric decompositions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.losses import Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.core.entries import Entries


def positive_start(size: int, rank: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return random rows around a common positive direction, shape (size, rank).

    Associations are positive, so this start is nearer to a solution than a centred one.
    """
    return (1 + rng.standard_normal((size, rank))).astype(np.float32)


def given_start(given: NDArray[Any], size: int, *, rank: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return given factors as a start, extended to ``rank`` by random columns a tenth as long.

    Parameters
    ----------
    given : ndarray of shape (size, r)
        Factors of a lower order (such as scaled eigenvectors) or of a lower rank, r at most rank.
    size, rank : int
        Shape of the start.
    rng : Generator
        Random generator of the missing columns.
    """
    given = np.asarray(given)
    if given.ndim != 2 or given.shape[0] != size or not 0 < given.shape[1] <= rank:
        raise InputError(f"start must have {size} rows, one per word, and 1 to {rank} columns; got shape {given.shape}")
    if not np.isfinite(given).all():
        raise InputError("start must be finite")
    more = rng.standard_normal((size, rank - given.shape[1])) * (0.1 * given.std())
    return np.hstack([given, more]).astype(np.float32)


def zero_unlisted(u: NDArray[np.float32], lists: Sequence[Entries]) -> NDArray[np.float32]:
    """Set the rows of indices without an entry to zero, where a symmetric decomposition leaves them."""
    listed = np.zeros(len(u), bool)
    for entries in lists:
        for column in entries.indices.T:
            listed[column] = True
    return np.where(listed[:, None], u, u.dtype.type(0))


def best_scale(terms: Sequence[Term], u: NDArray[np.float32], *, threads: int | None = None) -> NDArray[np.float32]:
    """Scale a start so that the total loss of symmetric terms is minimal.

    Predictions of order n scale with :math:`t^n` if ``u`` scales with t, so a squared loss is
    :math:`f(0) - b t^n + c t^{2n}`, and one gradient gives b and c. Other losses are evaluated during the search.
    """
    from scipy.optimize import minimize_scalar

    rays = [_ray(term, u, threads) for term in terms]

    def loss(log_t: float) -> float:
        return sum(ray(np.exp(log_t)) for ray in rays)

    # a coarse grid over scales, then a search around its minimum: two orders may give two local minima
    grid = np.linspace(-12, 12, 97) if all(isinstance(t.loss, Squared) for t in terms) else np.linspace(-6, 6, 9)
    at = int(np.argmin([loss(log_t) for log_t in grid]))
    around = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    minimum = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-4, "maxiter": 12})
    return u * u.dtype.type(np.exp(minimum.x))


def _ray(term: Term, u: NDArray[np.float32], threads: int | None) -> Any:
    """Return the loss of a term as a function of the scale of ``u``."""
    objective = Objective([term], [L2()], threads=threads)
    if not isinstance(term.loss, Squared):
        return lambda t: objective.value([u * u.dtype.type(t)])
    n = term.entries.order
    at_zero = objective.value([np.zeros_like(u)])
    at_one, (gradient,) = objective.value_and_gradient([u])
    slope = float(np.vdot(gradient.astype(float), u)) / n  # -b + 2 c
    c = slope - (at_one - at_zero)
    b = 2 * c - slope
    return lambda t: at_zero - b * t**n + c * t ** (2 * n)
