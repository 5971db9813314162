"""Completion of a matrix by one of small trace norm: a convex problem, so the answer comes with its distance to it.

What rows and columns add to every cell, the offsets, is fitted before anything else is.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.admm import trace_norm_admm
from polyadic.completion.cells import cells_of, pairs
from polyadic.completion.updating import check_grown, grown
from polyadic.core.errors import InputError, check_number
from polyadic.core.kernels import RowEntries, posterior_rows
from polyadic.core.linalg.spectral import Spectral
from polyadic.core.losses import Convex, Logistic, Squared
from polyadic.core.model import Amount, Callback, Count, Positive, Threads, Transformer
from polyadic.core.solvers.conditional_gradient import Ball, conditional_gradient
from polyadic.core.solvers.proximal import proximal_gradient
from polyadic.core.solvers.smooth import CellLosses
from polyadic.core.solvers.trace_norm import Pattern, Problem, solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from polyadic.completion.cells import ObservedEntries
    from polyadic.core.solvers.run import Sweep
    from polyadic.core.solvers.smooth import Smooth


Kind = Literal["none", "mean", "biases"]
STEPS, SETTLED = 200, 1e-8
"""Rounds at most, and the largest change of the last, relative to the largest value."""


class Offsets(NamedTuple):
    r"""The numbers :math:`\mu + a_i + b_j`.

    Attributes
    ----------
    mean : float
    rows, columns : ndarray
    """

    mean: float
    rows: NDArray[np.float64]
    columns: NDArray[np.float64]

    def at(self, i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.float64]:
        """Give those of some cells."""
        return np.asarray(self.mean + self.rows[i] + self.columns[j])


def fit_offsets(cells: ObservedEntries, loss: Convex, kind: Kind, *, ridge: float) -> Offsets:
    r"""Minimize the loss of known cells and :math:`\tfrac\gamma2(\|a\|^2 + \|b\|^2)` over offsets alone.

    Each round goes from the slopes of the loss and its largest curvature to what is best for the mean, for all rows,
    then for all columns, which never raises the loss; for squared loss each of the three is exact. Where such rounds
    are too short, as for the log-odds of what is rare, a quasi-Newton method goes on from them.

    Parameters
    ----------
    cells : ObservedEntries
    loss : Convex
    kind : {"none", "mean", "biases"}
    ridge : float
        :math:`\gamma`, above 0 for biases: a row with one cell would else follow it wherever it lies.

    Raises
    ------
    InputError
        If values do not fit the loss.

    Examples
    --------
    >>> from polyadic.core.losses import Squared
    >>> from polyadic.completion.cells import cells_of
    >>> cells = cells_of(np.array([[1.0, 2.0], [4.0, 5.0]]))
    >>> offsets = fit_offsets(cells, Squared(), "biases", ridge=1e-9)
    >>> offsets.at(np.array([0, 1]), np.array([1, 0])).round(6).tolist()
    [2.0, 4.0]
    """
    check_loss(loss, cells.values)
    rows, columns, x = cells.rows, cells.columns, cells.values
    mean, a, b = 0.0, np.zeros(cells.shape[0]), np.zeros(cells.shape[1])
    if kind == "none":
        return Offsets(mean, a, b)
    counts = [np.bincount(at, minlength=len(v)) for at, v in ((rows, a), (columns, b))]
    for _ in range(STEPS):
        step = -float(loss.grad(x, mean + a[rows] + b[columns]).mean()) / loss.curvature
        mean += step
        moved = abs(step)
        for at, v, n in ((rows, a, counts[0]), (columns, b, counts[1])) if kind == "biases" else ():
            slopes = loss.grad(x, mean + a[rows] + b[columns])
            total = np.bincount(at, slopes, minlength=len(v)) + ridge * v
            steps = -total / (loss.curvature * n + ridge)
            v[:] = v + steps
            moved = max(moved, float(np.abs(steps).max()))
        if moved <= SETTLED * float(np.abs(x).max()):
            return Offsets(mean, a, b)
    return _finished(Offsets(mean, a, b), cells, loss, biased=kind == "biases", ridge=ridge)


def _finished(start: Offsets, cells: ObservedEntries, loss: Convex, *, biased: bool, ridge: float) -> Offsets:
    """Go on by a quasi-Newton method, in units of the largest value and of the first loss."""
    from scipy.optimize import minimize

    rows, columns, x = cells.rows, cells.columns, cells.values
    size, ends = float(np.abs(x).max()) or 1.0, [1, 1 + len(start.rows)]

    def value_and_slopes(z: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        (mean,), a, b = np.split(z * size, ends)
        m = mean + a[rows] + b[columns]
        slopes = loss.grad(x, m)
        sides = [np.bincount(at, slopes, len(v)) + ridge * v for at, v in ((rows, a), (columns, b))]
        value = float(loss.value(x, m).sum()) + 0.5 * ridge * float(a @ a + b @ b)
        return value, size * np.concatenate([[slopes.sum()], *(side * biased for side in sides)])

    z = np.concatenate([[start.mean], start.rows, start.columns]) / size
    first = value_and_slopes(z)[0] or 1.0
    how = {"maxiter": 10 * STEPS, "ftol": np.finfo(float).eps, "gtol": SETTLED}
    best = minimize(
        lambda z: tuple(part / first for part in value_and_slopes(z)), z, jac=True, method="L-BFGS-B", options=how
    )
    (mean,), a, b = np.split(best.x * size, ends)
    return Offsets(float(mean), a, b)


def check_loss(loss: Convex, x: NDArray[np.float64]) -> None:
    """Refuse what is no convex loss with a bounded slope of slopes, and values that it is not of.

    Raises
    ------
    InputError
        If it is none, or the loss is logistic and a value not from 0 to 1.
    """
    if not (hasattr(loss, "conjugate") and hasattr(loss, "curvature")):
        raise InputError(f"loss must be Squared(), Huber() or Logistic() of polyadic.core.losses; got {loss!r}")
    if isinstance(loss, Logistic) and len(x) and not 0 <= x.min() <= x.max() <= 1:
        raise InputError("logistic loss is of values from 0 to 1; scale them, or take another loss")


ROUNDS, EXACT = 500, 1e-9
"""Rounds of folding in at most, and the change, relative to the largest factor, that is the last."""


class TraceNormCompletion(Transformer):
    r"""A matrix that explains known cells, of the smallest trace norm (sum of singular values) that pays.

    .. math:: \min_M \sum_{(i, j)\ \mathrm{known}} \ell(x_{ij}, o_{ij} + m_{ij}) + \lambda \|M\|_*

    or, for the method ``"frank-wolfe"``, the losses alone over :math:`\|M\|_* \le \tau`. The rank is found, not given
    (the radius is none). There are no local minima, and the fit ends when the duality gap says that the objective is
    within ``tol`` of the smallest there is, or where rounding leaves nothing to improve.

    Parameters
    ----------
    penalty : float
        :math:`\lambda`, in units of the values; see :mod:`~polyadic.completion.penalty_path` for its choice.
    method : {"fista", "soft-impute", "frank-wolfe", "admm"}
        See :mod:`~polyadic.core.solvers.proximal`, :mod:`~polyadic.core.solvers.conditional_gradient` and
        :mod:`~polyadic.completion.admm`; the last keeps dense matrices.
    radius : float, optional
        :math:`\tau`, instead of the penalty, of Frank-Wolfe.
    loss : Convex
        :class:`~polyadic.core.losses.Squared`, :class:`~polyadic.core.losses.Huber`, or
        :class:`~polyadic.core.losses.Logistic` for values from 0 to 1; predictions are then log-odds.
    offsets, bias_ridge : {"mean", "biases", "none"}, and float
        What is found first, without M: a mean, or one number for each row and column too, of ridge ``bias_ridge``.
    debias : bool
        Whether to fit the singular values again without penalty, with the vectors as they are.
    max_rank : int, optional
        Singular values to be kept at most, the largest; :attr:`gap_` is that of what is kept.
    max_iter, tol
        Sweeps at most, and the duality gap at which to stop, relative to the objective.
    threads : int, optional
        All cores by default; the result does not depend on them.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    matrix_, start_ : Spectral
        M as U, s and V, and before ``debias``; ``rank_`` is the number of its singular values.
    multiplier_ : float
        The penalty, of Frank-Wolfe that for which the answer is the same.
    gap_, gaps_ : float, and dict of int to float
        How much smaller the objective can be at most, before ``debias``; the same by sweep, where it was taken.
    offsets_ : Offsets
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Mazumder, Hastie, Tibshirani (2010), Spectral regularization algorithms for learning large incomplete matrices.
    Jaggi, Sulovsky (2010), A simple algorithm for nuclear norm regularized problems.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = TraceNormCompletion(1.0, offsets="none", debias=True).fit(known)
    >>> i, j = np.nonzero(np.isnan(known))
    >>> model.rank_, bool(np.abs(model.predict(i, j) - x[i, j]).mean() < 0.1)
    (1, True)
    """

    penalty: Positive = 1.0
    _: KW_ONLY
    method: Literal["fista", "soft-impute", "frank-wolfe", "admm"] = "fista"
    radius: Positive | None = None
    loss: Convex = Squared()
    offsets: Kind = "mean"
    bias_ridge: Amount = 1.0
    debias: bool = False
    max_rank: Count | None = None
    max_iter: Count = 1000
    tol: Amount = 1e-3
    threads: Threads = None
    callback: Callback = None

    def check(self) -> None:
        """Refuse settings out of range, a radius without Frank-Wolfe, and biases without a ridge."""
        super().check()
        if (self.method == "frank-wolfe") != (self.radius is not None):
            raise InputError("Frank-Wolfe needs a radius, and the other methods a penalty alone")
        if self.offsets == "biases" and not self.bias_ridge:
            raise InputError("bias_ridge must be greater than 0 for biases: a row with one cell would else follow it")

    def fit(self, X: Any, y: Any = None, *, start: Spectral | None = None) -> Self:
        """Fit to the known cells of a matrix.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (rows, columns)
            Zeros that a sparse matrix lists are known.
        start : Spectral, optional
            Where FISTA and Soft-Impute begin, such as ``start_`` of a fit with a larger penalty.

        Raises
        ------
        InputError
            If there is no known cell, one is given twice, or a parameter is out of range.
        """
        del y
        self.check()
        problem, offsets = self._problem(cells_of(X))
        sweeps = self._sweeps(problem, start)
        answer = solve(problem, sweeps, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        self._keep(answer.result)
        self.offsets_ = offsets
        self.start_ = Spectral(*(part[..., : self.max_rank] for part in answer.M))
        self.gap_ = answer.gap + problem.objective(self.start_) - self.history_[-1]
        self.gaps_, self.rank_ = answer.gaps, self.start_.rank
        self.multiplier_ = problem.penalty if isinstance(problem, Problem) else problem.multiplier(answer.M)
        self.matrix_ = refit(self.start_, problem.pattern, problem.smooth) if self.debias else self.start_
        return self

    def update(self, X: Any) -> Self:
        """Fit to all that is known now, from the matrix that is there: it ends where any start would.

        Parameters
        ----------
        X : as of :meth:`fit`
            New rows and columns stand behind those fitted to.

        Raises
        ------
        InputError
            As :meth:`fit`, or if rows or columns that were fitted to are not there.
        """
        check_is_fitted(self)
        cells, (U, s, V) = cells_of(X), self.start_
        check_grown((len(U), len(V)), cells.shape)
        return self.fit(cells, start=Spectral(grown(U, cells.shape[0]), s, grown(V, cells.shape[1])))

    def augmented(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give factors whose products are the predictions, offsets with them."""
        check_is_fitted(self)
        (U, s, V), (mean, a, b) = self.matrix_, self.offsets_
        return np.column_stack([U * s, mean + a, np.ones(len(U))]), np.column_stack([V, np.ones(len(V)), b])

    def largest_penalty(self, X: Any) -> float:
        """Give the penalty from which on M is zero."""
        self.check()
        return self._problem(cells_of(X))[0].largest_penalty()

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Give the values of cells, known or not; log-odds for logistic loss."""
        check_is_fitted(self)
        i, j = pairs(rows, columns, (len(self.matrix_.U), len(self.matrix_.V)))
        products = np.einsum("nr,nr->n", self.matrix_.U[i] * self.matrix_.s, self.matrix_.V[j])
        return np.asarray(self.offsets_.at(i, j) + products)

    @property
    def _n_features_out(self) -> int:
        return len(self.start_.s)

    def transform(self, X: Any) -> NDArray[np.float64]:
        r"""Give new rows, of any known cells, in the terms of the columns; shape (rows, rank).

        Row :math:`u` minimizes its losses, of predictions :math:`\mu + b_j + u \cdot v_j \sqrt{s}`, and
        :math:`\tfrac\lambda2 \|u\|^2`: the trace norm is the smallest such sum over products of two factors, so rows of
        the matrix itself would come out as they are, but for their own offset.
        """
        check_is_fitted(self)
        cells = cells_of(X)
        pairs(cells.rows, cells.columns, (cells.shape[0], len(self.matrix_.V)))
        o = self.offsets_.mean + self.offsets_.columns[cells.columns]
        V = self.start_.V * np.sqrt(self.start_.s)
        return rows_given_columns(cells, V, loss=self.loss, offsets=o, ridge=self.multiplier_, threads=self._threads)

    def _problem(self, cells: ObservedEntries) -> tuple[Problem | Ball, Offsets]:
        offsets = fit_offsets(cells, self.loss, self.offsets, ridge=self.bias_ridge)
        pattern = Pattern(cells.rows, cells.columns, cells.shape, threads=self._threads)
        smooth = CellLosses(cells.values, self.loss, offsets=offsets.at(cells.rows, cells.columns))
        if self.radius is not None:
            return Ball(pattern, smooth, self.radius), offsets
        return Problem(pattern, smooth, float(self.penalty)), offsets

    def _sweeps(self, problem: Any, start: Spectral | None) -> Iterator[Sweep]:
        if self.method in {"fista", "soft-impute"}:
            return proximal_gradient(problem, start, accelerate=self.method == "fista")
        return trace_norm_admm(problem) if self.method == "admm" else conditional_gradient(problem)


def refit(M: Spectral, pattern: Pattern, smooth: Smooth) -> Spectral:
    """Fit singular values again, without penalty, to the known cells; the vectors stay.

    The trace norm takes the same from all of them, which the large ones need not have lost. A value that would be
    negative turns its vector.

    References
    ----------
    Mazumder, Hastie, Tibshirani (2010), section 7, and the function ``deBias`` of their package softImpute.
    """
    from scipy.optimize import minimize

    if not M.rank:
        return M
    design = M.U[pattern.rows] * M.V[pattern.columns] * M.s[0]  # in units of what is fitted, so the scale is no matter
    first = smooth.value(design @ (M.s / M.s[0])) or 1.0

    def value_and_slopes(s: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        m = design @ s
        return smooth.value(m) / first, design.T @ smooth.gradient(m) / first

    s = M.s[0] * minimize(value_and_slopes, M.s / M.s[0], jac=True, method="L-BFGS-B").x
    falling = np.argsort(-np.abs(s), kind="stable")
    return Spectral(M.U[:, falling] * np.sign(s[falling]), np.abs(s[falling]), M.V[:, falling])


def rows_given_columns(
    cells: ObservedEntries, V: NDArray[Any], *, loss: Convex, offsets: NDArray[Any], ridge: float, threads: int
) -> NDArray[np.float64]:
    r"""Give for each row the minimum of its losses, of predictions :math:`o_j + u \cdot v_j`, and a ridge.

    .. math:: \min_{u_i} \sum_j \ell(x_{ij}, o_{ij} + u_i \cdot v_j) + \tfrac\lambda2 \|u_i\|^2

    Each round minimizes a parabola above the losses, of their largest curvature; for squared loss the first is exact.

    Parameters
    ----------
    cells : ObservedEntries
        Rows and what is known of them.
    V : ndarray of shape (columns, R)
    loss : Convex
    offsets : ndarray of shape (n,)
        :math:`o`, by cell.
    ridge : float
        :math:`\lambda`, above 0.
    threads : int

    Returns
    -------
    ndarray of shape (rows, R)
    """
    check_loss(loss, cells.values)
    if not V.shape[1]:
        return np.zeros((cells.shape[0], 0))
    check_number("ridge", ridge, above=True)  # a ball that binds nothing has none
    U, c = np.zeros((cells.shape[0], V.shape[1])), np.full(len(cells.values), loss.curvature)
    for _ in range(ROUNDS):
        m = np.einsum("nr,nr->n", U[cells.rows], V[cells.columns])
        y = c * m - loss.grad(cells.values, m + offsets)
        entries = RowEntries(cells.starts, cells.columns, c, y)
        reached = posterior_rows(entries, V, precision=ridge * np.eye(V.shape[1]), threads=threads)
        moved, U = np.abs(reached - U).max(), reached
        if moved <= EXACT * np.abs(U).max():
            break
    return U
