"""Base class for topic models of non-negative document-word tables."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_array, check_is_fitted

from polyadic.core.annotations import AnyArray
from polyadic.core.containers import entries_of, validated
from polyadic.core.errors import InputError, InputWarning
from polyadic.core.model import Count, Threads, Transformer, learned
from polyadic.core.resources import check_memory


class Topics(Transformer, ABC):
    """Base class for topic models, with ``components_`` for the topics and ``row_factors_`` for the documents.

    Parameters
    ----------
    n_components : int
        Number of topics.
    threads : int, optional
        Number of threads; all cores by default. Results differ between numbers of threads in the last digits only.
    """

    n_components: Count = 10
    _: KW_ONLY
    max_iter: Count = 200
    threads: Threads = None
    components_: AnyArray = learned()
    row_factors_: AnyArray = learned()

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to a document-word table.

        ``X``, dense or sparse, has one row per document and non-negative values, usually counts of words. InputError is
        raised if a value is negative, all values are zero, or a parameter is out of range.
        """

    @abstractmethod
    def transform(self, X: Any) -> AnyArray:
        """Return the factors of new documents with the topics fixed (fold-in)."""

    def fit_transform(self, X: Any, y: Any = None) -> AnyArray:
        """Fit the model to a table and return the factors of the rows."""
        return self.fit(X, y).row_factors_

    def inverse_transform(self, X: Any) -> AnyArray:
        """Return the table that factors describe, :math:`X H` with the components :math:`H`.

        ``X``, of shape (rows, n_components), has factors as returned by :meth:`transform`. For models of probabilities,
        rows of the result are the word distributions of the documents, which sum to 1.
        """
        check_is_fitted(self)
        factors, (K, columns) = check_array(X, dtype=[np.float64, np.float32]), self.components_.shape
        if factors.shape[1] != K:
            raise InputError(f"X must have one column for each of the {K} components; got {factors.shape[1]}")
        check_memory(8.0 * len(factors) * columns, "the dense table", "pass fewer rows")
        return np.asarray(factors @ self.components_)

    def __sklearn_tags__(self) -> Any:
        """Declare sparse input, non-negative values and single-precision output."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags

    def _table(self, X: Any, *, reset: bool, unknown: bool = False) -> csr_array:
        """Validate a non-negative table and convert it to CSR format, without NaN cells if ``unknown`` is true."""
        remedy = None if unknown else 'NMF takes tables with missing values if unobserved="missing"'
        x = validated(self, X, accept_sparse="csr", dtype=np.float32, remedy=remedy, reset=reset)
        table = csr_array(entries_of(x, "X", order=2, observed=True).to_coo() if unknown else x)  # zeros are values
        if len(table.data) and table.data.min() < 0:
            row = int(np.searchsorted(table.indptr, table.data.argmin(), side="right")) - 1
            raise InputError(f"Negative values in data cannot be used; row {row} contains {table.data.min():g}")
        if reset and not table.data.any():
            raise InputError("X must contain at least one non-zero value")
        if reset:
            self._warn(table, unknown=unknown)
        return table

    def _warn(self, table: csr_array, *, unknown: bool) -> None:
        """Warn if there are as many components as rows, and if rows contain no values."""
        size, side = min(zip(table.shape, ("rows", "columns"), strict=True))
        if self.n_components > size:
            message = f"n_components should be at most {size:,}, the number of {side}; got {self.n_components:,}"
            warnings.warn(InputWarning(message, "n_components"), stacklevel=4)
        sizes = np.diff(table.indptr) if unknown else table.sum(axis=1)
        if empty := np.flatnonzero(sizes == 0).tolist():
            kind = "without observed values" if unknown else "that are all zero"
            message = f"rows {kind}: {len(empty):,} of {len(sizes):,}, for example row {empty[0]} (counted from 0)"
            warnings.warn(InputWarning(f"{message}; they have no influence on the components"), stacklevel=4)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])
