r"""Semantic role labelling with a four-way tensor over features of predicate, word, path and role.

.. math:: s(p, a, r) = \gamma \, (\theta \cdot \phi(p, a) + \theta_r \cdot \phi(p, a))
          + (1 - \gamma) \sum_{k=1}^K (P^\top \phi_p)_k (Q^\top \phi_a)_k (R^\top \phi_{pa})_k (S_0 + S_r)_k

The sum over k scores all combinations of features, including unseen ones; the sparse part has a weight for each of
some combinations. The roles of a predicate are predicted jointly (:mod:`~polyadic.syntax.role_labels`). In learning,
the cost-augmented best roles are compared with the correct ones:

.. math:: \text{loss} = \text{cost}(\hat y) + s(\hat y) - s(y), \qquad \hat y = \arg\max_{y'} s(y') + \text{cost}(y')

theta, P, Q, R and S are updated together with a step size that removes the loss to first order, at most ``C``:

.. math:: \alpha = \min\Big(C, \frac{\text{loss}}{\gamma^2 \|\Delta\phi\|^2
          + (1 - \gamma)^2 (\|\partial P\|^2 + \|\partial Q\|^2 + \|\partial R\|^2 + \|\partial S\|^2)}\Big)

The final parameters are averages of each factor by itself, as in :mod:`polyadic.syntax.arc_learning`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Floats, Ints
from polyadic.core.kernels.common import mean_weights
from polyadic.core.kernels.triples import summed_rows
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Share
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Sweep, run
from polyadic.syntax.kernels.arcs import score_cells
from polyadic.syntax.low_rank_tensors import greedy_power
from polyadic.syntax.role_features import TRIPLES, Frame, Known, framed, known_features
from polyadic.syntax.role_labels import Bits, Once, RoleLabels, best_roles, played_once

if TYPE_CHECKING:
    from polyadic.syntax.propositions import Sentence

Decoder = Callable[[Array, Array], Ints]
Costs = tuple[float, float, float]  # for a spurious argument, a wrong role and a missed argument
Sums = tuple[Floats, Floats, Floats]


class RoleParts(NamedTuple):
    """Parameters of the role scores (float32), or their running sums for averaging (float64)."""

    theta: AnyArray  # hashed weights, shared by all roles and per role, (cells + roles + 1,)
    P: AnyArray  # factor of predicates, (features, K)
    Q: AnyArray  # factor of words
    R: AnyArray  # factor of paths
    S: AnyArray  # factor of roles, (roles + 1, K); row 0 is shared by all


def score_roles(frame: Frame, parts: RoleParts, *, gamma: float) -> tuple[Array, Sums]:
    """Return the scores of all roles for candidate arguments, (words, roles), and the sums of rows of P, Q and R."""
    roles = len(parts.S) - 1
    scores = np.zeros((len(frame.words), roles))
    if gamma > 0:
        scores += gamma * score_cells(frame.cells, parts.theta, roles=roles)
    tables = zip((frame.predicate, frame.words, frame.paths), (parts.P, parts.Q, parts.R), strict=True)
    rows = (np.where(table[:, :, None] >= 0, factor[table], 0) for table, factor in tables)  # missing ones are 0
    p, q, r = (row.sum(axis=1, dtype=np.float32) for row in rows)
    if gamma < 1:
        scores += (1 - gamma) * ((p * q * r) @ (parts.S[0] + parts.S[1:]).T)
    return scores, (p, q, r)


def total_score(scores: Array, roles: Ints) -> float:
    """Return the total score of a role assignment, where -1 means no role and has a score of 0."""
    chosen = np.flatnonzero(roles >= 0)
    return float(scores[chosen, roles[chosen]].sum())


class RoleLearner:
    """Online passive-aggressive learner of role scores; ``decode`` maps them, and those of no role, to roles."""

    def __init__(self, parts: RoleParts, *, gamma: float, C: float, costs: Costs, decode: Decoder) -> None:
        self.parts, self.gamma, self.C, self.costs, self.decode = parts, gamma, C, costs, decode
        self.clock = 0
        self._sums = RoleParts(*(np.zeros(part.shape) for part in parts))

    def learn(self, frame: Frame, roles: Ints) -> tuple[Ints, float]:
        """Update the parameters on one predicate and return the predicted roles and the loss."""
        scores, sums = score_roles(frame, self.parts, gamma=self.gamma)
        predicted, loss = self.worst(scores, roles)
        self.clock += 1
        if loss > 0 and (predicted != roles).any():
            self._step(frame, sums, roles, predicted, loss)
            return predicted, loss
        return predicted, 0.0

    def worst(self, scores: Array, roles: Ints) -> tuple[Ints, float]:
        """Return the highest-scoring cost-augmented roles and their margin over the correct roles."""
        known, (extra, wrong, missed) = roles >= 0, self.costs
        cost = np.repeat(np.where(known, wrong, extra)[:, None], len(self.parts.S) - 1, axis=1)
        cost[known, roles[known]] = 0
        none = np.where(known, missed, 0.0)
        predicted = self.decode(scores + cost, none)
        paid = total_score(cost, predicted) + float(none[predicted < 0].sum())
        return predicted, paid + total_score(scores, predicted) - total_score(scores, roles)

    def mean(self) -> RoleParts:
        """Return the parameters averaged over the initial values and the values after each predicate."""
        pairs = zip(self.parts, self._sums, strict=True)
        return RoleParts(*(mean_weights(part, sums, self.clock) for part, sums in pairs))

    def _step(self, frame: Frame, sums: Sums, roles: Ints, predicted: Ints, loss: float) -> None:
        """Update all parameters by one passive-aggressive step."""
        moves = role_gradient(frame, self.parts, sums, roles=roles, predicted=predicted, gamma=self.gamma)
        norm = sum(float((change * change).sum()) for _, change in moves)
        if norm <= 0:
            return
        alpha = min(self.C, loss / norm)
        for part, total, (at, change) in zip(self.parts, self._sums, moves, strict=True):
            part[at] += (alpha * change).astype(np.float32)
            total[at] += alpha * self.clock * change


def role_gradient(
    frame: Frame, parts: RoleParts, sums: Sums, *, roles: Ints, predicted: Ints, gamma: float
) -> list[tuple[Ints, AnyArray]]:
    """Return the rows and gradients of parameters for the score difference of two assignments, -1 for no role."""
    changed = [np.flatnonzero((roles != predicted) & (side >= 0)) for side in (roles, predicted)]
    words = np.concatenate(changed)
    which = np.concatenate([roles[changed[0]], predicted[changed[1]]]) + 1
    sign = np.repeat([1.0, -1.0], list(map(len, changed))).astype(np.float32)
    cells = np.concatenate([frame.cells[words], frame.cells[words] + which[:, None]])
    cells[np.concatenate([frame.cells[words]] * 2) < 0] = -1
    at, signs = _gathered(cells, np.tile(sign, 2)[:, None])
    p, q, r = sums[0], sums[1][words], sums[2][words]
    s = sign[:, None] * (parts.S[0] + parts.S[which])
    rows = (
        (frame.predicate, (q * r * s).sum(axis=0, keepdims=True)),
        (frame.words[words], p * r * s),
        (frame.paths[words], p * q * s),
        (np.stack([np.zeros_like(which), which], axis=1), sign[:, None] * p * q * r),
    )
    return [(at, gamma * signs[:, 0]), *(_gathered(table, np.float32(1 - gamma) * change) for table, change in rows)]


def _gathered(table: AnyArray, rows: AnyArray) -> tuple[Ints, AnyArray]:
    """Sum the rows of an array by feature id and return the distinct ids and the sums."""
    flat = table.ravel()
    keep = np.flatnonzero(flat >= 0)
    at, place = np.unique(flat[keep], return_inverse=True)
    return at, summed_rows(place, rows[keep // table.shape[1]], len(at))


POWER_ITERATIONS = 10  # iterations of the power method per component: as good a start as fifty


class SemanticRoles(RoleLabels):
    """Semantic role labeller with a low-rank tensor and sparse features.

    Sentences need dependency trees, of a treebank or parser. Predicates are given, or found by a classifier fitted too.

    Parameters
    ----------
    rank : int
        Rank :math:`K` of the weight tensor.
    gamma : float
        Weight of sparse features relative to the low-rank tensor: 0 uses only the tensor, 1 only sparse features.
    C : float
        Maximum step size of the passive-aggressive updates.
    init : {"power", "random"}
        Initial weight tensor. ``"power"`` starts from an approximation of the weights that the sparse part learns in
        one pass (:func:`~polyadic.syntax.low_rank_tensors.greedy_power`), ``"random"`` from small random numbers.
    costs : (float, float, float)
        Training costs of a spurious argument, a wrong role and a missed argument.
    averaged : bool
        Whether to average the parameters over the epochs. The factors are averaged one by one, not their scores.
    min_count : int
        Minimum number of occurrences of a feature among predicates and arguments.
    bits : int
        Base-2 logarithm of the number of hashed weights. With 20 bits, 4,000 predicates use a quarter of them.

    Attributes
    ----------
    history_, parts_ : list of float, RoleParts
        Mean loss of a predicate before its update, by pass; and parameters theta, P, Q, R and S.
    known_, roles_, predicates_
        See :class:`~polyadic.syntax.role_labels.RoleLabels`.

    References
    ----------
    Lei, Zhang, Marquez, Moschitti, Barzilay (2015), High-order low-rank tensors for semantic role labeling, sections 3
    and 4.

    Examples
    --------
    >>> from polyadic.syntax.propositions import Argument, Proposition, Sentence
    >>> from polyadic.syntax.trees import Tree
    >>> none, heads = ("_",) * 3, np.array([2, 0, 2], np.int32)
    >>> tags, relations = ("NOUN", "VERB", "NOUN"), ("nsubj", "root", "obj")
    >>> tree = Tree(("dogs", "chase", "cats"), none, tags, none, none, heads, relations, none, none)
    >>> chase = Proposition(2, "chase.01", (Argument(1, "ARG0"), Argument(3, "ARG1")), (2,))
    >>> model = SemanticRoles(2, max_iter=2, bits=10).fit([Sentence(tree, (chase,))] * 3)
    >>> model.arguments(tree, [2])[0] == chase.arguments
    True
    """

    rank: Count = 50
    _: KW_ONLY
    gamma: Share = 0.9
    C: Positive = 1.0
    max_iter: Count = 5
    init: Literal["power", "random"] = "power"
    costs: tuple[Amount, Amount, Amount] = (1.0, 1.0, 1.0)
    near: bool = True
    once: Once = "core"
    averaged: bool = True
    min_count: Count = 1
    bits: Bits = 20
    seed: Seed = 0
    callback: Callback = None

    def _learn(self, sentences: list[Sentence], names: list[str]) -> Known:
        known = known_features(sentences, min_count=self.min_count)
        parts = self._keep(run(self._epochs(sentences, known, names), max_iter=self.max_iter, callback=self.callback))
        self.parts_ = RoleParts(*parts)
        return known

    def _epochs(self, sentences: list[Sentence], known: Known, names: list[str]) -> Iterator[Sweep]:
        """Yield the parameters and the mean loss, first at initialization and then after each pass."""
        rng = np.random.default_rng(self.seed)
        frames = framed(sentences, known, names, near=self.near, bits=self.bits)
        decode = partial(best_roles, once=played_once(names, self.once))

        def learning(parts: RoleParts, gamma: float) -> RoleLearner:
            return RoleLearner(parts, gamma=gamma, C=self.C, costs=self.costs, decode=decode)

        parts = random_parts(known, len(names), self.rank if self.gamma < 1 else 1, bits=self.bits, rng=rng)
        if self.init == "power" and self.gamma < 1:
            parts = power_parts(frames, learning(parts, 1.0), rng=rng)
        learner = learning(parts, self.gamma)
        losses = [learner.worst(np.zeros((len(roles), len(names))), roles)[1] for _, roles in frames]  # zero weights
        yield Sweep([*learner.mean()], float(np.mean(losses)))
        while True:
            total = 0.0
            for at in tracked(rng.permutation(len(frames)).tolist(), "learning roles"):
                total += learner.learn(*frames[at])[1]
            kept = learner.mean() if self.averaged else [part.copy() for part in learner.parts]
            yield Sweep([*kept], total / len(frames))

    def _scores(self, frame: Frame) -> Array:
        return score_roles(frame, self.parts_, gamma=self.gamma)[0]


def random_parts(known: Known, roles: int, rank: int, *, bits: int, rng: np.random.Generator) -> RoleParts:
    """Initialize the sparse weights to zero and the factor matrices to small random values."""
    sizes = (len(known.words), len(known.words), len(known.paths), roles + 1)
    draw = [rng.normal(scale=0.1, size=(size, rank)).astype(np.float32) for size in sizes]
    return RoleParts(np.zeros((1 << bits) + roles + 1, np.float32), *draw)


def power_parts(frames: Sequence[tuple[Frame, Ints]], learner: RoleLearner, *, rng: np.random.Generator) -> RoleParts:
    """Initialize the factors by a low-rank approximation of the weights that ``learner``, with gamma 1, learns."""
    used = []
    for at in tracked(rng.permutation(len(frames)).tolist(), "learning pairs"):
        predicted, loss = learner.learn(*frames[at])
        if loss:
            used += [(at, frames[at][1]), (at, predicted)]
    parts, theta = learner.parts, learner.mean().theta
    listed = [tensor_cells(frames[at][0], theta, roles) for at, roles in used]
    cells = np.concatenate([np.zeros((0, 4), np.int64), *(cells for cells, _ in listed)])
    values = np.concatenate([np.zeros(0), *(values for _, values in listed)])
    shape = tuple(len(factor) for factor in parts[1:])
    _, first = np.unique(np.ravel_multi_index(tuple(cells.T), shape), return_index=True)
    first = first[values[first] != 0]
    how = {"rank": parts.P.shape[1], "max_iter": POWER_ITERATIONS}
    sigma, factors = greedy_power(cells[first], values[first], shape, **how)
    factors[-1] = factors[-1] * sigma
    return RoleParts(np.zeros_like(theta), *(factor.astype(np.float32) for factor in factors))


def tensor_cells(frame: Frame, theta: Floats, roles: Ints) -> tuple[Ints, Array]:
    """Return the joint features of arguments as cells (predicate, word, path, 0 or 1 + role), and their weights."""
    words = np.flatnonzero(roles >= 0)
    begin = frame.cells[words]
    line, column = np.nonzero(begin >= 0)
    at = begin[line, column]
    ends = (
        frame.predicate[0, TRIPLES[column, 0]],
        frame.words[words[line], TRIPLES[column, 1]],
        frame.paths[words[line], TRIPLES[column, 2]],
    )
    label = roles[words[line]] + 1
    cells = [np.stack([*ends, kind], axis=1) for kind in (np.zeros_like(label), label)]
    return np.concatenate(cells).astype(np.int64), np.concatenate([theta[at], theta[at + label]]).astype(float)
