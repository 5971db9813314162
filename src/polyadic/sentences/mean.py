"""Sentence vectors as means of word vectors: the baseline that convolutional ones have to beat."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Count, Natural, Positive, Seed
from polyadic.embedding import Embedding
from polyadic.sentences.base import Empty, Pooling, SentenceVectors, width
from polyadic.sentences.words import Words, blocks, corpus_of, vectors_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.sentences.words import Rows, Sentences


class MeanSentences(SentenceVectors):
    r"""Mean of the vectors of a sentence's words, with smooth inverse frequency (SIF) and common components as options.

    .. math:: v_s = (I - u u^\top)\, \frac{1}{|s|} \sum_{w \in s} \frac{a}{a + p(w)}\, v_w

    with the relative frequency :math:`p(w)`, and the leading right singular vectors :math:`u` of the sentences it is
    fitted to, before they are removed.

    Parameters
    ----------
    pooling : {"mean", "moments", "largest", "extremes", "all"}
        What is kept of each coordinate: see :mod:`polyadic.sentences.base`.
    pool, segments : int
        How many of the largest; parts of the sentence that are pooled apart.
    a : float, optional
        Of SIF, 0.001 in the paper; by default words weigh alike.
    removed : int
        How many common components are removed, 1 in the paper.
    words : {"ppmi-svd", "ca", "one-hot"} or Embedding
        Vectors of words: see :func:`~polyadic.sentences.words.vectors_of`.
    rank, min_count : int
        Of those that are made of the sentences.
    empty : {"zero", "error"}
        What a sentence without a known word is.
    seed : int, optional

    Attributes
    ----------
    embedding_ : Embedding
        Vectors of the words.
    frequencies_ : ndarray of shape (V,)
        :math:`p` in the sentences.
    components_ : ndarray of shape (removed, features)
        :math:`u`.

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
    pool: Count = 2
    segments: Count = 1
    a: Positive | None = None
    removed: Natural = 0
    words: Words | Embedding = "ppmi-svd"
    rank: Count = 100
    min_count: Count = 2
    empty: Empty = "zero"
    seed: Seed = None

    def fit(self, sentences: Sentences, y: Any = None) -> Self:
        """Find the vectors of words, their frequencies and the common components.

        Parameters
        ----------
        sentences : iterable of str or of lists of words, or Corpus
            Read once.

        Raises
        ------
        InputError
            If a setting is out of range, or no word has a vector.
        """
        self.check()
        del y
        corpus = corpus_of(sentences, min_count=1 if isinstance(self.words, Embedding) else self.min_count)
        embedding = vectors_of(corpus, self.words, rank=self.rank, seed=self.seed)
        counts = np.zeros(len(embedding))
        for block in blocks(corpus, embedding):
            counts += np.bincount(block.rows, minlength=len(counts))
        if not counts.any():
            raise InputError("no word of the sentences has a vector in the embedding given")
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
        """Give vectors of words whose mean over the known words of a sentence is the sentence's vector.

        Raises
        ------
        InputError
            If sentences are not means: pooling must be "mean", in one segment.
        """
        check_is_fitted(self)
        if (self.pooling, self.segments) != ("mean", 1):
            raise InputError("only means of words are static; take pooling='mean' and segments=1")
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
