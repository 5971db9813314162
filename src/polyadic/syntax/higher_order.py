r"""Second- and third-order dependency parsing with a low-rank tensor for arc scores.

.. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

where :math:`S_{hm}` is the score of :class:`~polyadic.syntax.low_rank_parser.LowRankParser`, and parts :math:`p` are

* of order 2: a word with its head and its inner neighbour among the dependents (or the end of the dependents on a
  side); a word with its head and grandparent;
* of order 3: both combined; and a word with its head and two inner neighbours.

Exact search is intractable, so trees are improved by hill climbing, one head at a time, from several starts: the best
tree by arcs alone, and the best trees under perturbed arc scores,

.. math:: \arg\max_y \sum_{(h, m) \in y} S_{hm} + \tau \, \varepsilon_{hm}, \qquad
          \varepsilon_{hm} \sim \text{Gumbel}(0, 1)

(The authors start from trees of random walks, whose arcs may cross.) A learning step updates the weights of arcs, the
tensor and the weights of parts together, as in :mod:`~polyadic.syntax.arc_learning`.

References
----------
Zhang, Lei, Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing. Papandreou,
Yuille (2011), Perturb-and-MAP random fields, for the noise
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Floats, Ints32
from polyadic.core.entries import blocks
from polyadic.core.errors import InputError
from polyadic.core.kernels.common import mean_weights
from polyadic.core.model import Natural, Within
from polyadic.syntax.arc_features import LEMMA, PAIRS, POS, TAG, WORD
from polyadic.syntax.arc_learning import ArcLearner, Decoder, Updates
from polyadic.syntax.kernels import climbing
from polyadic.syntax.kernels.climbing import GRAND, GRAND_SIBLING, SIBLING, THREE, TreeParts, climb_trees, score_trees
from polyadic.syntax.low_rank_parser import LowRankParser

if TYPE_CHECKING:
    from polyadic.core.forms import Factors
    from polyadic.syntax.kernels.arc_tensor import ArcParts, FeaturePairs
    from polyadic.syntax.trees import Tree

NOISE, BEAM = 0.3, 1.5  # noise and beam of TreeSearch, in units of the cost of a wrong head
LEARNING_RESTARTS = 1  # restarts per training sentence; with 1,000 sentences, 5 and 10 are slower and no better

COLUMNS = {"W": WORD, "L": LEMMA, "P": POS, "T": TAG, "-": -1}
_THIRD_ORDER = "PPPP TTTT LPPP PLPP PPLP PPPL P-PP"  # x is the grandparent, or the dependent before s
_TEMPLATES = {
    GRAND: "PP-P TT-T WT-T LT-T TW-T TL-T TT-W TT-L W--W L--L T--T LL-T LT-L TL-L",  # x is the grandparent
    SIBLING: "-PPP -TTT -WTT -LTT -TWT -TLT -TTW -TTL --WW --LL --TT -LLT -LTL -TLL",
    GRAND_SIBLING: _THIRD_ORDER,
    THREE: _THIRD_ORDER,
}
TEMPLATES = np.array([(k, *map(COLUMNS.get, name)) for k, names in _TEMPLATES.items() for name in names.split()])
"""Kind of part, and the columns of the features of x, h, s and m that are joined."""


class HigherOrderParser(LowRankParser):
    """Second- or third-order dependency parser with a low-rank tensor for arcs.

    A sentence may have at most 4,094 words.

    Parameters
    ----------
    order : int
        Maximum number of arcs in a part, 2 or 3.
    restarts : int
        Number of random starts of the tree search, besides the best tree by arcs, when a sentence is parsed.
    gamma : float
        Weight of the sparse features and of the parts against the tensor: 0 uses the tensor alone, 1 uses no tensor.
    bits : int
        Base-2 logarithm of the number of hashed weights of pairs, and of those of parts.
    seed : int, optional
        Seed of the order of the sentences, of a random start and of the restarts. Each sentence is parsed with the same
        random numbers, whatever was parsed before.

    Attributes
    ----------
    tree_weights_ : ndarray of float32
        Hashed weights of parts.
    parts_, relation_weights_, relations_, features_
        See :class:`~polyadic.syntax.low_rank_parser.LowRankParser`.

    References
    ----------
    Zhang, Lei, Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing

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

    def candidates(self, tree: Tree, *, k: int) -> tuple[Ints32, Array]:
        """Return the heads, of shape (trees, n), and scores of up to ``k`` good trees, in decreasing order of score.

        They are the results of the search from all starts, and the best projective trees by arcs alone. So the first is
        the tree of :meth:`parse` or one with a higher score. The heads of ``tree`` are ignored.
        """
        _check_length(tree.forms)
        table = self._coder(tree)
        by_arcs, _ = super().candidates(tree, k=k)
        proposed = np.unique(np.concatenate([self._reached(tree.forms, table), by_arcs]), axis=0)
        scores = score_trees(table, self._scores(tree.forms, table), proposed, self._tree_parts())
        best = np.argsort(-scores, kind="stable")[:k]
        return proposed[best], scores[best]

    def score(self, tree: Tree) -> float:
        """Return the score of the dependency tree given by the heads of a sentence."""
        _check_length(tree.forms)
        table = self._coder(tree)
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

    def _best(self, forms: Sequence[str], table: Ints32) -> Ints32:
        return self._reached(forms, table)[0]

    def _reached(self, forms: Sequence[str], table: Ints32) -> Ints32:
        """Return the trees found from all starts, best first."""
        _check_length(forms)
        rng = np.random.default_rng(self.seed)
        search = self._search(self.restarts)
        trees, _ = search(table, self._scores(forms, table), parts=self._tree_parts(), rng=rng)
        return trees

    def _search(self, restarts: int) -> TreeSearch:
        return TreeSearch(self._decode, self.decoding == "projective", self.one_root, restarts, NOISE, BEAM)

    def _learner(self, parts: ArcParts, rng: np.random.Generator) -> TreeLearner:
        more = TreeParts(self.order, TEMPLATES, np.zeros(1 << self.bits, np.float32), self.gamma)
        search = self._search(LEARNING_RESTARTS)
        return TreeLearner(parts, PAIRS, tree_parts=more, C=self.C, search=search, rng=rng, updates=self.updates)


def _check_length(forms: Sequence[str]) -> None:
    """Raise InputError if a sentence is longer than the maximum length for higher-order parsing."""
    if (n := len(forms)) > climbing.MAX_WORDS:
        raise InputError(f"a higher-order parser accepts at most {climbing.MAX_WORDS:,} words per sentence; got {n:,}")


MAX_HEADS = 50  # heads considered per word; with 30 and with all, long sentences are parsed equally well
CELLS = 1 << 16  # perturbed scores drawn at a time, unless one table has more; enough for all starts of 56 words


@dataclass(frozen=True)
class TreeSearch:
    """Search for the best dependency tree by hill climbing, from trees that ``decode`` finds by arc scores."""

    decode: Decoder
    projective: bool
    single_root: bool
    restarts: int  # number of starts besides the best tree by arcs
    noise: float  # scale tau
    beam: float  # maximum difference to the best arc of the same word; at most MAX_HEADS arcs are considered

    def __call__(
        self, table: Ints32, scores: Array, *, parts: TreeParts, rng: np.random.Generator, wanted: Ints32 | None = None
    ) -> tuple[Ints32, Array]:
        """Return the trees found from all starts and their scores, best first; arcs of ``wanted`` are never pruned."""
        size = len(table)
        slices = blocks(self.restarts, max(1, CELLS // scores.size))
        noise = (self.noise * rng.gumbel(size=(each.stop - each.start, *scores.shape)) for each in slices)
        starts = [self.decode(scores[None]), *(self.decode(scores + some) for some in noise)]
        arcs = np.where(np.eye(size, dtype=bool), -np.inf, scores)
        lowest = arcs.max(axis=0) - self.beam
        if size > MAX_HEADS:
            lowest = np.maximum(lowest, np.partition(arcs, -MAX_HEADS, axis=0)[-MAX_HEADS])
        allowed = scores >= lowest
        for tree in (starts[0][0], wanted):
            if tree is not None:
                allowed[tree, np.arange(1, size)] = True
        how = {"projective": self.projective, "single_root": self.single_root}
        trees, values = climb_trees(table, scores, np.concatenate(starts), parts=parts, allowed=allowed, **how)
        order = np.argsort(-values, kind="stable")
        return trees[order], values[order]


class TreeLearner(ArcLearner):
    """Online learner of arc scores and higher-order scores, with running sums for parameter averaging."""

    def __init__(
        self,
        parts: ArcParts,
        pairs: FeaturePairs,
        *,
        tree_parts: TreeParts,
        C: float,
        search: TreeSearch,
        rng: np.random.Generator,
        updates: Updates = "all",
    ) -> None:
        super().__init__(parts, pairs, gamma=tree_parts.gamma, C=C, decode=search.decode, updates=updates)
        self.tree_parts, self.search, self.rng = tree_parts, search, rng
        self._tree_sums = np.zeros(len(tree_parts.weights))
        self._delta = np.zeros(len(tree_parts.weights), np.float32)

    def _best(self, table: Ints32, scores: Array, heads: AnyArray) -> Ints32:
        trees, _ = self.search(table, scores, parts=self.tree_parts, rng=self.rng, wanted=heads)
        return trees[0]

    def _excess(self, table: Ints32, S: Array, heads: AnyArray, predicted: AnyArray) -> float:
        of_predicted, of_heads = score_trees(table, S, np.stack([predicted, heads]), self.tree_parts)
        return float(of_predicted - of_heads)

    def _step(self, table: Ints32, how: dict[str, Any]) -> float:
        trees = {"heads": how["heads"], "predicted": how["predicted"]}
        cells, counts, squares = climbing.difference_of_trees(table, self.tree_parts, delta=self._delta, **trees)
        alpha = super()._step(table, {**how, "more": self.gamma**2 * squares})
        how = {"step": alpha * self.gamma, "clock": self.clock, "sums": self._tree_sums}
        climbing.move_weights(self.tree_parts, cells, counts, **how)
        return alpha

    def reached(self, *, averaged: bool) -> list[Floats]:
        """Return copies of the current or averaged parameters, with the higher-order weights last."""
        weights = self.tree_parts.weights
        kept = mean_weights(weights, self._tree_sums, self.clock) if averaged else weights.copy()
        return [*super().reached(averaged=averaged), kept]
