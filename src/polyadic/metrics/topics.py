r"""How good topics are: whether their words belong together, differ, foretell documents, and are found again.

**Coherence** asks how much the top words of a topic occur together, in windows of text or in documents, of any corpus:
with :math:`P(a)` the share of windows in which a word occurs,

.. math:: \mathrm{NPMI}(a, b) = \log \frac{P(a, b) + \epsilon}{P(a) P(b)} \Big/ -\log (P(a, b) + \epsilon)

**Completion perplexity** is :math:`\exp(-\tfrac1N \sum \log P(w | d))` over words hidden from the model, when the
mixture of their document was found from its other words: lower is better, the size of the vocabulary is what uniform
guesses get, and it is always above 1.

References
----------
Roder, Both, Hinneburg (2015), Exploring the space of topic coherence measures, for ``npmi`` and ``c_v``. gensim has
them too; where a word is in a window twice its counts are too low, since it forgets the word with the first.
Wallach, Murray, Salakhutdinov, Mimno (2009), Evaluation methods for topic models, section 5, for completion.
Dieng, Ruiz, Blei (2020), Topic modeling in embedding spaces, section 6, for diversity.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from polyadic.core.errors import InputError, check_int, check_number

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Topic = Sequence[Hashable]

EPSILON = 1e-12
"""What is added to the share of windows with two words, as in the published measures."""
WINDOWS = {"npmi": 10, "c_v": 110}
"""Words in a window of each measure, as published."""
BLOCK = 1 << 22
"""Places of words in windows that are listed at a time."""


class Cooccurrences(NamedTuple):
    """In how many windows words occur, and pairs of them.

    Attributes
    ----------
    rows : dict
        Of ``together``, for each word.
    together : ndarray of shape (words, words)
        Windows with both; on the diagonal those with the word.
    windows : int
        All of them.
    """

    rows: dict[Any, int]
    together: NDArray[np.float64]
    windows: int


def in_windows(documents: Iterable[Sequence[Hashable]], words: Iterable[Hashable], *, window: int) -> Cooccurrences:
    """Count the windows of text in which words occur, each pair of them too.

    A window is so many words that follow one another; each place of a document where one can begin has one, and a
    shorter document is one window.

    Parameters
    ----------
    documents : iterable of sequences
        The words of each document, in order.
    words : iterable
        Those to count.
    window : int
        Its length.

    Raises
    ------
    InputError
        If there are no documents.

    Examples
    --------
    >>> found = in_windows([["a", "rose", "is", "a"]], ["a", "rose"], window=2)
    >>> found.together.tolist(), found.windows
    ([[2.0, 1.0], [1.0, 2.0]], 3)
    """
    check_int("window", window, low=1)
    index = {word: row for row, word in enumerate(dict.fromkeys(words))}
    together = np.zeros((len(index), len(index)))
    spans: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
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
        raise InputError("coherence needs documents; there are none")
    return Cooccurrences(index, together + _product(spans, total, len(index)), total)


def in_documents(table: csr_array, columns: ArrayLike) -> Cooccurrences:
    """Count the documents in which words occur, each pair of them too.

    Parameters
    ----------
    table : csr_array of shape (documents, words)
        Counts.
    columns : sequence of int
        The words to count; they are named by these numbers.
    """
    chosen = np.unique(np.asarray(columns, np.int64))
    some = csr_array(csr_array(table)[:, chosen] > 0, dtype=float)
    return Cooccurrences({int(c): row for row, c in enumerate(chosen)}, (some.T @ some).toarray(), table.shape[0])


def npmi_coherence(topics: Sequence[Topic], occurrences: Cooccurrences) -> NDArray[np.float64]:
    """Give the mean NPMI of all pairs of the words of each topic, from -1 to 1.

    Parameters
    ----------
    topics : sequence of sequences of words
        The top words of each, two at least, all of them counted.
    occurrences : Cooccurrences
        In windows of ten words as published; in documents where there are no texts.

    Raises
    ------
    InputError
        If a topic has less than two words, or one that was not counted.

    Examples
    --------
    >>> found = in_windows([["sun", "sky"], ["sun", "sky"], ["tax"]], ["sun", "sky", "tax"], window=10)
    >>> npmi_coherence([["sun", "sky"], ["sun", "tax"]], found).round(2).tolist()
    [1.0, -0.95]
    """
    means = []
    for topic in topics:
        values = _npmi(topic, occurrences)
        pairs = ~np.eye(len(values), dtype=bool)
        means.append(values[pairs].mean())
    return np.array(means)


def c_v_coherence(topics: Sequence[Topic], occurrences: Cooccurrences) -> NDArray[np.float64]:
    """Give the mean cosine of each word's NPMI with the words of its topic, and the sum of these over the topic.

    Parameters and faults are those of :func:`npmi_coherence`; windows have 110 words as published.
    """
    means = []
    for topic in topics:
        values = _npmi(topic, occurrences)
        whole = values.sum(axis=0)
        lengths = np.linalg.norm(values, axis=1) * np.linalg.norm(whole)
        means.append((values @ whole / np.maximum(lengths, EPSILON)).mean())
    return np.array(means)


def diversity(topics: Sequence[Topic]) -> float:
    """Give the share of different words among the top words of all topics.

    Examples
    --------
    >>> diversity([["sun", "sky"], ["sun", "tax"]])
    0.75
    """
    words = list(chain.from_iterable(topics))
    if not words:
        raise InputError("diversity needs topics with words")
    return len(set(words)) / len(words)


def halves(table: csr_array, *, seed: int | None = None, share: float = 0.5) -> tuple[csr_array, csr_array]:
    """Divide the words of each document by chance: those a model may see, and those it is to foretell.

    Parameters
    ----------
    table : csr_array of shape (documents, words)
        Counts, whole numbers.
    seed : int, optional
    share : float
        Of the occurrences, not of the words, that are seen; without replacement, rounded up.
    """
    table = csr_array(table)
    counts = np.rint(table.data).astype(np.int64)
    if (counts != table.data).any() or counts.min(initial=0) < 0 or not 0 < check_number("share", share) < 1:
        raise InputError("completion needs counts, whole numbers from 0 on, and a share between 0 and 1")
    rng, seen = np.random.default_rng(seed), np.zeros_like(counts)
    for first, last in zip(table.indptr[:-1], table.indptr[1:], strict=True):
        places = np.repeat(np.arange(first, last), counts[first:last])
        chosen = rng.permutation(places)[: int(np.ceil(share * len(places)))]
        np.add.at(seen, chosen, 1)
    parts = [csr_array((part.astype(np.float32), table.indices, table.indptr), table.shape) for part in (seen, counts)]
    parts[1].data -= parts[0].data
    parts = [part.copy() for part in parts]
    for part in parts:
        part.eliminate_zeros()
    return parts[0], parts[1]


def surprise(
    hidden: csr_array,
    mixtures: NDArray[Any],
    words: NDArray[Any],
    *,
    background: NDArray[Any],
    background_share: float = 0.05,
) -> NDArray[np.float64]:
    r"""Give :math:`-\log P` of the hidden words of each document, shape (documents,).

    .. math:: P(w|d) = (1 - \beta) \sum_z P(z|d) P(w|z) + \beta P(w)

    Parameters
    ----------
    hidden : csr_array of shape (documents, words)
        Counts of words that were not seen; see :func:`halves`.
    mixtures : ndarray of shape (documents, rank)
        Weights of topics in each document, found from the words seen.
    words : ndarray of shape (rank, words)
        Weights of words in each topic. Only products of the two matter: what is negative counts as zero, and each
        document is made to sum to one.
    background : ndarray of shape (words,)
        Weights of words in all documents trained on, positive. Without it a single word to which a model gives no
        chance would make the perplexity infinite.
    background_share : float
        :math:`\beta`, the same for all models that are compared.

    Raises
    ------
    InputError
        If no word is hidden, shapes do not fit, or a hidden word has no chance at all.
    """
    if check_number("background_share", background_share) > 1:
        raise InputError(f"background_share must be at most 1; got {background_share}")
    hidden = csr_array(hidden)
    if (len(mixtures), *np.shape(words)[1:], *np.shape(background)) != (*hidden.shape, hidden.shape[1]):
        raise InputError(
            f"a table of shape {hidden.shape} needs as many rows of mixtures, columns of words and weights of"
            f" background; got {np.shape(mixtures)}, {np.shape(words)} and {np.shape(background)}"
        )
    if not hidden.data.any():
        raise InputError("no word is hidden; there is nothing to foretell")
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
            raise InputError("a hidden word has no chance at all; add to background, or raise background_share")
        surprises[d] = -hidden.data[here] @ np.log(chances)
    return surprises


def completion_perplexity(
    hidden: csr_array,
    mixtures: NDArray[Any],
    words: NDArray[Any],
    *,
    background: NDArray[Any],
    background_share: float = 0.05,
) -> float:
    """Give the perplexity of hidden words: the exponential of the mean of :func:`surprise` over them.

    Parameters and errors are those of it.
    """
    each = surprise(hidden, mixtures, words, background=background, background_share=background_share)
    return float(np.exp(each.sum() / hidden.sum(dtype=float)))


def stability(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Give the mean cosine between the topics of two fits, matched one to one such that it is largest.

    Parameters
    ----------
    first, second : ndarray of shape (rank, words)

    Examples
    --------
    >>> round(stability(np.eye(3), np.eye(3)[[2, 0, 1]]), 6)
    1.0
    """
    if first.shape != second.shape:
        raise InputError(f"topics to match must be as many, over the same words; got {first.shape} and {second.shape}")
    unit = [A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), EPSILON) for A in (first, second)]
    cosines = unit[0] @ unit[1].T
    return float(cosines[linear_sum_assignment(-cosines)].mean())


def _npmi(topic: Topic, occurrences: Cooccurrences) -> NDArray[np.float64]:
    """Give the NPMI of each two words of a topic; 1 of a word with itself."""
    if len(topic) < 2:
        raise InputError(f"coherence needs two words of a topic at least; got {len(topic)}")
    if absent := [word for word in topic if word not in occurrences.rows]:
        raise InputError(f"{absent[0]!r} was not counted; count all top words")
    rows = [occurrences.rows[word] for word in topic]
    joint = occurrences.together[np.ix_(rows, rows)] / occurrences.windows
    alone = np.diag(joint)
    possible = np.maximum(np.outer(alone, alone), np.finfo(float).tiny)
    values = np.log((joint + EPSILON) / possible) / -np.log(np.minimum(joint + EPSILON, 1 - EPSILON))
    return np.where(np.outer(alone, alone) > 0, values, 0.0)


def _product(spans: list[Any], windows: int, words: int) -> Any:
    """Add up pairs of words that lie in the same window, from the windows first..last in which each one is."""
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
