"""Sentence vectors from scratch: filters of word sequences from their cumulants, and what sentences have of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from lowrank.embedding import Embedding
from lowrank.errors import InputError, check_choice, check_int, check_number
from lowrank.linalg.circulant import deconvolve
from lowrank.models.sentences.base import SentenceVectors
from lowrank.models.sentences.pooling import width
from lowrank.models.sentences.signals import BLOCK, blocks
from lowrank.models.sentences.words import corpus_of, vectors_of
from lowrank.progress import tracked
from lowrank.solvers.convolutional import find_filters
from lowrank.solvers.sparse_codes import sparse_codes
from lowrank.text.moments import Moments, patches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lowrank.models.sentences.base import Empty
    from lowrank.models.sentences.pooling import Pooling
    from lowrank.models.sentences.words import Sentences, Words

Decoding = Literal["least-norm", "sparse"]


class ConvolutionalSentences(SentenceVectors):
    r"""Vectors of sentences by convolutional tensor decomposition, trained on nothing but the sentences.

    A sentence is a signal for each coordinate of its words' vectors. Each coordinate has filters of its own, found from
    the third cumulant of all patches of ``length`` neighbouring values (:mod:`lowrank.solvers.convolutional`). A
    sentence is then decoded, how much of each filter is where, and what is decoded is pooled.

    Parameters
    ----------
    filters : int
        L, of each coordinate. About a sixth of the length can be told apart, half of it with ``padded``.
    length : int
        n, of a patch and of a filter.
    pooling : {"moments", "mean", "largest", "extremes", "all"}
        What is kept of activations: see :mod:`lowrank.models.sentences.pooling`. ``"all"`` is as printed.
    pool, segments : int
        How many of the largest; parts of the sentence that are pooled apart.
    padded : bool
        Pad patches with as many zeros, so that filters do not wrap around.
    decoding : {"least-norm", "sparse"}
        In closed form (:func:`~lowrank.linalg.circulant.deconvolve`), or with few activations
        (:func:`~lowrank.solvers.sparse_codes.sparse_codes`), which takes longer.
    ridge : float
        Added to the spectrum of the filters in closed form.
    penalty : float
        Of sparse activations, in root mean squares of the coordinate.
    words : {"ppmi-svd", "ca", "one-hot"} or Embedding
        Vectors of words: see :func:`~lowrank.models.sentences.words.vectors_of`. One-hot vectors are as printed.
    rank, min_count : int
        Of those that are made of the sentences: length, and how often a word must occur to have one.
    starts : int
        Random starts of each decomposition; the best is kept.
    empty : {"zero", "error"}
        What a sentence without a known word is.
    seed : int, optional

    Attributes
    ----------
    filters_ : ndarray of shape (K, L, n or 2 n)
    weights_ : ndarray of the same shape
        Cumulants of the activations at each shift.
    error_ : ndarray of shape (K,)
        Share of each cumulant that is not explained.
    scales_ : ndarray of shape (K,)
        Root mean square of each coordinate.
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
    >>> model = ConvolutionalSentences(filters=1, length=3, rank=2, min_count=1, seed=0).fit(sentences)
    >>> model.transform(["a good film", "a bad film"]).shape
    (2, 4)
    """

    def __init__(
        self,
        filters: int = 2,
        *,
        length: int = 6,
        pooling: Pooling = "moments",
        pool: int = 2,
        segments: int = 1,
        padded: bool = True,
        decoding: Decoding = "least-norm",
        ridge: float = 1.0,
        penalty: float = 0.5,
        words: Words | Embedding = "ppmi-svd",
        rank: int = 100,
        min_count: int = 2,
        starts: int = 5,
        empty: Empty = "zero",
        seed: int | None = None,
    ) -> None:
        self.filters = filters
        self.length = length
        self.pooling = pooling
        self.pool = pool
        self.segments = segments
        self.padded = padded
        self.decoding = decoding
        self.ridge = ridge
        self.penalty = penalty
        self.words = words
        self.rank = rank
        self.min_count = min_count
        self.starts = starts
        self.empty = empty
        self.seed = seed

    def fit(self, sentences: Sentences, y: Any = None) -> Self:
        """Find the filters of sentences.

        Parameters
        ----------
        sentences : iterable of str or of lists of words, or Corpus
            Read once; memory does not grow with their number.

        Raises
        ------
        InputError
            If no sentence is as long as a patch, or a parameter is out of range.

        Warns
        -----
        UserWarning
            If there are fewer patches than a cumulant has cells, or more filters than it tells apart.
        """
        del y
        self._check()
        corpus = corpus_of(sentences, min_count=1 if isinstance(self.words, Embedding) else self.min_count)
        self.embedding_ = vectors_of(corpus, self.words, rank=self.rank, seed=self.seed)
        moments, longest = self._moments(corpus)
        self.number_ = moments.number
        if not self.number_:
            raise InputError(f"no sentence has {self.length} known words; the longest has {longest}: lower length")
        n, size = self.length, self.length * (2 if self.padded else 1)
        if self.number_ < (cells := n * (n + 1) * (n + 2) // 6):
            about = f"{self.number_:,} patches are fewer than the {cells:,} cells of a cumulant of {n} values"
            warnings.warn(f"{about}; take more sentences or a smaller length", stacklevel=2)
        C = np.zeros((self.embedding_.rank, size, size, size))
        C[:, :n, :n, :n] = moments.cumulant()
        support = n if self.padded else None
        found = find_filters(C, self.filters, support=support, starts=self.starts, seed=self.seed)
        self.filters_, self.weights_, self.error_ = found
        return self

    def static(self) -> Embedding:
        """Give vectors of words whose mean over a sentence is the sentence's vector.

        Raises
        ------
        InputError
            If sentences are not means: pooling must be "mean", in one segment, and decoding in closed form.
        """
        if (self.pooling, self.segments, self.decoding) != ("mean", 1, "least-norm"):
            raise InputError("only means are static; take pooling='mean', segments=1 and decoding='least-norm'")
        sums = self.filters_.sum(axis=-1)  # the spectrum at frequency zero
        gains = sums / ((sums**2).sum(axis=-1, keepdims=True) + self.ridge)
        rows = (self.embedding_.vectors[..., None] * gains).reshape(len(self.embedding_), -1)
        return Embedding(self.embedding_.words, rows.astype(np.float32), counts=self.embedding_.counts)

    def _check(self) -> None:
        check_int("length", self.length, low=2)
        for name in ("filters", "starts", "min_count"):
            check_int(name, getattr(self, name), low=1)
        check_choice("decoding", self.decoding, get_args(Decoding))
        check_number("ridge", self.ridge)
        check_number("penalty", self.penalty)
        self._check_pooling()

    def _moments(self, corpus: Any) -> tuple[Moments, int]:
        """Collect the moments of patches and the scales of coordinates in one pass."""
        moments, longest = Moments.empty(self.embedding_.rank, self.length), 0
        squares, number = np.zeros(self.embedding_.rank), 0
        total = -(-(len(corpus.sentences) - 1) // BLOCK)
        for block in tracked(blocks(corpus, self.embedding_, size=BLOCK), "cumulants", total=total):
            signal = self.embedding_.vectors[block.rows].astype(float)
            moments.add(patches(signal, self.length, block.edges))
            squares += (signal**2).sum(axis=0)
            number += len(signal)
            longest = max(longest, int(block.lengths.max(initial=0)))
        self.scales_ = np.sqrt(squares / max(number, 1))
        return moments, longest

    def _decoded(self, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.decoding == "sparse":
            return sparse_codes(self.filters_, Y, self.penalty * self.scales_)
        return deconvolve(self.filters_, Y, ridge=self.ridge)

    @property
    def _least(self) -> int:  # type: ignore[override]
        return int(self.filters_.shape[-1])

    @property
    def _n_features_out(self) -> int:
        K, L, _ = self.filters_.shape
        return int(K * (1 if self.pooling == "all" else L) * self.segments * width(self.pooling, self.pool))
