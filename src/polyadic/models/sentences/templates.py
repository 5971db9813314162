"""What a filter means: where in which sentences there is most of it."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import check_int
from polyadic.models.sentences.words import known_words, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyadic.models.sentences.convolutional import ConvolutionalSentences
    from polyadic.models.sentences.words import Sentence


class Occurrence(NamedTuple):
    """A place with much of a filter.

    Attributes
    ----------
    activation : float
        How much.
    sentence : int
        Number of the sentence, from 0.
    place : int
        Number of the known word where the filter begins, from 0.
    words : tuple of str
        The known words under the filter.
    """

    activation: float
    sentence: int
    place: int
    words: tuple[str, ...]


def strongest(
    model: ConvolutionalSentences, sentences: Iterable[Sentence], *, top: int = 5
) -> list[list[list[Occurrence]]]:
    """Find the places where each filter of each coordinate is most active, one sentence giving at most one.

    Parameters
    ----------
    model : ConvolutionalSentences
        Fitted.
    sentences : iterable of str or of lists of words
        Read once; only the places found stay in memory.
    top : int
        How many places of each filter.

    Returns
    -------
    list over coordinates of lists over filters of Occurrence
        The most active first, by magnitude: the sign of a coordinate means nothing.
    """
    check_is_fitted(model)
    check_int("top", top, low=1)
    K, L, _ = model.filters_.shape
    kept: list[list[tuple[float, int, Occurrence]]] = [[] for _ in range(K * L)]
    for number, words in enumerate(words_of(sentences)):
        known = known_words(words, model.embedding_)
        if not known:
            continue
        w = model.activations(known).reshape(K * L, -1)[:, : len(known)]
        places = np.abs(w).argmax(axis=1)
        for row, place in enumerate(places.tolist()):
            value, heap = float(w[row, place]), kept[row]
            if len(heap) == top and abs(value) <= heap[0][0]:
                continue
            under = tuple(known[place : place + model.length])
            put = heapq.heappush if len(heap) < top else heapq.heapreplace
            put(heap, (abs(value), -number, Occurrence(value, number, place, under)))
    filters = [[occurrence for *_, occurrence in sorted(heap, reverse=True)] for heap in kept]
    return [filters[k * L : (k + 1) * L] for k in range(K)]


def describe(occurrences: list[list[list[Occurrence]]]) -> str:
    """Write occurrences as lines of text: coordinate, filter, activation, words."""
    rows = (
        f"{k}.{at}  {activation:+.2f}  {' '.join(words)}"
        for k, each in enumerate(occurrences)
        for at, many in enumerate(each)
        for activation, _, _, words in many
    )
    return "\n".join(rows)
