r"""Dependency parsing with a low-rank tensor over features of the head, the dependent and their distance.

.. math:: S(y) = \sum_{(h, m) \in y} \gamma \, \theta \cdot \phi(h, m)
                 + (1 - \gamma) \sum_{r=1}^R (U^\top \phi_h)_r (V^\top \phi_m)_r (W_0 + W_{d(h, m)})_r

The sum over r scores all combinations of features of both ends and their distance, including unseen ones, because words
share their other features. The sparse part holds weights for particular pairs of features.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self

import numpy as np

from polyadic.core.annotations import Array, Floats, Ints, Ints32
from polyadic.core.entries import blocks
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Callback, Count, Model, Positive, Seed, Share, Within
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Sweep, run
from polyadic.embedding import Embedding
from polyadic.metrics.dependencies import dependency_score, match_trees
from polyadic.syntax import arc_features
from polyadic.syntax.arc_features import AROUND, PAIRS, TAG, CodedSentence, TokenCoder, vector_rows
from polyadic.syntax.arc_learning import ArcLearner, Decoder, RelationLearner, Updates, best_relations
from polyadic.syntax.kernels.arc_tensor import DISTANCES, ArcParts, hashed_cells, score_tensor_arcs, tensor_cells
from polyadic.syntax.kernels.best_trees import best_arcs, best_projective_trees, best_spanning_trees
from polyadic.syntax.low_rank_tensors import unfolded_start
from polyadic.syntax.trees import Tree, untagged

if TYPE_CHECKING:
    from polyadic.core.forms import Factors

Decoding = Literal["projective", "any"]
RELATION_BITS = 18  # maximum base-2 logarithm of the number of relation weights; 19 doubles the memory for .0004 LAS
BUFFER_SIZE = 1 << 22  # feature pairs per buffer; one array per sentence would fragment a tenth of the memory


class UnknownTagsWarning(UserWarning):
    """Warning issued when most words have parts of speech that are unknown to the parser."""


class DependencyParse(NamedTuple):
    """Dependency tree of a sentence: heads counted from 1 (0 is the root), and relations (``"_"`` if not learned)."""

    heads: Ints32
    relations: tuple[str, ...]


class LowRankParser(Model):
    """First-order dependency parser with a low-rank tensor.

    Sentences need parts of speech, of the treebank or universal ones; lemmas and morphology are used if they have them.

    Parameters
    ----------
    rank : int
        Rank :math:`R` of the weight tensor.
    gamma : float
        Weight of sparse features relative to the low-rank tensor: 0 uses only the tensor, 1 only sparse features.
    C : float
        Maximum step size of the passive-aggressive updates.
    labels : bool
        Whether to predict the relation of each arc as well as the heads, word by word given the tree.
    init : {"svd", "random"}
        Initial weight tensor. ``"svd"`` starts from an approximation of the weights that a sparse parser learns in one
        pass (:func:`~polyadic.syntax.low_rank_tensors.unfolded_start`), ``"random"`` from small random numbers.
    decoding : {"projective", "any"}
        Trees to predict: only trees without crossing arcs (projective), or any trees (any).
    one_root : bool
        Whether exactly one word must depend on the root, as in Universal Dependencies.
    updates : {"all", "cyclic"}
        Whether each step updates all factor matrices or one factor matrix in turn. See
        :mod:`~polyadic.syntax.arc_learning`.
    averaged : bool
        Whether to average the parameters over the epochs. The factors are averaged one by one, not their scores.
    min_count : int
        Minimum number of occurrences of a feature.
    bits : int
        Base-2 logarithm of the number of hashed weights for pairs of features.
    vectors : Embedding, optional
        Word vectors used as additional features (:func:`~polyadic.syntax.arc_features.vector_rows`).

    Attributes
    ----------
    history_ : list of float
        Mean loss of a sentence before its update, by pass.
    parts_, features_ : ArcParts, dict of str to int
        theta, of shape (cells,), U and V, (features, R), and W, (distances, R); and rows of U and V by feature.
    relations_, relation_weights_ : list of str, ndarray of shape (cells, relations)
        Names of the relations, and their hashed weights.

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
    min_count: Count = 1
    bits: Annotated[int, Within(4, 30)] = 22
    vectors: Embedding | None = None
    seed: Seed = 0
    callback: Callback = None

    def fit(self, trees: Iterable[Tree], *, validation: Iterable[Tree] | None = None) -> Self:
        """Fit the parser to a treebank.

        Sentences of ``validation`` are parsed after each pass. The parameters with the best score are kept, and fitting
        stops after five passes without improvement. InputError is raised if there are no sentences, heads do not form a
        tree, no word is tagged, or a parameter is out of range.
        """
        self.check()
        treebank = list(trees)
        self._check_treebank(treebank)
        held_out = None if validation is None else list(validation)
        if held_out is not None:
            self._check_treebank(held_out)
        several = sum(int((tree.heads == 0).sum() > 1) for tree in treebank)
        if self.one_root and several:
            about = f"sentences with several roots: {several:,} of {len(treebank):,}"
            text = f"{about}; predicted trees have one root unless one_root=False"
            warnings.warn(arc_features.SeveralRootsWarning(text, "one_root"), stacklevel=2)
        known = arc_features.known_features(treebank, min_count=self.min_count)
        relations = sorted({name for tree in treebank for name in tree.relations}) if self.labels else []
        number = {name: at for at, name in enumerate(relations)}
        labels = [np.array([number[name] for name in tree.relations]) for tree in treebank] if number else []
        coder = TokenCoder(known)
        rows = (CodedSentence(coder(tree), tree.heads, vector_rows(tree.forms, self.vectors)) for tree in treebank)
        epochs = self._epochs(list(rows), labels, features=len(known), relations=len(relations))
        measure = None if held_out is None else self._measure(held_out, known, relations)
        result = run(epochs, max_iter=self.max_iter, callback=self.callback, measure=measure)
        self.relations_, self.features_, self._coder = relations, known, coder
        return self._place(self._keep(result))

    def _place(self, factors: Factors) -> Self:
        """Set the fitted attributes from a list of factors."""
        *parts, self.relation_weights_ = factors
        self.parts_ = ArcParts(*parts)
        return self

    def _measure(self, trees: Sequence[Tree], known: dict[str, int], relations: list[str]) -> Callable[..., float]:
        """Return a function that computes the validation error, 1 - LAS, or 1 - UAS if no relations are learned."""
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
    ) -> DependencyParse:
        """Return the highest-scoring tree of a sentence.

        Parameters
        ----------
        forms, tags : sequence of str
            Words of the sentence, and their parts of speech in the treebank's tag set, of the same length above 0.
        pos, lemmas, features : sequence of str, optional
            Universal parts of speech, lemmas and morphological features, as in CoNLL-U. Without them ``"_"`` is used.
        """
        return self._parsed(forms, self._coder(_sentence(forms, tags, pos=pos, lemmas=lemmas, features=features)))

    def scores(
        self,
        forms: Sequence[str],
        tags: Sequence[str],
        *,
        pos: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
    ) -> Array:
        """Return the matrix of arc scores, with heads in the rows (row 0 is the root) and dependents in the columns."""
        return self._scores(forms, self._coder(_sentence(forms, tags, pos=pos, lemmas=lemmas, features=features)))

    def annotate(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Yield each sentence with predicted heads and relations in place of the given heads and relations.

        Columns of the old trees are cleared, see :meth:`~polyadic.syntax.trees.Tree.with_heads`. After the last
        sentence an :class:`UnknownTagsWarning` is issued if more than half of the words have unknown parts of speech.
        """
        words = unknown = 0
        for tree in trees:
            table = self._coder(tree)
            words, unknown = words + len(tree), unknown + int((table[1:, TAG] < 0).sum())
            yield tree.with_heads(*self._parsed(tree.forms, table))
        if 2 * unknown > words:
            about = f"{unknown:,} of {words:,} words have parts of speech that are unknown to the parser"
            warnings.warn(f"{about}; use the tag set of the training data", UnknownTagsWarning, stacklevel=2)

    def candidates(self, tree: Tree, *, k: int) -> tuple[Ints32, Array]:
        """Return the heads, of shape (trees, n), and scores of the ``k`` best projective trees, in decreasing order.

        The heads of ``tree`` are ignored.
        """
        scores = self._scores(tree.forms, self._coder(tree))
        return best_arcs(scores, check_int("k", k, low=1), single_root=self.one_root)

    def _check_treebank(self, trees: Sequence[Tree]) -> None:
        arc_features.check_trees(trees)
        if all(tag == "_" for tree in trees for tag in (*tree.xpos, *tree.upos)):
            raise InputError("words must have parts of speech in column 4 or 5; tag the words before training a parser")

    def _epochs(
        self, sentences: list[CodedSentence], labels: list[Ints], *, features: int, relations: int
    ) -> Iterator[Sweep]:
        """Yield the parameters and the mean loss after each pass over the sentences."""
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
        """Return a learner that starts from the given parameters."""
        return ArcLearner(parts, PAIRS, gamma=self.gamma, C=self.C, decode=self._decode, updates=self.updates)

    def _decode(self, scores: Array) -> Ints32:
        """Return the heads of the highest-scoring tree for each matrix of arc scores."""
        best = best_spanning_trees if self.decoding == "any" else best_projective_trees
        return best(scores, single_root=self.one_root)[0]

    def _scores(self, forms: Sequence[str], table: Ints32) -> Array:
        dense = vector_rows(forms, self.vectors)
        scores, _ = score_tensor_arcs(table, self.parts_, PAIRS, gamma=self.gamma, dense=dense)
        return scores

    def _best(self, forms: Sequence[str], table: Ints32) -> Ints32:
        """Return the heads of the highest-scoring tree of a sentence."""
        return self._decode(self._scores(forms, table)[None])[0]

    def _parsed(self, forms: Sequence[str], table: Ints32) -> DependencyParse:
        heads = self._best(forms, table)
        if not self.relations_:
            return DependencyParse(heads, ("_",) * len(heads))
        return DependencyParse(heads, best_relations(table, heads, self.relation_weights_, self.relations_))

    def _make_ready(self) -> None:
        self._coder = TokenCoder(self.features_)


def _sentence(forms: Sequence[str], tags: Sequence[str], **columns: Sequence[str] | None) -> Tree:
    """Build an unparsed sentence from the given columns, where missing columns contribute no features."""
    given = [column for column in (forms, tags, *columns.values()) if column is not None]
    if any(isinstance(column, str) for column in given):
        raise InputError("words and tags must be lists of strings; got a single string")
    lengths = {len(column) for column in given}
    if len(lengths) > 1 or 0 in lengths:
        got = f"got lengths {sorted(lengths)}"
        raise InputError(f"words, tags and other columns must be non-empty and of equal length; {got}")
    pos, lemmas, features = (tuple(columns[name] or ()) for name in ("pos", "lemmas", "features"))
    return replace(untagged(forms), xpos=tuple(tags), upos=pos, lemmas=lemmas, features=features)


def random_parts(features: int, rank: int, *, bits: int, rng: np.random.Generator) -> ArcParts:
    """Initialize the sparse weights to zero and the factor matrices to small random values."""
    draw = [rng.normal(scale=0.1, size=(rows, rank)).astype(np.float32) for rows in (features, features, DISTANCES)]
    return ArcParts(np.zeros(1 << bits, np.float32), *draw)


def place_surrogate(
    sentences: Sequence[CodedSentence], parts: ArcParts, *, C: float, decode: Decoder, rng: np.random.Generator
) -> None:
    """Initialize the factors by a low-rank approximation of sparse weights learned in one pass over the sentences."""
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
    for part, factor in zip(parts[1:], unfolded_start(cells, values, (F, F, DISTANCES), rank=rank), strict=True):
        part[:] = factor


def _weighted_pairs(arcs: Iterable[tuple[Ints32, Ints32]], theta: Floats, F: int) -> tuple[Ints32, Floats]:
    """Return the distinct feature pairs of the arcs of trees as tensor indices, with their nonzero weights."""
    keys, waiting, count = np.empty(0, np.int64), np.empty(BUFFER_SIZE, np.int64), 0
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
    triples, weights = np.empty((len(keys), 3), np.int32), np.empty(len(keys), np.float32)  # millions
    for block in blocks(len(keys), BUFFER_SIZE):
        ends, away = np.divmod(keys[block], DISTANCES)
        some = np.stack([*np.divmod(ends, F), away], axis=1)
        triples[block], weights[block] = some, theta[hashed_cells(some, bits=len(theta).bit_length() - 1)]
    return triples, weights
