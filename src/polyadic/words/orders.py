"""Objectives for symmetric word tuples of one or more orders, with initialization and cost estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from polyadic.core.errors import InputError, check_number
from polyadic.core.forms import CP
from polyadic.core.losses import Loss, Squared
from polyadic.core.objective import Objective, Slot, Term
from polyadic.core.penalties import L2
from polyadic.core.resources import check_memory, current_memory
from polyadic.words.base import SMALLER, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.entries import Entries

ZERO_MASS = {2: 6.0, 3: 50.0}
"""Total weight of zeros relative to listed entries, for pairs and larger tuples; see docs/results/third-order.md."""
ZERO_POWER = 0.75
"""Exponent of the word degrees in the weights of zeros; tuned, and equal to that of word2vec's negative sampling."""
SWEEPS = 75  # typical number of sweeps of a fit: 72 to 87 on 50 to 109 MB of Wikipedia with the default tolerance
COPIES = 28  # arrays of the size of the factors in a fit: 10 pairs of steps and gradients, and temporary ones


def plan(objective: Objective, widths: Sequence[int], *, max_iter: int) -> dict[str, float]:
    """Estimate the time in minutes and the memory in MiB of a quasi-Newton fit by timing the objective."""
    size = objective.terms[0].entries.shape[0]
    needed = check_fits(size, sum(widths), objective.threads)
    held = current_memory() or 0
    rng = np.random.default_rng(0)
    factors = [rng.random((size, width), np.float32) for width in widths]
    minutes = min(SWEEPS, max_iter) * objective.seconds(factors) / 60
    return {"about_minutes": max(round(minutes, 1), 0.1), "memory_mib": held + round(needed / 2**20)}


def check_fits(size: int, rank: int, threads: int) -> float:
    """Return the memory in bytes that a fit requires; raise InputError if less memory is available."""
    needed = 4.0 * (COPIES + 2 * threads) * size * rank
    check_memory(needed, f"a model of {size:,} words and rank {rank}", SMALLER)
    return needed


def symmetric_terms(
    lists: Sequence[Entries],
    loss: Loss,
    *,
    zero_weight: float | None = None,
    zero_power: float | None = None,
    order_weights: Sequence[float] | None = None,
) -> list[Term]:
    r"""Return one CP objective term for each symmetric tensor; all terms share a factor matrix.

    Each unordered tuple counts once. The weight of a term is its order weight divided by the loss of predicting zero
    for all listed entries, :math:`\sum w x^2`, so with equal weights, the default, a short list matters as much as a
    long one. The weight of the last list is used as it is.

    Zeros are weighted by the degrees of their words, as a zero of words with many entries is stronger evidence: with
    :math:`\deg_i` the number of entries that list word i, :math:`q_i \propto \deg_i^\kappa` has mean 1, where
    :math:`\kappa` is ``zero_power``. The mean weight of a zero is ``zero_weight``. Without it, all zeros of a list have
    ``ZERO_MASS`` times the weight of its entries, but at most a mean weight of 1.

    >>> from polyadic.core.entries import Entries
    >>> from polyadic.core.losses import Squared
    >>> pairs, triples = Entries.collect([[0, 1]], [1.0], 3), Entries.collect([[0, 1, 2]], [3.0], 3)
    >>> [term.weight for term in symmetric_terms([pairs, triples], Squared(), zero_weight=0.1)]
    [4.5, 0.16666666666666666]
    """
    if zero_weight is not None:
        check_number("zero_weight", zero_weight)
    if zero_power is not None:
        check_number("zero_power", zero_power)
    weights = [1.0] * len(lists) if order_weights is None else [check_number("order weight", w) for w in order_weights]
    if not lists or len(weights) != len(lists):
        got = f"{len(weights)} weights for {len(lists)} tensors"
        raise InputError(f"order_weights must contain one weight per tensor; got {got}", "order_weights")
    for entries in lists:
        listed(entries, symmetric=True, missing=True)
        if entries.shape[0] != lists[0].shape[0]:
            raise InputError(
                f"all entries must have the same vocabulary; got {lists[0].shape[0]} and {entries.shape[0]} words"
            )
    sizes = [entries.squares() for entries in lists]
    if not all(sizes):
        raise InputError("all entries are zero or have zero weight, so there is nothing to factorize")
    terms = []
    for x, size, weight in zip(lists, sizes, weights, strict=True):
        z = _zero_weight(x, loss) if zero_weight is None else zero_weight
        power = (ZERO_POWER if loss.zeros == "squares" else 0.0) if zero_power is None else zero_power
        importance: dict[Slot, NDArray[Any]] = {}
        if power and z:
            degrees = sum(np.bincount(column, minlength=x.shape[0]) for column in x.indices.T)
            q = np.asarray(degrees, float) ** power
            importance = {0: np.asarray(q / q.mean())}
        alpha = weight * sizes[-1] / size / math.factorial(x.order)
        terms.append(Term(x, CP(), loss, (0,) * x.order, alpha, z, importance))
    return terms


def _zero_weight(entries: Entries, loss: Loss) -> float:
    """Return the default mean weight of zero cells, 1 for a likelihood of counts."""
    if entries.unobserved == "missing":
        return 0.0
    if loss.zeros != "squares":
        return 1.0
    listed = float(len(entries) if entries.weights is None else entries.weights.sum(dtype=float))
    cells = entries.shape[0] ** entries.order / math.factorial(entries.order)
    return min(ZERO_MASS.get(entries.order, ZERO_MASS[3]) * listed / cells, 1.0)  # as in plain least squares at most


def positive_start(size: int, rank: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return random rows, (size, rank), around a common positive direction: nearer to a solution than centred ones."""
    return (1 + rng.standard_normal((size, rank))).astype(np.float32)


def given_start(given: NDArray[Any], size: int, *, rank: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Extend given initial factors, shape (size, r), to ``rank`` columns by small random numbers."""
    given = np.asarray(given)
    if given.ndim != 2 or given.shape[0] != size or not 0 < given.shape[1] <= rank:
        raise InputError(f"start must have {size} rows, one per word, and 1 to {rank} columns; got shape {given.shape}")
    if not np.isfinite(given).all():
        raise InputError("start must be finite; remove infinite and NaN values")
    more = rng.standard_normal((size, rank - given.shape[1])) * (0.1 * given.std())
    return np.hstack([given, more]).astype(np.float32)


def zero_unobserved(u: NDArray[np.float32], lists: Sequence[Entries]) -> NDArray[np.float32]:
    """Set the factor rows of indices without entries to zero, as in the optimum of a symmetric decomposition."""
    listed = np.zeros(len(u), bool)
    for entries in lists:
        for column in entries.indices.T:
            listed[column] = True
    return np.where(listed[:, None], u, u.dtype.type(0))


def best_scale(terms: Sequence[Term], u: NDArray[np.float32], *, threads: int | None = None) -> NDArray[np.float32]:
    """Scale the initial factors to minimize the total loss of all terms.

    Predictions of order n scale with :math:`t^n` if ``u`` scales with t, so a squared loss is
    :math:`f(0) - b t^n + c t^{2n}`, and one gradient gives b and c. Other losses are evaluated during the search.
    """
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
    """Return the loss of a term as a function of the scale of the factor matrix ``u``."""
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
