r"""Dependency trees whose arcs are scored by a tensor of low rank: features of the head, of the word, and distance.

.. math:: S(y) = \sum_{(h, m) \in y} \gamma \, \theta \cdot \phi(h, m)
                 + (1 - \gamma) \sum_{r=1}^R (U^\top \phi_h)_r (V^\top \phi_m)_r (W_0 + W_{d(h, m)})_r

The sum over r is a tensor times all combinations of features of both ends and of their distance, most of which were
never seen: what two words have in common through their other features carries over. The sparse part keeps what is
particular to a pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from lowrank.errors import InputError, check_choice, check_int, check_number
from lowrank.kernels.arc_tensor import ArcParts
from lowrank.models.syntax.arc_parts import (
    PAIRS,
    Sentence,
    check_trees,
    coded,
    known_features,
    random_parts,
    rows_of,
    surrogate_parts,
)
from lowrank.models.syntax.arc_relations import RelationLearner
from lowrank.models.syntax.tensor_parses import Decoding, TensorParses
from lowrank.progress import tracked
from lowrank.solvers.arc_tensor import ArcLearner
from lowrank.solvers.run import Fitted, Sweep, run

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from lowrank.solvers.run import Result
    from lowrank.text.trees import Tree

Init = Literal["svd", "random"]
RELATION_BITS = 19
"""There are at most as many rows of weights of relations as two to the power of it."""


class LowRankParser(TensorParses, Fitted):
    r"""First-order dependency parser with a tensor of low rank.

    Parts of speech must be given; lemmas and morphology help where the sentences have them.

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
        (:func:`~lowrank.linalg.unfolded.unfolded_start`), or at small random numbers.
    decoding : {"projective", "any"}
        Whether arcs may cross.
    averaged : bool
        Whether each of theta, U, V and W is the mean over the passes. It is a mean of factors, not of scores.
    least : int
        Times that a feature must be seen to be known.
    bits : int
        There are :math:`2^\text{bits}` weights of hashed pairs.
    seed : int, optional
        Of the order of the sentences, and of a random start.
    watch : callable, optional
        Called with a :class:`~lowrank.solvers.run.Result` after each pass; the objective is the loss of the mean
        sentence, before the step that it leads to.

    Attributes
    ----------
    parts_, relation_weights_, relations_, features_
        See :class:`~lowrank.models.syntax.tensor_parses.TensorParses`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~lowrank.solvers.run.Fitted`.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures

    Examples
    --------
    >>> from lowrank.text.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, ("nsubj", "root"), none, none)
    >>> LowRankParser(2, max_iter=3, bits=10).fit([dogs] * 3).parse(["Cats", "sleep"], ["NNS", "VBP"]).relations
    ('nsubj', 'root')
    """

    def __init__(
        self,
        rank: int = 50,
        *,
        gamma: float = 0.3,
        C: float = 0.01,
        max_iter: int = 5,
        labels: bool = True,
        init: Init = "svd",
        decoding: Decoding = "projective",
        averaged: bool = True,
        least: int = 1,
        bits: int = 22,
        seed: int | None = 0,
        watch: Callable[[Result], None] | None = None,
    ) -> None:
        self.rank = rank
        self.gamma = gamma
        self.C = C
        self.max_iter = max_iter
        self.labels = labels
        self.init = init
        self.decoding = decoding
        self.averaged = averaged
        self.least = least
        self.bits = bits
        self.seed = seed
        self.watch = watch

    def fit(self, trees: Iterable[Tree]) -> LowRankParser:
        """Learn from sentences.

        Parameters
        ----------
        trees : iterable of Tree

        Raises
        ------
        InputError
            If there are no sentences, heads are no tree, or a parameter is out of range.
        """
        if check_number("gamma", self.gamma) > 1:
            raise InputError(f"gamma must be at most 1; got {self.gamma}")
        check_number("C", self.C, above=True)
        check_int("rank", self.rank, low=1)
        check_int("bits", self.bits, low=4, high=30)
        check_int("least", self.least, low=1)
        check_choice("init", self.init, get_args(Init))
        check_choice("decoding", self.decoding, get_args(Decoding))
        held = list(trees)
        check_trees(held)
        known = known_features(held, least=self.least)
        relations = sorted({name for tree in held for name in tree.relations}) if self.labels else []
        result = run(self._epochs(held, known, relations), max_iter=self.max_iter, watch=self.watch)
        *parts, self.relation_weights_ = self._keep(result)
        self.features_, self.relations_, self.parts_ = known, relations, ArcParts(*parts)
        return self

    def _epochs(self, trees: list[Tree], known: dict[str, int], relations: list[str]) -> Iterator[Sweep]:
        """Yield the parts after each pass, and the mean loss in it."""
        rng = np.random.default_rng(self.seed)
        number = {name: at for at, name in enumerate(relations)}
        sentences = [Sentence(coded(rows_of(tree), known), tree.heads) for tree in trees]
        labels = [np.array([number[name] for name in tree.relations]) for tree in trees] if number else []
        rank = self.rank if self.gamma < 1 else 1
        parts = random_parts(len(known), rank, bits=self.bits, rng=rng)
        if self.init == "svd" and self.gamma < 1:
            parts = surrogate_parts(sentences, parts, C=self.C, decode=self._decode, rng=rng)
        learner = ArcLearner(parts, PAIRS, gamma=self.gamma, C=self.C, decode=self._decode)
        relating = RelationLearner(len(number), C=1.0, bits=min(self.bits, RELATION_BITS))
        yield Sweep([*learner.mean(), relating.mean()], sum(map(len, trees)) / len(trees))
        while True:
            total = 0.0
            for at in tracked(rng.permutation(len(sentences)).tolist(), "learning trees"):
                total += learner.learn(*sentences[at])[1]
                if labels:
                    relating.learn(sentences[at].table, trees[at].heads, labels[at])
            kept = learner.mean() if self.averaged else [part.copy() for part in learner.parts]
            yield Sweep([*kept, relating.mean()], total / len(sentences))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the parser: see :func:`~lowrank.models.syntax.parser_storage.save_parser`."""
        from lowrank.models.syntax.parser_storage import save_parser

        save_parser(self, path, overwrite=overwrite)
