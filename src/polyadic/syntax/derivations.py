"""Trees from the best derivations of a chart, without duplicates and with shared subtrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.syntax.binarising import PARTIAL, bare
from polyadic.syntax.brackets import Phrase
from polyadic.syntax.kernels.chart import SAME, WORD, k_best

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.syntax.grammar import Grammar
    from polyadic.syntax.kernels.chart import Chart, ChartRules, Derivations


class Parse(NamedTuple):
    """A tree of a sentence and its log-probability, without that of the words."""

    tree: Phrase
    log_probability: float


class PreparedGrammar(NamedTuple):
    """A grammar whose rules are sorted for best derivations.

    Attributes
    ----------
    rules : ChartRules
    names : tuple of str
        Label of each symbol in a tree.
    chains : tuple of tuple of int
        Symbols of each unary rule.
    number : dict of str to int
        Index of each symbol.
    """

    rules: ChartRules
    names: tuple[str, ...]
    chains: tuple[tuple[int, ...], ...]
    number: dict[str, int]

    @classmethod
    def of(cls, grammar: Grammar) -> PreparedGrammar:
        """Sort the rules of a grammar."""
        rules, chains = grammar.maxima()
        number = {symbol: at for at, symbol in enumerate(grammar.symbols)}
        return cls(rules, tuple(map(bare, grammar.symbols)), chains, number)


def best_trees(ready: PreparedGrammar, filled: Chart, words: Sequence[str], *, root: int, k: int) -> list[Parse]:
    """Return the ``k`` best distinct trees of a filled chart, best first, without the ``root`` symbol above them."""
    requested = k
    while True:
        derivations = k_best(ready.rules, filled, root, k=requested)
        parses = _distinct(ready, derivations, words)
        if len(parses) >= k or len(derivations.best) < requested:
            return parses[:k]
        requested *= 2


def _distinct(ready: PreparedGrammar, derivations: Derivations, words: Sequence[str]) -> list[Parse]:
    """Build trees bottom-up; equal subtrees are one object, so equal trees are too."""
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
    """Return positions, symbols and scores of the tags of all words, as input to a chart."""
    rows = [(i, number[tag], s) for i, tags in enumerate(scores) for tag, s in tags.items() if tag in number]
    places, symbols, values = zip(*rows, strict=True) if rows else ((), (), ())
    return list(places), list(symbols), list(values)


def plain_scores(scores: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Return the scores of the plain tags of each word: the maximum over their annotated variants."""
    plain: list[dict[str, float]] = []
    for tags in scores:
        best: dict[str, float] = {}
        for tag, score in tags.items():
            best[bare(tag)] = max(best.get(bare(tag), -np.inf), score)
        plain.append(best)
    return plain
