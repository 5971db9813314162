r"""A grammar whose symbols have hidden states, learned by splitting them in two, EM, and merging what was of no use.

All symbols begin with one state, so that the grammar is the plain one. In each cycle every state becomes two that
differ by a little noise, EM improves the likelihood of the trees (which states have, and are summed over), and half of
the pairs are merged again, those without which the likelihood falls least. So frequent symbols that behave in many ways
come to many states, others keep one.

References
----------
Petrov, Barrett, Thibaux, Klein (2006), Learning accurate, compact, and interpretable tree annotation
"""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from polyadic.models.base import Amount, Count, Natural, Seed, Share, Watch
from polyadic.models.syntax.latent_grammar import UNSEEN, LatentGrammar, Node, RuleTensors
from polyadic.solvers.run import run
from polyadic.solvers.syntax.split_merge import Trees, split_merge

if TYPE_CHECKING:
    from polyadic.models.syntax.grammar import Rule


class SplitMergePCFG(LatentGrammar):
    """Parser of phrases: the best trees of a plain grammar, put in the order of their probabilities with hidden states.

    Parameters
    ----------
    cycles : int
        How often states are split; a symbol has 2 to the power of it at most.
    sweeps : int
        Of EM, after each split and again after each merging.
    merged : float
        Share of pairs that are merged again.
    smoothing : float
        How many uses of its symbol a state begins with.
    seed : int, optional
        Of the noise that tells states apart.

    Examples
    --------
    >>> from polyadic.text.syntax.brackets import parse_phrase
    >>> dog = parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> parser = SplitMergePCFG(1).fit([dog, parse_phrase("(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))")])
    >>> str(parser.parse("a dog sleeps".split()))
    '(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))'
    """

    cycles: Natural = 4
    _: KW_ONLY
    sweeps: Count = 10
    merged: Share = 0.5
    smoothing: Amount = 10.0
    seed: Seed = 0
    watch: Watch = None

    @property
    def max_iter(self) -> int:
        """Sweeps in all."""
        return 2 * self.sweeps * self.cycles + 1

    def _tensors(self, forest: list[list[Node]]) -> RuleTensors:
        rules, trees = in_arrays(forest)
        solver = split_merge(
            trees,
            cycles=self.cycles,
            sweeps=self.sweeps,
            merged=self.merged,
            smoothing=self.smoothing,
            seed=self.seed,
        )
        numbers, states = self._keep(run(solver, max_iter=self.max_iter + 1, watch=self.watch))
        ends = np.cumsum([states[symbols[symbols >= 0]].prod() for symbols in trees.rules]).tolist()
        tensors = {
            rule: numbers[start:end].reshape(states[symbols[symbols >= 0]])
            for rule, symbols, (start, end) in zip(rules, trees.rules, pairwise([0, *ends]), strict=True)
        }
        tags = Counter(node.label for tree in forest for node in tree if not node.below)
        of = {rule[0]: len(tensor) for rule, tensor in tensors.items()}
        unseen = {tag: np.full(of[tag], UNSEEN / n) for tag, n in tags.items()}
        return RuleTensors(tensors, unseen, np.ones(1))


def in_arrays(forest: list[list[Node]]) -> tuple[list[Rule], Trees]:
    """Give the rules of trees, and the trees with symbols and rules as numbers.

    Parameters
    ----------
    forest : list of list of Node
        Of each tree, the root last.
    """
    nodes = [node for tree in forest for node in tree]
    symbols: dict[str, int] = {}
    rules: dict[Rule, int] = {}
    kinds = []
    for node in nodes:
        symbols.setdefault(node.label, len(symbols))
        if node.rule not in rules:
            rules[node.rule] = len(rules)
            below = [symbols[label] for label in node.rule[1:]] if node.below else []
            kinds.append([symbols[node.label], *below, -1, -1][:3])
    sizes = [len(tree) for tree in forest]
    shifts = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes).tolist()
    edges = [
        [rules[node.rule], at, *[shift + k for k in node.below], -1, -1][:4]
        for at, (node, shift) in enumerate(zip(nodes, shifts, strict=True))
    ]
    labels = np.array([symbols[node.label] for node in nodes])
    return [*rules], Trees(np.array(edges, np.int32), labels, np.cumsum(sizes) - 1, np.array(kinds))
