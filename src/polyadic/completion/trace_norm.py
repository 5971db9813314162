"""Matrix completion by trace norm minimisation, with the duality gap as a stopping criterion.

Offsets of rows and columns are fitted first. :func:`choose_penalty` selects the penalty on held-out cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.admm import trace_norm_admm
from polyadic.completion.base import CompletionModel, TraceNormModel, check_grown, grown
from polyadic.completion.cells import ObservedEntries, cells_of, pairs
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.containers import match_columns
from polyadic.core.errors import InputError, check_number
from polyadic.core.kernels import RowEntries, posterior_rows
from polyadic.core.linalg.spectral import Spectral
from polyadic.core.losses import Convex, Logistic, Squared, WithOutliers
from polyadic.core.model import Amount, Count, Positive, Threads, Transformer
from polyadic.core.progress import tracked
from polyadic.core.solvers.conditional_gradient import Ball, conditional_gradient
from polyadic.core.solvers.smooth import CellLosses, Smooth
from polyadic.core.solvers.trace_norm import Pattern, Problem, proximal_gradient

Kind = Literal["none", "mean", "biases"]
MAX_ROUNDS, REL_TOL = 200, 1e-8
"""Maximum number of rounds, and the convergence threshold relative to the largest value."""


class Offsets(NamedTuple):
    r"""Offsets of cells, :math:`\mu + a_i + b_j`: an overall mean, row biases and column biases."""

    mean: float
    rows: Array
    columns: Array

    def at(self, i: AnyArray, j: AnyArray) -> Array:
        """Return the sum of the overall mean, the row bias and the column bias for each cell ``(i, j)``."""
        return np.asarray(self.mean + self.rows[i] + self.columns[j])


def fit_offsets(cells: ObservedEntries, loss: Convex, kind: Kind, *, ridge: float) -> Offsets:
    r"""Fit offsets to the observed cells by minimising the loss plus :math:`\tfrac\gamma2(\|a\|^2 + \|b\|^2)`.

    Each round updates the mean, all rows, then all columns by the gradient and the largest curvature, which never
    increases the loss and is exact for squared loss. If convergence is slow, as for log-odds of rare events, a
    quasi-Newton method continues. The ridge :math:`\gamma` must be positive for ``kind="biases"``, since a row with one
    cell would follow it exactly.
    """
    check_loss(loss, cells.values)
    rows, columns, x = cells.rows, cells.columns, cells.values
    mean, a, b = 0.0, np.zeros(cells.shape[0]), np.zeros(cells.shape[1])
    if kind == "none":
        return Offsets(mean, a, b)
    counts = [np.bincount(at, minlength=len(v)) for at, v in ((rows, a), (columns, b))]
    for _ in range(MAX_ROUNDS):
        step = -float(loss.grad(x, mean + a[rows] + b[columns]).mean()) / loss.curvature
        mean += step
        moved = abs(step)
        for at, v, n in ((rows, a, counts[0]), (columns, b, counts[1])) if kind == "biases" else ():
            slopes = loss.grad(x, mean + a[rows] + b[columns])
            total = np.bincount(at, slopes, minlength=len(v)) + ridge * v
            steps = -total / (loss.curvature * n + ridge)
            v[:] = v + steps
            moved = max(moved, float(np.abs(steps).max()))
        if moved <= REL_TOL * float(np.abs(x).max()):
            return Offsets(mean, a, b)
    return _finished(Offsets(mean, a, b), cells, loss, biased=kind == "biases", ridge=ridge)


def _finished(start: Offsets, cells: ObservedEntries, loss: Convex, *, biased: bool, ridge: float) -> Offsets:
    """Refine fitted offsets by L-BFGS, with scaled variables and a scaled objective."""
    from scipy.optimize import minimize

    rows, columns, x = cells.rows, cells.columns, cells.values
    size, ends = float(np.abs(x).max()) or 1.0, [1, 1 + len(start.rows)]

    def value_and_slopes(z: AnyArray) -> tuple[float, AnyArray]:
        (mean,), a, b = np.split(z * size, ends)
        m = mean + a[rows] + b[columns]
        slopes = loss.grad(x, m)
        sides = [np.bincount(at, slopes, len(v)) + ridge * v for at, v in ((rows, a), (columns, b))]
        value = float(loss.value(x, m).sum()) + 0.5 * ridge * float(a @ a + b @ b)
        return value, size * np.concatenate([[slopes.sum()], *(side * biased for side in sides)])

    z = np.concatenate([[start.mean], start.rows, start.columns]) / size
    first = value_and_slopes(z)[0] or 1.0
    how = {"maxiter": 10 * MAX_ROUNDS, "ftol": np.finfo(float).eps, "gtol": REL_TOL}
    best = minimize(
        lambda z: tuple(part / first for part in value_and_slopes(z)), z, jac=True, method="L-BFGS-B", options=how
    )
    (mean,), a, b = np.split(best.x * size, ends)
    return Offsets(float(mean), a, b)


def check_loss(loss: Convex, x: Array) -> None:
    """Raise InputError if a loss is not supported or if values are invalid for the loss."""
    if not (hasattr(loss, "conjugate") and hasattr(loss, "curvature")):
        raise InputError(f"loss must be Squared(), Huber() or Logistic() of polyadic.core.losses; got {loss!r}", "loss")
    plain = loss.loss if isinstance(loss, WithOutliers) else loss
    if isinstance(plain, Logistic) and len(x) and not 0 <= x.min() <= x.max() <= 1:
        raise InputError("values must be from 0 to 1 for the logistic loss; rescale them, or use another loss")


MAX_FOLD_IN_ROUNDS, FOLD_IN_TOL = 500, 1e-9
"""Maximum number of fold-in rounds, and the convergence threshold relative to the largest factor."""


class TraceNormCompletion(Transformer, CompletionModel, TraceNormModel):
    r"""Matrix completion with a trace norm (nuclear norm) penalty.

    .. math:: \min_M \sum_{(i, j)\ \mathrm{known}} \ell(x_{ij}, o_{ij} + m_{ij}) + \lambda \|M\|_*

    or, for the method ``"frank-wolfe"``, minimisation of the loss subject to :math:`\|M\|_* \le \tau`. The rank is a
    result of the fit. The problem is convex, and the fit ends when the duality gap shows that the objective is within
    ``tol`` of its minimum, or when rounding prevents further progress.

    With ``outlier_penalty``, the matrix is a sum of a low-rank and a sparse matrix,

    .. math:: \min_{M, S} \sum_{(i, j)\ \mathrm{known}} \ell(x_{ij}, o_{ij} + m_{ij} + s_{ij})
              + \lambda \|M\|_* + \kappa \|S\|_1

    S is eliminated in closed form (:class:`~polyadic.core.losses.WithOutliers`), so that all methods can be used.
    Predictions do not include S. :class:`~polyadic.completion.robust_pca.RobustPCA` has an equality instead of a loss.

    Parameters
    ----------
    penalty : float
        Penalty :math:`\lambda` on the trace norm, in units of the values. See
        :func:`~polyadic.completion.trace_norm.choose_penalty` for its selection.
    method : {"fista", "soft-impute", "frank-wolfe", "admm"}
        Solver; see :mod:`~polyadic.core.solvers.trace_norm`, :mod:`~polyadic.core.solvers.conditional_gradient` and
        :mod:`~polyadic.completion.admm`. ADMM stores dense matrices.
    radius : float, optional
        Bound :math:`\tau` of the trace norm for Frank-Wolfe, instead of the penalty.
    loss : Convex
        Loss of a cell: :class:`~polyadic.core.losses.Squared`, :class:`~polyadic.core.losses.Huber`, or
        :class:`~polyadic.core.losses.Logistic` for values from 0 to 1, with log-odds as predictions.
    outlier_penalty : float, optional
        L1 penalty :math:`\kappa` on the outliers S. A cell is an outlier if the derivative of its loss exceeds
        :math:`\kappa`: for the squared loss, if its residual does; for the logistic loss with labels 0 and 1, if the
        label has a probability below :math:`1 - \kappa`. No cell is an outlier if :math:`\kappa \ge \lambda`.
    offsets : {"mean", "biases", "none"}
        Offsets fitted before M: a mean, or also biases of rows and columns.
    bias_ridge : float
        Ridge penalty on the biases.
    debias : bool
        Refit the singular values without penalty, with fixed singular vectors.
    max_rank : int, optional
        Maximum number of singular values kept, the largest. :attr:`gap_` is that of the kept ones.

    Attributes
    ----------
    matrix_, start_ : Spectral
        M as U, s and V, after and before ``debias``. ``rank_`` is the number of singular values.
    multiplier_ : float
        The penalty, or for Frank-Wolfe the penalty with the same solution.
    gap_, gaps_ : float, and dict of int to float
        Duality gap before ``debias``, an upper bound of the distance of the objective to its minimum; and by sweep.
    offsets_ : Offsets
        Fitted offsets.
    outliers_ : csr_array of shape (rows, columns)
        S, if ``outlier_penalty`` is set.

    References
    ----------
    Mazumder, Hastie, Tibshirani (2010), Spectral regularization algorithms for learning large incomplete matrices.
    Jaggi, Sulovsky (2010), A simple algorithm for nuclear norm regularized problems.
    Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural
    language processing, ACL tutorial, slide "Combining regularizations", for outliers.

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

    _: KW_ONLY
    method: Literal["fista", "soft-impute", "frank-wolfe", "admm"] = "fista"
    radius: Positive | None = None
    loss: Convex = Squared()
    outlier_penalty: Positive | None = None
    offsets: Kind = "mean"
    bias_ridge: Amount = 1.0
    debias: bool = False
    max_rank: Count | None = None
    threads: Threads = None

    def check(self) -> None:
        """Raise InputError if a setting is out of range or settings contradict each other."""
        super().check()
        if (self.method == "frank-wolfe") != (self.radius is not None):
            raise InputError("radius must be set if and only if method='frank-wolfe'", "method", "radius")
        if self.offsets == "biases" and not self.bias_ridge:
            about = "bias_ridge must be greater than 0 for offsets='biases'; otherwise the bias"
            raise InputError(f"{about} of a row with one cell would fit that cell exactly", "bias_ridge", "offsets")

    def fit(self, X: Any, y: Any = None, *, start: Spectral | None = None) -> Self:
        """Fit the model to the observed cells of a matrix; see :meth:`~polyadic.completion.base.CompletionModel.fit`.

        Parameters
        ----------
        start : Spectral, optional
            Start of FISTA and Soft-Impute, such as ``start_`` of a fit with a larger penalty.
        """
        self.check()
        cells = self._sampled(cells_of(X), X)
        problem, offsets = self._problem(cells)
        if self.method in {"fista", "soft-impute"}:
            sweeps = proximal_gradient(problem, start, accelerate=self.method == "fista")
        else:
            sweeps = trace_norm_admm(problem) if self.method == "admm" else conditional_gradient(problem)
        answer = self._solved(problem, sweeps)
        self.offsets_ = offsets
        self.start_ = Spectral(*(part[..., : self.max_rank] for part in answer.M))
        self.gap_ = answer.gap + problem.objective(self.start_) - self.history_[-1]
        self.gaps_, self.rank_ = answer.gaps, self.start_.rank
        self.multiplier_ = problem.penalty if isinstance(problem, Problem) else problem.multiplier(answer.M)
        self.matrix_ = refit(self.start_, problem.pattern, problem.smooth) if self.debias else self.start_
        if isinstance(self.cell_loss, WithOutliers):
            s = self.cell_loss.outlier(cells.values, self._predict(cells.rows, cells.columns))
            at = np.flatnonzero(s)
            self.outliers_ = csr_array((s[at], (cells.rows[at], cells.columns[at])), shape=cells.shape)
        return self

    def update(self, X: Any) -> Self:
        """Refit the model to old and new observed cells, starting from the current matrix, to the same optimum.

        All cells are given, as for :meth:`fit`; new rows and columns come after those of the fit.
        """
        check_is_fitted(self)
        cells, (U, s, V) = cells_of(X), self.start_
        match_columns(self, X, more=True)
        check_grown((len(U), len(V)), cells.shape)
        return self.fit(cells, start=Spectral(grown(U, cells.shape[0]), s, grown(V, cells.shape[1])))

    def augmented(self) -> tuple[Array, Array]:
        """Return row and column factors whose products are the predictions, including the offsets."""
        check_is_fitted(self)
        (U, s, V), (mean, a, b) = self.matrix_, self.offsets_
        return np.column_stack([U * s, mean + a, np.ones(len(U))]), np.column_stack([V, np.ones(len(V)), b])

    def largest_penalty(self, X: Any) -> float:
        """Return the smallest penalty for which the fitted matrix is zero."""
        self.check()
        return self._problem(cells_of(X))[0].largest_penalty()

    @property
    def cell_loss(self) -> Convex:
        """Loss of a cell, minimized over its outlier if ``outlier_penalty`` is set."""
        return self.loss if self.outlier_penalty is None else WithOutliers(self.loss, float(self.outlier_penalty))

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.matrix_.U), len(self.matrix_.V)

    def _predict(self, i: Ints, j: Ints) -> Array:
        products = np.einsum("nr,nr->n", self.matrix_.U[i] * self.matrix_.s, self.matrix_.V[j])
        return np.asarray(self.offsets_.at(i, j) + products)

    @property
    def _n_features_out(self) -> int:
        return len(self.start_.s)

    def transform(self, X: Any) -> Array:
        r"""Return the factors of new rows, shape (rows, rank), given the observed cells of these rows.

        Row :math:`u` minimises its losses, with predictions :math:`\mu + b_j + u \cdot v_j \sqrt{s}`, plus
        :math:`\tfrac\lambda2 \|u\|^2`. The trace norm is the minimum of such penalties over factorizations, so rows of
        the fitted matrix get their own coordinates, up to their offsets.
        """
        check_is_fitted(self)
        cells = cells_of(X)
        match_columns(self, X)
        pairs(cells.rows, cells.columns, (cells.shape[0], len(self.matrix_.V)))
        o = self.offsets_.mean + self.offsets_.columns[cells.columns]
        V = self.start_.V * np.sqrt(self.start_.s)
        loss, ridge = self.cell_loss, self.multiplier_
        return rows_given_columns(cells, V, loss=loss, offsets=o, ridge=ridge, threads=self._threads)

    def fold_in(self, X: Any) -> Self:
        """Return a copy of the model in which new rows, without offsets, replace the rows; see :meth:`transform`."""
        cells, (s, V), model = cells_of(X), self.start_[1:], copy(self)
        U = self.transform(model._sampled(cells, cells))  # noqa: SLF001 # of this class
        model.matrix_ = Spectral(U, np.sqrt(s), V)
        model.offsets_ = self.offsets_._replace(rows=np.zeros(len(U)))
        return model

    def _problem(self, cells: ObservedEntries) -> tuple[Any, Offsets]:
        offsets = fit_offsets(cells, self.cell_loss, self.offsets, ridge=self.bias_ridge)
        pattern = Pattern(cells.rows, cells.columns, cells.shape, threads=self._threads)
        smooth = CellLosses(cells.values, self.cell_loss, offsets=offsets.at(cells.rows, cells.columns))
        if self.radius is not None:
            return Ball(pattern, smooth, self.radius), offsets
        return Problem(pattern, smooth, float(self.penalty)), offsets


def refit(M: Spectral, pattern: Pattern, smooth: Smooth) -> Spectral:
    """Refit the singular values to the observed cells without penalty, with fixed singular vectors.

    The sign of a negative value is moved to the left singular vector. Mazumder, Hastie, Tibshirani (2010), section 7,
    and the function ``deBias`` of their package softImpute.
    """
    from scipy.optimize import minimize

    if not M.rank:
        return M
    design = M.U[pattern.rows] * M.V[pattern.columns] * M.s[0]  # scaled, so that units do not matter
    first = smooth.value(design @ (M.s / M.s[0])) or 1.0

    def value_and_slopes(s: AnyArray) -> tuple[float, AnyArray]:
        m = design @ s
        return smooth.value(m) / first, design.T @ smooth.gradient(m) / first

    s = M.s[0] * minimize(value_and_slopes, M.s / M.s[0], jac=True, method="L-BFGS-B").x
    falling = np.argsort(-np.abs(s), kind="stable")
    return Spectral(M.U[:, falling] * np.sign(s[falling]), np.abs(s[falling]), M.V[:, falling])


def rows_given_columns(
    cells: ObservedEntries, V: AnyArray, *, loss: Convex, offsets: AnyArray, ridge: float, threads: int
) -> Array:
    r"""Return the row factors, shape (rows, R), that minimise the penalized loss given the column factors V.

    .. math:: \min_{u_i} \sum_j \ell(x_{ij}, o_{ij} + u_i \cdot v_j) + \tfrac\lambda2 \|u_i\|^2

    Each round minimises a parabolic bound with the largest curvature; for squared loss the first round is exact.
    """
    check_loss(loss, cells.values)
    if not V.shape[1]:
        return np.zeros((cells.shape[0], 0))
    check_number("ridge", ridge, above=True)  # zero if the radius does not bind
    U, c = np.zeros((cells.shape[0], V.shape[1])), np.full(len(cells.values), loss.curvature)
    for _ in range(MAX_FOLD_IN_ROUNDS):
        m = np.einsum("nr,nr->n", U[cells.rows], V[cells.columns])
        y = c * m - loss.grad(cells.values, m + offsets)
        entries = RowEntries(cells.starts, cells.columns, c, y)
        reached = posterior_rows(entries, V, precision=ridge * np.eye(V.shape[1]), threads=threads)
        moved, U = np.abs(reached - U).max(), reached
        if moved <= FOLD_IN_TOL * np.abs(U).max():
            break
    return U


HELD_OUT, N_PENALTIES, MIN_RATIO, PATIENCE = 0.1, 20, 0.02, 3
"""Share of held-out cells; number of penalties, down to a share of the largest; penalties without improvement."""


class PenaltyChoice(NamedTuple):
    """Mean held-out losses and ranks along a path of decreasing penalties, and the penalty with the lowest loss."""

    penalties: list[float]
    losses: list[float]
    ranks: list[int]
    best: float


def penalty_path(model: TraceNormCompletion, X: Any, penalties: Sequence[float]) -> Iterator[TraceNormCompletion]:
    """Yield fits of decreasing penalties, each started from the previous; an interrupted fit is the last."""
    if model.method == "frank-wolfe":
        raise InputError("method frank-wolfe has a radius instead of penalties; use another method")
    if list(penalties) != sorted(penalties, reverse=True):
        raise InputError("penalties must be in decreasing order", "penalties")
    start = None
    for penalty in tracked(penalties, "penalties", total=len(penalties)):
        fitted = clone(model).set_params(penalty=penalty).fit(X, start=start)
        start = fitted.start_
        yield fitted
        if fitted.interrupted_:
            return


def choose_penalty(model: TraceNormCompletion, X: Any, *, seed: int = 0) -> PenaltyChoice:
    """Select the penalty with the lowest loss on held-out cells, from a geometric sequence.

    It begins with the largest that gives a non-zero matrix, and ends after ``PATIENCE`` ones without improvement.
    """
    cells = cells_of(X)
    out = np.random.default_rng(seed).random(len(cells.values)) < HELD_OUT
    if out.all() or not out.any():
        raise InputError(f"X has too few observed cells ({len(out):,}) to hold out some of them for validation")
    kept = cells.at(~out)
    largest = model.largest_penalty(kept)
    if not largest:
        raise InputError("no penalty can be selected, because the offsets alone fit all cells")
    penalties = (largest * np.geomspace(1, MIN_RATIO, N_PENALTIES + 1)[1:]).tolist()
    losses: list[float] = []
    ranks: list[int] = []
    for fitted in penalty_path(model, kept, penalties):
        if fitted.interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
        predicted = fitted.predict(cells.rows[out], cells.columns[out])
        losses.append(float(model.cell_loss.value(cells.values[out], predicted).mean()))
        ranks.append(fitted.rank_)
        if len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
            break
    return PenaltyChoice(penalties[: len(losses)], losses, ranks, penalties[int(np.argmin(losses))])
