"""Context-free grammars with probabilities, read off trees, and the coarser grammar each of them implies."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.syntax.binarising import bare
from polyadic.syntax.kernels.chart import ChartRules, chart_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from polyadic.syntax.brackets import Phrase

Rule = tuple[str, ...]


def count_rules(trees: Iterable[Phrase]) -> Counter[Rule]:
    """Count the rules of trees: parent and children of each phrase; tags and words are not among them.

    Examples
    --------
    >>> from polyadic.syntax.brackets import parse_phrase
    >>> count_rules([parse_phrase("(S (NP (PRP It)) (VP (VBZ is)))")])
    Counter({('S', 'NP', 'VP'): 1, ('NP', 'PRP'): 1, ('VP', 'VBZ'): 1})
    """
    counts: Counter[Rule] = Counter()
    for tree in trees:
        counts.update((p.label, *(child.label for child in p.below)) for p in tree.walk() if p.word is None)
    return counts


class Grammar(NamedTuple):
    """Rules with probabilities, numbered for a chart.

    Attributes
    ----------
    symbols : tuple of str
        Those with the same coarse symbol stand together.
    coarse : tuple of str
        Coarse symbols, in the order of their blocks.
    binary : ndarray of int32 of shape (rules, 3)
        Parent and children.
    chains : tuple of tuple of int
        Symbols of each chain of unary rules, from the highest to the lowest.
    binary_values, chain_values : ndarray of float64
        Probability of each; of a chain the product.
    """

    symbols: tuple[str, ...]
    coarse: tuple[str, ...]
    binary: NDArray[np.int32]
    chains: tuple[tuple[int, ...], ...]
    binary_values: NDArray[np.float64]
    chain_values: NDArray[np.float64]

    @classmethod
    def of(cls, probabilities: dict[Rule, float], *, longest: int = 3, floor: float = 1e-6) -> Grammar:
        """Give each symbol a number, and gather the chains of unary rules.

        Parameters
        ----------
        probabilities : dict of tuple of str to float
            Of each rule of one or two children.
        longest : int
            Rules in the longest chain; no symbol occurs twice in one.
        floor : float
            Chains of two and more rules whose product is less are left out.
        """
        names = {symbol for rule in probabilities for symbol in rule}
        symbols = tuple(sorted(names, key=lambda symbol: (bare(symbol), symbol)))
        number = {symbol: at for at, symbol in enumerate(symbols)}
        coarse = tuple(dict.fromkeys(map(bare, symbols)))
        binary = [([number[s] for s in rule], p) for rule, p in probabilities.items() if len(rule) == 3]
        unary: dict[int, list[tuple[int, float]]] = {}
        for rule, p in probabilities.items():
            if len(rule) == 2:
                unary.setdefault(number[rule[0]], []).append((number[rule[1]], p))
        chains: list[tuple[tuple[int, ...], float]] = []
        growing: list[tuple[tuple[int, ...], float]] = [
            ((top, child), p) for top, children in unary.items() for child, p in children
        ]
        for _ in range(longest):
            chains += growing
            growing = [
                ((*chain, child), p * q)
                for chain, p in growing
                for child, q in unary.get(chain[-1], ())
                if child not in chain and p * q >= floor
            ]
        return cls(
            symbols,
            coarse,
            np.array([rule for rule, _ in binary], np.int32).reshape(-1, 3),
            tuple(chain for chain, _ in chains),
            np.array([p for _, p in binary]),
            np.array([p for _, p in chains]),
        )

    @property
    def block(self) -> NDArray[np.int32]:
        """The coarse symbol of each symbol."""
        number = {name: at for at, name in enumerate(self.coarse)}
        return np.array([number[bare(symbol)] for symbol in self.symbols], np.int32)

    def sums(self) -> ChartRules:
        """Give the rules for sums over derivations; chains between the same symbols are added up."""
        ends: Counter[tuple[int, int]] = Counter()
        for chain, p in zip(self.chains, self.chain_values.tolist(), strict=True):
            ends[chain[0], chain[-1]] += p
        unary = np.array(list(ends), np.int32).reshape(-1, 2)
        weights = self.binary_values, np.array(list(ends.values()))
        return chart_rules(self.binary, unary, weights=weights, block=np.arange(len(self.symbols)))

    def maxima(self) -> tuple[ChartRules, tuple[tuple[int, ...], ...]]:
        """Give the rules for the best derivations, in blocks, and the chain of each unary rule."""
        ends = np.array([(chain[0], chain[-1]) for chain in self.chains], np.int32).reshape(-1, 2)
        order = np.argsort(ends[:, 1], kind="stable")
        weights = np.log(self.binary_values), np.log(self.chain_values[order])
        rules = chart_rules(self.binary, ends[order], weights=weights, block=self.block)
        return rules, tuple(self.chains[at] for at in order.tolist())


def relative_frequencies(counts: Counter[Rule]) -> dict[Rule, float]:
    """Give the share of each rule among those of its parent: the probabilities that make the trees likeliest.

    Examples
    --------
    >>> relative_frequencies(Counter({("NP", "PRP"): 1, ("NP", "DT", "NN"): 3, ("S", "NP", "VP"): 4}))
    {('NP', 'PRP'): 0.25, ('NP', 'DT', 'NN'): 0.75, ('S', 'NP', 'VP'): 1.0}
    """
    totals: Counter[str] = Counter()
    for rule, count in counts.items():
        totals[rule[0]] += count
    return {rule: count / totals[rule[0]] for rule, count in counts.items()}


def projected(counts: Counter[Rule]) -> Counter[Rule]:
    """Count the rules of the coarse grammar that the same trees would have given.

    Examples
    --------
    >>> projected(Counter({("NP^S", "PRP^NP"): 1, ("NP^VP", "PRP^NP"): 2}))
    Counter({('NP', 'PRP'): 3})
    """
    coarse: Counter[Rule] = Counter()
    for rule, count in counts.items():
        coarse[tuple(map(bare, rule))] += count
    return coarse
