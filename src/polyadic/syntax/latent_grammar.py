r"""Grammars whose symbols have hidden states: what they are, however they are learned.

A rule has a tensor whose axes are the states of its symbols, parent first, and a word of a tag a vector:

.. math:: C_{a \to b\,c}[h, i, j] = P(a_h \to b_i\,c_j \mid a_h)

and a tree has the product of all of its tensors, from the words up, which is the sum of the probabilities of its
derivations with states.

References
----------
Matsuzaki, Miyao, Tsujii (2005), Probabilistic CFG with latent annotations
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from polyadic.core.model import Count, Model, Natural
from polyadic.syntax.binarising import binarise, without_loops
from polyadic.syntax.brackets import Phrase
from polyadic.syntax.derivations import Parse
from polyadic.syntax.lexicon import signature
from polyadic.syntax.pcfg import PCFG, ROOT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.syntax.grammar import Rule

    Array = NDArray[np.float64]

UNSEEN = 0.1
"""Times that a word which was never seen with a tag counts as seen."""


class PlainPCFG(PCFG):
    """A grammar of the plain labels of a treebank; otherwise as :class:`~polyadic.syntax.pcfg.PCFG`."""

    def prepared(self, tree: Phrase) -> Phrase:
        """Give the tree that rules are counted of."""
        return binarise(Phrase(ROOT, (without_loops(tree),)), horizontal=self.horizontal)


class LatentGrammar(Model, ABC):
    """Base of the grammars with hidden states: the best trees of a plain grammar, in the order of their probabilities.

    Parameters
    ----------
    horizontal : int
        How many of the last siblings a rule remembers.
    rare : int
        Words seen at most so often are taken for their class.
    candidates : int
        Trees of the plain grammar to choose from.

    Attributes
    ----------
    plain_ : PlainPCFG
        The plain grammar of the same rules.
    tensors_ : RuleTensors
    known_ : set of str
        Words that are not taken for their class.
    """

    _: KW_ONLY
    horizontal: Natural = 1
    rare: Natural = 2
    candidates: Count = 50

    def fit(self, trees: Iterable[Phrase]) -> Self:
        """Estimate the plain grammar and the tensors.

        Parameters
        ----------
        trees : iterable of Phrase
            Clean: see :func:`~polyadic.syntax.brackets.clean`.

        Raises
        ------
        InputError
            If there are no trees, or a parameter cannot be used.
        """
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
        """Learn from the nodes of each tree, the root last."""

    def log_probability(self, tree: Phrase) -> float:
        """Give the logarithm of the probability of a tree with its words; minus infinity if it is not positive.

        Parameters
        ----------
        tree : Phrase
            As in the treebank: neither annotated nor divided.
        """
        rules, unseen, first = self.tensors_
        values: list[NDArray[np.float64]] = []
        log = 0.0
        for node in nodes_of(self.plain_.prepared(tree), self.known_):
            tensor = rules.get(node.rule)
            if tensor is None:
                if node.below or node.label not in unseen:
                    return -np.inf
                tensor = unseen[node.label]
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
        """Put trees of the same words in the order of their probabilities, which they then have.

        Trees whose estimate is not positive come last, in the order that they had.

        Parameters
        ----------
        parses : iterable of Parse
            Of any parser.
        """
        rescored = [Parse(parse.tree, self.log_probability(parse.tree)) for parse in parses]
        return sorted(rescored, key=lambda parse: -parse.log_probability)

    def parse(self, words: Sequence[str], *, tags: Sequence[str] | None = None) -> Phrase:
        """Give the likeliest of the trees that the plain grammar proposes.

        Parameters
        ----------
        words : sequence of str
        tags : sequence of str, optional
            As for :meth:`~polyadic.syntax.pcfg.PCFG.k_best`.

        Raises
        ------
        InputError
            As :meth:`~polyadic.syntax.pcfg.PCFG.k_best`.
        """
        return self.rerank(self.plain_.k_best(words, k=self.candidates, tags=tags))[0].tree


class RuleTensors(NamedTuple):
    """The parameters of a grammar with hidden states.

    Attributes
    ----------
    rules : dict of tuple of str to ndarray
        Of each rule; of a word a vector, of a rule of one child a matrix.
    unseen : dict of str to ndarray
        For each tag the vector of words that were not seen with it.
    first : ndarray
        Of the states of the root.
    """

    rules: dict[Rule, Array]
    unseen: dict[str, Array]
    first: Array

    @property
    def states(self) -> dict[str, int]:
        """The number of states of each symbol."""
        return {rule[0]: len(tensor) for rule, tensor in self.rules.items()}


class Node(NamedTuple):
    """A phrase of a tree whose phrases have at most two children.

    Attributes
    ----------
    label : str
    rule : tuple of str
        Label and labels of children, or label and class of the word.
    below : tuple of int
        Numbers of the children, among the nodes before it; none of a tag.
    span : tuple of int
        First word, and the one behind the last.
    """

    label: str
    rule: Rule
    below: tuple[int, ...]
    span: tuple[int, int]


def class_of(word: str, known: Collection[str], *, first: bool) -> str:
    """Give a word that is known, or the class of another."""
    return word if word in known else f"<{signature(word, first=first)}>"


def nodes_of(tree: Phrase, known: Collection[str]) -> list[Node]:
    """Give the phrases of a tree, children before parents; words that are not known are their class.

    Examples
    --------
    >>> from polyadic.syntax.brackets import parse_phrase
    >>> for node in nodes_of(parse_phrase("(NP (DT the) (NN cat))"), {"the"}):
    ...     print(node.rule, node.below, node.span)
    ('DT', 'the') () (0, 1)
    ('NN', '<l>') () (1, 2)
    ('NP', 'DT', 'NN') (0, 1) (0, 2)
    """
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
        rule = (phrase.label, *(nodes[k].label for k in below))
        nodes.append(Node(phrase.label, rule, tuple(below), (first, place)))
        return len(nodes) - 1

    visit(tree, 0)
    return nodes
