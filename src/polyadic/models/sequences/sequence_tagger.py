r"""Tags of sequences by a chain whose weights of features and tags are a matrix of low rank.

.. math:: S(t) = \sum_i (W^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}, \qquad W = U V^\top

with :math:`\phi_i` the features of token i, T for each two tags in a row, among them the start and the end, and the
best tags found by the Viterbi algorithm. Without a rank, W is any matrix: a conditional random field, a structured
support vector machine or a structured perceptron, by the loss.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.errors import InputError
from polyadic.kernels.sequences.tagging import CodedSentences, TagParts, tag_marginals, tag_paths
from polyadic.models.base import Amount, Count, Model, Positive, Seed, Watch
from polyadic.models.sequences.features import check_aligned, coded, coded_tags, learned_features, spans_only
from polyadic.solvers.run import run
from polyadic.solvers.sequences.tagging import TagInit, TagLoss, TagSteps, tag_sweeps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.models.sequences.features import Features


class SequenceTagger(Model):
    r"""Chain of tags.

    Parameters
    ----------
    rank : int, optional
        Of W; None for any. There are no more columns than tags.
    loss : {"likelihood", "hinge", "perceptron"}
        Of :mod:`polyadic.solvers.sequences.tagging`.
    max_iter : int
        Passes over the sentences.
    step : float
        Of AdaGrad. A perceptron with a rank wants about 0.03; one without is much the same for any.
    l2 : float
        :math:`\lambda`, half of which weighs the squares of all weights beside the loss of the mean sentence.
    init : {"svd", "random"}
        Where U and V start: at the nearest matrix of their rank to what one pass without a rank has learned, or at
        small random numbers.
    averaged : bool
        Whether each of U, V and T, by itself, is the mean over the passes.
    bio : bool
        Whether tags are of spans, so that ``I-X`` comes after ``B-X`` or ``I-X`` alone. It is not learned with; it
        holds for what is predicted.
    least : int
        Times that a feature must be seen to be known.
    seed : int, optional
        Of the order of the sentences, and of a random start.
    watch : callable, optional
        Called with a :class:`~polyadic.solvers.run.Result` after each pass; the objective is the loss of the mean
        sentence, before the step that it leads to.

    Attributes
    ----------
    tags_ : list of str
        Sorted.
    features_ : dict of str to int
        Rows of U.
    parts_ : TagParts
        U, V, T; V is empty where there is no rank.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    Examples
    --------
    >>> X = [[["w=the"], ["w=dog"], ["w=barks"]], [["w=the"], ["w=barks"]]]
    >>> tagger = SequenceTagger(1, max_iter=20).fit(X, [["D", "N", "V"], ["D", "N"]])
    >>> tagger.predict([[["w=the"], ["w=barks"], ["w=barks"]]])
    [['D', 'N', 'V']]
    """

    rank: Count | None = None
    _: KW_ONLY
    loss: TagLoss = "likelihood"
    max_iter: Count = 10
    step: Positive = 0.3
    l2: Amount = 0.0
    init: TagInit = "svd"
    averaged: bool = True
    bio: bool = False
    least: Count = 1
    seed: Seed = 0
    watch: Watch = None

    def fit(self, X: Features, y: Iterable[Sequence[str]]) -> Self:
        """Learn from sentences.

        Parameters
        ----------
        X : iterable of sequences of collections of str
            The features of each token of each sentence.
        y : iterable of sequences of str
            Their tags.

        Raises
        ------
        InputError
            If there is not a tag for each token, no token, no feature, a tag or feature is no string, no tag may come
            first (``bio``), or a parameter is out of range.
        """
        self.check()
        sentences, known = learned_features(X, least=self.least)
        self.fit_coded(sentences, len(known), y)
        self.features_ = known
        return self

    def fit_coded(self, sentences: CodedSentences, size: int, y: Iterable[Sequence[str]]) -> Self:
        """Learn from sentences coded by ``size`` features, else as :meth:`fit`; what they are called is left open."""
        gold, tags = coded_tags(y, np.diff(sentences.edges).tolist(), bio=self.bio)
        how = TagSteps(self.loss, self.step, self.l2)
        start: dict[str, Any] = {"rank": self.rank, "init": self.init, "averaged": self.averaged, "seed": self.seed}
        sweeps = tag_sweeps(sentences, gold, how, sizes=(size, len(tags)), **start)
        self.parts_ = TagParts(*self._keep(run(sweeps, max_iter=self.max_iter, watch=self.watch)))
        self.tags_ = tags
        return self

    def predict(self, X: Features) -> list[list[str]]:
        """Give the best tags of each sentence."""
        return self.predict_coded(coded(X, self.features_))

    def predict_coded(self, sentences: CodedSentences) -> list[list[str]]:
        """Give the best tags of sentences coded as those that were learned from."""
        paths = tag_paths(sentences, self._decoding()).tolist()
        return [[self.tags_[t] for t in paths[a:b]] for a, b in pairwise(sentences.edges.tolist())]

    def predict_proba(self, X: Features) -> list[NDArray[np.float64]]:
        """Give the probability of each tag, of shape (tokens, tags), for each sentence.

        Raises
        ------
        InputError
            If the loss is not ``"likelihood"``: scores of other losses are no logarithms of probabilities.
        """
        if self.loss != "likelihood":
            raise InputError(f"probabilities come of the loss 'likelihood'; this tagger has learned by {self.loss!r}")
        sentences = coded(X, self.features_)
        shares = tag_marginals(sentences, self._decoding())
        return [shares[a:b] for a, b in pairwise(sentences.edges.tolist())]

    def score(self, X: Features, y: Iterable[Sequence[str]]) -> float:
        """Give the share of tokens whose tag is right; NaN of no tokens.

        Raises
        ------
        InputError
            If there is not a tag for each token.
        """
        predicted, gold = self.predict(X), list(y)
        check_aligned(gold, list(map(len, predicted)))
        right = [
            a == b for tags, others in zip(predicted, gold, strict=True) for a, b in zip(tags, others, strict=True)
        ]
        return sum(right) / len(right) if right else float("nan")

    def _decoding(self) -> TagParts:
        """Give the weights to predict with."""
        parts = self.parts_
        return parts._replace(T=parts.T + spans_only(self.tags_)) if self.bio else parts
