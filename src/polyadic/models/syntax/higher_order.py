r"""Dependency trees scored by arcs, with a tensor of low rank, and by parts of two and three arcs.

.. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

where :math:`S_{hm}` is the score of :class:`~polyadic.models.syntax.low_rank_parser.LowRankParser`, and :math:`p` are

* of order 2: a word with its head and the dependent that stands next to it on the way to the head, or the end of the
  dependents on a side; a word with its head and the head of that;
* of order 3: both at once; and a word with its head and two dependents before it.

No program finds the best tree in reasonable time, so trees are improved one head at a time from several starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.kernels.syntax.climbing import TreeParts, score_trees
from polyadic.models.syntax.arc_parts import PAIRS, coded_tree
from polyadic.models.syntax.low_rank_parser import LowRankParser
from polyadic.models.syntax.parser_settings import check_length, check_order
from polyadic.models.syntax.tree_templates import TEMPLATES
from polyadic.solvers.syntax.tree_parts import Reached, Search, TreeLearner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.kernels.syntax.arc_tensor import ArcParts
    from polyadic.models.syntax.parser_settings import Init
    from polyadic.models.syntax.tensor_parses import Decoding
    from polyadic.solvers.run import Result
    from polyadic.solvers.syntax.arc_tensor import Updates
    from polyadic.text.syntax.trees import Tree

NOISE, BEAM = 0.3, 1.5
"""Of :class:`~polyadic.solvers.syntax.tree_parts.Search`, in units of the cost of a wrong head."""
LEARNING_RESTARTS = 1
"""Restarts for a sentence to learn from: of 1,000 sentences, 5 and 10 make no better parser, and take longer."""


class HigherOrderParser(LowRankParser):
    """Dependency parser of second or third order with a tensor of low rank for arcs.

    Parameters
    ----------
    rank, gamma, C, max_iter, labels, init, decoding, one_root, updates, averaged, least, bits, vectors, watch
        As for :class:`~polyadic.models.syntax.low_rank_parser.LowRankParser`; gamma is the share of parts too.
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
        See :class:`~polyadic.models.syntax.tensor_parses.TensorParses`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.solvers.run.Fitted`.

    References
    ----------
    Zhang, Lei, Barzilay, Jaakkola (2014), Greed is good if randomized: new inference for dependency parsing. Lei, Xin,
    Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures

    Examples
    --------
    >>> from polyadic.text.syntax.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, ("nsubj", "root"), none, none)
    >>> HigherOrderParser(2, max_iter=3, bits=10).fit([dogs] * 3).parse(["Cats", "sleep"], ["NNS", "VBP"]).relations
    ('nsubj', 'root')
    """

    tree_weights_: NDArray[np.float32]

    def __init__(
        self,
        rank: int = 50,
        *,
        order: int = 3,
        restarts: int = 20,
        gamma: float = 0.3,
        C: float = 0.01,
        max_iter: int = 5,
        labels: bool = True,
        init: Init = "svd",
        decoding: Decoding = "projective",
        one_root: bool = True,
        updates: Updates = "all",
        averaged: bool = True,
        least: int = 1,
        bits: int = 22,
        vectors: Embedding | None = None,
        seed: int | None = 0,
        watch: Callable[[Result], None] | None = None,
    ) -> None:
        super().__init__(rank, gamma=gamma, C=C, max_iter=max_iter, labels=labels, init=init, decoding=decoding)
        self.one_root = one_root
        self.updates = updates
        self.averaged = averaged
        self.least = least
        self.bits = bits
        self.vectors = vectors
        self.seed = seed
        self.watch = watch
        self.order = order
        self.restarts = restarts

    def fit(self, trees: Iterable[Tree]) -> HigherOrderParser:
        """Learn from sentences.

        Parameters
        ----------
        trees : iterable of Tree

        Raises
        ------
        InputError
            As :meth:`LowRankParser.fit`; and if a sentence has more than 4,094 words.
        """
        check_order(self)
        held = list(trees)
        for tree in held:
            check_length(tree.forms)
        super().fit(held)
        self.tree_weights_ = self.result_.factors[-2]
        return self

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
        check_length(tree.forms)
        table = coded_tree(tree, self._coder())
        by_arcs, _ = super().candidates(tree, k=k)
        found = np.unique(np.concatenate([self._reached(tree.forms, table).trees, by_arcs]), axis=0)
        scores = score_trees(table, self._scores(tree.forms, table), found, self._tree_parts())
        best = np.argsort(-scores, kind="stable")[:k]
        return found[best], scores[best]

    def score(self, tree: Tree) -> float:
        """Give the score of a tree as it stands.

        Parameters
        ----------
        tree : Tree
        """
        check_length(tree.forms)
        table = coded_tree(tree, self._coder())
        return float(score_trees(table, self._scores(tree.forms, table), tree.heads[None], self._tree_parts())[0])

    def _tree_parts(self) -> TreeParts:
        return TreeParts(self.order, TEMPLATES, self.tree_weights_, self.gamma)

    def _best(self, forms: Sequence[str], table: NDArray[np.int32]) -> NDArray[np.int32]:
        return self._reached(forms, table).trees[0]

    def _reached(self, forms: Sequence[str], table: NDArray[np.int32]) -> Reached:
        check_length(forms)
        rng = np.random.default_rng(self.seed)
        return self._search(self.restarts)(table, self._scores(forms, table), parts=self._tree_parts(), rng=rng)

    def _search(self, restarts: int) -> Search:
        projective = self.decoding == "projective"
        return Search(self._decode, projective, single_root=self.one_root, restarts=restarts, noise=NOISE, beam=BEAM)

    def _learner(self, parts: ArcParts, rng: np.random.Generator) -> TreeLearner:
        more = TreeParts(self.order, TEMPLATES, np.zeros(1 << self.bits, np.float32), self.gamma)
        search = self._search(LEARNING_RESTARTS)
        return TreeLearner(parts, PAIRS, tree_parts=more, C=self.C, search=search, rng=rng, updates=self.updates)
