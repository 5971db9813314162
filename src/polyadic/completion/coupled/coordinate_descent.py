r"""Block coordinate descent for the factors and biases of coupled tables, with quadratic bounds on the losses.

.. math:: \min \sum_t \sum_{e} w_e\, \ell_t(x_e, m_e) + \tfrac{z_t}{2} \sum_{\mathrm{unobserved}} m^2
          + \tfrac12 \sum_s \lambda_s \sum_i n_i^\gamma \|u^{(s)}_i\|^2 + \tfrac{\rho}{2} \sum n_i^\gamma b_i^2

A sweep bounds each loss by a parabola that touches it from above (:func:`parabola`), then solves for the rows of one
factor after another, for intercepts and for biases. No step increases the objective. For squared losses this is
alternating least squares.

References
----------
Singh, Gordon (2008), Relational learning via collective matrix factorization, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError
from polyadic.core.kernels import posterior_rows
from polyadic.core.losses import Huber, Logistic, Loss, SoftplusPoisson, Squared
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from polyadic.completion.coupled.coupled_tables import CoupledTables, State

BOUNDED = (Squared, Logistic, SoftplusPoisson, Huber)  # losses with a known parabolic bound


def parabola(loss: Loss, x: Array, mean: Array, square: Array | None = None) -> tuple[Array, Array]:
    r"""Return the coefficients :math:`\kappa` and :math:`y` of a quadratic upper bound on the loss of each entry.

    .. math:: \ell(x, m) \le \tfrac{\kappa}{2} m^2 - y\, m + \mathrm{const}

    The parabola touches the loss at ``mean``, so that minimising it cannot increase the loss. For random :math:`m`, of
    the expected ``square``, it is the lowest in expectation. Jaakkola, Jordan (2000), Bayesian parameter estimation via
    variational methods, eq. 8 (logistic); Seeger, Bouchard (2012), Fast variational Bayesian inference for
    non-conjugate matrix factorization models, section 4.2 (counts, with a curvature of at most .25 + .17 x).
    """
    if isinstance(loss, Squared):
        return np.ones_like(mean), x
    if isinstance(loss, Logistic):
        xi = np.sqrt(mean**2 if square is None else square)
        return logistic_curvature(xi), x - 0.5
    if isinstance(loss, SoftplusPoisson):
        kappa = 0.25 + 0.17 * x
        return kappa, kappa * mean - loss.grad(x, mean)
    if isinstance(loss, Huber):
        kappa = loss.delta / np.maximum(np.abs(mean - x), loss.delta)
        return kappa, kappa * x
    allowed = ", ".join(kind.__name__ for kind in BOUNDED)
    raise InputError(f"loss must be one of {allowed}; got {type(loss).__name__}", "loss")


def logistic_curvature(xi: Array) -> Array:
    r"""Return the mean of a Polya-Gamma variable, :math:`\tanh(\xi / 2) / (2 \xi)`, with the limit 1/4 at zero.

    >>> logistic_curvature(np.array([0.0, 2.0])).round(4).tolist()
    [0.25, 0.1904]
    """
    small = np.abs(xi) < 1e-4  # the series 1/4 - xi^2 / 48 is exact to machine precision here
    safe = np.where(small, 1, xi)
    return np.where(small, 0.25 - xi**2 / 48, np.tanh(safe / 2) / (2 * safe))


def collective(
    coupled: CoupledTables,
    start: State,
    *,
    ridges: Sequence[float],
    bias_ridge: float,
    count_power: float = 0.0,
    threads: int,
) -> Iterator[Sweep]:
    """Iterate over sweeps of block coordinate descent, with penalties λ_s, ρ and the exponent γ of the counts."""
    state = [np.array(part) for part in start]
    powers = [np.maximum(counts, 1.0) ** count_power for counts in coupled.counts]
    moving = [power[first:] for power, first in zip(powers, coupled.fixed, strict=True)]
    tables = range(len(coupled.terms))
    while True:
        m = [coupled.products(state[0], t, threads) + coupled.biases(state[1 + t], t) for t in tables]
        yield Sweep([part.copy() for part in state], objective_of(coupled, state, m, ridges, bias_ridge, powers))
        c, y = curves(coupled, m)
        for s, ridge in enumerate(ridges):
            stack, ones = state[0], [1.0] * len(c)
            entries = coupled.equations(s, c, y, state[1:], ones)
            scale = np.repeat(1 / moving[s], np.diff(entries.starts))
            precision = ridge * np.eye(stack.shape[1])
            if any(coupled.zeros):
                precision = precision + coupled.zero_precision(s, coupled.grams(stack), ones)
            entries = entries._replace(c=scale * entries.c, y=scale * entries.y)
            one_by_one, out = coupled.factor_entries[s].sequential, coupled.free_rows(stack, s)
            posterior_rows(entries, stack, precision=precision, out=out, threads=1 if one_by_one else threads)
        for t in tables:
            m[t] = coupled.products(state[0], t, threads) + coupled.biases(state[1 + t], t)
            _solve_biases(coupled, state, t, c[t], y[t], m[t], bias_ridge, powers)


def curves(
    coupled: CoupledTables, m: Sequence[Array], squares: Sequence[Array | None] | None = None
) -> tuple[list[Array], list[Array]]:
    """Return the weighted coefficients of quadratic upper bounds on the losses of all tables."""
    c, y = [], []
    for t, term in enumerate(coupled.terms):
        kappa, right = parabola(term.loss, coupled.values[t], m[t], None if squares is None else squares[t])
        c.append(coupled.weights[t] * kappa)
        y.append(coupled.weights[t] * right)
    return c, y


def _solve_biases(
    coupled: CoupledTables, state: State, t: int, c: Array, y: Array, m: Array, ridge: float, powers: list[Array]
) -> None:
    """Solve for the intercept of a table, then for the biases of each mode in turn."""
    if coupled.zeros[t]:
        return
    offsets = state[1 + t]
    if not coupled.folds:
        moved = float((y - c * (m - offsets[0])).sum() / c.sum())
        m += moved - offsets[0]
        offsets[0] = moved
    for part, slot, index in coupled.modes(t):
        before = offsets[part][index]
        size = part.stop - part.start
        right = np.bincount(index, y - c * (m - before), minlength=size)
        solved = right / (np.bincount(index, c, minlength=size) + ridge * powers[slot])
        offsets[part][coupled.fixed[slot] :] = solved[coupled.fixed[slot] :]
        m += offsets[part][index] - before


def objective_of(
    coupled: CoupledTables, state: State, m: list[Array], ridges: Any, bias_ridge: float, powers: list[Array]
) -> float:
    """Return the objective, given the predictions of the observed entries and the penalty weights of the rows."""
    total, stack = 0.0, state[0]
    for t, term in enumerate(coupled.terms):
        total += float(coupled.weights[t] @ term.loss.value(coupled.values[t], m[t]))
        if coupled.zeros[t]:
            unobserved = coupled.all_squares(t, coupled.grams(stack)) - float(m[t] @ m[t])
            total += 0.5 * coupled.zeros[t] * unobserved
        for part, slot, _ in coupled.modes(t):
            total += 0.5 * bias_ridge * float(powers[slot] @ state[1 + t][part] ** 2)
    for s, ridge in enumerate(ridges):
        total += 0.5 * ridge * float(powers[s] @ (coupled.factor(stack, s) ** 2).sum(axis=1))
    return total
