r"""Proximal gradient methods for trace norms: a gradient step, then soft-thresholding of singular values.

.. math:: M \leftarrow S_{\lambda / L}\Big(Y - \tfrac{1}{L} P^\top \nabla f(P Y)\Big)

With :math:`Y` the last matrix, a squared loss and so :math:`L = 1`, this is Soft-Impute. FISTA extrapolates first,
:math:`Y = M_k + \beta_k (M_k - M_{k-1})`, and needs the square root of the number of steps. The matrix never becomes
dense.

References
----------
Mazumder, Hastie, Tibshirani (2010), Spectral regularization algorithms for learning large incomplete matrices,
algorithm 1.
Beck, Teboulle (2009), A fast iterative shrinkage-thresholding algorithm for linear inverse problems, section 4.
O'Donoghue, Candes (2015), Adaptive restart for accelerated gradient schemes, section 3.2.
Schmidt, Le Roux, Bach (2011), Convergence rates of inexact proximal-gradient methods, for the required accuracy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.core.linalg.spectral import distance
from polyadic.core.solvers.run import Sweep
from polyadic.core.solvers.trace_norm import check_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.core.linalg.spectral import Spectral
    from polyadic.core.solvers.trace_norm import Problem

SHARE = 0.2
"""Residuals of singular vectors as a share of the length of the last step."""
FIRST_TOL, MIN_TOL = 1e-2, 1e-12
"""Residuals in the first step as a share of the threshold, and the smallest ones, as a share of that or of the root of
the first objective.
"""


def proximal_gradient(problem: Problem, start: Spectral | None = None, *, accelerate: bool = True) -> Iterator[Sweep]:
    """Minimize from ``start``, zero by default; one iteration is one thresholding, or two if the first rose.

    Uses FISTA with restarts if ``accelerate``, else Soft-Impute. Yields ``U``, ``s`` and ``V`` of a
    :class:`~polyadic.core.linalg.Spectral`. The objective never rises, and the solver ends at rounding precision.
    """
    M = problem.zero if start is None else start
    check_start(M, problem.pattern.shape)
    m = problem.pattern.at(M)
    value = problem.objective(M, m)
    yield Sweep([*M], value)
    before, before_m, t = M, m, 1.0
    min_tol = MIN_TOL * problem.step * max(problem.penalty, abs(value) ** 0.5)
    tol = max(FIRST_TOL * problem.step * problem.penalty, min_tol)
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
                before, before_m, t = M, m, 1.0  # restart without momentum
            elif tol > min_tol:
                tol = max(0.01 * tol, min_tol)  # a step without momentum only rises if it was inexact
            else:
                return
            continue
        before, before_m, t = M, m, following
        M, m, value = reached, reached_m, reached_value
        yield Sweep([*M], value)
        if not moved:
            return
        tol = max(min(tol, SHARE * moved / max(M.rank, 1) ** 0.5), min_tol)
