r"""Spectral learning of a probabilistic context-free grammar with latent states.

For nodes with label a, let :math:`\phi` be features inside and :math:`\psi` features outside of the node. With the
rank-m approximation :math:`E[\phi \psi^\top \mid a] \approx U S V^\top`, :math:`y = U^\top \phi` and
:math:`z = S^{-1} V^\top \psi`, the tensor of a rule is

.. math:: C_{a \to b\,c} = P(a \to b\,c \mid a)\; E[z_a \otimes y_b \otimes y_c \mid a \to b\,c]

Estimates may be negative. With m = 1 and a constant feature they are those of the plain grammar. Tensors of rare rules
are shrunk towards :math:`E[z_a] \otimes E[y_b] \otimes E[y_c]`.

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

from polyadic.core.annotations import Array
from polyadic.core.linalg.truncated import leading_svd
from polyadic.core.linalg.whitening import third_moments
from polyadic.core.model import Amount, Count
from polyadic.syntax.latent_grammar import UNSEEN, LatentGrammar, Node, RuleTensors

if TYPE_CHECKING:
    from polyadic.syntax.grammar import Production

MIN_SINGULAR_SHARE = 1e-6  # singular values below this share of the largest are treated as zero
KAPPA = 5.0  # pseudo-count of features before they are scaled by the inverse square root of the count, as published


class LatentPCFG(LatentGrammar):
    """Latent-variable PCFG learned by a spectral method, which reranks the best trees of an ordinary PCFG.

    Parameters
    ----------
    states : int
        Maximum number of latent states of a label. A label has as many as its singular values allow.
    smoothing : float
        Strength of shrinkage. The tensor of a rule seen n times has the weight sqrt(n) / (sqrt(n) + ``smoothing``), the
        product of means the rest.

    Attributes
    ----------
    plain_, tensors_, known_
        See :class:`~polyadic.syntax.latent_grammar.LatentGrammar`.

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
        nodes, inner, outer = list[Node](), list[list[str]](), list[list[str]]()
        of_label: dict[str, list[int]] = defaultdict(list)
        of_rule: dict[Production, list[int]] = defaultdict(list)
        for tree in forest:
            shift = len(nodes)
            nodes += [node._replace(below=tuple(shift + k for k in node.below)) for node in tree]
            inner += inside_features(tree)
            outer += outside_features(tree)
        for at, node in enumerate(nodes):
            of_label[node.label].append(at)
            of_rule[node.rule].append(at)
        Y, Z = np.zeros((2, len(nodes), self.states))
        for rows in of_label.values():
            Y[rows], Z[rows] = _coordinates([inner[at] for at in rows], [outer[at] for at in rows], self.states)
        rules = {}
        for rule, rows in of_rule.items():
            below = [Y[[nodes[at].below[k] for at in rows]] for k in range(len(nodes[rows[0]].below))]
            rules[rule] = len(rows) / len(of_label[rule[0]]) * _tensor(Z[rows], below, self.smoothing)
        tags = {node.label for node in nodes if not node.below}
        unseen = {tag: UNSEEN * Z[of_label[tag]].mean(axis=0) / len(of_label[tag]) for tag in tags}
        roots = np.cumsum([len(tree) for tree in forest]) - 1
        return RuleTensors(rules, unseen, Y[roots].mean(axis=0))


def _tensor(z: Array, below: list[Array], smoothing: float) -> Array:
    """Return the mean outer product of node coordinates, shrunk towards the outer product of their means."""
    n, states = z.shape
    left, right = [*below, np.ones((n, 1)), np.ones((n, 1))][:2]
    whole = third_moments(z, left, right) / n
    a, b, c = (part.mean(axis=0, keepdims=True) for part in (z, left, right))
    weight = n**0.5 / (n**0.5 + smoothing)
    mixed: Array = weight * whole + (1 - weight) * third_moments(a, b, c)
    return mixed.reshape([states] * (1 + len(below)))


def _coordinates(inner: list[list[str]], outer: list[list[str]], states: int) -> tuple[Array, Array]:
    """Project the inside and outside features of nodes with the same label onto singular vectors."""
    phi, psi = _table(inner), _table(outer)
    cross = csr_array(phi.T @ psi) / len(inner)
    U, s, V = leading_svd(cross, states)
    kept = s > MIN_SINGULAR_SHARE * s[0]
    Y, Z = np.zeros((2, len(inner), states))
    Y[:, : kept.sum()], Z[:, : kept.sum()] = phi @ U[:, kept], psi @ V[:, kept] / s[kept]
    return Y, Z


def _table(rows: list[list[str]]) -> csr_array:
    """Return a sparse feature matrix, scaled by the inverse square root of feature frequencies."""
    number: dict[str, int] = {}
    columns = np.array([number.setdefault(name, len(number)) for row in rows for name in row])
    starts = np.cumsum([0, *map(len, rows)])
    scale = np.sqrt(len(rows) / (np.bincount(columns) + KAPPA))
    return csr_array((scale[columns], columns, starts), shape=(len(rows), len(number)))


def inside_features(nodes: list[Node]) -> list[list[str]]:
    """Return the inside features of each node: its top rules, its first and last tag, and its length."""
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
    """Return the outside features of each node: the rules above the node and the neighbouring tags."""
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
