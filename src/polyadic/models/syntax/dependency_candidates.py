"""Lists of the k best dependency trees of each sentence of a treebank, and how good each candidate is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from polyadic.models.syntax.dependency import ArcFactored
from polyadic.models.syntax.phrase_candidates import folded, parsed
from polyadic.text.syntax.dependency_features import KINDS, ROOT, Head, tree_heads
from polyadic.text.syntax.rerank_features import SCORE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.text.syntax.rerank_features import Feature
    from polyadic.text.syntax.trees import Tree


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
        An :class:`~polyadic.models.syntax.dependency.ArcFactored`, a
        :class:`~polyadic.models.syntax.low_rank_parser.LowRankParser` or a
        :class:`~polyadic.models.syntax.higher_order.HigherOrderParser`, fitted, on other sentences.
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
        See :func:`~polyadic.models.syntax.phrase_candidates.folded`.
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
