r"""Dependency parsing: unlabelled and labelled attachment scores.

.. math:: \text{UAS} = \frac{\#\{m : h_m = \hat h_m\}}{\#\{m\}}, \qquad
          \text{LAS} = \frac{\#\{m : h_m = \hat h_m, \; l_m = \hat l_m\}}{\#\{m\}}

over the words of all sentences (micro-averaged), with and without punctuation. Punctuation is defined by the tag
``PUNCT`` in the treebank. The shared tasks of 2017 and 2018 include punctuation and ignore subtypes of relations, so
that ``nsubj:pass`` counts as ``nsubj``; ``subtypes=False`` does the latter. Earlier work excludes punctuation.

References
----------
Buchholz, Marsi (2006), CoNLL-X shared task on multilingual dependency parsing. Zeman et al. (2018), CoNLL 2018 shared
task: multilingual parsing from raw text to universal dependencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from polyadic.core.annotations import Ints32
from polyadic.core.errors import InputError
from polyadic.metrics.figures import Figure
from polyadic.metrics.rows import KindCounts, check_same_number, count_rows, counts_by_kind

PUNCTUATION = "PUNCT"  # universal part-of-speech tag of punctuation
BINS = ((1, 1), (2, 2), (3, 3), (4, 6), (7, 10))
"""Groups of arc lengths in words; longer arcs are the last group, roots a group of their own."""


class Parsed(Protocol):
    """Parsed sentence with the head (from 1; 0 for a root) and the relation of each word."""

    @property
    def heads(self) -> Ints32:
        """Position of the head of each word, starting at 1, or 0 for a root."""

    @property
    def relations(self) -> Sequence[str]:
        """Relation of each word to its head."""


class Annotated(Parsed, Protocol):
    """Treebank sentence with heads, relations and parts of speech."""

    @property
    def upos(self) -> Sequence[str]:
        """Universal part-of-speech tag of each word."""


class Written(Annotated, Protocol):
    """Annotated sentence read from a file, with word forms."""

    @property
    def forms(self) -> Sequence[str]:
        """Form of each word."""


class Attached(NamedTuple):
    """Counts of correct heads and relations in a sentence, including or (prefix ``plain_``) excluding punctuation.

    Attributes
    ----------
    words, plain_words : int
        Number of words.
    heads, plain_heads : int
        Number of words with the correct head.
    both, plain_both : int
        Number of words with the correct head and relation.

    Examples
    --------
    >>> Attached(words=4, heads=3, both=2, plain_words=3, plain_heads=2, plain_both=1).uas
    0.75
    """

    words: int
    heads: int
    both: int
    plain_words: int
    plain_heads: int
    plain_both: int

    @property
    def uas(self) -> float:
        """Share of words with the correct head."""
        return self.heads / self.words


class DependencyScore(NamedTuple):
    """Attachment scores of a corpus."""

    uas: float
    las: float
    """Unlabelled and labelled attachment score."""
    plain_uas: float
    plain_las: float
    """Scores without punctuation; NaN if there are no other words."""
    exact: float
    exact_labelled: float
    """Share of sentences in which all words, including punctuation, are correct."""
    words: int
    sentences: int
    """Number of words and sentences."""

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as a dictionary for JSON; undefined scores are None."""
        return {name: None if math.isnan(value) else value for name, value in self._asdict().items()}


def match_trees(gold: Annotated, predicted: Parsed, *, subtypes: bool = True) -> Attached:
    """Count the words of a predicted parse whose head and relation are the same as in the treebank.

    InputError is raised if the numbers of words differ.

    Parameters
    ----------
    gold : sentence with ``heads``, ``relations`` and ``upos``, such as a :class:`~polyadic.syntax.trees.Tree`
        Sentence of the treebank.
    predicted : sentence with ``heads`` and ``relations``
        Predicted parse.
    subtypes : bool
        Whether subtypes of relations (after the colon) must match.

    Examples
    --------
    >>> from types import SimpleNamespace as Sentence
    >>> heads, upos = np.array([2, 0, 2]), ("NOUN", "VERB", "PUNCT")
    >>> gold = Sentence(heads=heads, relations=("nsubj:pass", "root", "punct"), upos=upos)
    >>> predicted = Sentence(heads=np.array([2, 0, 1]), relations=("nsubj", "root", "punct"))
    >>> match_trees(gold, predicted)
    Attached(words=3, heads=2, both=1, plain_words=2, plain_heads=2, plain_both=1)
    >>> match_trees(gold, predicted, subtypes=False).both
    2
    """
    _check_lengths(gold, predicted)
    heads = np.asarray(gold.heads) == np.asarray(predicted.heads)
    pairs = zip(gold.relations, predicted.relations, strict=True)
    both = heads & np.fromiter(
        (_named(a, subtypes=subtypes) == _named(b, subtypes=subtypes) for a, b in pairs), bool, len(heads)
    )
    plain = np.fromiter((tag != PUNCTUATION for tag in gold.upos), bool, len(heads))
    counts = [len(heads), heads.sum(), both.sum(), plain.sum(), (heads & plain).sum(), (both & plain).sum()]
    return Attached(*map(int, counts))


def match_files(
    gold: Sequence[Written], predicted: Sequence[Written], *, subtypes: bool = True, name: str = "parses"
) -> list[Attached]:
    """Count the correct heads and relations in each sentence of two files, which must contain the same words.

    The sentences are those of :func:`match_trees`, with ``forms``; ``name`` is that of the second file in messages.
    InputError is raised if the numbers of sentences or the words differ.
    """
    if len(gold) != len(predicted):
        raise InputError(
            f"{name} must have the same number of sentences as the treebank, {len(gold):,}; got {len(predicted):,}"
        )
    for at, (sentence, parse) in enumerate(zip(gold, predicted, strict=True), 1):
        if tuple(sentence.forms) != tuple(parse.forms):
            raise InputError(f"{name}: the words of sentence {at} differ from the words in the treebank")
    return [match_trees(sentence, parse, subtypes=subtypes) for sentence, parse in zip(gold, predicted, strict=True)]


def dependency_score(sentences: Iterable[Attached]) -> DependencyScore:
    """Compute the attachment scores of a corpus from the counts of each sentence.

    InputError is raised if there are no words.

    Examples
    --------
    >>> dependency_score([Attached(4, 3, 2, 3, 2, 1), Attached(1, 1, 1, 1, 1, 1)])[:6]
    (0.8, 0.6, 0.75, 0.5, 0.5, 0.5)
    """
    rows = count_rows(sentences, Attached, "words")
    words, heads, both, plain_words, plain_heads, plain_both = rows.sum(axis=0).tolist()
    plain_uas, plain_las = ((n / plain_words if plain_words else math.nan) for n in (plain_heads, plain_both))
    exact, labelled = (float((rows[:, column] == rows[:, 0]).mean()) for column in (1, 2))
    return DependencyScore(heads / words, both / words, plain_uas, plain_las, exact, labelled, words, len(rows))


def dependency_figures(sentences: Iterable[Attached]) -> list[Figure]:
    """Return UAS and LAS, with and without punctuation, as metrics with bootstrap confidence intervals over sentences.

    Parameters and errors are those of :func:`dependency_score`.

    Examples
    --------
    >>> figures = dependency_figures([Attached(4, 3, 2, 3, 2, 1), Attached(1, 1, 1, 1, 1, 1)])
    >>> {figure.name: figure.value for figure in figures}
    {'UAS': 0.8, 'LAS': 0.6, 'UAS without punctuation': 0.75, 'LAS without punctuation': 0.5}
    """
    rows = count_rows(sentences, Attached, "words")
    names = {"UAS": (1, 0), "LAS": (2, 0), "UAS without punctuation": (4, 3), "LAS without punctuation": (5, 3)}
    return [
        Figure(name, rows[:, columns].astype(float), used=int(rows[:, columns[1]].sum()), total=int(rows[:, 0].sum()))
        for name, columns in names.items()
    ]


def by_relation(gold: Sequence[Annotated], predicted: Sequence[Parsed], *, subtypes: bool = True) -> list[KindCounts]:
    """Count gold, predicted and correct arcs for each relation, the most frequent relation first.

    Sentences and ``subtypes`` are as in :func:`match_trees`; InputError is raised if numbers of sentences or words
    differ.

    Examples
    --------
    >>> from types import SimpleNamespace as Sentence
    >>> gold = Sentence(heads=np.array([2, 0]), relations=("nsubj", "root"), upos=("NOUN", "VERB"))
    >>> predicted = Sentence(heads=np.array([2, 0]), relations=("obj", "root"))
    >>> by_relation([gold], [predicted])[0]
    KindCounts(name='nsubj', gold=1, found=0, matched=0)
    """
    return _by_kind(gold, predicted, lambda _, __, relation: _named(relation, subtypes=subtypes))


def by_distance(gold: Sequence[Annotated], predicted: Sequence[Parsed]) -> list[KindCounts]:
    """Count gold, predicted and correct arcs for each range of arc lengths, in ascending order of length.

    Parameters and errors are those of :func:`by_relation`.

    Examples
    --------
    >>> from types import SimpleNamespace as Sentence
    >>> gold = Sentence(heads=np.array([2, 0, 2]), relations=("_",) * 3, upos=("_",) * 3)
    >>> predicted = Sentence(heads=np.array([3, 0, 2]), relations=("_",) * 3)
    >>> [(row.name, row.gold, row.found, row.matched) for row in by_distance([gold], [predicted])]
    [('root', 1, 1, 1), ('1', 2, 1, 1), ('2', 0, 1, 0)]
    """
    order = ["root", *map(_bin_name, BINS), _LONGER]

    def length(word: int, head: int, _: str) -> str:
        named = (_bin_name(ends) for ends in BINS if ends[0] <= abs(word - head) <= ends[1])
        return next(named, _LONGER) if head else "root"

    return sorted(_by_kind(gold, predicted, length), key=lambda row: order.index(row.name))


_LONGER = f"over {BINS[-1][1]}"


def _bin_name(ends: tuple[int, int]) -> str:
    low, high = ends
    return str(low) if low == high else f"{low} to {high}"


def _named(relation: str, *, subtypes: bool) -> str:
    return relation if subtypes else relation.partition(":")[0]


def _by_kind(
    gold: Sequence[Annotated], predicted: Sequence[Parsed], kind: Callable[[int, int, str], str]
) -> list[KindCounts]:
    """Count gold, predicted and matching arcs by kind; arcs match if word, head and kind are equal."""
    check_same_number(gold, predicted)

    def arcs(sentence: Parsed) -> set[tuple[int, int, str]]:
        numbered = enumerate(zip(np.asarray(sentence.heads).tolist(), sentence.relations, strict=True), 1)
        return {(word, head, kind(word, head, relation)) for word, (head, relation) in numbered}

    pairs = [*zip(gold, predicted, strict=True)]
    for sentence, parse in pairs:
        _check_lengths(sentence, parse)
    return counts_by_kind(((arcs(sentence), arcs(parse)) for sentence, parse in pairs), lambda arc: arc[2])


def _check_lengths(gold: Parsed, predicted: Parsed) -> None:
    if len(gold.heads) != len(predicted.heads):
        raise InputError(
            f"both parses must have the same number of words; got {len(gold.heads)} and {len(predicted.heads)}"
        )
