"""Sentence vectors as means of word vectors, a baseline for convolutional sentence vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Natural, Positive
from polyadic.embedding import Embedding
from polyadic.sentences.base import Pooling, SentenceVectors, width
from polyadic.sentences.words import blocks, corpus_of, vectors_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.sentences.words import Rows, Sentences


class MeanSentences(SentenceVectors):
    r"""Mean of word vectors, optionally with smooth inverse frequency (SIF) weights and common component removal.

    .. math:: v_s = (I - u u^\top)\, \frac{1}{|s|} \sum_{w \in s} \frac{a}{a + p(w)}\, v_w

    :math:`p(w)` is the relative frequency of a word, and :math:`u` are the leading right singular vectors of the
    training sentences before the removal.

    Parameters
    ----------
    a : float, optional
        Smoothing constant of the SIF weights, 0.001 in the paper (default: equal weights).
    removed : int
        Number of common components to remove, 1 in the paper.

    Attributes
    ----------
    embedding_ : Embedding
        Word vectors.
    frequencies_ : ndarray of shape (V,)
        Relative frequencies :math:`p` in the sentences.
    components_ : ndarray of shape (removed, features)
        Common components :math:`u`.

    References
    ----------
    Arora, Liang, Ma (2017), A simple but tough-to-beat baseline for sentence embeddings, algorithm 1.

    Examples
    --------
    >>> sentences = ["a good film", "a very good film", "a bad film", "a very bad film"] * 5
    >>> model = MeanSentences(rank=2, min_count=1, seed=0).fit(sentences)
    >>> model.transform(["a good film", "good a film"]).std(axis=0).round(6).tolist()
    [0.0, 0.0]
    """

    _: KW_ONLY
    pooling: Pooling = "mean"
    a: Positive | None = None
    removed: Natural = 0

    def fit(self, sentences: Sentences, y: Any = None) -> Self:
        """Learn word vectors, word frequencies and common components from sentences, which are read once.

        At least one word must have a vector.
        """
        self.check()
        corpus = corpus_of(sentences, min_count=1 if isinstance(self.words, Embedding) else self.min_count)
        embedding = vectors_of(corpus, self.words, rank=self.rank, seed=self.seed)
        counts = np.zeros(len(embedding))
        for block in blocks(corpus, embedding):
            counts += np.bincount(block.rows, minlength=len(counts))
        if not counts.any():
            raise InputError("no word of the sentences has a vector in the given embedding")
        features = embedding.rank * self.segments * width(self.pooling, self.pool)
        check_int("removed", self.removed, low=0, high=features - 1)
        self.embedding_, self.frequencies_ = embedding, counts / len(corpus)
        self.components_ = np.zeros((0, features))
        if self.removed:
            gram = np.zeros((features, features))
            for block in blocks(corpus, embedding):
                X = self._of_block(block).astype(float)
                gram += X.T @ X
            self.components_ = np.linalg.eigh(gram)[1][:, : -self.removed - 1 : -1].T
        return self

    def static(self) -> Embedding:
        """Return word vectors whose mean over a sentence is its vector, if pooling is a mean over one segment."""
        check_is_fitted(self)
        if (self.pooling, self.segments) != ("mean", 1):
            raise InputError("static vectors require pooling='mean' and segments=1", "pooling", "segments")
        E = self._values(np.arange(len(self.embedding_)))
        rows = E - (E @ self.components_.T) @ self.components_
        return Embedding(self.embedding_.words, rows.astype(np.float32), counts=self.embedding_.counts)

    def _values(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        vectors = self.embedding_.vectors[rows].astype(float)
        return vectors if self.a is None else vectors * (self.a / (self.a + self.frequencies_[rows]))[..., None]

    def _of_block(self, block: Rows) -> NDArray[np.float32]:
        X = super()._of_block(block)
        return X if not len(self.components_) else (X - (X @ self.components_.T) @ self.components_).astype(np.float32)

    def _decoded(self, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        return Y[:, :, None]
