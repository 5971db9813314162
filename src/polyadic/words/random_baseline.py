"""Random word vectors as a baseline for evaluation."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np

from polyadic.core.containers import entries_of
from polyadic.core.resources import check_memory
from polyadic.words.base import WordModel


class RandomVectors(WordModel):
    r"""Random word vectors, a chance-level baseline with the same vocabulary.

    .. math:: U_{ir} \sim \mathcal{N}(0, \tfrac12) \quad \text{or} \quad U_{ir} \sim \mathrm{Uniform}[-1, 1]

    Parameters
    ----------
    distribution : {"normal", "uniform"}
        Distribution of the elements: normal with variance 1/2 as in the reference, or uniform.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, rank)
        Word vectors, one row per word.

    References
    ----------
    Bailey, Aeron (2017), Word embeddings via tensor factorization, section 6.1, "Random". arXiv:1704.02686.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1], [1, 2]], [1.0, 1.0], 3)
    >>> RandomVectors(4, seed=0).fit(x).vectors_.shape
    (3, 4)
    """

    _: KW_ONLY
    distribution: Literal["normal", "uniform"] = "normal"

    def fit(self, entries: Any) -> Self:
        """Generate a random vector for each index of the first mode of Entries or arrays, or each word of a Corpus."""
        self.check()
        words = len(entries.vocabulary) if hasattr(entries, "vocabulary") else entries_of(entries).shape[0]
        shape = words, self.rank
        check_memory(12.0 * shape[0] * shape[1], f"{shape[0]:,} random vectors of rank {self.rank}", "lower the rank")
        rng = np.random.default_rng(self.seed)
        if self.distribution == "normal":
            self.vectors_ = rng.standard_normal(shape, dtype=np.float32) * np.float32(np.sqrt(0.5))
        else:
            self.vectors_ = 2 * rng.random(shape, dtype=np.float32) - 1
        return self
