"""Completion of a matrix by two factors and biases, over the known cells.

They are found by alternating least squares, or by stochastic gradient descent.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.cells import cells_of, columns_of_row, pairs, split_cells
from polyadic.completion.updating import SWEEPS, updates
from polyadic.core.errors import InputError
from polyadic.core.executor import get_executor
from polyadic.core.executor.rows import Block, RowBlocks
from polyadic.core.explanation import Contributions, parts_of_row
from polyadic.core.kernels import RowEntries, posterior_rows
from polyadic.core.model import Amount, Callback, Count, Natural, Positive, Seed, Threads, Transformer
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.run import Sweep, run
from polyadic.core.solvers.sgd import Steps, descend_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from polyadic.completion.cells import Cells


VALUES = {
    "ridge": (44.0, 31.0, 22.0, 16.0, 11.0, 8.0, 5.5, 3.9, 2.8, 1.4, 0.7, 0.35, 0.18, 0.09, 0.045),
    "count_power": (0.0, 0.25, 0.5, 0.75, 1.0),
    "bias_ridge": (100.0, 30.0, 10.0, 5.0, 3.0, 2.0, 1.0, 0.3, 0.1),
    "rank": (0, 1, 2, 3, 5, 10, 20, 40, 80, 160),
}
"""What cells held out choose from."""


class MatrixFactorization(Transformer):
    r"""Two factors and biases that explain the known cells of a matrix.

    .. math:: \min \sum_{(i, j)\ \mathrm{known}} (x_{ij} - \mu - a_i - b_j - u_i \cdot v_j)^2
              + \sum_i (n_i / n)^\gamma (\lambda s \|u_i\|^2 + \lambda_b a_i^2)
              + \sum_j (n_j / n)^\gamma (\lambda s \|v_j\|^2 + \lambda_b b_j^2)

    with :math:`n_i` known cells in row :math:`i`, :math:`n` in a mean row or column (the geometric mean of the two),
    and :math:`s` the standard deviation of all: no setting depends on the unit of the values or the size of the table.
    Rows with their biases, then columns with theirs, are solved for exactly, so no step raises the objective.

    Parameters
    ----------
    rank : int
        Length of :math:`u_i`; 0 for biases alone.
    ridge, bias_ridge : float
        :math:`\lambda` and :math:`\lambda_b`.
    count_power : float
        :math:`\gamma`: 0 penalises all rows alike, 1, which Zhou et al. propose, by their known cells. On six sets of
        ratings 0 was level with 1 or better, the more so the fewer cells a row has.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`; a sweep is both steps.
    seed : int, optional
        Of the random start.
    threads : int, optional
        All cores by default; the result does not depend on them.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
    row_biases_, column_biases_ : ndarray
    mean_, scale_ : float
        :math:`\mu` and :math:`s`, of the known cells; the latter is 1 where all are the same.
    size_ : float
        :math:`n`.
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Zhou, Wilkinson, Schreiber, Pan (2008), Large-scale parallel collaborative filtering for the Netflix prize, section
    3.2, for penalties by count. Koren, Bell, Volinsky (2009), Matrix factorization techniques for recommender systems.

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
    bias_ridge: Positive = 3.0
    count_power: Amount = 0.0
    max_iter: Count = 50
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the known cells of a matrix.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (rows, columns)
            Zeros that a sparse matrix lists are known.

        Raises
        ------
        InputError
            If there is no known cell, one is given twice, or a parameter is out of range.
        """
        del y
        self.check()
        cells = cells_of(X)
        self.mean_, self.scale_ = float(cells.values.mean()), float(cells.values.std()) or 1.0
        self.size_ = len(cells.values) / math.sqrt(math.prod(cells.shape))
        return self._learn(self._sweeps(cells.less(self.mean_)), self.max_iter, self.tol)

    def update(self, X: Any, *, sweeps: int = SWEEPS) -> Self:
        """Go on with all that is known now, from the factors that are there (see :mod:`.updating`).

        The mean and the units of the settings stay those of the fit.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (rows, columns)
            New rows and columns stand behind those fitted to.
        sweeps : int
            Over both sides; 0 solves for new columns and for all rows alone.

        Raises
        ------
        InputError
            As :meth:`fit`, or if rows or columns that were fitted to are not there.
        """
        check_is_fitted(self)
        self.check()
        U, V = self._stacked()
        cells = cells_of(X).less(self.mean_)
        going = updates(
            cells,
            (U, V),
            solved=lambda cells, V: self._solved(self._blocks(cells), V),
            objective=self._objective,
            sweeps=sweeps,
        )
        return self._learn(going, max(sweeps, 1), 0.0)

    def _learn(self, sweeps: Iterator[Sweep], max_iter: int, tol: float) -> Self:
        U, V = self._keep(run(sweeps, max_iter=max_iter, tol=tol, callback=self.callback))
        self.row_factors_, self.column_factors_ = U[:, :-1], V[:, :-1]
        self.row_biases_, self.column_biases_ = U[:, -1], V[:, -1]
        return self

    def augmented(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give factors whose products are the predictions, mean and biases with them."""
        check_is_fitted(self)
        U, V = self._stacked()
        return (
            np.column_stack([U[:, :-1], self.mean_ + U[:, -1], np.ones(len(U))]),
            np.column_stack([V[:, :-1], np.ones(len(V)), V[:, -1]]),
        )

    def _stacked(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the factors with their biases in the last column."""
        return (
            np.column_stack([self.row_factors_, self.row_biases_]),
            np.column_stack([self.column_factors_, self.column_biases_]),
        )

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Give the values of cells, known or not."""
        check_is_fitted(self)
        i, j = pairs(rows, columns, (len(self.row_factors_), len(self.column_factors_)))
        products = np.einsum("nr,nr->n", self.row_factors_[i], self.column_factors_[j])
        return np.asarray(self.mean_ + self.row_biases_[i] + self.column_biases_[j] + products)

    def search(self, X: Any, *, seed: int | None = 0) -> SearchSpace:
        """Judge ridge, ridge of the biases, and rank by a tenth of the cells."""
        known = cells_of(X)
        cells, out = split_cells(known, held_out_share(len(known.values)), seed=seed)
        return SearchSpace(
            values=VALUES,
            fit=lambda model: model.fit(cells),
            last=lambda model: model.fit(X),
            losses=lambda model: (model.predict(out.rows, out.columns) - out.values) ** 2,
            units="cells",
            measure="RMSE",
            figure=math.sqrt,
        )

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Give the factors and the bias, as last column, of new rows with some known cells (fold-in).

        Rows without a known cell have zeros.
        """
        check_is_fitted(self)
        V = self._stacked()[1]
        cells = cells_of(X)
        pairs(cells.rows, cells.columns, (cells.shape[0], len(V)))
        return self._solved(self._blocks(cells.less(self.mean_)), V)

    @property
    def _n_features_out(self) -> int:
        return self.rank + 1

    def explain(self, X: Any, columns: ArrayLike) -> Contributions:
        """Take the values of a row in some columns apart, by its cells.

        The base is the mean and the bias of the column. They add up to what the factors of ``transform(X)`` predict.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (1, columns)
            What is known of the row, be it one of those fitted to or new.
        columns : array of int of shape (n,)

        Raises
        ------
        InputError
            If there are several rows, no cell is known, or a column is not there.
        """
        check_is_fitted(self)
        V = self._stacked()[1]
        cells = cells_of(X)
        j = columns_of_row(cells, columns, len(V))
        entries, against = _equations(self._rows(cells.less(self.mean_)), V)
        parts = parts_of_row(entries, against, against[j], precision=np.diag(self._ridges()))
        return Contributions(self.mean_ + self.column_biases_[j], cells.columns, parts)

    def _sweeps(self, cells: Cells) -> Iterator[Sweep]:
        """Factors with their biases in the last column."""
        rng = np.random.default_rng(self.seed)
        rows, columns = (self._blocks(side) for side in (cells, cells.turned()))
        U, V = (np.zeros((size, self.rank + 1)) for size in cells.shape)
        V[:, :-1] = rng.standard_normal((len(V), self.rank)) / np.sqrt(max(self.rank, 1))
        U = self._solved(rows, V)
        while True:
            yield Sweep([U, V], self._objective(cells, U, V))
            V = self._solved(columns, U)
            U = self._solved(rows, V)

    def _rows(self, cells: Cells) -> Block:
        """Give cells by row, each with its weight and its value."""
        c = (1 / self._shares(np.diff(cells.starts)))[cells.rows]
        return Block(cells.starts, cells.columns, (c, cells.values))

    def _blocks(self, cells: Cells) -> RowBlocks:
        return RowBlocks(self._rows(cells), cells.shape[1], get_executor(self._threads))

    def _solved(self, blocks: RowBlocks, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Solve for the rows and their biases."""
        return blocks.map(_solved_rows, V, given=np.diag(self._ridges()))

    def _ridges(self) -> NDArray[np.float64]:
        return np.array([*[self.ridge * self.scale_] * self.rank, self.bias_ridge], float)

    def _objective(self, cells: Cells, U: NDArray[Any], V: NDArray[Any]) -> float:
        m = U[cells.rows, -1] + V[cells.columns, -1] + np.einsum("nr,nr->n", U[cells.rows, :-1], V[cells.columns, :-1])
        total = float(((cells.values - m) ** 2).sum())
        for factor, at in ((U, cells.rows), (V, cells.columns)):
            total += float(self._shares(np.bincount(at, minlength=len(factor))) @ (factor**2 @ self._ridges()))
        return total

    def _shares(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Give by how much more than the mean rows of so many cells are penalised."""
        return np.asarray((np.maximum(counts, 1) / self.size_) ** self.count_power)


def _equations(block: Block, V: NDArray[np.float64]) -> tuple[RowEntries, NDArray[np.float64]]:
    """Give what rows are solved for by: least squares against the columns, with ones for the bias."""
    c, values = block.listed
    left = c * (values - V[block.columns, -1])
    return RowEntries(block.starts, block.columns, c, left), np.column_stack([V[:, :-1], np.ones(len(V))])


def _solved_rows(
    block: Block, V: NDArray[np.float64], precision: NDArray[np.float64], before: None, threads: int
) -> NDArray[np.float64]:
    del before  # rows are solved for exactly
    entries, against = _equations(block, V)
    return posterior_rows(entries, against, precision=precision, threads=threads)


class StochasticMatrixFactorization(MatrixFactorization):
    r"""The model of :class:`~polyadic.completion.factorization.MatrixFactorization`, by another way.

    Each known cell in turn pulls at its row and column; penalties are due at each cell, which is what ``count_power=1``
    says there. It needs no equations to be solved, but many more sweeps, and steps that fit the data.

    Parameters
    ----------
    rank, ridge, bias_ridge
        As those of :class:`~polyadic.completion.factorization.MatrixFactorization`.
    step, decay : float
        Sweep :math:`t` from 0 takes steps of :math:`\eta / (1 + d t)`; with :math:`d = 0` it does not settle.
    max_iter, tol, seed, threads, callback
        As there; only ``transform`` has work for threads.

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
    count_power: ClassVar[float] = 1.0  # type: ignore[misc] # no setting here: penalties are due at each cell
    step: Positive = 0.02
    decay: Amount = 0.02
    max_iter: Count = 200

    def _sweeps(self, cells: Cells) -> Iterator[Sweep]:
        ridges = self._ridges() / self.size_  # due at each cell
        if self.step * ridges.max() >= 1:
            raise InputError(f"a step of {self.step:g} with these penalties turns factors around; take a shorter one")
        rng = np.random.default_rng(self.seed)
        start = [np.zeros((size, self.rank + 1)) for size in cells.shape]
        for F in start:
            F[:, :-1] = 0.1 * rng.standard_normal((len(F), self.rank))
        listed = cells.rows, cells.columns, cells.values
        return descend_cells(
            listed,
            start,
            ridges=ridges,
            objective=lambda U, V: self._objective(cells, U, V),
            steps=Steps(self.step, self.decay),
            rng=rng,
        )
