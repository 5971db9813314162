r"""Constituency parsing: labelled bracket precision, recall and F1 (PARSEVAL).

A bracket is a label and the span of its words. With ``m`` matching brackets, ``g`` brackets in the treebank and ``t``
in the predicted trees, summed over sentences:

.. math:: \text{precision} = m / t, \qquad \text{recall} = m / g, \qquad F = 2 m / (g + t)

The conventions are those of ``evalb`` with the parameters ``COLLINS.prm``, the standard for parsers of the Penn
Treebank since 1997:

* part-of-speech tags are not brackets, nor is ``TOP`` around the sentence, and ``PRT`` counts as ``ADVP``;
* punctuation (tags ``, : `` '' .``) is removed before words are counted, with brackets that contain nothing else;
* brackets are matched one to one: each of two equal brackets needs its own match.

The tags of the treebank define which words are punctuation, for both trees. ``evalb`` uses the tags of each tree, and
skips a sentence as an error if that gives different words.

References
----------
Black et al. (1991), A procedure for quantitatively comparing the syntactic coverage of English grammars. Collins
(1997), Three generative, lexicalised models for statistical parsing. Sekine, Collins, ``evalb``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Ints
from polyadic.core.errors import InputError
from polyadic.metrics.figures import Figure
from polyadic.metrics.rows import KindCounts, count_rows

Span = tuple[str, int, int]

PUNCTUATION = frozenset({",", ":", "``", "''", "."})  # tags of words that are not counted
UNCOUNTED = frozenset({"TOP", "-NONE-"})
EQUAL = {"PRT": "ADVP"}


class Bracketing(NamedTuple):
    """Constituency tree, given by the words, the part-of-speech tags and the labelled spans of the phrases."""

    words: Sequence[str]
    tags: Sequence[str]
    spans: Sequence[Span]


class MatchedBrackets(NamedTuple):
    """Counts of matching, gold and predicted brackets, and of correct tags, in a sentence.

    Examples
    --------
    >>> MatchedBrackets(3, 4, 5).f1
    0.6666666666666666
    """

    matched: int
    gold: int
    found: int
    """Number of matching brackets, of brackets in the treebank, and of predicted brackets."""
    tags: int = 0
    words: int = 0
    """Number of correct tags, and of words."""

    @property
    def f1(self) -> float:
        """F1 score of the brackets, or 1 if neither tree has brackets."""
        return 2 * self.matched / (self.gold + self.found) if self.gold + self.found else 1.0


class BracketScore(NamedTuple):
    """Labelled bracket scores of a corpus."""

    precision: float
    recall: float
    f1: float
    """Labelled bracket scores, from sums over sentences."""
    complete: float
    """Share of sentences whose brackets are all correct."""
    tagging: float
    """Share of words, without punctuation, that have the correct tag."""
    sentences: int
    """Number of sentences."""

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as a dictionary for JSON."""
        return dict(self._asdict())


def counted(spans: Iterable[Span], tags: Sequence[str]) -> Counter[Span]:
    """Count the labelled brackets of a tree, ignoring words that are tagged as punctuation.

    Examples
    --------
    >>> counted([("TOP", 0, 4), ("S", 0, 4), ("PRN", 1, 2), ("VP", 1, 3)], ["NN", ",", "VBZ", "."])
    Counter({('S', 0, 2): 1, ('VP', 1, 2): 1})
    """
    before = [0]
    for tag in tags:
        before.append(before[-1] + (tag not in PUNCTUATION))
    return Counter(
        (EQUAL.get(label, label), before[start], before[end])
        for label, start, end in spans
        if label not in UNCOUNTED and before[start] < before[end]
    )


def match_brackets(gold: Bracketing, predicted: Bracketing) -> MatchedBrackets:
    """Count the brackets and tags of a predicted tree that match the gold tree of the same sentence.

    InputError is raised if the words differ, or a bracket exceeds the sentence.

    Examples
    --------
    >>> words, tags = ["it", "barks", "."], ["PRP", "VBZ", "."]
    >>> gold = Bracketing(words, tags, [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 2)])
    >>> match_brackets(gold, Bracketing(words, ["NN", "VBZ", "."], [("S", 0, 2), ("VP", 1, 3), ("NP", 1, 2)]))
    MatchedBrackets(matched=2, gold=3, found=3, tags=1, words=2)
    """
    if len(gold.words) != len(predicted.words):
        raise InputError(f"both trees must have the same words; got {len(gold.words)} and {len(predicted.words)} words")
    for place, (word, other) in enumerate(zip(gold.words, predicted.words, strict=True), 1):
        if word != other:
            raise InputError(
                f"both trees must have the same words; word {place} is {word!r} in the gold tree and {other!r} in"
                " the predicted tree"
            )
    for label, start, end in (*gold.spans, *predicted.spans):
        if not 0 <= start < end <= len(gold.words):
            raise InputError(f"a bracket must lie within the sentence; got {label} from {start} to {end}")
    return match_counted(counted(gold.spans, gold.tags), gold.tags, predicted)


def match_counted(gold: Counter[Span], tags: Sequence[str], predicted: Bracketing) -> MatchedBrackets:
    """Count the matching brackets and tags of a predicted tree, given the brackets and tags of the gold tree."""
    other = counted(predicted.spans, tags)
    kept = [(tag, guess) for tag, guess in zip(tags, predicted.tags, strict=True) if tag not in PUNCTUATION]
    right = sum(tag == guess for tag, guess in kept)
    matched = sum(min(count, gold[span]) for span, count in other.items() if span in gold)
    return MatchedBrackets(matched, gold.total(), other.total(), right, len(kept))


def bracket_score(sentences: Iterable[MatchedBrackets] | Ints) -> BracketScore:
    """Compute the bracket scores of a corpus from the counts of each sentence, in an array of shape (sentences, 5).

    InputError is raised if there are no sentences.

    Examples
    --------
    >>> bracket_score([MatchedBrackets(3, 4, 5, 9, 10), MatchedBrackets(2, 2, 2, 5, 5)]).f1.__round__(3)
    0.769
    """
    rows = count_rows(sentences, MatchedBrackets)
    if not len(rows):
        raise InputError("there are no sentences to score")
    matched, gold, predicted, right, words = rows.sum(axis=0).tolist()
    complete = (rows[:, 0] == rows[:, 1]) & (rows[:, 0] == rows[:, 2])
    found = KindCounts("", gold, predicted, matched)
    f1, tagging = found.f1 if gold + predicted else 1.0, right / words if words else 0.0
    return BracketScore(found.precision, found.recall, f1, float(complete.mean()), tagging, len(rows))


def bracket_figure(name: str, sentences: Iterable[MatchedBrackets] | Ints) -> Figure:
    """Return the bracket F1 score as a metric with bootstrap confidence intervals over sentences."""
    rows = count_rows(sentences, MatchedBrackets)
    pairs = np.stack([2 * rows[:, 0], rows[:, 1] + rows[:, 2]], axis=1).astype(float)
    return Figure(name, pairs, used=len(rows), total=len(rows))
