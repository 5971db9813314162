"""Lists of the k best trees of the sentences of a treebank, with the quality of each candidate.

Candidates of training sentences come from parsers trained on the other folds (jackknifing), because a parser is too
accurate on its own training sentences. Folds are blocks of neighbouring sentences, which often share an article.

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

from experiments.cao2014.features import (
    DEPENDENCY_FEATURES,
    ROOT,
    SCORE,
    Featuriser,
    HeadContext,
    of_tree,
    tree_heads,
)
from polyadic.core.errors import InputError, check_int
from polyadic.core.files import whole_file
from polyadic.core.progress import bar
from polyadic.core.resources import MAX_THREADS
from polyadic.core.streams import blocks, lines, open_bytes
from polyadic.metrics.brackets import MatchedBrackets, counted, match_counted
from polyadic.syntax.brackets import Phrase, bracketing, parse_phrase
from polyadic.syntax.dependency import ArcFactored
from polyadic.syntax.grammar import Parse
from polyadic.syntax.pcfg import PCFG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from experiments.cao2014.features import Feature
    from polyadic.syntax.trees import Tree

    Path = str | os.PathLike[str]

Item = TypeVar("Item")
Proposed = TypeVar("Proposed")


class Candidates(NamedTuple):
    """Candidate constituency trees of a sentence.

    Attributes
    ----------
    gold : Phrase
        Tree of the treebank.
    parses : list of Parse
        Candidates, best first.
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
        """Return the ids of the counted features and the values of the real-valued features of each candidate."""
        featurise = Featuriser(self.gold.words(), number)
        rows = [featurise(parse.tree) for parse in self.parses]
        return rows, [{SCORE: parse.log_probability, **of_tree(parse.tree)} for parse in self.parses]


def match_candidates(gold: Phrase, parses: list[Parse]) -> Candidates:
    """Compare candidates with the tree of the treebank."""
    wanted = bracketing(gold)
    brackets = counted(wanted.spans, wanted.tags)
    counts = [match_counted(brackets, wanted.tags, bracketing(parse.tree)) for parse in parses]
    return Candidates(gold, parses, np.array(counts, np.int64))


def propose(parser: PCFG, trees: Sequence[Phrase], *, k: int = 50, threads: int = 1) -> list[Candidates]:
    """Parse the words of trees with a parser trained on other sentences, and evaluate up to ``k`` candidates each."""

    def proposed(gold: Phrase) -> Candidates:
        return match_candidates(gold, parser.k_best(gold.words(), k=k))

    return parse_all(proposed, trees, threads=threads)


def parse_all(parse: Callable[[Item], Proposed], sentences: Sequence[Item], *, threads: int) -> list[Proposed]:
    """Apply a parser to sentences in several threads; return the results in order."""
    check_int("threads", threads, low=1, high=MAX_THREADS)
    results = []
    with bar("parsing", len(sentences), unit="sentences") as advance, ThreadPoolExecutor(threads) as pool:
        try:
            for result in pool.map(parse, sentences) if threads > 1 else map(parse, sentences):
                results.append(result)
                advance()
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C no further sentence is parsed
    return results


def fold_splits(trees: Sequence[Item], folds: int) -> Iterator[tuple[list[Item], Sequence[Item]]]:
    """Yield the training and test part of each fold; folds are contiguous and differ in size by at most one.

    Examples
    --------
    >>> list(fold_splits("abcd", 2))
    [(['c', 'd'], 'ab'), (['a', 'b'], 'cd')]
    """
    check_int("folds", folds, low=2)
    if len(trees) < folds:
        raise InputError(f"{folds} folds need at least {folds} sentences; got {len(trees)}")
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
    """Return candidates of training sentences, each from a parser made by ``parser`` and fitted to the other folds."""
    lists: list[Candidates] = []
    for rest, fold in fold_splits(trees, folds):
        lists += propose(parser().fit(rest), fold, k=k, threads=threads)
    return lists


def selected_counts(lists: Sequence[Candidates], choice: Sequence[int] | None = None) -> NDArray[np.int64]:
    """Return the counts of the selected candidate of each sentence, by default the parser's first.

    The result is input of :func:`~polyadic.metrics.brackets.bracket_score`.
    """
    places = [0] * len(lists) if choice is None else choice
    return np.stack([candidates.counts[at] for candidates, at in zip(lists, places, strict=True)])


def oracle_counts(lists: Sequence[Candidates]) -> NDArray[np.int64]:
    """Return the counts of the candidate with the highest F of each sentence; ties go to the parser's order."""
    return selected_counts(lists, [int(np.argmin(candidates.costs)) for candidates in lists])


def write_lists(path: Path, lists: Sequence[Candidates]) -> None:
    """Write candidates as compressed JSON lines: per sentence its tree, and trees with log-probabilities."""
    with whole_file(path) as draft, gzip.GzipFile(draft, "wb", compresslevel=4, mtime=0) as file:
        for gold, parses, _ in lists:
            row = {"gold": str(gold), "parses": [[str(tree), value] for tree, value in parses]}
            file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def read_lists(path: Path) -> Iterator[Candidates]:
    """Read the candidates that :func:`write_lists` wrote."""
    name = os.fspath(path)
    with open_bytes(name) as stream:
        for number, line in enumerate(lines(blocks(stream, name)), 1):
            try:
                row = json.loads(line)
                known: dict[tuple[str, tuple[int | str, ...]], Phrase] = {}
                gold = parse_phrase(row["gold"])
                parses = [Parse(shared(parse_phrase(tree), known), float(value)) for tree, value in row["parses"]]
                _check(gold, parses)
                candidates = match_candidates(gold, parses)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise InputError(f"{path}, line {number} is not a list of parses: {error}") from None
            yield candidates


def shared(tree: Phrase, known: dict[tuple[str, tuple[int | str, ...]], Phrase]) -> Phrase:
    """Return an equal tree that shares equal subtrees with trees seen before, which ``known`` collects.

    Examples
    --------
    >>> known = {}
    >>> one, other = (shared(parse_phrase(text), known) for text in ("(S (NN a) (NN b))", "(X (NN a))"))
    >>> one.below[0] is other.below[0]
    True
    """
    if tree.word is not None:
        return known.setdefault((tree.label, (tree.word,)), tree)
    below = tuple(shared(child, known) for child in tree.below)
    return known.setdefault((tree.label, tuple(map(id, below))), Phrase(tree.label, below))


def _check(gold: Phrase, parses: Sequence[Parse]) -> None:
    words = gold.words()
    if not parses:
        raise InputError("there are no candidates")
    for place, (tree, value) in enumerate(parses, 1):
        if tree.words() != words:
            raise InputError(f"candidate {place} has different words than the tree of the treebank")
        if not math.isfinite(value):
            raise InputError(f"candidate {place} has a log-probability of {value}")


class CandidateParser(Protocol):
    """Protocol of a fitted parser that lists dependency trees."""

    interrupted_: bool

    def candidates(self, tree: Tree, *, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return heads and scores of the best trees of a sentence, best first; its own heads are ignored."""


class UnfittedParser(Protocol):
    """Protocol of a parser that is not fitted."""

    def fit(self, trees: Iterable[Tree]) -> CandidateParser:
        """Fit the parser to sentences."""


class DependencyCandidates(NamedTuple):
    """Candidate dependency trees of a sentence.

    Attributes
    ----------
    gold : Tree
        Tree of the treebank.
    heads : ndarray of int32 of shape (candidates, n)
        Candidates, best first.
    scores : ndarray of shape (candidates,)
        Scores of the parser.
    """

    gold: Tree
    heads: NDArray[np.int32]
    scores: NDArray[np.float64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of words with the correct head, punctuation included, and number of words; shape (candidates, 2)."""
        right = (self.heads == self.gold.heads).sum(axis=1)
        return np.stack([right, np.full(len(right), len(self.gold))], axis=1).astype(np.int64)

    @property
    def costs(self) -> NDArray[np.float64]:
        """Share of words with a wrong head."""
        right, words = self.counts.T
        return np.asarray(1 - right / words)

    def describe(self, number: Callable[[Feature], int]) -> tuple[list[NDArray[np.int64]], list[dict[Feature, float]]]:
        """Return the ids of the counted features and the values of the real-valued features of each candidate."""
        words, tags = (ROOT, *self.gold.forms), (ROOT, *self.gold.xpos)
        known: dict[tuple[int, int, tuple[int, ...], tuple[int, ...]], list[int]] = {}
        rows = []
        for heads in self.heads.tolist():
            numbers: list[int] = []
            for place in tree_heads(heads):
                if place not in known:
                    head = HeadContext(words, tags, *place)
                    known[place] = [number(feature) for kind in DEPENDENCY_FEATURES for feature in kind(head)]
                numbers += known[place]
            rows.append(np.array(numbers, np.int64))
        return rows, [{SCORE: score} for score in self.scores.tolist()]


def propose_dependencies(
    parser: CandidateParser, trees: Sequence[Tree], *, k: int = 50, threads: int = 1
) -> list[DependencyCandidates]:
    """Parse sentences with their treebank tags, and lemmas and morphology if the parser uses them."""

    def propose(tree: Tree) -> DependencyCandidates:
        return DependencyCandidates(tree, *parser.candidates(tree, k=k))

    return parse_all(propose, trees, threads=threads)


def jackknife_dependencies(
    trees: Sequence[Tree],
    *,
    folds: int = 5,
    k: int = 50,
    threads: int = 1,
    parser: Callable[[], UnfittedParser] = ArcFactored,
) -> list[DependencyCandidates]:
    """Return candidates of training sentences, each from a parser fitted to the other folds.

    Raises KeyboardInterrupt if a fit was interrupted, since its candidates would differ from those of other folds.
    """
    lists: list[DependencyCandidates] = []
    for rest, fold in fold_splits(trees, folds):
        fitted = parser().fit(rest)
        if fitted.interrupted_:
            raise KeyboardInterrupt
        lists += propose_dependencies(fitted, fold, k=k, threads=threads)
    return lists
