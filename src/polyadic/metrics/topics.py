r"""Topic models: coherence, diversity, held-out perplexity and stability of topics.

**Coherence** measures how often the top words of a topic occur together in windows of text or in documents of any
corpus: with :math:`P(a)` the share of windows that contain a word,

.. math:: \mathrm{NPMI}(a, b) = \log \frac{P(a, b) + \epsilon}{P(a) P(b)} \Big/ -\log (P(a, b) + \epsilon)

**Completion perplexity** is :math:`\exp(-\tfrac1N \sum \log P(w | d))` over hidden words, where the topic mixture of a
document was inferred from its other words. Lower is better; uniform guessing gives the size of the vocabulary, and the
minimum is 1.

References
----------
Röder, Both, Hinneburg (2015), Exploring the space of topic coherence measures, for ``npmi`` and ``c_v``. gensim
implements them too, but its counts are too low when a word occurs twice in a window, because it forgets the word with
its first occurrence. Wallach, Murray, Salakhutdinov, Mimno (2009), Evaluation methods for topic models, section 5, for
completion. Dieng, Ruiz, Blei (2020), Topic modeling in embedding spaces, section 6, for diversity.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from polyadic.core.annotations import AnyArray, Array, ArrayLike, Ints
from polyadic.core.errors import InputError, check_int, check_number

Topic = Sequence[Hashable]
EPSILON = 1e-12  # added to the share of windows with two words, as in the published measures
WINDOWS = {"npmi": 10, "c_v": 110}  # window size in words of each measure, as published
BLOCK = 1 << 22  # number of (word, window) incidences processed at a time


class Cooccurrences(NamedTuple):
    """Co-occurrence counts of words in windows: the matrix ``together`` and the row index of each word.

    The diagonal counts windows with the word; ``windows`` is the total number of windows.
    """

    rows: dict[Any, int]
    together: Array
    windows: int


def in_windows(documents: Iterable[Sequence[Hashable]], words: Iterable[Hashable], *, window: int) -> Cooccurrences:
    """Count the windows of text that contain each word and each pair of words.

    A window is ``window`` consecutive words, at every position of a document; a shorter document is one window.

    There must be at least one document.

    Examples
    --------
    >>> found = in_windows([["a", "rose", "is", "a"]], ["a", "rose"], window=2)
    >>> found.together.tolist(), found.windows
    ([[2.0, 1.0], [1.0, 2.0]], 3)
    """
    check_int("window", window, low=1)
    index = {word: row for row, word in enumerate(dict.fromkeys(words))}
    together = np.zeros((len(index), len(index)))
    spans: list[tuple[Ints, Ints, Ints]] = []
    total, size = 0, 0
    for document in documents:
        hits = [(place, index[word]) for place, word in enumerate(document) if word in index]
        here = max(len(document) - window + 1, 1)
        if hits:
            places, rows = np.array(hits).T
            first = np.maximum(places - window + 1, 0)
            spans.append((total + first, total + np.minimum(places, here - 1) + 1, rows))
            size += len(hits) * window
        total += here
        if size > BLOCK:
            together += _product(spans, total, len(index))
            spans, size = [], 0
    if not total:
        raise InputError("coherence requires at least one document")
    return Cooccurrences(index, together + _product(spans, total, len(index)), total)


def in_documents(table: csr_array, columns: ArrayLike) -> Cooccurrences:
    """Count the documents that contain each word, and each pair of words, of some columns of a table of counts."""
    chosen = np.unique(np.asarray(columns, np.int64))
    some = csr_array(csr_array(table)[:, chosen] > 0, dtype=float)
    return Cooccurrences({int(c): row for row, c in enumerate(chosen)}, (some.T @ some).toarray(), table.shape[0])


def npmi_coherence(topics: Sequence[Topic], occurrences: Cooccurrences) -> Array:
    """Compute the mean NPMI over all pairs of words of each topic, from -1 to 1; shape (topics,).

    ``topics`` are the top words of each topic, at least two, and ``occurrences`` counts of all of them in windows of
    ten words, as published, or in documents if there are no texts.

    Examples
    --------
    >>> found = in_windows([["sun", "sky"], ["sun", "sky"], ["tax"]], ["sun", "sky", "tax"], window=10)
    >>> npmi_coherence([["sun", "sky"], ["sun", "tax"]], found).round(2).tolist()
    [1.0, -0.95]
    """
    means = []
    for topic in topics:
        values = _npmi(topic, occurrences)
        means.append(values[~np.eye(len(values), dtype=bool)].mean())
    return np.array(means)


def c_v_coherence(topics: Sequence[Topic], occurrences: Cooccurrences) -> Array:
    """Compute the C_v coherence of each topic, the mean cosine of the words' NPMI vectors with the sum of all vectors.

    Parameters and errors are those of :func:`npmi_coherence`; the published window size is 110 words.
    """
    means = []
    for topic in topics:
        values = _npmi(topic, occurrences)
        whole = values.sum(axis=0)
        lengths = np.linalg.norm(values, axis=1) * np.linalg.norm(whole)
        means.append((values @ whole / np.maximum(lengths, EPSILON)).mean())
    return np.array(means)


def diversity(topics: Sequence[Topic]) -> float:
    """Return the share of distinct words among the top words of all topics.

    Examples
    --------
    >>> diversity([["sun", "sky"], ["sun", "tax"]])
    0.75
    """
    words = list(chain.from_iterable(topics))
    if not words:
        raise InputError("diversity requires at least one topic with words")
    return len(set(words)) / len(words)


def halves(table: csr_array, *, seed: int | None = None, share: float = 0.5) -> tuple[csr_array, csr_array]:
    """Split the word occurrences of each document at random into a table of an observed and one of a hidden part.

    ``table``, of shape (documents, words), has integer counts. The ``share`` of the occurrences (not of the distinct
    words) that is observed is sampled without replacement and rounded up.
    """
    table = csr_array(table)
    counts = np.rint(table.data).astype(np.int64)
    if (counts != table.data).any() or counts.min(initial=0) < 0:
        raise InputError("table must contain non-negative integer counts", "table")
    if not 0 < check_number("share", share) < 1:
        raise InputError(f"share must be between 0 and 1; got {share}", "share")
    rng, seen = np.random.default_rng(seed), np.zeros_like(counts)
    for first, last in zip(table.indptr[:-1], table.indptr[1:], strict=True):
        places = np.repeat(np.arange(first, last), counts[first:last])
        np.add.at(seen, rng.permutation(places)[: int(np.ceil(share * len(places)))], 1)
    parts = [csr_array((part.astype(np.float32), table.indices, table.indptr), table.shape) for part in (seen, counts)]
    parts[1].data -= parts[0].data
    parts = [part.copy() for part in parts]
    for part in parts:
        part.eliminate_zeros()
    return parts[0], parts[1]


def surprise(
    hidden: csr_array, mixtures: AnyArray, words: AnyArray, *, background: AnyArray, background_share: float = 0.05
) -> Array:
    r"""Compute the negative log-likelihood :math:`-\log P` of the hidden words of each document, shape (documents,).

    .. math:: P(w|d) = (1 - \beta) \sum_z P(z|d) P(w|z) + \beta P(w)

    InputError is raised if no word is hidden, shapes do not match, or a hidden word has probability zero.

    Parameters
    ----------
    hidden : csr_array of shape (documents, words)
        Counts of hidden words; see :func:`halves`.
    mixtures : ndarray of shape (documents, rank)
        Weights of topics in each document, inferred from the observed words.
    words : ndarray of shape (rank, words)
        Weights of words in each topic. Only the product of the two matters: negative values count as zero, and each
        document is normalized to sum to one.
    background : ndarray of shape (words,)
        Positive weights of words in all training documents. Without them, a single word of probability zero would make
        the perplexity infinite.
    background_share : float
        Weight :math:`\beta` of the background; must be equal for all models that are compared.
    """
    if check_number("background_share", background_share) > 1:
        raise InputError(f"background_share must be at most 1; got {background_share}", "background_share")
    hidden = csr_array(hidden)
    if (len(mixtures), *np.shape(words)[1:], *np.shape(background)) != (*hidden.shape, hidden.shape[1]):
        raise InputError(
            f"mixtures, words and background must have the shapes ({hidden.shape[0]}, rank), (rank, {hidden.shape[1]})"
            f" and ({hidden.shape[1]},); got {np.shape(mixtures)}, {np.shape(words)} and {np.shape(background)}"
        )
    if not hidden.data.any():
        raise InputError("hidden must contain at least one positive count", "hidden")
    every = np.asarray(background, float) / np.sum(background, dtype=float)
    W, H = np.asarray(mixtures, float), np.asarray(words, float)
    surprises = np.zeros(hidden.shape[0])
    for d in range(hidden.shape[0]):
        here = slice(hidden.indptr[d], hidden.indptr[d + 1])
        model = np.maximum(W[d] @ H, 0)
        chances = every[hidden.indices[here]].copy()
        if model.sum() > 0:
            chances *= background_share
            chances += (1 - background_share) * model[hidden.indices[here]] / model.sum()
        if len(chances) and chances.min() <= 0:
            raise InputError(
                "a hidden word has probability 0; increase background or background_share", "background_share"
            )
        surprises[d] = -hidden.data[here] @ np.log(chances)
    return surprises


def completion_perplexity(
    hidden: csr_array, mixtures: AnyArray, words: AnyArray, *, background: AnyArray, background_share: float = 0.05
) -> float:
    """Compute the perplexity of hidden words, the exponential of the mean negative log-likelihood per word.

    Parameters and errors are those of :func:`surprise`.
    """
    each = surprise(hidden, mixtures, words, background=background, background_share=background_share)
    return float(np.exp(each.sum() / hidden.sum(dtype=float)))


def stability(first: AnyArray, second: AnyArray) -> float:
    """Compute the mean cosine between the topics of two fits under the optimal one-to-one matching.

    ``first`` and ``second`` are the weights of words in the topics of both fits, of shape (rank, words).

    Examples
    --------
    >>> round(stability(np.eye(3), np.eye(3)[[2, 0, 1]]), 6)
    1.0
    """
    if first.shape != second.shape:
        raise InputError(f"the topics of both fits must have the same shape; got {first.shape} and {second.shape}")
    unit = [A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), EPSILON) for A in (first, second)]
    cosines = unit[0] @ unit[1].T
    return float(cosines[linear_sum_assignment(-cosines)].mean())


def _npmi(topic: Topic, occurrences: Cooccurrences) -> Array:
    """Return the matrix of NPMI values of the words of a topic; the diagonal is 1."""
    if len(topic) < 2:
        raise InputError(f"coherence requires at least two words per topic; got {len(topic)}")
    if absent := [word for word in topic if word not in occurrences.rows]:
        raise InputError(f"the word {absent[0]!r} was not counted; count the top words of all topics")
    rows = [occurrences.rows[word] for word in topic]
    joint = occurrences.together[np.ix_(rows, rows)] / occurrences.windows
    alone = np.diag(joint)
    possible = np.maximum(np.outer(alone, alone), np.finfo(float).tiny)
    values = np.log((joint + EPSILON) / possible) / -np.log(np.minimum(joint + EPSILON, 1 - EPSILON))
    return np.where(np.outer(alone, alone) > 0, values, 0.0)


def _product(spans: list[Any], windows: int, words: int) -> Any:
    """Count the windows that contain each pair of words, given the range of windows around each occurrence."""
    if not spans:
        return np.zeros((words, words))
    first, last, rows = map(np.concatenate, zip(*spans, strict=True))
    lengths = last - first
    starts = np.cumsum(lengths) - lengths
    each = np.arange(lengths.sum()) - np.repeat(starts - first, lengths)
    low = int(first.min())
    inside = csr_array((np.ones(len(each)), (each - low, np.repeat(rows, lengths))), shape=(windows - low, words))
    inside.data[:] = 1  # a word that is there twice counts once
    return (inside.T @ inside).toarray()
