r"""Learning to tag: steps of AdaGrad after each sentence, of weights of all rank or of low rank.

.. math:: \min_{U, V, T} \; \frac{1}{n} \sum_i \text{loss}_i
          + \frac{\lambda}{2} \left( \|U\|^2 + \|V\|^2 + \|T\|^2 \right)

with :math:`S(t) = \sum_i (V U^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}` and one of

====================  =================================================================
``"perceptron"``      :math:`\max_t S(t) - S(y)`
``"hinge"``           :math:`\max_t \{S(t) + \#(t_i \ne y_i)\} - S(y)`
``"likelihood"``      :math:`\log \sum_t e^{S(t)} - S(y)`
====================  =================================================================

U takes a step for each time that a token has a feature, V and T one for each sentence. A penalty touches the features
of a sentence alone: each time by n over the times that the feature occurs, so that the mean step is the right one.

References
----------
Collins (2002), Discriminative training methods for hidden Markov models. Tsochantaridis et al. (2005), Large margin
methods for structured and interdependent output variables. Lafferty, McCallum, Pereira (2001), Conditional random
fields. Duchi, Hazan, Singer (2011), Adaptive subgradient methods
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from polyadic.kernels.sequences.tagging import CodedSentences, TagParts, TagTables, tag_epoch
from polyadic.progress import tracked
from polyadic.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

TagLoss = Literal["perceptron", "hinge", "likelihood"]
TagInit = Literal["svd", "random"]
BLOCK = 500
"""Sentences between looks at Ctrl-C."""


class TagSteps(NamedTuple):
    r"""How steps are taken.

    Attributes
    ----------
    loss : {"perceptron", "hinge", "likelihood"}
    step : float
        Length of the first step of a weight whose gradient is large.
    l2 : float
        :math:`\lambda`.
    """

    loss: TagLoss
    step: float
    l2: float


class TagLearner:
    """Weights on their way.

    Parameters
    ----------
    sentences : CodedSentences
    gold : ndarray of int32 of shape (tokens,)
    parts : TagParts
        Where to start.
    how : TagSteps
    """

    def __init__(self, sentences: CodedSentences, gold: NDArray[np.int32], parts: TagParts, how: TagSteps) -> None:
        self.sentences, self.gold, self.how = sentences, gold, how
        self.tables = TagTables.of(parts)
        self.seen = 0
        times = np.bincount(sentences.columns, minlength=len(parts.U))
        self._importance = ((len(sentences.edges) - 1) / np.maximum(times, 1)).astype(np.float32)

    def epoch(self, rng: np.random.Generator) -> float:
        """Go through all sentences in a random order; gives the mean loss before each step."""
        n = len(self.sentences.edges) - 1
        order, total = rng.permutation(n), 0.0
        for at in tracked(range(0, n, BLOCK), "learning tags", total=-(-n // BLOCK)):
            block = order[at : at + BLOCK]
            total += tag_epoch(
                self.sentences,
                self.gold,
                self.tables,
                order=block,
                importance=self._importance,
                seen=self.seen,
                soft=self.how.loss == "likelihood",
                cost=float(self.how.loss == "hinge"),
                step=self.how.step,
                ridge=self.how.l2,
            )
            self.seen += len(block)
        return total / n

    def mean(self) -> TagParts:
        """Give the mean of the weights at the start and after each sentence."""
        return self.tables.means(self.seen)


def tag_sweeps(
    sentences: CodedSentences,
    gold: NDArray[np.int32],
    how: TagSteps,
    *,
    sizes: tuple[int, int],
    rank: int | None,
    init: TagInit,
    averaged: bool,
    seed: int | None,
) -> Iterator[Sweep]:
    """Yield weights after each pass, and the loss of the mean sentence in it; first the start, with that of no weights.

    Parameters
    ----------
    sentences : CodedSentences
    gold : ndarray of int32 of shape (tokens,)
    how : TagSteps
    sizes : (int, int)
        Numbers of features and of tags.
    rank : int or None
        Columns of U and V, of which there are no more than tags; None for one matrix of all rank.
    init : {"svd", "random"}
        Whether U V' starts as the nearest matrix of its rank to what one pass of all rank has learned.
    averaged : bool
        Whether to give the means of the weights.
    seed : int or None
    """
    rng = np.random.default_rng(seed)
    F, Y = sizes
    parts = TagParts(*(np.zeros(shape, np.float32) for shape in ((F, Y), (0, Y), (Y + 1, Y + 1))))
    if rank is not None:
        K = min(rank, Y)
        if init == "svd":
            first = TagLearner(sentences, gold, parts, how)
            first.epoch(rng)
            parts = first.mean()
            del first  # it is several times as large
            parts = of_rank(parts, K)
        else:
            U, V = (rng.normal(scale=K**-0.5, size=(rows, K)).astype(np.float32) for rows in (F, Y))
            parts = TagParts(U * np.float32(RANDOM_SCALE), V, parts.T)
    learner = TagLearner(sentences, gold, parts, how)
    tokens = len(gold) / (len(sentences.edges) - 1)
    start = {"perceptron": 0.0, "hinge": tokens, "likelihood": tokens * float(np.log(Y))}
    yield Sweep([*learner.tables.weights()], start[how.loss])
    while True:
        loss = learner.epoch(rng)
        yield Sweep([*(learner.mean() if averaged else learner.tables.weights())], loss)


RANDOM_SCALE = 0.1
"""Of features at a random start, beside tags."""


def of_rank(parts: TagParts, rank: int) -> TagParts:
    r"""Give the nearest weights of a rank, :math:`U V^\top \approx W`, with columns of U as long as those of V.

    Parameters
    ----------
    parts : TagParts
        Of all rank.
    rank : int
        At most the number of tags.

    Examples
    --------
    >>> W = np.outer([3.0, 0.0, 4.0], [1.0, 0.0]).astype(np.float32)
    >>> U, V, _ = of_rank(TagParts(W, np.zeros((0, 2), np.float32), np.zeros((3, 3), np.float32)), 1)
    >>> bool(abs(U @ V.T - W).max() < 1e-6), bool(abs(np.linalg.norm(U) - np.linalg.norm(V)) < 1e-6)
    (True, True)
    """
    W = parts.U.astype(np.float64)
    Q = np.linalg.eigh(W.T @ W)[1][:, : -rank - 1 : -1]
    U = W @ Q
    root = np.sqrt(np.linalg.norm(U, axis=0))
    U = np.divide(U, root, out=np.zeros_like(U), where=root > 0)
    return TagParts(U.astype(np.float32), (Q * root).astype(np.float32), parts.T)
