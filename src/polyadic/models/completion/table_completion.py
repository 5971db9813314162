"""Tables whose rows and columns have names, completed by any of the methods of this package.

A table is its known cells: the name of a row, the name of a column and a value on each line, in a file or in memory.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import InputError, check_int
from polyadic.metrics.recommendation import recommendation
from polyadic.models.base import Amount, Model, Natural, Seed, Threads, Within
from polyadic.models.chosen import BUDGET, Choice, chosen
from polyadic.models.completion.bayesian import BayesianMatrixFactorization, Prediction
from polyadic.models.completion.cells import Cells, split_cells
from polyadic.models.completion.choosing import choose_penalty, rmse
from polyadic.models.completion.factorization import MatrixFactorization
from polyadic.models.completion.implicit import ImplicitFactorization
from polyadic.models.completion.recommending import best_columns
from polyadic.models.completion.trace_norm import TraceNormCompletion
from polyadic.models.explaining import Explanation, explanation
from polyadic.text.relations.fields import read_fields

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray


MARKS = "\t", ";", ","
"""What may stand between fields; the first of them that the first line has."""


class NamedCells(NamedTuple):
    """Known cells and the names of rows and columns, in the order in which they came.

    Attributes
    ----------
    cells : Cells
    rows, columns : list
        Texts, or whatever a table of Python's has for names.
    valued : bool
        Whether lines had values; if not, each is 1.
    """

    cells: Cells
    rows: list[Any]
    columns: list[Any]
    valued: bool


class Line(NamedTuple):
    """What a line says: where it stands, the names of row and column, and what else was asked for."""

    number: int
    row: Any
    column: Any
    rest: list[Any]


def read_lines(path: str | os.PathLike[str], *, fields: Sequence[str] | None = None) -> Iterator[Line]:
    """Read the lines of a table with two or three fields that count: comma, semicolon or tab between, quotes as in CSV.

    Parameters
    ----------
    path : path
    fields : sequence of str, optional
        The headings, or the places from 1, of the row, the column and the value. Without them they are the first
        three; a first line whose third field is no number is one of headings then.

    Raises
    ------
    InputError
        If it cannot be read, there is nothing in it, a heading is not there, or a line has too few fields.
    """
    places: list[int] | None = None
    for number, line in read_fields(path, marks=MARKS):
        if places is None:
            places, heading = _places(path, line, fields)
            if heading:
                continue
        if len(line) <= max(places):
            raise InputError(f"{path}, line {number}: expected {max(places) + 1} fields or more; got {len(line)}")
        row, column, *rest = (line[place] for place in places)
        yield Line(number, row, column, rest)


def _places(path: str | os.PathLike[str], first: list[str], fields: Sequence[str] | None) -> tuple[list[int], bool]:
    """Say which fields count, and whether the first line is one of headings."""
    if len(first) < 2:
        raise InputError(
            f"{path}, line 1 has no fields between commas, semicolons or tabs; give a row, a column and a value on each"
            f" line; got {first[0]!r:.40}"
        )
    if fields is None:
        third = len(first) > 2
        return list(range(2 + third)), third and _number(first[2]) is None
    fields = [name.strip() for name in fields]
    if not 2 <= len(fields) <= 3:
        raise InputError(
            f"name the fields of row and column, and of the value if there is one; got {len(fields)} names"
        )
    names = first
    if all(name.isdecimal() and 1 <= int(name) <= len(first) for name in fields):
        places = [int(name) - 1 for name in fields]
        return places, len(places) > 2 and _number(first[places[2]]) is None
    if absent := [name for name in fields if name not in names]:
        raise InputError(f"{path}: no column is headed {absent[0]!r}; found {', '.join(map(repr, names))}")
    return [names.index(name) for name in fields], True


def read_cells(path: str | os.PathLike[str], *, fields: Sequence[str] | None = None) -> NamedCells:
    """Read known cells; lines that say the same twice count once.

    Parameters
    ----------
    path, fields
        See :func:`read_lines`; with two fields to a line each value is 1.

    Raises
    ------
    InputError
        As there, or if a value is no finite number, two lines contradict each other, or there is no line.
    """
    return _collected(read_lines(path, fields=fields), str(path))


def named_cells(table: Iterable[Sequence[Any]]) -> NamedCells:
    """Take known cells from lines: the name of a row, the name of a column, and a value, or none in all of them.

    Raises
    ------
    InputError
        As :func:`read_cells`.

    Examples
    --------
    >>> ratings = [("ann", "Ran", 5), ("bob", "Heat", 2), ("ann", "Heat", 3)]
    >>> named_cells(ratings).cells.values.tolist(), named_cells(ratings).columns
    ([5.0, 3.0, 2.0], ['Ran', 'Heat'])
    """
    lines = (Line(number, row, column, rest) for number, (row, column, *rest) in enumerate(table, 1))
    return _collected(lines, "the table")


def _collected(lines: Iterable[Line], source: str) -> NamedCells:
    rows: dict[Any, int] = {}
    columns: dict[Any, int] = {}
    seen: dict[tuple[int, int], tuple[float, int]] = {}
    valued = False
    for line in lines:
        where = f"{source}, line {line.number}"
        if seen and valued != bool(line.rest):
            raise InputError(f"{where}: either every line has a value, or none has")
        valued = bool(line.rest)
        value = _number(line.rest[0]) if valued else 1.0
        if value is None or not math.isfinite(value):
            raise InputError(f"{where}: a value is a finite number; got {line.rest[0]!r:.40}")
        cell = rows.setdefault(line.row, len(rows)), columns.setdefault(line.column, len(columns))
        before, first = seen.setdefault(cell, (value, line.number))
        if before != value:
            pair = f"{line.row!r} and {line.column!r}"
            raise InputError(f"{where}: {pair} have the value {value:g}, but {before:g} in line {first}")
    if not seen:
        raise InputError(f"{source} has no lines of a row, a column and a value")
    indices = np.array([*seen], np.int64)
    order = np.lexsort(indices.T[::-1])
    values = np.array([value for value, _ in seen.values()])
    i, j = indices[order].T
    return NamedCells(Cells(i, j, values[order], (len(rows), len(columns))), [*rows], [*columns], valued)


def connected_parts(cells: Cells) -> list[tuple[int, int]]:
    """Count the rows and columns of each part of a matrix: no cell is known between two parts; the largest first.

    Examples
    --------
    >>> connected_parts(Cells(np.array([0, 1, 2]), np.array([0, 0, 1]), np.ones(3), (3, 2)))
    [(2, 1), (1, 1)]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = sum(cells.shape)
    links = coo_array((np.ones(len(cells.rows)), (cells.rows, cells.shape[0] + cells.columns)), shape=(size, size))
    number, part = connected_components(links, directed=False)
    counts: list[NDArray[np.int64]] = [
        np.bincount(side, minlength=number) for side in (part[: cells.shape[0]], part[cells.shape[0] :])
    ]
    return sorted(zip(*(side.tolist() for side in counts), strict=True), key=lambda part: (-sum(part), part))


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


TAKEN = {
    "rank": ("als", "bayesian", "implicit"),
    "ridge": ("als", "implicit", "trace-norm"),
    "alpha": ("implicit",),
}
"""Settings that not all methods have, and those that do."""
FEWEST = 100
"""Cells of which a tenth can choose."""
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
    rank, ridge, alpha : int, and float, optional
        Of the model of the method, if it has them; of ``trace-norm`` the ridge is the penalty. By default cells held
        out choose them: :func:`~polyadic.models.chosen.chosen`,
        :func:`~polyadic.models.completion.choosing.choose_penalty`.
    choose : bool
        Whether they do; if not, and for less than 100 cells, the defaults of the model stand.
    budget : float, optional
        Seconds after which nothing more is tried (of ``als`` and ``implicit``).
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
    choice_ : Choice or None
        What cells held out have chosen, of ``als`` and ``implicit``.
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
    choose: bool = True
    budget: Amount | None = BUDGET
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
            See :func:`~polyadic.models.completion.table_completion.read_cells` for files.

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
        held_out = self._held_out(*split_cells(known, self.hold_out, seed=self.seed)) if self.hold_out else {}
        self.model_ = self._fitted(known)
        self.choice_: Choice | None = getattr(self.model_, "choice_", None)
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

    def explain(self, row: Any, columns: Sequence[Any]) -> list[Explanation]:
        """Say what the values of a row in some columns are made of: what each known cell of the row adds to them.

        See :mod:`~polyadic.models.explaining`. What the last steps of ``implicit`` left open is in the base.

        Parameters
        ----------
        row : name
        columns : sequence of names

        Returns
        -------
        list of Explanation
            One for each column, with the parts of the columns known in this row.

        Raises
        ------
        InputError
            If a name is not there, or the method has no such parts.

        Examples
        --------
        >>> likes = [("ann", "Ran", 5), ("ann", "Heat", 1), ("bob", "Ran", 4), ("bob", "Heat", 1), ("eve", "Heat", 2)]
        >>> (why,) = TableCompletion(rank=0).fit(likes).explain("eve", ["Ran"])
        >>> [name for name, _ in why.parts], round(why.base + sum(part for _, part in why.parts) - why.value, 9)
        (['Heat'], 0.0)
        """
        check_is_fitted(self)
        if not isinstance(self.model_, (ImplicitFactorization, MatrixFactorization)):
            raise InputError(f"{self.method} does not tell what a value is made of; als and implicit do")
        i, j = _numbers("row", [row], self.rows_), _numbers("column", columns, self.columns_)
        _, known, parts = self.model_.explain(self.known_.take(i), j)
        names = [self.columns_[column] for column in known.tolist()]
        values = self.model_.predict(np.repeat(i, len(j)), j).astype(float)
        return [explanation(value, names, some) for value, some in zip(values, parts, strict=True)]

    def facts(self) -> dict[str, Any]:
        """Tell the sizes of the table, its parts, and how well cells held out were predicted."""
        check_is_fitted(self)
        (rows, columns), cells = self.known_.shape, len(self.known_.values)
        facts: dict[str, Any] = {"method": self.method, "rows": rows, "columns": columns, "cells": cells}
        facts |= {"share_known": cells / (rows * columns), "parts": len(self.parts_), "largest_part": [*self.parts_[0]]}
        return facts | ({"held_out": self.hold_out, **self.held_out_} if self.held_out_ else {})

    def _new(self) -> Any:
        """Make the model of the method, not fitted."""
        own: dict[str, Any] = {name: value for name in TAKEN if (value := getattr(self, name)) is not None}
        how: dict[str, Any] = {"seed": self.seed, "threads": self.threads}
        if self.method == "bayesian":
            return BayesianMatrixFactorization(**own, **how)
        if self.method == "implicit":
            return ImplicitFactorization(**own, **how)
        if self.method == "als":
            return MatrixFactorization(**own, **how)
        model = TraceNormCompletion(offsets="biases", threads=self.threads)
        return model if self.ridge is None else model.set_params(penalty=self.ridge)

    def _fitted(self, known: Cells) -> Any:
        """Fit the model of the method, with what cells held out choose of what is not given."""
        model = self._new()
        if not self.choose or self.method == "bayesian" or len(known.values) < FEWEST:
            return model.fit(known)
        if self.method == "trace-norm":
            if self.ridge is None:
                model.set_params(penalty=choose_penalty(model, known).best)
            return model.fit(known)
        given = [name for name in TAKEN if getattr(self, name) is not None]
        return chosen(model, known, keep=given, budget=self.budget, seed=self.seed)

    def _held_out(self, train: Cells, test: Cells) -> dict[str, float]:
        """Fit to a part of the cells and say how well the others are predicted, beside the plainest way."""
        model = self._fitted(train)
        if model.interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be judged
        if self.method == "implicit":
            return _found_again(model, train, test)
        plain = MatrixFactorization(0, threads=self.threads).fit(train)
        return {"rmse": rmse(model, test), "rmse_of_biases": rmse(plain, test)}


def _found_again(model: ImplicitFactorization, train: Cells, test: Cells) -> dict[str, float]:
    train, test = train.at(train.values > 0), test.at(test.values > 0)  # zeros are as what is not listed
    counts = np.bincount(train.columns, minlength=train.shape[1])[:, None].astype(float)
    ways = {
        "": model.recommend(np.arange(train.shape[0]), FIRST, without=train),
        "_of_most_frequent": best_columns(np.ones((train.shape[0], 1)), counts, FIRST, without=train),
    }
    measures: dict[str, float] = {}
    for way, recommended in ways.items():
        judged = recommendation(recommended.columns, test.rows, test.columns)
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
