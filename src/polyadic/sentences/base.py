"""Base class for sentence vector models, which pool signals of any length into vectors of fixed length.

Pooling turns signals of any length into a vector of fixed length:

=============  =========================================================================================
``"mean"``     the sum over positions divided by the number of words
``"moments"``  the mean and the root mean square
``"largest"``  the k largest values of each signal, in decreasing order
``"extremes"`` the k largest and the k smallest of each, as the sign of a coordinate is arbitrary
``"all"``      the k largest over all signals of a coordinate together, as printed in Huang and Anandkumar
=============  =========================================================================================

They are compared in ``docs/results/huang2017.md``. Means do not depend on word order, nor do the moments of activations
decoded in closed form, whose squares sum to a function of the power spectrum; the other poolings and segments do.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Count, Seed, Transformer, learned
from polyadic.core.progress import tracked
from polyadic.embedding import Embedding
from polyadic.sentences.words import BLOCK, Words, blocks
from polyadic.text.corpus import Corpus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.sentences.words import Rows, Sentences

Empty = Literal["zero", "error"]
NUMBERS = 1 << 21  # maximum size of a temporary array of activations
Pooling = Literal["mean", "moments", "largest", "extremes", "all"]


class EmptySentencesWarning(UserWarning):
    """Warning issued when sentences contain no known word."""


class SentenceVectors(Transformer, ABC):
    """Base class for sentence vector models, which decode word vectors into activations and pool the activations.

    A subclass sets ``embedding_`` in ``fit``, and implements ``_decoded``, from signals (S, K, N) to activations (S, K,
    L, N). Signals are followed by ``_margin`` zeros, so that nothing wraps around.

    Parameters
    ----------
    pooling : {"mean", "moments", "largest", "extremes", "all"}
        Pooling of each vector dimension over the words of a sentence. See :mod:`polyadic.sentences.base`.
    pool : int
        Number of largest values to keep (poolings largest, extremes and all).
    segments : int
        Number of segments of a sentence that are pooled separately.
    words : {"ppmi-svd", "ca", "one-hot"} or Embedding
        Word vectors, or the method that learns them from the sentences; see
        :func:`~polyadic.sentences.words.vectors_of`.
    rank : int
        Dimension of word vectors learned from the sentences.
    min_count : int
        Minimum frequency of words whose vectors are learned.
    empty : {"zero", "error"}
        Result for a sentence without known words: a zero vector or an error.
    """

    embedding_: Embedding = learned()
    _: KW_ONLY
    pooling: Pooling
    pool: Count = 2
    segments: Count = 1
    words: Words | Embedding = "ppmi-svd"
    rank: Count = 100
    min_count: Count = 2
    empty: Empty = "zero"
    seed: Seed = None

    def fit_transform(self, sentences: Sentences, y: Any = None) -> NDArray[np.float32]:
        """Fit the model to sentences and return their vectors; an iterator is first read into memory."""
        kept = sentences if isinstance(sentences, Corpus | Sequence) else list(sentences)
        return self.fit(kept).transform(kept)

    def transform(self, sentences: Sentences) -> NDArray[np.float32]:
        """Return the vectors of sentences, each a text or a list of words, or those of a corpus.

        Text is tokenized in lower case, read once, in blocks. A corpus has a row for each of its sentences, without
        those that were empty when it was built. A sentence without known words has the vector zero, with an
        EmptySentencesWarning, or raises InputError if ``empty="error"``.
        """
        check_is_fitted(self)
        return self._vectors(sentences, size=BLOCK, shown=False)

    def encode(
        self,
        sentences: Sentences,
        *,
        batch_size: int = BLOCK,
        show_progress_bar: bool = False,
        convert_to_numpy: bool = True,
        normalize_embeddings: bool = False,
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode sentences as vectors, with the interface of a sentence-transformers encoder.

        Sentences are as for :meth:`transform`, and a single text gives one vector. ``batch_size`` affects only memory;
        without ``convert_to_numpy`` a list of vectors is returned; ``normalize_embeddings`` scales vectors other than
        zero to unit length.
        """
        check_is_fitted(self)
        size = check_int("batch_size", batch_size, low=1)
        many = [sentences] if isinstance(sentences, str) else sentences
        vectors = self._vectors(many, size=size, shown=show_progress_bar)
        if normalize_embeddings:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors /= np.where(lengths > 0, lengths, 1)
        if isinstance(sentences, str):
            return np.asarray(vectors[0])
        return vectors if convert_to_numpy else list(vectors)

    def activations(self, sentence: str | list[str]) -> NDArray[np.float64]:
        """Return the activations of one sentence, a text or its words, as an array of shape (K, L, positions).

        The positions are those of the known words, followed by those of filters that begin before the first word.
        """
        check_is_fitted(self)
        block = next(blocks([sentence], self.embedding_))
        return self._decoded(self._signals(block, np.array([0]), len(block.rows)))[0]

    def _vectors(self, sentences: Sentences, *, size: int, shown: bool) -> NDArray[np.float32]:
        parts, unknown, total = [np.zeros((0, self._n_features_out), np.float32)], 0, 0
        read = blocks(sentences, self.embedding_, size=size)
        for block in tracked(read, "encoding") if shown else read:
            parts.append(self._of_block(block))
            unknown += int((block.lengths == 0).sum())
            total += len(block.lengths)
        what = f"sentences without a known word: {unknown:,} of {total:,}"
        if unknown and self.empty == "error":
            raise InputError(f"{what}; remove them, or use empty='zero'", "empty")
        if unknown:
            warnings.warn(f"{what}; their vectors are zero", EmptySentencesWarning, stacklevel=3)
        return np.concatenate(parts)

    def _of_block(self, block: Rows) -> NDArray[np.float32]:
        """Return the vectors of a block of sentences, decoding sentences of equal length together."""
        vectors = np.zeros((len(block.lengths), self._n_features_out), np.float32)
        for words in np.unique(block.lengths[block.lengths > 0]).tolist():
            rows = np.flatnonzero(block.lengths == words)
            step = max(1, NUMBERS // (self.embedding_.rank * self._number * (words + self._margin)))
            for some in np.split(rows, range(step, len(rows), step)):
                w = self._decoded(self._signals(block, some, words))
                vectors[some] = pooled(w, words, self.pooling, pool=self.pool, segments=self.segments)
        return vectors

    def _signals(self, block: Rows, some: NDArray[np.int64], words: int) -> NDArray[np.float64]:
        """Return the zero-padded signals, of shape (S, K, N), of sentences with ``words`` words each."""
        values = self._values(block.rows[block.edges[:-1][some, None] + np.arange(words)]).astype(float)
        return np.pad(np.swapaxes(values, 1, 2), ((0, 0), (0, 0), (0, self._margin)))

    def _values(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return self.embedding_.vectors[rows]

    @abstractmethod
    def _decoded(self, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Decode signals of shape (S, K, N) into activations of shape (S, K, L, N)."""

    @property
    def _number(self) -> int:
        """The number of signals for each coordinate of the word vectors."""
        return 1

    @property
    def _margin(self) -> int:
        return 0

    @property
    def _n_features_out(self) -> int:
        signals = 1 if self.pooling == "all" else self._number
        return self.embedding_.rank * signals * self.segments * width(self.pooling, self.pool)


def pooled(w: NDArray[Any], words: int, pooling: Pooling, *, pool: int = 1, segments: int = 1) -> NDArray[np.float64]:
    """Pool the activations of sentences of equal length, shape (S, K, L, N), over each of ``segments`` equal segments.

    Filters at positions beyond ``words`` begin before the first word: they are in the sums of the first segment, but
    not among the largest. Missing values are 0.
    """
    places = np.array_split(np.arange(words), segments)
    parts = []
    for number, inside in enumerate(places):
        if pooling in ("mean", "moments"):
            part, n = w[..., [*inside, *range(words, w.shape[-1])] if number == 0 else inside], max(len(inside), 1)
            moments = [part.sum(axis=-1) / n, np.sqrt((part**2).sum(axis=-1) / n)]
            kept = np.stack(moments[: width(pooling, pool)], axis=-1)
        else:
            part = w[..., inside]
            if pooling == "all":
                part = part.reshape(*w.shape[:2], 1, -1)
            kept = _largest(part, pool, both=pooling == "extremes")
        parts.append(kept.reshape(len(w), -1))
    return np.concatenate(parts, axis=1)


def width(pooling: Pooling, pool: int) -> int:
    """Return the number of values that a pooling method computes for each signal and segment."""
    return {"mean": 1, "moments": 2, "largest": pool, "extremes": 2 * pool, "all": pool}[pooling]


def _largest(w: NDArray[Any], pool: int, *, both: bool) -> NDArray[np.float64]:
    falling = -np.sort(-w, axis=-1)
    k = min(pool, w.shape[-1])
    short = [(0, 0)] * (w.ndim - 1) + [(0, pool - k)]
    ends = [falling[..., :k], falling[..., falling.shape[-1] - k :]][: 1 + both]
    return np.concatenate([np.pad(end, short) for end in ends], axis=-1)
