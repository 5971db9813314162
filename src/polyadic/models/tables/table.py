"""What the analyses of tables share: how a table is read, and coordinates that can be used as word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from polyadic.data import Entries
from polyadic.embedding import Embedding
from polyadic.errors import InputError, check_choice
from polyadic.linalg import Method, symmetric_matrix
from polyadic.models.base import Amount, Count, Model, Positive, Seed, learned
from polyadic.models.tables.kernels import decompose, inverse
from polyadic.models.tables.residuals import with_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.models.tables.kernels import Decomposition, Kernel
    from polyadic.models.tables.residuals import Residual

Side = Literal["rows", "columns"]
SIDES = ("rows", "columns")


class TableTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):  # type: ignore[misc]
    """Estimators whose output is the coordinates of the rows they were fitted to."""

    row_coordinates_: NDArray[Any] = learned()

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and give the coordinates of the rows, shape (m, rank)."""
        return self.fit(X, y).row_coordinates_.copy()

    @property
    def _n_features_out(self) -> int:
        return int(self.row_coordinates_.shape[1])


class TableAnalysis(TableTransformer):
    """Coordinates of the rows and columns of a table of counts; see its subclasses."""

    column_coordinates_: NDArray[Any] = learned()
    singular_values_: NDArray[Any] = learned()
    rank: Count
    power: Amount
    temper: Positive
    method: Method
    tol: Positive
    seed: Seed

    def coordinates(self, side: Side = "rows") -> NDArray[Any]:
        """Give the coordinates of rows or columns."""
        check_is_fitted(self)
        check_choice("side", side, SIDES)
        return self.row_coordinates_ if side == "rows" else self.column_coordinates_

    def embedding(
        self, words: Sequence[str], *, side: Side = "rows", counts: NDArray[np.integer] | None = None
    ) -> Embedding:
        """Give the coordinates of rows or columns their words, and how often these occur."""
        return Embedding(words, self.coordinates(side), counts=counts)

    def __sklearn_tags__(self) -> Any:
        """Say what input is allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _decompose(self, A: Residual, kernels: tuple[Kernel, Kernel], *, symmetric: bool) -> Decomposition:
        """Decompose a residual under kernels, as the settings say."""
        axes = decompose(
            A, self.rank, kernels=kernels, symmetric=symmetric, method=self.method, tol=self.tol, seed=self.seed
        )
        self.singular_values_ = axes.s
        return axes

    def _scale(self) -> NDArray[Any]:
        """Singular values to the power; axes that the table does not have stay at zero."""
        s = self.singular_values_
        return np.where(s > 0, s**self.power, 0)

    def _read(self, X: Any) -> tuple[csr_array, bool]:
        """Read a table: its counts to the power ``temper``, and whether it is known to be symmetric."""
        symmetric = False
        if isinstance(X, Entries):
            if X.order != 2:
                raise InputError(f"a table has rows and columns; got entries of order {X.order}")
            values = X.values.astype(np.float32)
            symmetric = X.symmetric
            N = symmetric_matrix(X.indices, values, X.shape[0]) if symmetric else _table(X, values)
            self.n_features_in_ = X.shape[1]
            check_counts(values)
        else:
            N = self._validated(X, reset=True)
            symmetric = N.shape[0] == N.shape[1] and abs(N - N.T).max() == 0
        return _tempered(N, self.temper), symmetric

    def _read_more(self, X: Any) -> csr_array:
        """Read further rows of the table that was fitted."""
        return _tempered(self._validated(X, reset=False), self.temper)

    def _validated(self, X: Any, *, reset: bool) -> csr_array:
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_non_negative": True}
        if reset:
            how |= {"ensure_min_samples": 2, "ensure_min_features": 2}
        N = csr_array(validate_data(self, X, reset=reset, **how))
        if not N.has_canonical_format:
            N = N.copy()  # it may be the caller's
            N.sum_duplicates()
        return N


def check_counts(values: NDArray[Any]) -> None:
    """Refuse what is no count.

    Raises
    ------
    InputError
        If a value is negative, infinite or missing.
    """
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError("a table of counts holds no negative, infinite or missing number")


def _tempered(N: csr_array, power: float) -> csr_array:
    return N if power == 1 else with_values(N, N.data**power)


def _table(X: Entries, values: NDArray[np.float32]) -> csr_array:
    i, j = X.indices.T
    return csr_array((values, (i, j)), shape=X.shape)


def squared_distances(P: csr_array, r: NDArray[Any], c: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Squared chi-square distances of rows and columns to the mean profile, :math:`\sum_j (p_{ij}/r_i - c_j)^2 / c_j`.

    That is :math:`\sum_j p_{ij}^2 / (r_i^2 c_j) - 1`.
    """
    rows = np.repeat(np.arange(len(r)), np.diff(P.indptr))
    squares = P.data.astype(float) ** 2 * inverse(r)[rows] * inverse(c)[P.indices]
    return (
        np.maximum(np.bincount(rows, squares, len(r)) * inverse(r) - (r > 0), 0),
        np.maximum(np.bincount(P.indices, squares, len(c)) * inverse(c) - (c > 0), 0),
    )
