r"""Semantic role labelling with a four-way tensor over features of predicate, word, path and role.

.. math:: s(p, a, r) = \gamma \, (\theta \cdot \phi(p, a) + \theta_r \cdot \phi(p, a))
          + (1 - \gamma) \sum_{k=1}^K (P^\top \phi_p)_k (Q^\top \phi_a)_k (R^\top \phi_{pa})_k (S_0 + S_r)_k

The sum over k scores all combinations of features, including unseen ones; the sparse part has a weight for each of some
combinations. The roles of a predicate are predicted jointly, because two words never have the same core role
(:mod:`~polyadic.syntax.role_labels`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Share
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Sweep, run
from polyadic.syntax.low_rank_tensors import greedy_power
from polyadic.syntax.predicates import PredicateFinder
from polyadic.syntax.role_frames import TRIPLES, check_sentences, framed, known_features, role_names
from polyadic.syntax.role_labels import Bits, Once, RoleLabels, best_roles, played_once
from polyadic.syntax.role_tensor import Costs, RoleLearner, RoleParts, score_roles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.syntax.propositions import Sentence
    from polyadic.syntax.role_frames import Known
    from polyadic.syntax.role_tensor import Frame

POWER_ITERATIONS = 10
"""Iterations of the power method per component: as good a start as fifty."""


class SemanticRoles(RoleLabels):
    """Semantic role labeller with a low-rank tensor and sparse features.

    Sentences need dependency trees, from a treebank or a parser. Predicates may be given; otherwise a classifier, which
    is fitted too, finds them.

    Parameters
    ----------
    rank : int
        Rank :math:`K` of the tensor.
    gamma : float
        Weight of the sparse features against the tensor: 0 uses the tensor alone, 1 uses no tensor.
    C : float
        Maximum step size of the passive-aggressive updates.
    init : {"power", "random"}
        Initial values of the tensor. ``"power"`` starts from an approximation of the weights that the sparse part
        learns in one pass (:func:`~polyadic.syntax.low_rank_tensors.greedy_power`), ``"random"`` from small random
        numbers.
    costs : (float, float, float)
        Training costs of a spurious argument, a wrong role and a missed argument.
    near : bool
        Whether candidate arguments are limited to the ancestors of the predicate and the children of both.
    once : {"core", "all", "none"}
        Roles that at most one word per predicate may have: core roles, all roles or none.
    averaged : bool
        Whether to average the parameters over the passes. The factors are averaged one by one, not their scores.
    min_count : int
        Minimum number of occurrences of a feature among predicates and arguments.
    bits : int
        Base-2 logarithm of the number of hashed weights. With 20 bits, 4,000 predicates use a quarter of them.
    callback : callable, optional
        Function called with a :class:`~polyadic.core.solvers.run.Result` after each pass. The objective is the mean
        loss of a predicate before its update.

    Attributes
    ----------
    parts_ : RoleParts
        Parameters theta, P, Q, R and S.
    known_, roles_, predicates_
        See :class:`~polyadic.syntax.role_labels.RoleLabels`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Lei, Zhang, Marquez, Moschitti, Barzilay (2015), High-order low-rank tensors for semantic role labeling

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

    def fit(self, sentences: Iterable[Sentence]) -> Self:
        """Fit the labeller to sentences with roles.

        Parameters
        ----------
        sentences : iterable of Sentence
            Training sentences with trees, predicates and arguments.

        Raises
        ------
        InputError
            If no predicate has an argument among its candidate words, or a parameter is out of range.
        """
        self.check()
        corpus = list(sentences)
        check_sentences(corpus)
        known, names = known_features(corpus, min_count=self.min_count), role_names(corpus)
        finder = PredicateFinder().fit(corpus)
        parts = self._keep(run(self._epochs(corpus, known, names), max_iter=self.max_iter, callback=self.callback))
        self.known_, self.roles_, self.predicates_, self.parts_ = known, names, finder, RoleParts(*parts)
        return self

    def _epochs(self, sentences: list[Sentence], known: Known, names: list[str]) -> Iterator[Sweep]:
        """Yield the initial parameters with the loss of zero weights, then those after each pass."""
        rng = np.random.default_rng(self.seed)
        frames = framed(sentences, known, names, near=self.near, bits=self.bits)
        once, costs = played_once(names, self.once), Costs(*self.costs)

        def learning(parts: RoleParts, gamma: float) -> RoleLearner:
            return RoleLearner(parts, gamma=gamma, C=self.C, costs=costs, decode=partial(best_roles, once=once))

        parts = random_parts(known, len(names), self.rank if self.gamma < 1 else 1, bits=self.bits, rng=rng)
        if self.init == "power" and self.gamma < 1:
            parts = power_parts(frames, learning(parts, 1.0), rng=rng)
        learner = learning(parts, self.gamma)
        yield Sweep([*learner.mean()], learner.loss_of_zero([roles for _, roles in frames]))
        while True:
            total = 0.0
            for at in tracked(rng.permutation(len(frames)).tolist(), "learning roles"):
                total += learner.learn(*frames[at])[1]
            kept = learner.mean() if self.averaged else [part.copy() for part in learner.parts]
            yield Sweep([*kept], total / len(frames))

    def _scores(self, frame: Frame) -> NDArray[np.float64]:
        return score_roles(frame, self.parts_, gamma=self.gamma).scores


def random_parts(known: Known, roles: int, rank: int, *, bits: int, rng: np.random.Generator) -> RoleParts:
    """Return zero weights and small random factors."""
    sizes = (len(known.words), len(known.words), len(known.paths), roles + 1)
    draw = [rng.normal(scale=0.1, size=(size, rank)).astype(np.float32) for size in sizes]
    return RoleParts(np.zeros((1 << bits) + roles + 1, np.float32), *draw)


def power_parts(
    frames: Sequence[tuple[Frame, NDArray[np.int64]]],
    learner: RoleLearner,
    *,
    rng: np.random.Generator,
    max_iter: int = POWER_ITERATIONS,
) -> RoleParts:
    """Learn sparse weights for one pass and return their low-rank approximation, with theta zero.

    ``learner`` must have gamma 1 and parameters of the wanted sizes.
    """
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
    sigma, factors = greedy_power(cells[first], values[first], shape, rank=parts.P.shape[1], max_iter=max_iter)
    factors[-1] = factors[-1] * sigma
    return RoleParts(np.zeros_like(theta), *(factor.astype(np.float32) for factor in factors))


def tensor_cells(
    frame: Frame, theta: NDArray[np.float32], roles: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the joined features of the arguments of a frame as tensor cells, and their weights.

    Cells have shape (cells, 4): ids of the features of predicate, word and path, and 0 for any role or 1 + role.
    """
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
