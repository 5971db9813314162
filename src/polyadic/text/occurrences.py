r"""Where the words of a corpus stand, and what stands around them, counted when asked.

One index of all positions by word answers what a table of counts of every pair and triple would: a window reaches
:math:`w` words to each side in the sentence, a pair is a word in it, and a triple :math:`(u, v, w)` is two words that
with the one in the midst lie within :math:`w + 1` consecutive words, which is the window ``span`` of
:mod:`polyadic.text.counts`. So what is counted around *all* occurrences of a word agrees with what was counted in the
whole text, and what is counted around *some* of them is the evidence for a sense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.text import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.corpus import Corpus

MAX_WIDTH = 50
"""Words to each side at most."""


class Occurrences:
    """The positions of all words of a corpus; 4 bytes for each token are held.

    Parameters
    ----------
    corpus : Corpus

    Examples
    --------
    >>> from polyadic import Corpus
    >>> corpus = Corpus.build(["a rose is a rose", "is a rose red"], min_count=1)
    >>> where = Occurrences(corpus)
    >>> rose = corpus.vocabulary["rose"]
    >>> where.positions(rose).tolist()
    [1, 4, 7]
    >>> words, counts = where.pairs(where.positions(rose), 1)
    >>> {corpus.vocabulary.words[i]: n for i, n in zip(words.tolist(), counts.tolist(), strict=True)}
    {'a': 3, 'is': 1, 'red': 1}
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._positions, self._starts = kernels.word_positions(corpus.ids, len(corpus.vocabulary))
        self._ends = np.asarray(corpus.sentences)[np.asarray(corpus.documents)]

    def positions(self, number: int) -> NDArray[np.int64]:
        """Give the positions of a word, given by number, in the order of the text."""
        return np.asarray(self._positions[self._starts[number] : self._starts[number + 1]], np.int64)

    def documents(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the number of the document of each position."""
        return np.asarray(np.searchsorted(self._ends, positions, side="right") - 1, np.int64)

    def lengths(self) -> NDArray[np.int64]:
        """Give the number of tokens of each document."""
        return np.diff(self._ends)

    def around(self, positions: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """Give the words around positions, of shape (n, 2 width), -1 beyond the ends of the sentence."""
        offsets = _offsets(width)
        at = positions[:, None] + offsets
        sentences = np.asarray(self.corpus.sentences)
        of = np.searchsorted(sentences, positions, side="right")[:, None]
        inside = (at >= sentences[of - 1]) & (at < sentences[of])
        return np.where(inside, self.corpus.ids[np.where(inside, at, 0)].astype(np.int64), -1)

    def pairs(self, positions: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the words around positions: their numbers, and how often each stands there."""
        around = self.around(positions, width)
        counts = np.bincount(around[around >= 0], minlength=len(self.corpus.vocabulary))
        words = np.flatnonzero(counts)
        return words, counts[words]

    def triples(self, positions: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count pairs of different words that stand with a position within ``width + 1`` words.

        Returns
        -------
        pairs : ndarray of shape (m, 2)
            Numbers of two words each, the smaller first.
        counts : ndarray of shape (m,)
        """
        around, offsets = self.around(positions, width), _offsets(width)
        i, j = np.triu_indices(2 * width, 1)
        fits = np.maximum(offsets[j], 0) - np.minimum(offsets[i], 0) <= width
        u, v = around[:, i[fits]].ravel(), around[:, j[fits]].ravel()
        both = (u >= 0) & (v >= 0) & (u != v)
        size = len(self.corpus.vocabulary)
        keys, counts = np.unique(np.minimum(u, v)[both] * size + np.maximum(u, v)[both], return_counts=True)
        return np.stack(np.divmod(keys, size), axis=1), counts

    def together(self, numbers: list[int], width: int) -> NDArray[np.int64]:
        """Give positions of the rarest of several words where all the others stand within ``width`` words of it."""
        rarest, *others = sorted(numbers, key=lambda number: len(self.positions(number)))
        positions = self.positions(rarest)
        if not len(positions):
            return positions
        around = self.around(positions, width)
        return positions[np.all([(around == other).any(axis=1) for other in others], axis=0)] if others else positions


def sample(positions: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
    """Give at most so many of some positions, evenly from all of the text.

    Examples
    --------
    >>> sample(np.arange(10), 4).tolist()
    [0, 3, 6, 9]
    """
    if len(positions) <= max_size:
        return positions
    return positions[np.linspace(0, len(positions) - 1, max_size).round().astype(int)]


def _offsets(width: int) -> NDArray[np.int64]:
    return np.array([d for d in range(-width, width + 1) if d])
