"""Grammars learned from strings without trees: planted ones, and the noun phrases of a treebank."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.cao2014.lists import penn_parts
from polyadic.metrics.figures import Figure, difference
from polyadic.sequences.spectral_automaton import SpectralAutomaton
from polyadic.syntax.spectral_grammar import SpectralGrammar, WeightedGrammar, binary_trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from polyadic.core.stage_cache import Facts
    from polyadic.syntax.brackets import Phrase

PENALTIES = (1e-4, 1e-3, 1e-2)
CLASSES = {
    **dict.fromkeys(("DT", "PRP$", "WDT", "PDT", "WP$", "CD"), "D"),
    **dict.fromkeys(("JJ", "JJR", "JJS", "VBG", "VBN", "RB"), "A"),
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS", "PRP", "POS"), "N"),
    **dict.fromkeys(("IN", "TO"), "P"),
}
"""Classes of tags: determiners and numbers, adjectives and participles, nouns, prepositions; all others are X."""


def planted_grammar(states: int, symbols: int, rng: np.random.Generator, *, stop: float = 0.6) -> WeightedGrammar:
    """Draw a grammar whose states become symbols with probability ``stop``."""
    A = (1 - stop) * rng.dirichlet(np.full(states**2, 0.3), size=states).reshape(states, states, states)
    leaves = stop * rng.dirichlet(np.full(symbols, 0.3), size=states).T
    return WeightedGrammar(rng.dirichlet(np.ones(states)), A, leaves)


def drawn_strings(grammar: WeightedGrammar, many: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Draw strings from a grammar whose weights are probabilities."""
    k, r = grammar.leaves.shape
    p = np.column_stack([grammar.leaves.T, grammar.A.reshape(r, -1)])
    strings = []
    for root in rng.choice(r, size=many, p=grammar.root).tolist():
        string, waiting = [], [root]
        while waiting:
            state = waiting.pop()
            move = int(rng.choice(p.shape[1], p=p[state] / p[state].sum()))
            if move < k:
                string.append(move)
            else:
                waiting += divmod(move - k, r)[::-1]
        strings.append(tuple(string))
    return strings


def recovery(many: int, *, states: int = 2, symbols: int = 2, seed: int = 0) -> Facts:
    """Return the relative error of the probabilities of strings of 1 to 7 symbols, by method.

    Penalties are selected on half as many further strings; the automaton selects among 1, 2, 4 and 8 states.
    """
    rng = np.random.default_rng(seed)
    true = planted_grammar(states, symbols, rng)
    train, held = (drawn_strings(true, n, rng) for n in (many, max(many // 2, 1)))
    strings = [s for n in range(1, 8) for s in product(range(symbols), repeat=n)]
    truth, shares = np.array([true(s) for s in strings]), frequencies(held, strings)
    found = {f"grammar, rank {rank}": best_grammar(train, strings, shares, (rank,))[1] for rank in (states, 1)}
    model = SpectralAutomaton((1, 2, 4, 8), alphabet=range(symbols), seed=seed).fit(train)
    found["automaton and trigrams"] = np.exp(model.log_likelihoods(strings))
    found["frequencies"] = frequencies(train, strings)
    return {name: float(np.abs(p - truth).sum() / truth.sum()) for name, p in found.items()}


def best_grammar(train: Sequence[Any], strings: Sequence[Any], shares: Any, ranks: Sequence[int]) -> tuple[Any, Any]:
    """Return the grammar, and its probabilities of strings, that are nearest to held-out frequencies."""
    models = (SpectralGrammar(rank, penalty=penalty).fit(train) for rank in ranks for penalty in PENALTIES)
    tried = ((model, model.probabilities(strings)) for model in models)
    return min(tried, key=lambda each: np.square(each[1] - shares).sum())


def frequencies(data: Sequence[Any], strings: Sequence[Any]) -> Any:
    """Return the relative frequency of each string."""
    counts = Counter(map(tuple, data))
    return np.array([counts[tuple(s)] for s in strings]) / len(data)


def noun_phrases(trees: Sequence[Phrase]) -> list[tuple[tuple[str, ...], frozenset[tuple[int, int]]]]:
    """Return the largest noun phrases of trees: classes of tags, and the phrases inside, of at least two tags."""
    return [
        (tuple(CLASSES.get(tag.label, "X") for tag in phrase.tags()), frozenset(_inside(phrase)))
        for tree in trees
        for phrase in _largest(tree)
    ]


def _largest(phrase: Phrase) -> Iterator[Phrase]:
    if phrase.label.split("-")[0] == "NP":
        yield phrase
    else:
        for child in phrase.children:
            if not isinstance(child, str):
                yield from _largest(child)


def _inside(phrase: Phrase, start: int = 0) -> Iterator[tuple[int, int]]:
    size = len(phrase.words())
    if size > 1:
        yield start, start + size
    for child in phrase.children:
        if not isinstance(child, str):
            yield from _inside(child, start)
            start += len(child.words())


def phrases(*, ranks: Sequence[int] = (2, 4, 6, 8), longest: int = 10, root: Path | None = None) -> Facts:
    """Learn a grammar from the noun phrases of the training part of the Penn Treebank sample, without their trees.

    Rank and penalty are selected on the development part. Errors are sums over strings of up to 6 classes; F is of the
    phrases inside noun phrases of up to ``longest`` classes, all but the whole, that have any.
    """
    train, dev, test = map(noun_phrases, penn_parts(root=root))
    classes = sorted({a for s, _ in train for a in s})
    strings = [s for n in range(1, 7) for s in product(classes, repeat=n)]
    shares = {name: frequencies([s for s, _ in part], strings) for name, part in (("dev", dev), ("test", test))}
    plain = [s for s, _ in train]
    model, p = best_grammar(plain, strings, shares["dev"], ranks)
    automaton = SpectralAutomaton((2, 4, 8, 16), alphabet=classes, seed=0).fit(plain)
    found = {
        f"grammar, rank {model.rank_}": p,
        "automaton and trigrams": np.exp(automaton.log_likelihoods(strings)),
        "training frequencies": frequencies(plain, strings),
    }
    errors = {name: float(np.abs(q - shares["test"]).sum()) for name, q in found.items()}
    asked = [(s, gold - {(0, len(s))}) for s, gold in test if len(s) <= longest and len(gold) > 1]
    rng = np.random.default_rng(0)
    guesses = {
        "grammar": [set(each) for each in model.brackets([s for s, _ in asked])],
        "right-branching": [{(i, len(s)) for i in range(len(s) - 1)} for s, _ in asked],
        "left-branching": [{(0, j) for j in range(2, len(s) + 1)} for s, _ in asked],
        "random trees": [{(i, j) for i, _, j in _random(len(s), rng)} for s, _ in asked],
    }
    figures = {name: _f(name, asked, guess) for name, guess in guesses.items()}
    return {
        "chosen": {"rank": model.rank_, "penalty": model.penalty},
        "phrases": {"train": len(train), "test": len(test), "bracketed": len(asked)},
        "errors": errors,
        "brackets": {name: figure.as_dict() for name, figure in figures.items()},
        "over": {name: difference(figures["grammar"], figures[name])._asdict() for name in list(figures)[1:]},
    }


def _random(n: int, rng: np.random.Generator) -> Any:
    trees = binary_trees(n)
    return trees[int(rng.integers(len(trees)))]


def _f(name: str, asked: Sequence[Any], guesses: Sequence[Any]) -> Figure:
    """Return F1 of phrases, as twice those that agree by the sum of both numbers."""
    rows = []
    for (s, gold), guess in zip(asked, guesses, strict=True):
        inner = guess - {(0, len(s))}
        rows.append([2.0 * len(inner & gold), float(len(inner) + len(gold))])
    return Figure(name, np.array(rows), len(rows), len(rows))
