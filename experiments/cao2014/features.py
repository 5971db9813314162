"""Features of candidate trees for a reranker.

A feature is a tuple that begins with the name of its kind; its value is its number of occurrences in the tree. Features
of phrases follow Collins and Charniak & Johnson: each kind is a function of a :class:`PhraseContext`. The trees of one
list share most subtrees, whose features are computed once. Features of dependency trees are the second-order parts of
McDonald & Pereira and Carreras, with words and with tags: each kind is a function of a :class:`HeadContext`.

References
----------
Collins (2000), Discriminative reranking for natural language parsing. Charniak, Johnson (2005), Coarse-to-fine n-best
parsing and MaxEnt discriminative reranking, section 4. McDonald, Pereira (2006), Online learning of approximate
dependency parsing algorithms. Carreras (2007), Experiments with a higher-order projective dependency parser
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.syntax.binarising import PUNCTUATION, head_child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.syntax.brackets import Phrase

Feature = tuple[str | int | bool, ...]
SCORE: Feature = ("score",)
"""The parser's own score of a tree, such as its log-probability."""
EDGE = "-"
"""Placeholder beyond the first and the last word or child."""
COORDINATING = ("CC", "CONJP")


class PhraseSummary(NamedTuple):
    """Context-independent properties of a phrase: length, lexical head, child labels, and labels along both edges."""

    size: int
    head_word: str
    head_tag: str
    head: int
    labels: tuple[str, ...]
    left_side: tuple[str, ...]
    right_side: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PhraseContext:
    """A phrase in a sentence.

    Attributes
    ----------
    phrase : Phrase
        Phrase that is not a tag.
    start, end : int
        First word and end (exclusive).
    parent, grandparent : str
        Labels above the phrase.
    summary : PhraseSummary
        Summary of the phrase.
    children : tuple of PhraseSummary
        Summaries of its children, tags included.
    words : sequence of str
        Words of the sentence.
    """

    phrase: Phrase
    start: int
    end: int
    parent: str
    grandparent: str
    summary: PhraseSummary
    children: tuple[PhraseSummary, ...]
    words: Sequence[str]


def bucket(number: int) -> int:
    """Map a number to 0, 1, 2, 3, 5 (4 to 5), 10 (6 to 10), 20 (11 to 20) or 21 (more).

    Examples
    --------
    >>> [bucket(number) for number in (0, 1, 4, 9, 11, 30)]
    [0, 1, 5, 10, 20, 21]
    """
    return number if number <= 3 else next((edge for edge in (5, 10, 20) if number <= edge), 21)


def rules(at: PhraseContext) -> Iterator[Feature]:
    """Yield the rule of a phrase, alone and with the labels above, the head's tag and the head's word."""
    label, labels = at.phrase.label, at.summary.labels
    yield "rule", label, *labels
    yield "rule parent", at.parent, label, *labels
    yield "rule grandparent", at.grandparent, at.parent, label, *labels
    yield "rule tag", at.summary.head_tag, label, *labels
    yield "rule word", at.summary.head_word, label, *labels


def siblings(at: PhraseContext) -> Iterator[Feature]:
    """Yield bigrams and trigrams of child labels with their position relative to the head."""
    label, head = at.phrase.label, at.summary.head
    row = (EDGE, *at.summary.labels, EDGE)
    for i in range(len(row) - 1):
        yield "two", label, row[i], row[i + 1], (head + 1 > i) - (head + 1 < i)
    for i in range(len(row) - 2):
        yield "three", label, row[i], row[i + 1], row[i + 2], (head + 1 > i) - (head + 1 < i)


def heads(at: PhraseContext) -> Iterator[Feature]:
    """Yield pairs of the lexical heads of the phrase and of each other child, as words and tags."""
    label, summary = at.phrase.label, at.summary
    for i, (child, name) in enumerate(zip(at.children, summary.labels, strict=True)):
        if i == summary.head or name in PUNCTUATION:
            continue
        side = i > summary.head
        yield "heads tags", label, name, summary.head_tag, child.head_tag, side
        yield "heads words", label, summary.head_word, child.head_word, side
        yield "heads word tag", label, name, summary.head_word, child.head_tag, side
        yield "heads tag word", label, name, summary.head_tag, child.head_word, side
        yield "projection", child.head_word, name, label, side


def above_head(at: PhraseContext) -> Iterator[Feature]:
    """Yield the lexical head of a phrase with its label and the labels above."""
    summary, label = at.summary, at.phrase.label
    yield "head tag", summary.head_tag, label, at.parent
    yield "head word", summary.head_word, label, at.parent
    yield "head word two", summary.head_word, label, at.parent, at.grandparent


def seams(at: PhraseContext) -> Iterator[Feature]:
    """Yield the labels on both sides of each boundary between children, alone and with a neighbouring word."""
    for (i, left), right in zip(enumerate(at.children), at.children[1:], strict=False):
        name = at.phrase.label
        yield "seam", name, *left.right_side, EDGE, *right.left_side
        middle = at.start + sum(child.size for child in at.children[: i + 1])
        yield "seam left", at.words[middle - 1], name, left.right_side[0], right.left_side[0]
        yield "seam right", at.words[middle], name, left.right_side[0], right.left_side[0]
        yield "seam words", name, at.words[middle - 1], at.words[middle]


def heaviness(at: PhraseContext) -> Iterator[Feature]:
    """Yield the length of a phrase, its distance from the end of the sentence and the following punctuation."""
    size, rest = bucket(at.summary.size), len(at.words) - at.end
    after = at.words[at.end] if rest else EDGE
    mark = after if not after[0].isalnum() else "word"
    yield "heavy", at.phrase.label, size, bucket(rest), mark
    yield "heavy parent", at.phrase.label, at.parent, size


def neighbours(at: PhraseContext) -> Iterator[Feature]:
    """Yield the words before and after a phrase."""
    label = at.phrase.label
    before = at.words[at.start - 1] if at.start else EDGE
    after = at.words[at.end] if at.end < len(at.words) else EDGE
    yield "before", label, at.parent, before
    yield "after", label, at.parent, after
    yield "around", label, bucket(at.summary.size), before, after


def edges(at: PhraseContext) -> Iterator[Feature]:
    """Yield the first and the last word and tag of a phrase."""
    label, summary = at.phrase.label, at.summary
    yield "first", label, bucket(summary.size), at.words[at.start]
    yield "last", label, bucket(summary.size), at.words[at.end - 1]
    yield "edge tags", label, summary.left_side[-1], summary.right_side[-1], bucket(summary.size)


def parallels(at: PhraseContext) -> Iterator[Feature]:
    """Yield for neighbouring conjuncts the depth of their similarity and the difference of their lengths."""
    labels, below = at.summary.labels, at.phrase.below
    if not any(label in COORDINATING for label in labels[1:]):
        return
    places = [i for i, x in enumerate(labels) if x not in COORDINATING and x not in PUNCTUATION]
    for i, j in pairwise(places):
        if not any(label in COORDINATING or label in {",", ":"} for label in labels[i + 1 : j]):
            continue
        left, right = at.children[i], at.children[j]
        same = labels[i] == labels[j]
        deeper = same and left.labels == right.labels
        inner = [tuple(child.label for part in below[k].below for child in part.below) for k in (i, j)]
        yield "parallel", at.phrase.label, same + deeper + (deeper and inner[0] == inner[1])
        yield "parallel labels", at.phrase.label, labels[i], labels[j]
        longer = (right.size > left.size) - (right.size < left.size)
        yield "parallel length", at.phrase.label, longer, bucket(abs(right.size - left.size))


PHRASE_FEATURES: tuple[Callable[[PhraseContext], Iterator[Feature]], ...] = (
    rules,
    siblings,
    heads,
    above_head,
    seams,
    heaviness,
    neighbours,
    edges,
    parallels,
)
"""Feature functions of phrases; :func:`of_tag` is for tags and :func:`of_tree` for whole trees."""


def of_tag(tag: str, word: str, parent: str, grandparent: str) -> Iterator[Feature]:
    """Yield a word with its tag and the labels above."""
    yield "word", word, tag
    yield "word parent", word, tag, parent
    yield "word grandparent", word, tag, parent, grandparent


def of_tree(tree: Phrase) -> dict[Feature, int]:
    """Count the phrases on the path from the root to the last word, punctuation aside, and all other phrases."""
    total = sum(1 for phrase in tree.walk() if phrase.word is None)
    right, phrase = 0, tree
    while phrase.word is None:
        right += 1
        below = [child for child in phrase.below if child.label not in PUNCTUATION]
        phrase = below[-1] if below else phrase.below[-1]
    return {("right branch",): right, ("other branches",): total - right}


class Featuriser:
    """Computes the features of the trees of one sentence, those of shared subtrees once.

    Parameters
    ----------
    words : sequence of str
        Words of the sentence.
    number : callable
        Function from a feature to its id.

    Examples
    --------
    >>> from polyadic.syntax.brackets import parse_phrase
    >>> tree, names = parse_phrase("(S (NP (PRP It)) (VP (VBZ is)))"), {}
    >>> found = Featuriser(tree.words(), lambda name: names.setdefault(name, len(names)))(tree)
    >>> {("rule", "S", "NP", "VP"), ("heads words", "S", "is", "It", False)} <= set(names), len(found) >= len(names) - 2
    (True, True)
    """

    def __init__(self, words: Sequence[str], number: Callable[[Feature], int]) -> None:
        self.words = words
        self._number = number
        self._summaries: dict[int, tuple[Phrase, PhraseSummary]] = {}  # keeps the phrase alive, so its id stays unique
        self._found: dict[tuple[int, int, str, str], NDArray[np.int64]] = {}

    def __call__(self, tree: Phrase) -> NDArray[np.int64]:
        """Return the ids of the features of a tree, repeated by count, without those of :func:`of_tree`."""
        return self._below(tree, 0, "TOP", EDGE)

    def _summary(self, phrase: Phrase) -> PhraseSummary:
        """Compute the summary of a phrase, or look it up."""
        kept = self._summaries.get(id(phrase))
        if kept is not None:
            return kept[1]
        label, word = phrase.label, phrase.word
        if word is not None:
            summary = PhraseSummary(1, word, label, 0, (), (label,), (label,))
        else:
            parts = [self._summary(child) for child in phrase.below]
            labels = tuple(child.label for child in phrase.below)
            head = head_child(label, labels)
            summary = PhraseSummary(
                sum(part.size for part in parts),
                parts[head].head_word,
                parts[head].head_tag,
                head,
                labels,
                (label, *parts[0].left_side),
                (label, *parts[-1].right_side),
            )
        self._summaries[id(phrase)] = phrase, summary
        return summary

    def _below(self, phrase: Phrase, start: int, parent: str, grandparent: str) -> NDArray[np.int64]:
        """Return the feature ids of a phrase and all phrases below it."""
        key = id(phrase), start, parent, grandparent
        if key in self._found:
            return self._found[key]
        if phrase.word is not None:
            numbers = np.array([self._number(x) for x in of_tag(phrase.label, phrase.word, parent, grandparent)])
        else:
            summary = self._summary(phrase)
            children = tuple(self._summary(child) for child in phrase.below)
            at = PhraseContext(phrase, start, start + summary.size, parent, grandparent, summary, children, self.words)
            own = np.array([self._number(x) for kind in PHRASE_FEATURES for x in kind(at)])
            parts, first = [own], start
            for child, inner in zip(phrase.below, children, strict=True):
                parts.append(self._below(child, first, phrase.label, parent))
                first += inner.size
            numbers = np.concatenate(parts)
        self._summaries.setdefault(id(phrase), (phrase, self._summary(phrase)))
        self._found[key] = numbers
        return numbers


ROOT = "ROOT"
NONE = "-"
MAX_DISTANCE = 7
"""Distances and numbers of dependents are capped here."""


@dataclass(frozen=True, slots=True)
class HeadContext:
    """A word with its dependents; words are numbered from 1, 0 is the root.

    Attributes
    ----------
    words, tags : sequence of str
        Words and tags of the sentence, after ``ROOT``.
    at, above : int
        The word and its head; -1 above the root.
    left, right : tuple of int
        Dependents before and after the word, from left to right.
    """

    words: Sequence[str]
    tags: Sequence[str]
    at: int
    above: int
    left: tuple[int, ...]
    right: tuple[int, ...]


def arcs(head: HeadContext) -> Iterator[Feature]:
    """Yield words and tags at both ends of each arc, with direction and distance."""
    words, tags, h = head.words, head.tags, head.at
    for m in (*head.left, *head.right):
        far = max(-MAX_DISTANCE, min(m - h, MAX_DISTANCE))
        yield "arc tags", tags[h], tags[m], far
        yield "arc words", words[h], words[m]
        yield "arc word tag", words[h], tags[m], m > h
        yield "arc tag word", tags[h], words[m], m > h


def dependents(head: HeadContext) -> Iterator[Feature]:
    """Yield pairs of neighbouring dependents on each side of a word."""
    words, tags, h = head.words, head.tags, head.at
    for side in (head.left[::-1], head.right):
        for a, b in pairwise((0, *side)):
            name, word = (tags[a], words[a]) if a else (NONE, NONE)
            yield "siblings", tags[h], name, tags[b], b > h
            yield "siblings word", words[h], name, tags[b], b > h
            yield "siblings words", word, words[b], b > h
        if side:
            yield "last", tags[h], tags[side[-1]], side[-1] > h


def grandparents(head: HeadContext) -> Iterator[Feature]:
    """Yield each dependent with its head and the head of that."""
    if head.above < 0:
        return
    words, tags, h, g = head.words, head.tags, head.at, head.above
    for m in (*head.left, *head.right):
        sides = g < h, h < m
        yield "grandparent", tags[g], tags[h], tags[m], *sides
        yield "grandparent word", words[g], tags[h], tags[m], *sides
        yield "grandparent low word", tags[g], tags[h], words[m], *sides
        yield "grandparent words", words[g], words[m], *sides


def numbers(head: HeadContext) -> Iterator[Feature]:
    """Yield the number of dependents on each side."""
    sides = min(len(head.left), MAX_DISTANCE), min(len(head.right), MAX_DISTANCE)
    yield "number", head.tags[head.at], *sides
    yield "number word", head.words[head.at], *sides


def frames(head: HeadContext) -> Iterator[Feature]:
    """Yield the tags of all dependents."""
    tags = head.tags
    below = tuple(tags[m] for m in head.left), tuple(tags[m] for m in head.right)
    yield "frame", tags[head.at], *below[0], NONE, *below[1]
    yield "frame left", tags[head.at], *below[0]
    yield "frame right", tags[head.at], *below[1]


DEPENDENCY_FEATURES: tuple[Callable[[HeadContext], Iterator[Feature]], ...] = (
    arcs,
    dependents,
    grandparents,
    numbers,
    frames,
)


def tree_heads(heads: Sequence[int]) -> list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Return each word with its head and its dependents on both sides, the root first.

    Examples
    --------
    >>> tree_heads([2, 0, 2])
    [(0, -1, (), (2,)), (1, 2, (), ()), (2, 0, (1,), (3,)), (3, 2, (), ())]
    """
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for m, h in enumerate(heads, 1):
        below[h].append(m)
    above = (-1, *heads)
    return [
        (h, above[h], tuple(m for m in row if m < h), tuple(m for m in row if m > h)) for h, row in enumerate(below)
    ]
