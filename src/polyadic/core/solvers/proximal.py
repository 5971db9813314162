r"""Proximal gradient for trace norms: a step down the slopes of the known cells, then singular values shrunk.

.. math:: M \leftarrow S_{\lambda / L}\Big(Y - \tfrac{1}{L} P^\top \nabla f(P Y)\Big)

With :math:`Y` the last matrix, a squared loss and so :math:`L = 1`, this is Soft-Impute: unknown cells are filled with
what is predicted, and the filled matrix is shrunk. FISTA goes on from the last step in its direction first,
:math:`Y = M_k + \beta_k (M_k - M_{k-1})`, and needs the square root of the number of steps. Neither ever makes the
matrix dense.

References
----------
Mazumder, Hastie, Tibshirani (2010), Spectral regularization algorithms for learning large incomplete matrices,
algorithm 1.
Beck, Teboulle (2009), A fast iterative shrinkage-thresholding algorithm for linear inverse problems, section 4.
O'Donoghue, Candes (2015), Adaptive restart for accelerated gradient schemes, section 3.2.
Schmidt, Le Roux, Bach (2011), Convergence rates of inexact proximal-gradient methods, for how exact steps must be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.core.linalg.spectral import distance
from polyadic.core.solvers.run import Sweep
from polyadic.core.solvers.trace_norm import refuse_foreign_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.core.linalg.spectral import Spectral
    from polyadic.core.solvers.trace_norm import Problem

SHARE = 0.2
"""Residuals of singular vectors as a share of the length of the last step: errors fall as the steps do."""
FIRST, FINEST = 1e-2, 1e-12
"""Residuals in the first step as a share of the threshold, and the smallest asked for, of that or of the root of the
first objective."""


def proximal_gradient(problem: Problem, start: Spectral | None = None, *, accelerate: bool = True) -> Iterator[Sweep]:
    """Descend from ``start``, zero by default; one sweep is one shrinking, or two where the first would have risen.

    Parameters
    ----------
    problem : Problem
        Losses, penalty, known cells.
    start : Spectral, optional
        Such as the answer for a larger penalty.
    accelerate : bool
        FISTA, which begins again where the objective would rise; else Soft-Impute.

    Yields
    ------
    Sweep
        Factors are the ``U``, ``s`` and ``V`` of a :class:`~polyadic.core.linalg.Spectral`. First the start; the
        objective never rises. Ends where rounding leaves nothing to improve.
    """
    M = problem.zero if start is None else start
    refuse_foreign_start(M, problem.pattern.shape)
    m = problem.pattern.at(M)
    value = problem.objective(M, m)
    yield Sweep([*M], value)
    before, before_m, t = M, m, 1.0
    finest = FINEST * problem.step * max(problem.penalty, abs(value) ** 0.5)
    tol = max(FIRST * problem.step * problem.penalty, finest)
    while True:
        following = (1 + (1 + 4 * t**2) ** 0.5) / 2
        beta = (t - 1) / following if accelerate else 0.0
        slopes = problem.smooth.gradient(m + beta * (m - before_m))
        parts = [(1 + beta, M), (-beta, before)] if beta else [(1.0, M)]
        reached = problem.proximal(parts, slopes, near=M, tol=tol)
        reached_m = problem.pattern.at(reached)
        reached_value = problem.objective(reached, reached_m)
        moved = distance(reached, M)
        if reached_value > value:
            if beta:
                before, before_m, t = M, m, 1.0  # begin again without momentum
            elif tol > finest:
                tol = max(0.01 * tol, finest)  # a plain step only rises if it was not exact
            else:
                return
            continue
        before, before_m, t = M, m, following
        M, m, value = reached, reached_m, reached_value
        yield Sweep([*M], value)
        if not moved:
            return
        tol = max(min(tol, SHARE * moved / max(M.rank, 1) ** 0.5), finest)
