"""Recommendation of columns by the inner products of row and column factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import SearchedModel
from polyadic.completion.cells import cells_of, pairs, positive_cells, split_cells
from polyadic.core.containers import match_columns
from polyadic.core.errors import InputError, check_int
from polyadic.core.kernels import best_of_rows
from polyadic.core.model import learned
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.metrics.recommendation import recommendation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from polyadic.completion.cells import ObservedEntries

BLOCK = 1 << 24  # number of products of rows and columns held at once
MAX_PARTIAL_SORT = 256  # maximum number of columns selected by partial sorting; for more, rows are sorted completely
TOP_K, MAX_ROWS = 20, 10_000
"""Number of recommended columns searched for held-out cells, and maximum number of rows that are evaluated."""


class Recommended(NamedTuple):
    """Recommended column indices and scores for each row, highest score first, padded with -1 and minus infinity."""

    columns: NDArray[np.int64]
    scores: NDArray[Any]


class Recommender(SearchedModel):
    """Base class for models that recommend columns by the inner products of row and column factors."""

    row_factors_: NDArray[Any] = learned()
    column_factors_: NDArray[Any] = learned()

    def _read(self, X: Any, *, empty: bool = False) -> ObservedEntries:
        return positive_cells(X, empty=empty)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.row_factors_), len(self.column_factors_)

    def _products(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[Any]:
        return np.einsum("nr,nr->n", self.row_factors_[i], self.column_factors_[j])

    def _predict(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[Any]:
        return self._products(i, j)

    def augmented(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return row and column factors whose products are the predictions."""
        check_is_fitted(self)
        return self.row_factors_, self.column_factors_

    def recommend(self, rows: ArrayLike, n: int = 10, *, without: Any = None) -> Recommended:
        """Recommend the highest-scoring columns for the given rows.

        Parameters
        ----------
        rows : array of int
            Row indices.
        n : int
            Number of columns per row.
        without : Entries, sparse matrix or array, of shape (rows of the model, columns), optional
            Cells not to recommend, usually those the model was fitted to.

        Raises
        ------
        InputError
            If a row does not exist or ``without`` has another shape.
        """
        check_is_fitted(self)
        U, V = self.row_factors_, self.column_factors_
        i, _ = pairs(rows, np.zeros_like(rows), (len(U), len(V)))
        if without is None:
            return best_columns(U[i], V, n)
        known = cells_of(without, empty=True)
        match_columns(self, without)
        if known.shape != (len(U), len(V)):
            raise InputError(f"the argument without must have shape {len(U), len(V)}; got {known.shape}", "without")
        return best_columns(U[i], V, n, without=known.at(known.values > 0).take(i))


def search_listed(listed: ObservedEntries, values: Mapping[str, Sequence[Any]], *, seed: int | None) -> SearchSpace:
    """Return a search space of hyperparameters, evaluated by the mean NDCG of held-out positive cells."""
    cells, out = split_cells(listed, held_out_share(len(listed.values)), seed=seed)
    out = out.at(out.values > 0)
    rows = np.unique(out.rows)
    if len(rows) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MAX_ROWS, replace=False))
    out = out.take(rows)

    def losses(model: Recommender) -> NDArray[np.float64]:
        named = model.recommend(rows, TOP_K, without=cells).columns
        return 1 - recommendation(named, out.rows, out.columns).ndcg

    return SearchSpace(
        values=values,
        fit=lambda model: model.fit(cells),
        last=lambda model: model.fit(listed),
        losses=losses,
        units="rows",
        measure=f"NDCG@{TOP_K}",
        figure=lambda loss: 1 - loss,
    )


def best_columns(U: NDArray[Any], V: NDArray[Any], n: int, *, without: ObservedEntries | None = None) -> Recommended:
    r"""Return the ``n`` columns with the highest scores :math:`u_i \cdot v_j` of each row, except ``without``."""
    check_int("n", n, low=1)
    starts, columns = np.zeros(len(U) + 1, np.int64), np.zeros(0, np.int64)
    if without is not None:
        if without.shape != (len(U), len(V)):
            raise InputError(f"the argument without must have shape {len(U), len(V)}; got {without.shape}", "without")
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
        recommended.columns[at], recommended.scores[at] = _largest(scores, kept)
    recommended.columns[np.isneginf(recommended.scores)] = -1
    return recommended


def _largest(scores: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the indices and values of the largest elements of each row, in decreasing order; ties go to the first."""
    if n <= MAX_PARTIAL_SORT:
        return best_of_rows(scores, n)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return order, np.take_along_axis(scores, order, axis=1)
