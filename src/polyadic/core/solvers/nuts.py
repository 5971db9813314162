r"""No-U-turn sampler: Hamiltonian Monte Carlo with automatic path lengths, step size and diagonal mass matrix.

A position q with density :math:`e^{L(q)}` gets a random momentum :math:`p \sim N(0, M)`. Leapfrog steps of size
:math:`\epsilon` follow the Hamiltonian dynamics of the energy :math:`H = -L(q) + \tfrac12 p^\top M^{-1} p`. The path is
doubled forwards or backwards in time until its ends approach each other. The next position is drawn from the path with
probabilities proportional to :math:`e^{-H}`. During warm-up the step size is adapted by dual averaging, and
:math:`M^{-1}` is set to the variances of the positions in windows of increasing length.

References
----------
Hoffman, Gelman (2014), The no-U-turn sampler: adaptively setting path lengths in Hamiltonian Monte Carlo, section 3.
Betancourt (2017), A conceptual introduction to Hamiltonian Monte Carlo, appendix A: multinomial sampling of the path
and the stopping rule with the sum of momenta. arXiv:1701.02434
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError

Density = Callable[[Array], tuple[float, Array]]
MAX_ENERGY = 1000.0  # error of the energy above which a path has diverged
FIRST, LAST, WINDOW = 75, 50, 25
"""Transitions of the warm-up, as in Stan, that adapt the step size only: at its start and at its end; and the length of
the first window of variances. Each window is twice as long as the one before."""


class Point(NamedTuple):
    """Position, momentum, and log density of the position with its gradient."""

    q: Array
    p: Array
    value: float
    gradient: Array


class Transition(NamedTuple):
    """A sample of the chain and diagnostics of the path from which it was drawn."""

    position: Array
    log_density: float
    step_size: float
    n_steps: int  # leapfrog steps, each with one evaluation of the gradient
    acceptance: float  # mean acceptance probability along the path
    diverged: bool


class _Path(NamedTuple):
    """Part of a path: its ends, the sum of its momenta, and a point drawn from it."""

    first: Point
    last: Point
    momentum: Array
    log_weight: float
    drawn: Point
    acceptance: float  # sum over points
    n_steps: int
    ended: bool
    diverged: bool


def leapfrog(density: Density, at: Point, step: float, variance: Array) -> Point:
    """Return the point after a leapfrog step, backwards if negative; ``variance`` is the diagonal of :math:`M^{-1}`."""
    p = at.p + step / 2 * at.gradient
    q = at.q + step * variance * p
    value, gradient = density(q)
    return Point(q, p + step / 2 * gradient, value, gradient)


def nuts(
    density: Density, start: Array, rng: np.random.Generator, *, warmup: int, target: float = 0.8, max_depth: int = 10
) -> Iterator[Transition]:
    """Yield the transitions of a no-U-turn sampler, without end; raise InputError if the start has no finite density.

    ``density`` returns the log density of a position, up to a constant, and its gradient. The first ``warmup``
    transitions are no samples: they adapt the masses, and the step size to the mean acceptance probability ``target``.
    A path is doubled up to ``max_depth`` times.
    """
    value, gradient = density(start)
    if not (math.isfinite(value) and np.isfinite(gradient).all()):
        raise InputError(f"the log density is {value} at the start, or its gradient is not finite; rescale the data")
    at, variance = Point(start, start, value, gradient), np.ones(len(start))
    step = _DualAveraging(_first_step(density, at, variance, rng), target)
    ends, window = _windows(warmup), []
    for made in count():
        adapting = made < warmup
        size = step.current if adapting else step.average
        path = _transition(density, at, size, variance, rng, max_depth)
        at = path.drawn
        acceptance = path.acceptance / path.n_steps
        if adapting:
            step.update(acceptance)
            if ends[0] <= made < ends[-1]:
                window.append(at.q)
            if made + 1 in ends[1:]:
                n = len(window)  # variances of few samples are drawn towards a small value, as in Stan
                variance, window = (n * np.var(window, axis=0, ddof=1) + 5e-3) / (n + 5), []
                step = _DualAveraging(_first_step(density, at, variance, rng), target)
        yield Transition(at.q, at.value, size, path.n_steps, acceptance, path.diverged)


def _windows(warmup: int) -> list[int]:
    """Return the start of the first window of variances and the ends of all windows."""
    first, last, window = FIRST, LAST, WINDOW
    if warmup < first + last + window:
        first, last = round(0.15 * warmup), round(0.1 * warmup)
        window = warmup - first - last
    if window < 2:  # there is no variance of a single position
        return [warmup]
    ends = [first]
    while ends[-1] + 3 * window <= warmup - last:  # another window of twice the length fits
        ends.append(ends[-1] + window)
        window *= 2
    return [*ends, warmup - last]


def _energy(at: Point, variance: Array) -> float:
    return 0.5 * float(at.p @ (variance * at.p)) - at.value


@np.errstate(over="ignore", invalid="ignore")  # a path that diverges ends
def _transition(
    density: Density, at: Point, step: float, variance: Array, rng: np.random.Generator, max_depth: int
) -> _Path:
    """Draw a momentum, double the path until it turns around, and return it."""
    at = at._replace(p=rng.standard_normal(len(at.q)) / np.sqrt(variance))
    energy = _energy(at, variance)
    path = _Path(at, at, at.p, 0.0, at, 0.0, 0, ended=False, diverged=False)

    def extended(end: Point, depth: int, step: float) -> _Path:
        if not depth:
            point = leapfrog(density, end, step, variance)
            error = _energy(point, variance) - energy
            error = error if math.isfinite(error) else math.inf
            diverged = error > MAX_ENERGY
            return _Path(point, point, point.p, -error, point, math.exp(min(0.0, -error)), 1, diverged, diverged)
        one = extended(end, depth - 1, step)
        if one.ended:
            return one
        other = extended(one.last if step > 0 else one.first, depth - 1, step)
        return _joined(one, other, variance, rng, forwards=step > 0)

    for depth in range(max_depth):
        forwards = bool(rng.random() < 0.5)
        more = extended(path.last if forwards else path.first, depth, step if forwards else -step)
        path = _joined(path, more, variance, rng, forwards=forwards, whole=True)
        if path.ended:
            break
    return path


def _joined(
    one: _Path, other: _Path, variance: Array, rng: np.random.Generator, *, forwards: bool, whole: bool = False
) -> _Path:
    r"""Join a path and its extension, and draw a point from both.

    In a ``whole`` path the point moves to the extension with probability :math:`\min(1, w' / w)`, so that it tends to
    move far. Nothing is drawn from an extension that has ended, because it could not have been reached from there.
    """
    n_steps, acceptance = one.n_steps + other.n_steps, one.acceptance + other.acceptance
    if other.ended:
        return one._replace(n_steps=n_steps, acceptance=acceptance, ended=True, diverged=other.diverged)
    log_weight = float(np.logaddexp(one.log_weight, other.log_weight))
    moves = math.log(1 - rng.random()) < other.log_weight - (one.log_weight if whole else log_weight)
    drawn = other.drawn if moves else one.drawn
    left, right = (one, other) if forwards else (other, one)
    momentum = left.momentum + right.momentum
    spans = (  # the whole path, and each part with the next point of the other
        (momentum, left.first, right.last),
        (left.momentum + right.first.p, left.first, right.first),
        (left.last.p + right.momentum, left.last, right.last),
    )
    ended = any(min(float(end.p @ (variance * rho)) for end in ends) <= 0 for rho, *ends in spans)
    return _Path(left.first, right.last, momentum, log_weight, drawn, acceptance, n_steps, ended, diverged=False)


@np.errstate(over="ignore", invalid="ignore")
def _first_step(density: Density, at: Point, variance: Array, rng: np.random.Generator) -> float:
    """Return a step size at which the acceptance probability of one step is about one half (algorithm 4)."""
    at = at._replace(p=rng.standard_normal(len(at.q)) / np.sqrt(variance))
    energy, step, direction = _energy(at, variance), 1.0, 0.0
    for _ in range(100):
        error = _energy(leapfrog(density, at, step, variance), variance) - energy
        now = 1.0 if error < math.log(2) else -1.0  # also where it is not a number
        if direction and now != direction:
            break
        direction = now
        step *= 2.0**direction
    return step


class _DualAveraging:
    """Step size adapted to a mean acceptance probability by dual averaging (Hoffman and Gelman 2014, eq. 6)."""

    def __init__(self, step: float, target: float) -> None:
        self.current = self.average = step
        self._centre, self._target = math.log(10 * step), target
        self._error, self._log_average, self._count = 0.0, 0.0, 0

    def update(self, acceptance: float) -> None:
        self._count += 1
        weight = 1 / (self._count + 10)
        self._error += weight * (self._target - acceptance - self._error)
        log_step = self._centre - math.sqrt(self._count) / 0.05 * self._error
        share = self._count**-0.75
        self._log_average += share * (log_step - self._log_average)
        self.current, self.average = math.exp(log_step), math.exp(self._log_average)
