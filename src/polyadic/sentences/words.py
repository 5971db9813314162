"""Tokenization of sentences, word vectors, and conversion of sentences to rows of word vectors.

Sentences are processed block by block, so that memory does not grow with the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.frames import refuse_named
from polyadic.embedding import Embedding
from polyadic.tables.vectors import CorrespondenceVectors
from polyadic.text.contexts import contexts
from polyadic.text.corpus import Corpus
from polyadic.text.counts import count
from polyadic.text.tokens import Tokenizer
from polyadic.text.weighting import ppmi
from polyadic.words.pairwise import PPMISVD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sentence = str | Sequence[str]
    Sentences = Iterable[Sentence] | Corpus

Words = Literal["ppmi-svd", "ca", "one-hot"]
WIDTH = 5  # width of the window of neighbours
BLOCK = 2048  # sentences per block


def words_of(sentences: Iterable[Sentence]) -> Iterator[list[str]]:
    """Tokenize and lower-case sentences; sentences that are lists of words are unchanged."""
    if isinstance(sentences, str | bytes) or not hasattr(sentences, "__iter__"):
        given = "a single string" if isinstance(sentences, str | bytes) else repr(sentences)
        raise InputError(f"sentences must be a list of sentences; got {given:.60}", "sentences")
    refuse_named(sentences, "sentences")
    tokenizer = Tokenizer()
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            yield list(chain.from_iterable(tokenizer(sentence)))
        elif isinstance(sentence, list | tuple | np.ndarray) and all(isinstance(word, str) for word in sentence):
            yield [str(word) for word in sentence]
        else:
            raise InputError(f"sentence {number} must be a string or a list of words; got {sentence!r:.60}")


def known_words(words: Iterable[str], embedding: Embedding) -> list[str]:
    """Return the words that have a vector in the embedding."""
    return [word for word in words if embedding.find(word) is not None]


def corpus_of(sentences: Sentences, *, min_count: int = 1) -> Corpus:
    """Store sentences as a corpus on disk to limit memory use, unless they already are a corpus."""
    if isinstance(sentences, Corpus):
        return sentences
    return Corpus.build(words_of(sentences), min_count=min_count, jobs=1)


def vectors_of(corpus: Corpus, words: Words | Embedding, *, rank: int, seed: int | None) -> Embedding:
    """Return the given word vectors, or learn word vectors from the sentences.

    ``"ca"`` is correspondence analysis of square roots of neighbour counts, ``"ppmi-svd"`` eigenvectors of the PPMI
    matrix, and ``"one-hot"`` the one-hot vectors of the ``rank`` most frequent words, their principal components.
    """
    if isinstance(words, Embedding):
        return words
    check_choice("words", words, get_args(Words))
    check_int("rank", rank, low=1)
    known = corpus.vocabulary
    if rank >= len(known):
        limit = f"{len(known):,}, the number of words that occur at least min_count times"
        raise InputError(f"rank must be below {limit}; got {rank}: lower rank or min_count", "min_count", "rank")
    vectors: Any
    if words == "one-hot":
        vectors = np.eye(len(known), rank, dtype=np.float32)
    elif words == "ca":
        model = CorrespondenceVectors(rank, count_exponent=0.5, seed=seed)
        vectors = model.fit(contexts(corpus, width=WIDTH).astype(np.float32)).vectors_
    else:
        vectors = PPMISVD(rank, seed=seed).fit(ppmi(count(corpus, order=2, width=WIDTH), smoothing=0.75)).vectors_
    return Embedding(known.words, vectors, counts=known.counts)


class Rows(NamedTuple):
    """Sentences encoded as vector indices, where sentence ``s`` has the indices ``rows[edges[s]:edges[s + 1]]``."""

    rows: NDArray[np.int64]
    edges: NDArray[np.int64]

    def split(self, max_words: int) -> Iterator[Rows]:
        """Yield blocks of whole sentences with at most ``max_words`` words; a longer sentence is a block by itself."""
        start, last = 0, len(self.edges) - 1
        while start < last:
            end = int(np.searchsorted(self.edges, self.edges[start] + max_words, side="right")) - 1
            end = min(max(end, start + 1), last)
            edges = self.edges[start : end + 1]
            yield Rows(self.rows[edges[0] : edges[-1]], edges - edges[0])
            start = end

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of known words in each sentence."""
        return np.diff(self.edges)


def blocks(sentences: Sentences, embedding: Embedding, *, size: int = BLOCK) -> Iterator[Rows]:
    """Yield blocks of sentences encoded as vector indices, skipping unknown words."""
    if isinstance(sentences, Corpus):
        yield from _of_corpus(sentences, embedding, size)
        return
    texts = words_of(sentences)
    while some := list(islice(texts, size)):
        rows = [[row for word in words if (row := embedding.find(word)) is not None] for words in some]
        yield Rows(np.array([*chain.from_iterable(rows)], np.int64), np.cumsum([0, *map(len, rows)]))


def _of_corpus(corpus: Corpus, embedding: Embedding, size: int) -> Iterator[Rows]:
    places = [embedding.find(word) for word in corpus.vocabulary.words]
    row_of = np.array([-1 if place is None else place for place in places], np.int64)
    for start in range(0, len(corpus.sentences) - 1, size):
        edges = corpus.sentences[start : start + size + 1]
        rows = row_of[corpus.ids[edges[0] : edges[-1]]]
        known = np.concatenate([[0], np.cumsum(rows >= 0)])
        yield Rows(rows[rows >= 0], known[edges - edges[0]])
