"""Tables whose rows and columns have names, completed by any of the methods of this package."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import InputError, check_int
from polyadic.metrics.recommendation import recommendation
from polyadic.models.base import Amount, Model, Natural, Seed, Threads, Within
from polyadic.models.completion.bayesian import BayesianMatrixFactorization, Prediction
from polyadic.models.completion.choosing import rmse, split
from polyadic.models.completion.factorization import MatrixFactorization
from polyadic.models.completion.implicit import ImplicitFactorization
from polyadic.models.completion.penalties import choose_penalty
from polyadic.models.completion.recommending import best_columns
from polyadic.models.completion.tables import NamedCells, connected_parts, named_cells
from polyadic.models.completion.trace_norm import TraceNormCompletion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.models.completion.cells import Cells

TAKEN = {
    "rank": ("als", "bayesian", "implicit"),
    "ridge": ("als", "implicit", "trace-norm"),
    "alpha": ("implicit",),
}
"""Settings that not all methods have, and those that do."""
FIRST = 20
"""Columns in which those held out are looked for."""


class TableCompletion(Model):
    r"""A table of which some cells are known, and what the others are likely to be; rows and columns have names.

    Parameters
    ----------
    method : {"als", "bayesian", "implicit", "trace-norm"}
        :class:`~polyadic.models.completion.factorization.MatrixFactorization`;
        :class:`~polyadic.models.completion.bayesian.BayesianMatrixFactorization`, which has nothing to tune and knows
        its uncertainty; :class:`~polyadic.models.completion.implicit.ImplicitFactorization` of counts, or of what is
        listed without values; :class:`~polyadic.models.completion.trace_norm.TraceNormCompletion` with an offset for
        each row and column.
    rank, alpha : int, and float, optional
        Of the model of the method, if it has them; by default as there.
    ridge : float, optional
        The same. Of ``als`` it is in standard deviations of the values, so that it does not depend on their unit; of
        ``trace-norm`` it is the penalty, by default the one that predicts cells held out best
        (:func:`~polyadic.models.completion.penalties.choose_penalty`).
    hold_out : float
        Share of the cells that are held out and predicted first, to see how well; then all are learnt from.
    seed : int, optional
        Of random starts, of draws and of the cells held out.
    threads : int, optional
        All cores by default; the result does not depend on them.

    Attributes
    ----------
    model_ : estimator
        That of the method, fitted to numbered rows and columns.
    rows_, columns_ : list of str
        The names of their rows and columns, in order.
    known_ : Cells
        What the table says.
    parts_ : list of (int, int)
        Rows and columns of the parts between which no cell is known.
    held_out_ : dict of str to float
        Root mean squared error of the cells held out, and that of biases alone; for ``implicit`` which share of them
        is among the first 20 columns, and their NDCG, beside those of the most frequent columns. Empty without
        ``hold_out``.
    interrupted_ : bool
        Whether Ctrl-C cut the last fit short.

    Examples
    --------
    >>> likes = [("ann", "Ran", 5), ("ann", "Heat", 1), ("bob", "Ran", 4), ("bob", "Heat", 1), ("eve", "Heat", 2)]
    >>> model = TableCompletion(rank=0).fit(likes)
    >>> bool(model.predict(["eve"], ["Ran"])[0] > 3)
    True
    >>> [film for film, _ in model.recommend("eve")]
    ['Ran']
    """

    method: Literal["als", "bayesian", "implicit", "trace-norm"] = "als"
    _: KW_ONLY
    rank: Natural | None = None
    ridge: Amount | None = None
    alpha: Amount | None = None
    hold_out: Annotated[float, Within(0, 0.9)] = 0.0
    seed: Seed = None
    threads: Threads = None

    def check(self) -> None:
        """Refuse settings out of range, also by what the model of the method says, and those that it does not have."""
        super().check()
        for name, methods in TAKEN.items():
            if getattr(self, name) is not None and self.method not in methods:
                raise InputError(f"{name} is a setting of {' or '.join(methods)}; leave it out for {self.method}")
        self._new().check()

    def fit(self, table: NamedCells | Iterable[Sequence[Any]], y: Any = None) -> Self:
        """Learn to complete a table.

        Parameters
        ----------
        table : NamedCells or iterable of (row, column, value) or of (row, column)
            See :func:`~polyadic.models.completion.tables.read_cells` for files.

        Raises
        ------
        InputError
            If lines contradict each other, there is none, values are missing or not those of the method, or a
            parameter is out of range.
        """
        del y
        self.check()
        known, rows, columns, valued = table if isinstance(table, NamedCells) else named_cells(table)
        if not valued and self.method != "implicit":
            raise InputError("the table has no values; use the method implicit, which learns from what is listed")
        held_out = self._held_out(*split(known, self.hold_out, seed=self.seed)) if self.hold_out else {}
        self.model_ = self._new(known).fit(known)
        self.known_, self.rows_, self.columns_, self.held_out_ = known, rows, columns, held_out
        self.interrupted_, self.parts_ = self.model_.interrupted_, connected_parts(known)
        _warn_of_parts(self.parts_)
        return self

    def predict(self, rows: Sequence[Any], columns: Sequence[Any]) -> NDArray[np.float64]:
        """Give the expected values of cells, named by as many rows as columns, known or not."""
        return self.predict_distribution(rows, columns).mean

    def predict_distribution(self, rows: Sequence[Any], columns: Sequence[Any]) -> Prediction:
        """Give the expected values of cells and their standard deviations: NaN but for ``bayesian``."""
        check_is_fitted(self)
        i, j = _numbers("row", rows, self.rows_), _numbers("column", columns, self.columns_)
        if isinstance(self.model_, BayesianMatrixFactorization):
            return self.model_.predict_distribution(i, j)
        mean = self.model_.predict(i, j).astype(float)
        return Prediction(mean, np.full_like(mean, np.nan))

    def recommend(self, row: Any, n: int = 10) -> list[tuple[Any, float]]:
        """Give the columns of the largest values in a row, the best first, with them; those known are left out."""
        check_is_fitted(self)
        check_int("n", n, low=1)
        i = _numbers("row", [row], self.rows_)
        values = self.model_.predict(np.repeat(i, len(self.columns_)), np.arange(len(self.columns_))).astype(float)
        values[self.known_.columns[self.known_.rows == i]] = -np.inf
        best = [j for j in np.argsort(-values, kind="stable")[:n].tolist() if np.isfinite(values[j])]
        return [(self.columns_[j], float(values[j])) for j in best]

    def facts(self) -> dict[str, Any]:
        """Tell the sizes of the table, its parts, and how well cells held out were predicted."""
        check_is_fitted(self)
        (rows, columns), cells = self.known_.shape, len(self.known_.values)
        facts: dict[str, Any] = {"method": self.method, "rows": rows, "columns": columns, "cells": cells}
        facts |= {"share_known": cells / (rows * columns), "parts": len(self.parts_), "largest_part": [*self.parts_[0]]}
        return facts | ({"held_out": self.hold_out, **self.held_out_} if self.held_out_ else {})

    def _new(self, known: Cells | None = None) -> Any:
        """Make the model of the method for a table, not fitted."""
        own: dict[str, Any] = {name: value for name in TAKEN if (value := getattr(self, name)) is not None}
        how: dict[str, Any] = {"seed": self.seed, "threads": self.threads}
        if self.method == "bayesian":
            return BayesianMatrixFactorization(**own, **how)
        if self.method == "implicit":
            return ImplicitFactorization(**own, **how)
        if self.method == "als":
            size = 1.0 if known is None else float(known.values.std()) or 1.0
            return MatrixFactorization(**own | {"ridge": own.get("ridge", MatrixFactorization.ridge) * size}, **how)
        model = TraceNormCompletion(offsets="biases", threads=self.threads)
        penalty = self.ridge
        if penalty is None and known is not None:
            penalty = choose_penalty(model, known).best
        return model if penalty is None else model.set_params(penalty=penalty)

    def _held_out(self, train: Cells, held: Cells) -> dict[str, float]:
        """Fit to a part of the cells and say how well the others are predicted, beside the plainest way."""
        model = self._new(train).fit(train)
        if model.interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be judged
        if self.method == "implicit":
            return _found_again(model, train, held)
        plain = MatrixFactorization(0, threads=self.threads).fit(train)
        return {"rmse": rmse(model, held), "rmse_of_biases": rmse(plain, held)}


def _found_again(model: ImplicitFactorization, train: Cells, held: Cells) -> dict[str, float]:
    train, held = train.at(train.values > 0), held.at(held.values > 0)  # zeros are as what is not listed
    counts = np.bincount(train.columns, minlength=train.shape[1])[:, None].astype(float)
    ways = {
        "": model.recommend(np.arange(train.shape[0]), FIRST, without=train),
        "_of_most_frequent": best_columns(np.ones((train.shape[0], 1)), counts, FIRST, without=train),
    }
    measures: dict[str, float] = {}
    for way, recommended in ways.items():
        judged = recommendation(recommended.columns, held.rows, held.columns)
        measures |= {f"{what}_at_{FIRST}{way}": float(np.nanmean(getattr(judged, what))) for what in ("recall", "ndcg")}
    return measures


def _numbers(what: str, names: Sequence[Any], all_names: list[Any]) -> NDArray[np.int64]:
    number = {name: at for at, name in enumerate(all_names)}
    if absent := [name for name in names if name not in number]:
        such = f"it has {len(number):,}, such as {all_names[0]!r}"
        raise InputError(f"the model has no {what} {absent[0]!r}; {such}")
    return np.array([number[name] for name in names], np.int64)


def _warn_of_parts(parts: list[tuple[int, int]]) -> None:
    if len(parts) > 1:
        rows, columns = (sum(part[side] for part in parts[1:]) for side in (0, 1))
        warnings.warn(
            f"the table falls into {len(parts):,} parts without a common row or column, the largest of {parts[0][0]:,}"
            f" rows and {parts[0][1]:,} columns, the others of {rows:,} and {columns:,} together; predictions between"
            " parts rest on the biases only",
            stacklevel=3,
        )
