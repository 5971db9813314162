r"""Dependency trees whose arcs are scored by a tensor of low rank: features of the head, of the word, and distance.

.. math:: S(y) = \sum_{(h, m) \in y} \gamma \, \theta \cdot \phi(h, m)
                 + (1 - \gamma) \sum_{r=1}^R (U^\top \phi_h)_r (V^\top \phi_m)_r (W_0 + W_{d(h, m)})_r

The sum over r is a tensor times all combinations of features of both ends and of their distance, most of which were
never seen: what two words have in common through their other features carries over. The sparse part keeps what is
particular to a pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.kernels.syntax.arc_tensor import ArcParts
from polyadic.models.syntax.arc_parts import (
    Sentence,
    check_tagged,
    check_trees,
    known_features,
    random_parts,
    surrogate_parts,
    tell_of_roots,
)
from polyadic.models.syntax.arc_relations import RelationLearner
from polyadic.models.syntax.arc_vectors import AROUND
from polyadic.models.syntax.parser_settings import check_settings
from polyadic.models.syntax.tensor_parses import TensorParses
from polyadic.progress import tracked
from polyadic.solvers.run import Sweep, run
from polyadic.text.syntax.token_features import TokenCoder

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from dataclasses import KW_ONLY

    from polyadic.embedding import Embedding
    from polyadic.models.base import Count, Seed, Watch
    from polyadic.models.syntax.parser_settings import Init
    from polyadic.models.syntax.tensor_parses import Decoding
    from polyadic.solvers.syntax.arc_tensor import Updates
    from polyadic.text.syntax.trees import Tree

RELATION_BITS = 19
"""There are at most as many rows of weights of relations as two to the power of it."""


class LowRankParser(TensorParses):
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
        Passes over the sentences.
    labels : bool
        Whether to learn relations too; they are chosen word by word when the tree is known.
    init : {"svd", "random"}
        Where the tensor starts: near the weights that a sparse parser learns in one pass
        (:func:`~polyadic.linalg.unfolded.unfolded_start`), or at small random numbers.
    decoding : {"projective", "any"}
        Whether arcs may cross.
    one_root : bool
        Whether exactly one word depends on the root, as Universal Dependencies have it.
    updates : {"all", "cyclic"}
        Whether a step moves U, V and W, or one of them in turn (:mod:`~polyadic.solvers.syntax.arc_tensor`).
    averaged : bool
        Whether each of theta, U, V and W is the mean over the passes. It is a mean of factors, not of scores.
    least : int
        Times that a feature must be seen to be known.
    bits : int
        There are :math:`2^\text{bits}` weights of hashed pairs.
    vectors : Embedding, optional
        Of words, to be more of their features (:func:`~polyadic.models.syntax.arc_vectors.vector_rows`).
    seed : int, optional
        Of the order of the sentences, and of a random start.
    watch : callable, optional
        Called with a :class:`~polyadic.solvers.run.Result` after each pass; the objective is the loss of the mean
        sentence, before the step that it leads to.

    Attributes
    ----------
    parts_, relation_weights_, relations_, features_
        See :class:`~polyadic.models.syntax.tensor_parses.TensorParses`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures

    Examples
    --------
    >>> from polyadic.text.syntax.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, ("nsubj", "root"), none, none)
    >>> LowRankParser(2, max_iter=3, bits=10).fit([dogs] * 3).parse(["Cats", "sleep"], ["NNS", "VBP"]).relations
    ('nsubj', 'root')
    """

    rank: Count = 50
    _: KW_ONLY
    gamma: float = 0.3
    C: float = 0.01
    max_iter: Count = 5
    labels: bool = True
    init: Init = "svd"
    decoding: Decoding = "projective"
    one_root: bool = True
    updates: Updates = "all"
    averaged: bool = True
    least: int = 1
    bits: int = 22
    vectors: Embedding | None = None
    seed: Seed = 0
    watch: Watch = None

    def fit(self, trees: Iterable[Tree]) -> LowRankParser:
        """Learn from sentences.

        Parameters
        ----------
        trees : iterable of Tree

        Raises
        ------
        InputError
            If there are no sentences, heads are no tree, no word is tagged, or a parameter is out of range.
        """
        check_settings(self)
        held = list(trees)
        check_trees(held)
        check_tagged(held)
        if self.one_root:
            tell_of_roots(held)
        known = known_features(held, least=self.least)
        relations = sorted({name for tree in held for name in tree.relations}) if self.labels else []
        result = run(self._epochs(held, known, relations), max_iter=self.max_iter, watch=self.watch)
        *parts, self.relation_weights_ = self._keep(result)
        self.features_, self.relations_, self.parts_ = known, relations, ArcParts(*parts[:4])
        return self

    def _epochs(self, trees: list[Tree], known: dict[str, int], relations: list[str]) -> Iterator[Sweep]:
        """Yield the parts after each pass, and the mean loss in it."""
        rng = np.random.default_rng(self.seed)
        number = {name: at for at, name in enumerate(relations)}
        coder = TokenCoder(known)
        sentences = [Sentence.of(tree, coder, self.vectors) for tree in trees]
        labels = [np.array([number[name] for name in tree.relations]) for tree in trees] if number else []
        rows = len(known) + (AROUND * self.vectors.rank if self.vectors else 0)
        parts = random_parts(rows, self.rank if self.gamma < 1 else 1, bits=self.bits, rng=rng)
        if self.init == "svd" and self.gamma < 1:
            parts = surrogate_parts(sentences, parts, C=self.C, decode=self._decode, rng=rng)
        learner = self._learner(parts, rng)
        relating = RelationLearner(len(number), C=1.0, bits=min(self.bits, RELATION_BITS))
        yield Sweep([*learner.reached(averaged=True), relating.mean()], sum(map(len, trees)) / len(trees))
        while True:
            total = 0.0
            for at in tracked(rng.permutation(len(sentences)).tolist(), "learning trees"):
                total += learner.learn(*sentences[at])[1]
                if labels:
                    relating.learn(sentences[at].table, trees[at].heads, labels[at])
            yield Sweep([*learner.reached(averaged=self.averaged), relating.mean()], total / len(sentences))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the parser: see :func:`~polyadic.models.syntax.parser_storage.save_parser`."""
        from polyadic.models.syntax.parser_storage import save_parser

        save_parser(self, path, overwrite=overwrite)
