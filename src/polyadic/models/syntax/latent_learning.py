"""Tensors of the rules of a grammar with hidden states, from the singular vectors of features of their nodes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.linalg.svd import truncated_svd
from polyadic.linalg.whitening import third_moments
from polyadic.models.syntax.latent_features import Node, inside_features, outside_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.models.syntax.grammar import Rule

    Array = NDArray[np.float64]

LEAST = 1e-6
"""Singular values below this share of the largest are errors of rounding."""
KAPPA = 5.0
"""Added to how often a feature occurs before the features of a node are divided by the root of it, as published."""
UNSEEN = 0.1
"""Times that a word which was never seen with a tag counts as seen."""


class RuleTensors(NamedTuple):
    """The parameters of a grammar with hidden states.

    Attributes
    ----------
    rules : dict of tuple of str to ndarray
        Of each rule; of a word a vector, of a rule of one child a matrix.
    unseen : dict of str to ndarray
        For each tag the vector of words that were not seen with it.
    first : ndarray of shape (states,)
        Of the root.
    """

    rules: dict[Rule, Array]
    unseen: dict[str, Array]
    first: Array


def rule_tensors(forest: list[list[Node]], states: int, *, smoothing: float) -> RuleTensors:
    """Find coordinates of each label, and from them the tensors of rules.

    Parameters
    ----------
    forest : list of list of Node
        Of each tree, the root last.
    states : int
        Coordinates of a label at most.
    smoothing : float
        See :class:`~polyadic.models.syntax.latent_pcfg.LatentPCFG`.
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
