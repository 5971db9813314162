"""Lists of the k best trees of each sentence of a treebank, and how good each candidate is.

A parser is too good on the sentences that it has learned from. So the lists of training sentences come from parsers
that have learned from the others: the sentences are cut into folds, neighbours together since they are of one article,
and those of each fold are parsed with the grammar of the rest.

References
----------
Collins (2000), Discriminative reranking for natural language parsing, section 5
"""

from __future__ import annotations

import gzip
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.core.files import whole_file
from polyadic.core.progress import bar
from polyadic.core.resources import MOST_THREADS
from polyadic.metrics.brackets import Bracketing, MatchedBrackets, counted, match_counted
from polyadic.syntax.brackets import Phrase, parse_phrase, shared
from polyadic.syntax.dependency import ArcFactored
from polyadic.syntax.dependency_features import KINDS, ROOT, Head, tree_heads
from polyadic.syntax.derivations import Parse
from polyadic.syntax.pcfg import PCFG
from polyadic.syntax.rerank_features import SCORE, Featuriser, of_tree
from polyadic.text.streams import blocks, lines, open_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.syntax.rerank_features import Feature
    from polyadic.syntax.trees import Tree

    Path = str | os.PathLike[str]

Item = TypeVar("Item")
Proposed = TypeVar("Proposed")


class Candidates(NamedTuple):
    """The candidates of a sentence.

    Attributes
    ----------
    gold : Phrase
        The tree of the treebank.
    parses : list of Parse
        Best first.
    counts : ndarray of int64 of shape (candidates, 5)
        A :class:`~polyadic.metrics.brackets.MatchedBrackets` for each.
    """

    gold: Phrase
    parses: list[Parse]
    counts: NDArray[np.int64]

    @property
    def costs(self) -> NDArray[np.float64]:
        """1 - F of each candidate; shape (candidates,)."""
        return np.array([1 - MatchedBrackets(*row).f1 for row in self.counts.tolist()])

    def describe(self, number: Callable[[Feature], int]) -> tuple[list[NDArray[np.int64]], list[dict[Feature, float]]]:
        """Give the features of each candidate: the numbers of those that are counted, and those that have values.

        Parameters
        ----------
        number : callable
            Gives the number of a feature.
        """
        featurise = Featuriser(self.gold.words(), number)
        rows = [featurise(parse.tree) for parse in self.parses]
        return rows, [{SCORE: parse.log_probability, **of_tree(parse.tree)} for parse in self.parses]


def bracketing(tree: Phrase) -> Bracketing:
    """Give a tree as the metric sees it."""
    tags = tree.tags()
    return Bracketing([tag.word or "" for tag in tags], [tag.label for tag in tags], tree.spans())


def judged(gold: Phrase, parses: list[Parse]) -> Candidates:
    """Compare candidates with the tree of the treebank."""
    wanted = bracketing(gold)
    brackets = counted(wanted.spans, wanted.tags)
    counts = [match_counted(brackets, wanted.tags, bracketing(parse.tree)) for parse in parses]
    return Candidates(gold, parses, np.array(counts, np.int64))


def propose(parser: PCFG, trees: Sequence[Phrase], *, k: int = 50, threads: int = 1) -> list[Candidates]:
    """Parse the words of trees, and judge the candidates.

    Parameters
    ----------
    parser : PCFG
        Fitted, on other sentences.
    trees : sequence of Phrase
        Clean.
    k : int
        Candidates of each sentence, at most.
    threads : int
        Sentences parsed at the same time.
    """

    def proposed(gold: Phrase) -> Candidates:
        return judged(gold, parser.k_best(gold.words(), k=k))

    return parsed(proposed, trees, threads=threads)


def parsed(parse: Callable[[Item], Proposed], sentences: Sequence[Item], *, threads: int) -> list[Proposed]:
    """Parse sentences, some at the same time, and give what was found in their order."""
    check_int("threads", threads, low=1, high=MOST_THREADS)
    results = []
    with bar("parsing", len(sentences), unit="sentences") as advance, ThreadPoolExecutor(threads) as pool:
        try:
            for result in pool.map(parse, sentences) if threads > 1 else map(parse, sentences):
                results.append(result)
                advance()
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C nothing that has not begun is parsed
    return results


def folded(trees: Sequence[Item], folds: int) -> Iterator[tuple[list[Item], Sequence[Item]]]:
    """Give for each block of neighbours all the others, and the block; blocks are of the same size to within one.

    Raises
    ------
    InputError
        If there are fewer sentences than folds.

    Examples
    --------
    >>> list(folded("abcd", 2))
    [(['c', 'd'], 'ab'), (['a', 'b'], 'cd')]
    """
    check_int("folds", folds, low=2)
    if len(trees) < folds:
        raise InputError(f"{folds} folds need as many sentences; got {len(trees)}")
    edges = np.linspace(0, len(trees), folds + 1).round().astype(int).tolist()
    for first, last in pairwise(edges):
        yield [*trees[:first], *trees[last:]], trees[first:last]


def jackknife(
    trees: Sequence[Phrase],
    *,
    folds: int = 10,
    k: int = 50,
    threads: int = 1,
    parser: Callable[[], PCFG] = PCFG,
) -> list[Candidates]:
    """Give lists of training sentences, each from a grammar of the other folds.

    Parameters
    ----------
    trees : sequence of Phrase
        Clean, in the order of the treebank.
    folds : int
        See :func:`folded`.
    k, threads : int
        As for :func:`propose`.
    parser : callable
        Makes a parser that is not fitted.

    Raises
    ------
    InputError
        If there are fewer sentences than folds.
    """
    lists: list[Candidates] = []
    for rest, fold in folded(trees, folds):
        lists += propose(parser().fit(rest), fold, k=k, threads=threads)
    return lists


def chosen(lists: Sequence[Candidates], choice: Sequence[int] | None = None) -> NDArray[np.int64]:
    """Give the counts of one candidate of each sentence, for :func:`~polyadic.metrics.brackets.bracket_score`.

    Parameters
    ----------
    lists : sequence of Candidates
    choice : sequence of int, optional
        The place of the candidate in each list; the parser's own, 0, if not given.

    Returns
    -------
    ndarray of shape (sentences, 5)
    """
    places = [0] * len(lists) if choice is None else choice
    return np.stack([candidates.counts[at] for candidates, at in zip(lists, places, strict=True)])


def oracle(lists: Sequence[Candidates]) -> NDArray[np.int64]:
    """Give the counts of the candidate of highest F of each sentence, of equals the parser's favourite."""
    return chosen(lists, [int(np.argmin(candidates.costs)) for candidates in lists])


def write_lists(path: Path, lists: Sequence[Candidates]) -> None:
    """Write lists, a sentence on each line as JSON, compressed: its tree, and trees and log-probabilities.

    Raises
    ------
    InputError
        If the folder does not exist.
    """
    with whole_file(path) as draft, gzip.GzipFile(draft, "wb", compresslevel=4, mtime=0) as file:
        for gold, parses, _ in lists:
            row = {"gold": str(gold), "parses": [[str(tree), value] for tree, value in parses]}
            file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def read_lists(path: Path) -> Iterator[Candidates]:
    """Read what :func:`write_lists` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, or is no such file: with the line.
    """
    name = os.fspath(path)
    with open_bytes(name) as stream:
        for number, line in enumerate(lines(blocks(stream, name)), 1):
            try:
                row = json.loads(line)
                known: dict[tuple[str, tuple[int | str, ...]], Phrase] = {}
                gold = parse_phrase(row["gold"])
                parses = [Parse(shared(parse_phrase(tree), known), float(value)) for tree, value in row["parses"]]
                _check(gold, parses)
                candidates = judged(gold, parses)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise InputError(f"{path}, line {number} holds no list of parses: {error}") from None
            yield candidates


def _check(gold: Phrase, parses: Sequence[Parse]) -> None:
    words = gold.words()
    if not parses:
        raise InputError("there is no candidate")
    for place, (tree, value) in enumerate(parses, 1):
        if tree.words() != words:
            raise InputError(f"candidate {place} has other words than the tree of the treebank")
        if not math.isfinite(value):
            raise InputError(f"candidate {place} has a log-probability of {value}")


class Proposes(Protocol):
    """A fitted parser that lists trees: what is needed of it."""

    interrupted_: bool

    def candidates(self, tree: Tree, *, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give heads of the best trees of a sentence, best first, and their scores; its own heads are not looked at."""


class Learns(Protocol):
    """A parser that is not fitted."""

    def fit(self, trees: Iterable[Tree]) -> Proposes:
        """Learn from sentences."""


class DependencyCandidates(NamedTuple):
    """The candidates of a sentence.

    Attributes
    ----------
    gold : Tree
        Of the treebank.
    heads : ndarray of int32 of shape (candidates, n)
        Best first.
    scores : ndarray of shape (candidates,)
        Of the parser.
    """

    gold: Tree
    heads: NDArray[np.int32]
    scores: NDArray[np.float64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Words with the right head, punctuation among them, and words; shape (candidates, 2)."""
        right = (self.heads == self.gold.heads).sum(axis=1)
        return np.stack([right, np.full(len(right), len(self.gold))], axis=1).astype(np.int64)

    @property
    def costs(self) -> NDArray[np.float64]:
        """Share of words with a wrong head."""
        right, words = self.counts.T
        return np.asarray(1 - right / words)

    def describe(self, number: Callable[[Feature], int]) -> tuple[list[NDArray[np.int64]], list[dict[Feature, float]]]:
        """Give the features of each candidate: the numbers of those that are counted, and those that have values.

        Parameters
        ----------
        number : callable
            Gives the number of a feature.
        """
        words, tags = (ROOT, *self.gold.forms), (ROOT, *self.gold.xpos)
        known: dict[tuple[int, int, tuple[int, ...], tuple[int, ...]], list[int]] = {}
        rows = []
        for heads in self.heads.tolist():
            numbers: list[int] = []
            for place in tree_heads(heads):
                if place not in known:
                    head = Head(words, tags, *place)
                    known[place] = [number(feature) for kind in KINDS for feature in kind(head)]
                numbers += known[place]
            rows.append(np.array(numbers, np.int64))
        return rows, [{SCORE: score} for score in self.scores.tolist()]


def propose_dependencies(
    parser: Proposes, trees: Sequence[Tree], *, k: int = 50, threads: int = 1
) -> list[DependencyCandidates]:
    """Parse words with the treebank's tags, and its lemmas and morphology if the parser looks at them.

    Parameters
    ----------
    parser : Proposes
        An :class:`~polyadic.syntax.dependency.ArcFactored`, a
        :class:`~polyadic.syntax.low_rank_parser.LowRankParser` or a
        :class:`~polyadic.syntax.higher_order.HigherOrderParser`, fitted, on other sentences.
    trees : sequence of Tree
    k : int
        Candidates of each sentence, at most.
    threads : int
        Sentences parsed at the same time.
    """

    def propose(tree: Tree) -> DependencyCandidates:
        return DependencyCandidates(tree, *parser.candidates(tree, k=k))

    return parsed(propose, trees, threads=threads)


def jackknife_dependencies(
    trees: Sequence[Tree],
    *,
    folds: int = 5,
    k: int = 50,
    threads: int = 1,
    parser: Callable[[], Learns] = ArcFactored,
) -> list[DependencyCandidates]:
    """Give lists of training sentences, each from a parser that has learned from the other folds.

    Parameters
    ----------
    trees : sequence of Tree
    folds : int
        See :func:`~polyadic.syntax.candidates.folded`.
    k, threads : int
        As for :func:`propose_dependencies`.
    parser : callable
        Makes a parser that is not fitted.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C ended the fit of a parser: its lists would be unlike those of the other folds.
    """
    lists: list[DependencyCandidates] = []
    for rest, fold in folded(trees, folds):
        fitted = parser().fit(rest)
        if fitted.interrupted_:
            raise KeyboardInterrupt
        lists += propose_dependencies(fitted, fold, k=k, threads=threads)
    return lists
