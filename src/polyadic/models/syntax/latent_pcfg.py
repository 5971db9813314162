r"""A grammar whose symbols have hidden states, learned without iteration from singular vectors of their surroundings.

Of a node with label a, :math:`\phi` are features of what is inside of it and :math:`\psi` of what is around it. With
:math:`E[\phi \psi^\top \mid a] \approx U S V^\top`, of rank m, and :math:`y = U^\top \phi`,
:math:`z = S^{-1} V^\top \psi`, a rule has the tensor

.. math:: C_{a \to b\,c} = P(a \to b\,c \mid a)\; E[z_a \otimes y_b \otimes y_c \mid a \to b\,c]

and a tree the product of all of its tensors, from the words up. It is its probability if the labels have m hidden
states, though with estimates it may be negative. With m = 1 and no features but a constant it is that of a plain
grammar. Rules that are rare are drawn towards :math:`E[z_a] \otimes E[y_b] \otimes E[y_c]`.

References
----------
Cohen, Stratos, Collins, Foster, Ungar (2014), Spectral learning of latent-variable PCFGs. Cohen, Stratos, Collins,
Foster, Ungar (2013), Experiments with spectral learning of latent-variable PCFGs, for features, scales and smoothing
"""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Self

import numpy as np

from polyadic.models.base import Amount, Count, Model, Natural
from polyadic.models.syntax.derivations import Parse
from polyadic.models.syntax.latent_features import nodes_of
from polyadic.models.syntax.latent_learning import rule_tensors
from polyadic.models.syntax.pcfg import PCFG, ROOT
from polyadic.text.syntax.binarising import binarise, without_loops
from polyadic.text.syntax.brackets import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


class PlainPCFG(PCFG):
    """A grammar of the plain labels of a treebank; otherwise as :class:`~polyadic.models.syntax.pcfg.PCFG`."""

    def prepared(self, tree: Phrase) -> Phrase:
        """Give the tree that rules are counted of."""
        return binarise(Phrase(ROOT, (without_loops(tree),)), horizontal=self.horizontal)


class LatentPCFG(Model):
    """Parser of phrases: the best trees of a plain grammar, put in the order of their probabilities with hidden states.

    Parameters
    ----------
    states : int
        m, at most; a label has as many as its singular values allow.
    horizontal : int
        How many of the last siblings a rule remembers.
    smoothing : float
        A rule seen n times has the weight sqrt(n) / (sqrt(n) + ``smoothing``) against its product of means.
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

    Examples
    --------
    >>> from polyadic.text.syntax.brackets import parse_phrase
    >>> dog = parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> parser = LatentPCFG(2).fit([dog, parse_phrase("(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))")])
    >>> str(parser.parse("a dog sleeps".split()))
    '(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))'
    """

    states: Count = 8
    _: KW_ONLY
    horizontal: Natural = 1
    smoothing: Amount = 20.0
    rare: Natural = 2
    candidates: Count = 50

    def fit(self, trees: Iterable[Phrase]) -> Self:
        """Estimate the plain grammar and the tensors.

        Parameters
        ----------
        trees : iterable of Phrase
            Clean: see :func:`~polyadic.text.syntax.brackets.clean`.

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
        forest = [nodes_of(plain.prepared(tree), known) for tree in treebank]
        self.tensors_ = rule_tensors(forest, self.states, smoothing=self.smoothing)
        self.plain_, self.known_ = plain, known
        return self

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
            As for :meth:`~polyadic.models.syntax.pcfg.PCFG.k_best`.

        Raises
        ------
        InputError
            As :meth:`~polyadic.models.syntax.pcfg.PCFG.k_best`.
        """
        return self.rerank(self.plain_.k_best(words, k=self.candidates, tags=tags))[0].tree
