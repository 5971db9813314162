"""What a reranker sees of a tree: features of phrases, in the manner of Collins and of Charniak & Johnson.

A feature is a tuple that begins with the name of its kind, and its value is how often it occurs in the tree. Each kind
is a small function of a :class:`Place`: a phrase, where it stands, and the labels of the two phrases above it. Trees of
one list share most of their parts, and so the features of a part are found once.

References
----------
Collins (2000), Discriminative reranking for natural language parsing. Charniak, Johnson (2005), Coarse-to-fine n-best
parsing and MaxEnt discriminative reranking, section 4
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.syntax.heads import PUNCTUATION, head_child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.syntax.brackets import Phrase

Feature = tuple[str | int | bool, ...]
SCORE: Feature = ("score",)
"""What the parser thinks of a tree: its logarithm of a probability, or another score."""
EDGE = "-"
"""Beyond the first and the last word, or child."""
COORDINATING = ("CC", "CONJP")


class Core(NamedTuple):
    """What is known of a phrase wherever it stands: its words, its lexical head, and the labels along its sides."""

    size: int
    head_word: str
    head_tag: str
    head: int
    labels: tuple[str, ...]
    left_side: tuple[str, ...]
    right_side: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A phrase in a sentence.

    Attributes
    ----------
    phrase : Phrase
        Not a tag.
    start, end : int
        First word, and the word after the last.
    parent, grandparent : str
        Labels above.
    core : Core
        Of the phrase.
    children : tuple of Core
        Of those below, tags among them.
    words : sequence of str
        Of the sentence.
    """

    phrase: Phrase
    start: int
    end: int
    parent: str
    grandparent: str
    core: Core
    children: tuple[Core, ...]
    words: Sequence[str]


def bucket(number: int) -> int:
    """Give 1, 2, 3, 5 for 3 to 5, 10 for 6 to 10, 20 for 11 to 20, and 21 for more; 0 for 0.

    Examples
    --------
    >>> [bucket(number) for number in (0, 1, 4, 9, 11, 30)]
    [0, 1, 5, 10, 20, 21]
    """
    return number if number <= 3 else next((edge for edge in (5, 10, 20) if number <= edge), 21)


def rules(at: Place) -> Iterator[Feature]:
    """Give label and labels below; with the label above, with two, with the head's tag, with the head's word."""
    label, labels = at.phrase.label, at.core.labels
    yield "rule", label, *labels
    yield "rule parent", at.parent, label, *labels
    yield "rule grandparent", at.grandparent, at.parent, label, *labels
    yield "rule tag", at.core.head_tag, label, *labels
    yield "rule word", at.core.head_word, label, *labels


def siblings(at: Place) -> Iterator[Feature]:
    """Give two and three labels below that stand side by side, and whether the head is among or before them."""
    label, head = at.phrase.label, at.core.head
    row = (EDGE, *at.core.labels, EDGE)
    for i in range(len(row) - 1):
        yield "two", label, row[i], row[i + 1], (head + 1 > i) - (head + 1 < i)
    for i in range(len(row) - 2):
        yield "three", label, row[i], row[i + 1], row[i + 2], (head + 1 > i) - (head + 1 < i)


def heads(at: Place) -> Iterator[Feature]:
    """Give the lexical heads of each child that is not the head and of the phrase: words, tags, and one of each."""
    label, core = at.phrase.label, at.core
    for i, (child, name) in enumerate(zip(at.children, core.labels, strict=True)):
        if i == core.head or name in PUNCTUATION:
            continue
        side = i > core.head
        yield "heads tags", label, name, core.head_tag, child.head_tag, side
        yield "heads words", label, core.head_word, child.head_word, side
        yield "heads word tag", label, name, core.head_word, child.head_tag, side
        yield "heads tag word", label, name, core.head_tag, child.head_word, side
        yield "projection", child.head_word, name, label, side


def above_head(at: Place) -> Iterator[Feature]:
    """Give the head of a phrase, and the labels of and above it."""
    core, label = at.core, at.phrase.label
    yield "head tag", core.head_tag, label, at.parent
    yield "head word", core.head_word, label, at.parent
    yield "head word two", core.head_word, label, at.parent, at.grandparent


def seams(at: Place) -> Iterator[Feature]:
    """Give the smallest tree over two neighbouring words: labels down both sides of the seam, alone and with a word."""
    for (i, left), right in zip(enumerate(at.children), at.children[1:], strict=False):
        name = at.phrase.label
        yield "seam", name, *left.right_side, EDGE, *right.left_side
        middle = at.start + sum(child.size for child in at.children[: i + 1])
        yield "seam left", at.words[middle - 1], name, left.right_side[0], right.left_side[0]
        yield "seam right", at.words[middle], name, left.right_side[0], right.left_side[0]
        yield "seam words", name, at.words[middle - 1], at.words[middle]


def heaviness(at: Place) -> Iterator[Feature]:
    """Tell how long a phrase is, how far it is from the end, and the punctuation that follows it."""
    size, rest = bucket(at.core.size), len(at.words) - at.end
    after = at.words[at.end] if rest else EDGE
    mark = after if not after[0].isalnum() else "word"
    yield "heavy", at.phrase.label, size, bucket(rest), mark
    yield "heavy parent", at.phrase.label, at.parent, size


def neighbours(at: Place) -> Iterator[Feature]:
    """Give the words before and after a phrase."""
    label = at.phrase.label
    before = at.words[at.start - 1] if at.start else EDGE
    after = at.words[at.end] if at.end < len(at.words) else EDGE
    yield "before", label, at.parent, before
    yield "after", label, at.parent, after
    yield "around", label, bucket(at.core.size), before, after


def edges(at: Place) -> Iterator[Feature]:
    """Give the first and the last word and tag of a phrase."""
    label, core = at.phrase.label, at.core
    yield "first", label, bucket(core.size), at.words[at.start]
    yield "last", label, bucket(core.size), at.words[at.end - 1]
    yield "edge tags", label, core.left_side[-1], core.right_side[-1], bucket(core.size)


def parallels(at: Place) -> Iterator[Feature]:
    """Tell of a coordination whether neighbouring conjuncts are alike, to what depth, and which is longer."""
    labels, below = at.core.labels, at.phrase.below
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


KINDS: tuple[Callable[[Place], Iterator[Feature]], ...] = (
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
"""Functions of phrases; features of tags are :func:`of_tag`, of whole trees :func:`of_tree`."""


def of_tag(tag: str, word: str, parent: str, grandparent: str) -> Iterator[Feature]:
    """Give a word with its tag, and with the labels above."""
    yield "word", word, tag
    yield "word parent", word, tag, parent
    yield "word grandparent", word, tag, parent, grandparent


def of_tree(tree: Phrase) -> dict[Feature, int]:
    """Count how many phrases lie on the way from the root to the last word, punctuation apart, and how many do not."""
    total = sum(1 for phrase in tree.walk() if phrase.word is None)
    right, phrase = 0, tree
    while phrase.word is None:
        right += 1
        below = [child for child in phrase.below if child.label not in PUNCTUATION]
        phrase = below[-1] if below else phrase.below[-1]
    return {("right branch",): right, ("other branches",): total - right}


class Featuriser:
    """Finds the features of trees of one sentence, those of shared parts once.

    Parameters
    ----------
    words : sequence of str
    number : callable
        Gives the number of a feature.

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
        self._cores: dict[int, tuple[Phrase, Core]] = {}  # the phrase is kept, so that no other gets its id
        self._found: dict[tuple[int, int, str, str], NDArray[np.int64]] = {}

    def __call__(self, tree: Phrase) -> NDArray[np.int64]:
        """Give the numbers of the features of a tree, each as often as it occurs, those of :func:`of_tree` apart."""
        return self._below(tree, 0, "TOP", EDGE)

    def _core(self, phrase: Phrase) -> Core:
        """Find what is known of a phrase, or look it up."""
        kept = self._cores.get(id(phrase))
        if kept is not None:
            return kept[1]
        label, word = phrase.label, phrase.word
        if word is not None:
            core = Core(1, word, label, 0, (), (label,), (label,))
        else:
            parts = [self._core(child) for child in phrase.below]
            labels = tuple(child.label for child in phrase.below)
            head = head_child(label, labels)
            core = Core(
                sum(part.size for part in parts),
                parts[head].head_word,
                parts[head].head_tag,
                head,
                labels,
                (label, *parts[0].left_side),
                (label, *parts[-1].right_side),
            )
        self._cores[id(phrase)] = phrase, core
        return core

    def _below(self, phrase: Phrase, start: int, parent: str, grandparent: str) -> NDArray[np.int64]:
        """Give the features of a phrase and of all below it."""
        key = id(phrase), start, parent, grandparent
        if key in self._found:
            return self._found[key]
        if phrase.word is not None:
            numbers = np.array([self._number(x) for x in of_tag(phrase.label, phrase.word, parent, grandparent)])
        else:
            core = self._core(phrase)
            children = tuple(self._core(child) for child in phrase.below)
            at = Place(phrase, start, start + core.size, parent, grandparent, core, children, self.words)
            own = np.array([self._number(x) for kind in KINDS for x in kind(at)])
            parts, first = [own], start
            for child, inner in zip(phrase.below, children, strict=True):
                parts.append(self._below(child, first, phrase.label, parent))
                first += inner.size
            numbers = np.concatenate(parts)
        self._cores.setdefault(id(phrase), (phrase, self._core(phrase)))
        self._found[key] = numbers
        return numbers
