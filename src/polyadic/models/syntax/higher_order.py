r"""Dependency trees scored by arcs, with a tensor of low rank, and by parts of two and three arcs.

.. math:: S(y) = \sum_{(h, m) \in y} S_{hm} + \gamma \sum_{p \in y} w \cdot f(p)

where :math:`S_{hm}` is the score of :class:`~polyadic.models.syntax.low_rank_parser.LowRankParser`, and :math:`p` are

* of order 2: a word with its head and the dependent that stands next to it on the way to the head, or the end of the
  dependents on a side; a word with its head and the head of that;
* of order 3: both at once; and a word with its head and two dependents before it.

No program finds the best tree in reasonable time, so trees are improved one head at a time from several starts.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from polyadic.errors import InputError
from polyadic.kernels.syntax.climbing import (
    GRAND,
    GRAND_SIBLING,
    MOST_WORDS,
    SIBLING,
    THREE,
    TreeParts,
    score_trees,
)
from polyadic.models.base import Natural, Within
from polyadic.models.syntax.arc_features import PAIRS, coded_tree
from polyadic.models.syntax.low_rank_parser import LowRankParser
from polyadic.solvers.syntax.tree_parts import Reached, Search, TreeLearner
from polyadic.text.syntax.token_features import LEMMA, POS, TAG, WORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.forms import Factors
    from polyadic.kernels.syntax.arc_tensor import ArcParts
    from polyadic.text.syntax.trees import Tree

NOISE, BEAM = 0.3, 1.5
"""Of :class:`~polyadic.solvers.syntax.tree_parts.Search`, in units of the cost of a wrong head."""
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
        See :class:`~polyadic.models.syntax.low_rank_parser.LowRankParser`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

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
