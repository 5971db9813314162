r"""Dependency trees scored by arcs, with a tensor of low rank, and by parts of two and three arcs.

.. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

where :math:`S_{hm}` is the score of :class:`~polyadic.syntax.low_rank_parser.LowRankParser`, and :math:`p` are

* of order 2: a word with its head and the dependent that stands next to it on the way to the head, or the end of the
  dependents on a side; a word with its head and the head of that;
* of order 3: both at once; and a word with its head and two dependents before it.

No program finds the best tree in reasonable time, so trees are improved one head at a time from several starts.

Learning to score trees by arcs and by parts of several arcs: the search for the best tree, and the step.

.. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

where :math:`p` are neighbouring dependents, grandparents and so on. A tree is searched by climbing from several ones:
that which is best by arcs alone, and those which are best by arcs with noise,

.. math:: \arg\max_y \sum_{(h, m) \in y} S_{hm} + \tau \, \varepsilon_{hm}, \qquad
          \varepsilon_{hm} \sim \text{Gumbel}(0, 1)

(The authors start from trees drawn by random walks, whose arcs may cross.) A step moves weights of arcs, the tensor and
weights of parts at once, as :mod:`~polyadic.syntax.arc_tensor` tells.

References
----------
Zhang, Lei, Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing. Papandreou,
Yuille (2011), Perturb-and-MAP random fields, for the noise
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np

from polyadic.core.entries import blocks
from polyadic.core.errors import InputError
from polyadic.core.kernels.averaging import mean_weights
from polyadic.core.model import Natural, Within
from polyadic.syntax.arc_features import PAIRS, coded_tree
from polyadic.syntax.arc_tensor import ArcLearner
from polyadic.syntax.kernels.climbing import (
    GRAND,
    GRAND_SIBLING,
    MOST_WORDS,
    SIBLING,
    THREE,
    TreeParts,
    climb_trees,
    difference_of_trees,
    move_weights,
    score_trees,
)
from polyadic.syntax.low_rank_parser import LowRankParser
from polyadic.syntax.token_features import LEMMA, POS, TAG, WORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.core.forms import Factors
    from polyadic.syntax.arc_tensor import Decoder, Updates
    from polyadic.syntax.kernels.arc_tensor import ArcParts, Pairs
    from polyadic.syntax.trees import Tree

NOISE, BEAM = 0.3, 1.5
"""Of :class:`~polyadic.syntax.higher_order.Search`, in units of the cost of a wrong head."""
LEARNING_RESTARTS = 1
"""Restarts for a sentence to learn from: of 1,000 sentences, 5 and 10 make no better parser, and take longer."""


_ = -1
_TEMPLATES = (
    # x is the grandparent, and s is not used
    (GRAND, POS, POS, _, POS),
    (GRAND, TAG, TAG, _, TAG),
    *((GRAND, word, TAG, _, TAG) for word in (WORD, LEMMA)),
    *((GRAND, TAG, word, _, TAG) for word in (WORD, LEMMA)),
    *((GRAND, TAG, TAG, _, word) for word in (WORD, LEMMA)),
    *((GRAND, word, _, _, word) for word in (WORD, LEMMA)),
    (GRAND, TAG, _, _, TAG),
    (GRAND, LEMMA, LEMMA, _, TAG),
    (GRAND, LEMMA, TAG, _, LEMMA),
    (GRAND, TAG, LEMMA, _, LEMMA),
    # x is not used
    (SIBLING, _, POS, POS, POS),
    (SIBLING, _, TAG, TAG, TAG),
    *((SIBLING, _, word, TAG, TAG) for word in (WORD, LEMMA)),
    *((SIBLING, _, TAG, word, TAG) for word in (WORD, LEMMA)),
    *((SIBLING, _, TAG, TAG, word) for word in (WORD, LEMMA)),
    *((SIBLING, _, _, word, word) for word in (WORD, LEMMA)),
    (SIBLING, _, _, TAG, TAG),
    (SIBLING, _, LEMMA, LEMMA, TAG),
    (SIBLING, _, LEMMA, TAG, LEMMA),
    (SIBLING, _, TAG, LEMMA, LEMMA),
    # x is the grandparent
    (GRAND_SIBLING, POS, POS, POS, POS),
    (GRAND_SIBLING, TAG, TAG, TAG, TAG),
    (GRAND_SIBLING, LEMMA, POS, POS, POS),
    (GRAND_SIBLING, POS, LEMMA, POS, POS),
    (GRAND_SIBLING, POS, POS, LEMMA, POS),
    (GRAND_SIBLING, POS, POS, POS, LEMMA),
    (GRAND_SIBLING, POS, _, POS, POS),
    # x is the dependent before s
    (THREE, POS, POS, POS, POS),
    (THREE, TAG, TAG, TAG, TAG),
    (THREE, LEMMA, POS, POS, POS),
    (THREE, POS, LEMMA, POS, POS),
    (THREE, POS, POS, LEMMA, POS),
    (THREE, POS, POS, POS, LEMMA),
    (THREE, POS, _, POS, POS),
)
TEMPLATES = np.array(_TEMPLATES)
"""Kind of part, and the columns of features of x, h, s and m that are joined to one."""


class HigherOrderParser(LowRankParser):
    """Dependency parser of second or third order with a tensor of low rank for arcs.

    A sentence has at most 4,094 words.

    Parameters
    ----------
    rank, gamma, C, max_iter, labels, init, decoding, one_root, updates, averaged, least, bits, vectors, callback
        As for :class:`~polyadic.syntax.low_rank_parser.LowRankParser`; gamma is the share of parts too.
    order : int
        2 or 3: how many arcs a part has at most.
    restarts : int
        Trees to climb from besides the one that is best by arcs, for a sentence to parse.
    seed : int, optional
        Of the order of the sentences, of a random start, and of restarts: each sentence by itself, so that it does not
        matter what was parsed before.

    Attributes
    ----------
    tree_weights_ : ndarray of float32
        Of parts.
    parts_, relation_weights_, relations_, features_
        See :class:`~polyadic.syntax.low_rank_parser.LowRankParser`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Zhang, Lei, Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing. Lei, Xin,
    Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, ("nsubj", "root"), none, none)
    >>> HigherOrderParser(2, max_iter=3, bits=10).fit([dogs] * 3).parse(["Cats", "sleep"], ["NNS", "VBP"]).relations
    ('nsubj', 'root')
    """

    _: KW_ONLY
    order: Annotated[int, Within(2, 3)] = 3
    restarts: Natural = 20

    def candidates(self, tree: Tree, *, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give good trees, as far as there are so many, and their scores, best first.

        They are those that the search comes to, from as many starts as :meth:`parse` has, and the best projective
        ones by arcs alone; so the first is the tree that :meth:`parse` gives, or one of higher score.

        Parameters
        ----------
        tree : Tree
            Its heads are not looked at.
        k : int

        Returns
        -------
        heads : ndarray of int32 of shape (trees, n)
        scores : ndarray of shape (trees,)
        """
        _check_length(tree.forms)
        table = coded_tree(tree, self._coder)
        by_arcs, _ = super().candidates(tree, k=k)
        proposed = np.unique(np.concatenate([self._reached(tree.forms, table).trees, by_arcs]), axis=0)
        scores = score_trees(table, self._scores(tree.forms, table), proposed, self._tree_parts())
        best = np.argsort(-scores, kind="stable")[:k]
        return proposed[best], scores[best]

    def score(self, tree: Tree) -> float:
        """Give the score of a tree as it stands.

        Parameters
        ----------
        tree : Tree
        """
        _check_length(tree.forms)
        table = coded_tree(tree, self._coder)
        return float(score_trees(table, self._scores(tree.forms, table), tree.heads[None], self._tree_parts())[0])

    def _check_treebank(self, trees: Sequence[Tree]) -> None:
        super()._check_treebank(trees)
        for tree in trees:
            _check_length(tree.forms)

    def _place(self, factors: Factors) -> Self:
        *arcs, self.tree_weights_, relations = factors
        return super()._place([*arcs, relations])

    def _tree_parts(self) -> TreeParts:
        return TreeParts(self.order, TEMPLATES, self.tree_weights_, self.gamma)

    def _best(self, forms: Sequence[str], table: NDArray[np.int32]) -> NDArray[np.int32]:
        return self._reached(forms, table).trees[0]

    def _reached(self, forms: Sequence[str], table: NDArray[np.int32]) -> Reached:
        _check_length(forms)
        rng = np.random.default_rng(self.seed)
        return self._search(self.restarts)(table, self._scores(forms, table), parts=self._tree_parts(), rng=rng)

    def _search(self, restarts: int) -> Search:
        projective = self.decoding == "projective"
        return Search(self._decode, projective, single_root=self.one_root, restarts=restarts, noise=NOISE, beam=BEAM)

    def _learner(self, parts: ArcParts, rng: np.random.Generator) -> TreeLearner:
        more = TreeParts(self.order, TEMPLATES, np.zeros(1 << self.bits, np.float32), self.gamma)
        search = self._search(LEARNING_RESTARTS)
        return TreeLearner(parts, PAIRS, tree_parts=more, C=self.C, search=search, rng=rng, updates=self.updates)


def _check_length(forms: Sequence[str]) -> None:
    """Refuse a sentence of more words than parts of several arcs can be told apart by."""
    if len(forms) > MOST_WORDS:
        raise InputError(f"with an order above 1 a sentence has at most {MOST_WORDS:,} words; got {len(forms):,}")


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
        As for :class:`~polyadic.syntax.arc_tensor.ArcLearner`.
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
