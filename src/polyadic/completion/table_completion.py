"""Completion of tables with named rows and columns, by any completion method of the package.

A table is its known cells: the name of a row, the name of a column and a value on each line, in a file or in memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import coo_array
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import AlternatingModel, DistributionModel
from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.cells import ObservedEntries, Prediction, cells_of, compared, explained, rmse, split_cells
from polyadic.completion.components import RotatedComponents, TableComponent, rotated_components
from polyadic.completion.factorization import MatrixFactorization
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.matchbox import MatchboxFactorization
from polyadic.completion.named_cells import CellReading, NamedCells, joined, named_cells, named_pairs
from polyadic.completion.recommending import best_columns, warn_of_none
from polyadic.completion.trace_norm import TraceNormCompletion, choose_penalty
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError, check_choice, check_int, meant
from polyadic.core.explanation import Explanation
from polyadic.core.frames import is_wide
from polyadic.core.methods import Method, refuse_unused
from polyadic.core.model import Amount, Model, Natural, Positive, Seed, Threads, Within
from polyadic.core.selection import Selection, select
from polyadic.core.settings import BUDGET
from polyadic.metrics.figures import conformal_radius
from polyadic.metrics.recommendation import catalogue, recommendation

METHODS = {
    "als": Method(MatrixFactorization),
    "bayesian": Method(BayesianMatrixFactorization),
    "implicit": Method(ImplicitFactorization),
    "ordinal": Method(MatchboxFactorization),
    "trace-norm": Method(TraceNormCompletion, fixed={"offsets": "biases"}, renamed={"ridge": "penalty"}),
}
"""The estimator of each method."""
MIN_CELLS = 100  # minimum number of cells for the selection of settings on held-out ones
TOP_K = 20  # number of recommended columns in which held-out cells are sought
ROWS = 1 << 12  # number of rows that are recommended for at a time
EXACT = 1e-9  # relative spread of predictions below which they count as equal
NAMED = 3  # number of columns that name a component
NEW = "new row"  # name of a row that is given by its items
PRIOR_CELLS = 10  # residuals of average size that are added to those of a row or column, for widths of intervals


class Recommendation(NamedTuple):
    """A recommended column and its predicted value."""

    column: Any
    value: float


class Similar(NamedTuple):
    """A similar column or row and the correlation of its predictions."""

    name: Any
    correlation: float


class TableCompletion(Model):
    """Completion of a table with named rows and columns, by one of several methods.

    Parameters
    ----------
    method : {"als", "bayesian", "implicit", "ordinal", "trace-norm"}
        Method: matrix factorization with biases (als) and its Bayesian version (bayesian), factorization of implicit
        feedback such as counts (implicit), Bayesian factorization of values with few levels such as stars (ordinal), or
        trace-norm regularization (trace-norm). See
        :class:`~polyadic.completion.factorization.MatrixFactorization`,
        :class:`~polyadic.completion.bayesian.BayesianMatrixFactorization`,
        :class:`~polyadic.completion.implicit.ImplicitFactorization`,
        :class:`~polyadic.completion.matchbox.MatchboxFactorization` and
        :class:`~polyadic.completion.trace_norm.TraceNormCompletion`.
    rank : int, optional
        Number of latent components; 0 fits a model of biases only (default: selected on held-out cells). Not used by
        trace-norm.
    ridge : float, optional
        Ridge penalty on the factors; for trace-norm, the weight of the trace norm (default: selected on held-out
        cells).
    l1 : float, optional
        L1 penalty on the factors, which sets elements exactly to zero (method als) (default: 0).
    alpha : float, optional
        Confidence added to a cell with the mean count (method implicit) (default: selected on held-out cells).
    outlier_penalty : float, optional
        Penalty on outliers, in units of the values (method trace-norm): a cell whose residual exceeds it is an outlier,
        which has a bounded effect on the predictions (default: no outliers). It must be less than the ridge.
    choose : bool
        Use held-out cells to select the settings that are not given. Tables of less than 100 cells use the defaults of
        the method.
    budget : float, optional
        Time limit in seconds for the selection of settings (methods als, implicit and ordinal).
    hold_out : float
        Fraction of the cells to hold out for measuring the prediction error. The model is then fitted to all cells.
    hold_out_by : {"cells", "time"}
        Cells to hold out: random cells, or the latest cells by timestamp.
    unknown : {"refuse", "mean"}
        Treatment of names not seen in training: raise an error (refuse), or predict the mean over known names (mean).

    Attributes
    ----------
    model_ : estimator
        Estimator of the method, fitted to numbered rows and columns.
    rows_, columns_ : list of str
        Names of the rows and columns, in order.
    known_, valued_ : ObservedEntries, bool
        Known cells, and whether the table has values.
    parts_ : list of (int, int)
        Rows and columns of the parts between which no cell is known.
    selection_ : Selection or None
        Result of model selection, of ``als`` and ``implicit``.
    held_out_ : dict of str to float
        Root mean squared error of held-out cells, and that of biases alone. For ``implicit`` the share of held-out
        cells among the first 20 columns, NDCG, mean average precision, catalogue coverage and novelty in bits, and the
        same of the most frequent columns. Empty without ``hold_out``.
    scores_, updated_ : ndarray, dict
        Absolute errors of held-out cells, relative to their widths, for intervals; and report of the last update.

    Examples
    --------
    >>> likes = [("ann", "Ran", 5), ("ann", "Heat", 1), ("bob", "Ran", 4), ("bob", "Heat", 1), ("eve", "Heat", 2)]
    >>> model = TableCompletion(rank=0).fit(likes)
    >>> bool(model.predict(["eve"], ["Ran"])[0] > 3)
    True
    >>> [film for film, _ in model.recommend("eve")]
    ['Ran']
    """

    method: Literal["als", "bayesian", "implicit", "ordinal", "trace-norm"] = "als"
    _: KW_ONLY
    rank: Natural | None = None
    ridge: Amount | None = None
    l1: Amount | None = None
    alpha: Amount | None = None
    outlier_penalty: Positive | None = None
    choose: bool = True
    budget: Amount | None = BUDGET
    hold_out: Annotated[float, Within(0, 0.9)] = 0.0
    hold_out_by: Literal["cells", "time"] = "cells"
    seed: Seed = None
    threads: Threads = None
    unknown: Literal["refuse", "mean"] = "refuse"

    def check(self) -> None:
        """Raise InputError for settings that are out of range or that the method does not use."""
        super().check()
        refuse_unused(METHODS, self.method, self._given())
        if self.budget != BUDGET and self.method in ("bayesian", "trace-norm"):
            raise InputError(f"budget is not supported by method {self.method}; leave out budget", "budget")
        if self.unknown == "mean" and self.method == "ordinal":
            about = "unknown must be 'refuse' for method ordinal,"
            raise InputError(f"{about} which has no mean over known names", "unknown", "method")
        self._new().check()

    def fit(
        self,
        table: Any,
        y: Any = None,
        *,
        columns: Sequence[Any] | None = None,
        times: Any = None,
        reading: CellReading | None = None,
    ) -> Self:
        """Fit the model to the known cells of a table.

        InputError is raised if lines contradict each other, there is none, values are missing or not those of the
        method, or a parameter is out of range.

        Parameters
        ----------
        table : path, data frame, iterable of (row, column, value) or of (row, column), records, or matrix
            A data frame or a file may be long, with names and a value in each row, or wide, with a row of the matrix in
            each row. In sparse, masked and NaN arrays, rows and columns are named by their indices. See
            :func:`~polyadic.completion.named_cells.read_cells` for how files are read.
        y : sequence of float, optional
            Values, if the table has names alone, as in cross-validation with scikit-learn.
        columns : sequence of str or int, optional
            Names or positions from 1 of the columns with row names, column names and values.
        times : str, int or sequence, optional
            Timestamps, numbers or dates, of all lines, or the name or position from 1 of their column.
        reading : CellReading, optional
            How the table is read, such as ``CellReading(missing="ignore", duplicates="mean")``.
        """
        self.check()
        place = times if isinstance(times, str | int) else None
        stamps = times if place is None else None
        given = named_cells(table, y, columns=columns, time=place, times=stamps, reading=reading)
        known, rows, names, valued, times = given
        if not valued and self.method != "implicit":
            advice = "use method implicit for tables without values"
            raise InputError(f"the table must have values for method {self.method}; {advice}")
        self.held_out_: dict[str, float] = {}
        self.scores_ = np.zeros(0)
        if self.hold_out_by == "time" and times is None:
            about = "hold_out_by='time' requires timestamps: give times to fit (with read_cells,"
            raise InputError(f"{about} time), or set hold_out_by='cells'", "hold_out_by")
        if self.hold_out:
            by_time = times if self.hold_out_by == "time" else None
            self._hold_out(*split_cells(known, self.hold_out, seed=self.seed, times=by_time))
        self.model_ = self._fitted(known)
        self.selection_: Selection | None = getattr(self.model_, "selection_", None)
        self.known_, self.rows_, self.columns_, self.valued_ = known, rows, names, valued
        self.updated_: dict[str, Any] = {}
        self.interrupted_, self.parts_ = self.model_.interrupted_, connected_parts(known)
        _warn_of_parts(self.parts_)
        return self

    def update(self, table: Any, *, sweeps: int | None = None, sums: bool = False, refit: bool = False) -> Self:
        """Update the model with new rows, new columns, and new values of known cells.

        New rows and columns are solved for with the others fixed; sweeps over both sides follow. Settings stay.

        ``updated_`` then has the numbers of new and changed cells, rows and columns; the error on new cells between
        known names before they were learned; ``moved``, the root mean square change of predictions of cells known
        before; and with ``refit`` the ``distance_to_refit`` of all known cells.

        Parameters
        ----------
        table : as for :meth:`fit`
            New lines only. They replace known values. Errors are those of :meth:`fit`.
        sweeps : int, optional
            Number of sweeps; see ``update`` of the estimator. ``trace-norm`` has none: it continues to its optimum.
        sums, refit : bool
            Whether to add new values to known ones, as for counts; and whether to fit from scratch, too, keep that
            model, and report its distance to the update.
        """
        check_is_fitted(self)
        self.check()
        if self.method == "ordinal":
            raise InputError("method ordinal does not support updates; fit a new model to all cells", "method")
        if self.method == "trace-norm" and sweeps is not None:
            about = "sweeps is not supported by trace-norm, which iterates until convergence"
            raise InputError(f"{about}; leave out sweeps", "sweeps")
        before = NamedCells(self.known_, self.rows_, self.columns_, self.valued_)
        known, rows, columns, *_ = joined(before, named_cells(table), sums=sums)
        facts = self._news(known)
        model = copy(self.model_).update(known, **({} if sweeps is None else {"sweeps": sweeps}))
        facts["moved"] = _distance(self.model_, model, self.known_)
        if refit:
            fitted = clone(model).fit(known)
            facts["distance_to_refit"], model = _distance(model, fitted, known), fitted
        self.model_ = model  # at the end: what fails before has changed nothing
        self.known_, self.rows_, self.columns_, self.updated_ = known, rows, columns, facts
        self.interrupted_, self.parts_ = self.model_.interrupted_, connected_parts(known)
        return self

    def predict(self, rows: Any, columns: Sequence[Any] | None = None) -> Array:
        """Return the predicted values of observed or unobserved cells.

        Rows and columns are sequences of names of the same length, or single names for all cells given with them. Or
        give ``rows`` alone: pairs of names, or a data frame with these as first two columns.
        """
        return self.predict_distribution(rows, columns).mean

    def predict_distribution(self, rows: Any, columns: Sequence[Any] | None = None) -> Prediction:
        """Return the predicted values and standard deviations of cells.

        Standard deviations are NaN except with the methods ``bayesian`` and ``ordinal``.
        """
        i, j = self._cells(rows, columns)
        known = (i >= 0) & (j >= 0)
        mean, std = np.empty(len(i)), np.full(len(i), np.nan)
        if isinstance(self.model_, DistributionModel):
            mean[known], std[known] = self.model_.predict_distribution(i[known], j[known])
        else:
            mean[known] = self.model_.predict(i[known], j[known])
        if not known.all():
            U, V = self.model_.augmented()
            u, v = (np.vstack([F, F.mean(axis=0)])[at[~known]] for F, at in ((U, i), (V, j)))  # the last, -1, the mean
            mean[~known] = np.einsum("nr,nr->n", u, v)
            if isinstance(self.model_, BayesianMatrixFactorization):
                # what is expected of a row varies, from one to the next, by that much where it is not known
                spreads = [np.einsum("nr,nr->n", x @ _covariance(F), x) for x, F in ((v, U), (u, V))]
                absent = [at[~known] < 0 for at in (i, j)]
                std[~known] = np.sqrt(self.model_.noise_**2 + sum(map(np.multiply, spreads, absent)))
        return Prediction(mean, std)

    def predict_interval(
        self, rows: Any, columns: Sequence[Any] | None = None, *, level: float = 0.9
    ) -> tuple[Array, Array]:
        r"""Return the lower and upper bounds of split-conformal prediction intervals for the given cells.

        The width is :func:`~polyadic.metrics.figures.conformal_radius` of the errors of held-out cells, each divided by
        the standard deviation of its cell, or, with methods that estimate none, by

        .. math:: \sqrt{\frac{10 + \sum_k r_{ik}^2 / s^2}{10 + n_i} \cdot \frac{10 + \sum_k r_{kj}^2 / s^2}{10 + m_j}}

        with the residuals :math:`r` of the :math:`n_i` known cells of the row and :math:`m_j` of the column, and the
        mean :math:`s^2` of all squared residuals. Bounds are clipped to the least and largest of the :math:`n` known
        values; a further value is outside with a probability of at most :math:`2 / (n + 1)`. The level holds on average
        over cells like these, not for each row, and is proved for the model without the held-out cells. InputError is
        raised if no cells were held out, too few for that level, or the method is ``implicit``.
        """
        check_is_fitted(self)
        if not len(self.scores_):
            advice = "fit with hold_out=0.1 and a method other than implicit"
            raise InputError(f"prediction intervals require held-out cells; {advice}", "hold_out")
        mean, std = self.predict_distribution(rows, columns)
        if np.isnan(std).any():
            std = _spread(self.model_, self.known_, *self._cells(rows, columns))
        width, values = conformal_radius(self.scores_, level) * std, self.known_.values
        low, high = values.min(), values.max()
        return np.clip(mean - width, low, high), np.clip(mean + width, low, high)

    def score(self, table: Any, y: Any = None) -> float:
        """Return R² of the predictions of a table of held-out cells; for ``implicit`` NDCG@20 of those not known."""
        cells, rows, columns, *_ = named_cells(table, y)
        pairs = [rows[i] for i in cells.rows], [columns[j] for j in cells.columns]
        if self.method != "implicit":
            return explained(cells.values, self.predict(*pairs))
        i, j = self._cells(*pairs)
        out = (i >= 0) & (j >= 0) & (cells.values > 0)
        test = cells_of(coo_array((cells.values[out], (i[out], j[out])), shape=self.known_.shape))
        test = test.at(~compared(self.known_, test)[0])
        if not len(test.values):
            raise InputError("the table must contain positive cells that are not known")
        return _ranking(self.model_, self.known_, test)[f"ndcg_at_{TOP_K}"]

    def recommend(
        self,
        row: Any,
        n: int = 10,
        *,
        items: Any = None,
        allowed: Iterable[Any] | None = None,
        blocked: Iterable[Any] = (),
        seen: bool = False,
    ) -> Any:
        """Return the columns with the largest predicted values in a row, a list of :class:`Recommendation`.

        Parameters
        ----------
        row : name, sequence of names, or None
            With a sequence, the result is a dict with the names as keys. None for a new row that is given by its items.
        items : dict of column to value, iterable of (column, value), or, for method ``implicit``, of columns
            Known cells of a new row. The factors of the columns stay; ``trace-norm`` is optimized anew. Items without a
            value have the mean value.
        allowed, blocked : iterables of names
            Columns to recommend from, by default all; and columns never to recommend.
        seen : bool
            Include columns that are known in the row.

        Examples
        --------
        >>> likes = [("ann", "Ran", 5), ("ann", "Heat", 1), ("bob", "Ran", 4), ("bob", "Heat", 1), ("eve", "Heat", 2)]
        >>> model = TableCompletion(rank=0).fit(likes)
        >>> [film for film, _ in model.recommend(None, items={"Heat": 2})]
        ['Ran']
        """
        check_is_fitted(self)
        if items is not None and row is None:
            return self._with(items).recommend(NEW, n, allowed=allowed, blocked=blocked, seen=seen)
        if items is not None:
            raise InputError("give either a row or the items of a new row", "items")
        rows, several = _listed(row, self.rows_)
        best = dict(self.recommend_all(n, rows=rows, allowed=allowed, blocked=blocked, seen=seen))
        return best if several else best[row]

    def recommend_all(
        self,
        n: int = 10,
        *,
        rows: Sequence[Any] | None = None,
        allowed: Iterable[Any] | None = None,
        blocked: Iterable[Any] = (),
        seen: bool = False,
    ) -> Iterator[tuple[Any, list[Recommendation]]]:
        """Yield recommendations for all rows, or for the given rows, in bounded memory."""
        check_is_fitted(self)
        check_int("n", n, low=1)
        at = np.arange(len(self.rows_)) if rows is None else _numbers("row", rows, self.rows_)
        kept = np.ones(len(self.columns_), bool)
        if allowed is not None:
            kept[:] = False
            kept[_numbers("column", [*allowed], self.columns_)] = True
        kept[_numbers("column", [*blocked], self.columns_)] = False
        return self._recommended(at, np.flatnonzero(kept), n, seen=seen)

    def _recommended(self, at: Ints, kept: Ints, n: int, *, seen: bool) -> Iterator[tuple[Any, list[Recommendation]]]:
        U, V = self.model_.augmented()
        names = [self.columns_[j] for j in kept.tolist()]
        place = np.full(len(V), -1)
        place[kept] = np.arange(len(kept))
        V, known = V[kept], self.known_
        none, empty = [], 0
        if len(kept) < len(place):
            known = known.at(np.flatnonzero(place[known.columns] >= 0))
            known = ObservedEntries(known.rows, place[known.columns], known.values, (len(U), len(kept)))
        for first in range(0, len(at), ROWS):
            some = at[first : first + ROWS]
            best = best_columns(U[some], V, n, without=None if seen else known.take(some))
            without = best.columns[:, 0] < 0
            none += [self.rows_[i] for i in some[without]]
            empty += int((~U[some[without]].any(axis=1)).sum())
            for i, columns, scores in zip(some.tolist(), best.columns.tolist(), best.scores.tolist(), strict=True):
                if self.method == "ordinal" and columns:  # ranked by latent values
                    at_ = np.maximum(kept[columns], 0)
                    scores = self.model_.predict(np.full(len(at_), i), at_).tolist()  # noqa: PLW2901
                best_ = zip(columns, scores, strict=True)
                yield self.rows_[i], [Recommendation(names[j], score) for j, score in best_ if j >= 0]
        warn_of_none(none, empty, len(at))

    def _with(self, items: Any) -> TableCompletion:
        """Return a copy with a new row; methods als and implicit replace all other rows by it (fold-in)."""
        pairs: Any = items.items() if isinstance(items, Mapping) else _listed(items, self.columns_)[0]
        if is_wide(items):
            pairs = zip(*named_pairs(items), strict=True)
        pairs = [pair if isinstance(pair, tuple | list) else (pair,) for pair in pairs]
        if self.method == "implicit":
            pairs = [pair if len(pair) > 1 else (*pair, self.model_.mean_) for pair in pairs]
        elif alone := [pair[0] for pair in pairs if len(pair) == 1]:
            raise InputError(f"method {self.method} requires values of items; got {alone[0]!r} without", "items")
        table, model = named_cells([(NEW, *pair) for pair in pairs])._replace(valued=self.valued_), copy(self)
        j = _numbers("column", table.columns, self.columns_)[table.cells.columns]
        if not isinstance(self.model_, AlternatingModel):
            return model.update(table)
        model.known_ = cells_of(coo_array((table.cells.values, (table.cells.rows, j)), shape=(1, len(self.columns_))))
        model.rows_, model.model_ = [NEW], self.model_.fold_in(model.known_)
        return model

    def similar(self, name: Any, n: int = 10, *, of: Literal["column", "row"] = "column") -> Any:
        r"""Return the columns (or rows) whose predictions correlate most with a given column (or row).

        .. math:: \rho_{jk} = \frac{v_j^\top C v_k}{\sqrt{v_j^\top C v_j \cdot v_k^\top C v_k}}

        is the correlation of their predictions over all rows, with C the covariance of the factors of the rows. It
        depends on the predictions, not on their factorization. The result is a list of :class:`Similar`; for a
        sequence of names it is a dict with the names as keys. InputError is raised for constant predictions.
        """
        check_is_fitted(self)
        check_int("n", n, low=1)
        U, V = self.model_.augmented()
        names, U, V = (self.columns_, U, V) if of == "column" else (self.rows_, V, U)
        wanted, several = _listed(name, names)
        if several:
            return {each: self.similar(each, n, of=of) for each in wanted}
        (j,) = _numbers(of, [name], names).tolist()
        C = _covariance(U)
        spreads = np.sqrt(np.einsum("nr,nr->n", V @ C, V).clip(0))
        if spreads[j] <= EXACT * spreads.max():
            raise InputError(f"correlations with {name!r} are undefined, because its predictions are constant")
        alike = np.clip(V @ (C @ V[j]) / np.maximum(spreads, EXACT) / spreads[j], -1, 1)
        alike[spreads <= EXACT * spreads.max()] = -np.inf
        alike[j] = -np.inf
        best = np.argsort(-alike, kind="stable")[:n].tolist()
        return [Similar(names[k], float(alike[k])) for k in best if np.isfinite(alike[k])]

    def components(self, number: int | None = None, *, top: int = 10) -> list[TableComponent]:
        """Describe the components of the predictions, in decreasing order of explained variance.

        There are at most ``number``, by default the rank; fewer are coarser. The ``top`` columns of each are named. See
        :mod:`~polyadic.completion.components`.
        """
        check_is_fitted(self)
        check_int("top", top, low=1)
        found = self._components(number)
        described = []
        for share, loadings in zip(found.shares.tolist(), found.loadings.T, strict=True):
            sides = []
            for signed in (loadings, -loadings):
                best = np.argsort(-signed, kind="stable")[:top].tolist()
                sides.append([(self.columns_[j], float(loadings[j])) for j in best if signed[j] > 0])
            described.append(TableComponent(share, *sides))
        return described

    def _components(self, number: int | None = None) -> RotatedComponents:
        rank = max(int(getattr(self.model_, "rank", 0)), 1) if self.method != "trace-norm" else len(self.columns_)
        U, V = self.model_.augmented()
        return rotated_components(U, V, rank if number is None else check_int("number", number, low=1))

    def explain(
        self, row: Any, columns: Any, *, by: Literal["cells", "components"] = "cells", items: Any = None
    ) -> list[Explanation]:
        """Decompose the predictions for a row into contributions of observed cells or of components.

        There is one :class:`~polyadic.core.explanation.Explanation` for each column. What the last steps of
        ``implicit`` left open is in the base. A known cell is not explained by itself: its explanation and value are
        those of a row without this cell.

        Parameters
        ----------
        row, columns : name, or None with ``items``; name or sequence of names
        by : {"cells", "components"}
            Contributions of known cells (als, implicit), or of components (:meth:`components`) of any method, named by
            their first three columns. The base is then the means of row and column. InputError is raised for a method
            without such parts.
        items : as for :meth:`recommend`, optional
            Known cells of a new row, for explanations by cells.

        Examples
        --------
        >>> likes = [("ann", "Ran", 5), ("ann", "Heat", 1), ("bob", "Ran", 4), ("bob", "Heat", 1), ("eve", "Heat", 2)]
        >>> (why,) = TableCompletion(rank=0).fit(likes).explain("eve", ["Ran"])
        >>> [name for name, _ in why.parts], round(why.base + sum(part for _, part in why.parts) - why.value, 9)
        (['Heat'], 0.0)
        """
        check_is_fitted(self)
        check_choice("by", by, ("cells", "components"))
        if self.method == "ordinal":
            raise InputError("method ordinal cannot explain predictions; use another method", "method")
        if by == "cells" and not isinstance(self.model_, (ImplicitFactorization, MatrixFactorization)):
            advice = "use by='components', or method als or implicit"
            raise InputError(f"method {self.method} cannot explain predictions by cells; {advice}", "by", "method")
        if items is not None and (row is not None or by == "components"):
            raise InputError("items replace the row, and require by='cells'", "items", "by")
        if items is not None:
            return self._with(items).explain(NEW, columns)
        rows = _listed(row, self.rows_)[0]
        if len(rows) != 1:
            raise InputError(f"explain takes a single row; got {len(rows):,}")
        i, j = _numbers("row", rows, self.rows_), _numbers("column", _listed(columns, self.columns_)[0], self.columns_)
        cells, values = self.known_.take(i), self.model_.predict(np.repeat(i, len(j)), j).astype(float)
        if by == "components":
            scores, loadings, _ = self._components()
            first = np.argsort(-loadings, axis=0, kind="stable")[:NAMED]
            names: list[Any] = [" / ".join(str(self.columns_[k]) for k in best) for best in first.T.tolist()]
            parts = (scores[i] * loadings[j]).tolist()
            return [Explanation.of(v, zip(names, p, strict=True)) for v, p in zip(values.tolist(), parts, strict=True)]
        found, own = [Explanation(0.0, 0.0, [])] * len(j), np.isin(j, cells.columns)
        for at in (np.flatnonzero(~own), *np.flatnonzero(own)[:, None]):
            base, known, parts = self.model_.explain(cells.at(~np.isin(cells.columns, j[at])), j[at])
            names = [self.columns_[column] for column in known.tolist()]
            for k, rest, some in zip(at.tolist(), base.tolist(), parts.tolist(), strict=True):
                value = rest + sum(some) if own[k] else float(values[k])
                found[k] = Explanation.of(value, zip(names, some, strict=True))
        return found

    def outliers(self) -> list[tuple[Any, Any, float]]:
        """Return the row, the column and the outlier of each outlying cell, the largest first.

        The outlier is the part of a value that the model takes for an error. There is none without ``outlier_penalty``.

        Examples
        --------
        >>> table = [(i, j, i + j + 9.0 * (i == j == 2)) for i in range(8) for j in range(8)]
        >>> model = TableCompletion("trace-norm", ridge=5, outlier_penalty=1, choose=False).fit(table)
        >>> [(row, column) for row, column, _ in model.outliers()]
        [(2, 2)]
        """
        check_is_fitted(self)
        if self.outlier_penalty is None:
            return []
        S = self.model_.outliers_.tocoo()
        order = np.argsort(-np.abs(S.data), kind="stable")
        named = ([names[k] for k in at[order]] for names, at in ((self.rows_, S.row), (self.columns_, S.col)))
        return list(zip(*named, S.data[order].tolist(), strict=True))

    def facts(self) -> dict[str, Any]:
        """Summarize the size of the table, the connected components, and the error on held-out cells."""
        check_is_fitted(self)
        (rows, columns), cells = self.known_.shape, len(self.known_.values)
        facts: dict[str, Any] = {"method": self.method, "rows": rows, "columns": columns, "cells": cells}
        facts |= {"outliers": len(self.outliers())} if self.outlier_penalty is not None else {}
        facts |= {"share_known": cells / (rows * columns), "parts": len(self.parts_), "largest_part": [*self.parts_[0]]}
        return facts | ({"held_out": self.hold_out, **self.held_out_} if self.held_out_ else {})

    def _given(self) -> dict[str, Any]:
        """Return the estimator settings that are not None."""
        every = set().union(*(method.settings for method in METHODS.values())) - {"method", "seed", "threads"}
        settings = self.get_params(deep=False).items()
        return {name: value for name, value in settings if name in every and value is not None}

    def _new(self) -> Any:
        """Create the unfitted estimator of the selected method."""
        method = METHODS[self.method]
        shared = {name: getattr(self, name) for name in ("seed", "threads") if name in method.settings}
        return method.make(self._given() | shared)

    def _fitted(self, known: ObservedEntries) -> Any:
        """Fit the estimator of the method, selecting unset settings on held-out cells."""
        model = self._new()
        if not self.choose or self.method == "bayesian" or len(known.values) < MIN_CELLS:
            return model.fit(known)
        if self.method == "trace-norm":
            if self.ridge is None:
                model.set_params(penalty=choose_penalty(model, known).best)
            return model.fit(known)
        given = [*self._given(), *METHODS[self.method].fixed]
        return select(model, known, keep=given, budget=self.budget, seed=self.seed)

    def _hold_out(self, train: ObservedEntries, test: ObservedEntries) -> None:
        """Fit the model to training cells, and store the held-out errors of the model and of a baseline."""
        model = self._fitted(train)
        if model.interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be judged
        if self.method == "implicit":
            listed = train.at(train.values > 0)
            counts = np.bincount(listed.columns, minlength=train.shape[1])[:, None].astype(float)
            popular = best_columns(np.ones((train.shape[0], 1)), counts, TOP_K, without=listed).columns
            self.held_out_ = _ranking(model, train, test) | _measures(popular, train, test, "_of_most_frequent")
            return
        plain = MatrixFactorization(0, threads=self.threads).fit(train)
        self.held_out_ = {"rmse": rmse(model, test), "rmse_of_biases": rmse(plain, test)}
        if isinstance(model, DistributionModel):
            std = model.predict_distribution(test.rows, test.columns).std
        else:
            std = _spread(model, train, test.rows, test.columns)
        self.scores_ = np.sort(np.abs(model.predict(test.rows, test.columns) - test.values) / std)

    def _cells(self, rows: Any, columns: Sequence[Any] | None) -> tuple[Ints, Ints]:
        """Return the row and column indices of named cells, with -1 for unknown names if allowed."""
        check_is_fitted(self)
        if columns is None:
            if isinstance(rows, str) or (isinstance(rows, tuple | list) and any(isinstance(r, str) for r in rows)):
                if isinstance(rows, str) or len(rows) != 2:
                    raise InputError(f"give names of rows and columns, or pairs of names; got {rows!r:.60}")
                rows = [rows]
            rows, columns = named_pairs(rows)
        (rows, more_rows), (columns, more_columns) = _listed(rows, self.rows_), _listed(columns, self.columns_)
        rows = rows if more_rows else rows * len(columns)
        columns = columns if more_columns else columns * len(rows)
        if len(rows) != len(columns):
            got = f"{len(rows):,} and {len(columns):,}"
            raise InputError(f"rows and columns must have the same number of names; got {got}")
        absent = self.unknown == "mean"
        i = _numbers("row", rows, self.rows_, absent=absent)
        return i, _numbers("column", columns, self.columns_, absent=absent)

    def _news(self, known: ObservedEntries) -> dict[str, Any]:
        """Count the new rows, columns and cells, and measure the prediction error on the new cells."""
        was, (old, same) = self.known_, compared(self.known_, known)
        (rows, columns), sizes = was.shape, [now - before for now, before in zip(known.shape, was.shape, strict=True)]
        facts: dict[str, Any] = {"new_cells": int((~old).sum()), "changed_cells": int((old & ~same).sum())}
        facts |= {"new_rows": sizes[0], "new_columns": sizes[1]}
        new = ~old & (known.rows < rows) & (known.columns < columns)
        implicit = self.method == "implicit"
        at = np.flatnonzero(new & (known.values > 0) if implicit else new)
        if not len(at):
            return facts
        cells = replace(known.at(at), shape=was.shape)
        measures = _ranking(self.model_, was, cells) if implicit else {"rmse": rmse(self.model_, cells)}
        return facts | {f"{name}_before": value for name, value in measures.items()}


def _ranking(model: ImplicitFactorization, train: ObservedEntries, test: ObservedEntries) -> dict[str, float]:
    train = train.at(train.values > 0)  # zeros are as what is not listed
    return _measures(best_columns(*model.augmented(), TOP_K, without=train).columns, train, test)


def _measures(recommended: Ints, train: ObservedEntries, test: ObservedEntries, suffix: str = "") -> dict[str, float]:
    test = test.at(test.values > 0)
    ranked = recommendation(recommended, test.rows, test.columns)
    spread = catalogue(recommended, np.bincount(train.columns, minlength=train.shape[1]), train.shape[0])
    measures = {name: float(np.nanmean(values)) for name, values in ranked._asdict().items()}
    measures |= {"coverage": spread.coverage, "novelty": spread.novelty}
    return {f"{name}_at_{TOP_K}{suffix}": value for name, value in measures.items()}


def _covariance(F: AnyArray) -> Array:
    apart = F - F.mean(axis=0, dtype=float)
    return np.asarray(apart.T @ apart / len(F))


def _distance(one: Any, other: Any, cells: ObservedEntries) -> float:
    """Return the root mean square difference between the predictions of two models."""
    apart = one.predict(cells.rows, cells.columns) - other.predict(cells.rows, cells.columns)
    return float(np.sqrt(np.mean(np.square(apart, dtype=float))))


def connected_parts(cells: ObservedEntries) -> list[tuple[int, int]]:
    """Return the number of rows and columns of each connected component of a matrix, the largest first."""
    from scipy.sparse.csgraph import connected_components

    size = sum(cells.shape)
    links = coo_array((np.ones(len(cells.rows)), (cells.rows, cells.shape[0] + cells.columns)), shape=(size, size))
    number, part = connected_components(links, directed=False)
    sides = np.split(part, [cells.shape[0]])
    counts = zip(*(np.bincount(side, minlength=number).tolist() for side in sides), strict=True)
    return sorted(counts, key=lambda part: (-sum(part), part))


def _listed(names: Any, known: list[Any]) -> tuple[list[Any], bool]:
    """Return a name or several names as a list, and whether several were given."""
    one = isinstance(names, str) or not isinstance(names, Iterable) or (isinstance(names, tuple) and names in known)
    return ([names], False) if one else ([*names], True)


def _spread(model: Any, known: ObservedEntries, *indices: Ints) -> Array:
    """Return the relative size of the errors of cells, from the residuals of the known cells of row and column."""
    squares, spread = (known.values - model.predict(known.rows, known.columns)) ** 2, np.ones(len(indices[0]))
    squares /= squares.mean() or 1.0
    for at, size, i in zip((known.rows, known.columns), known.shape, indices, strict=True):
        n, total = (np.bincount(at, weights, minlength=size + 1) for weights in (None, squares))  # -1 is unknown
        spread *= np.sqrt((PRIOR_CELLS + total) / (PRIOR_CELLS + n))[i]
    return spread


def _numbers(what: str, names: Sequence[Any], all_names: list[Any], *, absent: bool = False) -> Ints:
    """Return the index of each name, or -1 for unknown names if ``absent`` is true."""
    number = {name: at for at, name in enumerate(all_names)}
    if not absent and (missing := [name for name in names if name not in number]):
        hint = meant(str(missing[0]), [name for name in all_names if isinstance(name, str)])
        hint = hint or f"; known {what}s include {all_names[0]!r}"
        raise InputError(f"the model does not know {what} {missing[0]!r}{hint}")
    return np.array([number.get(name, -1) for name in names], np.int64)


def _warn_of_parts(parts: list[tuple[int, int]]) -> None:
    if len(parts) > 1:
        rows, columns = (sum(part[side] for part in parts[1:]) for side in (0, 1))
        largest = f"largest part: {parts[0][0]:,} rows, {parts[0][1]:,} columns"
        sizes = f"{largest}; all others: {rows:,} rows, {columns:,} columns"
        about = f"the table has {len(parts):,} parts without common rows or columns ({sizes})"
        warnings.warn(f"{about}; predictions across parts use no more than biases", stacklevel=3)
