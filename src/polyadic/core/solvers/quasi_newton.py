"""Limited-memory quasi-Newton methods: L-BFGS, and OWL-QN for penalties with kinks or bounds at zero.

Smooth objectives follow Liu and Nocedal (1989). Where a penalty is kinked at zero, the search keeps to one orthant per
step (Andrew and Gao, 2007): it descends along the smallest subgradient, elements that would change their sign become
exactly zero, and zeros leave again as soon as that improves the objective.

References
----------
Liu, Nocedal (1989), On the limited memory BFGS method for large scale optimization, algorithm 2.1.
Andrew, Gao (2007), Scalable training of L1-regularized log-linear models, algorithm 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from polyadic.core.annotations import Factors
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from polyadic.core.penalties import Penalty

ARMIJO = 1e-4  # share of the predicted decrease required of a step: the customary value
MIN_STEP = 1e-10  # shortest step tried, relative to the first


class Function(Protocol):
    """Interface of objective functions, such as :class:`~polyadic.core.objective.Objective`."""

    @property
    def penalties(self) -> Sequence[Penalty]:
        """Penalty of each factor; the gradient of the objective includes the smooth parts of the penalties."""

    def value_and_gradient(self, factors: Factors) -> tuple[float, Factors]:
        """Return the value of the objective and the gradient of its smooth part."""


def quasi_newton(objective: Function, start: Factors, *, memory: int = 10) -> Iterator[Sweep]:
    """Minimize an objective by L-BFGS, or OWL-QN for non-smooth penalties; yield the start and each accepted step.

    ``memory`` pairs of steps and gradient changes approximate the curvature; each takes two copies of the factors. The
    objective never rises, and the solver ends where no step improves it.
    """
    u = [np.array(f) for f in start]
    value, g = objective.value_and_gradient(u)
    yield Sweep(u, value)
    pairs: deque[tuple[Factors, Factors, float]] = deque(maxlen=memory)
    while True:
        steepest = [p.steepest(f, d) for p, f, d in zip(objective.penalties, u, g, strict=True)]
        size = _norm(steepest)
        if size == 0:
            return
        direction = _direction(objective, steepest, pairs)
        # the first step changes the factors by a tenth, as the gradient has no scale
        step = 1.0 if pairs else 0.1 * max(_norm(u), 1.0) / size
        accepted = _search(objective, u, value, steepest, direction, step)
        if accepted is None:
            if not pairs:
                return
            pairs.clear()  # the curvature misled; try plain descent before giving up
            continue
        moved, value, gradient = accepted
        s = [a - b for a, b in zip(moved, u, strict=True)]
        y = [a - b for a, b in zip(gradient, g, strict=True)]
        curvature = _dot(s, y)
        if curvature > np.finfo(float).eps * _dot(y, y):
            pairs.append((s, y, curvature))
        u, g = moved, gradient
        yield Sweep(u, value)


def _direction(objective: Function, steepest: Factors, pairs: deque[tuple[Factors, Factors, float]]) -> Factors:
    """Compute the search direction from the subgradient by the L-BFGS two-loop recursion."""
    d = [-g for g in steepest]
    alphas = []
    for s, y, curvature in reversed(pairs):
        alpha = _dot(s, d) / curvature
        alphas.append(alpha)
        _add(d, y, -alpha)
    if pairs:
        _, y, curvature = pairs[-1]
        d = [a * a.dtype.type(curvature / _dot(y, y)) for a in d]
    for (s, y, curvature), alpha in zip(pairs, reversed(alphas), strict=True):
        _add(d, s, alpha - _dot(y, d) / curvature)
    for penalty, a, g in zip(objective.penalties, d, steepest, strict=True):
        if penalty.kinked:
            a[a * g >= 0] = 0  # only where the direction still descends
    if _dot(d, steepest) >= 0:
        pairs.clear()
        return [-g for g in steepest]
    return d


def _search(
    objective: Function, u: Factors, value: float, steepest: Factors, direction: Factors, step: float
) -> tuple[Factors, float, Factors] | None:
    """Backtracking line search: shorten the step until the objective decreases enough; return None if no step does."""
    min_step = MIN_STEP * step
    while step > min_step:
        moved = []
        for penalty, f, d, g in zip(objective.penalties, u, direction, steepest, strict=True):
            v = f + f.dtype.type(step) * d
            if penalty.kinked:
                orthant = np.where(f != 0, np.sign(f), -np.sign(g))
                v[v * orthant <= 0] = 0
            moved.append(v)
        expected = _dot([a - b for a, b in zip(moved, u, strict=True)], steepest)
        reached, gradient = objective.value_and_gradient(moved)
        if expected < 0 and reached <= value + ARMIJO * expected:
            return moved, reached, gradient
        # minimum of the parabola through both values and the slope, kept within sensible bounds
        curve = reached - value - expected
        shrink = -0.5 * expected / curve if np.isfinite(curve) and curve > 0 else 0.1
        step *= min(max(shrink, 0.1), 0.5)
    return None


def _dot(a: Factors, b: Factors) -> float:
    return sum(float(np.vdot(x, y)) for x, y in zip(a, b, strict=True))


def _norm(a: Factors) -> float:
    return float(np.sqrt(_dot(a, a)))


def _add(a: Factors, b: Factors, scale: float) -> None:
    for k, y in enumerate(b):
        a[k] += y.dtype.type(scale) * y
