"""Recommendation of columns by the inner products of row and column factors."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import SearchedModel
from polyadic.completion.cells import ObservedEntries, cells_of, pairs, positive_cells, split_cells
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.containers import match_columns
from polyadic.core.errors import InputError, InputWarning, check_int
from polyadic.core.kernels import best_of_rows
from polyadic.core.model import learned
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.metrics.recommendation import recommendation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

BLOCK = 1 << 24  # number of products of rows and columns held at once
MAX_PARTIAL_SORT = 256  # maximum number of columns selected by partial sorting; for more, rows are sorted completely
TOP_K, MAX_ROWS = 20, 10_000
"""Number of recommended columns searched for held-out cells, and maximum number of rows that are evaluated."""


class Recommended(NamedTuple):
    """Recommended column indices and scores for each row, highest score first, padded with -1 and minus infinity."""

    columns: Ints
    scores: AnyArray


class Recommender(SearchedModel):
    """Base class for models that recommend columns by the inner products of row and column factors."""

    row_factors_: AnyArray = learned()
    column_factors_: AnyArray = learned()

    def _read(self, X: Any, *, empty: bool = False) -> ObservedEntries:
        return positive_cells(X, empty=empty)

    @abstractmethod
    def _fit(self, cells: ObservedEntries) -> Self: ...

    def _products(self, i: Ints, j: Ints) -> AnyArray:
        return np.einsum("nr,nr->n", self.row_factors_[i], self.column_factors_[j])

    def _predict(self, i: Ints, j: Ints) -> AnyArray:
        return self._products(i, j)

    def augmented(self) -> tuple[AnyArray, AnyArray]:
        """Return row and column factors whose products are the predictions."""
        check_is_fitted(self)
        return self.row_factors_, self.column_factors_

    def recommend(self, rows: ArrayLike, n: int = 10, *, without: Any = None) -> Recommended:
        """Recommend the n highest-scoring columns for the given rows, but for the cells of ``without``.

        These are usually those of the fit; InputError is raised for another shape. Rows whose factors are zero, because
        no cell is observed, get no recommendation. For new rows, see ``fold_in`` of
        :class:`~polyadic.completion.implicit.ImplicitFactorization`.
        """
        check_is_fitted(self)
        U, V = self.row_factors_, self.column_factors_
        i, _ = pairs(rows, 0, (len(U), len(V)))
        known = None if without is None else cells_of(without, empty=True)
        if known is not None:
            match_columns(self, without)
            if known.shape != (len(U), len(V)):
                raise InputError(f"the argument without must have shape {len(U), len(V)}; got {known.shape}", "without")
            known = known.at(known.values > 0).take(i)
        best = best_columns(U[i], V, n, without=known)
        none = best.columns[:, 0] < 0
        warn_of_none(i[none].tolist(), int((~U[i[none]].any(axis=1)).sum()), len(i))
        return best

    def score(self, X: Any, y: Any = None, *, without: Any = None) -> float:
        """Return the mean NDCG@20 of held-out positive cells, or of new rows, over the rows that have any.

        Cells of ``without`` are not ranked, usually those of the fit, which otherwise take the first ranks. See
        :meth:`~polyadic.completion.base.CompletionModel.score`.
        """
        model, out, given = self._to_score(positive_cells(X))
        given = without if given is None else given
        return float(_ndcg(model, out, None if given is None else positive_cells(given, empty=True)).mean())

    def _search(self, cells: ObservedEntries, seed: int | None) -> SearchSpace:
        """Return a search space of hyperparameters, evaluated by the mean NDCG of held-out positive cells."""
        kept, out = split_cells(cells, held_out_share(len(cells.values)), seed=seed)
        out = out.at(out.values > 0)
        rows = np.unique(out.rows)
        if len(rows) > MAX_ROWS:
            rows = np.sort(np.random.default_rng(seed).choice(rows, MAX_ROWS, replace=False))
        out = out.at(np.isin(out.rows, rows))
        how: dict[str, Any] = {"fit": lambda model: model.fit(kept), "last": lambda model: model.fit(cells)}
        how |= {"losses": lambda model: 1 - _ndcg(model, out, kept), "figure": lambda loss: 1 - loss}
        return SearchSpace(values=self._grid, units="rows", measure=f"NDCG@{TOP_K}", **how)


def _ndcg(model: Recommender, out: ObservedEntries, known: ObservedEntries | None) -> Array:
    """Return the NDCG of held-out cells among the columns that are not known, of each row that has any."""
    (U, V), rows = model.augmented(), np.unique(out.rows)
    best = best_columns(U[rows], V, TOP_K, without=None if known is None else known.take(rows)).columns
    return recommendation(best, np.searchsorted(rows, out.rows), out.columns).ndcg


def warn_of_none(names: Sequence[Any], empty: int, total: int) -> None:
    """Warn if the named rows, ``empty`` of which have factors of zero, get no recommendation."""
    if names:
        reasons = "all columns are known or excluded" if empty < len(names) else ""
        reasons += " or " * (0 < empty < len(names)) + "no cell of the row or its columns is observed" * (empty > 0)
        text = f"no recommendation for {len(names):,} of {total:,} rows (first: {names[0]!r}), because {reasons}"
        warnings.warn(InputWarning(text), stacklevel=3)


def best_columns(U: AnyArray, V: AnyArray, n: int, *, without: ObservedEntries | None = None) -> Recommended:
    r"""Return the ``n`` columns with the highest scores :math:`u_i \cdot v_j` of each row, except ``without``.

    A row of zeros, which has the same score for all columns, gets none.
    """
    check_int("n", n, low=1)
    starts, columns = np.zeros(len(U) + 1, np.int64), np.zeros(0, np.int64)
    if without is not None:
        starts, columns = without.starts, without.columns
    kept = min(n, len(V))
    recommended = Recommended(np.full((len(U), n), -1), np.full((len(U), n), -np.inf, np.result_type(U, V)))
    step = max(1, BLOCK // max(len(V), 1))
    if not kept:
        return recommended
    for first in range(0, len(U), step):
        last = min(first + step, len(U))
        scores = U[first:last] @ V.T
        rows = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        scores[rows, columns[starts[first] : starts[last]]] = -np.inf
        at = slice(first, last), slice(kept)
        if kept <= MAX_PARTIAL_SORT:
            recommended.columns[at], recommended.scores[at] = best_of_rows(scores, kept)
        else:
            order = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
            recommended.columns[at], recommended.scores[at] = order, np.take_along_axis(scores, order, axis=1)
    recommended.scores[~U.any(axis=1)] = -np.inf
    recommended.columns[np.isneginf(recommended.scores)] = -1
    return recommended
