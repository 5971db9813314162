r"""Parsing with hidden states by the marginals of phrases: the tree whose phrases are likeliest, one by one.

Sums over all derivations, of products of the tensors of :class:`~polyadic.models.syntax.latent_pcfg.LatentPCFG`, give
for each phrase

.. math:: \mu(a, i, j) = \sum_{\text{trees with } a \text{ over } i \dots j} P(\text{tree}) \Big/ \sum_{\text{trees}}
          P(\text{tree})

and the tree is taken whose phrases have the largest sum of :math:`\mu - \text{cost}`: with a cost of 0 the one that has
the most right phrases, as far as the model knows, but many wrong ones too, since a phrase more is never a loss. Of
estimates :math:`\mu` may leave the range from 0 to 1; it is put back. Partial phrases, which no treebank has, do not
count. Only phrases are looked at whose marginal is at least ``threshold`` by the plain grammar.

References
----------
Goodman (1996), Parsing algorithms and metrics. Cohen, Stratos, Collins, Foster, Ungar (2014), Spectral learning of
latent-variable PCFGs, section 5
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import check_number
from polyadic.kernels.syntax.chart import chart_rules, inside, outside, value_of
from polyadic.kernels.syntax.latent_chart import best_edges, forest_edges, latent_sums
from polyadic.models.syntax.derivations import plain_scores, word_rows
from polyadic.models.syntax.latent_pcfg import class_of
from polyadic.models.syntax.pcfg import ROOT, SCALE
from polyadic.text.syntax.binarising import PARTIAL, unbinarise
from polyadic.text.syntax.brackets import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.kernels.syntax.chart import ChartRules
    from polyadic.kernels.syntax.latent_chart import Sums
    from polyadic.models.syntax.latent_pcfg import LatentPCFG
    from polyadic.models.syntax.pcfg import PCFG


class Forest(NamedTuple):
    """The derivations of a sentence that the plain grammar holds likely enough to be looked at.

    Attributes
    ----------
    edges : ndarray of int32 of shape (edges, 4)
        See :func:`~polyadic.kernels.syntax.latent_chart.forest_edges`.
    nodes : ndarray of int of shape (nodes, 3)
        Layer, cell and symbol of each.
    leaves : dict of int to int
        Place of the word of each node that is a tag.
    root : int
    """

    edges: NDArray[np.int32]
    nodes: NDArray[np.int64]
    leaves: dict[int, int]
    root: int


class MarginalParser:
    """Parser by the marginals of a grammar with hidden states.

    Parameters
    ----------
    model : LatentPCFG
        Fitted.
    cost : float
        Of a phrase. On development sentences of the Penn Treebank .3 to .5 are level, 0 has half of their F.
    threshold : float
        Least marginal by the plain grammar.

    Examples
    --------
    >>> from polyadic.models.syntax.latent_pcfg import LatentPCFG
    >>> from polyadic.text.syntax.brackets import parse_phrase
    >>> dog = parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> model = LatentPCFG(2).fit([dog, parse_phrase("(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))")])
    >>> str(MarginalParser(model).parse("a dog sleeps".split()))
    '(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))'
    """

    def __init__(self, model: LatentPCFG, *, cost: float = 0.4, threshold: float = 1e-4) -> None:
        self.model = model
        self.cost = check_number("cost", cost)
        self.threshold = check_number("threshold", threshold)
        grammar, rules = model.plain_.grammar_, model.tensors_.rules
        m = len(model.tensors_.first)
        ends = np.array([(chain[0], chain[-1]) for chain in grammar.chains], np.int32).reshape(-1, 2)
        order = np.argsort(ends[:, 1], kind="stable")  # that of the chart, where a chain is a rule
        weights = grammar.binary_values, grammar.chain_values[order]
        self.rules = chart_rules(grammar.binary, ends[order], weights=weights, block=np.arange(len(grammar.symbols)))
        self.chains = [grammar.chains[k] for k in order.tolist()]
        names = np.array(grammar.symbols, object)
        tensors = [rules[tuple(row)] for row in names[self.rules.binary].tolist()]
        matrices = [reduce(np.matmul, [rules[pair] for pair in pairwise(names[list(c)])]) for c in self.chains]
        self.binary, self.unary = np.array(tensors).reshape(-1, m, m, m), np.array(matrices).reshape(-1, m, m)

    def parse(self, words: Sequence[str], *, tags: Sequence[str] | None = None) -> Phrase:
        """Give the tree whose phrases are worth most; where there is none, what the model parses.

        Parameters
        ----------
        words : sequence of str
        tags : sequence of str, optional
            As for :meth:`~polyadic.models.syntax.pcfg.PCFG.k_best`.
        """
        forest = plain_forest(self.model.plain_, self.rules, words, tags=tags, threshold=self.threshold)
        if forest is None:
            return self.model.parse(words, tags=tags)
        sums, through = self._sums(forest, words)
        if sums.total == 0 or not np.isfinite(sums.total):
            return self.model.parse(words, tags=tags)
        gains = self._gains(forest, self._shares(forest, sums, through))
        leaves = np.isin(np.arange(len(forest.nodes)), list(forest.leaves))
        best = best_edges(forest.edges, gains, leaves)
        return unbinarise(self._built(forest, best, forest.root, words)).below[0]

    def marginals(self, words: Sequence[str]) -> dict[tuple[str, int, int], float]:
        """Give the marginal of each label over each row of words: first, and the one behind the last.

        They may be below 0, as estimates are.

        Parameters
        ----------
        words : sequence of str
        """
        forest = plain_forest(self.model.plain_, self.rules, words, threshold=self.threshold)
        if forest is None:
            return {}
        shares = self._shares(forest, *self._sums(forest, words))
        names, result = self.model.plain_.grammar_.symbols, {}
        for cell, symbol in np.argwhere(shares).tolist():
            j = int((2 * cell + 0.25) ** 0.5 + 0.5)
            result[names[symbol], cell - j * (j - 1) // 2, j] = float(shares[cell, symbol])
        return result

    def _shares(self, forest: Forest, sums: Sums, through: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the marginal of each symbol in each cell: at the bottom of a chain, or in the rest of one."""
        layer, cells, symbols = forest.nodes.T
        shares = np.zeros((cells.max() + 1, len(self.model.plain_.grammar_.symbols)))
        low = layer == 0
        shares[cells[low], symbols[low]] = sums.nodes[low]
        for e in np.flatnonzero(forest.edges[:, 0] >= len(self.binary)).tolist():
            rule, parent, *_ = forest.edges[e].tolist()
            shares[cells[parent], list(self.chains[rule - len(self.binary)][:-1])] += through[e]
        marginals: NDArray[np.float64] = shares / sums.total
        return marginals

    def _gains(self, forest: Forest, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give for each edge the marginals of the phrases that it adds; partial ones and the root add nothing."""
        names = self.model.plain_.grammar_.symbols
        counted = np.array([not name.startswith(PARTIAL) and name != ROOT for name in names])
        worth = (np.clip(shares, 0, 1) - self.cost) * counted
        _, cells, symbols = forest.nodes.T
        gains = worth[cells, symbols][forest.edges[:, 1]] * (forest.edges[:, 0] >= 0)
        for e in np.flatnonzero(forest.edges[:, 0] >= len(self.binary)).tolist():
            rule, parent, *_ = forest.edges[e].tolist()
            gains[e] = worth[cells[parent], list(self.chains[rule - len(self.binary)][:-1])].sum()
        return gains

    def _sums(self, forest: Forest, words: Sequence[str]) -> tuple[Sums, NDArray[np.float64]]:
        """Sum over derivations; words are scaled so that sums stay in range."""
        rules, unseen, first = self.model.tensors_
        symbols = self.model.plain_.grammar_.symbols
        known = [class_of(word, self.model.known_, first=i == 0) for i, word in enumerate(words)]
        values = np.zeros((len(forest.nodes), len(first)))
        largest = np.zeros(len(words))
        for node, i in forest.leaves.items():
            tag = symbols[forest.nodes[node, 2]]
            values[node] = rules.get((tag, known[i]), unseen.get(tag, 0.0))
            largest[i] = max(largest[i], np.abs(values[node]).max())
        for node, i in forest.leaves.items():
            values[node] *= SCALE / largest[i] if largest[i] > 0 else 0
        return latent_sums(forest.edges, self.binary, self.unary, values, root=forest.root, first=first)

    def _built(self, forest: Forest, best: NDArray[np.int64], node: int, words: Sequence[str]) -> Phrase:
        """Give the tree below a node along the best edges."""
        symbols = self.model.plain_.grammar_.symbols
        if node in forest.leaves:
            return Phrase(symbols[forest.nodes[node, 2]], (words[forest.leaves[node]],))
        rule, _, left, right = forest.edges[best[node]].tolist()
        below = self._built(forest, best, left, words)
        if rule < 0:
            return below
        if right >= 0:
            return Phrase(symbols[forest.nodes[node, 2]], (below, self._built(forest, best, right, words)))
        for member in self.chains[rule - len(self.binary)][-2::-1]:
            below = Phrase(symbols[member], (below,))
        return below


def plain_forest(
    plain: PCFG, rules: ChartRules, words: Sequence[str], *, tags: Sequence[str] | None = None, threshold: float
) -> Forest | None:
    """List the derivations whose nodes have at least some marginal by a plain grammar; None if it has none.

    Parameters
    ----------
    plain : PCFG
    rules : ChartRules
        Of its grammar, each symbol a block of its own.
    words : sequence of str
    tags : sequence of str, optional
        As for :meth:`~polyadic.models.syntax.pcfg.PCFG.k_best`.
    threshold : float
    """
    number = {name: at for at, name in enumerate(plain.grammar_.symbols)}
    scores = plain.word_scores(words, tags)
    coarse = plain.allowed(plain_scores(scores))
    places, symbols, values = word_rows(scores, number)
    best = np.array([max(tags_of_word.values()) for tags_of_word in scores])
    weights = SCALE * np.exp(np.array(values) - best[places])
    fine = None if coarse is None else coarse[:, :, plain.grammar_.block]
    filled = inside(rules, places, symbols, weights, summed=True, allowed=fine)
    total = value_of(rules, filled, number[ROOT])
    if not 0 < total < np.inf:
        return None
    shares = np.append(filled.values * outside(rules, filled, number[ROOT]) / total, -1)
    kept = (shares[filled.base] >= threshold) & (shares[filled.base] > 0)
    nodes = np.argwhere(kept)
    slots = np.full(kept.shape, -1, np.int32)
    slots[kept] = np.arange(len(nodes))
    cells = np.arange(1, len(words) + 1) * np.arange(2, len(words) + 2) // 2 - 1
    leaves = {int(slots[0, cells[i], s]): i for i, s in zip(places, symbols, strict=True)}
    root = int(slots[1, len(words) * (len(words) - 1) // 2, number[ROOT]])
    return Forest(forest_edges(rules, slots), nodes, {k: i for k, i in leaves.items() if k >= 0}, root)
