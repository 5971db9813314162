r"""Dependency parsing: how many words have the head, and the relation to it, that the treebank gives them.

.. math:: \text{UAS} = \frac{\#\{m : h_m = \hat h_m\}}{\#\{m\}}, \qquad
          \text{LAS} = \frac{\#\{m : h_m = \hat h_m, \; l_m = \hat l_m\}}{\#\{m\}}

over the words of all sentences (micro-averaged), once with punctuation and once without. Punctuation is what the
treebank tags ``PUNCT``, whatever the parser says. The shared tasks of 2017 and 2018 count punctuation, and look at
relations without their subtypes, so that ``nsubj:pass`` is ``nsubj``; ``subtypes=False`` does the latter. Earlier work
left punctuation out.

References
----------
Buchholz, Marsi (2006), CoNLL-X shared task on multilingual dependency parsing. Zeman et al. (2018), CoNLL 2018 shared
task: multilingual parsing from raw text to universal dependencies.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from polyadic.core.errors import InputError
from polyadic.metrics.figures import Figure
from polyadic.metrics.rows import KindCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

PUNCTUATION = "PUNCT"
"""The universal part of speech of words that some figures leave out."""
BINS = ((1, 1), (2, 2), (3, 3), (4, 6), (7, 10))
"""Words from one end of an arc to the other, grouped; what is longer is the last group, the root one of its own."""


class Parsed(Protocol):
    """A sentence whose words have heads, from 1 and 0 for a root, and relations to them."""

    @property
    def heads(self) -> NDArray[np.int32]:
        """Number of the word above each."""

    @property
    def relations(self) -> Sequence[str]:
        """How each word depends on its head."""


class Annotated(Parsed, Protocol):
    """A sentence of the treebank, whose words have parts of speech too."""

    @property
    def upos(self) -> Sequence[str]:
        """Universal part of speech of each word."""


class Written(Annotated, Protocol):
    """A sentence of a file, with its words."""

    @property
    def forms(self) -> Sequence[str]:
        """Words."""


class Attached(NamedTuple):
    """Words of a sentence; those with the right head; those with the right relation to it too.

    The last three are the same without punctuation.

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
        """Share of words with the right head."""
        return self.heads / self.words


class DependencyScore(NamedTuple):
    """Figures of a corpus.

    Attributes
    ----------
    uas, las : float
        Unlabelled and labelled attachment score.
    plain_uas, plain_las : float
        Without punctuation; NaN if there is nothing else.
    exact, exact_labelled : float
        Share of sentences all of whose words, punctuation among them, are right.
    words, sentences : int
    """

    uas: float
    las: float
    plain_uas: float
    plain_las: float
    exact: float
    exact_labelled: float
    words: int
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        """Give the figures for JSON; what is undefined is None."""
        return {name: None if math.isnan(value) else value for name, value in self._asdict().items()}


def match_trees(gold: Annotated, predicted: Parsed, *, subtypes: bool = True) -> Attached:
    """Compare a sentence with the treebank.

    Parameters
    ----------
    gold : sentence with ``heads``, ``relations`` and ``upos``, such as a :class:`~polyadic.syntax.trees.Tree`
    predicted : sentence with ``heads`` and ``relations``
    subtypes : bool
        Whether relations must be equal beyond the colon.

    Raises
    ------
    InputError
        If they are not of as many words.

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
    """Compare the sentences of two files, which must have the same words.

    Parameters
    ----------
    gold, predicted : sequences of sentences
        As :func:`match_trees` takes them, with ``forms``, such as a :class:`~polyadic.syntax.trees.Tree` is.
    subtypes : bool
    name : str
        What messages call the second file.

    Raises
    ------
    InputError
        If they are not as many, or not of the same words.
    """
    if len(gold) != len(predicted):
        raise InputError(f"{name} has {len(predicted):,} sentences, the treebank {len(gold):,}")
    for at, (sentence, parse) in enumerate(zip(gold, predicted, strict=True), 1):
        if tuple(sentence.forms) != tuple(parse.forms):
            raise InputError(f"{name}: sentence {at} has other words than the treebank's")
    return [match_trees(sentence, parse, subtypes=subtypes) for sentence, parse in zip(gold, predicted, strict=True)]


def dependency_score(sentences: Iterable[Attached]) -> DependencyScore:
    """Give the figures of a corpus from the counts of its sentences.

    Parameters
    ----------
    sentences : iterable of Attached

    Raises
    ------
    InputError
        If there are no words.

    Examples
    --------
    >>> dependency_score([Attached(4, 3, 2, 3, 2, 1), Attached(1, 1, 1, 1, 1, 1)])[:6]
    (0.8, 0.6, 0.75, 0.5, 0.5, 0.5)
    """
    rows = _rows(sentences)
    words, heads, both, plain_words, plain_heads, plain_both = rows.sum(axis=0).tolist()
    plain_uas, plain_las = ((n / plain_words if plain_words else math.nan) for n in (plain_heads, plain_both))
    exact, labelled = (float((rows[:, column] == rows[:, 0]).mean()) for column in (1, 2))
    return DependencyScore(heads / words, both / words, plain_uas, plain_las, exact, labelled, words, len(rows))


def dependency_figures(sentences: Iterable[Attached]) -> list[Figure]:
    """Give UAS and LAS, with and without punctuation, as figures whose units are sentences.

    So they have intervals and can be compared with those of another parser.

    Parameters
    ----------
    sentences : iterable of Attached

    Raises
    ------
    InputError
        If there are no words.

    Examples
    --------
    >>> figures = dependency_figures([Attached(4, 3, 2, 3, 2, 1), Attached(1, 1, 1, 1, 1, 1)])
    >>> {figure.name: figure.value for figure in figures}
    {'UAS': 0.8, 'LAS': 0.6, 'UAS without punctuation': 0.75, 'LAS without punctuation': 0.5}
    """
    rows = _rows(sentences)
    names = {"UAS": (1, 0), "LAS": (2, 0), "UAS without punctuation": (4, 3), "LAS without punctuation": (5, 3)}
    return [
        Figure(name, rows[:, columns].astype(float), used=int(rows[:, columns[1]].sum()), total=int(rows[:, 0].sum()))
        for name, columns in names.items()
    ]


def by_relation(gold: Sequence[Annotated], predicted: Sequence[Parsed], *, subtypes: bool = True) -> list[KindCounts]:
    """Give a row for each relation, the most frequent first; an arc matches if head and relation are right.

    Parameters
    ----------
    gold, predicted : sequences of sentences
        As :func:`match_trees` takes them.
    subtypes : bool

    Raises
    ------
    InputError
        If they are not as many, or not of as many words.

    Examples
    --------
    >>> from types import SimpleNamespace as Sentence
    >>> gold = Sentence(heads=np.array([2, 0]), relations=("nsubj", "root"), upos=("NOUN", "VERB"))
    >>> predicted = Sentence(heads=np.array([2, 0]), relations=("obj", "root"))
    >>> by_relation([gold], [predicted])[0]
    KindCounts(name='nsubj', gold=1, found=0, matched=0)
    """
    return _table(gold, predicted, lambda _, __, relation: _named(relation, subtypes=subtypes), labelled=True)


def by_distance(gold: Sequence[Annotated], predicted: Sequence[Parsed]) -> list[KindCounts]:
    """Give a row for each group of lengths of arcs, short ones first; an arc matches if its head is right.

    Parameters
    ----------
    gold, predicted : sequences of sentences

    Raises
    ------
    InputError
        As in :func:`by_relation`.

    Examples
    --------
    >>> from types import SimpleNamespace as Sentence
    >>> gold = Sentence(heads=np.array([2, 0, 2]), relations=("_",) * 3, upos=("_",) * 3)
    >>> predicted = Sentence(heads=np.array([3, 0, 2]), relations=("_",) * 3)
    >>> [(row.name, row.gold, row.found, row.matched) for row in by_distance([gold], [predicted])]
    [('root', 1, 1, 1), ('1', 2, 1, 1), ('2', 0, 1, 0)]
    """
    order = ["root", *map(_bin_name, BINS), _LONGER]
    rows = _table(gold, predicted, lambda word, head, _: _length(word, head), labelled=False)
    return sorted(rows, key=lambda row: order.index(row.name))


_LONGER = f"over {BINS[-1][1]}"


def _bin_name(ends: tuple[int, int]) -> str:
    low, high = ends
    return str(low) if low == high else f"{low} to {high}"


def _length(word: int, head: int) -> str:
    if not head:
        return "root"
    away = abs(word - head)
    return next((_bin_name((low, high)) for low, high in BINS if low <= away <= high), _LONGER)


def _named(relation: str, *, subtypes: bool) -> str:
    return relation if subtypes else relation.partition(":")[0]


def _arcs(sentence: Parsed) -> Iterator[tuple[int, int, str]]:
    for word, (head, relation) in enumerate(zip(np.asarray(sentence.heads).tolist(), sentence.relations, strict=True)):
        yield word + 1, head, relation


def _table(
    gold: Sequence[Annotated],
    predicted: Sequence[Parsed],
    kind: Callable[[int, int, str], str],
    *,
    labelled: bool,
) -> list[KindCounts]:
    """Count arcs by kind; two match if they have the same head and, if labelled, the same kind."""
    if len(gold) != len(predicted):
        raise InputError(f"each sentence needs a parse; got {len(gold)} sentences and {len(predicted)} parses")
    counts: tuple[Counter[Hashable], ...] = (Counter(), Counter(), Counter())
    for sentence, parse in zip(gold, predicted, strict=True):
        _check_lengths(sentence, parse)
        for arc, guess in zip(_arcs(sentence), _arcs(parse), strict=True):
            a, b = kind(*arc), kind(*guess)
            counts[0][a] += 1
            counts[1][b] += 1
            counts[2][a] += arc[1] == guess[1] and (a == b or not labelled)
    every = sorted(counts[0].keys() | counts[1].keys(), key=lambda name: (-counts[0][name], str(name)))
    return [KindCounts(str(name), *(count[name] for count in counts)) for name in every]


def _check_lengths(gold: Parsed, predicted: Parsed) -> None:
    if len(gold.heads) != len(predicted.heads):
        raise InputError(f"parses of one sentence are compared; got {len(gold.heads)} and {len(predicted.heads)} words")


def _rows(sentences: Iterable[Attached]) -> NDArray[np.int64]:
    rows = np.array(list(sentences), np.int64).reshape(-1, len(Attached._fields))
    if not rows[:, 0].sum():
        raise InputError("there are no words to score")
    return rows
