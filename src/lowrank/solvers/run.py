"""The one loop: draw sweeps from a solver, record, report, stop."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lowrank.errors import InputError, check_int, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lowrank.forms import Factors


CALM = 3
"""Sweeps in a row that must change little; one alone stopped non-negative fits a fifth before their time."""


class Sweep(NamedTuple):
    """What a solver yields: the factors it has reached, new arrays each time, and the objective there."""

    factors: Factors
    objective: float


@dataclass
class Result:
    """Where a solver stopped and how it came there.

    Attributes
    ----------
    factors : list of ndarray
        Of the last complete sweep.
    history : list of float
        The objective at the start and after each sweep.
    seconds : list of float
        When each was reached.
    converged, interrupted : bool
        Whether the objective settled; whether Ctrl-C came first. Neither: ``max_iter`` sweeps were drawn.
    """

    factors: Factors
    history: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    @property
    def n_iter(self) -> int:
        """Sweeps drawn."""
        return len(self.history) - 1


class NotConvergedWarning(UserWarning):
    """The objective was still moving when the sweeps ran out."""


def run(
    solver: Iterator[Sweep],
    *,
    max_iter: int,
    tol: float = 0.0,
    watch: Callable[[Result], None] | None = None,
) -> Result:
    """Draw sweeps from ``solver`` until the objective settles.

    Settled means: three sweeps in a row each changed it by at most ``tol`` times the whole change since the start; one
    alone may be a poor step. (A share of its first value would stop at once where a start near a saddle moves slowly
    at first.) The first thing a solver yields is where it starts. Ctrl-C stops the loop and keeps the last complete
    sweep.

    Parameters
    ----------
    solver : iterator of Sweep
        See the functions of this package. It may end by itself, when nothing is left to improve.
    max_iter : int
        Sweeps to draw at most, at least 1.
    tol : float
        Relative change at which to stop; 0 never stops early.
    watch : callable, optional
        Called with the result so far after each sweep.

    Raises
    ------
    InputError
        If ``max_iter`` or ``tol`` is out of range, or the objective is not finite at the start.

    Examples
    --------
    >>> import numpy as np
    >>> halves = (Sweep([np.array(2.0**-k)], 2.0**-k) for k in range(99))
    >>> result = run(halves, max_iter=50, tol=0.2)
    >>> result.history, result.converged
    ([1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125], True)
    """
    check_int("max_iter", max_iter, low=1)
    check_number("tol", tol)
    began = time.perf_counter()
    first = next(solver)
    if not math.isfinite(first.objective):
        raise InputError(f"the objective is {first.objective} at the start; check the values and the penalty")
    result = Result(first.factors, [first.objective], [time.perf_counter() - began])
    calm = 0
    try:
        for _, (factors, objective) in zip(range(max_iter), solver, strict=False):
            result.factors = factors
            result.history.append(objective)
            result.seconds.append(time.perf_counter() - began)
            if watch is not None:
                watch(result)
            small = abs(result.history[-2] - objective) <= tol * abs(result.history[0] - objective)
            calm = calm + 1 if small else 0
            if tol and calm == CALM:
                result.converged = True
                return result
    except KeyboardInterrupt:
        result.interrupted = True
        return result
    if result.n_iter < max_iter:
        result.converged = True  # the solver found nothing left to improve
    elif tol:
        warnings.warn(
            f"stopped at max_iter={max_iter} before {CALM} sweeps each changed the objective by less than tol={tol:g}"
            " of its whole change; raise max_iter or tol",
            NotConvergedWarning,
            stacklevel=2,
        )
    return result
