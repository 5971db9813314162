"""What models of sentences are made of: their words, and vectors of these from nothing but the sentences."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from lowrank.embedding import Embedding
from lowrank.errors import InputError
from lowrank.linalg import symmetric_matrix, truncated_eigh
from lowrank.text.corpus import Corpus
from lowrank.text.counts import count
from lowrank.text.tokens import Tokenizer
from lowrank.text.weighting import ppmi

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Sentence = str | Sequence[str]


def words_of(sentences: Iterable[Sentence]) -> list[list[str]]:
    """Cut sentences into words; those that are lists of words already stay as they are.

    Examples
    --------
    >>> words_of(["A good film.", ["a", "Bad", "one"]])
    [['a', 'good', 'film'], ['a', 'Bad', 'one']]
    """
    tokenizer = Tokenizer()
    return [
        list(chain.from_iterable(tokenizer(sentence))) if isinstance(sentence, str) else list(sentence)
        for sentence in sentences
    ]


def vectors_of(texts: list[list[str]], rank: int, *, min_count: int, seed: int | None) -> Embedding:
    """Give the words of sentences vectors: eigenvectors of the PPMI matrix of the sentences, scaled by the root.

    Raises
    ------
    InputError
        If there are not more words than the rank.
    """
    corpus = Corpus.build(texts, min_count=min_count, jobs=1)
    x = ppmi(count(corpus, order=2, width=5), smoothing=0.75)
    size = len(corpus.vocabulary)
    if rank >= size:
        raise InputError(f"rank must be below {size}, the number of words seen {min_count} times; got {rank}")
    w, V = truncated_eigh(symmetric_matrix(x.indices, x.values, size), rank, seed=seed)
    return Embedding(corpus.vocabulary.words, V * np.sqrt(np.abs(w)), counts=corpus.vocabulary.counts)
