"""Matrix factorization of implicit feedback, with unobserved cells as weak zeros."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.cells import columns_of_row, pairs, positive_cells
from polyadic.completion.recommending import Recommender, search_listed
from polyadic.completion.updating import SWEEPS, updates
from polyadic.core.executor import RowBlock, RowBlocks, get_executor
from polyadic.core.explanation import Contributions, parts_of_row
from polyadic.core.kernels import RowEntries, conjugate_rows, cp_predict, posterior_rows
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads, Transformer
from polyadic.core.solvers.run import Sweep, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from polyadic.completion.cells import ObservedEntries
    from polyadic.core.selection import SearchSpace

VALUES = {
    "alpha": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0),
    "rank": (4, 8, 16, 32, 64, 128, 256),
    "ridge": (200.0, 60.0, 20.0, 6.0, 2.0, 0.6, 0.2, 0.06, 0.02),
}
"""Grids of the search on held-out cells."""


class ImplicitFactorization(Transformer, Recommender):
    r"""Matrix factorization of implicit feedback (weighted alternating least squares).

    .. math:: \min \sum_{(i, j)\ \mathrm{observed}} (1 + \alpha r_{ij} / \bar r) (1 - u_i \cdot v_j)^2
              + z \sum_{(i, j)\ \mathrm{unobserved}} (u_i \cdot v_j)^2
              + (1 + \alpha) \lambda (\|U\|_F^2 + \|V\|_F^2)

    with :math:`\bar r` the mean of the observed values, so that :math:`\alpha` does not depend on their unit. The
    second sum is exact at no extra cost: it is the sum over all cells, :math:`\langle U^\top U, V^\top V \rangle`,
    minus the observed ones. Rows, then columns, are solved for exactly or by a few conjugate gradient steps; neither
    increases the objective. For counts with a long tail, ``log1p(counts)`` gives slightly better results.

    Parameters
    ----------
    rank : int
        Length of the factors :math:`u_i` and :math:`v_j`.
    alpha : float
        Confidence :math:`\alpha` added for an observed cell of average value.
    zero_weight : float
        Weight :math:`z` of an unobserved cell. 1 in the paper.
    ridge : float
        Ridge penalty :math:`\lambda` on the factors, relative to the confidence of an average value.
    steps : int, optional
        Number of conjugate gradient steps, in single precision. None solves exactly, in double precision.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
        Factors, float32, or float64 if solved exactly.
    mean_ : float
        Mean :math:`\bar r` of the observed values.
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets, equations 3 to 5.
    Takács, Pilászy, Tikk (2011), Applications of the conjugate gradient method for implicit feedback collaborative
    filtering.

    Examples
    --------
    >>> heard = np.kron(np.eye(2), np.ones((4, 4)))
    >>> heard[0, 3] = 0
    >>> model = ImplicitFactorization(2, seed=0).fit(heard)
    >>> model.recommend([0], 1, without=heard).columns.tolist()
    [[3]]
    """

    rank: Count = 32
    _: KW_ONLY
    alpha: Amount = 4.0
    zero_weight: Positive = 1.0
    ridge: Positive = 6.0
    steps: Count | None = 3
    max_iter: Count = 50
    tol: Amount = 1e-3
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the observed and unobserved cells of a matrix.

        Parameters
        ----------
        X : Entries, sparse matrix or array, of shape (rows, columns)
            Non-negative values. Zeros, and NaN of an array, are unobserved.
        y : None
            Ignored.

        Raises
        ------
        InputError
            If a value is negative, a cell occurs twice, no value is positive, or a parameter is out of range.
        """
        del y
        self.check()
        cells = positive_cells(X)
        self.mean_ = float(cells.values.mean())
        result = run(self._sweeps(cells), max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        self.row_factors_, self.column_factors_ = self._keep(result)
        return self

    def update(self, X: Any, *, sweeps: int = SWEEPS) -> Self:
        """Continue from the current factors with new observed cells (see :mod:`.updating`).

        The mean of the values stays that of the fit. New rows and columns are solved for exactly.

        Parameters
        ----------
        X : Entries, sparse matrix or array, of shape (rows, columns)
            All observed cells, old and new. New rows and columns come after those of the fit.
        sweeps : int
            Number of sweeps over both sides. 0 solves for new columns and all rows only.

        Raises
        ------
        InputError
            As for :meth:`fit`, or if rows or columns of the fit are missing.
        """
        check_is_fitted(self)
        self.check()
        factors = self.row_factors_, self.column_factors_
        going = updates(
            positive_cells(X),
            factors,
            solved=self._exactly,
            improved=lambda cells, V, U: self._solved(self._blocks(cells, U.dtype), V, U),
            objective=self._objective,
            sweeps=sweeps,
        )
        self.row_factors_, self.column_factors_ = self._keep(
            run(going, max_iter=max(sweeps, 1), callback=self.callback)
        )
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.column_factors_.shape[1])

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the factors of new rows, solved for exactly (fold-in); rows without a value get zeros.

        Parameters
        ----------
        X : Entries, sparse matrix or array, of shape (new rows, columns)
            Observed values of the new rows.

        Returns
        -------
        ndarray of shape (new rows, rank)
        """
        check_is_fitted(self)
        V, cells = self.column_factors_, positive_cells(X, empty=True)
        pairs(cells.rows, cells.columns, (cells.shape[0], len(V)))
        return self._exactly(cells, V)

    def _exactly(self, cells: ObservedEntries, V: NDArray[Any]) -> NDArray[Any]:
        U = posterior_rows(self._entries(cells), V, precision=self._precision(V), threads=self._threads)
        return U.astype(V.dtype, copy=False)

    def explain(self, X: Any, columns: ArrayLike) -> Contributions:
        """Decompose the predictions of a row in some columns by its observed cells.

        Contributions sum to the products with ``transform(X)``. :meth:`predict` differs slightly where conjugate
        gradient steps have not converged.

        Parameters
        ----------
        X : Entries, sparse matrix or array, of shape (1, columns)
            Observed values of the row, which may be new.
        columns : array of int of shape (n,)
            Columns to explain.

        Returns
        -------
        Contributions

        Raises
        ------
        InputError
            If X has several rows, a value is negative, or a column does not exist.
        """
        check_is_fitted(self)
        cells, V = positive_cells(X, empty=True), self.column_factors_.astype(float)
        j = columns_of_row(cells, columns, len(V))
        parts = parts_of_row(self._entries(cells), V, V[j], precision=self._precision(V))
        return Contributions(np.zeros(len(j)), cells.columns, parts)

    def search(self, X: Any, *, seed: int | None = 0) -> SearchSpace:
        """Return the search over alpha, rank and ridge, evaluated by the NDCG of a held-out tenth of the cells.

        Parameters
        ----------
        X : Entries, sparse matrix or array, of shape (rows, columns)
            Non-negative values.
        seed : int, optional
            Seed of the held-out cells.

        Returns
        -------
        SearchSpace
        """
        return search_listed(positive_cells(X), VALUES, seed=seed)

    def _sweeps(self, cells: ObservedEntries) -> Iterator[Sweep]:
        rng = np.random.default_rng(self.seed)
        kind = np.float64 if self.steps is None else np.float32
        sides = [self._blocks(side, kind) for side in (cells, cells.turned())]
        U, V = (np.zeros((size, self.rank), kind) for size in cells.shape)
        V[:] = rng.standard_normal(V.shape) / np.sqrt(self.rank)
        U = self._solved(sides[0], V, U)
        while True:
            yield Sweep([U, V], self._objective(cells, U, V))
            V = self._solved(sides[1], U, V)
            U = self._solved(sides[0], V, U)

    def _entries(self, cells: ObservedEntries, kind: Any = np.float64) -> RowEntries:
        c = 1 + self.alpha / self.mean_ * cells.values
        return RowEntries(
            cells.starts, cells.columns.astype(np.int32), (c - self.zero_weight).astype(kind), c.astype(kind)
        )

    @property
    def _ridge(self) -> float:
        return (1 + self.alpha) * self.ridge

    def _precision(self, V: NDArray[Any]) -> NDArray[Any]:
        return self.zero_weight * (V.T @ V) + self._ridge * np.eye(V.shape[1])

    def _blocks(self, cells: ObservedEntries, kind: Any) -> RowBlocks:
        starts, columns, *listed = self._entries(cells, kind)
        return RowBlocks(RowBlock(starts, columns, tuple(listed)), cells.shape[1], get_executor(self._threads))

    def _solved(self, blocks: RowBlocks, V: NDArray[Any], U: NDArray[Any]) -> NDArray[Any]:
        return blocks.map(_solved_rows, V, given=(self._precision(V), self.steps), before=U)

    def _objective(self, cells: ObservedEntries, U: NDArray[Any], V: NDArray[Any]) -> float:
        at = cells.indices
        m = cp_predict(at, np.concatenate([U, V]), offsets=[0, len(U)], threads=self._threads).astype(float)
        listed = (1 + self.alpha / self.mean_ * cells.values) @ (1 - m) ** 2 - self.zero_weight * (m @ m)
        grams = [(F.T @ F).astype(float) for F in (U, V)]
        return float(listed + self.zero_weight * np.vdot(*grams) + self._ridge * sum(np.trace(G) for G in grams))


def _solved_rows(block: RowBlock, V: NDArray[Any], given: Any, U: NDArray[Any], threads: int) -> NDArray[Any]:
    """Solve for rows given the other factor, exactly or by some conjugate gradient steps."""
    precision, steps = given
    entries = RowEntries(block.starts, block.columns, *block.listed)
    if steps is None:
        return posterior_rows(entries, V, precision=precision, threads=threads)
    U = U.copy()
    conjugate_rows(entries, V, U, precision=precision, steps=steps, threads=threads)
    return U
