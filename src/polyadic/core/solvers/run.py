"""Run an iterative solver: record iterations, call the callback, and stop on convergence."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from polyadic.core.annotations import Factors
from polyadic.core.errors import InputError, InputWarning, check_int, check_number

CONVERGED_AFTER = 3
"""Consecutive iterations with a small change required for convergence; one alone stopped non-negative fits a fifth too
early.
"""


class Sweep(NamedTuple):
    """State of a solver after an iteration: the current factors and the objective."""

    factors: Factors
    objective: float


@dataclass
class Result:
    """Result of a solver run: the factors, the objective of each iteration, and why the run ended.

    Unless it converged, diverged or was interrupted, it ended at ``max_iter``.
    """

    factors: Factors  # of iteration ``best``
    history: list[float] = field(default_factory=list)  # objective at the start and after each iteration
    seconds: list[float] = field(default_factory=list, metadata={"kept": False})  # so that equal fits make equal files
    measured: list[float] = field(default_factory=list)  # value of ``measure`` at each of these; empty without one
    best: int = 0  # iteration whose factors are kept: the last, or that of the lowest measure
    converged: bool = False  # or the measure stopped improving
    interrupted: bool = False
    diverged: bool = False  # the objective became infinite or NaN

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history) - 1


Callback = Callable[[Result], None] | None
"""Function called with the result so far after each iteration. It belongs to one fit and is not saved.

If it has a method ``within``, models with long iterations call that with the completed share of an iteration.
"""


class NotConvergedWarning(InputWarning):
    """Warning that a solver stopped before convergence."""


class DivergedWarning(UserWarning):
    """Warning that the objective became infinite or NaN."""


def run(
    solver: Iterator[Sweep],
    *,
    max_iter: int,
    tol: float = 0.0,
    callback: Callback = None,
    measure: Callable[[Factors], float] | None = None,
    patience: int = 5,
    stacklevel: int = 2,
) -> Result:
    """Run iterations of ``solver`` until the objective converges, the solver ends, or ``max_iter`` is reached.

    The run has converged when three consecutive iterations each changed the objective by at most ``tol`` times the
    total change since the start, which is the first item of a solver. Ctrl-C, or an objective that is not finite, ends
    the run and keeps the last complete iteration.

    ``callback`` is called with the result so far after each iteration; from its attribute ``reached``
    (:class:`~polyadic.words.checkpoint.Checkpoint`), if any, the run resumes. With ``measure``, a validation loss of
    factors, the best factors are kept, and the run ends after ``patience`` iterations without a lower one. Warnings
    point to the caller of this function, or further up with a larger ``stacklevel``, as in :func:`warnings.warn`.
    """
    check_int("max_iter", max_iter, low=1)
    check_number("tol", tol)
    check_int("patience", patience, low=1)
    began = time.perf_counter()
    first = next(solver)
    if not math.isfinite(first.objective):
        raise InputError(f"the objective is {first.objective} at the start; check the values and the penalty")
    reached: Result | None = getattr(callback, "reached", None)
    if reached is None:
        result = Result(first.factors)
        _record(result, first, began, measure)
    else:
        lists: dict[str, Any] = {name: [*getattr(reached, name)] for name in ("history", "seconds", "measured")}
        result = replace(reached, factors=first.factors, **lists)
        began -= result.seconds[-1]
    del first  # frees the memory of its factors
    within_tol = 0
    try:
        for _ in range(max_iter - result.n_iter):
            if (sweep := next(solver, None)) is None:
                break
            if not math.isfinite(sweep.objective):
                result.diverged = True
                warnings.warn(
                    f"the objective became {sweep.objective} in iteration {result.n_iter + 1}, so the factors of"
                    f" iteration {result.best} were kept; use a smaller step or a stronger penalty",
                    DivergedWarning,
                    stacklevel=stacklevel,
                )
                return result
            _record(result, sweep, began, measure)
            if callback is not None:
                callback(result)
            before, now = result.history[-2:]
            within_tol = within_tol + 1 if abs(before - now) <= tol * abs(result.history[0] - now) else 0
            no_improvement = measure is not None and result.n_iter - result.best >= patience
            if (tol and within_tol == CONVERGED_AFTER) or no_improvement:
                result.converged = True
                return result
            del sweep
    except KeyboardInterrupt:
        result.interrupted = True
        return result
    result.converged = result.n_iter < max_iter  # the solver ended by itself
    if tol and not result.converged:
        message = f"stopped at max_iter={max_iter} before the objective converged to the tolerance tol={tol:g}"
        warning = NotConvergedWarning(f"{message}; increase max_iter or tol", "max_iter", "tol")
        warnings.warn(warning, stacklevel=stacklevel)
    return result


def _record(result: Result, sweep: Sweep, began: float, measure: Callable[[Factors], float] | None) -> None:
    """Record an iteration; keep the latest factors, or the best factors if there is a validation measure."""
    if measure is not None:
        result.measured.append(measure(sweep.factors))
    result.history.append(sweep.objective)
    result.seconds.append(time.perf_counter() - began)
    if measure is None or result.measured[-1] <= min(result.measured):
        result.factors, result.best = sweep.factors, result.n_iter
