"""Base class for topic models of non-negative document-word tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polyadic.core.containers import entries_of, validated
from polyadic.core.errors import InputError
from polyadic.core.model import Count, Threads, Transformer, learned


class Topics(Transformer, ABC):
    """Base class for topic models, with ``components_`` for the topics and ``row_factors_`` for the documents.

    Parameters
    ----------
    n_components : int
        Number of topics.
    """

    n_components: Count = 10
    _: KW_ONLY
    max_iter: Count = 200
    threads: Threads = None
    components_: NDArray[Any] = learned()
    row_factors_: NDArray[Any] = learned()

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to a document-word table.

        Parameters
        ----------
        X : sparse matrix or array of shape (documents, words)
            Non-negative table with one row per document, usually of word counts.

        Raises
        ------
        InputError
            If a value is negative, all values are zero, or a parameter is out of range.
        """

    @abstractmethod
    def transform(self, X: Any) -> NDArray[Any]:
        """Return the factors of new documents with the topics fixed (fold-in)."""

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit the model to a table and return the factors of the rows."""
        return self.fit(X, y).row_factors_

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
        return table

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])
