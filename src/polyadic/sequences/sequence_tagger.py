r"""Tags of sequences by a chain whose weights of features and tags are a matrix of low rank.

.. math:: S(t) = \sum_i (W^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}, \qquad W = U V^\top

with :math:`\phi_i` the features of token i, T for each two tags in a row, among them the start and the end, and the
best tags found by the Viterbi algorithm. Without a rank, W is any matrix: a conditional random field, a structured
support vector machine or a structured perceptron, by the loss.

Learning to tag: steps of AdaGrad after each sentence, of weights of all rank or of low rank.

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
    r"""Chain of tags.

    .. math:: S(t) = \sum_i (V U^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}

    with :math:`\phi_i` the features of token i, and in T a row for the start and a column for the end. The best tags
    are those of the Viterbi algorithm, probabilities are sums over all paths; steps are AdaGrad's, one a sentence.

    Parameters
    ----------
    rank : int, optional
        Of W; None for any. There are no more columns than tags.
    loss : {"likelihood", "hinge", "perceptron"}
        Of :mod:`polyadic.sequences.sequence_tagger`.
    max_iter : int
        Passes over the sentences.
    learning_rate : float
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
    min_count : int
        Times that a feature must be seen to be known.
    seed : int, optional
        Of the order of the sentences, and of a random start.
    callback : callable, optional
        Called with a :class:`~polyadic.core.solvers.run.Result` after each pass; the objective is the loss of the mean
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
        See :class:`~polyadic.core.model.Model`.

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
        sentences, known = learned_features(X, min_count=self.min_count)
        self.fit_coded(sentences, len(known), y)
        self.features_ = known
        return self

    def fit_coded(self, sentences: CodedSentences, size: int, y: Iterable[Sequence[str]]) -> Self:
        """Learn from sentences coded by ``size`` features, else as :meth:`fit`; what they are called is left open."""
        gold, tags = coded_tags(y, np.diff(sentences.edges).tolist(), bio=self.bio)
        how = TagSteps(self.loss, self.learning_rate, self.l2)
        start: dict[str, Any] = {"rank": self.rank, "init": self.init, "averaged": self.averaged, "seed": self.seed}
        sweeps = tag_sweeps(sentences, gold, how, sizes=(size, len(tags)), **start)
        self.parts_ = TagParts(*self._keep(run(sweeps, max_iter=self.max_iter, callback=self.callback)))
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


def learned_features(X: Features, *, min_count: int = 1) -> tuple[CodedSentences, dict[str, int]]:
    """Give numbers to the features that tokens have at least so many times, in the order of their first appearance.

    Parameters
    ----------
    X : iterable of sequences of collections of str
        Of sentences, tokens and features.
    min_count : int

    Raises
    ------
    InputError
        If a feature is no string, the features of a token are one, or none is there so many times.

    Examples
    --------
    >>> sentences, known = learned_features([[["a", "b"], ["a"]], [], [["c", "a"]]], min_count=2)
    >>> known, sentences.columns.tolist(), sentences.starts.tolist(), sentences.edges.tolist()
    ({'a': 0}, [0, 0, 0], [0, 1, 2, 3], [0, 2, 2, 3])
    """
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
        raise InputError(f"no feature is there {min_count} times or more; lower min_count")
    return _without_unknown(place[columns], sizes, lengths), known


def coded(X: Features, known: dict[str, int]) -> CodedSentences:
    """Give sentences by the numbers of features; those that are not known are left out.

    Parameters
    ----------
    X : iterable of sequences of collections of str
    known : dict of str to int

    Examples
    --------
    >>> coded([[["b", "a"], ["c"]]], {"a": 0}).starts.tolist()
    [0, 1, 1]
    """
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
    """Refuse a string where the features of a token should be, for its letters would be taken.

    Raises
    ------
    InputError
    """
    if isinstance(token, str):
        raise InputError(f"features of a token must be a list of strings; got {token!r}")
    return True


def coded_tags(
    y: Iterable[Sequence[str]], lengths: Sequence[int], *, bio: bool = False
) -> tuple[NDArray[np.int32], list[str]]:
    """Give the number of the tag of each token, and the tags, sorted.

    Parameters
    ----------
    y : iterable of sequences of str
    lengths : sequence of int
        Tokens of each sentence.
    bio : bool
        Whether tags are to be of spans: see :func:`spans_only`.

    Raises
    ------
    InputError
        If there are not as many tags as tokens, no tokens, a tag is no string, or, with ``bio``, none may come first.
    """
    gold = list(y)
    check_aligned(gold, lengths)
    different = set(chain.from_iterable(gold))
    _need_strings("tags", different)
    tags = sorted(different)
    if not tags:
        raise InputError("a tagger needs at least one token")
    if bio:
        spans_only(tags)
    number = {tag: at for at, tag in enumerate(tags)}
    return np.fromiter((number[tag] for sentence in gold for tag in sentence), np.int32), tags


def _need_strings(what: str, names: Iterable[object]) -> None:
    """Refuse names that cannot be sorted and spelled, such as numbers or None."""
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputError(f"{what} must be strings; got {odd[0]!r}")


def check_aligned(y: Sequence[Sequence[str]], lengths: Sequence[int]) -> None:
    """Refuse tags that are not one for each token.

    Raises
    ------
    InputError
    """
    if len(y) != len(lengths):
        raise InputError(f"each sentence needs its tags; got {len(lengths)} sentences and tags of {len(y)}")
    for at, (tags, length) in enumerate(zip(y, lengths, strict=True), 1):
        if isinstance(tags, str):
            raise InputError(f"sentence {at}: tags must be a list of strings; got {tags!r}")
        if len(tags) != length:
            raise InputError(f"sentence {at}: each of its {length} tokens needs a tag; got {len(tags)}")


def spans_only(tags: Sequence[str]) -> NDArray[np.float32]:
    """Give minus infinity where a tag may not follow another: ``I-X`` follows ``B-X`` or ``I-X`` alone; else 0.

    Of shape (Y + 1, Y + 1); the last row is of the start, the last column of the end.

    Raises
    ------
    InputError
        If there are tags ``I-X`` alone, so that none may come first.

    Examples
    --------
    >>> spans_only(["B-NP", "I-NP", "O"]).tolist()[2:]
    [[0.0, -inf, 0.0, 0.0], [0.0, -inf, 0.0, 0.0]]
    """
    if all(tag.startswith("I-") for tag in tags):
        raise InputError(f"with bio a tag that may come first is needed, such as B-X or O; got {', '.join(tags)} alone")
    moves = np.zeros((len(tags) + 1, len(tags) + 1), np.float32)
    for after, tag in enumerate(tags):
        if tag.startswith("I-"):
            before = {f"B-{tag[2:]}", tag}
            moves[[name not in before for name in [*tags, ""]], after] = -np.inf
    return moves


TagLoss = Literal["perceptron", "hinge", "likelihood"]
TagInit = Literal["svd", "random"]
BLOCK = 500
"""Sentences between looks at Ctrl-C."""


class TagSteps(NamedTuple):
    r"""How steps are taken.

    Attributes
    ----------
    loss : {"perceptron", "hinge", "likelihood"}
    learning_rate : float
        Length of the first step of a weight whose gradient is large.
    l2 : float
        :math:`\lambda`.
    """

    loss: TagLoss
    learning_rate: float
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
                learning_rate=self.how.learning_rate,
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
