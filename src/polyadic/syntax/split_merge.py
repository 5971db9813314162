r"""Split-merge training of a probabilistic context-free grammar with latent states.

All symbols start with one state, which gives the plain grammar. Each cycle splits every state in two with a little
noise, improves the likelihood of the trees by EM, and merges the half of the pairs that lowers the likelihood least.
Frequent symbols with varied behaviour end with many states, others keep one.

EM computes the expected counts of the tensor entries by sums over the states of each tree, and re-estimates

.. math:: P(a_x \to \beta \mid a_x) = \frac{c(a_x \to \beta) + s\, c(a \to \beta) / c(a)}{c(a_x) + s}

where :math:`c(a)` sums over the states of a, so that a rare state resembles its symbol. With :math:`s = 0` this is
plain EM, and the likelihood never falls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints, Ints32, Mask
from polyadic.core.model import Amount, Callback, Count, Natural, Seed, Share
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run
from polyadic.syntax.kernels.latent_chart import Tensors, tree_sums
from polyadic.syntax.latent_grammar import UNSEEN, LatentGrammar, Node, RuleTensors

if TYPE_CHECKING:
    from polyadic.syntax.grammar import Production


class SplitMergePCFG(LatentGrammar):
    """Latent-variable PCFG trained by splitting and merging states, which reranks the best trees of an ordinary PCFG.

    Parameters
    ----------
    cycles : int
        Number of split-merge cycles. A symbol has at most 2 to the power of ``cycles`` states.
    sweeps : int
        Number of EM iterations after each split, and again after each merge.
    merged : float
        Fraction of the split state pairs that are merged again in each cycle.
    smoothing : float
        Pseudo-count that shrinks the probabilities of a latent state towards the probabilities of its symbol.

    Attributes
    ----------
    history_ : list of float
        Mean negative log-likelihood of a tree, by EM iteration.
    plain_, tensors_, known_
        See :class:`~polyadic.syntax.latent_grammar.LatentGrammar`.

    References
    ----------
    Petrov, Barrett, Thibaux, Klein (2006), Learning accurate, compact, and interpretable tree annotation, sections 2.1
    to 2.3. Matsuzaki, Miyao, Tsujii (2005), Probabilistic CFG with latent annotations.

    Examples
    --------
    >>> from polyadic.syntax.brackets import parse_phrase
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
    callback: Callback = None

    @property
    def max_iter(self) -> int:
        """The total number of EM iterations."""
        return 2 * self.sweeps * self.cycles + 1

    def _tensors(self, forest: list[list[Node]]) -> RuleTensors:
        rules, trees = in_arrays(forest)
        numbers, states = self._keep(run(self._sweeps(trees), max_iter=self.max_iter + 1, callback=self.callback))
        tensors = dict(zip(rules, _tensors(numbers, trees.rules, states), strict=True))
        tags = Counter(node.label for tree in forest for node in tree if not node.below)
        of = {rule[0]: len(tensor) for rule, tensor in tensors.items()}
        return RuleTensors(tensors, {tag: np.full(of[tag], UNSEEN / n) for tag, n in tags.items()}, np.ones(1))

    def _sweeps(self, trees: TreeArrays) -> Iterator[Sweep]:
        """Yield the rule probabilities and the state counts of each step; symbols of roots are never split.

        The objective is the mean negative log-likelihood of a tree and of its words given their tags, before the step.
        """
        rng = np.random.default_rng(self.seed)
        states = np.ones(trees.rules[:, 0].max() + 1, np.int64)
        root = trees.symbols[trees.roots[0]]
        numbers = np.bincount(trees.edges[:, 0], minlength=len(trees.rules)).astype(float)
        numbers = improved(numbers, TensorLayout.of(trees.rules, states), smoothing=0)
        yield _swept(trees, numbers, states)[0]
        for _ in range(self.cycles):
            numbers, states = divided(numbers, trees.rules, states, np.arange(len(states)) != root, rng)
            for step in range(2 * self.sweeps):
                sweep, counts, inner, outer = _swept(trees, numbers, states)
                yield sweep
                if step == self.sweeps and self.merged > 0:
                    groups = _groups(trees, inner, outer, states, self.merged)
                    counts, states = gathered(counts, trees.rules, states, groups)
                numbers = improved(counts, TensorLayout.of(trees.rules, states), smoothing=self.smoothing)
        if self.cycles:
            yield _swept(trees, numbers, states)[0]


def in_arrays(forest: list[list[Node]]) -> tuple[list[Production], TreeArrays]:
    """Convert binarised trees to arrays, and return the distinct rules and the arrays."""
    nodes = [node for tree in forest for node in tree]
    symbols = {label: at for at, label in enumerate(dict.fromkeys(node.label for node in nodes))}
    first: dict[Production, Node] = {}
    for node in nodes:
        first.setdefault(node.rule, node)
    rules = {rule: at for at, rule in enumerate(first)}
    kinds = [[*map(symbols.get, rule if node.below else rule[:1]), -1, -1][:3] for rule, node in first.items()]
    sizes = [len(tree) for tree in forest]
    shifts = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes).tolist()
    edges = [
        [rules[node.rule], at, *[shift + k for k in node.below], -1, -1][:4]
        for at, (node, shift) in enumerate(zip(nodes, shifts, strict=True))
    ]
    labels = np.array([symbols[node.label] for node in nodes])
    return [*rules], TreeArrays(np.array(edges, np.int32), labels, np.cumsum(sizes) - 1, np.array(kinds))


NOISE = 0.01  # maximum relative noise when a state is split, as published
BYTES_PER_NUMBER = 88.0  # measured bytes per tensor entry in an update: indices, count, and arrays they are summed in


class TreeArrays(NamedTuple):
    """Collection of binarised trees, stored as arrays of nodes and rules."""

    edges: Ints32  # rule, node and children of each node, children before parents; -1 for a missing child
    symbols: Ints  # of the nodes
    roots: Ints  # root nodes, whose symbol occurs nowhere else
    rules: Ints  # symbols of parent and children of each rule; -1 for a missing child, as in rules of words


class TensorLayout(NamedTuple):
    """Layout of all rule tensors in one flat array, given the number of latent states of each symbol."""

    starts: Ints  # first entry of each tensor
    parents: Ints  # parent state of each entry, counted over all symbols
    children: Ints  # group of entries that differ in the parent state alone
    symbols: Ints  # symbol of each state

    @classmethod
    def of(cls, rules: Ints, states: Ints) -> TensorLayout:
        """Lay out the rule tensors one after another in a flat array."""
        sizes = np.where(rules < 0, 1, states[rules])
        below = sizes[:, 1:].prod(axis=1)
        starts = np.cumsum(np.append(0, sizes[:, 0] * below))
        firsts = np.cumsum(np.append(0, states))
        rule = np.repeat(np.arange(len(rules)), np.diff(starts))
        place = np.arange(starts[-1]) - starts[rule]
        parents = firsts[rules[rule, 0]] + place // below[rule]
        children = np.cumsum(np.append(0, below))[rule] + place % below[rule]
        return cls(starts[:-1], parents, children, np.repeat(np.arange(len(states)), states))


def _swept(trees: TreeArrays, numbers: Array, states: Ints) -> tuple[Sweep, Array, Array, Array]:
    tensors = Tensors(numbers, TensorLayout.of(trees.rules, states).starts)
    log, counts, inner, outer = tree_sums(trees.edges, tensors, states[trees.symbols], trees.roots)
    return Sweep([numbers, states], -log / len(trees.roots)), counts, inner, outer


def improved(counts: Array, shape: TensorLayout, *, smoothing: float) -> Array:
    """Estimate rule probabilities from expected counts, shrunk towards those of the symbol (M-step of EM)."""
    of_state = np.bincount(shape.parents, counts, len(shape.symbols))
    of_symbol = np.bincount(shape.symbols, of_state)
    pooled = np.bincount(shape.children, counts)[shape.children] / of_symbol[shape.symbols[shape.parents]]
    weight = np.where(of_state > 0, smoothing, 1.0)
    return np.asarray((counts + weight[shape.parents] * pooled) / (of_state + weight)[shape.parents])


def divided(numbers: Array, rules: Ints, states: Ints, split: Mask, rng: np.random.Generator) -> tuple[Array, Ints]:
    """Split each state of the symbols marked in ``split`` into two, with a little random noise."""
    after = np.where(split, 2 * states, states)
    size = int(np.where(rules < 0, 1, after[rules]).prod(axis=1).sum())
    check_memory(BYTES_PER_NUMBER * size, f"tensors of {size:,} numbers", "use fewer cycles")
    row = []
    for tensor, rule in zip(_tensors(numbers, rules, states), rules, strict=True):
        for axis, symbol in enumerate(rule[rule >= 0].tolist()):
            if split[symbol]:
                tensor = np.repeat(tensor, 2, axis=axis) / (2 if axis else 1)  # noqa: PLW2901
        row.append(tensor.ravel())
    whole = np.concatenate(row)
    whole *= 1 + rng.uniform(-NOISE, NOISE, len(whole))
    return improved(whole, TensorLayout.of(rules, after), smoothing=0), after


def gathered(counts: Array, rules: Ints, states: Ints, groups: Sequence[Ints]) -> tuple[Array, Ints]:
    """Sum the counts of merged states, where ``groups`` maps old to new states for each symbol."""
    row = []
    for tensor, rule in zip(_tensors(counts, rules, states), rules, strict=True):
        for axis, symbol in enumerate(rule[rule >= 0].tolist()):
            starts = np.flatnonzero(np.diff(groups[symbol], prepend=-1))
            tensor = np.add.reduceat(tensor, starts, axis=axis)  # noqa: PLW2901
        row.append(tensor.ravel())
    return np.concatenate(row), np.array([group[-1] + 1 for group in groups])


def _tensors(numbers: Array, rules: Ints, states: Ints) -> Iterator[Array]:
    """Yield each rule tensor from a flat array of all tensor entries."""
    for part, rule in zip(np.split(numbers, TensorLayout.of(rules, states).starts[1:]), rules, strict=True):
        yield part.reshape(states[rule[rule >= 0]])


def _groups(trees: TreeArrays, inner: Array, outer: Array, states: Ints, merged: float) -> list[Ints]:
    """Return a map from old to new states that merges the state pairs with the lowest loss of likelihood."""
    losses: dict[tuple[int, int], float] = {}
    order = np.argsort(trees.symbols, kind="stable")
    ends = np.searchsorted(trees.symbols[order], np.arange(len(states) + 1))
    for symbol in np.flatnonzero(states % 2 == 0).tolist():
        nodes = order[ends[symbol] : ends[symbol + 1]]
        lost = pair_losses(inner[nodes, : states[symbol]], outer[nodes, : states[symbol]])
        losses |= {(symbol, pair): loss for pair, loss in enumerate(lost.tolist())}
    lowest = sorted(losses, key=lambda pair: losses[pair])[: round(merged * len(losses))]
    fresh = [np.ones(n, np.int64) for n in states.tolist()]
    for symbol, pair in lowest:
        fresh[symbol][2 * pair + 1] = 0
    return [np.cumsum(new) - 1 for new in fresh]


def pair_losses(inner: Array, outer: Array) -> Array:
    """Return the loss of log-likelihood from merging each pair of states; ``inner``, ``outer``: (nodes, states)."""
    through = inner * outer
    total = through.sum(axis=1)
    used = (through / total[:, None]).sum(axis=0).reshape(-1, 2)
    shares = used / np.maximum(used.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    pairs = inner.reshape(len(inner), -1, 2), outer.reshape(len(outer), -1, 2)
    one = (pairs[0] * shares).sum(axis=2) * pairs[1].sum(axis=2)
    changed = 1 + (one - through.reshape(pairs[0].shape).sum(axis=2)) / total[:, None]
    return np.asarray(-np.log(changed).sum(axis=0))
