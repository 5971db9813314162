"""Word senses as clusters of associated words or of contexts, with a given number of clusters.

The vector of a phrase, :math:`u_w * u_c`, is the sense of the word :math:`w` that the word :math:`c` selects. Words
:math:`c` that select the same sense have phrase vectors of similar direction, so the senses of :math:`w` are clusters
of the phrase vectors of its most associated words. The vectors do not determine the number of senses, and a word of one
sense is split as well: :mod:`polyadic.words.occurrences` infers the number from text. Two contexts use :math:`w` in the
same sense if the sums of their word vectors, or of their phrase vectors with :math:`w`, have similar directions.

References
----------
Bailey, Aeron (2017), Word embeddings via tensor factorization, sections 6.4.1 and 6.5. arXiv:1704.02686
Arora, Liang, Ma (2017), A simple but tough-to-beat baseline for sentence embeddings, for the weights of words.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.embedding import Embedding, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

RULES = ("sum", "product")
COMMON = 1e-3  # constant a of the weight a / (a + relative frequency) of a word, as in Arora, Liang and Ma


class Sense(NamedTuple):
    """Word sense: a cluster of associated words, nearest first, and the mean direction of the cluster."""

    words: tuple[str, ...]
    vector: NDArray[np.float64]


def senses(embedding: Embedding, word: str, *, number: int, top: int = 100, seed: int = 0) -> list[Sense]:
    """Find the senses of a word by clustering its most associated words; the largest clusters come first.

    The phrase vectors of the word with its ``top`` most associated words are clustered.

    >>> from polyadic.embedding import Embedding
    >>> vectors = [[1.0, 1.0], [1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.8]]
    >>> words = Embedding(["pearl", "jam", "band", "harbor", "ship"], vectors)
    >>> [sense.words for sense in senses(words, "pearl", number=2)]
    [('ship', 'harbor'), ('band', 'jam')]
    """
    check_int("top", top, low=2)
    embedding = embedding.components
    u = embedding[word].astype(np.float64)
    association = embedding.unit @ u.astype(embedding.unit.dtype)
    association[embedding.index[word]] = -np.inf
    near = np.argsort(-association, kind="stable")[: min(top, len(embedding) - 1)]
    phrases = unit_rows(embedding.unit[near] * unit_rows(u[None]))
    near, phrases = near[phrases.any(axis=1)], phrases[phrases.any(axis=1)]
    if len(near) < check_int("number", number, low=1):
        limit = f"{len(near)}, the number of words that share a component with {word!r}"
        raise InputError(f"number must be at most {limit}; got {number}", "number")
    labels = _clusters(phrases, number, seed)
    clusters = []
    for label in dict.fromkeys(labels.tolist()):  # clusters of the nearest words first
        centre = unit_rows(phrases[labels == label].sum(axis=0)[None])[0]
        clusters.append(Sense(tuple(embedding.words[row] for row in near[labels == label]), centre))
    return sorted(clusters, key=lambda sense: -len(sense.words))


def induce(
    embedding: Embedding, word: str, contexts: Sequence[Sequence[str]], *, number: int, rule: str = "sum", seed: int = 0
) -> NDArray[np.int64]:
    """Cluster the contexts of a word by sense; contexts without known words are labelled -1.

    A context is represented by the sum of the unit vectors of its words, or (``"product"``) of their phrase vectors
    with the word. Frequent words have less weight if there are counts.

    >>> from polyadic.embedding import Embedding
    >>> words = Embedding(["pearl", "jam", "band", "harbor", "ship"], [[1, 1], [1, 0], [1, 0], [0, 1], [0, 1]])
    >>> found = induce(words, "pearl", [["jam"], ["the", "ship"], ["band", "jam"], ["the"]], number=2)
    >>> (found == found[0]).tolist(), int(found[3])
    ([True, False, True, False], -1)
    """
    check_choice("rule", rule, RULES)
    check_int("number", number, low=1)
    known = [[row for w in context if (row := embedding.find(w)) is not None] for context in contexts]
    embedding = embedding.components if rule == "product" else embedding
    vectors = unit_rows(embedding.unit * unit_rows(embedding[word][None])) if rule == "product" else embedding.unit
    weights = np.ones(len(embedding))
    if embedding.counts is not None:
        weights = COMMON / (COMMON + embedding.counts / embedding.counts.sum())
    sums = np.array([weights[rows] @ vectors[rows] for rows in known]).reshape(len(known), embedding.rank)
    rows = unit_rows(sums.astype(np.float64))
    some = np.flatnonzero(rows.any(axis=1))
    labels = np.full(len(rows), -1)
    if len(some):
        labels[some] = _clusters(rows[some], min(number, len(np.unique(rows[some], axis=0))), seed)
    return labels


def _clusters(rows: NDArray[np.float64], number: int, seed: int) -> NDArray[np.int64]:
    """Cluster unit vectors by k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct vectors than clusters
        return np.asarray(KMeans(number, n_init=4, random_state=seed).fit(rows).labels_, np.int64)
