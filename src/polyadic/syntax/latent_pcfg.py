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

from collections import defaultdict
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.linalg.truncated import truncated_svd
from polyadic.core.linalg.whitening import third_moments
from polyadic.core.model import Amount, Count
from polyadic.syntax.latent_grammar import (
    UNSEEN,
    LatentGrammar,
    Node,
    RuleTensors,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.syntax.grammar import Rule

    Array = NDArray[np.float64]

LEAST = 1e-6
"""Singular values below this share of the largest are errors of rounding."""
KAPPA = 5.0
"""Added to how often a feature occurs before the features of a node are divided by the root of it, as published."""


class LatentPCFG(LatentGrammar):
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
    >>> from polyadic.syntax.brackets import parse_phrase
    >>> dog = parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> parser = LatentPCFG(2).fit([dog, parse_phrase("(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))")])
    >>> str(parser.parse("a dog sleeps".split()))
    '(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))'
    """

    states: Count = 8
    _: KW_ONLY
    smoothing: Amount = 20.0

    def _tensors(self, forest: list[list[Node]]) -> RuleTensors:
        return rule_tensors(forest, self.states, smoothing=self.smoothing)


def rule_tensors(forest: list[list[Node]], states: int, *, smoothing: float) -> RuleTensors:
    """Find coordinates of each label, and from them the tensors of rules.

    Parameters
    ----------
    forest : list of list of Node
        Of each tree, the root last.
    states : int
        Coordinates of a label at most.
    smoothing : float
        See :class:`~polyadic.syntax.latent_pcfg.LatentPCFG`.
    """
    nodes: list[Node] = []
    inner: list[list[str]] = []
    outer: list[list[str]] = []
    of_label: dict[str, list[int]] = defaultdict(list)
    of_rule: dict[Rule, list[int]] = defaultdict(list)
    for tree in forest:
        shift = len(nodes)
        nodes += [node._replace(below=tuple(shift + k for k in node.below)) for node in tree]
        inner += inside_features(tree)
        outer += outside_features(tree)
    for at, node in enumerate(nodes):
        of_label[node.label].append(at)
        of_rule[node.rule].append(at)
    Y, Z = np.zeros((2, len(nodes), states))
    for rows in of_label.values():
        Y[rows], Z[rows] = _coordinates([inner[at] for at in rows], [outer[at] for at in rows], states)
    rules = {}
    for rule, rows in of_rule.items():
        below = [Y[[nodes[at].below[k] for at in rows]] for k in range(len(nodes[rows[0]].below))]
        rules[rule] = len(rows) / len(of_label[rule[0]]) * _tensor(Z[rows], below, smoothing)
    tags = {node.label for node in nodes if not node.below}
    unseen = {tag: UNSEEN * Z[of_label[tag]].mean(axis=0) / len(of_label[tag]) for tag in tags}
    roots = np.cumsum([len(tree) for tree in forest]) - 1
    return RuleTensors(rules, unseen, Y[roots].mean(axis=0))


def _tensor(z: Array, below: list[Array], smoothing: float) -> Array:
    """Give the mean of products, drawn towards the product of means."""
    n, states = z.shape
    left, right = [*below, np.ones((n, 1)), np.ones((n, 1))][:2]
    whole = third_moments(z, left, right) / n
    a, b, c = (part.mean(axis=0, keepdims=True) for part in (z, left, right))
    weight = n**0.5 / (n**0.5 + smoothing)
    mixed: Array = weight * whole + (1 - weight) * third_moments(a, b, c)
    return mixed.reshape([states] * (1 + len(below)))


def _coordinates(inner: list[list[str]], outer: list[list[str]], states: int) -> tuple[Array, Array]:
    """Give the coordinates of what is in nodes of one label, and of what is around them."""
    phi, psi = _table(inner), _table(outer)
    cross = csr_array(phi.T @ psi) / len(inner)
    if states < min(cross.shape):
        U, s, V = truncated_svd(cross, states, seed=0)
    else:
        U, s, Vt = np.linalg.svd(cross.toarray(), full_matrices=False)
        U, s, V = U[:, :states], s[:states], Vt[:states].T
    kept = s > LEAST * s[0]
    Y, Z = np.zeros((2, len(inner), states))
    Y[:, : kept.sum()], Z[:, : kept.sum()] = phi @ U[:, kept], psi @ V[:, kept] / s[kept]
    return Y, Z


def _table(rows: list[list[str]]) -> csr_array:
    """Give features as columns, each divided by the root of how often it occurs."""
    number: dict[str, int] = {}
    columns = np.array([number.setdefault(name, len(number)) for row in rows for name in row])
    starts = np.cumsum([0, *map(len, rows)])
    scale = np.sqrt(len(rows) / (np.bincount(columns) + KAPPA))
    return csr_array((scale[columns], columns, starts), shape=(len(rows), len(number)))


def inside_features(nodes: list[Node]) -> list[list[str]]:
    """Give for each node names of what is in it: rules on top of it, its ends, and how long it is."""
    tags = [node.label for node in nodes if not node.below]
    rules = [" ".join(node.rule) for node in nodes]
    table = []
    for node, rule in zip(nodes, rules, strict=True):
        first, last = node.span
        row = ["", f"rule {rule}"]
        row += [f"child {k} {rule} / {rules[child]}" for k, child in enumerate(node.below)]
        if node.below:
            row += [f"first {tags[first]}", f"last {tags[last - 1]}", f"length {min((last - first).bit_length(), 6)}"]
        table.append(row)
    return table


def outside_features(nodes: list[Node]) -> list[list[str]]:
    """Give for each node names of what is around it: rules above it, and the tags beside it."""
    tags = ["<s>", *(node.label for node in nodes if not node.below), "</s>"]
    above: list[tuple[str, ...]] = [()] * len(nodes)
    for parent in range(len(nodes) - 1, -1, -1):
        node = nodes[parent]
        for k, child in enumerate(node.below):
            above[child] = (f"{k} {' '.join(node.rule)}", *above[parent][:2])
    table = []
    for node, rules in zip(nodes, above, strict=True):
        first, last = node.span
        row = ["", f"left {tags[first]}", f"right {tags[last + 1]}", f"beside {tags[first]} {tags[last + 1]}"]
        table.append(row + [f"above {' / '.join(rules[: k + 1])}" for k in range(len(rules))])
    return table
