"""Treebank grammars: rule counts and probabilities, coarse projections, and the best trees of a parse chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints32
from polyadic.syntax.binarising import PARTIAL, bare
from polyadic.syntax.brackets import Phrase
from polyadic.syntax.kernels.chart import SAME, WORD, Chart, ChartRules, Derivations, chart_rules, k_best

Production = tuple[str, ...]


def count_rules(trees: Iterable[Phrase]) -> Counter[Production]:
    """Count the grammar rules of trees, excluding the lexical rules from tags to words."""
    counts: Counter[Production] = Counter()
    for tree in trees:
        counts.update((p.label, *(child.label for child in p.below)) for p in tree.walk() if p.word is None)
    return counts


class Grammar(NamedTuple):
    """Probabilistic context-free grammar with integer symbol ids, for use in a parse chart."""

    symbols: tuple[str, ...]  # sorted by their coarse symbol
    coarse: tuple[str, ...]  # in the order of their blocks
    binary: Ints32  # parent and children of binary rules, (rules, 3)
    chains: tuple[tuple[int, ...], ...]  # symbols of each chain of unary rules, from the highest to the lowest
    binary_values: Array  # probabilities
    chain_values: Array

    @classmethod
    def of(cls, probabilities: dict[Production, float], *, max_length: int = 3, floor: float = 1e-6) -> Grammar:
        """Build a grammar with chains of up to ``max_length`` unary rules of probability at least ``floor``."""
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
        for _ in range(max_length):
            chains += growing
            growing = [
                ((*chain, child), p * q)
                for chain, p in growing
                for child, q in unary.get(chain[-1], ())
                if child not in chain and p * q >= floor
            ]
        rules = np.array([rule for rule, _ in binary], np.int32).reshape(-1, 3)
        values = np.array([p for _, p in binary]), np.array([p for _, p in chains])
        return cls(symbols, coarse, rules, tuple(chain for chain, _ in chains), *values)

    @property
    def block(self) -> Ints32:
        """The index of the coarse symbol of each grammar symbol."""
        number = {name: at for at, name in enumerate(self.coarse)}
        return np.array([number[bare(symbol)] for symbol in self.symbols], np.int32)

    def sums(self) -> ChartRules:
        """Return chart rules for the inside algorithm, summing the weights of unary chains with the same ends."""
        ends: Counter[tuple[int, int]] = Counter()
        for chain, p in zip(self.chains, self.chain_values.tolist(), strict=True):
            ends[chain[0], chain[-1]] += p
        unary = np.array(list(ends), np.int32).reshape(-1, 2)
        weights = self.binary_values, np.array(list(ends.values()))
        return chart_rules(self.binary, unary, weights=weights, block=np.arange(len(self.symbols)))


def relative_frequencies(counts: Counter[Production]) -> dict[Production, float]:
    """Return the relative frequency of each rule among the rules with the same parent symbol."""
    totals: Counter[str] = Counter()
    for rule, count in counts.items():
        totals[rule[0]] += count
    return {rule: count / totals[rule[0]] for rule, count in counts.items()}


def projected(counts: Counter[Production]) -> Counter[Production]:
    """Project rule counts onto the coarse symbols."""
    coarse: Counter[Production] = Counter()
    for rule, count in counts.items():
        coarse[tuple(map(bare, rule))] += count
    return coarse


class Parse(NamedTuple):
    """Parse tree of a sentence and its log-probability, up to a constant that depends only on the words."""

    tree: Phrase
    log_probability: float


class PreparedGrammar(NamedTuple):
    """Grammar with rules sorted for the chart kernels and each chain of unary rules merged into one rule."""

    rules: ChartRules
    names: tuple[str, ...]  # label of each symbol in a tree
    chains: tuple[tuple[int, ...], ...]  # symbols of each unary rule
    number: dict[str, int]  # index of each symbol

    @classmethod
    def of(cls, grammar: Grammar, *, logs: bool = True) -> PreparedGrammar:
        """Sort the rules of a grammar for the chart kernels, weighted by probabilities or log-probabilities."""
        ends = np.array([(chain[0], chain[-1]) for chain in grammar.chains], np.int32).reshape(-1, 2)
        order = np.argsort(ends[:, 1], kind="stable")
        weights = grammar.binary_values, grammar.chain_values[order]
        if logs:
            weights = np.log(weights[0]), np.log(weights[1])
        rules = chart_rules(grammar.binary, ends[order], weights=weights, block=grammar.block)
        chains = tuple(grammar.chains[at] for at in order.tolist())
        number = {symbol: at for at, symbol in enumerate(grammar.symbols)}
        return cls(rules, tuple(map(bare, grammar.symbols)), chains, number)


def best_trees(ready: PreparedGrammar, filled: Chart, words: Sequence[str], *, root: int, k: int) -> list[Parse]:
    """Return the ``k`` most probable distinct trees of a filled chart, without the ``root`` symbol."""
    requested = k
    while True:
        derivations = k_best(ready.rules, filled, root, k=requested)
        parses = _distinct(ready, derivations, words)
        if len(parses) >= k or len(derivations.best) < requested:
            return parses[:k]
        requested *= 2


def _distinct(ready: PreparedGrammar, derivations: Derivations, words: Sequence[str]) -> list[Parse]:
    """Build the distinct trees of derivations bottom-up, storing equal subtrees as one object."""
    known: dict[tuple[str, tuple[int, ...]], Phrase] = {}
    leaves: dict[tuple[str, int], Phrase] = {}

    def phrase(label: str, below: tuple[Phrase, ...]) -> tuple[Phrase]:
        return (known.setdefault((label, tuple(map(id, below))), Phrase(label, below)),)

    count = len(ready.rules.binary)
    rows: list[tuple[Phrase, ...]] = []
    for rule, symbol, left, right in derivations.table.tolist():
        name = ready.names[symbol]
        if rule == WORD:
            rows.append((leaves.setdefault((name, left), Phrase(name, (words[left],))),))
        elif rule == SAME:
            rows.append(rows[left])
        elif rule >= count:
            below = rows[left]
            for member in ready.chains[rule - count][-2::-1]:
                below = phrase(ready.names[member], below)
            rows.append(below)
        else:
            below = rows[left] + rows[right]
            rows.append(below if name.startswith(PARTIAL) else phrase(name, below))
    best: dict[int, Parse] = {}
    for at in derivations.best.tolist():
        [top] = rows[at]
        best.setdefault(id(top.below[0]), Parse(top.below[0], float(derivations.values[at])))
    return list(best.values())


def word_rows(scores: Sequence[dict[str, float]], number: dict[str, int]) -> tuple[list[int], list[int], list[float]]:
    """Return the word positions, symbol ids and scores of all candidate tags as three parallel lists."""
    rows = [(i, number[tag], s) for i, tags in enumerate(scores) for tag, s in tags.items() if tag in number]
    places, symbols, values = zip(*rows, strict=True) if rows else ((), (), ())
    return list(places), list(symbols), list(values)


def plain_scores(scores: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Return the score of each part-of-speech tag of each word, maximized over annotated variants of the tag."""
    plain: list[dict[str, float]] = []
    for tags in scores:
        best: dict[str, float] = {}
        for tag, score in tags.items():
            best[bare(tag)] = max(best.get(bare(tag), -np.inf), score)
        plain.append(best)
    return plain
