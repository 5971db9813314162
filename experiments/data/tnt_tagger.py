r"""A tagger and lemmatizer learned from a treebank: a trigram chain of tags with suffix statistics (TnT).

.. math:: \max_t \sum_i \log p(t_i \mid t_{i-1}) + \log \frac{p(t_i \mid w_i)}{p(t_i)}

What is known of a word's tags is its own counts, and beyond them those of rare words that end alike. It is quick and
plain: enough to count with, no rival of taggers with many features.

References
----------
Brants (2000), TnT: a statistical part-of-speech tagger, for words by their endings (eq. 7); chains of order one here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from polyadic.core.errors import InputError
from polyadic.sequences.kernels.hidden import HiddenChain, viterbi_states
from polyadic.syntax.text_tagger import MAX_SUFFIX, Lemmas

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.syntax.trees import Tree

RARE = 10
"""A word seen up to so often is one of those that unknown words are like, as in TnT."""
TRUST = 1.0
"""Sightings of a word, or of an ending, that weigh as much as what shorter endings say."""
LEAST = 1e-3
"""A tag so much less likely for a word than its best is not considered."""
CACHED = 200_000
"""Words whose tags are kept."""


class Tagger:
    """Tags and lemmas as in the treebank that it is fitted to.

    ``tags_``: Those of ``xpos``, sorted.

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> two, none = np.array([2, 0], np.int32), ("_", "_")
    >>> def tree(forms, lemmas, tags):
    ...     return Tree(forms, lemmas, none, tags, none, two, none, none, none)
    >>> dogs = tree(("Dogs", "bark"), ("dog", "bark"), ("NNS", "VBP"))
    >>> cats = tree(("Cats", "sit"), ("cat", "sit"), ("NNS", "VBP"))
    >>> tagger = Tagger().fit([dogs, cats])
    >>> tagger.tag([["Pigs", "sit"]]), tagger.lemma("Pigs", "NNS")
    ([['NNS', 'VBP']], 'pig')
    """

    tags_: list[str]

    def fit(self, trees: Iterable[Tree]) -> Self:
        """Count tags, words and endings.

        ``trees``: With ``xpos``, and with lemmas in some of them at least; several treebanks can be chained.
        """
        words: defaultdict[str, Counter[str]] = defaultdict(Counter)
        lemmas: list[tuple[str, str, str]] = []
        moves: Counter[tuple[str, str]] = Counter()
        for tree in trees:
            moves.update(pairwise(("", *tree.xpos)))
            for form, tag, lemma in zip(tree.forms, tree.xpos, tree.lemmas, strict=True):
                words[form][tag] += 1
                if lemma != "_" or form == "_":
                    lemmas.append((form, tag, lemma.lower()))
        self.tags_ = sorted({tag for tags in words.values() for tag in tags})
        if self.tags_ in ([], ["_"]):
            raise InputError("trees must have parts of speech in the column xpos; got none", "trees")
        self._learn_tags(words, moves)
        self._lemmas = Lemmas.counted(lemmas)
        return self

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the tag of each word of each sentence, cased and divided as in the treebank."""
        numbers: dict[str, int] = {}
        forms = [
            form if place or form in self._words or form.lower() not in self._words else form.lower()
            for sentence in sentences
            for place, form in enumerate(sentence)
        ]
        ids = np.array([numbers.setdefault(form, len(numbers)) for form in forms], np.int64)
        edges = np.cumsum([0, *map(len, sentences)])
        scores = np.array([self._scores(form) for form in numbers]).reshape(-1, len(self.tags_))
        states = viterbi_states(ids, edges, HiddenChain(self._start, self._move, scores)).tolist()
        tags = [self.tags_[state] for state in states]
        return [tags[low:high] for low, high in pairwise(edges.tolist())]

    def likeliest(self, form: str, tags: Sequence[str]) -> str:
        """Return which of some tags a word has most often by itself, the first of equals."""
        place = {tag: number for number, tag in enumerate(self.tags_)}
        scores = self._scores(form) + self._log_shares
        return max(tags, key=lambda tag: scores[place[tag]] if tag in place else -np.inf)

    def lemma(self, form: str, tag: str) -> str:
        """Return the lemma of a word, in lower case: as seen, else as that of words with the longest equal ending."""
        return self._lemmas.lemma(form, tag)

    def _learn_tags(self, words: dict[str, Counter[str]], moves: Counter[tuple[str, str]]) -> None:
        place = {tag: number for number, tag in enumerate(self.tags_)}
        size = len(place)
        counts = np.zeros((size + 1, size))
        for (before, after), count in moves.items():
            counts[place.get(before, size), place[after]] += count
        shares = (counts.sum(axis=0) + 1) / (counts.sum() + size)
        log = np.log((counts + TRUST * size * shares) / (counts.sum(axis=1, keepdims=True) + TRUST * size))
        self._start, self._move = log[-1], log[:-1]
        self._log_shares = np.log(shares)
        self._words: dict[str, NDArray[np.float64]] = {}
        self._endings: dict[str, NDArray[np.float64]] = {}
        for form, tags in words.items():
            row = np.zeros(size)
            for tag, count in tags.items():
                row[place[tag]] = count
            self._words[form] = row
            if row.sum() <= RARE:
                for ending in _endings(form):
                    self._endings[ending] = self._endings[ending] + row if ending in self._endings else row
        self._scores = lru_cache(maxsize=CACHED)(self._score)

    def _score(self, form: str) -> NDArray[np.float32]:
        """Return the log ratio of each tag's probability given the word to its prior."""
        p = np.exp(self._log_shares)
        for seen in (*(self._endings.get(ending) for ending in _endings(form)), self._words.get(form)):
            if seen is not None:
                p = (seen + TRUST * p) / (seen.sum() + TRUST)
        with np.errstate(divide="ignore"):
            return np.log(np.where(p < LEAST * p.max(), 0, p)).astype(np.float32) - self._log_shares.astype(np.float32)


def _endings(form: str) -> list[str]:
    """Return the suffixes of a word, short to long, with the kind of its first letter: capital, digit or other."""
    first = form[:1]
    kind = "A" if first.isupper() else "0" if first.isdigit() else "a" if first.isalpha() else "."
    word = form.lower()
    return [f"{kind}{word[len(word) - length :]}" for length in range(min(MAX_SUFFIX, len(word)) + 1)]
