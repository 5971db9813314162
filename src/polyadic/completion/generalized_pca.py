"""Generalized principal component analysis for binary data and counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, cast

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.cells import ObservedEntries, cells_of, explained, split_cells
from polyadic.core.annotations import AnyArray, Array
from polyadic.core.containers import dense_of, match_columns, name_columns
from polyadic.core.errors import InputError
from polyadic.core.losses import Logistic, LogPoisson, Loss, Squared
from polyadic.core.model import Amount, Callback, Count, Seed, Transformer
from polyadic.core.penalties import L2
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import Result, run

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from polyadic.core.forms import Factors


class Family(NamedTuple):
    """Exponential family: loss, mean function, and the smallest and largest possible values."""

    loss: Loss
    mean: Callable[[AnyArray], AnyArray]
    low: float
    high: float


FAMILIES = {
    "normal": Family(Squared(), lambda m: m, -np.inf, np.inf),
    "bernoulli": Family(Logistic(), expit, 0.0, 1.0),
    "poisson": Family(LogPoisson(), lambda m: np.exp(np.minimum(m, LogPoisson.last)), 0.0, np.inf),
}


def cells_within(X: Any, family: str, *, empty: bool = False) -> ObservedEntries:
    """Return the observed cells of a matrix, or raise InputError if a value is outside the range of the family."""
    cells, (low, high) = cells_of(X, empty=empty), FAMILIES[family][2:]
    if ((cells.values < low) | (cells.values > high)).any():
        raise InputError(f"X must contain values between {low:g} and {high:g} for family={family!r}", "family")
    return cells


class GeneralizedPCA(Transformer):
    r"""Principal component analysis for exponential families.

    .. math:: \min \sum_{ij} \ell(x_{ij}, m_{ij}) + \tfrac{\lambda}{2} (\|U\|_F^2 + \|V\|_F^2),
              \qquad m_{ij} = b_j + u_i \cdot v_j

    with the negative log-likelihood :math:`\ell` of the family. Means are :math:`m` (normal), :math:`1 / (1 + e^{-m})`
    (bernoulli) or :math:`e^m` (poisson). For normal values without a penalty the result is ordinary PCA.

    Parameters
    ----------
    rank : int
        Number of components.
    family : {"normal", "bernoulli", "poisson"}
        Distribution of the values.
    ridge : float
        Ridge penalty :math:`\lambda` on the factors. At 0 the factors of separable binary data diverge.
    max_iter : int
        Maximum number of steps of :func:`~polyadic.core.solvers.quasi_newton.quasi_newton`.

    Attributes
    ----------
    row_factors_, column_factors_, intercept_ : ndarray of shape (rows, rank), (columns, rank) and (columns,)
        Scores of the rows, loadings of the columns and intercepts :math:`b`.

    References
    ----------
    Collins, Dasgupta, Schapire (2001), A generalization of principal component analysis to the exponential family.

    Examples
    --------
    >>> signs = np.sign(np.add.outer(np.arange(6), -np.arange(6)) + 0.5)
    >>> model = GeneralizedPCA(1, family="bernoulli", ridge=0.01, seed=0).fit(signs > 0)
    >>> bool(((model.inverse_transform(model.row_factors_) > 0.5) == (signs > 0)).all())
    True
    """

    rank: Count = 10
    _: KW_ONLY
    family: Literal["normal", "bernoulli", "poisson"] = "normal"
    ridge: Amount = 0.1
    max_iter: Count = 500
    tol: Amount = 1e-5
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit row factors, column factors and intercepts to a matrix of values of the family, NaN where unknown.

        InputError is raised if X is not a matrix with known values of the family, or a parameter is out of range.
        """
        self.check()
        x = cells_within(X, self.family).array()
        name_columns(self, X)
        rng = np.random.default_rng(self.seed)
        U, V = (rng.standard_normal((size, self.rank)) / np.sqrt(self.rank) for size in x.shape)
        result = self._run(x, [U, V, np.zeros((x.shape[1], 1))], [])
        self.row_factors_, self.column_factors_, intercept = self._keep(result)
        self.intercept_ = intercept[:, 0]
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.column_factors_.shape[1])

    def transform(self, X: ArrayLike) -> Array:
        """Return the factors of the given rows, shape (n, rank), ignoring unknown values."""
        return self._factors_of(self._new_rows(X))

    def inverse_transform(self, U: ArrayLike) -> Array:
        """Return the expected values of rows, shape (n, columns), given the row factors, shape (n, rank)."""
        check_is_fitted(self)
        return FAMILIES[self.family].mean(dense_of(U, "U") @ self.column_factors_.T + self.intercept_)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the explained deviance (R² if normal) of a random fifth of the cells of rows, given the others."""
        given, out = split_cells(cells_of(self._new_rows(X)), 0.2, seed=0)
        means = self.inverse_transform(self._factors_of(given.array()))
        return explained(out.values, means[out.rows, out.columns], self.family)

    def _new_rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        x = cells_within(X, self.family).array()
        match_columns(self, X)
        if x.shape[1] != len(self.column_factors_):
            raise InputError(f"X must have {len(self.column_factors_)} columns; got {x.shape[1]}")
        return x

    def _factors_of(self, x: Array) -> Array:
        fixed = [self.column_factors_, self.intercept_[:, None]]
        return np.asarray(self._run(x, [np.zeros((len(x), self.rank))], fixed).factors[0])

    def _run(self, x: Array, start: Factors, fixed: Factors) -> Result:
        objective = _Means(x, FAMILIES[self.family].loss, self.ridge, fixed)
        solver = quasi_newton(cast("Any", objective), start)
        return run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback)


class _Means:
    """Objective of generalized PCA as a function of row factors, column factors and intercepts, or of the first."""

    def __init__(self, x: Array, loss: Loss, ridge: float, fixed: Factors) -> None:
        self.known = ~np.isnan(x)
        self.x, self.loss, self.fixed = np.where(self.known, x, 0.0), loss, fixed
        self.penalties = (L2(ridge), L2(ridge), L2(0.0))[: 3 - len(fixed)]

    def value_and_gradient(self, free: Factors) -> tuple[float, Factors]:
        """Return the objective and its gradient with respect to the free factors."""
        U, V, b = [*free, *self.fixed]
        m = U @ V.T + b.T
        value = float(self.loss.value(self.x, m).sum(where=self.known))
        d = np.where(self.known, self.loss.grad(self.x, m), 0.0)
        gradients = [d @ V, d.T @ U, d.sum(axis=0)[:, None]]
        pairs = list(zip(self.penalties, free, strict=True))
        value += sum(penalty.value(F) for penalty, F in pairs)
        return value, [g + penalty.grad(F) for g, (penalty, F) in zip(gradients, pairs, strict=False)]
