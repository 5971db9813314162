"""Positions of each word of a corpus, and co-occurrence counts around selected positions.

An index of all positions by word answers queries that would otherwise need counts of every pair and triple. A window
has :math:`w` words on each side within the sentence; a pair is a word in the window; a triple :math:`(u, v, w)` is two
words that lie within :math:`w + 1` consecutive words including the central one, as in the window ``span`` of
:mod:`polyadic.text.counts`. Counts around *all* occurrences of a word therefore agree with the counts of the whole
text, and counts around *some* of them are evidence for one sense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.text import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.corpus import Corpus

MAX_WIDTH = 50  # maximum number of words on each side


class Occurrences:
    """Index of the positions of each word in a corpus, which takes 4 bytes per token."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._positions, self._starts = kernels.word_positions(corpus.ids, len(corpus.vocabulary))
        self._ends = np.asarray(corpus.sentences)[np.asarray(corpus.documents)]

    def positions(self, number: int) -> NDArray[np.int64]:
        """Return the positions of a word, given by id, in text order."""
        return np.asarray(self._positions[self._starts[number] : self._starts[number + 1]], np.int64)

    def documents(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the document that contains each position."""
        return np.asarray(np.searchsorted(self._ends, positions, side="right") - 1, np.int64)

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of tokens of each document."""
        return np.diff(self._ends)

    def around(self, positions: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """Return the ids of the words around each position, shape (n, 2 width), with -1 outside the sentence."""
        at = positions[:, None] + _offsets(width)
        sentences = np.asarray(self.corpus.sentences)
        of = np.searchsorted(sentences, positions, side="right")[:, None]
        near = np.where((at >= sentences[of - 1]) & (at < sentences[of]), at, -1)
        return np.where(near >= 0, self.corpus.ids[near].astype(np.int64), -1)

    def pairs(self, positions: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the words around the given positions; return the word ids and the counts."""
        around = self.around(positions, width)
        counts = np.bincount(around[around >= 0], minlength=len(self.corpus.vocabulary))
        words = np.flatnonzero(counts)
        return words, counts[words]

    def triples(self, positions: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the pairs of distinct words within a span of ``width + 1`` words that contains one of the positions."""
        around, offsets = self.around(positions, width), _offsets(width)
        i, j = np.triu_indices(2 * width, 1)
        fits = np.maximum(offsets[j], 0) - np.minimum(offsets[i], 0) <= width
        u, v = around[:, i[fits]].ravel(), around[:, j[fits]].ravel()
        both = (u >= 0) & (v >= 0) & (u != v)
        size = len(self.corpus.vocabulary)
        keys, counts = np.unique(np.minimum(u, v)[both] * size + np.maximum(u, v)[both], return_counts=True)
        return np.stack(np.divmod(keys, size), axis=1), counts

    def together(self, numbers: list[int], width: int) -> NDArray[np.int64]:
        """Return the positions of the rarest given word at which all other given words occur within ``width`` words."""
        rarest, *others = sorted(numbers, key=lambda number: len(self.positions(number)))
        positions = self.positions(rarest)
        if not len(positions):
            return positions
        around = self.around(positions, width)
        return positions[np.all([(around == other).any(axis=1) for other in others], axis=0)] if others else positions


def sample(positions: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
    """Return ``max_size`` evenly spaced positions, or all positions if there are fewer."""
    if len(positions) <= max_size:
        return positions
    return positions[np.linspace(0, len(positions) - 1, max_size).round().astype(int)]


def _offsets(width: int) -> NDArray[np.int64]:
    return np.array([d for d in range(-width, width + 1) if d])
