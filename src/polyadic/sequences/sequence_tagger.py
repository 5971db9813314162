r"""Sequence tagging by a linear-chain model with a low-rank weight matrix.

.. math:: S(t) = \sum_i (W^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}, \qquad W = U V^\top

:math:`\phi_i` are the features of token i, and T has a score for each transition, including the start and the end. The
best tags are found by the Viterbi algorithm. Without a rank, W is unconstrained: depending on the loss, the model is a
conditional random field, a structured support vector machine or a structured perceptron.

Weights are trained by AdaGrad with one update per sentence:

.. math:: \min_{U, V, T} \; \frac{1}{n} \sum_i \text{loss}_i
          + \frac{\lambda}{2} \left( \|U\|^2 + \|V\|^2 + \|T\|^2 \right)

with :math:`S(t) = \sum_i (V U^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}` and one of

====================  =================================================================
``"perceptron"``      :math:`\max_t S(t) - S(y)`
``"hinge"``           :math:`\max_t \{S(t) + \#(t_i \ne y_i)\} - S(y)`
``"likelihood"``      :math:`\log \sum_t e^{S(t)} - S(y)`
====================  =================================================================

U is updated for each occurrence of a feature, V and T once for each sentence. The penalty is applied only to the
features of a sentence, scaled by n over the number of occurrences of the feature, so that the expected update is
correct.

References
----------
Collins (2002), Discriminative training methods for hidden Markov models. Tsochantaridis et al. (2005), Large margin
methods for structured and interdependent output variables. Lafferty, McCallum, Pereira (2001), Conditional random
fields. Duchi, Hazan, Singer (2011), Adaptive subgradient methods
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Model, Positive, Seed
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Sweep, run
from polyadic.sequences.kernels.tagging import CodedSentences, TagParts, TagTables, tag_epoch, tag_marginals, tag_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Features = Iterable[Sequence[Iterable[str]]]


class SequenceTagger(Model):
    r"""Linear-chain sequence tagger with low-rank feature weights.

    .. math:: S(t) = \sum_i (V U^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}

    :math:`\phi_i` are the features of token i, and T has a row for the start and a column for the end. The best tags
    are found by the Viterbi algorithm, probabilities by sums over all paths. Training uses AdaGrad with one update per
    sentence.

    Parameters
    ----------
    rank : int, optional
        Rank of the matrix of feature weights, at most the number of tags (default: unconstrained weights).
    loss : {"likelihood", "hinge", "perceptron"}
        Training loss: likelihood of the tags, structured hinge loss, or structured perceptron. See
        :mod:`polyadic.sequences.sequence_tagger`.
    learning_rate : float
        Initial learning rate of AdaGrad. A perceptron with a rank needs about 0.03; without a rank it hardly matters.
    l2 : float
        Strength of the L2 penalty, relative to the mean loss per sentence. It is :math:`\lambda` in
        :mod:`polyadic.sequences.sequence_tagger`.
    init : {"svd", "random"}
        Initialization of the low-rank factors: the best approximation of the weights after one unconstrained pass, or
        small random numbers.
    averaged : bool
        Whether to average the parameters over all updates.
    bio : bool
        Whether tags are spans in BIO encoding, so that ``I-X`` may only follow ``B-X`` or ``I-X``. The constraint is
        used in prediction, not in training.
    min_count : int
        Minimum number of occurrences of a feature; rarer features are ignored.
    callback : callable, optional
        Function called with a :class:`~polyadic.core.solvers.run.Result` after each pass. The objective is the mean
        loss of a sentence before its update.

    Attributes
    ----------
    tags_ : list of str
        Sorted tags.
    features_ : dict of str to int
        Row of U of each feature.
    parts_ : TagParts
        U, V and T; V is empty without a rank.

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
    learning_rate: Positive = 0.3
    l2: Amount = 0.0
    init: TagInit = "svd"
    averaged: bool = True
    bio: bool = False
    min_count: Count = 1
    seed: Seed = 0
    callback: Callback = None

    def fit(self, X: Features, y: Iterable[Sequence[str]]) -> Self:
        """Fit the tagger to tagged sentences.

        Parameters
        ----------
        X : iterable of sequences of collections of str
            The features of each token of each sentence.
        y : iterable of sequences of str
            The tags of each sentence.

        Raises
        ------
        InputError
            If tokens and tags do not align, there are no tokens or features, a tag or feature is not a string, no tag
            may come first (``bio``), or a setting is out of range.
        """
        self.check()
        sentences, known = learned_features(X, min_count=self.min_count)
        self.fit_coded(sentences, len(known), y)
        self.features_ = known
        return self

    def fit_coded(self, sentences: CodedSentences, size: int, y: Iterable[Sequence[str]]) -> Self:
        """Fit the tagger to sentences encoded as feature ids, without setting ``features_``.

        Parameters
        ----------
        sentences : CodedSentences
            Ids of the features of each token.
        size : int
            Number of features.
        y : iterable of sequences of str
            The tags of each sentence.
        """
        gold, tags = coded_tags(y, np.diff(sentences.edges).tolist(), bio=self.bio)
        how = TagSteps(self.loss, self.learning_rate, self.l2)
        start: dict[str, Any] = {"rank": self.rank, "init": self.init, "averaged": self.averaged, "seed": self.seed}
        sweeps = tag_sweeps(sentences, gold, how, sizes=(size, len(tags)), **start)
        self.parts_ = TagParts(*self._keep(run(sweeps, max_iter=self.max_iter, callback=self.callback)))
        self.tags_ = tags
        return self

    def predict(self, X: Features) -> list[list[str]]:
        """Return the highest-scoring tags of each sentence.

        Parameters
        ----------
        X : iterable of sequences of collections of str
            The features of each token of each sentence.
        """
        return self.predict_coded(coded(X, self.features_))

    def predict_coded(self, sentences: CodedSentences) -> list[list[str]]:
        """Return the highest-scoring tags of sentences encoded as feature ids.

        Parameters
        ----------
        sentences : CodedSentences
            Ids of the features of each token, as in training.
        """
        paths = tag_paths(sentences, self._decoding()).tolist()
        return [[self.tags_[t] for t in paths[a:b]] for a, b in pairwise(sentences.edges.tolist())]

    def predict_proba(self, X: Features) -> list[NDArray[np.float64]]:
        """Return the marginal probabilities of the tags of each sentence, as arrays of shape (tokens, tags).

        Parameters
        ----------
        X : iterable of sequences of collections of str
            The features of each token of each sentence.

        Raises
        ------
        InputError
            If the loss is not ``"likelihood"``, because scores of other losses are not log-probabilities.
        """
        if self.loss != "likelihood":
            raise InputError(
                f"predict_proba requires the loss 'likelihood'; this tagger was trained with {self.loss!r}"
            )
        sentences = coded(X, self.features_)
        shares = tag_marginals(sentences, self._decoding())
        return [shares[a:b] for a, b in pairwise(sentences.edges.tolist())]

    def score(self, X: Features, y: Iterable[Sequence[str]]) -> float:
        """Return the token accuracy, or NaN if there are no tokens.

        Parameters
        ----------
        X : iterable of sequences of collections of str
            The features of each token of each sentence.
        y : iterable of sequences of str
            The correct tags of each sentence.

        Raises
        ------
        InputError
            If tokens and tags do not align.
        """
        predicted, gold = self.predict(X), list(y)
        check_aligned(gold, list(map(len, predicted)))
        right = [
            a == b for tags, others in zip(predicted, gold, strict=True) for a, b in zip(tags, others, strict=True)
        ]
        return sum(right) / len(right) if right else float("nan")

    def _decoding(self) -> TagParts:
        """Return the weights for prediction, with the BIO constraint if ``bio`` is set."""
        parts = self.parts_
        return parts._replace(T=parts.T + spans_only(self.tags_)) if self.bio else parts


def learned_features(X: Features, *, min_count: int = 1) -> tuple[CodedSentences, dict[str, int]]:
    """Encode sentences by the features that occur at least ``min_count`` times, with ids in order of appearance."""
    number: dict[str, int] = {}
    sizes, lengths = [], []

    def every() -> Iterator[int]:
        for sentence in X:
            lengths.append(len(sentence))
            for token in sentence:
                check_token(token)
                row = [number.setdefault(feature, len(number)) for feature in token]
                sizes.append(len(row))
                yield from row

    columns = np.fromiter(every(), np.int32)
    _need_strings("features", number)
    often = np.bincount(columns, minlength=len(number)) >= min_count
    place = np.where(often, np.cumsum(often) - 1, -1).astype(np.int32)
    known = {feature: int(place[at]) for feature, at in number.items() if often[at]}
    if sizes and not known:
        raise InputError(f"no feature occurs at least {min_count} times; lower min_count", "min_count")
    return _without_unknown(place[columns], sizes, lengths), known


def coded(X: Features, known: dict[str, int]) -> CodedSentences:
    """Encode sentences as feature ids, ignoring unknown features."""
    sentences = list(X)
    tokens = [list(token) for sentence in sentences for token in sentence if check_token(token)]
    columns = np.fromiter(map(known.get, chain.from_iterable(tokens), repeat(-1)), np.int32)
    return _without_unknown(columns, list(map(len, tokens)), list(map(len, sentences)))


def _without_unknown(columns: NDArray[np.int32], sizes: list[int], lengths: list[int]) -> CodedSentences:
    starts, edges = (np.concatenate([[0], np.cumsum(many, dtype=np.int64)]) for many in (sizes, lengths))
    kept = columns >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return CodedSentences(columns[kept], before[starts], edges)


def check_token(token: Iterable[str]) -> bool:
    """Raise InputError if the features of a token are a single string, whose letters would be taken as features."""
    if isinstance(token, str):
        raise InputError(f"the features of a token must be a list of strings; got {token!r}")
    return True


def coded_tags(
    y: Iterable[Sequence[str]], lengths: Sequence[int], *, bio: bool = False
) -> tuple[NDArray[np.int32], list[str]]:
    """Return the tag id of each token and the sorted list of distinct tags."""
    gold = list(y)
    check_aligned(gold, lengths)
    different = set(chain.from_iterable(gold))
    _need_strings("tags", different)
    tags = sorted(different)
    if not tags:
        raise InputError("the training sentences must contain at least one token")
    if bio:
        spans_only(tags)
    number = {tag: at for at, tag in enumerate(tags)}
    return np.fromiter((number[tag] for sentence in gold for tag in sentence), np.int32), tags


def _need_strings(what: str, names: Iterable[object]) -> None:
    """Raise InputError if a name is not a string."""
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputError(f"{what} must be strings; got {odd[0]!r}")


def check_aligned(y: Sequence[Sequence[str]], lengths: Sequence[int]) -> None:
    """Raise InputError unless each token has exactly one tag."""
    if len(y) != len(lengths):
        raise InputError(
            f"each sentence must have a list of tags; got {len(lengths)} sentences and {len(y)} lists of tags"
        )
    for at, (tags, length) in enumerate(zip(y, lengths, strict=True), 1):
        if isinstance(tags, str):
            raise InputError(f"sentence {at}: tags must be a list of strings; got {tags!r}")
        if len(tags) != length:
            raise InputError(
                f"sentence {at}: the number of tags must be the number of tokens, {length}; got {len(tags)}"
            )


def spans_only(tags: Sequence[str]) -> NDArray[np.float32]:
    """Return transition scores of BIO tags: minus infinity if ``I-X`` does not follow ``B-X`` or ``I-X``, otherwise 0.

    Shape (Y + 1, Y + 1); the last row is the start, the last column the end. Raise InputError if no tag may come first.
    """
    if all(tag.startswith("I-") for tag in tags):
        raise InputError(
            f"at least one tag must not begin with I-, because no BIO sequence can start with I-; got {', '.join(tags)}"
        )
    moves = np.zeros((len(tags) + 1, len(tags) + 1), np.float32)
    for after, tag in enumerate(tags):
        if tag.startswith("I-"):
            before = {f"B-{tag[2:]}", tag}
            moves[[name not in before for name in [*tags, ""]], after] = -np.inf
    return moves


TagLoss = Literal["perceptron", "hinge", "likelihood"]
TagInit = Literal["svd", "random"]
BLOCK = 500
"""Sentences between checks for Ctrl-C."""


class TagSteps(NamedTuple):
    """Settings of the training updates of a tagger: loss, learning rate and L2 penalty."""

    loss: TagLoss
    learning_rate: float
    l2: float  # lambda


class TagLearner:
    """Online learner of tagger weights on encoded sentences, starting from ``parts``."""

    def __init__(self, sentences: CodedSentences, gold: NDArray[np.int32], parts: TagParts, how: TagSteps) -> None:
        self.sentences, self.gold, self.how = sentences, gold, how
        self.tables = TagTables.of(parts)
        self.seen = 0
        times = np.bincount(sentences.columns, minlength=len(parts.U))
        self._importance = ((len(sentences.edges) - 1) / np.maximum(times, 1)).astype(np.float32)

    def epoch(self, rng: np.random.Generator) -> float:
        """Train on all sentences in random order and return the mean of the sentence losses before each update."""
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
                learning_rate=self.how.learning_rate,
                ridge=self.how.l2,
            )
            self.seen += len(block)
        return total / n

    def mean(self) -> TagParts:
        """Return the weights averaged over the initial values and the values after each sentence."""
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
    """Yield the weights and the mean sentence loss; without ``rank`` the weights are one unconstrained matrix."""
    rng = np.random.default_rng(seed)
    F, Y = sizes
    parts = TagParts(*(np.zeros(shape, np.float32) for shape in ((F, Y), (0, Y), (Y + 1, Y + 1))))
    if rank is not None:
        K = min(rank, Y)
        if init == "svd":
            first = TagLearner(sentences, gold, parts, how)
            first.epoch(rng)
            parts = first.mean()
            del first  # it is several times larger
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
"""Scale of U relative to V in a random start."""


def of_rank(parts: TagParts, rank: int) -> TagParts:
    r"""Return the best approximation :math:`U V^\top \approx W` of the given rank, with balanced column norms."""
    W = parts.U.astype(np.float64)
    Q = np.linalg.eigh(W.T @ W)[1][:, : -rank - 1 : -1]
    U = W @ Q
    root = np.sqrt(np.linalg.norm(U, axis=0))
    U = np.divide(U, root, out=np.zeros_like(U), where=root > 0)
    return TagParts(U.astype(np.float32), (Q * root).astype(np.float32), parts.T)
