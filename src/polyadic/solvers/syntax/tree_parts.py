r"""Learning to score trees by arcs and by parts of several arcs: the search for the best tree, and the step.

.. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

where :math:`p` are neighbouring dependents, grandparents and so on. A tree is searched by climbing from several ones:
that which is best by arcs alone, and those which are best by arcs with noise,

.. math:: \arg\max_y \sum_{(h, m) \in y} S_{hm} + \tau \, \varepsilon_{hm}, \qquad
          \varepsilon_{hm} \sim \text{Gumbel}(0, 1)

(The authors start from trees drawn by random walks, whose arcs may cross.) A step moves weights of arcs, the tensor and
weights of parts at once, as :mod:`~polyadic.solvers.syntax.arc_tensor` tells.

References
----------
Zhang, Lei, Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing. Papandreou,
Yuille (2011), Perturb-and-MAP random fields, for the noise
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.data import blocks
from polyadic.kernels.averaging import mean_weights
from polyadic.kernels.syntax.climbing import TreeParts, climb_trees, difference_of_trees, move_weights, score_trees
from polyadic.solvers.syntax.arc_tensor import ArcLearner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.kernels.syntax.arc_tensor import ArcParts, Pairs
    from polyadic.solvers.syntax.arc_tensor import Decoder, Updates

HEADS = 50
"""A word may get one of so many heads at most; with 30 and with all, long sentences are parsed equally well."""

CELLS = 1 << 16
"""Scores with noise that are drawn at a time, unless one table has more: all of a sentence of up to 56 words."""


class Reached(NamedTuple):
    """Trees, and their scores."""

    trees: NDArray[np.int32]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    r"""How trees are searched.

    Attributes
    ----------
    decode : callable
        Gives the heads of the best tree for each table of scores of arcs.
    projective, single_root : bool
        As the trees are that it gives.
    restarts : int
        Trees to start from besides the one that is best by arcs.
    noise : float
        :math:`\tau`.
    beam : float
        A word may get a head if its arc is among the best :data:`HEADS`, and scores less than the best by at most so
        much.
    """

    decode: Decoder
    projective: bool
    single_root: bool
    restarts: int
    noise: float
    beam: float

    def __call__(
        self,
        table: NDArray[np.int32],
        scores: NDArray[np.float64],
        *,
        parts: TreeParts,
        rng: np.random.Generator,
        wanted: NDArray[Any] | None = None,
    ) -> Reached:
        """Give where it came from each start, the best first; all arcs of a tree ``wanted`` are allowed."""
        size = len(table)
        starts = [self.decode(scores[None])]
        for block in blocks(self.restarts, max(1, CELLS // scores.size)):
            noise = rng.gumbel(size=(block.stop - block.start, *scores.shape))
            starts.append(self.decode(scores + self.noise * noise))
        arcs = np.where(np.eye(size, dtype=bool), -np.inf, scores)
        least = arcs.max(axis=0) - self.beam
        if size > HEADS:
            least = np.maximum(least, np.partition(arcs, -HEADS, axis=0)[-HEADS])
        allowed = scores >= least
        for tree in (starts[0][0], wanted):
            if tree is not None:
                allowed[tree, np.arange(1, size)] = True
        how = {"projective": self.projective, "single_root": self.single_root}
        trees, values = climb_trees(table, scores, np.concatenate(starts), parts=parts, allowed=allowed, **how)
        order = np.argsort(-values, kind="stable")
        return Reached(trees[order], values[order])


class TreeLearner(ArcLearner):
    """Parts of arcs and of trees on their way, and the sums that make their means.

    Parameters
    ----------
    parts, pairs, C, updates
        As for :class:`~polyadic.solvers.syntax.arc_tensor.ArcLearner`.
    tree_parts : TreeParts
        Its weights are changed in place.
    search : Search
    rng : numpy.random.Generator
        Of the noise.
    """

    def __init__(
        self,
        parts: ArcParts,
        pairs: Pairs,
        *,
        tree_parts: TreeParts,
        C: float,
        search: Search,
        rng: np.random.Generator,
        updates: Updates = "all",
    ) -> None:
        super().__init__(parts, pairs, gamma=tree_parts.gamma, C=C, decode=search.decode, updates=updates)
        self.tree_parts = tree_parts
        self.search = search
        self.rng = rng
        self._tree_sums = np.zeros(len(tree_parts.weights))
        self._delta = np.zeros(len(tree_parts.weights), np.float32)

    def _best(self, table: NDArray[np.int32], scores: NDArray[np.float64], heads: NDArray[Any]) -> NDArray[np.int32]:
        return self.search(table, scores, parts=self.tree_parts, rng=self.rng, wanted=heads).trees[0]

    def _excess(
        self, table: NDArray[np.int32], S: NDArray[np.float64], heads: NDArray[Any], predicted: NDArray[Any]
    ) -> float:
        of_predicted, of_heads = score_trees(table, S, np.stack([predicted, heads]), self.tree_parts)
        return float(of_predicted - of_heads)

    def _step(self, table: NDArray[np.int32], how: dict[str, Any]) -> float:
        trees = {"heads": how["heads"], "predicted": how["predicted"]}
        difference = difference_of_trees(table, self.tree_parts, delta=self._delta, **trees)
        alpha = super()._step(table, {**how, "more": self.gamma**2 * difference.squares})
        move_weights(self.tree_parts, difference, step=alpha * self.gamma, clock=self.clock, sums=self._tree_sums)
        return alpha

    def reached(self, *, averaged: bool) -> list[NDArray[np.float32]]:
        """Give copies of the parts as they are, or their means, the weights of parts of trees last."""
        weights = self.tree_parts.weights
        kept = mean_weights(weights, self._tree_sums, self.clock) if averaged else weights.copy()
        return [*super().reached(averaged=averaged), kept]
