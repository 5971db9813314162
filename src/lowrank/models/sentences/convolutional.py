"""Sentence vectors from scratch: filters of word sequences from their cumulants, and what sentences have of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lowrank.errors import check_choice, check_int
from lowrank.linalg.circulant import deconvolve
from lowrank.models.sentences.words import vectors_of, words_of
from lowrank.progress import tracked
from lowrank.solvers.convolutional import find_filters
from lowrank.text.moments import Moments, patches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lowrank.embedding import Embedding
    from lowrank.models.sentences.words import Sentence

Pooling = Literal["filter", "all"]
BLOCK = 1 << 22
"""Activations made at a time."""


class ConvolutionalSentences(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Vectors of sentences by convolutional tensor decomposition, trained on nothing but the sentences.

    A sentence is a signal for each coordinate of its words' vectors. Each coordinate has filters of its own, found from
    the third cumulant of all patches of ``length`` neighbouring values
    (:mod:`lowrank.solvers.convolutional`). A sentence is then decoded, how much of each filter is where, in closed form
    (:func:`~lowrank.linalg.circulant.deconvolve`), and the largest ``pool`` activations are its vector.

    Parameters
    ----------
    filters : int
        L, of each coordinate. About a sixth of the length can be told apart, more with ``padded``.
    length : int
        n, of a patch and of a filter.
    pool : int
        How many of the largest activations are kept, of each filter or of all.
    pooling : {"filter", "all"}
        Whether each filter has its largest activations, or all filters of a coordinate together, as printed.
    padded : bool
        Pad patches with as many zeros, so that filters do not wrap around.
    embedding : Embedding, optional
        Word vectors; by default eigenvectors of the PPMI matrix of the same sentences.
    rank, min_count : int
        Length of those, and how often a word must occur to have one.
    ridge : float
        Added to the spectrum in decoding.
    starts : int
        Random starts of each decomposition; the best is kept.
    seed : int, optional

    Attributes
    ----------
    filters_ : ndarray of shape (K, L, n or 2 n)
    weights_ : ndarray of the same shape
        Cumulants of the activations at each shift.
    error_ : ndarray of shape (K,)
        Share of each cumulant that is not explained.
    embedding_ : Embedding
    number_ : int
        Patches seen.

    References
    ----------
    Huang, Anandkumar (2016), Unsupervised learning of word-sequence representations from scratch via convolutional
    tensor decomposition. arXiv:1606.03153

    Examples
    --------
    >>> sentences = ["a good film", "a very good film", "a bad film", "a very bad film"] * 5
    >>> model = ConvolutionalSentences(filters=1, length=3, pool=1, rank=2, min_count=1, seed=0).fit(sentences)
    >>> model.transform(["a good film", "nothing known"]).shape
    (2, 2)
    """

    def __init__(
        self,
        filters: int = 2,
        *,
        length: int = 6,
        pool: int = 2,
        pooling: Pooling = "filter",
        padded: bool = True,
        embedding: Embedding | None = None,
        rank: int = 50,
        min_count: int = 2,
        ridge: float = 0.01,
        starts: int = 5,
        seed: int | None = None,
    ) -> None:
        self.filters = filters
        self.length = length
        self.pool = pool
        self.pooling = pooling
        self.padded = padded
        self.embedding = embedding
        self.rank = rank
        self.min_count = min_count
        self.ridge = ridge
        self.starts = starts
        self.seed = seed

    def fit(self, sentences: Iterable[Sentence], y: Any = None) -> Self:
        """Find the filters of sentences: text, or words.

        Raises
        ------
        InputError
            If no sentence is as long as a patch, or a parameter is out of range.
        """
        del y
        n = check_int("length", self.length, low=2)
        for name in ("filters", "pool", "rank", "min_count", "starts"):
            check_int(name, getattr(self, name), low=1)
        check_choice("pooling", self.pooling, get_args(Pooling))
        texts = words_of(sentences)
        self.embedding_ = self.embedding or vectors_of(texts, self.rank, min_count=self.min_count, seed=self.seed)
        size = 2 * n if self.padded else n
        moments = Moments.empty(self.embedding_.rank, size)
        for some in tracked(_batches(texts), "cumulants"):
            pieces = np.concatenate([patches(self._signal(words), n) for words in some], axis=1)
            moments.add(np.pad(pieces, ((0, 0), (0, 0), (0, size - n))))
        self.number_ = moments.number
        limit = size // 6 if not self.padded else n // 2
        if self.filters > max(limit, 1):
            warnings.warn(
                f"{self.filters} filters of {n} values are more than about {max(limit, 1)} that a cumulant tells apart;"
                " take longer filters or fewer",
                stacklevel=2,
            )
        found = find_filters(
            moments.cumulant(), self.filters, support=n if self.padded else None, starts=self.starts, seed=self.seed
        )
        self.filters_, self.weights_, self.error_ = found
        return self

    def transform(self, sentences: Iterable[Sentence]) -> NDArray[np.float32]:
        """Give the vectors of sentences; one without a known word has zeros.

        Returns
        -------
        ndarray of shape (number of sentences, K * L * pool or K * pool)
        """
        check_is_fitted(self)
        texts = words_of(sentences)
        signals = [self._signal(words) for words in texts]
        least = self.filters_.shape[-1]
        lengths = np.array([max(len(signal), least) for signal in signals])
        vectors = np.zeros((len(texts), self._n_features_out), np.float32)
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            step = max(1, BLOCK // (self.filters_[..., 0].size * length))
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                Y = np.zeros((len(some), length, self.embedding_.rank))
                for at, row in enumerate(some):
                    Y[at, : len(signals[row])] = signals[row]
                vectors[some] = self._pooled(deconvolve(self.filters_, np.swapaxes(Y, 1, 2), ridge=self.ridge))
        return vectors

    def activations(self, sentence: Sentence) -> NDArray[np.float64]:
        """Give how much of each filter of each coordinate is where in a sentence; shape (K, L, words or longer)."""
        check_is_fitted(self)
        signal = self._signal(*words_of([sentence]))
        padded = np.zeros((max(len(signal), self.filters_.shape[-1]), self.embedding_.rank))
        padded[: len(signal)] = signal
        return deconvolve(self.filters_, padded.T, ridge=self.ridge)

    def _pooled(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Keep the largest activations; (sentences, K, L, N) -> (sentences, features)."""
        if self.pooling == "all":
            w = w.reshape(*w.shape[:2], 1, -1)
        k = min(self.pool, w.shape[-1])
        largest = -np.sort(-np.partition(w, w.shape[-1] - k, axis=-1)[..., -k:], axis=-1)
        return largest.reshape(len(w), -1)

    def _signal(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Vectors of the known words, one after another; shape (N, K)."""
        rows = [row for word in words if (row := self.embedding_.find(word)) is not None]
        return self.embedding_.vectors[rows].astype(float)

    @property
    def _n_features_out(self) -> int:
        K, L, _ = self.filters_.shape
        return int(K * self.pool * (L if self.pooling == "filter" else 1))


def _batches(texts: list[list[str]], size: int = 512) -> list[list[list[str]]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]
