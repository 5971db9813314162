"""Matrix factorization with biases, fitted to the observed cells by alternating least squares or SGD."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import AlternatingModel
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError
from polyadic.core.executor import RowBlock, RowBlocks, get_executor
from polyadic.core.kernels import RowEntries, lasso_rows, posterior_rows
from polyadic.core.losses import Squared
from polyadic.core.model import Amount, Callback, Count, Natural, Positive, Seed, Threads
from polyadic.core.solvers.saga import saga_factors
from polyadic.core.solvers.sgd import LearningRate, descend_cells

if TYPE_CHECKING:
    from polyadic.completion.cells import ObservedEntries
    from polyadic.core.solvers.run import Sweep


class MatrixFactorization(AlternatingModel):
    r"""Matrix factorization with biases, by alternating least squares.

    .. math:: \min \sum_{(i, j)\ \mathrm{known}} (x_{ij} - \mu - a_i - b_j - u_i \cdot v_j)^2
              + \sum_i (n_i / n)^\gamma (\lambda s \|u_i\|^2 + \lambda_1 s^{3/2} \|u_i\|_1 + \lambda_b a_i^2)
              + \sum_j (n_j / n)^\gamma (\lambda s \|v_j\|^2 + \lambda_1 s^{3/2} \|v_j\|_1 + \lambda_b b_j^2)

    with :math:`n_i` observed cells in row :math:`i`, :math:`n` in an average row or column (the geometric mean of the
    two), and :math:`s` the standard deviation of all observed values, so that no setting depends on the unit of the
    values or the size of the matrix. Rows with their biases, then columns with theirs, are solved for exactly, so no
    step increases the objective.

    Parameters
    ----------
    rank : int
        Length of the factors :math:`u_i` and :math:`v_j`. 0 fits biases only.
    l1 : float
        L1 penalty :math:`\lambda_1` on the factors, which sets elements exactly to zero. Rows are then solved for by
        coordinate descent with soft-thresholding.
    bias_ridge : float
        Ridge penalty :math:`\lambda_b` on the biases.
    count_power : float
        Exponent :math:`\gamma` of the number of observed cells of a row or column in its penalty. 0 penalises all rows
        alike, and 1 (Zhou et al.) in proportion to their observed cells. On six sets of ratings 0 was as good as 1 or
        better, the more so the fewer cells a row has.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
        Factors :math:`u` and :math:`v`.
    row_biases_, column_biases_ : ndarray
        Biases :math:`a` and :math:`b`.
    mean_, scale_, size_ : float
        Mean :math:`\mu` and standard deviation :math:`s` of the observed cells, 1 if all are equal, and :math:`n`.

    References
    ----------
    Zhou, Wilkinson, Schreiber, Pan (2008), Large-scale parallel collaborative filtering for the Netflix prize, section
    3.2, for penalties by count. Koren, Bell, Volinsky (2009), Matrix factorization techniques for recommender systems.
    Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via coordinate descent,
    section 2, for the L1 penalty.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = MatrixFactorization(1, ridge=1e-4, seed=0).fit(known)
    >>> i, j = np.nonzero(np.isnan(known))
    >>> bool(np.abs(model.predict(i, j) - x[i, j]).mean() < 0.1)
    True
    """

    rank: Natural = 10
    _: KW_ONLY
    ridge: Positive = 11.0
    l1: Amount = 0.0
    bias_ridge: Positive = 3.0
    count_power: Amount = 0.0
    max_iter: Count = 50
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None
    _grid: ClassVar[Any] = {
        "ridge": (44.0, 31.0, 22.0, 16.0, 11.0, 8.0, 5.5, 3.9, 2.8, 1.4, 0.7, 0.35, 0.18, 0.09, 0.045),
        "count_power": (0.0, 0.25, 0.5, 0.75, 1.0),
        "bias_ridge": (100.0, 30.0, 10.0, 5.0, 3.0, 2.0, 1.0, 0.3, 0.1),
        "rank": (0, 1, 2, 3, 5, 10, 20, 40, 80, 160),
    }

    def _fit(self, cells: ObservedEntries) -> Self:
        self.mean_, self.scale_ = float(cells.values.mean()), float(cells.values.std()) or 1.0
        self.size_ = len(cells.values) / math.sqrt(math.prod(cells.shape))
        return self._learn(self._sweeps(self._centred(cells)), self.max_iter, self.tol)

    def _place(self, U: AnyArray, V: AnyArray) -> None:
        self.row_factors_, self.column_factors_ = U[:, :-1], V[:, :-1]
        self.row_biases_, self.column_biases_ = U[:, -1], V[:, -1]

    def augmented(self) -> tuple[Array, Array]:
        """Return row and column factors whose products are the predictions, including the mean and the biases."""
        check_is_fitted(self)
        U, V = self._factors()
        left = np.column_stack([U[:, :-1], self.mean_ + U[:, -1], np.ones(len(U))])
        return left, np.column_stack([V[:, :-1], np.ones(len(V)), V[:, -1]])

    def _factors(self) -> tuple[Array, Array]:
        """Return the row and column factors, with the biases as the last column."""
        U = np.column_stack([self.row_factors_, self.row_biases_])
        return U, np.column_stack([self.column_factors_, self.column_biases_])

    def _predict(self, i: Ints, j: Ints) -> Array:
        products = np.einsum("nr,nr->n", self.row_factors_[i], self.column_factors_[j])
        return np.asarray(self.mean_ + self.row_biases_[i] + self.column_biases_[j] + products)

    @property
    def _n_features_out(self) -> int:
        return self.rank + 1

    def _centred(self, cells: ObservedEntries) -> ObservedEntries:
        return cells.less(self.mean_)

    def _base(self, j: Ints) -> Array:
        return self.mean_ + self.column_biases_[j]

    def _start(self, shape: tuple[int, int]) -> tuple[Array, Array]:
        """Return zero row factors and random column factors, with zero biases as the last column."""
        rng = np.random.default_rng(self.seed)
        U, V = (np.zeros((size, self.rank + 1)) for size in shape)
        V[:, :-1] = rng.standard_normal((len(V), self.rank)) / np.sqrt(max(self.rank, 1))
        return U, V

    def _rows(self, cells: ObservedEntries) -> RowBlock:
        """Return the observed cells grouped by row, with the weight and the value of each cell."""
        c = (1 / self._shares(np.diff(cells.starts)))[cells.rows]
        return RowBlock(cells.starts, cells.columns, (c, cells.values))

    def _row_equations(self, cells: ObservedEntries, V: AnyArray) -> tuple[RowEntries, Array, Array]:
        if self.l1:
            raise InputError("explanations require l1=0: with an L1 penalty, rows are not linear in the cells", "l1")
        return *_equations(self._rows(cells), V), np.diag(self._ridges())

    def _blocks(self, cells: ObservedEntries, kind: Any = float) -> RowBlocks:  # noqa: ARG002 # always double precision
        return RowBlocks(self._rows(cells), cells.shape[1], get_executor(self._threads))

    def _solved(self, blocks: RowBlocks, V: Array, U: Any = None) -> Array:
        return blocks.map(_solved_rows, V, given=(self._ridges(), self._lassos()), before=U if self.l1 else None)

    def _exactly(self, cells: ObservedEntries, V: Array) -> Array:
        return self._solved(self._blocks(cells), V)

    def _ridges(self) -> Array:
        return np.array([*[self.ridge * self.scale_] * self.rank, self.bias_ridge], float)

    def _lassos(self) -> Array:
        return np.array([*[self.l1 * self.scale_**1.5] * self.rank, 0.0])

    def _objective(self, cells: ObservedEntries, U: AnyArray, V: AnyArray) -> float:
        m = U[cells.rows, -1] + V[cells.columns, -1] + np.einsum("nr,nr->n", U[cells.rows, :-1], V[cells.columns, :-1])
        total = float(((cells.values - m) ** 2).sum())
        for factor, at in ((U, cells.rows), (V, cells.columns)):
            penalties = factor**2 @ self._ridges() + np.abs(factor) @ self._lassos()
            total += float(self._shares(np.bincount(at, minlength=len(factor))) @ penalties)
        return total

    def _shares(self, counts: AnyArray) -> Array:
        """Return the relative penalty of each row, given the number of observed cells in the row."""
        return np.asarray((np.maximum(counts, 1) / self.size_) ** self.count_power)


def _equations(block: RowBlock, V: Array) -> tuple[RowEntries, Array]:
    """Return the least-squares equations of the row factors, with a column of ones for the row biases."""
    c, values = block.listed
    left = c * (values - V[block.columns, -1])
    return RowEntries(block.starts, block.columns, c, left), np.column_stack([V[:, :-1], np.ones(len(V))])


def _solved_rows(block: RowBlock, V: Array, given: tuple[Array, Array], before: Array | None, threads: int) -> Array:
    entries, against = _equations(block, V)
    ridges, lassos = given
    if not lassos.any():  # rows are solved for exactly
        return posterior_rows(entries, against, precision=np.diag(ridges), threads=threads)
    U = np.zeros((len(block.starts) - 1, len(ridges))) if before is None else before.copy()
    lasso_rows(entries, against, U, precision=np.diag(ridges), l1=lassos / 2, threads=threads)
    return U


class StochasticMatrixFactorization(MatrixFactorization):
    r"""Matrix factorization with biases, by stochastic gradient descent.

    The model of :class:`~polyadic.completion.factorization.MatrixFactorization`. Each observed cell in turn updates its
    row and column, with the penalty applied at each cell, which corresponds to ``count_power=1``. No equations are
    solved, but many more sweeps are needed, and the learning rate must suit the data.

    Parameters
    ----------
    solver : {"sgd", "sag", "saga"}
        Stochastic gradients of single cells, or stochastic average gradients, which alternate between rows and columns
        and need no learning rate (:mod:`polyadic.core.solvers.saga`). Only SAGA supports ``l1``.
    learning_rate : float
        Initial learning rate :math:`\eta`. Sweep :math:`t`, from 0, uses :math:`\eta / (1 + d t)`.
    decay : float
        Decay :math:`d` of the learning rate. With 0 the factors do not converge.
    threads : int, optional
        Number of threads of ``transform``. All cores by default.

    References
    ----------
    Koren, Bell, Volinsky (2009), Matrix factorization techniques for recommender systems.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = StochasticMatrixFactorization(1, ridge=1e-4, max_iter=200, tol=0, seed=0).fit(known)
    >>> i, j = np.nonzero(np.isnan(known))
    >>> bool(np.abs(model.predict(i, j) - x[i, j]).mean() < 0.1)
    True
    """

    ridge: Positive = 7.0
    count_power: ClassVar[float] = 1.0  # type: ignore[misc] # not a setting: the penalty applies at each cell
    solver: Literal["sgd", "sag", "saga"] = "sgd"
    learning_rate: Positive = 0.02
    decay: Amount = 0.02
    max_iter: Count = 200

    def check(self) -> None:
        """Raise InputError if a setting is out of range or the solver does not support the L1 penalty."""
        super().check()
        if self.l1 and self.solver != "saga":
            raise InputError(f"l1 requires solver='saga'; got solver={self.solver!r}", "l1", "solver")

    def _sweeps(self, cells: ObservedEntries) -> Iterator[Sweep]:
        ridges = self._ridges() / self.size_  # applied at each cell
        if self.solver == "sgd" and self.learning_rate * ridges.max() >= 1:
            about = f"learning_rate={self.learning_rate:g} is too high"
            raise InputError(f"{about} for the ridge penalties; lower learning_rate", "learning_rate")
        rng = np.random.default_rng(self.seed)
        start = [np.zeros((size, self.rank + 1)) for size in cells.shape]
        for F in start:
            F[:, :-1] = 0.1 * rng.standard_normal((len(F), self.rank))
        listed = cells.rows, cells.columns, cells.values
        how: dict[str, Any] = {"objective": lambda U, V: self._objective(cells, U, V), "rng": rng}
        if self.solver == "sgd":
            steps = LearningRate(self.learning_rate, self.decay)
            return descend_cells(listed, start, ridges=ridges, steps=steps, **how)
        start = list(self._start(cells.shape))  # near zero, the averages lead to factors of zero
        how |= {"penalties": (ridges, self._lassos() / self.size_ / 2), "threads": self._threads, "loss": Squared()}
        return saga_factors(listed, start, count_power=1.0, biased=True, sag=self.solver == "sag", **how)
