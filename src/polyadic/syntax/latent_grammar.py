r"""Base class for grammars whose symbols have latent states.

The tensor of a rule has one axis of states per symbol, parent first; a tagged word has a vector:

.. math:: C_{a \to b\,c}[h, i, j] = P(a_h \to b_i\,c_j \mid a_h)

The product of the tensors of a tree, from the words up, is its probability summed over all assignments of states.

References
----------
Matsuzaki, Miyao, Tsujii (2005), Probabilistic CFG with latent annotations
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import KW_ONLY
from typing import NamedTuple, Self

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.model import Count, Model, Natural
from polyadic.syntax.binarising import binarise, without_loops
from polyadic.syntax.brackets import Phrase
from polyadic.syntax.grammar import Parse, Production
from polyadic.syntax.lexicon import signature
from polyadic.syntax.pcfg import PCFG, ROOT

UNSEEN = 0.1  # count given to a word that was never seen with a tag


class PlainPCFG(PCFG):
    """PCFG without label annotation, with the same parameters as :class:`~polyadic.syntax.pcfg.PCFG`."""

    def prepared(self, tree: Phrase) -> Phrase:
        """Return the binarised form of a treebank tree, from which rules are counted."""
        return binarise(Phrase(ROOT, (without_loops(tree),)), horizontal=self.horizontal)


class LatentGrammar(Model, ABC):
    """Base class for grammars with latent states, which rerank the best trees of a grammar without latent states.

    Parameters
    ----------
    horizontal : int
        Number of previous siblings in the context of a binarised rule (horizontal Markovization).
    rare : int
        Maximum count of words that are replaced by their word class.
    candidates : int
        Number of candidate trees of the grammar without latent states that are reranked.

    Attributes
    ----------
    plain_, tensors_, known_ : PlainPCFG, RuleTensors, set of str
        Plain grammar with the same rules, tensors of the rules, and words that are not replaced by their word class.
    """

    _: KW_ONLY
    horizontal: Natural = 1
    rare: Natural = 2
    candidates: Count = 50

    def fit(self, trees: Iterable[Phrase]) -> Self:
        """Estimate the plain grammar and the rule tensors; see :meth:`~polyadic.syntax.pcfg.PCFG.fit`."""
        self.check()
        treebank = list(trees)
        plain = PlainPCFG(horizontal=self.horizontal).fit(treebank)
        words = Counter(word for tree in treebank for word in tree.words())
        known = {word for word, n in words.items() if n > self.rare}
        self.tensors_ = self._tensors([nodes_of(plain.prepared(tree), known) for tree in treebank])
        self.plain_, self.known_ = plain, known
        return self

    @abstractmethod
    def _tensors(self, forest: list[list[Node]]) -> RuleTensors:
        """Estimate the rule tensors from training trees, each a list of nodes that ends with the root."""

    def log_probability(self, tree: Phrase) -> float:
        """Return the log-probability of a treebank tree, or minus infinity if its estimate is not positive."""
        rules, unseen, first = self.tensors_
        values: list[Array] = []
        log = 0.0
        for node in nodes_of(self.plain_.prepared(tree), self.known_):
            tensor = rules.get(node.rule)
            if tensor is None and not node.below:
                tensor = unseen.get(node.label)
            if tensor is None:
                return -np.inf
            for child in reversed(node.below):
                tensor = tensor @ values[child]
            size = float(np.abs(tensor).max())
            if not size > 0:
                return -np.inf
            log += np.log(size)
            values.append(tensor / size)
        whole = float(first @ values[-1])
        return log + float(np.log(whole)) if whole > 0 else -np.inf

    def rerank(self, parses: Iterable[Parse]) -> list[Parse]:
        """Return the parses of a sentence, by any parser, sorted by log-probability; estimates up to 0 come last."""
        rescored = [Parse(parse.tree, self.log_probability(parse.tree)) for parse in parses]
        return sorted(rescored, key=lambda parse: -parse.log_probability)

    def parse(self, words: Sequence[str], *, tags: Sequence[str] | None = None) -> Phrase:
        """Return the most probable of the ``candidates`` trees of :meth:`polyadic.syntax.pcfg.PCFG.k_best`."""
        return self.rerank(self.plain_.k_best(words, k=self.candidates, tags=tags))[0].tree


class RuleTensors(NamedTuple):
    """Parameters of a grammar with latent states."""

    rules: dict[Production, Array]  # tensor of each rule: a vector for a word, a matrix for a unary rule
    unseen: dict[str, Array]  # for each tag the vector of words not seen with it
    first: Array  # weights of the states of the root

    @property
    def states(self) -> dict[str, int]:
        """The number of latent states of each symbol."""
        return {rule[0]: len(tensor) for rule, tensor in self.rules.items()}


class Node(NamedTuple):
    """Node of a binarised tree."""

    label: str
    rule: Production  # label and labels of the children, or label and class of the word
    below: tuple[int, ...]  # indices of the children among the preceding nodes; empty for a tag
    span: tuple[int, int]  # start and end of the words, end exclusive


def class_of(word: str, known: Collection[str], *, first: bool) -> str:
    """Return the word itself if it is known, otherwise its word class."""
    return word if word in known else f"<{signature(word, first=first)}>"


def nodes_of(tree: Phrase, known: Collection[str]) -> list[Node]:
    """Return the nodes of a tree, children before parents, with unknown words replaced by their class."""
    nodes: list[Node] = []

    def visit(phrase: Phrase, first: int) -> int:
        if phrase.word is not None:
            word = class_of(phrase.word, known, first=first == 0)
            nodes.append(Node(phrase.label, (phrase.label, word), (), (first, first + 1)))
            return len(nodes) - 1
        below: list[int] = []
        place = first
        for child in phrase.below:
            below.append(visit(child, place))
            place = nodes[below[-1]].span[1]
        nodes.append(Node(phrase.label, (phrase.label, *(nodes[k].label for k in below)), tuple(below), (first, place)))
        return len(nodes) - 1

    visit(tree, 0)
    return nodes
