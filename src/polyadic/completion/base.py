r"""Base classes for matrix completion models, with incremental updates for new cells, rows and columns.

Given V, each row of U is solved for exactly and independently:

.. math:: u_i = \arg\min_u \sum_{j\ \mathrm{known}} c_{ij} (x_{ij} - u \cdot v_j)^2 + \text{penalty}(u)

An update solves for new rows given the existing columns, for new columns given all rows, and for all rows once more.
Existing columns do not move, unlike in a fit from scratch; sweeps over both sides follow for that.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.cells import (
    ObservedEntries,
    Prediction,
    cells_of,
    columns_of_row,
    compared,
    explained,
    pairs,
    split_cells,
)
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.containers import match_columns, name_columns
from polyadic.core.errors import InputError, InputWarning, check_int
from polyadic.core.explanation import Contributions, parts_of_row
from polyadic.core.model import Amount, Callback, Count, Model, Positive, Transformer
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.run import Sweep, run
from polyadic.core.solvers.trace_norm import Answer, proximal_gradient, solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SWEEPS = 1  # brings predictions closer to a fit from scratch than such fits from two seeds are to each other
FIRST = 1000  # number of cells of a fit that are kept, to recognise them among those to score


class CompletionModel(Model, ABC):
    r"""Base class for matrix completion models, which are fitted to the observed cells of a matrix.

    A subclass defines ``_fit``, which learns from cells, and ``_predict``.

    Parameters
    ----------
    rank : int
        Length of the factors :math:`u_i` and :math:`v_j`.
    ridge : float
        Ridge penalty :math:`\lambda` on the factors.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to the observed cells of a matrix.

        X is Entries, a sparse matrix, or an array with NaN for unknown cells, of shape (rows, columns). Explicit zeros
        of a sparse matrix are observed, except by models of positive cells, to which all zeros are unobserved.
        InputError is raised if no cell is observed, one occurs twice, or the model does not allow a value or a setting.
        """
        self.check()
        return self._fit(self._sampled(self._read(X), X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of the deviance of held-out cells that the predictions explain; R² for numbers.

        Parameters
        ----------
        X : as for :meth:`fit`
            Held-out cells, in the shape of the fit. X of another shape, or with only some cells of the fit, has new
            rows, as in ``cross_val_score``: a random fifth of its cells is predicted from the others (by ``fold_in``).
        """
        model, out, _ = self._to_score(X)
        family = getattr(self, "family", getattr(self, "loss", "normal"))
        return explained(out.values, model.predict(out.rows, out.columns), family)

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> AnyArray:
        """Predict the values of the cells with the given row and column indices, of shape (n,) or single numbers."""
        check_is_fitted(self)
        return self._predict(*pairs(rows, columns, self._shape))

    def _read(self, X: Any, *, empty: bool = False) -> ObservedEntries:  # noqa: ARG002 # no cell may be observed
        """Convert a matrix to the cells that the model learns from; with ``empty``, none need be observed."""
        return cells_of(X)

    def _sampled(self, cells: ObservedEntries, X: Any) -> ObservedEntries:
        """Keep some cells of the fit for :meth:`score`; warn of rows and columns of X without an observed cell."""
        self.first_cells_ = cells.at(np.arange(min(FIRST, len(cells.values))))
        if not isinstance(X, ObservedEntries):  # as in an update
            name_columns(self, X)
            for name, at, size in zip(("row", "column"), (cells.rows, cells.columns), cells.shape, strict=True):
                empty = np.bincount(at, minlength=size) == 0
                if empty.any():
                    what, first = f"{empty.sum():,} of {size:,} {name}s have no observed cell", empty.argmax()
                    warnings.warn(InputWarning(f"{what} (first: {name} {first:,})"), stacklevel=3)
        return cells

    def _to_score(self, X: Any) -> tuple[Any, ObservedEntries, Any]:
        """Return a model, cells that it should predict and, if these are in new rows, the other cells of the rows."""
        check_is_fitted(self)
        cells = cells_of(X)
        known, same = (mask.sum() for mask in compared(self.first_cells_, cells))
        if cells.shape == self._shape and same == known and known in (0, len(self.first_cells_.values)):
            return self, cells, None
        if not hasattr(self, "fold_in"):
            raise InputError(f"{type(self).__name__} cannot predict new rows; X must have held-out cells of the fit")
        given, out = split_cells(cells, 0.2, seed=0)
        return self.fold_in(given), out, given

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.row_factors_), len(self.column_factors_)

    @abstractmethod
    def _predict(self, i: Ints, j: Ints) -> AnyArray: ...


class TraceNormModel(Model):
    r"""Base class for convex models with trace norms.

    Parameters
    ----------
    penalty : float
        Penalty :math:`\lambda` on the trace norm.
    tol : float
        Duality gap, relative to the objective, at which to stop.
    """

    penalty: Positive = 1.0
    _: KW_ONLY
    max_iter: Count = 1000
    tol: Amount = 1e-3
    callback: Callback = None

    def _solved(self, problem: Any, sweeps: Iterator[Sweep] | None = None) -> Answer:
        """Solve a trace norm problem, by default by proximal gradient steps, and keep the record of the fit."""
        sweeps = proximal_gradient(problem) if sweeps is None else sweeps
        answer = solve(problem, sweeps, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        self._keep(answer.result)
        return answer


class DistributionModel(CompletionModel):
    """Base class for models with predictive distributions, which a subclass defines by ``_distribution``."""

    def predict_distribution(self, rows: ArrayLike, columns: ArrayLike) -> Prediction:
        """Return the predictive mean and standard deviation of each cell; cells are given as for :meth:`predict`."""
        check_is_fitted(self)
        return self._distribution(*pairs(rows, columns, self._shape))

    def _predict(self, i: Ints, j: Ints) -> AnyArray:
        return self._distribution(i, j).mean

    @abstractmethod
    def _distribution(self, i: Ints, j: Ints) -> Prediction: ...


class SearchedModel(CompletionModel):
    """Base class for models whose hyperparameters can be selected on held-out cells."""

    _grid: ClassVar[Any]  # of the search: candidate values by setting

    def search(self, X: Any, *, seed: int | None = 0) -> SearchSpace:
        """Return a search space of hyperparameters, to be selected on cells of X that are held out at random.

        The measure is the error of their values or, for positive cells, their ranking (NDCG) among unknown cells.
        """
        return self._search(self._read(X), seed)

    def _search(self, cells: ObservedEntries, seed: int | None) -> SearchSpace:
        def losses(model: Any, out: ObservedEntries) -> Array:
            return np.asarray((model.predict(out.rows, out.columns) - out.values) ** 2)

        return self._searched(cells, seed, losses, measure="RMSE", figure=math.sqrt)

    def _searched(self, cells: ObservedEntries, seed: int | None, losses: Any, **how: Any) -> SearchSpace:
        """Return a search space that is evaluated by the losses of a model on held-out cells."""
        kept, out = split_cells(cells, held_out_share(len(cells.values)), seed=seed)
        how |= {"fit": lambda model: model.fit(kept), "last": lambda model: model.fit(cells), "units": "cells"}
        return SearchSpace(values=self._grid, losses=lambda model: losses(model, out), **how)


class AlternatingModel(Transformer, SearchedModel):
    """Base class for models fitted by alternating updates of row factors and column factors.

    A subclass defines ``_start`` (random factors of a shape), ``_factors`` and ``_place`` (from and to attributes),
    ``_blocks`` of cells, ``_solved`` (rows of blocks, exactly or from the rows before), ``_exactly`` (rows of cells),
    ``_row_equations`` (entries, vectors of their columns, and precision of the prior), ``_base`` (the part of the
    predictions of columns that is no product of factors) and ``_objective``.
    """

    def update(self, X: Any, *, sweeps: int = SWEEPS) -> Self:
        """Update the fitted factors with newly observed cells.

        X has all observed cells, old and new, with new rows and columns after those of the fit; InputError is raised if
        these are missing. New columns and all rows are solved for exactly, and ``sweeps`` over both sides follow. Means
        and scales stay those of the fit. See :mod:`polyadic.completion.base`.
        """
        check_is_fitted(self)
        self.check()
        cells = self._read(X)
        match_columns(self, X, more=True)
        check_int("sweeps", sweeps, low=0)
        check_grown(self._shape, cells.shape)
        cells = self._centred(self._sampled(cells, X))
        return self._learn(islice(self._updates(cells), sweeps + 1), max(sweeps, 1), 0.0)

    def transform(self, X: Any) -> AnyArray:
        """Return the factors of new rows, computed from their observed cells (fold-in).

        X is as for :meth:`fit`. The result has the shape (rows, rank), or (rows, rank + 1) with the bias of each row as
        last column. Rows without an observed cell get zeros.
        """
        check_is_fitted(self)
        V, cells = self._factors()[1], self._read(X, empty=True)
        if not isinstance(X, ObservedEntries):
            match_columns(self, X)
        pairs(cells.rows, cells.columns, (cells.shape[0], len(V)))
        return self._exactly(self._centred(cells), V)

    def fold_in(self, X: Any) -> Self:
        """Return a copy of the model in which new rows with the given cells replace the rows; see :meth:`transform`."""
        model, cells = copy(self), self._read(X, empty=True)
        model._sampled(cells, cells)  # noqa: SLF001 # of this class
        model._place(self.transform(cells), self._factors()[1])  # noqa: SLF001
        return model

    def explain(self, X: Any, columns: ArrayLike) -> Contributions:
        """Decompose predictions of ``columns`` for a row X, which may be new, into contributions of its observed cells.

        The base is the mean plus the bias of the column, or zero in models without biases. Base and parts sum to the
        prediction from the factors of ``transform(X)``; :meth:`predict` differs slightly where solver steps have not
        converged. InputError is raised for several rows, or without cells.
        """
        check_is_fitted(self)
        cells, V = self._read(X, empty=True), self._factors()[1].astype(float)
        match_columns(self, X)
        j = columns_of_row(cells, columns, len(V))
        entries, against, precision = self._row_equations(self._centred(cells), V)
        parts = parts_of_row(entries, against, against[j], precision=precision)
        return Contributions(self._base(j), cells.columns, parts)

    def _sweeps(self, cells: ObservedEntries) -> Iterator[Sweep]:
        """Iterate over sweeps of alternating updates, starting from random column factors."""
        U, V = self._start(cells.shape)
        rows, columns = (self._blocks(side, V.dtype) for side in (cells, cells.turned()))
        U = self._solved(rows, V, U)
        while True:
            yield Sweep([U, V], self._objective(cells, U, V))
            V = self._solved(columns, U, V)
            U = self._solved(rows, V, U)

    def _updates(self, cells: ObservedEntries) -> Iterator[Sweep]:
        """Iterate over sweeps of alternating updates, starting from the fitted factors with new rows added."""
        across, (m, n) = cells.turned(), self._shape
        U, V = (grown(F, size) for F, size in zip(self._factors(), cells.shape, strict=True))
        U[m:] = self._exactly(cells.take(np.arange(m, len(U))), V)
        V[n:] = self._exactly(across.take(np.arange(n, len(V))), U)
        U = self._exactly(cells, V)
        while True:
            yield Sweep([U, V], self._objective(cells, U, V))
            V = self._solved(self._blocks(across, V.dtype), U, V)
            U = self._solved(self._blocks(cells, U.dtype), V, U)

    def _learn(self, sweeps: Iterator[Sweep], max_iter: int, tol: float) -> Self:
        self._place(*self._keep(run(sweeps, max_iter=max_iter, tol=tol, callback=self.callback)))
        return self

    def _centred(self, cells: ObservedEntries) -> ObservedEntries:
        return cells


def check_grown(before: tuple[int, int], now: tuple[int, int]) -> None:
    """Raise InputError if a matrix has fewer rows or columns than the matrix of the previous fit."""
    if now[0] < before[0] or now[1] < before[1]:
        got = f"shape {now}"
        raise InputError(f"X must have at least {before[0]:,} rows and {before[1]:,} columns, as in fit; got {got}")


def grown(F: AnyArray, size: int) -> AnyArray:
    """Extend a factor matrix to a given number of rows by appending rows of zeros."""
    return np.concatenate([F, np.zeros((size - len(F), *F.shape[1:]), F.dtype)])
