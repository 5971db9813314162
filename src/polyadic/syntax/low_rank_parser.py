r"""Dependency trees whose arcs are scored by a tensor of low rank: features of the head, of the word, and distance.

.. math:: S(y) = \sum_{(h, m) \in y} \gamma \, \theta \cdot \phi(h, m)
                 + (1 - \gamma) \sum_{r=1}^R (U^\top \phi_h)_r (V^\top \phi_m)_r (W_0 + W_{d(h, m)})_r

The sum over r is a tensor times all combinations of features of both ends and of their distance, most of which were
never seen: what two words have in common through their other features carries over. The sparse part keeps what is
particular to a pair.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from polyadic.core.entries import blocks
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Callback, Count, Model, Positive, Seed, Share, Within
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Sweep, run
from polyadic.embedding import Embedding
from polyadic.metrics.dependencies import dependency_score, match_trees
from polyadic.syntax.arc_features import (
    AROUND,
    PAIRS,
    Sentence,
    check_tagged,
    check_trees,
    coded_tree,
    known_features,
    tell_of_roots,
    vector_rows,
)
from polyadic.syntax.arc_relations import RelationLearner, best_relations
from polyadic.syntax.arc_tensor import ArcLearner, Updates
from polyadic.syntax.kernels.arc_tensor import DISTANCES, ArcParts, hashed_cells, score_tensor_arcs, tensor_cells
from polyadic.syntax.kernels.best_trees import best_arcs, best_projective_trees, best_spanning_trees
from polyadic.syntax.low_rank_tensors import unfolded_start
from polyadic.syntax.token_features import TAG, TokenCoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.core.forms import Factors
    from polyadic.syntax.arc_tensor import Decoder
    from polyadic.syntax.trees import Tree

Decoding = Literal["projective", "any"]
RELATION_BITS = 18
"""There are at most as many rows of weights of relations as two to the power of it. One more doubles what most of the
memory is for, and makes LAS .8631 of .8627 (English Web treebank, development part)."""
MERGED = 1 << 22
"""Pairs of features that wait in one place until each is kept once, and that are looked at together. (A list of the
arrays of each sentence left holes in memory, a tenth of all that learning took.)"""


class UnknownTagsWarning(UserWarning):
    """Most words have parts of speech that a parser did not learn."""


class Parse(NamedTuple):
    """Heads of the words of a sentence, from 1 and 0 for the root, and relations to them, ``"_"`` if not learned."""

    heads: NDArray[np.int32]
    relations: tuple[str, ...]


class LowRankParser(Model):
    r"""First-order dependency parser with a tensor of low rank.

    Parts of speech must be given: those of the treebank, or universal ones where there are no others. Lemmas and
    morphology help where the sentences have them.

    Parameters
    ----------
    rank : int
        :math:`R`.
    gamma : float
        Share of the sparse part, from 0, the tensor alone, to 1, no tensor.
    C : float
        Of a step, at most.
    max_iter : int
        Passes over the sentences, at most.
    labels : bool
        Whether to learn relations too; they are chosen word by word when the tree is known.
    init : {"svd", "random"}
        Where the tensor starts: near the weights that a sparse parser learns in one pass
        (:func:`~polyadic.syntax.low_rank_tensors.unfolded_start`), or at small random numbers.
    decoding : {"projective", "any"}
        Whether arcs may cross.
    one_root : bool
        Whether exactly one word depends on the root, as Universal Dependencies have it.
    updates : {"all", "cyclic"}
        Whether a step moves U, V and W, or one of them in turn (:mod:`~polyadic.syntax.arc_tensor`).
    averaged : bool
        Whether each of theta, U, V and W is the mean over the passes. It is a mean of factors, not of scores.
    least : int
        Times that a feature must be seen to be known.
    bits : int
        There are :math:`2^\text{bits}` weights of hashed pairs.
    vectors : Embedding, optional
        Of words, to be more of their features (:func:`~polyadic.syntax.arc_features.vector_rows`).
    seed : int, optional
        Of the order of the sentences, and of a random start.
    callback : callable, optional
        Called with a :class:`~polyadic.core.solvers.run.Result` after each pass; the objective is the loss of the mean
        sentence, before the step that it leads to.

    Attributes
    ----------
    parts_ : ArcParts
        theta, of shape (cells,), U and V, of shape (features, R), and W, of shape (distances, R).
    relation_weights_ : ndarray of shape (cells, relations)
    relations_ : list of str
    features_ : dict of str to int
        Rows of U and V.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, ("nsubj", "root"), none, none)
    >>> LowRankParser(2, max_iter=3, bits=10).fit([dogs] * 3).parse(["Cats", "sleep"], ["NNS", "VBP"]).relations
    ('nsubj', 'root')
    """

    rank: Count = 50
    _: KW_ONLY
    gamma: Share = 0.3
    C: Positive = 0.01
    max_iter: Count = 10
    labels: bool = True
    init: Literal["svd", "random"] = "svd"
    decoding: Decoding = "projective"
    one_root: bool = True
    updates: Updates = "all"
    averaged: bool = True
    least: Count = 1
    bits: Annotated[int, Within(4, 30)] = 22
    vectors: Embedding | None = None
    seed: Seed = 0
    callback: Callback = None

    def fit(self, trees: Iterable[Tree], *, validation: Iterable[Tree] | None = None) -> Self:
        """Learn from sentences.

        Parameters
        ----------
        trees : iterable of Tree
        validation : iterable of Tree, optional
            Sentences to parse after each pass: what parses them best is kept, and passes end when five in a row were no
            better.

        Raises
        ------
        InputError
            If there are no sentences, heads are no tree, no word is tagged, or a parameter is out of range.
        """
        self.check()
        treebank = list(trees)
        self._check_treebank(treebank)
        judged = None if validation is None else list(validation)
        if judged is not None:
            self._check_treebank(judged)
        if self.one_root:
            tell_of_roots(treebank)
        known = known_features(treebank, least=self.least)
        relations = sorted({name for tree in treebank for name in tree.relations}) if self.labels else []
        number = {name: at for at, name in enumerate(relations)}
        labels = [np.array([number[name] for name in tree.relations]) for tree in treebank] if number else []
        coder = TokenCoder(known)
        sentences = [Sentence.of(tree, coder, self.vectors) for tree in treebank]
        epochs = self._epochs(sentences, labels, features=len(known), relations=len(relations))
        measure = None if judged is None else self._measure(judged, known, relations)
        result = run(epochs, max_iter=self.max_iter, callback=self.callback, measure=measure)
        self.relations_, self.features_, self._coder = relations, known, coder
        return self._place(self._keep(result))

    def _place(self, factors: Factors) -> Self:
        """Give factors their places."""
        *parts, self.relation_weights_ = factors
        self.parts_ = ArcParts(*parts)
        return self

    def _measure(
        self, trees: Sequence[Tree], known: dict[str, int], relations: list[str]
    ) -> Callable[[Factors], float]:
        """Give the share of words whose head, or relation if these are learned, factors get wrong."""
        reached = copy(self)
        reached.__dict__ |= {"relations_": relations, "features_": known, "_coder": TokenCoder(known)}

        def measure(factors: Factors) -> float:
            parsed = reached._place(factors).annotate(trees)  # noqa: SLF001 # of its own kind
            score = dependency_score([match_trees(*pair) for pair in zip(trees, parsed, strict=True)])
            return 1 - (score.las if relations else score.uas)

        return measure

    def parse(
        self,
        forms: Sequence[str],
        tags: Sequence[str],
        *,
        pos: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
    ) -> Parse:
        """Give the best tree of a sentence.

        Parameters
        ----------
        forms, tags : sequence of str
            Words, and their parts of speech in the treebank.
        pos, lemmas, features : sequence of str, optional
            As the columns of CoNLL-U; what is left out is ``"_"`` for each word.

        Raises
        ------
        InputError
            If there are no words, or another number of anything else.
        """
        return self._parsed(forms, self._table(forms, tags, pos=pos, lemmas=lemmas, features=features))

    def scores(
        self,
        forms: Sequence[str],
        tags: Sequence[str],
        *,
        pos: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
    ) -> NDArray[np.float64]:
        """Give the score of each arc, from each word (row) and the root (row 0) to each word (column).

        Parameters
        ----------
        forms, tags, pos, lemmas, features
            As in :meth:`parse`.

        Raises
        ------
        InputError
            As in :meth:`parse`.
        """
        return self._scores(forms, self._table(forms, tags, pos=pos, lemmas=lemmas, features=features))

    def annotate(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Give sentences with the heads and relations of their best trees; those they had are not looked at.

        What belongs to the trees that they had is taken out: see :meth:`~polyadic.syntax.trees.Tree.with_heads`.
        At the end, an :class:`UnknownTagsWarning` tells if the parser knew the parts of speech of less than half of the
        words.

        Parameters
        ----------
        trees : iterable of Tree
        """
        words = unknown = 0
        for tree in trees:
            table = coded_tree(tree, self._coder)
            words, unknown = words + len(tree), unknown + int((table[1:, TAG] < 0).sum())
            yield tree.with_heads(*self._parsed(tree.forms, table))
        if 2 * unknown > words:
            said = "parts of speech that the parser does not know, without which it parses badly"
            warnings.warn(f"{unknown:,} of {words:,} words have {said}", UnknownTagsWarning, stacklevel=2)

    def candidates(self, tree: Tree, *, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give the best projective trees of a sentence, as far as there are so many, and their scores, best first.

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
        scores = self._scores(tree.forms, coded_tree(tree, self._coder))
        return best_arcs(scores, check_int("k", k, low=1), single_root=self.one_root)

    def _check_treebank(self, trees: Sequence[Tree]) -> None:
        check_trees(trees)
        check_tagged(trees)

    def _epochs(
        self, sentences: list[Sentence], labels: list[NDArray[np.int64]], *, features: int, relations: int
    ) -> Iterator[Sweep]:
        """Yield the parts after each pass, and the mean loss in it."""
        rng = np.random.default_rng(self.seed)
        rows = features + (AROUND * self.vectors.rank if self.vectors else 0)
        parts = random_parts(rows, self.rank if self.gamma < 1 else 1, bits=self.bits, rng=rng)
        if self.init == "svd" and self.gamma < 1:
            place_surrogate(sentences, parts, C=self.C, decode=self._decode, rng=rng)
        learner = self._learner(parts, rng)
        relating = RelationLearner(relations, C=1.0, bits=min(self.bits, RELATION_BITS))
        words = sum(len(sentence.heads) for sentence in sentences)
        yield Sweep([*learner.reached(averaged=True), relating.mean()], words / len(sentences))
        while True:
            total = 0.0
            for at in tracked(rng.permutation(len(sentences)).tolist(), "learning trees"):
                total += learner.learn(*sentences[at])[1]
                if labels:
                    relating.learn(sentences[at].table, sentences[at].heads, labels[at])
            yield Sweep([*learner.reached(averaged=self.averaged), relating.mean()], total / len(sentences))

    def _learner(self, parts: ArcParts, _: np.random.Generator) -> ArcLearner:
        """Give what learns to score, from some parts."""
        return ArcLearner(parts, PAIRS, gamma=self.gamma, C=self.C, decode=self._decode, updates=self.updates)

    def _decode(self, scores: NDArray[np.float64]) -> NDArray[np.int32]:
        """Give the heads of the best tree for each table of scores of arcs."""
        best = best_spanning_trees if self.decoding == "any" else best_projective_trees
        return best(scores, single_root=self.one_root)[0]

    def _table(self, forms: Sequence[str], tags: Sequence[str], **columns: Sequence[str] | None) -> NDArray[np.int32]:
        """Give the numbers of features of a sentence."""
        given = [column for column in (forms, tags, *columns.values()) if column is not None]
        if any(isinstance(column, str) for column in given):
            raise InputError("give words and tags as lists of strings, not as one string")
        lengths = {len(column) for column in given}
        if len(lengths) > 1 or 0 in lengths:
            raise InputError(f"a sentence needs words, and as many of all else; got {sorted(lengths)}")
        return self._coder(forms, tags, **columns)

    def _scores(self, forms: Sequence[str], table: NDArray[np.int32]) -> NDArray[np.float64]:
        dense = vector_rows(forms, self.vectors)
        return score_tensor_arcs(table, self.parts_, PAIRS, gamma=self.gamma, dense=dense).scores

    def _best(self, forms: Sequence[str], table: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the heads of the best tree of a sentence."""
        return self._decode(self._scores(forms, table)[None])[0]

    def _parsed(self, forms: Sequence[str], table: NDArray[np.int32]) -> Parse:
        heads = self._best(forms, table)
        if not self.relations_:
            return Parse(heads, ("_",) * len(heads))
        return Parse(heads, best_relations(table, heads, self.relation_weights_, self.relations_))

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._coder = TokenCoder(self.features_)


def random_parts(features: int, rank: int, *, bits: int, rng: np.random.Generator) -> ArcParts:
    """Give weights of zero and small random factors; dense values count as features."""
    draw = [rng.normal(scale=0.1, size=(rows, rank)).astype(np.float32) for rows in (features, features, DISTANCES)]
    return ArcParts(np.zeros(1 << bits, np.float32), *draw)


def place_surrogate(
    sentences: Sequence[Sentence], parts: ArcParts, *, C: float, decode: Decoder, rng: np.random.Generator
) -> None:
    """Learn pairs alone for one epoch and put their weights into a tensor of low rank; theta stays zero.

    Parameters
    ----------
    sentences : sequence of Sentence
    parts : ArcParts
        Of the sizes wanted; U, V and W are written over.
    C : float
    decode : callable
        Gives the heads of the best tree for each table of scores of arcs.
    rng : numpy.random.Generator
        Of the order of the sentences.
    """
    F, rank = parts.U.shape
    alone = random_parts(F, 1, bits=len(parts.theta).bit_length() - 1, rng=np.random.default_rng(0))
    learner = ArcLearner(alone, PAIRS, gamma=1.0, C=C, decode=decode)
    used = []
    for at in tracked(rng.permutation(len(sentences)).tolist(), "learning pairs"):
        predicted, loss = learner.learn(sentences[at].table, sentences[at].heads)
        if loss:
            used += [(sentences[at].table, sentences[at].heads), (sentences[at].table, predicted)]
    cells, values = _weighted_pairs(used, learner.mean().theta, F)
    del learner, alone, used
    factors = unfolded_start(cells, values, (F, F, DISTANCES), rank=rank)
    for part, factor in zip(parts[1:], factors, strict=True):
        part[:] = factor


def _weighted_pairs(
    arcs: Iterable[tuple[NDArray[np.int32], NDArray[np.int32]]], theta: NDArray[np.float32], F: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Give pairs of features of the arcs of trees as cells of a tensor, each once, and their weights, if not zero."""
    keys, waiting, count = np.empty(0, np.int64), np.empty(MERGED, np.int64), 0
    for table, heads in arcs:
        cells, values = tensor_cells(table, theta, PAIRS, heads=heads)
        a, b, away = cells[values != 0].T
        if count + len(a) > len(waiting):
            keys, count = np.unique(np.concatenate([keys, waiting[:count]])), 0
            if len(a) > len(waiting):
                waiting = np.empty(len(a), np.int64)
        waiting[count : count + len(a)] = (a * F + b) * DISTANCES + away
        count += len(a)
    keys = np.unique(np.concatenate([keys, waiting[:count]]))
    del waiting
    triples, weights = np.empty((len(keys), 3), np.int32), np.empty(len(keys), np.float32)  # there are millions
    for block in blocks(len(keys), MERGED):
        ends, away = np.divmod(keys[block], DISTANCES)
        some = np.stack([*np.divmod(ends, F), away], axis=1)
        triples[block], weights[block] = some, theta[hashed_cells(some, bits=len(theta).bit_length() - 1)]
    return triples, weights
