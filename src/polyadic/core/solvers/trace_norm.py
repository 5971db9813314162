r"""Trace-norm regularized matrix completion: the problem, its duality gap, and proximal gradient methods.

.. math:: \min_M f(P M) + \lambda \|M\|_*

where :math:`P` selects the known cells and :math:`f` is convex. The dual has one variable per known cell,

.. math:: \max_y -f^*(y) \quad \text{such that} \quad \|P^\top y\|_2 \le \lambda,

and the gradient of :math:`f` at any :math:`M`, scaled to be feasible, gives a lower bound of the optimum. The
difference of objective and bound, the duality gap, is the stopping criterion.

Proximal gradient methods take a gradient step, then soft-threshold the singular values:

.. math:: M \leftarrow S_{\lambda / L}\Big(Y - \tfrac{1}{L} P^\top \nabla f(P Y)\Big)

With :math:`Y` the last matrix, a squared loss and so :math:`L = 1`, this is Soft-Impute. FISTA extrapolates first,
:math:`Y = M_k + \beta_k (M_k - M_{k-1})`, and needs the square root of the number of steps.

References
----------
Mazumder, Hastie, Tibshirani (2010), Spectral regularization algorithms for learning large incomplete matrices, eq. 8,
algorithm 1.
Rockafellar (1970), Convex analysis, section 31, for the dual.
Beck, Teboulle (2009), A fast iterative shrinkage-thresholding algorithm for linear inverse problems, section 4.
O'Donoghue, Candes (2015), Adaptive restart for accelerated gradient schemes, section 3.2.
Schmidt, Le Roux, Bach (2011), Convergence rates of inexact proximal-gradient methods, for the required accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError, check_number
from polyadic.core.kernels import cp_predict
from polyadic.core.linalg import Spectral, soft_threshold, soft_threshold_symmetric, top_singular_pair
from polyadic.core.linalg.spectral import distance, largest_eigenvalue, plus_low_rank, zero
from polyadic.core.solvers.run import Callback, NotConvergedWarning, Result, Sweep, run

if TYPE_CHECKING:
    from polyadic.core.solvers.smooth import Smooth

DENSE_SHARE = 0.2
"""Share of known cells from which the matrix is computed densely: at a twentieth that took 1.4 times as long."""
SHARE = 0.2  # residuals of singular vectors as a share of the length of the last step
FIRST_TOL, MIN_TOL = 1e-2, 1e-12
"""Residuals in the first step as a share of the threshold, and the smallest ones, as a share of that or of the root of
the first objective.
"""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Known cells of a matrix, sorted by row; a cell off the diagonal of a ``symmetric`` one stands for two."""

    rows: Ints
    columns: Ints
    shape: tuple[int, int]
    symmetric: bool = False
    threads: int = 1

    @cached_property
    def dense(self) -> bool:
        """Whether the fraction of known cells is large enough to use a dense matrix."""
        return len(self.rows) >= DENSE_SHARE * self.shape[0] * self.shape[1]

    @cached_property
    def _flat(self) -> Ints:
        return self.rows * self.shape[1] + self.columns

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=self.shape[0]))])

    def at(self, M: Spectral) -> Array:
        """Return the values :math:`P M` of a matrix ``M`` in the known cells."""
        if self.dense:
            return np.asarray(M.toarray().ravel()[self._flat])
        if not M.rank:
            return np.zeros(len(self.rows))
        cells = np.column_stack([self.rows, self.columns])
        factors = np.vstack([M.U * M.s, M.V])
        return np.asarray(cp_predict(cells, factors, offsets=[0, self.shape[0]], threads=self.threads))

    def spread(self, y: Array) -> Any:
        r"""Return :math:`P^\top y`, dense or sparse: ``y`` in the known cells, halved for two if symmetric."""
        if self.dense:
            dense = np.zeros(self.shape)
            dense.ravel()[self._flat] = y
            return (dense + dense.T) / 2 if self.symmetric else dense
        sparse = csr_array((y, self.columns, self._starts), shape=self.shape)
        return ((sparse + sparse.T) / 2).tocsr() if self.symmetric else sparse

    @cached_property
    def reach(self) -> float:
        """Squared spectral norm of the selection of known cells; less where two cells share a value by symmetry."""
        return 0.5 if self.symmetric and (self.rows != self.columns).all() else 1.0


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Minimization of a convex loss :math:`f` of the known cells plus :math:`\lambda` times the trace norm.

    With ``positive``, a symmetric M must be positive semidefinite, so that its trace norm is its trace. The dual
    constraint is then that no eigenvalue of :math:`-P^\top y` exceeds :math:`\lambda`.
    """

    pattern: Pattern
    smooth: Smooth
    penalty: float
    positive: bool = False

    def __post_init__(self) -> None:
        check_number("penalty", self.penalty)

    @property
    def zero(self) -> Spectral:
        """Zero matrix with the shape of the problem."""
        return zero(*self.pattern.shape)

    @property
    def step(self) -> float:
        """Step size, the inverse of the Lipschitz constant of the gradient."""
        return 1 / (self.smooth.curvature * self.pattern.reach)

    def objective(self, M: Spectral, m: Array | None = None) -> float:
        """Return the objective of a matrix, reusing the values ``m`` of the known cells if given."""
        return self.smooth.value(self.pattern.at(M) if m is None else m) + self.penalty * M.norm

    def proximal(self, parts: list[tuple[float, Spectral]], y: Array, *, near: Spectral, tol: float) -> Spectral:
        """Soft-threshold the singular values after a gradient step along ``y`` from a combination of matrices."""
        operator = plus_low_rank(self.pattern.spread(-self.step * y), parts)
        if self.pattern.symmetric:
            threshold = self.step * self.penalty
            return soft_threshold_symmetric(operator, threshold, near=near, tol=tol, positive=self.positive)
        return soft_threshold(operator, self.step * self.penalty, near=near, tol=tol)

    def bound(self, M: Spectral, *, tol: float = 1e-4) -> float:
        """Return a lower bound on the minimum of the objective, which is tight at the solution."""
        y = self.smooth.gradient(self.pattern.at(M))
        if self.positive:
            norm = max(largest_eigenvalue(-self.pattern.spread(y), tol=tol), 0.0) if y.any() else 0.0
        else:
            _, norm = top_singular_pair(self.pattern.spread(y), near=M.V, tol=tol)
        return -self.smooth.conjugate(y * min(1.0, self.penalty / norm) if norm else y)

    def largest_penalty(self) -> float:
        r"""Return the smallest penalty for which the solution is zero, :math:`\|P^\top \nabla f(0)\|_2`."""
        y = self.smooth.gradient(np.zeros(len(self.pattern.rows)))
        return float(top_singular_pair(self.pattern.spread(y), tol=1e-6)[0].s[0])


class Certified:
    """Iterator over the iterations of a solver for :func:`~polyadic.core.solvers.run.run`, until the gap is small.

    A gap costs less than an iteration; it is computed for the first ten, then after every tenth more. The iteration
    ends when the gap is at most ``tol`` times the objective.
    """

    def __init__(self, sweeps: Iterator[Sweep], problem: Problem, *, tol: float) -> None:
        self.gaps: dict[int, float] = {}
        self.bound = -np.inf
        self._sweeps, self._problem, self._tol = sweeps, problem, check_number("tol", tol)
        self._drawn, self._due, self._done = 0, 0, False

    def __iter__(self) -> Certified:
        return self

    def __next__(self) -> Sweep:
        if self._done:
            raise StopIteration
        sweep = next(self._sweeps)
        if self._drawn >= self._due:
            gap = self.gap(Spectral(*sweep.factors), sweep.objective)
            self.gaps[self._drawn], self._due = gap, int(1.1 * self._drawn) + 1
            self._done = gap <= self._tol * abs(sweep.objective)
        self._drawn += 1
        return sweep

    def gap(self, M: Spectral, objective: float) -> float:
        """Return the duality gap between the objective of a matrix and the best lower bound."""
        exact = min(1e-3, max(0.1 * self._tol, 1e-9))
        self.bound = max(self.bound, self._problem.bound(M, tol=exact))
        return max(objective - self.bound, 0.0)


class Answer(NamedTuple):
    """Result of a solver: the matrix, the final duality gap, and the gaps of earlier iterations."""

    M: Spectral
    gap: float
    gaps: dict[int, float]
    result: Result


def solve(problem: Any, sweeps: Iterator[Sweep], *, max_iter: int, tol: float, callback: Callback = None) -> Answer:
    """Run a solver until the relative duality gap is at most ``tol``; warn if the tolerance is not reached."""
    certified = Certified(sweeps, problem, tol=tol)
    result = run(certified, max_iter=max_iter, callback=callback)
    M = Spectral(*result.factors)
    gap = certified.gap(M, result.history[-1])
    warn_of_gap(result, gap, tol=tol)
    return Answer(M, gap, certified.gaps, result)


def warn_of_gap(result: Result, gap: float, *, tol: float) -> None:
    """Warn if a solver stopped before the duality gap reached the tolerance."""
    if tol and not result.converged and not result.interrupted:
        share = gap / max(abs(result.history[-1]), np.finfo(float).tiny)
        message = f"stopped after {result.n_iter} iterations with a relative duality gap of {share:.1g}, above {tol:g}"
        warnings.warn(NotConvergedWarning(f"{message}; increase max_iter or tol", "max_iter", "tol"), stacklevel=4)


def proximal_gradient(problem: Problem, start: Spectral | None = None, *, accelerate: bool = True) -> Iterator[Sweep]:
    """Minimize a trace-norm regularized loss by FISTA with restarts if ``accelerate``, else Soft-Impute, from zero.

    An iteration is one thresholding, or two if the first fails. Yields ``U``, ``s`` and ``V`` of a
    :class:`~polyadic.core.linalg.Spectral`. The objective never rises, and the solver ends at rounding precision.
    """
    M = problem.zero if start is None else start
    if (len(M.U), len(M.V)) != problem.pattern.shape:
        raise InputError(f"the initial matrix must have shape {problem.pattern.shape}; got {(len(M.U), len(M.V))}")
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
