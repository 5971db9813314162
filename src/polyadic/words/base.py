"""Base classes for models of word vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.containers import entries_of
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Model, Seed, Threads
from polyadic.embedding import Embedding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.entries import Entries

SMALLER = "lower the rank or the size of the vocabulary"  # remedy if a model does not fit into memory
COMPLETE = "elements must be known; AsymmetricCP, SymmetricCP and TraceNormSum take tensors with missing elements"
"""Advice for missing elements, at the end of an error message."""


class WordModel(Model):
    """Base class for models that learn one vector for each word.

    Parameters
    ----------
    rank : int
        Dimension of the word vectors.
    """

    rank: Count = 300
    _: KW_ONLY
    seed: Seed = None

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None) -> Embedding:
        """Return the vectors as an Embedding, with the word of each row and, if given, the frequency of each word."""
        return Embedding(words, self._rows(), counts=counts, components=self._n_components)

    def _rows(self) -> NDArray[Any]:
        """Return the word vectors as a matrix with one row per word."""
        return self.vectors_

    @property
    def _n_components(self) -> int | None:
        """Number of components among the columns, or None for all."""
        return None


class IterativeModel(WordModel):
    """Base class for models of word vectors that are fitted in sweeps."""

    _: KW_ONLY
    tol: Amount = 1e-3
    threads: Threads = None
    callback: Callback = None


class TensorModel(IterativeModel, ABC):
    """Base class for models that predict the association of word tuples."""

    _: KW_ONLY
    max_iter: Count = 100

    def predict(self, indices: NDArray[Any]) -> NDArray[np.float32]:
        """Return the predicted association of each word tuple, of shape (n,), for ``indices`` of shape (n, order)."""
        return self._predicted(np.asarray(indices))

    @abstractmethod
    def _predicted(self, tuples: NDArray[Any]) -> NDArray[np.float32]:
        """Return the predicted association of each word tuple, given as a row of indices."""


def listed(
    entries: Any, *, symmetric: bool = False, missing: bool = False, remedy: str = "lower the shift or min_count"
) -> Entries:
    """Convert associations to Entries; raise InputError if there are none, or elements are missing and may not be."""
    x = entries_of(entries, symmetric=symmetric, remedy=None if missing else COMPLETE)
    if not len(x):
        raise InputError(f"there are no entries to factorize, or all are zero; for counted text, {remedy}", "min_count")
    return x
