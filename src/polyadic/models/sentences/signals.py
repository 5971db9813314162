"""Sentences as rows of word vectors, block by block, so that memory does not grow with the text."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.models.sentences.words import words_of
from polyadic.text.corpus import Corpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.models.sentences.words import Sentences

BLOCK = 2048
"""Sentences in a block."""


class Rows(NamedTuple):
    """Words of sentences that have a vector, one sentence after another.

    Attributes
    ----------
    rows : ndarray of shape (T,)
        Which vector each word has.
    edges : ndarray of shape (S + 1,)
        Sentence ``s`` is ``rows[edges[s]:edges[s + 1]]``.
    """

    rows: NDArray[np.int64]
    edges: NDArray[np.int64]

    def split(self, most: int) -> Iterator[Rows]:
        """Give parts of whole sentences with so many words each, or one sentence."""
        start, last = 0, len(self.edges) - 1
        while start < last:
            end = int(np.searchsorted(self.edges, self.edges[start] + most, side="right")) - 1
            end = min(max(end, start + 1), last)
            edges = self.edges[start : end + 1]
            yield Rows(self.rows[edges[0] : edges[-1]], edges - edges[0])
            start = end

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Known words of each sentence."""
        return np.diff(self.edges)


def blocks(sentences: Sentences, embedding: Embedding, *, size: int = BLOCK) -> Iterator[Rows]:
    """Look up the words of sentences; unknown words are left out, and the rest closes up.

    Examples
    --------
    >>> from polyadic import Embedding
    >>> block = next(blocks(["a bad film", ""], Embedding(["film", "bad"], [[1.0], [2.0]])))
    >>> block.rows.tolist(), block.edges.tolist()
    ([1, 0], [0, 2, 2])
    """
    if isinstance(sentences, Corpus):
        yield from _of_corpus(sentences, embedding, size)
        return
    texts = words_of(sentences)
    while some := list(islice(texts, size)):
        rows = [[row for word in words if (row := embedding.find(word)) is not None] for words in some]
        edges = np.cumsum([0, *map(len, rows)])
        yield Rows(np.array([*chain.from_iterable(rows)], np.int64), edges)


def _of_corpus(corpus: Corpus, embedding: Embedding, size: int) -> Iterator[Rows]:
    places = [embedding.find(word) for word in corpus.vocabulary.words]
    row_of = np.array([-1 if place is None else place for place in places], np.int64)
    total = len(corpus.sentences) - 1
    for start in range(0, total, size):
        edges = corpus.sentences[start : start + size + 1]
        rows = row_of[corpus.ids[edges[0] : edges[-1]]]
        known = np.concatenate([[0], np.cumsum(rows >= 0)])
        yield Rows(rows[rows >= 0], known[edges - edges[0]])
