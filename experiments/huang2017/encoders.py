"""The vectors of sentences that are compared, each with the settings to choose from.

All are made of nothing but the training sentences. Coordinates are independent of one another, so that vectors of few
coordinates are the first columns of those of many, and filters are fitted once.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from polyadic.sentences.convolutional import ConvolutionalSentences
from polyadic.sentences.mean import MeanSentences
from polyadic.sentences.words import corpus_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.sentences.base import SentenceVectors
    from polyadic.sentences.words import Sentence

    Texts = Sequence[Sentence]

POOLINGS: tuple[dict[str, Any], ...] = (
    {"pooling": "moments"},
    {"pooling": "moments", "segments": 2},
    {"pooling": "extremes", "pool": 1},
)
"""Poolings of activations, to select from; the first is also that of words without filters."""


@dataclass(frozen=True)
class Grid:
    """Settings to choose from.

    ``words``: Vectors of words. ``ranks``: Their lengths, the longest last; lengths that a vocabulary is too small for
    are left out. ``filters``: Filters of each coordinate, and their length. ``a``: Of SIF. ``min_count``, ``starts``:
    Not chosen: how often a word must occur, and random starts.
    """

    words: tuple[str, ...] = ("ppmi-svd", "ca")
    ranks: tuple[int, ...] = (100, 300)
    filters: tuple[tuple[int, int], ...] = ((1, 4), (2, 6))
    a: tuple[float, ...] = (1e-2, 1e-3)
    min_count: int = 2
    starts: int = 3


class Candidate(NamedTuple):
    """Settings and an encoder, which returns an array of shape (sentences, features)."""

    settings: dict[str, Any]
    encode: Callable[[Texts], NDArray[np.float32]]


def encoders(texts: Texts, grid: Grid, seed: int) -> dict[str, Callable[[], Iterator[Candidate]]]:
    """Return the candidates of each kind of vectors, fitted to sentences when they are asked for."""
    corpus = corpus_of(texts, min_count=grid.min_count)
    ranks = tuple(rank for rank in grid.ranks if rank < len(corpus.vocabulary)) or (len(corpus.vocabulary) - 1,)
    embeddings = {words: vectors_of(corpus, words, rank=ranks[-1], seed=seed) for words in grid.words}  # type: ignore[arg-type]
    shared = (texts, grid, ranks, seed)
    return {
        "convolutional": partial(_convolutional, *shared, embeddings),
        "convolutional, one-hot words": partial(_printed, *shared),
        "moments of words": partial(_means, *shared, embeddings, POOLINGS[0]),
        "mean of words": partial(_means, *shared, embeddings, {}),
        "SIF": partial(_sif, *shared, embeddings),
    }


def _convolutional(
    texts: Texts, grid: Grid, ranks: tuple[int, ...], seed: int, embeddings: dict[str, Embedding]
) -> Iterator[Candidate]:
    for (words, embedding), (filters, length) in product(embeddings.items(), grid.filters):
        model = ConvolutionalSentences(filters, length=length, words=embedding, starts=grid.starts, seed=seed)
        model.fit(texts)
        for pooling, rank in product(POOLINGS, ranks):
            settings = {"words": words, "rank": rank, "filters": filters, "length": length, **pooling}
            yield Candidate(settings, partial(first, changed(model, pooling), rank))


def _printed(texts: Texts, grid: Grid, ranks: tuple[int, ...], seed: int) -> Iterator[Candidate]:
    """Principal components of one-hot vectors, and the largest activations over all filters."""
    filters, length = grid.filters[-1]
    model = ConvolutionalSentences(filters, length=length, words="one-hot", rank=ranks[0], pooling="all")
    model.set_params(starts=grid.starts, min_count=grid.min_count, seed=seed).fit(texts)
    for pool in (1, 3, 5):
        settings = {"words": "one-hot", "rank": ranks[0], "filters": filters, "length": length, "pool": pool}
        yield Candidate(settings, partial(first, changed(model, {"pool": pool}), ranks[0]))


def _means(
    texts: Texts,
    grid: Grid,
    ranks: tuple[int, ...],
    seed: int,
    embeddings: dict[str, Embedding],
    pooling: dict[str, Any],
) -> Iterator[Candidate]:
    del grid
    for words, embedding in embeddings.items():
        model = MeanSentences(words=embedding, seed=seed, **pooling).fit(texts)
        for rank in ranks:
            yield Candidate({"words": words, "rank": rank}, partial(first, model, rank))


def _sif(
    texts: Texts, grid: Grid, ranks: tuple[int, ...], seed: int, embeddings: dict[str, Embedding]
) -> Iterator[Candidate]:
    from polyadic.embedding import Embedding

    for (words, whole), rank, a in product(embeddings.items(), ranks, grid.a):
        embedding = Embedding(whole.words, whole.vectors[:, :rank], counts=whole.counts)
        model = MeanSentences(words=embedding, a=a, removed=1, seed=seed).fit(texts)
        yield Candidate({"words": words, "rank": rank, "a": a}, model.transform)


def changed(model: ConvolutionalSentences, pooling: dict[str, Any]) -> ConvolutionalSentences:
    """Return a fitted model that pools in another way."""
    return copy.copy(model).set_params(**pooling)


def first(model: SentenceVectors, rank: int, texts: Texts) -> NDArray[np.float32]:
    """Encode, and keep the first coordinates of each segment."""
    vectors = model.transform(texts)
    parts = vectors.reshape(len(vectors), model.segments, -1)
    return parts[..., : rank * parts.shape[-1] // model.embedding_.rank].reshape(len(vectors), -1)
