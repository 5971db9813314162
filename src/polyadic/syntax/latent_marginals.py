r"""Constituency parsing that maximizes the marginal probabilities of phrases under a latent-state grammar.

.. math:: \mu(a, i, j) = \sum_{\text{trees with } a \text{ over } i \dots j} P(\text{tree}) \Big/ \sum_{\text{trees}}
          P(\text{tree})

The parser returns the tree with the largest sum of :math:`\mu - \text{cost}` over its phrases and :math:`\mu` over its
tags. With a cost of 0 this maximizes the expected number of correct phrases but adds many wrong ones, since one more
phrase never lowers the sum. Estimates of :math:`\mu` are clipped to the range from 0 to 1. Intermediate phrases of the
binarisation do not count.

References
----------
Goodman (1996), Parsing algorithms and metrics. Cohen, Stratos, Collins, Foster, Ungar (2014), Spectral learning of
latent-variable PCFGs, section 5. Charniak, Johnson et al. (2006), Multilevel coarse-to-fine PCFG parsing
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import clone

from polyadic.core.annotations import Array, Ints
from polyadic.core.model import Amount, Model
from polyadic.syntax.binarising import PARTIAL
from polyadic.syntax.brackets import Phrase
from polyadic.syntax.grammar import PreparedGrammar, plain_scores
from polyadic.syntax.kernels.chart import inside, outside, value_of
from polyadic.syntax.kernels.latent_chart import Forest, best_edges, forest_of, in_a_row, latent_sums
from polyadic.syntax.latent_grammar import LatentGrammar, class_of
from polyadic.syntax.pcfg import ROOT, SCALE, word_weights


class SentenceForest(NamedTuple):
    """Parse forest of a sentence, pruned by the probabilities of a grammar without latent states."""

    words: Sequence[str]
    forest: Forest
    leaves: Ints  # node of each tag of a word, and position of the word; (tags, 2)
    root: int  # node of the whole sentence


class PhraseMarginals(NamedTuple):
    """Marginal probabilities of phrases, identified by their symbols and chart cells."""

    cells: Ints
    symbols: Ints
    marginals: Array
    low: Ints  # phrase of each node of a lower layer
    chained: Ints  # phrases that each unary edge adds, or -1; (unary edges, longest chain)


class MarginalParser(Model):
    """Constituency parser that maximizes the marginal probabilities of phrases under a latent-state grammar.

    Parameters
    ----------
    grammar : LatentGrammar
        Grammar with latent states, fitted or not.
    cost : float
        Cost of a phrase, subtracted from its marginal. On development sentences of the Penn Treebank, values from .3 to
        .5 are equally good, and 0 halves F.
    threshold : float
        Minimum marginal of a phrase under the plain grammar.

    Attributes
    ----------
    grammar_ : LatentGrammar
        Fitted grammar.

    Examples
    --------
    >>> from polyadic.syntax.latent_pcfg import LatentPCFG
    >>> from polyadic.syntax.brackets import parse_phrase
    >>> dog = parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> cat = parse_phrase("(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))")
    >>> parser = MarginalParser(LatentPCFG(2)).fit([dog, cat])
    >>> str(parser.parse("a dog sleeps".split()))
    '(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))'
    """

    grammar: LatentGrammar
    _: KW_ONLY
    cost: Amount = 0.4
    threshold: Amount = 1e-4

    def fit(self, trees: Iterable[Phrase]) -> Self:
        """Fit a clone of ``grammar`` and use it for parsing; see :meth:`~polyadic.syntax.pcfg.PCFG.fit`."""
        self.check()
        return self.use(clone(self.grammar).fit(trees))

    def use(self, grammar: LatentGrammar) -> Self:
        """Use a fitted grammar for parsing."""
        self.check()
        self.grammar_ = grammar
        if hasattr(grammar, "n_iter_"):
            self.n_iter_, self.interrupted_ = grammar.n_iter_, grammar.interrupted_
        self._make_ready()
        return self

    def parse(self, words: Sequence[str], *, tags: Sequence[str] | None = None) -> Phrase:
        """Return the tree with the largest sum of phrase marginals, or the grammar's own parse if there is none."""
        sentence = self._sentence(words, tags)
        if sentence is not None:
            total, nodes, through = self._sums(sentence)
            if total != 0 and np.isfinite(total):
                gains = self._gains(sentence, self._shares(sentence.forest, total, nodes, through))
                return self._built(sentence, best_edges(sentence.forest.edges, *gains))
        return self.grammar_.parse(words, tags=tags)

    def marginals(self, words: Sequence[str]) -> dict[tuple[str, int, int], float]:
        """Return the marginal probability of each phrase (label, start, exclusive end); estimates may be negative."""
        sentence = self._sentence(words)
        if sentence is None:
            return {}
        shares = self._shares(sentence.forest, *self._sums(sentence))
        names, result = self.grammar_.plain_.grammar_.symbols, {}
        for cell, symbol, share in zip(*(part.tolist() for part in shares[:3]), strict=True):
            j = int((2 * cell + 0.25) ** 0.5 + 0.5)
            result[names[symbol], cell - j * (j - 1) // 2, j] = share
        return result

    def _make_ready(self) -> None:
        """Arrange the rule tensors in the order of the chart rules, multiplying the tensors along unary chains."""
        grammar, tensors = self.grammar_.plain_.grammar_, self.grammar_.tensors_
        self._rules, _, chains, self._number = PreparedGrammar.of(grammar, logs=False)
        self._members = np.full((len(chains), max(map(len, chains), default=1) - 1), -1)  # all but the lowest
        for row, chain in zip(self._members, chains, strict=True):
            row[: len(chain) - 1] = chain[:-1]
        names = np.array(grammar.symbols, object)
        several = [tensors.rules[tuple(row)] for row in names[self._rules.binary].tolist()]
        several += [reduce(np.matmul, [tensors.rules[pair] for pair in pairwise(names[list(c)])]) for c in chains]
        self._tensors = in_a_row(several)
        self._states = np.array([tensors.states[name] for name in grammar.symbols])
        self._counted = np.array([not name.startswith(PARTIAL) and name != ROOT for name in grammar.symbols])

    def _sentence(self, words: Sequence[str], tags: Sequence[str] | None = None) -> SentenceForest | None:
        """Return the pruned parse forest of a sentence, or None if the sentence has no derivation."""
        plain, rules, top = self.grammar_.plain_, self._rules, self._number[ROOT]
        scores = plain.word_scores(words, tags)
        places, symbols, weights = word_weights(scores, self._number)
        filled = inside(rules, places, symbols, weights, summed=True, allowed=plain.allowed(plain_scores(scores)))
        total = value_of(rules, filled, top)
        if not 0 < total < np.inf:
            return None
        shares = filled.values * outside(rules, filled, top, min_share=self.threshold) / total
        forest = forest_of(rules, filled, (shares >= self.threshold) & (shares > 0))
        cells = np.arange(1, len(words) + 1) * np.arange(2, len(words) + 2) // 2 - 1
        leaves = np.array([(forest.node(0, cells[i], s), i) for i, s in zip(places, symbols, strict=True)])
        root = forest.node(1, len(words) * (len(words) - 1) // 2, top)
        return SentenceForest(words, forest, leaves[leaves[:, 0] >= 0], root)

    def _sums(self, sentence: SentenceForest) -> tuple[float, Array, Array]:
        """Sum over the derivations of a sentence, scaling the word vectors to keep the sums in range."""
        rules, unseen, first = self.grammar_.tensors_
        words, forest = sentence.words, sentence.forest
        symbols = self.grammar_.plain_.grammar_.symbols
        known = [class_of(word, self.grammar_.known_, first=i == 0) for i, word in enumerate(words)]
        sizes = self._states[forest.symbols]
        values, largest = np.zeros((len(sizes), sizes.max())), np.zeros(len(words))
        for node, i in sentence.leaves.tolist():
            tag = symbols[forest.symbols[node]]
            values[node, : sizes[node]] = rules.get((tag, known[i]), unseen.get(tag, 0.0))
            largest[i] = max(largest[i], np.abs(values[node]).max())
        nodes, places = sentence.leaves.T
        values[nodes] *= (SCALE / np.where(largest > 0, largest, np.inf))[places, None]
        return latent_sums(forest.edges, self._tensors, sizes, values, root=sentence.root, first=first)

    def _shares(self, forest: Forest, total: float, nodes: Array, through: Array) -> PhraseMarginals:
        """Return the marginal probability of each symbol over each span."""
        unary = np.flatnonzero(forest.edges[:, 0] >= len(self._rules.binary))
        rule, parent, *_ = forest.edges[unary].T
        members, low = self._members[rule - len(self._rules.binary)], np.flatnonzero(forest.layers == 0)
        edge, place = np.nonzero(members >= 0)
        cells = np.append(forest.cells[low], forest.cells[parent[edge]])
        symbols = np.append(forest.symbols[low], members[edge, place])
        kinds, at = np.unique(cells * len(self._states) + symbols, return_inverse=True)
        weights = np.append(nodes[low], through[unary[edge]])
        of_nodes, chained = np.full(len(forest.layers), -1), np.full(members.shape, -1)
        of_nodes[low], chained[edge, place] = at[: len(low)], at[len(low) :]
        marginals = np.bincount(at, weights) / total
        return PhraseMarginals(*np.divmod(kinds, len(self._states)), marginals, of_nodes, chained)

    def _gains(self, sentence: SentenceForest, shares: PhraseMarginals) -> tuple[Array, Array]:
        """Return the gain of each edge and each tag, which is zero for intermediate symbols and the root."""
        marginals = np.clip(shares.marginals, 0, 1)
        worth = np.append((marginals - self.cost) * self._counted[shares.symbols], 0)  # the last entry is for -1
        rule, parent, *_ = sentence.forest.edges.T
        gains = np.where(rule >= 0, worth[shares.low[parent]], 0)
        gains[rule >= len(self._rules.binary)] = worth[shares.chained].sum(axis=1)
        words, nodes = np.full(len(shares.low), -np.inf), sentence.leaves[:, 0]
        words[nodes] = marginals[shares.low[nodes]]
        return gains, words

    def _built(self, sentence: SentenceForest, best: Ints) -> Phrase:
        """Build the tree along the best edges, without recursion because sentences may be long."""
        names, edges = self.grammar_.plain_.grammar_.symbols, sentence.forest.edges
        words = {node: sentence.words[i] for node, i in sentence.leaves.tolist()}
        order, pending = [], [sentence.root]
        while pending:
            order.append(node := pending.pop())
            pending += [] if best[node] < 0 else [child for child in edges[best[node], 2:].tolist() if child >= 0]
        rows: dict[int, tuple[Phrase, ...]] = {}
        for node in reversed(order):
            name = names[sentence.forest.symbols[node]]
            if best[node] < 0:
                rows[node] = (Phrase(name, (words[node],)),)
                continue
            rule, _, left, right = edges[best[node]].tolist()
            below = rows[left] + rows.get(right, ())
            if rule >= len(self._rules.binary):
                for member in self._members[rule - len(self._rules.binary)][::-1].tolist():
                    below = (Phrase(names[member], below),) if member >= 0 else below
            elif rule >= 0 and not name.startswith(PARTIAL):
                below = (Phrase(name, below),)
            rows[node] = below
        [top] = rows[sentence.root]
        return top.below[0]
